//! Runs programs in child processes, on builds with one rayon-core or another.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use crate::program::Program;
use crate::shrink::shrink;
use crate::watch::Limits;

/// A program that has failed on ours runs this many times as often on the published one.
const MORE: usize = 100;
/// How many processes share the runs of a program in the global pool.
const PROCESSES: usize = 5;

/// This program, built with some rayon-core.
#[derive(Clone)]
pub struct Build {
    pub path: String,
    pub variables: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// All runs have ended well.
    Ends,
    /// What failed.
    Fails(String),
}

impl Build {
    /// Runs each program, `runs` times unless it fails.
    pub fn verdicts(&self, programs: &[Program], runs: usize, limits: Limits) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        while let Some(rest) = programs.get(verdicts.len()..).filter(|rest| !rest.is_empty()) {
            let many = rest.iter().position(|program| program.is_global).unwrap_or(rest.len());
            if many != 0 {
                verdicts.extend(self.first_verdicts(&rest[..many], runs, limits));
                continue;
            }
            // A process has one global pool, and its first run may be like no other.
            let mut in_processes =
                (0..PROCESSES).map(|_| self.first_verdicts(&rest[..1], runs.div_ceil(PROCESSES), limits));
            let failing = in_processes.find(|verdicts| verdicts[0] != Verdict::Ends);
            verdicts.extend(failing.unwrap_or(vec![Verdict::Ends]));
        }
        verdicts
    }

    /// Runs programs in one process, until one fails.
    fn first_verdicts(&self, programs: &[Program], runs: usize, limits: Limits) -> Vec<Verdict> {
        let mut child = Command::new(&self.path)
            .args(["batch", &runs.to_string()])
            .args([limits.quiet, limits.busy].map(|limit| limit.as_millis().to_string()))
            .envs(self.variables.iter().cloned())
            .env("RAYON_NUM_THREADS", programs[0].threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the build starts");
        let text: String = programs.iter().map(|program| format!("{program}\n")).collect();
        // A child that dies early is seen below.
        _ = child.stdin.take().expect("it is piped").write_all(text.as_bytes());
        let mut verdicts = Vec::new();
        for line in BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok) {
            verdicts.push(if line == "ends" { Verdict::Ends } else { Verdict::Fails(line) });
        }
        let status = child.wait().expect("a child can be waited for");
        if verdicts.len() < programs.len() && !verdicts.iter().any(|verdict| *verdict != Verdict::Ends) {
            verdicts.push(Verdict::Fails(format!("died: {status}")));
        }
        verdicts
    }

    fn ends(&self, program: &Program, runs: usize, limits: Limits) -> bool {
        self.verdicts(std::slice::from_ref(program), runs, limits)[0] == Verdict::Ends
    }
}

/// The published rayon-core, built in one way or several.
#[derive(Clone)]
pub struct Published(pub Vec<Build>);

impl Published {
    /// The verdict on each program: it ends if it ends in `runs` runs on each build.
    pub fn verdicts(&self, programs: &[Program], runs: usize) -> Vec<Verdict> {
        let mut verdicts = vec![Verdict::Ends; programs.len()];
        for build in &self.0 {
            let left: Vec<usize> = (0..programs.len()).filter(|&index| verdicts[index] == Verdict::Ends).collect();
            let some: Vec<Program> = left.iter().map(|&index| programs[index].clone()).collect();
            for (index, verdict) in left.into_iter().zip(build.verdicts(&some, runs, Limits::SHORTEST)) {
                verdicts[index] = verdict;
            }
        }
        verdicts
    }

    /// As [`Published::verdicts`], but each program also runs `runs` times after a rest. The threads of a new pool are
    /// awake there, and asleep here: a program that needs them awake ends by luck.
    pub fn verdicts_rested(&self, programs: &[Program], runs: usize) -> Vec<Verdict> {
        let rested: Vec<Program> = programs.iter().map(Program::rested).collect();
        let either = |(fresh, rested)| if fresh == Verdict::Ends { rested } else { fresh };
        self.verdicts(programs, runs).into_iter().zip(self.verdicts(&rested, runs)).map(either).collect()
    }

    fn ends(&self, program: &Program, runs: usize) -> bool {
        self.verdicts(std::slice::from_ref(program), runs)[0] == Verdict::Ends
    }

    fn ends_rested(&self, program: &Program, runs: usize) -> bool {
        self.verdicts_rested(std::slice::from_ref(program), runs)[0] == Verdict::Ends
    }
}

/// The verdict on each program, by `verdicts` for some of them, `jobs` at a time. Stops soon after `most` have failed.
pub fn judge(
    programs: &[Program],
    jobs: usize,
    most: usize,
    verdicts: impl Fn(&[Program]) -> Vec<Verdict> + Sync,
) -> Vec<Option<Verdict>> {
    let judged = Mutex::new((vec![None; programs.len()], 0));
    let lock = || judged.lock().expect("no job panicked");
    in_batches(programs, jobs, |begin, batch| {
        if lock().1 < most {
            let verdicts = verdicts(batch);
            let mut judged = lock();
            judged.1 += verdicts.iter().filter(|verdict| **verdict != Verdict::Ends).count();
            judged.0[begin..begin + verdicts.len()]
                .iter_mut()
                .zip(verdicts)
                .for_each(|(judged, verdict)| *judged = Some(verdict));
        }
    });
    judged.into_inner().expect("no job panicked").0
}

/// Calls `run` with all programs, some at a time and with the index of the first, on as many threads as there are jobs.
fn in_batches(programs: &[Program], jobs: usize, run: impl Fn(usize, &[Program]) + Sync) {
    const BATCH: usize = 16;
    let batches = Mutex::new((0..).step_by(BATCH).zip(programs.chunks(BATCH)));
    let next = || batches.lock().expect("no job panicked").next();
    thread::scope(|s| {
        (0..jobs).for_each(|_| {
            _ = s.spawn(|| {
                while let Some((begin, batch)) = next() {
                    run(begin, batch)
                }
            })
        })
    });
}

pub struct Comparison {
    pub stock: Published,
    pub ours: Build,
    pub runs: usize,
    /// How many programs run at the same time.
    pub jobs: usize,
    /// After so many kinds of failures nothing is shrunk any more.
    pub kinds: usize,
}

/// A failing program, before and after it was shrunk, and what it does.
#[derive(Clone)]
pub struct Failure {
    pub shrunk: Program,
    pub original: Program,
    pub what: String,
}

#[derive(Default)]
pub struct Outcome {
    pub compared: usize,
    /// Programs that do not always end on the published rayon-core.
    pub skipped: usize,
    /// Programs that fail, of kinds that have failed before or not.
    pub failed: usize,
    /// Programs that have failed here first, and in more runs on the published one too.
    pub lucky: Vec<Program>,
    /// One program of each kind.
    pub failures: Vec<Failure>,
}

impl Comparison {
    /// Compares all programs, and calls `found` with the first of each kind of failure.
    pub fn compare(&self, programs: &[Program], found: impl Fn(&Failure) + Sync) -> Outcome {
        let outcome = Mutex::new(Outcome::default());
        in_batches(programs, self.jobs, |_, batch| self.compare_batch(batch, &outcome, &found));
        outcome.into_inner().expect("no job panicked")
    }

    fn compare_batch(&self, batch: &[Program], outcome: &Mutex<Outcome>, found: &(impl Fn(&Failure) + Sync)) {
        let stock = self.stock.verdicts(batch, self.runs);
        let ends = batch.iter().zip(&stock).filter(|(_, verdict)| **verdict == Verdict::Ends);
        let programs: Vec<Program> = ends.map(|(program, _)| program.clone()).collect();
        let ours = self.ours.verdicts(&programs, self.runs, Limits::SHORT);
        {
            let mut outcome = outcome.lock().expect("no job panicked");
            outcome.compared += programs.len();
            outcome.skipped += batch.len() - programs.len();
        }
        for (program, verdict) in programs.iter().zip(ours) {
            let Verdict::Fails(what) = verdict else { continue };
            if !self.stock.ends_rested(program, MORE * self.runs) {
                outcome.lock().expect("no job panicked").lucky.push(program.clone());
                continue;
            }
            let failures = {
                let mut outcome = outcome.lock().expect("no job panicked");
                outcome.failed += 1;
                outcome.failures.len()
            };
            if failures >= self.kinds {
                continue;
            }
            let shrunk = shrink(program.clone(), |smaller| self.fails(smaller, Limits::SHORT));
            let kind = kind(&shrunk);
            if outcome.lock().expect("no job panicked").failures.iter().any(|known| self::kind(&known.shrunk) == kind) {
                continue;
            }
            // What fails now and then needs several tries.
            let what = match (0..5).any(|_| self.fails(&shrunk, Limits::LONG)) {
                true => what,
                false => format!("{what}, but not in {} s", Limits::LONG.quiet.as_secs()),
            };
            let failure = Failure { shrunk, original: program.clone(), what };
            let mut outcome = outcome.lock().expect("no job panicked");
            found(&failure);
            outcome.failures.push(failure);
        }
    }

    /// The published rayon-core always runs the program well, and ours does not.
    fn fails(&self, program: &Program, limits: Limits) -> bool {
        // More runs there, lest a program shrinks to one that ends by luck.
        !self.ours.ends(program, self.runs, limits) && self.stock.ends(program, 5 * self.runs)
    }
}

/// The program without its numbers.
fn kind(program: &Program) -> String {
    let text = program.to_string().replace("global", "");
    text.chars().filter(|letter| !letter.is_ascii_digit() && !letter.is_whitespace() && *letter != '*').collect()
}
