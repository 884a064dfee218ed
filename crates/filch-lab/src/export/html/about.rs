//! The part of the report about the origin of the numbers.

use filch_catalogue::Memory;
use filch_catalogue::protocol::Machine;
use maud::{Markup, html};

use super::Setting;
use crate::stats::RESAMPLES;

impl Setting<'_> {
    pub(super) fn machine(&self) -> Markup {
        let runs = self.page.runs;
        let of_others = runs.iter().filter(|run| !run.who.is_serial() && !run.version.is_empty());
        let mut versions: Vec<String> = of_others.map(|run| format!("{} {}", run.who.scheduler, run.version)).collect();
        versions.sort_unstable();
        versions.dedup();
        let commit = runs.first().map(|run| run.commit.clone()).unwrap_or_default();
        built_by(&self.machine, &[("commit", commit), ("schedulers", versions.join(", "))])
    }
}

/// Describes the machine and the build.
pub(super) fn built_by(machine: &Machine, more: &[(&str, String)]) -> Markup {
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
    ];
    html! {
        section class="card" {
            h2 { "Machine and build" }
            dl { @for (name, text) in rows.iter().chain(more) { dt { (name) } dd { (text) } } }
        }
    }
}

pub(super) fn method() -> Markup {
    let intervals = format!(
        "[Brackets] hold the 95 % interval of that median by the percentile bootstrap: the medians of {RESAMPLES} samples of as many \
         rounds, drawn with replacement, without 2.5 % at each end. It applies to this machine and session only. One round has no \
         interval; that of two to four rounds is too narrow."
    );
    let lines = [
        "Each visit to a scheduler is a fresh process: it starts the pool, warms up on a small size, and then times whole runs of \
         the program.",
        "A round visits every scheduler with every program, in a newly shuffled order, so that the machine's other activity affects \
         all alike.",
        "The answer of every run is checked. A wrong answer is shown, and fails the session.",
        "All schedulers run the same source, written for a trait that each implements; the sequential program is plain code \
         without the trait.",
        "Times are medians of all runs. A comparison of times uses the times of the same round, which are close together, and shows \
         the median over the rounds.",
        &intervals,
        "Copies of the sequential program, started at the same moment, give the parallel capacity C.",
        "Counters are those of filch's pools; they are always on, and count only on cold paths.",
    ];
    let biases = [
        "filch's authors tuned it on machines like this one, but not its peers.",
        "If a peer offers only forks of two, more forks are built from pairs; filch and lace-ws spawn and sync.",
        "Programs without a cut-off, such as fib here, show only the cost of forks; few real programs are like that.",
        "Results on two processors say little about sixty-four.",
    ];
    html! {
        section class="card" {
            h2 { "Method" }
            ul { @for line in lines { li { (line) } } }
            h3 { "Biases" }
            ul { @for line in biases { li { (line) } } }
        }
    }
}
