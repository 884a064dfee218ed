//! Thread pools: their builder, their threads, and the ways in from outside.
//!
//! What must always hold: a pool's threads have left its workers before the workers are freed, and no call from outside
//! returns before its job is settled.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use crate::core::Core;
use crate::front::Reach;
use crate::guest::Guests;
use crate::here::Here;
use crate::home::{Home, current_home};
use crate::host::{Crew, Lease, Seat};
use crate::interrupts::{self, By, Interrupts};
use crate::limits;
use crate::patience::Patience;
use crate::policy::{Idle, Victims, Wait};
use crate::pool::{Pool, Room, Split};
use crate::process::PerProcess;
use crate::processors::{self, Deal};
use crate::protocol::state::{MAX_DEPTH, MAX_WORKERS};
use crate::protocol::ticks::Ticks;
use crate::registry::Common;
use crate::slot::Slot;
use crate::spawn::Spawned;
use crate::stats::Stats;
use crate::table::Tables;
use crate::ticker::Ticker;
use crate::unwind::{abort_on_panic, warn};
use crate::wait;
use crate::worker::Worker;

/// The stack of each worker thread unless [`Builder::stack_size`] says otherwise, or the address space is limited: reserved, not
/// committed.
pub const DEFAULT_STACK_SIZE: usize = 64 << 20;

/// The smallest stack that a worker thread has, whatever [`Builder::stack_size`] says: enough for the scheduler itself.
pub const MIN_STACK_SIZE: usize = 64 << 10;

/// The number of tasks for which each worker's task stack has room unless [`Builder::deque_capacity`] says otherwise, or the address space
/// is too small: 64 MiB of reserved address space, committed as it is used.
pub const DEFAULT_DEQUE_CAPACITY: usize = 1 << 20;

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
    workers: Option<usize>,
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
    caller_works: Option<bool>,
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

/// Why a thread pool could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// There must be at least one worker, and at most [`BuildError::MAX_WORKERS`].
    Workers(usize),
    /// The pool's queues keep something for each pair of workers, so that it cannot have as many as others.
    Pairs {
        /// How many were wanted.
        workers: usize,
        /// How many there can be.
        most: usize,
    },
    /// Task stacks hold between 1 and [`BuildError::MAX_CAPACITY`] tasks.
    Capacity(usize),
    /// The strategy needs a pool whose stolen tasks can be followed: [`Split`] or [`Wool`](crate::pool::Wool).
    Wait(Wait),
    /// Settings that contradict each other: a sentence says why there cannot be such a pool.
    Unfit(&'static str),
    /// The time between two interrupts must not be zero, and signals need a system that has them.
    Interrupts(io::Error),
    /// The address space for the task stacks could not be reserved.
    Reserve {
        /// Tasks per worker.
        capacity: usize,
        /// Workers.
        workers: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A thread could not be started. Those that had been have left again.
    Thread {
        /// How many had been started.
        started: usize,
        /// How many were wanted.
        workers: usize,
        /// What the system said.
        source: io::Error,
    },
}

impl BuildError {
    /// The largest number of workers.
    pub const MAX_WORKERS: usize = MAX_WORKERS;
    /// The largest capacity of a task stack.
    pub const MAX_CAPACITY: usize = MAX_DEPTH;
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workers(0) => f.write_str("a pool needs at least one worker"),
            Self::Workers(n) => write!(f, "{n} workers are too many; a pool has at most {MAX_WORKERS}"),
            Self::Pairs { workers, most } => write!(
                f,
                "{workers} workers are too many for queues that keep something for each pair of them; this pool has at most {most}"
            ),
            Self::Capacity(n) => write!(f, "a deque for {n} tasks: the capacity is between 1 and {MAX_DEPTH}"),
            Self::Wait(wait) => {
                write!(
                    f,
                    "this pool cannot wait by strategy '{wait}': only pools with a task stack let thieves follow their tasks"
                )
            }
            Self::Unfit(why) => f.write_str(why),
            Self::Interrupts(source) => write!(f, "cannot interrupt the workers: {source}"),
            Self::Reserve { capacity, workers, source } => write!(
                f,
                "cannot reserve address space for {workers} task stacks of {capacity} tasks ({source}); \
                 lower the deque capacity or raise the limit (ulimit -v)"
            ),
            Self::Thread { started, workers, source } => write!(
                f,
                "cannot start thread {} of {workers} ({source}); \
                 use fewer workers or smaller stacks, or raise the limits (ulimit -u, ulimit -v)",
                started + 1
            ),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Interrupts(source) | Self::Reserve { source, .. } | Self::Thread { source, .. } => Some(source),
            _ => None,
        }
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

    /// The stack of each worker thread, in bytes; at least [`MIN_STACK_SIZE`]. Default: [`DEFAULT_STACK_SIZE`], or less where the address
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
    fn build_at_most(mut self) -> Result<ThreadPool<P>, BuildError> {
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

    /// The workers, without threads.
    fn prepare(&self, workers: usize, by: Option<By>) -> Result<Arc<[Core<P>]>, BuildError> {
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
        let (common, spawned) = Common::new(workers, (self.wait, self.victims, self.idle), ticks, guests);
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

/// The stack of each of so many workers for which none was asked.
pub(crate) fn default_stack_size(workers: usize) -> usize {
    limits::modest(DEFAULT_STACK_SIZE, workers, 1 << 20)
}

/// The number of workers of a pool for which none was given.
fn default_workers() -> usize {
    workers_of(|| std::thread::available_parallelism().map_or(1, Into::into))
}

/// As many workers as the environment says, or else there are processors.
fn workers_of(processors: fn() -> usize) -> usize {
    let asked = std::env::var("FILCH_WORKERS").ok().and_then(|value| value.parse().ok());
    asked.unwrap_or_else(processors).clamp(1, MAX_WORKERS)
}

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
    cores: Arc<[Core<P>]>,
    pub(crate) common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
    /// What interrupts the workers.
    ticker: Option<Ticker>,
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
            let builder = Builder { workers: Some(workers_of(processors::count)), unpin: true, ..Builder::new() };
            match builder.build_at_most() {
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

    fn tick(&self, Interrupts { by, period }: Interrupts) -> io::Result<Ticker> {
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

/// Runs `f` with a handle, here.
fn in_handle_style<P: Pool, F, R>(here: Here<'_, P>, f: F) -> R
where
    F: for<'b> FnOnce(Worker<'b, P>) -> R,
{
    let _detached = here.detach();
    // SAFETY: closure style has just been detached, for as long as `f` runs.
    f(unsafe { Worker::new(here) })
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
