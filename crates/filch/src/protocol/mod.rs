//! filch's own protocols, each a small component generic over [`Memory`](filch_memory::Memory), so that a checker runs
//! the source that ships.
//!
//! * [`limits`]: how a thief asks an owner for work without costing the owner anything.
//! * [`state`]: who has a stolen job, and when its result is there.
//! * [`sleep`]: how a worker goes to sleep without missing the work that it should wake for.
//! * [`termination`]: how workers find out that there is nothing left.

pub mod limits;
pub mod sleep;
pub mod state;
pub mod termination;
