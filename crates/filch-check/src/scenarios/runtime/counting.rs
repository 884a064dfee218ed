//! TaskCounts of work, and a reader that asks whether all work is done.
//!
//! Invariant: a reader finds the end only if no work is left.

use std::sync::{Arc, Mutex};

use filch::inside::protocol::termination::TaskCounts;
use filch_memory::{Atomic, Memory, Ordering};

use crate::Program;
use crate::harm::ensure;
use crate::scenario::Checker;
use crate::scenarios::queues::lock;

/// Two workers pass pieces of work on and count them; a reader asks whether all work is done.
pub fn termination<M: Checker>(looks: usize) -> Program {
    struct Shared<M: Memory> {
        counts: [TaskCounts<M>; 2],
        /// Whether a piece is on its way to worker 1.
        passed: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> = Arc::new(Shared { counts: Default::default(), passed: Atomic::new(false) });
    shared.counts[0].created(1);
    let (first, second, third) = (Arc::clone(&shared), Arc::clone(&shared), Arc::clone(&shared));
    let finished: Arc<[Mutex<bool>; 3]> = Arc::default();
    let (a, b, c) = (Arc::clone(&finished), Arc::clone(&finished), finished);
    let root = move || {
        M::note(|| "splits the root".into());
        first.counts[0].created(1);
        first.passed.store(true, Ordering::Release);
        *lock(&a[0]) = true;
        first.counts[0].finished();
    };
    let other = move || {
        // After two looks the piece stays unfinished.
        for _ in 0..2 {
            if second.passed.load(Ordering::Acquire) {
                second.counts[1].created(1);
                M::note(|| "has got a piece, and splits it".into());
                *lock(&b[1]) = true;
                second.counts[1].finished();
                *lock(&b[2]) = true;
                second.counts[1].finished();
                break;
            }
        }
    };
    let reader = move || {
        for _ in 0..looks {
            if TaskCounts::all_done(&third.counts) {
                let undone = (0..3).filter(|&piece| !*lock(&c[piece])).count();
                ensure!(undone == 0, EarlyEnd, "found all done with {undone} pieces left");
            }
        }
    };
    watched(root, other, reader)
}

/// Worker 0 hands a part of its work over, which is all that is counted, and worker 1 hands a part of that back. A
/// reader asks whether all work is done. If `in_vain`, worker 0 counts a part that nobody takes, and counts it back,
/// before.
pub fn transfers<M: Checker>(looks: usize, in_vain: bool) -> Program {
    struct Shared<M: Memory> {
        counts: [TaskCounts<M>; 2],
        /// What each worker has handed over.
        given: [M::AtomicU64; 2],
        /// Whether a part is on its way to the other worker.
        passed: [M::AtomicBool; 2],
    }
    let shared: Arc<Shared<M>> = Arc::new(Shared {
        counts: Default::default(),
        given: [(); 2].map(|()| Atomic::new(0)),
        passed: [(); 2].map(|()| Atomic::new(false)),
    });
    // Counted by its giver before anybody else can have it.
    fn gives<M: Checker>(shared: &Shared<M>, worker: usize) {
        M::note(|| "hands a part over".into());
        shared.given[worker].store(1, Ordering::Relaxed);
        shared.passed[worker].store(true, Ordering::Release);
    }
    let (first, second, third) = (Arc::clone(&shared), Arc::clone(&shared), shared);
    let finished: Arc<[Mutex<bool>; 3]> = Arc::default();
    let (a, b, c) = (Arc::clone(&finished), Arc::clone(&finished), finished);
    let root = move || {
        if in_vain {
            M::note(|| "hands a part over in vain".into());
            first.given[0].store(1, Ordering::Relaxed);
            first.given[0].store(0, Ordering::Relaxed);
        }
        gives(&first, 0);
        *lock(&a[0]) = true;
        first.counts[0].finished();
        if first.passed[1].load(Ordering::Acquire) {
            *lock(&a[2]) = true;
            first.counts[0].finished();
        }
    };
    let other = move || {
        if second.passed[0].load(Ordering::Acquire) {
            gives(&second, 1);
            *lock(&b[1]) = true;
            second.counts[1].finished();
        }
    };
    let reader = move || {
        for _ in 0..looks {
            let created = || 1 + third.given.iter().map(|given| given.load(Ordering::Relaxed)).sum::<u64>();
            if TaskCounts::all_done_of(&third.counts, created) {
                let undone = (0..3).filter(|&part| !*lock(&c[part])).count();
                ensure!(undone == 0, EarlyEnd, "found all done with {undone} parts left");
            }
        }
    };
    watched(root, other, reader)
}

/// Worker 0 has a task that worker 1 may steal; each sets out and comes home. A reader asks whether both are at home.
pub fn all_home<M: Checker>(looks: usize) -> Program {
    struct Shared<M: Memory> {
        counts: [TaskCounts<M>; 2],
        /// Worker 0's queue: whether the task is in it.
        task: M::AtomicBool,
        /// Whether the task has been run.
        done: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> =
        Arc::new(Shared { counts: Default::default(), task: Atomic::new(true), done: Atomic::new(false) });
    shared.counts[0].set_out();
    let (first, second, third) = (Arc::clone(&shared), Arc::clone(&shared), shared);
    // Relaxed, as all that queues that return a task twice can be relied on for.
    let takes =
        |shared: &Shared<M>| shared.task.compare_exchange(true, false, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let owner = move || {
        if takes(&first) {
            M::note(|| "runs the task".into());
            first.done.store(true, Ordering::Relaxed);
        }
        first.counts[0].come_home();
    };
    let thief = move || {
        second.counts[1].set_out();
        if takes(&second) {
            M::note(|| "runs the task".into());
            second.done.store(true, Ordering::Relaxed);
        }
        second.counts[1].come_home();
    };
    let reader = move || {
        for _ in 0..looks {
            if TaskCounts::all_home(&third.counts) {
                // Relaxed: a worker comes home after what it has done.
                ensure!(third.done.load(Ordering::Relaxed), EarlyEnd, "found all at home before the task was done");
            }
        }
    };
    watched(owner, thief, reader)
}

/// Two workers, and a reader of their counts.
fn watched(
    first: impl FnOnce() + Send + 'static,
    second: impl FnOnce() + Send + 'static,
    reader: impl FnOnce() + Send + 'static,
) -> Program {
    Program {
        threads: vec![
            ("worker 0".into(), Box::new(first)),
            ("worker 1".into(), Box::new(second)),
            ("reader".into(), Box::new(reader)),
        ],
        finally: Box::new(|| ()),
    }
}
