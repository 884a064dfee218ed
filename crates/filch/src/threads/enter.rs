//! Entry to a pool from outside: as a guest in the seat of a sleeping worker, or by an injected job that the caller
//! waits for.
//!
//! Invariant: no call from outside returns before its job is settled; and nothing unwinds out of a seat while a guest
//! has it.

use std::any::type_name;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use crate::fork::here::{Any, Here};
use crate::fork::spawned::{MayDangle, Spawned};
use crate::fork::{fast_path, job::Body};
use crate::machine::thread_stack;
use crate::shared::{common::Common, guest::GuestSeat};
use crate::unwind::AbortOnUnwind;
use crate::worker::home::current_home;
use crate::worker::latch::{self, Latch, Waiter};
use crate::worker::strands;

/// The stack space that a guest must have left: nearly all that Rust gives a thread.
const ROOM: usize = 7 << 18;

/// A value that its user promises may move to another thread.
pub(crate) struct IsSend<T>(pub(crate) T);

// SAFETY: each use argues it.
unsafe impl<T> Send for IsSend<T> {}

impl Common {
    /// Runs `f` on a worker of this pool and waits for it. The current thread is not one of the workers, but may be a
    /// [guest](crate::shared::guest) meanwhile.
    ///
    /// # Safety
    /// The workers are alive.
    ///
    /// # Panics
    /// As [`Common::assert_here`], and if `f` panics.
    pub(crate) unsafe fn enter<F, R>(&self, f: F) -> R
    where
        F: FnOnce(Here<'_>) -> R + Send,
        R: Send,
    {
        self.assert_here();
        // A worker of another pool runs its own pool's jobs meanwhile.
        if current_home().is_none()
            && let Some(seat) = self.take_seat()
        {
            // SAFETY: the seat was just taken, and its worker is alive.
            return unsafe { seat.visit(f) };
        }
        let mut outcome = None;
        let place = IsSend(&raw mut outcome);
        let latch = Latch::new(1, Waiter::current());
        let over = IsSend((&raw const latch).cast_mut());
        let f = MayDangle::new(f);
        // SAFETY: this function does not return before the job's last act, which ends the latch; and it does not
        // unwind.
        let job = unsafe {
            Spawned::new(move || {
                let (place, over) = (place, over);
                let result = catch_unwind(AssertUnwindSafe(|| Here::with(f.into_inner())));
                *place.0 = Some(result);
                strands::call_ends();
                current_home().expect("a job runs on a worker").count_ended();
                Latch::end(over.0);
            })
        };
        strands::call(ptr::from_ref(self).addr(), job.address(), type_name::<F>);
        self.count_begun_outside();
        let borrowed = AbortOnUnwind("a call panicked that had been given to a pool");
        let has_woken = self.inject_counted(job);
        // A woken worker takes long to start.
        latch::wait(&latch, None, has_woken);
        mem::forget(borrowed);
        strands::call_returns(ptr::from_ref(self).addr());
        match outcome.expect("the job has run") {
            Ok(result) => result,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Joins both branches on a worker of this pool, and waits for it. The current thread is not one of the workers.
    ///
    /// # Safety
    /// As for [`Common::enter`]; both branches fit a slot, and their parts and results are `Send`.
    pub(crate) unsafe fn enter_fork<A, B>(&self, a: A, b: B) -> (A::Out, B::Out)
    where
        A: Body<In = Any>,
        B: Body<In = Any>,
    {
        let branches = IsSend((a, b));
        let join = |here: Here<'_>| {
            let IsSend((a, b)) = { branches };
            IsSend(fast_path::join_near(here, a, b))
        };
        // SAFETY: by the caller's promise the workers are alive, and the branches and results may move between threads.
        unsafe { self.enter(join) }.0
    }

    /// Takes the seat of a sleeping worker, if the pool admits guests and the current thread, not a worker, can be one.
    fn take_seat(&self) -> Option<GuestSeat> {
        let guests = self.guests.as_ref()?;
        // Jobs injected earlier come first: this call may have to wait for them.
        if !self.injected.is_empty() {
            return None;
        }
        // Without sleepers, a look at the stack is not worthwhile.
        if !self.dormitory.sleepers().any() || !thread_stack::has_room(ROOM) {
            return None;
        }
        // Spare workers are for others.
        let index = self.dormitory.take_seat(self.admitted())?;
        Some(guests.came_to(index))
    }
}

impl GuestSeat {
    /// Runs `f` in the seat.
    ///
    /// # Safety
    /// The current thread has just [taken](Common::take_seat) the seat, and the workers are alive.
    ///
    /// # Panics
    /// If `f` panics.
    unsafe fn visit<F, R>(self, f: F) -> R
    where
        F: FnOnce(Here<'_>) -> R,
    {
        let (mut f, mut outcome) = (Some(f), None);
        let mut work = |here: Here<'_>| {
            let f = f.take().expect("a visit runs once");
            outcome = Some(catch_unwind(AssertUnwindSafe(|| f(here))));
        };
        // SAFETY: the worker is alive, and this thread has its seat, so it is that worker until it leaves, with an
        // empty stack; and the table is that of this front.
        unsafe {
            let front = self.front().as_ref();
            let operations = front.operations.expect("a seat is at a worker's front");
            (operations.visit)(Here::new(front, self.bottom()), &mut work);
        }
        match outcome.expect("a visit has run") {
            Ok(result) => result,
            Err(payload) => resume_unwind(payload),
        }
    }
}
