//! The outcome of a reproduction: what was asked, what the verdicts are, and where that was.
//!
//! Invariant: an outcome is written only when its experiment is complete, so an experiment with an outcome need not run
//! again.

use std::path::{Path, PathBuf};

use filch_catalogue::protocol::{Machine, now};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conclude::Found;
use crate::error::{Error, Result, usage};
use crate::experiment::Experiment;
use crate::experiment::claim::Decided;
use crate::export::json::write_file;
use crate::flags::Size;
use crate::sources::commit;

/// A completed reproduction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) id: String,
    /// The command that measures this experiment alone.
    pub(crate) command: String,
    pub(crate) size: String,
    pub(crate) rounds: usize,
    /// The seconds that it took.
    pub(crate) seconds: f64,
    /// The end, in seconds since 1970.
    pub(crate) at: f64,
    pub(crate) machine: Machine,
    pub(crate) commit: String,
    /// The commit of the program that decided the claims, if it was another than the one that measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decided_by: Option<String>,
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

impl Told {
    pub(crate) fn of(decided: &Decided) -> Self {
        Self {
            claim: decided.text.to_owned(),
            verdict: decided.name().to_owned(),
            rule: decided.rule.clone(),
            why: decided.why(),
            evidence: decided.json()["evidence"].take(),
        }
    }
}

impl Outcome {
    pub(crate) fn of(experiment: &Experiment, size: Size, command: String, found: &Found, seconds: f64) -> Self {
        Self {
            id: experiment.name.unwrap_or_default().to_owned(),
            command,
            size: size.name().to_owned(),
            rounds: found.rounds,
            seconds,
            at: now(),
            machine: Machine::here(),
            commit: commit(),
            decided_by: None,
            claims: found.decided.iter().map(Told::of).collect(),
            failures: found.failures.clone(),
        }
    }

    /// Replaces the verdicts by those that this program finds in the same measurements.
    pub(crate) fn decide_again(&mut self, decided: &[Decided]) {
        self.decided_by = Some(commit());
        self.claims = decided.iter().map(Told::of).collect();
    }

    /// The file of an experiment's outcome in a folder.
    pub(crate) fn file(folder: &Path, id: &str) -> PathBuf {
        folder.join(format!("{id}.json"))
    }

    /// Writes the outcome to its file, all of it or nothing.
    pub(crate) fn write(&self, folder: &Path) -> Result {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        let file = Self::file(folder, &self.id);
        let new = file.with_extension("json.new");
        write_file(&new, text + "\n")?;
        std::fs::rename(&new, &file).map_err(|error| Error::File(file, error))
    }

    /// Reads an experiment's outcome, if the folder has it.
    pub(crate) fn read(folder: &Path, id: &str) -> Result<Option<Self>> {
        let file = Self::file(folder, id);
        let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
        let wrong = |error| usage(format!("{} is damaged: {error}", file.display()));
        serde_json::from_str(&text).map(Some).map_err(wrong)
    }

    /// Whether this is what the command would measure again, with the current sources.
    pub(crate) fn is_current(&self, command: &str) -> bool {
        self.command == command && self.commit == commit() && self.machine.processor == Machine::here().processor
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// An outcome with these verdicts.
    pub(crate) fn outcome(id: &str, verdicts: &[&str]) -> Outcome {
        let told = |(index, verdict): (usize, &&str)| Told {
            claim: format!("claim {index} of {id}"),
            verdict: (*verdict).to_owned(),
            rule: "the number is below 1".to_owned(),
            why: format!("evidence {index} of {id}"),
            evidence: json!([{ "of": "a number", "value": 0.5, "low": 0.4, "high": 0.6, "rounds": 5 }]),
        };
        Outcome {
            id: id.to_owned(),
            command: format!("filch reproduce {id} --size quick"),
            size: "quick".to_owned(),
            rounds: 5,
            seconds: 7.0,
            at: 1.8e9,
            machine: Machine { processor: "a processor".to_owned(), cores: 2, ..Machine::default() },
            commit: "abc".to_owned(),
            decided_by: None,
            claims: verdicts.iter().enumerate().map(told).collect(),
            failures: Vec::new(),
        }
    }

    #[test]
    fn an_outcome_survives_its_file_and_damage_is_told() {
        let folder = std::env::temp_dir().join(format!("filch-outcome-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(Outcome::read(&folder, "a").unwrap().is_none());
        let outcome = outcome("a", &["reproduced", "not testable here"]);
        outcome.write(&folder).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "only the file itself remains");
        let found = Outcome::read(&folder, "a").unwrap().expect("an outcome");
        assert_eq!(serde_json::to_value(&found).unwrap(), serde_json::to_value(&outcome).unwrap());
        let file = Outcome::file(&folder, "a");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, &text[..text.len() / 2]).unwrap();
        let why = Outcome::read(&folder, "a").unwrap_err().to_string();
        assert!(why.contains("a.json is damaged"), "{why}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_outcome_is_current_only_if_nothing_changed() {
        let here = Outcome { commit: commit(), machine: Machine::here(), ..outcome("a", &[]) };
        let command = here.command.clone();
        assert!(here.is_current(&command) && !here.is_current("filch reproduce a --size small"));
        assert!(!Outcome { commit: "other".to_owned(), ..here.clone() }.is_current(&command));
        let elsewhere = Machine { processor: "another".to_owned(), ..Machine::here() };
        assert!(!Outcome { machine: elsewhere, ..here }.is_current(&command));
    }
}
