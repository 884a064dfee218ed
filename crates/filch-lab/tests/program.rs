//! The program as people call it: what it prints, where, and with which exit status.

mod common;

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use common::driver;
use serde_json::Value;

fn filch(arguments: &[&str]) -> Output {
    let mut command = driver();
    command.args(arguments).current_dir(folder()).env_remove("NO_COLOR").stdin(Stdio::null());
    command.output().expect("the program starts")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object on each line")).collect()
}

fn well(arguments: &[&str]) -> Output {
    let output = filch(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    output
}

/// Bad usage: status 2, nothing on standard output, and these words on standard error.
fn refuses(arguments: &[&str], words: &[&str]) {
    let output = filch(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: `{word}` in {said}");
    }
}

#[test]
fn workers_out_of_range_are_refused() {
    for verb in
        [&["run", "fib"][..], &["compare", "fib"], &["probe", "idle"], &["probe", "wakeup"], &["probe", "calls"]]
    {
        for workers in ["0", "100000", "-1", "two"] {
            refuses(&[verb, &["--workers", workers]].concat(), &["--workers", workers]);
        }
    }
    refuses(&["compare", "--workers", "1,0"], &["0 is not in 1..=1024"]);
    refuses(&["stress", "programs", "--workers", "0"], &["--workers"]);
    refuses(&["stress", "--threads", "0"], &["--threads"]);
}

#[test]
fn unknown_names_get_suggestions() {
    refuses(&["run", "fibb"], &["fibb", "did you mean `fib`"]);
    refuses(&["run", "fib", "--pool", "chaselev"], &["did you mean `chase-lev`"]);
    refuses(&["run", "fib", "--peer", "rayn"], &["did you mean `rayon`?"]);
    refuses(&["run", "fib", "--wait", "leapfog"], &["did you mean `leapfrog`"]);
    refuses(&["run", "fib", "--peer", "qqqq"], &["rayon", "chili"]);
    refuses(&["compare", "quens"], &["did you mean `queens`?"]);
    refuses(&["compare", "--pools", "spilt"], &["did you mean `split`?"]);
    refuses(&["compare", "--peers", "chilli"], &["did you mean `chili`?"]);
    refuses(&["stress", "chaselev"], &["there is no queue", "did you mean `chase-lev`"]);
    refuses(&["compare", "--columns", "median,spedup"], &["there is no column", "did you mean `speedup`"]);
    refuses(&["report", "none.jsonl", "--columns", "medan"], &["did you mean `median`"]);
    refuses(&["list", "pool"], &["pools"]);
    refuses(&["comare"], &["compare"]);
    refuses(&["run", "fib", "--worker", "1"], &["--workers"]);
}

#[test]
fn bad_parameters_are_refused() {
    refuses(&["run", "fib", "--set", "n=-1"], &["fib", "n", "-1"]);
    refuses(&["run", "fib", "--set", "n=ten"], &["ten"]);
    refuses(&["run", "fib", "--set", "foo"], &["foo", "NAME=VALUE"]);
    refuses(&["run", "fib", "--set", "=3"], &["NAME=VALUE"]);
    refuses(&["run", "fib", "--set", "m=3"], &["m"]);
    refuses(&["run", "fib", "--set", "n=99999999999999999999999"], &["n"]);
    refuses(&["run", "cilksort", "--set", "n=1000000000000"], &["memory"]);
    refuses(&["compare", "cilksort:n=1000000000000"], &["memory"]);
    refuses(&["compare", "fib:n"], &["NAME=VALUE"]);
    refuses(&["run"], &["WORKLOAD"]);
}

#[test]
fn absurd_amounts_are_refused() {
    for repeat in ["0", "-3", "1000000000", "99999999999999999999"] {
        refuses(&["run", "fib", "--repeat", repeat], &["--repeat"]);
        refuses(&["compare", "fib", "--repeat", repeat], &["--repeat"]);
    }
    refuses(&["run", "fib", "--warmup", "-1"], &["--warmup"]);
    refuses(&["compare", "--budget", "0"], &["--budget"]);
    refuses(&["probe", "wakeup", "--samples", "0"], &["--samples"]);
}

#[test]
fn runners_are_built_by_name() {
    let output = well(&["build", "serial", "split"]);
    let said = stdout(&output);
    assert!(said.lines().count() == 2 && said.lines().all(|path| PathBuf::from(path).is_file()), "{said}");
    refuses(&["build", "spilt"], &["did you mean `split`"]);
}

#[test]
fn contradictions_are_refused() {
    refuses(&["compare", "--quick", "--size", "paper"], &["--quick", "--size"]);
    refuses(&["run", "fib", "--pool", "split", "--peer", "rayon"], &["--pool"]);
    refuses(&["run", "fib", "--pool", "serial", "--workers", "2"], &["one worker"]);
    refuses(&["run", "fib", "--pool", "serial", "--style", "closures"], &["--style"]);
    refuses(&["run", "fib", "--peer", "rayon", "--pin"], &["--pin"]);
    refuses(&["run", "fib", "--pool", "chase-lev", "--style", "closures"], &["style `closures`"]);
    refuses(&["compare", "--report", "a.html", "--no-report"], &["--report"]);
}

#[test]
fn unwritable_files_are_found_before_measuring() {
    // So large that the test would never end if it were measured first.
    let huge = ["run", "fib", "--set", "n=60", "--workers", "1"];
    refuses(
        &[&huge[..], &["--json", "/nonexistent/runs.jsonl"]].concat(),
        &["cannot write", "/nonexistent/runs.jsonl"],
    );
    let huge = ["compare", "fib:n=60"];
    refuses(&[&huge[..], &["--report", "/nonexistent/report.html"]].concat(), &["cannot write", "/nonexistent"]);
    refuses(&[&huge[..], &["--no-report", "--json", "/"]].concat(), &["cannot write"]);
    refuses(&["report", "/nonexistent/runs.jsonl"], &["cannot read"]);
}

#[test]
fn every_verb_has_help_with_examples() {
    let verbs: [&[&str]; 11] = [
        &["compare"],
        &["build"],
        &["run"],
        &["list"],
        &["report"],
        &["stress"],
        &["stress", "programs"],
        &["probe", "idle"],
        &["probe", "wakeup"],
        &["probe", "calls"],
        &[],
    ];
    for verb in verbs {
        let help = stdout(&well(&[verb, &["--help"]].concat()));
        assert!(help.contains("Usage:") && !help.contains('\u{1b}'), "{verb:?}");
        assert!(verb.is_empty() || help.contains("Examples:"), "{verb:?}");
        assert!(!help.contains("--gate") && !help.contains("--child"), "{verb:?}");
    }
}

#[test]
fn lists_name_what_there_is() {
    let all = stdout(&well(&["list"]));
    for name in ["split", "chase-lev", "locked", "serial", "fib", "queens", "uts", "rayon", "chili", "leapfrog"] {
        assert!(all.contains(name), "{name}");
    }
    assert!(!all.contains('\u{1b}'), "no colour in a pipe");
    let workloads = stdout(&well(&["list", "workloads"]));
    for word in ["worklist, idempotent", "spanning-tree", "pseudo-dfs", "fork–join"] {
        assert!(workloads.contains(word), "{word}");
    }
    let pools = stdout(&well(&["list", "pools"]));
    assert!(pools.contains("fork–join, worklists") && pools.contains("idempotent worklists"));
    let parameters = stdout(&well(&["list", "parameters"]));
    assert!(parameters.contains("block") && parameters.contains("bwos-l bwos-f") && parameters.contains("delta"));
    let waits = stdout(&well(&["list", "waits"]));
    assert!(waits.contains("(the default)") && !waits.contains("rayon"));
    let columns = stdout(&well(&["list", "columns"]));
    for word in ["relative-speedup", "T1/TP", "seconds", "nine tenths"] {
        assert!(columns.contains(word), "{word} in {columns}");
    }
}

#[test]
fn a_run_prints_the_documented_object_and_nothing_else() {
    let output = well(&["run", "fib", "--set", "n=20", "--workers", "2", "--repeat", "3", "--json", "-"]);
    let runs = lines(&stdout(&output));
    assert_eq!(runs.len(), 3);
    for (repeat, run) in runs.iter().enumerate() {
        assert_eq!(run["workload"], "fib");
        assert_eq!(run["params"]["n"], 20);
        assert_eq!(run["scheduler"], "filch");
        assert_eq!(run["pool"], "split");
        assert_eq!(run["style"], "handles");
        assert_eq!(run["workers"], 2);
        assert_eq!(run["repeat"], repeat);
        assert_eq!(run["answer"], "6765");
        assert_eq!(run["correct"], true);
        assert_eq!(run["tasks"], 10_945);
        assert!(run["seconds"].as_f64().unwrap() > 0.0);
        assert!(run["counters"]["steals"].is_u64() && run["counters"]["peak_depth"].is_u64());
        assert!(run["wait"].is_string() && run["commit"].is_string() && run["version"].is_string());
        assert!(run["peak_rss_bytes"].as_u64().unwrap() > 0);
        for name in ["processor", "cores", "kernel", "compiler", "governor", "profile", "rustflags"] {
            assert!(!run["machine"][name].is_null(), "{name}");
        }
    }
}

#[test]
fn every_scheduler_computes_the_same() {
    let pools = ["serial", "split", "chase-lev", "lace", "locked", "filch-closures", "filch-levels"];
    let runs = pools
        .map(|pool| ["--pool", pool])
        .into_iter()
        .chain(["rayon", "chili", "lace-ws"].map(|peer| ["--peer", peer]));
    for scheduler in runs {
        let start = ["run", "fib", "--set", "n=15", "--repeat", "1", "--json", "-"];
        let runs = lines(&stdout(&well(&[&start[..], &scheduler].concat())));
        assert_eq!(runs[0]["answer"], "610", "{scheduler:?}");
        assert_eq!(runs[0]["correct"], true, "{scheduler:?}");
    }
}

#[test]
fn worklist_programs_run_on_queues() {
    let small = ["run", "closure", "--set", "n=2000", "--workers", "2", "--repeat", "2", "--json", "-"];
    for pool in
        ["chase-lev", "idem-lifo", "bwos-f", "bwos-l:block=4:capacity=64", "pdq-r:steal=half", "pdq-s:delta=5us"]
    {
        let runs = lines(&stdout(&well(&[&small[..], &["--pool", pool]].concat())));
        assert_eq!(runs.len(), 2);
        for run in runs {
            assert_eq!(
                (&run["workload"], &run["scheduler"], &run["pool"]),
                (&"closure".into(), &"filch".into(), &pool.into())
            );
            assert_eq!((&run["answer"], &run["correct"]), (&"2000 vertices reached".into(), &true.into()));
            assert!(run["wait"].is_null() && run["style"].is_null());
            let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{pool}: no number in {run}"));
            assert_eq!(count(&run["tasks"]), 2000 + count(&run["counters"]["duplicates"]));
            // An attempt at half of the tasks may be several thefts.
            let [steals, attempts] = ["steals", "attempts"].map(|name| count(&run["counters"][name]));
            assert!(steals <= attempts || pool.contains("half") && attempts > 0);
        }
    }
    let interrupted = "pdq-r:interrupts=signal:every=1ms";
    let run =
        &lines(&stdout(&well(&["run", "fib", "--set", "n=15", "--pool", interrupted, "--repeat", "1", "--json", "-"])))
            [0];
    assert_eq!((&run["pool"], &run["correct"]), (&interrupted.into(), &true.into()));
    let text = stdout(&well(&["run", "trees", "--set", "depth=6", "--workers", "1"]));
    for word in ["trees tree=thin depth=6", "filch chase-lev", "127 nodes", "right", "steals 0"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let serial = lines(&stdout(&well(&["run", "trees", "--set", "depth=6", "--pool", "serial", "--json", "-"])));
    assert_eq!(serial[0]["answer"], "127 nodes, 64 leaves, depth 6");
}

#[test]
fn job_programs_say_what_a_job_costs() {
    let small = ["run", "wsq", "--set", "k=10", "--set", "jobs=500", "--workers", "1,2", "--repeat", "1"];
    for pool in ["wsq", "chase-lev", "bwos-f", "lace:steal=half"] {
        let runs = lines(&stdout(&well(&[&small[..], &["--pool", pool, "--json", "-"]].concat())));
        let who: Vec<_> = runs.iter().map(|run| (&run["scheduler"], &run["workers"])).collect();
        let expected = [("serial".into(), 1.into()), ("filch".into(), 1.into()), ("filch".into(), 2.into())];
        assert!(who.into_iter().eq(expected.iter().map(|(scheduler, workers)| (scheduler, workers))), "{pool}");
        assert!(runs.iter().all(|run| run["correct"] == true && run["answer"] == runs[0]["answer"]), "{pool}");
    }
    let text = stdout(&well(&small));
    for word in ["filch wsq, 2 workers", "serial", "parallel", "speedup", "overhead"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    refuses(&["run", "wsq", "--pool", "idem-lifo"], &["twice"]);
    refuses(&["run", "wsq", "--pool", "split"], &["job program"]);
}

#[test]
fn who_cannot_run_a_program_says_why() {
    refuses(&["run", "trees", "--pool", "idem-lifo"], &["idem-lifo", "must not be run twice"]);
    refuses(&["run", "pseudo-dfs", "--pool", "idem-fifo"], &["must not be run twice"]);
    refuses(&["run", "trees", "--pool", "split"], &["only for fork–join", "trees is a worklist program"]);
    refuses(&["run", "trees", "--pool", "filch-closures"], &["only for fork–join"]);
    refuses(&["run", "trees", "--peer", "rayon"], &["does not run worklist programs"]);
    refuses(&["run", "trees", "--pool", "chaselev"], &["did you mean `chase-lev`"]);
    refuses(&["run", "trees", "--wait", "random"], &["--wait"]);
    refuses(&["run", "trees", "--pin"], &["--pin"]);
    refuses(&["run", "fib", "--pool", "idem-lifo"], &["not for fork–join"]);
    refuses(&["run", "fib", "--pool", "bwos-l:block=4"], &["for worklist programs"]);
    refuses(&["run", "trees", "--pool", "bwos-l:blok=4"], &["did you mean `block`"]);
    refuses(&["run", "trees", "--pool", "bwos-l:block=many"], &["block=`many`", "is not a number"]);
    if cfg!(target_arch = "x86_64") {
        refuses(&["run", "trees", "--pool", "patient-thep"], &["a thief may wait for an owner"]);
    }
}

#[test]
fn worklist_programs_are_compared_with_those_that_can_run_them() {
    let json = folder().join("worklists.jsonl");
    let json = json.to_str().unwrap();
    let programs = ["compare", "closure:n=2000", "trees:depth=6", "fib:n=12"];
    let session = ["--quick", "--repeat", "1", "--workers", "1,2", "--no-report", "--json", json];
    let schedulers = ["--pools", "split,chase-lev,bwos-l:block=4,idem-lifo", "--peers", "rayon"];
    let table = stdout(&well(&[&programs[..], &session, &schedulers].concat()));
    for word in ["filch chase-lev", "filch bwos-l:block=4", "filch idem-lifo", "Left out", "closure, split: only for"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    let runs = lines(&fs::read_to_string(json).unwrap());
    assert!(runs.iter().all(|run| run["correct"] == true));
    let pools = |workload: &str| {
        let mine = runs.iter().filter(|run| run["workload"] == workload && run["workers"] == 2);
        mine.map(|run| run["pool"].as_str().unwrap_or("rayon")).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(pools("closure"), ["bwos-l:block=4", "chase-lev", "idem-lifo"].into());
    assert_eq!(pools("trees"), ["bwos-l:block=4", "chase-lev"].into());
    assert_eq!(pools("fib"), ["chase-lev", "rayon", "split"].into());
}

#[test]
fn a_run_tells_people_in_a_few_lines() {
    let text = stdout(&well(&["run", "fib", "--set", "n=15", "--repeat", "2", "--workers", "1"]));
    for word in ["fib n=15", "filch split", "1 worker", "610", "right", "steals"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(!text.contains('\u{1b}'));
    assert_eq!(stdout(&well(&["run", "fib", "--set", "n=15", "--repeat", "1", "--quiet"])), "");
}

#[test]
fn a_comparison_makes_table_report_and_lines_and_a_report_can_be_made_from_the_lines() {
    let [json, html, again] = ["compare.jsonl", "compare.html", "again.html"].map(|name| folder().join(name));
    let [json, html, again] = [&json, &html, &again].map(|path| path.to_str().unwrap());
    let output = well(&[
        "compare",
        "fib:n=15",
        "queens:n=6",
        "--quick",
        "--repeat",
        "2",
        "--workers",
        "1,2",
        "--pools",
        "split,filch-closures",
        "--peers",
        "rayon",
        "--json",
        json,
        "--report",
        html,
    ]);
    let table = stdout(&output);
    for word in ["fib n=15", "queens n=6", "filch split", "filch closures", "rayon", "T1/Ts", "C2", "Report:"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    assert!(!table.contains('\u{1b}') && stderr(&output).is_empty(), "no colour, no progress: {}", stderr(&output));
    let runs = lines(&fs::read_to_string(json).unwrap());
    let cells = |workload: &str, scheduler: &str, workers: u64| {
        let is = |run: &&Value| {
            run["workload"] == workload
                && run["scheduler"] == scheduler
                && run["workers"] == workers
                && run["copies"].is_null()
        };
        runs.iter()
            .filter(is)
            .map(|run| run["round"].as_u64().unwrap())
            .collect::<std::collections::BTreeSet<_>>()
            .len()
    };
    for workload in ["fib", "queens"] {
        for (scheduler, workers) in [("serial", 1), ("filch", 1), ("filch", 2), ("rayon", 1), ("rayon", 2)] {
            assert_eq!(cells(workload, scheduler, workers), 2, "{workload} {scheduler} {workers}");
        }
    }
    assert!(runs.iter().any(|run| run["copies"] == 2), "the parallel capacity is measured");
    assert!(runs.iter().all(|run| run["correct"] == true));
    well(&["report", json, "-o", again]);
    for page in [html, again] {
        let page = fs::read_to_string(page).unwrap();
        for part in ["<!doctype html>", "<svg", "fib n=15", "queens n=6", "rayon", "How it was measured"] {
            assert!(page.contains(part), "{part}");
        }
    }
}

/// The words of the table's line that starts with this one.
fn line_of<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    let line = text.lines().find(|line| line.trim_start().starts_with(start));
    line.unwrap_or_else(|| panic!("{start} in {text}")).split_whitespace().collect()
}

#[test]
fn columns_are_chosen_by_name_in_table_report_and_summary() {
    let [json, html] = ["columns.jsonl", "columns.html"].map(|name| folder().join(name));
    let [json, html] = [&json, &html].map(|path| path.to_str().unwrap());
    let session =
        ["compare", "fib:n=15", "--quick", "--repeat", "3", "--workers", "1,2", "--json", json, "--report", html];
    let schedulers = ["--pools", "split,lace", "--peers", ""];
    let columns = ["--columns", "max,to-baseline,relative-speedup,rounds"];
    let table = stdout(&well(&[&session[..], &schedulers, &columns].concat()));
    assert_eq!(line_of(&table, "scheduler"), ["scheduler", "P", "max", "T/base", "T1/TP", "rounds"]);
    assert!(table.contains("base filch split") && table.contains("An interval of 3 rounds"), "{table}");
    assert!(!table.contains("spread:") && table.contains("rounds: rounds that"), "{table}");
    let page = fs::read_to_string(html).unwrap();
    assert!(page.contains(">T1/TP</th>") && page.contains(">T/base</th>") && !page.contains(">spread</th>"));
    let chosen = lines(&stdout(&well(&[&["report", json, "--json", "-"][..], &columns].concat())));
    assert_eq!(chosen.len(), 1 + 2 * 2, "a row for each scheduler and number of workers");
    for row in &chosen {
        let names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let who = ["program", "scheduler", "version", "workers", "baseline"];
        assert_eq!(names, [&who[..], &["max", "to-baseline", "relative-speedup", "rounds"]].concat());
    }
    let row = chosen.iter().find(|row| row["scheduler"] == "filch lace" && row["workers"] == 2).unwrap();
    assert_eq!((&row["program"], &row["baseline"]), (&"fib n=15".into(), &"filch split".into()));
    for ratio in [&row["to-baseline"], &row["relative-speedup"]] {
        let [low, value, high] = ["low", "value", "high"].map(|name| ratio[name].as_f64().unwrap());
        assert!(low <= value && value <= high && ratio["rounds"] == 3, "{ratio}");
    }
}

#[test]
fn a_summary_is_the_same_each_time_and_has_every_column() {
    let [runs, summary] = ["summarized.jsonl", "summary.jsonl"].map(|name| folder().join(name));
    let [runs, summary] = [&runs, &summary].map(|path| path.to_str().unwrap());
    well(&["compare", "fib:n=12", "--quick", "--repeat", "5", "--pools", "split", "--no-report", "--json", runs]);
    assert!(stdout(&well(&["report", runs, "--json", summary])).trim_end().ends_with("summary.jsonl"));
    let written = fs::read_to_string(summary).unwrap();
    assert_eq!(stdout(&well(&["report", runs, "--json", "-"])), written, "the same lines, the same intervals");
    let listed = stdout(&well(&["list", "columns"]));
    for name in listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        assert!(lines(&written).iter().all(|row| row.get(name).is_some()), "{name}");
    }
    // One run of one process: values, and nothing that would claim to be sure.
    well(&["run", "fib", "--set", "n=12", "--workers", "1,2", "--json", runs]);
    let rows = lines(&stdout(&well(&["report", runs, "--json", "-"])));
    let ratio = &rows.iter().find(|row| row["workers"] == 2).unwrap()["relative-speedup"];
    assert!(ratio["value"].is_f64() && ratio["low"].is_null() && ratio["rounds"] == 1, "{ratio}");
}

#[test]
fn lines_of_several_files_are_merged_and_nonsense_is_refused() {
    let [first, second, html] = ["first.jsonl", "second.jsonl", "merged.html"].map(|name| folder().join(name));
    let [first, second, html] = [&first, &second, &html].map(|path| path.to_str().unwrap());
    well(&["run", "fib", "--set", "n=10", "--repeat", "1", "--json", first]);
    well(&["run", "fib", "--set", "n=10", "--repeat", "1", "--peer", "rayon", "--json", second]);
    assert!(stdout(&well(&["report", first, second, "-o", html])).starts_with("2 runs"));
    fs::write(second, "{\"workload\":\"fib\"}\n").unwrap();
    refuses(&["report", first, second, "-o", html], &["second.jsonl, line 1", "not a measured run"]);
    fs::write(second, "").unwrap();
    refuses(&["report", second, "-o", html], &["no runs"]);
}

#[test]
fn a_reader_who_leaves_is_a_normal_end() {
    let mut child = driver()
        .args(["run", "fib", "--set", "n=5", "--repeat", "2000", "--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut byte = [0];
    child.stdout.take().expect("a pipe").read_exact(&mut byte).expect("a line comes");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

/// A runner in the shell's language: what it says when it is prepared, run, reset.
#[cfg(unix)]
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
    fs::write(&path, script).expect("the folder can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    path.display().to_string()
}

#[cfg(unix)]
const READY: &str = r#"echo '{"tell":"ready"}'"#;
#[cfg(unix)]
const RIGHT: &str = r#"echo '{"tell":"ran","seconds":0.000001,"answer":"55"}'"#;

/// A comparison of `fib` with the pool `split` and this runner: its output, and its lines.
#[cfg(unix)]
fn compared(name: &str, path: &str) -> (Output, Vec<Value>) {
    let file = format!("runner-{name}.jsonl");
    let common = ["compare", "fib:n=10", "--pools", "split", "--peers=", "--workers", "1", "--repeat", "2"];
    let rest = ["--no-report", "--timeout", "2", "--json", &file, "--runner", path];
    let output = filch(&[&common[..], &rest].concat());
    let text = fs::read_to_string(folder().join(file)).expect("the lines are there");
    (output, lines(&text))
}

#[cfg(unix)]
fn runs_of<'l>(lines: &'l [Value], scheduler: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["scheduler"] == scheduler).collect()
}

#[test]
#[cfg(unix)]
fn a_runner_of_somebody_takes_part() {
    let (output, lines) = compared("guest", &runner("guest", 1, READY, RIGHT));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("guest"), "{}", stdout(&output));
    let runs = runs_of(&lines, "guest");
    assert!(
        runs.len() >= 2 && runs.iter().all(|run| run["seconds"] == 0.000_001 && run["correct"] == true),
        "{runs:?}"
    );
    assert_eq!(runs[0]["version"], "7");
    // It has no cutoff, and one worker.
    let path = folder().join("runner-guest").display().to_string();
    let more = ["compare", "fib:n=10,cutoff=3", "fib:n=10", "--pools", "split", "--peers=", "--workers", "1,2"];
    let output = well(&[&more[..], &["--repeat", "1", "--no-report", "--runner", &path]].concat());
    let said = stdout(&output);
    assert!(said.contains("it knows no cutoff, which is 3") && said.contains("it has no 2 workers"), "{said}");
}

#[test]
#[cfg(unix)]
fn a_runner_in_c_takes_part() {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/runner-in-c/runner.c");
    let program = folder().join("runner-in-c");
    let compiler = Command::new("cc").args(["-std=c99", "-O2", "-o"]).arg(&program).arg(source).arg("-lm").status();
    if !compiler.is_ok_and(|status| status.success()) {
        return println!("there is no C compiler here");
    }
    let (_, lines) = compared("c", &program.display().to_string());
    let strangers = |line: &&Value| !["filch", "serial"].contains(&line["scheduler"].as_str().unwrap_or_default());
    let runs: Vec<&Value> = lines.iter().filter(strangers).collect();
    assert!(runs.len() >= 2 && runs.iter().all(|run| run["correct"] == true && run["answer"] == "55"), "{lines:?}");
}

#[test]
#[cfg(unix)]
fn a_runner_that_goes_wrong_is_left_out_and_the_rest_goes_on() {
    let hello = runner("rubbish", 1, "echo 'Hello, world'", RIGHT);
    let crash = "echo 'out of luck' >&2; exit 3";
    let bad = r#"echo '{"tell":"ran","seconds":0.000001,"answer":"56"}'"#;
    // It has closed its output, as if it had ended.
    let lingers = format!("{RIGHT}; exec sleep 20 >/dev/null 2>&1");
    let no = r#"echo '{"tell":"refused","why":"not on a Monday"}'"#;
    for (name, path, words) in [
        ("rubbish", hello, "Hello, world"),
        ("crash", runner("crash", 1, crash, RIGHT), "out of luck"),
        ("killed", runner("killed", 1, READY, "kill -9 $$"), "signal: 9"),
        ("hang", runner("hang", 1, "sleep 20", RIGHT), "did not end in time"),
        ("early", runner("early", 1, RIGHT, RIGHT), "out of turn"),
        ("liar", runner("liar", 1, READY, bad), "the answer is 56, but it should be 55"),
        ("nonsense", runner("nonsense", 1, READY, r#"echo '{"tell":"ran","seconds":-1,"answer":"55"}'"#), "took -1 s"),
        ("boastful", runner("boastful", 1, READY, r#"echo '{"tell":"ran","seconds":9,"answer":"55"}'"#), "took 9 s"),
        ("lingering", runner("lingering", 1, READY, &lingers), "it did not end"),
        ("silent", runner("silent", 1, READY, r#"echo '{"tell":"ran","seconds":0}'"#), "missing field"),
        ("unwilling", runner("unwilling", 1, no, RIGHT), "not on a Monday"),
        ("other", runner("other", 2, READY, RIGHT), "speaks version 2 of the protocol"),
        ("absent", "/nonexistent/runner".to_owned(), "cannot be found"),
    ] {
        let (output, lines) = compared(name, &path);
        let told = stderr(&output) + &stdout(&output);
        assert!(told.contains(words), "{name}: `{words}` in {told}");
        assert!(!told.contains("panicked"), "{name}: {told}");
        // Who says no is not a failure; who breaks or lies is.
        let refused = ["unwilling", "other", "absent"].contains(&name);
        assert_eq!(output.status.code(), Some(i32::from(!refused)), "{name}: {told}");
        let others = runs_of(&lines, "filch").len();
        assert!(others >= 2 && runs_of(&lines, "serial").len() >= 2, "{name}: {lines:?}");
        assert!(runs_of(&lines, name).iter().all(|run| run["correct"] == false), "{name}: {lines:?}");
    }
}

#[test]
fn an_interrupted_session_goes_on() {
    let file = folder().join("resumed.jsonl");
    let arguments = ["compare", "fib:n=15", "queens:n=6", "--pools", "split,wool", "--peers=", "--workers", "1,2"];
    let arguments = [&arguments[..], &["--repeat", "2", "--no-report", "--json", "resumed.jsonl"]].concat();
    well(&arguments);
    let whole = fs::read_to_string(&file).expect("it was written");
    let key = |line: &Value| {
        let of = ["workload", "scheduler", "pool", "workers", "copies", "round"];
        of.map(|name| line[name].to_string()).join(" ")
    };
    let keys = |text: &str| {
        let mut keys: Vec<String> = lines(text).iter().map(key).collect();
        keys.sort();
        keys.dedup();
        keys
    };
    // Some lines, and half of one.
    let kept: String = whole.lines().take(9).map(|line| format!("{line}\n")).collect();
    let next = whole.lines().nth(9).expect("there are more");
    fs::write(&file, format!("{kept}{}", &next[..next.len() / 2])).expect("it is ours");
    well(&[&arguments[..], &["--resume"]].concat());
    let resumed = fs::read_to_string(&file).expect("it was written");
    assert!(resumed.starts_with(&kept), "what was there stays as it was");
    assert_eq!(keys(&resumed), keys(&whole), "everything is there");
    let kept_keys = keys(&kept);
    let again = lines(&resumed[kept.len()..]).iter().map(key).filter(|key| kept_keys.contains(key)).count();
    assert_eq!(again, 0, "nothing is measured twice");
    // Complete: nothing more is measured.
    well(&[&arguments[..], &["--resume"]].concat());
    assert_eq!(fs::read_to_string(&file).expect("it was written"), resumed);
    // Of another commit.
    let foreign = resumed.replace("\"commit\":\"", "\"commit\":\"0");
    fs::write(&file, foreign).expect("it is ours");
    refuses(&[&arguments[..], &["--resume"]].concat(), &["cannot be set beside it"]);
    refuses(&["compare", "--resume"], &["--json"]);
}
