//! `filch-simulate`, which `filch simulate` starts: mean times of private deques on simulated machines, beside the
//! bound on them; and speed-ups of task stacks.

mod flags;
mod session;
mod stacks;

use std::process::ExitCode;

use clap::Parser;
use filch_catalogue::console::error::{Error, Result};
use filch_catalogue::console::terminal::significant;
use filch_sim::{Bound, Dag, Machine, Protocol, Shape, Simulation, Tokens};
use serde::Serialize;

use crate::flags::{Flags, Simulate, Verb};
use crate::session::{Case, Session, mean};

fn main() -> ExitCode {
    let Verb::Simulate(flags) = Flags::parse().verb;
    let simulates = if flags.wait.is_empty() { simulate } else { stacks::simulate };
    match simulates(&flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

/// The runs of a case. The lists have a number for each run, in the order of the seeds.
#[derive(Serialize)]
struct Line {
    simulation: &'static str,
    graph: String,
    /// T1, T∞ and F.
    work: u64,
    span: u32,
    forks: u32,
    workers: usize,
    delta: u32,
    protocol: &'static str,
    /// The seed of the first run.
    seed: u64,
    checked: bool,
    steps: Vec<u64>,
    communication: Vec<u64>,
    idle: Vec<u64>,
    moved: Vec<u64>,
    /// The most steps and idle tokens that are expected.
    steps_bound: f64,
    idle_bound: f64,
    /// The expected communication tokens, and their standard deviation.
    communication_expected: f64,
    communication_deviation: f64,
    commit: &'static str,
}

impl Line {
    fn new(graph: Shape, dag: &Dag, machine: Machine, flags: &Simulate, seed: u64, runs: &[Tokens]) -> Self {
        let each = |of: fn(&Tokens) -> u64| runs.iter().map(of).collect();
        let bound = Bound::new(dag, machine);
        Self {
            simulation: "private-deques",
            graph: graph.to_string(),
            work: dag.work(),
            span: dag.span(),
            forks: dag.forks(),
            workers: machine.workers,
            delta: machine.delta,
            protocol: machine.protocol.name(),
            seed,
            checked: flags.check,
            steps: each(|tokens| tokens.steps),
            communication: each(|tokens| tokens.communication),
            idle: each(|tokens| tokens.idle),
            moved: each(|tokens| tokens.moved),
            steps_bound: bound.steps(),
            idle_bound: bound.idle(),
            communication_expected: bound.communication(),
            communication_deviation: bound.communication_deviation(),
            commit: env!("FILCH_COMMIT"),
        }
    }
}

impl Case for Line {
    fn row(&self) -> Vec<String> {
        let (steps, communication, idle) = (mean(&self.steps), mean(&self.communication), mean(&self.idle));
        let numbers = [
            steps,
            self.steps_bound,
            steps / self.steps_bound,
            communication,
            self.communication_expected,
            idle,
            self.idle_bound,
            mean(&self.moved),
        ];
        let case = [self.graph.clone(), self.workers.to_string(), self.delta.to_string(), self.protocol.to_owned()];
        case.into_iter().chain(numbers.map(significant)).collect()
    }
}

fn simulate(flags: &Simulate) -> Result {
    let protocols = if flags.protocol.is_empty() { &Protocol::EVERY[..] } else { &flags.protocol };
    let graphs = flags.shapes();
    let planned = graphs.len() * protocols.len() * flags.workers.len() * flags.delta.len();
    let mut session = Session::begin(flags, planned)?;
    for graph in graphs {
        let dag = graph.dag();
        for &workers in &flags.workers {
            for &delta in &flags.delta {
                for &protocol in protocols {
                    let machine = Machine { workers: workers.into(), delta, protocol };
                    session.case(
                        format!("{graph} on {workers}, δ = {delta}"),
                        |seed| run(graph, &dag, machine, flags.check, seed),
                        |seed, runs| Line::new(graph, &dag, machine, flags, seed, runs),
                    )?;
                }
            }
        }
    }
    let text = format!("Means of {} runs, in steps and tokens; P is the number of workers.", flags.runs);
    let heads = [
        "graph",
        "P",
        "δ",
        "transfers by",
        "time",
        "bound",
        "of it",
        "attempts",
        "T1/(δ − 1)",
        "idle",
        "bound",
        "moved",
    ];
    session.end(&text, &heads)
}

fn run(graph: Shape, dag: &Dag, machine: Machine, is_checked: bool, seed: u64) -> Result<Tokens> {
    let simulation = Simulation::new(dag, machine, seed);
    if !is_checked {
        return Ok(simulation.run());
    }
    let named = |violation| Error::FailedBecause(format!("{graph}, {machine:?}, seed {seed}: {violation}"));
    simulation.checked().map_err(named)
}
