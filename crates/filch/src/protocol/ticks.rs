//! Ticks on which owners answer thieves. The clock makes none while no thief waits.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, section 4. The clock that stops by itself is ours.
//!
//! **Idea.** A thief that has found nothing, or is about to sleep, requests a tick from a [`Clock`]. The clock's thread
//! makes the tick: it raises a flag for each owner, or sends signals. An owner that sees its flag lowers it and
//! answers. The clock sleeps after a whole period without a request.
//!
//! **Fields.** `due`, `clock`: see [`beat`](super::beat); a raised `due` means that no tick is requested. `flags`: one
//! per owner.
//!
//! **Edges.**
//! * E1: a thief's request, its fence, its look at `due` ↔ the clock's raising of `due`, the fence in [`Ticks::make`],
//!   the tick, the owner's look at the requests. Forbidden: the thief sees `due` lowered, relies on the tick to come,
//!   and the owner that the tick reaches does not see the request. Only a thief about to sleep relies on this: other
//!   thieves try again.
//! * E2: the raising of a flag (release) → its lowering (acquire): the fence before it. The system orders signals.

use std::fmt;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering, Sleep};
use filch_queue::Padded;

use super::beat::{Clock, Due};

/// The ticks that the thieves of a pool wait for.
///
/// ```
/// use filch::inside::protocol::ticks::{Tick, Ticks};
/// use filch_memory::Native;
///
/// let ticks = Ticks::<Native>::new(1);
/// ticks.want();
/// if ticks.clock().tick() {
///     ticks.make();
/// }
/// assert_eq!((ticks.take(0), ticks.take(0)), (Tick::Made, Tick::NotYet));
/// assert!(!ticks.clock().tick(), "there is no further request");
/// ```
pub struct Ticks<M: Memory> {
    due: Arc<Due<M>>,
    clock: Arc<Clock<M>>,
    flags: Box<[Padded<M::AtomicBool>]>,
}

/// The result of [`Ticks::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// There was a tick since the owner's last look.
    Made,
    /// There was none.
    NotYet,
    /// The owner has no flag and cannot see ticks.
    NoFlag,
}

impl<M: Memory> fmt::Debug for Ticks<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticks").field("flags", &self.flags.len()).finish_non_exhaustive()
    }
}

impl<M: Sleep> Ticks<M> {
    /// Ticks with this many flags, one per owner.
    pub fn new(flags: usize) -> Self {
        let due = Arc::new(Due::new(true));
        Self {
            clock: Arc::new(Clock::new([Arc::clone(&due)])),
            due,
            flags: (0..flags).map(|_| Padded(Atomic::new(false))).collect(),
        }
    }

    /// The clock. Its thread must [make](Self::make) a tick whenever [`Clock::tick`] reports a request.
    pub fn clock(&self) -> &Arc<Clock<M>> {
        &self.clock
    }

    /// Thief: requests a tick. Owners that answer the tick see any work request that the thief made before, with a
    /// fence in between.
    pub fn want(&self) {
        // E1.
        if self.due.is_raised() {
            self.due.lower();
            self.clock.taken();
        }
    }

    /// Clock's thread: raises all flags. Signals to owners come after it.
    pub fn make(&self) {
        // E1.
        // kept over AcqRel and nothing: TSO keeps the clock's two stores in order, and what an owner sees after them;
        // C11 does not, and loom cannot run the scenario.
        M::fence(Ordering::SeqCst);
        for flag in &self.flags {
            // E2.
            // kept over Relaxed: as for the fence.
            flag.store(true, Ordering::Release);
        }
    }

    /// Owner `index`: takes its tick, so that it answers once for each.
    #[inline]
    pub fn take(&self, index: usize) -> Tick {
        let Some(flag) = self.flags.get(index) else { return Tick::NoFlag };
        // Relaxed: the swap decides. E2: a store instead could arrive late and erase the next tick.
        // kept over Relaxed: as for the clock's store.
        if flag.load(Ordering::Relaxed) && flag.swap(false, Ordering::Acquire) { Tick::Made } else { Tick::NotYet }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filch_memory::Native;

    #[test]
    fn an_owner_answers_once_for_each_tick() {
        let ticks = Ticks::<Native>::new(2);
        assert_eq!([0, 1, 2].map(|owner| ticks.take(owner)), [Tick::NotYet, Tick::NotYet, Tick::NoFlag]);
        ticks.make();
        assert_eq!([1, 1, 0].map(|owner| ticks.take(owner)), [Tick::Made, Tick::NotYet, Tick::Made]);
    }

    #[test]
    fn a_tick_is_made_on_request() {
        let ticks = Ticks::<Native>::new(0);
        assert!(!ticks.clock().tick());
        ticks.want();
        ticks.want();
        assert!(ticks.clock().tick() && !ticks.clock().tick());
    }
}
