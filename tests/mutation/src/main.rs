//! Makes mistakes in the sources of queues and protocols, one at a time, and counts those that the tests find.
//!
//! See `tests/mutation/run --help`.

mod instrument;
mod operators;
mod report;
mod run;
mod targets;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the command line asks for.
pub struct Wish {
    pub root: PathBuf,
    /// Parts of names of files or mutants.
    pub only: Vec<String>,
    pub jobs: usize,
    /// Takes one in this many of the mutants made by operators.
    pub every: usize,
    /// Only the mutants that survived last time.
    pub survivors: bool,
    /// Only the survivors that are not argued to be equivalent.
    pub open: bool,
    /// Also the mutants that have a result.
    pub again: bool,
    /// Only the mutants made by hand.
    pub by_hand: bool,
    /// The tests to run; all if empty.
    pub tests: Vec<String>,
    pub list: bool,
    pub check: bool,
    pub report: bool,
}

impl Wish {
    /// Whether a test program is among those to run; the unit tests have no name.
    pub fn runs(&self, program: &str) -> bool {
        let name = if program.is_empty() { "unit" } else { program };
        self.tests.is_empty() || self.tests.iter().any(|test| test == name)
    }
}

const HELP: &str = "\
Makes mistakes in the queues of filch-queue and the protocols of filch, one at a time, and runs the tests that should find them.

  tests/mutation/run [NAME…]     runs the mutants whose name or file contains one of these, or all; keeps the results, so an
                                 interrupted run can continue
  --again                        also the mutants that have a result
  --survivors                    the mutants that survived last time, again
  --open                         only those survivors that are not argued to be equivalent
  --by-hand                      only those of `by-hand.txt`
  --every N                      of the mutants made by operators one in N, always the same ones
  --jobs N                       N at a time; default 2
  --tests A,B                    only these tests (unit, queues, protocols, figure_4, pools, panics, host, waiting, leaping, limits, jobs,
                                 spreading, progress, quick), for instance all but quick, which takes longest; survivors are then
                                 for a run with --survivors
  --list                         lists the mutants, and runs nothing
  --check                        says whether `by-hand.txt` and `equivalent.txt` fit the sources, and runs nothing
  --report                       writes results/mutation.md from the results, and runs nothing
";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let mut wish = Wish {
        root,
        only: Vec::new(),
        jobs: 2,
        every: 1,
        survivors: false,
        open: false,
        again: false,
        by_hand: false,
        tests: Vec::new(),
        list: false,
        check: false,
        report: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--again" => wish.again = true,
            "--survivors" => wish.survivors = true,
            "--open" => wish.open = true,
            "--by-hand" => wish.by_hand = true,
            "--tests" => match arguments.next() {
                Some(names) => wish.tests = names.split(',').map(str::to_owned).collect(),
                None => return usage("--tests needs names"),
            },
            "--list" => wish.list = true,
            "--check" => wish.check = true,
            "--report" => wish.report = true,
            option @ ("--jobs" | "--every") => match arguments.next().and_then(|number| number.parse().ok()) {
                Some(number @ 1..) => *(if option == "--jobs" { &mut wish.jobs } else { &mut wish.every }) = number,
                _ => return usage(&format!("{option} needs a number")),
            },
            "--help" | "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            option if option.starts_with('-') => return usage(&format!("unknown option {option}")),
            name => wish.only.push(name.to_owned()),
        }
    }
    if run::run(&wish) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(wrong: &str) -> ExitCode {
    eprintln!("{wrong}\n\n{HELP}");
    ExitCode::from(2)
}
