//! The tables of the fronts' cold operations, for a pool of one type.
//!
//! Invariant: a table is called only with a `Here` at its own front, so the worker's pool is of the table's type.

use std::any::TypeId;
use std::marker::PhantomData;

use crate::fork::front::{Cold, Front, Meanwhile, Operations, Popped};
use crate::fork::here::Here;
use crate::fork::slot::Slot;
use crate::protocol::{order::Height, state::Settled};
use crate::wait;
use crate::worker::plumbing::Pool;

/// The tables of a worker's two fronts, for a pool of type `P`.
pub(crate) struct Tables<P>(PhantomData<P>);

impl<P: Pool> Tables<P> {
    /// The tables of the stack front and of the detached front.
    pub(crate) const BOTH: [&'static Operations; 2] = [&Self::ON_STACK, &Self::DETACHED];

    // SAFETY: the table is for pools of type `P`. The front's scratch slot holds a task to push (`Operations::push`),
    // and the popped task is the newest on the stack (`Operations::pop`).
    const ON_STACK: Operations = unsafe {
        Operations {
            push: push_on_stack::<P>,
            pop: |here, meanwhile| P::pop_from_stack(here.known(), meanwhile),
            ..Self::DETACHED
        }
    };

    // SAFETY: the table is for pools of type `P`. The newest task kept aside is that of the newest fork, the front of
    // `wait_until` is the current one, and the worker of `visit` was idle: `Operations`.
    const DETACHED: Operations = unsafe {
        Operations {
            pool: TypeId::of::<P>,
            push: push_aside::<P>,
            pop: |here, meanwhile| pop_aside::<P>(here.known(), meanwhile),
            wait_until: |here, latch, before, only| wait::wait_until::<P>(here.known(), latch, before, only),
            visit: |here, work| wait::visit::<P>(here.known(), work),
            run_one: Cold(|here, reach| wait::run_one::<P>(here.known(), reach)),
            has_own: Cold(|here, ()| P::has_own(&here.known())),
            wants_work: Cold(|here, ()| P::wants_more(&here.known())),
            poll: Cold(|here, ()| P::poll(&here.known())),
            pause: Cold(|here, ()| wait::pause::<P>(&here.known())),
            interrupt: Cold(|here, ()| P::interrupt(&here.known())),
        }
    };
}

/// Forks the task in the scratch slot on the task stack.
///
/// # Safety
/// As [`push_any`](crate::fork::cold_call::push_any), at the stack front of a worker of such a pool.
unsafe extern "C" fn push_on_stack<P: Pool>(front: &Front, head: *mut Slot) {
    // SAFETY: by the caller's promise.
    unsafe { P::push_on_stack(&Here::new(front, head)) };
}

/// Forks the task in the scratch slot through the pool's word queue.
///
/// # Safety
/// As [`push_on_stack`], at either front.
unsafe extern "C" fn push_aside<P: Pool>(front: &Front, head: *mut Slot) {
    // SAFETY: by the caller's promise.
    let here = &unsafe { Here::<P>::new(front, head) };
    // SAFETY: a slot kept aside stays where it is until its fork is popped.
    here.home().aside().keep(&here.front().scratch, |job| unsafe { P::push_word(here, job) });
}

/// Takes back the newest task kept aside, or waits until its thief has settled it.
///
/// # Safety
/// The task is the worker's newest fork.
unsafe fn pop_aside<P: Pool>(here: Here<'_, P>, meanwhile: Meanwhile) -> Popped {
    let (aside, front) = (here.home().aside(), here.front());
    let height = Height::aside(aside.len() - 1);
    if here.home().may_have_newer(height) {
        // SAFETY: the task stays in its slot; jobs that run before it have no head that they could write to.
        unsafe { wait::run_newer(Here::<P>::new(front, here.head()), aside.newest_state(), height, meanwhile) };
    }
    let (slot, pushed) = aside.newest();
    let job = slot.cast();
    // SAFETY: the job is this worker's newest fork; if it cannot be taken back, a thief has won it.
    let settled = unsafe {
        if !pushed {
            Settled::Unrun
        } else if let Some(settled) = P::end_fork(&here, job, meanwhile) {
            settled
        } else {
            wait::wait_job(here, job, Height::aside(aside.len()), meanwhile)
        }
    };
    // SAFETY: the slot comes from `newest`, and its job is settled or was not stolen.
    unsafe { aside.recycle(slot, &front.scratch) };
    (front.scratch_job(), settled)
}
