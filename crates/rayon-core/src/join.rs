//! Fork–join of two closures.

use crate::FnContext;
use crate::registry::Global;

/// Runs both closures, perhaps at the same time, and returns both results.
///
/// On a thread of a pool, `oper_b` becomes a task that an idle thread of the pool may take, and this thread runs `oper_a`; then
/// `oper_b` too if nobody has taken it. If somebody has, this thread waits, and does meanwhile what `FILCH_WAIT` admits: by default
/// it helps the thief first, and others if that has nothing to give; with `FILCH_WAIT=leapfrog` it runs nothing but parts of
/// `oper_b`. On any other thread both closures move to the global pool.
///
/// Cost, if nobody takes anything: about 40 instructions, no fence, no allocation.
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
/// If one of them panics, with its payload, once the other one has ended too: both are always run. If both panic, it is with
/// the payload of `oper_a`.
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    filch::host::join::<Global, _, _, _, _>(move |_| oper_a(), move |_| oper_b())
}

/// As [`join`], and tells each closure whether it has moved to another thread.
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
    filch::host::join::<Global, _, _, _, _>(
        move |migrated| oper_a(FnContext::new(migrated)),
        move |migrated| oper_b(FnContext::new(migrated)),
    )
}
