//! A worker: its two fronts, its task pool, and what it shares with the other workers of its thread pool.
//!
//! What must always hold: everything in a [`Core`] that is not atomic and not constant is touched only by the thread that
//! is this worker.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{NonNull, null};
use std::sync::Arc;

use crossbeam_queue::SegQueue;
use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::{ChaseLev, Owner, Padded, Steal, Task, Thief};

use crate::front::{Front, Kind, current};
use crate::job::{self, Body, Job, Slot};
use crate::levels::{Flat, Level};
use crate::pool::{self, Hand, Plumbing, Pool, Split, deal};
use crate::protocol::sleep::{Place, Sleepers, Wanted};
use crate::protocol::ticks::Ticks;
use crate::spawn::Spawned;
use crate::stats::{Counters, Stats};
use crate::thread_stack;
use crate::wait::Wait;

/// A sleeper that takes work of every kind: an idle worker.
pub(crate) const ALL: Wanted = crate::protocol::sleep::ANY;
/// The same with something else to do: a worker that waits.
pub(crate) const ALL_TOO: Wanted = PERHAPS - 1;
/// A sleeper that may turn out to be able to take a task from a stack.
pub(crate) const PERHAPS: Wanted = crate::protocol::sleep::PERHAPS;

/// What the workers of one thread pool share.
pub(crate) struct Common {
    pub(crate) sleepers: Padded<Sleepers<Native>>,
    pub(crate) places: Box<[Padded<Place<Native>>]>,
    /// Jobs from threads outside the pool.
    pub(crate) injected: SegQueue<Spawned>,
    /// Jobs for one worker and no other, by worker.
    mail: Box<[Padded<SegQueue<Spawned>>]>,
    /// The pool is being dropped: leave when nothing is left to do.
    pub(crate) closing: <Native as Memory>::AtomicBool,
    pub(crate) wait: Wait,
    /// What thieves wait for, if workers answer them on ticks.
    pub(crate) ticks: Option<Ticks<Native>>,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").field("workers", &self.places.len()).finish_non_exhaustive()
    }
}

impl Common {
    pub(crate) fn new(workers: usize, wait: Wait, ticks: Option<Ticks<Native>>) -> Self {
        Self {
            ticks,
            sleepers: Padded(Sleepers::default()),
            places: (0..workers).map(|_| Padded(Place::default())).collect(),
            injected: SegQueue::new(),
            mail: (0..workers).map(|_| Padded(SegQueue::new())).collect(),
            closing: Atomic::new(false),
            wait,
        }
    }

    /// Wakes a sleeper that takes work of every kind, unless somebody is searching. Precondition: the work is where it will look, and
    /// [`Sleepers::sleepers_after`] has said that somebody sleeps.
    pub(crate) fn wake_for_any(&self, after: usize) -> bool {
        !self.sleepers.is_searched()
            && (self.wake_where(after, |wanted| wanted == ALL) || self.wake_where(after, |wanted| wanted == ALL_TOO))
    }

    /// Wakes a sleeper that can take what worker `victim` has shared. First an idle one, unless somebody is searching: whoever passes a wake-up
    /// on may have been relied on for spawned jobs too. Those who can perhaps take it come last. Precondition: as
    /// [`Common::wake_for_any`].
    pub(crate) fn wake_for_stack(&self, victim: usize) -> bool {
        self.wake_for_any(victim)
            || self.wake_where(victim, |wanted| wanted as usize == victim)
            || self.wake_where(victim, |wanted| wanted == PERHAPS)
    }

    fn wake_where(&self, after: usize, wants: impl Fn(Wanted) -> bool) -> bool {
        let (before, behind) = self.places.split_at(after.min(self.places.len()));
        let mut candidates = behind.iter().chain(before);
        candidates.any(|place| place.would_help(&wants) && place.wake(&self.sleepers))
    }

    /// The worker of this pool that the current thread is.
    pub(crate) fn here(&self) -> Option<&'static Home> {
        current().home().filter(|home| std::ptr::eq(&raw const *home.common, self))
    }

    /// Hands a job to the pool: to the current thread's own jobs if it is a worker of the pool.
    pub(crate) fn hand_in(&self, job: Spawned) {
        match self.here() {
            // SAFETY: this thread is that worker.
            Some(home) => unsafe { home.spawn(job) },
            None => _ = self.inject(job),
        }
    }

    /// Hands a job to the pool from outside; returns whether somebody had to be woken for it.
    pub(crate) fn inject(&self, job: Spawned) -> bool {
        self.injected.push(job);
        self.sleepers.sleepers_after() && self.wake_for_any(0)
    }

    /// Hands a job to one worker, which will run it as soon as it waits for anything and has no spawned jobs of its own left.
    pub(crate) fn post(&self, worker: usize, job: Spawned) {
        self.mail[worker].push(job);
        // Either the worker's last look sees the job, or its place is seen to sleep.
        self.sleepers.sleepers_after();
        self.places[worker].wake(&self.sleepers);
    }

    /// A thief has found nothing, or is about to sleep: if workers answer on ticks, it wants one.
    pub(crate) fn want_tick(&self) {
        if let Some(ticks) = &self.ticks {
            ticks.want();
        }
    }

    /// Wakes everybody, to see that the pool is closing.
    pub(crate) fn close(&self) {
        // Relaxed: ordered before the wake-ups by the fence, as work would be.
        self.closing.store(true, Ordering::Relaxed);
        self.sleepers.sleepers_after();
        for place in &self.places {
            place.wake(&self.sleepers);
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        // Relaxed: see `close`.
        self.closing.load(Ordering::Relaxed)
    }
}

/// The part of a worker that does not depend on the type of its task pool.
pub(crate) struct Home {
    /// The worker's number.
    pub(crate) index: usize,
    pub(crate) common: Arc<Common>,
    pub(crate) counters: Counters,
    /// How many jobs of any kind the worker is running, one inside the other, while it waits for a scope or another pool.
    detours: <Native as Memory>::AtomicUsize,
    /// The whole worker. Set once, before the worker starts.
    core: Cell<*const ()>,
    /// Jobs that outlive whoever spawned them: the owner's end, and this thread's thief handles on the others'.
    spawned: UnsafeCell<Hand<ChaseLev>>,
    /// Forks in progress that have no place on the task stack, the newest last, and whether each was pushed elsewhere.
    aside: UnsafeCell<Vec<(NonNull<Slot>, bool)>>,
    /// How many of them there are because the task stack is full.
    pub(crate) overflow: Cell<usize>,
    /// Slots for further ones. Each was leaked from a box.
    spare: UnsafeCell<Vec<NonNull<Slot>>>,
    random: Cell<u64>,
    /// The middle of the thread's own stack.
    stack_middle: Cell<usize>,
}

impl Drop for Home {
    fn drop(&mut self) {
        for slot in self.spare.get_mut().drain(..) {
            // SAFETY: leaked from a box by `keep_aside`, and in nobody's use any more.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        }
    }
}

impl Home {
    /// The type-erased parts of all workers of a pool.
    pub(crate) fn create(workers: usize, common: &Arc<Common>) -> Vec<Self> {
        const INITIAL_CAPACITY: usize = 64;
        let hands = deal::<ChaseLev>(workers, INITIAL_CAPACITY).into_iter().enumerate();
        hands
            .map(|(index, hand)| Self {
                index,
                common: Arc::clone(common),
                counters: Counters::new(),
                detours: Atomic::new(0),
                core: Cell::new(null()),
                spawned: UnsafeCell::new(hand),
                aside: UnsafeCell::default(),
                overflow: Cell::new(0),
                spare: UnsafeCell::default(),
                random: Cell::new((index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
                stack_middle: Cell::new(0),
            })
            .collect()
    }

    /// Wakes a sleeper for what this worker may have shared. Precondition: as [`Common::wake_for_any`].
    pub(crate) fn wake_one(&self) {
        if self.common.wake_for_stack(self.index) {
            self.counters.wakeups.bump();
        }
    }

    /// The worker's place to sleep.
    pub(crate) fn place(&self) -> &Place<Native> {
        &self.common.places[self.index]
    }

    /// A job that only this worker may run.
    pub(crate) fn next_mail(&self) -> Option<Spawned> {
        self.common.mail[self.index].pop()
    }

    /// Whether there is such a job. A snapshot, good enough for a last look before sleep.
    pub(crate) fn has_mail(&self) -> bool {
        !self.common.mail[self.index].is_empty()
    }

    /// Whether what the worker has to give may descend from something else than what it had stolen. Precondition, for `false` to
    /// be right: the caller has just won a task from it.
    pub(crate) fn is_on_detour(&self) -> bool {
        // Relaxed: the worker published the task after it set out, and is not back before the task is settled.
        self.detours.load(Ordering::Relaxed) != 0
    }

    /// Runs `f`, a job that this worker happens to find, with the warning that [`Home::is_on_detour`] gives.
    pub(crate) fn on_detour(&self, f: impl FnOnce()) {
        // Relaxed, here and below: published with the tasks, and there is one writer.
        self.detours.store(self.detours.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        f();
        self.detours.store(self.detours.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Whether a poll is to answer thieves: always, or once for each tick.
    #[inline]
    pub(crate) fn is_polling(&self) -> bool {
        let Some(is_due) = self.common.ticks.as_ref().and_then(|ticks| ticks.is_due(self.index)) else { return true };
        if is_due {
            self.counters.interrupts.bump();
        }
        is_due
    }

    /// A number below `bound`: xorshift64*, which is enough to choose victims.
    pub(crate) fn random_below(&self, bound: usize) -> usize {
        let mut state = self.random.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.random.set(state);
        let high = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * bound as u64) >> 32) as usize
    }

    /// Remembers how much of the thread's stack there is: `bytes`, or more, or 0 if nobody knows. Call at the thread's start.
    pub(crate) fn measure_stack(&self, bytes: usize) {
        self.stack_middle.set(thread_stack::middle(bytes));
    }

    /// Whether more than half of the thread's stack is used: no time to nest foreign work.
    pub(crate) fn is_stack_low(&self) -> bool {
        thread_stack::is_past(self.stack_middle.get())
    }

    /// Pushes a job that may outlive its spawner, and wakes somebody for it.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn spawn(&self, job: Spawned) {
        // SAFETY: the owner's end is this thread's; nothing called here comes back to it.
        let pushed = unsafe { &mut (*self.spawned.get()).0 }.push(job.into_task());
        if let Err(full) = pushed {
            // SAFETY: the word just came out of `into_task`.
            self.common.injected.push(unsafe { Spawned::from_task(full.0) });
        }
        if self.common.sleepers.sleepers_after() && self.common.wake_for_any(self.index + 1) {
            self.counters.wakeups.bump();
        }
    }

    /// Takes the worker's own newest spawned job.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn pop_spawned(&self) -> Option<Spawned> {
        // SAFETY: as in `spawn`.
        let task = unsafe { &mut (*self.spawned.get()).0 }.pop()?;
        // SAFETY: only `spawn` pushes, and the queue gives each word out once.
        Some(unsafe { Spawned::from_task(task) })
    }

    /// Tries to take a job that `victim` spawned.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn steal_spawned(&self, victim: usize) -> Option<Spawned> {
        // SAFETY: the thief handles are this thread's; nothing called here comes back to them.
        let thief = unsafe { &mut (*self.spawned.get()).1 }.get_mut(victim)?.as_mut()?;
        loop {
            match thief.steal() {
                // SAFETY: as in `pop_spawned`.
                Steal::Task(task) => return Some(unsafe { Spawned::from_task(task) }),
                Steal::Retry => {}
                Steal::Empty | Steal::Aborted | Steal::Pending => return None,
            }
        }
    }

    /// Whether the worker has spawned jobs that nobody has taken. A snapshot.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn has_own_spawned(&self) -> bool {
        // SAFETY: as in `spawn`.
        unsafe { &(*self.spawned.get()).0 }.len_hint() > 0
    }

    /// Whether `victim` has spawned jobs to take. A snapshot, good enough for a last look before sleep.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn has_spawned(&self, victim: usize) -> bool {
        // SAFETY: as in `steal_spawned`.
        let thieves = unsafe { &(*self.spawned.get()).1 };
        thieves.get(victim).and_then(Option::as_ref).is_some_and(Thief::has_work_hint)
    }

    /// A slot of its own for a fork that has no place on the task stack, filled from `scratch`.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn keep_aside(&self, scratch: &Slot) -> NonNull<Slot> {
        // SAFETY: the list is this thread's.
        let spare = unsafe { &mut *self.spare.get() }.pop();
        let slot = spare.unwrap_or_else(|| NonNull::from(Box::leak(Box::new(Slot::empty()))));
        // SAFETY: in nobody's use.
        unsafe { slot.as_ref().fill_from(scratch) };
        slot
    }

    /// Remembers a fork that was kept aside, and whether thieves may have seen it.
    ///
    /// # Safety
    /// The current thread is this worker; the slot comes from [`Home::keep_aside`].
    pub(crate) unsafe fn remember(&self, slot: NonNull<Slot>, pushed: bool) {
        // SAFETY: the list is this thread's.
        unsafe { &mut *self.aside.get() }.push((slot, pushed));
    }

    /// The newest fork that was kept aside.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn recall(&self) -> (NonNull<Slot>, bool) {
        // SAFETY: the list is this thread's.
        unsafe { &mut *self.aside.get() }.pop().expect("forks and joins are nested")
    }

    /// Moves what a slot that was kept aside holds into `scratch`, and takes the slot back.
    ///
    /// # Safety
    /// The current thread is this worker; the slot comes from [`Home::keep_aside`], and its job is settled or was never stolen.
    pub(crate) unsafe fn recycle(&self, slot: NonNull<Slot>, scratch: &Slot) {
        // SAFETY: the slot is this worker's again, and so is the list.
        unsafe {
            slot.as_ref().job.state.reset();
            scratch.fill_from(slot.as_ref());
            (*self.spare.get()).push(slot);
        }
    }
}

/// A worker of a thread pool whose task pools are of type `P`.
#[doc(hidden)]
pub struct Core<P: Plumbing> {
    /// For code that knows the exact head of the task stack.
    pub(crate) front: Front,
    /// For code that does not.
    pub(crate) detached: Front,
    pub(crate) home: Home,
    pub(crate) pool: P,
    /// All workers of the thread pool.
    peers: Cell<NonNull<[Self]>>,
}

// SAFETY: thieves use the atomics of `pool`, `home` and the fronts only; everything else is touched by the worker's own
// thread alone (the file's invariant), and `peers` is set before the threads start.
unsafe impl<P: Plumbing> Sync for Core<P> {}
// SAFETY: nothing in it is tied to the thread that made it.
unsafe impl<P: Plumbing> Send for Core<P> {}

impl<P: Plumbing> Core<P> {
    /// The workers of a thread pool, each knowing the others.
    pub(crate) fn assemble(pools: Vec<P>, homes: Vec<Home>) -> Arc<[Self]> {
        let workers = pools.into_iter().zip(homes).map(|(pool, home)| Self {
            front: Front::new(Kind::Stack, P::OPERATIONS),
            detached: Front::new(Kind::Detached, P::OPERATIONS),
            home,
            pool,
            peers: Cell::new(NonNull::from(&mut [])),
        });
        let workers: Arc<[Self]> = workers.collect();
        // From here on there are shared references only: each pointer below may be used as long as the workers are there.
        for worker in &*workers {
            worker.home.core.set(std::ptr::from_ref(worker).cast());
            worker.front.attach(&worker.home);
            worker.detached.attach(&worker.home);
            worker.peers.set(NonNull::from(&*workers));
        }
        workers
    }

    /// All workers of the thread pool, by number.
    pub(crate) fn peers(&self) -> &[Self] {
        // SAFETY: set by `assemble` to the slice that `self` is in.
        unsafe { self.peers.get().as_ref() }
    }

    /// The counters of all workers.
    pub(crate) fn stats(workers: &[Self]) -> Stats {
        let read = |core: &Self| core.home.counters.read(core.pool.peak_depth() as u64);
        Stats { workers: workers.iter().map(read).collect() }
    }

    /// The worker behind a front.
    ///
    /// # Safety
    /// The front belongs to a worker of a thread pool of type `P`.
    #[inline]
    pub(crate) unsafe fn of(front: &Front) -> &Self {
        let home = front.home().expect("the front of a worker");
        // SAFETY: set by `assemble` to the worker that the home is in, which is of type `P`.
        unsafe { &*home.core.get().cast::<Self>() }
    }
}

/// A worker, as the task that it is running sees it: the capability to fork.
///
/// A handle is two words, passed by value: where the worker's limits are, and the owner's head, which therefore lives in a
/// register. Every task receives one, and passes it on to what it calls. While a [`join`](Self::join) borrows it, its
/// branches hold their own, so there is always exactly one usable handle of a worker, and safe code can neither keep
/// one beyond its task nor exchange two:
///
/// ```compile_fail
/// let pool = filch::ThreadPool::new(1).unwrap();
/// let mut kept = None;
/// pool.run(|w| kept = Some(w)); // borrowed data escapes
/// ```
///
/// ```compile_fail
/// fn in_another_thread(w: filch::Worker<'_>) {
///     std::thread::scope(|s| { s.spawn(move || w.index()); }); // not `Send`
/// }
/// ```
///
/// ```compile_fail
/// fn exchange<'a, 'b>(mut outer: filch::Worker<'a>, mut inner: filch::Worker<'b>) {
///     std::mem::swap(&mut outer, &mut inner); // lifetimes differ, and are invariant
/// }
/// ```
///
/// ```compile_fail
/// fn twice(mut w: filch::Worker<'_>) {
///     w.join(|mut a| a.join(|_| w.index(), |_| 0), |_| 0); // `w` is borrowed
/// }
/// ```
///
/// `L` is the [level](crate::levels) of a recursion that the compiler is to inline, and can be left out.
pub struct Worker<'w, P: Pool = Split, L: Level = Flat> {
    front: NonNull<Front>,
    cursor: P::Cursor,
    level: PhantomData<L>,
    /// Invariant in `'w`, neither `Send` nor `Sync`.
    brand: PhantomData<*mut &'w ()>,
}

impl<'w, P: Pool, L: Level> Worker<'w, P, L> {
    /// # Safety
    /// The current thread is the worker of `front`, of a pool of type `P`, for all of `'w`; nothing else forks through a
    /// stack front at or above `cursor` while the handle is usable.
    #[inline(always)]
    pub(crate) unsafe fn new(front: &'w Front, cursor: P::Cursor) -> Self {
        Self { front: NonNull::from(front), cursor, level: PhantomData, brand: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> &'w Front {
        // SAFETY: `new` was given a reference for `'w`.
        unsafe { self.front.as_ref() }
    }

    #[inline(always)]
    pub(crate) fn cursor(&self) -> P::Cursor {
        self.cursor
    }

    fn home(&self) -> &'w Home {
        self.front().home().expect("the front of a worker")
    }

    /// The number of the worker that runs the current task, below [`Worker::workers`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// assert!(pool.run(|w| w.index()) < 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn index(&self) -> usize {
        self.home().index
    }

    /// The number of workers of the thread pool.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// assert_eq!(pool.run(|w| w.workers()), 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn workers(&self) -> usize {
        self.home().common.places.len()
    }

    /// Whether somebody would take work if there were some: worth a fork that would otherwise not be made.
    ///
    /// Costs a load and a compare when nobody does. A hint: neither answer obliges anybody.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let wanted = pool.run(|mut w| w.join(|w| w.wants_work(), |_| ()).0);
    /// assert!(!wanted, "with one worker nobody asks");
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    #[inline]
    pub fn wants_work(&self) -> bool {
        P::wants_work(self.front(), self.cursor)
    }

    /// Answers thieves that wait for this worker, in the middle of a task. Forks and joins do so anyway; call it now and then in a task
    /// that does neither for long, if others should get at what was forked before.
    ///
    /// Whether it matters depends on the [pool](crate::pool): with [`Split`] a thief may be asking for more to be shared, with a queue
    /// of private tasks it gets nothing without an answer, with [`ChaseLev`] nobody asks. See also
    /// [`Interrupts`](crate::Interrupts).
    ///
    /// Costs a few loads and compares when nobody asks.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let (sum, _) = pool.run(|mut w| {
    ///     w.join(
    ///         |mut w| {
    ///             let mut sum = 0;
    ///             for n in 0..10_000_u64 {
    ///                 sum += n;
    ///                 w.poll();
    ///             }
    ///             sum
    ///         },
    ///         |_| "something else",
    ///     )
    /// });
    /// assert_eq!(sum, 49_995_000);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    #[inline]
    pub fn poll(&mut self) {
        pool::poll(self.front(), P::head(self.cursor));
    }
}

impl<P: Pool, L: Level> fmt::Debug for Worker<'_, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("index", &self.index()).field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// Work in handle style.
#[repr(transparent)]
pub(crate) struct ByHandle<P, L, F> {
    work: F,
    handle: PhantomData<(P, L)>,
}

impl<P, L, F> ByHandle<P, L, F> {
    #[inline(always)]
    pub(crate) fn new(work: F) -> Self {
        Self { work, handle: PhantomData }
    }
}

impl<P: Pool, L: Level, F, R> Body for ByHandle<P, L, F>
where
    F: for<'b> FnOnce(Worker<'b, P, L>) -> R,
{
    type Out = R;

    const UNROLLED: bool = job::is_unrolled::<F>();

    #[inline(always)]
    unsafe fn inline(self, front: &Front, head: *mut Slot) -> R {
        // SAFETY: the caller's promise; the thread's current front is detached already, since its caller has a handle.
        (self.work)(unsafe { Worker::new(front, P::cursor(head)) })
    }

    #[inline]
    unsafe fn stolen(self, front: &Front, head: *mut Slot) -> R {
        let home = front.home().expect("a thief is a worker");
        // SAFETY: the home of a worker of a pool of type `P`, because a task never leaves its pool.
        let core = unsafe { &*home.core.get().cast::<Core<P>>() };
        let _enter = crate::front::Enter::new(&core.detached, std::ptr::null_mut());
        // SAFETY: the caller's promise, and closure style is kept off the stack.
        (self.work)(unsafe { Worker::new(front, P::cursor(head)) })
    }

    #[inline(always)]
    fn restore(_: &Front, _: *mut Slot) {}
}

/// Converts between the task words of a queue and jobs.
pub(crate) fn job_to_task(job: NonNull<Job>) -> Task {
    Task::from_ptr(job)
}

/// See [`job_to_task`].
pub(crate) fn task_to_job(task: Task) -> NonNull<Job> {
    task.as_ptr()
}
