//! Four threads of a server, each of which calls loops of some 20 µs, one after the other.

use std::thread;

mod with_filch;
#[cfg(test)]
mod with_rayon;

pub use with_filch::serve;

/// As many numbers as a loop of some 20 µs takes.
pub const LENGTH: u64 = 1 << 14;

/// Runs `calls` calls in each of four threads, and returns the sum of each.
fn clients(calls: u64, answer: impl Fn(u64) -> u64 + Sync) -> Vec<u64> {
    let client = |number| (0..calls).map(|call| answer(number * calls + call)).fold(0, u64::wrapping_add);
    thread::scope(|s| {
        let threads: Vec<_> = (0..4).map(|number| s.spawn(move || client(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no call panics")).collect()
    })
}

/// What is done with each number.
fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    mixed ^ mixed >> 29
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_answer_as_plain_loops() {
        let data: Vec<u64> = (0..1000).collect();
        let plain = |key: u64| data.iter().map(|number| mix(number ^ key)).fold(0, u64::wrapping_add);
        let expected = clients(50, plain);
        assert_eq!(expected.len(), 4);
        assert_eq!(serve(&data, 50), expected);
        assert_eq!(with_rayon::serve(&data, 50), expected);
    }
}
