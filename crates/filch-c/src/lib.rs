//! filch for C and C++: the library behind `include/filch.h`, whose macros fork and join.
//!
//! The header has the owner's fast path, inline, on the slots and limits of the default pool. [`cold`] has the other
//! halves, [`pool`] starts pools and lets calls in, [`loops`] divides ranges, [`frames`]
//! lets all workers run something together, [`thrown`] carries panics and exceptions, [`jobs`] has jobs for C++,
//! and [`layout`] is what both sides agree on. The book's chapter is `docs/book/from-c.md`.
//!
//! Programs in Rust use this crate to call tasks written in C, and to be called by them: see [`RawWorker`].
//!
//! Names with a trailing underscore are for the header alone.
//!
//! Invariant: C code uses a worker only as the macros do: on the worker's thread, at the exact head; each task that is
//! spawned is synchronized or dropped once, newest first.

#[cfg(not(panic = "unwind"))]
compile_error!("a panic in a task unwinds to whoever joins it");

pub mod cold;
pub mod frames;
pub mod jobs;
pub mod layout;
pub mod loops;
#[cfg(target_os = "linux")]
mod overflow;
pub mod pool;
pub mod thrown;

pub use filch::inside::host::RawWorker;
