//! One battery for every queue: the tests of a queue follow from its promises, never from its name.
#![allow(clippy::disallowed_types, reason = "counts from outside what the queues do")]

mod answers;
mod battery;
mod boxes;
#[cfg(feature = "fence-free")]
mod delta;
// Tests the trial, in one thread.
#[cfg(all(feature = "std", not(miri)))]
mod flawed;
mod gated;
mod many;
mod property;
mod raced;
mod roles;
mod shared;
mod stalled;
mod table;
mod tuned;
mod watchdog;

use core::num::NonZeroUsize;
use std::hash::{BuildHasher, RandomState};

use filch_memory::Memory;
use filch_queue::{MemoryModel, Owner, Queue, Task};

/// Returns the task with the number `n`.
fn task(n: usize) -> Task {
    Task::from_id(NonZeroUsize::new(n + 1).expect("n + 1 is not zero"))
}

/// Returns the number of a task.
fn number(task: Task) -> usize {
    task.id().get() - 1
}

/// Before thieves settle on this thread what they have asked for: an owner whose thieves wait for it answers.
fn answers_waiting<Q: Queue<M>, M: Memory>(owner: &mut Q::Owner) {
    if !Q::WITHDRAWS {
        owner.poll();
    }
}

/// Returns `many`, or `few` where each step takes a thousand times as long.
const fn times(many: usize, few: usize) -> usize {
    if cfg!(miri) { few } else { many }
}

/// As [`times`], and a quarter of them unless `FILCH_LONG` is set.
fn long(many: usize, few: usize) -> usize {
    if cfg!(miri) || std::env::var_os("FILCH_LONG").is_some() { times(many, few) } else { many / 4 }
}

/// Whether a test ends with the trial of a queue of that capacity. A trial has one thread and many rounds: Miri learns
/// as much from it at capacity 1.
const fn is_tried(capacity: usize) -> bool {
    !cfg!(miri) || capacity <= 1
}

/// Runs a test of `Q` with a time limit, unless the memory model that `Q` needs is missing. Each of Miri's seeds runs
/// another third of all tests of all queues.
fn run<Q: Queue<M>, M: Memory>(test: impl FnOnce() + Send + 'static) {
    let missing = cfg!(miri) && Q::PROMISES.memory_model == MemoryModel::BoundedTso;
    let is_picked = !cfg!(miri) || RandomState::new().hash_one(0).is_multiple_of(3);
    if is_picked && !missing {
        watchdog::watched(test);
    }
}

/// The tests of one queue. The second form of a queue is for tests whose threads see each other's every step: their
/// store buffers are empty.
macro_rules! tests {
    ($queue:ty $(, fifo)?) => {
        $crate::tests! { $queue, stepwise $queue }
    };
    ($queue:ty, delta) => {
        $crate::tests! { $crate::delta::Bounded<$queue>, stepwise $crate::delta::Least<$queue> }
    };
    ($queue:ty, stepwise $stepwise:ty) => {
        $crate::battery::tests!($queue);
        $crate::answers::tests!($stepwise);
        $crate::boxes::tests!($queue);
        $crate::property::tests!($stepwise);
        $crate::raced::tests!($stepwise);
        $crate::stalled::tests!($stepwise);
    };
}
use tests;

macro_rules! queues {
    ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)*) => {
        $(mod $module {
            $crate::tests!($queue $(, $but)?);
        })*
    };
}

filch_queue::for_each_queue!(queues);

queues! {
    once eager_adws: crate::tuned::EagerAdws;
    once eager_pad_ws: crate::tuned::EagerPadWs;
    once reserved_adws: crate::tuned::ReservedAdws;
    once reserved_pad_ws: crate::tuned::ReservedPadWs;
    once rung_adws: crate::tuned::RungAdws;
    once short_bwos_f: crate::tuned::ShortBwosF;
    once short_bwos_l: crate::tuned::ShortBwosL;
    many eager_dsq: crate::tuned::EagerDsq;
    many lace_all: crate::tuned::LaceAll;
    many lace_halves: crate::tuned::LaceHalves;
    many lace_one: crate::tuned::LaceOne;
    many tight_wsq: crate::tuned::TightWsq;
    many tight_wsq_packed: crate::tuned::TightWsqPacked;
}

#[cfg(feature = "std")]
queues! {
    many eager_pdq_s: crate::tuned::EagerPdqS;
    many eager_pdq_s_told: crate::tuned::EagerPdqSTold;
    once eager_pdq_s_at_once: crate::tuned::EagerPdqSAtOnce;
    once eager_pdq_s_one_step: crate::tuned::EagerPdqSOneStep;
}

// With an infinite δ.
#[cfg(feature = "fence-free")]
queues! {
    once unsure_ff_cl: filch_queue::FfCl;
    once unsure_ff_the: filch_queue::FfThe;
    once unsure_thep: filch_queue::Thep;
    once unsure_thep_apart: filch_queue::ThepApart;
    once unsure_thep_impatient: filch_queue::ImpatientThep;
}

/// Queues whose thieves can take several tasks at once.
mod several {
    macro_rules! queues {
        ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)*) => {
            $(tests! { $lists $module: $queue })*
        };
    }
    macro_rules! tests {
        (many $module:ident: $queue:ty) => {
            mod $module {
                $crate::many::tests!($queue);
            }
        };
        ($lists:ident $module:ident: $queue:ty) => {};
    }

    filch_queue::for_each_queue!(queues);

    queues! {
        many eager_dsq: crate::tuned::EagerDsq;
        many generous_pdq_r2_async: crate::tuned::GenerousPdqR2Async;
        many lace_all: crate::tuned::LaceAll;
        many lace_halves: crate::tuned::LaceHalves;
        many lace_one: crate::tuned::LaceOne;
        many tight_wsq: crate::tuned::TightWsq;
        many tight_wsq_packed: crate::tuned::TightWsqPacked;
    }

    #[cfg(feature = "std")]
    queues! {
        many eager_pdq_s: crate::tuned::EagerPdqS;
        many eager_pdq_s_told: crate::tuned::EagerPdqSTold;
    }
}
