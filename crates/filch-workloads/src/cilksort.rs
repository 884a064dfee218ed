//! Merge sort with a parallel merge, as in the Cilk examples.
//!
//! The program sorts both halves in parallel. Each half is sorted as two quarters, which are merged into the scratch
//! space; then the halves are merged back. A merge forks too: it puts the median of the longer run in its place, finds
//! where the median belongs in the shorter run, and merges the parts below and above it. Below the cut-off everything
//! is sequential.

use filch_catalogue::ParamError;
use filch_catalogue::programs::cilksort::Params;

use crate::ForkJoin;
use crate::answer::Answer;
use crate::inputs::filled;
use crate::keys::Keys;
use crate::spec::{Forks, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let keys = Keys::new("cilksort", self.0)?;
        let scratch = filled("cilksort", self.0.n, 0)?;
        Ok(Instance { cutoff: self.0.cutoff, keys, scratch, forks: None })
    }
}

/// The program, its input, and the keys being sorted.
#[derive(Debug)]
pub struct Instance {
    cutoff: usize,
    keys: Keys,
    scratch: Vec<u32>,
    /// Forks of the last fork–join run. The number depends on the keys.
    forks: Option<u64>,
}

impl Instance {
    /// The cut-off: sequences of at most this length are sorted and merged without forks.
    pub fn cutoff(&self) -> usize {
        self.cutoff
    }

    /// The keys, and scratch space of the same length.
    pub fn keys(&mut self) -> (&mut [u32], &mut [u32]) {
        (&mut self.keys.now, &mut self.scratch)
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.keys.reset();
    }

    fn serial(&mut self) -> Answer {
        serial(&mut self.keys.now, &mut self.scratch, self.cutoff);
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
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        self.forks = Some(sort(&mut j, &mut self.keys.now, &mut self.scratch, self.cutoff));
        self.keys.answer()
    }
}

/// The fork–join program: sorts `keys` and returns the number of forks.
///
/// It borrows the handle because sorting and merging use it one after the other.
///
/// ```
/// use filch_workloads::{Serial, cilksort::sort};
///
/// let mut keys = [3, 1, 4, 1, 5, 9, 2, 6];
/// sort(&mut Serial, &mut keys, &mut [0; 8], 2);
/// assert_eq!(keys, [1, 1, 2, 3, 4, 5, 6, 9]);
/// ```
pub fn sort<J: ForkJoin, K: Copy + Ord + Send + Sync>(
    j: &mut J,
    keys: &mut [K],
    scratch: &mut [K],
    cutoff: usize,
) -> u64 {
    if keys.len() <= cutoff {
        keys.sort_unstable();
        return 0;
    }
    let middle = keys.len() / 2;
    let (left, right) = keys.split_at_mut(middle);
    let (left_scratch, right_scratch) = scratch.split_at_mut(middle);
    let (a, b) = j.join(
        move |mut j| sort_half(&mut j, left, left_scratch, cutoff),
        move |mut j| sort_half(&mut j, right, right_scratch, cutoff),
    );
    let (left, right) = scratch.split_at(middle);
    1 + a + b + merge(j, left, right, keys, cutoff)
}

/// Sorts `keys` into `sorted`: sorts two quarters of the whole in place, then merges them.
fn sort_half<J: ForkJoin, K: Copy + Ord + Send + Sync>(
    j: &mut J,
    keys: &mut [K],
    sorted: &mut [K],
    cutoff: usize,
) -> u64 {
    let middle = keys.len() / 2;
    let (left, right) = keys.split_at_mut(middle);
    let (left_scratch, right_scratch) = sorted.split_at_mut(middle);
    let (a, b) = j.join(
        move |mut j| sort(&mut j, left, left_scratch, cutoff),
        move |mut j| sort(&mut j, right, right_scratch, cutoff),
    );
    let (left, right) = keys.split_at(middle);
    1 + a + b + merge(j, left, right, sorted, cutoff)
}

/// Merges two runs into `merged` and returns the number of forks.
fn merge<J: ForkJoin, K: Copy + Ord + Send + Sync>(
    j: &mut J,
    a: &[K],
    b: &[K],
    merged: &mut [K],
    cutoff: usize,
) -> u64 {
    if merged.len() <= cutoff {
        merge_serial(a, b, merged);
        return 0;
    }
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let middle = long.len() / 2;
    let (long_low, long_high) = long.split_at(middle);
    let [median, long_high @ ..] = long_high else { return 0 };
    let (short_low, short_high) = short.split_at(short.partition_point(|key| key < median));
    let (low, high) = merged.split_at_mut(long_low.len() + short_low.len());
    let [place, high @ ..] = high else { return 0 };
    *place = *median;
    let (x, y) = j.join(
        move |mut j| merge(&mut j, long_low, short_low, low, cutoff),
        move |mut j| merge(&mut j, long_high, short_high, high, cutoff),
    );
    1 + x + y
}

/// Merges two runs from their lower ends. Out of line, so that all executors run the same instructions.
#[inline(never)]
fn merge_serial<K: Copy + Ord>(a: &[K], b: &[K], merged: &mut [K]) {
    assert_eq!(a.len() + b.len(), merged.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        let from_b = y < x;
        merged[i + j] = if from_b { y } else { x };
        // No branch: on random keys it would be mispredicted half the time.
        i += usize::from(!from_b);
        j += usize::from(from_b);
    }
    let (rest_of_a, rest_of_b) = merged[i + j..].split_at_mut(a.len() - i);
    rest_of_a.copy_from_slice(&a[i..]);
    rest_of_b.copy_from_slice(&b[j..]);
}

/// The sequential program.
fn serial(keys: &mut [u32], scratch: &mut [u32], cutoff: usize) {
    if keys.len() <= cutoff {
        return keys.sort_unstable();
    }
    let middle = keys.len() / 2;
    serial_half(&mut keys[..middle], &mut scratch[..middle], cutoff);
    serial_half(&mut keys[middle..], &mut scratch[middle..], cutoff);
    let (left, right) = scratch.split_at(middle);
    merge_serial(left, right, keys);
}

fn serial_half(keys: &mut [u32], sorted: &mut [u32], cutoff: usize) {
    let middle = keys.len() / 2;
    serial(&mut keys[..middle], &mut sorted[..middle], cutoff);
    serial(&mut keys[middle..], &mut sorted[middle..], cutoff);
    let (left, right) = keys.split_at(middle);
    merge_serial(left, right, sorted);
}
