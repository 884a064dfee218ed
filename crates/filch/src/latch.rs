//! Waiting for a number of things to end, on a worker or outside of all pools; and the way into a pool from outside.
//!
//! A worker runs other jobs meanwhile, and its place is woken at the end; any other thread sleeps on an event of its own. How that
//! is done without missing the end is said in [`protocol::latch`].
//!
//! What must always hold: whoever waits returns only once everything has ended, and nothing unwinds out of it before.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_queue::SegQueue;
use filch_memory::Native;

use crate::front::{Front, current};
use crate::job::{Body, Slot};
use crate::pool;
use crate::protocol::latch::{self, Event};
use crate::spawn::{MayDangle, Spawned};
use crate::unwind::AbortOnUnwind;
use crate::wait::Awaited;
use crate::worker::Common;

/// A number of things that have not ended, and somebody who waits for them.
pub(crate) type Latch = latch::Latch<Native, Waiter>;

/// Who waits for a latch.
#[derive(Clone, Debug)]
pub(crate) enum Waiter {
    /// A worker, by its number, and [what it had spawned](crate::worker::Home::spawns) before.
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
    /// The current thread, whose front is `front`.
    pub(crate) fn here(front: &Front) -> Self {
        match front.home() {
            Some(home) => Self::Worker(Arc::clone(&home.common), home.index, home.spawns()),
            // While the thread's locals are being destroyed there is a fresh one for each wait.
            None => Self::Thread(EVENT.try_with(Arc::clone).unwrap_or_default()),
        }
    }

    /// Whether it is the current thread, whose front is `front`.
    pub(crate) fn is_here(&self, front: &Front) -> bool {
        match self {
            Self::Worker(common, index, _) => {
                front.home().is_some_and(|home| Arc::ptr_eq(common, &home.common) && *index == home.index)
            }
            // The thread may have become a worker since. While its locals are being destroyed nobody can say any more.
            Self::Thread(event) => EVENT.try_with(|mine| Arc::ptr_eq(event, mine)).unwrap_or(true),
        }
    }
}

/// Looks for about as long as it takes to fall asleep and be woken; returns whether the latch is over. In between it gives the processor
/// away, which may be what it is waiting for.
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

/// Waits until the latch is over. A worker runs jobs of any kind meanwhile, or only these `tasks`, of which it is then to be told; another
/// thread sleeps, at once if it will take long.
///
/// # Safety
/// `front` is the one that the latch was made for, `head` is exact if that is a stack front, and the current thread is still
/// the same.
pub(crate) unsafe fn wait(
    latch: &Latch,
    front: &Front,
    head: *mut Slot,
    tasks: Option<&SegQueue<Spawned>>,
    will_take_long: bool,
) {
    let waiting = AbortOnUnwind("a thread panicked while others used what it waits for");
    match (latch.waiter(), front.operations) {
        // SAFETY: the caller's promise: the current front and head of a worker.
        (Waiter::Worker(.., spawns), Some(operations)) => unsafe {
            let awaited = Awaited { is_over: &|| latch.is_over(), spawns: *spawns, tasks };
            (operations.wait_until)(front, head, &awaited);
        },
        (Waiter::Worker(..), None) => unreachable!("a worker's front has operations"),
        (Waiter::Thread(event), _) => {
            if will_take_long || !is_over_soon(latch) {
                while !latch.is_over() {
                    event.wait();
                }
            }
        }
    }
    std::mem::forget(waiting);
}

/// Something whose user vouches that another thread may have it.
pub(crate) struct IsSend<T>(pub(crate) T);

// SAFETY: see the uses.
unsafe impl<T> Send for IsSend<T> {}

impl Common {
    /// Runs `f` on a worker of this pool and waits for it; the current thread is none of them, unless it can be a
    /// [guest](crate::guest) for that time.
    ///
    /// # Safety
    /// The workers are alive.
    ///
    /// # Panics
    /// As [`Common::assert_here`], and if `f` does.
    pub(crate) unsafe fn enter<F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Front, *mut Slot) -> R + Send,
        R: Send,
    {
        self.assert_here();
        let front = current();
        // A worker of another pool runs that one's jobs meanwhile.
        if front.home().is_none()
            && let Some(seat) = self.take_seat()
        {
            // SAFETY: just taken, and the caller's promise.
            return unsafe { Self::visit(seat, f) };
        }
        let mut outcome = None;
        let place = IsSend(&raw mut outcome);
        let latch = Latch::new(1, Waiter::here(front));
        let over = IsSend((&raw const latch).cast_mut());
        let f = MayDangle::new(f);
        // SAFETY: this function does not return before the job has ended the latch, its last act; and it does not unwind.
        let job = unsafe {
            Spawned::new(move |front: &Front, head| {
                let (place, over) = (place, over);
                let result = catch_unwind(AssertUnwindSafe(|| f.into_inner()(front, head)));
                *place.0 = Some(result);
                Latch::end(over.0);
            })
        };
        let has_woken = self.inject(job);
        // To come is what takes a woken worker long.
        // SAFETY: the current front, and its head.
        unsafe { wait(&latch, front, front.head(), None, has_woken) };
        match outcome.expect("the job has run") {
            Ok(result) => result,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Joins both on a worker of this pool, and waits for it; the current thread is none of them.
    ///
    /// # Safety
    /// As [`Common::enter`]; both fit a slot, and what they are made of, and their results, are `Send`.
    pub(crate) unsafe fn enter_fork<A: Body, B: Body>(&self, a: A, b: B) -> (A::Out, B::Out) {
        let branches = IsSend((a, b));
        let join = |front: &Front, head| {
            let IsSend((a, b)) = { branches };
            // SAFETY: the worker's front and head, and the caller's promise.
            IsSend(unsafe { pool::join_near(front, head, a, b) })
        };
        // SAFETY: the caller's promise.
        unsafe { self.enter(join) }.0
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_outside_waits_for_every_end() {
        for things in [1, 2, 7] {
            for _ in 0..if cfg!(miri) { 5 } else { 200 } {
                let mut done = vec![0; things];
                let latch = Latch::new(things, Waiter::here(current()));
                thread::scope(|s| {
                    for done in &mut done {
                        let over = IsSend((&raw const latch).cast_mut());
                        s.spawn(move || {
                            let over = over;
                            *done = 1;
                            // SAFETY: counted once, and the latch outlives the scope of the threads.
                            unsafe { Latch::end(over.0) };
                        });
                    }
                    // SAFETY: the current thread's front.
                    unsafe { wait(&latch, current(), current().head(), None, false) };
                    assert!(latch.is_over());
                });
                assert_eq!(done.iter().sum::<usize>(), things);
            }
        }
    }

    #[test]
    fn a_late_notification_does_not_end_the_next_wait() {
        EVENT.with(|event| event.notify());
        let latch = Latch::new(1, Waiter::here(current()));
        let over = IsSend((&raw const latch).cast_mut());
        thread::scope(|s| {
            s.spawn(move || {
                let over = over;
                thread::sleep(std::time::Duration::from_millis(30));
                // SAFETY: counted once, and alive.
                unsafe { Latch::end(over.0) };
            });
            // SAFETY: the current thread's front.
            unsafe { wait(&latch, current(), current().head(), None, false) };
            assert!(latch.is_over());
        });
    }
}
