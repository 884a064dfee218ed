//! Workers of which none sleeps, and the slots of their task stacks.

use filch::inside::protocol::grain::{self, Time};
use filch::inside::protocol::sharer::{Sharer, Wakes};
use filch::inside::protocol::sleep::Sleepers;
use filch_memory::{Atomic, Cell, Memory, Ordering, Sleep};

/// A worker among others, all awake.
pub(super) struct AllAwake<M: Memory> {
    sleepers: Sleepers<M>,
    workers: usize,
    grain: grain::Params,
}

impl<M: Memory> AllAwake<M> {
    pub(super) fn new(workers: usize, grain: grain::Params) -> Self {
        Self { sleepers: Sleepers::default(), workers, grain }
    }
}

impl<M: Sleep> Sharer for AllAwake<M> {
    type Memory = M;

    fn sleepers(&self) -> &Sleepers<M> {
        &self.sleepers
    }

    fn workers(&self) -> usize {
        self.workers
    }

    fn wake_after(&self, wakes: Wakes) {
        unreachable!("nobody sleeps, and {wakes:?} is to be woken");
    }

    fn has_aside(&self) -> bool {
        false
    }

    /// Returns 0: nothing takes any time.
    fn now(&self) -> Time {
        0
    }

    fn grain(&self) -> grain::Params {
        self.grain
    }
}

/// A slot of a task stack.
pub(super) struct Slot<M: Memory> {
    task: M::Cell<usize>,
    /// Whether its thief is done with it.
    is_done: M::AtomicBool,
}

impl<M: Memory> Slot<M> {
    pub(super) fn new() -> Self {
        Self { task: Cell::new(usize::MAX), is_done: Atomic::new(false) }
    }

    /// Gives `f` the task.
    #[track_caller]
    pub(super) fn with_task<R>(&self, f: impl FnOnce(&mut usize) -> R) -> R {
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        self.task.with_mut(|task| f(unsafe { &mut *task }))
    }

    #[track_caller]
    pub(super) fn task(&self) -> usize {
        // SAFETY: as in `with_task`.
        self.task.with(|task| unsafe { *task })
    }

    /// Thief: is done with it.
    #[track_caller]
    pub(super) fn end(&self) {
        self.is_done.store(true, Ordering::Release);
    }

    /// Whether its thief is done with it.
    #[track_caller]
    pub(super) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Owner: waits until its thief is done with it, and makes it ready for another task.
    #[track_caller]
    pub(super) fn await_thief(&self) {
        while !self.is_done() {
            M::spin_loop();
        }
        self.is_done.store(false, Ordering::Relaxed);
    }
}
