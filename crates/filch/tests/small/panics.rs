//! Each panic comes out where a sequential run would show it, and everything it leaves behind is dropped once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use crate::any::{AnyPool, Branch, Bulk, Handle, Moment, Numbers, Thing, install, run, with_pools};
use crate::common::{throw, thrown_by, times, watchdog};
use crate::until_stolen;

fn works(pool: &dyn AnyPool) {
    let (a, b) = run(pool, |w| w.join(Bulk::None, Box::new(|_| Thing::new(1)), Box::new(|_| Thing::new(2))));
    assert_eq!((a.number(), b.number()), (1, 2));
    assert_eq!(install(pool, || filch::join(|| 1, || 2)), (1, 2));
}

/// Returns `value`, or throws.
fn unless<T>(thrower: usize, me: usize, value: T) -> T {
    if thrower == me { throw(me) } else { value }
}

#[test]
fn out_of_branches() {
    let _watchdog = watchdog("panics out of branches");
    with_pools(|pool| {
        let alive = Arc::default();
        let branch = |thrower, me| -> Branch<'static> {
            let thing = Thing::counted(me, &alive);
            Box::new(move |_| unless(thrower, me, thing))
        };
        for (thrower, bulk) in (1..=2).flat_map(|thrower| Bulk::EVERY.map(|bulk| (thrower, bulk))) {
            let by_handle = || run(pool, |w| w.join(bulk, branch(thrower, 1), branch(thrower, 2)));
            assert_eq!(thrown_by(by_handle), thrower);
            let [a, b] = [1, 2].map(|me| Thing::counted(me, &alive));
            let (a, b) = (move || unless(thrower, 1, a), move || unless(thrower, 2, [b]));
            let thrown = if bulk == Bulk::None {
                thrown_by(|| install(pool, || filch::join(a, b)))
            } else {
                thrown_by(|| run(pool, |_| filch::join(a, b)))
            };
            assert_eq!((thrown, alive.load(SeqCst)), (thrower, 0));
        }
        assert_eq!(thrown_by(|| install(pool, || filch::join(|| throw(1), || throw(2)))), 1);
        works(pool);
    });
}

/// The second branch is stolen; then one of the branches throws, or both do.
#[test]
fn out_of_stolen_branches() {
    let _watchdog = watchdog("panics out of stolen branches");
    with_pools(|pool| {
        if pool.workers() == 1 {
            return;
        }
        let alive: Arc<AtomicUsize> = Arc::default();
        for (thrower, bulk) in (1..=3).zip([Bulk::None, Bulk::Large, Bulk::Empty]) {
            let is_taken = AtomicBool::new(false);
            let taken = || is_taken.load(SeqCst);
            let throws = |me: usize| {
                if thrower & me > 0 {
                    throw(me)
                }
            };
            let (here, there) = (Thing::counted(1, &alive), Thing::counted(2, &alive));
            let a = |w: &mut dyn Handle| {
                until_stolen::by_handle(w, &taken);
                throws(1);
                here
            };
            let b = |_: &mut dyn Handle| {
                is_taken.store(true, SeqCst);
                throws(2);
                there
            };
            let first = if thrower == 2 { 2 } else { 1 };
            assert_eq!(thrown_by(|| run(pool, |w| w.join(bulk, Box::new(a), Box::new(b)))), first);
            is_taken.store(false, SeqCst);
            let there = [(); 4].map(|()| Thing::counted(2, &alive));
            let a = || {
                until_stolen::by_closures(&taken);
                throws(1);
            };
            let b = || {
                is_taken.store(true, SeqCst);
                throws(2);
                there
            };
            assert_eq!(thrown_by(|| install(pool, || filch::join(a, b))), first);
            assert_eq!(alive.load(SeqCst), 0);
        }
        works(pool);
    });
}

fn leaves(w: &mut dyn Handle, depth: u32, first: usize, thrower: usize, alive: &Arc<AtomicUsize>) -> Thing {
    let here = Thing::counted(1, alive);
    if depth == 0 {
        return unless(thrower, first, here);
    }
    let second = first + (1 << (depth - 1));
    let (a, b) = w.join(
        Bulk::EVERY[first % 4],
        Box::new(move |w| leaves(w, depth - 1, first, thrower, alive)),
        Box::new(move |w| leaves(w, depth - 1, second, thrower, alive)),
    );
    Thing::counted(a.number() + b.number(), alive)
}

#[test]
fn out_of_recursions() {
    const DEPTH: u32 = if cfg!(miri) { 2 } else { 5 };
    let _watchdog = watchdog("panics out of recursions");
    with_pools(|pool| {
        let alive = Arc::default();
        let leaves = |w: &mut dyn Handle, thrower| leaves(w, DEPTH, 0, thrower, &alive);
        for thrower in 0..1 << DEPTH {
            assert_eq!(thrown_by(|| run(pool, |w| leaves(w, thrower))), thrower);
            assert_eq!(alive.load(SeqCst), 0);
        }
        // Caught in the middle of a stack of forks.
        let inner = |w: &mut dyn Handle| {
            let throws = || w.join(Bulk::None, Box::new(|w| leaves(w, 1)), Box::new(|_| Thing::new(1)));
            assert!(catch_unwind(AssertUnwindSafe(throws)).is_err());
            leaves(w, usize::MAX)
        };
        let (a, b) = run(pool, |w| w.join(Bulk::None, Box::new(inner), Box::new(|w| leaves(w, usize::MAX))));
        assert_eq!((a.number(), b.number()), (1 << DEPTH, 1 << DEPTH));
        drop((a, b));
        assert_eq!(alive.load(SeqCst), 0);
    });
}

#[test]
fn out_of_forks_of_many_and_loops() {
    const ITEMS: usize = times(100, 8);
    let _watchdog = watchdog("panics out of loops");
    with_pools(|pool| {
        let alive = Arc::default();
        let items = || (0..ITEMS).map(|n| Thing::counted(n, &alive));
        let same = |_: &mut dyn Handle, item| item;
        let add = |sum, item: Thing| sum + item.number();
        for bulk in [Bulk::None, Bulk::Large] {
            // The newest is joined first: of two panics, the later item's comes out.
            let task = |_: &mut dyn Handle, item: Thing| unless(2, item.number(), unless(5, item.number(), item));
            let all = || run(pool, |w| w.fork_all(Box::new(items()), bulk, &task, &mut |sum, item| add(sum, item)));
            assert_eq!(thrown_by(all), 5);
            let ends = || items().map(|item| unless(4, item.number(), item));
            let all = || run(pool, |w| w.fork_all(Box::new(ends()), bulk, &same, &mut |sum, item| add(sum, item)));
            assert_eq!(thrown_by(all), 4);
            let fold = |sum, item: Thing| unless(3, item.number(), add(sum, item));
            let all = || run(pool, |w| w.fork_all(Box::new(items()), bulk, &same, &mut |sum, item| fold(sum, item)));
            assert_eq!((thrown_by(all), alive.load(SeqCst)), (3, 0));
        }
        let each = |n| {
            let _thing = Thing::counted(n, &alive);
            unless(6, n, ());
        };
        assert_eq!(thrown_by(|| run(pool, |w| w.for_each(Numbers::new(0..ITEMS), &each))), 6);
        assert_eq!(thrown_by(|| install(pool, || filch::for_each(0..ITEMS, each))), 6);
        let map = |n| Arc::new(Thing::counted(n, &alive));
        let reduce = |a: Arc<Thing>, b: Arc<Thing>| unless(7, b.number(), if a.number() > 7 { a } else { b });
        for is_fixed in [false, true] {
            let all = || run(pool, |w| w.map_reduce(is_fixed, Numbers::new(0..ITEMS), &map, &reduce));
            assert_eq!(thrown_by(all), 7);
        }
        for when in [Moment::Item, Moment::End] {
            let at = |moment, numbers: &std::ops::Range<usize>| {
                if moment == when && numbers.contains(&5) {
                    throw(8)
                }
            };
            let all = || run(pool, |w| w.map_reduce(false, Numbers::watched(0..ITEMS, &at), &map, &|a, _| a));
            assert_eq!(thrown_by(all), 8);
        }
        assert_eq!(alive.load(SeqCst), 0);
        works(pool);
    });
}

#[test]
fn out_of_scopes_and_calls() {
    let _watchdog = watchdog("panics out of scopes");
    with_pools(|pool| {
        let (alive, ran) = (Arc::default(), AtomicUsize::new(0));
        for body_throws in [false, true] {
            ran.store(0, SeqCst);
            let scope = || {
                filch::scope(|s| {
                    for n in 0..4 {
                        let (captured, ran) = (Thing::counted(n, &alive), &ran);
                        s.spawn(move |s| {
                            s.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                            unless(1, captured.number() % 2, ());
                        });
                    }
                    unless(usize::from(body_throws), 1, ());
                });
            };
            assert_eq!(thrown_by(|| install(pool, scope)), 1);
            assert_eq!((ran.load(SeqCst), alive.load(SeqCst)), (4, 0), "the others still run");
        }
        assert_eq!(thrown_by(|| run(pool, |_| run(pool, |_| throw(3)))), 3);
        // Nobody sees these panics.
        pool.spawn(Box::new(|| throw(6)));
        install(pool, || filch::spawn(|| throw(6)));
        works(pool);
    });
}
