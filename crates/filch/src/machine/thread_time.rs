//! How long the current thread has run, without the time in which the system ran others or the thread slept.

/// Returns that time in nanoseconds; `None` if the system does not say.
pub(crate) fn thread_time() -> Option<u64> {
    #[cfg(all(unix, not(miri)))]
    {
        time_by(libc::CLOCK_THREAD_CPUTIME_ID)
    }
    #[cfg(not(all(unix, not(miri))))]
    None
}

#[cfg(all(unix, not(miri)))]
fn time_by(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the value that the pointer is to, and nothing else.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (status == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The time of a thread, for others to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadClock(#[cfg(all(target_os = "linux", not(miri)))] libc::clockid_t);

impl ThreadClock {
    /// Returns the current thread's; `None` if the system has none.
    pub(crate) fn current() -> Option<Self> {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            let mut clock = 0;
            // SAFETY: the thread is alive, since it is this one; the call writes to the value that the pointer is to.
            let status = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
            (status == 0).then_some(Self(clock))
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        None
    }

    /// Returns the thread's time so far; `None` if it has ended.
    #[cfg_attr(not(all(target_os = "linux", not(miri))), expect(clippy::unused_self, reason = "there is none"))]
    pub(crate) fn time(self) -> Option<u64> {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            time_by(self.0)
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        None
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_thread_that_sleeps_does_not_run() {
        let Some(before) = thread_time() else { return };
        let start = Instant::now();
        sleep(Duration::from_millis(50));
        let ran = thread_time().expect("as before") - before;
        assert!(u128::from(ran) < start.elapsed().as_nanos() / 2, "{ran} ns");
    }

    #[test]
    fn another_thread_reads_a_threads_time() {
        let Some(clock) = ThreadClock::current() else { return };
        let before = thread_time().expect("as its clock");
        let read = std::thread::spawn(move || clock.time()).join().unwrap().expect("the thread is alive");
        assert!((before..=thread_time().unwrap()).contains(&read), "{before}, {read}");
    }
}
