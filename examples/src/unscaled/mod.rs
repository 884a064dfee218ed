//! Three programs that do not scale, what `filch::scale` says about each, and how each is mended.
//!
//! The strands count their steps, so that a recording with that clock is the same in each run.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use filch::scale::region;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// The steps of this thread: a clock for a recording.
pub fn steps() -> u64 {
    STEPS.get()
}

fn step(number: usize) {
    STEPS.set(STEPS.get() + number as u64);
}

/// Leaves that are too coarse: the sum of a slice, in pieces of `leaf` numbers. A leaf of a quarter gives work to four
/// workers, and no strand but the leaves is long: the median grain says so.
pub fn sum(v: &[u64], leaf: usize) -> u64 {
    if v.len() <= leaf {
        step(v.len());
        return v.iter().map(|&number| mix(number)).fold(0, u64::wrapping_add);
    }
    let (left, right) = v.split_at(v.len() / 2);
    let (a, b) = filch::join(|| sum(left, leaf), || sum(right, leaf));
    a.wrapping_add(b)
}

fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    mixed ^ mixed >> 29
}

/// A merge sort, by one of two merges. With [`merge`] the last merge alone is a sequential pass over everything.
pub fn sort(v: &mut [u64], buffer: &mut [u64], merge: fn(&[u64], &[u64], &mut [u64])) {
    const LEAF: usize = 1 << 9;
    if v.len() <= LEAF {
        return region("leaves", || {
            step(v.len());
            v.sort_unstable();
        });
    }
    let middle = v.len() / 2;
    let (left, right) = v.split_at_mut(middle);
    let (for_left, for_right) = buffer.split_at_mut(middle);
    filch::join(|| sort(left, for_left, merge), || sort(right, for_right, merge));
    region("merge", || merge(left, right, buffer));
    region("copy", || {
        filch::par(v).zip(&*buffer).for_each(|(to, &from)| {
            step(1);
            *to = from;
        });
    });
}

/// Merges two sorted slices, one number after the other.
pub fn merge(left: &[u64], right: &[u64], to: &mut [u64]) {
    step(to.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    for to in to {
        let from = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if b < a => &mut right,
            (Some(_), _) => &mut left,
            _ => &mut right,
        };
        *to = *from.next().expect("there are as many");
    }
}

/// Merges two sorted slices in parallel: the middle of the longer one splits both.
pub fn merge_in_parallel(left: &[u64], right: &[u64], to: &mut [u64]) {
    const LEAF: usize = 1 << 9;
    let (long, short) = if left.len() < right.len() { (right, left) } else { (left, right) };
    if to.len() <= LEAF {
        return merge(long, short, to);
    }
    let middle = long.len() / 2;
    let place = short.partition_point(|number| number < &long[middle]);
    let (first, second) = to.split_at_mut(middle + place);
    filch::join(
        || merge_in_parallel(&long[..middle], &short[..place], first),
        || merge_in_parallel(&long[middle..], &short[place..], second),
    );
}

/// A lock that is held too long: counts numbers by their lowest bits, each piece under the lock while it computes. A
/// recording sees parallelism, since one worker never waits for itself; the forecast of two workers is 2, and what is
/// measured is 1. That difference is the finding: the program waits for something that is not a fork.
pub fn count_under_a_lock(v: &[u64]) -> [u64; 16] {
    let counts = Mutex::new([0; 16]);
    filch::for_each(v.chunks(1 << 10), |piece| {
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        step(piece.len());
        piece.iter().for_each(|&number| counts[mix(number) as usize % 16] += 1);
    });
    counts.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The same with a count for each piece, added under no lock at all.
pub fn count(v: &[u64]) -> [u64; 16] {
    let piece = |piece: &[u64]| {
        step(piece.len());
        let mut counts = [0; 16];
        piece.iter().for_each(|&number| counts[mix(number) as usize % 16] += 1);
        counts
    };
    let add = |a: [u64; 16], b: [u64; 16]| std::array::from_fn(|index| a[index] + b[index]);
    filch::map_reduce(v.chunks(1 << 10), [0; 16], piece, add)
}

#[cfg(test)]
mod tests {
    use filch::scale::{Recording, Scale};

    use super::*;

    fn record<R: Send>(f: impl FnOnce() -> R + Send) -> (R, Scale) {
        let measured = Recording::new().clock(steps).measure(f);
        (measured.result, measured.scale)
    }

    fn numbers(length: u64) -> Vec<u64> {
        (0..length).map(mix).collect()
    }

    #[test]
    fn finer_leaves_give_work_to_more_workers() {
        let v = numbers(1 << 16);
        let (coarse, before) = record(|| sum(&v, v.len() / 4));
        let (fine, after) = record(|| sum(&v, v.len() / 256));
        assert_eq!(coarse, fine);
        assert_eq!((before.parallelism(), before.median_grain(), after.parallelism()), (4.0, 1 << 14, 256.0));
    }

    #[test]
    fn a_parallel_merge_takes_the_merge_out_of_the_span() {
        let v = numbers(1 << 16);
        let sorted = |merge| {
            let (mut v, mut buffer) = (v.clone(), v.clone());
            let ((), scale) = record(|| sort(&mut v, &mut buffer, merge));
            assert!(v.is_sorted());
            scale
        };
        let (before, after) = (sorted(merge), sorted(merge_in_parallel));
        let first = &before.regions()[0];
        assert_eq!(first.name, Some("merge"));
        assert!(first.span > before.span * 9 / 10, "{before}");
        assert_eq!(after.work, before.work);
        assert!(after.parallelism() > 8.0 * before.parallelism(), "{before}\n{after}");
    }

    #[test]
    fn a_lock_is_not_in_the_graph() {
        let v = numbers(1 << 16);
        let (locked, before) = record(|| count_under_a_lock(&v));
        let (free, after) = record(|| count(&v));
        assert_eq!(locked, free);
        assert_eq!((before.parallelism(), after.parallelism()), (64.0, 64.0));
    }
}
