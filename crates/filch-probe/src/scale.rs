//! `filch-probe scale`: records fork–join programs for `filch scale`, and measures what moving a task costs here.
//!
//! It writes lines of JSON: first the costs, then a recording for each program, as `filch::scale::Scale` writes it.

use std::cell::RefCell;
use std::hint::{black_box, spin_loop};
use std::io::Write;
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use filch::pool::Split;
use filch::scale::{Recording, Scale};
use filch::{ThreadPool, Worker};
use filch_catalogue::protocol::Machine;
use filch_catalogue::{Kind, Workload};
use filch_memory::{Memory, Native, Ordering};
use filch_workloads::{Executor, FilchClosures, Instance, Prepare, Program};
use serde::Serialize;

use crate::commit;
use crate::error::{Error, Result, usage};
use crate::flags::Scale as Flags;

/// What a fork, a theft and a wake-up cost here, in nanoseconds.
#[derive(Serialize)]
struct Costs {
    /// A fork and its join on the default pool, if nobody steals.
    fork: f64,
    /// From a fork to the beginning of its second branch on a worker that looks for a task; `None` if it cannot be
    /// measured here.
    theft: Option<u64>,
    /// What it takes longer if that worker sleeps.
    wake: Option<u64>,
    machine: Machine,
    commit: String,
}

/// Records the program that it executes.
struct Recorder {
    recording: Recording,
    by_closures: bool,
    scale: RefCell<Option<Scale>>,
}

impl Executor for Recorder {
    fn execute<P: Program>(&self, program: &mut P) -> P::Output {
        let measured = if self.by_closures {
            self.recording.measure(|| FilchClosures.execute(program))
        } else {
            self.recording.measure_with(|w| program.run(w))
        };
        self.scale.replace(Some(measured.scale));
        measured.result
    }
}

pub(crate) fn scale(flags: &Flags) -> Result {
    let programs = flags.programs.iter().map(|text| parse(text, flags)).collect::<Result<Vec<_>>>()?;
    let costs = costs(flags.closures);
    let mut out = std::io::stdout().lock();
    let line = serde_json::to_string(&costs).expect("numbers and texts");
    writeln!(out, "{line}").map_err(Error::Output)?;
    let recording = match flags.theft.map(u64::from).or(costs.theft) {
        Some(theft) => Recording::new().theft(theft),
        None => Recording::new(),
    };
    for (name, mut program) in programs {
        record(&name, &mut program, &recording, flags.closures)?.write_json(&mut out, &name).map_err(Error::Output)?;
    }
    Ok(())
}

/// Returns the program that the text names, with its name.
fn parse(text: &str, flags: &Flags) -> Result<(String, Instance)> {
    let workload = Workload::parse(text, |spec| if flags.quick { spec.quick } else { spec.compare }).map_err(usage)?;
    if workload.kind() != Kind::ForkJoin {
        return Err(usage(format!("{} does not fork and join: its tasks have no span", workload.name())));
    }
    let program = workload.fitting().and_then(|workload| workload.prepare()).map_err(usage)?;
    Ok((text.to_owned(), program))
}

/// Runs the program and checks its answer, up to five times in a second, and returns the recording with the least span:
/// what the system does meanwhile only makes strands longer.
fn record(name: &str, program: &mut Instance, recording: &Recording, by_closures: bool) -> Result<Scale> {
    const RUNS: usize = 5;
    const ENOUGH: Duration = Duration::from_secs(1);
    let recorder = Recorder { recording: recording.clone(), by_closures, scale: RefCell::default() };
    let start = Instant::now();
    let mut best: Option<Scale> = None;
    for _ in 0..RUNS {
        program.reset();
        let answer = recorder.execute(program);
        program.check(&answer).map_err(|why| Error::FailedBecause(format!("{name}: {why}")))?;
        let scale = recorder.scale.take().expect("it has been recorded");
        best = Some(best.filter(|best| best.span <= scale.span).unwrap_or(scale));
        if start.elapsed() > ENOUGH {
            break;
        }
    }
    Ok(best.expect("at least one"))
}

fn costs(by_closures: bool) -> Costs {
    const N: u64 = 22;
    const FORKS: f64 = 28_656.0;
    let best = |run: &mut dyn FnMut() -> u64| {
        let time = |_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed().as_nanos() as f64
        };
        (0..9).map(time).fold(f64::INFINITY, f64::min)
    };
    let pool = |workers| ThreadPool::<Split>::builder().workers(workers).build().ok();
    let forking = pool(1).map(|pool| {
        best(&mut || pool.run(|w| if by_closures { by_closure(black_box(N)) } else { by_handle(w, black_box(N)) }))
    });
    let serial = best(&mut || alone(black_box(N)));
    let fork = forking.map_or(0.0, |forking| (forking - serial).max(0.0) / FORKS);
    let two = pool(2).filter(|_| available_parallelism().is_ok_and(|processors| processors.get() > 1));
    let after = |pause| two.as_ref().and_then(|pool| delay(pool, pause));
    let theft = after(Duration::ZERO);
    let wake = after(Duration::from_millis(2)).zip(theft).map(|(all, theft)| all.saturating_sub(theft));
    Costs { fork, theft, wake, machine: Machine::here(), commit: commit() }
}

fn alone(n: u64) -> u64 {
    if n < 2 { n } else { alone(n - 1) + alone(n - 2) }
}

fn by_handle(mut w: Worker<'_, Split>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| by_handle(w, n - 1), |w| by_handle(w, n - 2));
    a + b
}

fn by_closure(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = filch::join(|| by_closure(n - 1), || by_closure(n - 2));
    a + b
}

/// Returns how many nanoseconds pass until the second branch of a fork begins on the other worker, which has had
/// nothing to do for this long: the lower quartile, since other programs use the processors at times. `None` if the
/// branch is seldom stolen.
fn delay(pool: &ThreadPool<Split>, pause: Duration) -> Option<u64> {
    const SAMPLES: usize = 101;
    const LONGEST: Duration = Duration::from_millis(20);
    let sample = |mut w: Worker<'_, Split>| {
        let has_begun = <Native as Memory>::AtomicBool::new(false);
        // A worker that sleeps does not run the pause.
        sleep(pause);
        let start = Instant::now();
        let (was_stolen, begun) = w.join(
            |_| {
                // Relaxed: only whether, not after what.
                while !has_begun.load(Ordering::Relaxed) && start.elapsed() < LONGEST {
                    spin_loop();
                }
                has_begun.load(Ordering::Relaxed)
            },
            |_| {
                has_begun.store(true, Ordering::Relaxed);
                start.elapsed()
            },
        );
        was_stolen.then_some(begun.as_nanos() as u64)
    };
    let mut delays: Vec<u64> = (0..SAMPLES).filter_map(|_| pool.run(sample)).collect();
    delays.sort_unstable();
    (delays.len() > SAMPLES / 2).then(|| delays[delays.len() / 4])
}
