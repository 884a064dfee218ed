//! The pool of a recording: one worker, which runs both branches of each fork and tells its thread's
//! [recorder](crate::worker::strands) when they begin and end.
//!
//! It has no task stack, so the limits of its fronts admit nothing, and every fork and join comes here: a push begins
//! the first branch; the end of the fork runs the second as a thief would, and returns it as done.
//!
//! Invariant: there is one worker, so no job is ever stolen.

use std::io;
use std::ptr::{NonNull, null_mut};

use filch_queue::Steal;

use super::frames::{self, OnFrames};
use crate::fork::front::{Front, Meanwhile};
use crate::fork::here::{Here, Known};
use crate::fork::job::{self, Body};
use crate::fork::slot::{Job, Slot};
use crate::machine::processors::Places;
use crate::protocol::{order::Height, state::Settled};
use crate::worker::core::Core;
use crate::worker::plumbing::{Plumbing, Pool, Room};
use crate::worker::strands;

/// The pool of a [recording](crate::scale::Recording), for programs in handle style: `fn f(w: Worker<'_, Recorded>)`,
/// or `fn f<P: Pool>(w: Worker<'_, P>)`. It has one worker. With the feature `scale`.
///
/// ```
/// use filch::{Worker, pool::Recorded, scale::Recording};
///
/// fn two(mut w: Worker<'_, Recorded>) -> (u32, u32) {
///     w.join(|_| 6, |_| 7)
/// }
/// assert_eq!(Recording::new().measure_with(two).scale.forks, 1);
/// ```
#[derive(Debug)]
pub struct Recorded(());

impl OnFrames for Recorded {}

impl Known for Recorded {
    type Cursor = ();

    fn cursor(_: *mut Slot) {}

    fn head((): ()) -> *mut Slot {
        null_mut()
    }
}

// SAFETY: a job stays with its fork, which ends it once.
unsafe impl Plumbing for Recorded {
    type Settings = ();

    const IS_RECORDED: bool = true;
    const MAX_WORKERS: usize = 1;

    fn create(workers: usize, _: Room, (): &(), _: &Places) -> io::Result<Vec<Self>> {
        Ok((0..workers).map(|_| Self(())).collect())
    }

    fn bottom(&self) -> *mut Slot {
        null_mut()
    }

    fn front(core: &Core<Self>) -> &Front {
        &core.detached
    }

    fn join<A: Body<In = Self>, B: Body<In = Self>>(here: Here<'_, Self>, a: A, b: B) -> (A::Out, B::Out) {
        frames::join(here, a, b)
    }

    /// A logical graph is that of a program whose forks are all wanted.
    fn wants_work(_: &Here<'_, Self>) -> bool {
        strands::is_on()
    }

    unsafe fn push_word(_: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        // SAFETY: by the caller's promise the job is alive.
        strands::fork(unsafe { job.as_ref() }.run().addr());
        true
    }

    unsafe fn take_word_back(_: &Here<'_, Self>, _: NonNull<Job>) -> bool {
        true
    }

    unsafe fn end_fork(here: &Here<'_, Self>, job: NonNull<Job>, meanwhile: Meanwhile) -> Option<Settled> {
        if meanwhile == Meanwhile::Rest {
            strands::dropped();
            return Some(Settled::Unrun);
        }
        if !strands::second() {
            return Some(Settled::Unrun);
        }
        // SAFETY: the thread is this worker, which is here until the call returns; its front admits nothing at any
        // head.
        let here = unsafe { Here::new(here.front(), here.head()) };
        // SAFETY: by the caller's promise the job was forked in this pool and is the newest, and nobody else takes
        // jobs.
        let panicked = unsafe { job::call(job, here) };
        strands::joined();
        Some(if panicked { Settled::Panicked } else { Settled::Done })
    }

    fn in_job<R>(job: usize, run: impl FnOnce() -> R) -> R {
        strands::in_job(job, run)
    }

    fn in_wait<R>(is_for_scope: bool, wait: impl FnOnce() -> R) -> R {
        strands::in_wait(is_for_scope, wait)
    }

    fn wants_more(here: &Here<'_, Self>) -> bool {
        Self::wants_work(here)
    }

    fn poll(_: &Here<'_, Self>) {}

    fn steal(_: &Here<'_, Self>, _: &Core<Self>, _: Height) -> Steal<NonNull<Job>> {
        Steal::Empty
    }

    fn ask(_: &Core<Self>, _: &Core<Self>) {}

    fn has_work(_: &Here<'_, Self>, _: &Core<Self>) -> bool {
        false
    }

    fn steal_own(_: &Here<'_, Self>) -> Option<NonNull<Job>> {
        None
    }

    fn has_own(_: &Here<'_, Self>) -> bool {
        false
    }
}

impl Pool for Recorded {
    const TRANSITIVE: bool = false;
}
