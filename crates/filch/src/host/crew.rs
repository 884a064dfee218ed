//! Crews: the workers of a pool whose kind is chosen at run time, and whose threads are the host's.
//!
//! What must always hold: a seat is taken by one thread, which is the worker from then on.

use std::fmt;
use std::sync::{Arc, Weak};

use crossbeam_queue::SegQueue;

#[cfg(doc)]
use super::{Countdown, run_one};
use crate::builder::{BuildError, Builder};
use crate::core::Core;
use crate::enter::IsSend;
use crate::here::Here;
use crate::home::current_home;
use crate::kept::keep;
use crate::limits::default_workers;
use crate::pool::Pool;
use crate::registry::Common;
#[cfg(doc)]
use crate::spawn::MayDangle;
use crate::spawn::Spawned;
use crate::stats::Stats;
use crate::unwind::abort_on_panic;
use crate::wait;

impl<P: Pool> Builder<P> {
    /// Makes the pool without starting threads: the host has them, and gives each worker one. See [`host`](crate::host).
    ///
    /// The thread's name and the hooks are the host's business too; workers are not pinned, and not interrupted. Callers do not
    /// [work](Self::caller_works) themselves unless the host says that they may.
    ///
    /// # Errors
    /// [`BuildError`], if a setting is out of range or the system refuses memory.
    ///
    /// ```
    /// let (crew, lease, seats) = filch::ThreadPool::builder().workers(2).seats()?;
    /// std::thread::scope(|s| {
    ///     for seat in seats {
    ///         s.spawn(move || seat.run(2 << 20, || (), || ()));
    ///     }
    ///     assert_eq!(crew.enter(|| filch::join(|| 1, || 2)), (1, 2));
    ///     drop(lease); // it was the only one, so the workers leave
    /// });
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn seats(mut self) -> Result<(Crew, Lease, Vec<Seat>), BuildError> {
        self.caller_works.get_or_insert(false);
        self.prepare(self.workers.unwrap_or_else(default_workers), None).map(Crew::new)
    }
}

/// A handle on the workers of a pool, whatever its kind: [`Builder::seats`](crate::Builder::seats) makes it.
///
/// It does not keep the workers at work; a [`Lease`] does. Without one, jobs may never be run.
#[derive(Clone)]
pub struct Crew {
    common: Arc<Common>,
    workers: Arc<dyn Workers>,
}

/// The workers, for what depends on the kind of their pool.
trait Workers: Send + Sync {
    fn stats(&self) -> Stats;

    fn run(&self, index: usize, stack_size: usize, start: &mut dyn FnMut(), exit: &mut dyn FnMut());

    fn occupy(self: Arc<Self>, index: usize, stack_size: usize);
}

/// As long as there is one, the workers of its pool stay.
#[derive(Clone, Debug)]
pub struct Lease(Arc<Closer>);

/// The way to a [`Lease`] for somebody who must not keep the workers from leaving.
#[derive(Clone, Debug)]
pub struct WeakLease(Weak<Closer>);

#[derive(Debug)]
struct Closer(Arc<Common>);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Lease {
    /// A way to get another one as long as this or any other is there.
    pub fn downgrade(&self) -> WeakLease {
        WeakLease(Arc::downgrade(&self.0))
    }
}

impl WeakLease {
    /// A lease, unless the last one has been given up.
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
    /// The crew of these workers, its first lease, and the seats in the order of their numbers.
    pub(crate) fn new<P: Pool>(cores: Arc<[Core<P>]>) -> (Self, Lease, Vec<Seat>) {
        let common = Arc::clone(&cores[0].home.common);
        let workers: Arc<dyn Workers> = Arc::new(Cores(cores));
        let seats = (0..common.workers()).map(|index| Seat { index, workers: Arc::clone(&workers) }).collect();
        (Self { common: Arc::clone(&common), workers }, Lease(Arc::new(Closer(common))), seats)
    }

    pub(super) fn common(&self) -> &Common {
        &self.common
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.common.workers()
    }

    /// The number of the worker of this crew that the current thread is.
    pub fn here(&self) -> Option<usize> {
        self.common.here().map(|home| home.index)
    }

    /// The counters of all workers.
    pub fn stats(&self) -> Stats {
        self.workers.stats()
    }

    /// Makes sure that there is somebody to run jobs, before anything is prepared for them.
    ///
    /// # Panics
    /// In the child of a `fork()`, if the parent had made the crew: its threads are not there. The functions below do so too.
    pub fn assert_here(&self) {
        self.common.assert_here();
    }

    /// Runs `f` on a worker of this crew, in closure style, and returns its result: at once on one of them; a worker of another pool
    /// runs its own pool's jobs meanwhile; and another thread sleeps, or sits in for a worker that does, if
    /// [it may](crate::Builder::caller_works).
    ///
    /// # Panics
    /// If `f` panics, with its payload.
    pub fn enter<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.here().is_some() {
            return f();
        }
        // SAFETY: the crew keeps its workers.
        unsafe { self.common.enter(|_| f()) }
    }

    /// Has `job` run some time: last in, first out if the current thread is a worker of this crew, otherwise after what others
    /// have pushed from outside. A panic in it ends the process.
    ///
    /// Cost: an allocation, a push to the worker's word deque or to the shared queue, and a fence.
    ///
    /// # Safety
    /// Whatever `job` borrows lives until it has returned; what it borrows by a [`MayDangle`], until its last act.
    pub unsafe fn push<F: FnOnce() + Send>(&self, job: F) {
        // SAFETY: the caller's promise; a job that unwinds ends the process.
        unsafe { self.common.hand_in(Spawned::new(job)) };
    }

    /// As [`Crew::push`], except that jobs pushed by one worker through one queue run first in, first out: among themselves; among
    /// others, each where a job of [`Crew::push`] would.
    ///
    /// # Safety
    /// As [`Crew::push`]; and `queue` too lives until the job has run.
    pub unsafe fn push_fifo<F: FnOnce() + Send>(&self, queue: &Fifo, job: F) {
        // SAFETY: what the job borrows outlives it, by the caller's promise; and one that unwinds ends the process.
        let job = unsafe { Spawned::new(job) };
        if self.here().is_none() {
            self.common.inject(job);
            return;
        }
        queue.0.push(job);
        let queue = IsSend((&raw const queue.0).cast_mut());
        // SAFETY: there are as many of these as jobs in the queue, so each finds one, and until it has been run the queue is alive by
        // the caller's promise. A job has the head, for another one that it runs itself.
        unsafe {
            self.common.hand_in(Spawned::new(move || {
                let queue = queue;
                let oldest = (*queue.0).pop().expect("as many turns as jobs");
                oldest.run();
            }));
        }
    }

    /// Has worker number `worker`, and no other, run `job`, as soon as it waits for something and has spawned nothing itself that is
    /// still to be run. A panic in it ends the process.
    ///
    /// # Safety
    /// As [`Crew::push`].
    ///
    /// # Panics
    /// If there is no such worker.
    pub unsafe fn post<F: FnOnce() + Send>(&self, worker: usize, job: F) {
        assert!(worker < self.workers(), "there is no worker {worker} among {}", self.workers());
        // SAFETY: what the job borrows outlives it, by the caller's promise; and one that unwinds ends the process.
        self.common.post(worker, unsafe { Spawned::new(job) });
    }
}

/// Jobs in the order in which they were pushed: see [`Crew::push_fifo`].
#[derive(Default)]
pub struct Fifo(SegQueue<Spawned>);

impl fmt::Debug for Fifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo").field("jobs", &self.0.len()).finish_non_exhaustive()
    }
}

/// A worker's place at work, for one thread to take.
#[must_use = "a pool whose seats are not taken runs nothing"]
pub struct Seat {
    index: usize,
    workers: Arc<dyn Workers>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Seat {
    /// The worker's number.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Makes the current thread the worker until the last lease is given up, and runs what is left then. `start` and `exit` are
    /// called before and after, by the worker, which also runs what they spawn. `stack_size`: how large the thread's stack is, or a lower
    /// bound of it; 0 if nobody knows. It counts only where the system does not tell.
    ///
    /// # Panics
    /// If the thread is a worker already. A panic in the two functions ends the process.
    pub fn run(self, stack_size: usize, start: impl FnOnce(), exit: impl FnOnce()) {
        assert!(current_home().is_none(), "this thread is a worker already");
        let (mut start, mut exit) = (Some(start), Some(exit));
        abort_on_panic("a worker's thread panicked", || {
            self.workers.run(
                self.index,
                stack_size,
                &mut || {
                    if let Some(start) = start.take() {
                        start();
                    }
                },
                &mut || {
                    if let Some(exit) = exit.take() {
                        exit();
                    }
                },
            );
        });
    }

    /// Makes the current thread the worker for the rest of its life. It works only while it waits, in a join, for a
    /// [`Countdown`] or for another pool, or when it calls [`run_one`]. The workers' memory is never freed.
    ///
    /// # Errors
    /// If the thread is a worker already; the seat is free for another one.
    pub fn occupy(self, stack_size: usize) -> Result<(), Self> {
        if current_home().is_some() {
            return Err(self);
        }
        self.workers.occupy(self.index, stack_size);
        Ok(())
    }
}

struct Cores<P: Pool>(Arc<[Core<P>]>);

impl<P: Pool> Workers for Cores<P> {
    fn stats(&self) -> Stats {
        Core::stats(&self.0)
    }

    fn run(&self, index: usize, stack_size: usize, start: &mut dyn FnMut(), exit: &mut dyn FnMut()) {
        // SAFETY: the thread took the worker's only seat, and its task stack is empty.
        unsafe { wait::work(&self.0[index], stack_size, start, exit) };
    }

    fn occupy(self: Arc<Self>, index: usize, stack_size: usize) {
        // The thread may refer to it at any time.
        let workers: &'static Arc<Self> = Box::leak(Box::new(self));
        keep(workers);
        let core = &workers.0[index];
        core.home.measure_stack(stack_size);
        // SAFETY: the thread took the worker's only seat, for the rest of its life, and its task stack is empty.
        let here = unsafe { Here::<P>::new(P::front(core), core.pool.bottom()) };
        std::mem::forget(here.enter());
    }
}
