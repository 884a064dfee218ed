//! Every flag, once: its name, its help, and what values it takes. Parsing yields plain values; the verbs make
//! schedulers and workloads of them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use filch_schedulers::Style;

use crate::export::json::Lines;

/// More workers than this are a typing error, or wait for a larger machine.
const MOST_WORKERS: i64 = 1024;

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
    /// Runs one program on one scheduler
    Run(Run),
    /// Lists pools and queues, their parameters, workloads, peers, waiting strategies and scenarios
    List(List),
    /// Makes the HTML report from JSON lines
    Report(Report),
    /// Explores every execution of small programs on abstract machines: queues and protocols, as they ship
    Check(Check),
    /// Hammers queues with an owner and thieves, or runs random programs: is every task taken once?
    Stress(Stress),
    /// Measures what an idle pool costs and how fast it wakes
    #[command(subcommand)]
    Probe(Probe),
}

/// Where JSON goes, and whether to talk.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Write one JSON object per measured run, or one for a probe, to FILE; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Say only what is wrong
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Output {
    /// Whether text for people goes to standard output, where `lines` may go too.
    pub(crate) fn talks(&self, lines: Option<&Lines>) -> bool {
        !self.quiet && !lines.is_some_and(Lines::is_stdout)
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch compare                            a minute on two cores; writes filch-report.html
  filch compare --quick                    smaller programs, for a first look
  filch compare --all                      every program there is, in small sizes: some minutes
  filch compare fib queens --peers rayon   two programs, one peer
  filch compare fib:n=40 --repeat 20       another size, a fixed number of rounds
  filch compare --workers 1,2,8 --json runs.jsonl")]
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
    /// Numbers of workers [default: 1 and the number of processors]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Option<Vec<u16>>,
    /// How filch's workers wait for a stolen task [default: the library's]
    #[arg(long, value_name = "NAME")]
    pub(crate) wait: Option<String>,
    /// Small sizes and a short budget
    #[arg(long)]
    pub(crate) quick: bool,
    /// Exactly so many rounds over everything, whatever time they take
    #[arg(long, value_name = "R", value_parser = count(1, 1000), allow_negative_numbers = true)]
    pub(crate) repeat: Option<u32>,
    /// Seconds to fill with rounds; three are always made, with --all one [default: 60, with --quick 15, with --all 180]
    #[arg(long, value_name = "SECONDS", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) budget: Option<u32>,
    /// Seconds after which a run counts as hung
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) timeout: u32,
    /// The seed of the order of runs
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Where to write the HTML report
    #[arg(long, value_name = "FILE", default_value = "filch-report.html", conflicts_with = "no_report")]
    pub(crate) report: PathBuf,
    /// Write no HTML report
    #[arg(long)]
    pub(crate) no_report: bool,
    #[command(flatten)]
    pub(crate) output: Output,
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
    #[arg(long)]
    pub(crate) quick: bool,
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
    #[arg(long, value_enum)]
    pub(crate) style: Option<Style>,
    /// Bind each worker to a processor
    #[arg(long)]
    pub(crate) pin: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Set by `compare` in the processes it starts: end when it ends, warm up on the quick size.
    #[arg(long, hide = true)]
    pub(crate) child: bool,
    /// Wait for a line on standard input before each timed run.
    #[arg(long, hide = true)]
    pub(crate) gate: bool,
    #[arg(long, hide = true, default_value_t = 1)]
    pub(crate) copies: usize,
    #[arg(long, hide = true, default_value_t = 0)]
    pub(crate) round: usize,
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
    /// What a worker does while its task is stolen
    Waits,
    /// What `filch check` explores
    Scenarios,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch report runs.jsonl -o report.html
  filch report monday.jsonl tuesday.jsonl -o week.html")]
pub(crate) struct Report {
    /// JSON lines, as `compare --json` and `run --json` write them
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where to write the report
    #[arg(short, long, value_name = "FILE", default_value = "filch-report.html")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A scenario of a queue is named by what its threads do: `++|-- s ss c2` is an owner of a queue of capacity 2
that holds two tasks and pops twice, a thief that tries to steal once and one that tries twice.
On `tso+merge`, one more store can wait behind the buffer, and stores to one location merge there.

Examples:
  filch check                                    the quick scenarios of everything
  filch check chase-lev lace --all               all of two queues
  filch check ff-cl --buffer 4 --delta 1         with a δ that is too small: a history shows why
  filch check ff-cl --scenario '++++|---- ss c8' --buffer 1 --delta 0 --replay '0 1*4 b0*2 0*2'
  filch check chase-lev --weaken                 which orderings and fences does anything need?
  filch check --mutants                          the known mistakes, and what finds them")]
pub(crate) struct Check {
    /// Queues and protocols [default: all]
    #[arg(value_name = "SUBJECT")]
    pub(crate) subjects: Vec<String>,
    /// Only on this memory [default: both]
    #[arg(long, value_enum)]
    pub(crate) memory: Option<CheckMemory>,
    /// Entries of each thread's store buffer; `inf` is plain TSO [default: 0,1,2,4, or with --all 0 to 4 and inf]
    #[arg(long, value_name = "S", value_delimiter = ',', value_parser = buffer)]
    pub(crate) buffer: Vec<usize>,
    /// How far thieves of the fence-free queues keep away from the owner [default: as S needs, and one less]
    #[arg(long, value_name = "D", value_parser = count(0, 1_000_000), allow_negative_numbers = true)]
    pub(crate) delta: Option<u32>,
    /// Only the scenario of this name: see `filch list scenarios`
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    /// The large scenarios too, as far as an hour goes
    #[arg(long)]
    pub(crate) all: bool,
    /// Repeats one execution and prints its history; needs one scenario and one machine
    #[arg(long, value_name = "DECISIONS", requires = "scenario", conflicts_with_all = ["weaken", "mutants"])]
    pub(crate) replay: Option<String>,
    /// Makes each ordering and each fence weaker, one at a time: some scenario must fail, or the site be listed
    #[arg(long, conflicts_with_all = ["mutants", "delta"])]
    pub(crate) weaken: bool,
    /// Runs the known-bad twins: each must fail, and its healthy form pass
    #[arg(long, conflicts_with_all = ["delta", "scenario", "buffer", "memory"])]
    pub(crate) mutants: bool,
    /// Executions after which a check stops [default: 3 million, with --all 250 thousand for queues; on C11 also after two
    /// minutes, with --all one for queues]
    #[arg(long, value_name = "N", value_parser = count(1, 4_000_000_000), allow_negative_numbers = true)]
    pub(crate) executions: Option<u32>,
    /// Explorations at a time [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = count(1, 1024), allow_negative_numbers = true)]
    pub(crate) jobs: Option<u32>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A memory to check on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckMemory {
    /// Store buffers of bounded size
    Tso,
    /// Rust's memory model, as far as the crate loom goes
    C11,
}

fn buffer(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(entries @ 0..=1000) => Ok(entries),
        _ if text == "inf" => Ok(usize::MAX),
        _ => Err("a store buffer has 0 to 1000 entries, or `inf`".to_owned()),
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Each queue in turn gets rounds in which an owner pushes and pops in random bursts while thieves
steal. After a round, every task must have been taken once, or at least once where that is what the
queue promises. A seed repeats the capacity and what the owner does, not how the threads interleave.

Examples:
  filch stress                                    every queue, 10 seconds in all
  filch stress chase-lev lace --seconds 60        two queues
  filch stress chase-lev --seed 1234 --threads 8  again from the seed of a failure
  filch stress programs --seconds 60              random programs on whole schedulers")]
pub(crate) struct Stress {
    #[command(subcommand)]
    pub(crate) what: Option<Stressed>,
    #[command(flatten)]
    pub(crate) queues: StressQueues,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Stressed {
    /// Runs random nested programs; exit status 1 with the seed on a wrong answer
    Programs(StressPrograms),
}

#[derive(Debug, Args)]
pub(crate) struct StressQueues {
    /// Queues: see `filch list queues` [default: all]
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,
    /// How long in all
    #[arg(long, value_name = "N", default_value = "10", value_parser = count(1, 864_000), allow_negative_numbers = true)]
    pub(crate) seconds: u32,
    /// The owner and its thieves
    #[arg(long, value_name = "T", default_value = "4", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) threads: u16,
    /// The seed of the first round; the next one has the next seed [default: from the clock]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// Say only what is wrong
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch stress programs --seconds 60
  filch stress programs --panics --workers 2,8
  filch stress programs --seed 1234 --seconds 1     again from the seed of a failure")]
pub(crate) struct StressPrograms {
    /// How long
    #[arg(long, value_name = "N", default_value = "10", value_parser = count(1, 864_000), allow_negative_numbers = true)]
    pub(crate) seconds: u32,
    /// The seed of the first program; the next one has the next seed [default: from the clock]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// Numbers of workers
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,8", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Vec<u16>,
    /// Throw panics at random points
    #[arg(long)]
    pub(crate) panics: bool,
    /// Say only what is wrong
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Probe {
    /// Processor time of a pool that has nothing to do
    Idle(ProbeIdle),
    /// From a call handed in to a sleeping pool to its return: an empty two-sided join
    Wakeup(ProbeWakeup),
    /// Calls into an idle pool, of all lengths and with pauses of all lengths between them, beside rayon
    Calls(ProbeCalls),
    /// How long workers idle beside tasks that nobody has begun, in random programs of leaves that sleep, beside rayon
    Hunger(ProbeHunger),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch probe idle
  filch probe idle --workers 64 --seconds 20 --json -")]
pub(crate) struct ProbeIdle {
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "8", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: u16,
    /// How long to leave the pool alone
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) seconds: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch probe wakeup
  filch probe wakeup --workers 2 --samples 2000 --json -")]
pub(crate) struct ProbeWakeup {
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "8", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: u16,
    /// Calls to measure
    #[arg(long, value_name = "N", default_value = "300", value_parser = count(1, 1_000_000), allow_negative_numbers = true)]
    pub(crate) samples: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A call is a tree of joins with sixteen leaves. Half a minute with the default settings.

Examples:
  filch probe calls
  filch probe calls --workers 8 --callers 4 --json -")]
pub(crate) struct ProbeCalls {
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "2", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: u16,
    /// Threads outside that call
    #[arg(long, value_name = "N", default_value = "1", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) callers: u16,
    /// At most so many calls of a kind and caller in a turn, of which each contender has three
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count(1, 1_000_000), allow_negative_numbers = true)]
    pub(crate) samples: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The leaves sleep, so any number of workers can be tried on any machine.

Examples:
  filch probe hunger
  filch probe hunger --workers 16 --leaves 400 --programs 100
  filch probe hunger --mixed --json -
  filch probe hunger --wait leapfrog")]
pub(crate) struct ProbeHunger {
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "8", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: u16,
    /// Random programs
    #[arg(long, value_name = "N", default_value = "20", value_parser = count(1, 1_000_000), allow_negative_numbers = true)]
    pub(crate) programs: u32,
    /// Leaves of each
    #[arg(long, value_name = "N", default_value = "200", value_parser = count(1, 100_000), allow_negative_numbers = true)]
    pub(crate) leaves: u32,
    /// The longest leaf; lengths are log-uniform between 10 µs and this
    #[arg(long, value_name = "MICROSECONDS", default_value = "30000", value_parser = count(10, 60_000_000), allow_negative_numbers = true)]
    pub(crate) longest: u32,
    /// Between the leaves, compute as fine a tree of forks as there is
    #[arg(long)]
    pub(crate) mixed: bool,
    /// How filch's workers wait for a stolen task: see `filch list waits`
    #[arg(long, value_name = "NAME")]
    pub(crate) wait: Option<String>,
    /// The seed of the first program; the next one has the next seed
    #[arg(long, value_name = "SEED", default_value = "0")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) output: Output,
}

fn workers() -> clap::builder::RangedI64ValueParser<u16> {
    clap::builder::RangedI64ValueParser::new().range(1..=MOST_WORKERS)
}

fn count(least: i64, most: i64) -> clap::builder::RangedI64ValueParser<u32> {
    clap::builder::RangedI64ValueParser::new().range(least..=most)
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
