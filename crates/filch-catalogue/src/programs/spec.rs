//! The description of a program.

use std::fmt;

use super::{ParamError, ParamSpec, Settings};

/// The values of some parameters, by name; the others keep their defaults.
pub type Preset = &'static [(&'static str, &'static str)];

/// How a program creates its tasks, which determines the schedulers that can run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It forks and joins: any executor runs it.
    ForkJoin,
    /// Its tasks create others, which are not awaited individually: `filch::worklist` runs it.
    Worklist,
    /// Its tasks create others, and wait for some of them with all their descendants: `filch::jobs` runs it.
    Jobs,
    /// One owner pushes and pops, and its thieves steal: it measures a queue by itself.
    Queue,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ForkJoin => "fork–join",
            Self::Worklist => "worklist",
            Self::Jobs => "job",
            Self::Queue => "queue",
        })
    }
}

/// The description of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The program's name.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The paper or program that it comes from.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// A size that takes 10 to 50 ms sequentially.
    pub quick: Preset,
    /// A size that takes 50 to 200 ms sequentially.
    pub compare: Preset,
    /// The size of the source.
    pub paper: Preset,
}

/// The parameters of a program; the methods are those of [`Workload`](super::Workload).
pub trait Params: Sized {
    /// The description, independent of the values.
    const SPEC: Spec;

    /// Parses the values.
    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError>;

    /// The values in the order of `SPEC.params`.
    fn values(&self) -> Vec<String>;

    /// The forks or tasks of a run, if known in advance.
    fn tasks(&self) -> Option<u64> {
        None
    }

    /// The bytes of input and output.
    fn memory_bytes(&self) -> u64;

    /// Whether this is a worklist or queue program whose tasks may run twice.
    fn is_idempotent(&self) -> bool {
        false
    }
}
