//! Task stacks on simulated machines: how the speed-up depends on where a waiting worker looks.

use filch_catalogue::console::error::{Result, usage};
use filch_catalogue::console::terminal::significant;
use filch_sim::Shape;
use filch_sim::lace::{Machine, Tree, Visit, visit};
use serde::Serialize;

use crate::flags::Simulate;
use crate::session::{Case, Session, mean};

/// The runs of a case. The lists have a number for each run, in the order of the seeds.
#[derive(Serialize)]
struct Line {
    simulation: &'static str,
    graph: String,
    /// The tasks, and the steps on one worker.
    nodes: u64,
    workers: usize,
    waiting: &'static str,
    /// The steps of a theft.
    steal: u32,
    /// The seed of the first run.
    seed: u64,
    steps: Vec<u64>,
    steals: Vec<u64>,
    leaps: Vec<u64>,
    depth: Vec<u64>,
    commit: &'static str,
}

impl Line {
    fn new(graph: Shape, nodes: u64, machine: Machine, seed: u64, runs: &[Visit]) -> Self {
        let each = |of: fn(&Visit) -> u64| runs.iter().map(of).collect();
        Self {
            simulation: "task-stacks",
            graph: graph.to_string(),
            nodes,
            workers: machine.workers,
            waiting: machine.waiting.name(),
            steal: machine.steal,
            seed,
            steps: each(|run| run.steps),
            steals: each(|run| run.steals),
            leaps: each(|run| run.leaps),
            depth: each(|run| run.depth as u64),
            commit: env!("FILCH_COMMIT"),
        }
    }
}

impl Case for Line {
    #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
    fn row(&self) -> Vec<String> {
        let numbers = [self.nodes as f64 / mean(&self.steps), mean(&self.steals), mean(&self.leaps), mean(&self.depth)];
        let case = [self.graph.clone(), self.workers.to_string(), self.waiting.to_owned()];
        case.into_iter().chain(numbers.map(significant)).collect()
    }
}

pub(crate) fn simulate(flags: &Simulate) -> Result {
    let graphs = flags.shapes();
    let trees = graphs.iter().map(|&graph| {
        let why = || usage(format!("{graph}: with --wait each node must be a task, as in fib and uts"));
        Ok((graph, Tree::of(graph).ok_or_else(why)?))
    });
    let trees = trees.collect::<Result<Vec<_>>>()?;
    let mut session = Session::begin(flags, trees.len() * flags.workers.len() * flags.wait.len())?;
    for (graph, tree) in &trees {
        for &workers in &flags.workers {
            for &waiting in &flags.wait {
                let machine = Machine { workers: workers.into(), steal: flags.steal, waiting };
                session.case(
                    format!("{graph} on {workers}, {}", waiting.name()),
                    |seed| Ok(visit(tree, machine, seed)),
                    |seed, runs| Line::new(*graph, tree.nodes(), machine, seed, runs),
                )?;
            }
        }
    }
    let text = format!("Means of {} runs; a task takes a step, and a theft {}.", flags.runs, flags.steal);
    session.end(&text, &["graph", "workers", "waiting", "speed-up", "steals", "leaps", "deepest stack"])
}
