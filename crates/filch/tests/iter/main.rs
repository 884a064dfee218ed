//! Parallel iterators against the standard library's, on several numbers of workers: each adaptor and each kind of
//! consumer in both styles.
//!
//! Invariant: whoever steals what, results are the same; and each value is dropped once.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod adaptors;
#[path = "../common/mod.rs"]
mod common;
mod consumers;
mod drops;
mod slices;
mod sources;

use std::sync::LazyLock;

use fastrand::Rng;
use filch::iter::{IntoPar, Lend};
use filch::{Divisible, ThreadPool};

/// Pools of one, two and eight workers.
pub(crate) static POOLS: LazyLock<Vec<ThreadPool>> =
    LazyLock::new(|| [1, 2, 8].into_iter().map(|workers| ThreadPool::new(workers).unwrap()).collect());

/// Lengths to be tested: small ones, those around powers of two, and one of many blocks.
pub(crate) const LENGTHS: [usize; 9] = [0, 1, 2, 3, 7, 8, 65, 257, 1000];

/// The items of a source, cut at random places.
pub(crate) fn shredded<S: IntoPar>(source: S) -> Vec<S::Item> {
    fn shred<D: Divisible>(source: D, rng: &mut Rng, items: &mut Vec<D::Item>) {
        let length = source.length();
        if length == 0 || rng.u8(..) < 64 {
            return items.extend(source);
        }
        let (left, right) = source.cut(rng.usize(..=length));
        shred(left, rng, items);
        shred(right, rng, items);
    }
    let mut items = Vec::new();
    shred(source.into_parts().source(), &mut Rng::with_seed(7), &mut items);
    items
}

/// Checks that a chain of adaptors does the same to a parallel iterator as to a sequential one, in closure style. With
/// `both:`, or compiled with `--cfg filch_long`, also in handle style.
macro_rules! agree {
    ($source:expr => $($chain:tt)*) => {{
        let expected: Vec<_> = $source.into_iter()$($chain)*.collect();
        assert_eq!($crate::shredded(filch::par($source)$($chain)*), expected, "cut at random: {}", stringify!($($chain)*));
        for pool in $crate::POOLS.iter() {
            let closures: Vec<_> = pool.install(|| filch::par($source)$($chain)*.collect());
            assert_eq!(closures, expected, "closures: {}", stringify!($($chain)*));
        }
        #[cfg(filch_long)]
        $crate::agree!(handles: $source => $($chain)*);
    }};
    (both: $source:expr => $($chain:tt)*) => {{
        $crate::agree!($source => $($chain)*);
        #[cfg(not(filch_long))]
        $crate::agree!(handles: $source => $($chain)*);
    }};
    (handles: $source:expr => $($chain:tt)*) => {{
        let expected: Vec<_> = $source.into_iter()$($chain)*.collect();
        for pool in $crate::POOLS.iter() {
            let handles: Vec<_> = pool.run(|mut w| w.par($source)$($chain)*.collect());
            assert_eq!(handles, expected, "handles: {}", stringify!($($chain)*));
        }
    }};
}

/// Checks that a parallel expression has this value, in closure style: `par` stands for the function that makes
/// parallel iterators. With `both:`, or compiled with `--cfg filch_long`, also in handle style.
macro_rules! gives {
    (|$par:ident| $parallel:expr, $expected:expr) => {{
        macro_rules! $par {
            ($source:expr) => {
                filch::par($source)
            };
        }
        let expected = &$expected;
        for pool in $crate::POOLS.iter() {
            assert_eq!(&pool.install(|| $parallel), expected, "closures: {}", stringify!($parallel));
        }
        #[cfg(filch_long)]
        $crate::gives!(handles: |$par| $parallel, $expected);
    }};
    (both: |$par:ident| $parallel:expr, $expected:expr) => {{
        $crate::gives!(|$par| $parallel, $expected);
        #[cfg(not(filch_long))]
        $crate::gives!(handles: |$par| $parallel, $expected);
    }};
    (handles: |$par:ident| $parallel:expr, $expected:expr) => {{
        let expected = &$expected;
        for pool in $crate::POOLS.iter() {
            pool.run(|mut w| {
                macro_rules! $par {
                    ($source:expr) => {
                        w.par($source)
                    };
                }
                assert_eq!(&$parallel, expected, "handles: {}", stringify!($parallel));
            });
        }
    }};
}

pub(crate) use {agree, gives};
