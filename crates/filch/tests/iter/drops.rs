//! Each value is dropped once, whatever panics, is cut, or ends early.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use filch::Divisible;
use filch::iter::{Drain, IntoPar, Lend, bridge};

use crate::common::{Counted, throw, thrown_by, watchdog};
use crate::{POOLS, shredded};

/// Values that are counted while they live.
fn counted(alive: &AtomicUsize, n: usize) -> Vec<Counted<'_>> {
    (0..n).map(|_| Counted::new(alive)).collect()
}

/// Runs a consumer that panics at each position in turn, or not at all, on values and with results that are counted.
fn at_every_position(n: usize, run: impl Fn(Vec<(usize, Counted<'_>)>, &(dyn Fn(usize) + Sync), &AtomicUsize) + Sync) {
    let alive = AtomicUsize::new(0);
    for pool in POOLS.iter() {
        for position in 0..=n {
            let items: Vec<_> = counted(&alive, n).into_iter().enumerate().collect();
            let visit = |i: usize| {
                if i == position {
                    throw(i);
                }
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(|| run(items, &visit, &alive))));
            assert_eq!(outcome.is_err(), position < n, "position {position}");
            assert_eq!(alive.load(SeqCst), 0, "a panic at {position} of {n}");
        }
    }
}

#[test]
fn panics_at_every_position_drop_everything_once() {
    let _watched = watchdog("panics at every position drop everything once");
    for n in [1, 2, 5, 33] {
        at_every_position(n, |items, visit, _| filch::par(items).for_each(|(i, _)| visit(i)));
        at_every_position(n, |items, visit, alive| {
            let results: Vec<_> = filch::par(items)
                .map(|(i, item)| {
                    visit(i);
                    (item, Counted::new(alive))
                })
                .collect();
            assert_eq!(results.len(), n);
        });
        at_every_position(n, |items, visit, alive| {
            let results: Vec<_> = filch::par(items)
                .filter_map(|(i, item)| {
                    visit(i);
                    Some((item, Counted::new(alive)))
                })
                .collect();
            assert_eq!(results.len(), n);
        });
        at_every_position(n, |items, visit, _| {
            drop(filch::par(items).rev().inspect(|(i, _)| visit(*i)).chunks(3).collect::<Vec<_>>());
        });
        at_every_position(n, |items, visit, alive| {
            let state = || Counted::new(alive);
            filch::par(bridge(items)).map_init(state, |_, (i, _)| visit(i)).for_each(drop);
        });
        at_every_position(n, |items, visit, _| {
            let drawn = items.into_iter().inspect(|(i, _)| visit(*i));
            assert_eq!(filch::par(bridge(drawn)).collect::<Vec<_>>().len(), n);
        });
    }
}

#[test]
fn early_ends_drop_everything_once() {
    let _watched = watchdog("early ends drop everything once");
    let alive = AtomicUsize::new(0);
    for pool in POOLS.iter() {
        for wrong in [0, 1, 50, 99] {
            pool.install(|| {
                let items = || filch::par(counted(&alive, 100)).enumerate();
                let results: Result<Vec<_>, usize> =
                    items().map(|(i, item)| if i == wrong { Err(i) } else { Ok(item) }).collect();
                assert_eq!(results.err(), Some(wrong));
                assert_eq!(items().find_first(|(i, _)| *i >= wrong).map(|(i, _)| i), Some(wrong));
                assert!(items().any(|(i, _)| i == wrong));
                assert_eq!(items().skip(wrong).count(), 100 - wrong);
                assert_eq!(items().take(wrong).count(), wrong);
                assert_eq!(items().step_by(wrong + 1).count(), 100_usize.div_ceil(wrong + 1));
                assert!(filch::par(bridge(counted(&alive, 100))).any(|_| true));
            });
            assert_eq!(alive.load(SeqCst), 0);
        }
    }
}

#[test]
fn what_is_not_run_is_dropped() {
    let alive = AtomicUsize::new(0);
    drop(filch::par(counted(&alive, 10)).map(|_| ()));
    assert_eq!(alive.load(SeqCst), 0);
    let items = shredded(counted(&alive, 100));
    assert_eq!(alive.load(SeqCst), 100);
    drop(items);
    // A part outlives the others, and is dropped by an iterator that has begun at both ends.
    let drain: Drain<Counted<'_>> = Lend::source(&mut IntoPar::into_parts(counted(&alive, 10)));
    let (left, right) = drain.cut(4);
    drop(left);
    let mut right = right.into_iter();
    assert_eq!((right.len(), alive.load(SeqCst)), (6, 6));
    drop((right.next(), right.next_back()));
    assert_eq!((right.len(), alive.load(SeqCst)), (4, 4));
    drop(right);
    assert_eq!(alive.load(SeqCst), 0);
    assert_eq!(filch::par(vec![(); 1000]).map(|()| 1).sum::<u32>(), 1000, "items of size zero");
}

/// A source that lies about its length, and yields other numbers of items than it says.
struct Liar<'c> {
    said: usize,
    has: usize,
    alive: &'c AtomicUsize,
}

impl<'c> IntoIterator for Liar<'c> {
    type Item = Counted<'c>;
    type IntoIter = std::vec::IntoIter<Counted<'c>>;

    fn into_iter(self) -> Self::IntoIter {
        counted(self.alive, self.has).into_iter()
    }
}

impl Divisible for Liar<'_> {
    fn length(&self) -> usize {
        self.said
    }

    fn cut(self, at: usize) -> (Self, Self) {
        let part = |said| Self { said, has: if said == 1 { self.has } else { said }, alive: self.alive };
        (part(at), part(self.said - at))
    }
}

#[test]
fn sources_that_lie_cause_panics_at_worst() {
    let _watched = watchdog("sources that lie cause panics at worst");
    let alive = AtomicUsize::new(0);
    for pool in POOLS.iter() {
        for said in [1, 2, 20] {
            for has in [0, 1, 2, 7] {
                let collected = catch_unwind(AssertUnwindSafe(|| {
                    pool.install(|| filch::par(Liar { said, has, alive: &alive }).collect::<Vec<_>>())
                }));
                if let Ok(items) = collected {
                    assert_eq!(items.len(), said);
                }
                assert_eq!(alive.load(SeqCst), 0, "{said} items said, {has} there");
            }
        }
    }
}

/// A source that says that it has many items, however often it is cut.
struct Boast;

impl IntoIterator for Boast {
    type Item = ();
    type IntoIter = std::iter::Empty<()>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::empty()
    }
}

impl Divisible for Boast {
    fn length(&self) -> usize {
        1000
    }

    fn cut(self, _: usize) -> (Self, Self) {
        (Self, Self)
    }
}

#[test]
fn a_loop_over_a_source_that_never_gets_shorter_panics() {
    let _watched = watchdog("a source that never gets shorter");
    const FIXED: usize = 2;
    let loops: [fn(); 4] = [
        || filch::for_each(Boast, |()| ()),
        || filch::fold_blocks(Boast, (), |(), _| (), |(), ()| ()),
        || filch::map_reduce_fixed(Boast, (), |()| (), |(), ()| ()),
        || filch::try_for_each(Boast, |()| Ok::<(), ()>(())).unwrap(),
    ];
    for pool in POOLS.iter() {
        for (nth, run) in loops.into_iter().enumerate() {
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(run)));
            // The only worker of a pool cuts nothing, unless the tree is fixed.
            assert_eq!(outcome.is_err(), pool.workers() > 1 || nth == FIXED);
            if let Err(payload) = outcome {
                let message = payload.downcast_ref::<String>().unwrap();
                assert!(message.contains("`Divisible::length` is wrong"), "{message}");
            }
        }
    }
}

#[test]
fn the_first_panic_of_a_closure_arrives() {
    for pool in POOLS.iter() {
        assert_eq!(thrown_by(|| pool.install(|| filch::par(0..100).map(|_| throw(7)).count())), 7);
        assert_eq!(thrown_by(|| pool.run(|mut w| w.par(0..100).filter(|i| *i == 50).for_each(|i| throw(i)))), 50);
    }
}
