//! What an interrupted session has measured, for the one that goes on with it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use filch_protocol::Machine;

use crate::error::{Result, usage};
use crate::export::json;
use crate::identity::ProgramId;
use crate::record::{Occasion, Run};
use crate::sources::commit;
use crate::stats::Sample;

/// The seconds of runs, by what was run, by whom, and in which round.
#[derive(Debug, Default)]
pub(crate) struct Earlier(HashMap<String, Vec<f64>>);

impl Earlier {
    /// The runs in a file that this session will add to; none if there is no such file.
    ///
    /// A session that was killed may have left half a line, which is taken away.
    pub(crate) fn read(path: &Path, experiment: Option<&str>) -> Result<(Vec<Run>, Self)> {
        let Ok(text) = fs::read_to_string(path) else { return Ok(Default::default()) };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            let cut = fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(whole as u64));
            cut.map_err(|error| usage(format!("cannot write {}: {error}", path.display())))?;
        }
        let runs = json::read(path)?;
        if let Some(other) = runs.iter().find(|run| run.experiment.as_deref() != experiment) {
            let what = |name: Option<&str>| {
                name.map_or_else(|| "a comparison".to_owned(), |name| format!("the experiment {name}"))
            };
            let (theirs, ours) = (what(other.experiment.as_deref()), what(experiment));
            return Err(usage(format!("{} is of {theirs}: {ours} cannot go on with it", path.display())));
        }
        let processor = Machine::here().processor;
        if let Some(other) = runs.iter().find(|run| run.commit != commit() || run.machine.processor != processor) {
            return Err(usage(format!(
                "{} is of commit {} on {}: what is measured now, at {} on {processor}, cannot be set beside it",
                path.display(),
                other.commit,
                other.machine.processor,
                commit(),
            )));
        }
        let mut seconds: HashMap<String, Vec<f64>> = HashMap::new();
        for run in &runs {
            seconds.entry(key(run)).or_default().extend(run.seconds);
        }
        Ok((runs, Self(seconds)))
    }

    /// The typical seconds of what was measured on this occasion, if it was.
    pub(crate) fn of(&self, occasion: Occasion<'_>) -> Option<f64> {
        let seconds = self.0.get(&key(&occasion.record(Machine::default())))?;
        Sample::of(seconds.iter().copied()).map(|sample| sample.median)
    }
}

/// The same for runs of the same cell in the same round.
fn key(run: &Run) -> String {
    let Run { program: ProgramId { workload, params }, who, workers, copies, round, .. } = run;
    format!("{workload} {params:?} {who:?} {workers} {copies} {round}")
}
