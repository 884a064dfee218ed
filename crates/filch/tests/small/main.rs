//! Small programs on every pool or queue that can run them: fast tests, for Miri and the sanitizers too.
//!
//! Invariant: a program borrows, moves and drops its own memory wherever the library permits, so that a memory checker
//! sees each misuse; and it ends, with all its threads, in any schedule.
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
