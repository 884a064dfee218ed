//! indexmap: a hash map that keeps its order. Its feature `rayon` collects, iterates, compares and sorts entries in
//! parallel.

use indexmap::IndexMap;
use rayon::prelude::*;

use crate::numbers::numbers;

/// Returns a run: makes a map of 100,000 names, sorts it, changes all values, and looks all names up.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let keys = numbers(100_000);
    Box::new(move || {
        let name = |key: &u64| format!("{:016x}", key.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut by_name: IndexMap<String, u64> = keys.par_iter().map(|key| (name(key), *key)).collect();
        assert_eq!(by_name.len(), keys.len());
        by_name.par_sort_unstable_keys();
        assert!(by_name.keys().is_sorted());
        by_name.par_values_mut().for_each(|value| *value = value.rotate_left(7));
        // Looks every key up, and weighs what it finds with its place in the sorted order.
        let found = |key: &u64| {
            let (place, _, value) = by_name.get_full(&name(key)).unwrap();
            assert_eq!(*value, key.rotate_left(7));
            value.wrapping_mul(place as u64)
        };
        keys.par_iter().map(found).reduce(|| 0, u64::wrapping_add)
    })
}
