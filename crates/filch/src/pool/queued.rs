//! A task pool made of any word queue: the task lies on the frame of its fork, and the queue holds its address.
//!
//! **Invariants.**
//! * I1: forks and joins of one worker are nested, so the newest word that the owner finds is that of the task it joins, or
//!   that task has been stolen.
//! * I2: a frame does not end before its task was popped or settled.
//!
//! **Sleep.** A push does not fence before its look at the sleepers. Who goes to sleep makes up for that by a barrier that all
//! processors pass, or where the system has none by letting some time pass: see
//! [`has_pushed`](crate::protocol::waiting::has_pushed).

use std::any::type_name;
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use filch_memory::{Asymmetric, Atomic, Memory, Native, Ordering};
use filch_queue::{Capacity, Delivery, Order, Owner, Progress, Queue, Steal, Stealable, Task, Thief};

use super::loot::{self, QueueSettings};
use super::{Plumbing, Pool, Room};
use crate::front::{Front, Operations};
use crate::job::{self, Body, Job, Record, Slot};
use crate::post::Loot;
use crate::protocol::state::{JobState, MAX_WORKERS, Settled};
use crate::protocol::waiting::has_pushed;
use crate::unwind::discard;
use crate::wait::{self, Here, Wait};
use crate::worker::{Core, job_to_task, task_to_job};

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

    /// The owner's end, for `f`, which no signal's handler disturbs.
    ///
    /// # Safety
    /// The current thread is this worker, and `f` does not come back to the owner's end.
    #[inline(always)]
    pub(super) unsafe fn with_owner<R>(&self, f: impl FnOnce(&mut Q::Owner) -> R) -> R {
        // Relaxed, with fences for the compiler: only a handler on this thread reads it.
        if Self::ANSWERS {
            self.is_busy.store(true, Ordering::Relaxed);
            Native::compiler_fence();
        }
        // SAFETY: the owner's end is this thread's; the caller's promise; and a handler sees that it is in use.
        let result = f(unsafe { &mut *self.owner.get() });
        if Self::ANSWERS {
            Native::compiler_fence();
            self.is_busy.store(false, Ordering::Relaxed);
        }
        result
    }

    /// Answers thieves from a signal's handler; `false` if the worker is using its owner's end, and so will soon answer itself.
    ///
    /// Allocates nothing: where there are signals a worker steals one task at a time, for which there is always room.
    ///
    /// # Safety
    /// The current thread is this worker, interrupted anywhere.
    unsafe fn interrupt(&self) -> bool {
        // Relaxed: this thread's own value.
        if !Self::ANSWERS || self.is_busy.load(Ordering::Relaxed) {
            return false;
        }
        // SAFETY: this thread has interrupted itself where it does not use the owner's end.
        unsafe { self.with_owner(Owner::poll) };
        true
    }

    /// Pushes a job; returns whether there was room, and wakes nobody.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(super) unsafe fn push(&self, job: NonNull<Job>) -> bool {
        // SAFETY: the caller's promise, and nothing called here comes back to the owner's end.
        unsafe { self.with_owner(|owner| owner.push(job_to_task(job)).is_ok()) }
    }

    /// Takes `job` back if nobody has stolen it.
    ///
    /// # Safety
    /// The current thread is this worker; `job` is the newest one that it pushed and has not joined.
    pub(super) unsafe fn take_back(&self, job: NonNull<Job>) -> bool {
        // SAFETY: as above.
        let newest = unsafe { self.with_owner(Owner::pop) };
        // SAFETY: the caller's promise.
        newest.is_some_and(|task| task_to_job(task) == job) || unsafe { self.was_kept(job, newest) }
    }

    /// [`Queued::take_back`] of a job that is not the newest in the queue, which has been popped.
    ///
    /// # Safety
    /// The current thread is this worker.
    #[cold]
    unsafe fn was_kept(&self, job: NonNull<Job>, older: Option<Task>) -> bool {
        // SAFETY: it is this thread's, and nothing called here comes back to it.
        let kept = unsafe { &mut *self.kept.get() };
        let was_kept = kept.pop_if(|newest| task_to_job(*newest) == job).is_some();
        // I1: `job`, if it was not kept, was stolen out of order. SAFETY: as above.
        if let Some(Err(full)) = older.map(|older| unsafe { self.with_owner(|owner| owner.push(older)) }) {
            // Thieves are taking so much that there is no room.
            kept.push(full.0);
        }
        was_kept
    }

    /// # Safety
    /// The current thread is this worker.
    pub(super) unsafe fn steal_from(&self, victim: usize) -> Steal<NonNull<Job>> {
        let stolen = match &self.thieves {
            Thieves::Everybodys(thieves) => Q::steal_alike(&thieves[victim]),
            Thieves::Own(thieves) => {
                // SAFETY: the thief handles are this thread's, and nothing called here comes back to them.
                let Some(Some(thief)) = (unsafe { &mut *thieves.get() }).get_mut(victim) else { return Steal::Empty };
                // SAFETY: the caller's promise, and nothing called here comes back to the owner's end.
                unsafe { self.with_owner(|owner| steal_by::<Q>(owner, thief, Thief::steal)) }
            }
        };
        stolen.map(task_to_job)
    }

    /// # Safety
    /// The current thread is this worker.
    pub(super) unsafe fn sees_work_of(&self, victim: usize) -> bool {
        // SAFETY: as above.
        if Q::PROMISES.owner_must_poll && !unsafe { self.is_empty() } {
            // What it would leave behind asleep, nobody could steal: it stays awake and polls.
            return true;
        }
        match &self.thieves {
            Thieves::Everybodys(thieves) => thieves[victim].has_work_hint(),
            Thieves::Own(thieves) => {
                // SAFETY: as above.
                let thieves = unsafe { &*thieves.get() };
                thieves.get(victim).and_then(Option::as_ref).is_some_and(Thief::has_work_hint)
            }
        }
    }

    /// Before the last look of a worker that goes to sleep: sees whatever owners had pushed that did not see it.
    fn settles(&self) {
        if self.has_barriers {
            Native::heavy_barrier();
        } else {
            wait::nap();
        }
    }

    /// Takes the worker's own newest task as a thief would: its fork will find it stolen.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(super) unsafe fn pop_own(&self) -> Option<NonNull<Job>> {
        // SAFETY: the caller's promise, and nothing called here comes back to the owner's end.
        unsafe { self.with_owner(Owner::pop) }.map(task_to_job)
    }

    /// # Safety
    /// The current thread is this worker.
    pub(super) unsafe fn is_empty(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.with_owner(|owner| owner.len_hint() == 0) }
    }
}

/// Tries to take a task by `attempt`, and answers the worker's own thieves: stealing is what it does in every loop in which it waits.
///
/// Where thieves get nothing without an answer of the owner, waits for one a while, and then withdraws the request. Afterwards nothing
/// is outstanding that only this thief could take, so it may sleep, or run something else; where a request cannot be withdrawn, the
/// owner revokes what it has granted.
pub(crate) fn steal_by<Q: Queue<Native>>(
    owner: &mut Q::Owner,
    thief: &mut Q::Thief,
    mut attempt: impl FnMut(&mut Q::Thief) -> Steal<Task>,
) -> Steal<Task> {
    // Longer than it takes an owner that runs to come to its next fork, or to deal, on average; under Miri, where it may take any time,
    // no longer than a test can wait.
    const PATIENCE: u32 = if cfg!(miri) { 1 << 4 } else { 1 << 11 };
    const PAUSES: u32 = PATIENCE / 4;
    owner.poll();
    let mut stolen = attempt(thief);
    if matches!(Q::PROMISES.stealable, Stealable::OnRequest) {
        for round in 1..=PATIENCE {
            if stolen != Steal::Pending {
                return stolen;
            }
            if round % PAUSES == 0 {
                // The owner may be waiting for this processor, and can answer only while the request stands.
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
            owner.poll();
            stolen = attempt(thief);
        }
        if stolen == Steal::Pending {
            stolen = thief.quiesce().map_or(Steal::Pending, Steal::Task);
        }
    }
    stolen
}

/// A worker's end of its own queue, and its thief handles on the others', by worker; its own place holds nothing.
pub(crate) type Hand<Q> = (<Q as Queue<Native>>::Owner, Vec<Option<<Q as Queue<Native>>::Thief>>);

/// A queue for each worker, and its handles dealt out, for tasks of any kind.
pub(crate) fn deal_any<Q: Queue<Native>>(workers: usize, capacity: usize, params: &Q::Params) -> Vec<Hand<Q>> {
    const {
        // One that has gone home, or waits for the thief.
        let waits = matches!(Q::PROMISES.steal_progress, Progress::WaitsForOwner);
        assert!(!waits, "a thief of the queue may wait for an owner that does not come back to it");
    };
    let mut thieves: Vec<Vec<Option<Q::Thief>>> = (0..workers).map(|_| Vec::with_capacity(workers)).collect();
    let owners: Vec<Q::Owner> = (0..workers)
        .map(|victim| {
            let (owner, handles) = Q::make(capacity, workers - 1, params);
            let mut handles = handles.into_iter();
            for (thief, row) in thieves.iter_mut().enumerate() {
                row.push(if thief == victim { None } else { handles.next() });
            }
            owner
        })
        .collect();
    owners.into_iter().zip(thieves).collect()
}

/// A queue for each worker, and one handle on each for all thieves.
pub(crate) fn deal_alike<Q: Queue<Native>>(
    workers: usize,
    capacity: usize,
    params: &Q::Params,
) -> (Vec<Q::Owner>, Arc<[Q::Thief]>) {
    assert!(Q::THIEVES_ALIKE, "each thief needs a handle of its own");
    let make = |_| Q::make(capacity, 1, params);
    let (owners, thieves): (Vec<Q::Owner>, Vec<Vec<Q::Thief>>) = (0..workers).map(make).unzip();
    (owners, thieves.into_iter().flatten().collect())
}

/// A pool whose tasks lie on the frames of their forks, and of which the owner has only addresses in its hands.
pub(super) trait OnFrames: Pool<Cursor = ()> {
    /// [`Plumbing::OPERATIONS`].
    const TABLE: &'static Operations = &Operations {
        push: |front, job| {
            // SAFETY: called on a front of a worker of this type of pool, on its own thread, as are the others.
            unsafe { Self::push(Core::of(front), job) }
        },
        take_back: |front, job| {
            // SAFETY: as above.
            unsafe { Self::take_back(Core::of(front), job) }
        },
        wait_job: |front, head, job, help| {
            // SAFETY: as above, and the caller's promises.
            unsafe { wait::wait_job(Here::<Self>::at(front, head), job, help) }
        },
        wait_until: |front, head, awaited| {
            // SAFETY: as above, and the caller's promise.
            wait::wait_until(unsafe { Here::<Self>::at(front, head) }, awaited);
        },
        visit: |front, head, work| {
            // SAFETY: as above, and the caller's promise.
            wait::visit(unsafe { Here::<Self>::at(front, head) }, work);
        },
        run_one: |front, head, reach| {
            // SAFETY: as above, and the caller's promise.
            wait::run_one(unsafe { Here::<Self>::at(front, head) }, reach)
        },
        has_own: |front, head| {
            // SAFETY: as above, and the caller's promise.
            unsafe { <Self as Plumbing>::has_own(Core::of(front), front, head) }
        },
        wants_work: |front| Self::wants_work(front, ()),
        poll: |front| {
            // SAFETY: as above.
            unsafe { Self::poll(Core::of(front)) }
        },
        interrupt: |front| {
            // SAFETY: as above, though perhaps in the middle of anything.
            unsafe { Self::interrupt(Core::of(front)) }
        },
        stack: None,
    };

    /// Keeps a job for thieves or for [`OnFrames::take_back`]; `false` if there is no room.
    ///
    /// # Safety
    /// The current thread is the worker `core`. The job stays where it is until it was taken back or settled: I2.
    unsafe fn push(core: &Core<Self>, job: NonNull<Job>) -> bool;

    /// Takes `job` back if nobody has stolen it.
    ///
    /// # Safety
    /// The current thread is the worker `core`; `job` is the newest one that it pushed and has not joined.
    unsafe fn take_back(core: &Core<Self>, job: NonNull<Job>) -> bool;

    /// Answers thieves.
    ///
    /// # Safety
    /// The current thread is the worker `core`.
    unsafe fn poll(core: &Core<Self>);

    /// [`OnFrames::poll`] from a signal's handler; `false` if that is not possible now.
    ///
    /// # Safety
    /// As [`OnFrames::poll`], but the signal may have interrupted anything.
    unsafe fn interrupt(_: &Core<Self>) -> bool {
        false
    }
}

impl<Q: Queue<Native>> OnFrames for Queued<Q> {
    #[inline]
    unsafe fn push(core: &Core<Self>, job: NonNull<Job>) -> bool {
        let push = |owner: &mut Q::Owner| (owner.len_hint() == 0, owner.push(job_to_task(job)).is_ok());
        // SAFETY: the caller's promise, and nothing called here comes back to the owner's end.
        let (was_empty, pushed) = unsafe { core.pool.with_owner(push) };
        has_pushed(&core.home, was_empty);
        pushed
    }

    unsafe fn take_back(core: &Core<Self>, job: NonNull<Job>) -> bool {
        // SAFETY: the caller's promises.
        unsafe { core.pool.take_back(job) }
    }

    unsafe fn poll(core: &Core<Self>) {
        // SAFETY: the caller's promise.
        unsafe { core.pool.with_owner(Owner::poll) };
    }

    unsafe fn interrupt(core: &Core<Self>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { core.pool.interrupt() }
    }
}

// SAFETY: the queue gives each word out once.
unsafe impl<Q: Queue<Native>> Plumbing for Queued<Q> {
    type Cursor = ();
    type Settings = QueueSettings<Q>;

    const ANSWERS_SIGNALS: bool = Self::ANSWERS;
    const KEEPS: bool = true;
    // With a handle, and perhaps a place to ask, for each pair of workers, this many take some 100 MiB.
    const MAX_WORKERS: usize = if Q::THIEVES_ALIKE { MAX_WORKERS } else { 1 << 10 };
    const OPERATIONS: &'static Operations = Self::TABLE;

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
        let queued = |(owner, thieves)| Self {
            owner: UnsafeCell::new(owner),
            thieves,
            kept: UnsafeCell::default(),
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

    #[inline(always)]
    fn cursor(_: *mut Slot) {}

    #[inline(always)]
    fn head((): ()) -> *mut Slot {
        null_mut()
    }

    fn bottom(&self) -> *mut Slot {
        null_mut()
    }

    fn front(core: &Core<Self>) -> &Front {
        &core.detached
    }

    #[inline]
    unsafe fn join<A: Body, B: Body>(front: &Front, (): (), a: A, b: B) -> (A::Out, B::Out) {
        // SAFETY: the caller's promise.
        unsafe { join::<Self, A, B>(front, a, b) }
    }

    fn wants_work(front: &Front, (): ()) -> bool {
        // SAFETY: a front of this type of pool, on its own thread.
        let core = unsafe { Core::<Self>::of(front) };
        // A queue that thieves have emptied is how they ask. SAFETY: as above.
        core.peers().len() > 1 && unsafe { core.pool.is_empty() }
    }

    unsafe fn steal(thief: &Core<Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        // SAFETY: the caller's promise.
        unsafe { thief.pool.steal_from(victim.home.index) }
    }

    unsafe fn haul(thief: &Core<Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        // SAFETY: the caller's promise, here and below.
        let Some(loot) = thief.pool.loot else { return unsafe { Self::steal(thief, victim) } };
        // SAFETY: as above.
        unsafe { Self::haul_by(thief, victim.home.index, loot) }
    }

    unsafe fn pop_kept(core: &Core<Self>) -> Option<NonNull<Job>> {
        // SAFETY: the caller's promise.
        unsafe { core.pool.newest_kept() }
    }

    fn ask(_: &Core<Self>, _: &Core<Self>) {}

    unsafe fn has_work(thief: &Core<Self>, victim: &Core<Self>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { thief.pool.sees_work_of(victim.home.index) }
    }

    unsafe fn steal_own(core: &Core<Self>, _: &Front, _: *mut Slot) -> Option<NonNull<Job>> {
        // SAFETY: the caller's promise.
        unsafe { core.pool.pop_own() }
    }

    unsafe fn has_own(core: &Core<Self>, _: &Front, _: *mut Slot) -> bool {
        // SAFETY: the caller's promise.
        unsafe { !core.pool.is_empty() }
    }

    fn settles(core: &Core<Self>) {
        core.pool.settles();
    }

    fn settles_fast(&self) -> bool {
        self.has_barriers
    }

    fn height(_: &Core<Self>, _: &Front, _: *mut Slot) -> usize {
        0
    }

    fn stolen_at(&self, _: usize) -> Option<&JobState<Native>> {
        None
    }

    fn peak_depth(&self) -> usize {
        0
    }

    fn forget_peak(&self) {}
}

impl<Q: Queue<Native>> Pool for Queued<Q> {
    const TRANSITIVE: bool = false;
}

/// Forks `b` on this frame, runs `a`, joins.
///
/// # Safety
/// `front` is a front of the current thread's worker, of a pool of type `P`.
#[inline]
pub(super) unsafe fn join<P: OnFrames, A: Body, B: Body>(front: &Front, a: A, b: B) -> (A::Out, B::Out) {
    // SAFETY: the caller's promise.
    let core = unsafe { Core::<P>::of(front) };
    let record = Record::new(b);
    // SAFETY: the record stays until the guard, or the pop below, has settled it: I2.
    let pushed = unsafe { P::push(core, record.job()) };
    let guard = Guard { core, front, record: &record, pushed };
    // SAFETY: there is no stack to respect.
    let ra = unsafe { a.inline(front, null_mut()) };
    // SAFETY: forgotten next, so the job is popped once.
    let settled = unsafe { ManuallyDrop::new(guard).pop(true) };
    // SAFETY: popped and not run, or settled; moved out once.
    unsafe {
        match settled {
            Settled::Unrun => (ra, job::take_work::<B, B::Out>(record.job()).inline(front, null_mut())),
            Settled::Done => (ra, job::take_result::<B, B::Out>(record.job())),
            Settled::Panicked => std::panic::resume_unwind(job::take_payload::<B, B::Out>(record.job())),
        }
    }
}

/// A fork between its push and its pop.
struct Guard<'f, P: OnFrames, B: Body> {
    core: &'f Core<P>,
    front: &'f Front,
    record: &'f Record<B, B::Out>,
    pushed: bool,
}

impl<P: OnFrames, B: Body> Guard<'_, P, B> {
    /// # Safety
    /// As [`pop`].
    #[inline(always)]
    unsafe fn pop(&self, help: bool) -> Settled {
        // SAFETY: the caller's promise.
        unsafe { pop(self.core, self.front, self.record.job(), self.pushed, help) }
    }
}

impl<P: OnFrames, B: Body> Drop for Guard<'_, P, B> {
    // Inlined, and handing its fields over by value, so that they stay in registers as long as nothing unwinds.
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `join` has not come to its own pop.
        unsafe { abandon(self.core, self.front, self.record, self.pushed) };
    }
}

/// Takes a fork's job back, or waits until its thief has settled it.
///
/// # Safety
/// Called once for each push, with what it returned, by the worker `core`, after everything that it pushed later has been
/// popped.
#[inline(always)]
unsafe fn pop<P: OnFrames>(core: &Core<P>, front: &Front, job: NonNull<Job>, pushed: bool, help: bool) -> Settled {
    // SAFETY: the caller's promise.
    if !pushed || unsafe { P::take_back(core, job) } {
        return Settled::Unrun;
    }
    // SAFETY: as above; a thief has the job.
    unsafe { wait_cold(core, front, job, help) }
}

/// # Safety
/// As [`pop`]; a thief has the job.
#[cold]
#[inline(never)]
unsafe fn wait_cold<P: OnFrames>(core: &Core<P>, front: &Front, job: NonNull<Job>, help: bool) -> Settled {
    // SAFETY: the caller's promise; there is no stack to respect.
    unsafe { wait::wait_job(Here::new(core, front, null_mut()), job, help) }
}

/// Ends a fork whose first branch unwinds: drops the job, or what became of it.
///
/// # Safety
/// As [`pop`].
#[cold]
#[inline(never)]
unsafe fn abandon<P: OnFrames, B: Body>(core: &Core<P>, front: &Front, record: &Record<B, B::Out>, pushed: bool) {
    // SAFETY: the caller's promise; the work or the result is moved out once.
    unsafe {
        match pop(core, front, record.job(), pushed, false) {
            Settled::Unrun => discard(job::take_work::<B, B::Out>(record.job())),
            Settled::Done => discard(job::take_result::<B, B::Out>(record.job())),
            Settled::Panicked => discard(job::take_payload::<B, B::Out>(record.job())),
        }
    }
}
