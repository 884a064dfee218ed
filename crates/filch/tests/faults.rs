//! Refusals by the system, at any time: each ends in an error, a message, or a slower path. Each runs in its own
//! process.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

#[path = "common/refusing.rs"]
mod refusing;

use std::alloc::{GlobalAlloc, Layout, System};
use std::env;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use filch::jobs::Jobs;
use filch::pool::{Heartbeat, Pool, Queued, Request, Split, Wool};
use filch::worklist::{StartError, Worklist};
use filch::{BuildError, Builder, Interrupts, ThreadPool};
use filch_queue::{ChaseLev, ChaseLevAsym, PdqRAsync, PdqSTold};
use libc::{EAGAIN, ENOSYS, EPERM};
use refusing::{From, aborts, child, in_a_fork, is_asleep, refuse, refuse_sleep, succeeds};

const THREADS: [libc::c_long; 2] = [libc::SYS_clone, libc::SYS_clone3];

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = filch::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Uses everything in a pool: forks, scopes, spawned jobs, sleep and wake-ups, calls from outside.
fn works<P: Pool>(pool: &ThreadPool<P>) {
    for round in 0..5 {
        assert_eq!(pool.install(|| fib(16)), 987);
        let count = AtomicUsize::new(0);
        pool.install(|| {
            filch::scope(|s| (0..20).for_each(|_| s.spawn(|_| _ = count.fetch_add(1, SeqCst))));
        });
        assert_eq!(count.into_inner(), 20);
        let (sender, receiver) = channel();
        pool.spawn(move || sender.send(round).unwrap());
        assert_eq!(receiver.recv(), Ok(round));
        // Long enough for the workers to fall asleep.
        thread::sleep(Duration::from_millis(3));
    }
}

fn works_anew<P: Pool>() {
    works(&Builder::<P>::new().workers(3).build().unwrap());
}

/// Returns the kind of error that the child must get.
fn error_asked_for() -> i32 {
    env::var("FILCH_TEST_ERROR").unwrap().parse().unwrap()
}

fn with_each_error(test: &str) {
    for error in [EPERM, ENOSYS] {
        succeeds(test, &[("FILCH_TEST_ERROR", &error.to_string())]);
    }
}

#[test]
#[ignore = "run by another"]
fn has_no_threads() {
    refuse(&THREADS, EAGAIN, From::Here);
    let refused = |error: &BuildError| matches!(error, BuildError::Thread { started: 0, workers: 2, source } if source.raw_os_error() == Some(EAGAIN));
    let error = ThreadPool::new(2).unwrap_err();
    assert!(refused(&error) && error.to_string().contains("cannot start thread 1 of 2"), "{error}");
    let error = Builder::<Heartbeat<ChaseLev>>::new().workers(2).build().unwrap_err();
    assert!(refused(&error), "{error}, of the clock");
    let jobs = AtomicUsize::new(0);
    Jobs::new(4).run(|w| {
        for _ in 0..9 {
            w.spawn(|_| _ = jobs.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(jobs.into_inner(), 9, "on the calling thread");
    let error = Worklist::new(4).start().unwrap_err();
    assert!(matches!(&error, StartError::Thread { started: 1, workers: 4, .. }), "{error}");
    assert!(error.to_string().contains("cannot start thread 2 of 4"), "{error}");
    assert!(Worklist::new(1).start().is_ok(), "one worker needs no thread");
    let payload = catch_unwind(|| fib(5)).unwrap_err();
    let message = payload.downcast_ref::<String>().unwrap();
    assert!(message.contains("filch cannot start its global pool: cannot start thread 1"), "{message}");
}

#[test]
fn without_threads_there_is_an_error() {
    succeeds("has_no_threads", &[]);
}

#[test]
#[ignore = "run by another"]
fn has_no_more_threads() {
    // Each worker refuses threads to itself, and the threads it starts inherit that; this thread starts the ticker.
    let builder = ThreadPool::builder().workers(2).pool::<Queued<PdqRAsync>>();
    let builder = builder.interrupts(Interrupts::flag()).on_start(|_| refuse(&THREADS, EAGAIN, From::Everybody));
    match builder.build() {
        // The last worker refused threads only after all had started.
        Ok(pool) => works(&pool),
        Err(BuildError::Thread { source, .. } | BuildError::Interrupts(source)) => {
            assert_eq!(source.kind(), io::ErrorKind::WouldBlock);
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn without_more_threads_the_started_ones_leave() {
    for _ in 0..5 {
        succeeds("has_no_more_threads", &[]);
    }
}

#[test]
#[ignore = "run by another"]
fn has_no_barriers() {
    refuse(&[libc::SYS_membarrier], error_asked_for(), From::Here);
    works_anew::<Split>();
    works_anew::<Queued<ChaseLev>>();
    works_anew::<Queued<ChaseLevAsym>>();
    works_anew::<Queued<PdqSTold>>();
}

#[test]
fn without_barriers_all_workers_fence() {
    with_each_error("has_no_barriers");
}

#[test]
#[ignore = "run by another"]
fn loses_its_barriers() {
    let pool = Builder::<Queued<ChaseLevAsym>>::new().workers(2).build().unwrap();
    works(&pool);
    refuse(&[libc::SYS_membarrier], EPERM, From::Everybody);
    // Somebody must steal.
    let both = Barrier::new(2);
    pool.install(|| filch::join(|| both.wait(), || both.wait()));
    println!("still there");
}

#[test]
fn losing_barriers_aborts_with_a_message() {
    aborts("loses_its_barriers", "the barriers are not ready, or no longer allowed");
}

/// Owners push to this queue without a fence, so a worker that falls asleep makes all others pass a barrier.
#[test]
#[ignore = "run by another"]
fn falls_asleep_without_barriers() {
    let pool = Builder::<Queued<ChaseLev>>::new().workers(2).build().unwrap();
    works(&pool);
    refuse(&[libc::SYS_membarrier], EPERM, From::Everybody);
    // Longer and longer: a call keeps workers awake.
    for millis in (0..12).map(|doublings| 1 << doublings) {
        works(&pool);
        thread::sleep(Duration::from_millis(millis));
    }
    println!("still there, though its workers should have fallen asleep");
}

#[test]
fn falling_asleep_needs_a_barrier_with_pushing_owners() {
    aborts("falls_asleep_without_barriers", "the barriers are not ready, or no longer allowed");
}

#[test]
#[ignore = "run by another"]
fn cannot_sleep() {
    refuse_sleep(error_asked_for(), From::Here);
    fn works_at_once<P: Pool>() {
        let pool = Builder::<P>::new().workers(2).build().unwrap();
        // Starts the last worker's thread: while one thread starts another, a second that does so waits in the C
        // library, too.
        pool.broadcast(|_| ());
        for _ in 0..3 {
            assert_eq!(pool.install(|| fib(14)), 377);
            pool.install(|| filch::scope(|s| s.spawn(|_| ())));
        }
        // The C library aborts a process that cannot wait for the end of a thread.
        std::mem::forget(pool);
    }
    works_at_once::<Split>();
    works_at_once::<Wool>();
    works_at_once::<Queued<ChaseLev>>();
    works_at_once::<Heartbeat<ChaseLev, Request>>();
    let mut team = Worklist::new(3).start().unwrap();
    for _ in 0..3 {
        assert_eq!(team.run(0..10_u32, |_| 0, |_, sum, n| *sum += n).states.iter().sum::<u32>(), 45);
    }
    std::mem::forget(team);
    ThreadPool::global().broadcast(|_| ());
    assert_eq!(fib(14), 377, "on the global pool");
    // SAFETY: the call only ends the process; the test harness would have to wait for a thread.
    unsafe { libc::_exit(0) };
}

#[test]
fn workers_that_cannot_sleep_stay_awake() {
    with_each_error("cannot_sleep");
}

#[test]
#[ignore = "run by another"]
fn cannot_be_woken() {
    let pool = ThreadPool::new(2).unwrap();
    // Awake before, whose sleep is then a call of the system's.
    pool.broadcast(|_| ());
    let own = Path::new("/proc").join(fs::read_link("/proc/thread-self").unwrap());
    let rests = |thread: PathBuf| thread.file_name() == own.file_name() || is_asleep(&thread);
    let threads = || fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    while pool.stats().workers.iter().any(|worker| worker.parks < 2) || !threads().all(rests) {
        thread::sleep(Duration::from_millis(1));
    }
    refuse(&[libc::SYS_futex], EPERM, From::Everybody);
    pool.install(|| ());
    println!("still there");
}

#[test]
fn a_failed_wake_up_aborts_instead_of_hanging() {
    aborts("cannot_be_woken", "the system no longer wakes threads");
}

#[test]
#[ignore = "run by another"]
fn knows_little() {
    let error = error_asked_for();
    let limits = [libc::SYS_getrlimit, libc::SYS_prlimit64];
    let processors = [libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity];
    let clocks = [libc::SYS_timer_create, libc::SYS_timerfd_create, libc::SYS_setitimer, libc::SYS_sched_yield];
    refuse(&[&limits[..], &processors, &clocks].concat(), error, From::Here);
    assert!(ThreadPool::global().workers() >= 1);
    assert_eq!(fib(12), 144);
    works(&Builder::<Split>::new().workers(2).pin(true).build().unwrap());
    let pinned = Worklist::new(2).pin(true);
    assert!(matches!(pinned.start(), Err(StartError::Pin { source }) if source.raw_os_error() == Some(error)));
    assert_eq!(pinned.run(0..10_u32, |_| 0, |_, sum, n| *sum += n).states.iter().sum::<u32>(), 45);
    for interrupts in [Interrupts::flag(), Interrupts::signal(), Interrupts::by_thieves()] {
        works(&Builder::<Queued<PdqRAsync>>::new().workers(2).interrupts(interrupts).build().unwrap());
    }
}

#[test]
fn unknown_limits_are_guessed() {
    with_each_error("knows_little");
}

#[test]
#[ignore = "run by another"]
fn has_no_signals() {
    let ways = [Interrupts::signal(), Interrupts::by_thieves()];
    let build = |by| Builder::<Queued<PdqRAsync>>::new().workers(2).interrupts(by).build();
    let pools = ways.map(|by| build(by).unwrap());
    refuse(&[libc::SYS_tgkill, libc::SYS_tkill], error_asked_for(), From::Everybody);
    pools.iter().for_each(works);
    drop(pools);
    refuse(&[libc::SYS_rt_sigaction], error_asked_for(), From::Everybody);
    for by in ways {
        let error = build(by).unwrap_err();
        assert!(matches!(&error, BuildError::Interrupts(_)), "{error}");
    }
}

#[test]
fn pools_work_without_signals() {
    with_each_error("has_no_signals");
}

/// An allocator that fails the allocation of this number, counted down. At 0 and below none fails.
struct Scarce;

static LEFT: AtomicI64 = AtomicI64::new(0);

// SAFETY: it returns the system's memory or null.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if LEFT.load(SeqCst) > 0 && LEFT.fetch_sub(1, SeqCst) == 1 {
            return std::ptr::null_mut();
        }
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Scarce = Scarce;

#[test]
#[ignore = "run by another"]
fn runs_out_of_memory() {
    let which: i64 = env::var("FILCH_TEST_WHICH").unwrap().parse().unwrap();
    LEFT.store(which, SeqCst);
    fn in_all_ways<P: Pool>() -> Result<(), BuildError> {
        let pool = Builder::<P>::new().workers(2).build()?;
        assert_eq!(pool.install(|| fib(10)), 55);
        pool.run(|mut w| w.join(|_| filch::join(|| 1, || 2), |_| 3));
        pool.install(|| filch::scope(|s| (0..3).for_each(|_| s.spawn(|_| ()))));
        Ok(())
    }
    let outcome = in_all_ways::<Split>().and_then(|()| in_all_ways::<Queued<ChaseLev>>());
    Jobs::new(2).run(|w| w.spawn(|_| ()));
    let left = LEFT.swap(0, SeqCst);
    println!("{outcome:?}, {}", if left > 0 { "was spared" } else { "had its share" });
}

/// Fails each allocation in turn.
#[test]
fn without_memory_there_is_an_error_or_a_message() {
    for which in 1.. {
        let output = child("runs_out_of_memory", &[("FILCH_TEST_WHICH", &which.to_string())]);
        let said = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
        let has_said_why = said.contains("memory allocation of") || said.contains("filch:") || said.contains("Error");
        let has_ended =
            output.status.success() || has_said_why && matches!(output.status.signal(), None | Some(libc::SIGABRT));
        assert!(has_ended, "allocation {which}: {:?} {said}", output.status);
        if said.contains("was spared") {
            assert!(which > 20, "there are allocations");
            return;
        }
    }
}

/// The child of a fork starts with its parent's state, except for the threads.
#[test]
#[ignore = "run by another"]
fn forks_a_process() {
    let pool = ThreadPool::new(2).unwrap();
    let clocked = Builder::<Heartbeat<ChaseLev>>::new().workers(2).build().unwrap();
    let ticking = Builder::<Queued<PdqRAsync>>::new().workers(2).interrupts(Interrupts::signal()).build().unwrap();
    works(&pool);
    let mut team = Worklist::new(2).start().unwrap();
    team.run([0_u32], |_| (), |_, (), _| ());
    assert_eq!(fib(10), 55, "on the global pool");
    let global = std::ptr::from_ref(ThreadPool::global());
    in_a_fork(|| {
        assert_eq!(fib(16), 987, "on the child's own global pool");
        assert_ne!(global, std::ptr::from_ref(ThreadPool::global()));
        filch::scope(|s| s.spawn(|_| ()));
        works(ThreadPool::global());
        works_anew::<Wool>();
        works_anew::<Queued<ChaseLevAsym>>();
        let refuses = |f: &dyn Fn()| {
            let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
            let message = payload.downcast_ref::<&str>().unwrap();
            assert!(message.contains("after fork() a child has to make pools of its own"), "{message}");
        };
        refuses(&|| pool.install(|| ()));
        refuses(&|| pool.run(|_| ()));
        refuses(&|| pool.spawn(|| ()));
        refuses(&|| pool.spawn_whenever(|| ()));
        refuses(&|| _ = pool.broadcast(|_| ()));
        refuses(&|| clocked.install(|| ()));
        pool.wait_idle();
        assert_eq!(pool.workers(), 2);
        let payload = catch_unwind(AssertUnwindSafe(|| team.run([0_u32], |_| (), |_, (), _| ()))).unwrap_err();
        assert!(payload.downcast_ref::<&str>().unwrap().contains("stay in the process that has started them"));
        drop((pool, clocked, ticking, team));
        // The same in a fork of the fork.
        in_a_fork(|| {
            assert_eq!(fib(16), 987);
            works(ThreadPool::global());
        });
        assert_eq!(fib(12), 144);
    });
    assert_eq!(fib(12), 144, "nothing has changed in the parent");
    assert_eq!(global, std::ptr::from_ref(ThreadPool::global()));
}

#[test]
fn a_forked_process_has_pools_of_its_own() {
    succeeds("forks_a_process", &[]);
}

/// Threads start the global pool and use it while another thread forks.
#[test]
#[ignore = "run by another"]
fn forks_in_the_middle_of_everything() {
    let is_over = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                while is_over.load(SeqCst) == 0 {
                    assert_eq!(fib(8), 21);
                    drop(ThreadPool::new(1).unwrap());
                }
            });
        }
        let children: [&dyn Fn(); 4] = [
            &|| assert_eq!(fib(8), 21),
            &|| works(&ThreadPool::builder().workers(2).pin(true).build().unwrap()),
            &works_anew::<Heartbeat<ChaseLev>>,
            &|| _ = Worklist::new(2).start().unwrap().run([0_u32], |_| (), |_, (), _| ()),
        ];
        let start = Instant::now();
        for child in children.iter().cycle().take_while(|_| start.elapsed() < Duration::from_millis(600)) {
            in_a_fork(child);
        }
        is_over.store(1, SeqCst);
    });
}

#[test]
fn a_process_may_be_forked_at_any_time() {
    succeeds("forks_in_the_middle_of_everything", &[]);
}
