//! The times of fine-grained programs on one worker and on all.

use super::{LACE, OF_LACE, OF_PRIVATE, OURS, PRIVATE, PRIVATE_DIFFERS, T2, T3, T3_NAMES, WOOL, pool, workers};
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{LACE as DOCUMENT, Paper, Table};
use crate::experiment::quantity::{Comparison, Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

static PAPER: Paper = Paper {
    document: &DOCUMENT,
    place: "figure 5",
    shows: "No program has a cut-off. fib, which is almost only forks, shows what a task costs; the three pools differ little on 48 \
            workers. Nine of the fifteen printed TS/T48 do not follow from the printed seconds, rounding allowed for: fib 36.1 on Lace and \
            28.6 on private deques; uts T2L 46.7, 46.2 and on Wool 42.3; uts T3L 19.3, 16.9 and 20.3; queens 47.0 on private deques. All \
            T1/T48 do.",
    tables: &[Table {
        caption: "Seconds of the sequential program, on one worker and on 48, and the ratios.",
        heads: &[
            "program",
            "TS",
            "Lace T1",
            "T48",
            "TS/T48",
            "T1/T48",
            "private T1",
            "T48",
            "TS/T48",
            "T1/T48",
            "Wool T1",
            "T48",
            "TS/T48",
            "T1/T48",
        ],
        rows: &[
            &[
                "fib 50", "149.2", "144", "4.13", "34.5", "34.9", "208", "5.22", "23.2", "39.8", "185", "4.38", "34.1",
                "42.2",
            ],
            &[
                "uts T2L", "84.5", "86.0", "1.81", "46.1", "47.4", "86.1", "1.83", "45.7", "47.0", "85.1", "2.00",
                "42.5", "42.5",
            ],
            &[
                "uts T3L", "43.11", "44.2", "2.23", "18.7", "19.9", "44.8", "2.55", "17.3", "17.5", "44.3", "2.12",
                "19.4", "20.9",
            ],
            &[
                "queens 15",
                "533",
                "602",
                "12.63",
                "42.2",
                "47.7",
                "541",
                "11.34",
                "43.3",
                "47.7",
                "539",
                "11.23",
                "47.5",
                "48.0",
            ],
            &[
                "matmul 4096",
                "773",
                "781",
                "16.46",
                "47.0",
                "47.5",
                "774",
                "16.34",
                "47.3",
                "47.4",
                "780",
                "16.40",
                "47.2",
                "47.5",
            ],
        ],
    }],
    marks: &[],
};

const OF_WOOL: Pick = Pick::any("filch wool:loss=give-up leapfrog");
const BUT_FIB: &[&str] = &["uts", "queens", "matmul"];
const BALANCED: &[&str] = &["uts:tree=T2", "uts:tree=custom:shape=cyclic", "queens", "matmul"];

/// The pools of the paper, with plain leapfrogging; and ours.
pub(super) fn experiment() -> Experiment {
    let programs = [
        [Some("fib"), Some("fib"), Some("fib:n=50")],
        T2,
        T3,
        [Some("queens:n=10"), Some("queens"), Some("queens:n=15")],
        [Some("matmul:n=256"), Some("matmul:n=512"), Some("matmul:n=4096")],
    ]
    .map(Program::sized);
    let papers = [LACE, PRIVATE, WOOL].map(|name| pool(name, "leapfrog"));
    let contenders: Vec<Contender> = papers.into_iter().chain([Contender::pool("split")]).collect();
    let overhead = |text, who| {
        Claim::new(text, who, Measure::Of(Comparison::Overhead), Limit::Below(1.15)).on(1).in_programs(BUT_FIB)
    };
    let over = |text, who, other, limit| Claim::new(text, who, Measure::Over(Quantity::Time, other), limit);
    let cheaper = |text, who, other| over(text, who, other, Limit::Below(1.0)).on(1).in_programs(&["fib"]);
    let scales = |text, who| {
        Claim::new(text, who, Measure::Of(Comparison::CapacityShare), Limit::Above(0.85)).on(2).in_programs(BALANCED)
    };
    let alike = Limit::Within(0.8, 1.25);
    Experiment {
        name: Some("lace-fig5"),
        entries: each(&programs, &contenders),
        workers: workers(&[1, 2]),
        effort: Effort { budget: 60, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "overhead", "relative-speedup", "capacity-share", "fork"],
        plots: &[Plot::Times, Plot::Speedup, Plot::Forks],
        claims: vec![
            overhead(
                "On all programs but fib, the split deque takes as long on one worker as the sequential program.",
                OF_LACE,
            ),
            overhead("So do private deques.", OF_PRIVATE),
            overhead("So does Wool's stack.", OF_WOOL),
            cheaper("A task of the split deque costs less than one of private deques.", OF_LACE, OF_PRIVATE),
            cheaper("It costs less than one of Wool's.", OF_LACE, OF_WOOL),
            scales("Two workers share all programs but fib and T3 almost perfectly on the split deque.", OF_LACE),
            scales("So they do on private deques.", OF_PRIVATE),
            scales("So they do on Wool's stack.", OF_WOOL),
            over(
                "On two workers, the split deque and private deques differ by at most a fifth.",
                OF_LACE,
                OF_PRIVATE,
                alike,
            )
            .on(2)
            .in_programs(BUT_FIB),
            over("So do the split deque and Wool's stack.", OF_LACE, OF_WOOL, alike).on(2).in_programs(BUT_FIB),
            over("On 48 workers, too.", OF_LACE, OF_WOOL, alike).needs(Need::Processors(48)),
            Claim::new(
                "On 48 workers, plain leapfrogging loses half of the speed-up on T3.",
                OF_LACE,
                Measure::Of(Comparison::RelativeSpeedup),
                Limit::Below(30.0),
            )
            .in_programs(T3_NAMES)
            .needs(Need::Processors(48)),
            over("filch's own form of the split deque is as fast as the paper's.", OURS, OF_LACE, Limit::Below(1.15))
                .on(1),
        ],
        paper: Some(&PAPER),
        differs: PRIVATE_DIFFERS,
        ..Experiment::new(
            "What do fine-grained programs cost on the split deque, on private deques, and on Wool's stack?",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::paper::is_quotient;

    /// The text says which printed ratios contradict the printed seconds.
    #[test]
    fn the_ratios_that_do_not_follow_are_those_named() {
        let mut wrong = Vec::new();
        for row in PAPER.tables[0].rows {
            let (program, serial) = (row[0], row[1]);
            for (pool, cells) in ["Lace", "private", "Wool"].into_iter().zip(row[2..].chunks(4)) {
                assert!(is_quotient(cells[3], cells[0], cells[1]), "T1/T48 of {program} on {pool}");
                if !is_quotient(cells[2], serial, cells[1]) {
                    wrong.push(format!("{program} {pool}"));
                }
            }
        }
        let named = [
            "fib 50 Lace",
            "fib 50 private",
            "uts T2L Lace",
            "uts T2L private",
            "uts T2L Wool",
            "uts T3L Lace",
            "uts T3L private",
            "uts T3L Wool",
            "queens 15 private",
        ];
        assert_eq!(wrong, named);
    }
}
