//! What every program says of itself.

use std::fmt;

use super::{ParamError, ParamSpec, Settings};

/// Values of some parameters, by name; the others keep their defaults.
pub type Preset = &'static [(&'static str, &'static str)];

/// How a program makes its tasks, hence who can run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It forks and joins: any executor runs it.
    ForkJoin,
    /// Its tasks make others, which nobody waits for one by one: `filch::worklist` runs it.
    Worklist,
    /// Its tasks make others, and wait for some with all their descendants: `filch::jobs` runs it.
    Jobs,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ForkJoin => "fork–join",
            Self::Worklist => "worklist",
            Self::Jobs => "job",
        })
    }
}

/// What there is to know about a workload before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it computes, in one line.
    pub summary: &'static str,
    /// The paper or program that it comes from.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// A size of some 10 to 50 ms sequentially.
    pub quick: Preset,
    /// A size of some 50 to 200 ms sequentially.
    pub compare: Preset,
    /// The size of the source.
    pub paper: Preset,
}

/// The parameters of a program; the methods are those of [`Workload`](super::Workload).
pub trait Params: Sized {
    /// What there is to know before it has values.
    const SPEC: Spec;

    /// With values, or why not.
    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError>;

    /// The values in the order of `SPEC.params`.
    fn values(&self) -> Vec<String>;

    /// The forks or tasks of a run, where that is known beforehand.
    fn tasks(&self) -> Option<u64> {
        None
    }

    /// Bytes of input and output together.
    fn memory_bytes(&self) -> u64;

    /// Whether it is a worklist program whose tasks may be run twice.
    fn is_idempotent(&self) -> bool {
        false
    }
}
