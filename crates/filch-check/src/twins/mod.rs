//! Known-bad twins: the algorithms once more, compact, each with mistakes that can be switched on one at a time.
//!
//! A checker that finds nothing has to prove that it could. [`mutants`] lists for each mistake a small client and a machine on
//! which the checker must find it, and on which the twin without the mistake must pass. The shortest history that shows
//! each lies in the folder `traces`.
//!
//! What must always hold: a twin reads like its paper, and its mistakes change nothing else.

pub mod abp;
pub mod adws;
pub mod bwos;
pub mod bwos_f;
pub mod chase_lev;
pub mod chase_lev_asym;
pub mod dsq;
pub mod ff_cl;
pub mod ff_the;
pub mod hendler_shavit;
pub mod idempotent;
pub mod lace;
pub mod lineage;
mod mutants;
pub mod one_exposed;
pub mod pdq;
pub mod search;
pub mod termination;
pub mod the;
pub mod thep;
pub mod wool;
pub mod wsq;

use core::num::NonZeroUsize;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Capacity, Delivery, MemoryModel, Order, Progress, Promises, StealOrder, Stealable, Task};

pub use mutants::{Harm, Mutant, mutants};

/// What a scenario asks of a twin; no more is looked at.
const fn promises(name: &'static str) -> Promises {
    Promises {
        name,
        paper: "see the queue of that name",
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: true,
        steal_progress: Progress::Blocking,
        stealable: Stealable::AllButNewest,
        memory_model: MemoryModel::BoundedTso,
        owner_must_poll: false,
        answers_by_clock: false,
    }
}

fn word(task: Task) -> usize {
    task.id().get()
}

fn task(word: usize) -> Task {
    Task::from_id(NonZeroUsize::new(word).expect("a slot that should hold a task is empty"))
}

fn lock<M: Memory>(lock: &M::AtomicBool) {
    while lock.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        M::spin_loop();
    }
}

fn unlock<M: Memory>(lock: &M::AtomicBool) {
    lock.store(false, Ordering::Release);
}
