//! A scenario: a small program that a queue or a protocol must survive, written once for every memory.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use filch_memory::Sleep;

use crate::program::Program;

/// A memory that scenarios run on.
pub trait Checker: Sleep {
    /// Notes in the history what the running thread does.
    fn note(text: impl FnOnce() -> String);

    /// Returns, at the end of a program, a number for everything its threads have read and left behind. Two executions
    /// of the program with the same number have left the same values.
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

/// The parameters that a scenario takes from the machine it runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// δ of the fence-free queues: how many of the newest tasks a thief must leave. Other queues ignore it.
    pub delta: Option<usize>,
}

/// Makes a fresh instance of a scenario's program.
pub type Make = Arc<dyn Fn(Setting) -> Program + Send + Sync>;

/// A small program that checks its own result.
#[derive(Clone)]
pub struct Scenario {
    /// The queue or protocol.
    pub subject: &'static str,
    /// What its threads do.
    pub name: String,
    /// Whether the test command explores it on bounded TSO.
    pub is_quick_on_tso: bool,
    /// Whether the test command explores it on C11.
    pub is_quick_on_c11: bool,
    /// How it depends on δ.
    pub delta: Dependence,
    /// Makes its program for bounded TSO.
    pub tso: Make,
    /// Makes its program for C11, or the reason why it cannot run there.
    pub c11: Result<Make, &'static str>,
}

/// How a scenario depends on δ, and with it on the bound of the store buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// Not at all.
    None,
    /// It passes if δ is large enough.
    Holds,
    /// As `Holds`, and it has enough tasks to fail with any smaller δ, and wherever buffers are unbounded.
    Exact,
}

impl Debug for Scenario {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.name)
    }
}
