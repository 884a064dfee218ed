//! The flags of `filch stress`.

use clap::{Args, Subcommand};
use filch_catalogue::console::flags::{count, workers};

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
    /// Total running time
    #[arg(long, value_name = "N", default_value = "10", value_parser = count(1, 864_000), allow_negative_numbers = true)]
    pub(crate) seconds: u32,
    /// The number of threads: the owner and its thieves
    #[arg(long, value_name = "T", default_value = "4", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) threads: u16,
    /// The seed of the first round; the next one has the next seed [default: from the clock]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// Report only failures
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
    /// Running time
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
    /// Report only failures
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
