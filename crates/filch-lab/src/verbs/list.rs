//! `filch list`: lists everything that has a name.

use std::io::Write;

use filch_catalogue::{Knob, Lists, PEERS, POOLS, PeerSpec, PoolSpec, QUEUES, QueueSpec, WAITS, WaitSpec, Workload};

use crate::adapters;
use crate::columns::COLUMNS;
use crate::error::{Result, usage};
use crate::experiment::Experiment;
use crate::experiments::all;
use crate::flags::{List as Flags, Listed, Size};
use crate::programs::name_of;
use crate::runners::Executable;
use crate::scheduler::STYLED;
use crate::terminal::{HEADING, colour, paint, width};
use crate::verbs::hand_over;
use filch_catalogue::console::table;

pub(crate) fn list(flags: &Flags) -> Result {
    if flags.what == Some(Listed::Scenarios) {
        let words = ["scenarios"].into_iter().chain(flags.names.iter().map(String::as_str));
        return hand_over(&Executable::Check, &words.map(Into::into).collect::<Vec<_>>());
    }
    let mut out = std::io::stdout().lock();
    if flags.what == Some(Listed::Forms) {
        forms(&mut out, &flags.names)?;
        return Ok(out.flush()?);
    }
    let every = [
        Listed::Pools,
        Listed::Queues,
        Listed::Parameters,
        Listed::Workloads,
        Listed::Peers,
        Listed::Experiments,
        Listed::Waits,
        Listed::Columns,
    ];
    for (index, what) in every.iter().filter(|&&what| flags.what.is_none_or(|wanted| wanted == what)).enumerate() {
        let (name, heads, mut rows): (_, &[&str], _) = match what {
            Listed::Pools => (
                "Pools",
                &[
                    "name",
                    "runs",
                    "thieves take",
                    "progress",
                    "capacity",
                    "memory",
                    "paper",
                    "description",
                    "parameters",
                ],
                pools(),
            ),
            Listed::Queues => (
                "Queues",
                &["name", "tasks", "thieves take", "steal", "capacity", "memory", "paper", "parameters"],
                queues(),
            ),
            Listed::Parameters => ("Parameters", &["name", "for", "meaning"], parameters()),
            Listed::Workloads => {
                ("Workloads", &["name", "tasks", "description", "sizes", "parameters", "source"], workloads())
            }
            Listed::Peers => ("Peers", &["name", "version", "description", "how to get it", "home"], peers()),
            Listed::Experiments => {
                ("Experiments", &["name", "question", "programs", "sweeps", "claims"], experiments())
            }
            Listed::Columns => ("Columns", &["name", "heading", "unit", "meaning"], columns()),
            Listed::Waits | Listed::Forms | Listed::Scenarios => {
                ("Waits", &["name", "how a worker waits for a stolen task"], waits())
            }
        };
        table::keep_named(&mut rows, |row| &row[0], &flags.names).map_err(usage)?;
        if flags.what.is_none() {
            let gap = if index > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}", paint(name, HEADING, colour()))?;
        }
        writeln!(out, "{}", table::list(heads, &rows, colour()))?;
        if *what == Listed::Pools && flags.names.is_empty() {
            writeln!(out, "{REQUESTS}")?;
        }
    }
    if flags.what.is_none() {
        writeln!(
            out,
            "\nFor what each pool and queue follows in its paper, and where it departs from that: `filch list forms`"
        )?;
        writeln!(out, "For the scenarios of `filch check`: `filch list scenarios`")?;
    }
    out.flush()?;
    Ok(())
}

/// A note below the pools.
const REQUESTS: &str = "\
If thieves take tasks on request, or the owner shares on request (lace, padws, dsq, heartbeat-on-request), a worker answers only between
its own tasks: a long task delays the answer, unless it polls. In the first case, and on padws, `interrupts=signal` makes the worker answer
within a task, and so does `interrupts=thieves` if thieves choose whom they ask (`filch list parameters`).
Which figure of its paper each follows, and where it departs from that: `filch list forms`.";

/// What all forms have in common.
const COMMON_DEPARTURES: &[&str] = &[
    "A task is one word, and orderings are those that Rust's memory model needs.",
    "A fork or push that finds no room leaves its task to the caller.",
    "Workers without work sleep; the papers' spin (idle=spin).",
    "A thief that has lost a race tries again; Lace's and Wool's go elsewhere (loss=give-up).",
    "A worker that waits for a stolen task looks elsewhere after 32 failed leaps; Lace's after one (leaps=1), Wool's after a number \
     that adapts (leaps=adaptive).",
];

/// Writes what each pool and queue follows and where it departs from that.
fn forms(out: &mut impl Write, names: &[String]) -> Result {
    // Where there is no terminal, as for readers of text.
    let width = width().unwrap_or(100);
    let common = ("all", "", "", COMMON_DEPARTURES);
    let pools = POOLS.iter().map(|pool| (pool.name, pool.paper, pool.follows, &pool.departures[..]));
    let others = QUEUES.iter().filter(|queue| POOLS.iter().all(|pool| pool.name != queue.name));
    let others = others.map(|queue| (queue.name, queue.paper, queue.follows, &queue.departures[..]));
    let mut forms: Vec<_> = std::iter::once(common).chain(pools).chain(others).collect();
    table::keep_named(&mut forms, |form| form.0, names).map_err(usage)?;
    for (nth, (name, paper, follows, departures)) in forms.into_iter().enumerate() {
        let points = if departures.is_empty() && !follows.is_empty() { &["nowhere: as printed"] } else { departures };
        let points = points.iter().enumerate().map(|(nth, point)| [if nth == 0 { "departs" } else { "" }, point]);
        let rows = [["paper", paper], ["follows", follows]].into_iter().filter(|[_, text]| !text.is_empty());
        let rows: Vec<[&str; 2]> = rows.chain(points).collect();
        let gap = if nth > 0 { "\n" } else { "" };
        writeln!(out, "{gap}{}\n{}", paint(name, HEADING, colour()), table::labelled(&rows, width))?;
    }
    Ok(())
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Lists the pools, and the queues that are not pools, since they may return a task twice or their owner's end is not
/// LIFO.
fn pools() -> Vec<Vec<String>> {
    let split = &POOLS[0];
    let pool = |name, summary, pool: &PoolSpec| {
        let is_queue = QUEUES.iter().any(|queue| queue.name == name);
        let runs = if is_queue { "fork–join, worklists" } else { "fork–join" };
        let set = parameters_of(&pool.knobs(), pool.defaults);
        row([name, runs, pool.stealable, pool.progress, pool.capacity, pool.memory, pool.paper, summary, &set])
    };
    let pools = POOLS.iter().map(|spec| pool(spec.name, spec.summary, spec));
    let styled = STYLED.iter().map(|(name, _, summary)| pool(name, summary, split));
    let serial = row(["serial", "all programs", "", "", "", "", "none", "the plain sequential program", ""]);
    let others = QUEUES.iter().filter(|queue| POOLS.iter().all(|pool| pool.name != queue.name)).map(|queue| {
        let (runs, why) = match queue.lists {
            Lists::Twice => ("idempotent worklists", "not for fork–join: may return a task twice"),
            Lists::Once | Lists::Many => ("worklists", "not for fork–join: the owner's end is FIFO"),
        };
        let QueueSpec { name, stealable, progress, capacity, memory, paper, .. } = queue;
        let set = parameters_of(&queue.knobs(), "");
        row([name, runs, stealable, progress, capacity, memory, paper, why, &set])
    });
    pools.chain(styled).chain([serial]).chain(others).collect()
}

/// Formats the parameters, and their defaults if they differ from those of the queue.
fn parameters_of(knobs: &[Knob], defaults: &str) -> String {
    let names: Vec<&str> = knobs.iter().map(|knob| knob.name).collect();
    match defaults {
        "" => names.join(" "),
        _ => format!("{} (for fork–join {})", names.join(" "), defaults.replace(':', " ")),
    }
}

/// Whether two parameters have the same name and meaning; their ranges may differ.
fn is_same(a: &Knob, b: &Knob) -> bool {
    (a.name, a.help) == (b.name, b.help)
}

/// Lists the parameters of queues and pools; those of the same name and meaning once.
fn parameters() -> Vec<Vec<String>> {
    let queues: Vec<(&str, Vec<Knob>)> = QUEUES.iter().map(|queue| (queue.name, queue.knobs())).collect();
    let pools: Vec<(&str, Vec<Knob>)> = POOLS.iter().map(|pool| (pool.name, pool.knobs())).collect();
    let mut found: Vec<Knob> = Vec::new();
    for knob in queues.iter().chain(&pools).flat_map(|(_, knobs)| knobs) {
        if !found.iter().any(|other| is_same(other, knob)) {
            found.push(knob.clone());
        }
    }
    let with = |all: &[(&'static str, Vec<Knob>)], knob: &Knob, everybody: &'static str| {
        let with: Vec<&str> = all
            .iter()
            .filter(|(_, knobs)| knobs.iter().any(|other| is_same(other, knob)))
            .map(|&(name, _)| name)
            .collect();
        if with.len() == all.len() { vec![everybody] } else { with }
    };
    let row_of = |knob: &Knob| {
        let mut of = with(&queues, knob, "all queues");
        // Most pools are also queues.
        let pools = with(&pools, knob, "all pools for fork–join").into_iter().filter(|pool| !of.contains(pool));
        of.extend(pools.collect::<Vec<_>>());
        row([knob.name, &of.join(" "), knob.help])
    };
    found.iter().map(row_of).collect()
}

fn queues() -> Vec<Vec<String>> {
    let queue = |queue: &QueueSpec| {
        let QueueSpec { name, lists, stealable, progress, capacity, memory, paper, .. } = queue;
        let delivery = if *lists == Lists::Twice { "at least once" } else { "once" };
        let set = parameters_of(&queue.knobs(), "");
        row([name, delivery, stealable, progress, capacity, memory, paper, &set])
    };
    QUEUES.iter().map(queue).collect()
}

fn workloads() -> Vec<Vec<String>> {
    let preset = |values: &[(&str, &str)]| -> String {
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if values.is_empty() { "default".to_owned() } else { values.join(" ") }
    };
    let workload = |spec: &filch_catalogue::Spec| {
        let sizes = [("quick", spec.quick), ("small", spec.compare), ("paper", spec.paper)];
        let sizes: Vec<String> = sizes.iter().map(|(name, values)| format!("{name} {}", preset(values))).collect();
        let params: Vec<&str> = spec.params.iter().map(|param| param.name).collect();
        // The kind with default parameters.
        let idempotent = Workload::new(spec.name, &[]).is_ok_and(|workload| workload.is_idempotent());
        let kind = if idempotent { format!("{}, idempotent", spec.kind()) } else { spec.kind().to_string() };
        row([spec.name, &kind, spec.summary, &sizes.join("; "), &params.join(" "), spec.source])
    };
    filch_catalogue::specs().iter().map(workload).collect()
}

fn peers() -> Vec<Vec<String>> {
    let peer = |peer: &PeerSpec| {
        let added = peer.adapter.as_ref().map(|adapter| adapters::command(peer, adapter));
        row([peer.name, peer.version, peer.summary, added.as_deref().unwrap_or("cargo builds it"), peer.home])
    };
    PEERS.iter().map(peer).collect()
}

fn experiments() -> Vec<Vec<String>> {
    let experiment = |of: Experiment| {
        let mut programs: Vec<&str> =
            of.entries.iter().filter_map(|entry| entry.program.of(Size::Small)).map(name_of).collect();
        programs.dedup();
        let swept = of.sweep.as_ref().map_or("", |sweep| sweep.parameter);
        row([of.name.unwrap_or_default(), &of.question, &programs.join(" "), swept, &of.claims.len().to_string()])
    };
    all().into_iter().map(experiment).collect()
}

fn waits() -> Vec<Vec<String>> {
    let wait = |wait: &WaitSpec| {
        let mark = if *wait == WAITS[0] { " (the default)" } else { "" };
        row([wait.name, &format!("{}{mark}", wait.help)])
    };
    WAITS.iter().map(wait).collect()
}

fn columns() -> Vec<Vec<String>> {
    let each = COLUMNS.iter();
    each.map(|column| row([column.name, column.heading, column.unit.name(), column.meaning])).collect()
}
