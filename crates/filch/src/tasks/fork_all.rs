//! Forks of any number of branches, pushed in order and joined newest first, in both styles.
//!
//! Invariant: while the iterator, a branch or the fold runs, the head lies above all tasks that are not joined, so that
//! these may fork too.

use std::marker::PhantomData;

use crate::fork::fast_path::{self, Fork};
use crate::fork::front::{Front, FrontKind, current};
use crate::fork::job::{self, Body};
use crate::fork::{here::Here, slot::Slot};
use crate::tasks::handle::{Worker, by_handle};
use crate::tasks::{join::ByClosure, levels::Level};
use crate::threads::thread_pool::ThreadPool;
use crate::worker::plumbing::Pool;

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// Runs `each` on every item, as separate tasks, and folds the results, newest item first.
    ///
    /// This is the spawn and sync of Lace and Wool: it forks all items, then joins them in reverse. Unless somebody
    /// wants work, it runs the last item at once.
    ///
    /// Each item costs as much as a [`join`](Self::join). Items or results too large for a slot (48 bytes, including a
    /// reference) go to the heap.
    ///
    /// ```
    /// // Counts the nodes of a tree: a task for each child of each node.
    /// fn count(mut w: filch::Worker<'_>, depth: u32) -> u64 {
    ///     w.fork_all(0..depth, |w, child| count(w, child), 1, |sum, below| sum + below)
    /// }
    /// let pool = filch::ThreadPool::new(2)?;
    /// assert_eq!(pool.run(|w| count(w, 10)), 1 << 10);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a task, the iterator or `fold` panics, with the first payload in this order. Items that nobody has started
    /// are dropped; started ones are awaited, and their outcomes dropped.
    #[doc = include_str!("hazard.md")]
    #[inline(always)]
    pub fn fork_all<I, T, R, S, F, G>(&mut self, items: I, each: F, init: S, fold: G) -> S
    where
        I: IntoIterator<Item = T>,
        T: Send,
        R: Send,
        F: for<'b> Fn(Worker<'b, P, L::Next>, T) -> R + Sync,
        G: FnMut(S, R) -> S,
    {
        if const { pays_apart::<I>() } {
            apart::<P, L, I, T, R, S, F, G>(self.here(), items, each, init, fold)
        } else {
            by_handles::<P, L, I, T, R, S, F, G>(self.here(), items, each, init, fold)
        }
    }
}

/// Whether forking these items pays as a function of its own. Then a call that forks nothing, as most do, saves no
/// registers; but an iterator that is not passed in registers costs more as an argument.
const fn pays_apart<I>() -> bool {
    size_of::<I>() <= 2 * size_of::<usize>()
}

/// [`by_handles`] as a function of its own.
#[inline(never)]
fn apart<P: Pool, L: Level, I, T, R, S, F, G>(here: Here<'_, P>, items: I, each: F, init: S, fold: G) -> S
where
    I: IntoIterator<Item = T>,
    T: Send,
    R: Send,
    F: for<'b> Fn(Worker<'b, P, L::Next>, T) -> R + Sync,
    G: FnMut(S, R) -> S,
{
    by_handles::<P, L, I, T, R, S, F, G>(here, items, each, init, fold)
}

#[inline(always)]
fn by_handles<P: Pool, L: Level, I, T, R, S, F, G>(here: Here<'_, P>, items: I, each: F, init: S, mut fold: G) -> S
where
    I: IntoIterator<Item = T>,
    T: Send,
    R: Send,
    F: for<'b> Fn(Worker<'b, P, L::Next>, T) -> R + Sync,
    G: FnMut(S, R) -> S,
{
    let each = &each;
    if const { job::fits::<(&F, T), R>() } {
        let tasks = items.into_iter().map(|item| by_handle(move |w: Worker<'_, P, L::Next>| each(w, item)));
        // The work is a reference and an item, so it fits a slot.
        join_all(here, tasks, init, fold)
    } else {
        let tasks = items.into_iter().map(Box::new);
        let tasks = tasks.map(|item| by_handle(move |w: Worker<'_, P, L::Next>| Box::new(each(w, *item))));
        join_all(here, tasks, init, |sum, result: Box<R>| fold(sum, *result))
    }
}

/// Runs `each` on every item, as separate tasks, and folds the results, newest item first, in closure style.
///
/// On a worker, the items become tasks of that worker, as in [`Worker::fork_all`]; elsewhere the whole call moves to
/// the [global pool](ThreadPool::global). Costs as [`Worker::fork_all`] and [`filch::join`](crate::join()).
///
/// ```
/// // Counts the nodes of a tree: a task for each child of each node.
/// fn count(depth: u32) -> u64 {
///     filch::fork_all(0..depth, count, 1, |sum, below| sum + below)
/// }
/// assert_eq!(count(10), 1 << 10);
/// ```
///
/// # Panics
/// As [`Worker::fork_all`].
#[doc = include_str!("hazard.md")]
#[inline(always)]
pub fn fork_all<I, T, R, S, F, G>(items: I, each: F, init: S, fold: G) -> S
where
    I: IntoIterator<Item = T> + Send,
    T: Send,
    R: Send,
    S: Send,
    F: Fn(T) -> R + Sync,
    G: FnMut(S, R) -> S + Send,
{
    let each = &each;
    if current().kind == FrontKind::Outside {
        return on_global(move || by_closure(items, each, init, fold));
    }
    if const { pays_apart::<I>() } {
        by_closure_apart(items, each, init, fold)
    } else {
        by_closure(items, each, init, fold)
    }
}

/// [`by_closure`] as a function of its own.
#[inline(never)]
fn by_closure_apart<I, T, R, S, F, G>(items: I, each: &F, init: S, fold: G) -> S
where
    I: IntoIterator<Item = T>,
    T: Send,
    R: Send,
    F: Fn(T) -> R + Sync,
    G: FnMut(S, R) -> S,
{
    by_closure(items, each, init, fold)
}

/// Calls `f` on the global pool. Inlined in [`fork_all`], this would cost four more instructions for each fork on a
/// worker.
#[cold]
#[inline(never)]
fn on_global<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    ThreadPool::global().install(f)
}

/// [`fork_all`] on a worker.
#[inline(always)]
fn by_closure<I, T, R, S, F, G>(items: I, each: &F, init: S, mut fold: G) -> S
where
    I: IntoIterator<Item = T>,
    T: Send,
    R: Send,
    F: Fn(T) -> R + Sync,
    G: FnMut(S, R) -> S,
{
    let items = items.into_iter();
    // SAFETY: this thread stays on its worker until all tasks are joined. The iterator, the branches and the fold may
    // fork on it; by the invariant of this file, those forks lie above the tasks, and end before their forker returns.
    let here = unsafe { Here::current() };
    if const { job::fits::<(&F, T), R>() } {
        // The work is a reference and an item, so it fits a slot.
        join_all(here, items.map(|item| ByClosure(move || each(item))), init, fold)
    } else {
        let tasks = items.map(Box::new).map(|item| ByClosure(move || Box::new(each(*item))));
        join_all(here, tasks, init, |sum, result: Box<R>| fold(sum, *result))
    }
}

/// Tasks between their push and their pop.
struct Forks<'f, B: Body> {
    front: &'f Front,
    first: *mut Slot,
    next: *mut Slot,
    work: PhantomData<B>,
}

impl<'f, B: Body> Forks<'f, B> {
    /// Returns where the next task goes.
    #[inline(always)]
    fn here(&self) -> Here<'f, B::In> {
        // SAFETY: this recreates the `Here` from before the first push. Since then only these tasks have been pushed,
        // and they lie below `next`.
        unsafe { Here::new(self.front, self.next) }
    }
}

impl<B: Body> Drop for Forks<'_, B> {
    fn drop(&mut self) {
        while self.next != self.first {
            self.next = self.next.wrapping_sub(1);
            // SAFETY: this is the newest task, pushed and not popped.
            unsafe { fast_path::abandon::<B>(self.front, self.next) };
        }
    }
}

/// Forks all tasks, and joins them newest first. The current thread is a worker.
#[inline(always)]
#[expect(clippy::needless_pass_by_value, reason = "two words, which the fork uses up")]
fn join_all<B: Body, S>(
    here: Here<'_, B::In>,
    mut tasks: impl Iterator<Item = B>,
    mut sum: S,
    mut fold: impl FnMut(S, B::Out) -> S,
) -> S {
    let front = here.front();
    let mut forks = Forks::<B> { front, first: here.head(), next: here.head(), work: PhantomData };
    let Some(mut last) = tasks.next() else { return sum };
    for task in tasks {
        // SAFETY: the callers are on workers, so it is a worker's front; the pop is below or in `Forks`.
        unsafe { fast_path::push(&forks.here(), std::mem::replace(&mut last, task)) };
        forks.next = forks.next.wrapping_add(1);
        B::raise(&forks.here());
    }
    if front.limits.admits_push(forks.next.addr()) {
        // Nobody wants the newest task, so this worker would take it back at once.
        sum = fold(sum, last.inline(forks.here()));
    } else {
        // SAFETY: the callers are on workers, so it is a worker's front; the pop is below or in `Forks`.
        unsafe { fast_path::push_unadmitted(&forks.here(), last) };
        forks.next = forks.next.wrapping_add(1);
    }
    while forks.next != forks.first {
        forks.next = forks.next.wrapping_sub(1);
        // SAFETY: this is the newest task, and `forks` no longer has it.
        let fork = unsafe { Fork::<B>::at(front, forks.next) };
        sum = fold(sum, fork.join());
    }
    sum
}
