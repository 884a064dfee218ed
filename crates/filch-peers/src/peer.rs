//! The common part of peers: their interface to a driver.

use std::fmt;
use std::num::NonZero;

use filch_catalogue::{PEERS, PeerSpec};
use filch_runner::{Contender, Job, Scheduler};
use filch_workloads::{Answer, Instance, Kind, Memory, Spec};

/// A peer's reason not to start.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Starts a peer with its name, the number of workers, and the requested stack size.
type Start = fn(&'static str, NonZero<usize>, usize) -> Result<Box<dyn Contender>, Failure>;

/// A started peer.
pub(crate) trait Rival: Sized + 'static {
    /// Runs a program that it [supports](Peer::runs).
    fn run(&self, instance: &mut Instance) -> Answer;

    /// The stack size of the peer's own threads, if it has any and we cannot choose it, and the user's remedy if it is
    /// too small.
    fn helper_stacks(&self) -> Option<(usize, &'static str)> {
        None
    }
}

/// A third party's scheduler.
///
/// ```
/// use filch_peers::all;
/// use filch_runner::Scheduler;
///
/// # #[cfg(feature = "rayon")]
/// assert!(all().iter().any(|peer| peer.name() == "rayon"));
/// ```
#[derive(Clone, Copy)]
pub struct Peer {
    name: &'static str,
    start: Start,
}

impl Peer {
    #[allow(dead_code, reason = "unused without features")]
    pub(crate) fn new(name: &'static str, start: Start) -> Self {
        Self { name, start }
    }

    fn listed(&self) -> Option<&'static PeerSpec> {
        PEERS.iter().find(|peer| peer.name == self.name)
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Scheduler for Peer {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> String {
        self.listed().map_or_else(String::new, |peer| peer.version.to_owned())
    }

    fn runs(&self, program: &Spec) -> bool {
        program.kind() == Kind::ForkJoin && self.listed().is_none_or(|peer| peer.why_not(program.name).is_none())
    }

    fn start(&self, job: &Job<'_>) -> Result<Box<dyn Contender>, String> {
        job.without_settings(self.name)?;
        let workers = NonZero::new(job.workers).ok_or_else(|| format!("{} needs at least one worker", self.name))?;
        (self.start)(self.name, workers, job.stack_bytes)
            .map_err(|Failure(why)| format!("{} cannot start: {why}", self.name))
    }
}

/// Wraps a peer as a driver's [`Contender`].
#[allow(dead_code, reason = "unused without features")]
pub(crate) fn contender(name: &'static str, rival: impl Rival) -> Box<dyn Contender> {
    Box::new(Started { name, rival })
}

struct Started<R> {
    name: &'static str,
    rival: R,
}

impl<R: Rival> Contender for Started<R> {
    fn run(&self, instance: &mut Instance) -> Result<Answer, String> {
        if let Some((bytes, remedy)) = self.rival.helper_stacks() {
            let needed = instance.stack_bytes();
            if needed > bytes as u64 {
                return Err(format!(
                    "the program may need stacks of {}, but the threads of {} have {}; {}",
                    Memory(needed),
                    self.name,
                    Memory(bytes as u64),
                    remedy.replace("BYTES", &needed.to_string()),
                ));
            }
        }
        Ok(self.rival.run(instance))
    }
}

/// The stack that std gives a thread by default.
#[cfg(any(feature = "chili", feature = "forte", feature = "paralight"))]
pub(crate) fn default_stack_bytes() -> usize {
    std::env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(2 << 20)
}
