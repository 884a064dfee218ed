//! The shared parts of the fence-free queues: δ, and the store that keeps the owner's stores countable.
//!
//! **Paper.** Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! <https://doi.org/10.1145/2541940.2541987>.
//!
//! **Idea.** A processor with total store order executes a load while earlier stores still wait in its store buffer. So
//! when the owner lowers T and then reads H, a thief may still see the old T. But the buffer has a bounded number of
//! entries, S, and its stores reach memory in program order. If at most δ of the entries can be stores that lower T,
//! the owner is never more than δ below the T that a thief reads. If the thief stays more than δ away, the owner needs
//! no fence.
//!
//! **How many.** Between two stores that lower T the owner makes at least one other store, to another cache line: the
//! pad, or in THEP the echo. So δ = ⌈S / 2⌉. Without that store, a processor that merges stores to one address as they
//! leave the buffer could hide any number of them. S counts the place of a store that is leaving, too.
//!
//! **Memory model.** TSO\[S\], which Rust's model does not cover. Rust's model still applies to these queues where it
//! can: releases and acquires publish tasks and slots. Only the guarantee that two threads never take the same task
//! relies on the bound, on x86-64's order among stores and among loads, and on the compiler's keeping the owner's
//! accesses in program order: they are atomic, with compiler fences in between, and a test checks the emitted
//! instructions.

use filch_memory::{Atomic, Memory, Ordering};

use crate::Padded;

/// How far a thief keeps away from the owner: the most stores lowering T that the owner's store buffer can hide.
///
/// The default is infinite, which is right for any store buffer: a thief of [`FfThe`](crate::FfThe) or
/// [`FfCl`](crate::FfCl) then gets nothing, and a thief of [`Thep`](crate::Thep) always waits for the owner's echo. A
/// finite δ is a promise about the processor:
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Delta, FfCl, Owner, Queue, Steal, Task, Thief};
///
/// // SAFETY: no x86-64 processor that we know of can have more than 192 stores pending.
/// let delta = unsafe { Delta::from_bound(Delta::ASSUMED_BOUND) };
/// let (mut owner, mut thieves) = <FfCl as Queue>::make(100, 1, &delta);
/// for n in 1..=97 {
///     assert_eq!(thieves[0].steal().task(), None);
///     owner.push(Task::from_id(NonZeroUsize::new(n).unwrap())).unwrap();
/// }
/// assert!(thieves[0].steal().is_task()); // one task; 96 are left
/// assert_eq!(thieves[0].steal(), Steal::Aborted);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delta(i64);

impl Delta {
    /// The safe setting: the owner may be anywhere below the T that a thief reads.
    pub const INFINITE: Self = Self(i64::MAX);

    /// The bound S to assume whatever the processor: more than half as many again, and one, as any documented store
    /// buffer has entries, which is 169 for a Golden Cove (112 entries) and 157 for a Zen 5 (104). `filch probe litmus`
    /// has seen 113 pending stores on a Golden Cove, and 73 on a Zen 4 (64). It does not depend on the model that the
    /// processor names, since virtual machines often name an older one.
    pub const ASSUMED_BOUND: usize = 192;

    /// Stores to other lines that the owner makes between two that lower T: its pad store, or its echo.
    const STORES_BETWEEN: usize = 1;

    /// Returns δ for a processor on which at most `entries` stores can be pending: ⌈S / 2⌉, at least 1.
    ///
    /// # Safety
    /// * On every processor that runs an owner of a queue made with this δ, no load executes while more than `entries`
    ///   of its thread's earlier stores are pending, in the store buffer or just leaving it.
    pub const unsafe fn from_bound(entries: usize) -> Self {
        let delta = entries.div_ceil(Self::STORES_BETWEEN + 1);
        // SAFETY: among `entries` pending stores at most `delta` lower T, since others lie between them.
        unsafe { Self::new(if delta == 0 { 1 } else { delta }) }
    }

    /// Makes this δ, for checkers and for owners that store more between two pops.
    ///
    /// # Safety
    /// * On every processor that runs an owner of a queue made with this δ, no load executes while more than `delta` of
    ///   its thread's earlier stores that lower T are pending.
    pub const unsafe fn new(delta: usize) -> Self {
        // A δ too large to represent exceeds the length of any queue.
        Self(if delta > i64::MAX as usize { i64::MAX } else { delta as i64 })
    }

    /// Returns the number, if it is finite.
    ///
    /// ```
    /// assert_eq!(filch_queue::Delta::default().get(), None);
    /// ```
    pub const fn get(self) -> Option<usize> {
        if self.0 == i64::MAX { None } else { Some(self.0 as usize) }
    }

    /// Returns whether the oldest of `tasks` tasks, counted from the T that a thief reads, is out of the owner's reach.
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

/// A word that the owner writes and no thread reads, on a cache line of its own.
///
/// The owner shares it with the thieves, so that no compiler can know that no thread reads it.
pub(crate) struct Pad<M: Memory>(Padded<M::AtomicI64>);

impl<M: Memory> Pad<M> {
    pub(crate) fn new() -> Self {
        Self(Padded(Atomic::new(0)))
    }

    /// Makes one store between two that lower T. The value is T, so it varies if pads follow each other.
    #[inline]
    pub(crate) fn store(&self, tail: i64) {
        // Relaxed: no thread reads it.
        self.0.store(tail, Ordering::Relaxed);
        // Prevents the compiler from merging this store with the next.
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
