//! Every queue, one battery: what is tested follows from the queue's promises, never from its name.
#![allow(clippy::disallowed_types, reason = "counts what the queues do from outside of them")]

mod battery;
mod gated;
mod property;
mod stalled;
mod watchdog;

use core::num::NonZeroUsize;

use filch_queue::Task;

/// The task that stands for the number `n`.
fn task(n: usize) -> Task {
    Task::from_id(NonZeroUsize::new(n + 1).expect("n + 1 is not zero"))
}

/// The number that a task stands for.
fn number(task: Task) -> usize {
    task.id().get() - 1
}

macro_rules! queues {
    ($($name:ident: $queue:ty),* $(,)?) => {
        $(mod $name {
            crate::battery::tests!($queue);
            crate::property::tests!($queue);
            crate::stalled::tests!($queue);
        })*
    };
}

queues! {
    chase_lev: filch_queue::ChaseLev,
    lace: filch_queue::Lace,
}

#[cfg(feature = "std")]
queues! {
    locked: filch_queue::Locked,
}
