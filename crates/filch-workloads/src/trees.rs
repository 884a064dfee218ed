//! Trees to be walked over: fat ones, thin ones, and combs.
//!
//! A task is a node; it does a fixed amount of work and pushes its children, and nothing is done with the nodes but count them. What
//! matters is how many tasks there are in a queue at a time. Walked over depth first, a *fat* tree (many children to a node, few
//! levels) fills the queues at once. In a *thin* one (two children, many levels) a queue never holds more tasks than there are
//! levels, so a queue that gives thieves whole blocks of tasks only has nothing for them if the blocks are as long.
//! A *comb* is a path with a leaf at each of its nodes: there is next to nothing to do at the same time.
//!
//! **Source.** Jiawei Wang, Yutao Liu, Ming Fu, Hermann Härtig and Haibo Chen, *Work Stealing through Partial Asynchronous
//! Delegation*, SPAA 2024, figure 1: fat and thin trees are named there, not defined. The sizes, the comb, and the work of a node are
//! ours.

use std::hint::black_box;
use std::time::Instant;

use filch::worklist::{Queue, Team};

use crate::answer::{Answer, Listed, expect};
use crate::params::{ParamError, ParamSpec, Settings, hash};
use crate::spec::{self, Lists, Runs, Spec};
use crate::uts;

/// Beyond this a run would take days.
const MOST_NODES: u64 = 1 << 40;

/// The form of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Complete, with many children to a node.
    Fat,
    /// Complete, with few.
    Thin,
    /// Each node on a path has the next one and a leaf for children.
    Comb,
}

const FORMS: &[(&str, Form)] = &[("fat", Form::Fat), ("thin", Form::Thin), ("comb", Form::Comb)];

impl Form {
    /// Children to a node, and levels below the root, unless something else is asked for.
    const fn default(self) -> (u64, u64) {
        match self {
            Self::Fat => (100, 3),
            Self::Thin => (2, 19),
            Self::Comb => (2, 500_000),
        }
    }
}

/// Which tree, and the work of a node.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    form: Form,
    fanout: u32,
    depth: u32,
    spin: u64,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "trees",
        summary: "a walk over a fat tree, a thin one or a comb, a task per node",
        source: "PadWS (Wang et al., SPAA 2024)",
        params: &[
            ParamSpec { name: "tree", help: "fat, thin or comb", default: "thin" },
            ParamSpec { name: "fanout", help: "children of an inner node", default: "" },
            ParamSpec { name: "depth", help: "levels below the root", default: "" },
            ParamSpec { name: "spin", help: "nanoseconds of work at each node", default: "0" },
        ],
        quick: &[("tree", "thin"), ("depth", "16"), ("spin", "200")],
        compare: &[("tree", "thin"), ("depth", "18"), ("spin", "200")],
        paper: &[("tree", "thin"), ("depth", "19")],
    };
    type Instance = Instance;

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        let form = settings.word("tree", settings.text("tree"), FORMS)?;
        let (fanout, depth) = form.default();
        let params = Self {
            form,
            fanout: settings.whole_or("fanout", fanout, (1, u32::MAX.into()), "")? as u32,
            depth: settings.whole_or("depth", depth, (0, u32::MAX.into()), "")? as u32,
            spin: settings.whole("spin", 0, 1_000_000_000, ", a second")?,
        };
        if form == Form::Comb && u64::from(params.fanout) != fanout {
            return Err(settings.bad("fanout", "is not 2, the number of children in a comb"));
        }
        if params.size().is_none() {
            return Err(settings.bad("depth", "makes a tree of more than 2^40 nodes, which takes days"));
        }
        Ok(params)
    }

    fn values(&self) -> Vec<String> {
        let form = FORMS.iter().find(|&&(_, form)| form == self.form).map_or("", |(name, _)| name);
        vec![form.to_owned(), self.fanout.to_string(), self.depth.to_string(), self.spin.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        self.size().map(|count| count.nodes)
    }

    fn memory_bytes(&self) -> u64 {
        0
    }

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self, rounds: rounds(self.spin) })
    }
}

impl Params {
    /// How large the tree is, unless it is too large.
    fn size(&self) -> Option<uts::Count> {
        let (fanout, depth) = (u64::from(self.fanout), u64::from(self.depth));
        let (nodes, leaves) = match (self.form, fanout) {
            (Form::Comb, _) => (2 * depth + 1, depth + 1),
            (_, 1) => (depth + 1, 1),
            _ => {
                let leaves = fanout.checked_pow(self.depth).filter(|&leaves| leaves <= MOST_NODES)?;
                // The sum over the levels.
                ((leaves * fanout - 1) / (fanout - 1), leaves)
            }
        };
        (nodes <= MOST_NODES).then_some(uts::Count { nodes, leaves, depth: self.depth })
    }

    /// The children of a node, as their heights, and the last one first to be run by a depth-first walk.
    fn children(&self, height: u32) -> impl Iterator<Item = u32> {
        let Self { form, fanout, .. } = *self;
        let children = if height == 0 { 0 } else { fanout };
        // In a comb the leaf is run first, so that a queue never has more than two tasks.
        (0..children).map(move |child| if form == Form::Comb && child > 0 { 0 } else { height - 1 })
    }
}

/// How often to mix for so many nanoseconds of work, by trial.
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

/// The work of a node: each round waits for the one before.
fn work(rounds: u64) {
    black_box((0..rounds).fold(rounds, |bits, _| hash(bits, 0)));
}

/// The program; the tree is nowhere in memory.
#[derive(Debug)]
pub struct Instance {
    params: Params,
    rounds: u64,
}

/// What one worker has seen.
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
            stack.extend(self.params.children(height));
        }
        self.answer(&[seen])
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let right = self.params.size().map(Answer::Tree);
        right.map_or(Ok(()), |right| expect(answer, &right))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        spec::Params::tasks(&self.params)
    }
}

impl Lists for Instance {
    fn exactly_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Listed {
        let this = &*self;
        let run = team.run(
            [this.params.depth],
            |_| Seen::default(),
            |crew, seen, height| {
                this.visit(seen, height);
                this.params.children(height).for_each(|child| crew.push(child));
            },
        );
        Listed { answer: self.answer(&run.states), tallies: run.tallies, duplicates: None }
    }
}
