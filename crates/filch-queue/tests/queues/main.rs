//! Every queue, one battery: what is tested follows from the queue's promises, never from its name.
#![allow(clippy::disallowed_types, reason = "counts what the queues do from outside of them")]

mod answers;
mod battery;
mod boxes;
#[cfg(feature = "fence-free")]
mod delta;
// Of the trial, in one thread.
#[cfg(all(feature = "std", not(miri)))]
mod flawed;
mod gated;
mod many;
mod property;
mod raced;
mod roles;
mod shared;
mod stalled;
mod tuned;
mod watchdog;

use core::num::NonZeroUsize;
use std::hash::{BuildHasher, RandomState};

use filch_memory::Memory;
use filch_queue::{MemoryModel, Queue, Task};

/// The task that stands for the number `n`.
fn task(n: usize) -> Task {
    Task::from_id(NonZeroUsize::new(n + 1).expect("n + 1 is not zero"))
}

/// The number that a task stands for.
fn number(task: Task) -> usize {
    task.id().get() - 1
}

/// So many, or a few where each step takes a thousand times as long.
const fn times(many: usize, few: usize) -> usize {
    if cfg!(miri) { few } else { many }
}

/// Whether a test ends with the trial of a queue of that capacity. A trial has one thread and many rounds: Miri sees as much of it where
/// there is one place.
const fn is_tried(capacity: usize) -> bool {
    !cfg!(miri) || capacity <= 1
}

/// Runs a test of `Q` with a limit to its time; not where the memory that `Q` needs is not to be had. Of all tests of all queues each of
/// Miri's seeds takes another third.
fn run<Q: Queue<M>, M: Memory>(test: impl FnOnce() + Send + 'static) {
    let missing = cfg!(miri) && Q::PROMISES.memory_model == MemoryModel::BoundedTso;
    let is_picked = !cfg!(miri) || RandomState::new().hash_one(0).is_multiple_of(3);
    if is_picked && !missing {
        watchdog::watched(test);
    }
}

macro_rules! queues {
    ($($name:ident: $queue:ty),* $(,)?) => {
        $crate::queues! { $($name: $queue, stepwise $queue;)* }
    };
    // The second form of a queue is for tests whose threads see each other's every step: their store buffers are empty.
    ($($name:ident: $queue:ty, stepwise $stepwise:ty;)*) => {
        $(mod $name {
            $crate::battery::tests!($queue);
            $crate::answers::tests!($stepwise);
            $crate::boxes::tests!($queue);
            $crate::property::tests!($stepwise);
            $crate::raced::tests!($stepwise);
            $crate::stalled::tests!($stepwise);
        })*
    };
}
use queues;

queues! {
    abp: filch_queue::Abp,
    adws: filch_queue::Adws,
    bwos_f: filch_queue::BwosF,
    bwos_l: filch_queue::BwosL,
    eager_adws: crate::tuned::EagerAdws,
    eager_pad_ws: crate::tuned::EagerPadWs,
    pad_ws: filch_queue::PadWs,
    reserved_adws: crate::tuned::ReservedAdws,
    reserved_pad_ws: crate::tuned::ReservedPadWs,
    short_bwos_f: crate::tuned::ShortBwosF,
    short_bwos_l: crate::tuned::ShortBwosL,
    chase_lev: filch_queue::ChaseLev,
    chase_lev_asym: filch_queue::ChaseLevAsym,
    idem_de: filch_queue::IdempotentDeque,
    idem_fifo: filch_queue::IdempotentFifo,
    idem_lifo: filch_queue::IdempotentLifo,
    one_exposed: filch_queue::OneExposed,
    pdq_r: filch_queue::PdqR,
    pdq_r2: filch_queue::PdqR2,
    dsq: filch_queue::Dsq,
    eager_dsq: crate::tuned::EagerDsq,
    hendler_shavit: filch_queue::HendlerShavit,
    lace: filch_queue::Lace,
    lace_all: crate::tuned::LaceAll,
    lace_one: crate::tuned::LaceOne,
    tight_wsq: crate::tuned::TightWsq,
    wsq: filch_queue::Wsq,
    the: filch_queue::The,
}

#[cfg(feature = "std")]
queues! {
    eager_pdq_s: crate::tuned::EagerPdqS,
    locked: filch_queue::Locked,
    pdq_s: filch_queue::PdqS,
}

#[cfg(feature = "fence-free")]
queues! {
    ff_cl: crate::delta::Bounded<filch_queue::FfCl>, stepwise crate::delta::Least<filch_queue::FfCl>;
    ff_the: crate::delta::Bounded<filch_queue::FfThe>, stepwise crate::delta::Least<filch_queue::FfThe>;
    thep: crate::delta::Bounded<filch_queue::Thep>, stepwise crate::delta::Least<filch_queue::Thep>;
    patient_thep: crate::delta::Bounded<filch_queue::PatientThep>,
        stepwise crate::delta::Least<filch_queue::PatientThep>;
}

// With an infinite δ.
#[cfg(feature = "fence-free")]
queues! {
    unsure_ff_cl: filch_queue::FfCl,
    unsure_ff_the: filch_queue::FfThe,
    unsure_thep: filch_queue::Thep,
    unsure_patient_thep: filch_queue::PatientThep,
}

/// Queues whose thieves can take several tasks at once.
mod several {
    macro_rules! queues {
        ($($name:ident: $queue:ty),* $(,)?) => {
            $(mod $name {
                $crate::many::tests!($queue);
            })*
        };
    }

    queues! {
        dsq: filch_queue::Dsq,
        eager_dsq: crate::tuned::EagerDsq,
        hendler_shavit: filch_queue::HendlerShavit,
        lace: filch_queue::Lace,
        lace_all: crate::tuned::LaceAll,
        lace_one: crate::tuned::LaceOne,
        generous_pdq_r2: crate::tuned::GenerousPdqR2,
        pdq_r: filch_queue::PdqR,
        tight_wsq: crate::tuned::TightWsq,
        wsq: filch_queue::Wsq,
    }

    #[cfg(feature = "std")]
    queues! {
        eager_pdq_s: crate::tuned::EagerPdqS,
        locked: filch_queue::Locked,
        pdq_s: filch_queue::PdqS,
    }
}
