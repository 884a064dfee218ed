//! What workers do while they wait.
//!
//! **Leapfrogging** (Wagner and Calder 1993; Lace, figure 1): steal only from the thief of the awaited task. All the
//! thief's tasks descend from the awaited task: the thief had none when it stole, so it has forked them within that
//! task. So a waiting worker runs only parts of what it waits for: a lock held across a join cannot deadlock with
//! unrelated work, and no stack gets deeper than in the sequential run.
//!
//! **Transitive leapfrogging** (Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010): if the thief
//! has no tasks, others may have stolen them in turn. On the thief's stack, the entries at or above the base that its
//! theft recorded descend from the awaited task; follow the stolen ones to their thieves. A worker gives back a task
//! won from such a thief if the theft that led there has ended meanwhile, which preserves the property of leapfrogging.
//! Only the owner may run a task that was given back: with both kinds of leapfrogging, no program may rely on another
//! worker running a fork.
//!
//! **Random**: steal from any worker, and run spawned jobs. This keeps all workers busy, but gives up both properties.
//!
//! **Order.** A worker that may run anything takes the [oldest](crate::protocol::order) thing that a victim has, a fork
//! or a job, because all that is younger may be waiting for it. It looks at its own work, then at its mail, at the
//! victims, and at last at jobs from outside. After a [number of finds](crate::worker::turns) it looks at the last
//! three first, so that nothing waits for ever. But work that it finds there may block until the worker's own work has
//! run; so a worker that has own work makes many more finds before it does so. Before it joins a fork it runs the jobs
//! that it has spawned since, newest first. Except on a low stack, only a worker that yields, or waits for a scope,
//! takes forks of its own: in the pools [`Split`](crate::pool::Split) and [`Queued`](crate::pool::Queued) the newest
//! first, in [`Wool`](crate::pool::Wool) and [`PrivateStack`](crate::pool::PrivateStack) the oldest, and in
//! [`Heartbeat`](crate::pool::Heartbeat) the newest promoted or, without one, the oldest.
//!
//! **Scopes.** With both kinds of leapfrogging a worker that waits for a scope runs only tasks of that scope, wherever
//! they were spawned, and its mail. With the other strategies it runs any work it finds. With all strategies, so does a
//! worker that waits for a call into another pool, because the call may need any of that work. A worker on such a
//! *detour* has tasks that do not descend from its stolen task, so leapfroggers give back the tasks that they won from
//! it. A worker that leapfrogs is also on a detour if it may still have forks of its own. It can have some if it has
//! forked in both styles: these forks are in two places, and thieves may have emptied only one.
//!
//! **Low stacks.** A worker whose thread stack is half used leaves unrelated work to others, even jobs that it has
//! spawned or forked itself. Without delay it runs only three kinds of jobs: those that it has spawned since the
//! beginning of the awaited scope, which are probably the rest of the scope; its mail, which nobody else may run; and
//! jobs from outside. But all other workers may be waiting for the remaining work, asleep or in a loop of the program's
//! own. So the worker naps for a while, and then runs that work after all. At first it naps for a millisecond, and only
//! if another worker is awake and, as far as is known, has more of its stack left. Each time that the worker has used
//! half of the rest of its stack, it naps four times as long, two seconds in all; and with little left it naps even if
//! it is alone, since the event that it waits for may come meanwhile. So a chain of jobs, each of which waits for the
//! next, ends if the last one has room; and jobs that each wait for a moment do not pile up on a stack without limit.
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
mod watchful;

pub(crate) use find::run_newer;
pub(crate) use idle::{lie_down, pause, run_one, visit, wait_until, work};
pub(crate) use join::wait_job;
