//! Loops over any iterator.
//!
//! One worker at a time draws a batch of items, while the others run the batch before it. Theft decides which worker
//! draws. So there is no lock for which a worker could wait, whatever the iterator and the loop do.
//!
//! Invariant: a source has items or the iterator, never both.

use filch_queue::clock;

use super::drain::{Drain, Items};
use super::lend::Lend;
use super::source::IntoPar;
use crate::divide::divisible::Divisible;
use crate::protocol::grain::Time;

/// Makes a source of any iterator: loops draw its items in sequence, and run them in parallel. Its adaptors and
/// consumers keep the order, too.
///
/// Items are drawn in batches of up to some thousands, so an item may wait until later items are drawn, and if the loop
/// ends early, more items may be drawn than run. Therefore the iterator must not wait for the loop to run an item. It
/// may fork, and loops over bridges may be nested.
///
/// Cost: some nanoseconds an item, and an allocation for each batch. A [`Divisible`] source is better, since its items
/// need not be drawn one by one.
///
/// ```
/// use filch::iter::bridge;
///
/// let text = "one 1\ntwo 2\nthree 3";
/// let numbers: Vec<u32> = filch::par(bridge(text.lines()))
///     .filter_map(|line| line.split_once(' '))
///     .map(|(_, number)| number.parse().unwrap())
///     .collect();
/// assert_eq!(numbers, [1, 2, 3]);
/// assert_eq!(filch::par(bridge(0..)).find_first(|i| i * i > 1000), Some(32), "the end of what has no end");
/// ```
///
/// # Panics
/// The loop panics if the iterator does.
pub fn bridge<I>(items: I) -> Bridge<I::IntoIter>
where
    I: IntoIterator<IntoIter: Send, Item: Send>,
{
    Bridge(Some(items.into_iter()))
}

/// An iterator, to be looped over in parallel: see [`bridge`].
#[derive(Debug)]
pub struct Bridge<I>(Option<I>);

impl<I: Iterator<Item: Send> + Send> IntoPar for Bridge<I> {
    type Item = I::Item;
    type Parts = Self;

    fn into_parts(self) -> Self {
        self
    }
}

impl<I: Iterator<Item: Send> + Send> Lend for Bridge<I> {
    type Item = I::Item;
    type Source<'a>
        = Bridged<I>
    where
        I: 'a;

    fn source(&mut self) -> Bridged<I> {
        Bridged { drawn: Drain::new(Vec::new()), items: Some(self.0.take().expect("a source is lent once")) }
    }
}

/// The source of a [`Bridge`]: the iterator, or a batch of its items.
#[derive(Debug)]
pub struct Bridged<I: Iterator> {
    drawn: Drain<I::Item>,
    items: Option<I>,
}

impl<I: Iterator> IntoIterator for Bridged<I> {
    type Item = I::Item;
    type IntoIter = Items<I::Item>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.drawn.into_iter()
    }
}

impl<I: Iterator<Item: Send> + Send> Divisible for Bridged<I> {
    #[inline]
    fn length(&self) -> usize {
        self.drawn.length()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.drawn.cut(at);
        (Self { drawn: left, items: None }, Self { drawn: right, items: None })
    }

    const IS_DRAWN: bool = true;

    fn draw(&mut self, is_awaited: &dyn Fn() -> bool) -> Option<Self> {
        /// About 50 µs, and few enough items to fit a cache.
        const LONG: Time = 150_000;
        const MANY: usize = 1 << 12;
        let started = clock::now();
        let items = self.items.as_mut()?;
        let mut drawn = Vec::new();
        for item in items.by_ref() {
            drawn.push(item);
            if drawn.len() >= MANY || clock::now().saturating_sub(started) >= LONG && is_awaited() {
                return Some(Self { drawn: Drain::new(drawn), items: None });
            }
        }
        // An iterator that has ended may begin again.
        self.items = None;
        if drawn.is_empty() { None } else { Some(Self { drawn: Drain::new(drawn), items: None }) }
    }
}
