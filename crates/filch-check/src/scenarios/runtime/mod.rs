//! filch's own protocols, together: fork, join, steal, leapfrog, sleep, wake; latches, mail, searching.
//!
//! A worker here is a worker of the default pool, reduced to its protocols. The protocols are those that ship:
//! [`split`](filch::inside::protocol::split) forks and joins, [`waiting`](filch::inside::protocol::waiting) waits,
//! [`JobState`](filch::inside::protocol::state::JobState) tracks who has a task,
//! [`Dormitory`](filch::inside::protocol::sleep::Dormitory) who sleeps, and
//! [`Latch`](filch::inside::protocol::latch::Latch) what has ended. Only the way a thief takes and runs a task is
//! restated: filch's slots and closures are made for speed on one memory.
//!
//! Checks: every task of a small tree runs once, its result reaches its joiner, no worker sleeps for ever, and no two
//! threads use a task's memory without an order between them.

mod clocks;
mod counting;
mod forking;
mod latches;
mod patience;
mod posting;
mod searching;
mod worker;

pub use clocks::{beat, ticks};
pub use counting::{all_home, termination, transfers};
pub use forking::{Others, fork_join, wake_up};
pub use latches::{event, latch};
pub use posting::{posted, posted_to_a_joiner};
pub use searching::{Unfenced, pieces, push_unfenced};
pub use worker::{AS_PRINTED, COARSE, FICKLE, Policy, Waiting};

type Threads = Vec<(String, Box<dyn FnOnce()>)>;
