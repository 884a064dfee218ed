//! What the fast paths see of a worker, and how a thread finds its own.
//!
//! A [`Front`] is a pair of limits with a way to the rest. A worker has two: the *stack* front, whose limits are those of
//! its task stack, for code that knows the exact head; and the *detached* front, whose limits admit nothing, for code
//! that does not, so that all its forks take the cold path and go through a word queue. Threads outside all pools see
//! one that leads nowhere. So every situation is told apart by the same two compares.
//!
//! What must always hold: a thread that runs code with the stack front has the exact head beside it, in a handle or in
//! [`Front::head`]; while code in handle style runs, [`CURRENT`] holds the detached front, because the exact head is in a
//! register that nobody else can see. The stack front's head in memory is never above the exact one, and falls before the limits are
//! asked: [`seize`](crate::protocol::seize).

use std::cell::Cell;
use std::ptr::{NonNull, null};

use filch_memory::Native;

use crate::job::{Job, Slot};
use crate::pool::{self, Popped, UnwindFn};
use crate::protocol::limits::Limits;
use crate::protocol::seize::Head;
use crate::protocol::state::Settled;
use crate::wait::{Awaited, Reach};
use crate::worker::Home;

/// Which situation a front stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The thread belongs to no pool.
    Outside,
    /// The exact head of the worker's task stack is known.
    Stack,
    /// It is not, or there is none.
    Detached,
}

/// The pool's cold operations behind a front, for code that does not know the pool's type.
#[derive(Debug)]
pub struct Operations {
    /// Forks through the pool's word queue; gives the job back if the queue is full.
    pub(crate) push: unsafe fn(&Front, NonNull<Job>) -> bool,
    /// Takes the newest forked job back; `false` if it was stolen.
    pub(crate) take_back: unsafe fn(&Front, NonNull<Job>) -> bool,
    /// Waits until a stolen job is settled; runs others meanwhile if the last argument says so.
    pub(crate) wait_job: unsafe fn(&Front, *mut Slot, NonNull<Job>, bool) -> Settled,
    /// Runs what may be run meanwhile, or sleeps, until what is awaited has come; whoever makes it come wakes the worker.
    pub(crate) wait_until: unsafe fn(&Front, *mut Slot, &Awaited<'_>),
    /// Runs the work in the seat of an idle worker that the thread, a guest, has taken, and leaves.
    pub(crate) visit: unsafe fn(&Front, *mut Slot, &mut dyn FnMut()),
    /// Runs one job, if there is one within reach; whether there was.
    pub(crate) run_one: unsafe fn(&Front, *mut Slot, Reach) -> bool,
    /// Whether the worker itself has something to run. A snapshot.
    pub(crate) has_own: unsafe fn(&Front, *mut Slot) -> bool,
    /// Whether a fork that goes through the word queue is worth while.
    pub(crate) wants_work: unsafe fn(&Front) -> bool,
    /// Answers thieves.
    pub(crate) poll: unsafe fn(&Front),
    /// The same on a signal that has interrupted the worker anywhere, if the pool can; whether it could.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no signals"))]
    pub(crate) interrupt: unsafe fn(&Front) -> bool,
    /// If tasks of stack fronts lie on a task stack.
    pub(crate) stack: Option<StackOperations>,
}

/// The cold halves of forks and joins on a stack front.
#[derive(Debug)]
pub(crate) struct StackOperations {
    /// Forks the task in the front's scratch slot.
    pub(crate) push: unsafe fn(&Front, &Home, *mut Slot),
    /// Takes the newest task back or waits for its thief, and runs other tasks meanwhile if the last argument says so.
    pub(crate) pop: unsafe fn(&Front, &Home, *mut Slot, bool) -> Popped,
    /// Whether somebody would take a task that the limits do not admit.
    pub(crate) wants_work: fn(&Front, *mut Slot) -> bool,
    /// Answers thieves.
    pub(crate) poll: fn(&Front, &Home, *mut Slot),
}

/// The limits of a worker, and the way to the rest of it.
#[repr(C, align(128))]
pub struct Front {
    pub(crate) limits: Limits<Native>,
    /// Closure style: the exact head, if this is a stack front. Handle style has it in a register, and leaves this where it was.
    head: Head<Native, Slot>,
    pub(crate) kind: Kind,
    /// The worker's type-erased part; null outside. Set once, before the worker starts.
    home: Cell<*const Home>,
    pub(crate) operations: Option<&'static Operations>,
    /// [`pool::resume`], which the compiler cannot know.
    pub(crate) unwind: UnwindFn,
    /// Where a job's contents lie for a moment on their way between a frame and wherever the cold path keeps them. Only
    /// for the worker's own thread, and only until its next step.
    pub(crate) scratch: Slot,
}

// SAFETY: thieves use the limits and the head only, which are atomic; the rest is constant or the worker's own, and `Home` guards itself.
unsafe impl Sync for Front {}
// SAFETY: as above; a front is tied to a worker, not to a thread.
unsafe impl Send for Front {}

static OUTSIDE: Front = Front {
    limits: Limits::CLOSED,
    head: Head::NONE,
    kind: Kind::Outside,
    home: Cell::new(null()),
    operations: None,
    unwind: pool::resume,
    scratch: Slot::empty(),
};

impl Front {
    pub(crate) fn new(kind: Kind, operations: &'static Operations) -> Self {
        Self {
            limits: Limits::closed(),
            head: Head::NONE,
            kind,
            home: Cell::new(null()),
            operations: Some(operations),
            unwind: pool::resume,
            scratch: Slot::empty(),
        }
    }

    pub(crate) fn attach(&self, home: *const Home) {
        self.home.set(home);
    }

    /// The scratch slot as a job.
    #[inline(always)]
    pub(crate) fn scratch_job(&self) -> NonNull<Job> {
        NonNull::from(&self.scratch).cast()
    }

    /// The worker behind this front; `None` outside.
    pub(crate) fn home(&self) -> Option<&Home> {
        // SAFETY: null, or attached by the pool to a worker that lives as long as its fronts.
        unsafe { self.home.get().as_ref() }
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

impl Front {
    /// The head for closure style; exact if this is a stack front and the current one.
    #[inline(always)]
    pub(crate) fn head(&self) -> *mut Slot {
        self.head.get()
    }

    /// Moves the head for closure style up. Not for the outside, which all threads share.
    #[inline(always)]
    pub(crate) fn raise_head(&self, head: *mut Slot) {
        debug_assert!(self.kind != Kind::Outside);
        self.head.rise(head);
    }

    /// Moves it down, before the limits are asked about what lies there.
    #[inline(always)]
    pub(crate) fn lower_head(&self, head: *mut Slot) {
        debug_assert!(self.kind != Kind::Outside);
        self.head.fall(head);
    }

    /// For others: the head, or what it was when code in handle style began.
    pub(crate) fn seen_head(&self) -> *mut Slot {
        self.head.seen()
    }
}

/// Gives closure-style code a front and a head until dropped.
pub(crate) struct Enter<'f> {
    front: &'f Front,
    former_front: *const Front,
    former_head: *mut Slot,
}

impl<'f> Enter<'f> {
    pub(crate) fn new(front: &'f Front, head: *mut Slot) -> Self {
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
