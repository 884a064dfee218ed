//! Queues: one owner, one or two thieves, a few tasks, and an account of every task.
//!
//! The checks follow from the queue's promises. Always: every pushed task is returned (I1), to one taker (I2); a
//! refused push changes nothing (I3); a pop that finds nothing leaves nothing behind (I6); the emptied queue is [as
//! good as new](filch_queue::as_new). With one thief, where promised: oldest first (I5). A task also publishes its
//! data: each task has a non-atomic cell, which is written before the push, and read and written again by the taker,
//! like the memory of a job.

mod client;
mod ends;
mod hint;
mod made;
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

/// Locks a mutex. It is never contended: the threads of a program run one at a time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
