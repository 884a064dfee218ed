//! Fork–join of two branches, in both styles.

use crate::fork::fast_path;
use crate::fork::here::{Any, Here};
use crate::fork::job::{self, Body};
use crate::tasks::handle::{ByHandle, Worker};
use crate::tasks::levels::Level;
use crate::threads::thread_pool::ThreadPool;
use crate::worker::plumbing::Pool;

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// Runs both branches, perhaps in parallel, and returns both results. The branches get handles of the next
    /// [level](crate::levels), which is this level unless levels are in use.
    ///
    /// `b` becomes a task that an idle worker may steal; this worker runs `a`, then `b` if it is not stolen. While
    /// another worker runs `b`, this worker does what the pool's [waiting strategy](crate::Wait) admits.
    ///
    /// Cost of an unstolen join on the [`Split`](crate::pool::Split) pool: about 20 instructions, no fence, no
    /// read–modify–write, no allocation. Branches that capture by value (`move`) stay in registers; capturing by
    /// reference forces the variables to memory, which costs half as much again.
    ///
    /// ```
    /// fn sum(mut w: filch::Worker<'_>, v: &[u64]) -> u64 {
    ///     match v {
    ///         [] => 0,
    ///         [x] => *x,
    ///         _ => {
    ///             let (left, right) = v.split_at(v.len() / 2);
    ///             let (a, b) = w.join(move |w| sum(w, left), move |w| sum(w, right));
    ///             a + b
    ///         }
    ///     }
    /// }
    /// let pool = filch::ThreadPool::new(2)?;
    /// let v: Vec<u64> = (0..1000).collect();
    /// assert_eq!(pool.run(|w| sum(w, &v)), 499_500);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// The first branch stays on this thread and need not be `Send`; the second must be:
    ///
    /// ```compile_fail,E0277
    /// fn not_send(mut w: filch::Worker<'_>) {
    ///     let local = std::rc::Rc::new(1);
    ///     w.join(|_| 0, |_| *local);
    /// }
    /// ```
    ///
    /// # Panics
    /// If a branch panics, with its payload, once the other one is settled. If `a` panics, `b` is dropped unrun if
    /// nobody has started it; otherwise its outcome is dropped. If both panic, with the payload of `a`. An exception of
    /// another language that leaves a branch may end the process.
    #[doc = include_str!("hazard.md")]
    #[inline(always)]
    pub fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Worker<'b, P, L::Next>) -> RA,
        B: for<'b> FnOnce(Worker<'b, P, L::Next>) -> RB + Send,
        RB: Send,
    {
        P::join(self.here(), ByHandle::<P, L::Next, A>::new(a), ByHandle::<P, L::Next, B>::new(b))
    }
}

impl<P: Pool> ThreadPool<P> {
    /// Runs both branches, perhaps in parallel, on this pool's workers, in closure style, and returns both results: a
    /// [`join()`] in [`install`](Self::install).
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::join`].
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(a, b))
    }
}

/// Runs both branches, perhaps in parallel, and returns both results, in closure style.
///
/// On a worker, `b` becomes a task of that worker, as in [`Worker::join`]; elsewhere both branches move to the [global
/// pool](ThreadPool::global), in which the calling thread [may work](crate::Builder::caller_works) itself. Handle style
/// is faster, since closure style keeps the owner's head in thread-local storage. Inside handle style this function
/// works, but its forks take a slower path.
///
/// ```
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = filch::join(move || fib(n - 1), move || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
///
/// Either branch may run on another thread:
///
/// ```compile_fail,E0277
/// let local = std::rc::Rc::new(1);
/// filch::join(|| *local, || 0);
/// ```
///
/// # Panics
/// As [`Worker::join`].
#[doc = include_str!("hazard.md")]
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    fast_path::join_here(Anywhere(a), Anywhere(b))
}

/// A branch in closure style, on a worker.
#[repr(transparent)]
pub(crate) struct ByClosure<F>(pub(crate) F);

impl<F: FnOnce() -> R, R> Body for ByClosure<F> {
    type Out = R;
    type In = Any;

    const UNROLLED: bool = job::is_unrolled::<F>();

    #[inline(always)]
    fn inline(self, _: Here<'_>) -> R {
        (self.0)()
    }

    #[inline]
    fn stolen(self, here: Here<'_>) -> R {
        let _entered = here.enter();
        (self.0)()
    }
}

/// A branch of [`join()`], whose caller may be outside all pools, and whose parts are `Send`.
#[repr(transparent)]
struct Anywhere<F>(F);

impl<F: FnOnce() -> R, R> Body for Anywhere<F> {
    type Out = R;
    type In = Any;

    const UNROLLED: bool = job::is_unrolled::<F>();

    const MAY_BE_OUTSIDE: bool = true;

    #[inline(always)]
    fn inline(self, _: Here<'_>) -> R {
        (self.0)()
    }

    #[inline]
    fn stolen(self, here: Here<'_>) -> R {
        ByClosure(self.0).stolen(here)
    }

    #[cold]
    #[inline(never)]
    fn outside<B: Body<In = Any>>((a, b): (Self, B)) -> (R, B::Out) {
        // SAFETY: only a near join calls this, so both branches fit a slot; and `join` made them of parts that are
        // `Send`.
        unsafe { ThreadPool::global().common.enter_fork(a, b) }
    }
}
