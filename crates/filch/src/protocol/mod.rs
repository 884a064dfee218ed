//! filch's own protocols. Each is a small component generic over [`Memory`](filch_memory::Memory), so that a checker
//! runs the shipped source.
//!
//! * [`beat`]: when a worker makes private work public, and when the clock may sleep.
//! * [`grain`]: whether an owner shares every fork, or keeps forks until a thief asks.
//! * [`limits`]: how a thief asks an owner for work at no cost to the owner.
//! * [`latch`]: how a thread waits for several things to end.
//! * [`lineage`]: when a job and all its descendants are over, and its place is free.
//! * [`log`]: a worker's notes about itself, which others read.
//! * [`order`]: which is older, an owner's fork or a job that it has spawned.
//! * [`private`]: how the owner of a private deque on a task stack answers thieves.
//! * [`public`]: how the owner of Wool's task stack shares tasks and takes them back.
//! * [`rounds`]: when all threads have done their part of a round.
//! * [`seize`]: how a thief shares on behalf of an owner that does not answer.
//! * [`state`]: who has a stolen job, and when its result is ready.
//! * [`sharer`]: a worker that shares tasks, and when it does.
//! * [`sleep`]: how a worker goes to sleep without missing work.
//! * [`termination`]: how workers detect that no work is left.
//! * [`split`]: how the owner of the default task stack shares tasks and takes them back.
//! * [`ticks`]: when owners answer thieves during long tasks, and when the clock may sleep.
//! * [`waiting`]: what a worker does while it waits.
//! * [`wool`]: who may take which task of Wool's direct task stack.

pub mod beat;
pub mod grain;
pub mod latch;
pub mod limits;
#[cfg(feature = "worklists")]
pub mod lineage;
pub mod log;
pub mod order;
#[cfg(feature = "pools")]
pub mod private;
#[cfg(feature = "pools")]
pub mod public;
#[cfg(feature = "worklists")]
pub mod rounds;
pub mod seize;
pub mod sharer;
pub mod sleep;
pub mod split;
pub mod state;
#[cfg(feature = "worklists")]
pub mod termination;
pub mod ticks;
pub mod waiting;
#[cfg(feature = "pools")]
pub mod wool;
