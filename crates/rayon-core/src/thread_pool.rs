//! Thread pools, and queries of a thread about its own pool.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use filch::inside::host::{self, Lease};

use crate::broadcast::{self, BroadcastContext};
use crate::registry::{self, Registry, ThreadSpawn};
use crate::scope::{do_in_place_scope, do_in_place_scope_fifo};
use crate::{Scope, ScopeFifo, ThreadPoolBuildError, ThreadPoolBuilder, join, scope, scope_fifo, spawn};

/// A pool of threads for tasks, built by a [`ThreadPoolBuilder`].
///
/// Dropping it tells its threads to leave once all tasks spawned on it have run. It does not wait for them.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.install(|| rayon_core::join(|| 6 * 7, || "six by seven")), (42, "six by seven"));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    registry: Arc<Registry>,
    _lease: Option<Lease>,
}

impl ThreadPool {
    /// Builds a pool from a configuration.
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`].
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[allow(deprecated, reason = "it is part of the interface")]
    pub fn new(configuration: crate::Configuration) -> Result<Self, Box<dyn Error>> {
        Self::build(configuration.into_builder()).map_err(Box::from)
    }

    pub(crate) fn build<S: ThreadSpawn>(builder: ThreadPoolBuilder<S>) -> Result<Self, ThreadPoolBuildError> {
        let (registry, lease) = Registry::new(builder, false)?;
        Ok(Self { registry, _lease: lease })
    }

    /// Runs `op` on a thread of the pool and returns its result. If the current thread is one of them, `op` runs at
    /// once.
    ///
    /// Everything that `op` forks, spawns or queries belongs to this pool. A thread of another pool runs its own pool's
    /// tasks while it waits; any other thread sleeps, unless [callers work](crate::filch::CallersWork).
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `op` panics: resumes its panic.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.in_worker(op)
    }

    /// [`broadcast`](crate::broadcast()) on this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`broadcast`](crate::broadcast()).
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(&op, &self.registry)
    }

    /// The number of threads in the pool. It never changes.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.current_num_threads(), 3);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// The number of the current thread in this pool, or `None` if it does not belong to this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert_eq!(pool.install(|| pool.current_thread_index()), Some(0));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.registry.current_thread()
    }

    /// Returns whether the current thread has pending tasks that nobody has taken, or `None` if it does not belong to
    /// this pool. A snapshot.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let pending = pool.install(|| {
    ///     pool.spawn(|| ());
    ///     pool.current_thread_has_pending_tasks()
    /// });
    /// assert_eq!(pending, Some(true));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.registry.current_thread().and_then(|_| host::has_pending())
    }

    /// [`join`](crate::join()) on this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`join`](crate::join()).
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// [`scope`](crate::scope()) on this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut n = 0;
    /// pool.scope(|s| s.spawn(|_| n += 1));
    /// assert_eq!(n, 1);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo) on this pool.
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(op))
    }

    /// Creates a scope whose body runs on the current thread and whose tasks run on this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.in_place_scope(|s| {
    ///     s.spawn(move |_| sender.send(42).unwrap());
    ///     assert_eq!(receiver.recv(), Ok(42)); // this thread is not in the pool
    /// });
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        do_in_place_scope(Arc::clone(&self.registry), op)
    }

    /// [`ThreadPool::in_place_scope`] for tasks that run oldest first.
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        do_in_place_scope_fifo(Arc::clone(&self.registry), op)
    }

    /// [`spawn`](crate::spawn()) on this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(42).unwrap());
    /// drop(pool); // spawned tasks still run
    /// assert_eq!(receiver.recv(), Ok(42));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(op, &self.registry);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) on this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_fifo_in(op, &self.registry);
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) on this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(op, &self.registry);
    }

    /// Calls [`yield_now`] if the current thread belongs to this pool; otherwise returns `None`.
    pub fn yield_now(&self) -> Option<Yield> {
        self.registry.current_thread().and_then(|_| yield_now())
    }

    /// Calls [`yield_local`] if the current thread belongs to this pool; otherwise returns `None`.
    pub fn yield_local(&self) -> Option<Yield> {
        self.registry.current_thread().and_then(|_| yield_local())
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &self.registry.id())
            .finish()
    }
}

/// The number of the current thread in its pool, below [`current_num_threads`](crate::current_num_threads), or `None`
/// if it belongs to no pool.
///
/// ```
/// assert_eq!(rayon_core::current_thread_index(), None);
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// assert_eq!(pool.install(rayon_core::current_thread_index), Some(0));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    registry::current_index()
}

/// Returns whether the current thread has pending tasks that nobody has taken. Spawned and forked tasks count;
/// broadcast tasks do not. Returns `None` if the thread belongs to no pool. A snapshot.
///
/// ```
/// assert_eq!(rayon_core::current_thread_has_pending_tasks(), None);
/// ```
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    registry::current_index().and_then(|_| host::has_pending())
}

/// Runs one task in the middle of the current one, if there is any: one of the thread's own, or else another thread's.
/// Returns `None` if the thread belongs to no pool.
///
/// A thread can call this while it polls for something. The task runs on top of the current one, which continues only
/// afterwards.
///
/// ```
/// use rayon_core::{Yield, yield_now};
///
/// assert_eq!(yield_now(), None);
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| {
///     rayon_core::spawn(|| ());
///     assert_eq!(yield_now(), Some(Yield::Executed));
///     assert_eq!(yield_now(), Some(Yield::Idle));
/// });
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub fn yield_now() -> Option<Yield> {
    registry::current_index().and_then(|_| host::run_one(true)).map(Yield::new)
}

/// Like [`yield_now`], but runs only the thread's own tasks.
///
/// ```
/// assert_eq!(rayon_core::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    registry::current_index().and_then(|_| host::run_one(false)).map(Yield::new)
}

/// The result of [`yield_now`] or [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A task ran.
    Executed,
    /// There was no task.
    Idle,
}

impl Yield {
    fn new(executed: bool) -> Self {
        if executed { Self::Executed } else { Self::Idle }
    }
}
