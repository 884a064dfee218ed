//! Crews: the workers of a pool whose kind is chosen at run time, on the host's own threads.
//!
//! Invariant: there is one seat for each worker.

use std::any::type_name;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crossbeam_queue::SegQueue;
use filch_memory::{Atomic, Memory, Native, Ordering};

use super::seat::{Seat, Workers};
use crate::fork::here::Here;
#[cfg(doc)]
use crate::fork::spawned::MayDangle;
use crate::fork::spawned::Spawned;
use crate::machine::{leaked::keep, processors::Places, thread::Thread};
use crate::shared::common::Common;
use crate::shared::late::{self, Begins, Late};
use crate::threads::running::{Running, wait_until};
use crate::threads::{builder::Builder, enter::IsSend, error::BuildError, restart::Mortal, start::let_lie};
use crate::wait;
use crate::worker::{core::Core, plumbing::Pool, stats::Stats, strands};

impl<P: Pool> Builder<P> {
    /// Makes the pool without starting threads: the host gives each worker a thread. See [`host`](crate::inside::host).
    ///
    /// Thread names and hooks are also up to the host; workers are neither pinned nor interrupted. Callers do not
    /// [work](Self::caller_works) themselves unless the host allows it.
    ///
    /// # Errors
    /// [`BuildError`] if a setting is out of range or the system refuses memory.
    ///
    /// ```
    /// let (crew, lease, seats) = filch::ThreadPool::builder().workers(2).seats()?;
    /// std::thread::scope(|s| {
    ///     for seat in seats {
    ///         s.spawn(move || seat.run(2 << 20, || (), || ()));
    ///     }
    ///     assert_eq!(crew.enter(|| filch::join(|| 1, || 2)), (1, 2));
    ///     drop(lease); // the only lease, so the workers leave
    /// });
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn seats(mut self) -> Result<(Crew, Lease, Vec<Seat>), BuildError> {
        self.caller_works.get_or_insert(false);
        let workers = self.settle_workers()?;
        self.prepare(workers, None, &Places::default()).map(Crew::new)
    }
}

/// A handle to the workers of a pool of any kind. [`Builder::seats`](crate::Builder::seats) makes it.
///
/// It does not keep the workers; a [`Lease`] does. Without a lease, jobs may never run.
#[derive(Clone)]
pub struct Crew {
    common: Arc<Common>,
    workers: Arc<dyn Workers>,
}

/// Keeps the workers of its pool while it exists.
#[derive(Clone, Debug)]
pub struct Lease(Arc<Closer>);

/// A way to get a [`Lease`] that does not itself keep the workers.
#[derive(Clone, Debug)]
pub struct WeakLease(Weak<Closer>);

#[derive(Debug)]
struct Closer(Arc<Common>);

impl Drop for Closer {
    fn drop(&mut self) {
        // In the child of a `fork()`, the workers are elsewhere, and other threads may have held their locks.
        if self.0.is_in_this_process() {
            self.0.close_alone();
        }
    }
}

impl Lease {
    /// Waits until this is the only lease. A worker runs jobs of its own pool meanwhile.
    pub fn wait_until_last(&self) {
        wait_until(|| Arc::strong_count(&self.0) == 1);
        // Pairs with the release by which the others have dropped theirs.
        Native::fence(Ordering::Acquire);
    }

    /// Returns a way to get another lease while any lease exists.
    pub fn downgrade(&self) -> WeakLease {
        WeakLease(Arc::downgrade(&self.0))
    }
}

impl WeakLease {
    /// Returns a lease, unless the last one is gone.
    pub fn upgrade(&self) -> Option<Lease> {
        self.0.upgrade().map(Lease)
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

impl Crew {
    /// Returns the crew of these workers, its first lease, and the seats in the order of their numbers.
    pub(crate) fn new<P: Pool>(cores: Arc<[Box<Core<P>>]>) -> (Self, Lease, Vec<Seat>) {
        let common = Arc::clone(&cores[0].home.common);
        let taken = cores.iter().map(|_| Atomic::new(false)).collect();
        let workers: Arc<dyn Workers> = Arc::new(Cores { cores, taken });
        let crew = Self { common: Arc::clone(&common), workers };
        let seats = (0..common.workers()).map(|index| crew.seat(index).expect("nobody has it")).collect();
        (crew, Lease(Arc::new(Closer(common))), seats)
    }

    /// Returns a worker's seat, unless it is taken.
    fn seat(&self, index: usize) -> Option<Seat> {
        Seat::take(&self.workers, index)
    }

    /// Lets the workers begin asleep, and most of their threads start when they are first needed. Whoever needs a
    /// worker calls `start`, which starts a thread for the seat. It runs outside all pools, even on a worker, so it
    /// should not wait for this crew. `seats` are all seats. Returns the seats that need threads now: the first, and
    /// others that cannot wait, such as those of workers that [never sleep](crate::Idle::Spin).
    ///
    /// A thread that starts late has the affinity of the first worker's thread, and the signal mask of the thread that
    /// called this, once it runs or [inherits](Seat::inherit). If the system refuses it, the crew goes on without that
    /// worker, with a line on standard error for the first refusal; if a job is [posted](Self::post) to that worker,
    /// the process ends.
    ///
    /// ```
    /// use filch::inside::host::{Seat, Thread};
    ///
    /// let (crew, lease, seats) = filch::ThreadPool::builder().workers(4).seats()?;
    /// let start = |seat: Seat| Thread::start(None, None, move || seat.run(2 << 20, || (), || ()));
    /// let now = crew.come_late(seats, start);
    /// let indices: Vec<usize> = now.iter().map(Seat::index).collect();
    /// let threads: Vec<Thread> = now.into_iter().map(start).collect::<Result<_, _>>()?;
    /// assert_eq!((indices, crew.broadcast(|index| index)), (vec![0], vec![0, 1, 2, 3]));
    /// drop(lease); // the workers leave
    /// threads.into_iter().for_each(Thread::join);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `seats` are not all seats of the crew.
    pub fn come_late(
        &self,
        mut seats: Vec<Seat>,
        start: impl Fn(Seat) -> io::Result<Thread> + Send + Sync + 'static,
    ) -> Vec<Seat> {
        let is_whole =
            seats.len() == self.workers() && seats.iter().all(|seat| Arc::ptr_eq(&seat.workers, &self.workers));
        assert!(is_whole, "a worker whose seat is elsewhere may have begun");
        // SAFETY: they are all, since there is one seat for each worker.
        let begins = unsafe { self.workers.lie_down() };
        seats.iter_mut().for_each(|seat| seat.begins = begins[seat.index]);
        let first = late::first(&begins);
        if first < seats.len() {
            // Weak, since otherwise the crew would keep itself.
            let workers = Arc::downgrade(&self.workers);
            self.common.come_late(Late::new(first, seats.len(), move |worker, begins, inherited| {
                let workers = workers.upgrade().expect("whoever wakes a worker keeps it");
                let mut seat = Seat::take(&workers, worker).ok_or_else(|| io::Error::other("its seat is taken"))?;
                (seat.begins, seat.comes_late, seat.inherited) = (begins, true, Some(inherited));
                start(seat)
            }));
            seats.retain(|seat| seat.index < first);
        }
        seats
    }

    /// Runs all work that the crew has been given, and joins its threads: `threads`, in the order of their numbers. The
    /// next entry from outside calls `again`, which must call [`start_again`](Self::start_again) with the same
    /// arguments. Keep a lease.
    ///
    /// Returns whether the crew has ended. It does not end if the number of `threads` is wrong.
    ///
    /// # Panics
    /// On a worker of this crew; and if a needed thread does not start, be it a worker's or the thread that waits in
    /// place of a worker of another crew, which runs its own jobs meanwhile.
    pub fn end(&self, threads: &Threads, start: &(dyn Fn(Seat) -> io::Result<Thread> + Sync), again: fn()) -> bool {
        let mut has_ended = false;
        self.mortal(threads, start, |crew| has_ended = crew.end(again));
        has_ended
    }

    /// Starts the threads again, if the crew has ended: `start` starts the thread for a seat.
    ///
    /// # Panics
    /// If a thread does not start.
    pub fn start_again(&self, threads: &Threads, start: &(dyn Fn(Seat) -> io::Result<Thread> + Sync)) {
        self.mortal(threads, start, |crew| {
            crew.start_again();
        });
    }

    fn mortal(
        &self,
        threads: &Threads,
        start: &(dyn Fn(Seat) -> io::Result<Thread> + Sync),
        f: impl FnOnce(&Mortal<'_>),
    ) {
        let workers = self.workers();
        let start_one = |worker| start(self.seat(worker).ok_or_else(|| io::Error::other("its seat is taken"))?);
        let start = |running: &mut Running| {
            (0..workers - self.common.threads_apart()).try_for_each(|worker| {
                let started = |source| BuildError::Thread { started: worker, workers, source };
                running.threads.push(start_one(worker).map_err(started)?);
                Ok(())
            })
        };
        f(&Mortal { common: &self.common, running: &threads.0, start_one: &start_one, start: &start });
    }

    pub(crate) fn common(&self) -> &Arc<Common> {
        &self.common
    }

    /// The address of what the workers share.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.common).addr()
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.common.workers()
    }

    /// Returns the current thread's number as a worker of this crew.
    pub fn current_index(&self) -> Option<usize> {
        self.common.current_home().map(|home| home.index)
    }

    /// Returns the counters of all workers.
    pub fn stats(&self) -> Stats {
        self.workers.stats()
    }

    /// Checks, before the caller prepares jobs, that the workers are in this process.
    ///
    /// # Panics
    /// In the child of a `fork()`, if the parent made the crew, because the child does not have its threads. The
    /// functions below panic likewise.
    pub fn assert_here(&self) {
        self.common.assert_here();
    }

    /// Runs `f` on a worker of this crew, in closure style, and returns its result. On a worker of this crew it runs at
    /// once. A worker of another pool runs its own pool's jobs meanwhile. Any other thread sleeps, or takes the seat of
    /// a sleeping worker if [it may](crate::Builder::caller_works).
    ///
    /// # Panics
    /// If `f` panics, with its payload.
    pub fn enter<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.current_index().is_some() {
            return f();
        }
        // SAFETY: the crew keeps its workers alive.
        unsafe { self.common.enter(|_| f()) }
    }

    /// Runs `op` once on every worker, with its number, and returns the results by number, as
    /// [`ThreadPool::broadcast`](crate::ThreadPool::broadcast) does. A worker that waits for the others may run any
    /// job, whatever its strategy.
    ///
    /// # Panics
    /// If `op` panics, once all have ended, with the payload of the first such worker by number; and, before any worker
    /// runs it, if the system refuses a worker its thread.
    pub fn broadcast<R: Send>(&self, op: impl Fn(usize) -> R + Sync) -> Vec<R> {
        self.common.broadcast(false, &op)
    }

    /// Runs `job` some time later: last in, first out if the current thread is a worker of this crew, otherwise after
    /// the earlier jobs from outside. A panic in it ends the process.
    ///
    /// Cost: an allocation, a push to the worker's word deque or the shared queue, and a fence.
    ///
    /// # Safety
    /// The borrows of `job` live until it returns; those in a [`MayDangle`], until its last act.
    pub unsafe fn push<F: FnOnce() + Send>(&self, job: F) {
        // SAFETY: the borrows live long enough, by the caller's promise; a job that unwinds ends the process.
        let job = unsafe { Spawned::new(job) };
        strands::spawns(self.address(), job.address(), type_name::<F>);
        self.common.hand_in(job);
    }

    /// As [`Crew::push`], except that jobs pushed by one worker through one queue run first in, first out among
    /// themselves. Among other jobs, each runs in the place of a job of [`Crew::push`].
    ///
    /// # Safety
    /// As for [`Crew::push`]; and `queue` lives until the job has run.
    pub unsafe fn push_fifo<F: FnOnce() + Send>(&self, queue: &Fifo, job: F) {
        // SAFETY: the job's borrows outlive it, by the caller's promise; and a job that unwinds ends the process.
        let job = unsafe { Spawned::new(job) };
        strands::spawns(self.address(), job.address(), type_name::<F>);
        // SAFETY: the caller promises the same of the queue.
        unsafe { self.hand_in_fifo(queue, job) };
    }

    /// # Safety
    /// `queue` lives until the job has run.
    #[inline(never)]
    unsafe fn hand_in_fifo(&self, queue: &Fifo, job: Spawned) {
        if self.current_index().is_none() {
            self.common.inject(job);
            return;
        }
        strands::queued(job.address());
        queue.0.push(job);
        let queue = IsSend((&raw const queue.0).cast_mut());
        // SAFETY: there are as many of these jobs as jobs in the queue, so each finds one, and by the caller's promise
        // the queue is alive until that job has run. A job has the exact head, so it may run another job itself.
        unsafe {
            self.common.hand_in(Spawned::new(move || {
                let queue = queue;
                let oldest = (*queue.0).pop().expect("as many turns as jobs");
                strands::in_job(oldest.address(), || oldest.run());
            }));
        }
    }

    /// Posts `job` to worker number `worker`, which runs it once it waits for something and has no spawned jobs of its
    /// own left. No other worker runs it. A panic in it ends the process.
    ///
    /// # Safety
    /// As for [`Crew::push`].
    ///
    /// # Panics
    /// If there is no such worker.
    pub unsafe fn post<F: FnOnce() + Send>(&self, worker: usize, job: F) {
        assert!(worker < self.workers(), "there is no worker {worker}: the crew has {}", self.workers());
        // SAFETY: the job's borrows outlive it, by the caller's promise; and a job that unwinds ends the process.
        self.common.post(worker, unsafe { Spawned::new(job) });
    }

    /// [Posts](Crew::post) a job to each worker; `job` makes it from the worker's number.
    ///
    /// # Safety
    /// As for [`Crew::push`].
    ///
    /// # Panics
    /// If the system refuses a worker its thread, before any job is made.
    pub unsafe fn post_to_each<F: FnOnce() + Send>(&self, mut job: impl FnMut(usize) -> F) {
        self.common.need_all();
        // SAFETY: the jobs' borrows outlive them, by the caller's promise; and a job that unwinds ends the process.
        let jobs: Vec<_> = (0..self.workers()).map(|worker| unsafe { Spawned::new(job(worker)) }).collect();
        self.common.post_to_each(jobs);
    }
}

/// A queue that keeps jobs in the order of their pushes: see [`Crew::push_fifo`].
#[derive(Default)]
pub struct Fifo(SegQueue<Spawned>);

impl fmt::Debug for Fifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo").field("jobs", &self.0.len()).finish_non_exhaustive()
    }
}

/// The threads of a crew that can [end](Crew::end).
#[derive(Default)]
pub struct Threads(Mutex<Running>);

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").finish_non_exhaustive()
    }
}

impl Threads {
    /// Adds the thread of the next worker.
    pub fn keep(&self, thread: Thread) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).threads.push(thread);
    }
}

struct Cores<P: Pool> {
    cores: Arc<[Box<Core<P>>]>,
    /// By worker.
    taken: Box<[<Native as Memory>::AtomicBool]>,
}

impl<P: Pool> Workers for Cores<P> {
    fn stats(&self) -> Stats {
        Core::stats(&self.cores)
    }

    fn common(&self) -> &Common {
        &self.cores[0].home.common
    }

    unsafe fn lie_down(&self) -> Vec<Begins> {
        // SAFETY: whoever has a seat is the worker, and the task stacks are empty.
        self.cores.iter().map(|core| unsafe { let_lie(core) }).collect()
    }

    fn run(&self, index: usize, stack_size: usize, begins: Begins, start: &mut dyn FnMut(), exit: &mut dyn FnMut()) {
        // SAFETY: the thread took the worker's only seat, and the task stack is empty.
        unsafe { wait::work(&self.cores[index], stack_size, begins, start, exit) };
    }

    fn occupy(self: Arc<Self>, index: usize, stack_size: usize) {
        // The thread may refer to the workers at any time.
        let workers: &'static Arc<Self> = Box::leak(Box::new(self));
        keep(workers);
        let core = &workers.cores[index];
        core.home.prepare(stack_size);
        // SAFETY: the thread took the worker's only seat for the rest of its life, and the task stack is empty.
        let here = unsafe { Here::<P>::new(P::front(core), core.pool.bottom()) };
        std::mem::forget(here.enter());
    }

    fn is_taken(&self, index: usize) -> &<Native as Memory>::AtomicBool {
        &self.taken[index]
    }
}

impl crate::threads::timeline_file::TimelineFile {
    /// Records a pool that has just been made and has no work.
    pub fn record_crew(self, crew: &Crew) {
        self.record(crew.common());
    }
}
