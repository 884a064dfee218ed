//! Here: this thread's worker, at the head of its task stack. It is the capability to fork, steal, run and wait.
//!
//! A [`Here`] is a [front](crate::fork::front) and, if the pool may have a task stack, the owner's head. It is passed
//! by value, so the head stays in a register. The holder of a `Here` need check neither that the thread is the worker
//! nor that the head is exact: its maker promises both. So almost all operations of a worker are safe functions of a
//! `Here`. A [`Worker`](crate::Worker) is a `Here` for users.
//!
//! Invariant: only the worker's thread uses a `Here`; and of a thread's `Here`s only the newest is used, at the exact
//! head. The compiler enforces both: a `Here` is not `Send` and not `Copy`, and a fork borrows it while the first
//! branch has another one above.

use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use filch_memory::Native;

use crate::fork::front::{Cold, Enter, Front, FrontKind, Only, Operations, Reach, current};
use crate::fork::{slot::Slot, spawned::Spawned};
use crate::protocol::latch::Pending;

/// What the compiler knows of a worker's pool: its type, or nothing: [`Any`].
#[doc(hidden)]
pub trait Known: Sized + 'static {
    /// The head that a [`Here`] carries; `()` if the pool has no task stack.
    type Cursor: Copy;

    fn cursor(head: *mut Slot) -> Self::Cursor;

    fn head(cursor: Self::Cursor) -> *mut Slot;
}

/// An unknown pool, or none.
#[derive(Debug)]
pub enum Any {}

impl Known for Any {
    type Cursor = *mut Slot;

    #[inline(always)]
    fn cursor(head: *mut Slot) -> *mut Slot {
        head
    }

    #[inline(always)]
    fn head(cursor: *mut Slot) -> *mut Slot {
        cursor
    }
}

/// This thread's worker at this head, in a pool of type `P`; with [`Any`], in a pool of any type or outside all pools.
pub struct Here<'w, P: Known = Any> {
    front: NonNull<Front>,
    cursor: P::Cursor,
    /// Invariant in `'w`, neither `Send` nor `Sync`.
    brand: PhantomData<*mut &'w ()>,
}

impl<'w, P: Known> Here<'w, P> {
    /// # Safety
    /// While the result, or a `Here` made from it, is used:
    /// * the current thread is the worker of `front`, and its pool is of type `P`; with [`Any`], the thread may be
    ///   outside all pools, at the outside's front;
    /// * if `front` is a stack front, `head` is exact: no live job lies at or above it, and nothing else forks there.
    #[inline(always)]
    pub(crate) unsafe fn new(front: &'w Front, head: *mut Slot) -> Self {
        Self { front: NonNull::from(front), cursor: P::cursor(head), brand: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> &'w Front {
        // SAFETY: `new` made the pointer from a reference for `'w`.
        unsafe { self.front.as_ref() }
    }

    /// Returns the head. Code that runs here may use the slot at the head and those above.
    #[inline(always)]
    pub(crate) fn head(&self) -> *mut Slot {
        P::head(self.cursor)
    }

    /// Whether the head is on a task stack.
    pub(crate) fn is_on_stack(&self) -> bool {
        self.front().kind == FrontKind::Stack
    }

    /// Reborrows this `Here`.
    #[inline(always)]
    pub(crate) fn again(&mut self) -> Here<'_, P> {
        Here { front: self.front, cursor: self.cursor, brand: PhantomData }
    }

    /// Forgets the type of the pool.
    #[inline(always)]
    pub(crate) fn of_any(self) -> Here<'w> {
        Here { front: self.front, cursor: self.head(), brand: PhantomData }
    }

    /// Gives closure-style code this front and this head, until the returned value is dropped.
    #[inline]
    pub(crate) fn enter(&self) -> Enter<'_> {
        // SAFETY: this thread is the worker at this head, and stays so during the borrow.
        unsafe { Enter::new(self.front(), self.head()) }
    }

    /// Runs a job in closure style.
    pub(crate) fn run(self, job: Spawned) {
        let _entered = self.enter();
        // SAFETY: closure style has the exact head, from `enter`.
        unsafe { job.run() }
    }
}

/// A [`Here`] of an idle worker, perhaps about to run something: its stack is empty, and its queue holds only kept
/// tasks.
pub struct IdleHere<'h, 'w, P: Known>(&'h Here<'w, P>);

impl<'h, 'w, P: Known> IdleHere<'h, 'w, P> {
    /// # Safety
    /// The stack stays empty while this is used.
    pub(crate) unsafe fn new(here: &'h Here<'w, P>) -> Self {
        Self(here)
    }
}

impl<'w, P: Known> Deref for IdleHere<'_, 'w, P> {
    type Target = Here<'w, P>;

    fn deref(&self) -> &Here<'w, P> {
        self.0
    }
}

impl<'w> Here<'w> {
    /// Returns the current front and its head, for forks, which [`with`](Self::with) would make slower.
    ///
    /// # Safety
    /// The result is used before anything else on this thread may fork or run, and not after the thread has left the
    /// worker.
    #[inline(always)]
    pub(crate) unsafe fn current() -> Self {
        let front = current();
        // SAFETY: the current front is that of this thread's worker, or the outside's; its head is exact, by the
        // invariant of fronts; and by the caller's promise nothing forks there while this is used.
        unsafe { Self::new(front, front.head()) }
    }

    /// Gives `f` the current front and its head.
    #[inline(always)]
    pub(crate) fn with<R>(f: impl FnOnce(Here<'_>) -> R) -> R {
        // SAFETY: the thread stays on its worker until `f` returns. What `f` forks otherwise ends before `f` goes on,
        // and the branches of such forks cannot have this, which is not `Send`.
        f(unsafe { Self::current() })
    }

    /// Returns this if the pool is of type `P`.
    pub(crate) fn of_pool<P: Known>(self) -> Option<Here<'w, P>> {
        let is_of_pool = self.front().operations.is_some_and(|operations| (operations.pool)() == TypeId::of::<P>());
        // SAFETY: the table names the type of its front's pool.
        is_of_pool.then(|| unsafe { self.known() })
    }

    /// Asserts the type of the pool.
    ///
    /// # Safety
    /// The thread is a worker of a pool of type `P`.
    #[inline(always)]
    pub(crate) unsafe fn known<P: Known>(self) -> Here<'w, P> {
        Here { front: self.front, cursor: P::cursor(self.cursor), brand: PhantomData }
    }

    /// Executes the cold operation that `operation` picks from this front's table; `None` outside.
    pub(crate) fn cold<T, R>(self, operation: impl FnOnce(&Operations) -> &Cold<T, R>, with: T) -> Option<R> {
        // SAFETY: the operation is this front's: each caller names a field of the table.
        self.front().operations.map(|operations| unsafe { (operation(operations).0)(self, with) })
    }

    /// Waits for a latch on the current thread's worker. `before` is the low half of the worker's
    /// [spawns](crate::fork::own::Own::spawns) when the latch was made.
    ///
    /// # Panics
    /// Outside all pools.
    #[inline]
    pub(crate) fn wait_until(latch: &Pending<Native>, before: u32, only: Only<'_>) {
        Self::with(|here| {
            let operations = here.front().operations.expect("only workers wait this way");
            // SAFETY: the table is that of this front, which is the current one, at its head.
            unsafe { (operations.wait_until)(here, latch, before, only) };
        });
    }

    /// Runs one job within reach; returns whether there was one, or `None` outside.
    pub(crate) fn run_one(self, reach: Reach) -> Option<bool> {
        self.cold(|operations| &operations.run_one, reach)
    }

    /// Shares all forks, before the worker answers nobody for a while. Does nothing outside.
    pub(crate) fn pause(self) {
        self.cold(|operations| &operations.pause, ());
    }
}
