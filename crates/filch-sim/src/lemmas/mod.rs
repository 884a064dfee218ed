//! The lemmas of the proof (appendix A), held against exact probabilities: no step is drawn, each goes every way that
//! it can. [`check`](crate::check) holds the steps of drawn runs against the lemmas that need no probabilities.
//!
//! Two things have to be read in one way or another: the potentials of nodes, for which definition A.1, figure 7 and
//! our mend differ ([`Reading`]); and requests, which a configuration lacks ([`Model`](chain::Model)). Computations are
//! written as [`Graph`](graphs::Graph) says. There are two workers at least, since 1/r is not finite for one.

mod chain;
mod graphs;
mod tests;

use chain::{Step, count};

use crate::bound::{Bound, KAPPA};
use crate::check::TOLERANCE;
use crate::dag::Dag;
use crate::engine::{Machine, Move, Simulation};
use crate::potential::{Distance, Potential};

/// A statement of the proof about every configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lemma {
    /// An older node of a deque has more depth and more fork potential than a newer one.
    A4,
    /// No step increases the total potential.
    A5,
    /// After a transfer, its two workers have 2·e^−κ of the giver's potential at most.
    A5Transfer,
    /// An attempt of a worker with several nodes succeeds with probability α/(P − 1)·(1 − 1/δ)/c.
    A6,
    /// A busy worker is expected to lose a share of α/r of its potential, what it sends included.
    A7,
    /// The total potential is expected to fall by a share of α/r.
    A8,
    /// Its logarithm is expected to fall by α/r.
    A9,
    /// At most r·ln Φ idle tokens are expected until the end.
    A11,
}

impl Lemma {
    const EVERY: [Self; 8] = [Self::A4, Self::A5, Self::A5Transfer, Self::A6, Self::A7, Self::A8, Self::A9, Self::A11];
}

/// How the document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// By definition A.1.
    Definition,
    /// By figure 7.
    Figure,
    /// By the longest paths from the root.
    Longest,
    /// By those; the newest two nodes of a deque may have the same potentials, and Φ is 1 at the end, where A.9 counts.
    Mended,
}

impl Reading {
    fn distance(self) -> Distance {
        match self {
            Self::Definition => Distance::ShortestFromRoot,
            Self::Figure => Distance::ToEnd,
            Self::Longest | Self::Mended => Distance::FromRoot,
        }
    }
}

/// What a lemma says of a worker, a pair of nodes or a next configuration: that `is` is at least `least`.
#[derive(Clone, Copy, Debug)]
struct Sides {
    is: f64,
    least: f64,
}

impl Sides {
    /// Whether it would be true of a bound that is so many times as high.
    fn hold(self, times: f64) -> bool {
        self.is >= times * self.least - TOLERANCE
    }
}

/// The quantities of the proof, for a computation on a machine.
struct Proof {
    machine: Machine,
    reading: Reading,
    potential: Potential,
    bound: Bound,
}

impl Proof {
    fn new(dag: &Dag, machine: Machine, reading: Reading) -> Self {
        let potential = Potential::new(dag, machine, reading.distance());
        Self { machine, reading, potential, bound: Bound::new(dag, machine) }
    }

    /// Φ of a deque.
    fn phi(&self, deque: &[u32]) -> f64 {
        self.potential.log(deque).map_or(0.0, f64::exp)
    }

    /// Φ of a worker's deque.
    fn part(&self, simulation: &Simulation<'_>, worker: usize) -> f64 {
        self.phi(&simulation.deque(worker).collect::<Vec<_>>())
    }

    /// Φ of a configuration.
    fn total(&self, simulation: &Simulation<'_>) -> f64 {
        let sum: f64 = (0..self.machine.workers).map(|worker| self.part(simulation, worker)).sum();
        if sum == 0.0 && self.reading == Reading::Mended { 1.0 } else { sum }
    }

    /// What a lemma says in a configuration, from which so many idle tokens are expected.
    fn says(&self, lemma: Lemma, step: &Step<'_>, idle: f64) -> Vec<Sides> {
        let fall = step.idle() / self.bound.r();
        let before = self.total(&step.before);
        match lemma {
            Lemma::A4 => step.workers(2).flat_map(|worker| self.order(step.before.deque(worker))).collect(),
            Lemma::A5 => {
                let grows = |after: &Simulation<'_>| self.total(after) / before;
                step.outcomes.iter().map(|(_, after)| Sides { is: 1.0, least: grows(after) }).collect()
            }
            Lemma::A5Transfer => {
                let moves =
                    step.outcomes.iter().flat_map(|(_, after)| after.moves().iter().map(move |moved| (after, moved)));
                let share = |(after, moved): (&Simulation<'_>, &Move)| {
                    (self.part(after, moved.from) + self.phi(&[moved.node])) / self.part(&step.before, moved.from)
                };
                moves.map(|moved| Sides { is: 2.0 * (-KAPPA).exp(), least: share(moved) }).collect()
            }
            Lemma::A6 => {
                let share = step.idle() / count(self.machine.workers - 1);
                let least = share / self.machine.protocol.contention() / self.bound.overhead();
                let sends = |after: &Simulation<'_>, worker| after.moves().iter().any(|moved| moved.from == worker);
                let sent = |worker| step.expected(|after| f64::from(u8::from(sends(after, worker))));
                step.workers(2)
                    .map(|worker| Sides { is: f64::from(self.machine.delta) * sent(worker), least })
                    .collect()
            }
            Lemma::A7 => step.workers(1).map(|worker| Sides { is: self.loss(step, worker), least: fall }).collect(),
            Lemma::A8 => {
                vec![Sides { is: step.expected(|after| 1.0 - self.total(after) / before), least: fall }]
            }
            Lemma::A9 => {
                // The end counts only if Φ is 1 there.
                let log = |after: f64| if after == 0.0 { 0.0 } else { (before / after).ln() };
                vec![Sides { is: step.expected(|after| log(self.total(after))), least: fall }]
            }
            Lemma::A11 => vec![Sides { is: before.ln() * self.bound.r(), least: idle }],
        }
    }

    /// Returns a configuration in which a lemma is false, or would be if its bound were so many times as high, as text.
    fn refutes(&self, lemma: Lemma, step: &Step<'_>, idle: f64, times: f64) -> Option<String> {
        let false_one = self.says(lemma, step, idle).into_iter().find(|sides| !sides.hold(times))?;
        Some(format!("{}: {:.4}, not {:.4}", written(&step.before), false_one.is, times * false_one.least))
    }

    /// By how much each node of a deque is ahead of the next newer one.
    fn order(&self, deque: impl Iterator<Item = u32>) -> Vec<Sides> {
        let potentials: Vec<_> = deque.map(|node| self.potential.of(node)).collect();
        let ahead = |(nth, pair): (usize, &[(u32, u32)])| {
            let least = if nth == 0 && self.reading == Reading::Mended { 0.0 } else { 1.0 };
            let by = |older: u32, newer: u32| Sides { is: f64::from(older) - f64::from(newer), least };
            [by(pair[0].0, pair[1].0), by(pair[0].1, pair[1].1)]
        };
        potentials.windows(2).rev().enumerate().flat_map(ahead).collect()
    }

    /// The share of its potential that a worker is expected to lose, less what it sends.
    fn loss(&self, step: &Step<'_>, worker: usize) -> f64 {
        let sent = |after: &Simulation<'_>| -> f64 {
            after.moves().iter().filter(|moved| moved.from == worker).map(|moved| self.phi(&[moved.node])).sum()
        };
        let before = self.part(&step.before, worker);
        step.expected(|after| 1.0 - (self.part(after, worker) + sent(after)) / before)
    }
}

/// The deques, their oldest node first, and who asks whom. Nodes are numbered from 0 as they are written.
fn written(simulation: &Simulation<'_>) -> String {
    let state = simulation.state();
    let deques = state.deques.iter().map(|deque| {
        let nodes: Vec<String> = deque.iter().map(u32::to_string).collect();
        format!("[{}]", nodes.join(" "))
    });
    let asked = state.requests.iter().enumerate();
    let requests = asked.filter_map(|(victim, thief)| Some(format!("{} asks {victim}", (*thief)?)));
    deques.chain(requests).collect::<Vec<_>>().join(" ")
}
