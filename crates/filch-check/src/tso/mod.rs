//! Bounded TSO: the memory [`Tso`], and the exhaustive explorer of programs that run on it.

mod clock;
mod explore;
mod history;
mod machine;
mod memory;
mod record;
mod runner;
mod schedule;
mod search;
mod shortest;

pub use clock::MAX_THREADS;
pub(crate) use explore::survey;
pub use explore::{Bounds, Explored, Failure, Verdict, explore, replay};
pub use history::History;
pub use machine::Processor;
pub(crate) use memory::{LOOKS_ALONE, outcome};
pub use memory::{Plain, Tso, Word, Words, choose, note};
pub(crate) use runner::Quiet;
pub use schedule::Schedule;
pub use shortest::shortest;
