//! `filch stress programs`: runs random nested programs until the time is up or one gives a wrong answer.

use std::io::Write;
use std::time::{Duration, Instant};

use filch::{ThreadPool, Wait};
use filch_runner::schedulers::WAITS;
use filch_workloads::random_programs::{Settings, check};

use super::flags::StressPrograms as Flags;
use super::{any_seed, as_float};
use crate::error::{Error, Result, usage};
use crate::progress::Progress;
use crate::terminal::{count, duration};

/// The number of programs between two looks at the clock.
const BATCH: u64 = 16;

pub(crate) fn programs(flags: &Flags) -> Result {
    let first = flags.seed.unwrap_or_else(any_seed);
    let mut pools = Vec::new();
    for &workers in &flags.workers {
        for &(wait, _) in WAITS {
            let settings = Settings { workers: workers.into(), wait, panics: flags.panics };
            pools.push((start(workers, wait)?, settings));
        }
    }
    if flags.panics {
        // Thousands of intended panics would bury an unintended one.
        std::panic::set_hook(Box::new(|_| {}));
    }
    crate::interrupt::watch()?;
    let progress = Progress::new(!flags.quiet);
    let (start, limit) = (Instant::now(), Duration::from_secs(flags.seconds.into()));
    let mut seed = first;
    while start.elapsed() < limit && !crate::interrupt::interrupted() {
        for (pool, settings) in &pools {
            for seed in (0..BATCH).map(|offset| seed.wrapping_add(offset)) {
                if let Err(why) = check(seed, settings, pool) {
                    progress.end();
                    let again = if settings.panics { " --panics" } else { "" };
                    let (workers, wait) = (settings.workers, settings.wait);
                    return Err(Error::FailedBecause(format!(
                        "seed {seed} with {workers} workers, {wait}: {why}\nAgain: filch stress programs --seed {seed} \
                         --workers {workers} --seconds 1{again}"
                    )));
                }
            }
        }
        seed = seed.wrapping_add(BATCH);
        let elapsed = start.elapsed().as_secs_f64();
        let (done, all) = (start.elapsed().as_secs(), limit.as_secs());
        let what = format!("{} programs, next seed {seed}", count(as_float(programs_run(first, seed, pools.len()))));
        #[expect(clippy::cast_possible_truncation, reason = "seconds of a session")]
        progress.show(done as usize, all as usize, limit.as_secs_f64() - elapsed, what);
    }
    progress.end();
    let (elapsed, run) = (start.elapsed().as_secs_f64(), as_float(programs_run(first, seed, pools.len())));
    if !flags.quiet {
        let workers: Vec<String> = flags.workers.iter().map(ToString::to_string).collect();
        let (seeds, rate, workers) = (seed.wrapping_sub(first), count(run / elapsed), workers.join(", "));
        writeln!(
            std::io::stdout(),
            "{} programs in {}: {rate} per second, all right; {seeds} seeds from {first}, each on {workers} workers \
             with every waiting strategy",
            count(run),
            duration(elapsed),
        )?;
    }
    Ok(())
}

fn start(workers: u16, wait: Wait) -> Result<ThreadPool> {
    ThreadPool::builder().workers(workers.into()).wait(wait).build().map_err(usage)
}

fn programs_run(first: u64, seed: u64, pools: usize) -> u64 {
    seed.wrapping_sub(first) * pools as u64
}
