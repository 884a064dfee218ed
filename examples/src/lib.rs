//! Programs as users write them, each beside its rayon version.
//!
//! The tests run both versions and compare the results; none of ours is longer. They also run the examples of the book,
//! `docs/book`, and check the links of all pages.
#![allow(clippy::disallowed_types, reason = "examples use the atomics that their readers know")]

pub mod async_jobs;
#[cfg(doctest)]
mod book;
pub mod branch_and_bound;
pub mod bursts;
pub mod image_filter;
pub mod unscaled;
pub mod word_count;

#[cfg(test)]
mod tests;
