//! Runners: programs that run [workloads](filch_workloads) on one scheduler and answer a driver in [JSON lines](filch_protocol).
//!
//! A scheduler that implements [`Scheduler`] has a runner of one line; those of filch itself stand in `src/bin`, one for each pool
//! and queue, so that none of them shares machine code that another could move.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use filch::pool::Queued;
//! use filch_queue::ChaseLev;
//!
//! fn main() -> ExitCode {
//!     filch_runner::filch("chase-lev").pool::<Queued<ChaseLev>>().once::<ChaseLev>().serve()
//! }
//! ```

mod contender;
mod counting;
mod of_filch;
mod serial;
mod serve;

use std::collections::BTreeMap;

use filch_workloads::{Spec, Workload};

pub use contender::{Contender, Counters, Counts};
pub use of_filch::{OfFilch, filch};
pub use serial::Sequential;
pub use serve::serve;

/// What a runner runs programs on.
///
/// ```
/// use filch_runner::{Contender, Job, Scheduler, Sequential};
/// use filch_workloads::Spec;
///
/// /// Reckons as everybody does, but only trees.
/// struct Gardener;
///
/// impl Scheduler for Gardener {
///     fn name(&self) -> &str {
///         "gardener"
///     }
///     fn version(&self) -> String {
///         "1".to_owned()
///     }
///     fn runs(&self, program: &Spec) -> bool {
///         program.name == "uts"
///     }
///     fn start(&self, job: &Job<'_>) -> Result<Box<dyn Contender>, String> {
///         job.without_settings(self.name())?;
///         if job.workers == 1 { Ok(Box::new(Sequential)) } else { Err("there is one gardener".to_owned()) }
///     }
/// }
///
/// let uts = filch_workloads::Workload::new("uts", &[])?;
/// let settings = Default::default();
/// let job = Job { workload: &uts, workers: 2, settings: &settings, stack_bytes: 1 << 20 };
/// assert!(Gardener.start(&job).is_err() && Gardener.start(&Job { workers: 1, ..job }).is_ok());
/// // The runner is `fn main() -> ExitCode { filch_runner::serve(&Gardener) }`.
/// # Ok::<(), filch_workloads::ParamError>(())
/// ```
pub trait Scheduler: Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Its version.
    fn version(&self) -> String;

    /// Whether it has a version of the program.
    fn runs(&self, program: &Spec) -> bool;

    /// What can be set of it, and what that means.
    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Starts it.
    ///
    /// # Errors
    /// If that cannot be: a sentence.
    fn start(&self, job: &Job<'_>) -> Result<Box<dyn Contender>, String>;
}

/// What a scheduler is started for.
#[derive(Clone, Copy, Debug)]
pub struct Job<'j> {
    /// The program.
    pub workload: &'j Workload,
    /// How many threads compute.
    pub workers: usize,
    /// What is set of the scheduler.
    pub settings: &'j BTreeMap<String, String>,
    /// What each thread's stack should have.
    pub stack_bytes: usize,
}

impl Job<'_> {
    /// An error if anything is set.
    ///
    /// # Errors
    /// A sentence.
    pub fn without_settings(&self, scheduler: &str) -> Result<(), String> {
        match self.settings.keys().next() {
            Some(name) => Err(format!("nothing can be set of {scheduler}, and so not `{name}`")),
            None => Ok(()),
        }
    }
}
