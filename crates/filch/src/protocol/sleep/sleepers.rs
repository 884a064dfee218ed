//! A pool's counts of workers that sleep, that search, and that publish work without fences.
//!
//! **Edge.** E6: an owner adds itself before a `sleepers_after`; then its light barriers ↔ [`Dormitory::settle`]: a
//! fence, a look at the number, a heavy barrier. If the look misses the owner, that `sleepers_after` and all later
//! looks of the owner see the sleeper. If the look sees that the owner has gone (acquire), it sees what the owner did
//! before it subtracted itself (release). Otherwise the barriers pair as the fences of E2 do.

use filch_memory::{Asymmetric, Atomic, AtomicInt, Memory, Ordering};

#[cfg(doc)]
use super::{Dormitory, Place};

/// The number of a pool's workers that sleep (lower half) and that search (upper half). The upper half may be too small
/// for a moment, since a woken worker may find something before it is counted.
///
/// ```
/// use filch::inside::protocol::sleep::{ANY, Place, Sleepers};
/// use filch_memory::Native;
///
/// let (sleepers, place) = (Sleepers::<Native>::default(), Place::<Native>::default());
/// place.announce(&sleepers, ANY);
/// place.settle();
/// assert!(sleepers.sleepers_after() && !sleepers.is_searched());
/// assert_eq!(sleepers.hungry(), 1);
/// assert!(place.wake(&sleepers));
/// place.sleep(); // returns, since it has been woken
/// assert!(sleepers.is_searched(), "by the woken worker, until it has found something");
/// sleepers.end_search();
/// assert!(!sleepers.sleepers_after() && !sleepers.is_searched());
/// ```
#[derive(Debug)]
pub struct Sleepers<M: Memory>(pub(super) M::AtomicI64);

pub(super) const SEARCHING: i64 = 1 << 32;

impl<M: Memory> Default for Sleepers<M> {
    fn default() -> Self {
        Self(Atomic::new(0))
    }
}

impl<M: Memory> Sleepers<M> {
    /// Fences, after work was published or a request overwritten, and returns whether anybody sleeps and may have to be
    /// woken.
    #[inline]
    pub fn sleepers_after(&self) -> bool {
        // E1, E2: pairs with the fences of `announce` and `settled`.
        M::fence(Ordering::SeqCst);
        self.any()
    }

    /// Whether anybody sleeps. A snapshot that orders nothing.
    #[inline]
    pub fn any(&self) -> bool {
        // The lower half.
        self.0.load(Ordering::Relaxed) as u32 != 0
    }

    /// The number of workers that sleep, or search for work of any kind. A snapshot that orders nothing.
    #[inline]
    pub fn hungry(&self) -> u32 {
        let both = self.0.load(Ordering::Relaxed);
        // The upper half may be too small for a moment.
        (both as u32).saturating_add(u32::try_from(both >> 32).unwrap_or(0))
    }

    /// Whether a worker searches. If so, that worker, or the next one that it wakes, will see what was published before
    /// the preceding [`Sleepers::sleepers_after`].
    #[inline]
    pub fn is_searched(&self) -> bool {
        // E4: the caller has fenced.
        self.0.load(Ordering::Relaxed) >> 32 > 0
    }

    /// Starts a search for work of any kind, until the worker [ends](Sleepers::end_search) it.
    #[inline]
    pub fn start_search(&self) {
        // Relaxed: a thread that sees it has fenced, and the search has not ended.
        self.0.fetch_add(SEARCHING, Ordering::Relaxed);
    }

    /// Ends a search, which [`Sleepers::start_search`] or a wake-up began. The worker must then call
    /// [`Sleepers::sleepers_after`], to wake another if there is work left, or [`Place::announce`].
    #[inline]
    pub fn end_search(&self) {
        // E4: a fence follows.
        self.0.fetch_sub(SEARCHING, Ordering::Relaxed);
    }
}

/// The number of owners that publish without fences.
///
/// ```
/// use filch::inside::protocol::sleep::Dormitory;
/// use filch_memory::{Asymmetric, Native};
///
/// let dormitory = Dormitory::<Native>::new(2);
/// if Native::prepare_barriers() {
///     dormitory.unfenced().begin();
///     assert!(!dormitory.sleepers().sleepers_after()); // after the first piece of work
///     assert!(!dormitory.sleepers().sleepers_after_unfenced()); // after the second
///     dormitory.unfenced().end();
/// }
/// ```
#[derive(Debug)]
pub struct Unfenced<M: Memory>(M::AtomicUsize);

impl<M: Memory> Default for Unfenced<M> {
    fn default() -> Self {
        Self(Atomic::new(0))
    }
}

impl<M: Memory> Unfenced<M> {
    /// Adds an owner. Its next look at the sleepers is [`Sleepers::sleepers_after`]; later ones may be
    /// [`Sleepers::sleepers_after_unfenced`]. Precondition: heavy barriers [are
    /// prepared](Asymmetric::prepare_barriers). Each sleep costs microseconds until the owner [ends](Unfenced::end).
    pub fn begin(&self) {
        // E6. Relaxed: the caller fences.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether any owner publishes without fences. The caller has fenced.
    #[inline]
    pub fn any(&self) -> bool {
        // E6.
        // kept over Relaxed: as for the update in `end`.
        self.0.load(Ordering::Acquire) > 0
    }

    /// Subtracts an owner.
    pub fn end(&self) {
        // E6.
        // kept over Relaxed: on TSO an update is a fence; C11 needs it, but loom cannot run the scenario.
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl<M: Asymmetric> Sleepers<M> {
    /// As [`Sleepers::sleepers_after`], for an owner that publishes without fences: it fences if somebody sleeps.
    #[inline(always)]
    pub fn sleepers_after_unfenced(&self) -> bool {
        // E6.
        M::light_barrier();
        self.any() && self.sleepers_after()
    }
}
