//! Where a worker looks while it waits for a stolen task.

use super::{
    LACE, OF_LACE, OF_LACE_RANDOM, OF_LACE_TRANSITIVE, OF_PRIVATE, PRIVATE, PRIVATE_DIFFERS, T3_FOR_MANY, WOOL, pool,
    workers,
};
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{LACE as DOCUMENT, Paper, Table};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

static PAPER: Paper = Paper {
    document: &DOCUMENT,
    place: "figure 8",
    shows: "uts T3L, with random stealing after a failed leap (Lace, private) or transitive leapfrogging (Wool). With plain \
            leapfrogging, chains of thieves wait for one another: figure 5 has 19.9, 17.5 and 20.9. The number of grows falls by half.",
    tables: &[Table {
        caption: "Seconds on one worker and on 48, and their ratio.",
        heads: &["pool", "T1", "T48", "T1/T48", "T1/T48 with plain leapfrogging"],
        rows: &[
            &["Lace", "44.26", "1.154", "38.3", "19.9"],
            &["private", "44.83", "1.240", "36.2", "17.5"],
            &["Wool", "44.27", "1.172", "37.8", "20.9"],
        ],
    }],
    marks: &[],
};

const PRIVATE_RANDOM: Pick = Pick::any("filch direct-pdq-r2:leaps=1");
const WOOL_STRICT: Pick = Pick::any("filch wool:loss=give-up leapfrog");
const WOOL_TRANSITIVE: Pick = Pick::any("filch wool:loss=give-up:leaps=adaptive transitive");

/// Each pool with plain leapfrogging and with its extension; Lace with both extensions; and ours.
pub(super) fn experiment() -> Experiment {
    let contenders = [
        pool(LACE, "leapfrog"),
        Contender::pool(format!("{LACE}:leaps=1")),
        pool(LACE, "transitive"),
        pool(PRIVATE, "leapfrog"),
        Contender::pool(format!("{PRIVATE}:leaps=1")),
        pool(WOOL, "leapfrog"),
        pool(&format!("{WOOL}:leaps=adaptive"), "transitive"),
        Contender::pool("split"),
    ];
    let over = |text, who, other, limit| Claim::new(text, who, Measure::Over(Quantity::Time, other), limit);
    let faster = |text, who, other| over(text, who, other, Limit::Below(0.75)).on(48).needs(Need::Processors(48));
    let same = |text, who, other| over(text, who, other, Limit::Within(0.85, 1.18)).on(2).by_construction();
    let fewer = |text, limit, workers| {
        let over = Measure::Over(Quantity::Counter("grows"), OF_LACE);
        Claim::new(text, OF_LACE_RANDOM, over, Limit::Below(limit)).on(workers).needs(Need::Processors(workers))
    };
    Experiment {
        name: Some("lace-fig8"),
        entries: each(&[Program::sized(T3_FOR_MANY)], &contenders),
        workers: workers(&[1, 2, 4, 8]),
        effort: Effort { budget: 50, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "relative-speedup", "steals", "leaps", "grows", "shrinks", "depth"],
        plots: &[Plot::RelativeSpeedup, Plot::Times],
        claims: vec![
            faster("On 48 workers, random stealing makes T3 much faster on the split deque.", OF_LACE_RANDOM, OF_LACE),
            faster("It makes T3 much faster on private deques.", PRIVATE_RANDOM, OF_PRIVATE),
            faster("Transitive leapfrogging makes T3 much faster on Wool's stack.", WOOL_TRANSITIVE, WOOL_STRICT),
            same(
                "Two workers form no chains, so random stealing changes nothing on the split deque.",
                OF_LACE_RANDOM,
                OF_LACE,
            ),
            same("Nor does transitive leapfrogging.", OF_LACE_TRANSITIVE, OF_LACE),
            same("Nor does random stealing on private deques.", PRIVATE_RANDOM, OF_PRIVATE),
            same("Nor does transitive leapfrogging on Wool's stack.", WOOL_TRANSITIVE, WOOL_STRICT),
            // The paper has 50 % fewer, without a second digit.
            fewer("On 48 workers, random stealing makes the shared parts grow about half as often.", 0.55, 48),
            // Chains of eight are shorter, so fewer of their requests are in vain.
            fewer("On eight workers they grow at most three quarters as often.", 0.75, 8),
        ],
        paper: Some(&PAPER),
        differs: PRIVATE_DIFFERS,
        ..Experiment::new("Whom should a worker steal from while it waits for a stolen task?")
    }
}
