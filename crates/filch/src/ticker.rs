//! The thread behind a [`Clock`]: it ticks once per period, and rests while nobody takes its ticks.
//!
//! Invariant: nothing ticks once the ticker has been dropped.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use filch_memory::Native;

use crate::protocol::beat::Clock;

/// The clock's thread, until dropped.
pub(crate) struct Ticker {
    clock: Arc<Clock<Native>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts a thread of this name, which calls `ticked` after each tick that somebody waited for. At least a period
    /// passes between two ticks.
    pub(crate) fn start(
        name: &str,
        clock: Arc<Clock<Native>>,
        period: Duration,
        mut ticked: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        const STACK_SIZE: usize = 64 << 10;
        let own = Arc::clone(&clock);
        let thread = thread::Builder::new().name(name.to_owned()).stack_size(STACK_SIZE).spawn(move || {
            be_punctual();
            own.run(|| {
                ticked();
                pause(&own, period);
            });
        })?;
        Ok(Self { clock, thread: Some(thread) })
    }

    /// Returns the clock that the thread drives.
    pub(crate) fn clock(&self) -> &Clock<Native> {
        &self.clock
    }
}

/// Asks the system to wake this thread when its time has come. Linux otherwise waits up to 50 µs more, to wake several
/// threads at once.
fn be_punctual() {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the call changes a setting of this thread. If it fails, ticks are late.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

/// Waits for a period, unless the clock closes.
fn pause(clock: &Clock<Native>, period: Duration) {
    let start = Instant::now();
    while !clock.is_closing()
        && let Some(left) = period.checked_sub(start.elapsed())
    {
        thread::park_timeout(left);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.clock.close();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let outcome = thread.join();
            debug_assert!(outcome.is_ok(), "the thread does not panic");
        }
    }
}
