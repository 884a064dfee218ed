//! Limits of the system: little address space, more workers than possible. Each test runs in its own process.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;
#[path = "common/refusing.rs"]
mod refusing;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, sleep};
use std::time::Duration;

use filch::pool::{Heartbeat, Queued};
use filch::{BuildError, Builder, ThreadPool};
use filch_queue::{ChaseLev, Lace, PdqRAsync, The, Unfenced};
use refusing::limit_address_space;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = filch::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Runs an ignored test of this file under `ulimit`.
fn child_under(limit: &str, test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("ulimit {limit} && exec \"$0\" \"$@\"")).arg(env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    // Otherwise the allocator takes what the stacks leave, 64 MiB per thread.
    command.env("MALLOC_ARENA_MAX", "1").envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    for _ in 0..60_000 {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap();
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("{test} hangs under {limit}: {:?}", child.wait_with_output());
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()));
}

#[test]
#[ignore = "run by another"]
fn computes() {
    assert_eq!(fib(20), 6765, "on the global pool");
    assert!((1..=8).contains(&ThreadPool::global().workers()));
    // If nobody asks for large deques, smaller ones are acceptable.
    for workers in [1, 2] {
        let pool = ThreadPool::builder().workers(workers).stack_size(1 << 20).build().unwrap();
        assert_eq!(pool.install(|| fib(15)), 610);
        let pool = Builder::<Queued<Lace>>::new().workers(workers).stack_size(1 << 20).build().unwrap();
        assert_eq!(pool.install(|| fib(15)), 610);
    }
    let asked = ThreadPool::builder().workers(2).task_capacity(1 << 24).build();
    assert!(matches!(asked, Err(BuildError::Reserve { capacity: 0x0100_0000, workers: 2, .. })), "{asked:?}");
}

/// Eight workers take a gibibyte by default.
#[test]
fn little_address_space_gives_smaller_stacks_or_fewer_workers() {
    for mebibytes in [1000, 500, 200] {
        let limit = format!("-v {}", mebibytes << 10);
        assert_success(&child_under(&limit, "computes", &[("FILCH_WORKERS", "8")]));
    }
}

/// Returns a line of this process's status, in KiB.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[ignore = "run by another"]
fn locks_its_memory() {
    const WORKERS: usize = 8;
    let lock = |how| {
        // SAFETY: memory that is locked stays as it is.
        let outcome = unsafe { libc::mlockall(how) };
        outcome == 0
    };
    let has_room = || {
        // Few may lock so much.
        let mut room = Vec::<u8>::new();
        room.try_reserve_exact(256 << 20).is_ok()
    };
    if !lock(libc::MCL_FUTURE) || !has_room() {
        return println!("this process may not lock memory");
    }
    let before = ["VmRSS", "VmLck"].map(status);
    let pool = ThreadPool::builder().workers(WORKERS).build().unwrap();
    assert_eq!(pool.broadcast(|worker| worker.index()).len(), WORKERS);
    assert_eq!(pool.install(|| fib(20)), 6765);
    let after = ["VmRSS", "VmLck"].map(status);
    let [memory, locked] = [0, 1].map(|line| after[line] - before[line]);
    println!("{memory} KiB more, {locked} KiB of them locked");
    assert!(memory < 64 << 10, "{memory} KiB for {WORKERS} workers");
}

/// Reserved space is memory then.
#[test]
fn a_process_that_locks_its_memory_has_small_stacks() {
    let output = child_under("-c 0", "locks_its_memory", &[]);
    assert_success(&output);
    println!("{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "run by another"]
fn asks_for_too_many() {
    // Deques shrink to fit all workers; then the threads run out.
    let asked = || ThreadPool::builder().workers(filch::MAX_WORKERS).stack_size(filch::DEFAULT_STACK_SIZE);
    match asked().on_start(|_| ()).build() {
        Err(error @ (BuildError::Thread { .. } | BuildError::Reserve { .. })) => println!("{error}"),
        other => panic!("{other:?}"),
    }
    // Those that start when they are needed are done without.
    match asked().build() {
        Err(BuildError::Reserve { .. }) => {}
        built => assert_eq!(built.unwrap().install(|| fib(20)), 6765),
    }
}

#[test]
fn too_many_workers_are_an_error() {
    assert_success(&child_under(&format!("-v {}", 4 << 20), "asks_for_too_many", &[]));
    let too_many = Builder::<Queued<PdqRAsync>>::new().workers(5000).build();
    assert!(matches!(too_many, Err(BuildError::Pairs { workers: 5000, .. })));
    assert!(too_many.unwrap_err().to_string().contains("5000 workers are too many"));
    let too_many = Builder::<Heartbeat<PdqRAsync>>::new().workers(5000).build();
    assert!(matches!(too_many, Err(BuildError::Pairs { .. })));
    let two = Builder::<Queued<Unfenced<The>>>::new().workers(2).build();
    assert!(two.unwrap_err().to_string().contains("does not fence, so it must be alone"));
    let alone = Builder::<Queued<Unfenced<The>>>::new().workers(1).build().unwrap();
    assert_eq!(alone.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
}

/// Leaves no address space for another thread's stack.
fn no_more_threads() {
    limit_address_space(Some(512 << 10));
}

/// A pool of which only the first worker has a thread yet, and the others cannot have one.
fn with_the_first(workers: usize, follows: bool, callers_work: bool) -> ThreadPool {
    let builder = ThreadPool::builder().workers(workers).follow_processors(follows);
    let pool = builder.caller_works(callers_work).build().unwrap();
    assert_eq!(pool.install(|| 1 + 2), 3);
    no_more_threads();
    pool
}

/// Wakes all workers that it can.
fn wake_all(pool: &ThreadPool) {
    let are_there = Arc::new(AtomicBool::new(false));
    for _ in 1..pool.workers() {
        let are_there = Arc::clone(&are_there);
        pool.spawn(move || {
            common::wait_for("all jobs", || are_there.load(SeqCst));
            sleep(Duration::from_millis(20));
        });
    }
    pool.spawn(|| assert_eq!(fib(10), 55));
    are_there.store(true, SeqCst);
    pool.wait_idle();
}

#[test]
#[ignore = "run by another"]
fn goes_without_late_workers() {
    for (workers, callers_work) in [(2, true), (5, true), (2, false), (5, false)] {
        let pool = with_the_first(workers, false, callers_work);
        for _ in 0..3 {
            wake_all(&pool);
            assert_eq!(pool.install(|| fib(15)), 610);
        }
        limit_address_space(None);
    }
}

#[test]
#[ignore = "run by another"]
fn needs_all_workers() {
    for (workers, callers_work) in [(2, true), (5, true), (2, false), (5, false)] {
        let pool = with_the_first(workers, false, callers_work);
        for knows in [false, true] {
            let panic =
                catch_unwind(AssertUnwindSafe(|| pool.broadcast(|_| unreachable!("on some worker")))).unwrap_err();
            let message = panic.downcast_ref::<String>().unwrap();
            assert!(message.starts_with("a worker of this pool cannot have a thread ("), "{message}");
            if !knows {
                wake_all(&pool);
            }
            assert_eq!(pool.install(|| fib(15)), 610);
        }
        limit_address_space(None);
        assert_eq!(pool.broadcast(|w| w.index()), (0..workers).collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "run by another"]
fn has_late_workers_again() {
    for (workers, follows) in [(2, false), (2, true), (5, false), (5, true)] {
        let pool = with_the_first(workers, follows, true);
        wake_all(&pool);
        limit_address_space(None);
        assert_eq!(pool.broadcast(|w| w.index()), (0..workers).collect::<Vec<_>>());
        assert_eq!(pool.install(|| fib(15)), 610);
    }
}

#[test]
fn a_worker_without_a_thread_is_done_without_except_in_a_broadcast() {
    let output = child_under("-c 0", "goes_without_late_workers", &[]);
    assert_success(&output);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = errors.matches("filch: worker 1 has no thread, and the others do its part").count();
    assert_eq!((count, errors.matches("has no thread").count()), (4, 4), "once for each pool: {errors}");
    assert_success(&child_under("-c 0", "has_late_workers_again", &[]));
    assert_success(&child_under("-c 0", "needs_all_workers", &[]));
}

/// The memory for workers that do not run grows with their number, not with its square.
#[test]
#[ignore = "run by another"]
fn seats_many() {
    let (crew, _lease, seats) = Builder::<Queued<ChaseLev>>::new().workers(8000).seats().unwrap();
    assert_eq!((crew.workers(), seats.len()), (8000, 8000));
    let (crew, _lease, seats) = Builder::<filch::pool::Split>::new().workers(8000).seats().unwrap();
    assert_eq!((crew.workers(), seats.len()), (8000, 8000));
}

#[test]
fn memory_is_linear_in_the_number_of_workers() {
    assert_success(&child_under(&format!("-v {}", 700 << 10), "seats_many", &[]));
}

/// The number of processors that the current thread may use.
fn usable() -> usize {
    thread::available_parallelism().unwrap().get()
}

#[test]
#[ignore = "run by another"]
fn is_pinned_first() {
    let all = usable();
    thread::spawn(move || {
        let first = core_affinity::get_core_ids().unwrap()[0];
        assert!(core_affinity::set_for_current(first));
        assert_eq!(usable(), 1);
        assert_eq!(ThreadPool::global().workers(), all);
        assert_eq!(ThreadPool::global().broadcast(|_| usable()), vec![all; all], "workers are not pinned");
        assert_eq!(usable(), 1, "this thread is still pinned");
        // A program that makes its own pool on a pinned thread may want just that.
        assert_eq!(ThreadPool::builder().build().unwrap().workers(), 1);
    })
    .join()
    .unwrap();
}

#[test]
fn a_pinned_first_thread_does_not_pin_the_global_pool() {
    assert_success(&child_under("-c 0", "is_pinned_first", &[]));
}

/// Lets all threads of the process use these processors, as `taskset -a` does.
fn bind_all_threads(processors: &[core_affinity::CoreId]) {
    // SAFETY: a set is plain data, for which all zeros are valid; the numbers come from such a set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        processors.iter().for_each(|processor| libc::CPU_SET(processor.id, &mut set));
        set
    };
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let thread = thread.unwrap().file_name().to_str().unwrap().parse().unwrap();
        // SAFETY: the set is initialized, and has the given size.
        assert_eq!(unsafe { libc::sched_setaffinity(thread, size_of_val(&set), &raw const set) }, 0);
    }
}

#[test]
#[ignore = "run by another"]
fn follows_affinity() {
    let all = core_affinity::get_core_ids().unwrap();
    let pools = [
        ThreadPool::builder().build().unwrap(),
        ThreadPool::builder().workers(4).follow_processors(true).build().unwrap(),
    ];
    let pools = [&pools[0], &pools[1], ThreadPool::global()];
    let most = [usable(), usable().min(4), usable()];
    let fixed = ThreadPool::new(4).unwrap();
    assert_eq!(pools.map(ThreadPool::active_workers), most);
    for _ in 0..2 {
        bind_all_threads(&all[..1]);
        until_active(pools, [1; 3]);
        bind_all_threads(&all);
        until_active(pools, most);
    }
    assert_eq!(fixed.active_workers(), 4);
    // Workers that the program itself binds, each to a processor of its own, have several together.
    pools[0].broadcast(|w| assert!(core_affinity::set_for_current(all[w.index() % all.len()])));
    // Long enough for a look.
    let start = std::time::Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        until_active(pools, most);
    }
}

/// Gives the pools work until they have been told these numbers.
fn until_active(pools: [&ThreadPool; 3], active: [usize; 3]) {
    common::wait_for("that pools follow", || {
        for pool in pools {
            pool.spawn(|| sleep(Duration::from_millis(1)));
            pool.wait_idle();
            assert_eq!(pool.install(|| fib(10)), 55);
        }
        pools.map(ThreadPool::active_workers) == active
    });
}

#[test]
fn pools_without_an_explicit_number_of_workers_follow_the_processors_that_they_may_use() {
    assert_success(&child_under("-c 0", "follows_affinity", &[]));
}
