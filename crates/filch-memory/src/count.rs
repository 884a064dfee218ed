//! Counts of the fences and locked instructions that threads execute, which are the cost of synchronisation.
//!
//! They exist only with the feature `count`; without it no instruction is spent on them. With it every counted
//! operation costs a few nanoseconds more, so do not time a program that counts. Only the operations of
//! [`Memory`](crate::Memory) and its atomics' traits count, which the algorithms use; calls by the standard library's
//! own names do not.
//!
//! A thread counts its operations as an owner, and separately its operations [while it steals](stealing): thieves that
//! find nothing try again and again, and would hide the owners' operations.
//!
//! Invariant: a count has one writer, its thread; readers need only a statistic.

/// Counts the operations that `f` executes as a thief's.
#[inline(always)]
pub fn stealing<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(feature = "count")]
    let _role = counting::Role::thief();
    f()
}

#[cfg(feature = "count")]
pub use counting::{Counted, Operations, Thread};
#[cfg(feature = "count")]
pub(crate) use counting::{Kind, executes};

#[cfg(feature = "count")]
#[allow(clippy::disallowed_types, reason = "these do not belong to the algorithms and must not be counted")]
mod counting {
    use core::cell::Cell;
    use core::sync::atomic::{AtomicU64, Ordering};
    use std::sync::Arc;

    /// The number of operations of each kind.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Operations {
        /// Sequentially consistent [fences](crate::Memory::fence). Weaker fences are not counted: on x86-64 they are no
        /// instructions.
        pub fences: u64,
        /// Atomic read–modify–writes, whether or not they wrote, and sequentially consistent stores, which a processor
        /// treats alike.
        pub locked: u64,
        /// [Heavy barriers](crate::Asymmetric::heavy_barrier).
        pub barriers: u64,
    }

    /// The operations that a thread has executed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Counted {
        /// While it did not steal.
        pub owner: Operations,
        /// While it stole.
        pub thief: Operations,
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Kind {
        Fence,
        Locked,
        Barrier,
    }

    #[derive(Debug, Default)]
    struct Counts {
        /// By [`Kind`].
        owner: [AtomicU64; 3],
        thief: [AtomicU64; 3],
    }

    thread_local! {
        static COUNTS: Arc<Counts> = Arc::default();
        static STEALS: Cell<bool> = const { Cell::new(false) };
    }

    /// Counts an operation of the current thread. Operations during the destruction of its locals are not counted.
    pub(crate) fn executes(kind: Kind) {
        let _ = COUNTS.try_with(|counts| {
            let count = &if STEALS.get() { &counts.thief } else { &counts.owner }[kind as usize];
            // Relaxed: one writer; a statistic.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        });
    }

    /// The former role, restored on drop.
    pub(super) struct Role(bool);

    impl Role {
        pub(super) fn thief() -> Self {
            Self(STEALS.replace(true))
        }
    }

    impl Drop for Role {
        fn drop(&mut self) {
            STEALS.set(self.0);
        }
    }

    /// A thread whose counts others can read.
    ///
    /// ```
    /// use filch_memory::count::{Thread, stealing};
    /// use filch_memory::{Atomic, AtomicInt, Memory, Native, Ordering};
    ///
    /// fn work<M: Memory>() {
    ///     let word = M::AtomicU32::new(1);
    ///     word.store(2, Ordering::Release);
    ///     M::fence(Ordering::SeqCst);
    ///     stealing(|| word.fetch_add(1, Ordering::AcqRel));
    /// }
    /// let thread = Thread::current();
    /// let before = thread.counted();
    /// work::<Native>();
    /// let after = thread.counted();
    /// assert_eq!((after.owner.fences - before.owner.fences, after.owner.locked - before.owner.locked), (1, 0));
    /// assert_eq!((after.thief.fences - before.thief.fences, after.thief.locked - before.thief.locked), (0, 1));
    /// ```
    #[derive(Clone, Debug)]
    pub struct Thread(Arc<Counts>);

    impl Thread {
        /// Returns the current thread.
        pub fn current() -> Self {
            Self(COUNTS.with(Arc::clone))
        }

        /// Returns the operations executed so far, exactly if all of the thread's operations happen before this call.
        pub fn counted(&self) -> Counted {
            let read = |counts: &[AtomicU64; 3]| {
                // Relaxed: a statistic.
                let of = |kind: Kind| counts[kind as usize].load(Ordering::Relaxed);
                Operations { fences: of(Kind::Fence), locked: of(Kind::Locked), barriers: of(Kind::Barrier) }
            };
            Counted { owner: read(&self.0.owner), thief: read(&self.0.thief) }
        }
    }
}
