//! What the fast paths see of a worker, and how a thread finds its own.
//!
//! A [`Front`] is a pair of limits with a way to the rest. A worker has two: the *stack* front, whose limits are those of
//! its task stack, for code that knows the exact head; and the *detached* front, whose limits admit nothing, for code
//! that does not, so that all its forks take the cold path and go through a word queue. Threads outside all pools see
//! one that leads nowhere. So every situation is told apart by the same two compares; and what is cold is in the one table of
//! [operations](Operations) that each front has.
//!
//! What must always hold: a thread that runs code with the stack front has the exact head beside it, in a handle or in
//! [`Front::head`]; while code in handle style runs, [`CURRENT`] holds the detached front, because the exact head is in a
//! register that nobody else can see. The stack front's head in memory is never above the exact one, and falls before the limits are
//! asked: [`seize`](crate::protocol::seize).
//!
//! This file and [`here`](crate::here) need each other, for they are one thing: this is what lies in memory, that what a thread holds.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::ptr::{NonNull, null};

use crossbeam_queue::SegQueue;
use filch_memory::Native;

use crate::here::Here;
use crate::protocol::limits::Limits;
use crate::protocol::seize::Head;
use crate::protocol::state::Settled;
use crate::slot::{Job, Slot};
use crate::spawn::Spawned;
use crate::unwind::Payload;

/// Which situation a front stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontKind {
    /// The thread belongs to no pool.
    Outside,
    /// The exact head of the worker's task stack is known.
    Stack,
    /// It is not, or there is none.
    Detached,
}

/// What a worker does that waits for a stolen task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// It runs what its waiting strategy admits.
    Help,
    /// Nothing: it unwinds.
    Rest,
}

/// What has become of a task, and its job, from which the contents must be moved out at once.
pub(crate) type Popped = (NonNull<Job>, Settled);

/// Something that a worker waits for, other than a stolen job.
pub(crate) struct Awaited<'a> {
    /// Whether it has come.
    pub(crate) is_over: &'a dyn Fn() -> bool,
    /// What the worker had [spawned](crate::home::Home::spawns) before it began.
    pub(crate) spawns: usize,
    /// What alone is to be run meanwhile, unless anything may be.
    pub(crate) tasks: Option<&'a SegQueue<Spawned>>,
}

/// Where a worker that yields looks for something to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// What it has spawned or forked itself, and what is for it alone.
    Own,
    /// Everywhere.
    All,
}

/// A cold operation on a front of one kind of pool. To call it, one must be at that front: see [`Operations`].
pub(crate) type Cold<R> = unsafe fn(Here<'_>) -> R;

/// As [`Cold`], of something more.
pub(crate) type ColdWith<T, R> = unsafe fn(Here<'_>, T) -> R;

/// What a guest does in the seat that it has taken.
pub(crate) type Call<'a> = dyn FnMut(Here<'_>) + 'a;

/// The cold operations of a front, for code that does not know the pool's type. Each is for whoever is at this very front;
/// [`Here`] calls them. [`table`](crate::table) makes them.
#[derive(Debug)]
pub(crate) struct Operations {
    /// Forks the task in the front's scratch slot.
    pub(crate) push: Cold<()>,
    /// Takes the newest task, for which this is the head, back, or waits for its thief.
    pub(crate) pop: ColdWith<Meanwhile, Popped>,
    /// Runs what may be run meanwhile, or sleeps, until what is awaited has come; whoever makes it come wakes the worker.
    pub(crate) wait_until: for<'a, 'b> unsafe fn(Here<'_>, &'a Awaited<'b>),
    /// Runs the work in the seat of an idle worker that the thread, a guest, has taken, and leaves.
    pub(crate) visit: for<'a, 'b> unsafe fn(Here<'_>, &'a mut Call<'b>),
    /// Runs one job, if there is one within reach; whether there was.
    pub(crate) run_one: ColdWith<Reach, bool>,
    /// Whether the worker itself has forked something that nobody has taken. A snapshot.
    pub(crate) has_own: Cold<bool>,
    /// Whether somebody would take a task that the limits do not admit.
    pub(crate) wants_work: Cold<bool>,
    /// Answers thieves.
    pub(crate) poll: Cold<()>,
    /// The same on a signal that has interrupted the worker anywhere, if the pool can; whether it could.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no signals"))]
    pub(crate) interrupt: Cold<bool>,
}

/// What [`resume`] is to the compiler: a function that may return.
pub(crate) type UnwindFn = unsafe fn(&Front, *mut Slot, AbandonFn, Payload);
/// Ends a fork whose first branch unwinds.
pub(crate) type AbandonFn = unsafe extern "C" fn(&Front, *mut Slot);

/// Ends a fork whose first branch panicked, and continues the panic. Called through [`Front::unwind`] only, where the compiler
/// cannot see that it never returns.
///
/// # Safety
/// As for the function `abandon`.
unsafe fn resume(front: &Front, head: *mut Slot, abandon: AbandonFn, payload: Payload) {
    // SAFETY: the caller promises what `abandon` demands of this front and head.
    unsafe { abandon(front, head) };
    resume_unwind(payload)
}

/// The limits of a worker, and the way to the rest of it.
#[repr(C, align(128))]
pub struct Front {
    pub(crate) limits: Limits<Native>,
    /// Closure style: the exact head, if this is a stack front. Handle style has it in a register, and leaves this where it was.
    head: Head<Native, Slot>,
    pub(crate) kind: FrontKind,
    /// The worker's `Home`, and its `Core`; null outside. Set once, before the worker starts.
    home: Cell<*const ()>,
    core: Cell<*const ()>,
    pub(crate) operations: Option<&'static Operations>,
    /// [`resume`], which the compiler cannot know.
    pub(crate) unwind: UnwindFn,
    /// Where a job's contents lie for a moment on their way between a frame and wherever the cold path keeps them. Only
    /// for the worker's own thread, and only until its next step.
    pub(crate) scratch: Slot,
}

// SAFETY: thieves use the limits and the head only, which are atomic; the two ways to the rest are set before there are thieves, the
// scratch slot is touched by the worker's own thread alone, and everything else is constant.
unsafe impl Sync for Front {}
// SAFETY: a front is tied to a worker, not to a thread: the pointers lead to memory that is made for sharing.
unsafe impl Send for Front {}

static OUTSIDE: Front = Front {
    limits: Limits::CLOSED,
    head: Head::NONE,
    kind: FrontKind::Outside,
    home: Cell::new(null()),
    core: Cell::new(null()),
    operations: None,
    unwind: resume,
    scratch: Slot::empty(),
};

impl Front {
    pub(crate) fn new(kind: FrontKind, operations: &'static Operations) -> Self {
        Self {
            limits: Limits::closed(),
            head: Head::NONE,
            kind,
            home: Cell::new(null()),
            core: Cell::new(null()),
            operations: Some(operations),
            unwind: resume,
            scratch: Slot::empty(),
        }
    }

    /// Tells the front where the worker's type-erased part is, and the whole of it.
    pub(crate) fn attach(&self, home: *const (), core: *const ()) {
        self.home.set(home);
        self.core.set(core);
    }

    /// The worker's type-erased part, a `Home`; null outside.
    #[inline(always)]
    pub(crate) fn erased_home(&self) -> *const () {
        self.home.get()
    }

    /// The whole worker, a `Core` of some type of pool; null outside.
    #[inline(always)]
    pub(crate) fn erased_core(&self) -> *const () {
        self.core.get()
    }

    /// The scratch slot as a job.
    #[inline(always)]
    pub(crate) fn scratch_job(&self) -> NonNull<Job> {
        NonNull::from(&self.scratch).cast()
    }

    /// The head for closure style; exact if this is a stack front and the current one.
    #[inline(always)]
    pub(crate) fn head(&self) -> *mut Slot {
        self.head.get()
    }

    /// Moves the head for closure style up. Not for the outside, which all threads share.
    #[inline(always)]
    pub(crate) fn raise_head(&self, head: *mut Slot) {
        debug_assert!(self.kind != FrontKind::Outside);
        self.head.rise(head);
    }

    /// Moves it down, before the limits are asked about what lies there.
    #[inline(always)]
    pub(crate) fn lower_head(&self, head: *mut Slot) {
        debug_assert!(self.kind != FrontKind::Outside);
        self.head.fall(head);
    }

    /// For others: the head, or what it was when code in handle style began.
    pub(crate) fn seen_head(&self) -> *mut Slot {
        self.head.seen()
    }
}

thread_local! {
    /// What closure-style code on this thread may know of its worker.
    static CURRENT: Cell<*const Front> = const { Cell::new(&raw const OUTSIDE) };
}

/// The front for closure style.
#[inline(always)]
pub(crate) fn current() -> &'static Front {
    let front = CURRENT.with(Cell::get);
    // SAFETY: the static, or set by `Enter` to a front of the worker that this thread is: it lives until the thread has left
    // the worker's code, and the reference stays within calls made there.
    unsafe { &*front }
}

/// Gives closure-style code a front and a head until dropped.
pub(crate) struct Enter<'f> {
    front: &'f Front,
    former_front: *const Front,
    former_head: *mut Slot,
}

impl<'f> Enter<'f> {
    /// # Safety
    /// Until it is dropped the current thread is the worker of `front`, and if that is a stack front, `head` is exact.
    pub(crate) unsafe fn new(front: &'f Front, head: *mut Slot) -> Self {
        let former_front = CURRENT.with(|current| current.replace(front));
        let former_head = front.head();
        front.raise_head(head);
        Self { front, former_front, former_head }
    }
}

impl Drop for Enter<'_> {
    fn drop(&mut self) {
        self.front.lower_head(self.former_head);
        CURRENT.with(|current| current.set(self.former_front));
    }
}
