//! Going to sleep without missing the work that one should wake for.
#![doc = include_str!("README.md")]
//! # In the code
//!
//! **Fields.** Per pool: `sleepers`, the number of places marked asleep, and of workers that are searching. Per worker a [`Place`]:
//! `word`, which the worker sets to a kind of asleep and whoever wakes it sets to awake, and which says whether a guest has its seat;
//! `wanted`, whose work can help it; `bell`, which a guest sleeps on, since the worker's own thread sleeps on `word`.
//!
//! **Invariants.**
//! * I1: whoever changes a place from asleep to awake, the sleeper, a waker or a guest that comes, and nobody else, subtracts one from
//!   `sleepers`; a waker owes the futex wake-up. One that wanted work of any kind is then counted among those that search, from which
//!   only it removes itself; unless a guest has come.
//! * I2: between `announce` and `sleep` the worker asks all victims for work, fences and looks once more.
//! * I3: the seat is the own thread's until it says `VACANT`, in whose stead a guest may write `GUEST`; the guest's until it
//!   takes that away again, for `VACANT`, or for `AWAKE` and a wake-up of the own thread. Nobody else sets or clears `GUEST`.
//!
//! **Edges.**
//! * E1: `announce`'s fence, the request, `settled`'s fence ↔ the owner's store to its limits, `sleepers_after`'s
//!   fence. If the owner's store overwrites the request, the owner's look at `sleepers` sees the announcement; if the
//!   owner does not see the announcement, the request stands. Forbidden: request lost and sleeper not seen.
//! * E2: `announce`'s and `settled`'s fences ↔ `sleepers_after`'s fence: either the sleeper's last look sees the work
//!   that was published before `sleepers_after`, or `sleepers_after` sees the sleeper.
//! * E3: the wake-up's change of `word` (release) → `sleep`'s load (acquire): whatever came before the wake-up.
//! * E4: `end_search`, then the fence of `sleepers_after` or of `announce` ↔ `sleepers_after`'s fence, then `is_searched`: if the
//!   publisher sees the search, the searcher's last look, or that of whom it wakes next, sees what was published.
//! * E5: `rest`, `vacate` and `hand_over` (release) → `take` (acquire) and the own thread's load in `rest` (acquire): what was done in
//!   the seat, by whoever had it before.

use filch_memory::{Atomic, AtomicInt, Memory, Ordering, Sleep};
use filch_queue::Padded;

const AWAKE: u32 = 0;
/// Asleep, waiting for something.
const WAITING: u32 = 1;
/// Asleep, or about to be, for want of work of any kind.
const IDLE: u32 = 2;
/// As `IDLE`, and the worker's thread does nothing in its seat any more: a guest may have it.
const VACANT: u32 = 3;
/// Added to one of the others: a guest has the seat.
const GUEST: u32 = 4;

/// What a place's word says but for who has the seat.
const fn state(word: u32) -> u32 {
    word & !GUEST
}

/// Whose work can help a sleeper: a worker's number, or one of the three below.
pub type Wanted = u32;
/// Work of any kind, from anybody: an idle worker.
pub const ANY: Wanted = u32::MAX;
/// Perhaps a task from anybody's stack, if it turns out to descend from the task waited for.
pub const PERHAPS: Wanted = u32::MAX - 1;
/// Work of any kind, from anybody, until what the worker waits for has come.
pub const ANY_MEANWHILE: Wanted = u32::MAX - 2;

/// What the workers of one pool share about sleep: how many sleep, in the lower half, and how many search, in the upper one. The latter
/// may be too small for a moment, since a woken worker may have found something before it was counted.
///
/// ```
/// use filch::protocol::sleep::{ANY, Place, Sleepers};
/// use filch_memory::Native;
///
/// let (sleepers, place) = (Sleepers::<Native>::default(), Place::<Native>::default());
/// place.announce(&sleepers, ANY);
/// place.settled();
/// assert!(sleepers.sleepers_after() && !sleepers.is_searched());
/// assert_eq!(sleepers.hungry(), 1);
/// assert!(place.wake(&sleepers));
/// place.sleep(); // it has been woken already
/// assert!(sleepers.is_searched(), "by the one who was woken, until it has found something");
/// sleepers.end_search();
/// assert!(!sleepers.sleepers_after() && !sleepers.is_searched());
/// ```
#[derive(Debug)]
pub struct Sleepers<M: Memory>(M::AtomicI64);

const SEARCHING: i64 = 1 << 32;

/// Where the workers of one pool sleep, and who of them is woken for what.
///
/// ```
/// use filch::protocol::sleep::{ANY, ANY_MEANWHILE, Dormitory};
/// use filch_memory::Native;
///
/// let dormitory = Dormitory::<Native>::new(3);
/// for (worker, wanted) in [(0, 1), (1, ANY_MEANWHILE), (2, ANY)] {
///     dormitory.place(worker).announce(dormitory.sleepers(), wanted);
///     dormitory.place(worker).settled();
/// }
/// assert!(dormitory.sleepers().sleepers_after());
/// assert!(dormitory.wake_for_any(0)); // worker 2, which searches now,
/// assert!(!dormitory.wake_for_any(0)); // so that nobody else is woken for work of any kind;
/// assert!(dormitory.wake_for_stack(1)); // but worker 0 waits for just this
/// dormitory.notify(1); // what worker 1 waits for has come
/// assert!(!dormitory.sleepers().any());
/// ```
pub struct Dormitory<M: Memory> {
    sleepers: Padded<Sleepers<M>>,
    places: Box<[Padded<Place<M>>]>,
}

/// Where one worker sleeps.
#[derive(Debug)]
pub struct Place<M: Memory> {
    word: M::AtomicU32,
    wanted: M::AtomicU32,
    bell: M::AtomicU32,
}

impl<M: Memory> Default for Sleepers<M> {
    fn default() -> Self {
        Self(Atomic::new(0))
    }
}

impl<M: Memory> Default for Place<M> {
    fn default() -> Self {
        Self { word: Atomic::new(AWAKE), wanted: Atomic::new(ANY), bell: Atomic::new(0) }
    }
}

impl<M: Memory> Sleepers<M> {
    /// After publishing work or overwriting a request: whether anybody sleeps who may have to be told.
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

    /// How many sleep or search for work of any kind. A snapshot that orders nothing.
    #[inline]
    pub fn hungry(&self) -> u32 {
        let both = self.0.load(Ordering::Relaxed);
        // The upper half may be short of what is in flight.
        (both as u32).saturating_add(u32::try_from(both >> 32).unwrap_or(0))
    }

    /// After [`Sleepers::sleepers_after`]: whether somebody searches who will see what was published before it, or whoever that one wakes.
    #[inline]
    pub fn is_searched(&self) -> bool {
        // E4: the fence has been made.
        self.0.load(Ordering::Relaxed) >> 32 > 0
    }

    /// The worker searches for work of any kind from now on, until it [ends](Sleepers::end_search) that.
    #[inline]
    pub fn start_search(&self) {
        // Relaxed: whoever sees it has fenced, and the search has yet to end.
        self.0.fetch_add(SEARCHING, Ordering::Relaxed);
    }

    /// The end of a search, which [`Sleepers::start_search`] or a wake-up began. Next comes [`Sleepers::sleepers_after`], to wake
    /// another if there is something to find, or [`Place::announce`].
    #[inline]
    pub fn end_search(&self) {
        // E4: a fence follows.
        self.0.fetch_sub(SEARCHING, Ordering::Relaxed);
    }
}

impl<M: Memory> std::fmt::Debug for Dormitory<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dormitory").field("places", &self.len()).finish_non_exhaustive()
    }
}

impl<M: Memory> Dormitory<M> {
    /// With a place for each of so many workers, all of them awake.
    pub fn new(workers: usize) -> Self {
        let places = (0..workers).map(|_| Padded(Place::default())).collect();
        Self { sleepers: Padded(Sleepers::default()), places }
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many sleep and search.
    #[inline]
    pub fn sleepers(&self) -> &Sleepers<M> {
        &self.sleepers
    }

    /// A worker's place.
    ///
    /// # Panics
    /// If there is no such worker.
    #[inline]
    pub fn place(&self, worker: usize) -> &Place<M> {
        &self.places[worker]
    }
}

impl<M: Sleep> Dormitory<M> {
    /// Wakes a sleeper that takes work of every kind, from number `after` on, unless somebody is searching; returns whether it did. First
    /// an idle one. Precondition: the work is where it will look, and [`Sleepers::sleepers_after`] has said that somebody sleeps.
    pub fn wake_for_any(&self, after: usize) -> bool {
        !self.sleepers.is_searched()
            && (self.wake_idle(after) || self.wake_where(after, |wanted| wanted == ANY_MEANWHILE))
    }

    /// Wakes an idle sleeper, from number `after` on, whoever else is searching; returns whether it did. Precondition: as
    /// [`Dormitory::wake_for_any`].
    pub fn wake_idle(&self, after: usize) -> bool {
        self.wake_where(after, |wanted| wanted == ANY)
    }

    /// Wakes a sleeper that can take what worker `victim` has shared; returns whether it did. First an idle one, unless somebody is
    /// searching: whoever passes a wake-up on may have been relied on for work of every kind. Those who can perhaps take it come last.
    /// Precondition: as [`Dormitory::wake_for_any`].
    pub fn wake_for_stack(&self, victim: usize) -> bool {
        self.wake_for_any(victim)
            || self.wake_where(victim, |wanted| wanted as usize == victim)
            || self.wake_where(victim, |wanted| wanted == PERHAPS)
    }

    fn wake_where(&self, after: usize, wants: impl Fn(Wanted) -> bool) -> bool {
        let (before, behind) = self.places.split_at(after.min(self.places.len()));
        let mut candidates = behind.iter().chain(before);
        candidates.any(|place| place.would_help(&wants) && place.wake(&self.sleepers))
    }

    /// Takes the seat of a worker that [rests](Place::rest), and returns its number; see [`Place::take`].
    pub fn take_seat(&self) -> Option<usize> {
        self.places.iter().position(|place| place.take(&self.sleepers))
    }

    /// What a worker waits for has come, or may have: it is woken, whatever else it wants.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn notify(&self, worker: usize) {
        // Either its last look sees what has come, or its place is seen to sleep.
        self.sleepers.sleepers_after();
        self.places[worker].wake(&self.sleepers);
    }

    /// As [`Dormitory::notify`], for everybody.
    pub fn notify_all(&self) {
        self.sleepers.sleepers_after();
        for place in &self.places {
            place.wake(&self.sleepers);
        }
    }
}

impl<M: Sleep> Place<M> {
    /// The worker at this place: "I am about to sleep, and want work of this kind." Requests come after it, then
    /// [`Place::settled`], a last look, and [`Place::sleep`] or [`Place::cancel`].
    pub fn announce(&self, sleepers: &Sleepers<M>, wanted: Wanted) {
        // Relaxed: ordered by the store below and the fence.
        self.wanted.store(wanted, Ordering::Relaxed);
        // Relaxed: comes before the store below, hence before the subtraction that answers it.
        sleepers.0.fetch_add(1, Ordering::Relaxed);
        // Relaxed: whoever has the seat has set or cleared this itself, or acquired it with the seat.
        let guest = self.word.load(Ordering::Relaxed) & GUEST;
        // Release: a waker that sees the worker asleep sees what it wants.
        // kept over Relaxed: a waker that sees the mark alone wakes nobody, and then the sleeper's last look finds the
        // work: a round is lost, no work.
        self.word.store(guest | if wanted == ANY { IDLE } else { WAITING }, Ordering::Release);
        // E1: before the requests.
        M::fence(Ordering::SeqCst);
    }

    /// After the requests, before the last look.
    pub fn settled(&self) {
        // E1, E2.
        // kept over AcqRel and nothing: on TSO, counting oneself drains the buffer, so one fence is enough there; C11 needs
        // both (argued in README.md), in programs larger than loom explores in time.
        M::fence(Ordering::SeqCst);
    }

    /// The last look found something: do not sleep after all. Returns whether somebody had sent a wake-up already,
    /// which is then this worker's to answer for. One that wanted work of [any](ANY) kind is searching, as if it had been woken.
    pub fn cancel(&self, sleepers: &Sleepers<M>) -> bool {
        state(self.rouse(sleepers)) == AWAKE
    }

    /// Sleeps until woken.
    pub fn sleep(&self) {
        loop {
            // E3: pairs with `rouse`.
            // kept over Relaxed: what came before a wake-up is seen without it, one round later: whoever wakes looks at
            // the queues and at its task again, and announces itself before it trusts what it saw.
            let word = self.word.load(Ordering::Acquire);
            if state(word) == AWAKE {
                return;
            }
            if word & GUEST == 0 {
                M::wait(&self.word, word);
                continue;
            }
            // Acquire: if it has rung already, the look at the word sees why.
            let bell = self.bell.load(Ordering::Acquire);
            // Relaxed: the next look acquires.
            if self.word.load(Ordering::Relaxed) == word {
                M::wait(&self.bell, bell);
            }
        }
    }

    /// As [`Place::sleep`], for an idle worker's own thread. Meanwhile a guest may [take](Place::take) the seat; the thread has it
    /// again when this returns.
    pub fn rest(&self) {
        // E5. Relaxed: on failure it has been woken, and the loop acquires.
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

    /// A guest takes the seat of a worker that [rests](Place::rest), if it does: the current thread is that worker until it
    /// [vacates](Place::vacate) the seat or [hands it over](Place::hand_over).
    pub fn take(&self, sleepers: &Sleepers<M>) -> bool {
        // Relaxed: a hint, and publishes nothing.
        let taken = self.word.load(Ordering::Relaxed) == VACANT
            // E5. What was announced before comes before the subtraction below.
            && self.word.compare_exchange(VACANT, GUEST | AWAKE, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if taken {
            // Relaxed: as in `rouse`.
            sleepers.0.fetch_sub(1, Ordering::Relaxed);
        }
        taken
    }

    /// The guest has announced that it wants work of [any](ANY) kind, and its last look has found nothing: gives the seat back to a
    /// worker that rests on. `false` if somebody has woken it, whose place it then is to look: the seat is to be
    /// [handed over](Place::hand_over).
    #[must_use]
    pub fn vacate(&self) -> bool {
        // E5.
        self.word.compare_exchange(GUEST | IDLE, VACANT, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// The guest, awake, gives the seat back and wakes the worker's own thread.
    pub fn hand_over(&self) {
        // E5. Nobody but the guest changes a place whose worker is awake.
        // kept over Relaxed: what the guest did in the seat is not seen without it by C11, where a thread's later store
        // does not continue the release of its update before; on loom it does.
        self.word.store(AWAKE, Ordering::Release);
        M::wake_one(&self.word);
    }

    /// Whether the worker here sleeps and whether work of kind `wanted` tells it anything.
    #[inline]
    pub fn would_help(&self, wants: impl FnOnce(Wanted) -> bool) -> bool {
        // Acquire: pairs with `announce`, so that `wanted` belongs to this sleep or a later one.
        // kept over Relaxed: as the store there.
        state(self.word.load(Ordering::Acquire)) != AWAKE && wants(self.wanted.load(Ordering::Relaxed))
    }

    /// Wakes the worker here if it sleeps or is about to; `false` if it does not. One that wanted work of [any](ANY) kind is searching
    /// then.
    pub fn wake(&self, sleepers: &Sleepers<M>) -> bool {
        let former = self.rouse(sleepers);
        if state(former) == AWAKE {
            return false;
        }
        if former & GUEST == 0 {
            M::wake_one(&self.word);
        } else {
            // Release: whoever sees it sees the word.
            self.bell.fetch_add(1, Ordering::Release);
            M::wake_one(&self.bell);
        }
        true
    }

    /// Marks the place awake, and returns what it said.
    fn rouse(&self, sleepers: &Sleepers<M>) -> u32 {
        // E3 (release). Acquire: the subtraction below must not come before the announcement's addition.
        // kept over Release: otherwise the count of sleepers may pass below zero, which costs others a look or a
        // wake-up for nobody.
        // kept over Acquire: what came before a wake-up is seen without it, one round later: whoever wakes looks at the
        // queues and at its task again, and announces itself before it trusts what it saw.
        let former = self.word.fetch_and(GUEST, Ordering::AcqRel);
        if state(former) != AWAKE {
            let search = if state(former) == WAITING { 0 } else { SEARCHING };
            // Relaxed: a count; whoever acts on it has fenced.
            sleepers.0.fetch_add(search - 1, Ordering::Relaxed);
        }
        former
    }
}
