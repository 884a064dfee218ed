//! One measured run: the line behind every table, plot and report.

use filch_catalogue::Workload;
use filch_catalogue::protocol::{Hello, Machine, Ran, now};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::flags::Size;
use crate::identity::{Placement, ProgramId, SchedulerId};
use crate::scheduler::Scheduler;
use crate::sources::commit;

/// A measured run, as one JSON object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The run's experiment, if that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) experiment: Option<String>,
    /// The size of the session's programs, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<String>,
    #[serde(flatten)]
    pub(crate) program: ProgramId,
    #[serde(flatten)]
    pub(crate) who: SchedulerId,
    /// The scheduler's version.
    #[serde(default)]
    pub(crate) version: String,
    pub(crate) workers: usize,
    /// The number of processes that ran this program at the same moment; more than one for the parallel capacity.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(crate) copies: usize,
    /// The round of the session; runs of one round are close together in time.
    #[serde(default)]
    pub(crate) round: usize,
    pub(crate) repeat: usize,
    /// Missing if the run failed.
    pub(crate) seconds: Option<f64>,
    pub(crate) answer: String,
    pub(crate) correct: bool,
    /// The error in the answer, or the reason why the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The number of pushed tasks, if counted, or otherwise the number that the program knows.
    pub(crate) tasks: Option<u64>,
    /// The program's number of tasks, if it is known and pushed tasks were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expected_tasks: Option<u64>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) counters: Map<String, Value>,
    /// The counters of each worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) counters_by_worker: Vec<Map<String, Value>>,
    /// Processor time of the whole process during the run.
    #[serde(default)]
    pub(crate) cpu_seconds: f64,
    /// Processors that other programs kept busy during the run.
    #[serde(default)]
    pub(crate) others: f64,
    /// Processors that the hypervisor took during the run.
    #[serde(default)]
    pub(crate) stolen: f64,
    #[serde(default)]
    pub(crate) peak_rss_bytes: u64,
    /// The part of the memory that files back; 0: unknown.
    #[serde(default)]
    pub(crate) file_rss_bytes: u64,
    /// The end of the run, in seconds since 1970.
    #[serde(default)]
    pub(crate) at: f64,
    pub(crate) machine: Machine,
    pub(crate) commit: String,
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(copies: &usize) -> bool {
    *copies == 1
}

/// The program, scheduler and moment of a run in a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occasion<'o> {
    pub(crate) experiment: Option<&'o str>,
    pub(crate) size: Option<Size>,
    pub(crate) workload: &'o Workload,
    pub(crate) scheduler: &'o Scheduler,
    pub(crate) workers: usize,
    pub(crate) placement: Placement,
    pub(crate) copies: usize,
    pub(crate) round: usize,
    pub(crate) repeat: usize,
}

impl Occasion<'_> {
    /// Returns the record of a completed run.
    pub(crate) fn ran(self, hello: &Hello, ran: Ran) -> Run {
        Run {
            version: hello.version.clone(),
            seconds: Some(ran.seconds),
            correct: ran.error.is_none(),
            error: ran.error,
            answer: ran.answer,
            tasks: ran.tasks,
            expected_tasks: ran.expected_tasks,
            counters: ran.counters,
            counters_by_worker: ran.workers,
            cpu_seconds: ran.cpu_seconds.unwrap_or(0.0),
            others: ran.others,
            stolen: ran.stolen,
            peak_rss_bytes: ran.peak_rss_bytes,
            file_rss_bytes: ran.file_rss_bytes,
            ..self.record(hello.machine.clone().unwrap_or_else(Machine::here))
        }
    }

    /// Returns the record of a failed run.
    pub(crate) fn broken(self, why: &str) -> Run {
        Run { error: Some(why.to_owned()), ..self.record(Machine::here()) }
    }

    /// Returns the part of the record that is known before the run.
    pub(crate) fn record(self, machine: Machine) -> Run {
        let Self { experiment, size, workload, scheduler, workers, placement, copies, round, repeat } = self;
        Run {
            experiment: experiment.map(str::to_owned),
            size: size.map(|size| size.name().to_owned()),
            program: ProgramId::of(workload),
            who: scheduler.identity(placement),
            version: String::new(),
            workers,
            copies,
            round,
            repeat,
            seconds: None,
            answer: String::new(),
            correct: false,
            error: None,
            tasks: None,
            expected_tasks: None,
            counters: Map::new(),
            counters_by_worker: Vec::new(),
            cpu_seconds: 0.0,
            others: 0.0,
            stolen: 0.0,
            peak_rss_bytes: 0,
            file_rss_bytes: 0,
            at: now(),
            machine,
            commit: commit(),
        }
    }
}

impl Run {
    /// Checks the answer of a runner that does not check it itself.
    pub(crate) fn check(&mut self, right: &str) {
        if !agree(&self.answer, right) {
            self.correct = false;
            self.error = Some(format!("the answer is {}, but it should be {right}", self.answer));
        }
    }
}

/// Whether two answers are equal, except for the last digits of a real number: a sum depends on its order.
fn agree(one: &str, other: &str) -> bool {
    const TOLERANCE: f64 = 1e-6;
    one == other
        || one.parse().ok().zip(other.parse().ok()).is_some_and(|(one, other): (f64, f64)| {
            other.fract() != 0.0 && (one - other).abs() <= TOLERANCE * other.abs()
        })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes a run for tests of views.
    pub(crate) fn run(workload: &str, scheduler: &str, workers: usize, seconds: f64) -> Run {
        let (scheduler, pool) = match scheduler.split_once(' ') {
            Some((scheduler, pool)) => (scheduler, Some(pool.to_owned())),
            None => (scheduler, None),
        };
        let (pool, style) = match pool.as_deref() {
            Some(style @ ("closures" | "levels")) => (Some("split".to_owned()), Some(style.to_owned())),
            Some(_) => (pool, Some("handles".to_owned())),
            None => (None, None),
        };
        Run {
            experiment: None,
            size: None,
            program: ProgramId { workload: workload.to_owned(), params: Map::from_iter([("n".to_owned(), 30.into())]) },
            who: SchedulerId {
                wait: pool.as_ref().map(|_| "leapfrog-random".to_owned()),
                pool,
                style,
                ..SchedulerId::named(scheduler)
            },
            version: "1.2.3".to_owned(),
            workers,
            copies: 1,
            round: 0,
            repeat: 0,
            seconds: Some(seconds),
            answer: "832040".to_owned(),
            correct: true,
            error: None,
            tasks: Some(1_346_268),
            expected_tasks: None,
            counters: Map::from_iter([("steals".to_owned(), 12.into())]),
            counters_by_worker: Vec::new(),
            cpu_seconds: seconds,
            others: 0.0,
            stolen: 0.0,
            peak_rss_bytes: 3 << 20,
            file_rss_bytes: 2 << 20,
            at: 1.8e9,
            machine: Machine::default(),
            commit: "abc".to_owned(),
        }
    }

    #[test]
    fn a_line_survives_the_round_trip() {
        let mut run = run("fib", "filch split", 2, 0.125);
        run.copies = 2;
        run.error = Some("the answer is 5".to_owned());
        run.expected_tasks = Some(12);
        run.counters_by_worker = vec![Map::new(), run.counters.clone()];
        let line = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<Run>(&line).unwrap(), run);
        assert!(!line.contains('\n'));
    }

    #[test]
    fn a_line_has_the_documented_names() {
        let line = serde_json::to_value(run("fib", "filch split", 1, 0.5)).unwrap();
        for name in ["workload", "params", "scheduler", "pool", "wait", "style", "placement", "version", "workers"] {
            assert!(line.get(name).is_some(), "{name}");
        }
        for name in
            ["repeat", "seconds", "answer", "correct", "tasks", "counters", "peak_rss_bytes", "machine", "commit"]
        {
            assert!(line.get(name).is_some(), "{name}");
        }
        assert_eq!(line["params"]["n"], 30);
    }

    #[test]
    fn lines_of_earlier_versions_can_be_read() {
        // One of each form that the first versions wrote.
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/earlier.jsonl");
        let runs = crate::export::json::read(&path).expect("runs");
        assert_eq!(runs.len(), 7);
        assert!(runs.iter().all(|run| run.correct && run.experiment.is_none()));
        assert!(runs.iter().all(|run| run.who.placement == Placement::Free));
    }

    #[test]
    fn answers_may_differ_by_rounding() {
        assert!(agree("55", "55") && agree("0.30000000000000004", "0.3") && agree("nothing", "nothing"));
        assert!(!agree("55", "56") && !agree("1000000", "1000001") && !agree("0.3", "0.31"));
    }
}
