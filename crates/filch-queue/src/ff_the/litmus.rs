//! The litmus program of Morrison and Afek (2014), figure 9: how many pops the processor hides from a thief.
//!
//! It is FF-THE without the pad. The owner takes all tasks and makes a given number of stores of its own after each;
//! the thief steals until it is refused. The tasks are numbers that nobody runs, so a task that both sides take, or
//! neither, does no harm and is only counted.
//!
//! The owner keeps T in a register, whereas [`Owner`](super::Owner) also stores it in its own structure. So between two
//! stores that lower T there are only the given stores, or none.

use alloc::sync::Arc;
use core::num::NonZeroUsize;

use filch_memory::{Native, Ordering};

use crate::Task;
use crate::the::{OwnerEnd, Shared};

/// The owner's side of a litmus program, full of tasks.
pub struct Taker(OwnerEnd<Native>);

/// The thief's side.
pub struct Stealer {
    shared: Arc<Shared<Native>>,
    delta: i64,
}

/// Makes a program of this many tasks, with a thief that keeps `delta` away from the T it reads.
///
/// ```
/// use filch_queue::ff_the::litmus::litmus;
///
/// let (mut taker, mut stealer) = litmus(512, 12);
/// assert_eq!(stealer.steal_all(), 500);
/// assert_eq!(taker.take_all(|| ()), 12);
/// ```
///
/// # Panics
/// If there cannot be that many tasks.
pub fn litmus(tasks: usize, delta: usize) -> (Taker, Stealer) {
    let mut end = OwnerEnd::new(tasks, ());
    for number in 1..=tasks {
        let task = Task::from_id(NonZeroUsize::new(number).expect("from 1"));
        end.push(task).expect("the ring has room for all");
    }
    let stealer = Stealer { shared: Arc::clone(&end.shared), delta: i64::try_from(delta).unwrap_or(i64::MAX) };
    (Taker(end), stealer)
}

impl Taker {
    /// Takes tasks until there are no more, and calls `between` after each. Returns their number.
    #[inline]
    pub fn take_all(&mut self, mut between: impl FnMut()) -> usize {
        let mut taken = 0;
        let (shared, mut tail) = (Arc::clone(&self.0.shared), self.0.tail);
        while tail != self.0.empty_at {
            if shared.lower(tail - 1) {
                taken += usize::from(shared.ring.read((tail - 1) as usize).is_some());
            } else {
                self.0.tail = tail;
                if self.0.pop_at_head(tail - 1).is_none() {
                    break;
                }
                taken += 1;
            }
            tail -= 1;
            between();
        }
        taken
    }
}

impl Stealer {
    /// Steals until it is refused. Returns the number of tasks.
    pub fn steal_all(&mut self) -> usize {
        let mut stolen = 0;
        // E1: pairs with the store in `lower`.
        while self.shared.steal(|head| self.shared.tail.load(Ordering::Acquire) - head > self.delta).is_some() {
            stolen += 1;
        }
        stolen
    }
}
