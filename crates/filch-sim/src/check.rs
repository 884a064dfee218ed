//! Every step against the lemmas of the proof (appendix A).
//!
//! A violation is a mistake in the simulator, or in a lemma. The potential is that of each deque: what a worker keeps
//! and gives away in a step has at most the potential that it had, which implies lemma A.5 about the sum over all
//! workers.

use std::error::Error;
use std::fmt;

use crate::dag::Dag;
use crate::engine::{Machine, Simulation, Tokens};
use crate::potential::{Distance, Potential};

/// Rounding of ratios of potentials, and of expectations.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq)]
pub enum Violation {
    /// A step did not give a token for each worker (lemma A.1).
    Tokens(Tokens),
    /// A node ran before a predecessor, or again.
    Order {
        /// The step.
        step: u64,
        /// The node.
        node: u32,
    },
    /// An attempt moved several nodes, or a worker received several.
    Transfers {
        /// The step.
        step: u64,
        /// A worker that is concerned.
        worker: usize,
    },
    /// A worker had an older node that is not further from the end than a newer one (lemma A.4).
    Discipline {
        /// The step.
        step: u64,
        /// The worker.
        worker: usize,
    },
    /// A worker had more potential than before, or than it received (lemma A.5).
    Potential {
        /// The step.
        step: u64,
        /// The worker.
        worker: usize,
        /// By what it was multiplied.
        by: f64,
    },
    /// A step without work did not turn an idle worker into a busy one for each node that moved (lemma A.10).
    Progress {
        /// The step.
        step: u64,
    },
    /// All ended with another number of nodes run than there are, or sooner than T1/P or T∞ permit.
    End(Tokens),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(tokens) => write!(f, "the tokens are not one for each worker and step: {tokens:?}"),
            Self::Order { step, node } => write!(f, "step {step}: node {node} runs again or before a predecessor"),
            Self::Transfers { step, worker } => write!(f, "step {step}: worker {worker} has a part in two transfers"),
            Self::Discipline { step, worker } => write!(f, "step {step}: the deque of worker {worker} is not in order"),
            Self::Potential { step, worker, by } => {
                write!(f, "step {step}: the potential of worker {worker} grows by a factor of {by}")
            }
            Self::Progress { step } => write!(f, "step {step}: nobody works, and some worker lost its last node"),
            Self::End(tokens) => write!(f, "the end comes too early, or after wrong work: {tokens:?}"),
        }
    }
}

impl Error for Violation {}

/// The checks of one run: call `before` and `after` around each step, and `end` once.
#[derive(Debug)]
pub struct Checks<'d> {
    dag: &'d Dag,
    machine: Machine,
    potential: Potential,
    /// The predecessors that have not run, of each node; `None` if it has run itself.
    missing: Vec<Option<u8>>,
    /// The deques and the tokens before the step.
    deques: Vec<Vec<u32>>,
    tokens: Tokens,
}

impl<'d> Checks<'d> {
    /// Prepares the checks of a run.
    pub fn new(dag: &'d Dag, machine: Machine) -> Self {
        Self {
            dag,
            machine,
            potential: Potential::new(dag, machine, Distance::FromRoot),
            missing: dag.predecessors().iter().copied().map(Some).collect(),
            deques: vec![Vec::new(); machine.workers],
            tokens: Tokens::default(),
        }
    }

    /// Keeps the state before a step.
    pub fn before(&mut self, simulation: &Simulation<'_>) {
        for (worker, deque) in self.deques.iter_mut().enumerate() {
            deque.clear();
            deque.extend(simulation.deque(worker));
        }
        self.tokens = simulation.tokens();
    }

    /// Checks a step.
    ///
    /// # Errors
    ///
    /// What it violates.
    pub fn after(&mut self, simulation: &Simulation<'_>) -> Result<(), Violation> {
        let (tokens, moves) = (simulation.tokens(), simulation.moves());
        let step = tokens.steps;
        if tokens.work + tokens.communication + tokens.idle != step * self.machine.workers as u64 {
            return Err(Violation::Tokens(tokens));
        }
        for &node in simulation.ran() {
            if self.missing[node as usize] != Some(0) {
                return Err(Violation::Order { step, node });
            }
        }
        // A node that is ready by this step runs in the next one at the earliest.
        for &node in simulation.ran() {
            self.missing[node as usize] = None;
            for successor in self.dag.successors(node) {
                if let Some(missing) = &mut self.missing[successor as usize] {
                    *missing -= 1;
                }
            }
        }
        let new: Vec<Vec<u32>> = (0..self.machine.workers).map(|worker| simulation.deque(worker).collect()).collect();
        for (worker, after) in new.iter().enumerate() {
            let took_part = moves.iter().filter(|moved| moved.from == worker || moved.to == worker).count();
            if took_part > 1 {
                return Err(Violation::Transfers { step, worker });
            }
            if !self.is_in_order(after) {
                return Err(Violation::Discipline { step, worker });
            }
            let sent = moves.iter().find(|moved| moved.from == worker).map(|moved| moved.node);
            let received = moves.iter().find(|moved| moved.to == worker).map(|moved| moved.node);
            let before = received.map_or(self.potential.log(&self.deques[worker]), |node| self.potential.log(&[node]));
            let parts = [self.potential.log(after), sent.and_then(|node| self.potential.log(&[node]))];
            let by: f64 =
                parts.into_iter().flatten().map(|part| (part - before.unwrap_or(f64::NEG_INFINITY)).exp()).sum();
            if by > 1.0 + TOLERANCE {
                return Err(Violation::Potential { step, worker, by });
            }
        }
        let idle = |deques: &[Vec<u32>]| deques.iter().filter(|deque| deque.is_empty()).count();
        if tokens.work == self.tokens.work && idle(&new) + moves.len() != idle(&self.deques) {
            return Err(Violation::Progress { step });
        }
        Ok(())
    }

    /// Lemma A.4, except that the newest node may be as far from the root as the one before it: they may be branches of
    /// one fork.
    fn is_in_order(&self, deque: &[u32]) -> bool {
        let ahead = |pair: &[u32]| {
            let [older, newer] = [pair[0], pair[1]].map(|node| self.potential.of(node));
            (older.0 > newer.0 && older.1 > newer.1, older.0 >= newer.0 && older.1 >= newer.1)
        };
        deque.windows(2).rev().enumerate().all(|(nth, pair)| if nth == 0 { ahead(pair).1 } else { ahead(pair).0 })
    }

    /// Checks a whole run.
    ///
    /// # Errors
    ///
    /// What it violates.
    pub fn end(&self, tokens: Tokens) -> Result<(), Violation> {
        let is_complete = tokens.work == self.dag.work() && self.missing.iter().all(Option::is_none);
        let least = self.dag.work().div_ceil(self.machine.workers as u64).max(self.dag.span().into());
        if is_complete && tokens.steps >= least { Ok(()) } else { Err(Violation::End(tokens)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Mistake, Protocol};
    use crate::shape::Shape;

    const SHAPES: [&str; 5] = [
        "fib:n=12",
        "balanced:depth=6,grain=3",
        "comb:teeth=30,grain=7",
        "comb:teeth=40,grain=1",
        "uts:root=30,children=4,per_million=240000,seed=1",
    ];

    /// Every kind of machine.
    fn machines() -> impl Iterator<Item = Machine> {
        let each = |protocol| {
            let deltas = move |workers| [2, 5, 50].map(|delta| Machine { workers, delta, protocol });
            [1, 2, 8, 30].into_iter().flat_map(deltas)
        };
        Protocol::EVERY.into_iter().flat_map(each)
    }

    /// Checks runs with a mistake, if any; returns the first violation of each.
    fn violations(mistake: Option<Mistake>) -> Vec<Violation> {
        let mut violations = Vec::new();
        for shape in SHAPES {
            let dag = shape.parse::<Shape>().unwrap().dag();
            for machine in machines() {
                let mut simulation = Simulation::new(&dag, machine, 1);
                simulation.mistake = mistake;
                violations.extend(simulation.checked().err());
            }
        }
        violations
    }

    #[test]
    fn no_run_violates_a_lemma() {
        assert_eq!(violations(None), []);
    }

    #[test]
    fn mistakes_are_found() {
        let finds = |mistake, is_meant: fn(&Violation) -> bool| {
            let violations = violations(Some(mistake));
            assert!(violations.iter().any(is_meant), "{mistake:?}: {violations:?}");
        };
        finds(Mistake::Newest, |violation| matches!(violation, Violation::Potential { .. }));
        finds(Mistake::Last, |violation| matches!(violation, Violation::Progress { .. }));
        finds(Mistake::Two, |violation| matches!(violation, Violation::Transfers { .. }));
        finds(Mistake::Crowd, |violation| matches!(violation, Violation::Transfers { .. }));
        finds(Mistake::Early, |violation| matches!(violation, Violation::Order { .. }));
        finds(Mistake::Free, |violation| matches!(violation, Violation::Tokens(_)));
        finds(Mistake::Queue, |violation| matches!(violation, Violation::Discipline { .. }));
    }

    #[test]
    fn an_incomplete_run_is_found() {
        let dag = "fib:n=4".parse::<Shape>().unwrap().dag();
        let machine = Machine { workers: 2, delta: 2, protocol: Protocol::Sender };
        let tokens = Simulation::new(&dag, machine, 1).run();
        assert_eq!(Checks::new(&dag, machine).end(tokens), Err(Violation::End(tokens)), "nothing ran before its eyes");
    }

    /// Returns the largest factor by which a step of some run multiplies the potential of all workers.
    fn growth(shape: &str, distance: Distance) -> f64 {
        let dag = shape.parse::<Shape>().unwrap().dag();
        let mut most = 0.0_f64;
        for machine in machines() {
            let potential = Potential::new(&dag, machine, distance);
            let mut simulation = Simulation::new(&dag, machine, 1);
            let logs = |simulation: &Simulation<'_>| -> Vec<f64> {
                let deques = (0..machine.workers).map(|worker| simulation.deque(worker).collect::<Vec<_>>());
                deques.filter_map(|deque| potential.log(&deque)).collect()
            };
            let mut before = logs(&simulation);
            while simulation.step() {
                let after = logs(&simulation);
                let scale = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum = |logs: &[f64]| logs.iter().map(|log| (log - scale).exp()).sum::<f64>();
                most = most.max(sum(&after) / sum(&before));
                before = after;
            }
        }
        most
    }

    /// Lemma A.5 holds for neither definition that the document has.
    #[test]
    fn potentials_as_printed_grow() {
        for shape in ["comb:teeth=30,grain=7", "fib:n=12"] {
            assert!(
                growth(shape, Distance::ToEnd) > 1.01 && growth(shape, Distance::ShortestFromRoot) > 1.01,
                "{shape}"
            );
            assert!(growth(shape, Distance::FromRoot) <= 1.0 + TOLERANCE, "{shape}");
        }
        for distance in [Distance::ToEnd, Distance::ShortestFromRoot] {
            assert!(growth("balanced:depth=6,grain=3", distance) <= 1.0 + TOLERANCE, "branches of equal length");
        }
    }
}
