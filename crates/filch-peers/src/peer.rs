//! What peers have in common: how a driver sees them.

use std::fmt;
use std::num::NonZero;

use filch_runner::{Contender, Job, Scheduler};
use filch_workloads::{Answer, Instance, Kind, Memory, Spec};

/// A peer's own reason not to start.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// From its name, the number of workers, and what their stacks should have.
type Start = fn(&'static str, NonZero<usize>, usize) -> Result<Box<dyn Contender>, Failure>;

/// A started peer.
pub(crate) trait Rival: Sized + 'static {
    /// Runs a program that it [has](Peer::runs).
    fn run(&self, instance: &mut Instance) -> Answer;

    /// The stacks of threads whose size is not ours to choose, if there are any, and what the user can do if it is too small.
    fn helper_stacks(&self) -> Option<(usize, &'static str)> {
        None
    }
}

/// Somebody else's scheduler.
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
    version: fn() -> String,
    start: Start,
    /// The programs that it has, if not all fork–join ones.
    ported: Option<&'static [&'static str]>,
}

impl Peer {
    /// All fork–join programs run on it.
    #[allow(dead_code, reason = "without features there is nobody to use it")]
    pub(crate) fn in_rust(name: &'static str, start: Start) -> Self {
        let version = || String::new();
        Self { name, version, start, ported: None }
    }

    /// These programs have been ported to it.
    #[allow(dead_code, reason = "without features there is nobody to use it")]
    pub(crate) fn ported(self, version: fn() -> String, programs: &'static [&'static str]) -> Self {
        Self { version, ported: Some(programs), ..self }
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
        let listed = filch_catalogue::PEERS.iter().find(|peer| peer.name == self.name).and_then(|peer| peer.version);
        listed.map_or_else(self.version, str::to_owned)
    }

    fn runs(&self, program: &Spec) -> bool {
        program.kind() == Kind::ForkJoin && self.ported.is_none_or(|ported| ported.contains(&program.name))
    }

    fn start(&self, job: &Job<'_>) -> Result<Box<dyn Contender>, String> {
        job.without_settings(self.name)?;
        let workers = NonZero::new(job.workers).ok_or_else(|| format!("{} needs at least one worker", self.name))?;
        (self.start)(self.name, workers, job.stack_bytes)
            .map_err(|Failure(why)| format!("{} cannot start: {why}", self.name))
    }
}

/// As a driver's [`Contender`].
#[allow(dead_code, reason = "without features there is nobody to use it")]
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
                    "the program may need stacks of {}, and the threads of {} have {}; {}",
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

/// What std gives a thread that does not ask.
#[cfg(any(feature = "chili", feature = "forte"))]
pub(crate) fn default_stack_bytes() -> usize {
    std::env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(2 << 20)
}
