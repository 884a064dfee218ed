//! Results that come later, and work that ends early.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use common::{busy, wait_for, watchdog};
use filch::worklist::Worklist;
use filch::{Stop, Stopped, ThreadPool, Wait, block_on, submit};

mod common;

/// Counts its drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn results_come_to_threads_workers_and_futures() {
    let _watched = watchdog("results come to threads workers and futures");
    let pool = ThreadPool::new(2).unwrap();
    let jobs: Vec<_> = (0..100_u64).map(|n| pool.submit(move || n * n)).collect();
    assert_eq!(jobs.into_iter().map(|job| job.join().unwrap()).sum::<u64>(), 328_350);
    // A worker that waits runs the jobs itself, however few workers there are.
    let single = ThreadPool::new(1).unwrap();
    let nested = single.install(|| {
        let outer = submit(|| submit(|| submit(|| 7).join().unwrap() + 1).join().unwrap() + 1);
        outer.join().unwrap()
    });
    assert_eq!(nested, 9);
    let awaited = single.run(|w| {
        let later = w.submit(|mut w| w.join(|_| 3, |_| 4));
        block_on(async { later.await.unwrap() })
    });
    assert_eq!(awaited, (3, 4));
}

#[test]
fn a_job_that_is_dropped_before_it_begins_does_not_run() {
    let _watched = watchdog("a job that is dropped before it begins does not run");
    let (pool, go) = busy();
    let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let job = || {
        let (ran, captured) = (Arc::clone(&ran), Dropped(Arc::clone(&dropped)));
        move || {
            let _captured = captured;
            ran.fetch_add(1, Relaxed)
        }
    };
    drop(pool.submit(job()));
    pool.submit(job()).detach();
    drop(pool.submit(job()));
    let last = pool.submit(job());
    go.send(()).unwrap();
    assert_eq!(last.join().unwrap(), 1, "the detached one ran before");
    drop(pool);
    assert_eq!((ran.load(Relaxed), dropped.load(Relaxed)), (2, 4), "nothing leaks");
}

#[test]
fn a_result_that_nobody_wants_is_dropped() {
    let _watched = watchdog("a result that nobody wants is dropped");
    let pool = ThreadPool::builder().workers(1).caller_works(false).build().unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    let (begun, wait) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inside, until, result) = (Arc::clone(&begun), Arc::clone(&wait), Dropped(Arc::clone(&dropped)));
    let job = pool.submit(move || {
        inside.wait();
        until.wait();
        result
    });
    begun.wait();
    drop(job);
    wait.wait();
    // One more job: the first has ended.
    pool.submit(|| ()).join().unwrap();
    assert_eq!(dropped.load(Relaxed), 1);
}

#[test]
fn panics_arrive_with_their_payload() {
    let _watched = watchdog("panics arrive with their payload");
    let pool = ThreadPool::new(2).unwrap();
    for n in 0..50 {
        let payload = pool.submit(move || std::panic::panic_any(n)).join().map(|_: ()| ()).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&n));
    }
    // Its payload's destructor panics, and nobody wants it.
    struct Sore;
    impl Drop for Sore {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("the destructor of a payload");
            }
        }
    }
    pool.submit(|| std::panic::panic_any(Sore)).detach();
    let ended = pool.submit(|| std::panic::panic_any(Sore));
    while !ended.is_done() {
        thread::yield_now();
    }
    ended.detach();
    assert_eq!(pool.submit(|| 1).join().unwrap(), 1);
}

/// Counts its wakes.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn the_last_waker_is_woken_once() {
    let _watched = watchdog("the last waker is woken once");
    let (pool, go) = busy();
    let mut job = pin!(pool.submit(|| 5));
    let [first, second] = [(); 2].map(|()| Arc::new(Count::default()));
    for count in [&first, &second] {
        let waker = Waker::from(Arc::clone(count));
        assert!(job.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert!(!job.is_done());
    drop(go);
    wait_for("the end", || job.is_done());
    wait_for("a wake", || second.0.load(Relaxed) > 0);
    assert_eq!((first.0.load(Relaxed), second.0.load(Relaxed)), (0, 1));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(job.as_mut().poll(&mut context), Poll::Ready(Ok(5))));
    let again =
        catch_unwind(AssertUnwindSafe(|| job.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()));
    assert!(again.is_err(), "polled after its end");
}

/// As every async `yield_now`, the future wakes itself.
#[test]
fn a_future_that_yields_lets_its_worker_run_other_jobs() {
    let _watched = watchdog("a future that yields");
    fn until(flag: &AtomicBool) {
        block_on(std::future::poll_fn(|context| {
            if flag.load(Relaxed) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }));
    }
    let flag = || Arc::new(AtomicBool::new(false));
    let sets = |flag: &Arc<AtomicBool>| {
        let flag = Arc::clone(flag);
        move || flag.store(true, Relaxed)
    };
    for &wait in Wait::EVERY {
        let pool = ThreadPool::builder().workers(1).wait(wait).build().unwrap();
        let (spawned, injected) = (flag(), flag());
        pool.install(|| {
            filch::spawn(sets(&spawned));
            until(&spawned);
            thread::scope(|s| s.spawn(|| pool.spawn(sets(&injected))).join().unwrap());
            until(&injected);
        });
        let by_handle = flag();
        pool.run(|w| {
            let set = sets(&by_handle);
            w.spawn(move |_| set());
            until(&by_handle);
        });
    }
    let outside = flag();
    thread::spawn(sets(&outside));
    until(&outside);
}

#[test]
fn a_future_is_woken_from_any_thread() {
    let _watched = watchdog("a future is woken from any thread");
    struct Late(Option<thread::JoinHandle<()>>, Arc<AtomicUsize>, usize);
    impl Future for Late {
        type Output = usize;
        fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
            let steps = self.1.load(Relaxed);
            if steps == self.2 {
                return Poll::Ready(steps);
            }
            let (waker, steps) = (context.waker().clone(), Arc::clone(&self.1));
            let wake = thread::spawn(move || {
                steps.fetch_add(1, Relaxed);
                // Twice: the second is late, and must not disturb the next wait.
                waker.wake_by_ref();
                waker.wake();
            });
            if let Some(earlier) = self.0.replace(wake) {
                earlier.join().unwrap();
            }
            Poll::Pending
        }
    }
    let steps = if cfg!(miri) { 3 } else { 100 };
    assert_eq!(block_on(Late(None, Arc::default(), steps)), steps);
    let pool = ThreadPool::new(2).unwrap();
    assert_eq!(pool.install(|| block_on(Late(None, Arc::default(), steps))), steps);
    pool.run(|mut w| {
        let both =
            w.join(|_| block_on(Late(None, Arc::default(), steps)), |_| block_on(Late(None, Arc::default(), steps)));
        assert_eq!(both, (steps, steps));
    });
}

#[test]
fn a_loop_ends_at_its_first_error() {
    let _watched = watchdog("a loop ends at its first error");
    for workers in [1, 2, 4] {
        let pool = ThreadPool::new(workers).unwrap();
        let visited = AtomicUsize::new(0);
        let visit = |n: u64| {
            visited.fetch_add(1, Relaxed);
            if n == 1000 { Err(n) } else { Ok(()) }
        };
        // Such a loop would take centuries.
        assert_eq!(pool.run(|mut w| w.try_for_each(0..u64::MAX, visit)), Err(1000));
        assert!(visited.load(Relaxed) > 0);
        let sum = |end| {
            pool.install(|| {
                filch::try_map_reduce(0..end, 0_u64, |n| if n < 500 { Ok(n) } else { Err(n) }, |a, b| a + b)
            })
        };
        assert_eq!(sum(500), Ok(124_750));
        assert!(matches!(sum(100_000), Err(500..)));
        assert_eq!(sum(0), Ok(0));
    }
}

#[test]
fn errors_and_partial_results_are_dropped() {
    let _watched = watchdog("errors and partial results are dropped");
    let dropped = Arc::new(AtomicUsize::new(0));
    let pool = ThreadPool::new(2).unwrap();
    let made = AtomicUsize::new(0);
    let fail = |_: u32| -> Result<(), Dropped> {
        made.fetch_add(1, Relaxed);
        Err(Dropped(Arc::clone(&dropped)))
    };
    let error = pool.run(|mut w| w.try_for_each(0..1000, fail));
    assert!(error.is_err());
    drop(error);
    assert_eq!(made.load(Relaxed), dropped.load(Relaxed));
}

#[test]
fn a_panic_in_a_fallible_loop_arrives() {
    let _watched = watchdog("a panic in a fallible loop arrives");
    let pool = ThreadPool::new(2).unwrap();
    let f = |n: u32| if n == 77 { panic!("at {n}") } else { Ok::<(), ()>(()) };
    let payload = catch_unwind(AssertUnwindSafe(|| pool.run(|mut w| w.try_for_each(0..100, f)))).unwrap_err();
    assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("at 77"));
}

#[test]
fn loops_and_lists_stop_on_request() {
    let _watched = watchdog("loops and lists stop on request");
    let pool = ThreadPool::new(2).unwrap();
    let stop = Stop::new();
    let other = stop.clone();
    let end = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        other.stop();
    });
    assert_eq!(pool.run(|mut w| w.try_for_each(0..u64::MAX, |_| stop.check())), Err(Stopped));
    end.join().unwrap();
    let late = Stop::after(Duration::from_millis(5));
    let endless = Worklist::new(2).stopped_by(&late).run([0_usize], |_| (), |worker, (), n| worker.push(n + 1));
    assert!(!endless.is_complete && late.is_stopped());
    assert_eq!(Stop::after(Duration::MAX).check(), Ok(()), "the end of time");
    assert_eq!(Stopped.to_string(), "stopped before the end");
}

#[test]
fn a_stopped_scope_drops_what_has_not_begun() {
    let _watched = watchdog("a stopped scope drops what has not begun");
    for wait in [filch::Wait::default(), filch::Wait::Leapfrog] {
        let pool = ThreadPool::builder().workers(2).wait(wait).build().unwrap();
        let (ran, dropped) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        pool.install(|| {
            filch::scope(|s| {
                for _ in 0..100 {
                    let (captured, ran) = (Dropped(Arc::clone(&dropped)), &ran);
                    s.spawn(move |s| {
                        let _captured = captured;
                        ran.fetch_add(1, Relaxed);
                        assert!(!s.is_stopped() || ran.load(Relaxed) > 1);
                        s.stop();
                        // Also tasks spawned later.
                        s.spawn(|_| unreachable!("the scope was stopped"));
                    });
                }
            });
        });
        // Each worker may have begun one before it saw the request.
        let ran = ran.load(Relaxed);
        assert!((1..=3).contains(&ran), "{ran}");
        assert_eq!(dropped.load(Relaxed), 100);
    }
}
