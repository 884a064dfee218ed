//! Every adaptor, and chains of them.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::watchdog;
use crate::{LENGTHS, POOLS, agree, gives};

#[test]
fn adaptors_do_what_the_standard_ones_do() {
    let _watched = watchdog("adaptors do what the standard ones do");
    for n in LENGTHS {
        let v: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_769) >> 20).collect();
        agree!(both: &v => .map(|x| x * 3));
        agree!(both: &v => .copied());
        agree!(both: &v => .cloned());
        agree!(both: &v => .filter(|x| *x % 3 == 0));
        agree!(both: &v => .filter_map(|x| x.checked_sub(1000)));
        agree!(both: &v => .flat_map(|x| 0..x % 4));
        agree!(both: &v => .inspect(|x| assert!(**x < 1 << 12)));
        agree!(both: &v => .enumerate());
        agree!(both: &v => .rev());
        agree!(both: &v => .rev().rev().rev());
        agree!(both: &v => .zip(&v[n / 3..]));
        agree!(both: &v[n / 3..] => .zip(&v));
        agree!(both: &v => .chain(&v[n / 2..]));
        for items in [0, 1, n / 2, n, n + 1] {
            agree!(both: &v => .take(items));
            agree!(both: &v => .skip(items));
        }
        for step in [1, 2, 3, n + 1] {
            agree!(both: &v => .step_by(step));
        }
    }
}

#[test]
fn chains_of_adaptors_do_what_the_standard_ones_do() {
    let _watched = watchdog("chains of adaptors do what the standard ones do");
    for n in LENGTHS {
        let v: Vec<usize> = (0..n).map(|i| i * i).collect();
        agree!(&v => .enumerate().rev().map(|(i, x)| i + x));
        agree!(&v => .rev().enumerate().skip(3).take(100));
        agree!(&v => .zip(0..n).rev().step_by(3).enumerate());
        agree!(&v => .step_by(2).rev().skip(1));
        agree!(&v => .step_by(7).step_by(2).rev().zip(10..10 + n));
        agree!(&v => .chain(&v).rev().skip(n / 2).step_by(2).enumerate());
        agree!(&v => .take(n / 2).chain(&v[n / 3..]).map(|x| x + 1));
        agree!(&v => .map(|x| x + 1).filter(|x| x % 2 == 0).flat_map(|x| [x, x / 2]).filter_map(|x| x.checked_sub(9)));
        agree!(v.clone() => .map(|x| x.to_string()).enumerate().rev().filter(|(i, _)| i % 2 == 1));
        agree!(v.clone() => .skip(2).rev().map(|x| vec![x]));
        agree!(&v => .filter(|x| *x % 3 == 0).chain(&v));
        agree!(&v => .chain(&v[n / 3..]).flat_map(|x| [*x, 7]).chain(v.clone()).chain(v[..n / 2].to_vec()).map(|x| x + 1));
    }
}

/// Ranges with more items than a `usize` counts: what does not depend on their number is right, and the rest is
/// refused.
#[test]
fn longer_ranges_than_can_be_counted() {
    let all = || filch::par(0..=u64::MAX);
    let first: Vec<u64> = all().take(3).collect();
    assert_eq!(first, [0, 1, 2]);
    assert_eq!(all().skip(usize::MAX).collect::<Vec<_>>(), [u64::MAX]);
    assert_eq!(all().zip(5..7_u64).collect::<Vec<_>>(), [(0, 5), (1, 6)]);
    assert_eq!(all().enumerate().rev().take(1).collect::<Vec<_>>(), [(usize::MAX - 1, u64::MAX - 1)]);
    assert_eq!(filch::par(0..u64::MAX).rev().take(2).collect::<Vec<_>>(), [u64::MAX - 1, u64::MAX - 2]);
    assert_eq!(filch::par(0..u64::MAX).chain(0..10).take(1).collect::<Vec<_>>(), [0]);
    let refused = |f: &dyn Fn() -> Vec<u64>| {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
        payload.downcast_ref::<&str>().unwrap().contains("more items than a usize can count")
    };
    assert!(refused(&|| all().rev().take(3).collect()));
    assert!(refused(&|| all().map(|n| n).step_by(usize::MAX).collect()));
    assert!(refused(&|| filch::par(0..u64::MAX).chain(0..10).rev().take(3).collect()));
    assert!(refused(&|| all().chunks(9).map(|chunk| chunk[0]).find_first(|_| true).into_iter().collect()));
}

#[test]
fn chunks_are_vectors_of_items() {
    let _watched = watchdog("chunks are vectors of items");
    for n in LENGTHS {
        let v: Vec<usize> = (0..n).collect();
        for size in [1, 2, 3, n + 1, usize::MAX] {
            let expected: Vec<Vec<usize>> = v.chunks(size).map(<[usize]>::to_vec).collect();
            gives!(|par| par!(v.clone()).chunks(size).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn states_are_few_and_never_shared() {
    let _watched = watchdog("states are few and never shared");
    for pool in POOLS.iter() {
        let made = AtomicUsize::new(0);
        let used = Mutex::new(BTreeSet::new());
        let init = || (made.fetch_add(1, Relaxed), 0);
        let numbers: Vec<usize> = pool.install(|| {
            filch::par(0..1000)
                .map_init(init, |(state, count), i| {
                    *count += 1;
                    // A nested loop may run other blocks of the outer one meanwhile.
                    let before = *count;
                    assert_eq!(filch::par(0..20).count(), 20);
                    assert_eq!(*count, before);
                    used.lock().unwrap().insert(*state);
                    i
                })
                .collect()
        });
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
        let made = made.into_inner();
        assert!((1..1000).contains(&made), "{made} states");
        assert!(pool.workers() > 1 || made == 1, "one worker needs one state");
        assert!(used.into_inner().unwrap().into_iter().max().unwrap() < made);
    }
}

#[test]
#[should_panic(expected = "a step of no items")]
fn a_step_of_no_items_is_refused() {
    let _ = filch::par(0..10).step_by(0);
}

#[test]
fn an_adaptor_skips_what_it_leaves_out() {
    let ran = AtomicUsize::new(0);
    let count = |i: u32| {
        ran.fetch_add(1, Relaxed);
        i
    };
    assert_eq!(filch::par(0..100).map(count).skip(40).take(20).collect::<Vec<_>>(), (40..60).collect::<Vec<_>>());
    assert_eq!(ran.into_inner(), 20);
}
