//! The one list of all peers.

use std::convert::Infallible;
use std::fmt;
use std::num::NonZero;

use filch_workloads::{Answer, Instance, Kind, suggest};

/// What there is to know about a peer before it is started.
#[derive(Clone, Debug)]
pub struct PeerSpec {
    /// The name it is asked for by.
    pub name: &'static str,
    /// Its version, or the empty text if it is not compiled in.
    pub version: String,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it lives.
    pub home: &'static str,
    /// Whether it is compiled in.
    pub built: bool,
    /// The feature, and the package if any, that bring it in.
    pub how_to_get: &'static str,
}

/// Why a peer did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerError {
    /// No peer has this name.
    Unknown {
        /// The name as given.
        name: String,
        /// Names that resemble it, best first; all names if none does.
        suggestions: Vec<&'static str>,
    },
    /// The peer is known, but not compiled in.
    NotBuilt {
        /// The peer.
        name: &'static str,
        /// The feature that compiles it in.
        feature: &'static str,
        /// The Debian package that this needs.
        package: Option<&'static str>,
    },
    /// The peer did not start.
    CannotStart {
        /// The peer.
        name: &'static str,
        /// The reason it gave.
        why: String,
    },
    /// The peer has no version of this program.
    Unsupported {
        /// The peer.
        peer: &'static str,
        /// The program.
        workload: &'static str,
    },
    /// The program nests too deeply for the stacks of the peer's own threads, whose size is not ours to choose.
    StackTooSmall {
        /// The peer.
        peer: &'static str,
        /// The bytes that its threads have.
        bytes: u64,
        /// The bytes that the program may need.
        bytes_needed: u64,
        /// What the user can do.
        remedy: String,
    },
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, suggestions } => {
                let names: Vec<String> = suggestions.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "there is no peer `{name}`; did you mean {}?", names.join(" or "))
            }
            Self::NotBuilt { name, feature, package } => {
                write!(f, "{name} is not compiled in: build with `--features filch-peers/{feature}`")?;
                match package {
                    Some(package) => write!(f, ", which needs the Debian package {package}"),
                    None => Ok(()),
                }
            }
            Self::CannotStart { name, why } => write!(f, "{name} cannot start: {why}"),
            Self::Unsupported { peer, workload } => write!(f, "{peer} has no version of {workload}"),
            Self::StackTooSmall { peer, bytes, bytes_needed, remedy } => write!(
                f,
                "the program may need stacks of {} MiB, and the threads of {peer} have {} MiB; {remedy}",
                bytes_needed >> 20,
                bytes >> 20,
            ),
        }
    }
}

impl std::error::Error for PeerError {}

/// A peer's own reason not to start.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// One row of the list.
struct Known {
    name: &'static str,
    version: Option<fn() -> String>,
    summary: &'static str,
    home: &'static str,
    package: Option<&'static str>,
    how_to_get: &'static str,
}

/// The version if the feature of this name is on.
macro_rules! version {
    ($feature:literal, $version:expr) => {{
        #[cfg(feature = $feature)]
        let version: Option<fn() -> String> = Some($version);
        #[cfg(not(feature = $feature))]
        let version = None;
        version
    }};
}

const KNOWN: &[Known] = &[
    Known {
        name: "rayon",
        version: version!("rayon", || "1.12.0".to_owned()),
        summary: "Rust, Chase-Lev deques, closures",
        home: "https://github.com/rayon-rs/rayon",
        package: None,
        how_to_get: "feature rayon of filch-peers (on by default)",
    },
    Known {
        name: "chili",
        version: version!("chili", || "0.2.1".to_owned()),
        summary: "Rust, private queues, work shared at a heartbeat",
        home: "https://github.com/dragostis/chili",
        package: None,
        how_to_get: "feature chili of filch-peers (on by default)",
    },
    Known {
        name: "lace-ws",
        version: version!("lace-ws", || "1.0.0".to_owned()),
        summary: "Rust, Lace's split deque, spawn and sync, leapfrogging",
        home: "https://crates.io/crates/lace-ws",
        package: None,
        how_to_get: "feature lace-ws of filch-peers (on by default)",
    },
    Known {
        name: "forte",
        version: version!("forte", || "1.0.0-alpha.4".to_owned()),
        summary: "Rust, private queues, work shared at a heartbeat",
        home: "https://github.com/NthTensor/Forte",
        package: None,
        how_to_get: "feature forte of filch-peers (on by default)",
    },
    Known {
        name: "onetbb",
        version: version!("onetbb", crate::cpp::onetbb_version),
        summary: "C++, task groups",
        home: "https://github.com/uxlfoundation/oneTBB",
        package: Some("libtbb-dev"),
        how_to_get: "feature onetbb of filch-peers, with g++ and the Debian package libtbb-dev",
    },
    Known {
        name: "openmp",
        version: version!("openmp", crate::cpp::openmp_version),
        summary: "C++, tasks of the compiler's own runtime",
        home: "https://www.openmp.org",
        package: Some("g++"),
        how_to_get: "feature openmp of filch-peers, with g++",
    },
];

/// All known peers, also those that are not compiled in.
///
/// ```
/// assert!(filch_peers::specs().iter().any(|peer| peer.name == "rayon"));
/// ```
pub fn specs() -> Vec<PeerSpec> {
    let spec = |known: &Known| PeerSpec {
        name: known.name,
        version: known.version.map(|version| version()).unwrap_or_default(),
        summary: known.summary,
        home: known.home,
        built: known.version.is_some(),
        how_to_get: known.how_to_get,
    };
    KNOWN.iter().map(spec).collect()
}

/// A scheduler with its threads.
///
/// Dropping it ends its threads where the peer allows that. Some peers spin while they have nothing to do, so keep one
/// only while it is measured.
///
/// ```
/// use filch_peers::Peer;
/// use filch_workloads::Workload;
///
/// let rayon = Peer::start("rayon", 2, 1 << 20)?;
/// let mut fib = Workload::new("fib", &[("n".into(), "15".into())])?.prepare()?;
/// assert_eq!(rayon.run(&mut fib)?.to_string(), "610");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Peer {
    name: &'static str,
    scheduler: Scheduler,
}

enum Scheduler {
    /// So that there is a variant when no feature is on.
    #[allow(dead_code, reason = "it has no values")]
    None(Infallible),
    #[cfg(feature = "rayon")]
    Rayon(crate::rayon::Rayon),
    #[cfg(feature = "chili")]
    Chili(crate::chili::Chili),
    #[cfg(feature = "lace-ws")]
    LaceWs(crate::lace_ws::LaceWs),
    #[cfg(feature = "forte")]
    Forte(crate::forte::Forte),
    #[cfg(any(feature = "onetbb", feature = "openmp"))]
    Cpp(crate::cpp::Cpp),
}

impl Peer {
    /// Starts a peer so that `workers` threads compute, with stacks of `stack_bytes` where that can be chosen.
    pub fn start(name: &str, workers: usize, stack_bytes: usize) -> Result<Self, PeerError> {
        let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
            let suggestions = suggest(name, KNOWN.iter().map(|known| known.name));
            return Err(PeerError::Unknown { name: name.to_owned(), suggestions });
        };
        let name = known.name;
        if known.version.is_none() {
            return Err(PeerError::NotBuilt { name, feature: name, package: known.package });
        }
        let cannot = |Failure(why)| PeerError::CannotStart { name, why };
        let workers = NonZero::new(workers).ok_or_else(|| cannot(Failure("it needs at least one worker".into())))?;
        let scheduler = Scheduler::start(name, workers, stack_bytes).map_err(cannot)?;
        Ok(Self { name, scheduler })
    }

    /// Runs a program once.
    pub fn run(&self, instance: &mut Instance) -> Result<Answer, PeerError> {
        if let (Some(bytes), remedy) = self.scheduler.helper_stacks() {
            let (bytes, bytes_needed) = (bytes as u64, instance.stack_bytes());
            if bytes_needed > bytes {
                let remedy = remedy.replace("BYTES", &bytes_needed.to_string());
                return Err(PeerError::StackTooSmall { peer: self.name, bytes, bytes_needed, remedy });
            }
        }
        self.scheduler.run(instance).ok_or(PeerError::Unsupported { peer: self.name, workload: instance.name() })
    }

    /// Whether there is a version of this program for the peer.
    pub fn supports(&self, workload: &str) -> bool {
        match self.scheduler {
            #[cfg(any(feature = "onetbb", feature = "openmp"))]
            Scheduler::Cpp(_) => crate::cpp::PORTED.contains(&workload),
            _ => filch_workloads::specs().iter().any(|spec| spec.name == workload && spec.kind() == Kind::ForkJoin),
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("name", &self.name).finish_non_exhaustive()
    }
}

#[allow(unused_variables, reason = "without features there is no row that uses them")]
impl Scheduler {
    fn start(name: &str, workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        match name {
            #[cfg(feature = "rayon")]
            "rayon" => crate::rayon::Rayon::start(workers.get(), stack_bytes).map(Self::Rayon),
            #[cfg(feature = "chili")]
            "chili" => crate::chili::Chili::start(workers, stack_bytes).map(Self::Chili),
            #[cfg(feature = "lace-ws")]
            "lace-ws" => crate::lace_ws::LaceWs::start(workers, stack_bytes).map(Self::LaceWs),
            #[cfg(feature = "forte")]
            "forte" => crate::forte::Forte::start(workers, stack_bytes).map(Self::Forte),
            #[cfg(feature = "onetbb")]
            "onetbb" => crate::cpp::Cpp::onetbb(workers, stack_bytes).map(Self::Cpp),
            #[cfg(feature = "openmp")]
            "openmp" => crate::cpp::Cpp::openmp(workers, stack_bytes).map(Self::Cpp),
            _ => unreachable!("every peer that has a version has a row here"),
        }
    }

    /// The stacks of threads whose size is not ours to choose, and what the user can do if it is too small.
    fn helper_stacks(&self) -> (Option<usize>, &'static str) {
        match self {
            Self::None(never) => match *never {},
            #[cfg(feature = "rayon")]
            Self::Rayon(_) => (None, ""),
            #[cfg(feature = "chili")]
            Self::Chili(chili) => {
                (chili.helper_stack_bytes(), "set RUST_MIN_STACK=BYTES in the environment, or use one worker")
            }
            #[cfg(feature = "lace-ws")]
            Self::LaceWs(lace) => (lace.helper_stack_bytes(), "use one worker"),
            #[cfg(feature = "forte")]
            Self::Forte(forte) => {
                (forte.helper_stack_bytes(), "set RUST_MIN_STACK=BYTES in the environment, or use one worker")
            }
            #[cfg(any(feature = "onetbb", feature = "openmp"))]
            Self::Cpp(cpp) => {
                (cpp.helper_stack_bytes, "set OMP_STACKSIZE=BYTESB in the environment, or use one worker")
            }
        }
    }

    /// The answer, unless there is no version of the program.
    fn run(&self, instance: &mut Instance) -> Option<Answer> {
        match self {
            Self::None(never) => match *never {},
            #[cfg(feature = "rayon")]
            Self::Rayon(rayon) => Some(rayon.run(instance)),
            #[cfg(feature = "chili")]
            Self::Chili(chili) => Some(chili.run(instance)),
            #[cfg(feature = "lace-ws")]
            Self::LaceWs(lace) => Some(lace.run(instance)),
            #[cfg(feature = "forte")]
            Self::Forte(forte) => Some(forte.run(instance)),
            #[cfg(any(feature = "onetbb", feature = "openmp"))]
            Self::Cpp(cpp) => cpp.run(instance),
        }
    }
}

/// What std gives a thread that does not ask.
#[cfg(any(feature = "chili", feature = "forte"))]
pub(crate) fn default_stack_bytes() -> usize {
    std::env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(2 << 20)
}
