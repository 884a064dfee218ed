//! The account: who took which task, and the data of each task.
//!
//! Invariant: every promise that a queue breaks is a panic here.

use std::collections::HashMap;

use filch_memory::Cell;
use filch_queue::{Delivery, Promises, StealOrder, Stealable};

use crate::harm::ensure;
use crate::scenario::Checker;

/// The tasks that each thread got, in order.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) by_owner: Vec<usize>,
    pub(super) by_thieves: Vec<Vec<usize>>,
    pub(super) pushed: usize,
    /// The number of tasks pushed when a pop last found nothing.
    pub(super) found_empty_at: usize,
    /// The time: the number of operations begun and of fruitless operations ended so far.
    pub(super) now: usize,
    /// Per taken task, when the operation that took it first began.
    pub(super) taken_from: HashMap<usize, usize>,
    /// The operations that took nothing: when they began and ended, and whether a thief reported an empty queue.
    pub(super) vain: Vec<(usize, usize, bool)>,
}

impl Taken {
    /// Begins an operation, and returns the time.
    pub(super) fn begin(&mut self) -> usize {
        self.now += 1;
        self.now
    }

    /// Ends an operation that began at `from` and took no task.
    pub(super) fn end_in_vain(&mut self, from: usize, is_empty: bool) {
        self.now += 1;
        self.vain.push((from, self.now, is_empty));
    }

    /// Records that an operation that began at `from` took a task.
    pub(super) fn take(&mut self, id: usize, from: usize) {
        self.taken_from.entry(id).or_insert(from);
    }

    pub(super) fn pop(&mut self, id: usize) {
        ensure!(
            id > self.found_empty_at,
            NotEmpty,
            "task {id} was there, though a pop had found the queue empty after it was pushed"
        );
        self.by_owner.push(id);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        self.by_thieves.iter().flatten().chain(&self.by_owner).copied()
    }

    pub(super) fn count(&self, id: usize) -> usize {
        self.all().filter(|&taken| taken == id).count()
    }

    /// Checks the promises; `before` is the number of tasks pushed before the threads began.
    pub(super) fn check(&self, promises: &Promises, before: usize) {
        for id in 1..=self.pushed {
            let count = self.count(id);
            ensure!(count > 0, Lost, "task {id} was lost");
            // At-least-once delivery has no limit: each operation of the owner can bring a task back.
            let is_once = promises.delivery == Delivery::ExactlyOnce;
            ensure!(count == 1 || !is_once, Twice, "task {id} was taken {count} times");
        }
        assert!(self.all().all(|id| (1..=self.pushed).contains(&id)), "a task was taken that nobody pushed");
        let order = (promises.steals, promises.delivery);
        if let ([loot], (StealOrder::OldestFirst, Delivery::ExactlyOnce)) = (&self.by_thieves[..], order) {
            assert!(loot.is_sorted(), "the only thief got its tasks in the order {loot:?}");
        }
        // A thief may report an empty queue only if another operation that takes nothing is reaching for each remaining
        // task. A task pushed later may still be on its way to memory.
        let is_all = promises.stealable == Stealable::All;
        for (index, &(from, to, _)) in self.vain.iter().enumerate().filter(|(_, (.., is_empty))| is_all && *is_empty) {
            let left = self.taken_from.iter().filter(|&(&id, &since)| id <= before && since > to).count();
            let is_beside = |&(other, &(began, ended, _)): &(usize, &(usize, usize, bool))| {
                other != index && began < to && ended > from
            };
            let reaching = self.vain.iter().enumerate().filter(is_beside).count();
            assert!(
                left <= reaching,
                "a thief found nothing, while {left} tasks were there and {reaching} were reached for"
            );
        }
    }
}

/// The data of each task, by its number.
pub(super) struct Contents<M: Checker>(Vec<M::Cell<usize>>);

/// What a cell holds once its task has been taken.
const DONE: usize = usize::MAX;

impl<M: Checker> Contents<M> {
    pub(super) fn new(tasks: usize) -> Self {
        Self((0..=tasks).map(|_| Cell::new(0)).collect())
    }

    pub(super) fn write(&self, id: usize) {
        // SAFETY: the memory reports accesses that may overlap, and runs the threads of a program one at a time.
        self.0[id].with_mut(|cell| unsafe { *cell = id });
    }

    /// Called by a task's taker. If only one may take it, the first writes, and counting finds others; else all read.
    pub(super) fn take(&self, id: usize, taken: &Taken, delivery: Delivery) {
        let is_once = delivery == Delivery::ExactlyOnce;
        let Some(cell) = self.0.get(id).filter(|_| !is_once || taken.count(id) == 0) else { return };
        // SAFETY: as in `write`.
        let found = cell.with(|cell| unsafe { *cell });
        assert_eq!(found, id, "what belongs to task {id} was not written before it was taken");
        if is_once {
            // SAFETY: as in `write`.
            cell.with_mut(|cell| unsafe { *cell = DONE });
        }
    }
}
