//! Every scheduler of filch by its name: [pools](POOLS) for fork–join programs, [queues](QUEUES) for worklists and jobs.
//!
//! Names become types here and nowhere else, and each workload is compiled for each type here and nowhere else: that is most of
//! the time that the workspace takes to compile.
//!
//! ```
//! use filch_schedulers::{Settings, Style, start_pool};
//! use filch_workloads::Workload;
//!
//! let pool = start_pool("chase-lev", Style::Handles, &Settings::of(2))?;
//! let mut fib = Workload::new("fib", &[("n".into(), "15".into())]).and_then(|fib| fib.prepare()).unwrap();
//! let answer = pool.run(&mut fib)?;
//! assert!(fib.check(&answer).is_ok());
//! # Ok::<(), String>(())
//! ```

mod contender;
mod pools;
mod queues;
mod tuning;

pub use contender::{Contender, Sequential, start_list};
pub use pools::{POOLS, PoolSpec, Settings, Style, start_pool};
pub use queues::{QUEUES, QueueUser, knobs, why_not, why_not_for, with_queue};
pub use tuning::{CAPACITY, Knob, POOL_KNOBS, PoolTuning, STEAL, Tunable, Tuning, assignment, list_queues};

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
