//! Programs as users write them, each beside its rayon version.
//!
//! | program | shows | run it |
//! | --- | --- | --- |
//! | [`word_count`] | errors that end a loop, progress, both styles | `cargo run -p filch-examples -- word-count FOLDER` |
//! | [`image_filter`] | nested loops by handles, scratch buffers | `… -- image-filter` |
//! | [`branch_and_bound`] | a search that stops at its goal, or when its time is over | `… -- branch-and-bound` |
//! | [`bursts`] | four threads that call loops of some 20 µs | `… -- bursts` |
//! | [`async_jobs`] | tokio that awaits jobs, some of which panic | `… -- async-jobs` |
//!
//! The tests run both versions and compare the results; none of ours is longer. They also run the examples of the book,
//! `docs/book`.
#![allow(clippy::disallowed_types, reason = "examples use the atomics that their readers know")]

pub mod async_jobs;
#[cfg(doctest)]
mod book;
pub mod branch_and_bound;
pub mod bursts;
pub mod image_filter;
pub mod word_count;

#[cfg(test)]
mod tests;
