//! The tables of fronts: their cold operations, for a pool of one type.
//!
//! Invariant: a table is called only with a `Here` at its own front, so the worker's pool is of the table's type.

use std::marker::PhantomData;

use crate::fork::front::{Meanwhile, Operations, Popped};
use crate::fork::here::Here;
use crate::protocol::{order::Height, state::Settled};
use crate::wait;
use crate::worker::plumbing::Pool;

/// The tables of a worker's two fronts, for a pool of type `P`.
pub(crate) struct Tables<P>(PhantomData<P>);

impl<P: Pool> Tables<P> {
    /// The tables of the stack front and of the detached front.
    pub(crate) const BOTH: [&'static Operations; 2] = [&Self::ON_STACK, &Self::DETACHED];

    const ON_STACK: Operations = Operations {
        // SAFETY: the table is for pools of type `P`, and the front's scratch slot holds a task to push:
        // `Operations::push`.
        push: |here| unsafe { P::push_on_stack(&here.known()) },
        // SAFETY: the table is for pools of type `P`, and the task is the newest on the stack: `Operations::pop`.
        pop: |here, meanwhile| unsafe { P::pop_from_stack(here.known(), meanwhile) },
        ..Self::DETACHED
    };

    const DETACHED: Operations = Operations {
        // SAFETY: the table is for pools of type `P`.
        push: |here| push_aside::<P>(&unsafe { here.known() }),
        // SAFETY: the table is for pools of type `P`; the newest task kept aside is that of the newest fork.
        pop: |here, meanwhile| unsafe { pop_aside::<P>(here.known(), meanwhile) },
        // SAFETY: the table is for pools of type `P`, and this front is the current one.
        wait_until: |here, latch, before, only| unsafe { wait::wait_until::<P>(here.known(), latch, before, only) },
        // SAFETY: the table is for pools of type `P`, and the caller promises that the worker was idle.
        visit: |here, work| unsafe { wait::visit::<P>(here.known(), work) },
        // SAFETY: the table is for pools of type `P`.
        run_one: |here, reach| wait::run_one::<P>(unsafe { here.known() }, reach),
        // SAFETY: the table is for pools of type `P`.
        has_own: |here| P::has_own(&unsafe { here.known() }),
        // SAFETY: the table is for pools of type `P`.
        wants_work: |here| P::wants_more(&unsafe { here.known() }),
        // SAFETY: the table is for pools of type `P`.
        poll: |here| P::poll(&unsafe { here.known() }),
        // SAFETY: the table is for pools of type `P`.
        pause: |here| wait::pause::<P>(&unsafe { here.known() }),
        // SAFETY: the table is for pools of type `P`.
        interrupt: |here| P::interrupt(&unsafe { here.known() }),
    };
}

/// Forks the task in the scratch slot through the pool's word queue.
fn push_aside<P: Pool>(here: &Here<'_, P>) {
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
        if !pushed || P::take_word_back(&here, job) {
            Settled::Unrun
        } else {
            wait::wait_job(here, job, Height::aside(aside.len()), meanwhile)
        }
    };
    // SAFETY: the slot is the newest, and settled.
    unsafe { aside.recycle(slot, &front.scratch) };
    (front.scratch_job(), settled)
}
