//! The messages between filch's driver and the runners of schedulers: one JSON object per line.
//!
//! A *runner* is a program that runs workloads on one scheduler. It reads requests from standard input and writes
//! answers to standard output; the driver shows its standard error if it breaks. `docs/runners.md` describes how to
//! write one.
//!
//! Invariant: as long as [`VERSION`] stays, the existing fields keep their names and meanings, and new ones are
//! optional.
//!
//! ```
//! use filch_catalogue::protocol::{Order, Reply, Request};
//!
//! let order = Order { program: "fib".to_owned(), workers: 2, ..Order::default() };
//! let line = serde_json::to_string(&Request::Prepare(order)).unwrap();
//! assert_eq!(line, r#"{"ask":"prepare","program":"fib","workers":2}"#);
//! let reply: Reply = serde_json::from_str(r#"{"tell":"refused","why":"there is no program `fob`"}"#).unwrap();
//! assert!(matches!(reply, Reply::Refused { .. }));
//! ```

mod machine;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use machine::{Load, Machine, cores, cpu_time, file_rss_bytes, memory_available, now, peak_rss_bytes};

/// The version of the protocol. A driver refuses a runner with another version.
pub const VERSION: u32 = 1;

/// The prefix of the runners' program names; the scheduler's name follows.
pub const PREFIX: &str = "filch-run-";

/// A request to a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Request {
    /// Describes what the runner can do: [`Reply::Description`].
    Describe,
    /// Makes the program's input, starts the scheduler and warms up: [`Reply::Ready`]. Once per runner process.
    Prepare(Order),
    /// Runs the program once and times it: [`Reply::Ran`]. It follows a [`Reply::Ready`].
    Run,
    /// Restores the input for the next run: [`Reply::Ready`].
    Reset,
}

/// What to run, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Order {
    /// The program's name.
    pub program: String,
    /// Its parameters; missing ones have their defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The number of computing threads.
    pub workers: usize,
    /// The scheduler's own settings; an unknown one is refused.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Untimed runs before the first timed one.
    #[serde(skip_serializing_if = "is_zero")]
    pub warmup: usize,
    /// The parameters of the warm-up runs, if they have another size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_parameters: Option<BTreeMap<String, String>>,
    /// Whether to time a start of the scheduler with its first result, and a stop, before the start for the runs: the
    /// counters `first_ns` and `stop_ns` of each run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    /// The path of a file for a timeline of each run, in the JSON format of Chrome's traces; a later run writes over an
    /// earlier one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<PathBuf>,
}

/// Whether a field can be left out of the line.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A runner's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "kebab-case")]
pub enum Reply {
    /// The first line, which is not requested.
    Hello(Hello),
    /// What the runner can do.
    Description(Description),
    /// The program is ready to run.
    Ready,
    /// A run has ended.
    Ran(Box<Ran>),
    /// The runner cannot do this, here or at all; trying again is useless.
    Refused {
        /// The reason, a sentence.
        why: String,
    },
}

/// The identity of a runner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The [`VERSION`] it implements.
    pub protocol: u32,
    /// The scheduler's name.
    pub scheduler: String,
    /// The scheduler's version.
    #[serde(default)]
    pub version: String,
    /// How and where it was built, if it reports that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// What a runner can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Description {
    /// The programs.
    pub programs: Vec<ProgramDescription>,
    /// The scheduler's own settings, each with its meaning.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The largest number of workers, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_workers: Option<usize>,
}

/// A program that the runner can run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramDescription {
    /// Its name in an [`Order`].
    pub name: String,
    /// The names of its parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
}

/// The result of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// The time from the program's start to its answer.
    pub seconds: f64,
    /// The computed answer.
    pub answer: String,
    /// The error in the answer, or in the memory it left, if the runner knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The number of tasks: of pushed tasks if the scheduler counts them, and otherwise the number that the program
    /// knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// The number of tasks that the program expects, if it knows one and the scheduler counts pushed tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_tasks: Option<u64>,
    /// The scheduler's other counters in this run, summed over the workers.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub counters: Map<String, Value>,
    /// Each worker's counters, by worker number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Map<String, Value>>,
    /// Processor time of the process during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// The number of processors that other programs kept busy during all runs so far.
    #[serde(default)]
    pub others: f64,
    /// The number of processors that the hypervisor took.
    #[serde(default)]
    pub stolen: f64,
    /// The peak memory use of the process.
    #[serde(default)]
    pub peak_rss_bytes: u64,
    /// The part of the memory that files back after the run: the code of the program and its libraries.
    #[serde(default)]
    pub file_rss_bytes: u64,
    /// The timeline as text, if the order wanted one and the scheduler has written it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_fields_have_defaults() {
        let line = r#"{"tell":"ran","seconds":0.5,"answer":"55"}"#;
        let expected = Ran { seconds: 0.5, answer: "55".to_owned(), ..Ran::default() };
        assert_eq!(serde_json::from_str::<Reply>(line).unwrap(), Reply::Ran(Box::new(expected)));
        let line = r#"{"tell":"hello","protocol":1,"scheduler":"mine","mood":"sunny"}"#;
        let Reply::Hello(hello) = serde_json::from_str(line).unwrap() else { panic!("a hello") };
        assert_eq!((hello.protocol, hello.version.as_str()), (VERSION, ""));
    }
}
