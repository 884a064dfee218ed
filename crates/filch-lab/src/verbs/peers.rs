//! `filch peers`: lists other schedulers, and adds and removes those in C and C++.

use std::io::Write;
use std::path::Path;

use filch_catalogue::console::table;
use filch_catalogue::{Adapter, PEERS, PeerSpec};

use crate::adapters::{self, Added};
use crate::error::Result;
use crate::flags::{Peers as Flags, PeersVerb};
use crate::terminal::{FILE, HEADING, colour, paint, width};

pub(crate) fn peers(flags: &Flags) -> Result {
    let mut out = std::io::stdout().lock();
    match &flags.what {
        None => list(&mut out),
        Some(PeersVerb::Add { name, source, compiler, cpu }) => {
            add(&mut out, name, source.as_deref(), compiler.as_deref(), cpu)
        }
        Some(PeersVerb::Remove { name }) => {
            let said = if adapters::remove(name)? { "removed" } else { "was not there" };
            Ok(writeln!(out, "{name} {said}")?)
        }
    }
}

fn add(out: &mut impl Write, name: &str, source: Option<&Path>, compiler: Option<&str>, cpu: &str) -> Result {
    let added = adapters::add(name, source, compiler, cpu)?;
    let runner = adapters::runner(name)?;
    writeln!(out, "{name} {}", added.version)?;
    writeln!(out, "{}", paint(&runner.display().to_string(), FILE, colour()))?;
    Ok(writeln!(out, "Now: filch compare --peers {name}")?)
}

fn list(out: &mut impl Write) -> Result {
    // Where there is no terminal, as for readers of text.
    let width = width().unwrap_or(100);
    for (nth, peer) in PEERS.iter().enumerate() {
        let gap = if nth > 0 { "\n" } else { "" };
        let rows = rows(peer);
        let rows: Vec<[&str; 2]> = rows.iter().map(|(label, text)| [*label, text.as_str()]).collect();
        writeln!(out, "{gap}{}\n{}", paint(peer.name, HEADING, colour()), table::labelled(&rows, width))?;
    }
    Ok(())
}

/// What there is to say of a peer.
fn rows(peer: &PeerSpec) -> Vec<(&'static str, String)> {
    let mut rows = vec![("what", peer.summary.to_owned()), ("from", peer.home.to_owned())];
    let Some(adapter) = &peer.adapter else {
        rows.push(("version", format!("{}, which cargo fetches and builds when it is used", peer.version)));
        return rows;
    };
    rows.push(("works", peer.version.to_owned()));
    rows.push(("needs", adapter.needs.to_owned()));
    match adapters::added(peer.name) {
        Some(added) => rows.extend(of_added(peer, &added)),
        None => rows.extend(of_missing(peer, adapter)),
    }
    rows
}

fn of_added(peer: &PeerSpec, added: &Added) -> Vec<(&'static str, String)> {
    let source = added.source.as_ref().map_or_else(|| "the system's".to_owned(), |folder| folder.display().to_string());
    let commit = added.commit.as_ref().map_or_else(String::new, |commit| format!(", {commit}"));
    let with = added.with.iter().map(|name| format!(", with {name}")).collect::<String>();
    vec![
        ("added", added.version.split(" (").next().unwrap_or_default().to_owned()),
        ("sources", format!("{source}{commit}")),
        ("compiler", format!("{}: {}", added.compiler, added.compiler_version)),
        ("flags", format!("{}{with}", added.flags.join(" "))),
        ("to remove", format!("filch peers remove {}", peer.name)),
    ]
}

fn of_missing(peer: &PeerSpec, adapter: &Adapter) -> Vec<(&'static str, String)> {
    vec![("added", "no".to_owned()), ("to add", adapters::command(peer, adapter))]
}
