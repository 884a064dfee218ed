//! What filch's programs share: descriptions of [workloads](programs), [queues](QUEUES), [pools](POOLS) and
//! [peers](PEERS) with their guarantees and settings; the [messages](protocol) between driver and runners; and flags,
//! tables and colours, with the feature `console`.
//!
//! Invariants: nothing here depends on the code of a scheduler or a workload, and the descriptions of queues and pools
//! match their types, which a test of `filch-runner` checks.
//!
//! ```
//! use filch_catalogue::{POOLS, PoolTuning};
//!
//! let pool = PoolTuning::parse(POOLS[0].name, "interrupts=signal")?;
//! assert_eq!(pool.to_string(), "split:interrupts=signal");
//! assert!(PoolTuning::parse("wool", "chunk=0").is_err());
//! # Ok::<(), String>(())
//! ```

#[cfg(feature = "console")]
pub mod console;
mod names;
mod peers;
pub mod programs;
pub mod protocol;
mod schedulers;
mod tuning;
pub mod values;

pub use names::{suggest, unknown};
pub use peers::{Adapter, Optional, PEERS, PeerSpec};
pub use programs::{Kind, Memory, ParamError, ParamSpec, Preset, Settings, Spec, Workload, specs};
pub use schedulers::{
    ADAPTIVE, BOUNDED_TSO, COMMON, Described, LIST_KNOBS, Lists, MOST_LEAPS, ONE_WORKER, POOL_KNOBS, POOLS, PoolSpec,
    QUEUES, QueueSpec, STEAL, STEAL_HELP, Style, WAITS, WaitSpec, list_queues, wait, why_not_for, with_common,
};
pub use tuning::{PoolTuning, Tuning};
pub use values::{Knob, Takes, Values, assignment};
