//! What the fence-free queues share: δ, and the store that keeps the owner's stores countable.
//!
//! **Paper.** Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! <https://doi.org/10.1145/2541940.2541987>.
//!
//! **Idea.** A processor with total store order executes a load while earlier stores still wait in its store buffer, so
//! an owner that lowers T and then reads H may be seen at its old T. But the buffer has a bounded number of entries, S,
//! and its stores reach memory in program order. If at most δ of the entries can be stores that lower T, the owner is
//! never further than δ below the T that a thief reads. A thief that stays more than δ away needs no fence on the
//! owner's side.
//!
//! **How many.** Between two stores that lower T the owner makes at least one other store, to another cache line: the
//! pad, or in THEP the echo. So δ = ⌈S / 2⌉. Without it, a processor that merges stores to one address on their way
//! out of the buffer could hide any number of them. S counts that last place too.
//!
//! **Memory model.** TSO\[S\]; Rust's has no word for it. What Rust's model says of these queues still holds and is
//! used: releases and acquires publish tasks and slots. Only that two threads never take the same task rests on the
//! bound, on x86-64 stores and loads keeping their kinds' order, and on the compiler's keeping the owner's accesses in
//! program order: they are atomic, with compiler fences in between, and the emitted instructions are tested.

use filch_memory::{Atomic, Memory, Ordering};

use crate::Padded;

/// How far a thief keeps away from the owner: the most stores lowering T that the owner's store buffer can hide.
///
/// The default is infinite, which is right for any store buffer: a thief of [`FfThe`](crate::FfThe) or
/// [`FfCl`](crate::FfCl) then gets nothing, one of [`Thep`](crate::Thep) always waits for the owner's echo. A finite
/// one is a promise about the processor:
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Delta, FfCl, Owner, Queue, Steal, Task, Thief};
///
/// // SAFETY: no x86-64 processor that we know of has a store buffer of more than 128 entries.
/// let delta = unsafe { Delta::from_bound(Delta::ASSUMED_BOUND) };
/// let (mut owner, mut thieves) = <FfCl as Queue>::make(100, 1, &delta);
/// for n in 1..=65 {
///     assert_eq!(thieves[0].steal().task(), None);
///     owner.push(Task::from_id(NonZeroUsize::new(n).unwrap())).unwrap();
/// }
/// assert!(thieves[0].steal().is_task()); // one, and 64 are left
/// assert_eq!(thieves[0].steal(), Steal::Aborted);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delta(i64);

impl Delta {
    /// The safe setting: the owner may be anywhere below the T that a thief reads.
    pub const INFINITE: Self = Self(i64::MAX);

    /// The bound S to assume where nothing has been measured: more than any documented store buffer has.
    pub const ASSUMED_BOUND: usize = 128;

    /// Stores to other lines that the owner makes between two that lower T: its pad store, or its echo.
    const STORES_BETWEEN: usize = 1;

    /// δ for a processor on which no more than `entries` stores can be pending: ⌈S / 2⌉, at least 1.
    ///
    /// # Safety
    /// * On every processor that an owner of a queue made with this δ runs on, no load executes while more than
    ///   `entries` of its thread's earlier stores are pending: the entries of the store buffer, and the one that a
    ///   store takes on its way out of it, if there is one.
    pub const unsafe fn from_bound(entries: usize) -> Self {
        let delta = entries.div_ceil(Self::STORES_BETWEEN + 1);
        // SAFETY: of so many pending stores, one in two lowers T.
        unsafe { Self::new(if delta == 0 { 1 } else { delta }) }
    }

    /// This δ, for checkers and for owners that store more between two pops.
    ///
    /// # Safety
    /// * On every processor that an owner of a queue made with this δ runs on, no load executes while more than `delta`
    ///   of its thread's earlier stores that lower T are pending.
    pub const unsafe fn new(delta: usize) -> Self {
        // More than fits is more than any queue holds.
        Self(if delta > i64::MAX as usize { i64::MAX } else { delta as i64 })
    }

    /// The number, if it is finite.
    ///
    /// ```
    /// assert_eq!(filch_queue::Delta::default().get(), None);
    /// ```
    pub const fn get(self) -> Option<usize> {
        if self.0 == i64::MAX { None } else { Some(self.0 as usize) }
    }

    /// Whether the oldest of `tasks` tasks, as a thief reads T, is out of the owner's reach.
    #[inline]
    pub(crate) const fn is_beyond(self, tasks: i64) -> bool {
        tasks > self.0
    }
}

impl Default for Delta {
    fn default() -> Self {
        Self::INFINITE
    }
}

/// A word that the owner writes and nobody reads, on a cache line of its own.
///
/// It lies in what owner and thieves share, so that no compiler can know that nobody reads it.
pub(crate) struct Pad<M: Memory>(Padded<M::AtomicI64>);

impl<M: Memory> Pad<M> {
    pub(crate) fn new() -> Self {
        Self(Padded(Atomic::new(0)))
    }

    /// One store between two that lower T. The value varies where the pads might otherwise follow each other: T's.
    #[inline]
    pub(crate) fn store(&self, tail: i64) {
        // Relaxed: nobody reads it.
        self.0.store(tail, Ordering::Relaxed);
        // Keeps the compiler from merging it with the next one.
        M::compiler_fence();
    }
}

#[cfg(test)]
mod tests {
    use super::Delta;

    #[test]
    fn no_delta_is_too_large() {
        // SAFETY: no queue is made with them.
        let largest = unsafe { [Delta::new(usize::MAX), Delta::new(1 << 63), Delta::from_bound(usize::MAX)] };
        for delta in largest {
            assert!(!delta.is_beyond(i64::MAX), "{delta:?}");
            assert_eq!(delta.get(), None);
        }
    }
}
