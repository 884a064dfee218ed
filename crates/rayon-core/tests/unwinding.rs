//! No panic leaves a frame that tasks still use: neither that of a payload's destructor nor one caused by standard
//! error.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]
#![cfg(unix)]

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::sleep;
use std::time::Duration;

use rayon_core::{ThreadPoolBuilder, in_place_scope, join};

const POOLS: [&str; 4] = ["split", "wool", "chase-lev", "heartbeat-request"];

/// Panics when dropped, with a payload that does the same at one less depth.
struct Evil(u32);

impl Drop for Evil {
    fn drop(&mut self) {
        if let Some(less) = self.0.checked_sub(1) {
            panic_any(Evil(less));
        }
    }
}

/// A value owned by a frame: records when the frame has gone.
struct Owned<'a>(&'a AtomicBool);

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// A scope whose first task panics at once and whose body panics later, each with a payload whose destructor panics,
/// while another task still uses a value of the caller.
#[test]
fn a_scope_waits_for_its_tasks_though_payloads_panic() {
    for depth in 0..4 {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let (is_gone, was_gone, has_ended) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let owned = Owned(&is_gone);
            pool.in_place_scope(|s| {
                s.spawn(|_| panic_any(Evil(depth)));
                s.spawn(|_| {
                    sleep(Duration::from_millis(120));
                    was_gone.store(owned.0.load(SeqCst), SeqCst);
                    has_ended.store(true, SeqCst);
                });
                sleep(Duration::from_millis(40));
                panic_any(Evil(depth));
            });
        }));
        assert!(has_ended.load(SeqCst), "the scope returned while a task ran");
        assert!(!was_gone.load(SeqCst), "a value was gone that the task used");
        // The payload's destructor must not run in the test's own frames.
        outcome.map_err(filch::inside::host::keep).expect_err("the first panic goes on");
    }
}

/// Broadcasts have one payload per panicking thread, and resume the first.
#[test]
fn a_broadcast_drops_further_payloads_though_they_panic() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let outcome = catch_unwind(AssertUnwindSafe(|| pool.broadcast(|_| panic_any(Evil(3)))));
    outcome.map(drop).map_err(filch::inside::host::keep).expect_err("the first panic goes on");
}

/// Not a test by itself: a spawned task panics, which ends the process, while another task uses a value of this frame.
#[test]
#[ignore = "run by another"]
fn child() {
    ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let (is_gone, has_started) = (AtomicBool::new(false), AtomicBool::new(false));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let owned = Owned(&is_gone);
        join(
            || {
                while !has_started.load(SeqCst) {
                    std::hint::spin_loop();
                }
                rayon_core::spawn(|| panic!("nobody takes this"));
            },
            || {
                has_started.store(true, SeqCst);
                // Until the process ends, for half a minute.
                for _ in 0..3000 {
                    sleep(Duration::from_millis(10));
                    if owned.0.load(SeqCst) {
                        println!("child says: used after it was gone");
                    }
                }
            },
        );
    }));
    println!("child says: went on, {}", if outcome.is_err() { "unwinding" } else { "as if nothing had happened" });
    in_place_scope(|_| ());
}

/// Kills a process that hangs.
fn killed_when_late(mut command: Command) -> std::process::Output {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    for _ in 0..60_000 {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap();
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the child hangs: {:?}", child.wait_with_output());
}

#[test]
fn a_process_ends_at_once_even_without_standard_error() {
    // The child waits for its second branch without answering requests.
    for pool in POOLS.into_iter().filter(|&pool| pool != "heartbeat-request") {
        // Standard error is closed, full, or usable.
        for errors in [None, Some("/dev/full"), Some("/dev/null")] {
            if errors.is_some_and(|path| !std::path::Path::new(path).exists()) {
                continue;
            }
            let mut command = Command::new("/bin/sh");
            let own = std::env::current_exe().unwrap();
            // The shell can close standard error; the standard library cannot.
            let run = if errors.is_some() { "exec \"$0\" \"$@\"" } else { "exec \"$0\" \"$@\" 2>&-" };
            command.arg("-c").arg(run).arg(own).args(["--exact", "child", "--ignored", "--nocapture"]);
            command.env("FILCH_POOL", pool).env_remove("FILCH_WAIT");
            if let Some(path) = errors {
                command.stderr(File::create(path).unwrap());
            }
            let output = killed_when_late(command);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(!said.contains("child says"), "{pool}, {errors:?}: {said}");
            assert_eq!(output.status.signal(), Some(6), "{pool}, {errors:?}: {output:?}");
        }
    }
}
