//! Thread pools, and entry to them from outside.
//!
//! Invariant: a pool's workers are freed only after its threads have left them, and no call from outside returns before
//! its job is settled.
//!
//! This file and [`builder`](crate::builder) refer to each other: the builder makes pools, and a pool names its
//! builder.

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

/// A pool of worker threads. Dropping it finishes all spawned jobs and joins the threads; a worker of another pool runs
/// its own pool's jobs meanwhile. A task that drops its own pool does not wait. No task of the pool may wait for
/// another thread that drops the pool.
///
/// In the child of a `fork()`, a pool that the parent made has no threads: giving it work panics, and dropping it does
/// not wait.
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
    pub(crate) threads: Vec<JoinHandle<()>>,
    /// The ticker that interrupts the workers, if any.
    pub(crate) ticker: Option<Ticker>,
}

impl<P: Pool> fmt::Debug for ThreadPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("workers", &self.workers()).field("wait", &self.common.wait).finish()
    }
}

impl ThreadPool {
    /// Returns a [`Builder`] with the default settings.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).pin(true).build()?;
    /// assert_eq!(pool.workers(), 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Builds a pool of `workers` workers with the default settings.
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

    /// Returns the pool of the free functions outside all pools, started at first use and never dropped. The child of a
    /// `fork()` has another one.
    ///
    /// Its size is the environment variable `FILCH_WORKERS`, else the number of processors that the process may use,
    /// even if the first thread to call is pinned. If the system refuses that many threads or that much address space,
    /// the pool has smaller stacks or fewer workers, with a warning on standard error.
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
            // Unpinned, even if the first thread to call is pinned.
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

    /// The workers' waiting strategy.
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
    /// From outside the pool, the calling thread takes the seat of a sleeping worker, if there is one and [it
    /// may](Builder::caller_works); otherwise it sleeps meanwhile. From a task of the same pool, `f` runs at once on
    /// the current worker. From a task of another pool, that pool's worker runs other work meanwhile.
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
        // SAFETY: `f` runs on a worker of this pool, of type `P`, whether here or after the entry; and the pool keeps
        // its workers alive.
        unsafe {
            if self.common.here().is_some() {
                return in_handle_style(Here::current().known::<P>(), f);
            }
            self.common.enter(|here| in_handle_style(here.known::<P>(), f))
        }
    }

    /// Runs `f` on a worker, in closure style, and returns its result. In `f` the free functions use this pool.
    ///
    /// The thread that runs it is as for [`run`](Self::run).
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
        // SAFETY: the pool keeps its workers alive.
        unsafe { self.common.enter(|_| f()) }
    }

    /// Spawns `f` to run some time on a worker, in closure style, and returns at once. A panic in it is reported on
    /// standard error and otherwise lost.
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

    pub(crate) fn tick(&self, Interrupts { by, period, is_steady }: Interrupts) -> io::Result<Ticker> {
        const PROMISE: &str = "a pool with interrupts was made for ticks";
        let common = Arc::clone(&self.common);
        let clock = Arc::clone(common.ticks.as_ref().expect(PROMISE).clock());
        let threads = interrupts::names(if by == By::Signal { &self.threads } else { &[] });
        let want_next = move |common: &Common| {
            if is_steady {
                common.want_tick();
            }
        };
        want_next(&common);
        Ticker::start("filch ticker", clock, period, move || {
            common.ticks.as_ref().expect(PROMISE).make();
            // SAFETY: the workers' threads leave when the pool closes, which drops the ticker before.
            unsafe { interrupts::send(&common, &threads) };
            want_next(&common);
        })
    }
}

impl<P: Pool> Drop for ThreadPool<P> {
    fn drop(&mut self) {
        if !self.common.is_here() {
            // The threads are not in this process, where their handles mean nothing.
            std::mem::forget((std::mem::take(&mut self.threads), self.ticker.take()));
            return;
        }
        self.ticker = None;
        self.common.close();
        if self.common.here().is_some() {
            // A task drops its own pool. The threads leave by themselves, and keep the workers alive.
            return;
        }
        // A worker of another pool keeps working, since this pool's unfinished jobs may wait for it.
        let mut patience = Patience::default();
        while current_home().is_some() && !self.threads.iter().all(JoinHandle::is_finished) {
            // SAFETY: it is used at once.
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
