//! Experiments whose measurements come from a probe or a checker, which is a program of its own, and not from programs
//! on schedulers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::Value;
use shared_child::SharedChild;

use super::claim::Decided;
use crate::error::{Error, Result, usage};
use crate::export::json::text;
use crate::export::svg::Figure;
use crate::flags::Size;
use crate::interrupt::{Watched, interrupted};
use crate::runners::Executable;

/// A program that measures, and what its lines mean.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) program: Executable,
    /// Its arguments in this size, without those for its output.
    pub(crate) arguments: fn(Size) -> Vec<String>,
    /// Decides the claims and shows the numbers.
    pub(crate) findings: fn(&[Value]) -> Findings,
}

/// What the lines of a probe say.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) decided: Vec<Decided>,
    pub(crate) tables: Vec<Listing>,
    pub(crate) figures: Vec<Figure>,
}

#[cfg(test)]
impl Findings {
    /// The verdict on the claim that begins so.
    pub(crate) fn verdict(self, text: &str) -> super::claim::Verdict {
        let mut decided = self.decided.into_iter();
        decided.find(|decided| decided.text.starts_with(text)).expect("there is such a claim").verdict
    }
}

/// A table of a probe's numbers.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) caption: String,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Probe {
    /// Runs the program, which writes its lines to the file.
    pub(crate) fn run(&self, size: Size, file: &Path, is_quiet: bool) -> Result<Vec<Value>> {
        let path = self.program.path()?;
        let failed = |why: String| Error::FailedBecause(format!("{} failed: {why}", path.display()));
        let mut command = Command::new(&path);
        command.args((self.arguments)(size)).arg("--json").arg(file).stdout(Stdio::null());
        if is_quiet {
            command.arg("--quiet");
        }
        let child = SharedChild::spawn(&mut command).map_err(|error| failed(error.to_string()))?;
        let child = Arc::new(child);
        let _watched = Watched::new(&child);
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        if interrupted() {
            return Err(Error::Interrupted);
        }
        // A checker that finds something wrong says so, and its lines say what.
        let has_found = self.program == Executable::Check && status.code() == Some(1);
        if !status.success() && !has_found {
            return Err(failed(status.to_string()));
        }
        lines(file)
    }
}

/// Reads the lines of a probe.
pub(crate) fn lines(file: &Path) -> Result<Vec<Value>> {
    let text = text(file)?;
    let parse = |(number, line)| {
        let wrong = |error| usage(format!("{}, line {}: {error}", file.display(), number + 1));
        serde_json::from_str(line).map_err(wrong)
    };
    text.lines().enumerate().map(parse).collect()
}
