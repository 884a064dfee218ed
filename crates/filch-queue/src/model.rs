//! The sequential reference: the answers of a queue whose operations do not overlap.

use alloc::collections::VecDeque;
use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};

use crate::{Capacity, Full, Order, Progress, Promises, Steal, StealOrder, Stealable};

/// A plain sequence of tasks that follows a real queue and checks its answers against its promises.
///
/// ```
/// use filch_queue::{Lace, Queue, Steal, model::Model};
///
/// let mut model = Model::new(<Lace as Queue>::PROMISES, 2);
/// model.push('a', Ok(()))?;
/// model.push('b', Ok(()))?;
/// model.steal(Steal::Task('a'))?;
/// model.steal(Steal::Empty)?; // b may be private to the owner
/// assert!(model.clone().pop(None).is_err());
/// model.pop(Some('b'))?;
/// assert!(model.is_empty());
/// # Ok::<_, filch_queue::model::Disagreement<char>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model<T> {
    promises: Promises,
    capacity: usize,
    /// Oldest first.
    tasks: VecDeque<T>,
    /// Pushes since a pop found the queue empty, which fill an array.
    pushed: usize,
}

/// An answer that the model does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement<T> {
    /// A push was refused although there was room, or the refusal returned another task.
    Push(Full<T>),
    /// A pop returned `found` instead of `expected`.
    Pop {
        /// What the model would have popped.
        expected: Option<T>,
        /// What the queue popped.
        found: Option<T>,
    },
    /// A steal returned `found` where only `expected` could be taken.
    Steal {
        /// What the model would have returned.
        expected: Option<T>,
        /// What the queue returned.
        found: Steal<T>,
    },
}

impl<T: Debug> Display for Disagreement<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Push(full) => write!(f, "push refused {:?} although there was room for it", full.0),
            Self::Pop { expected, found } => write!(f, "pop returned {found:?}, expected {expected:?}"),
            Self::Steal { expected, found } => write!(f, "steal returned {found:?}, expected {expected:?}"),
        }
    }
}

impl<T: Debug> Error for Disagreement<T> {}

impl<T: Copy + PartialEq> Model<T> {
    /// Makes an empty model of a queue with these promises and this capacity.
    ///
    /// ```
    /// # use filch_queue::{ChaseLev, Queue, model::Model};
    /// assert!(Model::<char>::new(<ChaseLev as Queue>::PROMISES, 8).is_empty());
    /// ```
    pub fn new(promises: Promises, capacity: usize) -> Self {
        Self { promises, capacity, tasks: VecDeque::new(), pushed: 0 }
    }

    /// Returns the number of tasks that have been pushed and not taken.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether every task has been taken.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns the task that the owner's pop should return.
    pub fn owner_next(&self) -> Option<T> {
        match self.promises.order {
            Order::Lifo => self.tasks.back(),
            Order::Fifo => self.tasks.front(),
        }
        .copied()
    }

    /// Returns the task that a steal should return. If the order alone does not decide, this is the oldest.
    pub fn thief_next(&self) -> Option<T> {
        match self.promises.steals {
            StealOrder::OldestFirst | StealOrder::OldestShared | StealOrder::Unordered => self.tasks.front(),
            StealOrder::NewestFirst => self.tasks.back(),
        }
        .copied()
    }

    /// Follows a push of `task` with this answer.
    ///
    /// # Errors
    /// If the queue may not give this answer.
    pub fn push(&mut self, task: T, answer: Result<(), Full<T>>) -> Result<(), Disagreement<T>> {
        match answer {
            Ok(()) => {
                self.tasks.push_back(task);
                self.pushed += 1;
                Ok(())
            }
            Err(full) => {
                let due = match self.promises.capacity {
                    Capacity::Grows => false,
                    Capacity::Ring => self.tasks.len() >= self.capacity,
                    Capacity::Array => self.pushed >= self.capacity,
                };
                if due && full.0 == task { Ok(()) } else { Err(Disagreement::Push(full)) }
            }
        }
    }

    /// Follows a pop with this answer.
    ///
    /// # Errors
    /// If the queue may not give this answer.
    pub fn pop(&mut self, found: Option<T>) -> Result<(), Disagreement<T>> {
        let expected = self.owner_next();
        match found {
            // Everything left may be set aside for thieves that asked.
            None if expected.is_none() || self.promises.steal_progress == Progress::OwnerDependent => {
                self.pushed = self.tasks.len();
                Ok(())
            }
            Some(task) if expected == Some(task) => {
                self.remove(task);
                Ok(())
            }
            _ => Err(Disagreement::Pop { expected, found }),
        }
    }

    /// Follows an attempt to steal with this answer.
    ///
    /// # Errors
    /// If the queue may not give this answer.
    pub fn steal(&mut self, found: Steal<T>) -> Result<(), Disagreement<T>> {
        let expected = self.thief_next();
        let allowed = match found {
            Steal::Task(task) => {
                let in_turn = match self.promises.steals {
                    StealOrder::OldestFirst | StealOrder::NewestFirst => expected == Some(task),
                    StealOrder::OldestShared | StealOrder::Unordered => true,
                };
                in_turn && self.remove(task)
            }
            Steal::Empty => expected.is_none() || self.promises.stealable != Stealable::All,
            // No other thread competes.
            Steal::Retry => false,
            Steal::Aborted | Steal::Pending => self.promises.may_answer(&found),
        };
        if allowed { Ok(()) } else { Err(Disagreement::Steal { expected, found }) }
    }

    fn remove(&mut self, task: T) -> bool {
        let position = self.tasks.iter().position(|&other| other == task);
        position.and_then(|position| self.tasks.remove(position)).is_some()
    }
}
