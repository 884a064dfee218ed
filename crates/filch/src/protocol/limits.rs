//! The two limits: everything that an owner must know on its fast path, as two words to compare with.
//!
//! The owner of a direct task stack may push at `head` without further ado while `head < push`, and may take back the
//! job at `head` while `head >= pop`. Every reason not to is folded into these two compares: the stack is full, all
//! jobs are stolen, the job may be shared, a thief wants work.
//!
//! **Fields.** `push`, `pop`: addresses of slots, or the marks below; written by the owner on its cold path and by thieves, who
//! write only the two request marks. One cache line with what else the owner alone reads.
//!
//! **Invariants.**
//! * I1: whatever thieves write sends the owner to its cold path, where the owner's private indices decide. So a
//!   stale, lost or repeated request can cost time but never safety.
//! * I2: a request stands until the owner overwrites it in the cold path that it causes; one that races with the
//!   owner's overwriting may be lost, and an awake thief asks again. For one about to sleep, see [`sleep`](super::sleep).
//!
//! **Edges.** None: all accesses are relaxed. What a request makes the owner share is published by the index protocol.

use filch_memory::{Atomic, Memory, Ordering};

use super::waiting::{Sleeper, wake_one};

/// Below every address: no push is admitted.
const PUSH_NEVER: usize = 0;
/// Below every address, and somebody wants work.
const PUSH_WANTED: usize = 1;
/// Above every address: no pop is admitted.
const POP_NEVER: usize = usize::MAX - 1;
/// Above every address, and somebody wants work.
const POP_WANTED: usize = usize::MAX;

/// A worker that shares tasks from a stack of its own.
pub trait Sharer: Sleeper {
    /// Whether some of its forks found no place on the stack.
    fn has_aside(&self) -> bool;

    /// It has shared tasks.
    fn has_grown(&self) {}

    /// It has taken shared tasks back.
    fn has_shrunk(&self) {}
}

/// The limits of one owner.
#[derive(Debug)]
#[repr(C)]
pub struct Limits<M: Memory> {
    push: M::AtomicUsize,
    pop: M::AtomicUsize,
}

impl Limits<filch_memory::Native> {
    /// Limits that admit nothing, for a constant.
    #[allow(
        clippy::disallowed_types,
        clippy::declare_interior_mutable_const,
        reason = "constants need the concrete type's constant constructor"
    )]
    pub const CLOSED: Self = Self {
        push: std::sync::atomic::AtomicUsize::new(PUSH_NEVER),
        pop: std::sync::atomic::AtomicUsize::new(POP_NEVER),
    };
}

impl<M: Memory> Limits<M> {
    /// Limits that admit nothing: of an empty stack, of which every job counts as stolen.
    pub fn closed() -> Self {
        Self { push: Atomic::new(PUSH_NEVER), pop: Atomic::new(POP_NEVER) }
    }

    /// Owner: whether a job may be pushed at address `head` with no more ado.
    #[inline(always)]
    pub fn admits_push(&self, head: usize) -> bool {
        // Relaxed: the owner's own value, or a request, which is only a hint (I1).
        head < self.push.load(Ordering::Relaxed)
    }

    /// Owner: whether the job at address `head` is private and may be taken back with no more ado.
    #[inline(always)]
    pub fn admits_pop(&self, head: usize) -> bool {
        // Relaxed: as above.
        head >= self.pop.load(Ordering::Relaxed)
    }

    /// Owner: admits pushes below `end` and pops from `split` up. Forgets requests.
    #[inline]
    pub fn open(&self, end: usize, split: usize) {
        // Relaxed: only this thread acts on these values; thieves compare them with the marks.
        self.push.store(end, Ordering::Relaxed);
        self.pop.store(split, Ordering::Relaxed);
    }

    /// Owner: admits pushes below `end` and pops from `pop` up, and tells sleepers, if work has been shared; otherwise has the next push
    /// tell them.
    pub fn reopen(&self, sharer: &impl Sharer<Memory = M>, end: usize, pop: usize, has_shared: bool)
    where
        M: filch_memory::Sleep,
    {
        self.open(end, pop);
        if sharer.has_aside() {
            self.stop_pops();
        }
        if sharer.dormitory().sleepers().sleepers_after() {
            if has_shared {
                wake_one(sharer);
            } else {
                self.stop_next_push();
            }
        }
    }

    /// Owner: every job is stolen, so the next push must publish and the next pop must wait.
    #[inline]
    pub fn close(&self) {
        // Relaxed: as in `open`.
        self.push.store(PUSH_NEVER, Ordering::Relaxed);
        self.pop.store(POP_NEVER, Ordering::Relaxed);
    }

    /// Owner: sends the next push to the cold path: nothing could be shared now, and somebody sleeps who wants work.
    #[inline]
    pub fn stop_next_push(&self) {
        // Relaxed: as in `open`.
        self.push.store(PUSH_WANTED, Ordering::Relaxed);
    }

    /// Owner: sends every pop to the cold path, as long as there are jobs that found no place on the stack.
    #[inline]
    pub fn stop_pops(&self) {
        // Relaxed: as in `open`.
        self.pop.store(POP_NEVER, Ordering::Relaxed);
    }

    /// Owner: whether somebody wants work.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        // Relaxed: a request that is seen late is answered late.
        self.pop.load(Ordering::Relaxed) == POP_WANTED || self.push.load(Ordering::Relaxed) == PUSH_WANTED
    }

    /// Thief: asks for work; `false` if a request stands already, and then nothing is written, so that the line stays
    /// shared.
    #[inline]
    pub fn request(&self) -> bool {
        // Relaxed: see I1 and I2. Both limits: the owner may have overwritten one between a thief's two stores, and a
        // sleeper relies on the next push.
        if self.push.load(Ordering::Relaxed) == PUSH_WANTED && self.pop.load(Ordering::Relaxed) == POP_WANTED {
            return false;
        }
        self.push.store(PUSH_WANTED, Ordering::Relaxed);
        self.pop.store(POP_WANTED, Ordering::Relaxed);
        true
    }
}
