//! The thread behind a [`Clock`]: it ticks once per period, and rests while nobody takes its ticks.
//!
//! Invariant: nothing ticks once the ticker has been dropped.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use filch_memory::Native;

use crate::protocol::beat::Clock;
use crate::thread::Thread;

/// The clock's thread, until dropped.
pub(crate) struct Ticker {
    clock: Arc<Clock<Native>>,
    end: Arc<End>,
    thread: Option<Thread>,
}

/// Whether the thread's pause ends before its time.
#[derive(Default)]
struct End {
    has_come: Mutex<bool>,
    comes: Condvar,
}

impl End {
    /// Waits for the end, or for a period.
    fn pause(&self, period: Duration) {
        let has_come = self.has_come.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.comes.wait_timeout_while(has_come, period, |has_come| !*has_come));
    }

    fn come(&self) {
        *self.has_come.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.comes.notify_one();
    }
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
        let end = Arc::new(End::default());
        let awaited = Arc::clone(&end);
        let thread = Thread::start(Some(name.to_owned()), Some(STACK_SIZE), move || {
            be_punctual();
            own.run(|| {
                ticked();
                awaited.pause(period);
            });
        })?;
        Ok(Self { clock, end, thread: Some(thread) })
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

impl Drop for Ticker {
    fn drop(&mut self) {
        self.clock.close();
        self.end.come();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}
