//! Scopes, spawns, calls into pools, and hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use filch::inside::host::join;
use filch::{Scope, Wait};

use super::values::{Evil, Told, outcome, throw_evil, throw_plain};
use super::{How, Style};
use crate::any::{AnyPool, Bulk, PoolKind, PoolSettings, Thing, install, run};
use crate::crews::{Nowhere, with_crew};

const TASKS: usize = 5;

/// Runs a scope with some tasks, each of which spawns another and then calls `task`. Reports how many have run.
fn scope<R: Told + Send>(
    how: How,
    pool: &dyn AnyPool,
    task: impl Fn(usize) + Sync,
    body: impl FnOnce() -> R + Send,
) -> String {
    fn spawns<'s>(s: &Scope<'s>, ran: &'s AtomicUsize, task: &'s (impl Fn(usize) + Sync)) {
        for n in 0..TASKS {
            s.spawn(move |s| {
                s.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                task(n);
            });
        }
    }
    let ran = AtomicUsize::new(0);
    let scope = || {
        filch::scope(|s| {
            spawns(s, &ran, &task);
            body()
        })
    };
    let what = outcome(|| if how.style == Style::Closures { install(pool, scope) } else { run(pool, |_| scope()) });
    format!("{what}, {} ran", ran.into_inner())
}

/// Only the third task calls `f`.
fn third(f: impl Fn() + Sync) -> impl Fn(usize) + Sync {
    move |n| {
        if n == 2 {
            f();
        }
    }
}

pub(super) fn body_throws(how: How, pool: &dyn AnyPool) -> String {
    scope(how, pool, |_| (), || -> () { throw_evil(2) })
}

pub(super) fn task_throws(how: How, pool: &dyn AnyPool) -> String {
    scope(how, pool, third(|| throw_evil(2)), || ())
}

/// The first payload continues, and nobody sees the others.
pub(super) fn tasks_throw(how: How, pool: &dyn AnyPool) -> String {
    scope(how, pool, |_| throw_evil(1), || ())
}

pub(super) fn task_drops(how: How, pool: &dyn AnyPool) -> String {
    scope(how, pool, third(|| drop(Evil::new(2))), || ())
}

/// Unwinding drops the result.
pub(super) fn body_returns(how: How, pool: &dyn AnyPool) -> String {
    scope(how, pool, third(|| throw_plain()), || Thing::evil(2))
}

/// Unwinding drops the task's payload.
pub(super) fn body_and_task_throw(how: How, pool: &dyn AnyPool) -> String {
    scope(how, pool, third(|| throw_evil(1)), || -> () { throw_plain() })
}

/// Spawned tasks for which only the end of their pool waits.
pub(super) fn spawns_throw(_: How, kind: PoolKind, settings: PoolSettings) -> String {
    let (pool, ran) = (kind.build(settings), Arc::new(AtomicUsize::new(0)));
    for n in 0..TASKS {
        let (ran, evil) = (Arc::clone(&ran), Evil::new(2));
        pool.spawn(Box::new(move || {
            let again = Arc::clone(&ran);
            filch::spawn(move || {
                again.fetch_add(1, SeqCst);
                throw_evil(1)
            });
            ran.fetch_add(1, SeqCst);
            if n % 2 == 0 { drop(evil) } else { _ = evil.defuse() }
        }));
    }
    drop(pool);
    format!("{} ran", ran.load(SeqCst))
}

/// Panics out of calls between pools.
pub(super) fn calls_throw(how: How, kind: PoolKind, settings: PoolSettings) -> String {
    let (pool, other) = (kind.build(settings), kind.build(PoolSettings::new(1, Wait::Leapfrog, 64)));
    let (pool, other) = (&*pool, &*other);
    let innermost = || -> () { throw_evil(2) };
    outcome(|| match how.style {
        Style::Handles => run(pool, |_| run(other, |_| run(pool, |_| innermost()))),
        Style::Closures => install(pool, || install(other, || install(pool, innermost))),
        Style::Mixed => run(pool, |_| install(other, || filch::join(|| run(pool, |_| innermost()), || ()).0)),
    })
}

/// Runs both branches on a host's workers, and reports how many have run.
fn hosted(kind: PoolKind, settings: PoolSettings, a: impl FnOnce() + Send, b: impl FnOnce() + Send) -> String {
    let ran = AtomicUsize::new(0);
    let count = || _ = ran.fetch_add(1, SeqCst);
    let what = with_crew(kind, settings, |crew, _lease| {
        let a = |_| {
            count();
            a();
        };
        let b = |_| {
            count();
            b();
        };
        outcome(|| crew.enter(|| join::<Nowhere, _, _, _, _>(a, b)).0)
    });
    format!("{what}, {} ran", ran.into_inner())
}

pub(super) fn host_throws(how: How, kind: PoolKind, settings: PoolSettings) -> String {
    if how.bulk == Bulk::Large {
        hosted(kind, settings, || (), || throw_evil(2))
    } else {
        hosted(kind, settings, || throw_evil(2), || ())
    }
}

/// The unwinding of the first branch drops the payload of the second.
pub(super) fn host_both_throw(_: How, kind: PoolKind, settings: PoolSettings) -> String {
    hosted(kind, settings, || throw_evil(2), || throw_evil(1))
}

/// A panic in a hook ends the process, as the documentation says.
pub(super) fn hook_throws(how: How, kind: PoolKind, settings: PoolSettings) -> String {
    let hook = Some(Arc::new(|_| -> () { throw_evil(2) }) as _);
    let settings = match how.bulk {
        Bulk::Large => PoolSettings { on_start: hook, ..settings },
        _ => PoolSettings { on_exit: hook, ..settings },
    };
    drop(kind.build(settings));
    "goes on".to_owned()
}
