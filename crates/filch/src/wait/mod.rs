//! What workers do while they wait.
//!
//! **Leapfrogging** (Wagner and Calder 1993; Lace, figure 1): steal only from the thief of the awaited task. All its
//! tasks descend from that task: it had none when it stole, so it has forked them within that task. So a waiting worker
//! runs only parts of what it waits for: a lock held across a join cannot deadlock with unrelated work, and no stack
//! gets deeper than in the sequential run.
//!
//! **Transitive leapfrogging** (Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010): if the thief
//! has no tasks, others may have stolen them in turn. The entries of its stack at or above the base that its theft
//! recorded descend from the awaited task; follow the stolen ones to their thieves. A worker gives back a task won from
//! such a thief if the theft that led there has ended meanwhile, which preserves the property of leapfrogging. From
//! then on only the owner may run the task: with both kinds of leapfrogging, no program may rely on another worker
//! running a fork.
//!
//! **Random**: steal from any worker, and run spawned jobs. This keeps all workers busy, but gives up both properties.
//!
//! **Order.** A worker that may run anything takes the [oldest](crate::protocol::order) thing that a victim has, a fork
//! or a job, because all that is younger may be waiting for it. It looks at what it has itself, then at its mail, at
//! the victims, and at last at what came from outside. After so many finds it looks at the last three first, so that
//! nothing waits for ever. But what it finds there may block until something has run that the worker has itself; so
//! while it has anything, many more finds pass. Before it joins a fork it runs what it has spawned since, newest first.
//! Only a worker that yields, or waits for a scope, takes forks of its own: in the pool [`Split`](crate::pool::Split)
//! the newest first, in others the oldest.
//!
//! **Scopes.** With both kinds of leapfrogging a worker that waits for a scope runs only tasks of that scope, wherever
//! they were spawned. With the other strategies it runs any work it finds. With all strategies, so does a worker that
//! waits for a call into another pool, because the call may need any of that work. A worker on such a *detour* has
//! tasks that do not descend from its stolen task, so leapfroggers give back what they won from it. A worker that
//! leapfrogs is also on a detour if it still has forks of its own. It can have some if it has forked in both styles:
//! these forks are in two places, and thieves may have emptied only one.
//!
//! **Low stacks.** A worker whose thread stack is half used leaves unrelated work to others, even jobs that it has
//! spawned or forked itself. It runs three things at once: jobs that it has spawned since the beginning of the awaited
//! scope, which are probably the rest of it; its mail, which nobody else may run; and jobs from outside. But all other
//! workers may be waiting for the remaining work, asleep or in a loop of the program's own. So the worker naps for a
//! while, and then runs that work after all: for a millisecond, if another worker is awake and has more of its stack
//! left, as far as is known; but four times as long each time that it has used half of what was left, and at last
//! alone, since what it waits for may end meanwhile; two seconds in all. So a chain of jobs each of which waits for the
//! next ends if its last link has room, and jobs that each wait for a moment do not lie on each other without limit.
//!
//! [`protocol::waiting`](crate::protocol::waiting) has the loops themselves, and explains why no worker misses the
//! event that ends its loop.
//!
//! Invariant: a wait for a job returns only when the job is settled, and tasks pushed above the job meanwhile are gone.
//! Nothing unwinds out of a wait or a theft, since other threads use the memory below.

pub(crate) mod cold_ops;
mod find;
mod idle;
mod join;
mod spot;

pub(crate) use find::run_newer;
pub(crate) use idle::{lie_down, pause, run_one, visit, wait_until, work};
pub(crate) use join::wait_job;
