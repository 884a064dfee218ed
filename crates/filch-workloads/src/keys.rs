//! Keys to be sorted, shared by the sorts of integers.

use filch_catalogue::ParamError;
use filch_catalogue::programs::keys::Choice;

use crate::answer::{Answer, expect};
use crate::checks::{multiset, sequence, sorted};
use crate::inputs::{Draws, filled, made};

/// The current keys, and the keys of the input.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) now: Vec<u32>,
    input: Vec<u32>,
    fingerprint: u64,
}

impl Keys {
    pub(crate) fn new(workload: &'static str, choice: Choice) -> Result<Self, ParamError> {
        let Choice { n, input, seed, .. } = choice;
        let input = made(workload, n, |index| input.key(seed, index, n))?;
        let fingerprint = multiset(input.iter().map(|&key| key.into()));
        Ok(Self { now: filled(workload, n, 0)?, input, fingerprint })
    }

    pub(crate) fn reset(&mut self) {
        self.now.copy_from_slice(&self.input);
    }

    pub(crate) fn answer(&self) -> Answer {
        Answer::Sorted(self.now.len())
    }

    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &self.answer())?;
        sorted(&self.now, u64::from, self.fingerprint)
    }

    pub(crate) fn digest(&self) -> u64 {
        sequence(self.now.iter().map(|&key| key.into()))
    }

    pub(crate) fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.now.len();
        self.now[at] ^= 1;
        true
    }
}
