//! The part of the report that says where the numbers come from.

use filch_catalogue::Memory;
use maud::{Markup, html};

use super::Setting;
use crate::stats::RESAMPLES;

impl Setting<'_> {
    pub(super) fn machine(&self) -> Markup {
        let (runs, machine) = (self.page.runs, &self.machine);
        let of_others = runs.iter().filter(|run| !run.who.is_serial() && !run.version.is_empty());
        let mut versions: Vec<String> = of_others.map(|run| format!("{} {}", run.who.scheduler, run.version)).collect();
        versions.sort_unstable();
        versions.dedup();
        let kind = if machine.virtual_machine { " (virtual)" } else { "" };
        let flags = if machine.rustflags.is_empty() { "none" } else { &machine.rustflags };
        let rows = [
            ("processor", machine.processor.clone()),
            ("processors", format!("{}{kind}", machine.cores)),
            ("memory", Memory(machine.memory_bytes).to_string()),
            ("governor", machine.governor.clone()),
            ("kernel", machine.kernel.clone()),
            ("compiler", machine.compiler.clone()),
            ("target", machine.target.clone()),
            ("profile", machine.profile.clone()),
            ("RUSTFLAGS", flags.to_owned()),
            ("commit", runs.first().map(|run| run.commit.clone()).unwrap_or_default()),
            ("schedulers", versions.join(", ")),
        ];
        html! {
            section class="card" {
                h2 { "Machine and build" }
                dl { @for (name, text) in rows { dt { (name) } dd { (text) } } }
            }
        }
    }
}

pub(super) fn method() -> Markup {
    let intervals = format!(
        "[Brackets] hold the percentile bootstrap's 95 % interval of that median: of {RESAMPLES} samples of as many rounds, drawn \
         with replacement from those measured, the medians but for 2.5 % at each end. It speaks of this machine and session, not \
         of another. One round has none; that of two to four rounds is too narrow."
    );
    let lines = [
        "Each visit to a scheduler is a fresh process: it starts the pool, warms up on a small size, then times whole runs of \
         the program.",
        "Visits come in rounds over everything, each round in an order shuffled anew, so that what the machine does meanwhile \
         meets all alike.",
        "The answer of every run is checked. Wrong ones are shown, and fail the session.",
        "All schedulers run one source, written against a trait that each implements; the sequential program is written plainly, \
         without it.",
        "Times are medians of all runs. What sets times against others is found in each round, in which they lie close together, \
         and told as the median over the rounds.",
        &intervals,
        "Two copies of the sequential program, released at the same moment, give the parallel capacity C.",
        "Counters are those of filch's pools, always on, and count only on cold paths.",
    ];
    let biases = [
        "filch was tuned by its authors on machines like this one, its peers were not.",
        "Forks that a peer offers only in pairs are built from pairs, where filch and lace-ws spawn and sync.",
        "Programs without a cut-off, as fib here, show the price of a fork and nothing else; few real programs are like that.",
        "Two processors say little of sixty-four.",
    ];
    html! {
        section class="card" {
            h2 { "How it was measured" }
            ul { @for line in lines { li { (line) } } }
            h3 { "Which way it may mislead" }
            ul { @for line in biases { li { (line) } } }
        }
    }
}
