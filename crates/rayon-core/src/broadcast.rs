//! Broadcasts: the same closure on every thread of a pool.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::registry::Registry;

/// Runs `op` once on every thread of the current thread's pool, or of the global pool, and returns the results in the
/// order of the threads' numbers.
///
/// Each thread runs it after all tasks that it has spawned itself and before it takes any from others; at the latest,
/// while it waits for something. A thread in the middle of a long task runs it after that task.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.install(|| rayon_core::broadcast(|context| context.index())), [0, 1, 2]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
///
/// # Panics
/// If `op` panics on any thread: resumes the panic of the first such thread by number, once all have ended.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    // Does not keep a borrow of a thread's handle: the wait may be long.
    let registry = Registry::with_current(Arc::clone);
    broadcast_in(&op, &registry)
}

/// Makes every thread of the current thread's pool, or of the global pool, run `op` once. Returns at once.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool.install(|| rayon_core::spawn_broadcast(move |context| sender.send(context.index()).unwrap()));
/// assert_eq!(receiver.iter().sum::<usize>(), 0 + 1 + 2);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
///
/// # Panics
/// Never itself. A panic in `op` goes to the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler); without a
/// handler it ends the process.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    Registry::with_current(|registry| spawn_broadcast_in(op, registry));
}

/// The context of a broadcast on one thread. It stays on that thread.
///
/// ```compile_fail,E0277
/// fn send<T: Send>(_: T) {}
/// rayon_core::broadcast(|context| send(context));
/// ```
pub struct BroadcastContext<'a> {
    registry: &'a Registry,
    index: usize,
    /// Neither `Send` nor `Sync`.
    _marker: PhantomData<&'a mut dyn Fn()>,
}

impl<'a> BroadcastContext<'a> {
    /// Calls `f` with the context of worker `index`, which must be the current thread.
    pub(crate) fn with<R>(registry: &Registry, index: usize, f: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        registry.in_place_of(index, || {
            debug_assert_eq!(registry.current_thread(), Some(index));
            f(BroadcastContext { registry, index, _marker: PhantomData })
        })
    }

    /// The number of the thread in its pool.
    ///
    /// ```
    /// assert!(rayon_core::broadcast(|context| context.index() < context.num_threads()).into_iter().all(|is| is));
    /// ```
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of threads in the pool: how often the broadcast runs.
    ///
    /// ```
    /// let counts = rayon_core::broadcast(|context| context.num_threads());
    /// assert!(counts.iter().all(|&count| count == counts.len()));
    /// ```
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.registry.num_threads()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool_id", &self.registry.id())
            .finish()
    }
}

pub(crate) fn broadcast_in<OP, R>(op: &OP, registry: &Arc<Registry>) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    registry.each(&|index| BroadcastContext::with(registry, index, op))
}

pub(crate) fn spawn_broadcast_in<OP>(op: OP, registry: &Arc<Registry>)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    // As for a spawned task: `None` if the threads are leaving.
    let Some(lease) = registry.lease() else { return };
    let mut op = Some(Arc::new(op));
    let last = registry.num_threads() - 1;
    let job = |index| {
        // The caller keeps none: it would drop it last, if all threads were faster, and get the destructor's panic.
        let op = if index == last { op.take() } else { op.clone() };
        let (op, lease, of) = (op.expect("taken by the last"), lease.clone(), Arc::clone(registry));
        move || {
            of.here(|| {
                of.catch_unwind(|| BroadcastContext::with(&of, index, &*op));
                // The destructor must run before the threads may leave.
                of.catch_unwind(|| drop(op));
            });
            drop(lease);
        }
    };
    // SAFETY: the jobs borrow nothing.
    unsafe { registry.post_to_each(job) };
}
