//! The flags: the name, help and values of each.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use filch_catalogue::console::flags::{Output, count, workers};
use filch_sim::lace::Waiting;
use filch_sim::{Protocol, Shape};

/// Runs computations on simulated machines.
#[derive(Debug, Parser)]
#[command(name = "filch", version, about, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Simulates work stealing on machines of any size: private deques, beside the bound on their time, or leapfrogging
    /// on task stacks
    Simulate(Simulate),
}

#[derive(Debug, Args)]
#[command(after_help = "\
A graph is a computation whose nodes take a step each: fib:n=N, balanced:depth=N,grain=N (a complete tree of forks),
comb:teeth=N,grain=N (a chain of forks) or uts:root=N,children=N,per_million=N,seed=N (a tree by chance).
The model of private deques and the bound are those of section 3 and appendix A of Acar, Charguéraud and Rainey, PPoPP 2013. With --wait,
workers have Lace's task stacks, and each node of fib or uts is a task (van Dijk and van de Pol, MuCoCoS 2014).

Examples:
  filch simulate                                        three graphs on 2, 8 and 30 workers
  filch simulate fib:n=20 --workers 1000 --delta 50     a machine that nobody has
  filch simulate comb:teeth=64,grain=500 --check        hold each step against the lemmas of the proof
  filch simulate fib:n=16 --runs 1000 --json fib.jsonl
  filch simulate --wait leapfrog,transitive --workers 16,48   how far a waiting worker's choice of victims scales")]
pub(crate) struct Simulate {
    /// Graphs [default: fib:n=16 balanced:depth=6,grain=500 comb:teeth=64,grain=500; with --wait fib:n=22
    /// uts:root=2000,children=8,per_million=124875,seed=1]
    #[arg(value_name = "GRAPH")]
    pub(crate) graphs: Vec<Shape>,
    /// Numbers of workers
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "2,8,30", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Vec<u16>,
    /// δ: the mean number of steps between two transfer attempts of a busy worker
    #[arg(long, value_name = "D", value_delimiter = ',', default_value = "2,5,10,50,200", value_parser = count(2, 1_000_000), allow_negative_numbers = true)]
    pub(crate) delta: Vec<u32>,
    /// Who begins a transfer: the busy worker (sender) or the idle one (receiver) [default: both]
    #[arg(long, value_name = "WHO", value_delimiter = ',', value_parser = protocol())]
    pub(crate) protocol: Vec<Protocol>,
    /// Task stacks instead: where a worker looks while it waits for a stolen task. At its thief, at the thieves of that
    /// task's descendants if the thief has nothing, or then at random workers
    #[arg(long, value_name = "HOW", value_delimiter = ',', value_parser = waiting(), conflicts_with_all = ["delta", "protocol", "check"])]
    pub(crate) wait: Vec<Waiting>,
    /// The steps of a theft between task stacks
    #[arg(long, value_name = "N", default_value = "2", value_parser = count(1, 1_000_000), allow_negative_numbers = true, requires = "wait")]
    pub(crate) steal: u32,
    /// Runs of each case
    #[arg(long, value_name = "R", default_value = "50", value_parser = count(1, 1_000_000), allow_negative_numbers = true)]
    pub(crate) runs: u32,
    /// The seed of the first run; the next one has the next seed
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Hold each step against the lemmas of the proof, which takes some ten times as long; exit status 1 on a violation
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Parses the name of a protocol.
fn protocol() -> impl TypedValueParser<Value = Protocol> {
    let named = |name: String| Protocol::EVERY.into_iter().find(|protocol| protocol.name() == name).ok_or("unknown");
    PossibleValuesParser::new(Protocol::EVERY.map(Protocol::name)).try_map(named)
}

/// Parses the name of a way to wait.
fn waiting() -> impl TypedValueParser<Value = Waiting> {
    let named = |name: String| Waiting::EVERY.into_iter().find(|waiting| waiting.name() == name).ok_or("unknown");
    PossibleValuesParser::new(Waiting::EVERY.map(Waiting::name)).try_map(named)
}

impl Simulate {
    /// The graphs, or those by default.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        const PRIVATE: &[&str] = &["fib:n=16", "balanced:depth=6,grain=500", "comb:teeth=64,grain=500"];
        const STACKS: &[&str] = &["fib:n=22", "uts:root=2000,children=8,per_million=124875,seed=1"];
        if !self.graphs.is_empty() {
            return self.graphs.clone();
        }
        let known = if self.wait.is_empty() { PRIVATE } else { STACKS };
        known.iter().map(|text| text.parse().expect("a graph")).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Flags::command().debug_assert();
    }

    #[test]
    fn each_model_has_graphs_of_its_own() {
        let graphs = |arguments: &[&str]| {
            let Verb::Simulate(flags) = Flags::parse_from(["filch", "simulate"].iter().chain(arguments)).verb;
            flags.shapes().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(graphs(&[]).len(), 3);
        assert_eq!(graphs(&["--wait", "leapfrog"]).len(), 2);
        assert_eq!(graphs(&["--wait", "leapfrog", "fib:n=9"]), ["fib:n=9"]);
    }
}
