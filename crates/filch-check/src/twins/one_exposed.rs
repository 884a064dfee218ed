//! The private deque with one exposed task, compact, with mistakes to choose from. See `filch_queue::one_exposed` for
//! the algorithm.
//!
//! What must always hold: without a mistake it is correct on every machine.

use std::collections::VecDeque;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::mutant::{Harm, Mutant, buffer, mistaken};
use super::twin::{promises, task, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// The exposed task stays in the private deque.
    NotRemoved,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct OneExposed;

/// The owner's side.
pub struct Owner<M: Memory> {
    cell: Arc<M::AtomicUsize>,
    mistake: Mistake,
    tasks: VecDeque<Task>,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    cell: Arc<M::AtomicUsize>,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for OneExposed {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = promises("one-exposed");

    fn make(_: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let cell: Arc<M::AtomicUsize> = Arc::new(Atomic::new(0));
        let thieves = (0..thieves).map(|_| Thief { cell: Arc::clone(&cell) }).collect();
        (Owner { cell, mistake, tasks: VecDeque::new() }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    fn expose(&mut self) {
        let is_empty = self.cell.load(Ordering::Relaxed) == 0;
        if let Some(&oldest) = self.tasks.front().filter(|_| is_empty) {
            if self.mistake != Mistake::NotRemoved {
                self.tasks.pop_front();
            }
            self.cell.store(word(oldest), Ordering::Release);
        }
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.tasks.push_back(task);
        self.expose();
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        if let Some(newest) = self.tasks.pop_back() {
            self.expose();
            return Some(newest);
        }
        let taken = self.cell.swap(0, Ordering::AcqRel);
        (taken != 0).then(|| task(taken))
    }

    fn poll(&mut self) {
        self.expose();
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        match self.cell.swap(0, Ordering::Acquire) {
            0 => Steal::Empty,
            taken => Steal::Task(task(taken)),
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let shows = "the exposed task is also the owner's newest";
    let client = Client::new(1, 1, "-", &[1]);
    vec![mistaken::<OneExposed>("not-removed", Mistake::NotRemoved, client, buffer(0), Harm::Twice, shows)]
}
