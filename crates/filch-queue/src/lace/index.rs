//! The index protocol of the split deque: which side may take which index. It leaves storage to its users, so that the
//! word queue ([`Lace`](super::Lace)) and filch's direct task stack share it.
//!
//! **Paper.** Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014,
//! figures 2–4.
//!
//! **Idea.** Three indices, tail ≤ split ≤ head. Thieves take at tail, with one compare-and-swap each, and only below
//! split. At and above split the owner works without synchronisation. Only the owner moves split: up (`grow`), which
//! shares work, and down (`shrink`), which takes work back. Tail and split are one word, so every decision is about a
//! single location.
//!
//! **Fields.** [`SharedIndex`], one cache line: `word` = (tail: low 32 bits, split: high 32 bits), written by the owner
//! and by thieves that win; `all_stolen`, written by the owner, read by thieves as a hint. [`OwnerIndex`], private to
//! the owner: its own copies of split and of `all_stolen`, which are authoritative.
//!
//! **Invariants.** (Differences of indices are signed 32-bit numbers, so that the indices may wrap in a ring.)
//! * I1: while not `all_stolen`, tail ≤ split ≤ head; while `all_stolen`, tail ≥ split and every task is stolen.
//! * I2: while not `all_stolen`, the owner's copy of split equals the word's.
//! * I3: only a fresh word, written under `all_stolen`, ever lowers tail.
//! * I4: no steal returns an index at or above the split in force at its compare-and-swap.
//!
//! **Edges.**
//! * E1: `begin_at`'s store and `raise`'s addition or half store (release) → the load and compare-and-swap in
//!   `steal_several` (acquire): the slots below split are written before split passes them. Later read–modify–writes of
//!   the word, by any thread, continue the release sequence.
//!
//! * F: if half stores move split, the fence in `lower` forbids this outcome: after the owner has read tail, a thief
//!   wins an index above the new split.
//!
//! **Memory model.** Rust's. The paper's x86 form stores half of the word and fences ([`Moves::HalfStores`]). Rust has
//! no mixed-size atomics, so by default `shrink` and `grow` are each one read–modify–write of the whole word, and no
//! fence is left: a thief's compare-and-swap either precedes the owner's subtraction, which then returns the exact
//! tail, or follows it, and then the thief sees the smaller split. The stores to half of the word are assembly, and
//! mean an update of the whole word to Rust: [`Memory::store_high`].
//!
//! **Progress.** Owner wait-free, steal lock-free. **Departures.** The read–modify–writes above. By default `split`
//! after growing and shrinking is the paper's mean; the paper tries no other [`Amount`]. A thief may take several
//! indices with one compare-and-swap, which the paper proposes and finds useless on one NUMA machine.

use filch_memory::{Atomic, AtomicInt, Memory, Ordering};

use crate::Amount;

/// The half of the indices that thieves see. Keep it on its own cache line.
#[derive(Debug)]
pub struct SharedIndex<M: Memory> {
    word: M::AtomicU64,
    all_stolen: M::AtomicBool,
}

/// The owner's private half.
#[derive(Debug)]
pub struct OwnerIndex {
    split: u32,
    all_stolen: bool,
    moves: Moves,
}

/// How the owner moves split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Moves {
    /// By updates of the word, up and down. The default.
    #[default]
    Updates,
    /// By stores to half of the word, and a fence on the way down, as printed in the paper for x86. On other targets,
    /// by updates and that fence, since these have no such stores.
    HalfStores,
}

/// The outcome of the owner's attempt to take tasks back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shrink {
    /// The newest task is the owner's.
    Back,
    /// Split moved down, but thieves had taken all tasks meanwhile.
    TooLate,
    /// Thieves had taken all tasks, and split did not move.
    NothingShared,
}

impl Shrink {
    /// Whether the newest task is the owner's.
    #[inline]
    pub const fn has_task(self) -> bool {
        matches!(self, Self::Back)
    }

    /// Whether split moved down. Only a move down fences.
    #[inline]
    pub const fn has_moved(self) -> bool {
        matches!(self, Self::Back | Self::TooLate)
    }
}

/// The outcome of a thief's attempt on the indices. `I` is one index, or the first of several and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealIndex<I = u32> {
    /// The thief alone is entitled to the index from here on.
    Index(I),
    /// The owner knows of no task at all: asking it to share is useless.
    AllStolen,
    /// Nothing is shared; the owner may have private tasks, so asking it to share may help.
    NothingShared,
    /// Another thief, or the owner, moved first.
    Retry,
}

impl<I> StealIndex<I> {
    /// Converts what the thief has won.
    ///
    /// ```
    /// use filch_queue::lace::index::StealIndex;
    ///
    /// assert_eq!(StealIndex::Index(3).map(|index| index + 1), StealIndex::Index(4));
    /// ```
    #[inline]
    pub fn map<J>(self, with: impl FnOnce(I) -> J) -> StealIndex<J> {
        match self {
            Self::Index(won) => StealIndex::Index(with(won)),
            Self::AllStolen => StealIndex::AllStolen,
            Self::NothingShared => StealIndex::NothingShared,
            Self::Retry => StealIndex::Retry,
        }
    }
}

const fn pack(tail: u32, split: u32) -> u64 {
    tail as u64 | (split as u64) << 32
}

const fn unpack(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// Returns how far `b` is above `a`; negative if below.
const fn distance(a: u32, b: u32) -> i32 {
    b.wrapping_sub(a) as i32
}

impl<M: Memory> SharedIndex<M> {
    /// Makes the indices of an empty deque, and the owner's half of them. The owner moves split as `moves` says.
    pub fn new(moves: Moves) -> (Self, OwnerIndex) {
        let shared = Self { word: Atomic::new(0), all_stolen: Atomic::new(true) };
        (shared, OwnerIndex { split: 0, all_stolen: true, moves })
    }

    /// Tries to take the index at tail. Lock-free; one compare-and-swap if anything is shared.
    #[inline]
    pub fn steal(&self) -> StealIndex {
        self.steal_several(|_, _| 1).map(|(index, _)| index)
    }

    /// As [`steal`](Self::steal), but takes only an index below this one. For an owner that never lets indices wrap.
    #[inline]
    pub fn steal_below(&self, below: u32) -> StealIndex {
        self.steal_several(|tail, _| u32::from(distance(tail, below) > 0)).map(|(index, _)| index)
    }

    /// Tries to take `of(tail, n)` of the n shared indices, from tail upwards; n is at least one. If that is none, then
    /// nothing counts as shared.
    #[inline]
    pub fn steal_several(&self, of: impl FnOnce(u32, u32) -> u32) -> StealIndex<(u32, u32)> {
        // A hint: the word decides. A stale value costs one attempt or one request.
        if self.all_stolen.load(Ordering::Relaxed) {
            return StealIndex::AllStolen;
        }
        // E1: pairs with `begin_at` and `raise`.
        // kept over Relaxed: it costs nothing on x86-64; the thief uses only what the compare-and-swap took, which
        // acquires too.
        let word = self.word.load(Ordering::Acquire);
        let (tail, split) = unpack(word);
        if distance(tail, split) <= 0 {
            return StealIndex::NothingShared;
        }
        let count = of(tail, split.wrapping_sub(tail));
        if count == 0 {
            return StealIndex::NothingShared;
        }
        // E1 again: the word may have changed and returned since the load, so the owner's latest publication must
        // precede this read, not just the load. No release: no thread relies on the word alone for a thief's writes.
        let taken = pack(tail.wrapping_add(count), split);
        match self.word.compare_exchange(word, taken, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => StealIndex::Index((tail, count)),
            Err(_) => StealIndex::Retry,
        }
    }

    /// Returns whether a thief that looked now would find something to take. A snapshot.
    #[inline]
    pub fn has_shared(&self) -> bool {
        self.shared_now() > 0
    }

    /// Returns how many indices a thief that looked now would find to take. A snapshot.
    #[inline]
    pub fn shared_now(&self) -> usize {
        self.snapshot().map_or(0, |(tail, split)| distance(tail, split) as usize)
    }

    /// Returns the index above those that a thief that looked now would find to take, or 0. A snapshot, for an owner
    /// that never lets indices wrap.
    #[inline]
    pub fn shared_end(&self) -> u32 {
        self.snapshot().map_or(0, |(_, split)| split)
    }

    /// Returns tail and split, if anything is shared.
    #[inline]
    fn snapshot(&self) -> Option<(u32, u32)> {
        // Relaxed, both: a hint; threads that act on it go through `steal`.
        let (tail, split) = unpack(self.word.load(Ordering::Relaxed));
        (!self.is_all_stolen() && distance(tail, split) > 0).then_some((tail, split))
    }

    /// Returns whether an unstolen task lies below `private`, or is shared and lies below `shared`. A snapshot.
    #[inline]
    pub fn has_unstolen_below(&self, shared: u32, private: u32) -> bool {
        // Relaxed: a hint, as above.
        let (tail, split) = unpack(self.word.load(Ordering::Relaxed));
        let is_below = |end: u32| distance(tail, end) > 0;
        !self.is_all_stolen() && (is_below(shared) && is_below(split) || is_below(private))
    }

    /// Returns whether the owner may have unshared tasks below `head`. A snapshot.
    #[inline]
    pub fn has_private(&self, head: u32) -> bool {
        // Relaxed: a hint, as above.
        let (_, split) = unpack(self.word.load(Ordering::Relaxed));
        !self.is_all_stolen() && distance(split, head) > 0
    }

    /// Returns whether the owner has declared every task stolen. A snapshot.
    #[inline]
    pub fn is_all_stolen(&self) -> bool {
        // Relaxed: a hint, as in `steal_several`.
        self.all_stolen.load(Ordering::Relaxed)
    }
}

impl OwnerIndex {
    /// Returns the boundary: the owner may take index `i` without synchronisation if `i` ≥ split and not [all stolen].
    ///
    /// [all stolen]: OwnerIndex::is_all_stolen
    #[inline]
    pub fn split(&self) -> u32 {
        self.split
    }

    /// Returns whether every task in the deque is known to be stolen.
    #[inline]
    pub fn is_all_stolen(&self) -> bool {
        self.all_stolen
    }

    /// Returns the shared indices, unless [all are stolen](OwnerIndex::is_all_stolen). A snapshot: thieves may have
    /// taken some of them meanwhile.
    #[inline]
    pub fn shared<M: Memory>(&self, shared: &SharedIndex<M>) -> core::ops::Range<u32> {
        self.tail(shared)..self.split
    }

    /// Returns tail, or an earlier value of it.
    #[inline]
    fn tail<M: Memory>(&self, shared: &SharedIndex<M>) -> u32 {
        // Relaxed, both: no thread relies on it.
        match self.moves {
            Moves::Updates => unpack(shared.word.load(Ordering::Relaxed)).0,
            Moves::HalfStores => M::load_low(&shared.word, Ordering::Relaxed),
        }
    }

    /// Raises split, over tasks that have been written.
    #[inline]
    fn raise<M: Memory>(&mut self, shared: &SharedIndex<M>, by: u32) {
        let split = self.split.wrapping_add(by);
        // E1, both: pair with `steal_several`.
        match self.moves {
            // The addition to the high half overflows out of the word and leaves tail alone.
            Moves::Updates => _ = shared.word.fetch_add(pack(0, by), Ordering::Release),
            Moves::HalfStores => M::store_high(&shared.word, self.split, split, Ordering::Release),
        }
        self.split = split;
    }

    /// Lowers split, and returns the exact tail: later steals see the lower split.
    #[inline]
    fn lower<M: Memory>(&mut self, shared: &SharedIndex<M>, by: u32) -> u32 {
        let split = self.split.wrapping_sub(by);
        // Relaxed, all: this thread wrote the tasks that come back, and a read–modify–write of any ordering continues
        // the release sequence of E1 for the tasks that stay shared.
        let tail = match self.moves {
            Moves::Updates => unpack(shared.word.fetch_sub(pack(0, by), Ordering::Relaxed)).0,
            Moves::HalfStores => {
                M::store_high(&shared.word, self.split, split, Ordering::Relaxed);
                // F: pairs with the compare-and-swap in `steal_several`. Without the fence, a thief may win an index
                // above the new split, whose store is on its way, after this thread has read tail.
                M::fence(Ordering::SeqCst);
                M::load_low(&shared.word, Ordering::Relaxed)
            }
        };
        self.split = split;
        tail
    }

    /// Publishes the task at `index`, the only one that is not stolen. Precondition: [`OwnerIndex::is_all_stolen`], and
    /// the task has been written.
    #[inline]
    pub fn publish_first<M: Memory>(&mut self, shared: &SharedIndex<M>, index: u32) {
        self.begin_at(shared, index, index.wrapping_add(1));
    }

    /// Declares that nothing is shared, and that the owner keeps its tasks from `head` on. Precondition:
    /// [`OwnerIndex::is_all_stolen`], and the tasks below are stolen.
    #[inline]
    pub fn keep_next<M: Memory>(&mut self, shared: &SharedIndex<M>, head: u32) {
        self.begin_at(shared, head, head);
    }

    /// Shares the tasks `[tail, split)`, and nothing else. Precondition: [`OwnerIndex::is_all_stolen`].
    #[inline]
    fn begin_at<M: Memory>(&mut self, shared: &SharedIndex<M>, tail: u32, split: u32) {
        debug_assert!(self.all_stolen, "a fresh word would lose tasks that thieves may still take");
        // E1: pairs with the load and the compare-and-swap in `steal_several`. No thief changes the word meanwhile: I1.
        shared.word.store(pack(tail, split), Ordering::Release);
        // Relaxed: a hint. The store follows the word's, so a thief that sees it mostly sees the word too.
        shared.all_stolen.store(false, Ordering::Relaxed);
        self.split = split;
        self.all_stolen = false;
    }

    /// Shares the older half, rounded up, of the private tasks `[split, head)`; returns how many. Precondition: not
    /// [`OwnerIndex::is_all_stolen`], and the tasks have been written. One read–modify–write, or a store, if anything
    /// is shared.
    #[inline]
    pub fn grow<M: Memory>(&mut self, shared: &SharedIndex<M>, head: u32) -> u32 {
        self.grow_by(shared, head, Amount::Half)
    }

    /// Does what [`OwnerIndex::grow`] does, for this amount.
    #[inline]
    pub fn grow_by<M: Memory>(&mut self, shared: &SharedIndex<M>, head: u32, amount: Amount) -> u32 {
        debug_assert!(!self.all_stolen && distance(self.split, head) >= 0, "the state rule: I1");
        let private = head.wrapping_sub(self.split);
        let more = amount.of(private);
        if more != 0 {
            self.raise(shared, more);
        }
        more
    }

    /// Takes back the newer half, rounded up, of the shared tasks, or finds that all are stolen.
    /// Precondition: not [`OwnerIndex::is_all_stolen`], and the owner has no private task (head = split).
    #[inline]
    pub fn shrink<M: Memory>(&mut self, shared: &SharedIndex<M>) -> Shrink {
        self.shrink_by(shared, Amount::Half)
    }

    /// Does what [`OwnerIndex::shrink`] does, for this amount.
    #[inline]
    pub fn shrink_by<M: Memory>(&mut self, shared: &SharedIndex<M>, amount: Amount) -> Shrink {
        debug_assert!(!self.all_stolen, "the state rule: I1");
        let split = self.split;
        // The guess only chooses how much to ask for.
        let guess = self.tail(shared);
        let mut shrink = Shrink::NothingShared;
        if guess != split {
            shrink = Shrink::TooLate;
            let tail = self.lower(shared, amount.of(split.wrapping_sub(guess)));
            if tail != split {
                let past = distance(self.split, tail);
                if past > 0 {
                    // Thieves had already passed the new split, so no thief can take anything until it is raised again.
                    let higher = split.wrapping_sub(amount.of(split.wrapping_sub(tail)));
                    self.raise(shared, higher.wrapping_sub(self.split));
                }
                return Shrink::Back;
            }
        }
        self.set_all_stolen(shared);
        shrink
    }

    /// Declares every task stolen: after [`OwnerIndex::shrink`] found it so, or once the newest task, a stolen one, has
    /// been joined and everything pushed above it meanwhile is gone.
    #[inline]
    pub fn set_all_stolen<M: Memory>(&mut self, shared: &SharedIndex<M>) {
        if !self.all_stolen {
            // Relaxed: a hint that saves thieves the attempt.
            shared.all_stolen.store(true, Ordering::Relaxed);
            self.all_stolen = true;
        }
    }
}
