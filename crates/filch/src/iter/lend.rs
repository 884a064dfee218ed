//! The parts of a parallel iterator, which it owns and lends to a loop.
//!
//! Invariant: the lent source has the parts' items, in order.

use crate::divide::divisible::Divisible;

/// The parts of a parallel iterator. They own the closures, and lend a source that refers to them.
///
/// You need it only to name a bound, as in `fn total<S: Lend<Item = u64>>(…)`.
pub trait Lend {
    /// The type of the items.
    type Item;

    /// The source. Its length is the number of items before any adaptor that drops or adds some.
    type Source<'a>: Divisible<Item = Self::Item>
    where
        Self: 'a;

    /// Whether the source's length is the number of its items.
    const IS_EXACT: bool = false;

    /// Lends the source, once.
    ///
    /// # Panics
    /// Perhaps, if called again.
    fn source(&mut self) -> Self::Source<'_>;
}

/// Parts whose number of items is the length of their source, so that each item's index is known.
#[diagnostic::on_unimplemented(
    message = "the number of items of this parallel iterator is not known in advance",
    label = "items have no index here",
    note = "use `enumerate`, `zip`, `rev`, `take`, `skip`, `step_by` and `chunks` before `filter`, `filter_map` and `flat_map`"
)]
pub trait Indexed: Lend {}

/// Parts that can yield their items in reverse.
#[diagnostic::on_unimplemented(
    message = "this parallel iterator cannot be reversed",
    note = "a source can be reversed if its iterator is a `DoubleEndedIterator`"
)]
pub trait Reversible: Indexed {
    /// The items of a block, the last one first.
    type Backward<'a>: Iterator<Item = Self::Item>
    where
        Self: 'a;

    /// Iterates over a block of the source, beginning with its last item.
    fn backward<'a>(block: Self::Source<'a>) -> Self::Backward<'a>
    where
        Self: 'a;
}

/// The parts of a parallel iterator over a source as it is.
#[derive(Debug)]
pub struct Whole<D>(Option<D>);

impl<D> Whole<D> {
    pub(crate) fn new(source: D) -> Self {
        Self(Some(source))
    }

    pub(crate) fn take(&mut self) -> D {
        self.0.take().expect("a source is lent once")
    }
}

impl<D: Divisible> Lend for Whole<D> {
    type Item = D::Item;
    type Source<'a>
        = D
    where
        D: 'a;

    const IS_EXACT: bool = true;

    fn source(&mut self) -> D {
        self.take()
    }
}

impl<D: Divisible> Indexed for Whole<D> {}

impl<D: Divisible<IntoIter: DoubleEndedIterator>> Reversible for Whole<D> {
    type Backward<'a>
        = std::iter::Rev<D::IntoIter>
    where
        D: 'a;

    fn backward<'a>(block: D) -> Self::Backward<'a>
    where
        D: 'a,
    {
        block.into_iter().rev()
    }
}
