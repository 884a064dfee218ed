//! What every program says of itself, and what it can be asked to do.

use std::fmt;

use filch::worklist::Queue;
use filch::{jobs, worklist};

use crate::ForkJoin;
use crate::answer::{Answer, Listed};
use crate::params::{ParamError, ParamSpec, Settings};

/// Values of some parameters, by name; the others keep their defaults.
pub type Preset = &'static [(&'static str, &'static str)];

/// How a program makes its tasks, hence who can run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It forks and joins: any [`Executor`](crate::Executor) runs it.
    ForkJoin,
    /// Its tasks make others, which nobody waits for one by one: [`filch::worklist`] runs it.
    Worklist,
    /// Its tasks make others, and wait for some with all their descendants: [`filch::jobs`] runs it.
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

/// The parameters of a program.
pub(crate) trait Params: Sized {
    const SPEC: Spec;
    type Instance: Runs;

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError>;
    /// The values in the order of `SPEC.params`.
    fn values(&self) -> Vec<String>;
    fn tasks(&self) -> Option<u64>;
    fn memory_bytes(&self) -> u64;
    fn is_idempotent(&self) -> bool {
        false
    }
    fn prepare(&self) -> Result<Self::Instance, ParamError>;
}

/// A program with its data. The methods are those of [`Instance`](crate::Instance), as are those of the traits for each kind of program.
pub(crate) trait Runs {
    fn reset(&mut self) {}
    fn serial(&mut self) -> Answer;
    fn check(&self, answer: &Answer) -> Result<(), String>;
    fn tasks(&self, answer: &Answer) -> Option<u64>;
    /// How deep forks nest at most: each level takes a few frames of stack.
    fn nesting(&self) -> u64 {
        200
    }
    fn digest(&self) -> u64 {
        0
    }
    fn damage(&mut self, _at: u64) -> bool {
        false
    }
}

/// A fork–join program.
pub(crate) trait Forks: Runs {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer;
}

/// A worklist program.
pub(crate) trait Lists: Runs {
    fn exactly_once<Q: Queue>(&mut self, team: &mut worklist::Team<Q>) -> Listed;

    /// `None` unless the tasks may be run twice.
    fn at_least_once<Q: Queue>(&mut self, _team: &mut worklist::Team<Q>) -> Option<Listed> {
        None
    }
}

/// A job program.
pub(crate) trait Makes: Runs {
    fn jobs<Q: Queue>(&mut self, team: &mut jobs::Team<Q>) -> Listed;
}
