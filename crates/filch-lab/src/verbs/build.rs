//! `filch build`: builds the programs that other verbs start.

use std::collections::BTreeSet;
use std::io::Write;

use filch_catalogue::{PEERS, POOLS, list_queues, unknown};

use crate::error::{Result, usage};
use crate::flags::Build as Flags;
use crate::runners::{Executable, ready};

pub(crate) fn build(flags: &Flags) -> Result {
    let known = known();
    let names: Vec<&str> = known.iter().map(|(name, ..)| *name).collect();
    let mut wanted = BTreeSet::new();
    for name in &flags.names {
        match known.iter().find(|(known, ..)| known == name) {
            Some((.., program)) => _ = wanted.insert(program.clone()),
            None => return Err(usage(unknown("program to build", name, &names))),
        }
    }
    if flags.names.is_empty() {
        wanted.extend(known.into_iter().filter(|(_, is_free, _)| *is_free).map(|(.., program)| program));
    }
    ready(&wanted, true)?;
    let mut out = std::io::stdout().lock();
    for program in &wanted {
        writeln!(out, "{}", program.path()?.display())?;
    }
    Ok(())
}

/// Returns all programs by name, and whether they need only cargo.
fn known() -> Vec<(&'static str, bool, Executable)> {
    let pools = POOLS.iter().map(|pool| pool.name);
    let lists = list_queues().into_iter().filter(|queue| POOLS.iter().all(|pool| pool.name != *queue));
    let ours = ["serial"].into_iter().chain(pools).chain(lists).map(|name| (name, true, Executable::runner(name)));
    let peers = PEERS.iter().map(|peer| (peer.name, peer.adapter.is_none(), Executable::of_peer(peer.name)));
    let others = [("check", Executable::Check), ("probe", Executable::Probe), ("simulate", Executable::Simulate)];
    ours.chain(peers).chain(others.map(|(name, program)| (name, true, program))).collect()
}
