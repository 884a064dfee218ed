//! Compiles everything once, with all mutants in it, and runs the tests for one mutant after another.
//!
//! What must always hold: with no mutant active, all tests pass, and their time decides what counts as a hang.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::instrument::{Mutant, render};
use crate::operators::{Form, Point, points, squeeze};
use crate::targets::{CONSTANT, TARGETS, Target};
use crate::{Wish, report};

/// A source and its mutants.
pub struct Source {
    pub target: Target,
    text: String,
    points: Vec<(Point, Vec<usize>)>,
}

/// The result of a mutant.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// `killed`, `survived`, `excluded`.
    pub verdict: String,
    /// The kind of test that found it, and the test.
    pub by: String,
}

/// A mutant's name, and its position among mutants of the same name.
pub type Key = (String, usize);

pub fn run(wish: &Wish) -> bool {
    let (sources, mutants) = match collect(&wish.root) {
        Ok(collected) => collected,
        Err(wrong) => {
            eprintln!("{}", wrong.join("\n"));
            return false;
        }
    };
    let keys = keys(&mutants);
    let work =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| wish.root.join("target"), PathBuf::from).join("mutation");
    fs::create_dir_all(&work).expect("a folder for the work");
    let results = work.join("results.jsonl");
    let known = read_results(&results);
    let equivalents = match report::equivalents(&wish.root, &keys) {
        Ok(equivalents) => equivalents,
        Err(wrong) => {
            eprintln!("{}", wrong.join("\n"));
            return false;
        }
    };
    if wish.check {
        let by_hand = mutants.iter().filter(|mutant| mutant.title.is_some()).count();
        println!(
            "{} mutants, {by_hand} of them made by hand, {} argued to be equivalent",
            mutants.len(),
            equivalents.len()
        );
        return true;
    }
    if wish.report {
        return report::write(&wish.root, &mutants, &keys, &known, &equivalents);
    }
    let wanted: Vec<&Mutant> = mutants
        .iter()
        .filter(|mutant| {
            let result = known.get(&keys[mutant.number - 1]).map(|verdict| &*verdict.verdict);
            (wish.only.is_empty() || wish.only.iter().any(|part| mutant.name().contains(part.as_str())))
                && (!wish.by_hand || mutant.title.is_some())
                && (mutant.title.is_some() || draw(&keys[mutant.number - 1]).is_multiple_of(wish.every))
                && (!wish.open || !equivalents.contains_key(&keys[mutant.number - 1]))
                && match (wish.survivors || wish.open, wish.again || wish.list) {
                    (true, _) => result == Some("survived"),
                    (_, true) => true,
                    (_, false) => result.is_none(),
                }
        })
        .collect();
    if wish.list {
        wanted.iter().for_each(|mutant| println!("{} {}:{}", mutant.number, mutant.name(), mutant.line));
        println!("{} mutants", wanted.len());
        return true;
    }
    println!("{} of {} mutants", wanted.len(), mutants.len());
    let (tests, excluded) = build(wish, &work, &sources, &keys, &wanted);
    let mut log = fs::File::options().append(true).create(true).open(&results).expect("a file for the results");
    let mut note = |mutant: &Mutant, verdict: &Verdict| {
        let (name, nth) = &keys[mutant.number - 1];
        let line = json!({ "name": name, "nth": nth, "verdict": verdict.verdict, "by": verdict.by });
        writeln!(log, "{line}").expect("the file takes it");
    };
    for &number in &excluded {
        let verdict = Verdict { verdict: "excluded".into(), by: String::new() };
        note(&mutants[number - 1], &verdict);
    }
    let targets: BTreeMap<&str, Target> = TARGETS.iter().map(|target| (target.file, *target)).collect();
    let mut usual: HashMap<&str, Vec<Duration>> = HashMap::new();
    let files: BTreeSet<&str> = wanted.iter().map(|mutant| &*mutant.file).collect();
    for file in files {
        let mut times = Vec::new();
        for stage in stages(wish, &targets[file], &tests) {
            let start = Instant::now();
            if let Some(by) = stage.fails(0, Duration::from_secs(600), &work.join("none.log")) {
                println!("{file}: without a mutant, {} fails: {by}", stage.kind);
                return false;
            }
            times.push(start.elapsed());
        }
        println!("{file}: {times:.1?}");
        usual.insert(file, times);
    }
    let (left, note) =
        (Mutex::new(wanted.iter().filter(|mutant| !excluded.contains(&mutant.number))), Mutex::new(note));
    let survived = Mutex::new(0);
    std::thread::scope(|scope| {
        for job in 0..wish.jobs {
            let (left, note, survived, tests, targets, usual) = (&left, &note, &survived, &tests, &targets, &usual);
            let (keys, equivalents) = (&keys, &equivalents);
            let log = work.join(format!("job-{job}.log"));
            scope.spawn(move || {
                loop {
                    let next = left.lock().expect("no thread panics").next();
                    let Some(mutant) = next else { break };
                    let stages = stages(wish, &targets[&*mutant.file], tests);
                    let found = stages.iter().zip(&usual[&*mutant.file]).find_map(|(stage, usual)| {
                        let limit = (*usual * 5).max(Duration::from_secs(10));
                        Some(format!("{}: {}", stage.kind, stage.fails(mutant.number, limit, &log)?))
                    });
                    let verdict = if found.is_some() { "killed" } else { "survived" };
                    let verdict = Verdict { verdict: verdict.into(), by: found.unwrap_or_default() };
                    if verdict.verdict == "survived" && !equivalents.contains_key(&keys[mutant.number - 1]) {
                        *survived.lock().expect("no thread panics") += 1;
                        println!("SURVIVED {} ({}:{})", mutant.name(), mutant.file, mutant.line);
                    }
                    note.lock().expect("no thread panics")(mutant, &verdict);
                }
            });
        }
    });
    let survived = survived.into_inner().expect("no thread panics");
    println!("{survived} survivors are not argued to be equivalent");
    survived == 0
}

/// Returns all mutants, numbered from 1; or the errors in those made by hand.
fn collect(root: &Path) -> Result<(Vec<Source>, Vec<Mutant>), Vec<String>> {
    let (by_hand, mut wrong) = (by_hand(root)?, Vec::new());
    let is_known = |mistake: &ByHand| TARGETS.iter().any(|target| mistake.is_in(target.file));
    wrong.extend(by_hand.iter().filter(|mistake| !is_known(mistake)).map(|mistake| mistake.says("unknown file")));
    let (mut sources, mut mutants) = (Vec::new(), Vec::new());
    for &target in TARGETS.iter() {
        let path = root.join(target.file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let text = without_const(&text);
        let mut found = points(&text);
        for mistake in by_hand.iter().filter(|mistake| mistake.is_in(target.file)) {
            if let Err(why) = add_by_hand(&text, &mut found, mistake) {
                wrong.push(mistake.says(&why));
            }
        }
        let mut numbered = Vec::new();
        for point in found {
            let mut numbers = Vec::new();
            for (_, what) in &point.alternatives {
                let number = mutants.len() + 1;
                let (what, title) = match what.strip_prefix(BY_HAND) {
                    Some(title) => (title.to_owned(), Some(title.to_owned())),
                    None => (what.clone(), None),
                };
                mutants.push(Mutant {
                    number,
                    file: target.file.to_owned(),
                    line: text[..point.range.start].matches('\n').count() + 1,
                    function: point.function.clone(),
                    what,
                    title,
                });
                numbers.push(number);
            }
            numbered.push((point, numbers));
        }
        sources.push(Source { target, text, points: numbered });
    }
    if wrong.is_empty() { Ok((sources, mutants)) } else { Err(wrong) }
}

/// Removes `const` from functions that do not need it.
fn without_const(text: &str) -> String {
    let mut all = String::new();
    for (index, part) in text.split("const fn ").enumerate() {
        let name = part.split(['(', '<']).next().unwrap_or_default();
        let is_function = index > 0;
        all += if is_function && CONSTANT.contains(&name) {
            "const fn "
        } else if is_function {
            "fn "
        } else {
            ""
        };
        all += part;
    }
    all
}

/// A mistake made by hand.
struct ByHand {
    file: String,
    title: String,
    /// Text before the original, to tell it from its other occurrences.
    after: String,
    from: String,
    to: String,
}

impl ByHand {
    fn is_in(&self, file: &str) -> bool {
        file.split_once("/src/").is_some_and(|(_, rest)| rest == self.file)
    }

    fn says(&self, what: &str) -> String {
        format!("by-hand.txt: {}: {}: {what}", self.file, self.title)
    }
}

const BY_HAND: &str = "by hand: ";

/// Reads the mistakes of `by-hand.txt`, whose head describes the format.
fn by_hand(root: &Path) -> Result<Vec<ByHand>, Vec<String>> {
    let path = root.join("tests/mutation/by-hand.txt");
    let text = fs::read_to_string(&path).map_err(|error| vec![format!("{}: {error}", path.display())])?;
    let mut all: Vec<ByHand> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let push = |to: &mut String, part: &str| {
            if !to.is_empty() {
                to.push('\n');
            }
            to.push_str(part);
        };
        let part = line.split_once(' ').filter(|(sign, _)| matches!(*sign, "-" | "+" | "@"));
        if let Some((sign, part)) = part {
            let Some(mistake) = all.last_mut() else {
                return Err(vec![format!("by-hand.txt: `{line}` precedes the first title")]);
            };
            match sign {
                "-" => push(&mut mistake.from, part),
                "+" => push(&mut mistake.to, part),
                _ => push(&mut mistake.after, part),
            }
        } else if let Some((file, title)) = line.split_once(": ") {
            let [after, from, to] = Default::default();
            all.push(ByHand { file: file.into(), title: title.into(), after, from, to });
        } else {
            return Err(vec![format!("by-hand.txt: `{line}` is neither a title nor a change")]);
        }
    }
    Ok(all)
}

fn add_by_hand(text: &str, points: &mut Vec<Point>, mistake: &ByHand) -> Result<(), String> {
    let ByHand { after, from, .. } = mistake;
    let begin = text.find(after).ok_or_else(|| format!("`{after}` is not in the source"))?;
    let start = begin + text[begin..].find(from).ok_or_else(|| format!("`{from}` is not in the source"))?;
    let end = start + from.len();
    if after.is_empty() && text[end..].contains(from) {
        return Err(format!("`{from}` occurs twice, and no `@` selects one"));
    }
    let is_statement = mistake.from.ends_with([';', '}']);
    for part in [from, &mistake.to] {
        let is_whole = match is_statement {
            true => syn::parse_str::<syn::Block>(&format!("{{ {part} }}")).is_ok(),
            false => syn::parse_str::<syn::Expr>(part).is_ok(),
        };
        if !is_whole {
            return Err(format!("`{part}` is neither an expression nor statements"));
        }
    }
    let alternative = (mistake.to.clone(), format!("{BY_HAND}{}", mistake.title));
    let same = points.iter_mut().find(|point| point.range == (start..end) && point.form == Form::Instead);
    if let Some(point) = same {
        point.alternatives.push(alternative);
        return Ok(());
    }
    let overlaps = |other: &Range<usize>| {
        other.start < end
            && start < other.end
            && !(other.start <= start && end <= other.end || start <= other.start && other.end <= end)
    };
    if let Some(other) = points.iter().find(|point| overlaps(&point.range)) {
        return Err(format!("`{from}` overlaps `{}` in part", squeeze(&text[other.range.clone()])));
    }
    // It belongs to the function of the point around or before it.
    let function = points.iter().rev().find(|point| point.range.start <= start).map(|point| point.function.clone());
    let point = Point {
        range: start..end,
        form: Form::Instead,
        is_statement,
        function: function.unwrap_or_default(),
        alternatives: vec![alternative],
    };
    let at = points.partition_point(|other| {
        (other.range.start, std::cmp::Reverse(other.range.end)) < (start, std::cmp::Reverse(end))
    });
    points.insert(at, point);
    Ok(())
}

/// Returns a number that depends on the mutant alone.
fn draw((name, nth): &Key) -> usize {
    let mixed = name.bytes().fold(*nth as u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (mixed >> 32) as usize
}

fn keys(mutants: &[Mutant]) -> Vec<Key> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let key = |mutant: &Mutant| {
        let nth = seen.entry(mutant.name()).or_default();
        *nth += 1;
        (mutant.name(), *nth)
    };
    mutants.iter().map(key).collect()
}

fn read_results(path: &Path) -> HashMap<Key, Verdict> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut all = HashMap::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let said = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let nth = line["nth"].as_u64().unwrap_or(1) as usize;
        all.insert((said("name"), nth), Verdict { verdict: said("verdict"), by: said("by") });
    }
    all
}

/// The test programs, by name.
type Tests = HashMap<String, PathBuf>;

const CRATES: &[&str] = &["filch-memory", "filch-macros", "filch-queue", "filch", "filch-catalogue", "filch-check"];

/// Compiles a copy of the workspace with the wanted mutants in it, and the tests that they need. Leaves out the mutants
/// that do not compile, and returns them too.
fn build(wish: &Wish, work: &Path, sources: &[Source], keys: &[Key], wanted: &[&Mutant]) -> (Tests, BTreeSet<usize>) {
    let files: BTreeSet<&str> = wanted.iter().map(|mutant| &*mutant.file).collect();
    let wanted: BTreeSet<usize> = wanted.iter().map(|mutant| mutant.number).collect();
    let targets = || TARGETS.iter().filter(|target| files.contains(target.file));
    let mut programs: BTreeSet<(&str, &str)> = BTreeSet::new();
    for target in targets() {
        programs.extend(target.programs.iter().map(|program| ("filch", *program)));
        programs.extend((!target.queues.is_empty()).then_some(("filch-queue", "queues")));
        programs.extend((!target.subjects.is_empty()).then_some(("filch-check", "quick")));
        programs.extend(target.units.map(|_| (if target.is_of_filch() { "filch" } else { "filch-queue" }, "")));
    }
    programs.retain(|(_, program)| wish.runs(program));
    let tree = work.join("tree");
    copy(&wish.root, &tree);
    let stored = work.join("excluded.json");
    let known: Vec<(String, usize)> =
        fs::read(&stored).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let mut excluded: BTreeSet<usize> =
        keys.iter().enumerate().filter(|(_, key)| known.contains(key)).map(|(index, _)| index + 1).collect();
    loop {
        for source in sources {
            let is_out = |number| !wanted.contains(&number) || excluded.contains(&number);
            let text = render(&source.text, &source.points, &is_out);
            write_if_new(&tree.join(source.target.file), &text);
        }
        let (mut tests, mut wrong, mut told, mut is_compiled) = (Tests::new(), BTreeSet::new(), String::new(), true);
        // One package at a time, so that cargo compiles no unit tests that do not run.
        for package in ["filch-queue", "filch", "filch-check"] {
            let of_package: Vec<_> = programs.iter().filter(|(of, _)| *of == package).collect();
            if of_package.is_empty() || !is_compiled {
                continue;
            }
            let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
            command.args(["test", "--no-run", "--message-format=json", "-p", package]).current_dir(&tree);
            if package == "filch-queue" {
                // The fence-free queues, and their tests.
                command.arg("--all-features");
            }
            for (_, program) in of_package {
                if program.is_empty() {
                    command.arg("--lib")
                } else {
                    command.args(["--test", program])
                };
            }
            command.env("CARGO_TARGET_DIR", work.join("build")).env("RUSTFLAGS", "--cap-lints allow --cfg filch_long");
            command.env("CARGO_PROFILE_DEV_DEBUG", "0").stderr(Stdio::inherit());
            let output = command.output().expect("cargo runs");
            is_compiled = output.status.success();
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
                if message["reason"] == "compiler-artifact"
                    && let (Some(name), Some(path)) =
                        (message["target"]["name"].as_str(), message["executable"].as_str())
                {
                    tests.insert(name.to_owned(), path.into());
                }
                if message["reason"] == "compiler-message" && message["message"]["level"] == "error" {
                    told += message["message"]["rendered"].as_str().unwrap_or_default();
                    wrong.extend(blamed(&tree, &message["message"]));
                }
            }
        }
        if is_compiled {
            return (tests, excluded);
        }
        let before = excluded.len();
        excluded.extend(wrong);
        assert!(excluded.len() > before, "it does not compile, even without its mutants:\n{told}");
        println!("{} mutants do not compile", excluded.len());
        let names: Vec<_> = excluded.iter().map(|&number| &keys[number - 1]).collect();
        fs::write(&stored, serde_json::to_vec(&names).expect("names")).expect("the folder is there");
    }
}

/// Returns the mutants on the lines of an error.
fn blamed(tree: &Path, message: &Value) -> BTreeSet<usize> {
    let mut numbers = BTreeSet::new();
    let empty = Vec::new();
    let mut spans: Vec<&Value> = message["spans"].as_array().unwrap_or(&empty).iter().collect();
    let children = message["children"].as_array().unwrap_or(&empty).iter();
    spans.extend(children.flat_map(|child| child["spans"].as_array().unwrap_or(&empty)));
    for span in spans {
        let Ok(text) = fs::read_to_string(tree.join(span["file_name"].as_str().unwrap_or_default())) else { continue };
        let line = |name: &str| span[name].as_u64().unwrap_or(1) as usize;
        // An alternative is on the line below its number.
        let (first, last) = (line("line_start").saturating_sub(2), line("line_end"));
        for line in text.lines().take(last).skip(first) {
            let found = line.split("mutant::is_on(").skip(1);
            numbers.extend(found.filter_map(|rest| rest.split(')').next()?.parse::<usize>().ok()));
        }
    }
    numbers
}

fn copy(root: &Path, tree: &Path) {
    let folders = CRATES.iter().map(|name| format!("crates/{name}"));
    let mut command = Command::new("git");
    command.args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "Cargo.toml",
        "Cargo.lock",
        "rustfmt.toml",
    ]);
    let listed = command.args(folders).current_dir(root).output().expect("git runs").stdout;
    let listed = String::from_utf8(listed).expect("names of files");
    // A file deleted there would be a second source of the same module here.
    remove_all_but(tree, tree, &listed.lines().filter(|file| root.join(file).exists()).collect());
    for file in listed.lines() {
        if TARGETS.iter().any(|target| target.file == file) {
            continue;
        }
        let Ok(mut bytes) = fs::read(root.join(file)) else { continue };
        if file == "Cargo.toml" {
            let text = String::from_utf8(bytes).expect("a manifest");
            // Only some of the members are copied, of which none may be the default.
            let lines = text.lines().filter(|line| !line.starts_with("default-members"));
            let lines = lines.map(|line| if line.starts_with("members") { "members = [\"crates/*\"]" } else { line });
            bytes = lines.collect::<Vec<_>>().join("\n").into();
        }
        if file == "crates/filch-memory/src/lib.rs" {
            bytes.extend(WHICH.as_bytes());
        }
        write_if_new(&tree.join(file), &String::from_utf8_lossy(&bytes));
    }
}

fn remove_all_but(tree: &Path, folder: &Path, wanted: &BTreeSet<&str>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.strip_prefix(tree).ok().and_then(Path::to_str);
        if path.is_dir() {
            remove_all_but(tree, &path, wanted);
        } else if name.is_none_or(|name| !wanted.contains(name)) {
            fs::remove_file(&path).expect("files of the copy can be removed");
        }
    }
}

/// The code that selects the active mutant.
const WHICH: &str = "
#[doc(hidden)]
#[allow(missing_docs, clippy::all)]
pub mod mutant {
    extern crate std;
    static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    #[inline]
    pub fn is_on(number: u32) -> bool {
        *ON.get_or_init(|| std::env::var(\"FILCH_MUTANT\").map_or(0, |on| on.parse().expect(\"a number\"))) == number
    }
}
";

/// Writes a file only if it has changed, so that cargo compiles only changes.
fn write_if_new(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
    fs::write(path, text).expect("files can be written");
}

/// A group of tests of one program.
struct Stage<'t> {
    kind: &'static str,
    program: &'t Path,
    filters: Vec<String>,
    subjects: String,
}

/// Returns the tests of a target, the cheapest first.
fn stages<'t>(wish: &Wish, target: &Target, tests: &'t Tests) -> Vec<Stage<'t>> {
    let mut all = Vec::new();
    let owned = |filters: &[&str], end: &str| filters.iter().map(|filter| format!("{filter}{end}")).collect();
    let mut add = |kind, program: &str, filters: Vec<String>, subjects: String| {
        if !wish.runs(if kind == "unit" { "" } else { program }) {
            return;
        }
        let program = tests.get(program).unwrap_or_else(|| panic!("{program} was not compiled"));
        all.push(Stage { kind, program, filters, subjects });
    };
    if let Some(units) = target.units {
        let program = if target.is_of_filch() { "filch" } else { "filch_queue" };
        add("unit", program, vec![units.to_owned()], String::new());
    }
    if !target.queues.is_empty() {
        let answers = if target.queues.iter().all(|filter| filter.ends_with("::")) { "answers" } else { "" };
        if !answers.is_empty() {
            add("answers", "queues", owned(target.queues, answers), String::new());
        }
        add("queues", "queues", owned(target.queues, ""), String::new());
    }
    for program in target.programs {
        add("filch", program, Vec::new(), String::new());
    }
    if !target.subjects.is_empty() {
        add("check", "quick", Vec::new(), target.subjects.join(","));
    }
    all
}

impl Stage<'_> {
    /// Returns the test that fails with this mutant active, if any.
    fn fails(&self, mutant: usize, limit: Duration, log: &Path) -> Option<String> {
        let file = fs::File::create(log).expect("a log");
        let mut command = Command::new("bash");
        // A mutant may allocate all memory.
        command.args(["-c", "ulimit -v 8000000; exec \"$0\" \"$@\""]).arg(self.program).args(&self.filters);
        command
            .args(["--test-threads", "2"])
            .env("FILCH_LONG", "1")
            .env("FILCH_MUTANT", mutant.to_string())
            .env("RUST_BACKTRACE", "0");
        if !self.subjects.is_empty() {
            // The case left out takes as long as all others together, and finds the same mutants.
            command.env("FILCH_SUBJECTS", &self.subjects).env("FILCH_LEFT_OUT", "2 searching").arg("--nocapture");
        }
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("the same log")).stderr(file).process_group(0);
        let mut child = command.spawn().expect("bash runs");
        let (start, mut read) = (Instant::now(), 0);
        loop {
            if let Some(status) = child.try_wait().expect("a child of this process") {
                let failed = self.failed(log).or_else(|| Some(format!("exits: {status}")));
                return failed.filter(|_| !status.success());
            }
            // Output after the first failure adds nothing.
            let length = fs::metadata(log).map_or(0, |log| log.len());
            let failed = if std::mem::replace(&mut read, length) == length { None } else { self.failed(log) };
            let is_late = start.elapsed() > limit;
            if failed.is_some() || is_late {
                let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
                let _ = child.wait();
                return failed.or_else(|| self.failed(log)).or_else(|| Some(format!("hangs in {}", self.running(log))));
            }
            std::thread::sleep(Duration::from_millis(if start.elapsed() < Duration::from_secs(1) { 5 } else { 50 }));
        }
    }

    /// Returns the first failed test, or failed check, so far.
    fn failed(&self, log: &Path) -> Option<String> {
        let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
        let found = |line: &str| match self.kind {
            "check" => Some(squeeze(line.strip_prefix("wrong: ")?.split(" on ").next()?)),
            _ => Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned()),
        };
        text.lines().find_map(found)
    }

    /// Returns a test that is still running.
    fn running(&self, log: &Path) -> String {
        let text = fs::read_to_string(log).unwrap_or_default();
        let long = text.lines().find_map(|line| line.strip_prefix("test ")?.split(" has been running").next());
        long.filter(|name| !name.contains(" ... ")).unwrap_or("a test").to_owned()
    }
}
