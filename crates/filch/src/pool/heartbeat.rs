//! A task pool that keeps forked tasks private, and gives thieves the oldest when a beat is due.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud, Adrien Guatto, Mike Rainey and Filip Sieczkowski, *Heartbeat
//! Scheduling: Provable Efficiency for Nested Parallelism*, PLDI 2018, <https://doi.org/10.1145/3192366.3192391>.
//!
//! **Idea.** A forked task is *latent*: its address is on a stack that only the owner sees, and is usually popped from
//! there. When a beat is due, the owner *promotes* its oldest latent task: it pushes the task to a queue that thieves
//! see. So a fork costs a private push, and the work since the last promotion pays for the next one. Since the oldest
//! task is the largest, few promotions are needed.
//!
//! **Fields.** `latent` and `promoted`: private to the owner. `words`: the queue, with its protocol. `due`, `ticker`:
//! see [`beat`](crate::protocol::beat).
//!
//! **Invariants.**
//! * I1: `latent` holds the forks in progress, oldest first, and exactly those below `promoted` have been promoted; so
//!   the newest word of `words` is that of the newest promoted task, unless this task is stolen.
//! * I2: a worker that waits for a stolen task has no latent tasks: older tasks were promoted before it, and newer ones
//!   have been joined. A worker that waits for anything else promotes all its tasks before it sleeps.
//!
//! **Edges.** Those of the queue. Thieves do not see latent tasks, and only the owner knows whether a task was
//! promoted; the flag for a due beat is a hint. So promotion adds no edge to those of the queue.
//! [`beat`](crate::protocol::beat) argues why the clock does not sleep while somebody forks.
//!
//! **Sleep.** A fence and a look at the sleepers follow each push of a promoted task. With [`Request`], a sleeper has
//! raised the flags of all victims between two fences, as in [`sleep`](crate::protocol::sleep); with [`Clock`], the
//! next beat wakes it.
//!
//! **Departures.** The paper counts steps, and promotes in the scheduler's loop; here a fork reads a flag. The paper
//! promotes the outermost of all kinds of latent parallelism; loops here have none, since they split on request.

use std::any::type_name;
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::time::Duration;

use filch_memory::Native;
use filch_queue::{Queue, Steal};

use super::frames::{self, OnFrames};
use super::loot::QueueSettings;
use super::queued::Queued;
use crate::fork::here::{Here, Known};
use crate::fork::slot::{Job, Slot};
use crate::fork::{front::Front, job::Body, own::Own};
use crate::interrupts::ticker::Ticker;
use crate::machine::processors::Places;
use crate::protocol::{beat, order::Height, waiting::wake_next};
use crate::shared::policy::Wait;
use crate::worker::core::Core;
use crate::worker::plumbing::{Plumbing, Pool, Room};

/// A task pool whose owners promote their oldest task to the queue `Q` on each beat; thieves see only promoted tasks.
/// From *Heartbeat Scheduling* (Acar, Charguéraud, Guatto, Rainey and Sieczkowski, 2018).
///
/// A fork and its join write nothing shared: they are a push to a private stack, a load, and a pop. `B` says when a
/// beat is due: with [`Clock`], the paper's way, every 100 µs by default; with [`Request`], when a thief has found
/// nothing. The pool's settings are [`HeartbeatSettings`].
///
/// A worker notices a due beat when it forks or polls, when it calls [`wants_work`](crate::Worker::wants_work), as
/// loops do, and while it waits. During a long task that does none of these, thieves cannot reach its worker's earlier
/// forks. So on this pool, even less than on others, nothing may *depend* on both branches of a fork running at the
/// same time.
///
/// `Q` is any queue that [`Queued`] takes, provided its thieves can withdraw their requests and take only their
/// victims' tasks; a queue whose tasks are all stealable at once, such as [`ChaseLev`](filch_queue::ChaseLev), suits
/// best. If the queue is full, tasks stay latent.
///
/// ```
/// use filch::pool::{Heartbeat, Pool, Request};
/// use filch::{Builder, Worker};
/// use filch_queue::ChaseLev;
///
/// fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
///     a + b
/// }
///
/// let by_clock = Builder::<Heartbeat<ChaseLev>>::new().workers(2).build()?;
/// assert_eq!(by_clock.run(|w| fib(w, 15)), 610);
/// let by_request = Builder::<Heartbeat<ChaseLev, Request>>::new().workers(2).build()?;
/// assert_eq!(by_request.run(|w| fib(w, 15)), 610);
/// # Ok::<(), filch::BuildError>(())
/// ```
///
/// In the [statistics](crate::WorkerStats), `grows` counts promotions, `shrinks` the promoted tasks that nobody stole,
/// and `requests` the beats that thieves requested.
///
/// Requires the feature `pools`.
pub struct Heartbeat<Q: Queue<Native>, B: Beat = Clock> {
    latent: UnsafeCell<Latent>,
    due: Arc<beat::Due<Native>>,
    /// The clock's ticker, if there is a clock.
    ticker: Option<Arc<Ticker>>,
    words: Queued<Q>,
    beat: PhantomData<fn() -> B>,
}

// SAFETY: only the worker's own thread uses `latent`; the rest is made for sharing.
unsafe impl<Q: Queue<Native>, B: Beat> Sync for Heartbeat<Q, B> {}
// SAFETY: the jobs in `latent` are forks in progress, and a pool has none when it moves between threads.
unsafe impl<Q: Queue<Native>, B: Beat> Send for Heartbeat<Q, B> {}

impl<Q: Queue<Native>, B: Beat> fmt::Debug for Heartbeat<Q, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Heartbeat<{}, {}>", type_name::<Q>(), type_name::<B>())
    }
}

/// When a worker of a [`Heartbeat`] pool promotes a task: [`Clock`] or [`Request`].
///
/// ```
/// use filch::pool::{Beat, Heartbeat};
/// use filch_queue::ChaseLev;
///
/// fn computes<B: Beat>() -> Result<bool, filch::BuildError> {
///     let pool = filch::Builder::<Heartbeat<ChaseLev, B>>::new().workers(2).build()?;
///     Ok(pool.run(|mut w| w.join(|_| 1, |_| 2)) == (1, 2))
/// }
/// assert!(computes::<filch::pool::Clock>()? && computes::<filch::pool::Request>()?);
/// # Ok::<(), filch::BuildError>(())
/// ```
pub trait Beat: Sealed + Send + Sync + 'static {
    /// The settings of such a beat.
    type Settings: Clone + fmt::Debug + Default + Send + Sync;
    /// Returns the clock's period; `None` if there is no clock.
    #[doc(hidden)]
    fn period(settings: &Self::Settings) -> Option<Duration>;
    /// Whether thieves that find nothing request a beat.
    #[doc(hidden)]
    const ON_REQUEST: bool;
}

/// A beat every 100 µs by default, or as soon after as the system wakes a thread, and one at the first fork after a
/// time without forks. Thieves wait for the next beat.
///
/// The pool has an additional thread, which sleeps while nobody forks; a pool of one worker has none. See [`Heartbeat`]
/// for an example.
#[derive(Clone, Copy, Debug)]
pub enum Clock {}

/// A beat when a thief has found nothing to steal, or goes to sleep. There is no clock, and no unwanted promotion. See
/// [`Heartbeat`] for an example.
#[derive(Clone, Copy, Debug)]
pub enum Request {}

/// The time between two beats of the [`Clock`]: 100 µs by default. It must not be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(pub Duration);

impl Default for Period {
    fn default() -> Self {
        Self(Duration::from_micros(100))
    }
}

impl Beat for Clock {
    type Settings = Period;
    const ON_REQUEST: bool = false;

    fn period(&Period(period): &Period) -> Option<Duration> {
        Some(period)
    }
}

impl Beat for Request {
    type Settings = ();
    const ON_REQUEST: bool = true;

    fn period((): &()) -> Option<Duration> {
        None
    }
}

/// The settings of a [`Heartbeat`] pool.
///
/// ```
/// use std::time::Duration;
///
/// use filch::Builder;
/// use filch::pool::{Heartbeat, HeartbeatSettings, Period};
/// use filch_queue::ChaseLev;
///
/// let slow = HeartbeatSettings::of(Period(Duration::from_millis(1)), Default::default());
/// let pool = Builder::<Heartbeat<ChaseLev>>::new().workers(2).settings(slow).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
pub struct HeartbeatSettings<Q: Queue<Native>, B: Beat = Clock> {
    beat: B::Settings,
    queue: Q::Params,
}

impl<Q: Queue<Native>, B: Beat> HeartbeatSettings<Q, B> {
    /// Combines the settings of the beat, a [`Period`] for a [`Clock`], and the parameters of the queue.
    pub fn of(beat: B::Settings, queue: Q::Params) -> Self {
        Self { beat, queue }
    }
}

impl<Q: Queue<Native>, B: Beat> Clone for HeartbeatSettings<Q, B> {
    fn clone(&self) -> Self {
        Self { beat: self.beat.clone(), queue: self.queue.clone() }
    }
}

impl<Q: Queue<Native>, B: Beat> Default for HeartbeatSettings<Q, B> {
    fn default() -> Self {
        Self { beat: B::Settings::default(), queue: Q::Params::default() }
    }
}

impl<Q: Queue<Native>, B: Beat> fmt::Debug for HeartbeatSettings<Q, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeartbeatSettings").field("beat", &self.beat).field("queue", &self.queue).finish()
    }
}

#[doc(hidden)]
pub trait Sealed {}
impl Sealed for Clock {}
impl Sealed for Request {}

/// The owner's forks in progress (I1).
#[derive(Debug, Default)]
struct Latent {
    jobs: Vec<NonNull<Job>>,
    promoted: usize,
}

impl Latent {
    /// Returns the oldest job that has not been promoted.
    fn oldest(&self) -> Option<NonNull<Job>> {
        self.jobs.get(self.promoted).copied()
    }
}

impl<'w, Q: Queue<Native>, B: Beat> Own<'w, Heartbeat<Q, B>> {
    /// Gives `f` the list of forks in progress.
    #[inline(always)]
    fn latent<R>(self, f: impl FnOnce(&mut Latent) -> R) -> R {
        // SAFETY: only this thread uses the list; each `f` is an operation of the list or of the queue, which does not
        // reenter this function.
        f(unsafe { &mut *self.latent.get() })
    }

    fn words(self) -> Own<'w, Queued<Q>> {
        // SAFETY: the queue is a part of the worker's pool.
        unsafe { self.part(|pool| &pool.words) }
    }

    /// Whether there is a job that has not been promoted.
    fn has_latent(self) -> bool {
        self.latent(|latent| latent.oldest().is_some())
    }

    /// Promotes the oldest latent job, and wakes nobody; returns `false` if there is none, or no room.
    fn promote(self) -> bool {
        self.latent(|latent| {
            let Some(job) = latent.oldest() else { return false };
            // SAFETY: a fork in progress stays on its frame until it is taken back or settled.
            let promoted = unsafe { self.words().push(job) };
            latent.promoted += usize::from(promoted);
            promoted
        })
    }
}

impl<Q: Queue<Native>, B: Beat> Heartbeat<Q, B> {
    /// Acts on a beat that is due: promotes a job, lowers the flag, then wakes a sleeper and the clock. If nothing can
    /// be promoted, the flag stays raised.
    #[cold]
    #[inline(never)]
    fn act_on_beat(here: &Here<'_, Self>) {
        let (pool, home) = (here.pool(), here.home());
        if !pool.promote() {
            return;
        }
        home.counters.grows.bump();
        pool.due.lower();
        wake_next(&*home);
        if let Some(ticker) = &pool.ticker {
            ticker.clock().taken();
        }
    }

    /// Calls [`Heartbeat::act_on_beat`] if a beat is due.
    #[inline(always)]
    fn act_if_due(here: &Here<'_, Self>) {
        if here.pool().due.is_raised() {
            Self::act_on_beat(here);
        }
    }

    /// Takes back a promoted job.
    ///
    /// # Safety
    /// As for [`Plumbing::take_word_back`]; the job has just left `latent`.
    #[cold]
    unsafe fn take_back_promoted(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        here.pool().latent(|latent| {
            latent.promoted -= 1;
            debug_assert_eq!(latent.promoted, latent.jobs.len(), "older ones were promoted first: I1");
        });
        // SAFETY: by I1 the job's word is the newest.
        let is_back = unsafe { here.pool().words().take_back(job) };
        if is_back {
            here.home().counters.shrinks.bump();
        }
        is_back
    }
}

impl<Q: Queue<Native>, B: Beat> OnFrames for Heartbeat<Q, B> {}

impl<Q: Queue<Native>, B: Beat> Known for Heartbeat<Q, B> {
    type Cursor = ();

    #[inline(always)]
    fn cursor(_: *mut Slot) {}

    #[inline(always)]
    fn head((): ()) -> *mut Slot {
        null_mut()
    }
}

// SAFETY: a job is either latent, and only its owner has it, or in the queue, which gives out each word once.
unsafe impl<Q: Queue<Native>, B: Beat> Plumbing for Heartbeat<Q, B> {
    type Settings = HeartbeatSettings<Q, B>;

    const MAX_WORKERS: usize = <Queued<Q> as Plumbing>::MAX_WORKERS;

    fn refusal(settings: &HeartbeatSettings<Q, B>, _: Wait, _: bool) -> Option<&'static str> {
        let is_zero = B::period(&settings.beat).is_some_and(|period| period.is_zero());
        is_zero.then_some("the time between two beats is zero")
    }

    fn create(
        workers: usize,
        room: Room,
        settings: &HeartbeatSettings<Q, B>,
        places: &Places,
    ) -> io::Result<Vec<Self>> {
        // If there is a clock, the flags begin raised, so that the first fork starts it.
        let has_clock = B::period(&settings.beat).is_some() && workers > 1;
        const { assert!(Q::WITHDRAWS, "an owner that only forks does not come to the queue, where a thief may wait for it") };
        const { assert!(Q::BY_VICTIM, "a thief does not learn whose task it has") };
        let queues = Queued::create(workers, room, &QueueSettings::of(settings.queue.clone()), places)?;
        let pools = queues.into_iter().map(|words| Self {
            latent: UnsafeCell::default(),
            due: Arc::new(beat::Due::new(has_clock)),
            ticker: None,
            words,
            beat: PhantomData,
        });
        Ok(pools.collect())
    }

    fn start(pools: &mut [Self], settings: &HeartbeatSettings<Q, B>) -> io::Result<()> {
        let Some(period) = B::period(&settings.beat).filter(|_| pools.len() > 1) else { return Ok(()) };
        let clock = Arc::new(beat::Clock::new(pools.iter().map(|pool| Arc::clone(&pool.due))));
        let ticker = Arc::new(Ticker::start("filch clock", clock, period, || ())?);
        for pool in pools {
            pool.ticker = Some(Arc::clone(&ticker));
        }
        Ok(())
    }

    fn bottom(&self) -> *mut Slot {
        null_mut()
    }

    fn front(core: &Core<Self>) -> &Front {
        &core.detached
    }

    #[inline]
    fn join<A: Body<In = Self>, C: Body<In = Self>>(here: Here<'_, Self>, a: A, b: C) -> (A::Out, C::Out) {
        frames::join(here, a, b)
    }

    #[inline]
    fn wants_work(here: &Here<'_, Self>) -> bool {
        if !here.pool().due.is_raised() {
            return false;
        }
        // Existing tasks come before any that would have to be split off.
        let has_latent = here.pool().has_latent();
        if has_latent {
            Self::act_on_beat(here);
        }
        !has_latent
    }

    #[inline(always)]
    unsafe fn push_word(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        here.pool().latent(|latent| latent.jobs.push(job));
        Self::act_if_due(here);
        true
    }

    #[inline(always)]
    unsafe fn take_word_back(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        let (is_latent, newest) = here.pool().latent(|latent| (latent.jobs.len() > latent.promoted, latent.jobs.pop()));
        debug_assert_eq!(newest, Some(job), "forks and joins are nested");
        // SAFETY: the job is the newest, by the caller's promise, and has just left the list.
        is_latent || unsafe { Self::take_back_promoted(here, job) }
    }

    fn wants_more(here: &Here<'_, Self>) -> bool {
        Self::wants_work(here)
    }

    fn poll(here: &Here<'_, Self>) {
        Self::act_if_due(here);
        here.pool().words().poll();
    }

    fn steal(here: &Here<'_, Self>, victim: &Core<Self>, _: Height) -> Steal<NonNull<Job>> {
        Self::act_if_due(here);
        let loot = here.pool().words().steal_from(here.home().index, victim.home.index, false, || {});
        if loot.is_empty() {
            Self::ask(here.core(), victim);
        }
        loot
    }

    fn ask(thief: &Core<Self>, victim: &Core<Self>) {
        if B::ON_REQUEST && !std::ptr::eq(thief, victim) && victim.pool.due.raise() {
            thief.home.counters.requests.bump();
        }
    }

    fn share_all(here: &Here<'_, Self>) {
        while here.core().peers().len() > 1 && here.pool().promote() {
            here.home().counters.grows.bump();
            wake_next(&*here.home());
        }
    }

    fn has_work(here: &Here<'_, Self>, victim: &Core<Self>) -> bool {
        here.pool().words().sees_work_of(victim.home.index)
    }

    fn steal_own(here: &Here<'_, Self>) -> Option<NonNull<Job>> {
        let pool = here.pool();
        pool.words().pop_own().or_else(|| if pool.promote() { pool.words().pop_own() } else { None })
    }

    fn has_own(here: &Here<'_, Self>) -> bool {
        here.pool().has_latent() || !here.pool().words().is_empty()
    }
}

impl<Q: Queue<Native>, B: Beat> Pool for Heartbeat<Q, B> {
    const TRANSITIVE: bool = false;
}
