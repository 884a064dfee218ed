//! Walks over trees: fat trees, thin trees, and combs.
//!
//! A task is a node: it does a fixed amount of work and pushes its children. Nodes are only counted. What matters is
//! how many tasks a queue holds at a time. A depth-first walk over a *fat* tree (many children per node, few levels)
//! fills the queues at once. On a *thin* tree (two children, many levels) a queue never holds more tasks than there are
//! levels, so a queue that gives thieves only whole blocks of tasks has nothing for them if its blocks are as long as
//! that. A *comb* is a path with a leaf at each node: it has next to no parallelism.
//!
//! **Source.** Jiawei Wang, Yutao Liu, Ming Fu, Hermann Härtig and Haibo Chen, *Work Stealing through Partial
//! Asynchronous Delegation*, SPAA 2024, figure 1, which names fat and thin trees but does not define them. The sizes,
//! the comb, and the work of a node are ours.

use std::hint::black_box;
use std::time::Instant;

use filch::worklist::{Queue, Team};
use filch_catalogue::ParamError;
use filch_catalogue::programs;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::trees::{Form, Params};

use crate::answer::{Answer, Listed, expect};
use crate::spec::{Lists, Prepare, Runs};
use crate::uts;

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self, rounds: rounds(self.spin) })
    }
}

/// Measures how many rounds of mixing take this many nanoseconds.
fn rounds(nanoseconds: u64) -> u64 {
    const TRIAL: u64 = 1 << 16;
    if nanoseconds == 0 {
        return 0;
    }
    let trial = || {
        let start = Instant::now();
        work(TRIAL);
        start.elapsed().as_nanos().max(1)
    };
    let fastest = (0..20).map(|_| trial()).min().unwrap_or(1);
    let rounds = u128::from(nanoseconds) * u128::from(TRIAL) / fastest;
    u64::try_from(rounds).unwrap_or(u64::MAX).max(1)
}

/// Does the work of a node. Each round depends on the one before.
fn work(rounds: u64) {
    black_box((0..rounds).fold(rounds, |bits, _| hash(bits, 0)));
}

/// The program; the tree is not stored.
#[derive(Debug)]
pub struct Instance {
    params: Params,
    rounds: u64,
}

/// The nodes that one worker has seen.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    nodes: u64,
    leaves: u64,
    lowest: Option<u32>,
}

impl Seen {
    fn add(&mut self, height: u32) {
        self.nodes += 1;
        self.leaves += u64::from(height == 0);
        self.lowest = Some(self.lowest.map_or(height, |lowest| lowest.min(height)));
    }
}

impl Instance {
    /// Returns the heights of a node's children. A depth-first walk runs the last one first.
    fn children(&self, height: u32) -> impl Iterator<Item = u32> {
        let Params { form, fanout, .. } = self.params;
        let children = if height == 0 { 0 } else { fanout };
        // In a comb the leaf runs first, so that a queue never holds more than two tasks.
        (0..children).map(move |child| if form == Form::Comb && child > 0 { 0 } else { height - 1 })
    }

    fn visit(&self, seen: &mut Seen, height: u32) {
        work(self.rounds);
        seen.add(height);
    }

    fn answer(&self, seen: &[Seen]) -> Answer {
        let sum = |part: fn(&Seen) -> u64| seen.iter().map(part).sum();
        let lowest = seen.iter().filter_map(|seen| seen.lowest).min();
        Answer::Tree(uts::Count {
            nodes: sum(|seen| seen.nodes),
            leaves: sum(|seen| seen.leaves),
            depth: self.params.depth - lowest.unwrap_or(self.params.depth),
        })
    }
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        let mut seen = Seen::default();
        let mut stack = vec![self.params.depth];
        while let Some(height) = stack.pop() {
            self.visit(&mut seen, height);
            stack.extend(self.children(height));
        }
        self.answer(&[seen])
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let right = self.params.size().map(Answer::Tree);
        right.map_or(Ok(()), |right| expect(answer, &right))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        programs::Params::tasks(&self.params)
    }
}

impl Lists for Instance {
    fn exactly_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Listed {
        let this = &*self;
        let run = team.run(
            [this.params.depth],
            |_| Seen::default(),
            |worker, seen, height| {
                this.visit(seen, height);
                this.children(height).for_each(|child| worker.push(child));
            },
        );
        Listed { answer: self.answer(&run.states), tallies: run.tallies, duplicates: None }
    }
}
