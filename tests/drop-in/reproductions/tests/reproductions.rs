//! The reproductions succeed on the drop-in, if workers leapfrog.
//!
//! If `STOCK_REPRODUCTIONS` is the path of the same program on the published rayon-core, those of its bugs also run
//! there and must fail; otherwise they would prove nothing.

use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// Returns how a run ends, or `None` if it hangs.
fn outcome(program: &str, which: &str, caller: &str, patience: Duration) -> Option<ExitStatus> {
    let mut child = Command::new(program)
        .arg(which)
        .envs([("FILCH_WAIT", "leapfrog"), ("FILCH_CALLER", caller)])
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    // Counts checks instead of reading the clock, which advances while a virtual machine is stopped.
    const PAUSE: Duration = Duration::from_millis(10);
    for _ in 0..patience.as_millis() / PAUSE.as_millis() {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        thread::sleep(PAUSE);
    }
    child.kill().and_then(|()| child.wait()).expect("a child can be killed");
    None
}

/// Runs several times, since steals are a matter of chance.
fn ends_well(which: &str) {
    for _ in 0..3 {
        let status = ours(which, "").expect("it ends");
        assert!(status.success(), "{which}: {status}");
    }
}

/// On the drop-in, with this value of `FILCH_CALLER`: empty for the default.
fn ours(which: &str, caller: &str) -> Option<ExitStatus> {
    outcome(env!("CARGO_BIN_EXE_reproductions"), which, caller, Duration::from_secs(120))
}

fn fails_on_stock(which: &str, is_failure: impl Fn(Option<ExitStatus>) -> bool) {
    let Ok(stock) = std::env::var("STOCK_REPRODUCTIONS") else { return };
    // On ours the same takes some seconds. On idle processors every other run may succeed.
    let fails = || is_failure(outcome(&stock, which, "", Duration::from_secs(30)));
    assert!((0..12).any(|_| fails()), "{which} does not fail on the published rayon-core");
}

/// rayon#592.
#[test]
fn a_lock_may_be_held_across_a_join() {
    ends_well("lock");
    fails_on_stock("lock", |status| status.is_none());
}

/// rayon#1064, rayon#854.
#[test]
fn stacks_stay_as_deep_as_in_a_sequential_run() {
    ends_well("stack");
    fails_on_stock("stack", |status| status.is_some_and(|status| !status.success()));
}

#[test]
fn a_callers_thread_locals_are_its_own() {
    ends_well("thread-local");
    let working = ours("thread-local", "1").expect("it ends");
    assert!(!working.success(), "callers that work do not run into what the others shall not run into");
}
