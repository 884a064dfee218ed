//! dashmap: a concurrent hash map. Its feature `rayon` fills it from a parallel iterator and iterates over its shards
//! in parallel.

use dashmap::DashMap;
use rayon::prelude::*;

use crate::numbers::numbers;

/// Returns a run: counts words, and sums over the counts.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let words: Vec<String> = numbers(400_000).iter().map(|n| format!("w{:x}", n >> 48)).collect();
    Box::new(move || {
        let counts: DashMap<&str, u64> = DashMap::new();
        words.par_iter().for_each(|word| *counts.entry(word).or_default() += 1);
        assert_eq!(counts.par_iter().map(|entry| *entry.value()).sum::<u64>(), words.len() as u64);
        let lengths: DashMap<usize, u64> = (1..8).into_par_iter().map(|length| (length, 0)).collect();
        counts.par_iter().for_each(|entry| *lengths.get_mut(&entry.key().len()).unwrap() += entry.value());
        counts.par_iter_mut().for_each(|mut entry| *entry.value_mut() *= entry.key().len() as u64);
        let long = counts.par_iter().filter(|entry| *entry.value() > 100).count() as u64;
        long + counts.into_par_iter().map(|(word, count)| count * u64::from(word.as_bytes()[1])).sum::<u64>()
    })
}
