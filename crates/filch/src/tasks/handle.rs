//! The handle: a worker, as its current task sees it.
//!
//! Invariant: a [`Worker`] is a [`Here`], and nothing more; so safe code cannot have two usable handles of one worker,
//! just as the runtime cannot.

use std::fmt;
use std::marker::PhantomData;

use crate::fork::here::Here;
use crate::fork::job::{self, Body};
use crate::pool::Split;
use crate::tasks::levels::{Flat, Level};
use crate::threads::thread_pool::ThreadPool;
use crate::worker::plumbing::Pool;

/// A worker, as its current task sees it: the capability to fork.
///
/// A handle is two words, passed by value: a pointer to the worker's limits, and the owner's head, which therefore
/// stays in a register. Every task receives a handle, and passes it on to the functions it calls. While a
/// [`join`](Self::join) borrows it, the branches hold their own, so there is always exactly one usable handle of a
/// worker. Safe code can neither keep a handle beyond its task nor exchange two:
///
/// ```compile_fail
/// let pool = filch::ThreadPool::new(1).unwrap();
/// let mut kept = None;
/// pool.run(|w| kept = Some(w)); // borrowed data escapes
/// ```
///
/// ```compile_fail
/// fn in_another_thread(w: filch::Worker<'_>) {
///     std::thread::scope(|s| { s.spawn(move || w.index()); }); // not `Send`
/// }
/// ```
///
/// ```compile_fail
/// fn exchange<'a, 'b>(mut outer: filch::Worker<'a>, mut inner: filch::Worker<'b>) {
///     std::mem::swap(&mut outer, &mut inner); // lifetimes differ, and are invariant
/// }
/// ```
///
/// ```compile_fail
/// fn twice(mut w: filch::Worker<'_>) {
///     w.join(|mut a| a.join(|_| w.index(), |_| 0), |_| 0); // `w` is borrowed
/// }
/// ```
///
/// `L` is the [level](crate::levels) of a recursion for the compiler to inline, and can be omitted.
pub struct Worker<'w, P: Pool = Split, L: Level = Flat> {
    here: Here<'w, P>,
    level: PhantomData<L>,
}

mod sealed {
    /// A trait that no handle implements. Without it errors would say which part of a handle is not `Send` or `Sync`.
    #[diagnostic::on_unimplemented(
        message = "a handle cannot leave its branch",
        label = "this uses the handle of another branch",
        note = "each branch has a handle of its own, as in `w.join(|w| f(w), |w| g(w))`"
    )]
    pub trait LeavesItsBranch {}
}

// SAFETY: no handle implements the trait, so none is `Send`.
unsafe impl<P: Pool, L: Level> Send for Worker<'_, P, L> where Self: sealed::LeavesItsBranch {}
// SAFETY: likewise, none is `Sync`.
unsafe impl<P: Pool, L: Level> Sync for Worker<'_, P, L> where Self: sealed::LeavesItsBranch {}

impl<'w, P: Pool, L: Level> Worker<'w, P, L> {
    /// Makes a handle for here.
    ///
    /// # Safety
    /// While it is used, closure style is [kept off](Here::detach) the stack.
    #[inline(always)]
    pub(crate) unsafe fn new(here: Here<'w, P>) -> Self {
        Self { here, level: PhantomData }
    }

    /// Borrows the handle as a [`Here`].
    #[inline(always)]
    pub(crate) fn here(&mut self) -> Here<'_, P> {
        self.here.again()
    }

    /// Returns the handle's [`Here`], for reading only.
    #[inline(always)]
    pub(crate) fn seen(&self) -> &Here<'w, P> {
        &self.here
    }

    /// Puts the handle on a level, to start a recursion that is generic in the level: several levels of it become one
    /// real call.
    ///
    /// ```
    /// use filch::levels::{Level, Levels};
    /// use filch::pool::Split;
    /// use filch::{ThreadPool, Worker};
    ///
    /// #[inline]
    /// fn fib<L: Level>(mut w: Worker<'_, Split, L>, n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    ///     a + b
    /// }
    /// let pool = ThreadPool::new(2)?;
    /// assert_eq!(pool.run(|w| fib(w.in_levels::<Levels<2>>(), 20)), 6765);
    /// assert_eq!(pool.run(|w| fib(w, 20)), 6765, "without levels, the plain recursion");
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// This is `#[inline_recursion]` for methods, mutually recursive functions and generic code. The compiler decides
    /// which calls to inline; `#[inline]` encourages it. The program gets a copy of the code per level; two levels give
    /// most of the gain. It costs nothing at run time.
    #[inline(always)]
    pub fn in_levels<M: Level>(self) -> Worker<'w, P, M> {
        Worker { here: self.here, level: PhantomData }
    }

    /// Reborrows the handle, without a level, for a function that takes one by value.
    pub(crate) fn again(&mut self) -> Worker<'_, P> {
        Worker { here: self.here.again(), level: PhantomData }
    }

    /// The number of the worker that runs the current task, below [`Worker::workers`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// assert!(pool.run(|w| w.index()) < 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn index(&self) -> usize {
        self.here.home().index
    }

    /// The number of workers of the thread pool.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// assert_eq!(pool.run(|w| w.workers()), 2);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn workers(&self) -> usize {
        self.here.home().common.workers()
    }

    /// Whether a thief would take work, so that an additional fork pays.
    ///
    /// It costs a load and a compare if nobody wants work. The answer is a hint.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let wanted = pool.run(|mut w| w.join(|w| w.wants_work(), |_| ()).0);
    /// assert!(!wanted, "with one worker there are no thieves");
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    #[inline]
    pub fn wants_work(&self) -> bool {
        P::wants_work(&self.here)
    }

    /// Answers thieves that wait for this worker, in the middle of a task. Forks and joins answer anyway; call this now
    /// and then in a long task that does neither, so that thieves can get earlier forks.
    ///
    /// Whether it matters depends on the [pool](crate::pool): with [`Split`] a thief may ask the worker to share more,
    /// with a queue of private tasks it gets nothing without an answer, and with [`ChaseLev`](filch_queue::ChaseLev) it
    /// does not ask. See also [`Interrupts`](crate::Interrupts).
    ///
    /// It costs a few loads and compares if nobody asks.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let (sum, _) = pool.run(|mut w| {
    ///     w.join(
    ///         |mut w| {
    ///             let mut sum = 0;
    ///             for n in 0..10_000_u64 {
    ///                 sum += n;
    ///                 w.poll();
    ///             }
    ///             sum
    ///         },
    ///         |_| "something else",
    ///     )
    /// });
    /// assert_eq!(sum, 49_995_000);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    #[inline]
    pub fn poll(&mut self) {
        self.here.again().poll();
    }

    /// Runs `f` in closure style on this worker, and returns its result.
    ///
    /// `filch::join` and the other free functions also work in handle style, but their forks take a slower path, since
    /// the worker's head is in the handle; in `f` they find the head. It costs two stores to thread-local storage.
    ///
    /// ```
    /// fn sum(v: &[u64]) -> u64 {
    ///     match v {
    ///         [] => 0,
    ///         [x] => *x,
    ///         _ => {
    ///             let (left, right) = v.split_at(v.len() / 2);
    ///             let (a, b) = filch::join(move || sum(left), move || sum(right));
    ///             a + b
    ///         }
    ///     }
    /// }
    /// let pool = filch::ThreadPool::new(2)?;
    /// let (a, b) = pool.run(|mut w| w.join(|mut w| w.install(|| sum(&[1, 2, 3])), |_| 4));
    /// assert_eq!((a, b), (6, 4));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn install<F, R>(&mut self, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        let here = self.here();
        let _entered = here.enter();
        f()
    }
}

impl<P: Pool> ThreadPool<P> {
    /// Runs `f` on a worker, in handle style, and returns its result.
    ///
    /// From outside the pool, the calling thread takes the seat of a sleeping worker, if there is one and [it
    /// may](crate::Builder::caller_works): then `f` and the tasks below it may see its thread-local variables, and use
    /// its stack. Otherwise it sleeps meanwhile. From a task of the same pool, `f` runs at once on the current worker.
    /// From a task of another pool, that pool's worker runs other work meanwhile.
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
        if self.common.current_home().is_some() {
            return with_handle(f);
        }
        // SAFETY: after the entry, `f` runs on a worker of this pool, of type `P`; the pool keeps its workers alive.
        unsafe { self.common.enter(|here| in_handle_style(here.known::<P>(), f)) }
    }
}

impl<P: Pool, L: Level> fmt::Debug for Worker<'_, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("index", &self.index()).field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// A branch in handle style.
#[repr(transparent)]
pub(crate) struct ByHandle<P, L, F> {
    work: F,
    handle: PhantomData<(P, L)>,
}

impl<P, L, F> ByHandle<P, L, F> {
    #[inline(always)]
    pub(crate) fn new(work: F) -> Self {
        Self { work, handle: PhantomData }
    }
}

impl<P: Pool, L: Level, F, R> Body for ByHandle<P, L, F>
where
    F: for<'b> FnOnce(Worker<'b, P, L>) -> R,
{
    type Out = R;
    type In = P;

    const UNROLLED: bool = job::is_unrolled::<F>();

    #[inline(always)]
    fn inline(self, here: Here<'_, P>) -> R {
        // SAFETY: a forker in handle style has a handle, so closure style is off the stack already.
        (self.work)(unsafe { Worker::new(here) })
    }

    #[inline]
    fn stolen(self, here: Here<'_, P>) -> R {
        in_handle_style(here, self.work)
    }

    #[inline(always)]
    fn raise(_: &Here<'_, P>) {}

    #[inline(always)]
    fn lower(_: &Here<'_, P>) {}
}

/// Runs `work` with a handle for here.
#[inline]
pub(crate) fn in_handle_style<P: Pool, L: Level, R>(
    here: Here<'_, P>,
    work: impl for<'b> FnOnce(Worker<'b, P, L>) -> R,
) -> R {
    let _detached = here.detach();
    // SAFETY: closure style is detached while the work runs.
    work(unsafe { Worker::new(here) })
}

/// Runs `work` with a handle for the current worker, in a job of its pool, which is of type `P`.
#[inline]
pub(crate) fn with_handle<P: Pool, R>(work: impl for<'b> FnOnce(Worker<'b, P>) -> R) -> R {
    Here::with(|here| in_handle_style(here.of_pool::<P>().expect("a job runs in its pool"), work))
}

/// Tells the compiler the closure's signature.
pub(crate) fn by_handle<P: Pool, L: Level, F, R>(work: F) -> ByHandle<P, L, F>
where
    F: for<'b> FnOnce(Worker<'b, P, L>) -> R,
{
    ByHandle::new(work)
}
