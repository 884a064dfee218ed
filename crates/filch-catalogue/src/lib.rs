//! What filch has, by name: [programs] with their parameters and sizes, [queues](QUEUES), [pools](POOLS) and [peers](PEERS) with what they
//! promise and can be set to. Descriptions alone: whoever drives needs nothing else, and to run something there are runners.
//!
//! What must always hold: nothing here depends on the code of a scheduler or a program; what is said of queues and pools is what their
//! types say, which a test of `filch-schedulers` compares.
//!
//! ```
//! use filch_catalogue::{POOLS, PoolTuning};
//!
//! let pool = PoolTuning::parse(POOLS[0].name, "interrupts=signal")?;
//! assert_eq!(pool.to_string(), "split:interrupts=signal");
//! assert!(PoolTuning::parse("wool", "chunk=0").is_err());
//! # Ok::<(), String>(())
//! ```

mod names;
mod peers;
pub mod programs;
mod schedulers;
mod tuning;
pub mod values;

pub use names::{suggest, unknown};
pub use peers::{PEERS, PeerSpec};
pub use programs::{Kind, Memory, ParamError, ParamSpec, Preset, Settings, Spec, Workload, specs};
pub use schedulers::{
    BOUNDED_TSO, COMMON, Lists, POOL_KNOBS, POOLS, PoolSpec, QUEUES, QueueSpec, STEAL, STEAL_HELP, Style, WAITS,
    WaitSpec, list_queues, wait, why_not, why_not_for, with_common,
};
pub use tuning::{PoolTuning, Tuning};
pub use values::{Knob, Takes, Values, assignment};
