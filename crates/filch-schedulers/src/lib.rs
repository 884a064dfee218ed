//! The queues and pools of filch as types, by their names: what each promises and can be set to, in the words of
//! [the catalogue](filch_catalogue), and what a type is made with when something is set.
//!
//! ```
//! use filch_catalogue::PoolTuning;
//! use filch_schedulers::{ForPool, Settings};
//!
//! let pool = PoolTuning::parse("split", "interrupts=signal")?;
//! let ((), settings) = pool.apply(Settings::of(2))?;
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

pub use pools::{DEFAULT_POOL, SHORT_BLOCKS, Settings, described_pools};
pub use queues::{PROMISES, QueueUser, described_queues, with_queue, worklist};
pub use tunable::Tunable;
pub use tuning::{Common, ForPool, ForQueue};
pub use values::Reader;
pub use waits::{WAITS, wait};
