//! The queues and pools of filch as types, by name: their guarantees and settings in terms of [the
//! catalogue](filch_catalogue), and the construction of a type from its settings.
//!
//! ```
//! use filch_catalogue::PoolTuning;
//! use filch_runner::schedulers::{ForPool, PoolOptions};
//!
//! let pool = PoolTuning::parse("split", "interrupts=signal")?;
//! let ((), settings) = pool.apply(PoolOptions::of(2))?;
//! assert_eq!(settings.interrupts, Some(filch::Interrupts::signal()));
//! # Ok::<(), String>(())
//! ```

mod pools;
mod queues;
mod tunable;
mod tuning;
mod values;
mod waits;
mod words;

pub use pools::{AS_IN_SOURCE, DEFAULT_POOL, ONE_VICTIM, PoolOptions, SAME_CAPACITY, SHORT_BLOCKS, described_pools};
pub use queues::{END, PROMISES, QueueUser, described_queues, list_knobs, parts, with_queue, worklist};
pub use tunable::Tunable;
pub use tuning::{Common, ForPool, ForQueue};
pub use values::Reader;
pub use waits::{WAITS, wait};
