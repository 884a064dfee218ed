//! `filch probe hunger`: how long workers idle while unstarted tasks exist.
//!
//! All contenders run the same random programs of sleeping leaves, in turns. Each run gives three numbers. The idle
//! share is the sum over the workers of the time without a leaf while there was an unstarted task, as a share of all
//! workers' time. The longest idle time is the longest such time of one worker. The last number is the run's time over
//! the greedy bound T₁/P + T∞, for the leaves' real sleeping times.

mod program;
mod trace;

use std::io::Write;
use std::marker::PhantomData;
use std::time::Duration;

use filch::pool::{Pool, Queued, Split, Wool};
use filch::{ThreadPool, Wait, Worker};
use filch_peers::RayonHandle;
use filch_queue::ChaseLev;
use filch_workloads::FilchClosures;
use serde::Serialize;

use self::program::{Node, RandomPrograms};
use self::trace::{Report, Style, Trace};
use crate::error::{Result, usage};
use crate::flags::ProbeHunger;
use crate::table;
use filch_catalogue::console::json::Lines;
use filch_catalogue::protocol::Machine;

use crate::commit;
use crate::progress::Progress;
use crate::terminal::{colour, duration, significant};
use filch_catalogue::console::stats::Sample;

/// Before each run; all workers fall asleep in this time.
const SETTLE: Duration = Duration::from_millis(5);

/// The handle style.
struct ByHandle<P>(PhantomData<P>);

impl<P: Pool> Style for ByHandle<P> {
    type Handle<'b> = Worker<'b, P>;
    type Loops = ByClosure;

    fn in_loop() -> FilchClosures {
        FilchClosures
    }

    fn scope<F>(mut handle: Worker<'_, P>, nodes: &[Node], announces: impl Fn() + Sync, each: F)
    where
        F: for<'b> Fn(&Node, Worker<'b, P>) + Sync,
    {
        let each = &each;
        handle.scope(|_, s| {
            for node in nodes {
                announces();
                s.spawn(move |w, _| each(node, w));
            }
        });
    }
}

/// Styles whose tasks get no handle.
macro_rules! without_handles {
    ($($style:ident: $handle:ident, $scope:path;)*) => {
        $(enum $style {}

        impl Style for $style {
            type Handle<'b> = $handle;
            type Loops = Self;

            fn in_loop() -> $handle {
                $handle
            }

            fn scope<F>(_: $handle, nodes: &[Node], announces: impl Fn() + Sync, each: F)
            where
                F: Fn(&Node, $handle) + Sync,
            {
                let each = &each;
                $scope(|s| {
                    for node in nodes {
                        announces();
                        s.spawn(move |_| each(node, $handle));
                    }
                });
            }
        })*
    };
}

without_handles! {
    ByClosure: FilchClosures, filch::scope;
    OnRayon: RayonHandle, rayon::scope;
}

type RunFn = dyn Fn(&Trace, &Node);

/// A pool, and the way to run a program on it.
struct Contender {
    name: &'static str,
    run: Box<RunFn>,
}

fn by_handle<P: Pool>(name: &'static str, workers: usize, wait: Wait) -> Result<Contender> {
    let pool = start::<P>(workers, wait)?;
    Ok(Contender { name, run: Box::new(move |trace, node| pool.run(|w| trace.run::<ByHandle<P>>(node, w))) })
}

fn start<P: Pool>(workers: usize, wait: Wait) -> Result<ThreadPool<P>> {
    filch::Builder::new().workers(workers).wait(wait).caller_works(false).build().map_err(usage)
}

/// Returns those of our pools that support this waiting strategy, and rayon as the last.
fn contenders(workers: usize, wait: Wait) -> Result<Vec<Contender>> {
    let closures = start::<Split>(workers, wait)?;
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers).build().map_err(usage)?;
    let mut all = vec![
        by_handle::<Split>("filch", workers, wait)?,
        Contender {
            name: "filch-closures",
            run: Box::new(move |trace, node| closures.install(|| trace.run::<ByClosure>(node, FilchClosures))),
        },
        by_handle::<Wool>("filch:wool", workers, wait)?,
    ];
    if wait != Wait::Transitive {
        all.push(by_handle::<Queued<ChaseLev>>("filch:chase-lev", workers, wait)?);
    }
    all.push(Contender {
        name: "rayon",
        run: Box::new(move |trace, node| rayon.install(|| trace.run::<OnRayon>(node, RayonHandle))),
    });
    Ok(all)
}

#[derive(Serialize)]
struct Run {
    probe: &'static str,
    contender: &'static str,
    workers: usize,
    wait: &'static str,
    leaves: usize,
    longest_leaf_micros: u32,
    mixed: bool,
    seed: u64,
    seconds: f64,
    work_seconds: f64,
    span_seconds: f64,
    idle_seconds: f64,
    longest_idle_seconds: f64,
    machine: Machine,
    commit: String,
}

/// The time of a run over the greedy bound.
fn over_bound(report: &Report, workers: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a number of threads")]
    let bound = report.work.as_secs_f64() / workers as f64 + report.span.as_secs_f64();
    report.time.as_secs_f64() / bound
}

/// The idle time beside unstarted tasks as a share of all workers' time.
fn idle_share(report: &Report, workers: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a number of threads")]
    let all = report.time.as_secs_f64() * workers as f64;
    report.idle.as_secs_f64() / all
}

pub(crate) fn hunger(flags: &ProbeHunger) -> Result {
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let (workers, programs) = (usize::from(flags.workers), flags.programs as usize);
    let kind = RandomPrograms { leaves: flags.leaves as usize, longest: flags.longest, is_mixed: flags.mixed };
    let wait = filch_runner::schedulers::wait(flags.wait.as_deref()).map_err(usage)?;
    let contenders = contenders(workers, wait)?;
    let progress = Progress::new(!flags.output.quiet);
    let mut all = vec![Vec::new(); contenders.len()];
    for nth in 0..programs {
        let seed = flags.seed.wrapping_add(nth as u64);
        let program = kind.program(seed);
        for turn in 0..contenders.len() {
            // Another contender begins each time.
            let turn = (turn + nth) % contenders.len();
            let Contender { name, run } = &contenders[turn];
            progress.show(nth, programs, f64::NAN, format!("program {nth} on {name}"));
            std::thread::sleep(SETTLE);
            let trace = Trace::new();
            run(&trace, &program);
            let report = trace.report(workers);
            if let Some(lines) = &mut lines {
                lines.write(&Run {
                    probe: "hunger",
                    contender: name,
                    workers,
                    wait: wait.name(),
                    leaves: kind.leaves,
                    longest_leaf_micros: kind.longest,
                    mixed: kind.is_mixed,
                    seed,
                    seconds: report.time.as_secs_f64(),
                    work_seconds: report.work.as_secs_f64(),
                    span_seconds: report.span.as_secs_f64(),
                    idle_seconds: report.idle.as_secs_f64(),
                    longest_idle_seconds: report.longest.as_secs_f64(),
                    machine: Machine::here(),
                    commit: commit(),
                })?;
            }
            all[turn].push(report);
        }
    }
    progress.end();
    if flags.output.talks(lines.as_ref()) {
        let heads = ["", "time", "over rayon", "over T₁/P + T∞", "max", "idle share", "max", "longest idle", "max"];
        let rayon = all.last().expect("rayon is the last");
        let rows = contenders.iter().zip(&all).map(|(contender, reports)| row(contender, reports, rayon, workers));
        let mut out = std::io::stdout().lock();
        let leaves = kind.leaves;
        writeln!(
            out,
            "{programs} random programs of {leaves} leaves, {workers} workers: medians, and the maximum over the programs"
        )?;
        writeln!(out, "{}", table::list(&heads, &rows.collect::<Vec<_>>(), colour()))?;
    }
    Ok(())
}

fn row(contender: &Contender, reports: &[Report], rayon: &[Report], workers: usize) -> Vec<String> {
    let sample = |of: &dyn Fn(&Report) -> f64| Sample::of(reports.iter().map(of)).expect("at least one program");
    let time = sample(&|report| report.time.as_secs_f64());
    let ratios = reports.iter().zip(rayon).map(|(ours, theirs)| ours.time.as_secs_f64() / theirs.time.as_secs_f64());
    let ratio = Sample::of(ratios).expect("at least one program");
    let bound = sample(&|report| over_bound(report, workers));
    let idle = sample(&|report| 100.0 * idle_share(report, workers));
    let longest = sample(&|report| report.longest.as_secs_f64());
    let percent = |value| format!("{} %", significant(value));
    vec![
        contender.name.to_owned(),
        duration(time.median),
        significant(ratio.median),
        significant(bound.median),
        significant(bound.max),
        percent(idle.median),
        percent(idle.max),
        duration(longest.median),
        duration(longest.max),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_runs_every_leaf() {
        let kind = RandomPrograms { leaves: 40, longest: 100, is_mixed: true };
        for Contender { name, run } in contenders(3, Wait::default()).unwrap() {
            for seed in 0..3 {
                let trace = Trace::new();
                run(&trace, &kind.program(seed));
                let report = trace.report(3);
                assert!(report.work >= Duration::from_micros(40 * 10), "{name}: {report:?}");
                assert!(report.span <= report.time && report.idle <= report.time * 3, "{name}: {report:?}");
            }
        }
    }
}
