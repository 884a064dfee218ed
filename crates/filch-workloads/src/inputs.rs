//! Inputs: hashed numbers, and arrays of them filled in parallel.

use filch::ThreadPool;
use filch_catalogue::ParamError;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::keys::Distribution;

use crate::divided::Rows;

/// Draws numbers from a distribution.
pub(crate) trait Draws: Copy {
    /// Draws key `index` of `n`.
    fn key(self, seed: u64, index: u64, n: usize) -> u32;

    /// Draws real number `index`.
    fn real(self, seed: u64, index: u64) -> f64;
}

impl Draws for Distribution {
    fn key(self, seed: u64, index: u64, n: usize) -> u32 {
        match self {
            Self::Random => (hash(seed, index) >> 32) as u32,
            Self::Exponential => (exponential(seed, index) * (n as f64 / 8.0)) as u32,
        }
    }

    fn real(self, seed: u64, index: u64) -> f64 {
        match self {
            Self::Random => uniform(seed, index),
            Self::Exponential => exponential(seed, index),
        }
    }
}

/// Draws a number from 0 to 1, excluding 1.
pub(crate) fn uniform(seed: u64, index: u64) -> f64 {
    (hash(seed, index) >> 11) as f64 / 2_f64.powi(53)
}

/// Draws a number from the exponential distribution with mean 1.
pub(crate) fn exponential(seed: u64, index: u64) -> f64 {
    let above_zero = ((hash(seed, index) >> 11) + 1) as f64 / 2_f64.powi(53);
    -above_zero.ln()
}

/// Returns the numbers below `n` in the order of their hashes.
pub(crate) fn shuffled(seed: u64, n: u32) -> Vec<u32> {
    let mut pairs: Vec<(u64, u32)> = (0..n).map(|number| (hash(seed, number.into()), number)).collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, number)| number).collect()
}

/// The length from which making an input is worth threads.
const PARALLEL: usize = 1 << 18;

/// Returns `len` copies of `value`, or an error if memory is short.
pub(crate) fn filled<T: Clone>(workload: &'static str, len: usize, value: T) -> Result<Vec<T>, ParamError> {
    let mut items = Vec::new();
    let bytes_needed = (len as u64).saturating_mul(size_of::<T>() as u64);
    items.try_reserve_exact(len).map_err(|_| ParamError::TooLarge {
        workload,
        bytes_needed,
        bytes_available: filch_catalogue::programs::available_memory(),
    })?;
    items.resize(len, value);
    Ok(items)
}

/// Returns the array of `value(0)`, `value(1)`, …. All processors make it if it is long.
pub(crate) fn made<T>(workload: &'static str, len: usize, value: impl Fn(u64) -> T + Sync) -> Result<Vec<T>, ParamError>
where
    T: Clone + Default + Send,
{
    const BLOCK: usize = 4096;
    let mut items = filled(workload, len, T::default())?;
    let fill = |(block, items): (usize, &mut [T])| {
        for (item, index) in items.iter_mut().zip((block * BLOCK) as u64..) {
            *item = value(index);
        }
    };
    let rows = Rows::new(&mut items, BLOCK);
    match all_processors(len >= PARALLEL) {
        Some(pool) => pool.run(|mut w| w.for_each(rows, fill)),
        None => rows.into_iter().for_each(fill),
    }
    Ok(items)
}

/// Returns a pool for making an input, if the input is large enough to repay it. Its threads end before programs are
/// measured.
pub(crate) fn all_processors(is_large: bool) -> Option<ThreadPool> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if is_large && processors > 1 { ThreadPool::new(processors).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let values = made("test", PARALLEL + 1, |index| hash(1, index)).expect("there is memory");
        assert!(values.iter().zip(0..).all(|(&value, index)| value == hash(1, index)));
    }

    #[test]
    fn means_match_the_distributions() {
        let n = 100_000;
        let mean = |real: fn(u64, u64) -> f64| (0..n).map(|index| real(7, index)).sum::<f64>() / n as f64;
        assert!((mean(uniform) - 0.5).abs() < 0.01);
        assert!((mean(exponential) - 1.0).abs() < 0.02);
    }
}
