//! The owner's cost: a push and a pop, alone and with one thief, against crossbeam-deque.
#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::disallowed_types, reason = "a flag to stop the thief")]

#[cfg(feature = "fence-free")]
use std::any::Any;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use crossbeam_deque::Worker;
#[cfg(feature = "fence-free")]
use filch_queue::Delta;
use filch_queue::{Owner, Queue, Task, Thief, for_each_queue};

/// The depth of the tree that is pushed and popped, so that a queue is neither always empty nor always of the same
/// length.
const DEPTH: usize = 12;
const TASKS: u64 = (1 << DEPTH) - 1;

/// Forks like a binary tree: push, descend, pop, descend.
fn tree(depth: usize, push_pop: &mut impl FnMut(bool)) {
    if depth > 0 {
        push_pop(true);
        tree(depth - 1, push_pop);
        push_pop(false);
        tree(depth - 1, push_pop);
    }
}

/// Runs `f` while another thread repeats `work`.
fn beside<R>(mut work: impl FnMut() + Send, f: impl FnOnce() -> R) -> R {
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let stopped = Arc::clone(&stop);
        scope.spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                work();
            }
        });
        let result = f();
        stop.store(true, Ordering::Relaxed);
        result
    })
}

fn task() -> Task {
    Task::from_id(black_box(NonZeroUsize::MIN))
}

fn params<Q: Queue>() -> Q::Params {
    #[cfg_attr(not(feature = "fence-free"), expect(unused_mut, reason = "nothing changes it"))]
    let mut params = Q::Params::default();
    #[cfg(feature = "fence-free")]
    if let Some(delta) = (&mut params as &mut dyn Any).downcast_mut::<Delta>() {
        // SAFETY: no x86-64 processor is documented to have more than 128 entries for pending stores, and these tasks
        // never run.
        *delta = unsafe { Delta::from_bound(Delta::ASSUMED_BOUND) };
    }
    params
}

fn filch<Q: Queue>(group: &mut BenchmarkGroup<'_, WallTime>, with_thief: bool) {
    let (mut owner, mut thieves) = Q::make(1024, 1, &params::<Q>());
    let mut thief = thieves.remove(0);
    let mut bench = || {
        group.bench_function(Q::PROMISES.name, |b| {
            b.iter(|| {
                tree(DEPTH, &mut |push| {
                    if push {
                        let _ = black_box(owner.push(task()));
                    } else {
                        black_box(owner.pop());
                    }
                });
            });
        });
        // The last steal may wait for it.
        owner.poll();
    };
    if with_thief {
        beside(|| _ = black_box(thief.steal()), bench);
    } else {
        bench();
    }
}

fn crossbeam(group: &mut BenchmarkGroup<'_, WallTime>, with_thief: bool) {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    let mut bench = || {
        group.bench_function("crossbeam", |b| {
            b.iter(|| {
                tree(DEPTH, &mut |push| {
                    if push {
                        worker.push(task());
                    } else {
                        black_box(worker.pop());
                    }
                });
            });
        });
    };
    if with_thief {
        beside(|| _ = black_box(stealer.steal()), bench);
    } else {
        bench();
    }
}

fn owner(criterion: &mut Criterion) {
    for (name, with_thief) in [("owner alone", false), ("owner and one thief", true)] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(TASKS));
        macro_rules! each {
            ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
                $(filch::<$queue>(&mut group, with_thief);)+
            };
        }
        for_each_queue!(each);
        crossbeam(&mut group, with_thief);
        group.finish();
    }
}

criterion_group!(benches, owner);
criterion_main!(benches);
