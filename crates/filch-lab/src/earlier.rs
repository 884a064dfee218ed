//! The results of an interrupted session, for the session that continues it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use filch_catalogue::protocol::Machine;

use crate::error::{Result, usage};
use crate::export::json;
use crate::flags::Size;
use crate::identity::ProgramId;
use crate::record::{Occasion, Run};
use crate::sources::commit;
use crate::stats::Sample;

/// The seconds of runs, by program, scheduler and round.
#[derive(Debug, Default)]
pub(crate) struct Earlier(HashMap<String, Vec<f64>>);

impl Earlier {
    /// Reads the runs of a file that this session extends; none if there is no such file.
    ///
    /// If a killed session left half a line, this removes it.
    pub(crate) fn read(path: &Path, experiment: Option<&str>, size: Size) -> Result<(Vec<Run>, Self)> {
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
            return Err(usage(format!("{} holds {theirs}: {ours} cannot continue it", path.display())));
        }
        // Lines of earlier versions do not say their size.
        let other = runs.iter().filter_map(|run| run.size.as_deref()).find(|other| *other != size.name());
        if let Some(other) = other {
            let (path, size) = (path.display(), size.name());
            return Err(usage(format!("{path} holds runs in size {other}: runs in size {size} cannot continue it")));
        }
        let processor = Machine::here().processor;
        if let Some(other) = runs.iter().find(|run| run.commit != commit() || run.machine.processor != processor) {
            return Err(usage(format!(
                "{} holds runs of commit {} on {}, which cannot be compared with runs of {} on {processor}",
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

    /// Returns the typical seconds of runs on this occasion, if there are any.
    pub(crate) fn of(&self, occasion: Occasion<'_>) -> Option<f64> {
        let seconds = self.0.get(&key(&occasion.record(Machine::default())))?;
        Sample::of(seconds.iter().copied()).map(|sample| sample.median)
    }
}

/// Returns the same key for runs of the same cell in the same round.
fn key(run: &Run) -> String {
    let Run { program: ProgramId { workload, params }, who, workers, copies, round, .. } = run;
    format!("{workload} {params:?} {who:?} {workers} {copies} {round}")
}
