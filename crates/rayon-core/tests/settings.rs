//! The choices of the environment, each in a process of its own, and cases that the published tests omit.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::env;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rayon_core::{ThreadPoolBuilder, join};

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Runs [`child`] with only these of our variables.
fn child_with(variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    for name in ["POOL", "WAIT", "CALLER", "STATS", "TIMELINE"].map(|name| format!("FILCH_{name}")) {
        command.env_remove(name);
    }
    command.env_remove("RAYON_NUM_THREADS").env_remove("RAYON_RS_NUM_CPUS");
    command.envs(variables.iter().copied()).output().unwrap()
}

/// Returns what the child prints: its number of threads, or the error.
fn said(variables: &[(&str, &str)]) -> (String, String) {
    let output = child_with(variables);
    assert!(output.status.success(), "{variables:?}: {output:?}");
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    // The test harness begins the line.
    let said = out.lines().find_map(|line| line.split_once("child says: ")).unwrap_or_else(|| panic!("{out}{err}"));
    (said.1.to_owned(), err)
}

/// Not a test by itself.
#[test]
#[ignore = "run by the others"]
fn child() {
    match ThreadPoolBuilder::new().build() {
        Ok(pool) => {
            assert_eq!(pool.install(|| fib(16)), 987);
            assert_eq!(fib(16), 987, "on the global pool");
            let mut squares = [0; 50];
            pool.scope(|s| squares.iter_mut().enumerate().for_each(|(n, square)| s.spawn(move |_| *square = n * n)));
            assert_eq!(squares[49], 2401);
            println!("child says: {}", pool.current_num_threads());
        }
        Err(error) => println!("child says: {error}"),
    }
}

#[test]
fn every_pool_and_strategy_computes() {
    for pool in ["", "split", "wool", "chase-lev", "lace", "the", "pdq-r-async", "heartbeat-request"] {
        for threads in ["1", "3"] {
            assert_eq!(said(&[("FILCH_POOL", pool), ("RAYON_NUM_THREADS", threads)]).0, threads);
        }
    }
    for wait in ["leapfrog", "transitive", "leapfrog-random", "random"] {
        assert_eq!(said(&[("FILCH_WAIT", wait), ("RAYON_NUM_THREADS", "3")]).0, "3");
    }
}

#[test]
fn unknown_values_are_errors_that_list_the_known_ones() {
    let (error, _) = said(&[("FILCH_POOL", "swimming")]);
    assert!(error.contains("FILCH_POOL=swimming") && error.contains("chase-lev"), "{error}");
    let (error, _) = said(&[("FILCH_WAIT", "patiently")]);
    assert!(error.contains("FILCH_WAIT=patiently") && error.contains("leapfrog-random"), "{error}");
    let (error, _) = said(&[("FILCH_WAIT", "transitive"), ("FILCH_POOL", "the")]);
    assert!(error.contains("transitive"), "{error}");
    let (error, _) = said(&[("FILCH_STATS", "yes")]);
    assert!(error.contains("FILCH_STATS=yes") && error.contains("0 or 1"), "{error}");
}

#[test]
fn the_number_of_threads_is_chosen_as_in_rayon() {
    let processors = std::thread::available_parallelism().unwrap().to_string();
    assert_eq!(said(&[]).0, processors);
    assert_eq!(said(&[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "5")]).0, processors);
    assert_eq!(said(&[("RAYON_NUM_THREADS", "many"), ("RAYON_RS_NUM_CPUS", "5")]).0, "5");
    assert_eq!(said(&[("RAYON_RS_NUM_CPUS", "0")]).0, processors);
    assert_eq!(said(&[("RAYON_NUM_THREADS", "4"), ("RAYON_RS_NUM_CPUS", "5")]).0, "4");
}

#[test]
fn counters_are_printed_on_request() {
    let (_, quiet) = said(&[]);
    assert!(!quiet.contains("filch:"), "{quiet}");
    let (_, told) = said(&[("FILCH_STATS", "1"), ("RAYON_NUM_THREADS", "2")]);
    let lines: Vec<_> = told.lines().filter(|line| line.starts_with("filch: pool of 2: steals ")).collect();
    assert_eq!(lines.len(), 2, "the child's pool and the global one: {told}");
}

#[test]
fn the_global_pool_is_recorded_on_request() {
    let pattern = format!("{}/timeline-%p.json", env!("CARGO_TARGET_TMPDIR"));
    let files = || {
        let files = std::fs::read_dir(env!("CARGO_TARGET_TMPDIR")).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("timeline-")).collect::<Vec<_>>()
    };
    files().iter().for_each(|old| std::fs::remove_file(old).unwrap());
    said(&[("FILCH_TIMELINE", &pattern), ("RAYON_NUM_THREADS", "3")]);
    let [file] = &files()[..] else { panic!("{:?}", files()) };
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("\"worker 2\"") && !text.contains("\"worker 3\""), "{text}");
    assert!(text.contains("\"call\"") || text.contains("\"job\""), "the call is not in it: {text}");
    assert!(text.ends_with("]}\n"), "{text}");
    let output = child_with(&[("FILCH_TIMELINE", "no/such/folder/x.json")]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && told.contains("FILCH_TIMELINE=no/such/folder/x.json"), "{told}");
}

#[test]
#[allow(deprecated, reason = "it is part of the interface")]
fn breadth_first_spawns_oldest_first() {
    let pool = ThreadPoolBuilder::new().num_threads(1).breadth_first().build().unwrap();
    let order = Mutex::new(Vec::new());
    pool.scope(|s| {
        for n in 0..5 {
            let order = &order;
            s.spawn(move |_| order.lock().unwrap().push(n));
        }
    });
    assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn tasks_spawned_by_an_exit_handler_are_dropped() {
    let witness = Arc::new(());
    let (left, leaving) = channel();
    let handler = {
        let (witness, left) = (Arc::clone(&witness), Mutex::new(left));
        move |_| {
            let witness = Arc::clone(&witness);
            rayon_core::spawn(move || unreachable!("{witness:?}"));
            left.lock().unwrap().send(fib(5)).unwrap();
        }
    };
    drop(ThreadPoolBuilder::new().num_threads(2).exit_handler(handler).build().unwrap());
    assert_eq!(leaving.iter().collect::<Vec<_>>(), [5, 5]);
    // The channel ends when the handler's sender is dropped; the handler's other captures are dropped right afterwards.
    let start = Instant::now();
    while Arc::strong_count(&witness) > 1 {
        assert!(start.elapsed() < Duration::from_secs(60), "a spawned task still exists");
        std::thread::yield_now();
    }
}

/// A thread made a worker stays one, so each of these tests has its own thread.
fn on_a_thread(test: impl FnOnce() + Send + 'static) {
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn a_scope_waits_for_its_tasks_though_its_thread_has_become_a_worker() {
    on_a_thread(|| {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (go, gone) = channel();
        let data = vec![7_u8; 1 << 10];
        let mut sum = 0;
        let (data, total) = (&data, &mut sum);
        pool.in_place_scope(|s| {
            s.spawn(move |_| {
                gone.recv().unwrap();
                std::thread::sleep(Duration::from_millis(50));
                *total = data.iter().map(|&x| usize::from(x)).sum();
            });
            filch::inside::host::keep(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap());
            go.send(()).unwrap();
        });
        assert_eq!(sum, 7 << 10);
    });
}

#[test]
fn a_thread_that_stays_a_worker_runs_its_spawned_tasks() {
    on_a_thread(|| {
        drop(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap());
        let (done, ran) = channel();
        let again = done.clone();
        rayon_core::spawn(move || done.send(()).unwrap());
        assert_eq!(rayon_core::yield_now(), Some(rayon_core::Yield::Executed));
        ran.try_recv().unwrap();
        rayon_core::spawn_fifo(move || again.send(()).unwrap());
        assert_eq!(rayon_core::yield_now(), Some(rayon_core::Yield::Executed));
        ran.try_recv().unwrap();
    });
}

#[test]
fn a_stolen_branch_may_block_on_a_task_it_spawned() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..50 {
        let taken = AtomicUsize::new(0);
        let until_taken = || {
            while taken.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
        };
        let spawns = || {
            taken.store(1, SeqCst);
            let (sender, receiver) = channel();
            rayon_core::spawn(move || sender.send(1).unwrap());
            receiver.recv_timeout(Duration::from_secs(60)).unwrap()
        };
        assert_eq!(pool.install(|| rayon_core::join(until_taken, spawns)).1, 1);
    }
}

#[test]
fn a_thread_of_another_filch_pool_is_outside() {
    let mine = filch::ThreadPool::new(2).unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let count = AtomicUsize::new(0);
    mine.install(|| {
        assert_eq!(rayon_core::current_thread_index(), None);
        assert_eq!(pool.install(rayon_core::current_num_threads), 3);
        assert_eq!(fib(10), 55);
        let bump = || {
            count.fetch_add(1, SeqCst);
        };
        rayon_core::scope(|s| s.spawn(|_| bump()));
        pool.scope(|s| s.spawn_broadcast(|_, _| bump()));
    });
    assert_eq!(count.into_inner(), 4);
}

/// By default eight threads take a gibibyte, in pools with a given number of threads and in the global pool.
#[cfg(target_os = "linux")]
#[test]
fn little_address_space_gives_smaller_stacks_or_fewer_threads() {
    for mebibytes in [1000, 500, 200] {
        let mut command = Command::new("/bin/sh");
        let limited = format!("ulimit -v {} && exec \"$0\" \"$@\"", mebibytes << 10);
        command.arg("-c").arg(limited).arg(env::current_exe().unwrap());
        command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"]);
        // Otherwise the allocator takes what the stacks leave, 64 MiB per thread.
        let output = command.env("RAYON_NUM_THREADS", "8").env("MALLOC_ARENA_MAX", "1").output().unwrap();
        let said = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
        assert!(output.status.success() && said.contains("child says: 8"), "{mebibytes}: {said}");
    }
}
