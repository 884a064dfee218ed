//! Jobs now, and jobs whenever: each lane is served, whatever the other has.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{WORKERS, busy, payload_of, pool, throw, times, watchdog};
use filch::{ThreadPool, Wait, spawn, spawn_whenever, submit_whenever};

#[test]
fn jobs_that_can_wait_wait_but_not_for_ever() {
    let _watched = watchdog("jobs that can wait wait but not for ever");
    const JOBS: usize = 320;
    let order = Arc::new(Mutex::new(Vec::new()));
    let (pool, go) = busy();
    let job = |is_urgent, n| {
        let order = Arc::clone(&order);
        move || order.lock().unwrap().push((is_urgent, n))
    };
    (0..JOBS).for_each(|n| pool.spawn_whenever(job(false, n)));
    (0..JOBS).for_each(|n| pool.spawn(job(true, n)));
    go.send(()).unwrap();
    pool.wait_idle();
    let order = std::mem::take(&mut *order.lock().unwrap());
    let last_urgent = order.iter().rposition(|job| job.0).unwrap();
    let between = last_urgent + 1 - JOBS;
    assert!((4..=6).contains(&between), "one in 64 jobs: {between}");
    for is_urgent in [false, true] {
        assert!(order.iter().filter(|job| job.0 == is_urgent).map(|job| job.1).eq(0..JOBS), "in order");
    }
}

/// Spawns jobs, each by the one before, until `over`.
fn chain(over: Arc<AtomicBool>, next: fn(Arc<AtomicBool>)) {
    if !over.load(SeqCst) {
        next(over);
    }
}

fn now(over: Arc<AtomicBool>) {
    spawn(move || chain(over, now));
}

fn whenever(over: Arc<AtomicBool>) {
    spawn_whenever(move || chain(over, whenever));
}

fn both(over: Arc<AtomicBool>) {
    now(Arc::clone(&over));
    whenever(over);
}

#[test]
fn no_chain_of_jobs_starves_another_job() {
    let _watched = watchdog("no chain of jobs starves another job");
    let chains: [fn(Arc<AtomicBool>); 3] = [now, whenever, both];
    let jobs: [fn(&ThreadPool, Arc<AtomicBool>); 2] = [
        |pool, over| pool.spawn(move || over.store(true, SeqCst)),
        |pool, over| pool.spawn_whenever(move || over.store(true, SeqCst)),
    ];
    for workers in WORKERS {
        for &wait in Wait::EVERY {
            for begin in chains {
                for end in jobs {
                    let pool = pool(workers, wait);
                    let over = Arc::new(AtomicBool::new(false));
                    // More chains than workers.
                    for _ in 0..=workers {
                        let over = Arc::clone(&over);
                        pool.spawn(move || begin(over));
                    }
                    end(&pool, Arc::clone(&over));
                    pool.wait_idle();
                    assert!(over.load(SeqCst));
                }
            }
        }
    }
}

/// A worker that waits for a scope may be all that there is.
#[test]
fn a_scope_without_end_starves_no_job_from_outside() {
    let _watched = watchdog("a scope without end starves no job from outside");
    fn more<'scope>(s: &filch::Scope<'scope>, over: &'scope AtomicUsize) {
        if over.load(SeqCst) < 2 {
            s.spawn(move |s| more(s, over));
        }
    }
    for wait in [Wait::LeapfrogRandom, Wait::Random] {
        let pool = pool(1, wait);
        let over = Arc::new(AtomicUsize::new(0));
        thread::scope(|s| {
            s.spawn(|| pool.install(|| filch::scope(|s| more(s, &over))));
            for spawn in [ThreadPool::spawn, ThreadPool::spawn_whenever] {
                let over = Arc::clone(&over);
                spawn(&pool, move || _ = over.fetch_add(1, SeqCst));
            }
        });
        assert_eq!(over.load(SeqCst), 2);
    }
}

#[test]
fn threads_that_spawn_all_the_time_starve_nobody() {
    let _watched = watchdog("threads that spawn all the time starve nobody");
    for workers in WORKERS {
        let pool = pool(workers, Wait::default());
        let over = Arc::new(AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                while !over.load(SeqCst) {
                    // Not more than the workers can do, or the memory fills up.
                    (0..1000).for_each(|_| pool.spawn(|| ()));
                    pool.submit(|| ()).join().unwrap();
                }
            });
            let job = Arc::clone(&over);
            pool.spawn_whenever(move || job.store(true, SeqCst));
        });
    }
}

#[test]
fn jobs_that_can_wait_are_jobs_like_others() {
    let _watched = watchdog("jobs that can wait are jobs like others");
    for workers in WORKERS {
        for &wait in Wait::EVERY {
            let pool = pool(workers, wait);
            assert_eq!(pool.submit_whenever(|| 1).join().unwrap(), 1);
            assert_eq!(payload_of(&*pool.submit_whenever(|| throw(2)).join().unwrap_err()), 2);
            // A worker that waits runs them, however few workers there are.
            assert_eq!(pool.install(|| submit_whenever(|| submit_whenever(|| 3).join().unwrap()).join().unwrap()), 3);
            let later = pool.run(|w| w.submit_whenever(|mut w| w.join(|_| 4, |_| 5)));
            assert_eq!(later.join().unwrap(), (4, 5));
            let ran = Arc::new(AtomicUsize::new(0));
            let count = || {
                let ran = Arc::clone(&ran);
                move || _ = ran.fetch_add(1, SeqCst)
            };
            let jobs = times(100, 5);
            (0..jobs).for_each(|_| pool.spawn_whenever(count()));
            pool.wait_idle();
            assert_eq!(ran.swap(0, SeqCst), jobs);
            pool.spawn_whenever({
                let count = count();
                move || spawn_whenever(count)
            });
            pool.run(|w| {
                let count = count();
                w.spawn_whenever(move |_| count());
            });
            drop(pool);
            assert_eq!(ran.load(SeqCst), 2);
        }
    }
    let (pool, go) = busy();
    let ran = Arc::new(AtomicBool::new(false));
    let job = Arc::clone(&ran);
    drop(pool.submit_whenever(move || job.store(true, SeqCst)));
    drop(go);
    pool.wait_idle();
    assert!(!ran.load(SeqCst), "it was cancelled");
}
