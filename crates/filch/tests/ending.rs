//! Pools that end in the middle of something, start again, or cannot. Each test runs in its own process.
#![cfg(all(target_os = "linux", not(miri)))]
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;
#[path = "common/refusing.rs"]
mod refusing;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use common::{wait_for, watchdog};
use filch::inside::host::{Seat, Thread};
use filch::{BuildError, ThreadPool};
use refusing::{aborts, in_a_fork, is_asleep, limit_address_space, succeeds};

const SHORT: Duration = Duration::from_millis(50);

#[test]
#[ignore = "run by another"]
fn a_guest_broadcasts() {
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            thread::sleep(SHORT * 4);
        }
    }
    thread_local! {
        static SLOW: Slow = const { Slow };
    }
    let pool = ThreadPool::builder().workers(3).build_global().unwrap();
    let (sender, receiver) = mpsc::channel();
    // So the worker's thread ends long after it has left.
    pool.spawn(move || {
        SLOW.with(|_| sender.send(()).unwrap());
        thread::sleep(SHORT);
    });
    receiver.recv().unwrap();
    let guest = thread::spawn(move || {
        thread::sleep(SHORT * 2);
        pool.install(|| filch::broadcast(|worker| worker))
    });
    ThreadPool::end_global();
    assert_eq!(guest.join().unwrap(), [0, 1, 2]);
}

#[test]
fn a_guest_that_comes_at_the_end_may_need_workers_that_have_left() {
    succeeds("a_guest_broadcasts", &[]);
}

#[test]
#[ignore = "run by another"]
fn a_job_enters_and_ends() {
    let pool = ThreadPool::builder().workers(1).build_global().unwrap();
    assert_eq!(pool.install(|| 1), 1);
    let other = ThreadPool::builder().workers(1).caller_works(false).build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&ran);
    other.install(|| {
        filch::spawn(move || {
            // The global pool's workers have left by now.
            thread::sleep(SHORT);
            counts.fetch_add(ThreadPool::global().install(|| 1), SeqCst);
            ThreadPool::end_global();
        });
        ThreadPool::end_global();
    });
    drop(other);
    assert_eq!(ran.load(SeqCst), 1);
}

#[test]
fn a_job_that_a_worker_runs_while_it_ends_the_global_pool_may_use_it() {
    succeeds("a_job_enters_and_ends", &[]);
}

static ENTERED: AtomicUsize = AtomicUsize::new(0);
static OTHER: OnceLock<ThreadPool> = OnceLock::new();

/// Its destructor enters a pool.
struct Enters(fn() -> usize);

impl Drop for Enters {
    fn drop(&mut self) {
        ENTERED.fetch_add((self.0)(), SeqCst);
    }
}

thread_local! {
    static OWN: Enters = const { Enters(|| filch::join(|| 1, || 2).0) };
    static OTHERS: Enters = const { Enters(|| OTHER.get().unwrap().install(|| 1)) };
}

#[test]
#[ignore = "run by another"]
fn destructors_enter_their_own_pool() {
    let pool = ThreadPool::builder().workers(1).caller_works(false).build_global().unwrap();
    pool.install(|| OWN.with(|_| ()));
    ThreadPool::end_global();
    assert_eq!(ENTERED.load(SeqCst), 1);
    ThreadPool::end_global();
}

#[test]
#[ignore = "run by another"]
fn destructors_enter_the_pool_of_whoever_waits() {
    let alone = || ThreadPool::builder().workers(1).caller_works(false).build().unwrap();
    let pool = alone();
    pool.install(|| OTHERS.with(|_| ()));
    OTHER.get_or_init(alone).install(move || drop(pool));
    assert_eq!(ENTERED.load(SeqCst), 1);
}

#[test]
fn destructors_of_a_workers_thread_local_values_may_enter_pools() {
    succeeds("destructors_enter_their_own_pool", &[]);
    succeeds("destructors_enter_the_pool_of_whoever_waits", &[]);
}

#[test]
#[ignore = "run by another"]
fn starts_again_with_fewer() {
    let pool = ThreadPool::builder().workers(3).caller_works(true).stack_size(512 << 20).build_global().unwrap();
    for _ in 0..2 {
        assert_eq!(pool.broadcast(|worker| worker.index()), [0, 1, 2]);
        ThreadPool::end_global();
        limit_address_space(Some(800 << 20));
        assert_eq!(filch::map_reduce(0..1000, 0, |n| n, |a, b| a + b), 499_500);
        let refused = catch_unwind(AssertUnwindSafe(|| pool.broadcast(|_| ()))).unwrap_err();
        assert!(refused.downcast_ref::<String>().unwrap().contains("cannot have a thread"));
        ThreadPool::end_global();
        limit_address_space(None);
        assert_eq!(filch::join(|| 1, || 2), (1, 2));
    }
}

#[test]
#[ignore = "run by another"]
fn cannot_start_again_for_two() {
    static IS_LAST: AtomicBool = AtomicBool::new(false);
    static STARTS: AtomicBool = AtomicBool::new(false);
    static SECOND: OnceLock<PathBuf> = OnceLock::new();
    let name = |worker| {
        if IS_LAST.load(SeqCst) {
            STARTS.store(true, SeqCst);
            wait_for("the other to wait for the start", || SECOND.get().is_some_and(|thread| is_asleep(thread)));
        }
        format!("slow {worker}")
    };
    let pool = ThreadPool::builder().workers(1).stack_size(512 << 20).thread_name(name).build_global().unwrap();
    pool.install(|| ());
    ThreadPool::end_global();
    IS_LAST.store(true, SeqCst);
    limit_address_space(Some(64 << 20));
    thread::scope(|s| {
        s.spawn(|| _ = catch_unwind(AssertUnwindSafe(|| pool.install(|| ()))));
        wait_for("a start", || STARTS.load(SeqCst));
        // It finds a pool that starts.
        s.spawn(|| {
            SECOND.get_or_init(|| Path::new("/proc").join(fs::read_link("/proc/thread-self").unwrap()));
            pool.install(|| ());
        });
    });
}

#[test]
fn a_global_pool_that_ended_starts_again_as_far_as_it_can() {
    succeeds("starts_again_with_fewer", &[]);
    aborts("cannot_start_again_for_two", "a pool that had ended cannot run a job");
}

#[test]
#[ignore = "run by another"]
fn a_hook_wants_the_pool_that_fails() {
    let builder = ThreadPool::builder().workers(3).task_capacity(64).stack_size(512 << 20);
    let builder = builder.on_start(|_| assert!(ThreadPool::global().workers() > 0));
    // Enough for two of three, and for a pool of its own.
    limit_address_space(Some(1400 << 20));
    let Err(error) = builder.build_global() else { panic!("too little address space for three") };
    assert!(matches!(error, BuildError::Thread { .. }), "{error}");
}

#[test]
#[ignore = "run by another"]
fn a_name_wants_the_pool_that_is_made() {
    let builder = ThreadPool::builder().workers(2).thread_name(|worker| {
        let refused = catch_unwind(|| filch::join(|| 1, || 2)).unwrap_err();
        assert!(refused.downcast_ref::<&str>().unwrap().contains("not there yet while it is made"));
        format!("named {worker}")
    });
    assert_eq!(builder.build_global().unwrap().install(|| 1), 1);
}

#[test]
#[ignore = "run by another"]
fn gets_the_stack_that_it_asked_for() {
    const STACK: usize = 512 << 20;
    let depth = || {
        let mut limits = Vec::new();
        for line in fs::read_to_string("/proc/thread-self/maps").unwrap().lines() {
            let range = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [from, to] = [range.0, range.1].map(|end| usize::from_str_radix(end, 16).unwrap());
            let here = (&raw const limits).addr();
            if (from..to).contains(&here) {
                limits.push(here - from);
            }
        }
        limits[0]
    };
    let pool = ThreadPool::builder().workers(2).stack_size(STACK).build().unwrap();
    limit_address_space(Some(256 << 20));
    let refused = catch_unwind(AssertUnwindSafe(|| pool.broadcast(|_| depth()))).unwrap_err();
    assert!(refused.downcast_ref::<String>().unwrap().contains("cannot have a thread"));
    limit_address_space(None);
    assert!(pool.broadcast(|_| depth()).iter().all(|depth| *depth > STACK / 10 * 9));
}

#[test]
fn a_start_that_fails_leaves_nothing_behind() {
    succeeds("a_hook_wants_the_pool_that_fails", &[]);
    succeeds("a_name_wants_the_pool_that_is_made", &[]);
    succeeds("gets_the_stack_that_it_asked_for", &[]);
    let alive = Arc::new(AtomicUsize::new(0));
    let (came, gone) = (Arc::clone(&alive), Arc::clone(&alive));
    let builder = ThreadPool::builder().workers(3).on_start(move |_| _ = came.fetch_add(1, SeqCst));
    let builder = builder.on_exit(move |_| {
        thread::sleep(SHORT);
        gone.fetch_sub(1, SeqCst);
    });
    let name = |worker| if worker < 2 { format!("named {worker}") } else { panic!("no name") };
    assert!(catch_unwind(AssertUnwindSafe(|| builder.thread_name(name).build().is_ok())).is_err());
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn a_name_with_a_zero_byte_is_refused_at_once() {
    for nth in 0..2 {
        let name = move |worker| if worker == nth { "zero\0".to_owned() } else { "good".to_owned() };
        let builder = ThreadPool::builder().workers(2).caller_works(true).thread_name(name);
        let refused = catch_unwind(AssertUnwindSafe(|| builder.build().is_ok())).unwrap_err();
        let said = refused.downcast_ref::<String>().unwrap();
        assert!(said.contains(&format!("the name of worker {nth}'s thread has a zero byte")), "{said}");
    }
}

#[test]
fn a_pool_of_very_many_ends_on_the_smallest_stacks() {
    let _guard = watchdog("a pool of very many");
    for _ in 0..3 {
        let pool = ThreadPool::builder().workers(2000).stack_size(64 << 10).task_capacity(64).build().unwrap();
        thread::sleep(Duration::from_millis(5));
        drop(pool);
    }
}

/// Whoever needs a worker goes on, and does not unwind while others refer to its frame.
#[test]
fn a_start_that_panics_is_a_refusal() {
    let (crew, lease, seats) = ThreadPool::builder().workers(3).caller_works(false).seats().unwrap();
    let start = |seat: Seat| {
        assert_eq!(seat.index(), 0, "no thread for this one");
        Thread::start(None, None, move || seat.run(2 << 20, || (), || ()))
    };
    let now = crew.come_late(seats, start);
    let threads: Vec<Thread> = now.into_iter().map(start).collect::<Result<_, _>>().unwrap();
    let numbers = [7_u64; 64];
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(crew.enter(|| numbers.iter().sum::<u64>()), 448);
                    thread::sleep(Duration::from_micros(100));
                }
            });
        }
    });
    assert!(catch_unwind(AssertUnwindSafe(|| crew.broadcast(|_| ()))).is_err());
    assert_eq!(crew.enter(|| filch::join(|| 1, || 2)), (1, 2));
    drop(lease);
    threads.into_iter().for_each(Thread::join);
}

#[test]
fn a_child_may_drop_the_last_lease_of_its_parents_crew() {
    let (crew, lease, seats) = ThreadPool::builder().workers(4).seats().unwrap();
    let start = |seat: Seat| {
        // The child begins meanwhile, and the locks that are held now stay so there.
        thread::sleep(SHORT * 4);
        Thread::start(None, None, move || seat.run(2 << 20, || (), || ()))
    };
    let now = crew.come_late(seats, start);
    let threads: Vec<Thread> = now.into_iter().map(start).collect::<Result<_, _>>().unwrap();
    thread::scope(|s| {
        s.spawn(|| assert_eq!(crew.broadcast(|worker| worker), [0, 1, 2, 3]));
        thread::sleep(SHORT);
        in_a_fork(|| {
            // SAFETY: this process has a copy of its own, and uses the other no more.
            drop(unsafe { std::ptr::read(&raw const lease) });
        });
    });
    drop(lease);
    threads.into_iter().for_each(Thread::join);
}
