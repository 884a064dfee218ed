//! How long an experiment takes, and how much memory, before it runs.
//!
//! The time is that of each sequential program in its quick size, measured once, times the ratio of tasks (or of bytes)
//! of the two sizes.

use std::collections::BTreeMap;
use std::time::Duration;

use filch_catalogue::Workload;
use filch_catalogue::protocol::cores;

use crate::error::{Result, usage};
use crate::experiment::{Contender, Experiment, Sweep};
use crate::flags::Size;
use crate::identity::Placement;
use crate::programs::{parse, unchecked};
use crate::scheduler::Scheduler;
use crate::session::{Asked, Trouble};

/// The expected cost of an experiment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forecast {
    /// The visits of a round.
    pub(crate) visits: usize,
    /// The seconds of the rounds that must run.
    pub(crate) seconds: f64,
    /// The bytes of the largest program, in as many copies as run side by side.
    pub(crate) bytes: u64,
}

/// The seconds to start a runner, and to stop it.
const PROCESS: f64 = 0.03;
/// Making the input and checking the answer, next to the run.
const AROUND: f64 = 1.0;

/// Sequential times by program, as far as they were needed.
#[derive(Debug, Default)]
pub(crate) struct Times(BTreeMap<String, f64>);

impl Times {
    /// Returns the expected cost of an experiment in this size; a probe's is not known.
    pub(crate) fn forecast(&mut self, experiment: &Experiment, size: Size) -> Result<Forecast> {
        let sweep = experiment.sweep.as_ref();
        let copies = experiment.workers.iter().copied().max().unwrap_or(1).min(cores());
        let mut sum = Forecast::default();
        for entry in &experiment.entries {
            let Some(text) = entry.program.of(size) else { continue };
            for text in Sweep::spread(sweep, text) {
                let program = unchecked(&text, size)?;
                let variants = |contender: &Contender| match contender {
                    Contender::Pool { name, .. } => Sweep::spread(sweep, name).len(),
                    Contender::Peer(_) | Contender::Runner(_) => 1,
                };
                let contenders: usize = entry.contenders.iter().map(variants).sum();
                let visits = experiment.placements.len() * (1 + contenders * experiment.workers.len());
                let run = self.of(&program)?;
                let each = PROCESS + run.max(experiment.effort.visit) + run * AROUND;
                #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                let rounds = (visits * experiment.effort.at_least) as f64;
                sum.visits += visits;
                sum.seconds += rounds * each;
                sum.bytes = sum.bytes.max(program.memory_bytes().saturating_mul(copies as u64));
            }
        }
        if sum.visits > 0 {
            sum.seconds = sum.seconds.max(experiment.effort.budget.into());
        }
        Ok(sum)
    }

    /// Returns the expected seconds of a sequential run.
    fn of(&mut self, program: &Workload) -> Result<f64> {
        let small = reference(program)?;
        let ratio = |of: fn(&Workload) -> Option<u64>| {
            let (large, small) = (of(program)?, of(&small).filter(|&small| small > 0)?);
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            Some(large as f64 / small as f64)
        };
        let by_tasks = ratio(|program| program.tasks().filter(|&tasks| tasks > 0));
        let scale = by_tasks.or_else(|| ratio(|program| Some(program.memory_bytes()))).unwrap_or(1.0);
        let key = format!("{} {:?}", small.name(), small.params());
        let known = self.0.get(&key).copied();
        let seconds = known.map_or_else(|| measure(&small), Ok)?;
        self.0.insert(key, seconds);
        Ok(seconds * scale)
    }
}

/// Returns the program in its quick size: its first parameter is the size, and the others stay.
fn reference(program: &Workload) -> Result<Workload> {
    let quick = parse(program.name(), Size::Quick)?;
    let size = quick.params().into_iter().take(1);
    let rest = program.params().into_iter().skip(1).filter(|(_, text)| !text.is_empty());
    let set: Vec<(String, String)> = size.chain(rest).map(|(name, text)| (name.to_owned(), text)).collect();
    Ok(Workload::new(program.name(), &set).unwrap_or(quick))
}

/// Returns the seconds of a sequential run.
fn measure(program: &Workload) -> Result<f64> {
    let order = Scheduler::Serial.order(program, 1, Placement::Free);
    let runner = Scheduler::Serial.runner().path()?;
    let limit = Some(Duration::from_secs(60));
    let mut seconds = 0.0;
    let asked = Asked { runner: &runner, order: &order, copies: 1, repeats: 1, limit };
    let outcome = asked.run(&mut |_, ran| {
        seconds = ran.seconds;
        Ok(())
    });
    match outcome {
        Ok(()) => Ok(seconds),
        Err(Trouble::Interrupted) => Err(crate::error::Error::Interrupted),
        Err(Trouble::Broken(why) | Trouble::Refused(why)) => Err(usage(format!("{}: {why}", program.name()))),
        Err(Trouble::Taker(error)) => Err(error),
    }
}
