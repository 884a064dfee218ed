//! With filch: the calling thread takes the seat of a sleeping worker, so that a short call costs little.

use super::{clients, mix};

/// Runs `calls` loops over `data` in each of four threads, all on the global pool, and returns the sum of each thread.
pub fn serve(data: &[u64], calls: u64) -> Vec<u64> {
    clients(calls, |key| filch::map_reduce(data, 0, |number| mix(number ^ key), u64::wrapping_add))
}
