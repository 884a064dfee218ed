//! What a small job costs.

use super::{ENDS, LOOP, RECORDS, SOURCE, THEIRS, VICTIMS, WAITS};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{Mark, Paper, Table, WSQ};
use crate::experiment::quantity::{Comparison, Measure, Pick};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};

static PAPER: Paper = Paper {
    document: &WSQ,
    place: "the table of section \"Description of Algorithm\"",
    shows: "10000 jobs of k rounds each, against the same rounds in a loop. The text speaks of some 100 ns of overhead per job and \
            thread; the table has 26 to 50 ns on one.",
    tables: &[TIMES, SIZES],
    marks: &[
        Mark {
            column: "speedup",
            program: "",
            label: "README, one thread",
            points: &[(100.0, 0.74), (200.0, 0.86), (300.0, 0.91), (400.0, 0.96)],
        },
        Mark {
            column: "speedup",
            program: "",
            label: "README, two threads",
            points: &[(100.0, 1.34), (200.0, 1.71), (300.0, 1.82), (400.0, 1.88)],
        },
    ],
};

const TIMES: Table = Table {
    caption: "Nanoseconds per job in a loop and as jobs, and their ratio, on one to four threads.",
    heads: &["k", "threads", "serial", "parallel", "speed-up", "overhead"],
    rows: &[
        &["100", "1", "142", "192", "0.74", "50"],
        &["200", "1", "287", "335", "0.86", "48"],
        &["300", "1", "432", "474", "0.91", "42"],
        &["400", "1", "579", "605", "0.96", "26"],
        &["100", "2", "142", "106", "1.34", ""],
        &["200", "2", "289", "169", "1.71", ""],
        &["300", "2", "432", "237", "1.82", ""],
        &["400", "2", "579", "308", "1.88", ""],
        &["100", "3", "142", "87", "1.63", ""],
        &["200", "3", "287", "128", "2.24", ""],
        &["300", "3", "435", "174", "2.50", ""],
        &["400", "3", "577", "218", "2.65", ""],
        &["100", "4", "142", "70", "2.03", ""],
        &["200", "4", "289", "99", "2.92", ""],
        &["300", "4", "432", "133", "3.25", ""],
        &["400", "4", "580", "174", "3.33", ""],
    ],
};

/// Ours are asserted in `filch`'s `teams/jobs/blocks.rs`, but for the queue, whose capacity is that of [`SOURCE`].
const SIZES: Table = Table {
    caption: "Bytes that the source's program prints, and ours.",
    heads: &["of", "source", "ours"],
    rows: &[
        &["a job", "48", "64, a cache line"],
        &["a block of jobs", "65480", "65536, of 1023 jobs"],
        &["a thread, with its queue of 65536 slots", "524408", "524288 of slots, and some lines beside them"],
        &["the job system", "528", "not comparable: it grows with the threads"],
    ],
};

/// Below the same job system: the source's queue, its packed form, and three others. The overhead by both definitions:
/// on one worker, the time beyond the loop's; on several, that of all of them together.
pub(super) fn experiment() -> Experiment {
    let contenders = [
        SOURCE,
        "wsq-packed:capacity=65472:idle=spin",
        "chase-lev:capacity=65472:idle=spin",
        "padws:capacity=65472:idle=spin",
        "lace:capacity=65472:idle=spin",
    ]
    .map(Contender::pool);
    let values = ["100", "200", "300", "400"].map(str::to_owned).to_vec();
    let speedup = |text, at, workers, limit| {
        Claim::new(text, Pick::at(THEIRS, at), Measure::Of(Comparison::Speedup), limit).on(workers)
    };
    let overhead = |text, who, workers, limit| {
        Claim::new(text, Pick::any(who), Measure::Of(Comparison::TaskOverhead), Limit::Below(limit)).on(workers)
    };
    Experiment {
        name: Some("wsq-table"),
        entries: each(&[Program::new("wsq:k=*")], &contenders),
        workers: vec![1, 2, 3, 4],
        sweep: Some(Sweep { parameter: "k", values, meaning: "rounds of work per job, some 1.5 ns each" }),
        effort: Effort { budget: 50, visit: 0.05, ..Effort::default() },
        columns: &["median", "spread", "task-time", "speedup", "task-overhead", "steals"],
        plots: &[Plot::Swept("speedup"), Plot::Swept("task-overhead")],
        differs: &[LOOP, WAITS, ENDS, VICTIMS, RECORDS],
        claims: vec![
            overhead("On one worker, a job costs at most 50 ns beyond its work.", THEIRS, 1, 50e-9),
            overhead("On two, it costs at most 100 ns of both together.", THEIRS, 2, 100e-9),
            speedup("Jobs of 100 rounds are slower than a loop on one worker.", "100", 1, Limit::Below(0.9)),
            speedup("Jobs of 400 rounds are almost as fast.", "400", 1, Limit::Above(0.9)),
            speedup("Two workers are faster than a loop even with jobs of 100 rounds.", "100", 2, Limit::Above(1.0)),
            speedup("With jobs of 400 rounds they are almost twice as fast.", "400", 2, Limit::Above(1.7)),
            speedup("Four workers are more than three times as fast.", "400", 4, Limit::Above(3.0)),
            overhead("The packed form costs no more.", "filch wsq-packed:capacity=65472:idle=spin", 1, 50e-9),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("What does a small job cost?")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::paper::is_quotient;

    /// So does the overhead, as far as it is printed.
    #[test]
    fn the_speedups_follow_from_the_times() {
        for row in TIMES.rows {
            assert!(is_quotient(row[4], row[2], row[3]), "{row:?}");
            let number = |cell: &str| cell.parse::<u32>().expect("a number");
            assert!(row[5].is_empty() || number(row[3]) - number(row[2]) == number(row[5]), "{row:?}");
        }
    }
}
