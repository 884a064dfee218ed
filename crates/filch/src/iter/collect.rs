//! Collections made of a parallel iterator's items.
//!
//! Invariant: if the collection is not completed, the items already written are dropped.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::mem::{self, MaybeUninit};
use std::{ptr, slice};

use super::lend::Lend;
use super::par::Par;
use crate::divide::{divisible::Divisible, forker::Forker, run::run};

/// A type that a parallel iterator over `T` can be [collected](Par::collect) into: collections of the standard library,
/// and `Option` and `Result` of them. A loop ends at the first `Err` or `None` in time.
#[diagnostic::on_unimplemented(
    message = "a parallel iterator over `{T}` cannot be collected into `{Self}`",
    note = "the items must be `Send`; collect into a `Vec` first if you need another collection"
)]
pub trait FromPar<T>: Sized {
    /// Collects the items.
    fn from_par<S: Lend<Item = T>, K: Forker>(items: Par<S, K>) -> Self;
}

/// Extends collections by the blocks, and returns them in the order of the items. While nobody wants work, there is one
/// collection.
pub(super) fn gather<S, K, C>(items: Par<S, K>) -> Vec<C>
where
    S: Lend,
    K: Forker,
    C: Default + Extend<S::Item> + Send,
{
    let Par { mut parts, forker } = items;
    let join = |mut left: Vec<C>, right: Vec<C>| {
        left.extend(right);
        left
    };
    let extend = |mut pieces: Vec<C>, block: S::Source<'_>| {
        if pieces.is_empty() {
            pieces.push(C::default());
        }
        if let Some(last) = pieces.last_mut() {
            last.extend(block);
        }
        pieces
    };
    run(forker, parts.source(), &Vec::new, &extend, &join)
}

impl<T: Send> FromPar<T> for Vec<T> {
    fn from_par<S: Lend<Item = T>, K: Forker>(items: Par<S, K>) -> Self {
        if S::IS_EXACT {
            return fill(items);
        }
        let mut pieces = gather::<_, _, Self>(items).into_iter();
        let mut all = pieces.next().unwrap_or_default();
        all.reserve(pieces.as_slice().iter().map(Self::len).sum());
        pieces.for_each(|mut piece| all.append(&mut piece));
        all
    }
}

/// Collects items whose number is known.
fn fill<T: Send, S: Lend<Item = T>, K: Forker>(items: Par<S, K>) -> Vec<T> {
    let Par { mut parts, forker } = items;
    let source = parts.source();
    let length = source.length();
    let mut all = Vec::with_capacity(length);
    let base = Base(all.as_mut_ptr());
    let filled = run(
        forker,
        Filling { source, base, from: 0, length },
        &|| Filled { base, from: 0, length: 0 },
        &|before, block| before.append(block.fill()),
        &Filled::append,
    );
    assert_eq!(filled.length, length, "items are missing");
    mem::forget(filled);
    // SAFETY: the vector's first `length` items were filled, and nobody drops them.
    unsafe { all.set_len(length) };
    all
}

/// The memory of a vector that is being filled.
struct Base<T>(*mut T);

impl<T> Clone for Base<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Base<T> {}

// SAFETY: whoever has it writes only to places that belong to a `Filling`, and drops only items of a `Filled`; of each
// place there is at most one. The items move to other threads by that.
unsafe impl<T: Send> Send for Base<T> {}

// SAFETY: as above.
unsafe impl<T: Send> Sync for Base<T> {}

/// A source, and a place for each of its items: `length` uninitialized places of a vector that lives at least as long.
struct Filling<S, T> {
    source: S,
    base: Base<T>,
    from: usize,
    length: usize,
}

impl<T, S: IntoIterator<Item = T>> Filling<S, T> {
    /// Writes the source's items to their places.
    #[inline]
    fn fill(self) -> Filled<T> {
        let Self { source, base, from, length } = self;
        // SAFETY: the places are within the vector's memory, and belong to `self`, so that nobody else uses them.
        let places: &mut [MaybeUninit<T>] = unsafe { slice::from_raw_parts_mut(base.0.add(from).cast(), length) };
        let mut filled = Filled { base, from, length: 0 };
        places.iter_mut().zip(source).for_each(|(place, item)| {
            place.write(item);
            filled.length += 1;
        });
        assert_eq!(filled.length, length, "a source has fewer items than its length");
        filled
    }
}

impl<T, S: IntoIterator<Item = T>> IntoIterator for Filling<S, T> {
    type Item = T;
    type IntoIter = S::IntoIter;

    fn into_iter(self) -> S::IntoIter {
        self.source.into_iter()
    }
}

impl<T: Send, S: Divisible<Item = T>> Divisible for Filling<S, T> {
    #[inline]
    fn length(&self) -> usize {
        self.length
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        assert!(at <= self.length, "a cut beyond the end");
        let (left, right) = self.source.cut(at);
        (
            Self { source: left, length: at, ..self },
            Self { source: right, from: self.from + at, length: self.length - at, ..self },
        )
    }
}

/// Items that were written to adjacent places, and that this owns.
struct Filled<T> {
    base: Base<T>,
    from: usize,
    length: usize,
}

impl<T> Filled<T> {
    /// Takes over the items of `other`, which follow its own.
    #[inline]
    fn append(mut self, other: Self) -> Self {
        if self.length == 0 {
            return other;
        }
        if other.length > 0 {
            assert_eq!(self.from + self.length, other.from, "a gap between items");
            self.length += other.length;
        }
        mem::forget(other);
        self
    }
}

impl<T> Drop for Filled<T> {
    fn drop(&mut self) {
        // SAFETY: the items are within the vector's memory.
        let first = unsafe { self.base.0.add(self.from) };
        // SAFETY: they were written, and belong to `self`.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(first, self.length)) };
    }
}

impl FromPar<()> for () {
    fn from_par<S: Lend<Item = ()>, K: Forker>(items: Par<S, K>) {
        items.for_each(|()| ());
    }
}

impl<T> FromPar<T> for String
where
    Self: Extend<T>,
{
    fn from_par<S: Lend<Item = T>, K: Forker>(items: Par<S, K>) -> Self {
        let mut pieces = gather::<_, _, Self>(items).into_iter();
        let mut all = pieces.next().unwrap_or_default();
        pieces.for_each(|piece| all.push_str(&piece));
        all
    }
}

impl<T, E: Send, C: FromPar<T>> FromPar<Result<T, E>> for Result<C, E> {
    fn from_par<S: Lend<Item = Result<T, E>>, K: Forker>(items: Par<S, K>) -> Self {
        items.until_error(|oks| C::from_par(oks))
    }
}

impl<T, C: FromPar<T>> FromPar<Option<T>> for Option<C> {
    fn from_par<S: Lend<Item = Option<T>>, K: Forker>(items: Par<S, K>) -> Self {
        items.map(|item| item.ok_or(())).until_error(|somes| C::from_par(somes)).ok()
    }
}

macro_rules! by_a_vector {
    ($([$($generics:tt)*] $collection:ty: $item:ty;)+) => {$(
        impl<$($generics)*> FromPar<$item> for $collection {
            fn from_par<I: Lend<Item = $item>, F: Forker>(items: Par<I, F>) -> Self {
                Vec::from_par(items).into_iter().collect()
            }
        }
    )+};
}

by_a_vector! {
    [T: Send] Box<[T]>: T;
    [T: Send] VecDeque<T>: T;
    [T: Send] LinkedList<T>: T;
    [T: Ord + Send] BinaryHeap<T>: T;
    [T: Ord + Send] BTreeSet<T>: T;
    [K: Ord + Send, V: Send] BTreeMap<K, V>: (K, V);
    [T: Eq + Hash + Send, S: BuildHasher + Default] HashSet<T, S>: T;
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Default] HashMap<K, V, S>: (K, V);
}
