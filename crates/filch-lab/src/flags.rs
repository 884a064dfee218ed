//! The flags, each with its name, help and values. Parsing yields plain values; the verbs make schedulers and workloads
//! of them.

mod session;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use filch_catalogue::console::flags::{Output, count, workers};

use crate::scale::COSTS;

pub(crate) use session::{Against, Session, Size, Tables};

/// Parses a parameter with several values.
fn swept(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = filch_catalogue::assignment(text)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    if values.iter().any(String::is_empty) {
        return Err("a value is missing".to_owned());
    }
    Ok((name, values))
}

/// Parses a cost.
fn cost(text: &str) -> Result<(String, u32), String> {
    let (name, cost) = filch_catalogue::assignment(text)?;
    if !COSTS.contains(&&*name) {
        return Err(format!("there is no cost `{name}`: there are {}", COSTS.join(", ")));
    }
    let number = cost.parse().map_err(|_| format!("`{cost}` is not a number of nanoseconds below 2³²"))?;
    Ok((name, number))
}

/// Compares work-stealing schedulers on real programs.
#[derive(Debug, Parser)]
#[command(name = "filch", version, about, max_term_width = 100)]
#[command(
    after_help = "Start with `filch compare`. Exit status: 0 success, 1 a check failed, 2 bad usage, or something needed is missing, 130 interrupted."
)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The command.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Compares schedulers on several programs: a table and an HTML report
    Compare(Compare),
    /// Runs a named experiment, and decides its claims
    Experiment(Experiment),
    /// Repeats tables and figures of the documents: a folder of pages, plots, data and verdicts
    Reproduce(Reproduce),
    /// Runs programs on schedulers, one after the other: the default pool, unless others are named
    Run(Run),
    /// Runs one program on one pool, and shows what each worker did, and when
    Trace(Trace),
    /// Lists pools, queues, parameters, workloads, peers, experiments, waiting strategies, columns and scenarios
    List(List),
    /// Lists other schedulers, and adds those in C and C++
    Peers(Peers),
    /// Makes the HTML report, or a JSON summary, from JSON lines
    Report(Report),
    /// Builds runners with cargo in advance; other commands build the runners they need
    Build(Build),
    /// Checks shipped queues and protocols: explores every execution of small programs on abstract machines
    #[command(disable_help_flag = true)]
    Check(Passed),
    /// Records programs on one thread: their work and span, how many workers can help, and how fast they would be
    Scale(Scale),
    /// Stresses queues with an owner and thieves, or runs random programs: is every task taken once?
    #[command(disable_help_flag = true)]
    Stress(Passed),
    /// Measures the cost of an idle pool, of waking it and of calls into it, and how work spreads
    #[command(disable_help_flag = true)]
    Probe(Passed),
    /// Simulates work stealing on machines of any size: private deques, beside the bound on their time, or leapfrogging
    /// on task stacks
    #[command(disable_help_flag = true)]
    Simulate(Passed),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch reproduce lace-fig5                   one table: filch-reproduce/lace-fig5.html
  filch reproduce all --quick                 everything in ten minutes; start with filch-reproduce/index.html
  filch reproduce mine.toml --quick           an experiment of your own, written like those in `experiments`
  filch reproduce all --resume                continue what was interrupted
  filch reproduce all --size paper --dry-run  how long, and how much memory
  filch list experiments                      their names and questions")]
pub(crate) struct Reproduce {
    /// Experiments, such as `ff-fig1`, or `all`: see `filch list experiments`; or your own files, such as `mine.toml`
    #[arg(value_name = "ID|FILE", required = true)]
    pub(crate) ids: Vec<String>,
    /// Use small sizes and a short budget
    #[arg(long, conflicts_with = "size")]
    pub(crate) quick: bool,
    /// Size of the programs [default: small]
    #[arg(long, value_enum)]
    pub(crate) size: Option<Size>,
    /// Folder for the pages, plots, data and verdicts
    #[arg(long = "output", short, value_name = "FOLDER", default_value = "filch-reproduce")]
    pub(crate) folder: PathBuf,
    /// Continue what this command has begun in the folder: complete experiments are not repeated
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print how long it takes, and how much memory, instead of running it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Exact number of rounds of each experiment, however long they take
    #[arg(long, value_name = "R", value_parser = count(1, 1000), allow_negative_numbers = true)]
    pub(crate) repeat: Option<u32>,
    /// Seconds to fill with rounds of each experiment; some rounds always run [default: the experiment's]
    #[arg(long, value_name = "SECONDS", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) budget: Option<u32>,
    /// Seconds more for further rounds of those runs that undecided claims compare [default: as many again; with quick
    /// sizes or --repeat 0]
    #[arg(long, value_name = "SECONDS", value_parser = count(0, 86_400), allow_negative_numbers = true)]
    pub(crate) decide: Option<u32>,
    /// Seconds after which a run counts as hung
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) timeout: u32,
    /// Seed of the order of runs
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print only errors and warnings
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch build                all runners that need only cargo, the checkers, the probes and the simulator
  filch build split rayon    two runners")]
pub(crate) struct Build {
    /// Pools, queues, peers, `serial`, `check`, `probe`, `simulate` [default: all but the peers that need system
    /// packages]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Arguments that are passed on to another program.
#[derive(Debug, Args)]
pub(crate) struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch compare                            takes a minute on two cores; writes filch-report.html
  filch compare --quick                    smaller programs, for a first look
  filch compare --all                      every program, in small sizes: takes minutes
  filch compare fib queens --peers rayon   two programs, one peer
  filch compare fib:n=40 --repeat 20       another size, a fixed number of rounds
  filch compare --workers 1,2,8 --json runs.jsonl
  filch compare --workers 1,2,8 --json runs.jsonl --resume
  filch compare fib uts --runner ./my-runner
  filch compare fib uts --runner AFTER --baseline BEFORE --fail-above 3%   two builds of one runner
  filch compare fib --baseline yesterday.jsonl --csv ratios.csv
  filch compare closure --pools padws --sweep block=4,16,64 --csv blocks.csv
  filch compare fib --columns median,p10,p90,Ts/TP,T/base
Without --pools: split and chase-lev, on fib also filch-levels and filch-closures; on worklist, job and queue programs
several queues. Without --peers: rayon, chili and lace-ws. If --baseline is a runner: none.")]
pub(crate) struct Compare {
    /// Workloads, optionally with parameters, such as `fib:n=40` or `uts:tree=T3:seed=1` [default: several]
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workloads: Vec<String>,
    /// Every program, on every input, in the sizes of --quick
    #[arg(long, conflicts_with = "workloads")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) schedulers: Schedulers,
    /// Several values of one parameter, such as `n=30,32,34`, for all programs and pools that have it and do not set
    /// it; or of `workers`
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = swept)]
    pub(crate) sweep: Option<(String, Vec<String>)>,
    #[command(flatten)]
    pub(crate) session: Session,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch list experiments                  their names and questions
  filch experiment forks                  the cost of a fork: a table, claims and filch-report.html
  filch experiment forks --size quick     smaller programs, for a first look
  filch experiment cutoff --json cutoff.jsonl
  filch experiment cutoff --json cutoff.jsonl --resume
  filch report cutoff.jsonl -o cutoff.html")]
pub(crate) struct Experiment {
    /// The experiment: see `filch list experiments`; or a file of your own, such as `mine.toml`
    #[arg(value_name = "ID|FILE")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) session: Session,
}

/// Schedulers by name.
#[derive(Debug, Args)]
pub(crate) struct Schedulers {
    /// Pools of filch, optionally with parameters, such as `bwos-l:block=64:capacity=4096` or
    /// `pdq-r-async:interrupts=signal`, or `serial`: see `filch list pools` and `filch list parameters`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) pools: Option<Vec<String>>,
    /// Other schedulers, see `filch list peers`; an empty list means none
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) peers: Option<Vec<String>>,
    /// Your own runner, see docs/runners.md; can be given several times
    #[arg(long = "runner", value_name = "PATH")]
    pub(crate) runners: Vec<PathBuf>,
    /// How filch's workers wait for a stolen task, see `filch list waits` [default: the library's]
    #[arg(long, value_name = "NAME")]
    pub(crate) wait: Option<String>,
}

/// How a program runs.
#[derive(Debug, Args)]
pub(crate) struct Manner {
    /// Use the sizes of `compare --quick`
    #[arg(long, conflicts_with = "size")]
    pub(crate) quick: bool,
    /// Size of programs, apart from parameters that are set [default: small]
    #[arg(long, value_enum)]
    pub(crate) size: Option<Size>,
    /// Bind each worker to a processor
    #[arg(long)]
    pub(crate) pin: bool,
    /// Number of untimed runs before the timed ones
    #[arg(long, value_name = "K", default_value = "1", value_parser = count(0, 1000), allow_negative_numbers = true)]
    pub(crate) warmup: u32,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch trace uts:tree=T3                       what each worker did, in the terminal and in filch-trace.json
  filch trace fib --workers 8 -o fib.json       with more workers than processors, the system decides who runs
  filch trace cilksort --pools pdq-r --pin      another pool, each worker on a processor of its own
Open the file at https://ui.perfetto.dev, which works in the browser alone, or with chrome://tracing.")]
pub(crate) struct Trace {
    /// The workload, optionally with parameters, such as `fib:n=40`
    pub(crate) workload: String,
    /// The pool, optionally with parameters [default: split]
    #[arg(long = "pools", value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// How workers wait for a stolen task, see `filch list waits` [default: the library's]
    #[arg(long, value_name = "NAME")]
    pub(crate) wait: Option<String>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Worker threads [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Option<u16>,
    /// File for the timeline
    #[arg(long, short, value_name = "FILE", default_value = "filch-trace.json")]
    pub(crate) output: PathBuf,
    /// Print only errors and warnings
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A program runs on one thread, some times slower than otherwise. The burdened parallelism is the parallelism if the
second branch of each fork must be stolen. Forecasts simulate the recorded graph, with costs that are measured here.

Examples:
  filch scale cilksort queens -o scale.html               two programs of the laboratory
  filch scale uts:tree=T3 --closures --json scale.jsonl
  filch scale --command 'target/release/mine input.txt'   a program of yours over filch's rayon-core
  filch scale cilksort --against scale.jsonl              what a change did to work and span
  filch scale scale.jsonl --workers 48,1024 --pools split,chase-lev,pdq-s --costs theft=500,wake=30000")]
pub(crate) struct Scale {
    /// Fork-join programs, with parameters as in fib:n=40:cutoff=3; or files of recordings, ending in .json or .jsonl
    #[arg(value_name = "PROGRAM|FILE", required_unless_present = "command")]
    pub(crate) programs: Vec<String>,
    /// A command for a shell, which runs a program built with filch's rayon-core
    #[arg(long)]
    pub(crate) command: Option<String>,
    /// Run small sizes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run programs in closure style, not by handle
    #[arg(long)]
    pub(crate) closures: bool,
    /// Numbers of workers to forecast for
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32, 64], value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Vec<u16>,
    /// Pools whose rules the forecast follows: split, split:leapfrog, wool, chase-lev, pdq-r or pdq-s
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "split")]
    pub(crate) pools: Vec<String>,
    /// What a fork, a theft or waking a worker costs, in nanoseconds, such as theft=900 [default: as measured here]
    #[arg(long, value_name = "NAME=NS", value_delimiter = ',', value_parser = cost)]
    pub(crate) costs: Vec<(String, u32)>,
    /// Recordings of the same programs, to compare work and span with
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// File for a page
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch run fib:n=40                                    the default pool, all processors
  filch run fib queens --pools serial                   two sequential programs
  filch run uts:tree=T3 --workers 2 --wait leapfrog
  filch run queens --peers rayon --repeat 10 --json -   ten JSON lines
  filch run closure --pools idem-lifo                   a worklist program, whose tasks may run twice
  filch run wsq:k=100 --pools wsq --workers 1,2         a job program, and the cost of a job
  perf stat -e cycles:u filch run fib:n=40 --workers 1 --repeat 1 --warmup 0")]
pub(crate) struct Run {
    /// Workloads, optionally with parameters, such as `fib:n=40`: see `filch list workloads`
    #[arg(value_name = "WORKLOAD", required = true)]
    pub(crate) workloads: Vec<String>,
    #[command(flatten)]
    pub(crate) schedulers: Schedulers,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Worker threads; several numbers run one after the other [default: the number of processors]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Option<Vec<u16>>,
    /// Number of timed runs
    #[arg(long, value_name = "R", default_value = "5", value_parser = count(1, 100_000), allow_negative_numbers = true)]
    pub(crate) repeat: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch list             everything
  filch list workloads   programs, their parameters and sizes
  filch list queues      queues, their guarantees and papers
  filch list pools pdq   those with `pdq` in their names
  filch list forms       the figure that each pool and queue follows, and its departures
  filch list peers       other schedulers, and how to get the missing ones")]
pub(crate) struct List {
    /// List only these
    #[arg(value_enum)]
    pub(crate) what: Option<Listed>,
    /// Of these, only those with one of these words in their names
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch peers                                    all, what each needs, and whether it is there
  git clone https://github.com/trolando/lace
  filch peers add lace --source lace             compile its runner, once
  filch compare fib uts --peers lace,rayon       then it is a peer like others
  filch peers add openmp --compiler clang++      with another compiler
  filch peers add openmp --cpu x86-64-v3         for other processors than this one
  filch peers remove lace")]
pub(crate) struct Peers {
    #[command(subcommand)]
    pub(crate) what: Option<PeersVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeersVerb {
    /// Compiles the runner of a scheduler in C or C++, and keeps it
    Add {
        /// The scheduler: see `filch peers`
        name: String,
        /// Its sources: a checkout, or the folder where it is installed
        #[arg(long, value_name = "DIR")]
        source: Option<PathBuf>,
        /// The compiler [default: the first of those known to work that there is]
        #[arg(long, value_name = "CXX")]
        compiler: Option<String>,
        /// The processor to compile for, as in the compiler's -march: for a machine that the runner is carried to
        #[arg(long, value_name = "CPU", default_value = "native")]
        cpu: String,
    },
    /// Removes a runner
    Remove {
        /// The scheduler
        name: String,
    },
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// filch's task pools
    Pools,
    /// Queues by themselves
    Queues,
    /// What each pool and queue follows in its paper, and where it departs from that
    Forms,
    /// Parameters of pools, and of queues that run worklist programs
    Parameters,
    /// Programs
    Workloads,
    /// Other schedulers
    Peers,
    /// Named experiments
    Experiments,
    /// Strategies for waiting for a stolen task
    Waits,
    /// Columns of result tables
    Columns,
    /// Scenarios of `filch check`
    Scenarios,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch report runs.jsonl -o report.html
  filch report monday.jsonl tuesday.jsonl -o week.html
  filch report runs.jsonl --json summary.jsonl       a line per row of the tables, with intervals
  filch report runs.jsonl --columns median,speedup --json - -o report.html
  filch report after.jsonl --baseline before.jsonl --fail-above 5% --csv ratios.csv")]
pub(crate) struct Report {
    /// JSON lines, as written by --json and `reproduce`, also compressed (.jsonl.gz); those of a probe's experiment
    /// keep its name
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// File for the report [default: filch-report.html, or none with --json, --csv or --markdown]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write one JSON object per row of the tables to FILE; `-` means standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) against: Against,
    #[command(flatten)]
    pub(crate) tables: Tables,
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
