//! Callers that take the seat of a sleeping worker.
//!
//! Invariant: a test that needs a guest retries until there is one, since workers may be awake.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]
#![cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use common::{EveryPool, pool_of, thrown_by, times, wait_for, watchdog};
use filch::inside::host::MayDangle;
use filch::pool::{Heartbeat, Pool, Queued, Request, Split, Wool};
use filch::{Builder, Interrupts, ThreadPool, Wait, Worker};
use filch_queue::{Adws, ChaseLev, PdqRAsync};

/// Time for workers to fall asleep on a quiet machine. Each step takes a thousand times as long under Miri.
const A_WHILE: Duration = if cfg!(miri) { Duration::from_secs(1) } else { Duration::from_micros(200) };

fn me() -> ThreadId {
    thread::current().id()
}

/// Repeats the call until it reports that it had a seat, at growing intervals: a call keeps workers awake.
fn until_seated(mut call: impl FnMut() -> bool) {
    let mut pause = A_WHILE;
    wait_for("a seat", || {
        let has_sat = call();
        if !has_sat {
            thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_secs(2));
        }
        has_sat
    });
}

/// Calls `f` in the pool until the calling thread itself has run it.
fn as_guest<P: Pool, R: Send>(pool: &ThreadPool<P>, f: impl Fn() -> R + Sync) -> R {
    let (here, mut result) = (me(), None);
    until_seated(|| {
        result = pool.install(|| (me() == here).then(&f));
        result.is_some()
    });
    result.unwrap()
}

fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    a + b
}

#[test]
fn a_caller_runs_its_call_as_a_worker() {
    struct Is;
    impl Is {
        fn guest<P: Pool>() {
            for workers in [1, 2, times(5, 3)] {
                let pool = pool_of::<P>(workers, Wait::default());
                let here = me();
                until_seated(|| {
                    let seen = pool.run(|mut w| (me(), w.index(), w.workers(), w.join(|w| w.index(), |_| ()).0));
                    assert!(seen.1 < workers && seen.2 == workers && seen.3 == seen.1, "{seen:?}");
                    seen.0 == here
                });
                assert_eq!(as_guest(&pool, || filch::join(|| 1, || 2)), (1, 2));
                assert_eq!(pool.run(|w| fib(w, if cfg!(miri) { 8 } else { 12 })), if cfg!(miri) { 21 } else { 144 });
            }
        }
    }
    let _alive = watchdog("a guest");
    Is::guest::<Split>();
    Is::guest::<Wool>();
    Is::guest::<Heartbeat<ChaseLev>>();
}

/// Its workers begin asleep. Those whose start hooks come first do not.
#[test]
fn the_first_call_to_a_new_pool_waits_for_no_thread() {
    struct First;
    impl First {
        fn call<P: Pool>() {
            for workers in [1, 2, 3] {
                for _ in 0..times(100, 2) {
                    let pool = pool_of::<P>(workers, Wait::default());
                    assert_eq!(pool.run(|w| (me(), fib(w, 10))), (me(), 55));
                    let threads = pool.broadcast(|_| me());
                    assert!(threads.len() == workers && !threads.contains(&me()));
                    drop(pool_of::<P>(workers, Wait::default()));
                }
            }
        }
    }
    let _alive = watchdog("a first call");
    First::call::<Split>();
    First::call::<Wool>();
    First::call::<Heartbeat<ChaseLev>>();
    First::call::<Heartbeat<Adws, Request>>();
    let following = ThreadPool::builder().workers(2).follow_processors(true).spares(1).build().unwrap();
    assert_eq!(following.install(me), me());
    let begun = Arc::new([const { AtomicBool::new(false) }; 2]);
    let hook = Arc::clone(&begun);
    let hooked = ThreadPool::builder().workers(2).on_start(move |worker| hook[worker].store(true, SeqCst));
    let hooked = hooked.caller_works(true).build().unwrap();
    assert!(hooked.run(|w| begun[w.index()].load(SeqCst)), "the hook comes before all work");
}

#[test]
fn configured_threads_run_all_calls_themselves() {
    let _alive = watchdog("configured threads");
    let plain = || ThreadPool::builder().workers(2);
    let builders: [Builder; 6] = [
        plain().caller_works(false),
        plain().thread_name(|n| n.to_string()),
        plain().on_start(|_| ()),
        plain().on_exit(|_| ()),
        plain().stack_size(1 << 20),
        plain().pin(true),
    ];
    for builder in builders {
        let told = format!("{builder:?}");
        let pool = builder.build().unwrap();
        for _ in 0..times(50, 3) {
            thread::sleep(A_WHILE);
            assert_ne!(pool.install(me), me(), "{told}");
            assert_ne!(pool.run(|_| me()), me(), "{told}");
        }
    }
    let asked = plain().thread_name(|n| n.to_string()).on_start(|_| ()).stack_size(1 << 20).caller_works(true);
    as_guest(&asked.build().unwrap(), || ());
}

/// A signal interrupts a worker's own thread.
#[test]
#[cfg_attr(miri, ignore = "there are no signals")]
fn pools_with_signals_have_no_guests() {
    let _alive = watchdog("pools with signals");
    let plain = ThreadPool::builder().workers(2).pool::<Queued<PdqRAsync>>();
    let pool = plain.interrupts(Interrupts::signal()).caller_works(true).build().unwrap();
    for _ in 0..50 {
        thread::sleep(A_WHILE);
        assert_ne!(pool.install(me), me());
    }
}

#[test]
#[cfg_attr(miri, ignore = "there are no depths to tell")]
fn a_caller_low_on_stack_injects_its_call() {
    let pool = common::pool(1, Wait::default());
    // glibc gives a new thread the stack of one that has ended, up to four times the requested size.
    let caller = thread::Builder::new().stack_size(256 << 10);
    thread::scope(|s| {
        let calls = || (0..50).all(|_| pool.install(me) != me());
        assert!(caller.spawn_scoped(s, calls).unwrap().join().unwrap());
        as_guest(&pool, || ());
    });
}

#[test]
fn guests_at_the_same_time_have_seats_of_their_own() {
    let _alive = watchdog("guests at the same time");
    let pool = common::pool(3, Wait::default());
    let taken: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
    let most = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..5 {
            s.spawn(|| {
                for _ in 0..times(300, 5) {
                    pool.run(|w| {
                        let seat = &taken[w.index()];
                        assert!(!seat.swap(true, SeqCst), "another guest has the seat");
                        most.fetch_max(taken.iter().filter(|taken| taken.load(SeqCst)).count(), SeqCst);
                        thread::yield_now();
                        seat.store(false, SeqCst);
                    });
                }
            });
        }
    });
    assert!(most.into_inner() <= 3);
}

#[test]
fn a_guests_panic_does_not_damage_its_seat() {
    let _alive = watchdog("a guest that panics");
    let pool = common::pool(2, Wait::default());
    for n in 0..times(20, 2) {
        let here = me();
        let thrown = AtomicUsize::new(usize::MAX);
        until_seated(|| {
            let call = || {
                pool.install(|| {
                    let join = || filch::join(|| common::throw(n), || ());
                    if me() == here { join() } else { ((), ()) }
                })
            };
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) {
                Ok(_) => false,
                Err(payload) => {
                    thrown.store(common::payload_of(&*payload), SeqCst);
                    true
                }
            }
        });
        assert_eq!(thrown.into_inner(), n);
        assert_eq!(pool.run(|w| fib(w, 10)), 55);
    }
    assert_eq!(thrown_by(|| pool.install(|| common::throw(7))), 7);
}

#[test]
fn jobs_left_behind_by_a_guest_run() {
    let _alive = watchdog("jobs of a guest");
    let pool = common::pool(1, Wait::default());
    let done = std::sync::Arc::new(AtomicUsize::new(0));
    for n in 1..=times(50, 3) {
        as_guest(&pool, || {
            let done = std::sync::Arc::clone(&done);
            filch::spawn(move || _ = done.fetch_add(1, SeqCst));
        });
        wait_for("the job", || done.load(SeqCst) == n);
    }
}

/// Mail and injected jobs arrive while a guest has the only seat, and just as it leaves.
#[test]
fn jobs_arriving_while_a_guest_has_the_seat_run() {
    let _alive = watchdog("arriving jobs");
    let (crew, lease, seats) = ThreadPool::builder().workers(1).caller_works(true).seats().unwrap();
    let done = AtomicUsize::new(0);
    let job = || {
        let done = MayDangle::new(&done);
        move || _ = done.into_inner().fetch_add(1, SeqCst)
    };
    thread::scope(|s| {
        for seat in seats {
            s.spawn(move || seat.run(2 << 20, || (), || ()));
        }
        for n in 1..=times(200, 5) {
            let (here, sits, sent) = (me(), AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|s| {
                s.spawn(|| {
                    if n % 2 == 0 {
                        wait_for("the guest", || sits.load(SeqCst));
                    }
                    // SAFETY: the test waits for both jobs below.
                    unsafe {
                        crew.post(0, job());
                        crew.push(job());
                    }
                    sent.store(true, SeqCst);
                });
                until_seated(|| {
                    crew.enter(|| {
                        sits.store(true, SeqCst);
                        if n % 4 == 0 {
                            wait_for("the jobs", || sent.load(SeqCst));
                        }
                        me() == here
                    })
                });
            });
            wait_for("both jobs", || done.load(SeqCst) == 2 * n);
        }
        drop(lease);
    });
}

/// A guest whose task is stolen sleeps in the seat and is woken there.
#[test]
fn a_guest_waits_for_its_thief() {
    struct Waits;
    impl Waits {
        fn with<P: Pool>() {
            let pool = pool_of::<P>(2, Wait::default());
            for _ in 0..times(5, 1) {
                let started = AtomicBool::new(false);
                pool.run(|mut w| {
                    w.join(
                        |mut w| {
                            wait_for("a thief", || {
                                w.poll();
                                started.load(SeqCst)
                            });
                        },
                        |_| {
                            started.store(true, SeqCst);
                            thread::sleep(Duration::from_millis(2));
                        },
                    );
                });
                assert!(started.into_inner());
            }
        }
    }
    let _alive = watchdog("a guest's wait for its thief");
    Waits::with::<Split>();
    Waits::with::<Wool>();
    Waits::with::<Queued<ChaseLev>>();
    Waits::with::<Heartbeat<ChaseLev, Request>>();
}

/// Guests, and callers that find no seat, get their results on every pool.
/// A worker that naps while calls are short helps with one that turns out long, whether it forks, loops or spawns.
#[test]
fn a_long_call_after_many_short_ones_gets_help() {
    fn is_helped<P: Pool>() {
        let pool = pool_of::<P>(2, Wait::default());
        let short = || {
            for _ in 0..times(100, 2) {
                pool.install(|| filch::join(|| (), || ()));
                thread::sleep(A_WHILE / 4);
            }
        };
        // The first of two ends once the other has begun.
        let met = AtomicUsize::new(0);
        let meet = || {
            let pair = met.fetch_add(1, SeqCst) / 2;
            wait_for("the other", || met.load(SeqCst) >= 2 * pair + 2);
        };
        for _ in 0..times(5, 1) {
            short();
            pool.install(|| filch::join(meet, meet));
            short();
            pool.install(|| filch::for_each(0..2, |_| meet()));
            short();
            pool.install(|| filch::scope(|s| (0..2).for_each(|_| s.spawn(|_| meet()))));
        }
    }
    let _watchdog = watchdog("help for a long call");
    is_helped::<Split>();
    is_helped::<Queued<ChaseLev>>();
}

#[test]
fn many_callers_of_all_kinds() {
    struct Calls;
    impl EveryPool for Calls {
        fn with<P: Pool>(&self) {
            for workers in common::WORKERS {
                let pool = pool_of::<P>(workers, Wait::default());
                let seen = Mutex::new(0);
                thread::scope(|s| {
                    for caller in 0..4 {
                        let (pool, seen) = (&pool, &seen);
                        s.spawn(move || {
                            for call in 0..times(12, 1) as u64 {
                                match (caller + call) % 4 {
                                    0 => assert_eq!(pool.run(|w| fib(w, 8)), 21),
                                    1 => {
                                        let mut squares = [0; 20];
                                        pool.install(|| {
                                            filch::scope(|s| {
                                                for (n, square) in squares.iter_mut().enumerate() {
                                                    s.spawn(move |_| *square = n * n);
                                                }
                                            });
                                        });
                                        assert_eq!(squares[19], 361);
                                    }
                                    2 => {
                                        let sum = |n| filch::map_reduce(0..n, 0, |i| i, |a, b| a + b);
                                        assert_eq!(pool.install(|| sum(100_u64)), 4950);
                                    }
                                    _ => assert_eq!(thrown_by(|| pool.run(|_| common::throw(3))), 3),
                                }
                                if call % 8 == 0 {
                                    thread::sleep(A_WHILE);
                                }
                            }
                            *seen.lock().unwrap() += 1;
                        });
                    }
                });
                assert_eq!(seen.into_inner().unwrap(), 4);
            }
        }
    }
    let _alive = watchdog("many callers");
    Calls.every();
}
