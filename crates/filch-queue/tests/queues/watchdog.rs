//! A limit on every wait.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Far more than any test needs, however busy the machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs a test, and fails if it hangs.
pub(crate) fn watched(test: impl FnOnce() + Send + 'static) {
    // Compiled once: some thousand tests come here.
    fn watch(test: Box<dyn FnOnce() + Send>) {
        let (done, wait) = channel();
        let thread = thread::spawn(move || {
            test();
            let _ = done.send(());
        });
        // A panic drops the sender; the join below passes it on.
        if wait.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            panic!("the test hangs");
        }
        thread.join().unwrap_or_else(|panic| resume_unwind(panic));
    }
    watch(Box::new(test));
}

/// A limit for one loop, so that a failing test shows where it hangs.
pub(crate) struct Patience(Instant);

impl Patience {
    pub(crate) fn new() -> Self {
        Self(Instant::now() + LIMIT / 2)
    }

    /// Lets other threads run.
    pub(crate) fn wait(&self, what: &str) {
        assert!(Instant::now() < self.0, "waited too long: {what}");
        thread::yield_now();
    }
}
