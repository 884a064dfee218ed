//! The sources of parallel loops.
//!
//! Invariant: a conversion keeps the items and their order.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

use super::drain::Drain;
use super::lend::{Lend, Whole};
use crate::divide::divisible::Divisible;

/// A type that can be looped over in parallel: [`Divisible`] sources such as ranges and slices, arrays and the
/// collections of the standard library, by value and by reference, and parallel iterators. Wrap any other iterator with
/// [`bridge`](super::bridge()).
///
/// Cost: a `Vec` or an array is looped over in place, except for an array by value, which is moved to the heap. The
/// other collections are collected into a `Vec` of their items, or of references to these, in sequence: some
/// nanoseconds an item, and memory for it.
///
/// ```
/// use std::collections::BTreeMap;
///
/// let ages = BTreeMap::from([("Ann", 30), ("Bob", 40)]);
/// assert_eq!(filch::par(&ages).map(|(_, age)| age).sum::<u32>(), 70);
/// let names: Vec<String> = filch::par(ages).map(|(name, _)| name.to_owned()).collect();
/// assert_eq!(names, ["Ann", "Bob"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be looped over in parallel",
    label = "not a source of a parallel loop",
    note = "borrow a collection, as in `&v` or `&mut v`; wrap any other iterator, as in `filch::iter::bridge(lines)`",
    note = "items that another thread shall run must be `Send`, and items behind `&` must be `Sync`"
)]
pub trait IntoPar {
    /// The type of the items.
    type Item;

    /// The parts of the parallel iterator.
    type Parts: Lend<Item = Self::Item>;

    /// Returns the parts.
    fn into_parts(self) -> Self::Parts;
}

impl<D: Divisible> IntoPar for D {
    type Item = D::Item;
    type Parts = Whole<D>;

    #[inline]
    fn into_parts(self) -> Whole<D> {
        Whole::new(self)
    }
}

macro_rules! in_place {
    ($([$($generics:tt)*] $source:ty: $item:ty => $slice:ty, |$items:ident| $convert:expr;)+) => {$(
        impl<$($generics)*> IntoPar for $source {
            type Item = $item;
            type Parts = Whole<$slice>;

            #[inline]
            fn into_parts(self) -> Self::Parts {
                let $items = self;
                Whole::new($convert)
            }
        }
    )+};
}

in_place! {
    ['a, T: Sync] &'a Vec<T>: &'a T => &'a [T], |items| items;
    ['a, T: Send] &'a mut Vec<T>: &'a mut T => &'a mut [T], |items| items;
    ['a, T: Sync, const N: usize] &'a [T; N]: &'a T => &'a [T], |items| items;
    ['a, T: Send, const N: usize] &'a mut [T; N]: &'a mut T => &'a mut [T], |items| items;
    ['a, T: Sync] &'a Box<[T]>: &'a T => &'a [T], |items| items;
    ['a, T: Send] &'a mut Box<[T]>: &'a mut T => &'a mut [T], |items| items;
    [T: Send] Vec<T>: T => Drain<T>, |items| Drain::new(items);
    [T: Send, const N: usize] [T; N]: T => Drain<T>, |items| Drain::new(items.into());
    [T: Send] Box<[T]>: T => Drain<T>, |items| Drain::new(items.into());
    [T: Send] VecDeque<T>: T => Drain<T>, |items| Drain::new(items.into());
    [T: Send] BinaryHeap<T>: T => Drain<T>, |items| Drain::new(items.into());
}

macro_rules! collected {
    ($([$($generics:tt)*] $source:ty: $item:ty;)+) => {
        in_place! { $([$($generics)*] $source: $item => Drain<$item>, |items| Drain::new(items.into_iter().collect());)+ }
    };
}

collected! {
    [T: Send] BTreeSet<T>: T;
    [T: Send] LinkedList<T>: T;
    [K: Send, V: Send] BTreeMap<K, V>: (K, V);
    [T: Send, S] HashSet<T, S>: T;
    [K: Send, V: Send, S] HashMap<K, V, S>: (K, V);
    ['a, T: Sync] &'a VecDeque<T>: &'a T;
    ['a, T: Send] &'a mut VecDeque<T>: &'a mut T;
    ['a, T: Sync] &'a BinaryHeap<T>: &'a T;
    ['a, T: Sync] &'a BTreeSet<T>: &'a T;
    ['a, T: Sync] &'a LinkedList<T>: &'a T;
    ['a, T: Send] &'a mut LinkedList<T>: &'a mut T;
    ['a, K: Sync, V: Sync] &'a BTreeMap<K, V>: (&'a K, &'a V);
    ['a, K: Sync, V: Send] &'a mut BTreeMap<K, V>: (&'a K, &'a mut V);
    ['a, T: Sync, S] &'a HashSet<T, S>: &'a T;
    ['a, K: Sync, V: Sync, S] &'a HashMap<K, V, S>: (&'a K, &'a V);
    ['a, K: Sync, V: Send, S] &'a mut HashMap<K, V, S>: (&'a K, &'a mut V);
}
