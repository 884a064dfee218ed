//! How long the current thread has run, without the time in which the system ran others or the thread slept.

/// Returns that time in nanoseconds; `None` if the system does not say.
pub(crate) fn thread_time() -> Option<u64> {
    #[cfg(all(unix, not(miri)))]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes to the value that the pointer is to, and nothing else.
        let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        (status == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
    #[cfg(not(all(unix, not(miri))))]
    None
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
}
