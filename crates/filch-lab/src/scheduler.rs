//! A scheduler as people name it: the sequential program, one of filch's pools, or a peer.

use filch::Wait;
use filch_schedulers::{POOLS, PoolTuning, QUEUES, Style, Tuning, list_queues, why_not_for};
use filch_workloads::{Kind, Workload};

use crate::error::{Result, unknown, usage};

/// Who runs a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scheduler {
    /// The plain sequential program.
    Serial,
    /// One of filch's pools.
    Filch { pool: PoolTuning, style: Style, wait: Wait },
    /// filch's worklists, on a queue.
    Worklist(Tuning),
    /// Somebody else's scheduler.
    Peer(String),
}

/// A scheduler, or why it cannot run a program.
pub(crate) type Suited = std::result::Result<Scheduler, String>;

/// The default pool in other styles, as names among the pools.
pub(crate) const STYLED: &[(&str, Style, &str)] = &[
    ("filch-levels", Style::Levels, "split, its handles of two types by turns, so that the compiler inlines recursion"),
    ("filch-closures", Style::Closures, "split, its forks plain closures instead of handles"),
];

/// The style that a name among the pools stands for.
fn styled(name: &str) -> Option<Style> {
    STYLED.iter().find(|(styled, ..)| *styled == name).map(|&(_, style, _)| style)
}

/// All waiting strategies, the default first.
pub(crate) const WAITS: &[(Wait, &str)] = &[
    (Wait::LeapfrogRandom, "leapfrog, and when that finds nothing, steal from anyone"),
    (Wait::Leapfrog, "steal only from the thief of the task that is waited for"),
    (Wait::Transitive, "leapfrog; from that thief's thief when it has nothing"),
    (Wait::Random, "steal from anyone"),
];

impl Scheduler {
    /// From `--pool`, for this program: an error if nothing has this name.
    pub(crate) fn from_pool(workload: &Workload, name: &str, style: Style, wait: Wait) -> Result<Suited> {
        if name == "serial" {
            return Ok(Ok(Self::Serial));
        }
        match workload.kind() {
            Kind::ForkJoin => Self::from_fork_join_pool(name, style, wait),
            Kind::Worklist | Kind::Jobs => Self::from_queue(workload, name),
            other => Err(usage(format!("{} is a {other} program, for which there are no pools", workload.name()))),
        }
    }

    /// `serial`, a pool, or the default pool in closure style.
    fn from_fork_join_pool(name: &str, style: Style, wait: Wait) -> Result<Suited> {
        let (start, rest) = name.split_once(':').unwrap_or((name, ""));
        let default = POOLS[0].name;
        let (start, style) = styled(start).map_or((start, style), |style| (default, style));
        if style != Style::Handles && start != default && POOLS.iter().any(|pool| pool.name == start) {
            let style = style.name();
            return Err(usage(format!("style `{style}` is for the pool `{default}` only; leave out --style")));
        }
        match (POOLS.iter().find(|pool| pool.name == start), QUEUES.iter().find(|queue| queue.name == start)) {
            (Some(pool), queue) => match PoolTuning::parse(pool.name, rest) {
                Ok(pool) => Ok(Ok(Self::Filch { pool, style, wait })),
                Err(_) if queue.is_some_and(|queue| Tuning::parse(queue.name, rest).is_ok()) => {
                    Ok(Err(format!("{name}: these parameters are for worklist programs, not for fork–join")))
                }
                Err(why) => Err(usage(why)),
            },
            (None, Some(queue)) => Ok(Err(format!("{}: not for fork–join, only for worklists", queue.name))),
            (None, None) => {
                let names = POOLS.iter().map(|pool| pool.name).chain(["serial"]).chain(STYLED.iter().map(|row| row.0));
                Err(unknown("pool", name, &names.collect::<Vec<_>>()))
            }
        }
    }

    /// A queue, and perhaps parameters, as in `bwos-l:block=64`.
    fn from_queue(workload: &Workload, name: &str) -> Result<Suited> {
        let (start, rest) = name.split_once(':').unwrap_or((name, ""));
        let is_pool = styled(start).is_some() || POOLS.iter().any(|pool| pool.name == start);
        match QUEUES.iter().find(|queue| queue.name == start) {
            Some(queue) => match why_not_for(queue, workload.is_idempotent()) {
                Some(why) => Ok(Err(format!("{}: {why}", queue.name))),
                None => Tuning::parse(queue.name, rest).map(|tuning| Ok(Self::Worklist(tuning))).map_err(usage),
            },
            None if is_pool => {
                Ok(Err(format!("{start}: only for fork–join; {} is a {} program", workload.name(), workload.kind())))
            }
            None => {
                let names: Vec<&str> = list_queues().into_iter().chain(["serial"]).collect();
                Err(unknown("queue for worklists", start, &names))
            }
        }
    }

    /// From `--peer`, for this program: an error unless it was built into ours.
    pub(crate) fn from_peer(workload: &Workload, name: &str) -> Result<Suited> {
        let peers = filch_peers::specs();
        match peers.iter().find(|peer| peer.name == name) {
            Some(peer) if peer.built => Ok(match workload.kind() {
                Kind::ForkJoin => Ok(Self::Peer(name.to_owned())),
                other => Err(format!("{name}: it does not run {other} programs")),
            }),
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
                return ["--pool", &pool.to_string(), "--style", style.name(), "--wait", &wait.to_string()]
                    .map(str::to_owned)
                    .to_vec();
            }
            Self::Worklist(tuning) => return ["--pool".to_owned(), tuning.to_string()].to_vec(),
            Self::Peer(name) => &["--peer", name],
        };
        flags.iter().map(ToString::to_string).collect()
    }

    /// What to call it in messages.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Serial => "serial".to_owned(),
            Self::Filch { pool, style: Style::Handles, .. } => format!("filch {pool}"),
            Self::Filch { pool, style, .. } => match pool.to_string().split_once(':') {
                Some((_, rest)) => format!("filch {}:{rest}", style.name()),
                None => format!("filch {}", style.name()),
            },
            Self::Worklist(tuning) => format!("filch {tuning}"),
            Self::Peer(name) => name.clone(),
        }
    }

    /// What the record calls it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Serial => "serial".to_owned(),
            Self::Filch { .. } | Self::Worklist(_) => "filch".to_owned(),
            Self::Peer(name) => name.clone(),
        }
    }

    /// Its pool or queue, with what is set of its parameters.
    pub(crate) fn pool(&self) -> Option<String> {
        match self {
            Self::Filch { pool, .. } => Some(pool.to_string()),
            Self::Worklist(tuning) => Some(tuning.to_string()),
            Self::Serial | Self::Peer(_) => None,
        }
    }

    /// How it waits.
    pub(crate) fn wait(&self) -> Option<String> {
        match self {
            Self::Filch { wait, .. } => Some(wait.to_string()),
            _ => None,
        }
    }

    /// How forks reach it.
    pub(crate) fn style(&self) -> Option<String> {
        match self {
            Self::Filch { style, .. } => Some(style.name().to_owned()),
            _ => None,
        }
    }
}

/// From `--wait`; the library's default without it.
pub(crate) fn wait(name: Option<&str>) -> Result<Wait> {
    let Some(name) = name else { return Ok(Wait::default()) };
    name.parse().map_err(|_| {
        let names: Vec<String> = WAITS.iter().map(|(wait, _)| wait.to_string()).collect();
        unknown("waiting strategy", name, &names.iter().map(String::as_str).collect::<Vec<_>>())
    })
}
