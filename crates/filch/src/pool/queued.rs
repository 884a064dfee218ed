//! A task pool made of any word queue: the task lies on the frame of its fork, and the queue holds its address.
//!
//! This file and [`loot`] need each other, for they are one pool: what it does with single tasks, and with several at once.
//!
//! **Invariants.** Those of [tasks on frames](super::frames): I1, I2.
//!
//! **Sleep.** A push does not fence before its look at the sleepers. Who goes to sleep makes up for that by a barrier that all
//! processors pass, or where the system has none by letting some time pass: see
//! [`has_pushed`](crate::protocol::waiting::has_pushed).

use std::any::type_name;
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use filch_memory::{Asymmetric, Atomic, Memory, Native, Ordering};
use filch_queue::{Capacity, Delivery, Order, Owner, Queue, Steal, Task, Thief};

use super::frames::{self, OnFrames};
use super::loot::{self, QueueSettings};
use super::{Plumbing, Pool, Room};
use crate::core::Core;
use crate::deal::{deal_alike, deal_any, steal_by};
use crate::front::Front;
use crate::here::{Here, IdleHere, Known};
use crate::job::Body;
use crate::own::Own;
use crate::patience::nap;
use crate::policy::Wait;
use crate::protocol::state::MAX_WORKERS;
use crate::protocol::waiting::has_pushed;
use crate::slot::{Job, Slot};
use crate::worker_queue::Loot;

/// A task pool on the word queue `Q`: for every algorithm of [`filch_queue`] whose owner's end is last in, first out, whose thieves do
/// not wait for what the owner does next, and that returns each task once. The compiler refuses others:
///
/// ```compile_fail
/// use filch::{ThreadPool, pool::Queued};
/// use filch_queue::IdempotentLifo;
///
/// let pool = ThreadPool::builder().pool::<Queued<IdempotentLifo>>().workers(2).build();
/// ```
///
/// ```compile_fail
/// use filch::{ThreadPool, pool::Queued};
/// use filch_queue::PatientThep;
///
/// let pool = ThreadPool::builder().pool::<Queued<PatientThep>>().workers(2).build();
/// ```
///
/// When the queue is full, forks run their second branch after the first.
///
/// What can be set of it: [`QueueSettings`].
pub struct Queued<Q: Queue<Native>> {
    owner: UnsafeCell<Q::Owner>,
    pub(super) thieves: Thieves<Q>,
    /// Jobs that were popped too soon and did not find their way back, oldest first; and of an idle worker those that it has stolen and
    /// has no room for.
    pub(super) kept: UnsafeCell<Vec<Task>>,
    /// How thieves take several tasks, if they do.
    pub(super) loot: Option<Loot<Q>>,
    /// Between a theft of several and the pushes of what is too much of it, otherwise empty.
    pub(super) spoils: UnsafeCell<Vec<Task>>,
    /// How many of the owner's newest tasks thieves leave to it.
    kept_back: usize,
    /// Whether there are barriers for who goes to sleep.
    pub(super) has_barriers: bool,
    /// Whether the worker is using its owner's end, for a signal that interrupts it.
    is_busy: <Native as Memory>::AtomicBool,
}

// SAFETY: all parts are touched by the worker's own thread only, except for handles that may be shared; the queue's shared part is
// behind its handles.
unsafe impl<Q: Queue<Native>> Sync for Queued<Q> {}
// SAFETY: nothing in it is tied to a thread; handles that several workers have may be shared.
unsafe impl<Q: Queue<Native>> Send for Queued<Q> {}

/// The handles by which a worker steals from the others' queues, by worker.
pub(super) enum Thieves<Q: Queue<Native>> {
    /// This worker's own; its own place holds nothing.
    Own(UnsafeCell<Vec<Option<Q::Thief>>>),
    /// Everybody's, since they are [alike](Queue::THIEVES_ALIKE).
    Everybodys(Arc<[Q::Thief]>),
}

impl<Q: Queue<Native>> fmt::Debug for Queued<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queued<{}>", type_name::<Q>())
    }
}

impl<Q: Queue<Native>> Queued<Q> {
    /// For queues that grow.
    pub(super) const INITIAL_CAPACITY: usize = 256;

    /// Whether a signal may have the worker answer its thieves: with the other queues it need not.
    const ANSWERS: bool = Q::PROMISES.owner_must_poll;
}

/// What the owner does. Each function has the owner's end once, and what is called meanwhile does not come back to it.
impl<'w, Q: Queue<Native>> Own<'w, Queued<Q>> {
    /// The owner's end, for `f`, which no signal's handler disturbs.
    ///
    /// # Safety
    /// `f` does not come back to the owner's end.
    #[inline(always)]
    pub(super) unsafe fn with_owner<R>(self, f: impl FnOnce(&mut Q::Owner) -> R) -> R {
        // Relaxed, with fences for the compiler: only a handler on this thread reads it.
        if Queued::<Q>::ANSWERS {
            self.is_busy.store(true, Ordering::Relaxed);
            Native::compiler_fence();
        }
        // SAFETY: the owner's end is this thread's, and used once, by the caller's promise; a handler sees that it is in use.
        let result = f(unsafe { &mut *self.owner.get() });
        if Queued::<Q>::ANSWERS {
            Native::compiler_fence();
            self.is_busy.store(false, Ordering::Relaxed);
        }
        result
    }

    /// The handle by which this worker steals from `victim`, if it has handles of its own, and `victim` is another one.
    ///
    /// # Safety
    /// The handle is used once at a time.
    #[expect(clippy::mut_from_ref, reason = "the owner's part, which the owner's thread alone may ask for")]
    pub(super) unsafe fn handle(
        self,
        thieves: &UnsafeCell<Vec<Option<Q::Thief>>>,
        victim: usize,
    ) -> Option<&mut Q::Thief> {
        // SAFETY: the handles are this thread's, and nobody else uses them meanwhile, by the caller's promise.
        unsafe { &mut *thieves.get() }.get_mut(victim)?.as_mut()
    }

    /// Answers thieves from a signal's handler; `false` if the worker is using its owner's end, and so will soon answer itself.
    ///
    /// Allocates nothing: where there are signals a worker steals one task at a time, for which there is always room.
    fn interrupt(self) -> bool {
        // Relaxed: this thread's own value.
        if !Queued::<Q>::ANSWERS || self.is_busy.load(Ordering::Relaxed) {
            return false;
        }
        self.poll();
        true
    }

    /// Answers thieves.
    fn poll(self) {
        // SAFETY: an operation of the queue.
        unsafe { self.with_owner(Owner::poll) };
    }

    /// Pushes a job; returns whether there was room, and wakes nobody.
    ///
    /// # Safety
    /// The job stays where it is until it was taken back or settled.
    pub(super) unsafe fn push(self, job: NonNull<Job>) -> bool {
        // SAFETY: an operation of the queue.
        unsafe { self.with_owner(|owner| owner.push(job_to_task(job)).is_ok()) }
    }

    /// Takes `job` back if nobody has stolen it.
    ///
    /// # Safety
    /// `job` is the newest one that the worker pushed and has not joined.
    #[inline]
    pub(super) unsafe fn take_back(self, job: NonNull<Job>) -> bool {
        let newest = self.pop();
        newest.is_some_and(|task| task_to_job(task) == job) || self.was_kept(job, newest)
    }

    /// Whether `job`, which was not the newest in the queue, was kept; what was popped instead goes back.
    #[cold]
    fn was_kept(self, job: NonNull<Job>, older: Option<Task>) -> bool {
        // SAFETY: the list is this thread's, and nothing called here comes back to it.
        let kept = unsafe { &mut *self.kept.get() };
        let was_kept = kept.pop_if(|newest| task_to_job(*newest) == job).is_some();
        // SAFETY: an operation of the queue. I1: `job`, if it was not kept, was stolen out of order.
        if let Some(Err(full)) = older.map(|older| unsafe { self.with_owner(|owner| owner.push(older)) }) {
            // Thieves are taking so much that there is no room.
            kept.push(full.0);
        }
        was_kept
    }

    pub(super) fn steal_from(self, victim: usize) -> Steal<NonNull<Job>> {
        let stolen = match &self.seen().thieves {
            Thieves::Everybodys(thieves) => Q::steal_alike(&thieves[victim]),
            Thieves::Own(thieves) => {
                // SAFETY: for the attempt, which is an operation of the queue, as is what it does at the owner's end.
                unsafe {
                    let Some(thief) = self.handle(thieves, victim) else { return Steal::Empty };
                    self.with_owner(|owner| steal_by::<Q>(owner, thief, Thief::steal))
                }
            }
        };
        stolen.map(task_to_job)
    }

    pub(super) fn sees_work_of(self, victim: usize) -> bool {
        if Q::PROMISES.owner_must_poll && !self.is_empty() {
            // What it would leave behind asleep, nobody could steal: it stays awake and polls.
            return true;
        }
        match &self.seen().thieves {
            Thieves::Everybodys(thieves) => thieves[victim].has_work_hint(),
            // SAFETY: for a look at the queue.
            Thieves::Own(thieves) => unsafe { self.handle(thieves, victim) }.is_some_and(|thief| thief.has_work_hint()),
        }
    }

    /// Takes the worker's own newest word.
    #[inline]
    fn pop(self) -> Option<Task> {
        // SAFETY: an operation of the queue.
        unsafe { self.with_owner(Owner::pop) }
    }

    /// Takes the worker's own newest task as a thief would: its fork will find it stolen.
    pub(super) fn pop_own(self) -> Option<NonNull<Job>> {
        self.pop().map(task_to_job)
    }

    pub(super) fn is_empty(self) -> bool {
        // SAFETY: an operation of the queue.
        unsafe { self.with_owner(|owner| owner.len_hint() == 0) }
    }
}

/// A job as the word that goes through a queue.
pub(super) fn job_to_task(job: NonNull<Job>) -> Task {
    Task::from_ptr(job)
}

/// See [`job_to_task`].
pub(super) fn task_to_job(task: Task) -> NonNull<Job> {
    task.as_ptr()
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

// SAFETY: the queue gives each word out once.
unsafe impl<Q: Queue<Native>> Plumbing for Queued<Q> {
    type Settings = QueueSettings<Q>;

    const ANSWERS_SIGNALS: bool = Self::ANSWERS;
    const KEEPS: bool = true;
    // With a handle, and perhaps a place to ask, for each pair of workers, this many take some 100 MiB.
    const MAX_WORKERS: usize = if Q::THIEVES_ALIKE { MAX_WORKERS } else { 1 << 10 };

    fn refusal(settings: &QueueSettings<Q>, wait: Wait, by_signal: bool) -> Option<&'static str> {
        settings.loot.and_then(|_| loot::refusal(wait, by_signal && Self::ANSWERS))
    }

    fn create(workers: usize, room: Room, settings: &QueueSettings<Q>) -> io::Result<Vec<Self>> {
        let QueueSettings { params, loot } = settings;
        let capacity = match Q::PROMISES.capacity {
            Capacity::Grows if !room.is_asked => Self::INITIAL_CAPACITY,
            _ => room.tasks,
        };
        const {
            // A job is gone once it has run.
            assert!(matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce), "the queue may return a task twice");
            // I1.
            assert!(matches!(Q::PROMISES.order, Order::Lifo), "the owner's end of the queue is first in, first out");
        };
        if capacity != Self::INITIAL_CAPACITY {
            // A queue that cannot have its memory ends the process: find out before.
            const SLOT: usize = 16;
            let bytes = workers.saturating_mul(capacity).saturating_mul(SLOT);
            Vec::<u8>::new().try_reserve_exact(bytes).map_err(io::Error::other)?;
        }
        let has_barriers = Native::prepare_barriers();
        let kept_back = Q::kept_back(capacity, params);
        let queued = |(owner, thieves)| Self {
            owner: UnsafeCell::new(owner),
            thieves,
            kept: UnsafeCell::default(),
            kept_back,
            loot: *loot,
            spoils: UnsafeCell::default(),
            has_barriers,
            is_busy: Atomic::new(false),
        };
        let hands: Vec<(Q::Owner, Thieves<Q>)> = if Q::THIEVES_ALIKE && loot.is_none() {
            let (owners, thieves) = deal_alike::<Q>(workers, capacity, params);
            owners.into_iter().map(|owner| (owner, Thieves::Everybodys(Arc::clone(&thieves)))).collect()
        } else {
            let hands = deal_any::<Q>(workers, capacity, params).into_iter();
            hands.map(|(owner, thieves)| (owner, Thieves::Own(UnsafeCell::new(thieves)))).collect()
        };
        Ok(hands.into_iter().map(queued).collect())
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
        // A queue that thieves have emptied is how they ask.
        here.core().peers().len() > 1 && here.pool().is_empty()
    }

    #[inline]
    unsafe fn push_word(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        let push = |owner: &mut Q::Owner| (owner.len_hint() == 0, owner.push(job_to_task(job)).is_ok());
        // SAFETY: an operation of the queue; the caller promises that the job stays.
        let (was_empty, pushed) = unsafe { here.pool().with_owner(push) };
        has_pushed(&*here.home(), was_empty);
        pushed
    }

    unsafe fn take_word_back(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        // SAFETY: the caller promises that it is the newest one.
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

    fn steal(here: &Here<'_, Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        here.pool().steal_from(victim.home.index)
    }

    fn haul(idle: &IdleHere<'_, '_, Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        match idle.pool().loot {
            None => Self::steal(idle, victim),
            Some(loot) => Self::haul_by(idle, victim.home.index, loot),
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

    /// Sees whatever owners had pushed that did not see it.
    fn settles(core: &Core<Self>) {
        if core.pool.has_barriers {
            Native::heavy_barrier();
        } else {
            nap();
        }
    }

    fn settles_fast(&self) -> bool {
        self.has_barriers
    }
}

impl<Q: Queue<Native>> Pool for Queued<Q> {
    const TRANSITIVE: bool = false;
}
