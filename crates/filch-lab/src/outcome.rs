//! The outcome of a reproduction: what was asked, what the verdicts are, and where that was.
//!
//! Invariant: an outcome is written only when its experiment is complete, so an experiment with an outcome need not run again.

use std::path::{Path, PathBuf};

use filch_protocol::{Machine, now};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conclude::Found;
use crate::error::{Result, usage};
use crate::experiment::Experiment;
use crate::export::json::write_file;
use crate::flags::Size;
use crate::sources::commit;

/// A completed reproduction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) id: String,
    pub(crate) size: String,
    pub(crate) rounds: usize,
    /// The seconds that it took.
    pub(crate) seconds: f64,
    /// The end, in seconds since 1970.
    pub(crate) at: f64,
    pub(crate) machine: Machine,
    pub(crate) commit: String,
    pub(crate) claims: Vec<Told>,
    /// The checks that failed.
    pub(crate) failures: Vec<String>,
}

/// A claim with its verdict, in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) claim: String,
    pub(crate) verdict: String,
    pub(crate) rule: String,
    /// The strongest evidence against it, or what is missing.
    pub(crate) why: String,
    /// All numbers that it concerns.
    pub(crate) evidence: Value,
}

impl Outcome {
    pub(crate) fn of(experiment: &Experiment, size: Size, found: &Found, seconds: f64) -> Self {
        let told = found.decided.iter().map(|decided| Told {
            claim: decided.text.to_owned(),
            verdict: decided.name().to_owned(),
            rule: decided.rule.clone(),
            why: decided.why(),
            evidence: decided.json()["evidence"].take(),
        });
        Self {
            id: experiment.name.unwrap_or_default().to_owned(),
            size: size.name().to_owned(),
            rounds: found.rounds,
            seconds,
            at: now(),
            machine: Machine::here(),
            commit: commit(),
            claims: told.collect(),
            failures: found.failures.clone(),
        }
    }

    /// The file of an experiment's outcome in a folder.
    pub(crate) fn file(folder: &Path, id: &str) -> PathBuf {
        folder.join(format!("{id}.json"))
    }

    /// Writes the outcome to its file.
    pub(crate) fn write(&self, folder: &Path) -> Result {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        write_file(&Self::file(folder, &self.id), text + "\n")
    }

    /// Reads an experiment's outcome, if the folder has it.
    pub(crate) fn read(folder: &Path, id: &str) -> Result<Option<Self>> {
        let file = Self::file(folder, id);
        let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
        let wrong = |error| usage(format!("{} is not an outcome: {error}", file.display()));
        serde_json::from_str(&text).map(Some).map_err(wrong)
    }

    /// Whether this is what a run of the current sources in this size would repeat.
    pub(crate) fn is_current(&self, size: Size) -> bool {
        self.size == size.name() && self.commit == commit() && self.machine.processor == Machine::here().processor
    }
}
