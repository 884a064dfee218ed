//! Scopes, which wait for tasks that borrow.
//!
//! Invariant: a scope does not return before all its tasks have ended, and each task's last access to the scope is its
//! countdown.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use filch::inside::host::{AbortOnUnwind, Countdown, Fifo, FirstPanic, MayDangle};

use crate::broadcast::BroadcastContext;
use crate::registry::{self, Registry};
use crate::unwind;

/// A fork–join scope for any number of tasks, which may borrow anything that outlives it: see [`scope()`].
pub struct Scope<'scope> {
    base: ScopeBase<'scope>,
}

/// A scope whose tasks run oldest first: see [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    base: ScopeBase<'scope>,
    /// One queue per worker.
    fifos: Box<[Fifo]>,
}

type Marker<'scope> = PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>;

struct ScopeBase<'scope> {
    registry: Arc<Registry>,
    panic: FirstPanic,
    /// Counts the tasks that have not ended, and the scope's body.
    countdown: Countdown,
    /// Makes `'scope` invariant.
    marker: Marker<'scope>,
}

/// Runs `op`, which may [spawn](Scope::spawn) tasks that borrow anything that outlives the scope, and returns once all
/// of them have ended.
///
/// On a thread of a pool `op` runs at once; on any other thread it moves to the global pool. Without thieves a thread
/// runs its spawned tasks newest first. A thread that waits for a scope runs any task it finds, under every waiting
/// strategy, so hold no lock meanwhile. [`join`](crate::join()) is several times cheaper where two tasks are enough.
///
/// ```
/// let mut squares = [0; 10];
/// rayon_core::scope(|s| {
///     for (i, square) in squares.iter_mut().enumerate() {
///         s.spawn(move |_| *square = i * i);
///     }
/// });
/// assert_eq!(squares[9], 81);
/// ```
///
/// Anything that a task borrows must outlive the scope:
///
/// ```compile_fail,E0373
/// rayon_core::scope(|s| {
///     let local = 1;
///     s.spawn(|_| println!("{local}"));
/// });
/// ```
///
/// # Panics
/// If `op` or a task panics: resumes the first panic once all tasks have ended. The other tasks still run.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    registry::in_worker(|| in_place_scope(op))
}

/// Like [`scope()`], but without thieves a thread runs its tasks oldest first.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let order = std::sync::Mutex::new(Vec::new());
/// pool.scope_fifo(|s| {
///     for n in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(n));
///     }
/// });
/// assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
///
/// # Panics
/// As [`scope()`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    registry::in_worker(|| in_place_scope_fifo(op))
}

/// Like [`scope()`], but `op` runs on the current thread, even outside all pools, so it need not be `Send`. Its tasks
/// run in the current thread's pool, or in the global pool.
///
/// ```
/// let local = std::rc::Rc::new(1);
/// let total = std::sync::Mutex::new(0);
/// rayon_core::in_place_scope(|s| {
///     for _ in 0..*local {
///         s.spawn(|_| *total.lock().unwrap() += 1);
///     }
/// });
/// assert_eq!(*total.lock().unwrap(), 1);
/// ```
///
/// # Panics
/// As [`scope()`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    do_in_place_scope(Registry::with_current(Arc::clone), op)
}

/// Like [`in_place_scope`], for tasks that run oldest first.
///
/// ```
/// let local = std::rc::Rc::new(1);
/// let total = std::sync::Mutex::new(0);
/// rayon_core::in_place_scope_fifo(|s| {
///     for _ in 0..*local {
///         s.spawn_fifo(|_| *total.lock().unwrap() += 1);
///     }
/// });
/// assert_eq!(*total.lock().unwrap(), 1);
/// ```
///
/// # Panics
/// As [`scope()`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    do_in_place_scope_fifo(Registry::with_current(Arc::clone), op)
}

/// [`in_place_scope`] for tasks of the given pool. In line, as is all that a recursion through scopes repeats.
#[inline(always)]
pub(crate) fn do_in_place_scope<'scope, OP, R>(registry: Arc<Registry>, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    let scope = Scope { base: ScopeBase::new(registry) };
    scope.base.complete(|| op(&scope))
}

/// [`in_place_scope_fifo`] for tasks of the given pool.
#[inline(always)]
pub(crate) fn do_in_place_scope_fifo<'scope, OP, R>(registry: Arc<Registry>, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let fifos = (0..registry.num_threads()).map(|_| Fifo::default()).collect();
    let scope = ScopeFifo { base: ScopeBase::new(registry), fifos };
    scope.base.complete(|| op(&scope))
}

impl<'scope> Scope<'scope> {
    /// Spawns `body`, which runs before the scope ends. It may spawn further tasks through its argument.
    ///
    /// Cost: an allocation, a push, and a fence.
    ///
    /// ```
    /// # use rayon_core::Scope;
    /// fn walk<'scope>(s: &Scope<'scope>, depth: u32) {
    ///     if depth > 0 {
    ///         s.spawn(move |s| walk(s, depth - 1));
    ///         s.spawn(move |s| walk(s, depth - 1));
    ///     }
    /// }
    /// rayon_core::scope(|s| walk(s, 5));
    /// ```
    ///
    /// # Panics
    /// Never itself: a panic in `body` becomes the scope's.
    // Out of line, so that what it needs is no part of the frames that a recursion repeats.
    #[inline(never)]
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        if self.base.registry.is_recorded() {
            return self.spawn_recorded(body);
        }
        let job = ScopeBase::job(self, body);
        // SAFETY: the scope waits for the job, which borrows only what outlives the scope.
        unsafe { self.base.registry.push(job) };
    }

    /// A job of its own, so that the frames of other jobs have no place for what it needs.
    #[cold]
    #[inline(never)]
    fn spawn_recorded<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let job = ScopeBase::job(self, move |scope: &Self| scope.base.recorded(|| body(scope)));
        // SAFETY: as in `spawn`.
        unsafe { self.base.registry.push(job) };
    }

    /// Runs `body` once on every thread of the scope's pool before the scope ends.
    ///
    /// ```
    /// let count = std::sync::atomic::AtomicUsize::new(0);
    /// rayon_core::scope(|s| {
    ///     s.spawn_broadcast(|_, _| {
    ///         count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), rayon_core::current_num_threads());
    /// ```
    ///
    /// # Panics
    /// Never itself: a panic in `body` becomes the scope's.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        ScopeBase::broadcast(self, body);
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns `body`, which runs before the scope ends, after the tasks that the same thread has spawned earlier. It
    /// may spawn further tasks through its argument.
    ///
    /// Cost: two allocations, two pushes, and a fence.
    ///
    /// ```
    /// let mut n = 0;
    /// rayon_core::scope_fifo(|s| s.spawn_fifo(|_| n += 1));
    /// assert_eq!(n, 1);
    /// ```
    ///
    /// # Panics
    /// Never itself: a panic in `body` becomes the scope's.
    // Out of line, so that what it needs is no part of the frames that a recursion repeats.
    #[inline(never)]
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        if self.base.registry.is_recorded() {
            return self.spawn_recorded(body);
        }
        let job = ScopeBase::job(self, body);
        // SAFETY: the scope and its queues wait for the job, which borrows only what outlives the scope.
        unsafe { self.base.registry.push_fifo(&self.fifos, job) };
    }

    /// As [`Scope::spawn_recorded`].
    #[cold]
    #[inline(never)]
    fn spawn_recorded<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let job = ScopeBase::job(self, move |scope: &Self| scope.base.recorded(|| body(scope)));
        // SAFETY: as in `spawn_fifo`.
        unsafe { self.base.registry.push_fifo(&self.fifos, job) };
    }

    /// Runs `body` once on every thread of the scope's pool before the scope ends.
    ///
    /// ```
    /// let count = std::sync::atomic::AtomicUsize::new(0);
    /// rayon_core::scope_fifo(|s| {
    ///     s.spawn_broadcast(|_, _| {
    ///         count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), rayon_core::current_num_threads());
    /// ```
    ///
    /// # Panics
    /// Never itself: a panic in `body` becomes the scope's.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        ScopeBase::broadcast(self, body);
    }
}

/// Either kind of scope.
trait Based<'scope>: Sync {
    fn base(&self) -> &ScopeBase<'scope>;
}

impl<'scope> Based<'scope> for Scope<'scope> {
    fn base(&self) -> &ScopeBase<'scope> {
        &self.base
    }
}

impl<'scope> Based<'scope> for ScopeFifo<'scope> {
    fn base(&self) -> &ScopeBase<'scope> {
        &self.base
    }
}

impl<'scope> ScopeBase<'scope> {
    fn new(registry: Arc<Registry>) -> Self {
        // Checked before there are tasks for which the scope would wait.
        registry.crew.assert_here();
        Self { registry, panic: FirstPanic::default(), countdown: Countdown::new(1), marker: PhantomData }
    }

    /// Makes a task of `scope` and counts it.
    fn job<S: Based<'scope>>(scope: &S, body: impl FnOnce(&S) + Send) -> impl FnOnce() + Send {
        // The spawner is itself a task that has not ended, or the body.
        scope.base().countdown.add(1);
        let scope = Ptr(scope);
        let body = MayDangle::new(body);
        move || {
            let scope = scope;
            // SAFETY: the scope waits for the task, so it is alive until the countdown, which `run` does last.
            unsafe { Self::run((*scope.0).base(), || body.into_inner()(&*scope.0)) };
        }
    }

    /// Runs `body` on every worker as a task of `scope`.
    fn broadcast<S: Based<'scope>>(scope: &S, body: impl Fn(&S, BroadcastContext<'_>) + Send + Sync + 'scope) {
        let body = Arc::new(body);
        let registry = &scope.base().registry;
        let job = |index| {
            let (body, on) = (Arc::clone(&body), Arc::clone(registry));
            Self::job(scope, move |scope| {
                let run = || BroadcastContext::with(&on, index, |context| body(scope, context));
                if on.is_recorded() { scope.base().recorded(run) } else { run() }
            })
        };
        // SAFETY: the scope waits for the jobs, which borrow only what outlives the scope.
        unsafe { registry.post_to_each(job) };
    }

    /// Runs a task, keeps its panic, and counts it down.
    ///
    /// # Safety
    /// The scope must be alive, and the task must have been counted. Afterwards the scope may be gone.
    unsafe fn run<R>(this: *const Self, task: impl FnOnce() -> R) -> Option<R> {
        // SAFETY: the scope is alive, since the task has not been counted down.
        let result = unwind::halt_unwinding(task).map_err(|payload| unsafe { &(*this).panic }.keep(payload)).ok();
        // SAFETY: as above; this is the last use.
        unsafe { Countdown::end(&raw const (*this).countdown) };
        result
    }

    /// Runs a task whose end is recorded.
    fn recorded(&self, task: impl FnOnce()) {
        let ended = unwind::halt_unwinding(|| self.registry.here(task));
        #[cfg(feature = "scale")]
        filch::inside::host::arrive(std::ptr::from_ref(self).addr());
        ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    }

    /// Out of line, as all that only recordings need: it is no part of the frames that a recursion repeats.
    #[cold]
    #[inline(never)]
    fn collect(&self) {
        #[cfg(feature = "scale")]
        filch::inside::host::collect(std::ptr::from_ref(self).addr());
    }

    /// Runs the scope's body and waits for all tasks.
    #[inline(always)]
    fn complete<R>(&self, body: impl FnOnce() -> R) -> R {
        // Nothing, not even a panic, leaves this frame while there is a task that borrows.
        let tasks = AbortOnUnwind("a scope panicked while its tasks ran");
        // SAFETY: the countdown's initial count includes the body.
        let result = unsafe { Self::run(self, body) };
        self.countdown.wait();
        if self.registry.is_recorded() {
            self.collect();
        }
        std::mem::forget(tasks);
        self.panic.resume();
        result.expect("a body that returned nothing has panicked")
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("pool_id", &self.base.registry.id())
            .field("pending", &self.base.countdown.pending())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo")
            .field("num_fifos", &self.fifos.len())
            .field("pool_id", &self.base.registry.id())
            .field("pending", &self.base.countdown.pending())
            .finish_non_exhaustive()
    }
}

/// A pointer whose user guarantees its validity.
struct Ptr<T>(*const T);

// SAFETY: `T: Sync`, so the target may be shared.
unsafe impl<T: Sync> Send for Ptr<T> {}
