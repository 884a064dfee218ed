//! The two limits: everything that an owner must know on its fast path, in two words.
//!
//! The owner of a direct task stack may push at `head` on the fast path while `head < push`, and take back the job at
//! `head` while `head >= pop`. The two compares cover every exception: the stack is full, all jobs are stolen, the job
//! may be shared, a thief wants work.
//!
//! **Fields.** `push`, `pop`: addresses of slots, or the marks below; written by the owner on its cold path and by
//! thieves, which write only the two request marks. They share a cache line only with data that the owner alone reads.
//! `floor`: the owner's alone. Below this address no pop is admitted, even of a private job, because a job that the
//! owner has spawned is newer.
//!
//! **Invariants.**
//! * I1: any mark that a thief writes sends the owner to its cold path, where the owner's private indices decide. So a
//!   stale, lost or repeated request can cost time but not safety.
//! * I2: a request stands until the owner overwrites it on the cold path that it causes. A request that races with the
//!   overwriting may be lost; an awake thief then asks again. For a thief about to sleep, see [`sleep`](super::sleep).
//!
//! **Edges.** None: all accesses are relaxed. The index protocol publishes what a request makes the owner share.

use std::mem::offset_of;

use filch_memory::{Atomic, Memory, Ordering};

use super::sharer::{Sharer, Time};

/// Below every address: no push is admitted.
const PUSH_NEVER: usize = 0;
/// Below every address, and somebody wants work.
const PUSH_WANTED: usize = 1;
/// Above every address: no pop is admitted.
const POP_NEVER: usize = usize::MAX;
/// Marks from here up to [`POP_NEVER`]: above every address, and somebody wants work; the difference from here is the
/// time of the request. If addresses take all bits, there is one such mark and no time.
const POP_WANTED: usize = if usize::BITS < 64 { usize::MAX - 1 } else { 1 << 63 };

/// The limits of one owner.
#[derive(Debug)]
#[repr(C)]
pub struct Limits<M: Memory> {
    push: M::AtomicUsize,
    pop: M::AtomicUsize,
    floor: M::AtomicUsize,
}

impl Limits<filch_memory::Native> {
    /// The offsets of the push limit and of the pop limit.
    pub const OFFSETS: [usize; 2] = [offset_of!(Self, push), offset_of!(Self, pop)];

    /// Limits that admit nothing, for a constant.
    #[allow(
        clippy::disallowed_types,
        clippy::declare_interior_mutable_const,
        reason = "constants need the concrete type's constant constructor"
    )]
    pub const CLOSED: Self = Self {
        push: std::sync::atomic::AtomicUsize::new(PUSH_NEVER),
        pop: std::sync::atomic::AtomicUsize::new(POP_NEVER),
        floor: std::sync::atomic::AtomicUsize::new(0),
    };
}

impl<M: Memory> Limits<M> {
    /// Limits that admit nothing, for an empty stack, where every job counts as stolen.
    pub fn closed() -> Self {
        Self { push: Atomic::new(PUSH_NEVER), pop: Atomic::new(POP_NEVER), floor: Atomic::new(0) }
    }

    /// Owner: returns whether it may push a job at address `head` on the fast path.
    #[inline(always)]
    pub fn admits_push(&self, head: usize) -> bool {
        // Relaxed: the owner's own value, or a request, which is a hint (I1).
        head < self.push.load(Ordering::Relaxed)
    }

    /// Owner: returns whether it may take back the job at address `head`, which is then private, on the fast path.
    #[inline(always)]
    pub fn admits_pop(&self, head: usize) -> bool {
        // Relaxed: as above.
        head >= self.pop.load(Ordering::Relaxed)
    }

    /// Owner: admits pushes below `end`, and pops from `split` and the [floor](Limits::set_floor) up. Forgets requests.
    #[inline]
    pub fn open(&self, end: usize, split: usize) {
        // Relaxed: only this thread acts on these values; thieves only compare them with the marks.
        self.push.store(end, Ordering::Relaxed);
        self.pop.store(split.max(self.floor.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    /// Owner: from now on admits no pop below `floor`, an address below the marks.
    pub fn raise_floor(&self, floor: usize) {
        self.set_floor(floor);
        // Relaxed, all: as in `open`. A request that arrives meanwhile stays.
        let pop = self.pop.load(Ordering::Relaxed);
        if pop < floor {
            let _has_changed = self.pop.compare_exchange(pop, floor, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Owner: from the next [`open`](Limits::open) on admits no pop below `floor`.
    pub fn set_floor(&self, floor: usize) {
        debug_assert!(floor < POP_WANTED, "a floor is no mark");
        // Relaxed: only this thread reads it.
        self.floor.store(floor, Ordering::Relaxed);
    }

    /// Owner: admits pushes below `end` and pops from `pop` up. Returns whether anybody sleeps. The caller must then
    /// wake a sleeper if it has shared work, or else [make the next push cold](Limits::stop_next_push).
    #[must_use]
    pub fn reopen(&self, sharer: &impl Sharer<Memory = M>, end: usize, pop: usize) -> bool
    where
        M: filch_memory::Sleep,
    {
        self.open(end, pop);
        if sharer.has_aside() {
            self.stop_pops();
        }
        sharer.sleepers().sleepers_after()
    }

    /// Owner: admits nothing. Every job is stolen, so the next push must publish and the next pop must wait.
    #[inline]
    pub fn close(&self) {
        // Relaxed: as in `open`.
        self.push.store(PUSH_NEVER, Ordering::Relaxed);
        self.pop.store(POP_NEVER, Ordering::Relaxed);
    }

    /// Owner: sends the next push to the cold path, because there was nothing to share and a sleeper wants work.
    #[inline]
    pub fn stop_next_push(&self) {
        // Relaxed: as in `open`.
        self.push.store(PUSH_WANTED, Ordering::Relaxed);
    }

    /// Owner: sends every pop to the cold path while there are jobs that found no room on the stack.
    #[inline]
    pub fn stop_pops(&self) {
        // Relaxed: as in `open`.
        self.pop.store(POP_NEVER, Ordering::Relaxed);
    }

    /// Owner: returns whether somebody wants work.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        // Relaxed: a request seen late is answered late.
        self.is_asked() || self.push.load(Ordering::Relaxed) == PUSH_WANTED
    }

    /// Owner: returns whether a thief has asked for work.
    #[inline]
    pub fn is_asked(&self) -> bool {
        // Relaxed: as above.
        is_wanted(self.pop.load(Ordering::Relaxed))
    }

    /// Owner: returns the time of the standing request, if known.
    pub fn asked_at(&self) -> Option<Time> {
        // Relaxed: a hint, as above.
        let pop = self.pop.load(Ordering::Relaxed);
        (usize::BITS == 64 && is_wanted(pop)).then(|| (pop - POP_WANTED) as Time)
    }

    /// Thief: asks for work at the time `now`. Returns `false` if a request stands already or the limits admit nothing;
    /// then it writes nothing, so that the cache line stays shared.
    #[inline]
    pub fn request(&self, now: impl FnOnce() -> Time) -> bool {
        // Relaxed: see I1 and I2. Checks both limits: the owner may have overwritten one between a thief's two stores,
        // and a sleeper relies on the next push.
        let (push, pop) = (self.push.load(Ordering::Relaxed), self.pop.load(Ordering::Relaxed));
        if pop >= POP_WANTED && push <= PUSH_WANTED && (push == PUSH_NEVER) == (pop == POP_NEVER) {
            return false;
        }
        let wanted = if usize::BITS < 64 { POP_WANTED } else { POP_WANTED | (now() as usize & (POP_WANTED / 2 - 1)) };
        self.push.store(PUSH_WANTED, Ordering::Relaxed);
        self.pop.store(wanted, Ordering::Relaxed);
        true
    }
}

fn is_wanted(pop: usize) -> bool {
    (POP_WANTED..POP_NEVER).contains(&pop)
}
