//! Steps of a machine whose workers have private deques.
//!
//! In a step, every worker whose deque is not empty either makes a transfer attempt, with a probability of 1/δ, or runs
//! its newest node; the others idle. The node that a worker runs is the newest of its deque until it has run, so a
//! worker with one node has nothing to give. All workers act on the state at the start of the step: a worker that
//! receives a node is idle until the next one.
//!
//! Invariant: a join is ready once, when its second branch has ended, and is then the newest node of the worker that
//! ended it.

use std::collections::VecDeque;

use crate::chance::Chance;
#[cfg(test)]
use crate::chance::Path;
use crate::check::{Checks, Violation};
use crate::dag::Dag;

/// Who begins a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The busy worker looks at a random other one, and gives it its oldest node if that one idles (figure 3).
    Sender,
    /// An idle worker leaves a request at a random busy one that has none, which answers at its next attempt with its
    /// oldest node, or declines if it has only one (figure 2).
    Receiver,
}

impl Protocol {
    /// Both.
    pub const EVERY: [Self; 2] = [Self::Sender, Self::Receiver];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }

    /// c: how much longer an attempt takes to succeed since several idle workers may ask the same victim (figure 7).
    pub(crate) fn contention(self) -> f64 {
        match self {
            Self::Sender => 1.0,
            Self::Receiver => 1.0 / (1.0 - (-1.0_f64).exp()),
        }
    }
}

/// A machine, and how work spreads on it.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// P: the number of workers, at least 1.
    pub workers: usize,
    /// δ: the mean number of steps from one transfer attempt of a busy worker to the next, at least 2.
    pub delta: u32,
    /// Who begins a transfer.
    pub protocol: Protocol,
}

/// What the workers did so far. Each of them produces a token in each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The steps.
    pub steps: u64,
    /// The nodes that were run.
    pub work: u64,
    /// The transfer attempts.
    pub communication: u64,
    /// The steps of workers without nodes.
    pub idle: u64,
    /// The nodes that went to another worker.
    pub moved: u64,
}

/// A node that went from one worker to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Move {
    /// The worker that had it.
    pub from: usize,
    /// The idle worker that received it.
    pub to: usize,
    /// The node.
    pub node: u32,
}

/// A mistake, by which the tests see that [`check`](crate::check) would find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// A worker gives its newest node away.
    Newest,
    /// A worker gives away the only node that it has.
    Last,
    /// An attempt gives nodes to two idle workers.
    Two,
    /// Two workers give nodes to the same idle one in a step.
    Crowd,
    /// A join is ready when its first branch has ended.
    Early,
    /// An attempt fails without a token.
    Free,
    /// The next node is the oldest one.
    Queue,
}

/// A computation under way on a machine.
///
/// ```
/// use filch_sim::{Machine, Protocol, Shape, Simulation};
///
/// let dag = "fib:n=10".parse::<Shape>()?.dag();
/// let mut simulation = Simulation::new(&dag, Machine { workers: 2, delta: 5, protocol: Protocol::Receiver }, 7);
/// while simulation.step() {
///     println!("{:?} {:?}", simulation.deque(0).collect::<Vec<_>>(), simulation.deque(1).collect::<Vec<_>>());
/// }
/// assert_eq!(simulation.tokens().work, dag.work());
/// # Ok::<(), String>(())
/// ```
#[cfg_attr(test, derive(Clone))]
#[derive(Debug)]
pub struct Simulation<'d> {
    dag: &'d Dag,
    machine: Machine,
    chance: Chance,
    /// The oldest node is in front.
    deques: Vec<VecDeque<u32>>,
    /// The predecessors that have not run, of each node.
    missing: Vec<u8>,
    /// The thief whose request each worker has.
    requests: Vec<Option<usize>>,
    /// Whether each worker has a request somewhere.
    waits: Vec<bool>,
    /// The workers without nodes at the start of the step.
    idle: Vec<bool>,
    tokens: Tokens,
    /// The nodes that ran in the last step, and those that moved.
    ran: Vec<u32>,
    moves: Vec<Move>,
    #[cfg(test)]
    pub(crate) mistake: Option<Mistake>,
    /// Whether nobody asks a worker with a single node.
    #[cfg(test)]
    pub(crate) has_flags: bool,
}

impl<'d> Simulation<'d> {
    /// Prepares a run, which the seed determines. The first worker has the root.
    ///
    /// # Panics
    ///
    /// If the machine has no worker, or δ is below 2.
    pub fn new(dag: &'d Dag, machine: Machine, seed: u64) -> Self {
        let Machine { workers, delta, .. } = machine;
        assert!(workers > 0 && delta > 1, "a machine has a worker, and δ is above 1");
        let mut deques = vec![VecDeque::new(); workers];
        deques[0].push_back(0);
        Self {
            dag,
            machine,
            chance: Chance::with_seed(seed),
            deques,
            missing: dag.predecessors().to_vec(),
            requests: vec![None; workers],
            waits: vec![false; workers],
            idle: vec![false; workers],
            tokens: Tokens::default(),
            ran: Vec::new(),
            moves: Vec::new(),
            #[cfg(test)]
            mistake: None,
            #[cfg(test)]
            has_flags: false,
        }
    }

    /// Simulates a step; returns `false` if everything has run.
    pub fn step(&mut self) -> bool {
        self.ran.clear();
        self.moves.clear();
        let mut all_idle = true;
        for (idle, deque) in self.idle.iter_mut().zip(&self.deques) {
            *idle = deque.is_empty();
            all_idle &= *idle;
        }
        if all_idle {
            return false;
        }
        if self.machine.protocol == Protocol::Receiver {
            self.ask();
        }
        self.tokens.steps += 1;
        for worker in 0..self.machine.workers {
            if self.idle[worker] {
                self.tokens.idle += 1;
            } else if self.chance.happens(self.machine.delta) {
                self.tokens.communication += u64::from(!self.makes(Mistake::Free));
                self.attempt(worker);
            } else {
                self.tokens.work += 1;
                self.run_newest(worker);
            }
        }
        self.tokens.moved += self.moves.len() as u64;
        true
    }

    /// Simulates all steps.
    pub fn run(mut self) -> Tokens {
        while self.step() {}
        self.tokens
    }

    /// Simulates all steps, and checks each.
    ///
    /// # Errors
    ///
    /// The first violation of a lemma, which is a mistake in this crate.
    pub fn checked(mut self) -> Result<Tokens, Violation> {
        let mut checks = Checks::new(self.dag, self.machine);
        loop {
            checks.before(&self);
            if !self.step() {
                break;
            }
            checks.after(&self)?;
        }
        checks.end(self.tokens).map(|()| self.tokens)
    }

    /// What the workers did so far.
    pub fn tokens(&self) -> Tokens {
        self.tokens
    }

    /// The nodes of a worker, the oldest first.
    pub fn deque(&self, worker: usize) -> impl ExactSizeIterator<Item = u32> {
        self.deques[worker].iter().copied()
    }

    /// The nodes that ran in the last step.
    pub fn ran(&self) -> &[u32] {
        &self.ran
    }

    /// The nodes that moved in the last step.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    #[cfg(test)]
    fn is_asked(&self, victim: usize) -> bool {
        self.deques[victim].len() > usize::from(self.has_flags)
    }

    #[cfg(not(test))]
    fn is_asked(&self, victim: usize) -> bool {
        !self.idle[victim]
    }

    #[cfg(test)]
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "only tests make mistakes")]
    fn makes(&self, _: Mistake) -> bool {
        false
    }

    /// Returns a random other worker, if there is one.
    fn other(&mut self, worker: usize) -> Option<usize> {
        let others = self.machine.workers - 1;
        (others > 0).then(|| {
            let other = self.chance.below(others);
            other + usize::from(other >= worker)
        })
    }

    /// Has every idle worker without a request try to leave one.
    fn ask(&mut self) {
        for thief in 0..self.machine.workers {
            if self.idle[thief]
                && !self.waits[thief]
                && let Some(victim) = self.other(thief)
                && self.is_asked(victim)
                && self.requests[victim].is_none()
            {
                self.requests[victim] = Some(thief);
                self.waits[thief] = true;
            }
        }
    }

    fn attempt(&mut self, worker: usize) {
        let to = match self.machine.protocol {
            Protocol::Sender => self.other(worker).filter(|&to| self.idle[to]),
            Protocol::Receiver => self.answered(worker),
        };
        let least = if self.makes(Mistake::Last) { 1 } else { 2 };
        let can_give = |simulation: &Self| simulation.deques[worker].len() >= least;
        if let Some(to) = to
            && can_give(self)
            // Another worker may have served it in this step.
            && (self.deques[to].is_empty() || self.makes(Mistake::Crowd))
        {
            self.give(worker, to);
            let next = (0..self.machine.workers).find(|&next| self.idle[next] && self.deques[next].is_empty());
            if let Some(next) = next.filter(|_| self.makes(Mistake::Two) && can_give(self)) {
                self.give(worker, next);
            }
        }
    }

    /// Takes the request that a worker has.
    fn answered(&mut self, worker: usize) -> Option<usize> {
        let thief = self.requests[worker].take()?;
        self.waits[thief] = false;
        Some(thief)
    }

    fn give(&mut self, from: usize, to: usize) {
        let is_newest = self.makes(Mistake::Newest);
        let deque = &mut self.deques[from];
        let node = if is_newest { deque.pop_back() } else { deque.pop_front() }.expect("the giver has a node");
        self.deques[to].push_back(node);
        self.moves.push(Move { from, to, node });
    }

    fn run_newest(&mut self, worker: usize) {
        let (is_early, is_oldest) = (self.makes(Mistake::Early), self.makes(Mistake::Queue));
        let deque = &mut self.deques[worker];
        let node = if is_oldest { deque.pop_front() } else { deque.pop_back() }.expect("the worker is busy");
        self.ran.push(node);
        for successor in self.dag.successors(node).rev() {
            let missing = &mut self.missing[successor as usize];
            *missing -= 1;
            let is_first = is_early && self.dag.predecessors()[successor as usize] == 2;
            if *missing == u8::from(is_first) {
                deque.push_back(successor);
            }
        }
        // A worker without nodes declines at once, as it does in figure 2.
        if deque.is_empty() {
            self.answered(worker);
        }
    }
}

/// What determines the probabilities of the next steps.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) deques: Vec<VecDeque<u32>>,
    missing: Vec<u8>,
    /// The thief whose request each worker has.
    pub(crate) requests: Vec<Option<usize>>,
}

#[cfg(test)]
impl<'d> Simulation<'d> {
    pub(crate) fn machine(&self) -> Machine {
        self.machine
    }

    pub(crate) fn state(&self) -> State {
        State { deques: self.deques.clone(), missing: self.missing.clone(), requests: self.requests.clone() }
    }

    /// Goes on from here by random numbers, which the seed determines.
    pub(crate) fn restarted(&self, seed: u64) -> Self {
        Self { chance: Chance::with_seed(seed), ..self.clone() }
    }

    /// Takes back all requests.
    pub(crate) fn withdraw(&mut self) {
        self.requests.fill(None);
        self.waits.fill(false);
    }

    /// Takes the next step in every way that it can go, and returns each with its probability.
    pub(crate) fn next_steps(&self) -> impl Iterator<Item = (f64, Self)> + use<'_, 'd> {
        let mut path = Some(Path::default());
        std::iter::from_fn(move || {
            let mut next = Self { chance: Chance::Listed(path.take()?), ..self.clone() };
            assert!(next.step(), "something is left to run");
            let Chance::Listed(taken) = &next.chance else { unreachable!("a step draws nothing else") };
            let probability = taken.probability();
            path = taken.clone().next();
            Some((probability, next))
        })
    }
}
