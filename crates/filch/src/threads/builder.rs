//! Building thread pools: their settings, and their threads.
//!
//! Invariant: a failed build leaves nothing behind.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(doc)]
use crate::Worker;
use crate::fork::slot::Slot;
use crate::interrupts::by_thieves::Calls;
use crate::interrupts::{By, Interrupts};
use crate::machine::processors::{Allowed, Places, ROOT};
use crate::machine::topology::CoreKind;
use crate::pool::Split;
use crate::protocol::state::{MAX_DEPTH, MAX_WORKERS};
use crate::protocol::ticks::Ticks;
use crate::shared::policy::{Habits, Leaps, Victims, Wait};
use crate::shared::{common::Common, guest::Guests, job_counts::PanicHandler, near::Near, stand_ins::Spares};
use crate::threads::defaults::{self, DEFAULT_TASK_CAPACITY, LOCKED_TASK_CAPACITY, MIN_STACK_SIZE, default_stack_size};
use crate::threads::{error::BuildError, thread_pool::ThreadPool};
use crate::wait::cold_ops::Tables;
use crate::worker::plumbing::{Pool, Room};
use crate::worker::{core::Core, home::Home};

pub(crate) type Hook = Arc<dyn Fn(usize) + Send + Sync>;
type NameOf = Arc<dyn Fn(usize) -> String + Send + Sync>;

/// A builder of a [`ThreadPool`], with its settings.
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
    /// `None`: unless the number of workers is set. Settled by [`Builder::settle_workers`].
    pub(crate) follows: Option<bool>,
    /// The directory of the system's files, `proc` and `sys`.
    pub(crate) machine: PathBuf,
    /// What workers may use, if the system was asked when their number was settled.
    pub(crate) allowed: Option<Allowed>,
    pub(crate) spares: usize,
    pub(crate) wait: Wait,
    pub(crate) leaps: Leaps,
    pub(crate) habits: Habits,
    settings: P::Settings,
    pub(crate) pin: bool,
    /// The kind of processors to which workers are pinned; `None`: any.
    pub(crate) cores: Option<CoreKind>,
    /// Whether workers use all processors of the process, even if the thread that starts them is pinned.
    pub(crate) unpin: bool,
    /// `None`: the default, or less if the system refuses that much.
    pub(crate) stack_size: Option<usize>,
    /// `None`: the default, or less if the system refuses that much.
    capacity: Option<usize>,
    pub(crate) interrupts: Option<Interrupts>,
    /// `None`: yes, unless a setting asks for something that callers lack.
    pub(crate) caller_works: Option<bool>,
    pub(crate) name: Option<NameOf>,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_exit: Option<Hook>,
    on_panic: Option<PanicHandler>,
}

impl<P: Pool> fmt::Debug for Builder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("follow_processors", &self.follows)
            .field("spares", &self.spares)
            .field("wait", &self.wait)
            .field("leaps", &self.leaps)
            .field("habits", &self.habits)
            .field("settings", &self.settings)
            .field("pin", &self.pin)
            .field("cores", &self.cores)
            .field("stack_size", &self.stack_size)
            .field("task_capacity", &self.capacity)
            .field("interrupts", &self.interrupts)
            .field("caller_works", &self.caller_works)
            .finish_non_exhaustive()
    }
}

impl<P: Pool> Clone for Builder<P> {
    fn clone(&self) -> Self {
        self.like(self.settings.clone())
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
}

impl<P: Pool> Default for Builder<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Pool> Builder<P> {
    /// Creates a builder with the default settings for a pool of type `P`; for the default type,
    /// [`ThreadPool::builder`] does the same.
    pub fn new() -> Self {
        Self {
            workers: None,
            follows: None,
            machine: ROOT.into(),
            allowed: None,
            spares: 0,
            wait: Wait::default(),
            leaps: Leaps::default(),
            habits: Habits::default(),
            settings: P::Settings::default(),
            pin: false,
            cores: None,
            unpin: false,
            stack_size: None,
            capacity: None,
            interrupts: None,
            caller_works: None,
            name: None,
            on_start: None,
            on_exit: None,
            on_panic: None,
        }
    }

    /// Sets the kind of task pool, and resets the [pool's own settings](Self::settings).
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
        self.like(Q::Settings::default())
    }

    /// Returns a builder with the same settings except the task pool's.
    fn like<Q: Pool>(&self, settings: Q::Settings) -> Builder<Q> {
        Builder {
            settings,
            workers: self.workers,
            follows: self.follows,
            machine: self.machine.clone(),
            allowed: self.allowed,
            spares: self.spares,
            wait: self.wait,
            leaps: self.leaps,
            habits: self.habits,
            pin: self.pin,
            cores: self.cores,
            unpin: self.unpin,
            stack_size: self.stack_size,
            capacity: self.capacity,
            interrupts: self.interrupts,
            caller_works: self.caller_works,
            name: self.name.clone(),
            on_start: self.on_start.clone(),
            on_exit: self.on_exit.clone(),
            on_panic: self.on_panic.clone(),
        }
    }

    /// Sets the task pool's own settings: see [`Pool`].
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

    /// Sets the stack size of each worker thread, in bytes, at least [`MIN_STACK_SIZE`]. Default:
    /// [`DEFAULT_STACK_SIZE`](crate::DEFAULT_STACK_SIZE), or less where the address space is limited or reserved space
    /// is locked into memory. Space that is not locked is reserved, not committed.
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

    /// Sets the capacity of each worker's task stack, in tasks. Default: [`DEFAULT_TASK_CAPACITY`], or less where the
    /// address space is limited or reserved space is locked into memory. Space that is not locked is reserved, not
    /// committed. A fork on a full stack runs its second branch after the first. For a growing queue this is the
    /// initial capacity.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).task_capacity(2).build()?;
    /// let sum = pool.install(|| filch::map_reduce(0..1000_u64, 0, |n| n, |a, b| a + b));
    /// assert_eq!(sum, 499_500);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn task_capacity(mut self, tasks: usize) -> Self {
        self.capacity = Some(tasks);
        self
    }

    /// Sets interrupts that make workers answer thieves in the middle of a long task. Default: none; workers answer
    /// when they fork, join, wait or [poll](Worker::poll).
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

    /// Sets whether a thread from outside may run its calls of [`run`](ThreadPool::run),
    /// [`install`](ThreadPool::install) and the free functions itself, in the seat of a sleeping worker and with its
    /// number, while other workers take part as usual. This saves two threads from falling asleep and waking, so that a
    /// short call takes a fraction of a microsecond instead of tens.
    ///
    /// Default: yes, unless workers have something that the caller lacks: a [name](Self::thread_name),
    /// [hooks](Self::on_start), a given [stack size](Self::stack_size), or their own [processor](Self::pin). Never if
    /// [signals](Interrupts::signal) interrupt workers.
    ///
    /// While calls are so short that they end before another worker can help, nobody is woken for them. If one turns
    /// out long after all, its loops get help after a tenth of a millisecond, and its forks after two at most.
    ///
    /// The tasks of such a call, and others that the caller runs while it waits, see the caller's thread-local
    /// variables. They cannot borrow a variable that the caller has [borrowed](std::thread::LocalKey::with_borrow_mut)
    /// around the call, and values that they set stay. They use the caller's allocator arena, name, priority and stack,
    /// and run under its locks. A thread with less than 1.75 MiB of stack left passes its call to a worker. Set this to
    /// `false` if tasks must not run there, or nest deeper than the stack allows.
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

    /// Sets the name of each worker's thread, by the worker's number.
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

    /// Sets a hook that each worker's thread calls before it takes work, with the worker's number. It may fork and
    /// spawn. A panic in it ends the process.
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

    /// Sets a hook that each worker's thread calls after its last work, with the worker's number. It may fork and
    /// spawn. A panic in it ends the process.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = filch::ThreadPool::builder().workers(1);
    /// drop(builder.on_exit(move |worker| sender.send(worker).unwrap()).build()?);
    /// assert_eq!(receiver.try_recv(), Ok(0)); // the pool's threads have ended
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn on_exit(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_exit = Some(Arc::new(hook));
        self
    }

    /// Sets a handler for the panics of [spawned](crate::spawn) jobs, which nobody joins. It gets the payload, on the
    /// worker, after the panic hook. A panic in it ends the process. Default: none; the payload is dropped.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = filch::ThreadPool::builder().workers(1);
    /// let pool = builder.on_panic(move |payload| sender.send(payload).unwrap()).build()?;
    /// pool.spawn(|| panic!("no"));
    /// assert_eq!(receiver.recv().unwrap().downcast_ref(), Some(&"no"));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn on_panic(mut self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Self {
        self.on_panic = Some(Arc::new(handler));
        self
    }

    /// Builds the pool, whose workers sleep until there is work. A first call by a thread that [may
    /// work](Self::caller_works) waits for no other thread.
    ///
    /// This starts only the first worker's thread. The others start when they are first needed, and each starts two
    /// more, so a program waits for one thread however many processors there are. The last worker's thread starts only
    /// when that worker is needed while no caller has its seat; if callers may work, come one at a time and leave no
    /// jobs behind, it never starts. Late threads have the processors of the first worker's, and the signal mask of the
    /// thread that called this. If the system refuses a late thread, the pool goes on without that worker, with a line
    /// on standard error the first time; but a [`broadcast`](ThreadPool::broadcast), which needs all, panics.
    ///
    /// A service that wants all threads before its first request can start them by a
    /// [`broadcast`](ThreadPool::broadcast). `build` itself starts all threads if they have [hooks](Self::on_start),
    /// [interrupts](Self::interrupts) or their own [processors](Self::pin), and those that [never
    /// sleep](crate::Idle::Spin).
    ///
    /// If the system refuses something else later, the pool gets slower. Where nothing else is safe, it ends the
    /// process with a message: if there is no memory for a job, or if the system revokes the calls that wake threads
    /// (`futex`) or pass a barrier (`membarrier`) while the program runs. If it refuses those calls from the beginning,
    /// threads yield repeatedly instead of sleeping.
    ///
    /// # Errors
    /// [`BuildError`] if a setting is out of range or the system refuses memory or threads. Nothing is left behind.
    ///
    /// ```
    /// let built = filch::ThreadPool::builder().workers(1_000_000).build();
    /// println!("{}", built.unwrap_err()); // names the largest possible number
    /// ```
    pub fn build(mut self) -> Result<ThreadPool<P>, BuildError> {
        let workers = self.settle_workers()?;
        self.build_with(workers)
    }

    /// Makes the workers at their places, without threads.
    pub(crate) fn prepare(
        &self,
        workers: usize,
        by: Option<By>,
        places: &Places,
    ) -> Result<Arc<[Box<Core<P>>]>, BuildError> {
        if workers == 0 {
            return Err(BuildError::Workers(workers));
        }
        let (own, workers) = (workers, workers.saturating_add(self.spares));
        if workers > MAX_WORKERS {
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
        if let Some(why) = P::refusal(&self.settings, self.wait, by.is_some_and(By::is_signal)) {
            return Err(BuildError::Unfit(why));
        }
        if by == Some(By::Thief) && !P::IS_ASKED {
            return Err(BuildError::Unfit(
                "thieves ask no worker in particular here, since owners deal out tasks themselves: interrupt by a clock",
            ));
        }
        let mut pools = self.reserve(workers, places)?;
        P::start(&mut pools, &self.settings).map_err(|source| BuildError::Thread { started: 0, workers, source })?;
        let ticks = match by {
            Some(By::Flag) => Some(Ticks::new(workers)),
            Some(By::Signal) => Some(Ticks::new(0)),
            Some(By::Thief) | None => None,
        };
        let guests = (self.admits_guests(by) && pools.iter().all(P::is_settling_fast)).then(Guests::new);
        let kept_back = pools.first().map_or(0, P::kept_back);
        let waiting = (self.wait, self.leaps);
        let (mut common, spawned) = Common::new(workers, waiting, self.habits, ticks, guests, kept_back, places);
        common.on_panic.clone_from(&self.on_panic);
        // Without barriers, a worker spawns each job by the path that tells the recorder. One worker needs none.
        common.has_barriers &= !P::IS_RECORDED;
        if let Some(Interrupts { by: By::Thief, period, .. }) = self.interrupts.filter(|_| by.is_some()) {
            common.calls = Some(Arc::new(Calls::every(period)));
        }
        if self.habits.victims == Victims::Near {
            common.near = Near::of(workers, places, &self.machine);
        }
        common.spares = if self.follows == Some(true) {
            Some(Spares::following(own, workers, self.allowed().at_once(), self.machine.clone()))
        } else {
            (self.spares > 0).then(|| Spares::new(own))
        };
        let common = Arc::new(common);
        common.wake_elsewhere();
        Ok(Core::assemble(pools, Home::create(&common, spawned), Tables::<P>::BOTH, places))
    }

    fn admits_guests(&self, by: Option<By>) -> bool {
        // A signal interrupts the worker's own thread, even if a guest has the seat.
        !by.is_some_and(By::is_signal) && self.lets_callers_work()
    }

    pub(crate) fn lets_callers_work(&self) -> bool {
        let asks = self.pin || self.stack_size.is_some() || self.name.is_some();
        self.caller_works.unwrap_or(!asks && self.on_start.is_none() && self.on_exit.is_none())
    }

    pub(crate) fn stack_size_for(&self, workers: usize) -> usize {
        self.stack_size.unwrap_or_else(|| default_stack_size(workers))
    }

    /// Makes the task pools, with the capacity that is set, or as much as the system grants.
    fn reserve(&self, workers: usize, places: &Places) -> Result<Vec<P>, BuildError> {
        const LEAST: usize = 1 << 10;
        const STEP: usize = 1 << 4;
        let bytes = |tasks| tasks * size_of::<Slot>();
        let [default, locked] = [DEFAULT_TASK_CAPACITY, LOCKED_TASK_CAPACITY].map(bytes);
        let room = || defaults::modest(default, locked, workers, bytes(LEAST)) / size_of::<Slot>();
        // Some queues initialize each slot, which takes Miri long.
        let default = || if cfg!(miri) { 1 << 8 } else { room() };
        let mut capacity = self.capacity.unwrap_or_else(default);
        loop {
            let room = Room { tasks: capacity, is_asked: self.capacity.is_some() };
            match P::create(workers, room, &self.settings, places) {
                Ok(pools) => return Ok(pools),
                Err(_) if self.capacity.is_none() && capacity > LEAST => capacity /= STEP,
                Err(source) => return Err(BuildError::Reserve { capacity, workers, source }),
            }
        }
    }
}
