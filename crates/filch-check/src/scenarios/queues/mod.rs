//! Queues: one owner, one or two thieves, a few tasks, and every task accounted for.
//!
//! What is checked follows from the queue's promises. Always: every task pushed is returned (I1), to one taker (I2); a
//! refused push changes nothing (I3); a pop that finds nothing leaves nothing behind (I6); the emptied queue is
//! [as good as new](filch_queue::as_new). With one thief, where promised: oldest first (I5). And a task publishes what belongs to it: each has a cell
//! that is not atomic, written before its push, read and written again by whoever takes it, as the memory of a job is.

mod client;
mod ends;
mod hint;
mod program;
mod taken;

use core::num::NonZeroUsize;
use std::sync::Mutex;

use filch_queue::Task;

pub use client::{Act, Client};
pub use hint::hint;
pub use program::{program, program_of_many};

pub(super) fn task(id: usize) -> Task {
    Task::from_id(NonZeroUsize::new(id).expect("tasks are numbered from 1"))
}

/// Nothing here is contended: threads of one program run one at a time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
