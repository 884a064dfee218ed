//! Waiting for a number of things to end, on a worker or outside of all pools.
//!
//! A worker runs other jobs meanwhile, and its place is woken at the end; any other thread sleeps on an event of its own.
//!
//! What must always hold: who ends the last thing touches the latch for the last time when it subtracts one, because the waiter may
//! then return and take the latch with it; everything needed afterwards has been copied before.
//!
//! **Edges.**
//! * E1: the subtractions (release, and acquire, so that the last one passes on what the others did) → [`Latch::is_over`]
//!   (acquire): what ended.
//! * E2: [`Event::notify`] (release) → [`Event::wait`] (acquire): the subtraction before it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use filch_memory::{Atomic, Memory, Native, Ordering, Sleep};

use crate::front::{Front, current};
use crate::job::{Body, Slot};
use crate::pool;
use crate::spawn::Spawned;
use crate::unwind::AbortOnUnwind;
use crate::worker::Common;

/// A number of things that have not ended, and somebody who waits for them.
#[derive(Debug)]
pub(crate) struct Latch {
    pending: <Native as Memory>::AtomicUsize,
    waiter: Waiter,
}

#[derive(Clone, Debug)]
enum Waiter {
    /// A worker's place.
    Worker(Arc<Common>, usize),
    Thread(Arc<Event>),
}

impl Latch {
    /// A latch that is over when `pending` things have ended, for the current thread, whose front is `front`.
    pub(crate) fn new(pending: usize, front: &Front) -> Self {
        let waiter = match front.home() {
            Some(home) => Waiter::Worker(Arc::clone(&home.common), home.index),
            None => Waiter::Thread(Event::of_this_thread()),
        };
        Self { pending: Atomic::new(pending), waiter }
    }

    /// One thing more. Precondition: it is not over, and something that has not ended says so.
    pub(crate) fn add(&self, things: usize) {
        // Relaxed: what keeps the latch from being over is known to the caller.
        self.pending.fetch_add(things, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        // E1.
        self.pending.load(Ordering::Acquire) == 0
    }

    /// The number of things that have not ended. A snapshot.
    pub(crate) fn pending(&self) -> usize {
        // Relaxed: a statistic.
        self.pending.load(Ordering::Relaxed)
    }

    /// One thing has ended.
    ///
    /// # Safety
    /// The latch is alive, and this thing has been counted and has not ended before. Afterwards the latch may be gone.
    pub(crate) unsafe fn end(this: *const Self) {
        // SAFETY: alive: this thing has not ended.
        let pending = unsafe { &(*this).pending };
        // Relaxed: the compare-and-swap decides.
        let mut count = pending.load(Ordering::Relaxed);
        while count > 1 {
            // E1. Somebody else will be the last.
            match pending.compare_exchange_weak(count, count - 1, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => count = now,
            }
        }
        // Nothing else is pending, so nobody but this thread may add or end anything.
        // SAFETY: as above.
        let waiter = unsafe { (*this).waiter.clone() };
        // E1.
        pending.fetch_sub(1, Ordering::AcqRel);
        match waiter {
            Waiter::Worker(common, index) => {
                // Either the waiter's last look sees the zero, or its place is seen to sleep.
                common.sleepers.sleepers_after();
                common.places[index].wake(&common.sleepers);
            }
            Waiter::Thread(event) => event.notify(),
        }
    }

    /// Whether it was made for the current thread, whose front is `front`.
    pub(crate) fn is_for(&self, front: &Front) -> bool {
        match &self.waiter {
            Waiter::Worker(common, index) => {
                front.home().is_some_and(|home| Arc::ptr_eq(common, &home.common) && *index == home.index)
            }
            // The thread may have become a worker since. While its locals are being destroyed nobody can say any more.
            Waiter::Thread(event) => EVENT.try_with(|mine| Arc::ptr_eq(event, mine)).unwrap_or(true),
        }
    }

    /// Looks for about as long as it takes to fall asleep and be woken; returns whether it is over. In between it gives the processor
    /// away, which may be what it is waiting for.
    fn is_over_soon(&self) -> bool {
        const LONG: Duration = Duration::from_micros(10);
        const LOOKS: u32 = 64;
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if self.is_over() {
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

    /// Waits until it is over. A worker runs jobs of any kind meanwhile; another thread sleeps, at once if it will take long.
    ///
    /// # Safety
    /// `front` is the one that the latch was made for, `head` is exact if that is a stack front, and the current thread is still
    /// the same.
    pub(crate) unsafe fn wait(&self, front: &Front, head: *mut Slot, will_take_long: bool) {
        let waiting = AbortOnUnwind("a thread panicked while others used what it waits for");
        match (&self.waiter, front.operations) {
            // SAFETY: the caller's promise: the current front and head of a worker.
            (Waiter::Worker(..), Some(operations)) => unsafe {
                (operations.wait_until)(front, head, &|| self.is_over());
            },
            (Waiter::Worker(..), None) => unreachable!("a worker's front has operations"),
            (Waiter::Thread(event), _) => {
                if will_take_long || !self.is_over_soon() {
                    while !self.is_over() {
                        event.wait();
                    }
                }
            }
        }
        std::mem::forget(waiting);
    }
}

/// What one thread sleeps on that is no worker. A notification that comes too late wakes it in vain the next time.
#[derive(Debug)]
struct Event(<Native as Memory>::AtomicU32);

thread_local! {
    static EVENT: Arc<Event> = Arc::new(Event::new());
}

impl Event {
    const NOTHING: u32 = 0;
    const NOTIFIED: u32 = 1;
    const SLEEPING: u32 = 2;

    fn new() -> Self {
        Self(Atomic::new(Self::NOTHING))
    }

    fn of_this_thread() -> Arc<Self> {
        // While the thread's locals are being destroyed there is a fresh one for each wait.
        EVENT.try_with(Arc::clone).unwrap_or_else(|_| Arc::new(Self::new()))
    }

    fn notify(&self) {
        // E2.
        if self.0.swap(Self::NOTIFIED, Ordering::Release) == Self::SLEEPING {
            Native::wake_one(&self.0);
        }
    }

    /// Sleeps until notified; takes the notification.
    fn wait(&self) {
        // Relaxed: publishes nothing, and on failure the swap below acquires.
        let sleeps =
            self.0.compare_exchange(Self::NOTHING, Self::SLEEPING, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        // Relaxed: the swap below acquires.
        while sleeps && self.0.load(Ordering::Relaxed) == Self::SLEEPING {
            Native::wait(&self.0, Self::SLEEPING);
        }
        // E2.
        self.0.swap(Self::NOTHING, Ordering::Acquire);
    }
}

/// Something whose user vouches that another thread may have it.
pub(crate) struct IsSend<T>(pub(crate) T);

// SAFETY: see the uses.
unsafe impl<T> Send for IsSend<T> {}

impl Common {
    /// Runs `f` on a worker of this pool and waits for it; the current thread is none of them.
    pub(crate) fn enter<F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Front, *mut Slot) -> R + Send,
        R: Send,
    {
        let mut outcome = None;
        let place = IsSend(&raw mut outcome);
        let front = current();
        let latch = Latch::new(1, front);
        let over = IsSend((&raw const latch).cast_mut());
        // SAFETY: this function does not return before the job has ended the latch, its last act; and it does not unwind.
        let job = unsafe {
            Spawned::new(move |front: &Front, head| {
                let (place, over) = (place, over);
                let result = catch_unwind(AssertUnwindSafe(|| f(front, head)));
                *place.0 = Some(result);
                Latch::end(over.0);
            })
        };
        let has_woken = self.inject(job);
        // To come is what takes a woken worker long.
        // SAFETY: the current front, and its head.
        unsafe { latch.wait(front, front.head(), has_woken) };
        match outcome.expect("the job has run") {
            Ok(result) => result,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Joins both on a worker of this pool, and waits for it; the current thread is none of them.
    ///
    /// # Safety
    /// Both fit a slot, and what they are made of, and their results, are `Send`.
    pub(crate) unsafe fn enter_fork<A: Body, B: Body>(&self, a: A, b: B) -> (A::Out, B::Out) {
        let branches = IsSend((a, b));
        let results = self.enter(|front, head| {
            let IsSend((a, b)) = { branches };
            // SAFETY: the worker's front and head, and the caller's promise.
            IsSend(unsafe { pool::join_near(front, head, a, b) })
        });
        results.0
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_outside_waits_for_every_end() {
        for things in [1, 2, 7] {
            for _ in 0..200 {
                let mut done = vec![0; things];
                let latch = Latch::new(things, current());
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
                    unsafe { latch.wait(current(), current().head(), false) };
                    assert!(latch.is_over());
                });
                assert_eq!(done.iter().sum::<usize>(), things);
            }
        }
    }

    #[test]
    fn a_late_notification_does_not_end_the_next_wait() {
        let event = Event::of_this_thread();
        event.notify();
        let latch = Latch::new(1, current());
        let over = IsSend((&raw const latch).cast_mut());
        thread::scope(|s| {
            s.spawn(move || {
                let over = over;
                thread::sleep(std::time::Duration::from_millis(30));
                // SAFETY: counted once, and alive.
                unsafe { Latch::end(over.0) };
            });
            // SAFETY: the current thread's front.
            unsafe { latch.wait(current(), current().head(), false) };
            assert!(latch.is_over());
        });
    }
}
