//! Forks and loops.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::values::{Evil, outcome, throw_evil, throw_plain};
use super::{How, Style};
use crate::any::{AnyPool, Branch, Bulk, Handle, Moment, Numbers, Thing, install, run};
use crate::until_stolen;

/// Joins two branches in the way given by `how`.
fn fork(how: How, pool: &dyn AnyPool, a: impl FnOnce() -> Thing + Send, b: impl FnOnce() -> Thing + Send) -> String {
    let is_taken = AtomicBool::new(false);
    let taken = || is_taken.load(SeqCst);
    let b = || {
        is_taken.store(true, SeqCst);
        b()
    };
    if how.style == Style::Handles {
        let a: Branch<'_> = Box::new(|w| {
            if how.stolen {
                until_stolen::by_handle(w, &taken);
            }
            a()
        });
        return outcome(|| run(pool, |w| w.join(how.bulk, a, Box::new(|_| b()))));
    }
    let a = || {
        if how.stolen {
            until_stolen::by_closures(&taken);
        }
        a()
    };
    let join = || {
        if how.bulk == Bulk::Large {
            let large = [7; 20];
            let (a, (b, back)) = filch::join(a, || (b(), large));
            assert_eq!(back, large);
            (a, b)
        } else {
            filch::join(a, b)
        }
    };
    outcome(|| if how.style == Style::Closures { install(pool, join) } else { run(pool, |_| join()) })
}

fn plain() -> Thing {
    Thing::new(1)
}

/// Returns a branch that drops an evil value when it has run, or when it is dropped unrun.
fn dropping() -> impl FnOnce() -> Thing + Send {
    let evil = Evil::new(2);
    move || {
        // The language loses a result that exists when a destructor panics.
        drop(evil);
        Thing::new(1)
    }
}

pub(super) fn first_throws(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, || throw_evil(2), plain)
}

pub(super) fn second_throws(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, plain, || throw_evil(2))
}

/// A sequential run never reaches the second branch.
pub(super) fn both_throw(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, || throw_evil(3), || throw_evil(2))
}

pub(super) fn both_return(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, || Thing::evil(3), || Thing::evil(2))
}

/// Unwinding drops the first result.
pub(super) fn first_returns(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, || Thing::evil(2), || throw_plain())
}

pub(super) fn second_returns(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, || throw_plain(), || Thing::evil(2))
}

pub(super) fn first_drops(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, dropping(), plain)
}

pub(super) fn second_drops(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, plain, dropping())
}

/// Unwinding drops the second branch, if nobody has run it.
pub(super) fn second_is_dropped(how: How, pool: &dyn AnyPool) -> String {
    fork(how, pool, || throw_plain(), dropping())
}

const ITEMS: usize = 6;

/// Forks a task for each item and folds the results.
fn fork_all(
    how: How,
    pool: &dyn AnyPool,
    items: impl Iterator<Item = Thing> + Send,
    each: impl Fn(Thing) -> Thing + Sync,
    mut fold: impl FnMut(usize, Thing) -> usize + Send,
) -> String {
    let each = |_: &mut dyn Handle, item| each(item);
    outcome(|| run(pool, |w| w.fork_all(Box::new(items), how.bulk, &each, &mut fold)))
}

fn numbers() -> impl Iterator<Item = Thing> {
    (0..ITEMS).map(Thing::new)
}

fn add(sum: usize, item: Thing) -> usize {
    sum + item.told().len()
}

pub(super) fn item_throws(how: How, pool: &dyn AnyPool) -> String {
    fork_all(how, pool, numbers(), |item| if item.number() == 3 { throw_evil(2) } else { item }, add)
}

/// One item throws, and the others are evil: unwinding drops them, or the end of another task.
pub(super) fn items_are_dropped(how: How, pool: &dyn AnyPool) -> String {
    let items = (0..ITEMS).map(|n| if n == 3 { Thing::new(0) } else { Thing::evil(2) });
    let each = |item: Thing| if item.number() == 0 { throw_plain() } else { Thing::new(item.told().len()) };
    fork_all(how, pool, items, each, add)
}

pub(super) fn iterator_throws(how: How, pool: &dyn AnyPool) -> String {
    let items = numbers().map(|item| if item.number() == 4 { throw_evil(2) } else { item });
    fork_all(how, pool, items, |item| item, add)
}

pub(super) fn iterator_is_dropped(how: How, pool: &dyn AnyPool) -> String {
    let evil = Evil::new(2);
    let items = numbers().inspect(move |_| _ = &evil);
    fork_all(how, pool, items, |item| item, add)
}

pub(super) fn fold_throws(how: How, pool: &dyn AnyPool) -> String {
    let fold = |sum, item: Thing| if item.number() == 2 { throw_evil(2) } else { add(sum, item) };
    fork_all(how, pool, numbers(), |item| item, fold)
}

/// The fold drops the newest result. Others may exist already, and unwinding drops them.
pub(super) fn fold_drops(how: How, pool: &dyn AnyPool) -> String {
    fork_all(how, pool, numbers(), |_| Thing::evil(2), |sum, _evil| sum + 1)
}

pub(super) fn loop_throws(how: How, pool: &dyn AnyPool) -> String {
    let each = |n| {
        if n == 77 {
            throw_evil(2)
        }
    };
    outcome(|| match how.style {
        Style::Handles => run(pool, |w| w.for_each(Numbers::new(0..100), &each)),
        Style::Closures => install(pool, || filch::for_each(0..100, each)),
        Style::Mixed => run(pool, |_| filch::map_reduce_fixed(0..2000, (), each, |(), ()| ())),
    })
}

/// Runs a loop whose source calls `at` at its moments.
fn watched_loop(how: How, pool: &dyn AnyPool, at: &(dyn Fn(Moment, &Range<usize>) + Sync)) -> String {
    let source = || Numbers::watched(0..if cfg!(miri) { 600 } else { 2000 }, at);
    let (map, reduce) = (|n| Arc::new(Thing::new(n)), |a: Arc<Thing>, _| a);
    outcome(|| match how.style {
        Style::Handles => run(pool, |w| w.map_reduce(how.stolen, source(), &map, &reduce).number()),
        Style::Closures => install(pool, || filch::map_reduce(source(), 0, |n| n, |a, b| a + b)),
        Style::Mixed => run(pool, |_| filch::map_reduce_fixed(source(), 0, |n| n, |a, b| a + b)),
    })
}

fn throw_at(how: How, pool: &dyn AnyPool, when: Moment) -> String {
    watched_loop(how, pool, &|moment, numbers| {
        if moment == when && numbers.contains(&50) {
            throw_evil(2)
        }
    })
}

pub(super) fn cut_throws(how: How, pool: &dyn AnyPool) -> String {
    // On one worker only loops on a fixed tree cut their source.
    let style = if how.stolen { how.style } else { Style::Mixed };
    throw_at(How { style, ..how }, pool, Moment::Cut)
}

pub(super) fn loop_iterator_throws(how: How, pool: &dyn AnyPool) -> String {
    throw_at(how, pool, Moment::Item)
}

pub(super) fn loop_iterator_is_dropped(how: How, pool: &dyn AnyPool) -> String {
    throw_at(how, pool, Moment::End)
}

/// A reduction that drops its operands, one of which is evil.
pub(super) fn reduction_drops(how: How, pool: &dyn AnyPool) -> String {
    let map = |n| Arc::new(if n == 50 { Thing::evil(2) } else { Thing::new(n) });
    let reduce = |a, b| {
        drop((a, b));
        Arc::new(Thing::new(1))
    };
    outcome(|| run(pool, |w| w.map_reduce(how.stolen, Numbers::new(0..100), &map, &reduce).number()))
}
