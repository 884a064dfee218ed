//! The command line, and a JSON line per run.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use filch::worklist::Worklist;
use filch_catalogue::protocol::{Machine, now, peak_rss_bytes};
use filch_mpi::{Cluster, Mpi, Traffic, Transport as _};
use filch_workloads::Answer;
use serde_json::{Map, Value, json};

use crate::ping::ping;
use crate::programs::{Ground, NAMES, Param, Prepared};
use crate::serve::serve;

/// Programs on all ranks of an MPI job. Start it by mpirun: `mpirun -n 4 filch-mpi uts --set tree=T3L`.
#[derive(Debug, Parser)]
#[command(name = "filch-mpi", version, after_help = programs())]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measures the time of messages between two ranks, and predicts what it costs on many.
    Ping,
    /// Answers a driver: started by `filch-run-mpi`.
    #[command(hide = true)]
    Serve {
        /// The order, in JSON.
        order: String,
    },
    /// Runs a program on all ranks, checks its answer, and prints a JSON line per run.
    #[command(external_subcommand)]
    Program(Vec<String>),
}

/// The arguments of a program.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "filch-mpi PROGRAM")]
struct Program {
    /// Its name.
    program: String,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
struct Options {
    /// A parameter of the program: tree=T3L.
    #[arg(long, value_name = "NAME=VALUE", value_parser = param)]
    set: Vec<Param>,
    /// Computing threads per rank.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    workers: u16,
    /// Runs.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Shows on standard error, once per second, how many tasks each rank has run.
    #[arg(long)]
    progress: bool,
    /// A rank without work keeps looking for messages, and its processor busy.
    #[arg(long)]
    stay_awake: bool,
    /// Goes on when ranks other than 0 die, for programs whose tasks may run twice. A rank counts as dead that was
    /// silent for so many seconds.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5", value_parser = clap::value_parser!(u16).range(1..))]
    keep_going: Option<u16>,
    /// Runs on a `Worklist` of one process instead, to compare. Without mpirun.
    #[arg(long)]
    alone: bool,
}

fn programs() -> String {
    let width = NAMES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = NAMES.iter().map(|(name, text)| format!("  {name:width$}  {text}\n"));
    format!(
        "Programs, with their defaults:\n{}\n`filch-mpi PROGRAM --help` lists a program's options.",
        lines.collect::<String>()
    )
}

pub(crate) fn param(text: &str) -> Result<Param, String> {
    let (name, value) = text.split_once('=').ok_or("no `=`")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(crate) fn main() -> ExitCode {
    match Line::parse().verb {
        Verb::Ping => ping(Mpi::start()),
        Verb::Serve { order } => serve(&order),
        Verb::Program(words) => {
            let Program { program, options } = Program::parse_from(words);
            run_all(&program, &options)
        }
    }
}

/// Prints counts as they come.
fn show(tasks: &[u64]) {
    let total: u64 = tasks.iter().sum();
    eprintln!("filch-mpi: {total} tasks so far: {tasks:?} by rank");
}

/// Prepares on this rank, or says why not and returns `None`. Rank 0 says it for all.
pub(crate) fn prepare(program: &str, set: &[Param], ground: &Ground) -> Option<Prepared> {
    let (rank, ranks) = ground.place();
    match Prepared::new(program, set, rank, ranks) {
        Ok(prepared) => Some(prepared),
        Err(error) => {
            if rank == 0 {
                eprintln!("{error}");
            }
            None
        }
    }
}

fn run_all(program: &str, options: &Options) -> ExitCode {
    const PERIOD: Duration = Duration::from_secs(1);
    let workers = usize::from(options.workers);
    let mut ground = if options.alone {
        Ground::Alone(Worklist::new(workers))
    } else {
        let world = Mpi::start();
        let world = match options.keep_going {
            Some(seconds) => world.survive(Duration::from_secs(seconds.into())),
            None => world,
        };
        let cluster = Cluster::new(world, workers).stay_awake(options.stay_awake);
        let cluster = if options.progress { cluster.progress(PERIOD, show) } else { cluster };
        Ground::Cluster { cluster: Box::new(cluster), keeps_going: options.keep_going.is_some() }
    };
    let Some(mut prepared) = prepare(program, &options.set, &ground) else { return ExitCode::from(2) };
    if options.keep_going.is_some() && !prepared.may_repeat() {
        if ground.place().0 == 0 {
            eprintln!("{program} does not allow --keep-going: after a death tasks run twice, which changes its answer");
        }
        return ExitCode::from(2);
    }
    let mut is_right = true;
    for repeat in 0..options.repeat {
        is_right &= run_one(&mut ground, &mut prepared, program, options, repeat);
    }
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the program once. Rank 0 prints the line; returns whether the answer is right, as far as this rank knows.
fn run_one(ground: &mut Ground, prepared: &mut Prepared, program: &str, options: &Options, repeat: u32) -> bool {
    let Timed { seconds, answer, traffic } = Timed::run(ground, prepared);
    let Some(answer) = answer else { return true };
    let error = prepared.check(&answer).err();
    if let Some(error) = &error {
        eprintln!("{error}");
    }
    let value = |text: &String| text.parse::<u64>().map_or_else(|_| Value::from(text.clone()), Value::from);
    let params: Map<String, Value> = prepared.params.iter().map(|(name, text)| (name.clone(), value(text))).collect();
    let line = json!({
        "workload": program,
        "params": params,
        "scheduler": if options.alone { "worklist" } else { "filch-mpi" },
        "version": env!("CARGO_PKG_VERSION"),
        "workers": traffic.len() * usize::from(options.workers),
        "ranks": traffic.len(),
        "round": 0,
        "repeat": repeat,
        "seconds": seconds,
        "answer": answer.to_string(),
        "correct": error.is_none(),
        "tasks": traffic.iter().map(|rank| rank.tasks).sum::<u64>(),
        "counters": counters(&traffic),
        "counters_by_worker": traffic,
        "peak_rss_bytes": peak_rss_bytes(),
        "at": now(),
        "machine": Machine::here(),
        "commit": option_env!("FILCH_COMMIT").unwrap_or("unknown"),
    });
    println!("{line}");
    error.is_none()
}

/// Returns the traffic of the living ranks, on rank 0.
fn survivors(cluster: &mut Cluster<Mpi>, traffic: Traffic) -> Vec<Traffic> {
    let rank = cluster.world().rank() as u64;
    let own = |worker| if worker == 0 { vec![(rank, traffic)] } else { Vec::new() };
    let merge = |a: Vec<(u64, Traffic)>, b: Vec<_>| {
        let ranks: BTreeMap<_, _> = a.into_iter().chain(b).collect();
        ranks.into_iter().collect()
    };
    let run = cluster.run_idempotent([0_u8; 0], own, |_, _, _| (), merge);
    let ranks = run.ok().and_then(|run| run.state).unwrap_or_default();
    ranks.into_iter().map(|(_, traffic)| traffic).collect()
}

/// Sums the counters of all ranks.
pub(crate) fn counters(traffic: &[Traffic]) -> Map<String, Value> {
    let mut counters = Map::new();
    for rank in traffic.iter().map(|rank| json!(rank)) {
        for (name, number) in rank.as_object().into_iter().flatten() {
            let sum = counters.get(name).and_then(Value::as_u64).unwrap_or(0) + number.as_u64().unwrap_or(0);
            counters.insert(name.clone(), sum.into());
        }
    }
    counters
}

/// A run, timed by rank 0.
pub(crate) struct Timed {
    pub(crate) seconds: f64,
    /// On rank 0, with the traffic of all ranks.
    pub(crate) answer: Option<Answer>,
    pub(crate) traffic: Vec<Traffic>,
}

impl Timed {
    pub(crate) fn run(ground: &mut Ground, prepared: &mut Prepared) -> Self {
        prepared.reset();
        let start = Instant::now();
        let (answer, traffic) = match prepared.run(ground) {
            Ok(outcome) => outcome,
            // The rank with the panic ends the job.
            Err(aborted) => panic!("{aborted}"),
        };
        let seconds = start.elapsed().as_secs_f64();
        let traffic = match ground {
            Ground::Cluster { cluster, keeps_going: false } => cluster.gather(traffic).unwrap_or_default(),
            Ground::Cluster { cluster, keeps_going: true } => survivors(cluster, traffic),
            Ground::Alone(_) => vec![traffic],
        };
        Self { seconds, answer, traffic }
    }
}

impl Ground {
    /// This rank, and the number of ranks.
    pub(crate) fn place(&self) -> (usize, usize) {
        match self {
            Self::Cluster { cluster, .. } => (cluster.world().rank(), cluster.world().size()),
            Self::Alone(_) => (0, 1),
        }
    }
}
