//! Peers in C and C++: a runner of each is compiled once, against the sources or the installed library that the user
//! names, and kept in the user's cache.
//!
//! Invariant: a folder of a peer holds a runner that has answered, and the record of how it was made.

mod compile;

use std::fs;
use std::path::{Path, PathBuf};

use filch_catalogue::console::store_buffer::cache;
use filch_catalogue::{Adapter, PEERS, PeerSpec};
use serde::{Deserialize, Serialize};

use crate::error::{Result, usage};

pub(crate) use compile::add;

/// The files that adapters consist of, by name.
const FILES: &[(&str, &str)] = &[
    ("runner.c", include_str!("../../../../examples/runner-in-c/runner.c")),
    ("adapter.h", include_str!("../../../filch-peers/cpp/adapter.h")),
    ("scheduler.h", include_str!("../../../filch-peers/cpp/scheduler.h")),
    ("programs.h", include_str!("../../../filch-peers/cpp/programs.h")),
    ("lace_config.h", include_str!("../../../filch-peers/cpp/lace_config.h")),
    ("lace.c", include_str!("../../../filch-peers/cpp/lace.c")),
    ("citor.cpp", include_str!("../../../filch-peers/cpp/citor.cpp")),
    ("libfork.cpp", include_str!("../../../filch-peers/cpp/libfork.cpp")),
    ("toomanycooks.cpp", include_str!("../../../filch-peers/cpp/toomanycooks.cpp")),
    ("taskflow.cpp", include_str!("../../../filch-peers/cpp/taskflow.cpp")),
    ("parlaylib.cpp", include_str!("../../../filch-peers/cpp/parlaylib.cpp")),
    ("onetbb.cpp", include_str!("../../../filch-peers/cpp/onetbb.cpp")),
    ("openmp.cpp", include_str!("../../../filch-peers/cpp/openmp.cpp")),
    ("opencilk.cpp", include_str!("../../../filch-peers/cpp/opencilk.cpp")),
];

/// The name of every runner, in the folder of its peer.
const RUNNER: &str = if cfg!(windows) { "runner.exe" } else { "runner" };

/// How the runner of a peer was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Added {
    /// The folder of its sources, if it is not part of the system.
    pub(crate) source: Option<PathBuf>,
    /// The commit of these sources, if they have one.
    pub(crate) commit: Option<String>,
    pub(crate) compiler: String,
    /// What the compiler says of itself.
    pub(crate) compiler_version: String,
    /// The processor that it is compiled for.
    #[serde(default = "native")]
    cpu: String,
    pub(crate) flags: Vec<String>,
    /// The libraries that it uses where they are.
    pub(crate) with: Vec<String>,
    /// The version that the runner reports.
    pub(crate) version: String,
    /// The adapter that was compiled.
    adapter: String,
}

/// What records of runners leave out.
fn native() -> String {
    "native".to_owned()
}

/// Returns the peer of this name, and its adapter.
pub(crate) fn find(name: &str) -> Result<(&'static PeerSpec, &'static Adapter)> {
    let names: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
    let peer = PEERS.iter().find(|peer| peer.name == name);
    let peer = peer.ok_or_else(|| usage(filch_catalogue::unknown("peer", name, &names)))?;
    let adapter = peer.adapter.as_ref();
    let adapter =
        adapter.ok_or_else(|| usage(format!("{name} need not be added: cargo builds its runner when it is used")))?;
    Ok((peer, adapter))
}

/// The command that adds a peer.
pub(crate) fn command(peer: &PeerSpec, adapter: &Adapter) -> String {
    let source = if adapter.mark.is_some() { " --source DIR" } else { "" };
    format!("filch peers add {}{source}", peer.name)
}

/// Returns the folder of a peer, whether it is there or not.
fn folder(name: &str) -> Result<PathBuf> {
    let cache = cache().ok_or_else(|| usage("the user has no cache folder: set XDG_CACHE_HOME".to_owned()))?;
    Ok(cache.join("peers").join(name))
}

fn record(folder: &Path) -> PathBuf {
    folder.join("peer.json")
}

/// Returns how a peer's runner was made; `None` if there is none.
pub(crate) fn added(name: &str) -> Option<Added> {
    let text = fs::read_to_string(record(&folder(name).ok()?)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns the path of a peer's runner.
pub(crate) fn runner(name: &str) -> Result<PathBuf> {
    Ok(folder(name)?.join(RUNNER))
}

/// Why a peer cannot be used, if its runner is missing.
pub(crate) fn why_not(name: &str) -> Option<String> {
    let (peer, adapter) = find(name).ok()?;
    let (command, home) = (command(peer, adapter), peer.home);
    let why = || format!("{name} is not added: `{command}` does it; it is at {home}, and needs {}", adapter.needs);
    added(name).is_none().then(why)
}

/// Checks that a peer's runner is there. If it was made by another version of filch, makes it again in the same way; of
/// a package always, since cargo alone knows whether that is stale.
pub(crate) fn ready(name: &str, talks: bool) -> Result {
    let (_, adapter) = find(name)?;
    let Some(added) = added(name) else { return Err(usage(why_not(name).unwrap_or_default())) };
    let is_current = added.adapter == fingerprint(adapter);
    if is_current && adapter.package.is_none() {
        return Ok(());
    }
    if talks && !is_current {
        eprintln!("filch: the runner of {name} was made by another version of filch, and is made again");
    }
    add(name, added.source.as_deref(), Some(&added.compiler), &added.cpu).map(drop)
}

/// Removes a peer's runner; returns whether there was one.
pub(crate) fn remove(name: &str) -> Result<bool> {
    find(name)?;
    let folder = folder(name)?;
    let existed = folder.is_dir();
    if existed {
        fs::remove_dir_all(&folder).map_err(|error| usage(format!("cannot remove {}: {error}", folder.display())))?;
    }
    Ok(existed)
}

/// Identifies the sources and flags of an adapter: FNV-1a.
fn fingerprint(adapter: &Adapter) -> String {
    let own = |(name, _): &&(&str, &str)| *name == adapter.file || name.ends_with(".h") || *name == "runner.c";
    let texts = FILES.iter().filter(own).map(|(_, text)| (*text).to_owned()).chain([format!("{adapter:?}")]);
    let hash = texts.fold(0xcbf2_9ce4_8422_2325_u64, |hash, text| {
        text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adapter_is_there() {
        let adapters: Vec<&Adapter> = PEERS.iter().filter_map(|peer| peer.adapter.as_ref()).collect();
        assert!(adapters.len() > 5);
        for adapter in &adapters {
            assert!(FILES.iter().any(|(name, _)| *name == adapter.file), "{}", adapter.file);
        }
        let mut prints: Vec<String> = adapters.iter().map(|adapter| fingerprint(adapter)).collect();
        prints.sort();
        prints.dedup();
        assert_eq!(prints.len(), adapters.len());
    }

    #[test]
    fn every_file_belongs_to_an_adapter() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filch-peers/cpp");
        for file in fs::read_dir(folder).expect("the folder of the adapters") {
            let name = file.expect("an entry").file_name().into_string().expect("UTF-8");
            assert!(FILES.iter().any(|(known, _)| *known == name), "{name} is not embedded");
        }
    }
}
