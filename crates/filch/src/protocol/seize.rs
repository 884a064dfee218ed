//! Sharing on an owner's behalf: a thief shares for an owner that runs a long leaf and does not answer.
//!
//! **Idea.** The holder of an owner's [`Turn`] does the work of its cold path. The owner takes the turn at each entry
//! to that path, by a store and a load. A thief first sends a request through the [limits](super::limits), to make the
//! owner's next push or pop cold; then executes a heavy barrier, which makes the request visible; and then takes the
//! turn, unless the owner has taken it meanwhile. An owner that comes too late waits for the few instructions of the
//! thief's turn; one that comes earlier cancels the claim. The thief can share what lies below the owner's [`Head`]. In
//! closure style the head is in memory; in handle style it is in a register, and memory has an earlier, lower one.
//!
//! **Fields.** [`Head`]: written by the owner. [`Turn`]: `turns` is written by the owner on its cold path; `claim` by
//! thieves, and by an owner that cancels a claim.
//!
//! **Invariants.**
//! * I1: every task below the head in memory has been written, and the owner has not taken it back: the head falls
//!   before the owner reads the limits for a pop, and rises after the push.
//! * I2: a thief that holds the turn has exclusive access to the owner's part. The owner is not on its cold path, nor
//!   has it been there since the thief's request. So each of its admitted pushes and pops read the limits before the
//!   thief's heavy barrier, and by then the head had fallen for each such pop.
//! * I3: a claim names its thief, so that no thief continues with another's claim.
//!
//! **Edges.**
//! * E1: [`Head::rise`] and [`Head::fall`] (release) → [`Head::seen`] (acquire): the tasks below the head.
//! * E2: the end of the owner's turn (release) → a thief's first look at `turns` (acquire), and the end of a thief's
//!   turn (release) → the owner's looks at `claim` (acquire), and the next thief's claim (by its heavy barrier, which
//!   is a fence): the changes to the owner's part and to the limits.
//! * E3: the owner's store to `turns`, a light barrier, its look at `claim`; a thief's claim, a heavy barrier, its
//!   second look at `turns`: one of them sees the other. Likewise the head, a light barrier and the pop limit; the
//!   limits, the heavy barrier and the head.
//!
//! **Progress.** An owner waits for at most one thief, which does not block while it holds the turn. Thieves do not
//! wait.

use filch_memory::{Asymmetric, Atomic, Memory, Ordering};

use super::grain::Time;
use super::limits::Limits;

/// The head of an owner's stack, as memory has it.
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
    /// The head of an empty stack with this bottom.
    pub fn new(bottom: *mut T) -> Self {
        Self { head: Atomic::new(bottom) }
    }

    /// Owner: returns the head.
    #[inline(always)]
    pub fn get(&self) -> *mut T {
        // Relaxed: only the owner writes it.
        self.head.load(Ordering::Relaxed)
    }

    /// Owner: raises the head above tasks that have been written.
    #[inline(always)]
    pub fn rise(&self, head: *mut T) {
        // E1: pairs with `seen`.
        self.head.store(head, Ordering::Release);
    }

    /// Owner: lowers the head, before the limits are asked whether they admit a pop there.
    #[inline(always)]
    pub fn fall(&self, head: *mut T)
    where
        M: Asymmetric,
    {
        // E1: pairs with `seen`. The remaining tasks were written before.
        self.head.store(head, Ordering::Release);
        // E3: pairs with the barrier in `seize`.
        M::light_barrier();
    }

    /// Thief: returns the head. The holder of the [`Turn`] may share what lies below it.
    #[inline]
    pub fn seen(&self) -> *mut T {
        // E1: pairs with `rise` and `fall`.
        self.head.load(Ordering::Acquire)
    }
}

/// No thief has claimed the turn.
const FREE: u32 = 0;

/// The right to do the work of an owner's cold path.
///
/// ```
/// use filch::inside::protocol::limits::Limits;
/// use filch::inside::protocol::seize::{Head, Turn};
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
    /// The number of turns the owner has begun plus the number it has ended: odd while it holds one.
    turns: M::AtomicUsize,
    /// [`FREE`], or a thief's number plus one, doubled; plus one once the thief holds the turn.
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
        // E2: pairs with the loads in `seize`.
        self.turn.turns.store(self.turns.wrapping_add(1), Ordering::Release);
    }
}

impl<M: Asymmetric> Turn<M> {
    /// A turn that nobody holds.
    pub fn new() -> Self {
        Self { turns: Atomic::new(0), claim: Atomic::new(FREE) }
    }

    /// Owner: takes the turn. The owner must not hold it already.
    #[inline]
    pub fn enter(&self) -> Inside<'_, M> {
        // Relaxed: only the owner writes it, and E3 orders the store.
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

    /// Owner: cancels a thief's claim, or waits until the thief that holds the turn is done.
    #[cold]
    fn take_away(&self) {
        loop {
            // E2: pairs with the end of `seize`.
            let claim = self.claim.load(Ordering::Acquire);
            if claim & 1 != 0 {
                M::spin_loop();
            // Relaxed: the load above has acquired what came before this claim.
            } else if self.claim.compare_exchange(claim, FREE, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Thief: takes the turn of the owner of `limits`, if neither the owner nor another thief has it, and calls `f`,
    /// which must not unwind. `thief` is its number, `now` the time. Costs a heavy barrier.
    pub fn seize<R>(
        &self,
        thief: u32,
        limits: &Limits<M>,
        now: impl FnOnce() -> Time,
        f: impl FnOnce() -> R,
    ) -> Option<R> {
        // E2: pairs with the end of the owner's turn: the request comes after the owner's changes to the limits.
        // kept over Relaxed: a thief that misses the owner's latest change to its limits may still see an older
        // request, and write none; for the thief to continue with open limits takes another request, another turn of
        // the owner and two pops, which loom does not explore in time.
        let turns = self.turns.load(Ordering::Acquire);
        let claim = (thief + 1) << 1;
        // E2: pairs with the end of the previous thief's turn. The barrier below would suffice, but sanitizers do not
        // know it.
        // kept over Relaxed: that barrier orders the same; ThreadSanitizer, which knows neither it nor fences, would
        // report a data race between two successive thieves.
        if turns % 2 != 0 || self.claim.compare_exchange(FREE, claim, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        limits.request(now);
        // E3: pairs with the barriers in `enter` and `Head::fall`.
        M::heavy_barrier();
        // Relaxed: the claim is this thread's own, unless the owner has cancelled it.
        self.claim.compare_exchange(claim, claim | 1, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        // Relaxed: equal values mean the same turn.
        let is_alone = self.turns.load(Ordering::Relaxed) == turns;
        let result = is_alone.then(f);
        // E2: pairs with the loads in `enter`, `take_away` and above.
        self.claim.store(FREE, Ordering::Release);
        result
    }
}

impl<M: Asymmetric> Default for Turn<M> {
    fn default() -> Self {
        Self::new()
    }
}
