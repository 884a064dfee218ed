//! Every flag, once: its name, its help, and what values it takes.

use clap::{Args, Parser, Subcommand};
use filch_console::flags::{Output, count, workers};

/// Measures one pool rather than comparing many.
#[derive(Debug, Parser)]
#[command(name = "filch", version, about, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measures what an idle pool costs and how fast it wakes
    #[command(subcommand)]
    Probe(Probe),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Flags::command().debug_assert();
    }
}
