//! Parallel iterators: loops that are composed like the standard library's iterators.
//!
//! [`par`] makes a parallel iterator of a [source](IntoPar): a range, a slice, a collection, by reference or by value.
//! [`Par`] has the adaptors and the consumers, under the names of [`Iterator`]'s.
//!
//! ```
//! let words = vec!["work", "stealing", "scheduler"];
//! let lengths: Vec<usize> = filch::par(&words).map(|word| word.len()).collect();
//! assert_eq!(lengths, [4, 8, 9]);
//! assert_eq!(filch::par(&words).find_first(|word| word.starts_with('s')), Some(&"stealing"));
//! ```
//!
//! Each consumer is one [loop](crate::for_each): it splits when somebody wants work, and there is no grain to tune. A
//! block of some microseconds is one sequential iterator, which the compiler optimizes as such. Closures are shared by
//! reference. Results come in the order of the items, except where a name says `any`.
//!
//! In handle style [`Worker::par`](crate::Worker::par) does the same.
//!
//! # Which items run
//! An adaptor that leaves items out, such as [`skip`](Par::skip), does not run earlier adaptors on them. If a closure
//! panics, the consumer panics with one of the payloads, may leave out items not yet reached, and drops each item and
//! result once.
//!
//! # Writing a source
//! Implement [`Divisible`](crate::Divisible), and all of this works on it.
//!
//! Invariant: nothing relies on a source's length or order for safety.

// A closure called through a reference, as in `Iterator::fold(items, sum, &f)`, stays a call in the loop if rustc has
// put the reference's `call_mut` into another codegen unit and there is no LTO.
#![expect(clippy::redundant_closure)]

mod adapt;
mod bridge;
mod collect;
mod consume;
mod drain;
mod early;
mod lend;
mod par;
mod scan;
mod shape;
mod sort;
mod source;

pub use self::adapt::{Adapted, FilterMap, FlatMap, Map, MapInit};
pub use self::bridge::{Bridge, bridge};
pub use self::collect::FromPar;
pub use self::drain::Drain;
pub use self::early::Until;
pub use self::lend::{Indexed, Lend, Reversible, Whole};
pub use self::par::{Par, par};
pub use self::shape::{Chain, Chunks, Rev, Skip, StepBy, Take, Zip, Zipped};
pub use self::source::IntoPar;
pub use crate::divide::divisible::ChunksMut;
pub use crate::divide::forker::{Closures, Forker};
