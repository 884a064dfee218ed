//! The 0/1 knapsack problem by branch and bound: a task is a number of decided items, the room left, and the value.

use filch_workloads::Answer;
use filch_workloads::knapsack::{Item, bound};

use super::{Around, Program};

pub(super) struct Knapsack {
    pub(super) items: Vec<Item>,
    pub(super) capacity: u64,
}

impl Program for Knapsack {
    type Task = [u64; 3];
    /// The best value.
    type State = u64;

    const MAY_REPEAT: bool = true;

    fn root(&self) -> Self::Task {
        [0, self.capacity, 0]
    }

    #[inline]
    fn visit(&self, worker: &mut impl Around<Self::Task>, best: &mut u64, [decided, room, value]: Self::Task) {
        let Some(&next) = self.items.get(decided as usize) else {
            *best = value.max(*best);
            if value > worker.bound() {
                worker.raise(value);
            }
            return;
        };
        if bound(next, room, value) < worker.bound() {
            return;
        }
        // The newest is taken first: with the item.
        worker.push([decided + 1, room, value]);
        if next.weight <= room {
            worker.push([decided + 1, room - next.weight, value + next.value]);
        }
    }

    fn merge(a: u64, b: u64) -> u64 {
        a.max(b)
    }

    fn answer(&self, best: u64) -> Answer {
        Answer::Number(best)
    }
}
