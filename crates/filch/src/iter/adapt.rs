//! Adaptors that treat items one by one. The blocks of a loop share an adaptor by reference.
//!
//! Invariant: a closure runs once on each item that is asked for.

use std::iter;

use super::lend::{Indexed, Lend, Reversible};
use crate::divide::divisible::Divisible;
use crate::worker::per_worker::{PerWorker, PerWorkerGuard};

/// An adaptor of items of type `T`.
pub trait Adaptor<T>: Sync {
    /// The type of the items that it makes.
    type Item;

    /// The iterator over a block.
    type Iter<'a, I: Iterator<Item = T>>: Iterator<Item = Self::Item>
    where
        Self: 'a;

    /// Whether it makes exactly one item of each item.
    const IS_EXACT: bool;

    /// Iterates over a block with these items.
    fn over<I: Iterator<Item = T>>(&self, items: I) -> Self::Iter<'_, I>;

    /// Whether no further item is wanted.
    fn has_ended(&self) -> bool {
        false
    }
}

/// The parts of an iterator with an adaptor, such as [`Map`].
#[derive(Debug)]
pub struct Adapted<S, A> {
    parts: S,
    adaptor: A,
}

impl<S, A> Adapted<S, A> {
    pub(super) fn new(parts: S, adaptor: A) -> Self {
        Self { parts, adaptor }
    }
}

impl<S: Lend, A: Adaptor<S::Item>> Lend for Adapted<S, A> {
    type Item = A::Item;
    type Source<'a>
        = AdaptedSource<'a, S::Source<'a>, A>
    where
        Self: 'a;

    const IS_EXACT: bool = S::IS_EXACT && A::IS_EXACT;

    fn source(&mut self) -> Self::Source<'_> {
        AdaptedSource { source: self.parts.source(), adaptor: &self.adaptor }
    }
}

/// The source of [`Adapted`].
#[derive(Debug)]
pub struct AdaptedSource<'a, S, A> {
    source: S,
    adaptor: &'a A,
}

impl<'a, S: IntoIterator, A: Adaptor<S::Item>> IntoIterator for AdaptedSource<'a, S, A> {
    type Item = A::Item;
    type IntoIter = A::Iter<'a, S::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.adaptor.over(self.source.into_iter())
    }
}

impl<S: Divisible, A: Adaptor<S::Item>> Divisible for AdaptedSource<'_, S, A> {
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
        (Self { source: left, ..self }, Self { source: right, ..self })
    }

    const IS_DRAWN: bool = S::IS_DRAWN;

    fn draw(&mut self, is_awaited: &dyn Fn() -> bool) -> Option<Self> {
        if self.adaptor.has_ended() {
            return None;
        }
        Some(Self { source: self.source.draw(is_awaited)?, ..*self })
    }
}

/// The adaptor of [`Par::map`](super::Par::map).
#[derive(Debug)]
pub struct Map<F>(pub(super) F);

impl<T, B, F: Fn(T) -> B + Sync> Adaptor<T> for Map<F> {
    type Item = B;
    type Iter<'a, I: Iterator<Item = T>>
        = MapBlock<'a, I, F>
    where
        Self: 'a;

    const IS_EXACT: bool = true;

    #[inline]
    fn over<I: Iterator<Item = T>>(&self, items: I) -> Self::Iter<'_, I> {
        MapBlock(items, &self.0)
    }
}

impl<S: Indexed, B, F: Fn(S::Item) -> B + Sync> Indexed for Adapted<S, Map<F>> {}

impl<S: Reversible, B, F: Fn(S::Item) -> B + Sync> Reversible for Adapted<S, Map<F>> {
    type Backward<'a>
        = MapBlock<'a, S::Backward<'a>, F>
    where
        Self: 'a;

    fn backward<'a>(block: Self::Source<'a>) -> Self::Backward<'a>
    where
        Self: 'a,
    {
        block.adaptor.over(S::backward(block.source))
    }
}

/// The adaptor of [`Par::filter_map`](super::Par::filter_map) and [`Par::filter`](super::Par::filter).
#[derive(Debug)]
pub struct FilterMap<F>(pub(super) F);

impl<T, B, F: Fn(T) -> Option<B> + Sync> Adaptor<T> for FilterMap<F> {
    type Item = B;
    type Iter<'a, I: Iterator<Item = T>>
        = FilterMapBlock<'a, I, F>
    where
        Self: 'a;

    const IS_EXACT: bool = false;

    #[inline]
    fn over<I: Iterator<Item = T>>(&self, items: I) -> Self::Iter<'_, I> {
        FilterMapBlock(items, &self.0)
    }
}

/// The adaptor of [`Par::flat_map`](super::Par::flat_map).
#[derive(Debug)]
pub struct FlatMap<F>(pub(super) F);

impl<T, B: IntoIterator, F: Fn(T) -> B + Sync> Adaptor<T> for FlatMap<F> {
    type Item = B::Item;
    type Iter<'a, I: Iterator<Item = T>>
        = iter::FlatMap<I, B, &'a F>
    where
        Self: 'a;

    const IS_EXACT: bool = false;

    #[inline]
    fn over<I: Iterator<Item = T>>(&self, items: I) -> Self::Iter<'_, I> {
        items.flat_map(&self.0)
    }
}

/// The iterator of [`Map`] over a block.
///
/// The standard one would call the shared closure through a reference, which stays a call in the loop.
#[derive(Debug)]
pub struct MapBlock<'a, I, F>(I, &'a F);

impl<I: Iterator, B, F: Fn(I::Item) -> B> Iterator for MapBlock<'_, I, F> {
    type Item = B;

    #[inline]
    fn next(&mut self) -> Option<B> {
        Some((self.1)(self.0.next()?))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<T, G: FnMut(T, B) -> T>(self, sum: T, mut fold: G) -> T {
        let f = self.1;
        self.0.fold(sum, move |sum, item| fold(sum, f(item)))
    }
}

/// The iterator of [`FilterMap`] over a block. It exists for the same reason as [`MapBlock`].
#[derive(Debug)]
pub struct FilterMapBlock<'a, I, F>(I, &'a F);

impl<I: Iterator, B, F: Fn(I::Item) -> Option<B>> Iterator for FilterMapBlock<'_, I, F> {
    type Item = B;

    #[inline]
    fn next(&mut self) -> Option<B> {
        let f = self.1;
        self.0.find_map(move |item| f(item))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.0.size_hint().1)
    }

    #[inline]
    fn fold<T, G: FnMut(T, B) -> T>(self, sum: T, mut fold: G) -> T {
        let f = self.1;
        self.0.fold(sum, move |sum, item| match f(item) {
            Some(item) => fold(sum, item),
            None => sum,
        })
    }
}

/// The adaptor of [`Par::map_init`](super::Par::map_init).
#[derive(Debug)]
pub struct MapInit<T, N, F> {
    states: PerWorker<T, N>,
    f: F,
}

impl<T, N, F> MapInit<T, N, F> {
    pub(super) fn new(init: N, f: F) -> Self {
        Self { states: PerWorker::new(init), f }
    }
}

impl<T, S: Send, B, N: Fn() -> S + Sync, F: Fn(&mut S, T) -> B + Sync> Adaptor<T> for MapInit<S, N, F> {
    type Item = B;
    type Iter<'a, I: Iterator<Item = T>>
        = WithState<'a, I, S, F>
    where
        Self: 'a;

    const IS_EXACT: bool = true;

    fn over<I: Iterator<Item = T>>(&self, items: I) -> Self::Iter<'_, I> {
        WithState { items, state: self.states.get(), f: &self.f }
    }
}

impl<S, T, B, N, F> Indexed for Adapted<S, MapInit<T, N, F>>
where
    S: Indexed,
    T: Send,
    N: Fn() -> T + Sync,
    F: Fn(&mut T, S::Item) -> B + Sync,
{
}

/// The iterator of [`MapInit`] over a block. It has the worker's state.
#[derive(Debug)]
pub struct WithState<'a, I, T, F> {
    items: I,
    state: PerWorkerGuard<'a, T>,
    f: &'a F,
}

impl<I: Iterator, T, B, F: Fn(&mut T, I::Item) -> B> Iterator for WithState<'_, I, T, F> {
    type Item = B;

    #[inline]
    fn next(&mut self) -> Option<B> {
        Some((self.f)(&mut self.state, self.items.next()?))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }

    #[inline]
    fn fold<R, G: FnMut(R, B) -> R>(self, sum: R, mut fold: G) -> R {
        let Self { items, mut state, f } = self;
        let state = &mut *state;
        items.fold(sum, |sum, item| fold(sum, f(state, item)))
    }
}
