//! rayon-core's interface on [filch](::filch). Every program that uses rayon runs on filch with
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "…/filch/crates/rayon-core" }
//! ```
//!
//! It offers everything in `rayon-core` 1.13, with the same names, bounds and behaviour; the page `docs/drop-in.md`
//! lists the differences. All of the code is our own. Its additions are in the module [`filch`](mod@filch).
//!
//! The task pool is [`Split`](::filch::pool::Split), the direct task stack, in closure style. Environment variables,
//! read when a pool is built, change this:
//!
//! * `FILCH_POOL`, with the feature `pools`: `split`, `wool`, `chase-lev`, `lace`, `the`, `pdq-r-async` or
//!   `heartbeat-request`;
//! * `FILCH_WAIT`: what a thread may run while it waits in a [`join`](join()), one of `leapfrog-random`, `leapfrog`,
//!   `transitive` and `random`;
//! * `FILCH_CALLER`: whether a thread from outside runs its calls itself, in place of a sleeping worker; `1` in every
//!   pool, `0` never. Otherwise the program decides, by [`CallersWork`](filch::CallersWork), which states gain and
//!   hazards; by default never;
//! * `FILCH_STATS=1`: prints counters on standard error when a pool, or the process, ends;
//! * `FILCH_TIMELINE=FILE`, with the feature `timeline`: writes what each worker of the global pool did, and when, to
//!   the file when the process ends, for the viewer at <https://ui.perfetto.dev>; `%p` in its name stands for the
//!   number of the process;
//! * `FILCH_SCALE=FILE`, with the feature `scale`: the program runs on one thread, and its work and span are written to
//!   the file, and said on standard error, when the process ends, as if on `FILCH_SCALE_WORKERS` threads, 64 by
//!   default;
//! * `RAYON_NUM_THREADS`, then `RAYON_RS_NUM_CPUS`: the number of threads of a pool built without one.

mod broadcast;
pub mod filch;
mod join;
mod private;
mod registry;
mod scope;
mod settings;
mod spawn;
mod thread_pool;
mod unwind;

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::marker::PhantomData;

use ::filch::inside::host::{Processors, Thread};

pub use self::broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use self::join::{join, join_context};
pub use self::registry::ThreadBuilder;
pub use self::scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use self::spawn::{spawn, spawn_fifo};
pub use self::thread_pool::{
    ThreadPool, Yield, current_thread_has_pending_tasks, current_thread_index, yield_local, yield_now,
};

use self::registry::{CustomSpawn, DefaultSpawn, Registry, ThreadSpawn};

/// The largest number of threads in a pool. A request for more gets this number.
///
/// ```
/// assert!(rayon_core::max_num_threads() >= 1 << 14);
/// ```
pub fn max_num_threads() -> usize {
    ::filch::MAX_WORKERS
}

/// The number of threads of the current thread's pool, or of the global pool, which this starts.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub fn current_num_threads() -> usize {
    Registry::with_current(|registry| registry.num_threads())
}

/// The reason why a pool could not be built.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    IOError(io::Error),
}

impl ThreadPoolBuildError {
    fn new(kind: ErrorKind) -> Self {
        Self { kind }
    }

    /// Returns whether the system does not support threads.
    fn is_unsupported(&self) -> bool {
        matches!(&self.kind, ErrorKind::IOError(error) if error.kind() == io::ErrorKind::Unsupported)
    }

    /// Returns whether the system refuses threads or memory, so that fewer threads may succeed.
    fn is_refusal(&self) -> bool {
        matches!(&self.kind, ErrorKind::IOError(error) if error.kind() != io::ErrorKind::InvalidInput)
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::IOError(error) => Some(error),
            ErrorKind::GlobalPoolAlreadyInitialized | ErrorKind::CurrentThreadAlreadyInPool => None,
        }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            // Programs compare these two messages.
            ErrorKind::GlobalPoolAlreadyInitialized => f.pad("The global thread pool has already been initialized."),
            ErrorKind::CurrentThreadAlreadyInPool => {
                f.pad("The current thread is already part of another thread pool.")
            }
            ErrorKind::IOError(error) => error.fmt(f),
        }
    }
}

type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;
type StartHandler = dyn Fn(usize) + Send + Sync;
type ExitHandler = dyn Fn(usize) + Send + Sync;
type ThreadName = dyn FnMut(usize) -> String;

/// The settings of a pool to be built.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).thread_name(|n| format!("cruncher {n}")).build()?;
/// assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
#[must_use]
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    /// 0: the environment decides.
    num_threads: usize,
    /// The processors whose number led to `num_threads`, if nobody asked for a number.
    found: Option<Processors>,
    use_current_thread: bool,
    panic_handler: Option<Box<PanicHandler>>,
    get_thread_name: Option<Box<ThreadName>>,
    stack_size: Option<usize>,
    start_handler: Option<Box<StartHandler>>,
    exit_handler: Option<Box<ExitHandler>>,
    spawn_handler: S,
    breadth_first: bool,
    /// Whether threads from outside run their calls themselves, if the program sets it.
    callers_work: Option<bool>,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            found: None,
            use_current_thread: false,
            panic_handler: None,
            get_thread_name: None,
            stack_size: None,
            start_handler: None,
            exit_handler: None,
            spawn_handler: DefaultSpawn,
            breadth_first: false,
            callers_work: None,
        }
    }
}

impl ThreadPoolBuilder {
    /// Creates a builder with the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool of threads that may borrow. Each is a thread of [`std::thread::scope`] that calls `wrapper`, which
    /// must [run](ThreadBuilder::run) it. Then this runs `with_pool`, and returns its result once all the threads have
    /// left.
    ///
    /// ```
    /// let greeting = String::from("hello");
    /// thread_local! { static GREETING: std::cell::Cell<usize> = const { std::cell::Cell::new(0) } }
    /// let length = rayon_core::ThreadPoolBuilder::new().num_threads(1).build_scoped(
    ///     |thread| {
    ///         GREETING.set(greeting.len());
    ///         thread.run();
    ///     },
    ///     |pool| pool.install(|| GREETING.get()),
    /// )?;
    /// assert_eq!(length, 5);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`].
    ///
    /// # Panics
    /// If `wrapper` or `with_pool` panics.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        std::thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    thread.start(wrapper, |name, stack_size, body| {
                        Thread::builder(name, stack_size).spawn_scoped(scope, body).map(drop)
                    })
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().build()?;
    /// assert!(pool.current_num_threads() >= 1);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    ///
    /// Threads without handlers start when they are first needed, except the first. If the system then refuses one, the
    /// pool does without it, with a line on standard error; but a [broadcast](broadcast()), which needs it, panics.
    ///
    /// # Errors
    /// If a thread cannot be started; if a variable `FILCH_…` has an unknown value; if the [current thread is
    /// to be used](Self::use_current_thread) but belongs to a pool. The threads that have been started leave again.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        ThreadPool::build(self)
    }

    /// Builds the global pool, for threads that belong to no pool. Threads with handlers have started when this
    /// returns; others start when they are first needed. Without this call the first use builds the pool with default
    /// settings.
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`]; and if there is already a global pool.
    ///
    /// ```
    /// rayon_core::ThreadPoolBuilder::new().num_threads(2).build_global()?;
    /// assert_eq!(rayon_core::current_num_threads(), 2);
    /// assert!(rayon_core::ThreadPoolBuilder::new().build_global().is_err());
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let registry = registry::init_global_registry(self)?;
        registry.wait_until_primed();
        Ok(())
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Makes `spawn` start the threads. It is called once per thread, and need not [run](ThreadBuilder::run) the thread
    /// at once; but [broadcasts](broadcast()) to that thread wait until it does.
    ///
    /// ```
    /// let mut threads = Vec::new();
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         threads.push(std::thread::spawn(|| thread.run()));
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// drop(pool);
    /// threads.into_iter().for_each(|thread| thread.join().unwrap());
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        self.spawned_by(CustomSpawn::new(spawn))
    }

    fn spawned_by<T>(self, spawn_handler: T) -> ThreadPoolBuilder<T> {
        ThreadPoolBuilder {
            spawn_handler,
            num_threads: self.num_threads,
            found: self.found,
            use_current_thread: self.use_current_thread,
            panic_handler: self.panic_handler,
            get_thread_name: self.get_thread_name,
            stack_size: self.stack_size,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            breadth_first: self.breadth_first,
            callers_work: self.callers_work,
        }
    }

    /// Returns the number that is set, or else the environment's, or else the number of processors that the process may
    /// use.
    fn get_num_threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, Into::into);
        self.asked_num_threads().unwrap_or_else(available)
    }

    /// Returns the number that is set, or else the environment's.
    fn asked_num_threads(&self) -> Option<usize> {
        let variable = |name| std::env::var(name).ok().and_then(|value| value.parse::<usize>().ok());
        match (self.num_threads, variable("RAYON_NUM_THREADS"), variable("RAYON_RS_NUM_CPUS")) {
            (0, Some(0), _) | (0, None, None | Some(0)) => None,
            (0, Some(asked), _) | (0, None, Some(asked)) | (asked, _, _) => Some(asked),
        }
    }

    /// Whether the number of threads that work follows the number of processors at any time.
    fn follows_processors(&self) -> bool {
        self.found.is_some() || self.asked_num_threads().is_none()
    }

    fn some_threads(self, num_threads: usize, found: Option<Processors>) -> Self {
        Self { num_threads, found, ..self }
    }

    /// Gives each thread the name that `closure` returns for its number. By default threads have no names.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).thread_name(|n| format!("cruncher {n}")).build()?;
    /// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(name.as_deref(), Some("cruncher 0"));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.get_thread_name = Some(Box::new(closure));
        self
    }

    /// Sets the number of threads. 0, the default, means `RAYON_NUM_THREADS` if that is set and not 0, otherwise the
    /// number of processors that the process may use.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the current thread worker 0 of the pool, for the rest of the thread's life. One thread fewer is started.
    ///
    /// The thread works for the pool only while it waits for something in it, or [yields](yield_now()). The pool's
    /// memory is never freed.
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
    ///     assert_eq!(rayon_core::current_thread_index(), Some(0));
    ///     assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// })
    /// .join()
    /// .unwrap();
    /// ```
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets a handler that receives the payload of each panic in a spawned task or in another handler. Without one such
    /// a panic ends the process. So does a panic in this handler.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.panic_handler(move |payload| sender.send(payload.is::<&str>()).unwrap()).build()?;
    /// pool.spawn(|| panic!("as expected"));
    /// assert_eq!(receiver.recv(), Ok(true));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// Sets the stack size of each thread, in bytes. The default is 64 MiB of address space, of which only used pages
    /// cost memory; or 2 MiB in a process that locks its memory.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Runs spawned tasks oldest first, as [`spawn_fifo`] does. The order of [`join`](join()) does not change.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Sets a handler that each thread calls with its number before it takes work.
    ///
    /// A panic in the handler goes to the [panic handler](Self::panic_handler).
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Sets a handler that each thread calls with its number after its last work. Tasks that the handler spawns do not
    /// run.
    ///
    /// A panic in the handler goes to the [panic handler](Self::panic_handler).
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Closure;

        impl fmt::Debug for Closure {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("<closure>")
            }
        }

        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("get_thread_name", &self.get_thread_name.as_ref().map(|_| Closure))
            .field("panic_handler", &self.panic_handler.as_ref().map(|_| Closure))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &self.start_handler.as_ref().map(|_| Closure))
            .field("exit_handler", &self.exit_handler.as_ref().map(|_| Closure))
            .field("breadth_first", &self.breadth_first)
            .finish()
    }
}

/// The former name of [`ThreadPoolBuilder`].
#[deprecated(note = "Use `ThreadPoolBuilder`")]
#[derive(Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

#[allow(deprecated, reason = "it is part of the interface")]
impl Configuration {
    /// Creates a configuration with the default settings.
    pub fn new() -> Self {
        Self { builder: ThreadPoolBuilder::new() }
    }

    /// See [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`].
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.builder.build().map_err(Box::from)
    }

    /// See [`ThreadPoolBuilder::thread_name`].
    #[must_use]
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Self { builder: self.builder.thread_name(closure) }
    }

    /// See [`ThreadPoolBuilder::num_threads`].
    #[must_use]
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self { builder: self.builder.num_threads(num_threads) }
    }

    /// See [`ThreadPoolBuilder::panic_handler`].
    #[must_use]
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Self { builder: self.builder.panic_handler(panic_handler) }
    }

    /// See [`ThreadPoolBuilder::stack_size`].
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self { builder: self.builder.stack_size(stack_size) }
    }

    /// See [`ThreadPoolBuilder::breadth_first`].
    #[must_use]
    pub fn breadth_first(self) -> Self {
        Self { builder: self.builder.breadth_first() }
    }

    /// See [`ThreadPoolBuilder::start_handler`].
    #[must_use]
    pub fn start_handler<H>(self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Self { builder: self.builder.start_handler(start_handler) }
    }

    /// See [`ThreadPoolBuilder::exit_handler`].
    #[must_use]
    pub fn exit_handler<H>(self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Self { builder: self.builder.exit_handler(exit_handler) }
    }

    pub(crate) fn into_builder(self) -> ThreadPoolBuilder {
        self.builder
    }
}

#[allow(deprecated, reason = "it is part of the interface")]
impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.builder.fmt(f)
    }
}

/// The former name of [`ThreadPoolBuilder::build_global`].
///
/// # Errors
/// As [`ThreadPoolBuilder::build_global`].
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
#[allow(deprecated, reason = "it is part of the interface")]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.into_builder().build_global().map_err(Box::from)
}

/// The information that [`join_context`] gives its closures. It stays on its thread.
///
/// ```compile_fail,E0277
/// fn send<T: Send>(_: T) {}
/// rayon_core::join_context(|context| send(context), |_| ());
/// ```
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`.
    _marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> Self {
        Self { migrated, _marker: PhantomData }
    }

    /// Returns whether the closure runs on another thread than its creator: it was stolen, or its creator is outside
    /// all pools.
    ///
    /// ```
    /// // This thread belongs to no pool.
    /// assert_eq!(rayon_core::join_context(|a| a.migrated(), |b| b.migrated()), (true, true));
    /// ```
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}
