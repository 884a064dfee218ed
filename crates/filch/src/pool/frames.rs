//! Fork and join on frames: the task lies on the frame of its fork, and the pool holds its address.
//!
//! **Invariants.**
//! * I1: forks and joins of one worker are nested, so the newest word that the owner finds is that of the task that it
//!   joins, unless this task is stolen.
//! * I2: a frame does not end before its task is popped or settled.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::ptr::{NonNull, null_mut};

use crate::fork::front::{Front, Meanwhile, Popped};
use crate::fork::job::{Body, Contents, Record};
use crate::fork::{here::Here, slot::Job};
use crate::protocol::{order::Height, state::Settled};
use crate::unwind::discard;
use crate::wait;
use crate::worker::plumbing::Pool;

/// A pool whose tasks lie on the frames of their forks: all forks go through its word queue.
pub(super) trait OnFrames: Pool<Cursor = ()> {}

/// Forks `b` on this frame, runs `a`, and joins.
#[inline]
#[expect(clippy::needless_pass_by_value, reason = "two words, which the fork uses up")]
pub(super) fn join<P: OnFrames, A: Body<In = P>, B: Body<In = P>>(here: Here<'_, P>, a: A, b: B) -> (A::Out, B::Out) {
    let record = Record::new(b);
    // SAFETY: the record stays until the guard, or the pop below, settles it (I2).
    let pushed = unsafe { P::push_word(&here, record.job()) };
    let guard = Guard { front: here.front(), record: &record, pushed, pool: PhantomData::<P> };
    let ra = a.inline(guard.here());
    let fork = ManuallyDrop::new(guard);
    // SAFETY: the job is popped once, because the guard is not dropped, and its contents are moved out once.
    match unsafe { Contents::<B>::of(pop::<P>(fork.here(), record.job(), pushed, Meanwhile::Help)) } {
        Contents::Unrun(work) => (ra, work.inline(fork.here())),
        Contents::Done(rb) => (ra, rb),
        Contents::Panicked(payload) => resume_unwind(payload),
    }
}

/// A fork between its push and its pop.
struct Guard<'f, P: OnFrames, B: Body> {
    front: &'f Front,
    record: &'f Record<B, B::Out>,
    pushed: bool,
    pool: PhantomData<P>,
}

impl<'f, P: OnFrames, B: Body> Guard<'f, P, B> {
    /// Returns where the fork was made.
    #[inline(always)]
    fn here(&self) -> Here<'f, P> {
        // SAFETY: the fork has consumed the `Here` that this recreates; such a pool has no stack, and only one result
        // is in use at a time.
        unsafe { Here::new(self.front, null_mut()) }
    }
}

impl<P: OnFrames, B: Body> Drop for Guard<'_, P, B> {
    // Inlined, with the fields passed by value, so that they stay in registers while nothing unwinds.
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `join` has not reached its own pop.
        unsafe { abandon(self.here(), self.record, self.pushed) };
    }
}

/// Takes back a fork's job, or waits until its thief has settled it.
///
/// # Safety
/// Called once for each push, with the push's result, after every later push of the worker has been popped.
#[inline(always)]
unsafe fn pop<P: OnFrames>(here: Here<'_, P>, job: NonNull<Job>, pushed: bool, meanwhile: Meanwhile) -> Popped {
    if !pushed {
        return (job, Settled::Unrun);
    }
    // SAFETY: the caller promises that the job is the newest one; it holds its work, since nobody has run it here.
    if let Some(settled) = unsafe { P::end_fork(&here, job, meanwhile) } {
        return (job, settled);
    }
    // SAFETY: the job was not taken back, so a thief has it.
    (job, unsafe { wait::wait_job(here, job, Height::aside(0), meanwhile) })
}

/// Ends a fork whose first branch unwinds: drops the job's work, result or payload.
///
/// # Safety
/// As [`pop`].
#[cold]
#[inline(never)]
unsafe fn abandon<P: OnFrames, B: Body>(here: Here<'_, P>, record: &Record<B, B::Out>, pushed: bool) {
    // SAFETY: the caller promises what `pop` requires; and the contents are moved out once.
    match unsafe { Contents::<B>::of(pop(here, record.job(), pushed, Meanwhile::Rest)) } {
        Contents::Unrun(work) => discard(work),
        Contents::Done(result) => discard(result),
        Contents::Panicked(payload) => discard(payload),
    }
}
