//! The interface between programs and executors.
//!
//! Every workload is written once against [`ForkJoin`]. filch's handle, the serial executor and every peer implement
//! it, so all of them run the same source. An implementation must run each closure exactly once before `join` or
//! `fork_all` returns, and must deliver each result to its place in any schedule.

use filch::Divisible;
use filch_catalogue::programs::grain;

/// A fork–join executor as a task sees it: a handle, passed by value to each child.
///
/// A recursive program takes the handle by value and gives each branch the handle that the branch receives:
///
/// ```
/// use filch_workloads::{ForkJoin, Serial};
///
/// fn fib<J: ForkJoin>(mut j: J, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = j.join(move |j| fib(j, n - 1), move |j| fib(j, n - 2));
///     a + b
/// }
/// assert_eq!(fib(Serial, 20), 6765);
/// ```
pub trait ForkJoin: Sized {
    /// The handle that a child receives. With most executors a child's own children receive the same type, so a
    /// recursion is one function; with [`InLevels`](crate::InLevels) the types alternate.
    type Branch<'b>: ForkJoin;

    /// Runs both closures, perhaps at the same time, and returns both results.
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self::Branch<'b>) -> RA + Send,
        B: for<'b> FnOnce(Self::Branch<'b>) -> RB + Send,
        RA: Send,
        RB: Send;

    /// Runs `each` on every item as a task of its own and folds the results in no particular order.
    ///
    /// An executor with spawn and sync uses them; others use [`forks_by_halves!`](crate::forks_by_halves).
    ///
    /// ```
    /// use filch_workloads::{ForkJoin, Serial};
    ///
    /// let squares = Serial.fork_all(1..=10u64, |_, i| i * i, 0, |sum, square| sum + square);
    /// assert_eq!(squares, 385);
    /// ```
    fn fork_all<I, T, R, S, F, G>(&mut self, items: I, each: F, init: S, fold: G) -> S
    where
        I: IntoIterator<Item = T> + Send,
        T: Send,
        R: Send,
        S: Send,
        F: for<'b> Fn(Self::Branch<'b>, T) -> R + Sync,
        G: FnMut(S, R) -> S + Send;

    /// Lets an executor answer its thieves in the middle of a long task, if its thieves ask.
    #[inline]
    fn poll(&mut self) {}

    /// Folds the blocks of a range or slice and reduces the results in the order of the items.
    ///
    /// The default halves the source with [`ForkJoin::join`] down to blocks of `grain`. An executor whose own loops
    /// need no grain uses these, unless the grain is [fixed](Grain::Fixed).
    ///
    /// ```
    /// use filch_workloads::{ForkJoin, Grain, Serial};
    ///
    /// let sum = Serial.fold_blocks(0..100u64, Grain::Advice(10), 0, |sum, block| sum + block.sum::<u64>(), |a, b| a + b);
    /// assert_eq!(sum, 4950);
    /// ```
    #[inline]
    fn fold_blocks<D, T, F, R>(&mut self, source: D, grain: Grain, zero: T, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        F: Fn(T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        halve_blocks(self, source, grain.items(), &zero, &fold, &reduce)
    }

    /// Runs `f` on every block: [`ForkJoin::fold_blocks`] without results.
    ///
    /// ```
    /// use filch_workloads::{ForkJoin, Grain, Serial};
    ///
    /// let mut squares: Vec<u64> = (0..100).collect();
    /// Serial.for_blocks(&mut squares[..], Grain::Advice(10), |block| block.iter_mut().for_each(|x| *x *= *x));
    /// assert_eq!(squares[9], 81);
    /// ```
    #[inline]
    fn for_blocks<D, F>(&mut self, source: D, grain: Grain, f: F)
    where
        D: Divisible,
        F: Fn(D) + Sync,
    {
        self.fold_blocks(source, grain, (), |(), block| f(block), |(), ()| ());
    }

    /// Runs `f` on every number below `n`: [`ForkJoin::for_blocks`] for executors whose loops get an item at a time.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use filch_workloads::{ForkJoin, Grain, Serial};
    ///
    /// let sum = AtomicUsize::new(0);
    /// Serial.for_indices(10, Grain::Advice(1), |index| _ = sum.fetch_add(index, Ordering::Relaxed));
    /// assert_eq!(sum.into_inner(), 45);
    /// ```
    #[inline]
    fn for_indices<F: Fn(usize) + Sync>(&mut self, n: usize, grain: Grain, f: F) {
        self.for_blocks(0..n, grain, |block| block.for_each(&f));
    }
}

/// How many loop items make a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// This number, for executors whose loops need one: it should be some 10 µs of work. Others split on demand.
    Advice(usize),
    /// This number, for every executor.
    Fixed(usize),
}

impl Grain {
    /// Returns the grain for a parameter `grain`, where so many items are some 10 µs of work.
    pub(crate) fn from_param(grain: grain::Grain, advice: usize) -> Self {
        match grain {
            grain::Grain::OnDemand => Self::Advice(advice.max(1)),
            grain::Grain::Leaves => Self::Fixed(advice.max(1)),
            grain::Grain::Items(items) => Self::Fixed(items),
        }
    }

    fn items(self) -> usize {
        match self {
            Self::Advice(items) | Self::Fixed(items) => items,
        }
    }
}

/// Halves a source down to blocks of `grain` items and folds each block.
pub(crate) fn halve_blocks<J, D, T, F, R>(j: &mut J, source: D, grain: usize, zero: &T, fold: &F, reduce: &R) -> T
where
    J: ForkJoin,
    D: Divisible,
    T: Clone + Send + Sync,
    F: Fn(T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let length = source.length();
    if length <= grain.max(1) {
        return fold(zero.clone(), source);
    }
    let (left, right) = source.cut(length / 2);
    let (left, right) = j.join(
        move |mut j| halve_blocks(&mut j, left, grain, zero, fold, reduce),
        move |mut j| halve_blocks(&mut j, right, grain, zero, fold, reduce),
    );
    reduce(left, right)
}

/// Runs four branches, perhaps at the same time. A macro, since no bound can say that a branch takes the handle of a
/// grandchild.
macro_rules! join4 {
    ($j:expr, $a:expr, $b:expr, $c:expr, $d:expr $(,)?) => {{
        $j.join(
            move |mut j| {
                j.join($a, $b);
            },
            move |mut j| {
                j.join($c, $d);
            },
        );
    }};
}
pub(crate) use join4;

/// A handle whose children receive the same type as those of `J`.
///
/// ```
/// use filch_workloads::{ForkJoin, SameBranches, Serial};
///
/// fn is_one_function<J: ForkJoin>(_: J) -> bool
/// where
///     for<'b> J::Branch<'b>: SameBranches<J>,
/// {
///     true
/// }
/// assert!(is_one_function(Serial));
/// ```
pub trait SameBranches<J: ForkJoin>: for<'b> ForkJoin<Branch<'b> = J::Branch<'b>> {}

impl<J: ForkJoin, K: for<'b> ForkJoin<Branch<'b> = J::Branch<'b>>> SameBranches<J> for K {}

/// Implements [`ForkJoin::fork_all`] with `join` alone, by halving the items.
///
/// ```
/// use filch_workloads::{Serial, fork_by_halves};
///
/// let squares = fork_by_halves(&mut Serial, 1..=10u64, |_, i| i * i, 0, |sum, square| sum + square);
/// assert_eq!(squares, 385);
/// ```
#[inline]
pub fn fork_by_halves<J, I, T, R, S, F, G>(j: &mut J, items: I, each: F, init: S, mut fold: G) -> S
where
    J: ForkJoin,
    for<'b> J::Branch<'b>: SameBranches<J>,
    I: IntoIterator<Item = T>,
    T: Send,
    R: Send,
    F: for<'b> Fn(J::Branch<'b>, T) -> R + Sync,
    G: FnMut(S, R) -> S,
{
    let mut items = items.into_iter();
    let Some(first) = items.next() else { return init };
    let each = &each;
    let Some(second) = items.next() else {
        let (result, ()) = j.join(move |j| each(j, first), |_| ());
        return fold(init, result);
    };
    let Some(third) = items.next() else {
        let (a, b) = j.join(move |j| each(j, first), move |j| each(j, second));
        let sum = fold(init, a);
        return fold(sum, b);
    };
    let mut cells = Vec::with_capacity(3 + items.size_hint().0);
    cells.extend([first, second, third].map(Cell::Item));
    cells.extend(items.map(Cell::Item));
    fork_cells(j, &mut cells, each);
    cells.into_iter().fold(init, |sum, cell| match cell {
        Cell::Result(result) => fold(sum, result),
        Cell::Item(_) | Cell::Running => unreachable!("every leaf of the recursion ran"),
    })
}

/// Defines [`ForkJoin::fork_all`] by [`fork_by_halves`], for an executor that has only `join`.
///
/// ```
/// use filch_workloads::{ForkJoin, forks_by_halves};
///
/// struct SecondFirst;
/// impl ForkJoin for SecondFirst {
///     type Branch<'b> = Self;
///
///     fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
///     where
///         A: FnOnce(Self) -> RA,
///         B: FnOnce(Self) -> RB,
///     {
///         let second = b(Self);
///         (a(Self), second)
///     }
///
///     forks_by_halves!();
/// }
/// assert_eq!(SecondFirst.fork_all(1..=10u64, |_, i| i * i, 0, |sum, square| sum + square), 385);
/// ```
#[macro_export]
macro_rules! forks_by_halves {
    () => {
        #[inline]
        fn fork_all<I, T, R, S, F, G>(&mut self, items: I, each: F, init: S, fold: G) -> S
        where
            I: IntoIterator<Item = T>,
            T: Send,
            R: Send,
            F: for<'b> Fn(Self::Branch<'b>, T) -> R + Sync,
            G: FnMut(S, R) -> S,
        {
            $crate::fork_by_halves(self, items, each, init, fold)
        }
    };
}

/// The state of one item.
enum Cell<T, R> {
    Item(T),
    Running,
    Result(R),
}

/// Forks two halves of at least one cell each. Out of line, to keep the frames of deep recursions small.
#[inline(never)]
fn fork_cells<K, T, R, F>(j: &mut K, cells: &mut [Cell<T, R>], each: &F)
where
    K: ForkJoin,
    for<'b> K::Branch<'b>: SameBranches<K>,
    T: Send,
    R: Send,
    F: for<'b> Fn(K::Branch<'b>, T) -> R + Sync,
{
    let (left, right) = cells.split_at_mut(cells.len() / 2);
    j.join(move |j| halve::<K, _, _, _>(j, left, each), move |j| halve::<K, _, _, _>(j, right, each));
}

/// Recurses on halves down to single cells. `K` is the executor type for which `each` was written.
fn halve<K, T, R, F>(mut j: K::Branch<'_>, cells: &mut [Cell<T, R>], each: &F)
where
    K: ForkJoin,
    for<'b> K::Branch<'b>: SameBranches<K>,
    T: Send,
    R: Send,
    F: for<'b> Fn(K::Branch<'b>, T) -> R + Sync,
{
    match cells {
        [] => {}
        [cell] => {
            if let Cell::Item(item) = std::mem::replace(cell, Cell::Running) {
                *cell = Cell::Result(each(j, item));
            }
        }
        _ => {
            let (left, right) = cells.split_at_mut(cells.len() / 2);
            j.join(move |j| halve::<K, _, _, _>(j, left, each), move |j| halve::<K, _, _, _>(j, right, each));
        }
    }
}

/// A program for an [`Executor`]: the equivalent of a closure generic over [`ForkJoin`].
///
/// ```
/// use filch_workloads::{Executor, ForkJoin, Program, Serial};
///
/// struct Pair(u32, u32);
/// impl Program for Pair {
///     type Output = u32;
///     fn run<J: ForkJoin>(&mut self, mut j: J) -> u32 {
///         let (a, b) = (self.0, self.1);
///         let (a, b) = j.join(move |_| a * a, move |_| b * b);
///         a + b
///     }
/// }
/// assert_eq!(Serial.execute(&mut Pair(3, 4)), 25);
/// ```
pub trait Program: Send {
    /// The result.
    type Output: Send;

    /// Runs the program as the root task of `j`.
    fn run<J: ForkJoin>(&mut self, j: J) -> Self::Output;
}

/// An executor of programs, such as a pool and its threads.
pub trait Executor {
    /// Runs `program` to its end.
    fn execute<P: Program>(&self, program: &mut P) -> P::Output;
}

/// The sequential executor: runs one branch after the other, without tasks.
///
/// It shows the cost of a program with free forks. The `Ts` of the tables is
/// [`Instance::serial`](crate::Instance::serial), a plain sequential program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl ForkJoin for Serial {
    type Branch<'b> = Self;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self) -> RA + Send,
        B: for<'b> FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        (a(Self), b(Self))
    }

    #[inline(always)]
    fn fork_all<I, T, R, S, F, G>(&mut self, items: I, each: F, init: S, mut fold: G) -> S
    where
        I: IntoIterator<Item = T>,
        T: Send,
        R: Send,
        F: for<'b> Fn(Self, T) -> R + Sync,
        G: FnMut(S, R) -> S,
    {
        items.into_iter().fold(init, |sum, item| fold(sum, each(Self, item)))
    }

    #[inline(always)]
    fn fold_blocks<D, T, F, R>(&mut self, source: D, grain: Grain, zero: T, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        F: Fn(T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        match grain {
            Grain::Advice(_) => fold(zero, source),
            Grain::Fixed(grain) => halve_blocks(self, source, grain, &zero, &fold, &reduce),
        }
    }
}

impl Executor for Serial {
    fn execute<P: Program>(&self, program: &mut P) -> P::Output {
        program.run(Self)
    }
}
