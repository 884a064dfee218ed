//! What comes of a run.

use std::fmt;

use filch::worklist::Tally;

use crate::uts::Count;

/// What a run computed, or for a program that works in place, how much.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// A number.
    Number(u64),
    /// The size of a tree.
    Tree(Count),
    /// A product of two square matrices of this order is in memory.
    Product(usize),
    /// So many keys are in order in memory.
    Sorted(usize),
    /// So many vertices were reached: which, or from where, is in memory.
    Reached(u32),
    /// A real number.
    Real(Real),
    /// So many numbers are in memory.
    Numbers(usize),
}

/// A real number, equal to another one only if all bits are the same.
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

/// "`right`" or what is wrong about `answer`.
pub(crate) fn expect(answer: &Answer, right: &Answer) -> Result<(), String> {
    if answer == right { Ok(()) } else { Err(format!("the answer is {answer}, but it should be {right}")) }
}

/// What has come of a run of a worklist program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Listed {
    /// The answer.
    pub answer: Answer,
    /// What each worker has done.
    pub tallies: Vec<Tally>,
    /// Tasks that were run although others had done their work, where the program can tell.
    pub duplicates: Option<u64>,
}

impl Listed {
    /// Of a program whose tasks are the vertices that it reaches.
    pub(crate) fn reaching(vertices: u32, tallies: Vec<Tally>) -> Self {
        let mut run = Self { answer: Answer::Reached(vertices), tallies, duplicates: None };
        run.duplicates = Some(run.runs().saturating_sub(vertices.into()));
        run
    }

    /// Tasks pushed, by all workers, those that the run began with among them.
    pub fn tasks(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.pushed).sum()
    }

    /// Tasks run, by all workers: each that was pushed, and on a queue that may return one twice, some again.
    pub fn runs(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.run).sum()
    }
}
