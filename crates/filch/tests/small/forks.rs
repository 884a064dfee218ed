//! Forks, loops, scopes and spawns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;

use filch::levels::{Level, Levels};
use filch::pool::{Heartbeat, Pool, Queued, Request, Split, Wool};
use filch::{Scope, Worker, inline_recursion};
use filch_queue::ChaseLev;

use crate::any::{
    AnyPool, Branch, Bulk, Handle, Numbers, PoolKind, PoolSettings, Thing, install, run, with_kinds, with_pools,
};
use crate::common::{picked, pool_of, times, wait_for, watchdog};
use crate::until_stolen;

/// Numbers in boxes of their own, which a program reads while others may.
fn things(number: usize) -> Vec<Thing> {
    (0..number).map(Thing::new).collect()
}

fn sum_below(number: usize) -> usize {
    number * (number - 1) / 2
}

fn sum(w: &mut dyn Handle, numbers: &[Thing]) -> Thing {
    match numbers {
        [] => Thing::new(0),
        [number] => Thing::new(number.number()),
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let (a, b) = w.join(Bulk::None, Box::new(|w| sum(w, left)), Box::new(move |w| sum(w, right)));
            Thing::new(a.number() + b.number())
        }
    }
}

fn sum_by_closures(numbers: &[Thing]) -> Thing {
    match numbers {
        [] => Thing::new(0),
        [number] => Thing::new(number.number()),
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let (a, b) = filch::join(|| sum_by_closures(left), move || sum_by_closures(right));
            Thing::new(a.number() + b.number())
        }
    }
}

/// Quicksort: each branch writes its part of one array.
fn sort(w: &mut dyn Handle, numbers: &mut [usize]) {
    let Some((left, right)) = partition(numbers) else { return };
    let branch = |part| -> Branch<'_> {
        Box::new(|w| {
            sort(w, part);
            Thing::default()
        })
    };
    w.join(Bulk::None, branch(left), branch(right));
}

fn sort_by_closures(numbers: &mut [usize]) {
    let Some((left, right)) = partition(numbers) else { return };
    filch::join(|| sort_by_closures(left), || sort_by_closures(right));
}

/// Splits into the numbers below and those above the last one.
fn partition(numbers: &mut [usize]) -> Option<(&mut [usize], &mut [usize])> {
    let pivot = numbers.len().checked_sub(1)?;
    let mut middle = 0;
    for at in 0..pivot {
        if numbers[at] < numbers[pivot] {
            numbers.swap(at, middle);
            middle += 1;
        }
    }
    numbers.swap(middle, pivot);
    let (left, right) = numbers.split_at_mut(middle);
    Some((left, &mut right[1..]))
}

#[test]
fn joins() {
    const NUMBERS: usize = times(300, 9);
    let _watchdog = watchdog("joins");
    with_pools(|pool| {
        for _ in 0..times(5, 2) {
            let numbers = things(NUMBERS);
            assert_eq!(run(pool, |w| sum(w, &numbers)).number(), sum_below(NUMBERS));
            assert_eq!(install(pool, || sum_by_closures(&numbers)).number(), sum_below(NUMBERS));
            let mut one: Vec<_> = (0..NUMBERS).map(|n| n * 7919 % 101).collect();
            let mut other = one.clone();
            run(pool, |w| sort(w, &mut one));
            install(pool, || sort_by_closures(&mut other));
            assert!(one.is_sorted() && one == other);
        }
    });
}

/// A tree whose branches carry something of every size.
fn luggage(w: &mut dyn Handle, depth: usize, alive: &Arc<AtomicUsize>) -> Thing {
    if depth == 0 {
        return Thing::counted(1, alive);
    }
    let (mine, yours) = (Thing::counted(0, alive), Thing::counted(0, alive));
    let (a, b) = w.join(
        Bulk::EVERY[depth % 4],
        Box::new(move |w| {
            let _mine = mine;
            luggage(w, depth - 1, alive)
        }),
        Box::new(move |w| {
            let _yours = yours;
            luggage(w, depth - 1, alive)
        }),
    );
    Thing::counted(a.number() + b.number(), alive)
}

#[test]
fn branches_with_luggage() {
    let _watchdog = watchdog("luggage");
    with_pools(|pool| {
        let alive = Arc::default();
        for depth in 1..=times(6, 3) {
            assert_eq!(run(pool, |w| luggage(w, depth, &alive)).number(), 1 << depth);
            assert_eq!(alive.load(SeqCst), 0);
        }
    });
}

/// Alternates both styles and scopes inside each other.
fn mixed(pool: &dyn AnyPool, way: usize, depth: usize, numbers: &[Thing]) -> usize {
    if depth == 0 {
        return usize::from(numbers[way % numbers.len()].number() < numbers.len());
    }
    let go = |next: usize| mixed(pool, way * 5 + next, depth - 1, numbers);
    let branch = |next: usize| move |_: &mut dyn Handle| Thing::new(go(next));
    match way % 8 {
        0 => run(pool, |w| {
            let (a, b) = w.join(Bulk::None, Box::new(branch(0)), Box::new(branch(1)));
            a.number() + b.number()
        }),
        1 => {
            let (a, b) = filch::join(|| go(1), || go(2));
            a + b
        }
        2 => run(pool, |_| {
            let (a, b) = filch::join(|| go(2), || go(3));
            a + b
        }),
        3 => {
            let in_handle_style = || run(pool, |w| w.join(Bulk::Large, Box::new(branch(3)), Box::new(branch(4))));
            let ((a, b), ()) = filch::join(in_handle_style, || ());
            a.number() + b.number()
        }
        4 => {
            let (mut a, mut b) = (0, 0);
            filch::scope(|s| {
                s.spawn(|_| a = go(0));
                b = go(4);
            });
            a + b
        }
        5 => run(pool, |w| {
            let go = || filch::join(|| go(1), || go(3));
            let ((a, b), ()) = filch::join(go, || ());
            a + w.install(Box::new(|| Thing::new(b))).number()
        }),
        6 => run(pool, |w| {
            let mut parts = [Thing::new(1), Thing::new(4)];
            w.scope(&mut parts, &|w, part| *part = w.install(Box::new(|| Thing::new(go(part.number())))));
            parts.iter().map(Thing::number).sum()
        }),
        _ => run(pool, |w| {
            let items = Box::new([1, 2].into_iter().map(Thing::new));
            w.fork_all(items, Bulk::None, &|_, next| Thing::new(go(next.number())), &mut |sum, n| sum + n.number())
        }),
    }
}

#[test]
fn styles_inside_each_other() {
    const DEPTH: usize = times(5, 2);
    let _watchdog = watchdog("styles inside each other");
    with_pools(|pool| {
        let numbers = things(7);
        for way in 0..8 {
            assert_eq!(install(pool, || mixed(pool, way, DEPTH, &numbers)), 1 << DEPTH);
        }
    });
}

fn on_levels<P: Pool, L: Level>(mut w: Worker<'_, P, L>, numbers: &[Thing]) -> usize {
    match numbers {
        [] => 0,
        [number] => number.number(),
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let (a, b) = w.join(move |w| on_levels(w, left), move |w| on_levels(w, right));
            a + b
        }
    }
}

#[inline_recursion(3)]
fn unrolled<P: Pool>(mut w: Worker<'_, P>, numbers: &[Thing]) -> usize {
    match numbers {
        [] => 0,
        [number] => number.number(),
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let (a, b) = w.join(move |w| unrolled(w, left), move |w| unrolled(w, right));
            a + b
        }
    }
}

#[inline_recursion(2)]
fn unrolled_by_closures(numbers: &[Thing]) -> usize {
    match numbers {
        [] => 0,
        [number] => number.number(),
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let (a, b) = filch::join(move || unrolled_by_closures(left), || unrolled_by_closures(right));
            a + b
        }
    }
}

/// Recursions that the compiler unrolls, on one pool of each family.
#[test]
fn unrolled_recursions() {
    fn unrolls<P: Pool>() {
        const NUMBERS: usize = times(200, 7);
        for workers in picked(&[1, 2, 3], 1) {
            let (pool, numbers) = (pool_of::<P>(workers, filch::Wait::default()), things(NUMBERS));
            assert_eq!(pool.run(|w| on_levels(w.in_levels::<Levels<2>>(), &numbers)), sum_below(NUMBERS));
            assert_eq!(pool.run(|w| on_levels(w.in_levels::<Levels<3>>(), &numbers)), sum_below(NUMBERS));
            assert_eq!(pool.run(|w| unrolled(w, &numbers)), sum_below(NUMBERS));
            assert_eq!(pool.install(|| unrolled_by_closures(&numbers)), sum_below(NUMBERS));
        }
    }
    let _watchdog = watchdog("unrolled recursions");
    unrolls::<Split>();
    unrolls::<Wool>();
    unrolls::<Queued<ChaseLev>>();
    unrolls::<Heartbeat<ChaseLev, Request>>();
}

#[test]
fn loops() {
    const NUMBERS: usize = times(2000, 12);
    let _watchdog = watchdog("loops");
    with_pools(|pool| {
        let numbers = things(NUMBERS);
        let (all, counts) = (Numbers::new(0..NUMBERS), Vec::from_iter((0..NUMBERS).map(|_| AtomicUsize::new(0))));
        let map = |n: usize| Arc::new(Thing::new(numbers[n].number()));
        let reduce = |a: Arc<Thing>, b: Arc<Thing>| Arc::new(Thing::new(a.number() + b.number()));
        run(pool, |w| {
            w.for_each(all.clone(), &|n| _ = counts[n].fetch_add(1, SeqCst));
            for is_fixed in [false, true] {
                assert_eq!(w.map_reduce(is_fixed, all.clone(), &map, &reduce).number(), sum_below(NUMBERS));
            }
        });
        let mut squares = vec![0; NUMBERS];
        install(pool, || {
            filch::for_each(0..NUMBERS, |n| _ = counts[n].fetch_add(1, SeqCst));
            filch::for_each(&mut squares[..], |square| *square += 1);
            assert_eq!(filch::map_reduce(&numbers[..], 0, Thing::number, |a, b| a + b), sum_below(NUMBERS));
            assert_eq!(filch::map_reduce_fixed(&numbers[..], 0, Thing::number, |a, b| a + b), sum_below(NUMBERS));
            let fold = |sum, block: &[Thing]| block.iter().map(Thing::number).sum::<usize>() + sum;
            assert_eq!(filch::fold_blocks(&numbers[..], 0, fold, |a, b| a + b), sum_below(NUMBERS));
        });
        assert!(squares.into_iter().all(|square| square == 1));
        assert!(counts.into_iter().all(|count| count.into_inner() == 2));
    });
}

#[test]
fn forks_of_many() {
    const TASKS: usize = times(100, 6);
    let _watchdog = watchdog("forks of many");
    with_pools(|pool| {
        let alive = Arc::default();
        let below = |w: &mut dyn Handle, item: Thing| {
            let items = Box::new((0..item.number()).map(|n| Thing::counted(n, &alive)));
            Thing::new(w.fork_all(items, Bulk::None, &|_, item| item, &mut |sum, item| sum + item.number()))
        };
        for bulk in [Bulk::None, Bulk::Large] {
            let items = || Box::new((1..TASKS).map(|n| Thing::counted(n, &alive)));
            let all = run(pool, |w| w.fork_all(items(), bulk, &below, &mut |sum, item| sum + item.number()));
            assert_eq!((all, alive.load(SeqCst)), ((1..TASKS).map(sum_below).sum(), 0));
        }
    });
}

/// Spawns a tree of tasks, each of which writes to the scope owner's data.
fn grow<'s>(s: &Scope<'s>, numbers: &'s mut [Thing]) {
    let Some((first, others)) = numbers.split_first_mut() else { return };
    first.set(first.number() + 1);
    let (left, right) = others.split_at_mut(others.len() / 2);
    s.spawn(move |s| grow(s, left));
    s.spawn(move |s| grow(s, right));
}

#[test]
fn scopes() {
    const NUMBERS: usize = times(100, 7);
    let _watchdog = watchdog("scopes");
    with_pools(|pool| {
        let mut numbers = things(NUMBERS);
        for in_handle_style in [false, true] {
            let mut body = || {
                filch::scope(|s| grow(s, &mut numbers));
                filch::join(|| (), || filch::scope(|_| numbers.len())).1
            };
            assert_eq!(if in_handle_style { run(pool, |_| body()) } else { install(pool, body) }, NUMBERS);
        }
        run(pool, |w| {
            w.scope(&mut numbers, &|w, number| {
                let (a, b) = w.join(Bulk::None, Box::new(|_| Thing::new(1)), Box::new(|_| Thing::new(2)));
                number.set(number.number() + b.number() - a.number());
            });
        });
        assert!(numbers.iter().enumerate().all(|(at, number)| number.number() == at + 3));
        // From a thread outside, through a borrowed scope.
        let total = AtomicUsize::new(0);
        install(pool, || {
            filch::scope(|s| {
                thread::scope(|threads| {
                    threads.spawn(|| s.spawn(|_| _ = total.fetch_add(1, SeqCst)));
                });
                s.spawn(|s| s.spawn(|_| filch::scope(|s| s.spawn(|_| _ = total.fetch_add(1, SeqCst)))));
            });
        });
        assert_eq!(total.into_inner(), 2);
    });
}

/// Spawned tasks outlive their spawners, and their pool finishes them.
#[test]
fn a_pool_dropped_with_work_in_flight() {
    const DEPTH: usize = times(4, 2);
    fn spread(left: usize, ran: &Arc<AtomicUsize>) {
        ran.fetch_add(1, SeqCst);
        for _ in 0..2 * usize::from(left > 0) {
            let ran = Arc::clone(ran);
            filch::spawn(move || spread(left - 1, &ran));
        }
    }
    let _watchdog = watchdog("a pool dropped with work in flight");
    with_kinds(|kind, settings| {
        let (pool, ran) = (kind.build(settings), Arc::default());
        for _ in 0..3 {
            let ran = Arc::clone(&ran);
            pool.spawn(Box::new(move || spread(DEPTH, &ran)));
        }
        drop(pool);
        let runs = 3 * ((1 << (DEPTH + 1)) - 1);
        assert_eq!(Arc::into_inner(ran).map(AtomicUsize::into_inner), Some(runs), "all tasks are gone");
    });
}

#[test]
fn stolen_branches() {
    let _watchdog = watchdog("stolen branches");
    with_pools(|pool| {
        if pool.workers() == 1 {
            return;
        }
        let numbers = things(4);
        for bulk in (0..times(3, 1)).flat_map(|_| [Bulk::None, Bulk::Large]) {
            // The thief has tasks for the worker that waits for it.
            let is_taken = AtomicBool::new(false);
            let taken = || is_taken.load(SeqCst);
            let first = |w: &mut dyn Handle| {
                until_stolen::by_handle(w, &taken);
                Thing::new(1)
            };
            let second = |w: &mut dyn Handle| {
                is_taken.store(true, SeqCst);
                sum(w, &numbers)
            };
            let (a, b) = run(pool, |w| w.join(bulk, Box::new(first), Box::new(second)));
            assert_eq!((a.number(), b.number()), (1, 6));
            is_taken.store(false, SeqCst);
            let second = || {
                is_taken.store(true, SeqCst);
                sum_by_closures(&numbers)
            };
            assert_eq!(install(pool, || filch::join(|| until_stolen::by_closures(&taken), second)).1.number(), 6);
            is_taken.store(false, SeqCst);
            // Closure style in handle style, and a scope in the stolen branch.
            let mut there = Thing::default();
            let second = || {
                is_taken.store(true, SeqCst);
                filch::scope(|s| s.spawn(|_| there = sum_by_closures(&numbers)));
            };
            run(pool, |_| filch::join(|| until_stolen::by_closures(&taken), second));
            assert_eq!(there.number(), 6);
        }
    });
}

#[test]
fn pools_inside_each_other() {
    const DEPTH: usize = times(4, 1);
    fn alternate(here: &dyn AnyPool, there: &dyn AnyPool, depth: usize) -> usize {
        if depth == 0 {
            return 1;
        }
        let by_handle = |_: &mut dyn Handle| Thing::new(alternate(there, here, depth - 1));
        let (a, (b, _)) = filch::join(
            || install(there, || alternate(there, here, depth - 1)),
            || run(there, |w| w.join(Bulk::None, Box::new(by_handle), Box::new(|_| Thing::default()))),
        );
        a + b.number()
    }
    let _watchdog = watchdog("pools inside each other");
    for kind in PoolKind::every() {
        for wait in picked(&kind.waits().collect::<Vec<_>>(), 1) {
            let [one, two] = [1, 2].map(|workers| kind.build(PoolSettings::new(workers, wait, 64)));
            thread::scope(|s| {
                s.spawn(|| assert_eq!(install(&*one, || alternate(&*one, &*two, DEPTH)), 1 << DEPTH));
                s.spawn(|| assert_eq!(install(&*two, || alternate(&*two, &*one, DEPTH)), 1 << DEPTH));
            });
        }
    }
}

/// Queries from outside while workers work, hooks, and ticks that nobody waits for.
#[test]
fn queries_hooks_and_ticks() {
    let _watchdog = watchdog("queries, hooks and ticks");
    with_kinds(|kind, settings| {
        let (numbers, done, hooks) = (things(times(100, 6)), AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
        let [start, exit] = [(); 2].map(|()| {
            let hooks = Arc::clone(&hooks);
            move |_| _ = hooks.fetch_add(1, SeqCst)
        });
        let workers = settings.workers;
        let settings = PoolSettings {
            on_start: Some(Arc::new(start)),
            on_exit: Some(Arc::new(exit)),
            interrupted: true,
            ..settings
        };
        let pool = kind.build(settings);
        thread::scope(|s| {
            s.spawn(|| {
                while !done.load(SeqCst) {
                    assert!(pool.stats().total().peak_depth <= 64);
                    pool.forget_peak_depth();
                    thread::yield_now();
                }
            });
            for _ in 0..times(5, 1) {
                assert_eq!(run(&*pool, |w| sum(w, &numbers)).number(), sum_below(numbers.len()));
            }
            done.store(true, SeqCst);
        });
        drop(pool);
        assert_eq!(Arc::into_inner(hooks).map(AtomicUsize::into_inner), Some(2 * workers));
    });
}

/// Many threads enter one pool at once, in both styles.
#[test]
fn calls_from_outside() {
    let _watchdog = watchdog("calls from outside");
    with_pools(|pool| {
        thread::scope(|s| {
            for caller in 0..times(6, 2) {
                s.spawn(move || {
                    for round in 0..times(10, 2) {
                        // Dropped as soon as the call returns.
                        let numbers = things(4);
                        let sum = match (caller + round) % 2 {
                            0 => run(pool, |w| sum(w, &numbers)),
                            _ => install(pool, || sum_by_closures(&numbers)),
                        };
                        assert_eq!(sum.number(), 6);
                    }
                });
            }
        });
    });
}

/// The last handle to a pool is dropped by one of its tasks.
#[test]
fn a_pool_dropped_by_its_own_task() {
    let _watchdog = watchdog("a pool dropped by its own task");
    for kind in PoolKind::every() {
        let (sender, exits) = channel();
        let on_exit = Some(Arc::new(move |_| sender.send(()).unwrap()) as _);
        let pool = Arc::new(kind.build(PoolSettings { on_exit, ..PoolSettings::new(2, filch::Wait::default(), 64) }));
        let (kept, ready) = (Arc::clone(&pool), Arc::new(AtomicBool::new(false)));
        let is_ready = Arc::clone(&ready);
        pool.spawn(Box::new(move || {
            wait_for("the other handle's end", || is_ready.load(SeqCst));
            assert!(Arc::into_inner(kept).is_some(), "the last handle is here");
            filch::spawn(|| ());
            assert_eq!(filch::join(|| 1, || 2), (1, 2), "the worker still works");
        }));
        drop(pool);
        ready.store(true, SeqCst);
        // Both workers have gone once the hook and its sender have been dropped.
        assert_eq!(exits.iter().count(), 2);
    }
}
