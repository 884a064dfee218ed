//! Thread pools, and the ways in from outside.
//!
//! What must always hold: a pool's threads have left its workers before the workers are freed, and no call from outside
//! returns before its job is settled.
//!
//! This file and [`builder`](crate::builder) need each other: that makes pools, and a pool says how it is made.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use crate::builder::{BuildError, Builder};
use crate::core::Core;
use crate::front::Reach;
use crate::here::Here;
use crate::home::current_home;
use crate::interrupts::{self, By, Interrupts};
use crate::limits::workers_of;
use crate::patience::Patience;
use crate::policy::Wait;
use crate::pool::{Pool, Split};
use crate::process::PerProcess;
use crate::processors;
use crate::registry::Common;
use crate::spawn::Spawned;
use crate::stats::Stats;
use crate::ticker::Ticker;
use crate::worker::{Worker, in_handle_style};

/// A pool of worker threads. Dropping it finishes what was spawned and joins the threads; a worker of another pool runs that one's jobs
/// meanwhile. A task that drops its own pool waits for nobody. But no task of the pool may be waiting for somebody else who drops it.
///
/// In the child of a `fork()` a pool that the parent had made has no threads: handing it work panics, and dropping it waits for nobody.
///
/// Two ways in: [`run`](Self::run) hands the closure a [`Worker`] (handle style, the fastest); in
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
    pub(crate) cores: Arc<[Core<P>]>,
    pub(crate) common: Arc<Common>,
    pub(crate) threads: Vec<JoinHandle<()>>,
    /// What interrupts the workers.
    pub(crate) ticker: Option<Ticker>,
}

impl<P: Pool> fmt::Debug for ThreadPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("workers", &self.workers()).field("wait", &self.common.wait).finish()
    }
}

impl ThreadPool {
    /// Settings for a pool; see [`Builder`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).pin(true).build()?;
    /// assert_eq!(pool.workers(), 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// A pool of `workers` workers with the default settings.
    ///
    /// # Errors
    /// As [`Builder::build`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn new(workers: usize) -> Result<Self, BuildError> {
        Self::builder().workers(workers).build()
    }

    /// The pool of the free functions outside of all pools, started at first use. It is never dropped. In the child of a `fork()` it is
    /// another one.
    ///
    /// Its size: the environment variable `FILCH_WORKERS`, else the number of processors that the process may use, whatever the thread
    /// that comes first is pinned to. If the system refuses so many threads or so much
    /// address space, the stacks are smaller, or there are fewer workers, with a warning on standard error.
    ///
    /// ```
    /// assert!(filch::ThreadPool::global().workers() >= 1);
    /// ```
    ///
    /// # Panics
    /// If not even one worker can be started.
    pub fn global() -> &'static Self {
        static GLOBAL: PerProcess<OnceLock<ThreadPool>> = PerProcess::new();
        GLOBAL.get().get_or_init(|| {
            // Not where the thread that happens to come first is pinned.
            match Builder::unpinned(workers_of(processors::count)).build_at_most() {
                Ok(pool) => pool,
                Err(error) => panic!("filch cannot start its global pool: {error}"),
            }
        })
    }
}

impl<P: Pool> ThreadPool<P> {
    /// The number of workers.
    ///
    /// ```
    /// assert_eq!(filch::ThreadPool::new(2)?.workers(), 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn workers(&self) -> usize {
        self.cores.len()
    }

    /// What the workers wait by.
    ///
    /// ```
    /// assert_eq!(filch::ThreadPool::new(1)?.wait(), filch::Wait::default());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn wait(&self) -> Wait {
        self.common.wait
    }

    /// Runs `f` on a worker, in handle style, and returns its result.
    ///
    /// From outside the pool, the calling thread sits in for a worker that sleeps, if there is one and
    /// [it may](Builder::caller_works); otherwise it sleeps meanwhile. From a task of the same pool, `f` runs at once on the
    /// current worker. From a task of another pool, that pool's worker takes other work meanwhile.
    ///
    /// # Panics
    /// If `f` panics, with its payload.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let words = ["fork", "join"];
    /// assert_eq!(pool.run(|mut w| w.join(|_| words[0].len(), |_| words[1].len())), (4, 4));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: for<'b> FnOnce(Worker<'b, P>) -> R + Send,
        R: Send,
    {
        // SAFETY: on a worker of this pool, whose type is `P`, here or once it is there; and the pool keeps its workers.
        unsafe {
            if self.common.here().is_some() {
                return in_handle_style(Here::current().known::<P>(), f);
            }
            self.common.enter(|here| in_handle_style(here.known::<P>(), f))
        }
    }

    /// Runs `f` on a worker, in closure style, and returns its result: the free functions use this pool in it.
    ///
    /// Which thread runs it is as for [`run`](Self::run).
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
        if self.common.here().is_some() {
            return f();
        }
        // SAFETY: the pool keeps its workers.
        unsafe { self.common.enter(|_| f()) }
    }

    /// Has `f` run some time on a worker, in closure style, and returns at once. A panic in it is reported on standard error and
    /// otherwise lost.
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
        self.common.hand_in(Spawned::detached(f));
    }

    /// The counters of all workers since the pool started. May be read at any time; while tasks run it is a snapshot.
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

    /// Starts the peak depth afresh. Call it while nothing runs; otherwise the figure will be too low.
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

    pub(crate) fn tick(&self, Interrupts { by, period }: Interrupts) -> io::Result<Ticker> {
        const PROMISE: &str = "a pool with interrupts was made for ticks";
        let common = Arc::clone(&self.common);
        let clock = Arc::clone(common.ticks.as_ref().expect(PROMISE).clock());
        let threads = interrupts::names(if by == By::Signal { &self.threads } else { &[] });
        Ticker::start("filch ticker", clock, period, move || {
            common.ticks.as_ref().expect(PROMISE).make();
            // SAFETY: the workers' threads leave when the pool closes, and it drops the ticker before that.
            unsafe { interrupts::send(&common, &threads) };
        })
    }
}

impl<P: Pool> Drop for ThreadPool<P> {
    fn drop(&mut self) {
        if !self.common.is_here() {
            // The threads are not in this process, and to its system their handles mean nothing.
            std::mem::forget((std::mem::take(&mut self.threads), self.ticker.take()));
            return;
        }
        self.ticker = None;
        self.common.close();
        if self.common.here().is_some() {
            // A task drops the last handle of its own pool. The threads leave by themselves, and keep the workers alive.
            return;
        }
        // A worker of another pool works meanwhile: what is to be finished may be waiting for it.
        let mut patience = Patience::default();
        while current_home().is_some() && !self.threads.iter().all(JoinHandle::is_finished) {
            // SAFETY: used at once.
            if unsafe { Here::current() }.run_one(Reach::All) == Some(true) {
                patience.renew();
            } else {
                patience.wait_or_nap();
            }
        }
        for thread in self.threads.drain(..) {
            let outcome = thread.join();
            debug_assert!(outcome.is_ok(), "workers abort rather than panic");
        }
    }
}
