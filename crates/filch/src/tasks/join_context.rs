//! Fork–join in closure style whose branches learn whether they were stolen.

use crate::fork::here::{Any, Here};
use crate::fork::{fast_path, job::Body};
use crate::threads::thread_pool::ThreadPool;

/// As [`join`](crate::join()), but each branch is told whether a thief took it. So a branch can do less on its own
/// worker, such as reuse a buffer of its caller's, or split its work further only if somebody wants work.
///
/// The first branch is never stolen. The second may be taken by another worker or, if the first branch
/// [yields](crate::yield_now) or waits, by the same one. In handle style, compare
/// [`Worker::index`](crate::Worker::index) inside and outside the branch.
///
/// It costs what [`join`](crate::join()) costs.
///
/// ```
/// fn sum(v: &[u64], is_stolen: bool) -> u64 {
///     // Splits the work of a thief, and otherwise stops early.
///     if v.len() < if is_stolen { 8 } else { 64 } {
///         return v.iter().sum();
///     }
///     let (left, right) = v.split_at(v.len() / 2);
///     let (a, b) = filch::join_context(|stolen| sum(left, stolen), |stolen| sum(right, stolen));
///     a + b
/// }
/// assert_eq!(sum(&[1; 1000], true), 1000);
/// ```
///
/// # Panics
/// As [`join`](crate::join()).
#[doc = include_str!("hazard.md")]
#[inline(always)]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    fast_path::join_here(ByContext(a), ByContext(b))
}

/// A branch of [`join_context`]; its parts are `Send`.
#[repr(transparent)]
struct ByContext<F>(F);

impl<F: FnOnce(bool) -> R, R> Body for ByContext<F> {
    type Out = R;
    type In = Any;

    const MAY_BE_OUTSIDE: bool = true;

    #[inline(always)]
    fn inline(self, _: Here<'_>) -> R {
        (self.0)(false)
    }

    #[inline]
    fn stolen(self, here: Here<'_>) -> R {
        let _entered = here.enter();
        (self.0)(true)
    }

    #[cold]
    #[inline(never)]
    fn outside<B: Body<In = Any>>((a, b): (Self, B)) -> (R, B::Out) {
        // SAFETY: only a near join calls this, and only bodies that `join_context` made are ever outside.
        unsafe { ThreadPool::global().common.enter_fork(a, b) }
    }
}
