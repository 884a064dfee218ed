//! What the mean time between two deals costs, for sender-initiated private deques.

use super::printed;
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{Mark, PRIVATE, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};
use crate::experiments::two_and_all;
use crate::identity::Placement;

static TIME: Paper = Paper {
    document: &PRIVATE,
    place: "figure 5, first chart",
    shows: "fib(48) with a cut-off of 18 takes 56 s on one processor, and its forks are nested 30 deep (F). The bound on the time permits \
            every δ much below T1/(2.68·F·P), which is 23 ms there; up to 1 ms the time does not change.",
    tables: &[],
    marks: &[],
};

static IDLE: Paper = Paper {
    document: &PRIVATE,
    place: "figure 5, second chart",
    shows: "While most processors are busy, one without work waits δ for a task on average, since each of the others deals once in δ and \
            picks it once in P − 1 deals. The measured idle time per task that moved is extremely close to δ.",
    tables: &[],
    marks: &[Mark {
        column: "idle-per-migration",
        program: "",
        label: "the paper's: equal to δ",
        points: &[(10e-6, 10e-6), (30e-3, 30e-3)],
    }],
};

const PRINTED: &str = "filch pdq-s:idle=spin:victims=one random pinned";
const MEANING: &str = "δ, the mean time between two deals";

/// Forks are 20 deep in the first two sizes, and 30 in the paper's.
fn fib() -> [Program; 1] {
    [Program::sized([Some("fib:n=36:cutoff=16"), Some("fib:n=38:cutoff=18"), Some("fib:n=48:cutoff=18")])]
}

fn deltas(values: &[&str]) -> Option<Sweep> {
    let values = values.iter().map(ToString::to_string).collect();
    Some(Sweep { parameter: "delta", values, meaning: MEANING })
}

/// The run time against δ.
pub(super) fn time() -> Experiment {
    // As printed, on the queue whose owners know who is idle, and on a concurrent deque.
    let contenders = [printed("pdq-s:delta=*"), Contender::pool("pdq-s-told:delta=*"), printed("chase-lev")];
    Experiment {
        name: Some("private-fig5a"),
        entries: each(&fib(), &contenders),
        workers: two_and_all(30),
        placements: vec![Placement::Pinned],
        sweep: deltas(&["10us", "30us", "100us", "300us", "1ms", "3ms", "10ms", "30ms"]),
        effort: Effort { budget: 40, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "speedup", "migrations", "idle"],
        plots: &[Plot::Swept("median"), Plot::Swept("migrations")],
        claims: vec![
            Claim::new(
                "Up to 100 µs, δ does not change the time.",
                Pick::among(PRINTED, &["10us", "100us"]),
                Measure::Over(Quantity::Time, Pick::at(PRINTED, "30us")),
                Limit::Within(0.9, 1.1),
            )
            .on(2),
            Claim::new(
                "The time stays flat at least as long as the bound promises: up to a tenth of T1/(2.68·F·P), it grows by at most a tenth.",
                Pick::any(PRINTED),
                // T1/P is the time itself, and 0.1/(2.68·20) is 0.0018.
                Measure::FlatUpTo(0.1),
                Limit::Above(0.0018),
            )
            .on(2),
            Claim::new(
                "Where δ is not small against T1/(2.68·F·P), the time grows.",
                Pick::at(PRINTED, "30ms"),
                Measure::Over(Quantity::Time, Pick::at(PRINTED, "30us")),
                Limit::Above(1.1),
            )
            .on(2),
        ],
        paper: Some(&TIME),
        ..Experiment::new("How rarely may owners deal tasks to idle workers?")
    }
}

/// The idle time against δ.
pub(super) fn idle() -> Experiment {
    let equals =
        |text, limit| Claim::new(text, Pick::any(PRINTED), Measure::OverSwept(Quantity::IDLE_PER_MIGRATION), limit);
    Experiment {
        name: Some("private-fig5b"),
        entries: each(&fib(), &[printed("pdq-s:delta=*")]),
        workers: two_and_all(30),
        placements: vec![Placement::Pinned],
        sweep: deltas(&["30us", "100us", "300us", "1ms", "3ms"]),
        effort: Effort { budget: 30, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "migrations", "idle", "idle-per-migration"],
        plots: &[Plot::Swept("idle-per-migration"), Plot::Swept("migrations")],
        differs: &[
            "The paper's P − 1 other processors are busy when one runs out of work; on two workers it is one, few tasks move, and the wait \
             before the first and after the last is a large part of the idle time. So the claim for two workers is a factor of two.",
        ],
        claims: vec![
            equals(
                "On two workers, where few tasks move, the idle time for each is δ within a factor of two, from 30 µs to 3 ms.",
                Limit::Within(0.5, 2.0),
            )
            .on(2),
            equals("Among many workers, the idle time for each task that moves is δ.", Limit::Within(0.9, 1.1))
                .needs(Need::Processors(8)),
        ],
        paper: Some(&IDLE),
        ..Experiment::new("How long does a worker without work wait for a task that is dealt?")
    }
}
