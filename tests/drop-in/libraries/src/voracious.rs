//! voracious_radix_sort: a radix sort by the number of threads that the caller passes. Each sort makes a pool of its
//! own, and spawns a task for each part of the array in a scope (feature `voracious_multithread`).

use crate::numbers::numbers;
use voracious_radix_sort::RadixSort as _;

/// Returns a run: the numbers in order, and a checksum of their order.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let input = numbers(4_000_000);
    Box::new(move || {
        let mut sorted = input.clone();
        sorted.voracious_mt_sort(rayon::current_num_threads());
        assert!(sorted.is_sorted());
        sorted.iter().step_by(1000).fold(0, |sum, x| sum.rotate_left(1) ^ x)
    })
}
