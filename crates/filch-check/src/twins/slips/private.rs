//! Mistakes in the private deques: the one with an exposed task, and those that answer requests or deal.

use std::time::Duration;

use filch_queue::pdq::{one_step, sender};
use filch_queue::{Amount, OneExposed, PdqR, PdqRAsync, PdqS, PdqSAtOnce, PdqSOneStep, PdqSTold, Queue};

use crate::harm::Harm;
use crate::scenarios::private::{self, Part};
use crate::scenarios::queues::Client;
use crate::sites::Slip;
use crate::tso::Tso;
use crate::twins::mutant::{Mutant, buffer, slip, slipped, slipped_protocol};

const ONE_EXPOSED: &str = "filch-queue/src/one_exposed.rs";
const ASKING: &str = "filch-queue/src/pdq/asking.rs";
const WAITS: &str = "filch-queue/src/pdq/waits.rs";
const WITHDRAWS: &str = "filch-queue/src/pdq/withdraws.rs";
const TWO_STEPS: &str = "filch-queue/src/pdq/two_steps.rs";
const ONE_STEP: &str = "filch-queue/src/pdq/one_step.rs";

pub(super) fn mutants() -> Vec<Mutant> {
    [one_exposed(), pdq(), waiting(), dealing()].concat()
}

/// Dealing whenever that is possible.
const WHENEVER: sender::Params = sender::Params { share: Amount::Half, gap: Duration::ZERO };

const ONE_WHENEVER: one_step::Params = one_step::Params { gap: WHENEVER.gap };

fn one_exposed() -> Vec<Mutant> {
    vec![
        slip::<OneExposed>(
            "taken-back-by-store",
            Slip::by_store((ONE_EXPOSED, "take_back", "cell.swap")),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "a thief takes the task between the owner's load and its store",
        ),
        slip::<OneExposed>(
            "stolen-by-store",
            Slip::by_store((ONE_EXPOSED, "steal", "compare_exchange")),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "somebody takes the task between a thief's load and its store",
        ),
        slip::<OneExposed>(
            "exposed-over-another",
            Slip::altered((ONE_EXPOSED, "nothing_is_exposed", "cell.load"), |_| 0),
            Client::new(2, 0, "++", &[]),
            Harm::Lost,
            "the owner overwrites a task that nobody has taken",
        ),
    ]
}

fn pdq() -> Vec<Mutant> {
    const INCOMING: u64 = 3;
    const DEALT_BY_0: u64 = 4;
    vec![
        slip::<PdqRAsync>(
            "claimed-by-store",
            Slip::by_store((WITHDRAWS, "request_and", "cell.swap")),
            Client::new(1, 1, "..", &[1]).withdrawing(),
            Harm::Lost,
            "the owner sends a task to a thief that has withdrawn its request",
        ),
        slipped::<PdqSTold>(
            (
                "mark-taken",
                Slip::altered(
                    (TWO_STEPS, "receive", "state.load"),
                    |state| if state == INCOMING { DEALT_BY_0 } else { state },
                ),
            ),
            &WHENEVER,
            Client::new(1, 1, ".", &[2]),
            buffer(1),
            Harm::Race,
            "a thief takes the mark that says that a task is coming for the task, and opens the bag that is being filled",
        ),
    ]
}

fn waiting() -> Vec<Mutant> {
    let row = |name, slip, parts: &'static [Part], shows| {
        let program = move || private::program::<Tso, PdqR>(parts, &Default::default());
        slipped_protocol("pdq-r", (name, slip), private::said(parts), Harm::Hang, shows, program)
    };
    vec![
        row(
            "asked-by-store",
            Slip::by_store((ASKING, "ask", "compare_exchange")),
            &[(2, &[]), (0, &[0]), (0, &[0])],
            "a thief writes its number over another's, which waits for ever",
        ),
        row(
            "rejected-by-store",
            Slip::by_store((WAITS, "request_or", "compare_exchange")),
            &[(1, &[]), (0, &[0])],
            "an owner that goes home blocks its cell over a request that has just come, and whoever asked waits for ever",
        ),
    ]
}

fn dealing() -> Vec<Mutant> {
    fn row<Q: Queue<Tso>>(
        params: Q::Params,
        name: &str,
        slip: Slip,
        parts: &'static [Part],
        harm: Harm,
        shows: &'static str,
    ) -> Mutant {
        let program = move || private::program::<Tso, Q>(parts, &params);
        slipped_protocol(Q::PROMISES.name, (name, slip), private::said(parts), harm, shows, program)
    }
    let by_store = Slip::by_store((TWO_STEPS, "deal", "compare_exchange"));
    vec![
        row::<PdqSTold>(
            WHENEVER,
            "dealt-by-store",
            by_store,
            &[(1, &[]), (0, &[0, 0])],
            Harm::Lost,
            "the owner deals to a thief that has withdrawn its wish",
        ),
        row::<PdqS>(
            WHENEVER,
            "dealt-by-store",
            by_store,
            &[(1, &[]), (1, &[]), (0, &[0])],
            Harm::Lost,
            "two owners deal to the same thief",
        ),
        row::<PdqS>(
            WHENEVER,
            "left-by-store",
            Slip::by_store((TWO_STEPS, "close", "compare_exchange")),
            &[(1, &[]), (0, &[0])],
            Harm::Lost,
            "a thief that leaves closes its desk over a task that has just been dealt",
        ),
        row::<PdqSAtOnce>(
            ONE_WHENEVER,
            "dealt-by-store",
            Slip::by_store((ONE_STEP, "deal", "compare_exchange")),
            &[(1, &[]), (1, &[]), (0, &[0])],
            Harm::Lost,
            "two owners deal to the same thief",
        ),
        row::<PdqSAtOnce>(
            ONE_WHENEVER,
            "left-by-store",
            Slip::by_store((ONE_STEP, "close", "swap")),
            &[(1, &[]), (0, &[0, 0])],
            Harm::Lost,
            "a worker that goes home closes its cell over a task that has just been dealt",
        ),
        row::<PdqSOneStep>(
            ONE_WHENEVER,
            "dealt-by-store",
            Slip::by_store((ONE_STEP, "deal", "compare_exchange")),
            &[(1, &[]), (0, &[0])],
            Harm::Lost,
            "the owner deals to a thief that has left its cell",
        ),
        row::<PdqSOneStep>(
            ONE_WHENEVER,
            "left-by-store",
            Slip::by_store((ONE_STEP, "close", "swap")),
            &[(1, &[]), (0, &[0])],
            Harm::Lost,
            "a thief that leaves closes its cell over a task that has just been dealt",
        ),
    ]
}
