//! Makes mistakes in the sources of queues and protocols, one at a time, and counts which of them the tests find.
//!
//! See `tests/mutation/run --help`.

mod instrument;
mod operators;
mod report;
mod run;
mod targets;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is wanted.
pub struct Wish {
    pub root: PathBuf,
    /// Parts of the names of files, or of mutants.
    pub only: Vec<String>,
    pub jobs: usize,
    /// Of those made by operators, one of so many.
    pub every: usize,
    /// Those that survived last time.
    pub survivors: bool,
    /// Those of them that nobody has argued to be equivalent.
    pub open: bool,
    /// Those that have a result, too.
    pub again: bool,
    /// Only the mutants made by hand.
    pub by_hand: bool,
    /// The tests to run; all if there are none.
    pub tests: Vec<String>,
    pub list: bool,
    pub report: bool,
}

impl Wish {
    /// Whether a program of tests is among those to run; the unit tests have no name.
    pub fn runs(&self, program: &str) -> bool {
        let name = if program.is_empty() { "unit" } else { program };
        self.tests.is_empty() || self.tests.iter().any(|test| test == name)
    }
}

const HELP: &str = "\
Makes mistakes in the queues of filch-queue and the protocols of filch, one at a time, and runs the tests that should find them.

  tests/mutation/run [NAME…]     the mutants whose name or file holds one of these, or all; results are kept, so that a run that was
                                 broken off goes on where it was
  --again                        those, too, that have a result
  --survivors                    those that survived last time, again
  --open                         those of them that nobody has argued to be equivalent
  --by-hand                      those of `by-hand.txt` only
  --every N                      of those that operators make, one of N, always the same
  --jobs N                       so many at a time; 2 if it is not said
  --tests A,B                    with these tests only (unit, queues, protocols, pools, panics, host, waiting, leaping, limits, jobs,
                                 spreading, progress, quick), for instance all but quick, which takes longest; what survives goes on with
                                 --survivors
  --list                         says which there are, and runs nothing
  --report                       writes docs/mutation.md from the results, and runs nothing
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
            "--report" => wish.report = true,
            option @ ("--jobs" | "--every") => match arguments.next().and_then(|number| number.parse().ok()) {
                Some(number @ 1..) => *(if option == "--jobs" { &mut wish.jobs } else { &mut wish.every }) = number,
                _ => return usage(&format!("{option} needs a number")),
            },
            "--help" | "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            option if option.starts_with('-') => return usage(&format!("there is no {option}")),
            name => wish.only.push(name.to_owned()),
        }
    }
    if run::run(&wish) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(wrong: &str) -> ExitCode {
    eprintln!("{wrong}\n\n{HELP}");
    ExitCode::from(2)
}
