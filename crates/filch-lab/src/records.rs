//! The example `records`: keeps reproductions in the repository, small, and writes the pages about all that are kept.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Parser;
use filch_catalogue::protocol::Machine;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{Error, Result, usage};
use crate::experiment::Experiment;
use crate::experiment::claim::decide;
use crate::experiment::probe;
use crate::experiments::{all, find};
use crate::export::json::{self, write_file};
use crate::export::markdown::{self, Reasons, Record};
use crate::export::rivals::{self, Measured};
use crate::kept::{Kept, totals};
use crate::outcome::Outcome;
use crate::summary::summarize;

/// The file of a folder of records that says why claims do not hold there.
const REASONS: &str = "why.json";

/// The experiments that the page about rivals shows.
const RUNTIMES: &str = "runtime-benchmarks";
const RIVALS: &str = "rivals";

/// Whether pages are made from the experiment's lines. Others are not kept, because they are many.
fn needs_lines(experiment: &Experiment) -> bool {
    experiment.probe.is_some() || experiment.name.is_some_and(|name| [RUNTIMES, RIVALS].contains(&name))
}

/// Keeps reproductions in this repository, and writes the pages of its folder `results`.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "records",
    after_help = "\
Examples:
  cargo run -p filch-lab --example records                         write the pages again
  cargo run -p filch-lab --example records -- filch-reproduce      keep this folder's verdicts and tables, too
  cargo run -p filch-lab --example records -- --redecide ff-fig8   decide its claims again, from its lines"
)]
pub(crate) struct Flags {
    /// A folder of `filch reproduce` to keep
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Name to keep it under [default: its machine, such as 2-core-amd-epyc]
    #[arg(long = "as", value_name = "NAME", requires = "folder")]
    name: Option<String>,
    /// Experiments whose kept lines to decide again, since their claims have changed
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    redecide: Vec<String>,
    /// Folder of all that is kept, and of the pages
    #[arg(long, value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results"))]
    into: PathBuf,
}

pub(crate) fn run(flags: &Flags) -> Result {
    let mut out = std::io::stdout().lock();
    if let Some(folder) = &flags.folder {
        let outcomes = outcomes(folder)?;
        let Some(first) = outcomes.first() else {
            return Err(usage(format!("{} holds no reproduction: `filch reproduce` makes one", folder.display())));
        };
        let name = flags.name.clone().unwrap_or_else(|| name_of(&first.machine));
        let kept = flags.into.join(&name);
        fs::create_dir_all(&kept)
            .map_err(|error| usage(format!("cannot make the folder {}: {error}", kept.display())))?;
        for outcome in &outcomes {
            keep(outcome, folder, &kept)?;
            if outcome.commit.contains("+changes") {
                eprintln!("{} was measured with sources that no commit has", outcome.id);
            }
        }
        writeln!(out, "{} experiments: {}", outcomes.len(), kept.display())?;
    }
    for id in &flags.redecide {
        let names = decide_again(&flags.into, id)?;
        writeln!(out, "{id}: decided again for {}", names.join(", "))?;
    }
    let records = records(&flags.into)?;
    for record in &records {
        let totals = totals(&record.outcomes);
        if !totals.is_empty() {
            writeln!(out, "{}: {totals}", record.name)?;
        }
        let file = flags.into.join(&record.name).join(REASONS);
        record.idle_reasons().iter().for_each(|claim| eprintln!("{} explains what holds: {claim}", file.display()));
    }
    let missing = all().into_iter().filter(Experiment::is_reproduction).filter_map(|experiment| experiment.name);
    let is_kept = |id: &&str| records.iter().any(|record| record.outcomes.iter().any(|kept| kept.outcome.id == *id));
    let missing: Vec<&str> = missing.filter(|id| !is_kept(id)).collect();
    if !missing.is_empty() {
        writeln!(out, "Not measured yet: {}", missing.join(", "))?;
    }
    for (name, page) in pages(&records, &flags.into)? {
        write_file(&flags.into.join(name), page)?;
    }
    writeln!(out, "Pages: {}", flags.into.join(markdown::INDEX).display())?;
    Ok(())
}

/// Returns all pages, by file name.
fn pages(records: &[Record], folder: &Path) -> Result<Vec<(String, String)>> {
    let mut pages = markdown::pages(records);
    pages.push((format!("{RIVALS}.md"), rivals::page(&measured(records, folder)?)));
    Ok(pages)
}

/// Decides the claims of an experiment again, from the lines of every machine that has some; returns the machines'
/// names.
fn decide_again(into: &Path, id: &str) -> Result<Vec<String>> {
    let experiment = find(id)?;
    let mut names = Vec::new();
    for record in records(into)? {
        let folder = into.join(&record.name);
        let Some(mut outcome) = Outcome::read(&folder, id)? else { continue };
        let lines = folder.join(format!("{id}.jsonl.gz"));
        if !lines.is_file() {
            continue;
        }
        let decided = match experiment.probe {
            Some(_) => experiment.findings(&probe::lines(&lines)?).unwrap_or_default().decided,
            None => decide(&experiment, &summarize(&json::read(&lines)?, &[]), outcome.machine.cores),
        };
        outcome.decide_again(&decided);
        outcome.write(&folder)?;
        names.push(record.name);
    }
    if names.is_empty() { Err(usage(format!("{} has no lines of {id}", into.display()))) } else { Ok(names) }
}

/// Returns what is kept of rivals, by machine.
fn measured(records: &[Record], folder: &Path) -> Result<Vec<Measured>> {
    let one = |record: &Record| -> Result<Option<Measured>> {
        let Some(comparison) = kept(record, folder, RUNTIMES)? else { return Ok(None) };
        let machine = record.outcomes.first().map(|kept| kept.outcome.machine.summary()).unwrap_or_default();
        let papers = kept(record, folder, RIVALS)?;
        Ok(Some(Measured { name: record.name.clone(), machine, comparison, papers }))
    };
    records.iter().filter_map(|record| one(record).transpose()).collect()
}

/// Returns a record's runs of an experiment, if it has them.
fn kept(record: &Record, folder: &Path, id: &str) -> Result<Option<rivals::Kept>> {
    let Some(Kept { outcome, .. }) = record.outcomes.iter().find(|kept| kept.outcome.id == id) else { return Ok(None) };
    let runs = json::read(&folder.join(&record.name).join(format!("{id}.jsonl.gz")))?;
    Ok(Some(rivals::Kept { command: outcome.command.clone(), programs: summarize(&runs, &[]) }))
}

/// Returns all outcomes in a folder, in the order of the experiments.
fn outcomes(folder: &Path) -> Result<Vec<Outcome>> {
    let each = all().into_iter().filter_map(|experiment| Outcome::read(folder, experiment.name?).transpose());
    each.collect()
}

/// Returns what is kept, by name.
pub(crate) fn records(folder: &Path) -> Result<Vec<Record>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    folders.sort();
    let record = |folder: PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let each = all().into_iter().filter_map(|experiment| Kept::read(&folder, experiment, "jsonl.gz").transpose());
        Ok(Record { name, outcomes: each.collect::<Result<_>>()?, reasons: reasons(&folder.join(REASONS))? })
    };
    let records: Result<Vec<Record>> = folders.into_iter().map(record).collect();
    records.map(|records| records.into_iter().filter(|record| !record.outcomes.is_empty()).collect())
}

/// Reads why claims do not hold; nothing if there is no such file.
fn reasons(file: &Path) -> Result<Reasons> {
    match fs::read_to_string(file) {
        Ok(text) => {
            serde_json::from_str(&text).map_err(|error| usage(format!("{} is damaged: {error}", file.display())))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Reasons::new()),
        Err(error) => Err(usage(format!("cannot read {}: {error}", file.display()))),
    }
}

/// Keeps an outcome and its table as they are, and its lines compressed if pages need them.
fn keep(outcome: &Outcome, from: &Path, to: &Path) -> Result {
    let read = |ending: &str| {
        let file = from.join(format!("{}.{ending}", outcome.id));
        fs::read(&file).map_err(|error| usage(format!("cannot read {}: {error}", file.display())))
    };
    let file = |ending: &str| to.join(format!("{}.{ending}", outcome.id));
    write_file(&file("csv"), read("csv")?)?;
    if needs_lines(&find(&outcome.id)?) {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        let packed = packed.write_all(&read("jsonl")?).and_then(|()| packed.finish());
        write_file(&file("jsonl.gz"), packed.map_err(Error::Output)?)?;
    }
    outcome.write(to)
}

/// The name of a machine's records: `2-core-amd-epyc`.
fn name_of(machine: &Machine) -> String {
    let name = machine.processor.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    let name = name.split('@').next().unwrap_or_default();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty() && *word != "cpu");
    format!("{}-core-{}", machine.cores, words.collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::outcome;

    #[test]
    fn the_committed_pages_are_those_of_the_committed_records() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
        let records = records(&root).expect("outcomes");
        let pages = pages(&records, &root).expect("kept runs");
        for (name, page) in &pages {
            let written = fs::read_to_string(root.join(name)).unwrap_or_default();
            assert!(written == *page, "results/{name} is out of date: cargo run -p filch-lab --example records");
        }
        for record in &records {
            let idle = record.idle_reasons();
            assert!(idle.is_empty(), "{} explains what needs no explanation: {idle:?}", record.name);
            for Kept { experiment, outcome, .. } in &record.outcomes {
                let file = |ending: &str| root.join(&record.name).join(format!("{}.{ending}", outcome.id)).is_file();
                let missing = format!("{} of {}", outcome.id, record.name);
                assert_eq!((file("csv"), file("jsonl.gz")), (true, needs_lines(experiment)), "{missing}");
            }
        }
    }

    #[test]
    fn what_is_kept_is_small_and_complete() {
        let base = std::env::temp_dir().join(format!("filch-results-{}", std::process::id()));
        let [from, into] = ["from", "kept"].map(|name| base.join(name));
        fs::create_dir_all(&from).unwrap();
        let of = |id: &str| Outcome { commit: "abc".to_owned(), ..outcome(id, &["reproduced"]) };
        let line = serde_json::to_string(&crate::record::tests::run("fib", "rayon", 1, 1.0)).unwrap() + "\n";
        for id in ["rivals", "forks"] {
            of(id).write(&from).unwrap();
            fs::write(from.join(format!("{id}.csv")), "program\n").unwrap();
            fs::write(from.join(format!("{id}.jsonl")), line.repeat(200)).unwrap();
        }
        let flags = Flags { folder: Some(from.clone()), name: None, redecide: Vec::new(), into: into.clone() };
        run(&flags).unwrap();
        let found = records(&into).unwrap();
        assert_eq!((found.len(), found[0].name.as_str()), (1, "2-core-a-processor"));
        let ids: Vec<&str> = found[0].outcomes.iter().map(|kept| kept.outcome.id.as_str()).collect();
        assert_eq!(ids, ["forks", "rivals"], "in the order of the list");
        assert!(!into.join("2-core-a-processor/forks.jsonl.gz").exists(), "no page needs them");
        let packed = into.join("2-core-a-processor/rivals.jsonl.gz");
        assert!(fs::metadata(&packed).unwrap().len() < (line.len() * 10) as u64);
        assert_eq!(json::read(&packed).unwrap().len(), 200);
        let page = || fs::read_to_string(into.join("own.md")).unwrap();
        let written = page();
        assert!(written.contains("(2-core-a-processor/forks.json)"), "{written}");
        // Twice the same: nothing changes.
        let before = fs::read(&packed).unwrap();
        run(&flags).unwrap();
        assert_eq!((fs::read(&packed).unwrap(), page()), (before, written));
        let why = into.join("2-core-a-processor").join(REASONS);
        fs::write(&why, r#"{"forks": {"claim 0 of forks": "nobody knows"}}"#).unwrap();
        assert_eq!(records(&into).unwrap()[0].idle_reasons(), ["forks: claim 0 of forks"], "it holds");
        fs::write(&why, r#"{"forks": "nobody knows"}"#).unwrap();
        assert!(matches!(run(&flags), Err(Error::Usage(text)) if text.contains("why.json is damaged")));
        fs::write(&why, "{}").unwrap();
        run(&Flags { folder: None, redecide: vec!["rivals".to_owned()], ..flags.clone() }).unwrap();
        let [forks, rivals] = &records(&into).unwrap()[0].outcomes[..] else { panic!("two outcomes") };
        let (rivals, forks) = (&rivals.outcome, &forks.outcome);
        let names = |claims: &[&str]| claims.iter().map(ToString::to_string).collect::<Vec<_>>();
        let today: Vec<&str> = find("rivals").unwrap().claims.iter().map(|claim| claim.text).collect();
        assert_eq!(rivals.claims.iter().map(|told| told.claim.clone()).collect::<Vec<_>>(), names(&today));
        assert_eq!((rivals.commit.as_str(), rivals.decided_by.is_some()), ("abc", true), "measured by another commit");
        assert_eq!((forks.claims[0].claim.as_str(), &forks.decided_by), ("claim 0 of forks", &None));
        let unknown = Flags { folder: None, redecide: vec!["forks".to_owned()], ..flags.clone() };
        assert!(matches!(run(&unknown), Err(Error::Usage(text)) if text.contains("has no lines of forks")));
        let empty = Flags { folder: Some(into.clone()), ..flags };
        assert!(matches!(run(&empty), Err(Error::Usage(why)) if why.contains("holds no reproduction")));
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn names_are_plain() {
        let machine = |processor: &str| Machine { processor: processor.to_owned(), cores: 8, ..Machine::default() };
        assert_eq!(name_of(&machine("Intel(R) Xeon(R) CPU @ 2.20GHz")), "8-core-intel-xeon");
        assert_eq!(name_of(&machine("AMD EPYC 9B14")), "8-core-amd-epyc-9b14");
    }
}
