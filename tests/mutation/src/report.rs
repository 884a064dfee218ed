//! The results of all mutants: the arguments for equivalent survivors, and the page `results/mutation.md`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::instrument::Mutant;
use crate::run::{Key, Verdict};

/// Reads the reasons why mutants are equivalent from `equivalent.txt`, whose head describes the format. The error lists
/// arguments for unknown mutants.
pub fn equivalents(root: &Path, keys: &[Key]) -> Result<HashMap<Key, String>, Vec<String>> {
    let path = root.join("tests/mutation/equivalent.txt");
    let text = fs::read_to_string(&path).map_err(|error| vec![format!("{}: {error}", path.display())])?;
    let known: BTreeSet<&Key> = keys.iter().collect();
    let (mut all, mut wrong, mut names) = (HashMap::<Key, String>::new(), Vec::new(), Vec::<Key>::new());
    let mut is_argued = true;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(argument) = line.strip_prefix("    ") {
            is_argued = true;
            for name in &names {
                let whole = all.entry(name.clone()).or_default();
                *whole = format!("{whole} {}", argument.trim()).trim().to_owned();
            }
            continue;
        }
        if std::mem::take(&mut is_argued) {
            names.clear();
        }
        let (name, nth) = match line.rsplit_once(" #") {
            Some((name, nth)) if nth.parse::<usize>().is_ok() => (name, nth.parse().expect("a number")),
            _ => (line, 1),
        };
        let key = (name.to_owned(), nth);
        if !known.contains(&key) {
            wrong.push(format!("equivalent.txt: unknown mutant `{line}`"));
        }
        names.push(key);
    }
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

/// The numbers of mutants of a source, by result.
#[derive(Default)]
struct Counts {
    all: usize,
    excluded: usize,
    unknown: usize,
    killed: BTreeMap<String, usize>,
    hung: usize,
    equivalent: usize,
    open: usize,
}

const KINDS: &[&str] = &["unit", "answers", "queues", "filch", "check"];
const PAGE: &str = "results/mutation.md";
const HEAD: &str = "\
# What the last run of tests/mutation found

<!-- `tests/mutation/run --report` writes this page; docs/mutation.md says what the tool does. -->

";

/// Writes the page. Returns whether every survivor is argued to be equivalent.
pub fn write(
    root: &Path,
    mutants: &[Mutant],
    keys: &[Key],
    known: &HashMap<Key, Verdict>,
    equivalents: &HashMap<Key, String>,
) -> bool {
    let mut files: BTreeMap<&str, Counts> = BTreeMap::new();
    let (mut survivors, mut open) = (BTreeMap::<&str, Vec<String>>::new(), Vec::new());
    for (mutant, key) in mutants.iter().zip(keys) {
        let counts = files.entry(&mutant.file).or_default();
        counts.all += 1;
        let Some(Verdict { verdict, by }) = known.get(key) else {
            counts.unknown += 1;
            continue;
        };
        match (&**verdict, equivalents.get(key)) {
            ("excluded", _) => counts.excluded += 1,
            ("killed", _) if by.contains(": hangs") => counts.hung += 1,
            ("killed", _) => {
                *counts.killed.entry(by.split(':').next().unwrap_or_default().to_owned()).or_default() += 1
            }
            (_, Some(argument)) => {
                counts.equivalent += 1;
                survivors.entry(argument).or_default().push(mutant.name());
            }
            (_, None) => {
                counts.open += 1;
                open.push(mutant.name());
            }
        }
    }
    let mut text = HEAD.to_owned()
        + "| source | mutants | do not compile | run | unit | answers | queues | filch | check | no end | equivalent | open |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    let mut sum = Counts::default();
    for (file, counts) in &files {
        line(&mut text, &format!("`{}`", file.trim_start_matches("crates/").replacen("src/", "", 1)), counts);
        sum.all += counts.all;
        sum.excluded += counts.excluded;
        sum.unknown += counts.unknown;
        sum.hung += counts.hung;
        sum.equivalent += counts.equivalent;
        sum.open += counts.open;
        counts.killed.iter().for_each(|(kind, count)| *sum.killed.entry(kind.clone()).or_default() += count);
    }
    line(&mut text, "**all**", &sum);
    text += "\n## Equivalent\n\n";
    for (argument, names) in survivors {
        names.iter().for_each(|name| writeln!(text, "- {name}").expect("a string"));
        writeln!(text, "\n  {argument}\n").expect("a string");
    }
    if !open.is_empty() {
        text += "## Open\n\n";
        open.iter().for_each(|name| writeln!(text, "- {name}").expect("a string"));
    }
    fs::write(root.join(PAGE), text).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
    open.is_empty()
}

fn line(text: &mut String, name: &str, counts: &Counts) {
    let run = counts.all - counts.excluded - counts.unknown;
    let killed = KINDS.iter().map(|kind| format!(" {} |", counts.killed.get(*kind).unwrap_or(&0))).collect::<String>();
    let Counts { all, excluded, hung, equivalent, open, .. } = counts;
    writeln!(text, "| {name} | {all} | {excluded} | {run} |{killed} {hung} | {equivalent} | {open} |")
        .expect("a string");
}
