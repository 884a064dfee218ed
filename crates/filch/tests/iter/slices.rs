//! Sorting and prefix sums.

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use fastrand::Rng;

use crate::POOLS;
use crate::common::{throw, watchdog};

/// Long enough for parallel merges on two workers.
const LONG: usize = 20_000;

/// Numbers below `different`: in no order, in order, in reverse, and in some runs.
fn inputs(n: usize, different: u32) -> [Vec<u32>; 4] {
    let mut rng = Rng::with_seed(n as u64);
    let random: Vec<u32> = (0..n).map(|_| rng.u32(..different)).collect();
    let mut ordered = random.clone();
    ordered.sort_unstable();
    let reversed = ordered.iter().rev().copied().collect();
    let runs = (0..n as u32).map(|i| i % 1000 % different).collect();
    [random, ordered, reversed, runs]
}

/// An item, and where it was.
fn numbered(v: &[u32]) -> Vec<(u32, usize)> {
    v.iter().copied().zip(0..).collect()
}

#[test]
fn sorting_is_stable_and_agrees_with_the_standard_one() {
    let _watched = watchdog("sorting is stable and agrees with the standard one");
    for n in [0, 1, 2, 100, 5000, LONG] {
        for different in [1, 7, u32::MAX] {
            for v in inputs(n, different) {
                let mut expected = numbered(&v);
                expected.sort_by_key(|(x, _)| *x);
                for pool in POOLS.iter() {
                    let mut sorted = numbered(&v);
                    pool.install(|| filch::par(&mut sorted).sort_by_key(|(x, _)| *x));
                    assert!(sorted == expected, "{n} items below {different}");
                    let mut sorted = numbered(&v);
                    pool.run(|mut w| w.par(&mut sorted[..]).sort_by(|(a, _), (b, _)| a.cmp(b)));
                    assert!(sorted == expected, "{n} items below {different}");
                    let mut sorted = v.clone();
                    pool.install(|| filch::par(&mut sorted).sort_unstable_by(u32::cmp));
                    assert!(sorted.iter().eq(expected.iter().map(|(x, _)| x)), "{n} items below {different}");
                }
            }
        }
        let mut strings: Vec<String> = (0..n).map(|i| (i * 7919 % 1000).to_string()).collect();
        let mut expected = strings.clone();
        expected.sort();
        let mut unstable = strings.clone();
        filch::par(&mut strings).sort();
        filch::par(&mut unstable).sort_unstable();
        assert!(strings == expected && unstable == expected);
        filch::par(&mut unstable).sort_unstable_by_key(String::len);
        assert!(unstable.is_sorted_by_key(String::len));
    }
    let mut nothings = vec![(); LONG];
    filch::par(&mut nothings).sort();
}

/// Owns memory, and changes in comparisons: a copy that is older than its original would free memory twice.
struct Restless(Cell<Box<u32>>);

impl Restless {
    fn value(&self) -> u32 {
        let value = *self.0.replace(Box::new(0));
        self.0.set(Box::new(value));
        value
    }
}

#[test]
fn orders_that_lie_or_panic_keep_the_items() {
    let _watched = watchdog("orders that lie or panic keep the items");
    for pool in POOLS.iter() {
        for is_stable in [true, false] {
            for panics_after in [0, 1, 1000, 100_000, 200_000, 250_000, usize::MAX] {
                let mut items: Vec<Restless> = (0..LONG as u32).map(|i| Restless(Cell::new(Box::new(i)))).collect();
                let calls = AtomicUsize::new(0);
                let lie = |a: &Restless, b: &Restless| -> Ordering {
                    let call = calls.fetch_add(1, SeqCst);
                    if call == panics_after {
                        throw(call);
                    }
                    let mix = u64::from(a.value()) << 32 | u64::from(b.value());
                    (mix.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63).cmp(&(call as u64 & 1))
                };
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    pool.install(|| {
                        let items = filch::par(&mut items);
                        if is_stable { items.sort_by(lie) } else { items.sort_unstable_by(lie) }
                    });
                }));
                let mut values: Vec<u32> = items.iter().map(Restless::value).collect();
                values.sort_unstable();
                assert!(values.into_iter().eq(0..LONG as u32), "after {panics_after} calls");
            }
        }
    }
}

#[test]
fn a_panic_in_a_merge_keeps_the_items() {
    let _watched = watchdog("a panic in a merge keeps the items");
    let pool = &POOLS[1];
    // Comparisons are as many in each run, those of leaves and those of merges.
    let original: Vec<String> = (0..LONG).map(|i| format!("{:05}", i * 7919 % LONG)).collect();
    let calls = AtomicUsize::new(0);
    let mut sorted = original.clone();
    pool.install(|| {
        filch::par(&mut sorted).sort_by(|a, b| {
            calls.fetch_add(1, SeqCst);
            a.cmp(b)
        });
    });
    assert!(sorted.is_sorted());
    let all = calls.into_inner();
    for part in 0..20 {
        let left = AtomicUsize::new(all * part / 20);
        let mut items = original.clone();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                filch::par(&mut items).sort_by(|a, b| {
                    if left.fetch_sub(1, SeqCst) == 0 {
                        throw(part);
                    }
                    a.cmp(b)
                });
            });
        }));
        assert!(outcome.is_err(), "part {part}");
        items.sort();
        assert!(items == sorted, "part {part}");
    }
}

#[test]
fn prefix_sums_agree_with_the_sequential_ones() {
    let _watched = watchdog("prefix sums agree with the sequential ones");
    for n in [0, 1, 2, 100, 4095, 4096, 4097, 50_000] {
        // Not commutative: a piece's length and last item.
        let v: Vec<(usize, usize)> = (0..n).map(|i| (1, i)).collect();
        let add = |a: &(usize, usize), b: &(usize, usize)| (a.0 + b.0, b.1);
        let inclusive: Vec<_> = (0..n).map(|i| (i + 1, i)).collect();
        let exclusive: Vec<_> = (0..n).map(|i| (i + 5, i.wrapping_sub(1))).collect();
        for pool in POOLS.iter() {
            let mut sums = v.clone();
            pool.install(|| filch::par(&mut sums).inclusive_scan(add));
            assert!(sums == inclusive, "{n} items");
            let mut sums = v.clone();
            let total = pool.run(|mut w| w.par(&mut sums).exclusive_scan((5, usize::MAX), add));
            assert_eq!(total, (n + 5, n.wrapping_sub(1)));
            assert!(sums == exclusive, "{n} items");
        }
    }
}
