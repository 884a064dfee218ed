//! Mistakes in the private deques: the one with an exposed task, and those that answer requests or deal.

use std::time::Duration;

use filch_queue::pdq::sender;
use filch_queue::{OneExposed, PdqR, PdqRAsync, PdqSTold};

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
const SENDER: &str = "filch-queue/src/pdq/sender.rs";

pub(super) fn mutants() -> Vec<Mutant> {
    [one_exposed(), pdq(), waiting()].concat()
}

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
    const DEALT: u64 = 4;
    let dealing = sender::Params { gap: Duration::ZERO, ..sender::Params::default() };
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
                Slip::altered((SENDER, "collect", "state.load"), |state| if state == INCOMING { DEALT } else { state }),
            ),
            &dealing,
            Client::new(1, 1, ".", &[2]),
            buffer(1),
            Harm::Race,
            "a thief takes the mark that says that a task is coming for the task, and opens the bag that is being filled",
        ),
        slipped::<PdqSTold>(
            ("dealt-by-store", Slip::by_store((SENDER, "deal", "compare_exchange"))),
            &dealing,
            Client::new(1, 1, "..", &[1]).withdrawing(),
            buffer(1),
            Harm::Lost,
            "the owner deals to a thief that has withdrawn its wish",
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
