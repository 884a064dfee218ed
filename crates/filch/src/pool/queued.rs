//! A task pool on any word queue: a task lies on the frame of its fork, and the queue holds its address.
//!
//! This file and [`loot`] refer to each other, since they are one pool: this one handles single tasks, that one several
//! at once.
//!
//! **Invariants.** Those of [tasks on frames](super::frames): I1, I2.
//!
//! **Givers.** A handle may return a task that was not [its victim's](Queue::BY_VICTIM). The thief then records the
//! owner in the job, as it does when it takes several; so the worker that runs the job wakes the right owner. If the
//! handle [cannot say](Queue::NAMELESS) whose task it is, the owner records itself before it pushes. A strict
//! leapfrogger gives such a job back to its owner.
//!
//! **Requests that stand.** Where a request [may stand](Queue::STANDS), that of an idle worker does, until the worker
//! finds something else to run or is about to sleep; then it [settles](Queued::keep_dealt) it, and keeps what has come.
//! A worker that waits in the middle of a task could not keep that, since its own forks are in its queue; so it waits
//! for the answer a while, and withdraws.
//!
//! **Sleep.** Most pushes do not fence before their look at the sleepers. A worker about to sleep makes up for that by
//! a barrier on all processors or, if the system has none or they are not quick yet, by letting some time pass: see
//! [`has_pushed`](crate::protocol::waiting::has_pushed).

use std::any::type_name;
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use filch_memory::{Asymmetric, Atomic, Memory, Native, Ordering};
use filch_queue::{
    Capacity, Counted, Counts, Delivery, MemoryModel, Order, Owner, Progress, Queue, Steal, Stealable, Task, Thief,
};

use super::frames::{self, OnFrames};
use super::loot::{self, QueueSettings, job_to_task, keep, task_to_job};
use crate::fork::here::{Here, IdleHere, Known};
use crate::fork::own::{Own, with_taken};
use crate::fork::slot::{Job, Slot};
use crate::fork::{front::Front, job::Body};
use crate::machine::{processors::Places, thread::nap};
use crate::protocol::{order::Height, state::MAX_WORKERS, waiting::has_pushed};
use crate::shared::handles::{Loot, count_in, deal_alike, deal_any, steal_by};
use crate::shared::policy::Wait;
use crate::worker::core::Core;
use crate::worker::plumbing::{Plumbing, Pool, Room};

/// A task pool on the word queue `Q`, which is any algorithm of [`filch_queue`] whose owner's end is last in, first
/// out, and that returns each task once. The compiler refuses others:
///
/// ```compile_fail
/// use filch::{ThreadPool, pool::Queued};
/// use filch_queue::IdempotentLifo;
///
/// let pool = ThreadPool::builder().pool::<Queued<IdempotentLifo>>().workers(2).build();
/// ```
///
/// If the queue is full, a fork runs its second branch after the first.
///
/// The pool's settings are [`QueueSettings`].
pub struct Queued<Q: Queue<Native>> {
    owner: UnsafeCell<Q::Owner>,
    thieves: Thieves<Q>,
    /// Jobs that were popped too soon and did not fit back into the queue, oldest first; and stolen jobs for which an
    /// idle worker's queue had no room.
    kept: Cell<Vec<Task>>,
    /// How thieves take several tasks, if they may.
    pub(super) loot: Option<Loot<Q>>,
    /// The surplus of a theft of several tasks until it is pushed; otherwise empty.
    pub(super) spoils: Cell<Vec<Task>>,
    /// What this worker's handles count.
    counts: Arc<Counts>,
    /// The number of the owner's newest tasks that thieves leave to it.
    kept_back: usize,
    /// Whether there are barriers for workers about to sleep.
    pub(super) has_barriers: bool,
    /// Whether the worker is using its owner's end. A signal handler that interrupts the worker reads this.
    is_busy: <Native as Memory>::AtomicBool,
}

// SAFETY: only the worker's own thread uses the parts, except for everybody's handles, which threads may share by the
// contract of `Queue::THIEVES_ALIKE`; the queue's shared part is behind its handles.
unsafe impl<Q: Queue<Native>> Sync for Queued<Q> {}
// SAFETY: no part is tied to a thread: both ends of a queue are `Send`, and threads may share everybody's handles.
unsafe impl<Q: Queue<Native>> Send for Queued<Q> {}

/// The handles by which a worker steals from the others' queues, by worker.
enum Thieves<Q: Queue<Native>> {
    /// This worker's own handles; there is none for itself.
    Own(UnsafeCell<Vec<Option<Q::Thief>>>),
    /// Handles shared by all workers, since they are [alike](Queue::THIEVES_ALIKE).
    Everybodys(Arc<[Q::Thief]>),
}

impl<Q: Queue<Native>> fmt::Debug for Queued<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queued<{}>", type_name::<Q>())
    }
}

impl<Q: Queue<Native>> Queued<Q> {
    /// The initial capacity of queues that grow.
    pub(super) const INITIAL_CAPACITY: usize = 256;

    /// Whether thieves wait for the worker to answer, so that a signal may have to make it answer.
    const ANSWERS: bool = Q::PROMISES.owner_must_poll;

    /// Whether thieves leave some of the newest tasks to their owner, whatever the owner does.
    const KEEPS_BACK: bool = matches!(Q::PROMISES.stealable, Stealable::AllButNewest | Stealable::OtherBlocks);
}

/// The owner's operations. Queue operations run no code of the pool's, so none of them comes back here: not to the
/// owner's end, nor to a thief's handle.
impl<'w, Q: Queue<Native>> Own<'w, Queued<Q>> {
    /// Gives `f`, a queue operation, the owner's end, undisturbed by signal handlers.
    #[inline(always)]
    fn with_owner<R>(self, f: impl FnOnce(&mut Q::Owner) -> R) -> R {
        // Relaxed, with fences for the compiler: only a handler on this thread reads it.
        if Queued::<Q>::ANSWERS {
            self.is_busy.store(true, Ordering::Relaxed);
            Native::compiler_fence();
        }
        // SAFETY: only this thread uses the owner's end, and once at a time: `f` is a queue operation, and a handler
        // sees that the end is in use.
        let result = f(unsafe { &mut *self.owner.get() });
        if Queued::<Q>::ANSWERS {
            Native::compiler_fence();
            self.is_busy.store(false, Ordering::Relaxed);
        }
        result
    }

    /// Gives `f`, queue operations, this worker's own handle to steal from `victim`; `None` if that is this worker.
    pub(super) fn with_thief<R>(self, victim: usize, f: impl FnOnce(&mut Q::Thief) -> R) -> Option<R> {
        let Thieves::Own(thieves) = &self.seen().thieves else { unreachable!("the handles are everybody's") };
        // SAFETY: only this thread uses the handles, and one at a time.
        let thieves = unsafe { &mut *thieves.get() };
        thieves.get_mut(victim)?.as_mut().map(f)
    }

    /// Makes an `attempt` by this handle, as [`steal_by`] does for this worker's owner's end.
    pub(super) fn attempt(
        self,
        thief: &mut Q::Thief,
        stands: bool,
        attempt: impl FnMut(&mut Q::Thief) -> Steal<Task>,
        insists: impl Fn(),
    ) -> Steal<Task> {
        self.with_owner(|owner| steal_by::<Q>(owner, thief, stands, attempt, insists))
    }

    /// Answers thieves from a signal handler. Returns `false` if the queue's thieves need no answer, or if the worker
    /// is using its owner's end, and so will soon answer itself.
    ///
    /// Allocates nothing: with signals, a worker steals one task at a time, for which there is always room.
    fn interrupt(self) -> bool {
        // Relaxed: only this thread writes it.
        if !Queued::<Q>::ANSWERS || self.is_busy.load(Ordering::Relaxed) {
            return false;
        }
        self.poll();
        true
    }

    /// Answers thieves.
    pub(super) fn poll(self) {
        self.with_owner(Owner::poll);
    }

    /// Before something else begins, answers thieves that cannot [withdraw](Queue::WITHDRAWS) their requests.
    fn answer(self) {
        if !Q::WITHDRAWS {
            self.poll();
        }
    }

    /// Pushes a job, and wakes nobody; returns whether there was room.
    ///
    /// # Safety
    /// The job stays where it is until it is taken back or settled.
    pub(super) unsafe fn push(self, job: NonNull<Job>) -> bool {
        self.with_owner(|owner| owner.push(job_to_task(job)).is_ok())
    }

    /// Takes back `job` if nobody has stolen it.
    ///
    /// # Safety
    /// `job` is the newest that the worker has pushed and not joined.
    #[inline]
    pub(super) unsafe fn take_back(self, job: NonNull<Job>) -> bool {
        let newest = self.pop();
        newest.is_some_and(|task| task_to_job(task) == job) || self.was_kept(job, newest)
    }

    /// Returns whether `job`, which was not the newest in the queue, was kept; pushes back `older`, which was popped
    /// instead.
    #[cold]
    fn was_kept(self, job: NonNull<Job>, older: Option<Task>) -> bool {
        let was_kept = self.with_kept(|kept| kept.pop_if(|newest| task_to_job(*newest) == job).is_some());
        // By I1 `job`, if it was not kept, was stolen out of order.
        if let Some(Err(full)) = older.map(|older| self.with_owner(|owner| owner.push(older))) {
            // Slots of tasks being stolen leave no room.
            self.with_kept(|kept| kept.push(full.0));
        }
        was_kept
    }

    /// Gives `f` the list of kept tasks.
    pub(super) fn with_kept<R>(self, f: impl FnOnce(&mut Vec<Task>) -> R) -> R {
        with_taken(&self.kept, f)
    }

    /// Tries to steal from `victim`, as the worker `index`. `stands` and `insists` are as for [`steal_by`].
    pub(super) fn steal_from(
        self,
        index: usize,
        victim: usize,
        stands: bool,
        insists: impl Fn(),
    ) -> Steal<NonNull<Job>> {
        let stolen = match &self.seen().thieves {
            Thieves::Everybodys(thieves) => Q::steal_alike(&thieves[victim]),
            Thieves::Own(_) => {
                let attempt = |thief: &mut Q::Thief| {
                    let stolen = self.attempt(thief, stands, Thief::steal, insists);
                    if let Steal::Task(task) = stolen
                        && let Some(giver) = thief.taken_from().filter(|&giver| giver != victim)
                    {
                        // SAFETY: the queue gave the job to this thread alone.
                        unsafe { keep(task_to_job(task), index, giver) };
                    }
                    stolen
                };
                self.with_thief(victim, attempt).unwrap_or(Steal::Empty)
            }
        };
        stolen.map(task_to_job)
    }

    pub(super) fn sees_work_of(self, victim: usize) -> bool {
        if Q::PROMISES.owner_must_poll && !self.is_empty() {
            // Nobody could steal this worker's tasks while it sleeps, so it stays awake and polls.
            return true;
        }
        match &self.seen().thieves {
            Thieves::Everybodys(thieves) => thieves[victim].has_stealable_hint(),
            Thieves::Own(_) => self.with_thief(victim, |thief| thief.has_stealable_hint()) == Some(true),
        }
    }

    /// Settles the request that [stands](Queue::STANDS), if one does: returns the tasks that it has brought one by one,
    /// each with its giver.
    pub(super) fn settle(self) -> Option<(NonNull<Job>, usize)> {
        let Thieves::Own(thieves) = &self.seen().thieves else { return None };
        // SAFETY: only this thread uses the handles, and none is in use.
        let handles = unsafe { &mut *thieves.get() }.iter_mut().enumerate();
        let settle = |(victim, thief): (usize, &mut Option<Q::Thief>)| {
            let thief = thief.as_mut()?;
            let task = thief.quiesce()?;
            Some((task_to_job(task), thief.taken_from().unwrap_or(victim)))
        };
        { handles }.find_map(settle)
    }

    /// Takes the worker's own newest word.
    #[inline]
    fn pop(self) -> Option<Task> {
        self.with_owner(Owner::pop)
    }

    /// Takes the worker's own newest task as a thief would, so that its join finds it stolen.
    pub(super) fn pop_own(self) -> Option<NonNull<Job>> {
        self.pop().map(task_to_job)
    }

    pub(super) fn is_empty(self) -> bool {
        self.has_at_most(0)
    }

    fn has_at_most(self, tasks: usize) -> bool {
        self.with_owner(|owner| owner.len_hint() <= tasks)
    }
}

impl<Q: Queue<Native>> OnFrames for Queued<Q> {}

impl<Q: Queue<Native>> Known for Queued<Q> {
    type Cursor = ();

    #[inline(always)]
    fn cursor(_: *mut Slot) {}

    #[inline(always)]
    fn head((): ()) -> *mut Slot {
        null_mut()
    }
}

// SAFETY: the queue gives out each word once.
unsafe impl<Q: Queue<Native>> Plumbing for Queued<Q> {
    type Settings = QueueSettings<Q>;

    const ANSWERS_SIGNALS: bool = Self::ANSWERS;
    const IS_ASKED: bool = !Q::PROMISES.answers_by_clock;
    const KEEPS: bool = true;
    const BY_VICTIM: bool = Q::BY_VICTIM;
    const MAX_WORKERS: usize = match Q::PROMISES.memory_model {
        // A worker that is alone needs no fence.
        MemoryModel::OneThread => 1,
        _ if Q::THIEVES_ALIKE => MAX_WORKERS,
        // With a handle, and perhaps a request slot, for each pair of workers, this many workers take some 100 MiB.
        _ => 1 << 10,
    };

    fn refusal(settings: &QueueSettings<Q>, wait: Wait, by_signal: bool) -> Option<&'static str> {
        settings.loot.and_then(|_| loot::refusal(wait, by_signal && Self::ANSWERS))
    }

    fn create(workers: usize, room: Room, settings: &QueueSettings<Q>, places: &Places) -> io::Result<Vec<Self>> {
        let QueueSettings { params, loot } = settings;
        let capacity = match Q::PROMISES.capacity {
            Capacity::Grows if !room.is_asked => Self::INITIAL_CAPACITY,
            _ if room.is_asked && room.tasks > Q::MAX_CAPACITY => {
                return Err(io::Error::other(format!("the queue counts to {}", Q::MAX_CAPACITY)));
            }
            _ => room.tasks.min(Q::MAX_CAPACITY),
        };
        const {
            // A job is gone once it has run.
            assert!(matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce), "the queue may return a task twice");
            // I1.
            assert!(matches!(Q::PROMISES.order, Order::Lifo), "the owner's end of the queue is first in, first out");
        };
        if capacity != Self::INITIAL_CAPACITY {
            // A queue that gets no memory ends the process, so check beforehand.
            const SLOT: usize = 16;
            let bytes = workers.saturating_mul(capacity).saturating_mul(SLOT);
            Vec::<u8>::new().try_reserve_exact(bytes).map_err(io::Error::other)?;
        }
        let has_barriers = Native::prepare_barriers();
        let kept_back = Q::kept_back(capacity, params);
        let queued = |(owner, thieves, counts)| Self {
            owner: UnsafeCell::new(owner),
            thieves,
            counts,
            kept: Cell::default(),
            kept_back,
            loot: *loot,
            spoils: Cell::default(),
            has_barriers,
            is_busy: Atomic::new(false),
        };
        let hands: Vec<(Q::Owner, Thieves<Q>, Arc<Counts>)> = if Q::THIEVES_ALIKE && loot.is_none() {
            let (owners, thieves) = deal_alike::<Q>(workers, capacity, params, places);
            owners.into_iter().map(|owner| (owner, Thieves::Everybodys(Arc::clone(&thieves)), Arc::default())).collect()
        } else {
            // SAFETY: a worker's handles stay with it, and it is one thread at a time.
            let hands = unsafe { deal_any::<Q>(workers, capacity, params, places) }.into_iter();
            let counting = |mut hand| {
                let counts = count_in::<Q>(&mut hand);
                (hand.0, Thieves::Own(UnsafeCell::new(hand.1)), counts)
            };
            hands.map(counting).collect()
        };
        Ok(hands.into_iter().map(queued).collect())
    }

    fn counted(&self) -> Counted {
        self.counts.read()
    }

    fn bottom(&self) -> *mut Slot {
        null_mut()
    }

    fn kept_back(&self) -> usize {
        self.kept_back
    }

    fn front(core: &Core<Self>) -> &Front {
        &core.detached
    }

    #[inline]
    fn join<A: Body<In = Self>, B: Body<In = Self>>(here: Here<'_, Self>, a: A, b: B) -> (A::Out, B::Out) {
        frames::join(here, a, b)
    }

    fn wants_work(here: &Here<'_, Self>) -> bool {
        // Thieves ask by taking all that they can.
        here.core().peers().len() > 1 && here.pool().has_at_most(here.pool().kept_back)
    }

    #[inline]
    unsafe fn push_word(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        if Q::NAMELESS {
            let index = here.home().index;
            // SAFETY: the job is this worker's own, or the queue gave it to this thread alone.
            unsafe { keep(job, index, index) };
        }
        let push = |owner: &mut Q::Owner| (owner.len_hint(), owner.push(job_to_task(job)).is_ok());
        let (older, pushed) = here.pool().with_owner(push);
        let kept_back = if Self::KEEPS_BACK { here.pool().kept_back } else { 0 };
        // If a thief's claim makes `older` too small, and the thief gives the claim back, it looks again before it
        // sleeps.
        if older >= kept_back {
            has_pushed(&*here.home(), older == kept_back);
        }
        pushed
    }

    unsafe fn take_word_back(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        // SAFETY: the caller promises that the job is the newest.
        unsafe { here.pool().take_back(job) }
    }

    fn wants_more(here: &Here<'_, Self>) -> bool {
        Self::wants_work(here)
    }

    fn poll(here: &Here<'_, Self>) {
        here.pool().poll();
    }

    fn interrupt(here: &Here<'_, Self>) -> bool {
        here.pool().interrupt()
    }

    fn begin(idle: &IdleHere<'_, '_, Self>) {
        Self::keep_dealt(idle);
        idle.pool().answer();
    }

    fn share_all(here: &Here<'_, Self>) {
        here.pool().answer();
    }

    fn rest(here: &Here<'_, Self>) {
        here.pool().with_owner(Owner::rest);
    }

    fn steal(here: &Here<'_, Self>, victim: &Core<Self>, _: Height) -> Steal<NonNull<Job>> {
        let (home, victim) = (here.home(), victim.home.index);
        here.pool().steal_from(home.index, victim, false, || home.want_answer(victim))
    }

    fn haul(idle: &IdleHere<'_, '_, Self>, victim: &Core<Self>, _: Height) -> Steal<NonNull<Job>> {
        let (home, victim) = (idle.home(), victim.home.index);
        match idle.pool().loot {
            None => idle.pool().steal_from(home.index, victim, Q::STANDS, || home.want_answer(victim)),
            Some(loot) => Self::haul_by(idle, victim, loot),
        }
    }

    fn pop_kept(idle: &IdleHere<'_, '_, Self>) -> Option<NonNull<Job>> {
        Self::newest_kept(idle)
    }

    fn ask(_: &Core<Self>, _: &Core<Self>) {}

    fn has_work(here: &Here<'_, Self>, victim: &Core<Self>) -> bool {
        here.pool().sees_work_of(victim.home.index)
    }

    fn steal_own(here: &Here<'_, Self>) -> Option<NonNull<Job>> {
        here.pool().pop_own()
    }

    fn has_own(here: &Here<'_, Self>) -> bool {
        !here.pool().is_empty()
    }

    /// Makes visible all pushes of owners that did not see this worker's announcement. Before that, answers thieves
    /// that would wait for this worker while it sleeps, and settles its own request.
    fn settle(here: &Here<'_, Self>) {
        Self::keep_dealt(here);
        if matches!(Q::PROMISES.steal_progress, Progress::WaitsForOwner) {
            here.pool().poll();
        }
        if here.pool().has_barriers && Native::barriers_are_quick() {
            Native::heavy_barrier();
        } else {
            nap();
        }
    }

    fn is_settling_fast(&self) -> bool {
        self.has_barriers
    }
}

impl<Q: Queue<Native>> Pool for Queued<Q> {
    const TRANSITIVE: bool = false;
}
