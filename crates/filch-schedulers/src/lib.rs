//! Every scheduler by its name: what filch's [pools](POOLS), for fork–join programs, and [queues](QUEUES), for worklists and jobs, promise
//! and can be set to, and which [peers](PEERS) there are. Descriptions only: to run something there are runners.
//!
//! ```
//! use filch_schedulers::{POOLS, PoolTuning};
//!
//! let pool = PoolTuning::parse(POOLS[0].name, "interrupts=signal")?;
//! assert_eq!(pool.to_string(), "split:interrupts=signal");
//! # Ok::<(), String>(())
//! ```

mod peers;
mod pools;
mod queues;
mod tunable;
mod tuning;
mod values;
mod waits;

pub use peers::{PEERS, PeerSpec};
pub use pools::{POOLS, PoolSpec, SHORT_BLOCKS, Settings, Style};
pub use queues::{QUEUES, QueueUser, knobs, list_queues, why_not, why_not_for, with_queue, worklist};
pub use tunable::Tunable;
pub use tuning::{COMMON, Common, POOL_KNOBS, PoolTuning, STEAL, Tuning};
pub use values::{Knob, Values, assignment};
pub use waits::{WAITS, wait};

/// A sentence for a name that is not in a list: with what it resembles, or else with all there is.
///
/// ```
/// let known = ["split", "chase-lev", "locked"];
/// let near = filch_schedulers::unknown("pool", "chaselev", &known);
/// assert_eq!(near, "there is no pool `chaselev`; did you mean `chase-lev`?");
/// let far = filch_schedulers::unknown("pool", "zzzz", &known);
/// assert_eq!(far, "there is no pool `zzzz`; there are `split`, `chase-lev`, `locked`");
/// ```
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = filch_workloads::suggest(name, known.iter().copied());
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let end = match quoted.as_slice() {
        [] => "there are none".to_owned(),
        all if all.len() == known.len() && all.len() > 1 => format!("there are {}", all.join(", ")),
        [only] => format!("did you mean {only}?"),
        [first @ .., last] => format!("did you mean {} or {last}?", first.join(", ")),
    };
    format!("there is no {what} `{name}`; {end}")
}
