//! Users' runners: working ones and broken ones.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::{filch, folder, lines, stderr, stdout, well};

/// Writes a runner as a shell script, with its reactions to prepare and run.
fn runner(name: &str, version: u32, prepare: &str, run: &str) -> String {
    use std::os::unix::fs::PermissionsExt;

    let path = folder().join(format!("runner-{name}"));
    let script = format!(
        r#"#!/bin/sh
echo '{{"tell":"hello","protocol":{version},"scheduler":"{name}","version":"7"}}'
while read -r line; do
    case $line in
        *describe*) echo '{{"tell":"description","programs":[{{"name":"fib","parameters":["n"]}}],"most_workers":1}}' ;;
        *prepare*) {prepare} ;;
        *run*) {run} ;;
        *reset*) echo '{{"tell":"ready"}}' ;;
    esac
done
"#
    );
    fs::write(&path, script).expect("the folder is writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    path.display().to_string()
}

const READY: &str = r#"echo '{"tell":"ready"}'"#;

const RIGHT: &str = r#"echo '{"tell":"ran","seconds":0.000001,"answer":"55"}'"#;

/// The seconds for a run, far more than it takes on a busy machine.
const PATIENCE: &str = "300";

/// Compares `fib` on the pool `split` and this runner; returns the output and the lines.
fn compared(name: &str, path: &str, seconds: &str) -> (Output, Vec<Value>) {
    let file = format!("runner-{name}.jsonl");
    let common = ["compare", "fib:n=10", "--pools", "split", "--peers=", "--workers", "1", "--repeat", "2"];
    let rest = ["--no-report", "--timeout", seconds, "--json", &file, "--runner", path];
    let output = filch(&[&common[..], &rest].concat());
    let text = fs::read_to_string(folder().join(file)).expect("the lines can be read");
    (output, lines(&text))
}

#[test]
fn a_runner_runs_by_itself_and_its_answers_are_checked() {
    let run =
        |path: &str| filch(&["run", "fib:n=10", "--runner", path, "--workers", "1", "--repeat", "2", "--json", "-"]);
    let right = run(&runner("alone", 1, READY, RIGHT));
    assert_eq!(right.status.code(), Some(0), "{}", stderr(&right));
    let runs = lines(&stdout(&right));
    assert!(
        runs.len() == 2 && runs.iter().all(|run| run["scheduler"] == "alone" && run["correct"] == true),
        "{runs:?}"
    );
    let wrong = run(&runner("alone-wrong", 1, READY, r#"echo '{"tell":"ran","seconds":0,"answer":"56"}'"#));
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stderr(&wrong).contains("2 of 2 runs are wrong: the answer is 56, but it should be 55"),
        "{}",
        stderr(&wrong)
    );
}

/// Writes a runner as a copy of another, with the same name.
fn copy_of(runner: &str) -> String {
    let copy = format!("{runner}-built-again");
    fs::copy(runner, &copy).expect("the folder is writable");
    copy
}

#[test]
fn two_runners_of_one_name_are_two_rows() {
    let one = runner("twin", 1, READY, RIGHT);
    let (file, other) = ("runner-twins.jsonl", copy_of(&one));
    let common = ["compare", "fib:n=10", "--pools", "split", "--peers=", "--workers", "1", "--repeat", "2"];
    let rest = ["--no-report", "--json", file, "--runner", &one, "--runner", &other];
    let said = stdout(&well(&[&common[..], &rest].concat()));
    let all = lines(&fs::read_to_string(folder().join(file)).expect("the lines can be read"));
    for path in [&one, &other] {
        assert!(said.contains(&format!("twin ({path})")), "{said}");
        let runs = runs_of(&all, "twin").into_iter().filter(|run| run["build"] == **path);
        assert!(runs.count() >= 2, "{path}");
    }
}

/// A reply with this time.
fn timed(seconds: &str) -> String {
    format!(r#"echo '{{"tell":"ran","seconds":{seconds},"answer":"55"}}'"#)
}

#[test]
fn a_build_is_gated_by_another_one() {
    let slower = copy_of(&runner("gated", 1, READY, &timed("0.00000103")));
    let before = runner("gated", 1, READY, &timed("0.000001"));
    let same = format!("{before}-same");
    fs::copy(&before, &same).expect("the folder is writable");
    let compared = |after: &str, limit: &str| {
        let common = ["compare", "fib:n=10", "--workers", "1", "--repeat", "5", "--no-report", "--csv", "gated.csv"];
        filch(&[&common[..], &["--runner", after, "--baseline", &before, "--fail-above", limit]].concat())
    };
    let failed = compared(&slower, "2%");
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    let why = format!("gated ({slower}) on 1 is slower than gated ({before}) by 3.0 % [3.0, 3.0]; the limit is 2 %");
    assert!(stderr(&failed).contains(&why), "{}", stderr(&failed));
    let said = stdout(&failed);
    assert!(said.contains("slower") && said.contains("+3.0 %") && !said.contains("rayon"), "{said}");
    let csv = fs::read_to_string(folder().join("gated.csv")).expect("a file");
    let row = csv.lines().find(|line| line.contains("-built-again")).expect("a row");
    let place = csv.lines().next().expect("a head").split(',').position(|head| head == "T/base").expect("a column");
    assert_eq!(row.split(',').nth(place), Some("1.03"), "{csv}");
    assert_eq!(compared(&slower, "5%").status.code(), Some(0));
    let equal = compared(&same, "0%");
    assert_eq!(equal.status.code(), Some(0), "{}", stderr(&equal));
    assert!(stdout(&equal).contains("no difference"), "{}", stdout(&equal));
    let alone = filch(&["compare", "fib:n=10", "--baseline", &before]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(stderr(&alone).contains("nothing is compared with"), "{}", stderr(&alone));
}

fn runs_of<'l>(lines: &'l [Value], scheduler: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["scheduler"] == scheduler).collect()
}

#[test]
fn a_users_runner_is_compared() {
    let (output, lines) = compared("guest", &runner("guest", 1, READY, RIGHT), PATIENCE);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("guest"), "{}", stdout(&output));
    let runs = runs_of(&lines, "guest");
    assert!(
        runs.len() >= 2 && runs.iter().all(|run| run["seconds"] == 0.000_001 && run["correct"] == true),
        "{runs:?}"
    );
    assert_eq!(runs[0]["version"], "7");
    // It does not know the cutoff, and has one worker.
    let path = folder().join("runner-guest").display().to_string();
    let more = ["compare", "fib:n=10:cutoff=3", "fib:n=10", "--pools", "split", "--peers=", "--workers", "1,2"];
    let output = well(&[&more[..], &["--repeat", "1", "--no-report", "--runner", &path]].concat());
    let said = stdout(&output);
    assert!(
        said.contains("does not know cutoff of fib, which is 3") && said.contains("cannot run with 2 workers"),
        "{said}"
    );
}

#[test]
fn a_runner_in_c_is_compared() {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/runner-in-c/runner.c");
    let program = folder().join("runner-in-c");
    let compiler = Command::new("cc").args(["-std=c99", "-O2", "-o"]).arg(&program).arg(source).arg("-lm").status();
    if !compiler.is_ok_and(|status| status.success()) {
        return println!("not tested: no C compiler");
    }
    let (_, lines) = compared("c", &program.display().to_string(), PATIENCE);
    let strangers = |line: &&Value| !["filch", "serial"].contains(&line["scheduler"].as_str().unwrap_or_default());
    let runs: Vec<&Value> = lines.iter().filter(strangers).collect();
    assert!(runs.len() >= 2 && runs.iter().all(|run| run["correct"] == true && run["answer"] == "55"), "{lines:?}");
}

#[test]
fn a_broken_runner_is_omitted() {
    let hello = runner("rubbish", 1, "echo 'Hello, world'", RIGHT);
    let crash = "echo 'out of luck' >&2; exit 3";
    let bad = r#"echo '{"tell":"ran","seconds":0.000001,"answer":"56"}'"#;
    // It closes its output, as if it had ended.
    let lingers = format!("{RIGHT}; exec sleep 20 >/dev/null 2>&1");
    let no = r#"echo '{"tell":"refused","why":"not on a Monday"}'"#;
    let cases = [
        ("rubbish", hello, "Hello, world"),
        ("crash", runner("crash", 1, crash, RIGHT), "out of luck"),
        ("killed", runner("killed", 1, READY, "kill -9 $$"), "signal: 9"),
        ("hang", runner("hang", 1, "exec sleep 100", RIGHT), "did not end in time"),
        ("early", runner("early", 1, RIGHT, RIGHT), "unexpected reply"),
        ("liar", runner("liar", 1, READY, bad), "the answer is 56, but it should be 55"),
        (
            "nonsense",
            runner("nonsense", 1, READY, r#"echo '{"tell":"ran","seconds":-1,"answer":"55"}'"#),
            "reports -1 s",
        ),
        (
            "boastful",
            runner("boastful", 1, READY, r#"echo '{"tell":"ran","seconds":90000,"answer":"55"}'"#),
            "reports 90000 s",
        ),
        ("lingering", runner("lingering", 1, READY, &lingers), "it did not end"),
        ("silent", runner("silent", 1, READY, r#"echo '{"tell":"ran","seconds":0}'"#), "missing field"),
        ("unwilling", runner("unwilling", 1, no, RIGHT), "not on a Monday"),
        ("other", runner("other", 2, READY, RIGHT), "uses version 2 of the protocol"),
    ];
    let is_omitted = |(name, path, words): &(&str, String, &str)| {
        // The limit is also for filch's own runner.
        let (output, lines) = compared(name, path, if *name == "hang" { "10" } else { PATIENCE });
        let told = stderr(&output) + &stdout(&output);
        assert!(told.contains(*words), "{name}: `{words}` in {told}");
        assert!(!told.contains("panicked"), "{name}: {told}");
        // A refusal is not a failure, but a crash or a wrong answer is.
        let refused = ["unwilling", "other"].contains(name);
        assert_eq!(output.status.code(), Some(i32::from(!refused)), "{name}: {told}");
        let others = runs_of(&lines, "filch").len();
        assert!(others >= 2 && runs_of(&lines, "serial").len() >= 2, "{name}: {lines:?}");
        assert!(runs_of(&lines, name).iter().all(|run| run["correct"] == false), "{name}: {lines:?}");
    };
    // Most of the time is waiting.
    std::thread::scope(|scope| {
        for cases in cases.chunks(3) {
            scope.spawn(move || cases.iter().for_each(is_omitted));
        }
    });
}

#[test]
fn a_missing_runner_is_told_before_anything_runs() {
    let output = filch(&["compare", "fib", "--runner", "/nonexistent/runner"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("/nonexistent/runner: there is no such file"), "{}", stderr(&output));
    assert!(stdout(&output).is_empty(), "{}", stdout(&output));
}
