//! How the length of blocks affects a queue whose thieves take only whole blocks.

use filch_protocol::cores;

use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{PADWS, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};

static PAPER: Paper = Paper {
    document: &PADWS,
    place: "figure 1",
    shows: "Walks over a fat and a thin tree with eight threads; the root is in the first queue. On the fat tree BWoS is slow with short \
            blocks. On the thin tree its time explodes with the length of the blocks, since a queue seldom holds more than one. PadWS is \
            flat in between, and up to 4.7 times as fast as ABP. The authors' heuristic for the length is the square root of the capacity.",
    tables: &[],
    marks: &[],
};

const FAT: &[&str] = &["trees:tree=fat"];
const THIN: &[&str] = &["trees:tree=thin"];
const PAD: &str = "filch padws";
const BWOS: &str = "filch bwos-l";

/// Block lengths from two tasks to a quarter of the capacity. A node of the thin tree works for 200 ns, so that there
/// is something to share; one of the fat tree does nothing, so that the queue is what takes time.
pub(super) fn experiment() -> Experiment {
    let programs = [
        [
            Some("trees:tree=thin:depth=15:spin=200"),
            Some("trees:tree=thin:depth=17:spin=200"),
            Some("trees:tree=thin:depth=19:spin=200"),
        ],
        [
            Some("trees:tree=fat:fanout=100:depth=3:spin=0"),
            Some("trees:tree=fat:fanout=100:depth=3:spin=0"),
            Some("trees:tree=fat:fanout=100:depth=3:spin=0"),
        ],
    ]
    .map(Program::sized);
    let contenders =
        ["bwos-l:block=*", "padws:block=*", "abp", "chase-lev", "adws", "hendler-shavit", "lace"].map(Contender::pool);
    let values = (1..=11).map(|power| (1_u32 << power).to_string()).collect();
    let over = |text, of, over, limit| Claim::new(text, of, Measure::Over(Quantity::Time, over), limit).on(2);
    Experiment {
        name: Some("padws-fig1"),
        entries: each(&programs, &contenders),
        workers: if cores() >= 8 { vec![2, 8] } else { vec![2] },
        sweep: Some(Sweep { parameter: "block", values, meaning: "tasks per block" }),
        effort: Effort { budget: 70, visit: 0.06, ..Effort::default() },
        columns: &["median", "spread", "speedup", "steals"],
        plots: &[Plot::Swept("median"), Plot::Swept("steals")],
        // The figure's bars have no numbers in the text; limits between contenders are ours.
        claims: vec![
            Claim::new(
                "On the thin tree, BWoS with blocks longer than the tree is deep shares almost nothing.",
                Pick::among(BWOS, &["64", "128", "256", "512", "1024", "2048"]),
                Measure::Is(Quantity::STOLEN),
                Limit::Below(1e-4),
            )
            .in_programs(THIN)
            .on(2),
            over(
                "With such blocks, BWoS takes much longer than a queue without blocks.",
                Pick::at(BWOS, "128"),
                Pick::any("filch chase-lev"),
                Limit::Above(1.3),
            )
            .in_programs(THIN),
            over(
                "On the thin tree, PadWS takes about as long with any blocks as with blocks of 32.",
                Pick::any(PAD),
                Pick::at(PAD, "32"),
                Limit::Within(0.8, 1.25),
            )
            .in_programs(THIN),
            over(
                "On the fat tree, BWoS takes longer with blocks of two than with blocks of 64.",
                Pick::at(BWOS, "2"),
                Pick::at(BWOS, "64"),
                Limit::Above(1.1),
            )
            .in_programs(FAT),
            over("So does PadWS.", Pick::at(PAD, "2"), Pick::at(PAD, "64"), Limit::Above(1.1)).in_programs(FAT),
            over(
                "With blocks of 64, about the square root of the capacity, PadWS takes at most a fifth longer than with any others.",
                Pick::at(PAD, "64"),
                Pick::any(PAD),
                Limit::Below(1.2),
            ),
            over(
                "With blocks of 64, PadWS is faster than ABP on both trees.",
                Pick::at(PAD, "64"),
                Pick::any("filch abp"),
                Limit::Below(1.0),
            ),
            // "Up to 4.7×" is the best length on the better tree; 64 is one length, and need not be the best elsewhere.
            Claim::new(
                "On eight workers, it is twice as fast as ABP on one of them.",
                Pick::at(PAD, "64"),
                Measure::Over(Quantity::Time, Pick::any("filch abp")),
                Limit::Below(0.5),
            )
            .on(8)
            .in_programs(FAT)
            .needs(Need::Processors(8)),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How long may blocks be if thieves take whole blocks?")
    }
}
