//! Here: this thread's worker, at the head of its task stack. The capability to fork, to steal, to run and to wait.
//!
//! A [`Here`] is two words, passed by value: a [front](crate::front), and the owner's head, which therefore lives in a register.
//! Whoever has one need not ask which thread it is on, nor whether the head is exact: both are promised by whoever made it. So almost
//! everything that a worker does is a safe function of it. A [`Worker`](crate::Worker) is one that users hold.
//!
//! What must always hold: a `Here` is used only by the thread that is the worker; and of those that one thread has, only the newest is
//! used, at the exact head. The compiler keeps both: it is not `Send`, it cannot be copied, and a fork borrows it while its first branch has
//! another one, above.
//!
//! This file and [`front`](crate::front) need each other, for they are one thing: that is what lies in memory, this what a thread holds.

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::front::{Awaited, Enter, Front, FrontKind, Operations, Reach, current};
use crate::slot::Slot;
use crate::spawn::Spawned;

/// What is known of the pool that a worker belongs to: its type, or [`Any`]thing.
#[doc(hidden)]
pub trait Known: Sized + 'static {
    /// What the owner keeps in hand.
    type Cursor: Copy;

    fn cursor(head: *mut Slot) -> Self::Cursor;

    fn head(cursor: Self::Cursor) -> *mut Slot;
}

/// Nothing is known of the pool. There may be none.
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

/// This thread's worker at this head, in a pool of type `P`; if that is [`Any`], perhaps outside of all pools.
pub struct Here<'w, P: Known = Any> {
    front: NonNull<Front>,
    cursor: P::Cursor,
    /// Invariant in `'w`, neither `Send` nor `Sync`.
    brand: PhantomData<*mut &'w ()>,
}

impl<'w, P: Known> Here<'w, P> {
    /// # Safety
    /// As long as this one, or one made from it, is used:
    /// * the current thread is the worker of `front`, and its pool is of type `P`; with [`Any`], it may be in no pool, at the front of
    ///   the outside;
    /// * if that is a stack front, `head` is exact: no live job lies at or above it, and nothing else forks there.
    #[inline(always)]
    pub(crate) unsafe fn new(front: &'w Front, head: *mut Slot) -> Self {
        Self { front: NonNull::from(front), cursor: P::cursor(head), brand: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> &'w Front {
        // SAFETY: made by `new` of a reference for `'w`.
        unsafe { self.front.as_ref() }
    }

    /// What is run from here may use the slots from this one up.
    #[inline(always)]
    pub(crate) fn head(&self) -> *mut Slot {
        P::head(self.cursor)
    }

    /// Whether the head is that of a task stack.
    pub(crate) fn is_on_stack(&self) -> bool {
        self.front().kind == FrontKind::Stack
    }

    /// The same for a while.
    #[inline(always)]
    pub(crate) fn again(&mut self) -> Here<'_, P> {
        Here { front: self.front, cursor: self.cursor, brand: PhantomData }
    }

    /// The same, forgetting the type of the pool.
    #[inline(always)]
    pub(crate) fn of_any(self) -> Here<'w> {
        Here { front: self.front, cursor: self.head(), brand: PhantomData }
    }

    /// Gives closure-style code this front and this head, until what is returned is dropped.
    #[inline]
    pub(crate) fn enter(&self) -> Enter<'_> {
        // SAFETY: this is here, and stays so as long as it is borrowed.
        unsafe { Enter::new(self.front(), self.head()) }
    }

    /// Runs a job, in closure style.
    pub(crate) fn run(self, job: Spawned) {
        let _entered = self.enter();
        // SAFETY: closure style has just been given the exact head.
        unsafe { job.run() }
    }
}

/// Here, with nothing on the worker's stack, nor in its queue but what it has kept: it is idle, or about to begin something.
pub struct IdleHere<'h, 'w, P: Known>(&'h Here<'w, P>);

impl<'h, 'w, P: Known> IdleHere<'h, 'w, P> {
    /// # Safety
    /// Nothing lies there as long as this is used.
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
    /// The current front, and its head.
    ///
    /// # Safety
    /// It is used at once, before anything else on this thread may fork or run something, and not after the thread has left the worker.
    #[inline(always)]
    pub(crate) unsafe fn current() -> Self {
        let front = current();
        // SAFETY: the current front is that of this thread's worker, or the outside; its head is exact, by the invariant of fronts; and
        // nothing forks there before this is gone, by the caller's promise.
        unsafe { Self::new(front, front.head()) }
    }

    /// The same, in a pool whose type is known.
    ///
    /// # Safety
    /// The thread is a worker of a pool of type `P`.
    #[inline(always)]
    pub(crate) unsafe fn known<P: Known>(self) -> Here<'w, P> {
        Here { front: self.front, cursor: P::cursor(self.cursor), brand: PhantomData }
    }

    fn operations(&self) -> Option<&'static Operations> {
        self.front().operations
    }

    /// Waits until something has come; whoever makes it come must notify this worker.
    ///
    /// # Panics
    /// Outside.
    pub(crate) fn wait_until(self, awaited: &Awaited<'_>) {
        let operations = self.operations().expect("only workers wait so");
        // SAFETY: the table is that of the front at which this is.
        unsafe { (operations.wait_until)(self, awaited) };
    }

    /// Runs one job within reach; whether there was one, or `None` outside.
    pub(crate) fn run_one(self, reach: Reach) -> Option<bool> {
        // SAFETY: the table is that of the front at which this is.
        self.operations().map(|operations| unsafe { (operations.run_one)(self, reach) })
    }

    /// Whether the worker has forked something that nobody has taken; not outside. A snapshot.
    pub(crate) fn has_own(self) -> bool {
        // SAFETY: the table is that of the front at which this is.
        self.operations().is_some_and(|operations| unsafe { (operations.has_own)(self) })
    }
}
