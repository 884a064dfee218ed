//! For libraries that give filch another interface: pools whose kind is chosen at run time, on the host's own threads.
//!
//! The drop-in for `rayon-core` builds on this module. A [`Crew`] is a handle to the workers of a pool of any kind.
//! Each worker has a [`Seat`], which the host gives to a thread, and the workers stay while a [`Lease`] exists. Jobs
//! are spawned, in either order, or posted to one worker; a [`Countdown`] waits for them. [`join`] is as fast as
//! [`filch::join`](crate::join()), but tells each branch whether it has moved, and always runs both branches. Code in
//! other languages forks by the [`LAYOUT`] of the default pool, at a [`RawWorker`], and [kicks](kick_jobs)
//! jobs that it has made before.
//!
//! ```
//! use filch::inside::host::{self, Countdown, Fifo, Host, MayDangle};
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
//!     assert_eq!((crew.workers(), crew.current_index()), (2, None));
//!     let (jobs, queue) = (Countdown::new(5), Fifo::default());
//!     let counted = |assert_here: fn()| {
//!         let jobs = MayDangle::new(&jobs);
//!         move || {
//!             assert_here();
//!             // SAFETY: the thread waits for the countdown, and each of the five jobs ends it once.
//!             unsafe { Countdown::end(jobs.into_inner()) };
//!         }
//!     };
//!     // SAFETY: the jobs' borrows live until their last act, for which `wait` waits.
//!     unsafe {
//!         crew.push(counted(|| ()));
//!         crew.push_fifo(&queue, counted(|| ()));
//!         crew.post(1, counted(|| assert_eq!(host::current_index(), Some(1))));
//!         crew.post_to_each(|_| counted(|| assert!(host::current_index().is_some())));
//!     }
//!     jobs.wait();
//!     let moved = crew.enter(|| host::join::<Here, _, _, _, _>(|moved| moved, |_| host::workers_here()));
//!     assert_eq!(moved, (false, Some(2)));
//!     assert_eq!((host::run_one(true), host::has_pending()), (None, None), "this thread is not a worker");
//!     let again = lease.downgrade();
//!     drop(lease); // the last lease, so the workers leave
//!     assert!(again.upgrade().is_none());
//! });
//! # Ok::<(), filch::BuildError>(())
//! ```
//!
//! Invariant: one thread takes a seat, and is the worker from then on; and the thread that pushes a job waits for it
//! before the job's borrows end.

mod crew;
mod raw;
#[cfg(feature = "scale")]
mod recording;
mod seat;

use std::any::type_name;
use std::marker::PhantomData;
use std::path::Path;

use crossbeam_queue::SegQueue;

use crate::fork::front::{Only, Outside, Reach};
use crate::fork::here::{Any, Here};
use crate::fork::{fast_path, job::Body};
use crate::machine::processors::{self, Allowed, Places, ROOT};
use crate::shared::common::Common;
use crate::threads::{builder::Builder, thread_pool::ThreadPool};
use crate::worker::latch::{self, Latch, Waiter};
use crate::worker::{home::current_home, plumbing::Pool, strands};

pub use self::crew::{Crew, Fifo, Lease, Threads, WeakLease};
pub use self::raw::{LAYOUT, RawWorker};
#[cfg(feature = "scale")]
pub use self::recording::{ScaleFile, arrive, collect};
pub use self::seat::Seat;
pub use crate::fork::spawned::MayDangle;
pub use crate::machine::leaked::keep;
pub use crate::machine::made_once::Single;
pub use crate::machine::process::{PerProcess, at_exit};
pub use crate::machine::thread::Thread;
#[cfg(feature = "worklists")]
pub use crate::teams::jobs::kicked::{create as create_job, kick as kick_jobs};
pub use crate::threads::environment::variable;
pub use crate::threads::timeline_file::TimelineFile;
pub use crate::unwind::{AbortOnUnwind, FirstPanic};

/// Returns the numbers of the processors that the current thread may use, in the order in which
/// [pinned](crate::Builder::pin) workers get them; none where the system does not tell.
///
/// ```
/// let processors = filch::inside::host::processors();
/// println!("the first pinned worker would be on {:?}", processors.first());
/// ```
pub fn processors() -> Vec<usize> {
    Places::if_pinned(true, Path::new(ROOT)).numbers().to_vec()
}

/// A count of things to wait for.
///
/// ```
/// use filch::inside::host::Countdown;
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
    /// Lets the current thread wait until `things` things have ended.
    pub fn new(things: usize) -> Self {
        Self(Latch::new(things, Waiter::current()))
    }

    /// Adds things to wait for. Call it while a counted thing has not ended; otherwise the wait may be over already.
    pub fn add(&self, things: usize) {
        self.0.add(things);
    }

    /// The number of things that have not ended. A snapshot.
    pub fn pending(&self) -> usize {
        self.0.pending()
    }

    /// Ends one thing.
    ///
    /// # Safety
    /// `this` is alive while the thing is counted, and the thing ends once. `this` may be gone after the call.
    pub unsafe fn end(this: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { Latch::end(&raw const (*this).0) };
    }

    /// Waits until all things have ended. A worker runs jobs of any kind meanwhile; other threads sleep.
    ///
    /// # Panics
    /// If another thread made the countdown.
    pub fn wait(&self) {
        self.wait_with(None);
    }

    /// Waits until all things have ended. A worker meanwhile runs only jobs that are [posted](Crew::post) to it; other
    /// threads sleep.
    ///
    /// # Panics
    /// As [`Countdown::wait`].
    pub fn wait_confined(&self) {
        self.wait_with(Some(&SegQueue::new()));
    }

    fn wait_with(&self, only: Only<'_>) {
        assert!(self.0.waiter().is_current(), "only the thread that made a countdown can wait for it");
        latch::wait(&self.0, only, false);
    }
}

/// Returns the default stack size for each of `workers` threads: [`DEFAULT_STACK_SIZE`](crate::DEFAULT_STACK_SIZE), or
/// less where the address space is limited.
///
/// ```
/// assert!(filch::inside::host::stack_size(4) <= filch::DEFAULT_STACK_SIZE);
/// ```
pub fn stack_size(workers: usize) -> usize {
    crate::threads::defaults::default_stack_size(workers)
}

/// The processors and the quota that the process may use, as the system reported them when asked.
///
/// ```
/// use filch::inside::host::Processors;
///
/// let processors = Processors::of_process();
/// let pool = filch::ThreadPool::builder().workers(processors.count()).follow_processors(true).within(processors).build()?;
/// assert!(pool.active_workers() >= 1);
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Processors(Allowed);

impl Processors {
    /// Asks the system what the process may use now, even if the current thread is pinned. This reads files.
    pub fn of_process() -> Self {
        Self(Allowed::to_process(Path::new(processors::ROOT)))
    }

    /// The number of processors, within the quota.
    pub fn count(self) -> usize {
        self.0.at_once()
    }
}

impl<P: Pool> Builder<P> {
    /// Gives the pool these limits, so it does not ask the system when it starts.
    pub fn within(mut self, processors: Processors) -> Self {
        self.allowed = Some(processors.0);
        self
    }
}

/// Lets the current thread use all processors that the process may use, even if its parent thread is pinned. Does
/// nothing where the system does not tell which these are.
///
/// ```
/// std::thread::spawn(filch::inside::host::unpin).join().unwrap();
/// ```
pub fn unpin() {
    processors::unpin();
}

/// Returns the current thread's number as a worker, of any pool.
#[inline]
pub fn current_index() -> Option<usize> {
    current_home().map(|home| home.index)
}

/// Runs `f` outside all pools, even on a worker, so that it can take a [seat](Seat::run) of another crew meanwhile. The
/// worker answers nobody until `f` returns.
///
/// ```
/// use filch::inside::host::{current_index, outside};
///
/// let pool = filch::ThreadPool::new(1)?;
/// assert_eq!(pool.install(|| (current_index(), outside(current_index))), (Some(0), None));
/// # Ok::<(), filch::BuildError>(())
/// ```
pub fn outside<R>(f: impl FnOnce() -> R) -> R {
    Here::with(|here| {
        here.pause();
    });
    let _outside = Outside::enter();
    f()
}

/// Returns the number of workers of the current thread's pool.
pub fn workers_here() -> Option<usize> {
    current_home().map(|home| home.common.workers())
}

/// Calls `f` with what the workers of the current thread's pool share or, outside all pools, those of `other`.
fn with_common<P: Pool, R>(other: &ThreadPool<P>, f: impl FnOnce(&Common) -> R) -> R {
    match current_home() {
        Some(home) => f(&home.common),
        None => f(&other.common),
    }
}

/// Returns the address of what the workers of the current thread's pool share or, outside all pools, those of `other`.
pub fn address_here<P: Pool>(other: &ThreadPool<P>) -> usize {
    with_common(other, |common| (&raw const *common).addr())
}

/// Runs `op` once on every worker of the current thread's pool or, outside all pools, of `other`, with the worker's
/// number. A worker that waits for the others runs only jobs [posted](Crew::post) to it, whatever its strategy.
///
/// # Panics
/// As [`ThreadPool::broadcast`].
pub fn broadcast_confined<P: Pool>(other: &ThreadPool<P>, op: impl Fn(usize) + Sync) {
    with_common(other, |common| common.broadcast(true, &op));
}

/// Runs one job on the current worker, in the middle of its current task; returns whether there was one, or `None` if
/// the thread is not a worker. Looks first at the worker's own spawned jobs and forks and at the jobs posted to it;
/// then, if `everywhere`, at other workers' jobs.
pub fn run_one(everywhere: bool) -> Option<bool> {
    let reach = if everywhere { Reach::All } else { Reach::Own };
    Here::with(|here| here.run_one(reach))
}

/// Runs a job posted to the current worker, such as its part of a broadcast; returns whether there was one.
pub fn run_posted() -> bool {
    Here::with(|here| here.run_one(Reach::Mail)) == Some(true)
}

/// Whether the current worker has spawned jobs or forks that nobody has taken; `None` if the thread is not a worker. A
/// snapshot.
pub fn has_pending() -> Option<bool> {
    let home = current_home()?;
    Some(home.has_own_spawned() || Here::with(|here| here.cold(|operations| &operations.has_own, ()))?)
}

/// A host of [`join`], which says where forks from outside all pools go.
pub trait Host: 'static {
    /// Returns the crew for threads that are not workers. Only such threads call it.
    fn crew() -> &'static Crew;

    /// Passes the crew to the `call` of such a thread, which may be a guest of the crew meanwhile. A host can override
    /// this to observe the call or prepare the thread.
    fn call<R>(call: impl FnOnce(&'static Crew) -> R) -> R {
        call(Self::crew())
    }

    /// Runs a branch of a fork from outside on its worker. A host can override this to prepare the worker.
    #[inline(always)]
    fn within<R>(branch: impl FnOnce() -> R) -> R {
        branch()
    }
}

/// As [`filch::join`](crate::join()), for a host: threads outside use [`Host::crew`]; each branch learns whether it
/// runs on another thread than the one that forked it; and each branch always runs, even if the other panics.
///
/// It costs the same.
///
/// # Panics
/// If a branch panics, with its payload, once both have ended. If both panic, with the payload of `a`.
#[inline(always)]
pub fn join<H, A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    H: Host,
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    fast_path::join_here(Hosted::<H, A>::new(a), Hosted::<H, B>::new(b))
}

/// A branch of [`join`]; its parts are `Send`.
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
        (self.work)(strands::is_stolen(type_name::<F>))
    }

    fn moved(self, _: Here<'_>) -> R {
        (self.work)(true)
    }

    #[cold]
    #[inline(never)]
    fn outside<B: Body<In = Any>>((a, b): (Self, B)) -> (R, B::Out) {
        let (a, b) = (Moved::<H, _>::new(a), Moved::<H, _>::new(b));
        // SAFETY: only a near join calls this, and only bodies that `join` made are ever outside.
        H::call(|crew| unsafe { crew.common().enter_fork(a, b) })
    }
}

/// A branch that has moved to a worker together with its fork.
struct Moved<H, B> {
    branch: B,
    host: PhantomData<H>,
}

impl<H, B> Moved<H, B> {
    #[inline(always)]
    fn new(branch: B) -> Self {
        Self { branch, host: PhantomData }
    }
}

impl<H: Host, B: Body> Body for Moved<H, B> {
    type Out = B::Out;
    type In = B::In;

    const ALWAYS_RUN: bool = B::ALWAYS_RUN;

    fn inline(self, here: Here<'_, B::In>) -> B::Out {
        H::within(|| self.branch.moved(here))
    }

    fn stolen(self, here: Here<'_, B::In>) -> B::Out {
        H::within(|| self.branch.stolen(here))
    }

    fn raise(here: &Here<'_, B::In>) {
        B::raise(here);
    }

    fn lower(here: &Here<'_, B::In>) {
        B::lower(here);
    }
}
