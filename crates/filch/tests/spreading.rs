//! Work of any grain spreads: as many tasks as workers, each of which continues only once all of them run at the same
//! time.
//!
//! Invariant: no task here forks, joins or polls while it waits, so its worker answers nobody. All earlier forks must
//! already be available to thieves.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{EveryPool, wait_for, watchdog};
use filch::pool::{Pool, QueueSettings, Queued, Split, Wool};
use filch::{Builder, ThreadPool, Wait, Worker};
use filch_queue::{BlockSize, BwosL, ChaseLev};

/// A barrier for a given number of tasks.
struct Meeting {
    wanted: usize,
    here: AtomicUsize,
}

impl Meeting {
    fn of(wanted: usize) -> Self {
        Self { wanted, here: AtomicUsize::new(0) }
    }

    fn attend(&self) {
        self.here.fetch_add(1, SeqCst);
        while self.here.load(SeqCst) < self.wanted {
            thread::sleep(Duration::from_micros(50));
        }
    }
}

fn tree<P: Pool>(mut w: Worker<'_, P>, meeting: &Meeting, leaves: usize) {
    if leaves == 1 {
        return meeting.attend();
    }
    w.join(move |w| tree(w, meeting, leaves / 2), move |w| tree(w, meeting, leaves - leaves / 2));
}

/// Forks all leaves but one before the first runs.
fn list<P: Pool>(mut w: Worker<'_, P>, meeting: &Meeting, leaves: usize) {
    if leaves == 1 {
        return meeting.attend();
    }
    w.join(move |w| list(w, meeting, leaves - 1), move |_| meeting.attend());
}

/// Runs a leaf before forking the others.
fn backwards<P: Pool>(mut w: Worker<'_, P>, meeting: &Meeting, leaves: usize) {
    if leaves == 1 {
        return meeting.attend();
    }
    w.join(move |_| meeting.attend(), move |w| backwards(w, meeting, leaves - 1));
}

fn tree_of_closures(meeting: &Meeting, leaves: usize) {
    if leaves == 1 {
        return meeting.attend();
    }
    filch::join(move || tree_of_closures(meeting, leaves / 2), move || tree_of_closures(meeting, leaves - leaves / 2));
}

fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    a + b
}

/// Runs every shape on one pool, one after the other, each after a program of fine tasks.
fn meets_in_every_shape<P: Pool>(workers: usize, wait: Wait) {
    let pool: ThreadPool<P> = Builder::<P>::new().workers(workers).wait(wait).build().unwrap();
    let run = |shape: &dyn Fn(&Meeting)| {
        assert_eq!(pool.run(|w| fib(w, 16)), 987);
        let meeting = Meeting::of(workers);
        shape(&meeting);
        assert_eq!(meeting.here.into_inner(), workers);
    };
    run(&|meeting| pool.run(|w| tree(w, meeting, workers)));
    run(&|meeting| pool.run(|w| list(w, meeting, workers)));
    run(&|meeting| pool.run(|w| backwards(w, meeting, workers)));
    run(&|meeting| pool.install(|| tree_of_closures(meeting, workers)));
    run(&|meeting| pool.run(|mut w| w.fork_all(0..workers, |_, _| meeting.attend(), (), |(), ()| ())));
    run(&|meeting| pool.run(|mut w| w.for_each(0..workers, |_| meeting.attend())));
    run(&|meeting| pool.install(|| filch::for_each(0..workers, |_| meeting.attend())));
    run(&|meeting| {
        let mut items = vec![0_u8; workers];
        pool.run(|mut w| w.for_each(&mut items[..], |_| meeting.attend()));
    });
    run(&|meeting| {
        let count = |sum, block: std::ops::Range<usize>| {
            block.clone().for_each(|_| meeting.attend());
            sum + block.len()
        };
        let counted = pool.run(|mut w| w.fold_blocks(0..workers, 0, count, |a, b| a + b));
        assert_eq!(counted, workers);
    });
    run(&|meeting| {
        pool.install(|| {
            filch::scope(|s| {
                for _ in 0..workers {
                    s.spawn(|_| meeting.attend());
                }
            });
        });
    });
    run(&|meeting| {
        pool.run(|mut w| {
            w.scope(|_, s| {
                for _ in 0..workers {
                    s.spawn(|_, _| meeting.attend());
                }
            });
        });
    });
}

#[test]
fn as_many_tasks_as_workers_all_run_at_once() {
    let _watchdog = watchdog("tasks that wait for one another");
    for workers in [2, 4, 8, 16] {
        for wait in [Wait::LeapfrogRandom, Wait::Random] {
            meets_in_every_shape::<Split>(workers, wait);
            meets_in_every_shape::<Wool>(workers, wait);
            meets_in_every_shape::<Wool<1, 1>>(workers, wait);
            meets_in_every_shape::<Queued<ChaseLev>>(workers, wait);
        }
    }
}

/// Forks the given number of tasks, then calls `last`.
fn forks_and_then(tasks: usize, task: &(dyn Fn() + Sync), last: &(dyn Fn() + Sync)) {
    if tasks == 0 {
        return last();
    }
    filch::join(move || forks_and_then(tasks - 1, task, last), task);
}

fn fib_of_closures(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = filch::join(move || fib_of_closures(n - 1), move || fib_of_closures(n - 2));
    a + b
}

/// An owner of fine tasks keeps its forks while nobody waits. Then it begins a task that ends only after all of them
/// have run. The other worker was busy, and comes too late for an answer.
#[test]
#[cfg(target_os = "linux")]
fn private_forks_are_shared_for_an_owner_in_a_long_leaf() {
    const TASKS: usize = 20;
    let _watchdog = watchdog("a leaf that waits for earlier forks");
    for &wait in Wait::EVERY {
        let pool: ThreadPool = Builder::new().workers(2).wait(wait).build().unwrap();
        let mut rounds = 0;
        // An owner whose tasks look coarse, as on a busy machine, shares them itself.
        wait_for(&format!("that a thief shares for the owner, {wait}"), || {
            let (busy, over, done) = (Meeting::of(2), Meeting::of(2), Meeting::of(TASKS + 1));
            pool.install(|| {
                filch::join(
                    || {
                        busy.attend();
                        assert_eq!(fib_of_closures(18), 2584);
                        forks_and_then(TASKS, &|| _ = done.here.fetch_add(1, SeqCst), &|| {
                            over.attend();
                            done.attend();
                        });
                    },
                    || {
                        busy.attend();
                        over.attend();
                    },
                )
            });
            rounds += 1;
            rounds >= 10 && pool.stats().total().seizures > 0
        });
    }
}

/// Forks `tasks` tasks by handle, then runs `last` above them.
fn forks_by_handle(mut w: Worker<'_>, tasks: usize, task: &(dyn Fn() + Sync), last: &(dyn Fn(Worker<'_>) + Sync)) {
    if tasks == 0 {
        return last(w);
    }
    w.join(move |w| forks_by_handle(w, tasks - 1, task, last), move |_| task());
}

/// As above. A handle records its head when it switches to closure style or opens a scope.
#[test]
#[cfg(target_os = "linux")]
fn private_forks_are_shared_for_an_owner_in_a_handles_scope() {
    const TASKS: usize = 40;
    let _watchdog = watchdog("a scope that waits for earlier forks");
    for in_scope in [true, false] {
        let pool: ThreadPool = Builder::new().workers(2).build().unwrap();
        let mut rounds = 0;
        wait_for(&format!("that a thief shares for the owner, in a scope {in_scope}"), || {
            let (busy, over, done) = (Meeting::of(2), Meeting::of(2), Meeting::of(TASKS + 1));
            let leaf = || {
                over.attend();
                done.attend();
            };
            let last = |mut w: Worker<'_>| if in_scope { w.scope(|_, _| leaf()) } else { w.install(leaf) };
            pool.run(|mut w| {
                w.join(
                    |mut w| {
                        busy.attend();
                        assert_eq!(w.join(|w| fib(w, 18), |_| ()).0, 2584);
                        forks_by_handle(w, TASKS, &|| _ = done.here.fetch_add(1, SeqCst), &last);
                    },
                    |_| {
                        busy.attend();
                        over.attend();
                    },
                )
            });
            rounds += 1;
            rounds >= 10 && pool.stats().total().seizures > 0
        });
    }
}

/// Thieves get parts of a flat loop whose items take no time, whatever the pool: also where they have to ask, and where
/// they leave an owner's newest tasks alone.
#[test]
#[cfg_attr(miri, ignore = "thieves need a processor of their own")]
fn flat_loops_are_shared_on_every_pool() {
    struct Loops;

    impl EveryPool for Loops {
        fn with<P: Pool>(&self) {
            let pool: ThreadPool<P> = Builder::<P>::new().workers(2).task_capacity(1 << 10).build().unwrap();
            wait_for(&format!("a theft from a flat loop on {}", std::any::type_name::<P>()), || {
                let [by_handle, by_closure] = [AtomicUsize::new(0), AtomicUsize::new(0)];
                pool.run(|mut w| w.for_each(0..200_000, |_| _ = by_handle.fetch_add(1, SeqCst)));
                pool.install(|| filch::for_each(0..200_000, |_| _ = by_closure.fetch_add(1, SeqCst)));
                assert_eq!([by_handle, by_closure].map(AtomicUsize::into_inner), [200_000; 2]);
                pool.stats().total().steals > 0
            });
        }
    }

    let _watchdog = watchdog("flat loops");
    Loops.every();
}

/// A pool whose thieves leave several of the newest tasks to their owner.
fn keeping() -> ThreadPool<Queued<BwosL>> {
    let settings = QueueSettings::of(BlockSize::Entries(NonZeroUsize::new(64).unwrap()));
    Builder::<Queued<BwosL>>::new().workers(2).task_capacity(1 << 12).settings(settings).build().unwrap()
}

/// Thieves get half of the shortest loops, though it is newer than the tasks that they could take.
#[test]
fn short_loops_are_shared_where_thieves_leave_the_newest_tasks() {
    let _watchdog = watchdog("loops of two items");
    let pool = keeping();
    for _ in 0..20 {
        let [by_handle, by_closure] = [Meeting::of(2), Meeting::of(2)];
        pool.run(|mut w| w.for_each(0..2, |_| by_handle.attend()));
        pool.install(|| filch::for_each(0..2, |_| by_closure.attend()));
    }
}

/// Forks that nobody can steal wake nobody.
#[test]
fn tasks_left_to_their_owner_wake_nobody() {
    let _watchdog = watchdog("a sleeping thief");
    let pool = keeping();
    pool.run(|mut w| {
        wait_for("the other worker sleeps", || pool.stats().total().parks > 0);
        let woken = pool.stats().total().wakeups;
        for _ in 0..1000 {
            assert_eq!(w.join(|w| fib(w, 8), |_| ()).0, 21);
        }
        assert_eq!(pool.stats().total().wakeups, woken);
    });
}

/// Items that take no time are run many at once, also where a loop lends all that it can.
#[test]
fn short_items_make_long_blocks() {
    const ITEMS: usize = 1_000_003;
    let pool: ThreadPool<Queued<ChaseLev>> = Builder::<Queued<ChaseLev>>::new().workers(2).build().unwrap();
    let blocks = AtomicUsize::new(0);
    let items = pool.run(|mut w| {
        let fold = |sum: usize, block: std::ops::Range<usize>| {
            blocks.fetch_add(1, SeqCst);
            sum + block.len()
        };
        w.fold_blocks(0..ITEMS, 0, fold, |a, b| a + b)
    });
    assert_eq!(items, ITEMS);
    assert!(blocks.into_inner() < ITEMS / 50, "blocks of few items");
}

/// A loop of short items lends a few parts, while nobody wants more. (Halving down to single items makes seventeen.)
#[test]
#[cfg_attr(miri, ignore = "items are not short")]
fn a_loop_of_short_items_lends_little() {
    const ITEMS: u64 = 100_000;
    const PARTS: u64 = 5;
    let _watchdog = watchdog("few parts");
    let pool = ThreadPool::new(2).unwrap();
    // The first item may take long, if its thread loses the processor.
    wait_for("few parts", || {
        let (busy, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let keeps_busy = |_: Worker<'_>| {
            busy.store(1, SeqCst);
            wait_for("the loop", || done.load(SeqCst) != 0);
        };
        let loops = |mut w: Worker<'_>| {
            wait_for("the other worker", || busy.load(SeqCst) != 0);
            assert_eq!(w.map_reduce(0..ITEMS, 0, |i| i, |a, b| a + b), ITEMS * (ITEMS - 1) / 2);
            done.store(1, SeqCst);
        };
        pool.forget_peak_depth();
        pool.run(|mut w| w.join(loops, keeps_busy));
        pool.stats().total().peak_depth <= 1 + PARTS
    });
}
