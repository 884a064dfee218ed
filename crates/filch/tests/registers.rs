//! Values in registers across a fork survive it, even when the fork takes the cold path, which has its own calling
//! convention.

use filch::pool::{Pool, Queued};
use filch::{Builder, Worker};
use filch_queue::ChaseLev;

/// More values than there are registers, of both kinds, all needed after the fork.
type Live = ([u64; 16], [f64; 20]);

fn live(seed: u64) -> Live {
    let number =
        |index: usize| std::hint::black_box(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(index as u32));
    (std::array::from_fn(number), std::array::from_fn(|index| (number(index) >> 12) as f64))
}

/// Hashes the bits in an order in which each counts.
fn digest((integers, floats): Live, sum: u64) -> u64 {
    let words = integers.into_iter().chain(floats.map(f64::to_bits));
    words.fold(sum, |digest, word| digest.rotate_left(5) ^ word)
}

fn sequential(depth: u32, seed: u64) -> u64 {
    if depth == 0 {
        return digest(live(seed), seed);
    }
    let kept = live(seed);
    let sum = sequential(depth - 1, seed * 2).wrapping_add(sequential(depth - 1, seed * 2 + 1));
    digest(kept, sum)
}

fn closures(depth: u32, seed: u64) -> u64 {
    if depth == 0 {
        return digest(live(seed), seed);
    }
    let kept = live(seed);
    let (a, b) = filch::join(|| closures(depth - 1, seed * 2), || closures(depth - 1, seed * 2 + 1));
    digest(kept, a.wrapping_add(b))
}

fn handles<P: Pool>(mut w: Worker<'_, P>, depth: u32, seed: u64) -> u64 {
    if depth == 0 {
        return digest(live(seed), seed);
    }
    let kept = live(seed);
    let (a, b) = w.join(|w| handles(w, depth - 1, seed * 2), |w| handles(w, depth - 1, seed * 2 + 1));
    digest(kept, a.wrapping_add(b))
}

fn on<P: Pool>(workers: usize) {
    const DEPTH: u32 = if cfg!(miri) { 3 } else { 12 };
    let pool = Builder::<P>::new().workers(workers).build().unwrap();
    let expected = sequential(DEPTH, 1);
    for _ in 0..if cfg!(miri) { 1 } else { 8 } {
        assert_eq!(pool.install(|| closures(DEPTH, 1)), expected);
        assert_eq!(pool.run(|w| handles(w, DEPTH, 1)), expected);
        // Where the head is in the handle, a fork in closure style never takes the fast path.
        assert_eq!(pool.run(|_| closures(DEPTH, 1)), expected);
    }
}

#[test]
fn registers_survive_forks() {
    for workers in [1, 2, 4] {
        on::<filch::pool::Split>(workers);
        on::<filch::pool::Wool>(workers);
        on::<filch::pool::PrivateStack>(workers);
        on::<Queued<ChaseLev>>(workers);
    }
}
