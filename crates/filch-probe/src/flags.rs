//! The flags, each with its name, help and values.

use clap::{Args, Parser, Subcommand};
use filch_catalogue::console::flags::{Output, count, workers};

use crate::stress::flags::Stress;

/// Measures a single pool, or the processor; or stresses queues and schedulers.
#[derive(Debug, Parser)]
#[command(name = "filch", version, about, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The command.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measures what an idle pool costs, how fast it wakes, and what the processor does with stores
    #[command(subcommand)]
    Probe(Probe),
    /// Records programs on one thread, and measures what moving a task costs: lines for `filch scale`
    Scale(Scale),
    /// Stresses queues with an owner and thieves, or runs random programs: is every task taken once?
    Stress(Stress),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Probe {
    /// Processor time that an idle pool uses
    Idle(ProbeIdle),
    /// Time of a call into a sleeping pool: an empty join, from the call to its return
    Wakeup(ProbeWakeup),
    /// Calls of many lengths into an idle pool, with pauses of many lengths, compared with rayon
    Calls(ProbeCalls),
    /// How long workers idle while unstarted tasks exist, in random programs of sleeping leaves, compared with rayon
    Hunger(ProbeHunger),
    /// How many stores the processor's store buffer holds
    StoreBuffer(ProbeStoreBuffer),
    /// Price of fences, atomic updates, barriers by the system, and of a line's way between processors
    Fences(ProbeFences),
    /// How many pops of a fence-free owner the processor hides from a thief
    Litmus(ProbeLitmus),
}

#[derive(Debug, Args)]
pub(crate) struct Scale {
    /// Fork-join programs, with parameters as in fib:n=40:cutoff=3
    #[arg(value_name = "PROGRAM")]
    pub(crate) programs: Vec<String>,
    /// Run small sizes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run programs in closure style, not by handle
    #[arg(long)]
    pub(crate) closures: bool,
    /// What a theft costs, for the burdened span [default: as measured]
    #[arg(long, value_name = "NANOSECONDS", value_parser = count(0, 1_000_000_000), allow_negative_numbers = true)]
    pub(crate) theft: Option<u32>,
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
    /// How long to leave the pool idle
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
A call is a tree of joins with sixteen leaves. It takes half a minute with the default settings.

Examples:
  filch probe calls
  filch probe calls --workers 8 --callers 4 --json -")]
pub(crate) struct ProbeCalls {
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "2", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: u16,
    /// Calling threads outside the pool
    #[arg(long, value_name = "N", default_value = "1", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) callers: u16,
    /// Most calls per caller in each of a contender's three turns
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count(1, 1_000_000), allow_negative_numbers = true)]
    pub(crate) samples: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The leaves sleep, so any machine can run any number of workers.

Examples:
  filch probe hunger
  filch probe hunger --workers 16 --leaves 400 --programs 100
  filch probe hunger --mixed --json -
  filch probe hunger --wait leapfrog")]
pub(crate) struct ProbeHunger {
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "8", value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: u16,
    /// Number of random programs
    #[arg(long, value_name = "N", default_value = "20", value_parser = count(1, 1_000_000), allow_negative_numbers = true)]
    pub(crate) programs: u32,
    /// Leaves per program
    #[arg(long, value_name = "N", default_value = "200", value_parser = count(1, 100_000), allow_negative_numbers = true)]
    pub(crate) leaves: u32,
    /// The longest leaf; lengths are log-uniform between 10 µs and this
    #[arg(long, value_name = "MICROSECONDS", default_value = "30000", value_parser = count(10, 60_000_000), allow_negative_numbers = true)]
    pub(crate) longest: u32,
    /// Also compute very fine trees of forks between the leaves
    #[arg(long)]
    pub(crate) mixed: bool,
    /// How filch's workers wait for a stolen task: see `filch list waits`
    #[arg(long, value_name = "NAME")]
    pub(crate) wait: Option<String>,
    /// Seed of the first program; each further program adds one
    #[arg(long, value_name = "SEED", default_value = "0")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Runs of stores alternate with a long computation. Their time is flat up to the capacity of the
store buffer, and rises beyond it. A capacity counts if half of the rounds have one, a quarter of
all have this one, and three quarters of those that have any have this one or half of it: while a
core runs two threads, each has half of the buffer, and a virtual machine may hide the other one.
The result is kept in the user's cache for `bound=measured` of the fence-free queues.

Examples:
  filch probe store-buffer
  filch probe store-buffer --processors 0 --rounds 100 --json -")]
pub(crate) struct ProbeStoreBuffer {
    /// Processors to measure [default: the first and the last]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(crate) processors: Option<Vec<u16>>,
    /// Rounds, each of which finds a capacity of its own
    #[arg(long, value_name = "N", default_value = "20", value_parser = count(4, 10_000), allow_negative_numbers = true)]
    pub(crate) rounds: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filch probe fences
  filch probe fences --rounds 1000 --json -")]
pub(crate) struct ProbeFences {
    /// Rounds, in each of which every operation is measured once
    #[arg(long, value_name = "N", default_value = "100", value_parser = count(2, 100_000), allow_negative_numbers = true)]
    pub(crate) rounds: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
An owner and a thief empty FF-THE without its pad. The owner makes L stores after each pop, and the
thief keeps δ away. Tasks that are taken twice or lost are errors; they are only numbers. If at most
S stores can be pending, there is none with δ ≥ ⌈S / (L + 1)⌉ and L ≥ 1. Absence proves nothing.

Examples:
  filch probe litmus
  filch probe litmus --bound 33 --runs 10000 --json -")]
pub(crate) struct ProbeLitmus {
    /// S [default: the number of `bound=measured`]
    #[arg(long, value_name = "N", value_parser = count(1, 500), allow_negative_numbers = true)]
    pub(crate) bound: Option<u32>,
    /// Try every L below S, and every δ up to half more than suffices: days with the paper's 10000000 runs of each
    #[arg(long)]
    pub(crate) all: bool,
    /// Runs of each pair of L and δ, in each placement
    #[arg(long, value_name = "N", default_value = "256", value_parser = count(1, 100_000_000), allow_negative_numbers = true)]
    pub(crate) runs: u32,
    #[command(flatten)]
    pub(crate) output: Output,
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
