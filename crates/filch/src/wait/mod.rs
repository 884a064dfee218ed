//! What workers do while they wait.
//!
//! **Leapfrogging** (Wagner and Calder 1993; Lace, figure 1): steal only from the thief of the awaited task. Whatever it
//! has to give descends from that task: nothing of its own was left when it stole, so it has forked in that task what
//! is there now. So a waiting worker runs nothing but parts of what it waits for: no lock held across a join can
//! deadlock with unrelated work, and no stack gets deeper than in the sequential run.
//!
//! **Transitive leapfrogging** (Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010): if the thief has
//! nothing, its own work may have been stolen further. The entries of its stack at or above the base that its theft
//! recorded descend from the awaited task; follow the stolen ones to their thieves. A task won from such a thief is
//! given back if the theft that led there has ended meanwhile, so the property of leapfrogging is kept. From then on it is its owner's
//! alone: with both kinds of leapfrogging nobody may rely on a fork's being run by somebody else.
//!
//! **Random**: steal from anybody, and run what was spawned. Keeps everybody busy, and gives up both properties.
//!
//! **Scopes.** With both kinds of leapfrogging a worker that waits for a scope runs nothing but tasks of that scope, wherever they were
//! spawned. With the others it runs whatever it finds. So does, with all of them, who waits for a call into another pool, since what is
//! waited for may need any of it. A worker on such a *detour* has tasks to give that do not descend from what it had stolen, so
//! leapfroggers give back what they won from it. So is one that leapfrogs while it still has forks of its own: tasks that one worker
//! forks in both styles are in two places, of which thieves may have emptied only one.
//!
//! **Low stacks.** A worker whose thread stack is half used leaves unrelated work to others, also what it has itself spawned and forked.
//! Three things it runs at once: what it has spawned since the scope began that it waits for, of which that is likely the rest; its mail,
//! which is for nobody else; and what has come from outside. But everybody else may be waiting for that very work, asleep or in a loop of
//! the program's own. So it looks on for a while, and then does it after all: the deeper it is in such work already the longer it looks
//! on, so that the stack grows with the logarithm of the time.
//!
//! The loops themselves, and how nobody misses what ends them, are in [`protocol::waiting`](crate::protocol::waiting).
//!
//! What must always hold: a worker that waits for a job returns only when the job is settled, and what it pushed above
//! the job meanwhile is gone. Nothing unwinds out of a wait or a theft, since other threads use the memory below.

mod find;
mod idle;
mod join;
mod spot;

pub(crate) use idle::{run_one, visit, wait_until, work};
pub(crate) use join::wait_job;
