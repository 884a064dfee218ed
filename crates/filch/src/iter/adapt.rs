//! Adaptors with a closure, which the blocks of a loop share by reference.
//!
//! Invariant: a closure runs once on each item that is asked for.

use std::iter;
use std::sync::{Mutex, PoisonError};

use super::lend::{Indexed, Lend, Reversible};
use crate::divisible::Divisible;

/// Defines the parts of an adaptor, and its source. A closure `F` returns `$out`, the items are `$item`, and `$make` makes
/// the `$iterator` of a block.
macro_rules! adaptor {
    ($(#[$doc:meta])* $parts:ident, $source:ident, $iterator:ty: $make:expr,
        $out:ty => $item:ty, [$($b:tt)*], $is_exact:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $parts<S, F> {
            parts: S,
            f: F,
        }

        impl<S, F> $parts<S, F> {
            pub(super) fn new(parts: S, f: F) -> Self {
                Self { parts, f }
            }
        }

        impl<S: Lend, $($b)*, F: Fn(S::Item) -> $out + Sync> Lend for $parts<S, F> {
            type Item = $item;
            type Source<'a>
                = $source<'a, S::Source<'a>, F>
            where
                Self: 'a;

            const IS_EXACT: bool = $is_exact;

            fn source(&mut self) -> Self::Source<'_> {
                $source { source: self.parts.source(), f: &self.f }
            }
        }

        #[doc = concat!("The source of [`", stringify!($parts), "`].")]
        #[derive(Debug)]
        pub struct $source<'a, S, F> {
            source: S,
            f: &'a F,
        }

        impl<'a, S: IntoIterator, $($b)*, F: Fn(S::Item) -> $out> IntoIterator for $source<'a, S, F> {
            type Item = $item;
            type IntoIter = $iterator;

            #[inline]
            fn into_iter(self) -> Self::IntoIter {
                $make(self.source.into_iter(), self.f)
            }
        }

        impl<S: Divisible, $($b)*, F: Fn(S::Item) -> $out + Sync> Divisible for $source<'_, S, F> {
            #[inline]
            fn length(&self) -> usize {
                self.source.length()
            }

            #[inline]
            fn cut(self, at: usize) -> (Self, Self) {
                let (left, right) = self.source.cut(at);
                (Self { source: left, ..self }, Self { source: right, ..self })
            }

            const IS_DRAWN: bool = S::IS_DRAWN;

            fn draw(&mut self, is_awaited: &dyn Fn() -> bool) -> Option<Self> {
                Some(Self { source: self.source.draw(is_awaited)?, f: self.f })
            }
        }
    };
}

adaptor! {
    /// The parts of [`Par::map`](super::Par::map).
    Map, Mapped, MapBlock<'a, S::IntoIter, F>: MapBlock, B => B, [B], S::IS_EXACT
}

adaptor! {
    /// The parts of [`Par::filter_map`](super::Par::filter_map) and [`Par::filter`](super::Par::filter).
    FilterMap, FilterMapped, FilterMapBlock<'a, S::IntoIter, F>: FilterMapBlock, Option<B> => B, [B], false
}

adaptor! {
    /// The parts of [`Par::flat_map`](super::Par::flat_map).
    FlatMap, FlatMapped, iter::FlatMap<S::IntoIter, B, &'a F>: Iterator::flat_map, B => B::Item, [B: IntoIterator], false
}

impl<S: Indexed, B, F: Fn(S::Item) -> B + Sync> Indexed for Map<S, F> {}

impl<S: Reversible, B, F: Fn(S::Item) -> B + Sync> Reversible for Map<S, F> {
    type Backward<'a>
        = MapBlock<'a, S::Backward<'a>, F>
    where
        Self: 'a;

    fn backward<'a>(block: Self::Source<'a>) -> Self::Backward<'a>
    where
        Self: 'a,
    {
        MapBlock(S::backward(block.source), block.f)
    }
}

/// The iterator of [`Map`] over a block.
///
/// The standard one would call the shared closure by way of its reference, which stays a call in the loop.
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

/// The iterator of [`FilterMap`] over a block; as [`MapBlock`].
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

/// The parts of [`Par::map_init`](super::Par::map_init).
#[derive(Debug)]
pub struct MapInit<S, T, I, F> {
    parts: S,
    states: States<T, I>,
    f: F,
}

/// States that no block uses, and how to make one.
#[derive(Debug)]
struct States<T, I> {
    free: Mutex<Vec<T>>,
    init: I,
}

impl<S, T, I, F> MapInit<S, T, I, F> {
    pub(super) fn new(parts: S, init: I, f: F) -> Self {
        Self { parts, states: States { free: Mutex::new(Vec::new()), init }, f }
    }
}

impl<S: Lend, T: Send, B, I: Fn() -> T + Sync, F: Fn(&mut T, S::Item) -> B + Sync> Lend for MapInit<S, T, I, F> {
    type Item = B;
    type Source<'a>
        = MapInited<'a, S::Source<'a>, T, I, F>
    where
        Self: 'a;

    const IS_EXACT: bool = S::IS_EXACT;

    fn source(&mut self) -> Self::Source<'_> {
        MapInited { source: self.parts.source(), states: &self.states, f: &self.f }
    }
}

impl<S: Indexed, T: Send, B, I: Fn() -> T + Sync, F: Fn(&mut T, S::Item) -> B + Sync> Indexed for MapInit<S, T, I, F> {}

/// The source of [`MapInit`].
#[derive(Debug)]
pub struct MapInited<'a, S, T, I, F> {
    source: S,
    states: &'a States<T, I>,
    f: &'a F,
}

impl<'a, S, T, B, I, F> IntoIterator for MapInited<'a, S, T, I, F>
where
    S: IntoIterator,
    I: Fn() -> T,
    F: Fn(&mut T, S::Item) -> B,
{
    type Item = B;
    type IntoIter = WithState<'a, S::IntoIter, T, I, F>;

    fn into_iter(self) -> Self::IntoIter {
        let items = self.source.into_iter();
        let free = self.states.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let state = Some(free.unwrap_or_else(|| (self.states.init)()));
        WithState { items, state, states: self.states, f: self.f }
    }
}

impl<S, T, B, I, F> Divisible for MapInited<'_, S, T, I, F>
where
    S: Divisible,
    T: Send,
    I: Fn() -> T + Sync,
    F: Fn(&mut T, S::Item) -> B + Sync,
{
    #[inline]
    fn length(&self) -> usize {
        self.source.length()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.source.cut(at);
        (Self { source: left, ..self }, Self { source: right, ..self })
    }

    const IS_DRAWN: bool = S::IS_DRAWN;

    fn draw(&mut self, is_awaited: &dyn Fn() -> bool) -> Option<Self> {
        Some(Self { source: self.source.draw(is_awaited)?, ..*self })
    }
}

/// The iterator of [`MapInit`] over a block. It has a state, which the next block gets.
#[derive(Debug)]
pub struct WithState<'a, I, T, N, F> {
    items: I,
    state: Option<T>,
    states: &'a States<T, N>,
    f: &'a F,
}

impl<I: Iterator, T, B, N, F: Fn(&mut T, I::Item) -> B> Iterator for WithState<'_, I, T, N, F> {
    type Item = B;

    #[inline]
    fn next(&mut self) -> Option<B> {
        let item = self.items.next()?;
        Some((self.f)(self.state.as_mut()?, item))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I, T, N, F> Drop for WithState<'_, I, T, N, F> {
    fn drop(&mut self) {
        // A panic may have left the state half-changed.
        if !std::thread::panicking()
            && let Some(state) = self.state.take()
        {
            self.states.free.lock().unwrap_or_else(PoisonError::into_inner).push(state);
        }
    }
}
