//! Runs one program on one scheduler in this process, some number of times, and tells of each run.

use std::time::Instant;

use filch_peers::Peer;
use filch_schedulers::{Contender, Sequential, Settings, start_list, start_pool};
use filch_workloads::{Answer, Instance, Workload};
use serde_json::Map;

use crate::error::{Result, usage};
use crate::machine::{Load, Machine, commit, cpu_time, now, peak_rss_bytes};
use crate::record::{Run, value};
use crate::scheduler::Scheduler;

/// Address space for a stack that a program may need: reserved, not used.
const STACK_BYTES: usize = 64 << 20;

/// What to run, on what, how often.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) workload: Workload,
    /// What warms up: the workload itself, or a smaller one.
    pub(crate) warmup_workload: Workload,
    pub(crate) scheduler: Scheduler,
    pub(crate) workers: usize,
    pub(crate) warmup: usize,
    pub(crate) repeat: usize,
    pub(crate) pin: bool,
    pub(crate) copies: usize,
    pub(crate) round: usize,
}

/// Who is told.
pub(crate) trait Watcher: Send {
    /// Everything is ready for the next timed run; returning lets it start.
    fn ready(&mut self) -> Result {
        Ok(())
    }

    /// A run has ended.
    fn ended(&mut self, run: Run) -> Result;
}

/// Runs the job; an answer that is wrong is told, not returned.
pub(crate) fn measure(job: &Job, watcher: &mut dyn Watcher) -> Result {
    let mut instance = job.workload.prepare().map_err(usage)?;
    let needed = usize::try_from(instance.stack_bytes()).unwrap_or(usize::MAX);
    let stack = STACK_BYTES.max(needed);
    let instance = &mut instance;
    if matches!(job.scheduler, Scheduler::Peer(_)) && std::env::var_os("RUST_MIN_STACK").is_none() {
        // SAFETY: this process has only its first thread yet. Peers that leave the stacks of their threads to the
        // standard library get as much as the others.
        unsafe { std::env::set_var("RUST_MIN_STACK", stack.to_string()) };
    }
    std::thread::scope(|scope| {
        // The sequential program and some peers run on the calling thread, whose stack is small.
        let thread = std::thread::Builder::new().stack_size(stack);
        match thread.spawn_scoped(scope, move || measure_here(job, instance, stack, watcher)) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => Err(usage(format!("cannot start a thread with a stack of {} MiB: {error}", stack >> 20))),
        }
    })
}

fn measure_here(job: &Job, instance: &mut Instance, stack: usize, watcher: &mut dyn Watcher) -> Result {
    match &job.scheduler {
        Scheduler::Serial => {
            if job.pin {
                pin_this_thread()?;
            }
            repeat(job, &Sequential, instance, watcher)
        }
        Scheduler::Peer(name) => {
            let peer = Peer::start(name, job.workers, stack).map_err(usage)?;
            if !peer.supports(job.workload.name()) {
                return Err(usage(format!("{name} does not run {}", job.workload.name())));
            }
            repeat(job, &Rival(peer), instance, watcher)
        }
        Scheduler::Filch { pool, style, wait } => {
            let mut settings = Settings::of(job.workers);
            (settings.wait, settings.pin, settings.interrupts) = (*wait, job.pin, pool.interrupts());
            let pool = start_pool(pool.pool(), *style, &settings).map_err(usage)?;
            repeat(job, &*pool, instance, watcher)
        }
        Scheduler::Worklist(tuning) => {
            let list = start_list(tuning, job.workers, instance.kind()).map_err(usage)?;
            repeat(job, &*list, instance, watcher)
        }
    }
}

fn pin_this_thread() -> Result {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    match cores.first() {
        Some(&core) if core_affinity::set_for_current(core) => Ok(()),
        _ => Err(usage("cannot pin this thread to a processor; leave out --pin")),
    }
}

struct Rival(Peer);

impl Contender for Rival {
    fn run(&self, instance: &mut Instance) -> std::result::Result<Answer, String> {
        self.0.run(instance).map_err(|error| error.to_string())
    }
}

/// Counters of one run: differences, but for the depth, which is not a count.
fn since(later: &[(&'static str, u64)], earlier: &[(&'static str, u64)]) -> Map<String, serde_json::Value> {
    let difference = |(&(name, later), &(_, earlier)): (&(&str, u64), &(&str, u64))| {
        let value = if name == "peak_depth" { later } else { later.saturating_sub(earlier) };
        (name.to_owned(), value.into())
    };
    later.iter().zip(earlier).map(difference).collect()
}

fn repeat(job: &Job, contender: &dyn Contender, instance: &mut Instance, watcher: &mut dyn Watcher) -> Result {
    let workload = &job.workload;
    warm_up(job, contender)?;
    let machine = Machine::here();
    let mut background = Background::default();
    for repeat in 0..job.repeat {
        instance.reset();
        watcher.ready()?;
        let counters = contender.counters();
        let (load, used) = (Load::now(), cpu_time());
        let start = Instant::now();
        let result = contender.run(instance);
        let seconds = start.elapsed().as_secs_f64();
        // Before the answer is checked, which takes time and memory too.
        let (load_after, used_after, peak_rss_bytes) = (Load::now(), cpu_time(), peak_rss_bytes());
        let answer = result.map_err(usage)?;
        let cpu_seconds = used_after - used;
        background.add(seconds, load_after.busy - load.busy - cpu_seconds, load_after.stolen - load.stolen);
        let error = instance.check(&answer).err();
        watcher.ended(Run {
            workload: workload.name().to_owned(),
            params: workload.params().into_iter().map(|(name, text)| (name.to_owned(), value(&text))).collect(),
            scheduler: job.scheduler.name(),
            pool: job.scheduler.pool(),
            wait: job.scheduler.wait(),
            style: job.scheduler.style(),
            version: version(&job.scheduler),
            workers: job.workers,
            copies: job.copies,
            round: job.round,
            repeat,
            seconds: Some(seconds),
            answer: answer.to_string(),
            correct: error.is_none(),
            error,
            tasks: match job.scheduler {
                Scheduler::Serial => None,
                _ => contender.tasks().or_else(|| instance.tasks(&answer)).or_else(|| workload.tasks()),
            },
            counters: since(&contender.counters(), &counters),
            cpu_seconds,
            others: background.others(),
            stolen: background.stolen(),
            peak_rss_bytes,
            at: now(),
            machine: machine.clone(),
            commit: commit(),
        })?;
    }
    Ok(())
}

fn warm_up(job: &Job, contender: &dyn Contender) -> Result {
    if job.warmup == 0 {
        return Ok(());
    }
    let mut instance = job.warmup_workload.prepare().map_err(usage)?;
    for _ in 0..job.warmup {
        instance.reset();
        contender.run(&mut instance).map_err(usage)?;
    }
    Ok(())
}

fn version(scheduler: &Scheduler) -> String {
    match scheduler {
        Scheduler::Peer(name) => {
            filch_peers::specs().into_iter().find(|peer| peer.name == name).map(|peer| peer.version).unwrap_or_default()
        }
        _ => env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// What else the machine did during the timed runs so far.
///
/// The kernel counts in hundredths of a second, so a short run alone says nothing.
#[derive(Debug, Default)]
struct Background {
    wall: f64,
    others: f64,
    stolen: f64,
}

impl Background {
    const SHORTEST: f64 = 0.1;

    fn add(&mut self, wall: f64, others: f64, stolen: f64) {
        self.wall += wall;
        self.others += others;
        self.stolen += stolen;
    }

    fn others(&self) -> f64 {
        self.share(self.others)
    }

    fn stolen(&self) -> f64 {
        self.share(self.stolen)
    }

    fn share(&self, seconds: f64) -> f64 {
        if self.wall < Self::SHORTEST { 0.0 } else { (seconds / self.wall).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_differences_but_depths_are_not() {
        let run = since(&[("steals", 12), ("peak_depth", 9)], &[("steals", 5), ("peak_depth", 8)]);
        assert_eq!(run["steals"], 7);
        assert_eq!(run["peak_depth"], 9);
    }

    #[test]
    fn a_run_shorter_than_the_kernels_clock_says_nothing_of_the_background() {
        let mut background = Background::default();
        background.add(0.01, 0.02, 0.0);
        assert_eq!(background.others(), 0.0);
        background.add(0.99, 0.48, 0.0);
        assert!((background.others() - 0.5).abs() < 1e-12);
    }
}
