//! Every flag, once: its name, its help, and what values it takes. Parsing yields plain values; the verbs make
//! schedulers and workloads of them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use filch_catalogue::Style;
use filch_console::flags::{Output, count, workers};

/// A style, by its name.
fn style() -> impl TypedValueParser<Value = Style> {
    let values = Style::EVERY.map(|style| PossibleValue::new(style.name()).help(style.summary()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Style>())
}

/// Compares work-stealing schedulers on real programs.
#[derive(Debug, Parser)]
#[command(name = "filch", version, about, max_term_width = 100)]
#[command(after_help = "Start with `filch compare`. Exit status: 0 well, 1 a check failed, 2 bad usage.")]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measures schedulers side by side on several programs: a table and an HTML report
    Compare(Compare),
    /// Measures one of the experiments that are kept by name, and decides what it claims
    Experiment(Experiment),
    /// Runs one program on one scheduler
    Run(Run),
    /// Lists pools and queues, their parameters, workloads, peers, experiments, waiting strategies, columns and scenarios
    List(List),
    /// Makes the HTML report, or a summary in JSON, from JSON lines
    Report(Report),
    /// Has cargo build the runners that other verbs start, which else happens when they are needed
    Build(Build),
    /// Explores every execution of small programs on abstract machines: queues and protocols, as they ship
    #[command(disable_help_flag = true)]
    Check(Passed),
    /// Hammers queues with an owner and thieves, or runs random programs: is every task taken once?
    #[command(disable_help_flag = true)]
    Stress(Passed),
    /// Measures what an idle pool costs, how fast it wakes, what calls into it cost, and how work spreads
    #[command(disable_help_flag = true)]
    Probe(Passed),
}

/// How large programs are, where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Size {
    /// Some 10 to 50 ms sequentially
    Quick,
    /// Some 50 to 200 ms
    Compare,
    /// As in the paper or program that it comes from
    Paper,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch build                all runners that need nothing but cargo, the checkers and the probes
  filch build split rayon    two runners")]
pub(crate) struct Build {
    /// Pools, queues, peers, `serial`, `check`, `probe` [default: all but the peers that need more of the system]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// For another program, which knows what it means.
#[derive(Debug, Args)]
pub(crate) struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch compare                            a minute on two cores; writes filch-report.html
  filch compare --quick                    smaller programs, for a first look
  filch compare --all                      every program there is, in small sizes: some minutes
  filch compare fib queens --peers rayon   two programs, one peer
  filch compare fib:n=40 --repeat 20       another size, a fixed number of rounds
  filch compare --workers 1,2,8 --json runs.jsonl
  filch compare --workers 1,2,8 --json runs.jsonl --resume
  filch compare fib uts --runner ./my-runner
  filch compare fib --columns median,p10,p90,speedup,to-baseline")]
pub(crate) struct Compare {
    /// Workloads, each perhaps with parameters as in `fib:n=40` or `uts:tree=T3,seed=1`
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workloads: Vec<String>,
    /// Every program, on every input that it has, in the sizes of --quick
    #[arg(long, conflicts_with = "workloads")]
    pub(crate) all: bool,
    /// Pools of filch [default: split, chase-lev, on fib filch-levels and filch-closures; for worklist programs some queues]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) pools: Option<Vec<String>>,
    /// Other schedulers; an empty list is none [default: rayon, chili, lace-ws]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) peers: Option<Vec<String>>,
    /// Somebody's runner, as docs/runners.md says; may be given several times
    #[arg(long = "runner", value_name = "PATH")]
    pub(crate) runners: Vec<PathBuf>,
    /// How filch's workers wait for a stolen task [default: the library's]
    #[arg(long, value_name = "NAME")]
    pub(crate) wait: Option<String>,
    #[command(flatten)]
    pub(crate) session: Session,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch list experiments                  their names, and what they ask
  filch experiment forks                  what a fork costs: a table, claims and filch-report.html
  filch experiment blocks --size quick    smaller programs, for a first look
  filch experiment cutoff --json cutoff.jsonl
  filch experiment cutoff --json cutoff.jsonl --resume
  filch report cutoff.jsonl -o cutoff.html")]
pub(crate) struct Experiment {
    /// Which: see `filch list experiments`
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) session: Session,
}

/// What a session of measuring can be told.
#[derive(Debug, Args)]
pub(crate) struct Session {
    /// Numbers of workers [default: the experiment's; of `compare` 1 and the number of processors]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Option<Vec<u16>>,
    /// Bind each worker to a processor; who cannot do that is left out
    #[arg(long)]
    pub(crate) pin: bool,
    /// Small sizes and a short budget
    #[arg(long, conflicts_with = "size")]
    pub(crate) quick: bool,
    /// How large the programs are [default: compare, with --all quick]
    #[arg(long, value_enum)]
    pub(crate) size: Option<Size>,
    /// Exactly so many rounds over everything, whatever time they take
    #[arg(long, value_name = "R", value_parser = count(1, 1000), allow_negative_numbers = true)]
    pub(crate) repeat: Option<u32>,
    /// Seconds to fill with rounds, of which some are always made [default: the experiment's; of `compare` 60 and three rounds, in quick
    /// sizes 15, with --all 180 and one]
    #[arg(long, value_name = "SECONDS", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) budget: Option<u32>,
    /// Seconds after which a run counts as hung
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) timeout: u32,
    /// The seed of the order of runs
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Columns of tables and report, in this order: see `filch list columns` [default: the experiment's or what fits, and in the report
    /// all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Where to write the HTML report
    #[arg(long, value_name = "FILE", default_value = "filch-report.html", conflicts_with = "no_report")]
    pub(crate) report: PathBuf,
    /// Write no HTML report
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Go on with an interrupted session, whose lines are in the file of --json: what is there is not measured again
    #[arg(long, requires = "json")]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Session {
    /// The size asked for.
    pub(crate) fn size_or(&self, default: Size) -> Size {
        self.size.unwrap_or(if self.quick { Size::Quick } else { default })
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch run fib --set n=40                              the default pool, all processors
  filch run fib --pool serial                           the sequential program
  filch run uts --set tree=T3 --workers 2 --wait leapfrog
  filch run queens --peer rayon --repeat 10 --json -    ten JSON lines
  filch run closure --pool idem-lifo                    a worklist program, whose tasks may be run twice
  filch run wsq --set k=100 --pool wsq --workers 1,2    a job program, and what a job costs
  perf stat -e cycles:u filch run fib --set n=40 --workers 1 --repeat 1 --warmup 0")]
pub(crate) struct Run {
    /// The workload: see `filch list workloads`
    pub(crate) workload: String,
    /// A parameter of the workload [default: the size that `compare` uses]
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) set: Vec<String>,
    /// The size that `compare --quick` uses
    #[arg(long, conflicts_with = "size")]
    pub(crate) quick: bool,
    /// How large the program is, but for what is set [default: compare]
    #[arg(long, value_enum)]
    pub(crate) size: Option<Size>,
    /// `serial`, or a pool, perhaps with parameters as in `bwos-l:block=64:capacity=4096` or `pdq-r:interrupts=signal`: see
    /// `filch list pools` and `filch list parameters` [default: split, for worklist programs chase-lev, for job programs wsq]
    #[arg(long, value_name = "NAME", conflicts_with = "peer")]
    pub(crate) pool: Option<String>,
    /// Another scheduler: see `filch list peers`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["style", "wait", "pin"])]
    pub(crate) peer: Option<String>,
    /// How workers wait for a stolen task: see `filch list waits`
    #[arg(long, value_name = "NAME")]
    pub(crate) wait: Option<String>,
    /// Worker threads; several numbers are tried one after the other [default: the number of processors]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Option<Vec<u16>>,
    /// Timed runs
    #[arg(long, value_name = "R", default_value = "5", value_parser = count(1, 100_000), allow_negative_numbers = true)]
    pub(crate) repeat: u32,
    /// Untimed runs before them
    #[arg(long, value_name = "K", default_value = "1", value_parser = count(0, 1000), allow_negative_numbers = true)]
    pub(crate) warmup: u32,
    /// How forks reach the pool
    #[arg(long, value_parser = style())]
    pub(crate) style: Option<Style>,
    /// Bind each worker to a processor
    #[arg(long)]
    pub(crate) pin: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch list             everything
  filch list workloads   programs, their parameters and sizes
  filch list queues      queues, what they promise and their papers
  filch list peers       other schedulers, and how to get those that are missing")]
pub(crate) struct List {
    /// Only these
    #[arg(value_enum)]
    pub(crate) what: Option<Listed>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// filch's task pools
    Pools,
    /// Queues alone
    Queues,
    /// What can be set of queues that run worklist programs, and of pools
    Parameters,
    /// Programs
    Workloads,
    /// Other schedulers
    Peers,
    /// Experiments that are kept by name
    Experiments,
    /// What a worker does while its task is stolen
    Waits,
    /// What tables of results show
    Columns,
    /// What `filch check` explores
    Scenarios,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch report runs.jsonl -o report.html
  filch report monday.jsonl tuesday.jsonl -o week.html
  filch report runs.jsonl --json summary.jsonl       a line for each row of the tables, with intervals
  filch report runs.jsonl --columns median,speedup --json - -o report.html")]
pub(crate) struct Report {
    /// JSON lines, as `compare --json` and `run --json` write them
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where to write the report [default: filch-report.html, or nowhere with --json]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write one JSON object per row of the tables to FILE; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Columns, in this order: see `filch list columns` [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Flags::command().debug_assert();
    }
}
