//! Waiting for several things to end, on a worker or outside all pools.
//!
//! A worker runs other jobs meanwhile, and its place is woken at the end; any other thread sleeps on its own event.
//! [`latch`] explains why neither misses the end.
//!
//! Invariant: a wait returns only once everything has ended, and nothing unwinds out of the wait before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use filch_memory::Native;

use crate::fork::{front::Only, here::Here};
use crate::protocol::latch::{self, Event};
use crate::protocol::state::MAX_WORKERS;
use crate::shared::common::Common;
use crate::unwind::AbortOnUnwind;
use crate::worker::home::current_home;
use crate::worker::patience::{is_crowded, yield_for};

/// A count of things that have not ended, and the thread that waits for them.
pub(crate) type Latch = latch::Latch<Native, Waiter>;

/// The thread that waits for a latch.
#[derive(Clone, Debug)]
pub(crate) enum Waiter {
    /// A worker: its pool, its number, and the low half of the number of [jobs that it had
    /// spawned](crate::fork::own::Own::spawns) before the wait. Half a number is enough, and saves space: each frame of
    /// a recursion through scopes has a waiter.
    Worker(Arc<Common>, u16, u32),
    Thread(Arc<Event<Native>>),
}

impl latch::Waiter for Waiter {
    fn wake(&self) {
        match self {
            Self::Worker(common, index, _) => common.dormitory.notify(usize::from(*index)),
            Self::Thread(event) => event.notify(),
        }
    }
}

thread_local! {
    static EVENT: Arc<Event<Native>> = Arc::default();
}

impl Waiter {
    /// Returns the current thread.
    pub(crate) fn current() -> Self {
        match current_home() {
            Some(home) => Self::Worker(Arc::clone(&home.common), home.index as u16, home.spawns() as u32),
            // During the destruction of the thread's locals, each wait uses a fresh event.
            None => Self::Thread(EVENT.try_with(Arc::clone).unwrap_or_default()),
        }
    }

    /// Whether this is the current thread.
    pub(crate) fn is_current(&self) -> bool {
        match self {
            Self::Worker(common, index, _) => current_home()
                .is_some_and(|home| Arc::ptr_eq(common, &home.common) && usize::from(*index) == home.index),
            // The thread may have become a worker since. During the destruction of its locals the answer is unknown.
            Self::Thread(event) => EVENT.try_with(|mine| Arc::ptr_eq(event, mine)).unwrap_or(true),
        }
    }
}

/// Returns how many jobs a worker had spawned earlier. `before` is the low half of that number, `now` is the present
/// number. The two numbers must differ by less than 2³¹.
pub(crate) fn spawns_before(before: u32, now: usize) -> usize {
    now.wrapping_sub((now as u32).wrapping_sub(before).cast_signed() as usize)
}

/// Looks for about as long as it takes to fall asleep and be woken; returns whether the latch is over. Between looks,
/// yields the processor, which the awaited things may need. If another program may keep the processor for long, gives
/// up after the first looks instead.
fn is_over_soon(latch: &Latch) -> bool {
    const LONG: Duration = Duration::from_micros(10);
    const LOOKS: u32 = 64;
    let is_crowded = is_crowded();
    let start = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if latch.is_over() {
                return true;
            }
            std::hint::spin_loop();
        }
        if is_crowded || start.elapsed() > LONG {
            return false;
        }
        yield_for();
    }
}

/// Waits until the latch is over, on the thread for which it was made. A worker meanwhile runs jobs of any kind, or
/// `only` some; a thread that adds one of these must notify the worker. Any other thread sleeps, at once if
/// `will_take_long`.
///
/// Has no frame while a worker waits: the worker's wait is its last call.
pub(crate) fn wait(latch: &Latch, only: Only<'_>, will_take_long: bool) {
    match latch.waiter() {
        Waiter::Worker(.., before) => Here::wait_until(latch.count(), *before, only),
        Waiter::Thread(event) => wait_outside(latch, event, will_take_long),
    }
}

#[inline(never)]
fn wait_outside(latch: &Latch, event: &Event<Native>, will_take_long: bool) {
    let waiting = AbortOnUnwind("a thread panicked while others used the latch it waits for");
    if will_take_long || !is_over_soon(latch) {
        while !latch.is_over() {
            event.wait();
        }
    }
    std::mem::forget(waiting);
}

/// A worker's number fits its waiter.
const _: () = assert!(MAX_WORKERS <= 1 << u16::BITS);

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::threads::enter::IsSend;
    use crate::worker::patience::CROWDED;

    #[test]
    fn a_waiter_knows_how_many_jobs_its_worker_had_spawned() {
        for before in [0, 7, (1 << 32) - 1, 1 << 32, (5 << 32) + 3] {
            for now in [before, before + 1, before + 1000, usize::saturating_sub(before, 5)] {
                assert_eq!(spawns_before(before as u32, now), before);
            }
        }
    }

    #[test]
    fn a_thread_outside_waits_for_every_end() {
        for things in [1, 2, 7] {
            for _ in 0..if cfg!(miri) { 5 } else { 200 } {
                let mut done = vec![0; things];
                let latch = Latch::new(things, Waiter::current());
                thread::scope(|s| {
                    for done in &mut done {
                        let over = IsSend((&raw const latch).cast_mut());
                        s.spawn(move || {
                            let over = over;
                            *done = 1;
                            // SAFETY: each end was counted once, and the latch outlives the scope of the threads.
                            unsafe { Latch::end(over.0) };
                        });
                    }
                    wait(&latch, None, false);
                    assert!(latch.is_over());
                });
                assert_eq!(done.iter().sum::<usize>(), things);
            }
        }
    }

    /// Waits for a thread that takes this long.
    fn waits_for_another(long: Duration) {
        let latch = Latch::new(1, Waiter::current());
        let over = IsSend((&raw const latch).cast_mut());
        thread::scope(|s| {
            s.spawn(move || {
                let over = over;
                thread::sleep(long);
                // SAFETY: the end was counted once, and the latch is alive.
                unsafe { Latch::end(over.0) };
            });
            wait(&latch, None, false);
            assert!(latch.is_over());
        });
    }

    #[test]
    fn a_wait_on_a_crowded_processor_does_not_yield_and_ends_too() {
        CROWDED.set(1);
        waits_for_another(Duration::from_millis(1));
        assert_eq!(CROWDED.get(), 0);
        waits_for_another(Duration::from_millis(1));
    }

    #[test]
    fn a_late_notification_does_not_end_the_next_wait() {
        EVENT.with(|event| event.notify());
        waits_for_another(Duration::from_millis(30));
    }
}
