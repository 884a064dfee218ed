//! `filch list`: what there is.

use std::io::Write;

use crate::error::Result;
use crate::export::table;
use crate::flags::{List as Flags, Listed};
use crate::pools::POOLS;
use crate::scheduler::{CLOSURES, WAITS};
use crate::terminal::{colour, paint};

pub(crate) fn list(flags: &Flags) -> Result {
    let mut out = std::io::stdout().lock();
    let all = [Listed::Pools, Listed::Workloads, Listed::Peers, Listed::Waits];
    for (index, what) in all.iter().filter(|&&what| flags.what.is_none_or(|wanted| wanted == what)).enumerate() {
        let (name, heads, rows): (_, &[&str], _) = match what {
            Listed::Pools => ("Pools", &["name", "what it is", "paper", "progress", "capacity"], pools()),
            Listed::Workloads => {
                ("Workloads", &["name", "what it computes", "sizes", "parameters", "source"], workloads())
            }
            Listed::Peers => ("Peers", &["name", "version", "what it is", "home or how to get it"], peers()),
            Listed::Waits => ("Waits", &["name", "what a worker does while its task is stolen"], waits()),
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
