//! Answers and results of runs.

use std::fmt;

use filch::worklist::Tally;

use crate::uts::Count;

/// The result of a run. A program that works in place gives the size of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// A number.
    Number(u64),
    /// The size of a tree.
    Tree(Count),
    /// The product of two square matrices of this order, left in memory.
    Product(usize),
    /// The number of keys sorted in memory.
    Sorted(usize),
    /// The number of vertices reached. The marks or parents are in memory.
    Reached(u32),
    /// A real number.
    Real(Real),
    /// The number of numbers left in memory.
    Numbers(usize),
}

/// A real number. Two are equal only if all their bits are.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Real {}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Tree(Count { nodes, leaves, depth }) => {
                write!(f, "{nodes} nodes, {leaves} leaves, depth {depth}")
            }
            Self::Product(n) => write!(f, "{n} × {n} product"),
            Self::Sorted(n) => write!(f, "{n} keys sorted"),
            Self::Reached(n) => write!(f, "{n} vertices reached"),
            Self::Real(Real(number)) => write!(f, "{number}"),
            Self::Numbers(n) => write!(f, "{n} numbers"),
        }
    }
}

/// Returns an error if `answer` is not `right`.
pub(crate) fn expect(answer: &Answer, right: &Answer) -> Result<(), String> {
    if answer == right { Ok(()) } else { Err(format!("the answer is {answer}, but it should be {right}")) }
}

/// The result of a run of a worklist program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Listed {
    /// The answer.
    pub answer: Answer,
    /// The tally of each worker.
    pub tallies: Vec<Tally>,
    /// Tasks that repeated work already done, where the program can tell.
    pub duplicates: Option<u64>,
}

impl Listed {
    /// Returns the result of a program whose tasks are the vertices that it reaches.
    pub(crate) fn reaching(vertices: u32, tallies: Vec<Tally>) -> Self {
        let mut run = Self { answer: Answer::Reached(vertices), tallies, duplicates: None };
        run.duplicates = Some(run.runs().saturating_sub(vertices.into()));
        run
    }

    /// The number of tasks that all workers pushed, including the initial ones.
    pub fn tasks(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.pushed).sum()
    }

    /// The number of tasks that all workers ran. On a queue that may return a task twice it can exceed
    /// [`Listed::tasks`].
    pub fn runs(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.run).sum()
    }
}
