//! Adaptors that choose, pair or reorder items by their indices.
//!
//! Invariant: they drop the items that they leave out, and run no closure on them.

use std::iter;

use super::lend::{Indexed, Lend, Reversible};
use crate::divide::divisible::Divisible;

/// The parts of [`Par::zip`](super::Par::zip) and [`Par::enumerate`](super::Par::enumerate).
#[derive(Debug)]
pub struct Zip<A, B>(pub(super) A, pub(super) B);

/// Two sources of the same length, in step: the source of [`Par::zip`](super::Par::zip). Use it directly for loops that
/// want blocks of both sources instead of pairs of items:
///
/// ```
/// use filch::iter::Zipped;
///
/// let (mut sums, terms) = ([1.0; 1000], [2.0; 1000]);
/// let add = |(), Zipped(sums, terms): Zipped<&mut [f64], &[f64]>| {
///     sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
/// };
/// filch::fold_blocks(Zipped(&mut sums[..], &terms[..]), (), add, |(), ()| ());
/// assert_eq!(sums, [3.0; 1000]);
/// ```
#[derive(Debug)]
pub struct Zipped<A, B>(pub A, pub B);

impl<A: Indexed, B: Indexed> Lend for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Source<'a>
        = Zipped<A::Source<'a>, B::Source<'a>>
    where
        Self: 'a;

    const IS_EXACT: bool = true;

    fn source(&mut self) -> Self::Source<'_> {
        let (a, b) = (self.0.source(), self.1.source());
        let length = a.length().min(b.length());
        Zipped(first(a, length), first(b, length))
    }
}

/// Returns the first `most` items of a source, or all if there are fewer.
fn first<S: Divisible>(source: S, most: usize) -> S {
    if source.length() > most || !source.is_counted() { source.cut(most).0 } else { source }
}

/// Returns the source, for an adaptor that depends on the exact number of its items.
///
/// # Panics
/// If a `usize` cannot count the items.
fn counted<S: Divisible>(source: S) -> S {
    assert!(source.is_counted(), "a parallel iterator has more items than a usize can count");
    source
}

impl<A: Indexed, B: Indexed> Indexed for Zip<A, B> {}

impl<A: Reversible, B: Reversible> Reversible for Zip<A, B> {
    type Backward<'a>
        = iter::Zip<A::Backward<'a>, B::Backward<'a>>
    where
        Self: 'a;

    fn backward<'a>(block: Self::Source<'a>) -> Self::Backward<'a>
    where
        Self: 'a,
    {
        A::backward(block.0).zip(B::backward(block.1))
    }
}

impl<A: IntoIterator, B: IntoIterator> IntoIterator for Zipped<A, B> {
    type Item = (A::Item, B::Item);
    type IntoIter = iter::Zip<A::IntoIter, B::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().zip(self.1)
    }
}

impl<A: Divisible, B: Divisible> Divisible for Zipped<A, B> {
    #[inline]
    fn length(&self) -> usize {
        self.0.length()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (a, b) = (self.0.cut(at), self.1.cut(at));
        (Self(a.0, b.0), Self(a.1, b.1))
    }
}

/// The parts of [`Par::chain`](super::Par::chain).
#[derive(Debug)]
pub struct Chain<A, B>(pub(super) A, pub(super) B);

/// The source of [`Chain`]: one source, or two in this order. Its iterator has the iterators of both.
#[derive(Debug)]
pub struct Chained<A, B>(Option<A>, Option<B>);

impl<A: Lend, B: Lend<Item = A::Item>> Lend for Chain<A, B> {
    type Item = A::Item;
    type Source<'a>
        = Chained<A::Source<'a>, B::Source<'a>>
    where
        Self: 'a;

    const IS_EXACT: bool = A::IS_EXACT && B::IS_EXACT;

    fn source(&mut self) -> Self::Source<'_> {
        Chained(Some(self.0.source()), Some(self.1.source()))
    }
}

impl<A: Indexed, B: Indexed<Item = A::Item>> Indexed for Chain<A, B> {}

impl<A: Reversible, B: Reversible<Item = A::Item>> Reversible for Chain<A, B> {
    type Backward<'a>
        = ChainIter<B::Backward<'a>, A::Backward<'a>>
    where
        Self: 'a;

    fn backward<'a>(block: Self::Source<'a>) -> Self::Backward<'a>
    where
        Self: 'a,
    {
        ChainIter(block.1.map(B::backward), block.0.map(A::backward))
    }
}

impl<A: IntoIterator, B: IntoIterator<Item = A::Item>> IntoIterator for Chained<A, B> {
    type Item = A::Item;
    type IntoIter = ChainIter<A::IntoIter, B::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        ChainIter(self.0.map(A::into_iter), self.1.map(B::into_iter))
    }
}

impl<A: Divisible, B: Divisible<Item = A::Item>> Divisible for Chained<A, B> {
    #[inline]
    fn length(&self) -> usize {
        let first = self.0.as_ref().map_or(0, A::length);
        first.saturating_add(self.1.as_ref().map_or(0, B::length))
    }

    #[inline]
    fn is_counted(&self) -> bool {
        let (first, second) = (self.0.as_ref(), self.1.as_ref());
        first.is_none_or(A::is_counted)
            && second.is_none_or(B::is_counted)
            && first.map_or(0, A::length).checked_add(second.map_or(0, B::length)).is_some()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let first = at.min(self.0.as_ref().map_or(0, A::length));
        let (a, more_a) = self.0.map(|a| a.cut(first)).unzip();
        let (b, more_b) = self.1.map(|b| b.cut(at - first)).unzip();
        (Self(a, b), Self(more_a, more_b))
    }

    const IS_DRAWN: bool = A::IS_DRAWN || B::IS_DRAWN;

    fn draw(&mut self, is_awaited: &dyn Fn() -> bool) -> Option<Self> {
        if let Some(drawn) = draw_from(&mut self.0, is_awaited) {
            return Some(Self(Some(drawn), None));
        }
        Some(Self(None, Some(draw_from(&mut self.1, is_awaited)?)))
    }
}

/// Draws from a source; takes all of it if the source cannot draw.
fn draw_from<S: Divisible>(source: &mut Option<S>, is_awaited: &dyn Fn() -> bool) -> Option<S> {
    if !S::IS_DRAWN {
        return source.take();
    }
    let drawn = source.as_mut()?.draw(is_awaited);
    if drawn.is_none() {
        *source = None;
    }
    drawn
}

/// The iterator of [`Chain`] over a block.
///
/// The standard one always has both iterators.
#[derive(Debug)]
pub struct ChainIter<A, B>(Option<A>, Option<B>);

impl<A: Iterator, B: Iterator<Item = A::Item>> Iterator for ChainIter<A, B> {
    type Item = A::Item;

    #[inline]
    fn next(&mut self) -> Option<A::Item> {
        if let Some(a) = &mut self.0 {
            match a.next() {
                None => self.0 = None,
                item => return item,
            }
        }
        self.1.as_mut()?.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let hint = |hint: Option<(usize, Option<usize>)>| hint.unwrap_or((0, Some(0)));
        let (a, b) = (hint(self.0.as_ref().map(A::size_hint)), hint(self.1.as_ref().map(B::size_hint)));
        (a.0.saturating_add(b.0), a.1.zip(b.1).and_then(|(a, b)| a.checked_add(b)))
    }

    #[inline]
    fn fold<T, F: FnMut(T, A::Item) -> T>(self, sum: T, mut fold: F) -> T {
        let sum = match self.0 {
            Some(a) => a.fold(sum, |sum, item| fold(sum, item)),
            None => sum,
        };
        match self.1 {
            Some(b) => b.fold(sum, fold),
            None => sum,
        }
    }
}

/// The parts of [`Par::rev`](super::Par::rev).
#[derive(Debug)]
pub struct Rev<S>(pub(super) S);

/// The source of [`Rev`].
pub struct Reversed<'a, S: Reversible + 'a>(S::Source<'a>);

impl<'a, S: Reversible + 'a> std::fmt::Debug for Reversed<'a, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reversed").field("length", &self.0.length()).finish()
    }
}

impl<S: Reversible> Lend for Rev<S> {
    type Item = S::Item;
    type Source<'a>
        = Reversed<'a, S>
    where
        Self: 'a;

    const IS_EXACT: bool = true;

    fn source(&mut self) -> Self::Source<'_> {
        Reversed(counted(self.0.source()))
    }
}

impl<S: Reversible> Indexed for Rev<S> {}

impl<S: Reversible> Reversible for Rev<S> {
    type Backward<'a>
        = <S::Source<'a> as IntoIterator>::IntoIter
    where
        Self: 'a;

    fn backward<'a>(block: Self::Source<'a>) -> Self::Backward<'a>
    where
        Self: 'a,
    {
        block.0.into_iter()
    }
}

impl<'a, S: Reversible + 'a> IntoIterator for Reversed<'a, S> {
    type Item = S::Item;
    type IntoIter = S::Backward<'a>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        S::backward(self.0)
    }
}

impl<'a, S: Reversible + 'a> Divisible for Reversed<'a, S> {
    #[inline]
    fn length(&self) -> usize {
        self.0.length()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let before = self.length() - at;
        let (left, right) = self.0.cut(before);
        (Self(right), Self(left))
    }
}

/// Defines an adaptor whose source is a part of its base's source.
macro_rules! part {
    ($(#[$doc:meta])* $name:ident, |$source:ident, $items:ident| $part:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<S> {
            parts: S,
            items: usize,
        }

        impl<S> $name<S> {
            pub(super) fn new(parts: S, items: usize) -> Self {
                Self { parts, items }
            }
        }

        impl<S: Indexed> Lend for $name<S> {
            type Item = S::Item;
            type Source<'a>
                = S::Source<'a>
            where
                Self: 'a;

            const IS_EXACT: bool = true;

            fn source(&mut self) -> Self::Source<'_> {
                let ($source, $items) = (self.parts.source(), self.items);
                $part
            }
        }

        impl<S: Indexed> Indexed for $name<S> {}

        impl<S: Reversible> Reversible for $name<S> {
            type Backward<'a>
                = S::Backward<'a>
            where
                Self: 'a;

            fn backward<'a>(block: Self::Source<'a>) -> Self::Backward<'a>
            where
                Self: 'a,
            {
                S::backward(block)
            }
        }
    };
}

part! {
    /// The parts of [`Par::take`](super::Par::take).
    Take, |source, items| first(source, items)
}

part! {
    /// The parts of [`Par::skip`](super::Par::skip).
    Skip, |source, items| {
        let items = items.min(source.length());
        source.cut(items).1
    }
}

/// Defines an adaptor whose items are made of `size` items each, the last one perhaps of fewer.
macro_rules! by_size {
    ($(#[$doc:meta])* $parts:ident, $source:ident: $item:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $parts<S> {
            parts: S,
            size: usize,
        }

        impl<S> $parts<S> {
            pub(super) fn new(parts: S, size: usize) -> Self {
                assert!(size > 0, "a step of no items has no end");
                Self { parts, size }
            }
        }

        impl<S: Indexed> Lend for $parts<S> {
            type Item = $item;
            type Source<'a>
                = $source<S::Source<'a>>
            where
                Self: 'a;

            const IS_EXACT: bool = true;

            fn source(&mut self) -> Self::Source<'_> {
                $source { source: counted(self.parts.source()), size: self.size }
            }
        }

        impl<S: Indexed> Indexed for $parts<S> {}

        #[doc = concat!("The source of [`", stringify!($parts), "`].")]
        #[derive(Debug)]
        pub struct $source<S> {
            source: S,
            size: usize,
        }

        impl<S: Divisible> Divisible for $source<S> {
            #[inline]
            fn length(&self) -> usize {
                self.source.length().div_ceil(self.size)
            }

            #[inline]
            fn cut(self, at: usize) -> (Self, Self) {
                let at = at.saturating_mul(self.size).min(self.source.length());
                let (left, right) = self.source.cut(at);
                (Self { source: left, ..self }, Self { source: right, ..self })
            }
        }
    };
}

by_size! {
    /// The parts of [`Par::step_by`](super::Par::step_by).
    StepBy, Stepped: S::Item
}

by_size! {
    /// The parts of [`Par::chunks`](super::Par::chunks).
    Chunks, Chunked: Vec<S::Item>
}

impl<S: IntoIterator> IntoIterator for Stepped<S> {
    type Item = S::Item;
    type IntoIter = iter::StepBy<S::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.source.into_iter().step_by(self.size)
    }
}

impl<S: Reversible> Reversible for StepBy<S> {
    type Backward<'a>
        = iter::StepBy<S::Backward<'a>>
    where
        Self: 'a;

    fn backward<'a>(block: Self::Source<'a>) -> Self::Backward<'a>
    where
        Self: 'a,
    {
        // The last of the stepped items comes first.
        let length = block.source.length();
        let kept = length.saturating_sub(length.saturating_sub(1) % block.size);
        S::backward(first(block.source, kept)).step_by(block.size)
    }
}

impl<S: IntoIterator> IntoIterator for Chunked<S> {
    type Item = Vec<S::Item>;
    type IntoIter = ChunksIter<S::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        ChunksIter { items: self.source.into_iter(), size: self.size }
    }
}

/// The iterator of [`Chunks`] over a block.
#[derive(Debug)]
pub struct ChunksIter<I> {
    items: I,
    size: usize,
}

impl<I: Iterator> Iterator for ChunksIter<I> {
    type Item = Vec<I::Item>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.items.next()?;
        // `size` does not promise that there are so many items.
        let mut chunk = Vec::with_capacity(self.items.size_hint().0.saturating_add(1).min(self.size));
        chunk.push(first);
        chunk.extend(self.items.by_ref().take(self.size - 1));
        Some(chunk)
    }
}
