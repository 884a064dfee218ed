//! A flat loop over n numbers that changes each of them, several times over.
//!
//! What it stresses: how a loop with millions of short items divides. An item takes a few nanoseconds, so a scheduler
//! must run them in blocks, and a loop takes milliseconds, so it must share large parts of it at once.
//!
//! Without `grain` the loop splits on demand, if the executor can do that; others halve down to blocks of 10 µs. The
//! numbers are integers, so they must equal those of a sequential loop.

use filch_catalogue::ParamError;
use filch_catalogue::programs::each::Params;

use crate::answer::Answer;
use crate::checks::sequence;
use crate::inputs::filled;
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

/// The number of items that take some 10 µs.
const ITEMS: usize = 4096;

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let mut numbers = filled("each", self.n, 0)?;
        reset(&mut numbers);
        Ok(Instance { times: self.times, grain: Grain::from_param(self.grain, ITEMS), numbers })
    }
}

/// The program and its numbers.
#[derive(Debug)]
pub struct Instance {
    times: u64,
    grain: Grain,
    numbers: Vec<u64>,
}

fn reset(numbers: &mut [u64]) {
    for (index, number) in numbers.iter_mut().enumerate() {
        *number = index as u64;
    }
}

/// What the loop does to an item: a few multiplications, each of which needs the one before. (The finalizer of
/// SplitMix64: Steele, Lea and Flood, OOPSLA 2014.)
#[inline]
fn change(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Runs for Instance {
    fn reset(&mut self) {
        reset(&mut self.numbers);
    }

    fn serial(&mut self) -> Answer {
        for _ in 0..self.times {
            self.numbers.iter_mut().for_each(|number| *number = change(*number));
        }
        Answer::Numbers(self.numbers.len())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let n = self.numbers.len();
        if *answer != Answer::Numbers(n) {
            return Err(format!("the answer is {answer}, but it should be {n} numbers"));
        }
        let right = |index| (0..self.times).fold(index, |number, _| change(number));
        match (0..).zip(&self.numbers).find(|&(index, &number)| number != right(index)) {
            None => Ok(()),
            Some((index, number)) => Err(format!("number {index} is {number}, but it should be {}", right(index))),
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        sequence(self.numbers.iter().copied())
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.numbers.len();
        self.numbers[at] ^= 1;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        for _ in 0..self.times {
            j.for_blocks(&mut self.numbers[..], self.grain, |block| {
                block.iter_mut().for_each(|number| *number = change(*number));
            });
        }
        Answer::Numbers(self.numbers.len())
    }
}
