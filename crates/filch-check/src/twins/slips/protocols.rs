//! Mistakes in filch's own protocols.

use filch::inside::protocol::{grain, wool::Params};
use filch_queue::lace::Moves;

use crate::harm::Harm;
use crate::scenarios::stacks::Client;
use crate::scenarios::{guest, lineage, log, passing, private_stack, rounds, runtime, seize, wool};
use crate::sites::Slip;
use crate::tso::Tso;
use crate::twins::mutant::{Mutant, buffer, slipped_protocol, slipped_protocol as row};

const ROUNDS: &str = "filch/src/protocol/rounds.rs";
const LOG: &str = "filch/src/protocol/log.rs";
const TERMINATION: &str = "filch/src/protocol/termination.rs";
const LINEAGE: &str = "filch/src/protocol/lineage.rs";
const SLEEP: &str = "filch/src/protocol/sleep/mod.rs";
const SLEEPERS: &str = "filch/src/protocol/sleep/sleepers.rs";
const SEIZE: &str = "filch/src/protocol/seize.rs";
const LIMITS: &str = "filch/src/protocol/limits.rs";
const STATE: &str = "filch/src/protocol/state.rs";
const WOOL: &str = "filch/src/protocol/wool.rs";
const PRIVATE: &str = "filch/src/protocol/private.rs";

// What the threads of a program do between the protocol's own steps.
const COUNTING: &str = "filch-check/src/scenarios/runtime/counting.rs";
const FAMILY: &str = "filch-check/src/scenarios/lineage.rs";
const SEARCHING: &str = "filch-check/src/scenarios/runtime/searching.rs";
const GUEST: &str = "filch-check/src/scenarios/guest.rs";

pub(super) fn mutants() -> Vec<Mutant> {
    [
        of_rounds(),
        of_logs(),
        of_counts(),
        of_jobs(),
        of_sleep(),
        of_seats(),
        of_seizing(),
        of_states(),
        of_wool(),
        of_private_stacks(),
    ]
    .concat()
}

fn of_rounds() -> Vec<Mutant> {
    let row = |name, threads, rounds, slip, shows| {
        let client = format!("{threads} threads, {rounds} rounds");
        row("rounds", (name, slip), client, Harm::Hang, shows, move || rounds::program::<Tso>(threads, rounds, false))
    };
    vec![
        row(
            "begun-before-counted",
            1,
            2,
            Slip::swapped((ROUNDS, "begin", "left.store"), (ROUNDS, "begin", "round.store")),
            "a thread that is done before the caller has counted it is never done to the caller",
        ),
        row(
            "done-by-store",
            2,
            1,
            Slip::by_store((ROUNDS, "done", "fetch_sub")),
            "two threads take off a part each, and the count is lower by one",
        ),
    ]
}

fn of_logs() -> Vec<Mutant> {
    let row = |name, slip, shows| {
        row("log", (name, slip), "2 notes, 2 recordings", Harm::Panic, shows, || log::program::<Tso>(2, 1, 2))
    };
    vec![
        row(
            "one-number-for-all",
            Slip::altered((LOG, "begin", "last.load"), |_| 0),
            "what was noted in one recording is read in the next",
        ),
        row(
            "counted-before-written",
            Slip::swapped((LOG, "add", "word.store"), (LOG, "add", "head.store")),
            "a reader finds an entry counted that is not written yet",
        ),
    ]
}

fn of_counts() -> Vec<Mutant> {
    let row = |name, slip, shows| {
        let client = "three pieces, two workers, one look";
        let mutant = row("termination", (name, slip), client, Harm::EarlyEnd, shows, || runtime::termination::<Tso>(1));
        Mutant { processor: buffer(0), ..mutant }
    };
    vec![
        row(
            "created-read-first",
            Slip::swapped(
                (TERMINATION, "all_done", "0.1.load(Ordering::Acquire)"),
                (TERMINATION, "all_done", "0.0.load(Ordering::Relaxed)"),
            ),
            "a piece that is created after the one sum and finished before the other makes up for one that is not finished",
        ),
        row(
            "counted-after-publishing",
            Slip::swapped((TERMINATION, "created", "created.store"), (COUNTING, "termination", "passed.store")).by(0),
            "a piece that is finished before it is counted makes up for one that is not finished",
        ),
        Mutant {
            processor: buffer(0),
            ..slipped_protocol(
                "termination",
                (
                    "handed-over-before-counted",
                    Slip::swapped(
                        (COUNTING, "gives", "given[worker].store"),
                        (COUNTING, "gives", "passed[worker].store"),
                    )
                    .by(1),
                ),
                "three parts, two workers, one look",
                Harm::EarlyEnd,
                "a part that is finished before its giver has counted it makes up for one that is not finished",
                || runtime::transfers::<Tso>(1, false),
            )
        },
    ]
}

fn of_jobs() -> Vec<Mutant> {
    let row = |name, slip, harm, shows| {
        let program = || lineage::family::<Tso>(lineage::Finishing::OneByOne, None);
        row("jobs", (name, slip), "two children, two workers", harm, shows, program)
    };
    vec![
        row(
            "two-steps",
            Slip::by_store((LINEAGE, "decrease", "fetch_sub")),
            Harm::NoEnd,
            "two workers take off a part each, and the count is lower by one",
        ),
        row(
            "counted-after-passing",
            Slip::swapped((LINEAGE, "add", "word.store"), (FAMILY, "pass", "passed[child].store")),
            Harm::EarlyEnd,
            "a child that is finished before it is counted ends the job in its parent's place",
        ),
    ]
}

fn of_sleep() -> Vec<Mutant> {
    let searching = |name, slip, shows| {
        row("search", (name, slip), "two pieces, two workers", Harm::Hang, shows, || runtime::pieces::<Tso>(2, false))
    };
    let told = |name, slip, shows| {
        let spawns = || runtime::push_unfenced::<Tso>(0, runtime::Unfenced::Told { takes_back: false });
        let mutant = row("sleep", (name, slip), "two jobs, one sleeper", Harm::Hang, shows, spawns);
        Mutant { processor: buffer(2), ..mutant }
    };
    let unfenced = row(
        "waiting",
        ("no-barrier-before-sleep", Slip::left_out((SEARCHING, "settle", "M::heavy_barrier"))),
        "a push, one thief, one sleeper",
        Harm::Hang,
        "who sleeps overlooks a task that its owner pushed without a fence, since that one had not seen that the queue was emptied",
        || runtime::push_unfenced::<Tso>(1, runtime::Unfenced::Always),
    );
    vec![
        searching(
            "wakes-nobody",
            // The worker that begins in the middle of a search.
            Slip::altered((SLEEPERS, "any", "load"), |_| 0).by(2),
            "a piece that was published while somebody searched stays where it is when that one finds another",
        ),
        searching(
            "ends-late",
            Slip::swapped((SLEEPERS, "end_search", "fetch_sub"), (SEARCHING, "sees_any", "pieces.load")),
            "a piece that comes between the last look and the end of the search wakes nobody",
        ),
        Mutant { processor: buffer(2), ..unfenced },
        told(
            "no-barrier-for-the-unfenced",
            Slip::left_out((SLEEP, "settle", "M::heavy_barrier")),
            "who sleeps overlooks the second of two jobs that were spawned, the first with a fence",
        ),
        told(
            "unfenced-unannounced",
            Slip::left_out((SLEEPERS, "begin", "fetch_add")),
            "who sleeps does not know that jobs are spawned without a fence",
        ),
    ]
}

fn of_seats() -> Vec<Mutant> {
    let row = |name, slip, shows| {
        row("guest", (name, slip), "one guest, one job", Harm::Hang, shows, || {
            guest::program::<Tso>(1, false, guest::Own::Awake)
        })
    };
    vec![
        row(
            "looks-no-more",
            Slip::altered((GUEST, "sees_any", "jobs.load"), |_| 0).by(1),
            "a job that is posted while a guest has the seat wakes nobody",
        ),
        row(
            "wakes-nobody",
            Slip::unchecked((SLEEP, "vacate", "compare_exchange")),
            "a job that is posted between a guest's last look and its leave wakes the guest",
        ),
    ]
}

fn of_seizing() -> Vec<Mutant> {
    let row = |name, slip, acts, harm, shows| {
        let program =
            move || seize::program::<Tso>(acts, &[2], (Moves::Updates, grain::Params::FINE), seize::Mistake::None);
        row("seize", (name, slip), format!("{acts}, one thief"), harm, shows, program)
    };
    vec![
        row(
            "falls-late",
            Slip::swapped((SEIZE, "fall", "head.store"), (LIMITS, "admits_pop", "pop.load")),
            "++|-",
            Harm::Twice,
            "a task that its owner is about to take back is shared for it",
        ),
        row(
            "barges",
            Slip::altered((SEIZE, "enter", "claim.load"), |_| 0),
            "++|--",
            Harm::Race,
            "an owner does its own sharing while somebody does it for it",
        ),
    ]
}

fn of_states() -> Vec<Mutant> {
    const SLEEPS: u64 = 0b1000;
    vec![row(
        "runtime",
        ("forgets-the-sleeper", Slip::altered((STATE, "claim_again", "compare_exchange"), |word| word & !SLEEPS)),
        "a kept job, one other thief",
        Harm::Hang,
        "who takes a job over that another thief has kept forgets that its owner has gone to sleep",
        || passing::kept::<Tso>(1, passing::Mistake::None),
    )]
}

fn of_wool() -> Vec<Mutant> {
    let row = |name, slip, owner, thieves, harm, shows| {
        let client = Client { owner, above: "", thieves };
        let params = Params { privatise_after: u32::MAX, ..Params::default() };
        let program = move || wool::program::<Tso>(&client, &params);
        Mutant { processor: buffer(0), ..row("wool", (name, slip), client.to_string(), harm, shows, program) }
    };
    vec![
        row(
            "join-without-swap",
            Slip::by_store((STATE, "retract", "compare_exchange")),
            "+|-",
            &[1],
            Harm::Twice,
            "a thief takes the task between the owner's load and its store",
        ),
        row(
            "bot-stays",
            Slip::left_out((WOOL, "joined", "bot.store")),
            "+|-",
            &[1],
            Harm::Hidden,
            "once a stolen task has been joined, thieves look above the stack",
        ),
        row(
            "no-back-out",
            Slip::stale((WOOL, "steal_below", "let bot = self.bot.load"), (WOOL, "steal_below", "if self.bot.load")),
            "++|--++--",
            &[2],
            Harm::Hidden,
            "a thief that read bot before older tasks were joined and forked again takes a newer one, and sets bot past the older",
        ),
    ]
}

fn of_private_stacks() -> Vec<Mutant> {
    let row = |name, slip, harm, shows| {
        let client = Client { owner: "++|--", above: "", thieves: &[1] };
        let program = move || private_stack::program::<Tso>(&client);
        row("direct-pdq-r2", (name, slip), client.to_string(), harm, shows, program)
    };
    vec![
        row(
            "claimed-by-store",
            Slip::by_store((PRIVATE, "claim", "request.0.swap")),
            Harm::Hang,
            "the owner closes its cell over a request that has just come, and whoever asked waits for an answer under way",
        ),
        row(
            "withdrawn-by-store",
            Slip::by_store((PRIVATE, "withdraw", "compare_exchange")),
            Harm::Hidden,
            "a thief that withdraws opens a cell that the owner has just closed",
        ),
        row(
            "asked-by-store",
            Slip::by_store((PRIVATE, "ask", "compare_exchange")),
            Harm::Hidden,
            "a thief asks at a cell that the owner has just closed, and thieves believe that there is a task",
        ),
    ]
}
