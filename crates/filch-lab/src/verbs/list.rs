//! `filch list`: what there is.

use std::io::Write;

use filch_queue::{Capacity, Delivery, MemoryModel, Progress, Promises};

use crate::error::Result;
use crate::export::table;
use crate::flags::{List as Flags, Listed};
use crate::pools::POOLS;
use crate::queues::QUEUES;
use crate::scheduler::{CLOSURES, WAITS};
use crate::terminal::{colour, paint};

pub(crate) fn list(flags: &Flags) -> Result {
    let mut out = std::io::stdout().lock();
    let all = [Listed::Pools, Listed::Queues, Listed::Workloads, Listed::Peers, Listed::Waits, Listed::Scenarios];
    for (index, what) in all.iter().filter(|&&what| flags.what.is_none_or(|wanted| wanted == what)).enumerate() {
        let (name, heads, rows): (_, &[&str], _) = match what {
            Listed::Pools => ("Pools", &["name", "what it is", "paper", "progress", "capacity"], pools()),
            Listed::Queues => ("Queues", &["name", "tasks", "steal", "capacity", "memory", "paper"], queues()),
            Listed::Workloads => {
                ("Workloads", &["name", "what it computes", "sizes", "parameters", "source"], workloads())
            }
            Listed::Peers => ("Peers", &["name", "version", "what it is", "home or how to get it"], peers()),
            Listed::Waits => ("Waits", &["name", "what a worker does while its task is stolen"], waits()),
            Listed::Scenarios => ("Scenarios", &["of", "what its threads do", "on", "cost"], scenarios()),
        };
        if flags.what.is_none() {
            let gap = if index > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}", paint(name, "1;4", colour()))?;
        }
        writeln!(out, "{}", table::list(heads, rows, colour()))?;
    }
    out.flush()?;
    Ok(())
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn pools() -> Vec<Vec<String>> {
    let serial = row(["serial", "the plain sequential program", "none", "", ""]);
    let closures = row([CLOSURES, "split, its forks plain closures instead of handles", POOLS[0].paper, "", ""]);
    let named = POOLS.iter().map(|pool| row([pool.name, pool.summary, pool.paper, pool.progress, pool.capacity]));
    named.chain([closures, serial]).collect()
}

fn queues() -> Vec<Vec<String>> {
    let queue = |promises: &Promises| {
        let delivery = match promises.delivery {
            Delivery::ExactlyOnce => "once",
            Delivery::AtLeastOnce => "at least once",
        };
        let steal = match promises.steal_progress {
            Progress::Blocking => "blocking",
            Progress::LockFree => "lock-free",
            Progress::OwnerDependent => "by request",
            Progress::WaitsForOwner => "waits for the owner",
        };
        let capacity = match promises.capacity {
            Capacity::Grows => "grows",
            Capacity::Ring | Capacity::Array => "fixed",
        };
        let memory = match promises.memory_model {
            MemoryModel::Rust => "any",
            MemoryModel::AsymmetricBarriers => "any; barriers",
            MemoryModel::BoundedTso => "bounded TSO",
        };
        row([promises.name, delivery, steal, capacity, memory, promises.paper])
    };
    QUEUES.iter().map(queue).collect()
}

fn workloads() -> Vec<Vec<String>> {
    let preset = |values: &[(&str, &str)]| -> String {
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if values.is_empty() { "default".to_owned() } else { values.join(" ") }
    };
    let workload = |spec: &filch_workloads::Spec| {
        let sizes = [("quick", spec.quick), ("compare", spec.compare), ("paper", spec.paper)];
        let sizes: Vec<String> = sizes.iter().map(|(name, values)| format!("{name} {}", preset(values))).collect();
        let params: Vec<&str> = spec.params.iter().map(|param| param.name).collect();
        row([spec.name, spec.summary, &sizes.join("; "), &params.join(" "), spec.source])
    };
    filch_workloads::specs().iter().map(workload).collect()
}

fn peers() -> Vec<Vec<String>> {
    let peer = |peer: &filch_peers::PeerSpec| {
        let (version, end) =
            if peer.built { (peer.version.as_str(), peer.home) } else { ("not built", peer.how_to_get) };
        row([peer.name, version, peer.summary, end])
    };
    filch_peers::specs().iter().map(peer).collect()
}

fn waits() -> Vec<Vec<String>> {
    let default = filch::Wait::default();
    let wait = |(wait, help): &(filch::Wait, &str)| {
        let mark = if *wait == default { " (the default)" } else { "" };
        row([&wait.to_string(), &format!("{help}{mark}")])
    };
    WAITS.iter().map(wait).collect()
}

fn scenarios() -> Vec<Vec<String>> {
    let scenario = |scenario: &filch_check::Scenario| {
        let memories = if scenario.c11.is_ok() { "tso, c11" } else { "tso" };
        let cost = match scenario.quick {
            (true, true) => "quick",
            (true, false) => "quick on tso",
            _ => "with --all",
        };
        row([scenario.subject, &scenario.name, memories, cost])
    };
    filch_check::scenarios::all().iter().map(scenario).collect()
}
