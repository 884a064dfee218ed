//! Sharing on an owner's behalf: a thief does it for an owner that runs a long leaf and answers nobody.
//!
//! **Idea.** What an owner does on its cold path is done by whoever has its [`Turn`]. The owner takes the turn at each entry, by a store
//! and a load. A thief asks first, by the [limits](super::limits), so that the owner's next push or pop is a cold one; then a heavy
//! barrier makes sure that it is; and then the thief takes the turn, unless the owner has been there since. An owner that comes too late
//! waits for the few instructions which that takes, one that comes before takes the claim away. What lies below the owner's [`Head`] can
//! be shared so. In closure style the head lies in memory; in handle style it is in a register, and memory has an earlier, lower one.
//!
//! **Fields.** [`Head`]: written by the owner. [`Turn`]: `turns` is written by the owner on its cold path, `claim` by thieves, and by
//! an owner that takes the claim away from one.
//!
//! **Invariants.**
//! * I1: every task below the head that is in memory has been written, and has not been taken back by the owner: the head falls before
//!   the owner looks at the limits to pop, and rises after the push.
//! * I2: a thief that holds the turn is alone with the owner's part. The owner is not on its cold path, nor has it been there since the
//!   thief asked; so it has no push or pop admitted but by limits that it read before the thief's heavy barrier, and by then the head
//!   had fallen for each such pop.
//! * I3: a claim names its thief, so that nobody goes on with another's.
//!
//! **Edges.**
//! * E1: [`Head::rise`] and [`Head::fall`] (release) → [`Head::seen`] (acquire): the tasks below.
//! * E2: the end of the owner's turn (release) → a thief's first look at `turns` (acquire), and the end of a thief's turn (release) →
//!   the owner's looks at `claim` (acquire), and the next thief's claim (by its heavy barrier, which is a fence): what was done to the
//!   owner's part, and to the limits.
//! * E3: the owner's store to `turns`, a light barrier, its look at `claim`; a thief's claim, a heavy barrier, its second look at
//!   `turns`: one of them sees the other. Likewise the head, a light barrier and the pop limit; the limits, the heavy barrier and the
//!   head.
//!
//! **Progress.** An owner waits for one thief at most, which calls nothing while it holds the turn. Thieves wait for nobody.

use filch_memory::{Asymmetric, Atomic, Memory, Ordering};

use super::grain::Time;
use super::limits::Limits;

/// The head of an owner's stack, as far as it is in memory.
#[derive(Debug)]
pub struct Head<M: Memory, T> {
    head: M::AtomicPtr<T>,
}

impl<T> Head<filch_memory::Native, T> {
    /// No head, for a constant.
    #[allow(
        clippy::disallowed_types,
        clippy::declare_interior_mutable_const,
        reason = "constants need the concrete type's constant constructor"
    )]
    pub const NONE: Self = Self { head: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()) };
}

impl<M: Memory, T> Head<M, T> {
    /// Of a stack whose bottom is there.
    pub fn new(bottom: *mut T) -> Self {
        Self { head: Atomic::new(bottom) }
    }

    /// Owner: where the head is.
    #[inline(always)]
    pub fn get(&self) -> *mut T {
        // Relaxed: the owner's own value.
        self.head.load(Ordering::Relaxed)
    }

    /// Owner: moves it up, above tasks that have been written.
    #[inline(always)]
    pub fn rise(&self, head: *mut T) {
        // E1: pairs with `seen`.
        self.head.store(head, Ordering::Release);
    }

    /// Owner: moves it down, before it asks the limits whether it may pop what lies there.
    #[inline(always)]
    pub fn fall(&self, head: *mut T)
    where
        M: Asymmetric,
    {
        // E1: pairs with `seen`. The tasks that are left were written before.
        self.head.store(head, Ordering::Release);
        // E3: pairs with the barrier in `seize`.
        M::light_barrier();
    }

    /// Thief: where it is. Whoever has the [`Turn`] may share what lies below.
    #[inline]
    pub fn seen(&self) -> *mut T {
        // E1: pairs with `rise` and `fall`.
        self.head.load(Ordering::Acquire)
    }
}

/// Nobody has claimed the turn.
const FREE: u32 = 0;

/// Whose turn it is to do what an owner does on its cold path.
///
/// ```
/// use filch::protocol::limits::Limits;
/// use filch::protocol::seize::{Head, Turn};
/// use filch_memory::{Asymmetric, Native};
///
/// let (turn, limits) = (Turn::<Native>::new(), Limits::<Native>::closed());
/// let mut slots = [0; 4];
/// let (bottom, head) = (slots.as_mut_ptr(), Head::<Native, _>::new(slots.as_mut_ptr()));
/// head.rise(bottom.wrapping_add(2)); // two tasks have been pushed
///
/// let height = || head.seen().addr().abs_diff(bottom.addr()) / size_of::<i32>();
/// if Native::prepare_barriers() {
///     let inside = turn.enter();
///     assert_eq!(turn.seize(1, &limits, || 0, height), None, "the owner is there");
///     drop(inside);
///     assert_eq!(turn.seize(1, &limits, || 0, height), Some(2));
/// }
/// ```
#[derive(Debug)]
pub struct Turn<M: Memory> {
    /// How often the owner has begun a turn or ended one: odd while it has it.
    turns: M::AtomicUsize,
    /// [`FREE`], or a thief's number plus one, doubled; and one more once it holds the turn.
    claim: M::AtomicU32,
}

/// The owner's turn, until dropped.
pub struct Inside<'t, M: Memory> {
    turn: &'t Turn<M>,
    turns: usize,
}

impl<M: Memory> std::fmt::Debug for Inside<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inside").finish_non_exhaustive()
    }
}

impl<M: Memory> Drop for Inside<'_, M> {
    #[inline]
    fn drop(&mut self) {
        // E2: pairs with the looks in `seize`.
        self.turn.turns.store(self.turns.wrapping_add(1), Ordering::Release);
    }
}

impl<M: Asymmetric> Turn<M> {
    /// Nobody's turn.
    pub fn new() -> Self {
        Self { turns: Atomic::new(0), claim: Atomic::new(FREE) }
    }

    /// Owner: takes the turn. Not while it has it.
    #[inline]
    pub fn enter(&self) -> Inside<'_, M> {
        // Relaxed: the owner's own value; and E3 orders the store.
        let turns = self.turns.load(Ordering::Relaxed).wrapping_add(1);
        self.turns.store(turns, Ordering::Relaxed);
        // E3: pairs with the barrier in `seize`.
        M::light_barrier();
        // E2: pairs with the end of `seize`.
        if self.claim.load(Ordering::Acquire) != FREE {
            self.take_away();
        }
        Inside { turn: self, turns }
    }

    /// Owner: ends a thief's claim, or waits until a thief that holds the turn is done.
    #[cold]
    fn take_away(&self) {
        loop {
            // E2: pairs with the end of `seize`.
            let claim = self.claim.load(Ordering::Acquire);
            if claim & 1 != 0 {
                M::spin_loop();
            // Relaxed: the look above has acquired what came before this very claim.
            } else if self.claim.compare_exchange(claim, FREE, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Thief: takes the turn of the owner of these limits, if it is neither there nor anybody else's, and does `f`, which must not unwind.
    /// `thief`: its number; `now`: the time. Costs a heavy barrier.
    pub fn seize<R>(
        &self,
        thief: u32,
        limits: &Limits<M>,
        now: impl FnOnce() -> Time,
        f: impl FnOnce() -> R,
    ) -> Option<R> {
        // E2: pairs with the end of the owner's turn: the request comes after whatever it did to the limits.
        // kept over Relaxed: a thief that overlooks what the owner has just done to its limits may see an older request
        // stand, and write none; to go on with limits that are open takes a request, a turn of the owner and two pops
        // more, which loom does not explore in time.
        let turns = self.turns.load(Ordering::Acquire);
        let claim = (thief + 1) << 1;
        // E2: pairs with the end of the turn of the thief before. The barrier below would do, which sanitizers do not know.
        // kept over Relaxed: that barrier orders the same; ThreadSanitizer, which knows neither it nor fences, would
        // report what two thieves do in turn.
        if turns % 2 != 0 || self.claim.compare_exchange(FREE, claim, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        limits.request(now);
        // E3: pairs with the barriers in `enter` and `Head::fall`.
        M::heavy_barrier();
        // Relaxed: what it finds is this thread's own, unless the owner has taken it away.
        self.claim.compare_exchange(claim, claim | 1, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        // Relaxed: it is the same value only if it is the same turn.
        let is_alone = self.turns.load(Ordering::Relaxed) == turns;
        let result = is_alone.then(f);
        // E2: pairs with the looks in `enter`, `take_away` and above.
        self.claim.store(FREE, Ordering::Release);
        result
    }
}

impl<M: Asymmetric> Default for Turn<M> {
    fn default() -> Self {
        Self::new()
    }
}
