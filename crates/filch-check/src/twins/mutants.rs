//! The table of mutants: which mistake, where the checker finds it, and what that shows.
//!
//! What must always hold: the control differs from the mutant in the mistake alone, or in δ.

use std::sync::Arc;

use filch::protocol::grain;
use filch_queue::Queue;

use super::mutant::{Harm, Make, Mutant, buffer, merging, mutant};
use super::{
    abp, adws, bwos, bwos_f, chase_lev, chase_lev_asym, dsq, ff_cl, ff_the, hendler_shavit, idempotent, lace, lineage,
    one_exposed, pdq, search, termination, the, thep, wool, wsq,
};
use crate::scenarios::queues::Client;
use crate::scenarios::wool as stack;
use crate::scenarios::{guest, runtime, seize};
use crate::tso::{Processor, Tso};

/// All mutants, by twin.
pub fn mutants() -> Vec<Mutant> {
    let own = [
        chase_lev(),
        the(),
        lace(),
        ff_the(),
        ff_cl(),
        thep(),
        termination(),
        lineage(),
        search(),
        guest(),
        seize(),
        waiting(),
        wool(),
    ];
    let mut all: Vec<Mutant> = own.into_iter().flatten().collect();
    all.extend(abp::mutants());
    all.extend(adws::mutants());
    all.extend(bwos::mutants());
    all.extend(bwos_f::mutants());
    all.extend(chase_lev_asym::mutants());
    all.extend(dsq::mutants());
    all.extend(hendler_shavit::mutants());
    all.extend(idempotent::mutants());
    all.extend(one_exposed::mutants());
    all.extend(pdq::mutants());
    all.extend(wsq::mutants());
    all
}

fn chase_lev() -> Vec<Mutant> {
    use chase_lev::{ChaseLev, Mistake};
    let row = |mistake, params, client, processor, harm, shows| {
        mutant::<ChaseLev>(mistake, [params, Mistake::None], &client, processor, harm, shows)
    };
    vec![
        row(
            "no-fence-in-pop",
            Mistake::NoFenceInPop,
            Client::new(2, 2, "-", &[2]),
            buffer(1),
            Harm::Twice,
            "pop's load of top overtakes its store of bottom, and owner and thief take one task",
        ),
        row(
            "no-swap-for-last",
            Mistake::NoSwapForLast,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::Twice,
            "a thief that has seen the last task swaps top after the owner has taken it",
        ),
        row(
            "overfull-by-one",
            Mistake::OverfullByOne,
            Client::new(1, 0, "++", &[]),
            buffer(0),
            Harm::Lost,
            "a push overwrites the oldest task",
        ),
        row(
            "top-first",
            Mistake::TopFirst,
            Client::new(2, 2, "-", &[2]),
            buffer(0),
            Harm::Twice,
            "pop goes by a top that thieves have left behind, and takes the last task without a swap",
        ),
        row(
            "bottom-first",
            Mistake::BottomFirst,
            Client::new(2, 2, "--", &[1]),
            buffer(0),
            Harm::Twice,
            "a thief goes by a bottom that the owner has left behind",
        ),
        row(
            "published-before-copy",
            Mistake::PublishedBeforeCopy,
            Client::new(1, 1, "+", &[1]),
            buffer(0),
            Harm::NoTask,
            "a thief reads the new array before its task has been copied",
        ),
    ]
}

fn the() -> Vec<Mutant> {
    use the::{Mistake, The};
    let row = |mistake, params, client, processor, harm, shows| {
        mutant::<The>(mistake, [params, Mistake::None], &client, processor, harm, shows)
    };
    vec![
        row(
            "no-fence-in-pop",
            Mistake::NoFenceInPop,
            Client::new(1, 1, "-", &[1]),
            buffer(1),
            Harm::Twice,
            "pop's load of H overtakes its store of T, and neither side sees the other",
        ),
        row(
            "no-fence-in-steal",
            Mistake::NoFenceInSteal,
            Client::new(1, 1, "-", &[1]),
            buffer(1),
            Harm::Twice,
            "a thief's load of T overtakes its store of H, and neither side sees the other",
        ),
        row(
            "no-spare-slot",
            Mistake::NoSpareSlot,
            Client::new(1, 0, "+++", &[1]),
            buffer(0),
            Harm::Lost,
            "a push goes by a claim that is given back, and overwrites the oldest task",
        ),
        row(
            "slot-after-unlock",
            Mistake::SlotAfterUnlock,
            Client::new(1, 1, "++", &[1, 1]),
            buffer(0),
            Harm::Lost,
            "the slot is used again before the thief has read it",
        ),
        row(
            "conflict-off-by-one",
            Mistake::ConflictOffByOne,
            Client::new(1, 0, "-", &[]),
            buffer(0),
            Harm::NoTask,
            "the test for a thief's claim on the last task is also the test for an empty deque",
        ),
        row(
            "head-first",
            Mistake::HeadFirst,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::Twice,
            "the owner looks for claims before it raises its flag",
        ),
    ]
}

fn lace() -> Vec<Mutant> {
    use lace::{Lace, Mistake};
    let row = |mistake, params, client, processor, harm, shows| {
        mutant::<Lace>(mistake, [params, Mistake::None], &client, processor, harm, shows)
    };
    vec![
        row(
            "no-empty-test",
            Mistake::NoEmptyTest,
            Client::new(1, 1, "+-", &[1]),
            buffer(0),
            Harm::NoTask,
            "a push overwrites a slot that its thief has won and not read",
        ),
        row(
            "shrink-by-store",
            Mistake::ShrinkByStore,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::NoTask,
            "a steal between the owner's load and its store of the index word is undone",
        ),
        row(
            "stale-tail",
            Mistake::StaleTail,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::NoTask,
            "the owner takes a task that was stolen between its look at tail and its lowering of split",
        ),
        row(
            "copy-before-swap",
            Mistake::CopyBeforeSwap,
            Client::new(1, 1, "--+", &[1]),
            buffer(0),
            Harm::Twice,
            "the index word comes back to its old value with another task in the slot",
        ),
        row(
            "grow-by-store",
            Mistake::GrowByStore,
            Client::new(3, 1, "-++--", &[3]),
            buffer(0),
            Harm::NoTask,
            "a steal between the owner's load and its store of the index word is undone",
        ),
        row(
            "no-second-adjustment",
            Mistake::NoSecondAdjustment,
            Client::new(4, 4, ".--", &[4]),
            buffer(0),
            Harm::NoTask,
            "split is lowered below tail, and the owner takes stolen tasks for private ones",
        ),
    ]
}

/// δ that a buffer of `entries` entries needs, with the place beyond it counted: half of them are stores of T.
fn delta_for(processor: Processor) -> i64 {
    (processor.buffer + usize::from(processor.coalesces)).div_ceil(2) as i64
}

fn name_of(mistake: &str, processor: Processor, delta: i64) -> String {
    format!("{mistake}-s{}{}-d{delta}", processor.buffer, if processor.coalesces { "b" } else { "" })
}

/// `deltas`: of the mutant and the control.
fn fence_free<Q: Queue<Tso, Params = (P, i64)>, P: Clone>(
    mistake: &str,
    [bad, good]: [P; 2],
    [delta, needed]: [i64; 2],
    client: &Client,
    processor: Processor,
    harm: Harm,
    shows: &'static str,
) -> Mutant {
    let name = name_of(mistake, processor, delta);
    let params = [(bad, delta), (good, needed)];
    Mutant { delta: Some((delta, needed)), ..mutant::<Q>(&name, params, client, processor, harm, shows) }
}

const SMALL_DELTA: &str =
    "one more pop than δ allows for hides in the store buffer, and a thief takes what the owner has taken";
const NO_PAD: &str = "stores of T merge on their way to memory, so a short buffer hides many pops, and no δ is enough";
const ALL_OF_TAIL: &str = "every entry of the store buffer can hold a store of T, and not every second one";
const HEAD_FIRST: &str = "H is read one pop too early, which counts like one more hidden pop";

fn ff_the() -> Vec<Mutant> {
    use ff_the::{FfThe, Mistake};
    let row = |mistake, params, deltas, client, processor, harm, shows| {
        fence_free::<FfThe, _>(mistake, [params, Mistake::None], deltas, &client, processor, harm, shows)
    };
    let mut all = Vec::new();
    for processor in [1, 2, 3, 4].map(buffer).into_iter().chain([1, 2, 3].map(merging)) {
        let delta = delta_for(processor);
        let (count, pops) = (delta as usize, "-".repeat(delta as usize));
        let client = Client::new(count, count, &pops, &[1]);
        all.push(row("small-delta", Mistake::None, [delta - 1, delta], client, processor, Harm::Twice, SMALL_DELTA));
    }
    for (processor, delta) in [(merging(1), 1), (merging(1), 2), (merging(1), 3), (merging(2), 3), (merging(3), 3)] {
        let client = Client::new(4, 4, "----", &[1]);
        all.push(row("no-pad", Mistake::NoPad, [delta; 2], client, processor, Harm::Twice, NO_PAD));
    }
    for (processor, delta) in [(buffer(2), 1), (buffer(4), 3)] {
        let (count, pops) = (delta as usize + 1, "-".repeat(delta as usize + 1));
        let client = Client::new(count, count, &pops, &[1]);
        let deltas = [delta, delta_for(processor)];
        all.push(row("no-pad", Mistake::NoPad, deltas, client, processor, Harm::Twice, ALL_OF_TAIL));
    }
    for processor in [2, 4].map(buffer) {
        let delta = delta_for(processor);
        let (count, pops) = (delta as usize + 1, "-".repeat(delta as usize + 1));
        let client = Client::new(count, count, &pops, &[1]);
        all.push(row("head-first", Mistake::HeadFirst, [delta; 2], client, processor, Harm::Twice, HEAD_FIRST));
    }
    let shows = "a push goes by a claim that is given back, and overwrites the oldest task";
    let client = Client::new(1, 0, "+++", &[1]);
    all.push(row("no-spare-slot", Mistake::NoSpareSlot, [1; 2], client, buffer(1), Harm::Lost, shows));
    all
}

fn ff_cl() -> Vec<Mutant> {
    use ff_cl::{FfCl, Mistake};
    let row = |mistake, params, deltas, client, processor, harm, shows| {
        fence_free::<FfCl, _>(mistake, [params, Mistake::None], deltas, &client, processor, harm, shows)
    };
    let mut all = Vec::new();
    for processor in [1, 2, 3, 4].map(buffer).into_iter().chain([1, 2, 3].map(merging)) {
        let delta = delta_for(processor);
        let (count, pops) = (delta as usize + 1, "-".repeat(delta as usize));
        let client = Client::new(count, count, &pops, &[2]);
        all.push(row("small-delta", Mistake::None, [delta - 1, delta], client, processor, Harm::Twice, SMALL_DELTA));
    }
    for (processor, delta) in [(merging(1), 1), (merging(1), 2), (merging(2), 2), (merging(3), 2)] {
        let client = Client::new(4, 4, "---", &[2]);
        all.push(row("no-pad", Mistake::NoPad, [delta; 2], client, processor, Harm::Twice, NO_PAD));
    }
    for processor in [2, 4].map(buffer) {
        let delta = delta_for(processor);
        let (count, pops) = (delta as usize + 2, "-".repeat(delta as usize + 1));
        let client = Client::new(count, count, &pops, &[2]);
        all.push(row("head-first", Mistake::HeadFirst, [delta; 2], client, processor, Harm::Twice, HEAD_FIRST));
    }
    let client = Client::new(1, 0, "++", &[]);
    let shows = "a push overwrites the oldest task";
    all.push(row("overfull-by-one", Mistake::OverfullByOne, [1; 2], client, buffer(1), Harm::Lost, shows));
    all
}

fn thep() -> Vec<Mutant> {
    use thep::{Mistake, Thep};
    let row = |mistake, params, deltas, client, processor, harm, shows| {
        fence_free::<Thep, _>(mistake, [params, Mistake::None], deltas, &client, processor, harm, shows)
    };
    let mut all = Vec::new();
    for processor in [1, 2, 3, 4].map(buffer).into_iter().chain([1, 2, 3].map(merging)) {
        let delta = delta_for(processor);
        let (count, pops) = (delta as usize, "-".repeat(delta as usize));
        let client = Client::new(count, count, &pops, &[1]);
        all.push(row("small-delta", Mistake::None, [delta - 1, delta], client, processor, Harm::Twice, SMALL_DELTA));
    }
    for (processor, delta) in [(merging(1), 1), (merging(1), 2), (merging(1), 3), (merging(2), 3), (merging(3), 3)] {
        let client = Client::new(4, 4, "----", &[1]);
        all.push(row("no-echo", Mistake::NoEcho, [delta; 2], client, processor, Harm::Twice, NO_PAD));
    }
    for processor in [2, 4].map(buffer) {
        let delta = delta_for(processor);
        let (count, pops) = (delta as usize + 1, "-".repeat(delta as usize + 1));
        let client = Client::new(count, count, &pops, &[1]);
        all.push(row("head-first", Mistake::HeadFirst, [delta; 2], client, processor, Harm::Twice, HEAD_FIRST));
    }
    let shows = "a thief that is not sure takes a task that the owner has taken";
    let client = Client::new(1, 1, "-", &[1]);
    all.push(row("no-wait", Mistake::NoWait, [1; 2], client, buffer(1), Harm::Twice, shows));
    let shows = "the echo of a claim that was given back is taken for that of the next one";
    let client = Client::new(2, 2, "--", &[2]);
    all.push(row("number-used-again", Mistake::NumberUsedAgain, [1; 2], client, buffer(1), Harm::Twice, shows));
    let shows = "a push goes by a claim that is given back, and overwrites the oldest task";
    let client = Client::new(1, 0, "+++", &[1]);
    all.push(row("no-spare-slot", Mistake::NoSpareSlot, [1; 2], client, buffer(1), Harm::Lost, shows));
    all
}

fn termination() -> Vec<Mutant> {
    use termination::Mistake;
    let row = |name: &str, mistake, shows| Mutant {
        twin: "termination",
        mistake: name.to_owned(),
        shows,
        client: "three bags, two workers, one check".to_owned(),
        processor: buffer(1),
        delta: None,
        harm: Harm::EarlyEnd,
        program: Arc::new(move || termination::program::<Tso>(mistake)),
        control: Arc::new(|| termination::program::<Tso>(Mistake::None)),
    };
    vec![
        row(
            "created-read-first",
            Mistake::CreatedReadFirst,
            "a bag that is created after the one sum and finished before the other makes up for one that is not finished",
        ),
        row(
            "counted-after-publishing",
            Mistake::CountedAfterPublishing,
            "a bag that is finished before it is counted makes up for one that is not finished",
        ),
    ]
}

fn lineage() -> Vec<Mutant> {
    use lineage::Mistake;
    let row = |name: &str, mistake, harm, shows| Mutant {
        twin: "lineage",
        mistake: name.to_owned(),
        shows,
        client: "two children, two workers, one wait".to_owned(),
        processor: buffer(1),
        delta: None,
        harm,
        program: Arc::new(move || lineage::program::<Tso>(mistake)),
        control: Arc::new(|| lineage::program::<Tso>(Mistake::None)),
    };
    vec![
        row(
            "two-steps",
            Mistake::TwoSteps,
            Harm::Hang,
            "two workers take off a part each, and the count is lower by one",
        ),
        row(
            "counted-after-passing",
            Mistake::CountedAfterPassing,
            Harm::EarlyEnd,
            "a child that is finished before it is counted ends the job in its parent's place",
        ),
    ]
}

fn search() -> Vec<Mutant> {
    use search::Mistake;
    let row = |name: &str, mistake, shows| Mutant {
        twin: "search",
        mistake: name.to_owned(),
        shows,
        client: "two pieces, two workers".to_owned(),
        processor: buffer(1),
        delta: None,
        harm: Harm::Hang,
        program: Arc::new(move || search::program::<Tso>(2, mistake)),
        control: Arc::new(|| search::program::<Tso>(2, Mistake::None)),
    };
    vec![
        row(
            "wakes-nobody",
            Mistake::WakesNobody,
            "a piece that was published while somebody searched stays where it is when that one finds another",
        ),
        row(
            "forgets",
            Mistake::Forgets,
            "the same, when it finds the other in its last look, after it has ended its search",
        ),
        row(
            "ends-late",
            Mistake::EndsLate,
            "a piece that comes between the last look and the end of the search wakes nobody",
        ),
    ]
}

fn guest() -> Vec<Mutant> {
    use guest::Mistake;
    let row = |name: &str, mistake, shows| Mutant {
        twin: "guest",
        mistake: name.to_owned(),
        shows,
        client: "one guest, one job".to_owned(),
        processor: buffer(1),
        delta: None,
        harm: Harm::Hang,
        program: Arc::new(move || guest::program::<Tso>(1, false, mistake)),
        control: Arc::new(|| guest::program::<Tso>(1, false, Mistake::None)),
    };
    vec![
        row("looks-no-more", Mistake::LooksNoMore, "a job that is posted while a guest has the seat wakes nobody"),
        row(
            "wakes-nobody",
            Mistake::WakesNobody,
            "a job that is posted between a guest's last look and its leave wakes the guest",
        ),
    ]
}

fn seize() -> Vec<Mutant> {
    use seize::Mistake;
    let row = |name: &str, mistake, acts, harm, shows| Mutant {
        twin: "seize",
        mistake: name.to_owned(),
        shows,
        client: format!("{acts}, one thief"),
        processor: buffer(1),
        delta: None,
        harm,
        program: Arc::new(move || seize::program::<Tso>(acts, &[2], grain::Params::FINE, mistake)),
        control: Arc::new(move || seize::program::<Tso>(acts, &[2], grain::Params::FINE, Mistake::None)),
    };
    vec![
        row(
            "falls-late",
            Mistake::FallsLate,
            "++|-",
            Harm::Twice,
            "a task that its owner is about to take back is shared for it",
        ),
        row("rises-early", Mistake::RisesEarly, "+|+", Harm::Race, "a task that has not been written is shared"),
        row(
            "barges",
            Mistake::Barges,
            "++|--",
            Harm::Race,
            "an owner does its own sharing while somebody does it for it",
        ),
    ]
}

fn waiting() -> Vec<Mutant> {
    vec![Mutant {
        twin: "waiting",
        mistake: "no-barrier-before-sleep".to_owned(),
        shows: "who sleeps overlooks a task that its owner pushed without a fence, since that one had not seen that the queue was emptied",
        client: "a push, one thief, one sleeper".to_owned(),
        processor: buffer(2),
        delta: None,
        harm: Harm::Hang,
        program: Arc::new(|| runtime::push_unfenced::<Tso>(1, true)),
        control: Arc::new(|| runtime::push_unfenced::<Tso>(1, false)),
    }]
}

fn wool() -> Vec<Mutant> {
    use wool::{Mistake, Wool};
    let row = |name: &str, mistake, owner, thieves, harm, shows| {
        let client = stack::Client { owner, above: "", thieves };
        let make = move |mistake| -> Make { Arc::new(move || stack::program::<Tso, Wool<Tso>>(&client, &mistake)) };
        Mutant {
            twin: "wool",
            mistake: name.to_owned(),
            shows,
            client: client.to_string(),
            processor: buffer(0),
            delta: None,
            harm,
            program: make(mistake),
            control: make(Mistake::None),
        }
    };
    vec![
        row(
            "join-without-swap",
            Mistake::JoinWithoutSwap,
            "+|-",
            &[1],
            Harm::Twice,
            "a thief takes the task between the owner's load and its store",
        ),
        row(
            "bot-stays",
            Mistake::BotStays,
            "+|-",
            &[1],
            Harm::Hidden,
            "once a stolen task has been joined, thieves look above the stack",
        ),
        row(
            "no-back-out",
            Mistake::NoBackOut,
            "++|--++--",
            &[2],
            Harm::Hidden,
            "a thief that read bot before older tasks were joined and forked again takes a newer one, and sets bot past the older",
        ),
    ]
}
