//! Random programs whose tasks block on one another must end on the drop-in if they end on the published rayon-core.
//!
//! ```text
//! liveness show SEED THREADS               prints a random program
//! liveness run PROGRAM [RUNS]              runs it, in the notation of `program.rs`
//! liveness batch RUNS QUIET BUSY           runs the programs on standard input; after so many ms a run hangs
//! liveness compare OPTIONS                 runs random programs on two builds, and shrinks those that fail on ours
//! liveness verdicts OPTIONS                prints the seeds of the programs that always end on the published one, also after
//!                                          a rest
//! liveness check SEEDS PROGRAMS [RUNS]     runs what these two files list, on this build, and lists what fails
//! ```
//!
//! The options, with their defaults: `--stock PATH[,PATH] --ours PATH --programs 1000 --first-seed 0 --threads 2,3,4,8
//! --runs 20 --jobs 3 --kinds 20 --env NAME=VALUE[,…] --file PATH`. The first lists builds with the published
//! rayon-core: what fails on one of them is no difference. The variables are for the build `--ours`; once failures of
//! so many kinds have been found, others are only counted; a file lists programs to take in place of random ones.

mod compare;
mod execute;
mod generate;
mod program;
mod shrink;
mod watch;

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use compare::{Build, Comparison, Published, Verdict, judge};
use generate::generate;
use program::Program;
use watch::{Limits, Watch};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("liveness: {message}");
            ExitCode::from(2)
        }
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// Returns whether all is well.
fn run(arguments: &[&str]) -> Result<bool, String> {
    match *arguments {
        ["show", seed, threads] => {
            println!("{}", generate(number(seed)?, number(threads)?));
            Ok(true)
        }
        ["run", program] => run_one(program.parse()?, 20),
        ["run", program, runs] => run_one(program.parse()?, number(runs)?),
        ["batch", runs, quiet, busy] => {
            let limit = |text| Ok::<_, String>(Duration::from_millis(number(text)?));
            batch(number(runs)?, Limits { quiet: limit(quiet)?, busy: limit(busy)? })
        }
        ["compare", ref options @ ..] => compare(&Options::parse(options)?),
        ["verdicts", ref options @ ..] => verdicts(&Options::parse(options)?),
        ["check", seeds, programs] => check(seeds, programs, 20),
        ["check", seeds, programs, runs] => check(seeds, programs, number(runs)?),
        _ => Err("the head of liveness/src/main.rs says how to call it".into()),
    }
}

/// Programs live as long as the process, so that jobs may borrow them.
fn kept(program: Program) -> &'static Program {
    Box::leak(Box::new(program))
}

fn run_one(program: Program, runs: usize) -> Result<bool, String> {
    let watch = Watch::start(Limits::LONG);
    let program = kept(program);
    for run in 1..=runs {
        watch.begin(format!("in run {run}"));
        let start = Instant::now();
        execute::execute(program)?;
        println!("run {run} took {:?}", start.elapsed());
    }
    Ok(true)
}

/// Prints a line for each program, and stops at the first that fails.
fn batch(runs: usize, limits: Limits) -> Result<bool, String> {
    let programs = std::io::read_to_string(std::io::stdin()).map_err(|error| error.to_string())?;
    let watch = Watch::start(limits);
    for line in programs.lines() {
        let program = kept(line.parse()?);
        for run in 1..=runs {
            watch.begin(format!("in run {run}"));
            if let Err(message) = execute::execute(program) {
                println!("wrong in run {run}: {message}");
                return Ok(false);
            }
        }
        println!("ends");
    }
    Ok(true)
}

struct Options {
    stock: String,
    ours: String,
    programs: u64,
    first_seed: u64,
    threads: Vec<usize>,
    runs: usize,
    jobs: usize,
    kinds: usize,
    file: Option<String>,
    variables: Vec<(String, String)>,
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let mut options = Options {
            stock: String::new(),
            ours: String::new(),
            programs: 1000,
            first_seed: 0,
            threads: vec![2, 3, 4, 8],
            runs: 20,
            jobs: 3,
            kinds: 20,
            file: None,
            variables: Vec::new(),
        };
        for pair in arguments.chunks(2) {
            match *pair {
                ["--stock", path] => options.stock = path.into(),
                ["--ours", path] => options.ours = path.into(),
                ["--programs", text] => options.programs = number(text)?,
                ["--first-seed", text] => options.first_seed = number(text)?,
                ["--threads", list] => options.threads = list.split(',').map(number).collect::<Result<_, _>>()?,
                ["--runs", text] => options.runs = number(text)?,
                ["--jobs", text] => options.jobs = number(text)?,
                ["--kinds", text] => options.kinds = number(text)?,
                ["--file", path] => options.file = Some(path.into()),
                ["--env", list] => {
                    for pair in list.split(',') {
                        let (name, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` has no `=`"))?;
                        options.variables.push((name.into(), value.into()));
                    }
                }
                _ => return Err(format!("bad option {pair:?}")),
            }
        }
        Ok(options)
    }

    fn stock(&self) -> Published {
        Published(self.stock.split(',').map(|path| Build { path: path.into(), variables: Vec::new() }).collect())
    }

    /// Pairs of seeds and threads, by turns.
    fn cases(&self) -> impl Iterator<Item = (u64, usize)> {
        let seeds = self.first_seed..self.first_seed + self.programs;
        seeds.zip(self.threads.iter().copied().cycle())
    }
}

fn compare(options: &Options) -> Result<bool, String> {
    let comparison = Comparison {
        stock: options.stock(),
        ours: Build { path: options.ours.clone(), variables: options.variables.clone() },
        runs: options.runs,
        jobs: options.jobs,
        kinds: options.kinds,
    };
    let programs: Vec<Program> = match &options.file {
        Some(path) => listed(path)?,
        None => options.cases().map(|(seed, threads)| generate(seed, threads)).collect(),
    };
    let start = Instant::now();
    let outcome = comparison.compare(&programs, |failure| {
        println!("{}\n    {}; of: {}", failure.shrunk, failure.what, failure.original);
    });
    outcome.lucky.iter().for_each(|program| println!("on the published one too: {program}"));
    println!(
        "liveness: {} programs compared in {:.0} s, {} skipped, {} failed, in {} ways, and {} on the published one too",
        outcome.compared,
        start.elapsed().as_secs_f64(),
        outcome.skipped,
        outcome.failed,
        outcome.failures.len(),
        outcome.lucky.len()
    );
    Ok(outcome.failed == 0)
}

/// The sum over the texts of all programs, so that seeds are not taken for those of another generator.
fn fingerprint(programs: &[Program]) -> u64 {
    let text: String = programs.iter().map(Program::to_string).collect();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn verdicts(options: &Options) -> Result<bool, String> {
    let cases: Vec<(u64, usize)> = options.cases().collect();
    let programs: Vec<Program> = cases.iter().map(|(seed, threads)| generate(*seed, *threads)).collect();
    let stock = options.stock();
    let verdicts = judge(&programs, options.jobs, usize::MAX, |some| stock.verdicts_rested(some, options.runs));
    println!("# Programs that end on the published rayon-core, by `liveness verdicts`: threads, and seeds.");
    let mut ending = Vec::new();
    let mut lines = String::new();
    for threads in &options.threads {
        let is_meant = |index: &usize| cases[*index].1 == *threads && verdicts[*index] == Some(Verdict::Ends);
        let indices: Vec<usize> = (0..cases.len()).filter(is_meant).collect();
        for some in indices.chunks(20) {
            lines += &threads.to_string();
            some.iter().for_each(|index| lines += &format!(" {}", cases[*index].0));
            lines += "\n";
            ending.extend(some.iter().map(|index| programs[*index].clone()));
        }
    }
    print!("fingerprint {}\n{lines}", fingerprint(&ending));
    Ok(true)
}

/// The lines of a file that are not empty or comments.
fn lines(path: &str) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let is_meant = |line: &&str| !line.is_empty() && !line.starts_with('#');
    Ok(text.lines().map(str::trim).filter(is_meant).map(String::from).collect())
}

/// The programs that a file lists.
fn listed(path: &str) -> Result<Vec<Program>, String> {
    lines(path)?.iter().map(|line| line.parse().map_err(|error| format!("{line}: {error}"))).collect()
}

fn check(seeds: &str, programs: &str, runs: usize) -> Result<bool, String> {
    let cases = lines(seeds)?;
    let (first, cases) = cases.split_first().ok_or("there are no seeds")?;
    let mut generated = Vec::new();
    for case in cases {
        let (threads, seeds) = case.split_once(' ').ok_or_else(|| format!("bad line `{case}`"))?;
        for seed in seeds.split(' ') {
            generated.push(generate(number(seed)?, number(threads)?));
        }
    }
    let fingerprint = format!("fingerprint {}", fingerprint(&generated));
    if *first != fingerprint {
        return Err(format!(
            "{seeds} is of another generator, which has `{fingerprint}`: make it anew by `liveness verdicts`"
        ));
    }
    let mut all = listed(programs)?;
    all.extend(generated);
    let path = std::env::current_exe().map_err(|error| error.to_string())?;
    let build = Build { path: path.display().to_string(), variables: Vec::new() };
    let mut failed = 0;
    for (program, verdict) in all.iter().zip(judge(&all, 2, 5, |some| build.verdicts(some, runs, Limits::LONG))) {
        if let Some(Verdict::Fails(what)) = verdict {
            println!("# {what}\n{program}");
            failed += 1;
        }
    }
    println!("# liveness: {failed} of {} programs failed", all.len());
    Ok(failed == 0)
}
