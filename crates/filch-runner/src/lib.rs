//! Runners: programs that run [workloads](filch_workloads) on one scheduler and answer a driver in [JSON
//! lines](filch_catalogue::protocol).
//!
//! The runner of a [`Scheduler`] is one line. Those of filch are in `src/bin`, one for each pool and queue, so that a
//! change to one does not move the machine code of another.
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
mod one_queue;
pub mod schedulers;
mod serial;
mod serve;

use std::collections::BTreeMap;

use filch_workloads::{Spec, Workload};

pub use contender::{Contender, Counters, Counts};
pub use of_filch::{OfFilch, filch};
pub use serial::Sequential;
pub use serve::serve;

/// The whole of the runner of a queue that needs the store buffers of x86-64. For other processors it is a program that
/// says so, with status 2.
///
/// ```no_run
/// filch_runner::fence_free!("thep", Thep);
/// ```
#[macro_export]
macro_rules! fence_free {
    ($name:literal, $queue:ident) => {
        #[cfg(target_arch = "x86_64")]
        fn main() -> std::process::ExitCode {
            use filch_queue::$queue;

            $crate::filch($name).pool::<filch::pool::Queued<$queue>>().once::<$queue>().serve()
        }

        #[cfg(not(target_arch = "x86_64"))]
        fn main() -> std::process::ExitCode {
            eprintln!("{} needs the store buffers of x86-64", $name);
            std::process::ExitCode::from(2)
        }
    };
}

/// A scheduler that a runner can run programs on.
///
/// ```
/// use filch_runner::{Contender, Job, Scheduler, Sequential};
/// use filch_workloads::Spec;
///
/// /// Runs programs sequentially, but only trees.
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

    /// Whether it can run the program.
    fn runs(&self, program: &Spec) -> bool;

    /// Its settings, each with its meaning.
    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Starts it.
    ///
    /// # Errors
    /// A sentence, if it cannot start.
    fn start(&self, job: &Job<'_>) -> Result<Box<dyn Contender>, String>;
}

/// The task that a scheduler is started for.
#[derive(Clone, Copy, Debug)]
pub struct Job<'j> {
    /// The program.
    pub workload: &'j Workload,
    /// The number of computing threads.
    pub workers: usize,
    /// The scheduler's settings.
    pub settings: &'j BTreeMap<String, String>,
    /// The required stack of each thread.
    pub stack_bytes: usize,
}

impl Job<'_> {
    /// Fails if anything is set.
    ///
    /// # Errors
    /// A sentence.
    pub fn without_settings(&self, scheduler: &str) -> Result<(), String> {
        match self.settings.keys().next() {
            Some(name) => Err(format!("{scheduler} has no settings, so `{name}` cannot be set")),
            None => Ok(()),
        }
    }
}
