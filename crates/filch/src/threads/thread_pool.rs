//! Thread pools, and entry to them from outside.
//!
//! Invariant: a pool's workers are freed only after its threads have left them, and no call from outside returns before
//! its job is settled.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::pool::Split;
use crate::shared::{common::Common, policy::Wait, stand_ins::Spares};
use crate::threads::running::{Running, wait_until};
#[cfg(feature = "timeline")]
use crate::timeline::{Recorders, Timeline};
use crate::worker::{core::Core, plumbing::Pool, stats::Stats};
#[cfg(doc)]
use crate::{Builder, Worker};

/// A pool of worker threads. Dropping it finishes all spawned jobs and joins the threads; a worker of another pool runs
/// its own pool's jobs meanwhile. A task that drops its own pool does not wait. No task of the pool may wait for
/// another thread that drops the pool.
///
/// In the child of a `fork()`, a pool that the parent made has no threads: giving it work panics, and dropping it does
/// not wait.
///
/// The number of workers is fixed, though fewer of them work while the processors or a container's quota are [not
/// enough](Builder::follow_processors). A program that later needs another number builds a new pool and drops this one,
/// or has several pools, whose idle workers use no processor time. A call from outside needs no worker of its own: its
/// thread [takes the seat](Builder::caller_works) of a sleeping one.
///
/// There are two ways to enter: [`run`](Self::run) passes a [`Worker`] to the closure (handle style, the fastest); in
/// [`install`](Self::install) the free functions such as [`join`](crate::join) use this pool (closure style).
///
/// ```
/// let pool = filch::ThreadPool::new(2)?;
/// let (a, b) = pool.run(|mut w| w.join(|_| 6 * 7, |_| "six by seven"));
/// assert_eq!((a, b), (42, "six by seven"));
/// let sum = pool.install(|| filch::map_reduce(0..1000_u64, 0, |i| i, |a, b| a + b));
/// assert_eq!(sum, 499_500);
/// # Ok::<(), filch::BuildError>(())
/// ```
pub struct ThreadPool<P: Pool = Split> {
    pub(crate) cores: Arc<[Box<Core<P>>]>,
    pub(crate) common: Arc<Common>,
    pub(crate) running: Mutex<Running>,
}

impl<P: Pool> fmt::Debug for ThreadPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("workers", &self.workers()).field("wait", &self.common.wait).finish()
    }
}

impl<P: Pool> ThreadPool<P> {
    /// The number of workers, including the [spares](Builder::spares).
    ///
    /// ```
    /// assert_eq!(filch::ThreadPool::new(2)?.workers(), 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn workers(&self) -> usize {
        self.cores.len()
    }

    /// The number of workers that work at once, if none [blocks](crate::blocking): all but the spares, unless the pool
    /// [follows the processors](Builder::follow_processors) and has fewer of them. A snapshot: what the last worker
    /// that asked the system was told.
    ///
    /// ```
    /// assert_eq!(filch::ThreadPool::new(2)?.active_workers(), 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn active_workers(&self) -> usize {
        self.common.spares.as_ref().map_or(self.workers(), Spares::admitted)
    }

    /// The workers' waiting strategy.
    ///
    /// ```
    /// assert_eq!(filch::ThreadPool::new(1)?.wait(), filch::Wait::default());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn wait(&self) -> Wait {
        self.common.wait
    }

    /// Runs `f` on a worker, in closure style, and returns its result. In `f` the free functions use this pool.
    ///
    /// As for [`run`](Self::run), a call from outside the pool usually runs on the calling thread, with its
    /// thread-local variables and its stack, unless [`caller_works(false)`](Builder::caller_works) is set.
    ///
    /// # Panics
    /// If `f` panics, with its payload.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let mut v = vec![3, 1, 2];
    /// pool.install(|| filch::for_each(&mut v[..], |n| *n *= 10));
    /// assert_eq!(v, [30, 10, 20]);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.common.current_home().is_some() {
            return f();
        }
        // SAFETY: the pool keeps its workers alive.
        unsafe { self.common.enter(|_| f()) }
    }

    /// Spawns `f` to run some time on a worker, in closure style, and returns at once. A panic in it goes to the pool's
    /// [handler](Builder::on_panic); without one, only the panic hook sees it.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(42).unwrap());
    /// assert_eq!(receiver.recv(), Ok(42));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.common.hand_in_detached(f);
    }

    /// Waits until all jobs spawned and submitted so far, the jobs that these spawn, and the calls by other threads
    /// have ended. A worker of another pool runs its own pool's jobs meanwhile.
    ///
    /// Jobs that still run when the process ends are lost. If they must be done, call this at the end of `main`, or
    /// drop the pool. For the global pool see also [`ThreadPool::end_global`].
    ///
    /// Cost: a look at each worker's counts, ten thousand times a second at most.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// static DONE: AtomicU32 = AtomicU32::new(0);
    /// let pool = filch::ThreadPool::new(2)?;
    /// pool.spawn(|| filch::spawn(|| _ = DONE.fetch_add(1, SeqCst)));
    /// pool.wait_idle();
    /// assert_eq!(DONE.load(SeqCst), 1);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// On a worker of this pool, which would wait for itself; and in the child of a `fork()`, if the pool is the
    /// parent's and was busy.
    pub fn wait_idle(&self) {
        assert!(self.common.current_home().is_none(), "a task cannot wait until its own pool is idle");
        if self.common.is_idle() {
            return;
        }
        self.common.assert_here();
        wait_until(|| self.common.is_idle());
    }

    /// Returns the counters of all workers since the pool started; while tasks run, a snapshot.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let before = pool.stats();
    /// pool.run(|mut w| w.join(|_| 1, |_| 2));
    /// println!("{}", pool.stats().since(&before).total());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn stats(&self) -> Stats {
        Core::stats(&self.cores)
    }

    /// Runs `f`, and returns its result and a [timeline](crate::timeline): what each worker did meanwhile, and when.
    /// With the feature `timeline`.
    ///
    /// `f` is called on the current thread, and may give the pool work in any way. Recordings may overlap, and several
    /// threads may record at once. A recording has room for a million notes per worker, and counts further ones as
    /// [lost](crate::timeline::Track::lost).
    ///
    /// Cost: some 30 ns and 16 bytes per steal, wait and sleep; forks that nobody steals cost nothing. The memory stays
    /// with the pool, for its next recording.
    ///
    /// ```
    /// use std::fs::File;
    /// use std::io::BufWriter;
    ///
    /// fn fib(n: u64) -> u64 {
    ///     if n < 2 { n } else { let (a, b) = filch::join(|| fib(n - 1), || fib(n - 2)); a + b }
    /// }
    /// let pool = filch::ThreadPool::new(2)?;
    /// let (answer, timeline) = pool.record(|| pool.install(|| fib(20)));
    /// assert_eq!((answer, timeline.workers.len()), (6765, 2));
    /// # let folder = std::env::temp_dir().join(format!("filch-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let file = folder.join("fib.json");
    /// # /*
    /// let file = "fib.json"; // open it at https://ui.perfetto.dev
    /// # */
    /// timeline.write_perfetto(BufWriter::new(File::create(&file)?))?;
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `f` panics.
    #[cfg(feature = "timeline")]
    pub fn record<R>(&self, f: impl FnOnce() -> R) -> (R, Timeline) {
        let recorders = self.common.recorders.get_or_init(|| Recorders::new(self.workers()));
        recorders.record(|worker| self.cores[worker].home.counters.idle.is_going_on(), f)
    }

    /// Resets the peak depth. Call it while nothing runs; otherwise the figure is too low.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// pool.run(|mut w| w.join(|_| 1, |_| 2));
    /// assert_eq!(pool.stats().total().peak_depth, 1);
    /// pool.forget_peak_depth();
    /// assert_eq!(pool.stats().total().peak_depth, 0);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn forget_peak_depth(&self) {
        for core in &*self.cores {
            core.pool.forget_peak();
        }
    }
}
