//! Every consumer.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use filch::Stop;
use filch::iter::bridge;

use crate::common::watchdog;
use crate::{LENGTHS, gives};

/// Numbers in no order, with equal ones.
fn numbers(n: usize) -> Vec<u64> {
    (0..n as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).collect()
}

#[test]
fn consumers_give_what_the_standard_ones_give() {
    let _watched = watchdog("consumers give what the standard ones give");
    for n in LENGTHS {
        let v = numbers(n);
        gives!(both: |par| par!(&v).sum::<u64>(), v.iter().sum());
        gives!(|par| par!(&v).map(|x| x % 3 + 1).map(std::num::Wrapping).product::<std::num::Wrapping<u64>>(), {
            v.iter().map(|x| std::num::Wrapping(x % 3 + 1)).product::<std::num::Wrapping<u64>>()
        });
        gives!(both: |par| par!(&v).count(), n);
        gives!(|par| par!(&v).filter(|x| **x > 99).count(), v.iter().filter(|x| **x > 99).count());
        gives!(both: |par| par!(&v).fold(|| 0, |sum, x| sum + x, |a, b| a + b), v.iter().sum());
        gives!(both: |par| par!(v.clone()).fold_fixed(String::new, |s, x| s + &x.to_string(), |a, b| a + &b), {
            v.iter().map(u64::to_string).collect::<String>()
        });
        gives!(both: |par| par!(v.clone()).map(|x| x.to_string()).reduce(String::new, |a, b| a + &b), {
            v.iter().map(u64::to_string).collect::<String>()
        });
        // Which of equals is the answer shows in the index.
        let pairs = || v.iter().copied().zip(0..n);
        gives!(both: |par| par!(&v).min(), v.iter().min());
        gives!(|par| par!(&v).max(), v.iter().max());
        gives!(|par| par!(v.clone()).zip(0..n).min_by_key(|(x, _)| *x), pairs().min_by_key(|(x, _)| *x));
        gives!(both: |par| par!(v.clone()).zip(0..n).max_by_key(|(x, _)| *x), pairs().max_by_key(|(x, _)| *x));
        gives!(|par| par!(v.clone()).zip(0..n).min_by(|a, b| a.0.cmp(&b.0)), pairs().min_by(|a, b| a.0.cmp(&b.0)));
        gives!(|par| par!(v.clone()).zip(0..n).max_by(|a, b| a.0.cmp(&b.0)), pairs().max_by(|a, b| a.0.cmp(&b.0)));
        for limit in [0, 9, 100, 255] {
            gives!(both: |par| par!(&v).any(|x| *x > limit), v.iter().any(|x| *x > limit));
            gives!(|par| par!(&v).all(|x| *x < limit), v.iter().all(|x| *x < limit));
            gives!(both: |par| par!(&v).find_any(|x| **x > limit).is_some(), v.iter().any(|x| *x > limit));
            gives!(|par| par!(&v).position_any(|x| *x > limit).is_none_or(|i| v[i] > limit), true);
            gives!(both: |par| par!(&v).position_first(|x| *x > limit), v.iter().position(|x| *x > limit));
            gives!(both: |par| par!(v.clone()).zip(0..n).find_first(|(x, _)| *x > limit),
                pairs().find(|(x, _)| *x > limit)
            );
            gives!(|par| par!(v.clone()).zip(0..n).filter(|(_, i)| i % 2 == 1).find_first(|(x, _)| *x > limit), {
                pairs().filter(|(_, i)| i % 2 == 1).find(|(x, _)| *x > limit)
            });
        }
        let total = AtomicUsize::new(0);
        let add = |x: &u64| _ = total.fetch_add(*x as usize, Relaxed);
        gives!(both: |par| par!(&v).for_each(add), ());
        assert_eq!(total.into_inner() as u64, 6 * v.iter().sum::<u64>(), "three pools, two styles");
    }
}

#[test]
fn collections_have_the_items_in_order() {
    let _watched = watchdog("collections have the items in order");
    for n in LENGTHS {
        let v = numbers(n);
        let pairs = || v.iter().copied().zip(0..n);
        gives!(both: |par| par!(&v).copied().collect::<Vec<_>>(), v.clone());
        gives!(|par| par!(&v).copied().filter(|x| x % 2 == 0).collect::<Vec<_>>(), {
            v.iter().copied().filter(|x| x % 2 == 0).collect::<Vec<_>>()
        });
        gives!(|par| par!(&v).copied().collect::<Box<[_]>>(), v.clone().into_boxed_slice());
        gives!(|par| par!(&v).copied().collect::<VecDeque<_>>(), VecDeque::from(v.clone()));
        gives!(|par| par!(&v).copied().collect::<LinkedList<_>>(), v.iter().copied().collect::<LinkedList<_>>());
        gives!(|par| par!(&v).copied().collect::<BinaryHeap<_>>().into_sorted_vec(), {
            v.iter().copied().collect::<BinaryHeap<_>>().into_sorted_vec()
        });
        gives!(|par| par!(&v).copied().collect::<BTreeSet<_>>(), v.iter().copied().collect::<BTreeSet<_>>());
        gives!(|par| par!(&v).copied().collect::<HashSet<_>>(), v.iter().copied().collect::<HashSet<_>>());
        gives!(|par| par!(v.clone()).zip(0..n).collect::<BTreeMap<_, _>>(), pairs().collect::<BTreeMap<_, _>>());
        gives!(|par| par!(v.clone()).zip(0..n).collect::<HashMap<_, _>>(), pairs().collect::<HashMap<_, _>>());
        let letters = || v.iter().map(|x| char::from(*x as u8));
        gives!(|par| par!(&v).map(|x| char::from(*x as u8)).collect::<String>(), letters().collect::<String>());
        gives!(|par| par!(&v).map(u64::to_string).collect::<String>(), {
            v.iter().map(u64::to_string).collect::<String>()
        });
        gives!(
            |par| par!(v.clone()).zip(0..n).unzip::<_, _, Vec<_>, Vec<_>>(),
            pairs().unzip::<_, _, Vec<_>, Vec<_>>()
        );
        gives!(|par| par!(v.clone()).partition::<Vec<_>, _>(|x| x % 2 == 0), {
            v.iter().copied().partition::<Vec<_>, _>(|x| x % 2 == 0)
        });
        gives!(|par| par!(&v).map(|_| ()).collect::<Vec<()>>().len(), n);
    }
}

#[test]
fn loops_end_at_errors() {
    let _watched = watchdog("loops end at errors");
    for n in LENGTHS {
        for wrong in [0, n / 2, n.saturating_sub(1), n] {
            let check = |i: usize| if i == wrong { Err(i) } else { Ok(i) };
            let expected: Result<Vec<usize>, usize> = (0..n).map(check).collect();
            gives!(|par| par!(0..n).map(check).collect::<Result<Vec<_>, _>>(), expected.clone());
            gives!(|par| par!(0..n).map(|i| check(i).ok()).collect::<Option<Vec<_>>>(), expected.clone().ok());
            gives!(|par| par!(0..n).map(|i| check(i).map(drop)).collect::<Result<(), _>>(), expected.clone().map(drop));
            gives!(|par| par!(0..n).try_for_each(|i| check(i).map(drop)), expected.clone().map(drop));
            let sum = expected.map(|v| v.iter().sum::<usize>());
            gives!(|par| par!(0..n).map(check).try_reduce(|| 0, |a, b| Ok(a + b)), sum);
        }
        let limit = |a: usize, b: usize| if a + b > 100 { Err("too much") } else { Ok(a + b) };
        let sum: usize = (0..n).sum();
        gives!(|par| par!(0..n).map(Ok).try_reduce(|| 0, limit), if sum > 100 { Err("too much") } else { Ok(sum) });
    }
}

#[test]
fn what_has_no_end_ends_early() {
    let _watched = watchdog("what has no end ends early");
    gives!(|par| par!(0..u64::MAX).find_any(|i| *i == 1000), Some(1000));
    gives!(|par| par!(0..=u64::MAX).find_first(|i| *i >= 1000), Some(1000));
    gives!(|par| par!(0..u64::MAX).position_first(|i| i >= 1000), Some(1000));
    gives!(|par| par!(0..u64::MAX).any(|i| i == 1000), true);
    gives!(|par| par!(0..u64::MAX).all(|i| i < 1000), false);
    gives!(|par| par!(bridge(0..)).find_any(|i| *i == 1000), Some(1000));
    gives!(|par| par!(bridge(0..)).filter(|i| i % 2 == 1).find_first(|i| *i >= 1000), Some(1001));
    let stop = Stop::new();
    let until = |i: u64| {
        if i == 5000 {
            stop.stop();
        }
        stop.check().map(|()| i)
    };
    gives!(|par| par!(0..u64::MAX).map(until).collect::<Result<Vec<_>, _>>().is_err(), true);
    gives!(|par| par!(bridge(0..)).map(until).try_for_each(|item| item.map(drop)).is_err(), true);
}
