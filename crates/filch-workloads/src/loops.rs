//! Short loops that come now and then, each called from outside the scheduler: what a program does once a frame, or
//! once a request.
//!
//! What it stresses: the way in and out, and whether a scheduler wakes others for work that is over before they come.
//! The pauses do not count.
//!
//! An item runs a chain of multiplications, each of which needs the one before, and adds the result to its number; so
//! after some loops its number tells how often it ran.

#![allow(clippy::disallowed_types, reason = "an item has its number to itself, no protocol for the checker")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use filch_catalogue::ParamError;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::loops::Params;

use crate::answer::Answer;
use crate::inputs::made;
use crate::spec::{Calls, Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        /// The number of steps that take some 10 µs.
        const STEPS: u64 = 7000;
        let widest = self.steps * self.spread / 100;
        let steps = made("loops", self.n, |item| self.steps - widest + hash(1, item) % (2 * widest + 1))?;
        let numbers = made("loops", self.n, |_| 0)?.into_iter().map(AtomicU64::new).collect();
        let grain = Grain::from_param(self.grain, (STEPS / self.steps.max(1)) as usize);
        let pause = Duration::from_micros(self.pause);
        let calls = Calls { times: self.times, pause, paused: Duration::ZERO };
        Ok(Instance { steps, numbers, grain, calls, ran: 0 })
    }
}

/// The program and its numbers.
#[derive(Debug)]
pub struct Instance {
    steps: Vec<u64>,
    numbers: Vec<AtomicU64>,
    grain: Grain,
    calls: Calls,
    /// The number of loops since the last reset.
    ran: u64,
}

/// What an item adds to its number.
#[inline]
fn chain(item: usize, steps: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    (0..steps).fold(item as u64 + 1, |number, _| (number ^ (number >> 7)).wrapping_mul(FACTOR))
}

impl Instance {
    #[inline]
    fn run_item(&self, item: usize) {
        // Relaxed: one item at a time runs; the scheduler orders the loops.
        let before = self.numbers[item].load(Ordering::Relaxed);
        self.numbers[item].store(before.wrapping_add(chain(item, self.steps[item])), Ordering::Relaxed);
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.numbers.iter().for_each(|number| number.store(0, Ordering::Relaxed));
        (self.ran, self.calls.paused) = (0, Duration::ZERO);
    }

    fn serial(&mut self) -> Answer {
        self.ran += 1;
        (0..self.numbers.len()).for_each(|item| self.run_item(item));
        Answer::Numbers(self.numbers.len())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let n = self.numbers.len();
        if *answer != Answer::Numbers(n) {
            return Err(format!("the answer is {answer}, but it should be {n} numbers"));
        }
        let right = |item: usize| chain(item, self.steps[item]).wrapping_mul(self.ran);
        let number = |item: usize| self.numbers[item].load(Ordering::Relaxed);
        match (0..n).find(|&item| number(item) != right(item)) {
            None => Ok(()),
            Some(item) => Err(format!("number {item} is {}, but it should be {}", number(item), right(item))),
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.numbers.len();
        self.numbers[at].fetch_xor(1, Ordering::Relaxed);
        true
    }

    fn calls(&mut self) -> Option<&mut Calls> {
        Some(&mut self.calls)
    }
}

impl Forks for Instance {
    /// Runs one loop.
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        self.ran += 1;
        let loops = &*self;
        j.for_indices(loops.numbers.len(), loops.grain, |item| loops.run_item(item));
        Answer::Numbers(loops.numbers.len())
    }
}
