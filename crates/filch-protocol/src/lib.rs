//! What filch's driver and the runners of schedulers say to each other: one JSON object a line.
//!
//! A *runner* is a program that runs workloads on one scheduler. It is asked on its standard input and answers on its standard
//! output; what it writes to standard error is shown if it breaks. `docs/runners.md` tells the whole, for whoever writes one.
//!
//! What must always hold: the fields that there are keep their names and meaning as long as [`VERSION`] stays; new ones are optional.
//!
//! ```
//! use filch_protocol::{Order, Reply, Request};
//!
//! let order = Order { program: "fib".to_owned(), workers: 2, ..Order::default() };
//! let line = serde_json::to_string(&Request::Prepare(order)).unwrap();
//! assert_eq!(line, r#"{"ask":"prepare","program":"fib","workers":2}"#);
//! let reply: Reply = serde_json::from_str(r#"{"tell":"refused","why":"there is no program `fob`"}"#).unwrap();
//! assert!(matches!(reply, Reply::Refused { .. }));
//! ```

mod machine;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use machine::{Load, Machine, cores, cpu_time, memory_available, now, peak_rss_bytes};

/// Of the protocol. A driver refuses a runner that speaks another one.
pub const VERSION: u32 = 1;

/// What the names of runners begin with, as programs; a scheduler's name follows.
pub const PREFIX: &str = "filch-run-";

/// What a runner is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Request {
    /// What it can do: [`Reply::Description`].
    Describe,
    /// To make the program's input, start the scheduler, and warm up: [`Reply::Ready`]. Once in a runner's life.
    Prepare(Order),
    /// To run the program once and time that: [`Reply::Ran`]. It comes after a [`Reply::Ready`].
    Run,
    /// To restore the input for the next run: [`Reply::Ready`].
    Reset,
}

/// What is to be run, on what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Order {
    /// The program's name.
    pub program: String,
    /// Its parameters; those that are missing have their defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// How many threads compute.
    pub workers: usize,
    /// The scheduler's own settings; one that it does not have is refused.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Untimed runs before the first timed one.
    #[serde(skip_serializing_if = "is_zero")]
    pub warmup: usize,
    /// The parameters of those, if they are of another size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_parameters: Option<BTreeMap<String, String>>,
}

/// serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What a runner answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "kebab-case")]
pub enum Reply {
    /// The first line, which nobody has to ask for.
    Hello(Hello),
    /// What it can do.
    Description(Description),
    /// The program can be run.
    Ready,
    /// A run has ended.
    Ran(Box<Ran>),
    /// It cannot do this, here or at all: there is no use in trying again.
    Refused {
        /// A sentence.
        why: String,
    },
}

/// Who a runner is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Which [`VERSION`] it speaks.
    pub protocol: u32,
    /// The scheduler's name.
    pub scheduler: String,
    /// The scheduler's version.
    #[serde(default)]
    pub version: String,
    /// How and where it was built, as far as it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// What a runner can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Description {
    /// The programs.
    pub programs: Vec<ProgramDescription>,
    /// The scheduler's own settings, each with what it means.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The largest number of workers, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_workers: Option<usize>,
}

/// A program that a runner can run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramDescription {
    /// What it is asked for by.
    pub name: String,
    /// The names of its parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// How long it took, from the program's start to its answer.
    pub seconds: f64,
    /// What it computed.
    pub answer: String,
    /// What is wrong with it, or with what it has left in memory, if the runner knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How many tasks there were: as many as were pushed, if that was counted, and otherwise what the program knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// How many there should be, if the program knows, where those that were pushed have been counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_tasks: Option<u64>,
    /// What else the scheduler has counted in this run, all workers together.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub counters: Map<String, Value>,
    /// What each worker has counted, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Map<String, Value>>,
    /// Processor time of the process during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Processors that other programs kept busy during all runs so far.
    #[serde(default)]
    pub others: f64,
    /// Processors that the hypervisor took.
    #[serde(default)]
    pub stolen: f64,
    /// The most memory that the process has had.
    #[serde(default)]
    pub peak_rss_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_runner_leaves_out_is_as_by_default() {
        let line = r#"{"tell":"ran","seconds":0.5,"answer":"55"}"#;
        let expected = Ran { seconds: 0.5, answer: "55".to_owned(), ..Ran::default() };
        assert_eq!(serde_json::from_str::<Reply>(line).unwrap(), Reply::Ran(Box::new(expected)));
        let line = r#"{"tell":"hello","protocol":1,"scheduler":"mine","mood":"sunny"}"#;
        let Reply::Hello(hello) = serde_json::from_str(line).unwrap() else { panic!("a hello") };
        assert_eq!((hello.protocol, hello.version.as_str()), (VERSION, ""));
    }
}
