//! `filch scale`: the work and span of the laboratory's fork–join programs.

use std::cell::RefCell;
use std::io::Write;

use filch::scale::{Recording, Scale};
use filch_catalogue::console::json::Lines;
use filch_catalogue::protocol::Machine;
use filch_catalogue::{Kind, Workload};
use filch_workloads::{Executor, FilchClosures, Instance, Prepare, Program};
use serde::Serialize;

use crate::commit;
use crate::error::{Error, Result, usage};
use crate::flags::Scale as Flags;
use crate::table;
use crate::terminal::{colour, count, duration, significant};

/// What is written of a program. Lengths are in nanoseconds.
#[derive(Serialize)]
struct Line {
    scale: String,
    style: &'static str,
    work: u64,
    span: u64,
    parallelism: f64,
    theft: u64,
    burdened_span: u64,
    burdened_parallelism: f64,
    forks: u64,
    median_grain: u64,
    /// The least length of strands, their number, and their sum.
    grains: Vec<[u64; 3]>,
    sentence: String,
    machine: Machine,
    commit: String,
}

/// Records the program that it executes.
struct Recorder {
    recording: Recording,
    by_closures: bool,
    scale: RefCell<Option<Scale>>,
}

impl Executor for Recorder {
    fn execute<P: Program>(&self, program: &mut P) -> P::Output {
        let measured = if self.by_closures {
            self.recording.measure(|| FilchClosures.execute(program))
        } else {
            self.recording.measure_with(|w| program.run(w))
        };
        self.scale.replace(Some(measured.scale));
        measured.result
    }
}

pub(crate) fn scale(flags: &Flags) -> Result {
    let programs = flags.programs.iter().map(|text| parse(text, flags)).collect::<Result<Vec<_>>>()?;
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let (mut rows, mut sentences) = (Vec::new(), Vec::new());
    for (name, mut program) in programs {
        let scale = record(&name, &mut program, flags)?;
        let text = scale.to_string();
        let sentence = text.lines().next().unwrap_or_default();
        if let Some(lines) = &mut lines {
            lines.write(&line(&name, flags, &scale, sentence))?;
        }
        let time = |nanoseconds: u64| duration(nanoseconds as f64 / 1e9);
        rows.push(vec![
            name.clone(),
            time(scale.work),
            time(scale.span),
            significant(scale.parallelism()),
            significant(scale.burdened_parallelism()),
            count(scale.forks as f64),
            time(scale.median_grain()),
        ]);
        sentences.push(format!("{name}: {sentence}"));
    }
    if flags.output.talks(lines.as_ref()) {
        let heads = ["program", "work", "span", "parallelism", "burdened", "forks", "median grain"];
        let table = table::list(&heads, &rows, colour());
        writeln!(std::io::stdout(), "{table}\n\n{}", sentences.join("\n")).map_err(Error::Output)?;
    }
    Ok(())
}

/// Returns the program that the text names, with its full name.
fn parse(text: &str, flags: &Flags) -> Result<(String, Instance)> {
    let workload = Workload::parse(text, |spec| if flags.quick { spec.quick } else { spec.compare }).map_err(usage)?;
    if workload.kind() != Kind::ForkJoin {
        return Err(usage(format!("{} does not fork and join: its tasks have no span", workload.name())));
    }
    let program = workload.fitting().and_then(|workload| workload.prepare()).map_err(usage)?;
    Ok((text.to_owned(), program))
}

/// Runs the program once, and checks its answer.
fn record(name: &str, program: &mut Instance, flags: &Flags) -> Result<Scale> {
    let recording = Recording::new().theft(flags.theft.into());
    let recorder = Recorder { recording, by_closures: flags.closures, scale: RefCell::default() };
    program.reset();
    let answer = recorder.execute(program);
    program.check(&answer).map_err(|why| Error::FailedBecause(format!("{name}: {why}")))?;
    Ok(recorder.scale.take().expect("it has been recorded"))
}

fn line(name: &str, flags: &Flags, scale: &Scale, sentence: &str) -> Line {
    Line {
        scale: name.to_owned(),
        style: if flags.closures { "closures" } else { "handles" },
        work: scale.work,
        span: scale.span,
        parallelism: scale.parallelism(),
        theft: scale.theft,
        burdened_span: scale.burdened_span,
        burdened_parallelism: scale.burdened_parallelism(),
        forks: scale.forks,
        median_grain: scale.median_grain(),
        grains: scale.grains().iter().map(|grain| [grain.from, grain.strands, grain.work]).collect(),
        sentence: sentence.to_owned(),
        machine: Machine::here(),
        commit: commit(),
    }
}
