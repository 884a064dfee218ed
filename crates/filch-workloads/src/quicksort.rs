//! Quicksort with a sequential partition: both sides of the pivot are sorted in parallel.
//!
//! The pivot is the median of the first, the middle and the last key. Keys equal to it go to both sides, so many equal
//! keys do no harm. Below the cut-off the standard library sorts, in the sequential program too.
//!
//! What it stresses: forks of very uneven size, and a long sequential start. The first partition passes over all n keys
//! and the next two over half of them, so the span is Θ(n) and the expected work Θ(n log n). The parallelism is Θ(log
//! n), some 10 for the size in the source, with any scheduler. Stolen tasks are large, so steals are few.

use filch_catalogue::ParamError;
use filch_catalogue::programs::quicksort::Params;

use crate::ForkJoin;
use crate::answer::Answer;
use crate::keys::Keys;
use crate::spec::{Forks, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { cutoff: self.0.cutoff, keys: Keys::new("quicksort", self.0)?, forks: None })
    }
}

/// The program, its input, and the keys being sorted.
#[derive(Debug)]
pub struct Instance {
    cutoff: usize,
    keys: Keys,
    /// Forks of the last fork–join run. The number depends on the keys.
    forks: Option<u64>,
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.keys.reset();
    }

    fn serial(&mut self) -> Answer {
        serial(&mut self.keys.now, self.cutoff);
        self.keys.answer()
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        self.keys.check(answer)
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        self.forks
    }

    fn digest(&self) -> u64 {
        self.keys.digest()
    }

    fn damage(&mut self, at: u64) -> bool {
        self.keys.damage(at)
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        self.forks = Some(sort(j, &mut self.keys.now, self.cutoff));
        self.keys.answer()
    }
}

/// The fork–join program: sorts `keys` and returns the number of forks.
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

/// Moves keys up to some pivot before keys from it on, and returns the start of the second part. Neither part is empty.
/// There must be at least three keys. Out of line, so that all executors run the same instructions.
#[inline(never)]
fn partition(keys: &mut [u32]) -> usize {
    assert!(keys.len() > 2, "two keys have no median");
    let (mut i, mut j) = (0, keys.len() - 1);
    let (first, middle, last) = (keys[i], keys[keys.len() / 2], keys[j]);
    let pivot = first.min(middle).max(first.max(middle).min(last));
    loop {
        // Both loops end: at first because the pivot is one of the keys, later because they meet keys that were
        // swapped.
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
