//! The handle: a worker, as the task that it is running sees it.
//!
//! What must always hold: a [`Worker`] is [here](crate::here), and nothing more; so safe code can have two usable handles of one worker as
//! little as the runtime can.

use std::fmt;
use std::marker::PhantomData;

use crate::here::Here;
use crate::job::{self, Body};
use crate::levels::{Flat, Level};
use crate::pool::{Pool, Split};

/// A worker, as the task that it is running sees it: the capability to fork.
///
/// A handle is two words, passed by value: where the worker's limits are, and the owner's head, which therefore lives in a
/// register. Every task receives one, and passes it on to what it calls. While a [`join`](Self::join) borrows it, its
/// branches hold their own, so there is always exactly one usable handle of a worker, and safe code can neither keep
/// one beyond its task nor exchange two:
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
/// `L` is the [level](crate::levels) of a recursion that the compiler is to inline, and can be left out.
pub struct Worker<'w, P: Pool = Split, L: Level = Flat> {
    here: Here<'w, P>,
    level: PhantomData<L>,
}

impl<'w, P: Pool, L: Level> Worker<'w, P, L> {
    /// A handle for here.
    ///
    /// # Safety
    /// While it is used, closure style is [kept off](Here::detach) the stack.
    #[inline(always)]
    pub(crate) unsafe fn new(here: Here<'w, P>) -> Self {
        Self { here, level: PhantomData }
    }

    /// Here, as long as the handle is not used otherwise.
    #[inline(always)]
    pub(crate) fn here(&mut self) -> Here<'_, P> {
        self.here.again()
    }

    /// Where others would see what is forked.
    #[inline(always)]
    pub(crate) fn seen(&self) -> &Here<'w, P> {
        &self.here
    }

    /// The same handle, on a level: what a recursion starts with that is generic in the level, and of which several levels are to be
    /// one real call.
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
    /// It does for methods, for functions that call each other and for what is generic anyway what
    /// [`#[inline_recursion]`](macro@crate::inline_recursion) does for one function; which calls are inlined is for the compiler to
    /// say, and `#[inline]` makes it willing. The program gets a copy of the code for each level; two do most of what can be done.
    /// Costs nothing at run time.
    #[inline(always)]
    pub fn in_levels<M: Level>(self) -> Worker<'w, P, M> {
        Worker { here: self.here, level: PhantomData }
    }

    /// The same handle for a while, for something that wants one by value, and without a level.
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

    /// Whether somebody would take work if there were some: worth a fork that would otherwise not be made.
    ///
    /// Costs a load and a compare when nobody does. A hint: neither answer obliges anybody.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let wanted = pool.run(|mut w| w.join(|w| w.wants_work(), |_| ()).0);
    /// assert!(!wanted, "with one worker nobody asks");
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    #[inline]
    pub fn wants_work(&self) -> bool {
        P::wants_work(&self.here)
    }

    /// Answers thieves that wait for this worker, in the middle of a task. Forks and joins do so anyway; call it now and then in a task
    /// that does neither for long, if others should get at what was forked before.
    ///
    /// Whether it matters depends on the [pool](crate::pool): with [`Split`] a thief may be asking for more to be shared, with a queue
    /// of private tasks it gets nothing without an answer, with [`ChaseLev`](filch_queue::ChaseLev) nobody asks. See also
    /// [`Interrupts`](crate::Interrupts).
    ///
    /// Costs a few loads and compares when nobody asks.
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

    /// Runs `f` in closure style, here, and returns its result.
    ///
    /// `filch::join` and its like work in handle style too, but their forks take a slower way, since the worker's head is in the
    /// handle; in here they find it. Costs two stores to thread-local storage.
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

impl<P: Pool, L: Level> fmt::Debug for Worker<'_, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("index", &self.index()).field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// Work in handle style.
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
        // SAFETY: whoever forks work in handle style has a handle, so closure style is off the stack already.
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

/// Runs `work` with a handle, here.
#[inline]
pub(crate) fn in_handle_style<P: Pool, L: Level, R>(
    here: Here<'_, P>,
    work: impl for<'b> FnOnce(Worker<'b, P, L>) -> R,
) -> R {
    let _detached = here.detach();
    // SAFETY: closure style has just been detached, for as long as the work runs.
    work(unsafe { Worker::new(here) })
}

/// Gives the compiler the closure's signature.
pub(crate) fn by_handle<P: Pool, L: Level, F, R>(work: F) -> ByHandle<P, L, F>
where
    F: for<'b> FnOnce(Worker<'b, P, L>) -> R,
{
    ByHandle::new(work)
}
