//! The 0/1 knapsack problem by branch and bound.
//!
//! Items are sorted by value per weight. A node takes the next item or leaves it, and searches both choices in
//! parallel. It bounds its value by filling the rest of the knapsack at the next item's value per weight. It gives up
//! if the bound is less than the best value found so far; it goes on if both are equal.
//!
//! What it stresses: a search whose size depends on the schedule. All workers share the best value. A worker that finds
//! a good one early saves the others work, so two workers may be more than twice as fast as one, or slower: compare
//! medians of many runs. A node takes some nanoseconds, like a node of `fib`, and all nodes read the shared value. The
//! optimum is the same in every run; the number of nodes is not.
//!
//! By default an item's value is its weight plus a constant, and weights are up to 10 000, which makes the bound weak
//! and the search long. With `input=independent` and `range=100`, values and weights are drawn independently from 1 to
//! 100, and the search is short.

#![allow(clippy::disallowed_types, reason = "one shared number, no protocol for the checker")]

use std::sync::atomic::{AtomicU64, Ordering};

use filch_catalogue::ParamError;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::knapsack::{Params, Values};

use crate::ForkJoin;
use crate::answer::{Answer, expect};
use crate::spec::{Forks, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let number = |index: usize| 1 + hash(self.seed, index as u64) % self.range;
        let mut items: Vec<Item> = (0..self.items)
            .map(|index| {
                let weight = number(2 * index);
                let value = match self.input {
                    Values::Correlated => weight + self.range.div_ceil(10),
                    Values::Independent => number(2 * index + 1),
                };
                Item { value, weight }
            })
            .collect();
        // a/b > c/d is a·d > c·b.
        items.sort_by(|a, b| (b.value * a.weight).cmp(&(a.value * b.weight)));
        let capacity = items.iter().map(|item| item.weight).sum::<u64>() / 2;
        let optimum = optimum(&items, capacity);
        Ok(Instance { items, capacity, optimum })
    }
}

/// An item that may be taken.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Its value.
    pub value: u64,
    /// Its weight, at least 1.
    pub weight: u64,
}

/// Computes the best value by dynamic programming over the capacities.
fn optimum(items: &[Item], capacity: u64) -> u64 {
    let mut best = vec![0; capacity as usize + 1];
    for item in items {
        for room in (item.weight as usize..best.len()).rev() {
            best[room] = best[room].max(best[room - item.weight as usize] + item.value);
        }
    }
    best[capacity as usize]
}

/// The program and its items.
#[derive(Debug)]
pub struct Instance {
    items: Vec<Item>,
    capacity: u64,
    optimum: u64,
}

impl Instance {
    /// The items, by falling value per weight.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The weight that the knapsack holds.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        let mut best = 0;
        serial(&mut best, &self.items, self.capacity, 0);
        Answer::Number(best)
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Number(self.optimum))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        Answer::Number(knapsack(j, &self.items, self.capacity))
    }
}

/// The fork–join program: returns the largest value of items that together weigh at most `capacity`. The items must be
/// sorted by falling value per weight.
///
/// ```
/// use filch_workloads::{Serial, knapsack::{Item, knapsack}};
///
/// let items = [(60, 10), (100, 20), (120, 30)].map(|(value, weight)| Item { value, weight });
/// assert_eq!(knapsack(Serial, &items, 50), 220);
/// ```
pub fn knapsack<J: ForkJoin>(j: J, items: &[Item], capacity: u64) -> u64 {
    let best = AtomicU64::new(0);
    search(j, &best, items, capacity, 0);
    best.into_inner()
}

/// Returns an upper bound on `value` plus the value of any choice of items, from `next` on, that fit into `room`.
#[inline]
pub fn bound(next: Item, room: u64, value: u64) -> u64 {
    value + room * next.value / next.weight
}

fn search<J: ForkJoin>(mut j: J, best: &AtomicU64, items: &[Item], room: u64, value: u64) {
    let Some((&next, others)) = items.split_first() else {
        // Relaxed: the value publishes nothing else, and only the join of all tasks needs the newest one.
        best.fetch_max(value, Ordering::Relaxed);
        return;
    };
    // Relaxed: a stale value only gives up fewer nodes.
    if bound(next, room, value) < best.load(Ordering::Relaxed) {
        return;
    }
    if next.weight > room {
        return search(j, best, others, room, value);
    }
    j.join(
        move |j| search(j, best, others, room - next.weight, value + next.value),
        move |j| search(j, best, others, room, value),
    );
}

/// The sequential program.
fn serial(best: &mut u64, items: &[Item], room: u64, value: u64) {
    let Some((&next, others)) = items.split_first() else {
        *best = value.max(*best);
        return;
    };
    if bound(next, room, value) < *best {
        return;
    }
    if next.weight <= room {
        serial(best, others, room - next.weight, value + next.value);
    }
    serial(best, others, room, value);
}
