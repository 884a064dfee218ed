//! The thread behind a [`Clock`]: it ticks once per period, and rests while nobody takes its ticks.
//!
//! Invariant: nothing ticks once the ticker has been dropped.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use filch_memory::Native;

use crate::machine::{monitor::Monitor, thread::Thread};
use crate::protocol::beat::Clock;

/// The clock's thread, until dropped.
pub(crate) struct Ticker {
    clock: Arc<Clock<Native>>,
    /// Whether the thread's pause ends before its time.
    ends: Arc<Monitor<bool>>,
    thread: Option<Thread>,
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
        let ends = Arc::<Monitor<bool>>::default();
        let awaited = Arc::clone(&ends);
        let thread = Thread::start(Some(name.to_owned()), Some(STACK_SIZE), move || {
            be_punctual();
            own.run(|| {
                ticked();
                awaited.wait_while_for(period, |ends| !*ends);
            });
        })?;
        Ok(Self { clock, ends, thread: Some(thread) })
    }

    /// Returns the clock that the thread drives.
    #[cfg(feature = "pools")]
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

impl Drop for Ticker {
    fn drop(&mut self) {
        self.clock.close();
        self.ends.change(|ends| *ends = true);
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}
