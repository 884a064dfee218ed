//! For libraries that give filch another face: pools whose kind is chosen at run time, and whose threads are the host's.
//!
//! The drop-in for `rayon-core` stands on this module. A [`Crew`] is a handle on the workers of a pool of any kind; each worker has a
//! [`Seat`], which the host gives to a thread; and the workers stay as long as somebody has a [`Lease`]. Jobs are spawned, in
//! either order, or addressed to one worker; a [`Countdown`] waits for them. [`join`] is the fast one of closure style, except that it
//! tells its branches whether they have moved and runs both whatever happens.
//!
//! ```
//! use filch::host::{self, Countdown, Fifo, Host, MayDangle};
//!
//! struct Here;
//! impl Host for Here {
//!     fn crew() -> &'static host::Crew {
//!         unreachable!("only workers join below")
//!     }
//! }
//!
//! let (crew, lease, seats) = filch::ThreadPool::builder().workers(2).seats()?;
//! std::thread::scope(|s| {
//!     for seat in seats {
//!         s.spawn(move || seat.run(2 << 20, || (), || ()));
//!     }
//!     assert_eq!((crew.workers(), crew.here()), (2, None));
//!     let (jobs, queue) = (Countdown::new(3), Fifo::default());
//!     let counted = |assert_here: fn()| {
//!         let jobs = MayDangle::new(&jobs);
//!         move || {
//!             assert_here();
//!             // SAFETY: the countdown is waited for, and each of the three ends it once.
//!             unsafe { Countdown::end(jobs.into_inner()) };
//!         }
//!     };
//!     // SAFETY: what they borrow lives until their last act: it is waited for.
//!     unsafe {
//!         crew.push(counted(|| ()));
//!         crew.push_fifo(&queue, counted(|| ()));
//!         crew.post(1, counted(|| assert_eq!(host::here(), Some(1))));
//!     }
//!     jobs.wait();
//!     let moved = crew.enter(|| host::join::<Here, _, _, _, _>(|moved| moved, |_| host::workers_here()));
//!     assert_eq!(moved, (false, Some(2)));
//!     assert_eq!((host::run_one(true), host::has_pending()), (None, None), "this thread is no worker");
//!     let again = lease.downgrade();
//!     drop(lease); // the last one: the workers leave
//!     assert!(again.upgrade().is_none());
//! });
//! # Ok::<(), filch::BuildError>(())
//! ```
//!
//! What must always hold: a seat is taken by one thread, which is the worker from then on; and a job that borrows is waited for
//! before what it borrows ends, which is the duty of whoever pushes it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use crossbeam_queue::SegQueue;

use crate::core::Core;
use crate::enter::IsSend;
use crate::fork;
use crate::front::Reach;
use crate::here::{Any, Here};
use crate::home::current_home;
use crate::job::Body;
use crate::latch::{self, Latch, Waiter};
use crate::pool::Pool;
use crate::processors;
use crate::registry::Common;
use crate::spawn::Spawned;
use crate::stats::Stats;
use crate::thread_pool;
use crate::unwind::abort_on_panic;
use crate::wait;

pub use crate::kept::keep;
pub use crate::process::PerProcess;
pub use crate::spawn::MayDangle;
pub use crate::unwind::{AbortOnUnwind, FirstPanic};

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
        // SAFETY: as in `push`.
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
        // SAFETY: as in `push`.
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
        let here = unsafe { Here::of(core, core.pool.bottom()) };
        std::mem::forget(here.enter());
    }
}

/// Waits until a number of things have ended.
///
/// ```
/// use filch::host::Countdown;
///
/// let countdown = Countdown::new(2);
/// std::thread::scope(|s| {
///     for _ in 0..2 {
///         // SAFETY: the countdown outlives both threads, and each ends it once.
///         s.spawn(|| unsafe { Countdown::end(&raw const countdown) });
///     }
///     countdown.wait();
/// });
/// ```
#[derive(Debug)]
pub struct Countdown(Latch);

impl Countdown {
    /// For the current thread to wait until `things` things have ended.
    pub fn new(things: usize) -> Self {
        Self(Latch::new(things, Waiter::here()))
    }

    /// More things to wait for. Call it while something that has been counted has not ended; otherwise the wait may be over already.
    pub fn add(&self, things: usize) {
        self.0.add(things);
    }

    /// The number of things that have not ended. A snapshot.
    pub fn pending(&self) -> usize {
        self.0.pending()
    }

    /// One thing has ended.
    ///
    /// # Safety
    /// `this` is alive as long as the thing is counted, and the thing ends once. Afterwards it may be gone.
    pub unsafe fn end(this: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { Latch::end(&raw const (*this).0) };
    }

    /// Waits until everything has ended. A worker runs jobs of any kind meanwhile; other threads sleep.
    ///
    /// # Panics
    /// If another thread made the countdown.
    pub fn wait(&self) {
        assert!(self.0.waiter().is_here(), "a countdown is for the thread that made it");
        latch::wait(&self.0, None, false);
    }
}

/// How large a stack a host should give each of so many threads for which nobody has asked for another size:
/// [`DEFAULT_STACK_SIZE`](crate::DEFAULT_STACK_SIZE), or less where the address space is limited.
///
/// ```
/// assert!(filch::host::stack_size(4) <= filch::DEFAULT_STACK_SIZE);
/// ```
pub fn stack_size(workers: usize) -> usize {
    thread_pool::default_stack_size(workers)
}

/// How many processors the process may use, whatever the current thread is pinned to.
///
/// ```
/// assert!(filch::host::processors() >= 1);
/// ```
pub fn processors() -> usize {
    processors::count()
}

/// Lets the current thread use all processors that the process may use, though the thread that started it was pinned. Where the system
/// does not tell which these are, does nothing.
///
/// ```
/// std::thread::spawn(filch::host::unpin).join().unwrap();
/// ```
pub fn unpin() {
    processors::unpin();
}

/// The number of the worker, of whatever pool, that the current thread is.
#[inline]
pub fn here() -> Option<usize> {
    current_home().map(|home| home.index)
}

/// The number of workers of the pool that the current thread belongs to.
pub fn workers_here() -> Option<usize> {
    current_home().map(|home| home.common.workers())
}

/// Runs one job on the current worker, in the middle of whatever it is doing; returns whether there was one, or `None` if the
/// thread is no worker. First what it has spawned itself, what has been posted to it, and its own forks; if `everywhere`, then
/// whatever others have.
pub fn run_one(everywhere: bool) -> Option<bool> {
    let reach = if everywhere { Reach::All } else { Reach::Own };
    // SAFETY: used at once.
    unsafe { Here::current() }.run_one(reach)
}

/// Whether the current worker has something to run that nobody has taken: spawned, posted or forked. `None` if the thread is no
/// worker. A snapshot.
pub fn has_pending() -> Option<bool> {
    let home = current_home()?;
    // SAFETY: used at once.
    Some(home.has_mail() || home.has_own_spawned() || unsafe { Here::current() }.has_own())
}

/// Who [`join`]s, and where forks from outside of all pools go.
pub trait Host: 'static {
    /// The crew for threads that are no workers. Called only by them.
    fn crew() -> &'static Crew;

    /// Hands the crew to a call of such a thread, which may be its guest meanwhile: for a host that wants to know, or prepare the thread.
    fn call<R>(call: impl FnOnce(&'static Crew) -> R) -> R {
        call(Self::crew())
    }
}

/// As [`filch::join`](crate::join()), for another host: threads outside go to [`Host::crew`]; each branch is told whether it runs
/// on another thread than the one that forked it; and both are always run, even if the other panics.
///
/// Costs as much.
///
/// # Panics
/// If a branch panics, with its payload, once both have ended. If both panic, it is with the payload of `a`.
#[inline(always)]
pub fn join<H, A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    H: Host,
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: used at once; from outside, `Hosted` finds a worker first, for which its parts are `Send`, as they are here.
    fork::join(unsafe { Here::current() }, Hosted::<H, A>::new(a), Hosted::<H, B>::new(b))
}

/// Work of [`join`]; its parts are `Send`.
#[repr(transparent)]
struct Hosted<H, F> {
    work: F,
    host: PhantomData<H>,
}

impl<H, F> Hosted<H, F> {
    #[inline(always)]
    fn new(work: F) -> Self {
        Self { work, host: PhantomData }
    }
}

impl<H: Host, F: FnOnce(bool) -> R, R> Body for Hosted<H, F> {
    type Out = R;
    type In = Any;

    const MAY_BE_OUTSIDE: bool = true;

    const ALWAYS_RUN: bool = true;

    #[inline(always)]
    fn inline(self, _: Here<'_>) -> R {
        (self.work)(false)
    }

    #[inline]
    fn stolen(self, here: Here<'_>) -> R {
        let _entered = here.enter();
        (self.work)(true)
    }

    fn moved(self, _: Here<'_>) -> R {
        (self.work)(true)
    }

    #[inline(always)]
    fn raise(here: &Here<'_>) {
        here.front().raise_head(here.head());
    }

    #[inline(always)]
    fn lower(here: &Here<'_>) {
        here.front().lower_head(here.head());
    }

    #[cold]
    #[inline(never)]
    fn outside<B: Body<In = Any>>(self, b: B) -> (R, B::Out) {
        // SAFETY: it is a near join that has come here, and only bodies that `join` made are ever outside.
        H::call(|crew| unsafe { crew.common.enter_fork(Moved(self), Moved(b)) })
    }
}

/// Work that has moved to a worker together with its fork.
struct Moved<B>(B);

impl<B: Body> Body for Moved<B> {
    type Out = B::Out;
    type In = B::In;

    const ALWAYS_RUN: bool = B::ALWAYS_RUN;

    fn inline(self, here: Here<'_, B::In>) -> B::Out {
        self.0.moved(here)
    }

    fn stolen(self, here: Here<'_, B::In>) -> B::Out {
        self.0.stolen(here)
    }

    fn raise(here: &Here<'_, B::In>) {
        B::raise(here);
    }

    fn lower(here: &Here<'_, B::In>) {
        B::lower(here);
    }
}
