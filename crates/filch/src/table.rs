//! The table of a front: its cold operations, for a pool of one type.
//!
//! What must always hold: a table is called with what is at its front, so the worker's pool is of the type for which it was made.

use std::marker::PhantomData;

use crate::front::{Meanwhile, Operations, Popped};
use crate::here::Here;
use crate::pool::Pool;
use crate::protocol::state::Settled;
use crate::wait;

/// The tables of the fronts of a worker whose pool is of type `P`.
pub(crate) struct Tables<P>(PhantomData<P>);

impl<P: Pool> Tables<P> {
    /// That of the stack front, and that of the detached one.
    pub(crate) const BOTH: [&'static Operations; 2] = [&Self::ON_STACK, &Self::DETACHED];

    const ON_STACK: Operations = Operations {
        // SAFETY: a table of pools of type `P`, on whose stack a task is pushed: `Operations::push`.
        push: |here| unsafe { P::push_on_stack(&here.known()) },
        // SAFETY: a table of pools of type `P`, on whose stack this is the newest task: `Operations::pop`.
        pop: |here, meanwhile| unsafe { P::pop_from_stack(here.known(), meanwhile) },
        ..Self::DETACHED
    };

    const DETACHED: Operations = Operations {
        // SAFETY: a table of pools of type `P`.
        push: |here| push_aside::<P>(&unsafe { here.known() }),
        // SAFETY: a table of pools of type `P`; the newest of the tasks that were kept aside is that of the newest fork.
        pop: |here, meanwhile| unsafe { pop_aside::<P>(here.known(), meanwhile) },
        // SAFETY: a table of pools of type `P`.
        wait_until: |here, awaited| wait::wait_until::<P>(unsafe { here.known() }, awaited),
        // SAFETY: a table of pools of type `P`, and the caller promises that the worker was idle.
        visit: |here, work| unsafe { wait::visit::<P>(here.known(), work) },
        // SAFETY: a table of pools of type `P`.
        run_one: |here, reach| wait::run_one::<P>(unsafe { here.known() }, reach),
        // SAFETY: a table of pools of type `P`.
        has_own: |here| P::has_own(&unsafe { here.known() }),
        // SAFETY: a table of pools of type `P`.
        wants_work: |here| P::wants_more(&unsafe { here.known() }),
        // SAFETY: a table of pools of type `P`.
        poll: |here| P::poll(&unsafe { here.known() }),
        // SAFETY: a table of pools of type `P`.
        interrupt: |here| P::interrupt(&unsafe { here.known() }),
    };
}

/// Forks the task in the scratch slot through the pool's word queue.
fn push_aside<P: Pool>(here: &Here<'_, P>) {
    // SAFETY: a slot that was kept aside stays where it is until its fork has been popped.
    here.home().aside().keep(&here.front().scratch, |job| unsafe { P::push_word(here, job) });
}

/// Takes the newest task that was kept aside back, or waits until its thief has settled it.
///
/// # Safety
/// It is the worker's newest fork.
unsafe fn pop_aside<P: Pool>(here: Here<'_, P>, meanwhile: Meanwhile) -> Popped {
    let (aside, front) = (here.home().aside(), here.front());
    let (slot, pushed) = aside.newest();
    let job = slot.cast();
    // SAFETY: this worker's newest fork; and if it cannot be taken back a thief has won it.
    let settled = unsafe {
        if !pushed || P::take_word_back(&here, job) { Settled::Unrun } else { wait::wait_job(here, job, meanwhile) }
    };
    // SAFETY: the newest one, and settled.
    unsafe { aside.recycle(slot, &front.scratch) };
    (front.scratch_job(), settled)
}
