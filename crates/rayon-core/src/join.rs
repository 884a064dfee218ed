//! Fork–join of two closures.

use crate::FnContext;
use crate::registry::Global;

/// Runs both closures, perhaps at the same time, and returns both results.
///
/// On a thread of a pool, `oper_b` becomes a task that an idle thread of the pool may steal, and this thread runs
/// `oper_a`; then it runs `oper_b` if nobody has stolen it. Otherwise this thread waits, and meanwhile runs the tasks
/// that `FILCH_WAIT` permits. By default it helps the thief first, and others if the thief has no tasks; with
/// `FILCH_WAIT=leapfrog` it runs only parts of `oper_b`. On any other thread both closures move to the global pool.
///
/// Cost without steals: about 40 instructions, no fence, no allocation.
///
/// ```
/// fn sum(v: &[u64]) -> u64 {
///     if v.len() < 8 {
///         return v.iter().sum();
///     }
///     let (left, right) = v.split_at(v.len() / 2);
///     let (a, b) = rayon_core::join(|| sum(left), || sum(right));
///     a + b
/// }
/// let v: Vec<u64> = (0..1000).collect();
/// assert_eq!(sum(&v), 499_500);
/// ```
///
/// Both closures may run on another thread:
///
/// ```compile_fail,E0277
/// let local = std::rc::Rc::new(1);
/// rayon_core::join(|| *local, || 0);
/// ```
///
/// and they may not borrow the same thing mutably:
///
/// ```compile_fail,E0499
/// let mut n = 0;
/// rayon_core::join(|| n += 1, || n += 1);
/// ```
///
/// # Panics
/// If a closure panics: resumes its panic once the other one has ended. Both always run. If both panic, the payload of
/// `oper_a` is resumed.
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    filch::inside::host::join::<Global, _, _, _, _>(move |_| oper_a(), move |_| oper_b())
}

/// Like [`join`], and tells each closure whether it has moved to another thread.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let moved = pool.install(|| rayon_core::join_context(|a| a.migrated(), |b| b.migrated()));
/// assert_eq!(moved, (false, false));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
///
/// # Panics
/// As [`join`].
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    filch::inside::host::join::<Global, _, _, _, _>(
        move |migrated| oper_a(FnContext::new(migrated)),
        move |migrated| oper_b(FnContext::new(migrated)),
    )
}
