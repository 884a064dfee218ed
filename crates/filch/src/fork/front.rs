//! What the fast paths see of a worker, and how a thread finds its own worker.
//!
//! A [`Front`] is a pair of limits with pointers to the rest of the worker. A worker has two fronts: the *stack* front,
//! with the limits of its task stack, for code that knows the exact head; and the *detached* front, for all other code,
//! whose limits admit nothing, so that all forks take the cold path through a word queue. Threads outside all pools see
//! a front without a worker. So the same two compares distinguish all situations; and each front has one table of cold
//! [operations](Operations).
//!
//! Invariant: code that uses the stack front has the exact head, in a handle or in [`Front::head`]; while code in
//! handle style runs, [`CURRENT`] holds the detached front, because the exact head is in a register that other code
//! cannot see. The stack front's head in memory is never above the exact one, and falls before the limits are asked
//! about a pop: see [`seize`](crate::protocol::seize).

use std::any::TypeId;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::ptr::{NonNull, null};

use crossbeam_queue::SegQueue;
use filch_memory::Native;

use crate::fork::slot::{Job, Slot};
use crate::fork::{here::Here, spawned::Spawned};
use crate::protocol::{latch::Pending, limits::Limits, seize::Head, state::Settled};
use crate::unwind::Payload;

/// The situation that a front stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontKind {
    /// The thread belongs to no pool.
    Outside,
    /// The exact head of the worker's task stack is known.
    Stack,
    /// The head is unknown, or there is none.
    Detached,
}

/// What a worker does while it waits for a stolen task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// It runs what its waiting strategy admits.
    Help,
    /// It runs nothing, because it unwinds.
    Rest,
}

/// A popped job, whose contents must be moved out at once, and its settled state.
pub(crate) type Popped = (NonNull<Job>, Settled);

/// The only tasks that, besides mail, may run during a wait; `None` if any work may.
pub(crate) type Only<'a> = Option<&'a SegQueue<Spawned>>;

/// Where a yielding worker looks for something to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Its mail.
    Mail,
    /// Its own spawned jobs and forks, and its mail; everywhere if it is the [turn](crate::worker::turns) of other
    /// work.
    Own,
    /// Everywhere.
    All,
}

/// A cold operation on a front of one kind of pool, right whenever the worker is [here](Here::cold), at that front.
pub(crate) struct Cold<T, R>(pub(crate) unsafe fn(Here<'_>, T) -> R);

/// A guest's call, which runs in the seat that the guest has taken.
pub(crate) type Call<'a> = dyn FnMut(Here<'_>) + 'a;

/// The cold operations of a front, for code that does not know the pool's type. The caller must be at this front:
/// [`Here`] calls the operations, and [`cold_ops`](crate::wait::cold_ops) makes the tables.
pub(crate) struct Operations {
    /// The type of the pool.
    pub(crate) pool: fn() -> TypeId,
    /// Forks the task in the front's scratch slot: see [`push_any`](crate::fork::cold_call::push_any).
    pub(crate) push: PushFn,
    /// Takes back the newest task, which is at this head, or waits for its thief.
    pub(crate) pop: unsafe fn(Here<'_>, Meanwhile) -> Popped,
    /// Runs permitted work, or sleeps, until the latch is over; the thread that ends the latch wakes the worker. The
    /// number is the low half of the worker's [spawns](crate::fork::own::Own::spawns) when the latch was made. This
    /// front is the current one, at its head for closure style.
    pub(crate) wait_until: for<'a> unsafe fn(Here<'_>, &'a Pending<Native>, u32, Only<'a>),
    /// Runs a guest's call in the seat that the guest has taken from an idle worker, and leaves the seat.
    pub(crate) visit: for<'a, 'b> unsafe fn(Here<'_>, &'a mut Call<'b>),
    /// Runs one job within reach, if there is one; returns whether there was.
    pub(crate) run_one: Cold<Reach, bool>,
    /// Whether the worker has forks of its own that nobody has taken. A snapshot.
    pub(crate) has_own: Cold<(), bool>,
    /// Whether somebody would take a task that the limits do not admit.
    pub(crate) wants_work: Cold<(), bool>,
    /// Answers thieves.
    pub(crate) poll: Cold<(), ()>,
    /// Shares all forks, before the worker answers nobody for a while.
    pub(crate) pause: Cold<(), ()>,
    /// Answers thieves in a signal handler, wherever the signal interrupted the worker, if the pool can; returns
    /// whether it did.
    #[cfg_attr(not(unix), expect(dead_code, reason = "the system has no signals"))]
    pub(crate) interrupt: Cold<(), bool>,
}

pub(crate) type PushFn = unsafe extern "C" fn(&Front, *mut Slot);
/// The type of [`resume`], which to the compiler may return.
pub(crate) type UnwindFn = unsafe fn(&Front, *mut Slot, AbandonFn, Payload);
/// Ends a fork whose first branch unwinds.
pub(crate) type AbandonFn = unsafe extern "C" fn(&Front, *mut Slot);

/// Ends a fork whose first branch panicked, and resumes the panic. Called only through [`Front::unwind`], so that the
/// compiler cannot see that it never returns.
///
/// # Safety
/// As for the function `abandon`.
unsafe fn resume(front: &Front, head: *mut Slot, abandon: AbandonFn, payload: Payload) {
    // SAFETY: the caller promises what `abandon` requires of this front and head.
    unsafe { abandon(front, head) };
    resume_unwind(payload)
}

/// The limits of a worker, and pointers to the rest of it.
#[repr(C, align(128))]
pub struct Front {
    pub(crate) limits: Limits<Native>,
    /// In closure style the exact head, if this is a stack front. Handle style keeps the head in a register, and leaves
    /// this field unchanged.
    head: Head<Native, Slot>,
    pub(crate) kind: FrontKind,
    /// The worker's `Home` and `Core`; null outside. Set once, before the worker starts.
    home: Cell<*const ()>,
    core: Cell<*const ()>,
    pub(crate) operations: Option<&'static Operations>,
    /// [`resume`], hidden from the compiler.
    pub(crate) unwind: UnwindFn,
    /// A job's contents in transit between a frame and the place where the cold path keeps them. Only the worker's own
    /// thread uses the slot, and each use ends before the thread's next fork or join.
    pub(crate) scratch: Slot,
}

// SAFETY: thieves use only the limits and the head, which are atomic; the two pointers to the rest are set before there
// are thieves, only the worker's own thread uses the scratch slot, and everything else is constant.
unsafe impl Sync for Front {}
// SAFETY: a front is tied to a worker, not to a thread: its pointers point to memory that is made for sharing.
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

    /// Sets the pointers to the worker's type-erased part and to the whole worker.
    pub(crate) fn attach(&self, home: *const (), core: *const ()) {
        self.home.set(home);
        self.core.set(core);
    }

    /// Returns the worker's type-erased part, a `Home`; null outside.
    #[inline(always)]
    pub(crate) fn erased_home(&self) -> *const () {
        self.home.get()
    }

    /// Returns the whole worker, a `Core` of some type of pool; null outside.
    #[inline(always)]
    pub(crate) fn erased_core(&self) -> *const () {
        self.core.get()
    }

    /// Returns the scratch slot as a job.
    #[inline(always)]
    pub(crate) fn scratch_job(&self) -> NonNull<Job> {
        NonNull::from(&self.scratch).cast()
    }

    /// Returns the head for closure style, which is exact if this is the current front and a stack front.
    #[inline(always)]
    pub(crate) fn head(&self) -> *mut Slot {
        self.head.get()
    }

    /// Raises the head for closure style. Not called on the outside's front, which all threads share.
    #[inline(always)]
    pub(crate) fn raise_head(&self, head: *mut Slot) {
        debug_assert!(self.kind != FrontKind::Outside);
        self.head.rise(head);
    }

    /// Lowers the head, before the limits are asked about a pop there.
    #[inline(always)]
    pub(crate) fn lower_head(&self, head: *mut Slot) {
        debug_assert!(self.kind != FrontKind::Outside);
        self.head.fall(head);
    }

    /// Returns the head as other threads see it: during handle style, its value when handle style began.
    pub(crate) fn seen_head(&self) -> *mut Slot {
        self.head.seen()
    }
}

thread_local! {
    /// The front that closure-style code on this thread uses.
    static CURRENT: Cell<*const Front> = const { Cell::new(&raw const OUTSIDE) };
}

/// Returns the front for closure style.
#[inline(always)]
pub(crate) fn current() -> &'static Front {
    let front = CURRENT.with(Cell::get);
    // SAFETY: the pointer is to the static, or `Enter` set it to a front of this thread's worker: the front lives until
    // the thread has left the worker's code, and the reference stays within calls made there.
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
    /// Until this is dropped, the current thread is the worker of `front`, and if that is a stack front, `head` is
    /// exact.
    pub(crate) unsafe fn new(front: &'f Front, head: *mut Slot) -> Self {
        let former_front = CURRENT.with(|current| current.replace(front));
        let former_head = front.head();
        front.raise_head(head);
        Self { front, former_front, former_head }
    }
}

/// Puts closure-style code of this thread outside all pools until dropped.
pub(crate) struct Outside(*const Front);

impl Outside {
    pub(crate) fn enter() -> Self {
        Self(CURRENT.with(|current| current.replace(&raw const OUTSIDE)))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.0));
    }
}

impl Drop for Enter<'_> {
    fn drop(&mut self) {
        self.front.lower_head(self.former_head);
        CURRENT.with(|current| current.set(self.former_front));
    }
}
