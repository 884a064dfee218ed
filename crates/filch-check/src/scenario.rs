//! A scenario: a small program that a queue or a protocol must survive, written once for every memory.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use filch_memory::Sleep;

use crate::program::Program;

/// A memory that scenarios run on.
pub trait Checker: Sleep {
    /// Says what the running thread does, for the history.
    fn note(text: impl FnOnce() -> String);

    /// At the end of a program: a number for all that its threads have read and have left behind. Where it is the same as in
    /// another execution of the program, they have left the same.
    fn outcome() -> u64;
}

impl Checker for crate::tso::Tso {
    fn note(text: impl FnOnce() -> String) {
        crate::tso::note(text);
    }

    fn outcome() -> u64 {
        crate::tso::outcome()
    }
}

/// What a scenario is told of the machine it runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// δ of the fence-free queues: how many of the newest tasks a thief must leave. Others ignore it.
    pub delta: Option<usize>,
}

/// Makes a fresh instance of a scenario's program.
pub type Make = Arc<dyn Fn(Setting) -> Program + Send + Sync>;

/// A small program with a question that its last step answers.
#[derive(Clone)]
pub struct Scenario {
    /// The queue or protocol.
    pub subject: &'static str,
    /// What its threads do.
    pub name: String,
    /// Small enough for the test command: on bounded TSO, with buffers of which sizes, unless it is about [δ](Dependence); and on C11.
    pub quick: (&'static [usize], bool),
    /// How it depends on δ.
    pub delta: Dependence,
    /// On bounded TSO.
    pub tso: Make,
    /// On C11; or the reason why it cannot be there.
    pub c11: Result<Make, &'static str>,
}

/// How a scenario depends on δ, and with it on the bound of the store buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// Not at all.
    None,
    /// It holds for a δ that is large enough.
    Holds,
    /// As `Holds`, and it has enough tasks to break for any smaller δ, and wherever buffers have no bound.
    Exact,
}

impl Scenario {
    /// Whether the test command explores it on bounded TSO.
    pub fn is_quick(&self) -> bool {
        !self.quick.0.is_empty()
    }
}

impl Debug for Scenario {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.name)
    }
}
