//! Timelines: what each worker did, and when. With the feature `timeline`.
//!
//! Workers note their activities only on paths that are cold anyway: when they have stolen something, wait, find
//! nothing, or sleep. A fork that nobody steals is not noted, so a recording shows the program at its usual speed.
//!
//! [`ThreadPool::record`](crate::ThreadPool::record) records a pool during a call. With the environment variable
//! `FILCH_TIMELINE=FILE` the [global pool](crate::ThreadPool::global) is recorded from its start to the end of the
//! process, and the timeline is written to that file; `%p` in the file's name stands for the number of the process.
//!
//! Invariant: the spans of a track are nested or disjoint, in the order in which they begin.

mod activity;
mod notes;
mod perfetto;
mod recorders;
mod text;
mod tracks;

pub use activity::{Act, Activity};
pub use tracks::{Mark, Span, Timeline, Times, Track};

pub(crate) use activity::Note;
pub(crate) use recorders::{Beginning, Recorders};
