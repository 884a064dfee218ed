//! filch's own protocols, each a small component generic over [`Memory`](filch_memory::Memory), so that a checker runs
//! the source that ships.
//!
//! * [`beat`]: when it is time to make private work public, and when nobody needs to know the time.
//! * [`limits`]: how a thief asks an owner for work without costing the owner anything.
//! * [`lineage`]: when a job is over with all its descendants, and its place free.
//! * [`state`]: who has a stolen job, and when its result is there.
//! * [`sleep`]: how a worker goes to sleep without missing the work that it should wake for.
//! * [`termination`]: how workers find out that there is nothing left.
//! * [`ticks`]: when owners that work for long answer their thieves, and when nobody needs them to.
//! * [`wool`]: who may take which task of Wool's direct task stack.

pub mod beat;
pub mod limits;
pub mod lineage;
pub mod sleep;
pub mod state;
pub mod termination;
pub mod ticks;
pub mod wool;
