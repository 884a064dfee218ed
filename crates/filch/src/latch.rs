//! Waiting for several things to end, on a worker or outside all pools.
//!
//! A worker runs other jobs meanwhile, and its place is woken at the end; any other thread sleeps on its own event.
//! [`protocol::latch`] explains why it does not miss the end.
//!
//! Invariant: a wait returns only once everything has ended, and nothing unwinds out of it before.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_queue::SegQueue;
use filch_memory::Native;

use crate::front::Awaited;
use crate::here::Here;
use crate::home::current_home;
use crate::protocol::latch::{self, Event};
use crate::registry::Common;
use crate::spawn::Spawned;
use crate::unwind::AbortOnUnwind;

/// A count of things that have not ended, and the thread that waits for them.
pub(crate) type Latch = latch::Latch<Native, Waiter>;

/// The thread that waits for a latch.
#[derive(Clone, Debug)]
pub(crate) enum Waiter {
    /// A worker: its pool, its number, and [how many jobs it had spawned](crate::home::Home::spawns) before.
    Worker(Arc<Common>, usize, usize),
    Thread(Arc<Event<Native>>),
}

impl latch::Waiter for Waiter {
    fn wake(&self) {
        match self {
            Self::Worker(common, index, _) => common.dormitory.notify(*index),
            Self::Thread(event) => event.notify(),
        }
    }
}

thread_local! {
    static EVENT: Arc<Event<Native>> = Arc::default();
}

impl Waiter {
    /// Returns the current thread.
    pub(crate) fn here() -> Self {
        match current_home() {
            Some(home) => Self::Worker(Arc::clone(&home.common), home.index, home.spawns()),
            // During the destruction of the thread's locals, each wait uses a fresh event.
            None => Self::Thread(EVENT.try_with(Arc::clone).unwrap_or_default()),
        }
    }

    /// Whether this is the current thread.
    pub(crate) fn is_here(&self) -> bool {
        match self {
            Self::Worker(common, index, _) => {
                current_home().is_some_and(|home| Arc::ptr_eq(common, &home.common) && *index == home.index)
            }
            // The thread may have become a worker since. During the destruction of its locals this is unknown.
            Self::Thread(event) => EVENT.try_with(|mine| Arc::ptr_eq(event, mine)).unwrap_or(true),
        }
    }
}

/// Looks for about as long as it takes to fall asleep and be woken; returns whether the latch is over. In between it
/// yields the processor, which the awaited things may need.
fn is_over_soon(latch: &Latch) -> bool {
    const LONG: Duration = Duration::from_micros(10);
    const LOOKS: u32 = 64;
    let start = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if latch.is_over() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > LONG {
            return false;
        }
        thread::yield_now();
    }
}

/// Waits until the latch is over, on the thread for which it was made. A worker runs jobs of any kind meanwhile, or
/// only these `tasks`, of which it must then be notified; another thread sleeps, at once if `will_take_long`.
pub(crate) fn wait(latch: &Latch, tasks: Option<&SegQueue<Spawned>>, will_take_long: bool) {
    let waiting = AbortOnUnwind("a thread panicked while others used the latch it waits for");
    match latch.waiter() {
        Waiter::Worker(.., spawns) => {
            let awaited = Awaited { is_over: &|| latch.is_over(), spawns: *spawns, tasks };
            // SAFETY: it is used at once, to wait, and gone when the wait is over.
            unsafe { Here::current() }.wait_until(&awaited);
        }
        Waiter::Thread(event) => {
            if will_take_long || !is_over_soon(latch) {
                while !latch.is_over() {
                    event.wait();
                }
            }
        }
    }
    std::mem::forget(waiting);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::enter::IsSend;

    #[test]
    fn a_thread_outside_waits_for_every_end() {
        for things in [1, 2, 7] {
            for _ in 0..if cfg!(miri) { 5 } else { 200 } {
                let mut done = vec![0; things];
                let latch = Latch::new(things, Waiter::here());
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

    #[test]
    fn a_late_notification_does_not_end_the_next_wait() {
        EVENT.with(|event| event.notify());
        let latch = Latch::new(1, Waiter::here());
        let over = IsSend((&raw const latch).cast_mut());
        thread::scope(|s| {
            s.spawn(move || {
                let over = over;
                thread::sleep(std::time::Duration::from_millis(30));
                // SAFETY: the end was counted once, and the latch is alive.
                unsafe { Latch::end(over.0) };
            });
            wait(&latch, None, false);
            assert!(latch.is_over());
        });
    }
}
