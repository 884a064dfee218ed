//! A simulated machine as a Markov chain: all configurations that it can reach, the exact probabilities of their next
//! ones, and the tokens that are expected from each.
//!
//! Invariant: the outcomes of a step differ, and their probabilities sum to 1.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::dag::Dag;
use crate::engine::{Machine, Move, Protocol, Simulation, State};

/// Who begins a transfer, and what becomes of a request that has no answer after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Sender,
    /// It stays where it is, as in figure 2.
    Receiver,
    /// So it does, and nobody asks a worker with a single node, whose flag says so in figure 2.
    Flags,
    /// The thief takes it back and chooses a victim anew, as the proof of lemma A.6 supposes.
    Afresh,
}

impl Model {
    pub(super) const EVERY: [Self; 4] = [Self::Sender, Self::Receiver, Self::Flags, Self::Afresh];

    pub(super) fn machine(self, workers: usize, delta: u32) -> Machine {
        let protocol = if self == Self::Sender { Protocol::Sender } else { Protocol::Receiver };
        Machine { workers, delta, protocol }
    }

    /// Whether a request may last longer than a step.
    pub(super) fn keeps_requests(self) -> bool {
        matches!(self, Self::Receiver | Self::Flags)
    }

    /// Prepares a run.
    pub(super) fn start(self, dag: &Dag, workers: usize, delta: u32, seed: u64) -> Simulation<'_> {
        let mut simulation = Simulation::new(dag, self.machine(workers, delta), seed);
        simulation.has_flags = self == Self::Flags;
        simulation
    }

    /// Ends a step.
    pub(super) fn end_step(self, simulation: &mut Simulation<'_>) {
        if self == Self::Afresh {
            simulation.withdraw();
        }
    }
}

/// A configuration with its next ones, each with its probability and with what moved on the way.
pub(super) struct Step<'d> {
    pub(super) before: Simulation<'d>,
    pub(super) outcomes: Vec<(f64, Simulation<'d>)>,
}

impl<'d> Step<'d> {
    pub(super) fn new(before: Simulation<'d>, model: Model) -> Self {
        let mut outcomes: Vec<(f64, Simulation<'d>)> = Vec::new();
        let mut known: HashMap<(State, Vec<Move>), usize> = HashMap::new();
        for (probability, mut after) in before.next_steps() {
            model.end_step(&mut after);
            let at = *known.entry((after.state(), after.moves().to_vec())).or_insert(outcomes.len());
            match outcomes.get_mut(at) {
                Some(outcome) => outcome.0 += probability,
                None => outcomes.push((probability, after)),
            }
        }
        Self { before, outcomes }
    }

    /// Returns an expectation over the next configurations.
    pub(super) fn expected(&self, of: impl Fn(&Simulation<'d>) -> f64) -> f64 {
        self.outcomes.iter().map(|(probability, after)| probability * of(after)).sum()
    }

    /// The workers with at least so many nodes.
    pub(super) fn workers(&self, least: usize) -> impl Iterator<Item = usize> {
        (0..self.before.machine().workers).filter(move |&worker| self.before.deque(worker).len() >= least)
    }

    /// α: how many workers have no node.
    pub(super) fn idle(&self) -> f64 {
        count(self.before.machine().workers - self.workers(1).count())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few workers or nodes")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}

/// All configurations but the last that a run can reach. The first is that of the start.
pub(super) struct Chain<'d> {
    pub(super) steps: Vec<Step<'d>>,
    /// The number of each outcome of each step; `None` at the end.
    next: Vec<Vec<Option<usize>>>,
}

impl<'d> Chain<'d> {
    pub(super) fn new(dag: &'d Dag, model: Model, workers: usize, delta: u32) -> Self {
        let first = model.start(dag, workers, delta, 0);
        let mut known = HashMap::from([(first.state(), 0)]);
        let (mut found, mut steps, mut next) = (vec![first], Vec::new(), Vec::new());
        while let Some(before) = found.get(steps.len()) {
            let step = Step::new(before.clone(), model);
            let number = |(_, after): &(f64, Simulation<'d>)| {
                let is_end = after.tokens().work == dag.work();
                (!is_end).then(|| {
                    *known.entry(after.state()).or_insert_with(|| {
                        found.push(after.clone());
                        found.len() - 1
                    })
                })
            };
            next.push(step.outcomes.iter().map(number).collect());
            steps.push(step);
        }
        Self { steps, next }
    }

    /// The ways between two configurations, with their probabilities.
    fn ways(&self, from: usize) -> impl Iterator<Item = (f64, usize)> {
        let probabilities = self.steps[from].outcomes.iter().map(|outcome| outcome.0);
        probabilities.zip(&self.next[from]).filter_map(|(probability, next)| Some((probability, (*next)?)))
    }

    /// Returns what is expected from each configuration to the end, if each step gives so much (lemma A.3).
    pub(super) fn expected(&self, of: impl Fn(&Step<'d>) -> f64) -> Vec<f64> {
        let mut expected = vec![0.0; self.steps.len()];
        let work = |at: &usize| self.steps[*at].before.tokens().work;
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by_key(|at| Reverse(work(at)));
        // Only those with as much work left depend on each other both ways.
        for alike in order.chunk_by(|a, b| work(a) == work(b)) {
            until_settled(|| {
                let mut change = 0.0_f64;
                for &at in alike {
                    let sum: f64 = self.ways(at).map(|(probability, next)| probability * expected[next]).sum();
                    let new = of(&self.steps[at]) + sum;
                    change = change.max((new - expected[at]).abs());
                    expected[at] = new;
                }
                change
            });
        }
        expected
    }

    /// Returns how often a run is expected to reach each configuration.
    pub(super) fn visits(&self) -> Vec<f64> {
        let mut ways_to = vec![Vec::new(); self.steps.len()];
        for from in 0..self.steps.len() {
            self.ways(from).for_each(|(probability, to)| ways_to[to].push((probability, from)));
        }
        let mut visits = vec![0.0; self.steps.len()];
        until_settled(|| {
            let mut change = 0.0_f64;
            for to in 0..visits.len() {
                let sum: f64 = ways_to[to].iter().map(|&(probability, from)| probability * visits[from]).sum();
                let new = if to == 0 { 1.0 + sum } else { sum };
                change = change.max((new - visits[to]).abs());
                visits[to] = new;
            }
            change
        });
        visits
    }
}

/// Repeats what returns by how much it changed something, until that is next to nothing.
fn until_settled(mut pass: impl FnMut() -> f64) {
    while pass() > 1e-13 {}
}
