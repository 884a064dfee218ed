//! The flags: the name, help and values of each.

use clap::{Args, Parser, Subcommand, ValueEnum};
use filch_catalogue::console::flags::{Output, count};

/// Checks filch's queues and protocols.
#[derive(Debug, Parser)]
#[command(name = "filch", version, about, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Explores every execution of small programs on abstract machines: queues and protocols, as they ship
    Check(Check),
    /// Lists what `check` explores
    Scenarios {
        /// Only of those with one of these words in their names
        #[arg(value_name = "NAME")]
        subjects: Vec<String>,
    },
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
    /// Queues and protocols; without any, everything
    #[arg(value_name = "SUBJECT")]
    pub(crate) subjects: Vec<String>,
    /// Check only on this memory [default: both]
    #[arg(long, value_enum)]
    pub(crate) memory: Option<CheckMemory>,
    /// Entries of each thread's store buffer; `inf` is plain TSO [default: 0,1,2,4, or with --all 0 to 4 and inf]
    #[arg(long, value_name = "S", value_delimiter = ',', value_parser = buffer)]
    pub(crate) buffer: Vec<usize>,
    /// How far thieves of the fence-free queues stay away from the owner [default: as S needs, and one less]
    #[arg(long, value_name = "D", value_parser = count(0, 1_000_000), allow_negative_numbers = true)]
    pub(crate) delta: Option<u32>,
    /// Check only the scenario of this name: see `filch list scenarios`
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    /// Include the large scenarios, for up to an hour
    #[arg(long)]
    pub(crate) all: bool,
    /// Replay one execution and print its history; needs one scenario and one machine
    #[arg(long, value_name = "DECISIONS", requires = "scenario", conflicts_with_all = ["weaken", "mutants"])]
    pub(crate) replay: Option<String>,
    /// Weaken each ordering and each fence, one at a time: some scenario must fail, or the site be listed
    #[arg(long, conflicts_with_all = ["mutants", "delta"])]
    pub(crate) weaken: bool,
    /// Make the known mistakes: each must be found, and the same program without it must pass
    #[arg(long, conflicts_with_all = ["delta", "scenario", "buffer", "memory"])]
    pub(crate) mutants: bool,
    /// Executions after which a check stops [default: 3 million, with --all 250 thousand for queues; on C11 also after
    /// two minutes, with --all one for queues]
    #[arg(long, value_name = "N", value_parser = count(1, 4_000_000_000), allow_negative_numbers = true)]
    pub(crate) executions: Option<u32>,
    /// Explorations to run in parallel [default: the number of processors]
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
    /// Rust's memory model, as far as the crate loom implements it
    C11,
}

fn buffer(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(entries @ 0..=1000) => Ok(entries),
        _ if text == "inf" => Ok(usize::MAX),
        _ => Err("a store buffer has 0 to 1000 entries, or `inf`".to_owned()),
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
}
