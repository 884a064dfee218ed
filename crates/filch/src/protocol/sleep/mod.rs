//! Going to sleep without missing work.
#![doc = include_str!("README.md")]
//! # In the code
//!
//! **Fields.** Per pool: `sleepers`, the number of places marked asleep and of workers that search; `unfenced`, the
//! number of owners that publish [without fences](Unfenced). Per worker a [`Place`]: `word`, which the worker sets to a
//! kind of asleep and its waker sets to awake, and which says whether a guest has the seat; `wanted`, whose work can
//! help the worker; `bell`, which a guest sleeps on, since the worker's own thread sleeps on `word`.
//!
//! **Invariants.**
//! * I1: only the thread that changes a place from asleep to awake (the sleeper, a waker or a guest that takes the
//!   seat) subtracts one from `sleepers`; a waker owes the futex wake-up. A worker that wanted work of any kind then
//!   counts as searching until it ends its search itself, unless a guest took the seat.
//! * I2: between `announce` and `sleep` the worker asks all victims for work, fences, and looks once more.
//! * I3: the worker's own thread has the seat until `word` says `VACANT`, which a guest may replace with `GUEST`; if
//!   the seat was lent before the thread began, the thread has it only once `word` says `AWAKE` without `GUEST`. The
//!   guest has the seat until it sets `word` to `VACANT`, or to `AWAKE` and wakes the worker's own thread. No other
//!   thread sets or clears `GUEST`.
//!
//! **Edges.**
//! * E1: `announce`'s fence, the request, `settled`'s fence ↔ the owner's store to its limits, `sleepers_after`'s
//!   fence. If the owner's store overwrites the request, the owner's look at `sleepers` sees the announcement; if the
//!   owner does not see the announcement, the request stands. Forbidden: request lost and sleeper not seen.
//! * E2: `announce`'s and `settled`'s fences ↔ `sleepers_after`'s fence: either the sleeper's last look sees the work
//!   that was published before `sleepers_after`, or `sleepers_after` sees the sleeper.
//! * E3: the wake-up's change of `word` (release) → `sleep`'s load (acquire): everything before the wake-up.
//! * E4: `end_search`, then the fence of `sleepers_after` or of `announce` ↔ `sleepers_after`'s fence, then
//!   `is_searched`: if the publisher sees the search, the last look of the searcher, or of the worker it wakes next,
//!   sees what was published.
//! * E5: `rest`, `vacate` and `hand_over` (release) → `take` (acquire) and the own thread's load in `rest` (acquire):
//!   everything that the previous holder of the seat did in it.

mod sleepers;

use std::sync::OnceLock;

use filch_memory::{Asymmetric, Atomic, AtomicInt, Memory, Ordering, Sleep};
use filch_queue::Padded;

use sleepers::SEARCHING;
pub use sleepers::{Sleepers, Unfenced};

const AWAKE: u32 = 0;
/// Asleep, waiting for an event.
const WAITING: u32 = 1;
/// Asleep, or about to sleep, wanting work of any kind.
const IDLE: u32 = 2;
/// As `IDLE`, and the worker's own thread does nothing in its seat, so that a guest may take it.
const VACANT: u32 = 3;
/// Added to another value: a guest has the seat.
const GUEST: u32 = 4;

/// The state in a place's word, without the holder of the seat.
const fn state(word: u32) -> u32 {
    word & !GUEST
}

/// Whose work can help a sleeper: a worker's number, or one of the three constants below.
pub type Wanted = u32;
/// Work of any kind, from any worker: wanted by an idle worker.
pub const ANY: Wanted = u32::MAX;
/// A task from any worker's stack, if it descends from the awaited task.
pub const PERHAPS: Wanted = u32::MAX - 1;
/// Work of any kind, from any worker, until the awaited event.
pub const ANY_MEANWHILE: Wanted = u32::MAX - 2;

/// Who has a seat.
#[derive(Clone, Copy)]
enum Holder {
    Own,
    Guest,
}

/// The places where the workers of one pool sleep, and the choice of which worker to wake.
///
/// ```
/// use filch::inside::protocol::sleep::{ANY, ANY_MEANWHILE, Dormitory};
/// use filch_memory::Native;
///
/// let dormitory = Dormitory::<Native>::new(3);
/// for (worker, wanted) in [(0, 1), (1, ANY_MEANWHILE), (2, ANY)] {
///     dormitory.place(worker).announce(dormitory.sleepers(), wanted);
///     dormitory.place(worker).settle();
/// }
/// assert!(dormitory.sleepers().sleepers_after());
/// assert!(dormitory.wake_for_any(0)); // wakes worker 2, which then searches,
/// assert!(!dormitory.wake_for_any(0)); // so no other worker is woken for work of any kind;
/// assert!(dormitory.wake_for_stack(1)); // but worker 0 wants exactly this work
/// dormitory.notify(1); // the event that worker 1 waits for
/// assert!(!dormitory.sleepers().any());
/// ```
pub struct Dormitory<M: Memory> {
    sleepers: Padded<Sleepers<M>>,
    places: Box<[Padded<Place<M>>]>,
    unfenced: Unfenced<M>,
    has_roused: OnceLock<Roused>,
    on_wake: OnceLock<OnWake>,
}

type Roused = Box<dyn Fn(usize) -> bool + Send + Sync>;
type OnWake = Box<dyn Fn(usize, WakeUp) -> bool + Send + Sync>;

/// What a thread is about to do to a sleeper that it has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeUp {
    /// To wake it for work.
    Begins,
    /// Nothing: another thread has woken it meanwhile.
    Fails,
}

/// The place where one worker sleeps.
#[derive(Debug)]
pub struct Place<M: Memory> {
    word: M::AtomicU32,
    wanted: M::AtomicU32,
    bell: M::AtomicU32,
}

impl<M: Memory> Default for Place<M> {
    fn default() -> Self {
        Self { word: Atomic::new(AWAKE), wanted: Atomic::new(ANY), bell: Atomic::new(0) }
    }
}

impl<M: Memory> std::fmt::Debug for Dormitory<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dormitory").field("places", &self.len()).finish_non_exhaustive()
    }
}

impl<M: Memory> Dormitory<M> {
    /// A dormitory with a place for each worker, all awake.
    pub fn new(workers: usize) -> Self {
        let places = (0..workers).map(|_| Padded(Place::default())).collect();
        Self {
            sleepers: Padded(Sleepers::default()),
            places,
            unfenced: Unfenced::default(),
            has_roused: OnceLock::new(),
            on_wake: OnceLock::new(),
        }
    }

    /// Sets the function that starts a worker's own thread, if need be, once the thread has been given its seat. It
    /// gets the worker's number. It returns `false` if there is no thread and the worker no longer searches; another
    /// sleeper is then woken, as when a worker [ends its search](Sleepers::end_search). Called once, before all else.
    pub fn on_rouse(&self, has_roused: impl Fn(usize) -> bool + Send + Sync + 'static) {
        let is_first = self.has_roused.set(Box::new(has_roused)).is_ok();
        debug_assert!(is_first, "it is set once");
    }

    /// Sets the function that is called before a sleeper is woken for work, with the worker's number; and if it returns
    /// `true`, but the wake-up fails, once more. Called once, before all else.
    pub fn on_wake(&self, on_wake: impl Fn(usize, WakeUp) -> bool + Send + Sync + 'static) {
        let is_first = self.on_wake.set(Box::new(on_wake)).is_ok();
        debug_assert!(is_first, "it is set once");
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether a guest has a worker's seat. A snapshot.
    pub fn has_guest(&self) -> bool {
        // Relaxed: a hint.
        self.places.iter().any(|place| place.word.load(Ordering::Relaxed) & GUEST != 0)
    }

    /// Whether there are no places.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The counts of workers that sleep and search.
    #[inline]
    pub fn sleepers(&self) -> &Sleepers<M> {
        &self.sleepers
    }

    /// The number of owners that publish without fences.
    #[inline]
    pub fn unfenced(&self) -> &Unfenced<M> {
        &self.unfenced
    }

    /// Returns a worker's place.
    ///
    /// # Panics
    /// If there is no such worker.
    #[inline]
    pub fn place(&self, worker: usize) -> &Place<M> {
        &self.places[worker]
    }
}

impl<M: Asymmetric + Sleep> Dormitory<M> {
    /// As [`Place::settle`], for this worker; also fences on behalf of the owners that do not: E6 of [`Unfenced`].
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn settle(&self, worker: usize) {
        self.places[worker].settle();
        if self.unfenced.any() {
            M::heavy_barrier();
        }
    }
}

impl<M: Sleep> Dormitory<M> {
    /// Wakes a sleeper that takes work of any kind, from number `after` on, unless a worker is searching; returns
    /// whether it did. Prefers idle workers. Precondition: the work is where the sleeper will look, and
    /// [`Sleepers::sleepers_after`] has returned that somebody sleeps.
    pub fn wake_for_any(&self, after: usize) -> bool {
        self.told(self.rouse_for_any(after))
    }

    fn rouse_for_any(&self, after: usize) -> Option<(usize, Holder)> {
        if self.sleepers.is_searched() {
            return None;
        }
        let idle = self.rouse_where(after, |wanted| wanted == ANY);
        idle.or_else(|| self.rouse_where(after, |wanted| wanted == ANY_MEANWHILE))
    }

    /// Wakes an idle sleeper, from number `after` on, even if a worker is searching; returns whether it did.
    /// Precondition: as for [`Dormitory::wake_for_any`].
    pub fn wake_idle(&self, after: usize) -> bool {
        self.wake_where(after, |wanted| wanted == ANY)
    }

    /// Wakes a sleeper that can take a task that worker `victim` has shared; returns whether it did. Prefers idle
    /// workers, unless a worker is searching, because others may rely on a passed-on wake-up for work of any kind.
    /// Workers that may be unable to take the task come last. Precondition: as for [`Dormitory::wake_for_any`].
    pub fn wake_for_stack(&self, victim: usize) -> bool {
        self.wake_for_any(victim)
            || self.wake_where(victim, |wanted| wanted as usize == victim)
            || self.wake_where(victim, |wanted| wanted == PERHAPS)
    }

    fn wake_where(&self, after: usize, wants: impl Fn(Wanted) -> bool) -> bool {
        self.told(self.rouse_where(after, wants))
    }

    fn rouse_where(&self, after: usize, wants: impl Fn(Wanted) -> bool) -> Option<(usize, Holder)> {
        let after = after.min(self.len());
        let mut candidates = (after..self.len()).chain(0..after);
        candidates.find_map(|worker| {
            let place = &self.places[worker];
            if !place.would_help(&wants) {
                return None;
            }
            let tell = |what| self.on_wake.get().is_some_and(|on_wake| on_wake(worker, what));
            let is_told = tell(WakeUp::Begins);
            let holder = place.wake_holder(&self.sleepers);
            if holder.is_none() && is_told {
                tell(WakeUp::Fails);
            }
            holder.map(|holder| (worker, holder))
        })
    }

    /// Wakes this worker if it sleeps or is about to; returns whether it did: see [`Place::wake`].
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn wake(&self, worker: usize) -> bool {
        self.told(self.places[worker].wake_holder(&self.sleepers).map(|holder| (worker, holder)))
    }

    /// As [`Place::hand_over`].
    pub(super) fn hand_over(&self, worker: usize) {
        self.places[worker].hand_over();
        self.told(Some((worker, Holder::Own)));
    }

    /// Reports the worker that has been woken, if any; returns whether there is one.
    fn told(&self, roused: Option<(usize, Holder)>) -> bool {
        let Some(has_roused) = self.has_roused.get() else { return roused.is_some() };
        // A loop, since several workers in a row may have no thread.
        let mut next = roused;
        while let Some((worker, Holder::Own)) = next
            && !has_roused(worker)
            && self.sleepers.sleepers_after()
        {
            next = self.rouse_for_any(worker);
        }
        roused.is_some()
    }

    /// Takes the seat of a [resting](Place::rest) worker, and returns its number; see [`Place::take`]. Prefers the last
    /// worker below number `below`: in a new pool it is probably the only one whose thread has not begun.
    pub fn take_seat(&self, below: usize) -> Option<usize> {
        let takes = |worker: &usize| self.places[*worker].take(&self.sleepers);
        let below = below.min(self.len());
        (0..below).rev().chain(below..self.len()).find(takes)
    }

    /// Wakes a worker, whatever work it wants, because the event it waits for has come or may have come.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn notify(&self, worker: usize) {
        // Either its last look sees the event, or this sees its place asleep.
        self.sleepers.sleepers_after();
        self.wake(worker);
    }

    /// As [`Dormitory::notify`], for all workers.
    pub fn notify_all(&self) {
        self.notify_all_but(|_| false);
    }

    /// As [`Dormitory::notify_all`], except for workers without a guest whose own thread `is_absent`, because it has
    /// not been started. A thread that is started later looks around before it sleeps.
    pub fn notify_all_but(&self, is_absent: impl Fn(usize) -> bool) {
        self.sleepers.sleepers_after();
        for (worker, place) in self.places.iter().enumerate() {
            // E2. Relaxed: a guest that comes later looks around, too.
            if !is_absent(worker) || place.word.load(Ordering::Relaxed) & GUEST != 0 {
                self.wake(worker);
            }
        }
    }
}

impl<M: Sleep> Place<M> {
    /// Announces that the worker at this place is about to sleep and wants work of this kind. Requests follow, then
    /// [`Place::settle`], a last look, and [`Place::sleep`] or [`Place::cancel`].
    pub fn announce(&self, sleepers: &Sleepers<M>, wanted: Wanted) {
        // Relaxed: the store below and the fence order it.
        self.wanted.store(wanted, Ordering::Relaxed);
        // Relaxed: it comes before the store below, hence before the matching subtraction.
        sleepers.0.fetch_add(1, Ordering::Relaxed);
        // Relaxed: the holder of the seat has set or cleared this bit itself, or acquired it with the seat.
        let guest = self.word.load(Ordering::Relaxed) & GUEST;
        // Release: a waker that sees the worker asleep sees what it wants.
        // kept over Relaxed: a waker that sees the mark alone wakes nobody, and then the sleeper's last look finds the
        // work: that loses a round, but no work.
        self.word.store(guest | if wanted == ANY { IDLE } else { WAITING }, Ordering::Release);
        // E1: before the requests.
        M::fence(Ordering::SeqCst);
    }

    /// Fences, between the requests and the last look.
    pub fn settle(&self) {
        // E1, E2.
        // kept over AcqRel and nothing: on TSO the addition to `sleepers` drains the buffer, so one fence suffices; C11
        // needs both (argued in README.md), but in programs larger than loom explores in time.
        M::fence(Ordering::SeqCst);
    }

    /// Cancels the announcement, because the last look found something. Returns whether a wake-up had been sent
    /// already, which this worker must then pass on if it does not use it. A worker that wanted work of [any](ANY) kind
    /// then counts as searching, as if it had been woken.
    pub fn cancel(&self, sleepers: &Sleepers<M>) -> bool {
        state(self.rouse(sleepers)) == AWAKE
    }

    /// Sleeps until woken.
    pub fn sleep(&self) {
        loop {
            // E3: pairs with `rouse`.
            // kept over Relaxed: without it, the worker sees what came before a wake-up one round later, since a woken
            // worker looks at the queues and at its task again, and announces its sleep before it trusts what it saw.
            let word = self.word.load(Ordering::Acquire);
            if state(word) == AWAKE {
                return;
            }
            if word & GUEST == 0 {
                M::wait(&self.word, word);
                continue;
            }
            // Acquire: if the bell has rung already, the load of the word sees why.
            let bell = self.bell.load(Ordering::Acquire);
            // Relaxed: the next load acquires.
            if self.word.load(Ordering::Relaxed) == word {
                M::wait(&self.bell, bell);
            }
        }
    }

    /// Gives the seat to the current thread, as a guest, before the worker's own thread begins. That thread then
    /// [rests](Place::rest) first.
    pub fn lend(&self) {
        // Relaxed: the start of the own thread publishes it.
        self.word.store(GUEST | AWAKE, Ordering::Relaxed);
    }

    /// As [`Place::sleep`], for an idle worker's own thread. Meanwhile a guest may [take](Place::take) the seat; the
    /// thread has it back when this returns.
    pub fn rest(&self) {
        // E5. Relaxed: on failure the worker was woken, or its seat was [lent](Place::lend), and the loop acquires.
        let _ = self.word.compare_exchange(IDLE, VACANT, Ordering::Release, Ordering::Relaxed);
        loop {
            // E3, E5: pairs with `rouse` and `hand_over`.
            let word = self.word.load(Ordering::Acquire);
            if word == AWAKE {
                return;
            }
            M::wait(&self.word, word);
        }
    }

    /// Guest: takes the seat if the worker [rests](Place::rest). The current thread is then that worker until it
    /// [vacates](Place::vacate) the seat or [hands it over](Place::hand_over).
    pub fn take(&self, sleepers: &Sleepers<M>) -> bool {
        // Relaxed: a hint that publishes nothing.
        let taken = self.word.load(Ordering::Relaxed) == VACANT
            // E5. The announcement comes before the subtraction below.
            && self.word.compare_exchange(VACANT, GUEST | AWAKE, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if taken {
            // Relaxed: as in `rouse`.
            sleepers.0.fetch_sub(1, Ordering::Relaxed);
        }
        taken
    }

    /// Guest: gives the seat back to the resting worker. The guest has announced that it wants work of [any](ANY) kind,
    /// and its last look found nothing. Returns `false` if the place has been woken meanwhile; the guest must then
    /// [hand over](Place::hand_over) the seat, so that the worker looks for work.
    #[must_use]
    pub fn vacate(&self) -> bool {
        // E5.
        self.word.compare_exchange(GUEST | IDLE, VACANT, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Guest, awake: gives the seat back and wakes the worker's own thread.
    pub fn hand_over(&self) {
        // E5. Only the guest changes a place whose worker is awake.
        self.word.store(AWAKE, Ordering::Release);
        M::wake_one(&self.word);
    }

    /// Whether the worker here sleeps and wants such work.
    #[inline]
    pub fn would_help(&self, wants: impl FnOnce(Wanted) -> bool) -> bool {
        // Acquire: pairs with `announce`, so `wanted` belongs to this sleep or a later one.
        // kept over Relaxed: as for the store there.
        state(self.word.load(Ordering::Acquire)) != AWAKE && wants(self.wanted.load(Ordering::Relaxed))
    }

    /// Wakes the worker here if it sleeps or is about to; returns whether it did. A worker that wanted work of
    /// [any](ANY) kind then counts as searching.
    pub fn wake(&self, sleepers: &Sleepers<M>) -> bool {
        self.wake_holder(sleepers).is_some()
    }

    /// As [`Place::wake`]; returns the holder of the seat, if woken.
    fn wake_holder(&self, sleepers: &Sleepers<M>) -> Option<Holder> {
        let former = self.rouse(sleepers);
        if state(former) == AWAKE {
            return None;
        }
        if former & GUEST == 0 {
            M::wake_one(&self.word);
            return Some(Holder::Own);
        }
        // Release: a thread that sees the ring sees the word.
        self.bell.fetch_add(1, Ordering::Release);
        M::wake_one(&self.bell);
        Some(Holder::Guest)
    }

    /// Marks the place awake, and returns its former word.
    fn rouse(&self, sleepers: &Sleepers<M>) -> u32 {
        // E3 (release). Acquire: the subtraction below must come after the announcement's addition.
        // kept over Release: otherwise the count of sleepers may drop below zero, which costs others a look or a
        // wake-up in vain.
        // kept over Acquire: without it, the worker sees what came before a wake-up one round later, since a woken
        // worker looks at the queues and at its task again, and announces its sleep before it trusts what it saw.
        let former = self.word.fetch_and(GUEST, Ordering::AcqRel);
        if state(former) != AWAKE {
            let search = if state(former) == WAITING { 0 } else { SEARCHING };
            // Relaxed: a count; threads that act on it have fenced.
            sleepers.0.fetch_add(search - 1, Ordering::Relaxed);
        }
        former
    }
}
