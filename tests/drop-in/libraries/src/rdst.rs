//! rdst: a radix sort of 64-bit numbers. It counts, scatters and recurses into buckets by parallel iterators in the
//! global pool.

use crate::numbers::numbers;
use rdst::RadixSort as _;

/// Returns a run: the numbers in order, and a checksum of their order.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let input = numbers(4_000_000);
    Box::new(move || {
        let mut sorted = input.clone();
        sorted.radix_sort_unstable();
        assert!(sorted.is_sorted());
        sorted.iter().step_by(1000).fold(0, |sum, x| sum.rotate_left(1) ^ x)
    })
}
