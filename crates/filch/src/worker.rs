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
use filch_queue::{ChaseLev, Owner, Padded, Queue, Steal, Task, Thief, clock};

use crate::front::{Front, Kind, current};
use crate::guest::{Guests, Seat};
use crate::job::{self, Body, Job, Slot};
use crate::levels::{Flat, Level};
use crate::pool::{self, Plumbing, Pool, Split, deal_alike};
use crate::process;
use crate::protocol::grain::Time;
use crate::protocol::limits::Sharer;
use crate::protocol::sleep::Dormitory;
use crate::protocol::ticks::Ticks;
use crate::protocol::waiting::Sleeper;
use crate::spawn::Spawned;
use crate::stats::{Counters, Stats};
use crate::thread_stack;
use crate::wait::{Idle, Victims, Wait};

/// The two sides of a queue of spawned jobs.
type Spawning = <ChaseLev as Queue<Native>>::Owner;
type Spawner = <ChaseLev as Queue<Native>>::Thief;

/// What the workers of one thread pool share.
pub(crate) struct Common {
    /// The process that the threads belong to.
    process: u32,
    pub(crate) dormitory: Dormitory<Native>,
    /// Jobs from threads outside the pool.
    pub(crate) injected: SegQueue<Spawned>,
    /// The thieves' side of the queues of spawned jobs, by worker.
    spawned: Arc<[Spawner]>,
    /// Jobs for one worker and no other, by worker.
    mail: Box<[Padded<SegQueue<Spawned>>]>,
    /// The pool is being dropped: leave when nothing is left to do.
    pub(crate) closing: <Native as Memory>::AtomicBool,
    pub(crate) wait: Wait,
    victims: Victims,
    idle: Idle,
    /// What thieves wait for, if workers answer them on ticks.
    pub(crate) ticks: Option<Ticks<Native>>,
    /// If callers may sit in for workers that sleep.
    pub(crate) guests: Option<Guests>,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

impl Common {
    /// Of so many workers; and the worker's own side of each queue of spawned jobs.
    pub(crate) fn new(
        workers: usize,
        (wait, victims, idle): (Wait, Victims, Idle),
        ticks: Option<Ticks<Native>>,
        guests: Option<Guests>,
    ) -> (Self, Vec<Spawning>) {
        const INITIAL_CAPACITY: usize = 64;
        let (owners, spawned) = deal_alike::<ChaseLev>(workers, INITIAL_CAPACITY, &());
        let common = Self {
            process: process::current(),
            spawned,
            ticks,
            guests,
            dormitory: Dormitory::new(workers),
            injected: SegQueue::new(),
            mail: (0..workers).map(|_| Padded(SegQueue::new())).collect(),
            closing: Atomic::new(false),
            wait,
            victims,
            idle,
        };
        (common, owners)
    }

    /// The number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.dormitory.len()
    }

    /// The worker of this pool that the current thread is.
    pub(crate) fn here(&self) -> Option<&'static Home> {
        current().home().filter(|home| std::ptr::eq(&raw const *home.common, self))
    }

    /// Whether the workers' threads are in this process, and not in one that has forked it.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.process == process::current()
    }

    /// Before something is handed in from outside.
    ///
    /// # Panics
    /// If nobody is here to run it.
    #[inline]
    pub(crate) fn assert_here(&self) {
        #[cold]
        fn is_elsewhere() -> ! {
            panic!(
                "the workers of this pool are in the process that forked this one: after fork() a child has to make pools of its own"
            )
        }
        if !self.is_here() {
            is_elsewhere();
        }
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
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn inject(&self, job: Spawned) -> bool {
        self.assert_here();
        self.injected.push(job);
        let has_woken = self.dormitory.sleepers().sleepers_after() && self.dormitory.wake_for_any(0);
        if !has_woken {
            self.call_watch();
        }
        has_woken
    }

    fn call_watch(&self) {
        if let Some(guests) = &self.guests {
            guests.call_watch();
        }
    }

    /// Hands a job to one worker, which will run it as soon as it waits for anything and has no spawned jobs of its own left.
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn post(&self, worker: usize, job: Spawned) {
        self.assert_here();
        self.mail[worker].push(job);
        self.dormitory.notify(worker);
        self.call_watch();
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
        self.dormitory.notify_all();
        self.call_watch();
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
    /// Jobs that outlive whoever spawned them.
    spawned: UnsafeCell<Spawning>,
    /// Where among all that it has spawned the next one goes: one past the newest that it has not taken back, whatever thieves have taken.
    spawns: Cell<usize>,
    /// Forks in progress that have no place on the task stack, the newest last, and whether each was pushed elsewhere.
    aside: UnsafeCell<Vec<(NonNull<Slot>, bool)>>,
    /// How many of them there are because the task stack is full.
    pub(crate) overflow: Cell<usize>,
    /// Slots for further ones. Each was leaked from a box.
    spare: UnsafeCell<Vec<NonNull<Slot>>>,
    random: Cell<u64>,
    /// Whom it last stole from; itself at first.
    last_victim: Cell<usize>,
    /// The middle of the thread's own stack.
    stack_middle: Cell<usize>,
    /// How many jobs the worker is running, one inside the other, though its stack was [low](Home::is_stack_low).
    reluctant: Cell<u32>,
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
    pub(crate) fn create(common: &Arc<Common>, spawned: Vec<Spawning>) -> Vec<Self> {
        let spawned = spawned.into_iter().enumerate();
        spawned
            .map(|(index, spawned)| Self {
                index,
                common: Arc::clone(common),
                counters: Counters::new(),
                detours: Atomic::new(0),
                core: Cell::new(null()),
                spawned: UnsafeCell::new(spawned),
                spawns: Cell::new(0),
                aside: UnsafeCell::default(),
                overflow: Cell::new(0),
                spare: UnsafeCell::default(),
                random: Cell::new((index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
                last_victim: Cell::new(index),
                stack_middle: Cell::new(0),
                reluctant: Cell::new(0),
            })
            .collect()
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

    /// All workers, in the order in which this one looks for work among them; it is among them itself.
    pub(crate) fn victims(&self) -> impl Iterator<Item = usize> + use<> {
        let (workers, last) = (self.common.workers(), self.last_victim.get());
        self.common.victims.order(workers, self.index, last, self.random_below(workers))
    }

    /// The worker has stolen something from `victim`.
    pub(crate) fn has_stolen_from(&self, victim: usize) {
        self.last_victim.set(victim);
    }

    /// Remembers how much of the thread's stack there is: `bytes`, or more, or 0 if nobody knows. Call at the thread's start.
    pub(crate) fn measure_stack(&self, bytes: usize) {
        self.stack_middle.set(thread_stack::middle(bytes));
    }

    /// Runs `f` on a thread that is the worker meanwhile, on a stack of its own.
    pub(crate) fn on_another_stack(&self, f: impl FnOnce()) {
        let middle = self.stack_middle.replace(thread_stack::middle(0));
        f();
        self.stack_middle.set(middle);
    }

    /// Whether more than half of the thread's stack is used: no time to nest foreign work.
    pub(crate) fn is_stack_low(&self) -> bool {
        thread_stack::is_past(self.stack_middle.get())
    }

    /// How often a worker whose stack is low looks on while work lies about that others should do, before it does some of it after all:
    /// the deeper it is in such work, the longer.
    pub(crate) fn reluctance(&self) -> u32 {
        const LOOKS: u32 = 10;
        LOOKS << self.reluctant.get().min(20)
    }

    /// Runs `f`, a job of others, though the stack is low.
    pub(crate) fn reluctantly(&self, f: impl FnOnce()) {
        self.reluctant.set(self.reluctant.get() + 1);
        f();
        self.reluctant.set(self.reluctant.get() - 1);
    }

    /// Pushes a job that may outlive its spawner, and wakes somebody for it.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn spawn(&self, job: Spawned) {
        // SAFETY: the owner's end is this thread's; nothing called here comes back to it.
        let pushed = unsafe { &mut *self.spawned.get() }.push(job.into_task());
        if let Err(full) = pushed {
            // SAFETY: the word just came out of `into_task`.
            self.common.injected.push(unsafe { Spawned::from_task(full.0) });
        } else {
            self.spawns.set(self.spawns.get() + 1);
        }
        let dormitory = &self.common.dormitory;
        if dormitory.sleepers().sleepers_after() && dormitory.wake_for_any(self.index + 1) {
            self.counters.wakeups.bump();
        }
    }

    /// Takes the worker's own newest spawned job.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn pop_spawned(&self) -> Option<Spawned> {
        // SAFETY: as in `spawn`.
        let task = unsafe { &mut *self.spawned.get() }.pop()?;
        self.spawns.set(self.spawns.get() - 1);
        // SAFETY: only `spawn` pushes, and the queue gives each word out once.
        Some(unsafe { Spawned::from_task(task) })
    }

    /// What the worker spawns from now on lies above this, as long as it takes nothing back from below.
    pub(crate) fn spawns(&self) -> usize {
        self.spawns.get()
    }

    /// Takes the worker's own newest spawned job, if that lies above `mark`, which is lowered where jobs below it were taken back.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(crate) unsafe fn pop_spawned_since(&self, mark: &Cell<usize>) -> Option<Spawned> {
        let spawns = self.spawns.get();
        mark.set(mark.get().min(spawns));
        // SAFETY: the caller's promise.
        if spawns > mark.get() { unsafe { self.pop_spawned() } } else { None }
    }

    /// Tries to take a job that `victim` spawned.
    pub(crate) fn steal_spawned(&self, victim: usize) -> Option<Spawned> {
        loop {
            match <ChaseLev as Queue<Native>>::steal_alike(&self.common.spawned[victim]) {
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
        unsafe { &*self.spawned.get() }.len_hint() > 0
    }

    /// Whether `victim` has spawned jobs to take. A snapshot, good enough for a last look before sleep.
    pub(crate) fn has_spawned(&self, victim: usize) -> bool {
        self.common.spawned[victim].has_work_hint()
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

impl Sleeper for Home {
    type Memory = Native;

    fn dormitory(&self) -> &Dormitory<Native> {
        &self.common.dormitory
    }

    fn index(&self) -> usize {
        self.index
    }

    fn sleeps(&self) -> bool {
        self.common.idle == Idle::Sleep
    }

    fn has_asked(&self) {
        self.common.want_tick();
    }

    fn parks(&self) {
        self.counters.parks.bump();
    }

    fn has_woken(&self) {
        self.counters.wakeups.bump();
    }
}

impl Sharer for Home {
    fn has_aside(&self) -> bool {
        self.overflow.get() != 0
    }

    fn now(&self) -> Time {
        clock::now()
    }

    fn has_grown(&self) {
        self.counters.grows.bump();
    }

    fn has_shrunk(&self) {
        self.counters.shrinks.bump();
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
        if let Some(guests) = &workers[0].home.common.guests {
            guests.prepare(workers.iter().map(|worker| Seat::new(P::front(worker), worker.pool.bottom())));
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
        self.home().common.workers()
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
    fn raise(_: &Front, _: *mut Slot) {}

    #[inline(always)]
    fn lower(_: &Front, _: *mut Slot) {}
}

/// Converts between the task words of a queue and jobs.
pub(crate) fn job_to_task(job: NonNull<Job>) -> Task {
    Task::from_ptr(job)
}

/// See [`job_to_task`].
pub(crate) fn task_to_job(task: Task) -> NonNull<Job> {
    task.as_ptr()
}
