//! Fork and join at a head, on any front.
//!
//! A fork writes its task to the slot at the head and compares the head with the push limit; a join compares with the
//! pop limit, and runs the task from the slot. Everything else is cold, and goes through the
//! [operations](crate::fork::front::Operations) of the front: on a stack front, those of the [direct
//! pool](crate::pool); on a detached front, those of a word queue, which holds the task's address while the task itself
//! is kept aside.
//!
//! Invariant: the limits admit a push only if the slot is the owner's and no thief need know of the task, and a pop
//! only of a task that no thief can have. Forks end newest first, each once: by its join, or because its first branch
//! unwinds.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use crate::fork::front::{Front, FrontKind, Meanwhile, Popped};
use crate::fork::here::{Any, Here, Known};
use crate::fork::job::{self, Body, Contents};
use crate::fork::{cold_call, slot::Slot};
use crate::protocol::state::Settled;
use crate::unwind::discard;

/// Runs both branches, perhaps in parallel: the fast path of filch.
#[inline(always)]
pub(crate) fn join<A, B>(here: Here<'_, B::In>, a: A, b: B) -> (A::Out, B::Out)
where
    A: Body<In = B::In>,
    B: Body,
{
    if const { !job::fits::<B, B::Out>() } {
        return join_far(here, a, b);
    }
    join_near(here, a, b)
}

/// [`join`] for work and results that fit a slot.
///
/// The slot also keeps the captures of `b` during `a`: reading them back costs less than keeping them in registers that
/// the frame would have to save.
#[inline(always)]
#[expect(clippy::needless_pass_by_value, reason = "two words, which the fork uses up")]
pub(crate) fn join_near<A, B>(here: Here<'_, B::In>, a: A, b: B) -> (A::Out, B::Out)
where
    A: Body<In = B::In>,
    B: Body,
{
    if here.front().limits.admits_push(here.head().addr()) {
        // SAFETY: the push is admitted, so the slot is the owner's.
        unsafe { job::write(here.head(), b) };
    } else {
        rare();
        if A::MAY_BE_OUTSIDE && here.front().kind == FrontKind::Outside {
            return A::outside((a, b));
        }
        // SAFETY: the thread is not outside, so it is a worker; and its fork ends below.
        unsafe { push_unadmitted(&here, b) };
    }
    // SAFETY: the task was pushed above, and is popped below, or abandoned if the first branch unwinds.
    let fork = unsafe { Fork::<B>::at(here.front(), here.head()) };
    let ra = if A::UNROLLED { fork.guard(a) } else { fork.catch(a) };
    (ra, fork.join())
}

/// [`join`] at the current front.
#[inline(always)]
pub(crate) fn join_here<A: Body<In = Any>, B: Body<In = Any>>(a: A, b: B) -> (A::Out, B::Out) {
    // SAFETY: the fork uses it at once.
    join(unsafe { Here::current() }, a, b)
}

/// A task of type `B` between its push at the head and its pop.
pub(crate) struct Fork<'f, B: Body> {
    front: &'f Front,
    head: *mut Slot,
    work: PhantomData<B>,
}

impl<'f, B: Body> Fork<'f, B> {
    /// Returns the fork at `head`.
    ///
    /// # Safety
    /// The current thread is the worker of `front`, in a pool that `B::In` describes. If `front` is a stack front,
    /// `head` was exact when a `B` was [pushed](push) there. This fork is joined or abandoned once, as the worker's
    /// newest; until then forks are made only above it.
    #[inline(always)]
    pub(crate) unsafe fn at(front: &'f Front, head: *mut Slot) -> Self {
        Self { front, head, work: PhantomData }
    }

    /// Returns the place where the task was pushed.
    #[inline(always)]
    fn here(&self) -> Here<'f, B::In> {
        // SAFETY: by the promise of `at`, this is the newest fork of this thread's worker. The result is used to read
        // the head, to pop the task, or to run something once the task has been popped.
        unsafe { Here::new(self.front, self.head) }
    }

    /// Ends the fork: runs the task, or gets its result.
    #[inline(always)]
    pub(crate) fn join(self) -> B::Out {
        B::lower(&self.here());
        if self.front.limits.admits_pop(self.head.addr()) {
            // SAFETY: the pop is admitted, so `head` is a slot, and private; moving the work out frees the slot.
            let work: B = unsafe { job::take_work(NonNull::new_unchecked(self.head).cast()) };
            work.inline(self.here())
        } else {
            self.join_cold()
        }
    }

    /// Completes a join whose pop the limits did not admit: runs the task if it is not stolen; otherwise waits, runs
    /// other tasks meanwhile, and resumes the task's panic if it panicked.
    #[cold]
    #[inline(never)]
    fn join_cold(self) -> B::Out {
        // SAFETY: the contents are moved out once, here.
        match unsafe { Contents::<B>::of(self.pop_or_wait(Meanwhile::Help)) } {
            Contents::Unrun(work) => work.inline(self.here()),
            Contents::Done(result) => result,
            Contents::Panicked(payload) => resume_unwind(payload),
        }
    }

    /// Takes the task back, or waits until its thief has settled it.
    fn pop_or_wait(&self, meanwhile: Meanwhile) -> Popped {
        let operations = self.front.operations.expect("only workers join");
        // SAFETY: the table is that of this front, and the task is the newest there.
        unsafe { (operations.pop)(self.here().of_any(), meanwhile) }
    }

    /// Runs the first branch; if the branch unwinds, abandons the task and continues to unwind.
    ///
    /// This catches the panic, although a drop guard would do: to the compiler the caught panic flows back into the
    /// function, which therefore has one exit. With a guard the compiler would save registers before the test that ends
    /// the recursion, in vain in half of all calls.
    #[inline(always)]
    fn catch<A: Body<In = B::In>>(&self, a: A) -> A::Out {
        // The panic continues, so nobody sees a broken state.
        match catch_unwind(AssertUnwindSafe(|| self.inline_above(a))) {
            Ok(ra) => ra,
            Err(payload) => {
                // SAFETY: `abandon` ends this fork, of a `B`, whose join is not reached.
                unsafe { (self.front.unwind)(self.front, self.head, abandon::<B>, payload) };
                // SAFETY: this is unreachable, since `unwind` is `resume`, which never returns. An assertion that says
                // so would be another exit.
                unsafe { MaybeUninit::zeroed().assume_init() }
            }
        }
    }

    /// As [`Fork::catch`], by a drop guard. The compiler does not inline one `catch_unwind` into another, but inlines
    /// any number of guards.
    #[inline(always)]
    fn guard<A: Body<In = B::In>>(&self, a: A) -> A::Out {
        let guard = Guard { front: self.front, head: self.head, work: PhantomData::<B> };
        let ra = self.inline_above(a);
        std::mem::forget(guard);
        ra
    }

    /// Runs the first branch above the task.
    #[inline(always)]
    fn inline_above<A: Body<In = B::In>>(&self, a: A) -> A::Out {
        // SAFETY: the task lies below `above`, and this fork does not use its own head while the branch runs.
        let above = unsafe { Here::new(self.front, self.head.wrapping_add(1)) };
        A::raise(&above);
        a.inline(above)
    }
}

/// Abandons a fork whose first branch unwinds.
struct Guard<'f, B: Body> {
    front: &'f Front,
    head: *mut Slot,
    work: PhantomData<B>,
}

impl<B: Body> Drop for Guard<'_, B> {
    // Inlined, with the fields passed by value, so that they stay in registers while nothing unwinds.
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the fork's first branch unwinds, so its join is not reached.
        unsafe { abandon::<B>(self.front, self.head) };
    }
}

/// Ends a fork whose first branch unwinds. If the task is not stolen, drops it, or runs it if it must [always
/// run](Body::ALWAYS_RUN). Otherwise waits for the thief, runs nothing meanwhile, and drops the outcome.
///
/// This function cannot unwind, so its callers need no second landing pad.
///
/// # Safety
/// As [`Fork::at`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn abandon<B: Body>(front: &Front, head: *mut Slot) {
    // SAFETY: the caller promises what `at` requires, and this ends the fork.
    let fork = unsafe { Fork::<B>::at(front, head) };
    B::lower(&fork.here());
    let popped = if front.limits.admits_pop(head.addr()) {
        (NonNull::new(head).expect("a slot").cast(), Settled::Unrun)
    } else {
        fork.pop_or_wait(Meanwhile::Rest)
    };
    // SAFETY: the contents are moved out once, here.
    match unsafe { Contents::<B>::of(popped) } {
        Contents::Unrun(work) if B::ALWAYS_RUN => {
            // The first branch's panic continues, so nobody sees a state that this panic breaks.
            discard(catch_unwind(AssertUnwindSafe(|| work.inline(fork.here()))));
        }
        Contents::Unrun(work) => discard(work),
        Contents::Done(result) => discard(result),
        Contents::Panicked(payload) => discard(payload),
    }
}

/// Forks `work` here.
///
/// # Safety
/// `here` is not outside, and the caller joins or abandons the [fork](Fork::at) before anything else is forked here.
#[inline(always)]
pub(crate) unsafe fn push<B: Body>(here: &Here<'_, B::In>, work: B) {
    if here.front().limits.admits_push(here.head().addr()) {
        // SAFETY: the push is admitted, so the slot is the owner's.
        unsafe { job::write(here.head(), work) };
    } else {
        // SAFETY: the caller promises the same.
        unsafe { push_unadmitted(here, work) };
    }
}

/// Tells the compiler that a branch is rare, so that it moves the branch out of the way.
#[cold]
const fn rare() {}

/// Does a [`push`] that the limits do not admit.
///
/// # Safety
/// As [`push`].
#[cold]
#[inline(always)]
pub(crate) unsafe fn push_unadmitted<B: Body>(here: &Here<'_, B::In>, work: B) {
    // Passes the work in existing memory: a reference to the closure would force the closure onto the frame, also on
    // the fast path.
    // SAFETY: the scratch slot is this thread's, and its task is pushed at once.
    unsafe {
        job::write((&raw const here.front().scratch).cast_mut(), work);
        cold_call::push_cold(here.front(), here.head());
    }
}

/// Work or a result too large for a slot, on the frame of its fork.
enum Far<B, R> {
    Work(B),
    Running,
    Result(R),
}

/// The task in the slot of a fork with far work: a pointer to the work's cell. Only the thread that runs the task uses
/// the cell, which lives until the fork has ended.
struct FarWork<B: Body>(*const UnsafeCell<Far<B, B::Out>>);

impl<B: Body> FarWork<B> {
    fn run(self, call: impl FnOnce(B) -> B::Out) {
        // SAFETY: the task runs once, so the cell is this thread's; `UnsafeCell` lets the pointer write.
        let far = unsafe { &mut *(*self.0).get() };
        let Far::Work(work) = std::mem::replace(far, Far::Running) else { unreachable!("a task runs once") };
        *far = Far::Result(call(work));
    }
}

impl<B: Body> Body for FarWork<B> {
    type Out = ();
    type In = B::In;

    fn inline(self, here: Here<'_, B::In>) {
        self.run(|work| work.inline(here));
    }

    fn stolen(self, here: Here<'_, B::In>) {
        self.run(|work| work.stolen(here));
    }

    fn moved(self, here: Here<'_, B::In>) {
        self.run(|work| work.moved(here));
    }

    const ALWAYS_RUN: bool = B::ALWAYS_RUN;

    fn raise(here: &Here<'_, B::In>) {
        B::raise(here);
    }

    #[inline(always)]
    fn lower(here: &Here<'_, B::In>) {
        B::lower(here);
    }
}

/// The cell, on the fork's frame. If the fork unwinds, drops the contents, and hides a panic of their destructor.
struct FarCell<B: Body>(UnsafeCell<Far<B, B::Out>>);

impl<B: Body> Drop for FarCell<B> {
    fn drop(&mut self) {
        discard(std::mem::replace(self.0.get_mut(), Far::Running));
    }
}

/// [`join`] for larger work or results.
#[inline]
fn join_far<A, B>(here: Here<'_, B::In>, a: A, b: B) -> (A::Out, B::Out)
where
    A: Body<In = B::In>,
    B: Body,
{
    let mut far = FarCell::<B>(UnsafeCell::new(Far::Work(b)));
    // The cell outlives the fork, which does not end before the task is settled.
    let (ra, ()) = join_near(here, a, FarWork::<B>(&raw const far.0));
    match std::mem::replace(far.0.get_mut(), Far::Running) {
        Far::Result(rb) => (ra, rb),
        Far::Work(_) | Far::Running => unreachable!("the task has been joined"),
    }
}

/// Whether a thief would take a task pushed here.
#[inline]
pub(crate) fn wants_work<P: Known>(here: &Here<'_, P>) -> bool {
    #[cold]
    fn wants_work_cold(here: Here<'_>) -> bool {
        here.cold(|operations| &operations.wants_work, ()) == Some(true)
    }
    // SAFETY: the new `Here` is used only for this question, which forks nothing.
    !here.front().limits.admits_push(here.head().addr())
        && wants_work_cold(unsafe { Here::new(here.front(), here.head()) })
}
