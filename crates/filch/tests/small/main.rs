//! Small programs, each with every pool or queue that can run it: for Miri, for the sanitizers, and as fast tests.
//!
//! What must always hold: a program borrows, moves and drops memory of its own wherever the library lets it, so that a tool that sees
//! memory sees each misuse of it; and it ends, with all its threads, whoever runs what.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod any;
mod any_lists;
#[path = "../common/mod.rs"]
mod common;
mod crews;
#[cfg(unix)]
mod evil;
mod forks;
mod lists;
mod panics;
mod until_stolen;
