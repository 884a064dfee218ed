//! How the length of blocks affects a queue whose thieves take only whole blocks.
//!
//! After Wang et al., *Work Stealing through Partial Asynchronous Delegation*, SPAA 2024, figure 1: on thin trees a queue never holds more
//! tasks than the tree has levels. With blocks of that length, BWoS has nothing for thieves, while PadWS hands tasks over on request.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};

const THIN: &str = "trees tree=thin";

/// Both queues on a fat and a thin tree; the queues of ABP and of Chase and Lev have no blocks.
pub(crate) fn experiment() -> Experiment {
    let programs = [
        Program::new("trees:tree=thin"),
        Program::sized([
            Some("trees:tree=fat,fanout=40,depth=3"),
            Some("trees:tree=fat,fanout=64,depth=3"),
            Some("trees:tree=fat,fanout=100,depth=3"),
        ]),
    ];
    let contenders = ["bwos-l:block=*", "padws:block=*", "chase-lev", "abp"].map(Contender::pool);
    let values = [2, 8, 32, 128, 512].map(|block: u32| block.to_string()).to_vec();
    Experiment {
        name: Some("blocks"),
        entries: each(&programs, &contenders),
        workers: vec![2],
        sweep: Some(Sweep { parameter: "block", values, meaning: "tasks per block" }),
        effort: Effort { budget: 90, ..Effort::default() },
        columns: &["median", "spread", "speedup", "steals"],
        plots: &[Plot::Swept("median"), Plot::Swept("steals")],
        claims: vec![
            Claim::new(
                "On a thin tree, BWoS with blocks longer than the tree's depth shares almost nothing.",
                Pick::at("filch bwos-l", "128"),
                Measure::Is(Quantity::STOLEN),
                Limit::Below(1e-5),
            )
            .in_programs(&[THIN])
            .on(2),
            Claim::new(
                "With such blocks, BWoS takes much longer than a queue without blocks.",
                Pick::at("filch bwos-l", "128"),
                Measure::Over(Quantity::Time, Pick::any("filch chase-lev")),
                Limit::Above(1.3),
            )
            .in_programs(&[THIN])
            .on(2),
            Claim::new(
                "On a thin tree, the block length does not matter to PadWS: it takes about as long as with blocks of 32.",
                Pick::any("filch padws"),
                Measure::Over(Quantity::Time, Pick::at("filch padws", "32")),
                Limit::Within(0.8, 1.25),
            )
            .in_programs(&[THIN])
            .on(2),
        ],
        ..Experiment::new("How long may blocks be if thieves take whole blocks?")
    }
}
