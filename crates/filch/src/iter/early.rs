//! Iterators that end before their last item.
//!
//! Invariant: once the end is decided, a block takes no further item.

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::adapt::{Adapted, Adaptor};
use super::lend::Lend;
use super::par::Par;
use crate::divide::run::{Failure, run};
use crate::divide::{divisible::Divisible, forker::Forker};

/// The adaptor that yields the `Ok` values of results until there is an error.
#[derive(Debug)]
pub struct Until<'f, E>(&'f Failure<E>);

impl<T, E: Send> Adaptor<Result<T, E>> for Until<'_, E> {
    type Item = T;
    type Iter<'a, I: Iterator<Item = Result<T, E>>>
        = Oks<'a, I, E>
    where
        Self: 'a;

    const IS_EXACT: bool = false;

    #[inline]
    fn over<I: Iterator<Item = Result<T, E>>>(&self, results: I) -> Self::Iter<'_, I> {
        Oks { results, failure: self.0 }
    }

    fn has_ended(&self) -> bool {
        self.0.has_happened()
    }
}

impl<T, E: Send, S: Lend<Item = Result<T, E>>, K: Forker> Par<S, K> {
    /// Consumes the `Ok` values until there is an error; returns the first error in time, if there is one.
    pub(crate) fn until_error<R>(self, consume: impl FnOnce(Par<Adapted<S, Until<'_, E>>, K>) -> R) -> Result<R, E> {
        let failure = Failure::new();
        let result = consume(self.adapted(Until(&failure)));
        failure.end(result)
    }
}

impl<T: Send, E: Send, S: Lend<Item = Result<T, E>>, K: Forker> Par<S, K> {
    /// Reduces the `Ok` values together with any number of `identity` values, by a function that may fail. The loop
    /// ends at the first error, of an item or of `reduce`.
    ///
    /// ```
    /// let add = |a: u8, b: u8| a.checked_add(b).ok_or("too much");
    /// let sum = |items: &[u8]| filch::par(items).map(|x| Ok(*x)).try_reduce(|| 0, add);
    /// assert_eq!(sum(&[100, 100]), Ok(200));
    /// assert_eq!(sum(&[100, 100, 100]), Err("too much"));
    /// ```
    ///
    /// # Errors
    /// One of the errors, the first in time.
    pub fn try_reduce<I, R>(self, identity: I, reduce: R) -> Result<T, E>
    where
        I: Fn() -> T + Sync,
        R: Fn(T, T) -> Result<T, E> + Sync,
    {
        let failure = Failure::new();
        // There is no sum after an error.
        let merge = |a: Option<T>, b: Option<T>| reduce(a?, b?).map_err(|error| failure.keep(error)).ok();
        let oks = self.adapted(Until(&failure));
        let sum = oks.fold(|| Some(identity()), |sum, item| merge(sum, Some(item)), merge);
        failure.end(sum).map(|sum| sum.expect("a sum is lost to an error only"))
    }
}

/// The iterator of [`Until`] over a block.
#[derive(Debug)]
pub struct Oks<'f, I, E> {
    results: I,
    failure: &'f Failure<E>,
}

impl<T, E, I: Iterator<Item = Result<T, E>>> Iterator for Oks<'_, I, E> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.failure.has_happened() {
            return None;
        }
        match self.results.next()? {
            Ok(value) => Some(value),
            Err(error) => {
                self.failure.keep(error);
                None
            }
        }
    }
}

/// Returns the first `Some` of `find`, in the order of the items. Blocks behind that item's block end early.
pub(super) fn find_first<S, K, B>(par: Par<S, K>, find: impl Fn(S::Item) -> Option<B> + Sync) -> Option<B>
where
    S: Lend,
    K: Forker,
    B: Send,
{
    let Par { mut parts, forker } = par;
    let best = Best(Atomic::new(usize::MAX));
    let source = Placed { source: parts.source(), start: 0, best: &best };
    let fold = |found: Option<B>, block: Placed<'_, S::Source<'_>>| {
        if found.is_some() {
            return found;
        }
        let start = block.start;
        let mut items = block.source.into_iter();
        while start <= best.get() {
            let found = find(items.next()?);
            if found.is_some() {
                best.lower_to(start);
                return found;
            }
        }
        None
    };
    run(forker, source, &|| None, &fold, &Option::or)
}

/// The start of the first block in which something was found.
#[derive(Debug)]
struct Best(<Native as Memory>::AtomicUsize);

impl Best {
    fn get(&self) -> usize {
        // Relaxed: it only tells blocks to end; the join of the loop orders the finds.
        self.0.load(Ordering::Relaxed)
    }

    fn lower_to(&self, start: usize) {
        let mut best = self.get();
        while start < best {
            // Relaxed: as above.
            match self.0.compare_exchange_weak(best, start, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(lower) => best = lower,
            }
        }
    }
}

/// A part of a source that knows where it begins in the whole.
struct Placed<'b, S> {
    source: S,
    start: usize,
    best: &'b Best,
}

impl<S: IntoIterator> IntoIterator for Placed<'_, S> {
    type Item = S::Item;
    type IntoIter = S::IntoIter;

    fn into_iter(self) -> S::IntoIter {
        self.source.into_iter()
    }
}

impl<S: Divisible> Divisible for Placed<'_, S> {
    #[inline]
    fn length(&self) -> usize {
        self.source.length()
    }

    #[inline]
    fn is_counted(&self) -> bool {
        self.source.is_counted()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.source.cut(at);
        (Self { source: left, ..self }, Self { source: right, start: self.start.saturating_add(at), ..self })
    }

    const IS_DRAWN: bool = S::IS_DRAWN;

    fn draw(&mut self, is_awaited: &dyn Fn() -> bool) -> Option<Self> {
        if self.best.get() < self.start {
            return None;
        }
        let source = self.source.draw(is_awaited)?;
        let start = self.start;
        self.start = self.start.saturating_add(source.length());
        Some(Self { source, start, best: self.best })
    }
}
