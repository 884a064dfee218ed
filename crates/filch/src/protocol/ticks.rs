//! Ticks on which owners answer thieves, and which nobody makes while no thief waits.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with Private
//! Deques*, PPoPP 2013, section 4. A clock that stops by itself is ours.
//!
//! **Idea.** A thief that has found nothing, or goes to sleep, wants a tick: it takes one from a [`Clock`]. The clock's thread
//! makes it: it raises a flag for each owner, or sends signals. An owner that sees its flag lowers it and answers. When nobody
//! has wanted a tick for a whole period the clock sleeps.
//!
//! **Fields.** `due`, `clock`: see [`beat`](super::beat); raised means that nobody wants a tick. `flags`: one for each owner.
//!
//! **Edges.**
//! * E1: a thief's request, its fence, its look at `due` ↔ the clock's raising of `due`, the fence in [`Ticks::make`], the tick, the
//!   owner's look at the requests. Forbidden: the thief sees `due` lowered, relies on the tick to come, and the owner that
//!   it reaches does not see the request. Only a thief that goes to sleep needs it: others come again.
//! * E2: the raising of a flag (release) → its lowering (acquire): the fence before. A signal is ordered by the system.

use std::fmt;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering, Sleep};
use filch_queue::Padded;

use super::beat::{Clock, Due};

/// What the thieves of a pool wait for.
///
/// ```
/// use filch::protocol::ticks::{Tick, Ticks};
/// use filch_memory::Native;
///
/// let ticks = Ticks::<Native>::new(1);
/// ticks.want();
/// if ticks.clock().tick() {
///     ticks.make();
/// }
/// assert_eq!((ticks.take(0), ticks.take(0)), (Tick::Made, Tick::NotYet));
/// assert!(!ticks.clock().tick(), "nobody wants another");
/// ```
pub struct Ticks<M: Memory> {
    due: Arc<Due<M>>,
    clock: Arc<Clock<M>>,
    flags: Box<[Padded<M::AtomicBool>]>,
}

/// What an owner finds when it looks for a tick: see [`Ticks::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// A tick since its last look.
    Made,
    /// None since.
    NotYet,
    /// It has no flag, so that it cannot see ticks.
    NoFlag,
}

impl<M: Memory> fmt::Debug for Ticks<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticks").field("flags", &self.flags.len()).finish_non_exhaustive()
    }
}

impl<M: Sleep> Ticks<M> {
    /// With flags for so many owners.
    pub fn new(flags: usize) -> Self {
        let due = Arc::new(Due::new(true));
        Self {
            clock: Arc::new(Clock::new([Arc::clone(&due)])),
            due,
            flags: (0..flags).map(|_| Padded(Atomic::new(false))).collect(),
        }
    }

    /// The clock, whose thread is to [make](Self::make) a tick whenever [`Clock::tick`] says that somebody wants one.
    pub fn clock(&self) -> &Arc<Clock<M>> {
        &self.clock
    }

    /// A thief wants a tick. A request that it has made before, with a fence between, will be seen by the owners that answer it.
    pub fn want(&self) {
        // E1.
        if self.due.is_raised() {
            self.due.lower();
            self.clock.taken();
        }
    }

    /// The clock's thread: raises all flags. Whatever else tells owners to answer comes after it.
    pub fn make(&self) {
        // E1.
        // kept over AcqRel and nothing: TSO keeps the clock's two stores in order, and what an owner sees after them;
        // C11 does not, and loom cannot run the scenario.
        M::fence(Ordering::SeqCst);
        for flag in &self.flags {
            // E2.
            // kept over Relaxed: as the fence.
            flag.store(true, Ordering::Release);
        }
    }

    /// Owner `index` takes its tick: it answers once for each.
    #[inline]
    pub fn take(&self, index: usize) -> Tick {
        let Some(flag) = self.flags.get(index) else { return Tick::NoFlag };
        // Relaxed: the swap decides. E2: a store in its place could come late, and wipe out the next tick.
        // kept over Relaxed: as the clock's store.
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
    fn a_tick_is_made_for_those_who_want_one() {
        let ticks = Ticks::<Native>::new(0);
        assert!(!ticks.clock().tick());
        ticks.want();
        ticks.want();
        assert!(ticks.clock().tick() && !ticks.clock().tick());
    }
}
