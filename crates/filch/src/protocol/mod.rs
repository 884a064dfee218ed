//! filch's own protocols, each a small component generic over [`Memory`](filch_memory::Memory), so that a checker runs
//! the source that ships.
//!
//! * [`beat`]: when it is time to make private work public, and when nobody needs to know the time.
//! * [`grain`]: whether an owner shares whatever it forks, or keeps it until somebody asks.
//! * [`limits`]: how a thief asks an owner for work without costing the owner anything.
//! * [`latch`]: when a number of things have ended, for whoever waits for them.
//! * [`lineage`]: when a job is over with all its descendants, and its place free.
//! * [`public`]: what the owner of Wool's task stack shares and takes back.
//! * [`rounds`]: when threads that come again and again have all done their part.
//! * [`seize`]: how a thief shares on behalf of an owner that answers nobody.
//! * [`state`]: who has a stolen job, and when its result is there.
//! * [`sleep`]: how a worker goes to sleep without missing the work that it should wake for.
//! * [`termination`]: how workers find out that there is nothing left.
//! * [`split`]: what the owner of the default task stack shares and takes back.
//! * [`ticks`]: when owners that work for long answer their thieves, and when nobody needs them to.
//! * [`waiting`]: what a worker does that cannot go on.
//! * [`wool`]: who may take which task of Wool's direct task stack.

pub mod beat;
pub mod grain;
pub mod latch;
pub mod limits;
pub mod lineage;
pub mod public;
pub mod rounds;
pub mod seize;
pub mod sleep;
pub mod split;
pub mod state;
pub mod termination;
pub mod ticks;
pub mod waiting;
pub mod wool;
