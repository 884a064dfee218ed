//! A scheduler as people name it: the sequential program, one of filch's pools, or a peer.

use filch::Wait;

use crate::error::{Result, unknown, usage};
use crate::pools::POOLS;

/// How a program's forks reach the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Style {
    /// Each task receives a worker handle.
    Handles,
    /// Plain closures; the worker is found in thread-local storage.
    Closures,
}

impl Style {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Handles => "handles",
            Self::Closures => "closures",
        }
    }
}

/// Who runs a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scheduler {
    /// The plain sequential program.
    Serial,
    /// One of filch's pools.
    Filch { pool: &'static str, style: Style, wait: Wait },
    /// Somebody else's scheduler.
    Peer(String),
}

/// The default pool in closure style, as a name among the pools.
pub(crate) const CLOSURES: &str = "filch-closures";

/// All waiting strategies, the default first.
pub(crate) const WAITS: &[(Wait, &str)] = &[
    (Wait::LeapfrogRandom, "leapfrog, and when that finds nothing, steal from anyone"),
    (Wait::Leapfrog, "steal only from the thief of the task that is waited for"),
    (Wait::Transitive, "leapfrog; from that thief's thief when it has nothing"),
    (Wait::Random, "steal from anyone"),
];

impl Scheduler {
    /// From `--pool`: `serial`, a pool, or the default pool in closure style.
    pub(crate) fn from_pool(name: &str, style: Style, wait: Wait) -> Result<Self> {
        if name == "serial" {
            return Ok(Self::Serial);
        }
        if name == CLOSURES {
            return Ok(Self::Filch { pool: "split", style: Style::Closures, wait });
        }
        if style == Style::Closures && POOLS.iter().any(|pool| pool.name == name && name != POOLS[0].name) {
            return Err(usage(format!("closure style runs on the pool `{}` only; leave out --style", POOLS[0].name)));
        }
        match POOLS.iter().find(|pool| pool.name == name) {
            Some(pool) => Ok(Self::Filch { pool: pool.name, style, wait }),
            None => {
                let names = POOLS.iter().map(|pool| pool.name).chain(["serial", CLOSURES]);
                Err(unknown("pool", name, &names.collect::<Vec<_>>()))
            }
        }
    }

    /// From `--peer`: one that was built into this program.
    pub(crate) fn from_peer(name: &str) -> Result<Self> {
        let peers = filch_peers::specs();
        match peers.iter().find(|peer| peer.name == name) {
            Some(peer) if peer.built => Ok(Self::Peer(name.to_owned())),
            Some(peer) => {
                let why = format!("this program was built without the peer `{name}`: {}", peer.how_to_get);
                Err(usage(why))
            }
            None => Err(unknown("peer", name, &peers.iter().map(|peer| peer.name).collect::<Vec<_>>())),
        }
    }

    /// The flags of `filch run` that ask for it.
    pub(crate) fn flags(&self) -> Vec<String> {
        let flags: &[&str] = match self {
            Self::Serial => &["--pool", "serial"],
            Self::Filch { pool, style, wait } => {
                return ["--pool", pool, "--style", style.name(), "--wait", &wait.to_string()]
                    .map(str::to_owned)
                    .to_vec();
            }
            Self::Peer(name) => &["--peer", name],
        };
        flags.iter().map(ToString::to_string).collect()
    }

    /// What to call it in messages.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Serial => "serial".to_owned(),
            Self::Filch { pool: "split", style: Style::Closures, .. } => "filch closures".to_owned(),
            Self::Filch { pool, style: Style::Closures, .. } => format!("filch {pool} closures"),
            Self::Filch { pool, .. } => format!("filch {pool}"),
            Self::Peer(name) => name.clone(),
        }
    }
}

/// From `--wait`.
pub(crate) fn wait(name: &str) -> Result<Wait> {
    name.parse().map_err(|_| {
        let names: Vec<String> = WAITS.iter().map(|(wait, _)| wait.to_string()).collect();
        unknown("waiting strategy", name, &names.iter().map(String::as_str).collect::<Vec<_>>())
    })
}
