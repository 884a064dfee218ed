//! What twins are made of: promises, words, rings of slots.

use core::num::NonZeroUsize;
use std::ops::Index;

use filch_memory::{Atomic, Memory};
use filch_queue::{Capacity, Delivery, MemoryModel, Order, Progress, Promises, StealOrder, Stealable, Task};

/// What a scenario asks of a twin; no more is looked at.
pub(super) const fn promises(name: &'static str) -> Promises {
    Promises {
        name,
        paper: "see the queue of that name",
        follows: "",
        departures: &[],
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

pub(super) fn word(task: Task) -> usize {
    task.id().get()
}

pub(super) fn task(word: usize) -> Task {
    Task::from_id(NonZeroUsize::new(word).expect("a slot that should hold a task is empty"))
}

/// Two numbers in a word, the first one in its lower half.
pub(super) fn pack(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

pub(super) fn unpack(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// So many slots, which indices go round and round. An empty one is 0.
pub(super) struct Ring<M: Memory> {
    slots: Vec<M::AtomicUsize>,
}

impl<M: Memory> Ring<M> {
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: (0..slots).map(|_| Atomic::new(0)).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }
}

impl<M: Memory> Index<u32> for Ring<M> {
    type Output = M::AtomicUsize;

    fn index(&self, index: u32) -> &M::AtomicUsize {
        &self.slots[index as usize % self.slots.len()]
    }
}
