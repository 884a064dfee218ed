//! Quicksort: both sides of a pivot are sorted in parallel, and the partition is sequential.
//!
//! The pivot is the median of the first, the middle and the last key; keys equal to it go to both sides, so that many
//! of them do no harm. Below the cut-off the standard library sorts, for the sequential program too.
//!
//! What it stresses: forks of very uneven size, and a long sequential start. The first partition goes over all n keys
//! and the next two over half of them, so the span is Θ(n) with an expected work of Θ(n log n): the parallelism is
//! Θ(log n), some 10 for the size of the source, whatever the scheduler does. What a thief gets is large, so there are
//! few steals.

use crate::ForkJoin;
use crate::answer::{Answer, expect};
use crate::checks::{multiset, sequence, sorted};
use crate::inputs::{DISTRIBUTIONS, Distribution, made};
use crate::params::{ParamError, ParamSpec, Settings, filled};
use crate::spec::{self, Forks, Runs, Spec};

/// How many keys of which kind, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    n: usize,
    cutoff: usize,
    input: Distribution,
    seed: u64,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "quicksort",
        summary: "quicksort with a sequential partition",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &[
            ParamSpec { name: "n", help: "keys", default: "2000000" },
            ParamSpec { name: "cutoff", help: "no forks for so many keys or fewer", default: "1000" },
            ParamSpec { name: "input", help: "random or exponential", default: "random" },
            ParamSpec { name: "seed", help: "seed of the keys", default: "1" },
        ],
        quick: &[("n", "500000")],
        compare: &[("n", "2000000")],
        paper: &[("n", "100000000")],
    };
    type Instance = Instance;

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, 1 << 40, "")? as usize,
            cutoff: settings.whole("cutoff", 2, 1 << 40, "")? as usize,
            input: settings.word("input", settings.text("input"), DISTRIBUTIONS)?,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.cutoff.to_string(), self.input.to_string(), self.seed.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        None
    }

    fn memory_bytes(&self) -> u64 {
        2 * 4 * self.n as u64
    }

    fn prepare(&self) -> Result<Instance, ParamError> {
        let input = made("quicksort", self.n, |index| self.input.key(self.seed, index, self.n))?;
        let keys = filled("quicksort", self.n, 0)?;
        let fingerprint = multiset(input.iter().map(|&key| key.into()));
        Ok(Instance { cutoff: self.cutoff, input, keys, fingerprint, forks: None })
    }
}

/// The program, its input, and the keys being sorted.
#[derive(Debug)]
pub struct Instance {
    cutoff: usize,
    input: Vec<u32>,
    keys: Vec<u32>,
    fingerprint: u64,
    /// Forks of the last fork–join run; they depend on the keys.
    forks: Option<u64>,
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.keys.copy_from_slice(&self.input);
    }

    fn serial(&mut self) -> Answer {
        serial(&mut self.keys, self.cutoff);
        Answer::Sorted(self.keys.len())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Sorted(self.keys.len()))?;
        sorted(&self.keys, u64::from, self.fingerprint)
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        self.forks
    }

    fn digest(&self) -> u64 {
        sequence(self.keys.iter().map(|&key| key.into()))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.keys.len();
        self.keys[at] ^= 1;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        self.forks = Some(sort(j, &mut self.keys, self.cutoff));
        Answer::Sorted(self.keys.len())
    }
}

/// The fork–join program: sorts `keys` and says how many forks that took.
///
/// ```
/// use filch_workloads::{Serial, quicksort::sort};
///
/// let mut keys = [3, 1, 4, 1, 5, 9, 2, 6];
/// sort(Serial, &mut keys, 2);
/// assert_eq!(keys, [1, 1, 2, 3, 4, 5, 6, 9]);
/// ```
///
/// # Panics
/// If `cutoff` is below 2.
pub fn sort<J: ForkJoin>(mut j: J, keys: &mut [u32], cutoff: usize) -> u64 {
    if keys.len() <= cutoff {
        keys.sort_unstable();
        return 0;
    }
    let middle = partition(keys);
    let (low, high) = keys.split_at_mut(middle);
    let (a, b) = j.join(move |j| sort(j, low, cutoff), move |j| sort(j, high, cutoff));
    1 + a + b
}

/// Puts keys up to some pivot before those from it on, and says where the second part begins: neither is empty. There
/// must be three keys or more. Out of line, so that everyone runs the same instructions.
#[inline(never)]
fn partition(keys: &mut [u32]) -> usize {
    assert!(keys.len() > 2, "two keys have no median");
    let (mut i, mut j) = (0, keys.len() - 1);
    let (first, middle, last) = (keys[i], keys[keys.len() / 2], keys[j]);
    let pivot = first.min(middle).max(first.max(middle).min(last));
    loop {
        // Both loops end: at first since the pivot is one of the keys, later since they meet keys that were swapped.
        while keys[i] < pivot {
            i += 1;
        }
        while keys[j] > pivot {
            j -= 1;
        }
        if i >= j {
            return i;
        }
        keys.swap(i, j);
        i += 1;
        j -= 1;
    }
}

/// The sequential program.
fn serial(keys: &mut [u32], cutoff: usize) {
    if keys.len() <= cutoff {
        return keys.sort_unstable();
    }
    let middle = partition(keys);
    serial(&mut keys[..middle], cutoff);
    serial(&mut keys[middle..], cutoff);
}
