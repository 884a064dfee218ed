//! `filch probe`: the cost of an idle pool, and the time to wake it.

use std::io::Write;
use std::time::{Duration, Instant};

use filch::ThreadPool;
use filch::pool::Split;
use serde::Serialize;

use crate::error::{Result, usage};
use crate::flags::{ProbeIdle, ProbeWakeup};
use filch_catalogue::console::flags::Output;
use filch_catalogue::console::json::Lines;
use filch_catalogue::protocol::{Machine, cpu_time};

use crate::commit;
use crate::terminal::duration;
use filch_catalogue::console::stats::{Sample, quantile};

/// Long enough for every worker of a pool to fall asleep.
const SETTLE: Duration = Duration::from_millis(100);
/// The time between calls: long enough to sleep, short enough for hundreds of calls.
const PAUSE: Duration = Duration::from_millis(3);

#[derive(Serialize)]
struct Idle {
    probe: &'static str,
    workers: usize,
    seconds: f64,
    cpu_seconds: f64,
    percent_of_a_processor: f64,
    machine: Machine,
    commit: String,
}

#[derive(Serialize)]
struct Wakeup {
    probe: &'static str,
    workers: usize,
    median_seconds: f64,
    p90_seconds: f64,
    p99_seconds: f64,
    samples: Vec<f64>,
    machine: Machine,
    commit: String,
}

pub(crate) fn idle(flags: &ProbeIdle) -> Result {
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let pool = start(flags.workers)?;
    empty_join(&pool);
    std::thread::sleep(SETTLE);
    let (before, start) = (cpu_time(), Instant::now());
    std::thread::sleep(Duration::from_secs(flags.seconds.into()));
    let (seconds, cpu_seconds) = (start.elapsed().as_secs_f64(), cpu_time() - before);
    let percent = 100.0 * cpu_seconds / seconds;
    if let Some(lines) = &mut lines {
        lines.write(&Idle {
            probe: "idle",
            workers: pool.workers(),
            seconds,
            cpu_seconds,
            percent_of_a_processor: percent,
            machine: Machine::here(),
            commit: commit(),
        })?;
    }
    say(&flags.output, lines.as_ref(), || {
        format!(
            "{} idle workers used {} of processor time in {}: {percent:.3} % of a processor",
            pool.workers(),
            duration(cpu_seconds),
            duration(seconds)
        )
    })
}

pub(crate) fn wakeup(flags: &ProbeWakeup) -> Result {
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let pool = start(flags.workers)?;
    empty_join(&pool);
    let mut samples: Vec<f64> = (0..flags.samples)
        .map(|_| {
            std::thread::sleep(PAUSE);
            let start = Instant::now();
            empty_join(&pool);
            start.elapsed().as_secs_f64()
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    let [median, p90, p99] = [0.5, 0.9, 0.99].map(|share| quantile(&samples, share));
    let most = Sample::of(samples.iter().copied()).map_or(f64::NAN, |sample| sample.max);
    if let Some(lines) = &mut lines {
        lines.write(&Wakeup {
            probe: "wakeup",
            workers: pool.workers(),
            median_seconds: median,
            p90_seconds: p90,
            p99_seconds: p99,
            samples: samples.clone(),
            machine: Machine::here(),
            commit: commit(),
        })?;
    }
    say(&flags.output, lines.as_ref(), || {
        format!(
            "an empty join on {} sleeping workers takes {} (median of {}), p90 {}, p99 {}, longest {}",
            pool.workers(),
            duration(median),
            samples.len(),
            duration(p90),
            duration(p99),
            duration(most)
        )
    })
}

fn start(workers: u16) -> Result<ThreadPool<Split>> {
    ThreadPool::builder().workers(workers.into()).caller_works(false).build().map_err(usage)
}

fn empty_join(pool: &ThreadPool<Split>) {
    pool.run(|mut w| w.join(|_| (), |_| ()));
}

fn say(output: &Output, lines: Option<&Lines>, text: impl Fn() -> String) -> Result {
    if output.talks(lines) {
        writeln!(std::io::stdout(), "{}", text())?;
    }
    Ok(())
}
