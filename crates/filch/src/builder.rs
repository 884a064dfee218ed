//! Building thread pools: their settings, and their threads.
//!
//! What must always hold: what could not be built leaves nothing behind.
//!
//! This file and [`thread_pool`](crate::thread_pool) need each other: this makes pools, and a pool says how it is made.

use std::fmt;
use std::io;
use std::sync::Arc;

#[cfg(doc)]
use crate::Worker;
pub use crate::build_error::BuildError;
use crate::core::Core;
use crate::guest::Guests;
use crate::home::Home;
use crate::interrupts::{self, By, Interrupts};
use crate::limits::{self, DEFAULT_DEQUE_CAPACITY, MIN_STACK_SIZE, default_stack_size, default_workers};
use crate::policy::{Idle, Victims, Wait};
use crate::pool::{Pool, Room, Split};
use crate::processors::{self, Deal};
use crate::protocol::state::{MAX_DEPTH, MAX_WORKERS};
use crate::protocol::ticks::Ticks;
use crate::registry::Common;
use crate::slot::Slot;
use crate::table::Tables;
use crate::thread_pool::ThreadPool;
use crate::unwind::{abort_on_panic, warn};
use crate::wait;

type Hook = Arc<dyn Fn(usize) + Send + Sync>;
type NameOf = Arc<dyn Fn(usize) -> String + Send + Sync>;

/// Settings of a [`ThreadPool`] that is to be built.
///
/// ```
/// use filch::{ThreadPool, Wait};
///
/// let pool = ThreadPool::builder().workers(2).wait(Wait::Leapfrog).thread_name(|i| format!("cruncher {i}")).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 2, |_| 3)), (2, 3));
/// # Ok::<(), filch::BuildError>(())
/// ```
#[must_use]
pub struct Builder<P: Pool = Split> {
    pub(crate) workers: Option<usize>,
    wait: Wait,
    victims: Victims,
    idle: Idle,
    settings: P::Settings,
    pin: bool,
    /// Whether workers use all processors of the process, though the thread that starts them is pinned.
    unpin: bool,
    /// `None`: the default, or less if the system does not have so much.
    stack_size: Option<usize>,
    /// `None`: the default, or less if the system does not have so much.
    capacity: Option<usize>,
    interrupts: Option<Interrupts>,
    /// `None`: unless something is asked for that callers have not got.
    pub(crate) caller_works: Option<bool>,
    name: Option<NameOf>,
    on_start: Option<Hook>,
    on_exit: Option<Hook>,
}

impl<P: Pool> fmt::Debug for Builder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("wait", &self.wait)
            .field("victims", &self.victims)
            .field("idle", &self.idle)
            .field("settings", &self.settings)
            .field("pin", &self.pin)
            .field("stack_size", &self.stack_size)
            .field("deque_capacity", &self.capacity)
            .field("interrupts", &self.interrupts)
            .field("caller_works", &self.caller_works)
            .finish_non_exhaustive()
    }
}

impl<P: Pool> Default for Builder<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Pool> Builder<P> {
    /// The default settings, for a pool of type `P`; for the default type, [`ThreadPool::builder`] says the same.
    pub fn new() -> Self {
        Self {
            workers: None,
            wait: Wait::default(),
            victims: Victims::default(),
            idle: Idle::default(),
            settings: P::Settings::default(),
            pin: false,
            unpin: false,
            stack_size: None,
            capacity: None,
            interrupts: None,
            caller_works: None,
            name: None,
            on_start: None,
            on_exit: None,
        }
    }

    /// For a pool whose workers may run wherever the process may, though the thread that builds it be pinned.
    pub(crate) fn unpinned(workers: usize) -> Self {
        Self { workers: Some(workers), unpin: true, ..Self::new() }
    }

    /// The same settings for task pools of another kind, except for what is [set of the pools](Self::settings) themselves.
    ///
    /// ```
    /// use filch::ThreadPool;
    /// use filch::pool::Queued;
    ///
    /// let pool = ThreadPool::builder().pool::<Queued<filch_queue::ChaseLev>>().workers(2).build()?;
    /// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn pool<Q: Pool>(self) -> Builder<Q> {
        Builder {
            workers: self.workers,
            wait: self.wait,
            victims: self.victims,
            idle: self.idle,
            settings: Q::Settings::default(),
            pin: self.pin,
            unpin: self.unpin,
            stack_size: self.stack_size,
            capacity: self.capacity,
            interrupts: self.interrupts,
            caller_works: self.caller_works,
            name: self.name,
            on_start: self.on_start,
            on_exit: self.on_exit,
        }
    }

    /// The number of workers. Default: the environment variable `FILCH_WORKERS`, else the number of processors that the current thread
    /// may use.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(3).build()?;
    /// assert_eq!(pool.workers(), 3);
    /// assert!(filch::ThreadPool::builder().workers(0).build().is_err());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// What a worker may run while it waits for a stolen task.
    ///
    /// ```
    /// use filch::{ThreadPool, Wait};
    ///
    /// let pool = ThreadPool::builder().workers(2).wait(Wait::Leapfrog).build()?;
    /// assert_eq!(pool.wait(), Wait::Leapfrog);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Whom a worker tries to steal from first. Default: [anybody](Victims::Random).
    ///
    /// ```
    /// use filch::{ThreadPool, Victims};
    ///
    /// let pool = ThreadPool::builder().workers(2).victims(Victims::Last).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn victims(mut self, victims: Victims) -> Self {
        self.victims = victims;
        self
    }

    /// What a worker does that finds no work. Default: it [sleeps](Idle::Sleep).
    ///
    /// ```
    /// use filch::{Idle, ThreadPool};
    ///
    /// let pool = ThreadPool::builder().workers(2).idle(Idle::Spin).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn idle(mut self, idle: Idle) -> Self {
        self.idle = idle;
        self
    }

    /// What is set of the task pools themselves: see [`Pool`].
    ///
    /// ```
    /// use filch::Builder;
    /// use filch::pool::{QueueSettings, Queued};
    /// use filch_queue::{BlockSize, PadWs, pad_ws};
    ///
    /// let blocks = pad_ws::Params { block_size: BlockSize::SquareRoot, ..Default::default() };
    /// let pool = Builder::<Queued<PadWs>>::new().workers(2).settings(QueueSettings::of(blocks)).build()?;
    /// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn settings(mut self, settings: P::Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Whether to pin each worker to a processor of its own. Default: no. Ignored where the system cannot.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).pin(true).build()?;
    /// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// The stack of each worker thread, in bytes; at least [`MIN_STACK_SIZE`]. Default: [`DEFAULT_STACK_SIZE`](crate::DEFAULT_STACK_SIZE), or less where the address
    /// space is limited. Reserved, not committed.
    ///
    /// ```
    /// fn depth(n: u64) -> u64 {
    ///     if n == 0 { 0 } else { 1 + std::hint::black_box(depth(n - 1)) }
    /// }
    /// let pool = filch::ThreadPool::builder().workers(1).stack_size(256 << 20).build()?;
    /// assert_eq!(pool.install(|| depth(100_000)), 100_000);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes.max(MIN_STACK_SIZE));
        self
    }

    /// The number of tasks for which each worker's task stack has room; default [`DEFAULT_DEQUE_CAPACITY`], or less where the address
    /// space is limited. Reserved, not committed. A fork on a full stack runs its second branch after the first. A queue that grows has
    /// room for so many tasks at first.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).deque_capacity(2).build()?;
    /// let sum = pool.install(|| filch::map_reduce(0..1000_u64, 0, |n| n, |a, b| a + b));
    /// assert_eq!(sum, 499_500);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn deque_capacity(mut self, tasks: usize) -> Self {
        self.capacity = Some(tasks);
        self
    }

    /// What has workers answer thieves in the middle of a long task. Default: nothing; they answer when they fork, join, wait or
    /// [poll](Worker::poll).
    ///
    /// ```
    /// use filch::Interrupts;
    ///
    /// let pool = filch::ThreadPool::builder().workers(2).interrupts(Interrupts::flag()).build()?;
    /// assert_eq!(pool.run(|mut w| w.join(|mut w| w.poll(), |_| 2)), ((), 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn interrupts(mut self, interrupts: Interrupts) -> Self {
        self.interrupts = Some(interrupts);
        self
    }

    /// Whether a thread from outside may run its own call of [`run`](ThreadPool::run) or [`install`](ThreadPool::install), and of the free
    /// functions, itself: in the seat of a worker that sleeps, with that worker's number, while others take part as ever. Two threads
    /// less have to fall asleep and wake up, so that a short call takes a fraction of a microsecond instead of tens.
    ///
    /// Default: yes, unless workers have something that the caller lacks: a [name](Self::thread_name), [hooks](Self::on_start),
    /// a [stack](Self::stack_size) of a certain size, a [processor](Self::pin) of their own. Where workers are interrupted by
    /// [signals](Interrupts::signal), or [never sleep](Idle::Spin), never.
    ///
    /// What a call finds different on its own thread: thread-local variables are the caller's; locks and borrows that are tied to a
    /// thread are too; and so is the stack. A thread that has less than 1.75 MiB of it left hands its call to a worker. One whose tasks
    /// nest deeper than its own stack allows should say no here.
    ///
    /// ```
    /// let here = std::thread::current().id();
    /// let pool = filch::ThreadPool::builder().workers(2).caller_works(false).build()?;
    /// assert_ne!(pool.install(|| std::thread::current().id()), here);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn caller_works(mut self, works: bool) -> Self {
        self.caller_works = Some(works);
        self
    }

    /// The name of each worker's thread, by its number.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(1).thread_name(|n| format!("cruncher {n}")).build()?;
    /// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(name.as_deref(), Some("cruncher 0"));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.name = Some(Arc::new(name));
        self
    }

    /// Called by each worker's thread before it takes work, with its number; it may fork and spawn. A panic in it ends the process.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = filch::ThreadPool::builder().workers(1);
    /// let pool = builder.on_start(move |worker| sender.send(worker).unwrap()).build()?;
    /// assert_eq!(receiver.recv(), Ok(0));
    /// # drop(pool);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_start = Some(Arc::new(hook));
        self
    }

    /// Called by each worker's thread after its last work, with its number; it may fork and spawn. A panic in it ends the process.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = filch::ThreadPool::builder().workers(1);
    /// drop(builder.on_exit(move |worker| sender.send(worker).unwrap()).build()?);
    /// assert_eq!(receiver.try_recv(), Ok(0)); // the pool's threads have left
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn on_exit(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_exit = Some(Arc::new(hook));
        self
    }

    /// Starts the threads.
    ///
    /// What the system refuses later makes the pool slower, or ends the process with a message where nothing else is safe: without memory
    /// for a job, and where it takes away, in the middle of the program, the calls by which threads are woken (`futex`) or pass a
    /// barrier (`membarrier`). Refused from the beginning, those are done without: a thread that would sleep then gives its
    /// processor away over and over.
    ///
    /// # Errors
    /// [`BuildError`], if a setting is out of range or the system refuses memory or threads. Nothing is left behind.
    ///
    /// ```
    /// let built = filch::ThreadPool::builder().workers(1_000_000).build();
    /// println!("{}", built.unwrap_err()); // says how many there may be
    /// ```
    pub fn build(self) -> Result<ThreadPool<P>, BuildError> {
        let workers = self.workers.unwrap_or_else(default_workers);
        self.build_with(workers)
    }

    /// As [`Builder::build`], and with smaller stacks, and then fewer workers, if the system refuses; says so on standard error.
    pub(crate) fn build_at_most(mut self) -> Result<ThreadPool<P>, BuildError> {
        const LEAST: usize = 1 << 20;
        const STEP: usize = 1 << 2;
        let wanted = self.workers.unwrap_or_else(default_workers);
        let (mut workers, mut refused) = (wanted, None);
        loop {
            match self.build_with(workers) {
                Err(BuildError::Thread { source, .. }) if self.stack_size_for(workers) > LEAST => {
                    self.stack_size = Some((self.stack_size_for(workers) / STEP).max(LEAST));
                    refused = Some(source);
                }
                Err(BuildError::Thread { started, source, .. }) if started > 0 => {
                    workers = started;
                    refused = Some(source);
                }
                built => {
                    if let (Some(source), Ok(_)) = (refused, &built) {
                        let stack = self.stack_size_for(workers) >> 20;
                        warn(format_args!(
                            "starting {workers} of {wanted} workers, with stacks of {stack} MiB ({source})"
                        ));
                    }
                    return built;
                }
            }
        }
    }

    /// The workers, without threads.
    pub(crate) fn prepare(&self, workers: usize, by: Option<By>) -> Result<Arc<[Core<P>]>, BuildError> {
        if workers == 0 || workers > MAX_WORKERS {
            return Err(BuildError::Workers(workers));
        }
        if workers > P::MAX_WORKERS {
            return Err(BuildError::Pairs { workers, most: P::MAX_WORKERS });
        }
        if let Some(capacity) = self.capacity
            && !(1..=MAX_DEPTH).contains(&capacity)
        {
            return Err(BuildError::Capacity(capacity));
        }
        if self.wait == Wait::Transitive && !P::TRANSITIVE {
            return Err(BuildError::Wait(self.wait));
        }
        if let Some(why) = P::refusal(&self.settings, self.wait, by == Some(By::Signal)) {
            return Err(BuildError::Unfit(why));
        }
        let mut pools = self.reserve(workers)?;
        P::start(&mut pools, &self.settings).map_err(|source| BuildError::Thread { started: 0, workers, source })?;
        let ticks = by.map(|by| Ticks::new(if by == By::Flag { workers } else { 0 }));
        let guests = (self.admits_guests(by) && pools.iter().all(P::settles_fast)).then(Guests::new);
        let kept_back = pools.first().map_or(0, P::kept_back);
        let (common, spawned) = Common::new(workers, (self.wait, self.victims, self.idle), ticks, guests, kept_back);
        Ok(Core::assemble(pools, Home::create(&Arc::new(common), spawned), Tables::<P>::BOTH))
    }

    fn admits_guests(&self, by: Option<By>) -> bool {
        // A signal interrupts the worker's own thread, whoever has its seat.
        let asks = self.pin || self.stack_size.is_some() || self.name.is_some();
        let asks = asks || self.on_start.is_some() || self.on_exit.is_some();
        by != Some(By::Signal) && self.idle == Idle::Sleep && self.caller_works.unwrap_or(!asks)
    }

    fn stack_size_for(&self, workers: usize) -> usize {
        self.stack_size.unwrap_or_else(|| default_stack_size(workers))
    }

    /// The task pools, with as much room as the system has, unless somebody has asked for so much.
    fn reserve(&self, workers: usize) -> Result<Vec<P>, BuildError> {
        const LEAST: usize = 1 << 10;
        const STEP: usize = 1 << 4;
        let bytes = || limits::modest(DEFAULT_DEQUE_CAPACITY * size_of::<Slot>(), workers, LEAST * size_of::<Slot>());
        // Some queues set each of their places, which takes Miri long.
        let default = || if cfg!(miri) { 1 << 8 } else { bytes() / size_of::<Slot>() };
        let mut capacity = self.capacity.unwrap_or_else(default);
        loop {
            let room = Room { tasks: capacity, is_asked: self.capacity.is_some() };
            match P::create(workers, room, &self.settings) {
                Ok(pools) => return Ok(pools),
                Err(_) if self.capacity.is_none() && capacity > LEAST => capacity /= STEP,
                Err(source) => return Err(BuildError::Reserve { capacity, workers, source }),
            }
        }
    }

    fn build_with(&self, workers: usize) -> Result<ThreadPool<P>, BuildError> {
        let interrupts = self.interrupts.filter(|interrupts| interrupts.by == By::Flag || P::ANSWERS_SIGNALS);
        if interrupts.is_some_and(|interrupts| interrupts.period.is_zero()) {
            return Err(BuildError::Interrupts(io::Error::other("the time between two of them is zero")));
        }
        let has_signals = interrupts.is_some_and(|interrupts| interrupts.by == By::Signal);
        let handler =
            has_signals.then(interrupts::Handler::install).transpose().map_err(BuildError::Interrupts)?.map(Arc::new);
        let cores = self.prepare(workers, interrupts.map(|interrupts| interrupts.by))?;
        let common = Arc::clone(&cores[0].home.common);
        // Dropping it, on failure too, has the started threads leave and waits for them.
        let mut pool = ThreadPool { cores, common, threads: Vec::with_capacity(workers), ticker: None };
        let processors = if self.pin { Deal::of_this_thread().unwrap_or_default() } else { Deal::default() };
        let held = has_signals.then(interrupts::Held::new);
        for index in 0..workers {
            let cores = Arc::clone(&pool.cores);
            let (on_start, on_exit, handler) = (self.on_start.clone(), self.on_exit.clone(), handler.clone());
            let processor = processors.to(index);
            let name = self.name.as_ref().map_or_else(|| format!("filch {index}"), |name| name(index));
            let (stack_size, unpin) = (self.stack_size_for(workers), self.unpin);
            let thread = std::thread::Builder::new().name(name).stack_size(stack_size).spawn(move || {
                if let Some(processor) = processor {
                    // Where the system cannot, it goes without.
                    let _ = processors::bind(processor);
                } else if unpin {
                    processors::unpin();
                }
                let core = &cores[index];
                // SAFETY: this thread is the worker until its end.
                let _listening = handler.map(|handler| unsafe { interrupts::Listening::new(&core.detached, handler) });
                abort_on_panic("a worker's thread panicked", || {
                    let call = |hook: Option<Hook>| {
                        if let Some(hook) = hook {
                            hook(index);
                        }
                    };
                    // SAFETY: this thread is the worker from here on, and its task stack is empty.
                    unsafe { wait::work(core, stack_size, || call(on_start), || call(on_exit)) };
                });
            });
            match thread {
                Ok(thread) => pool.threads.push(thread),
                Err(source) => return Err(BuildError::Thread { started: index, workers, source }),
            }
        }
        drop(held);
        if let Some(interrupts) = interrupts {
            pool.ticker = Some(pool.tick(interrupts).map_err(BuildError::Interrupts)?);
        }
        Ok(pool)
    }
}
