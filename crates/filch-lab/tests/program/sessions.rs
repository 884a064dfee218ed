//! `filch compare`, `filch experiment` and `filch report`.

use std::fs;

use serde_json::Value;

use crate::{folder, lines, refuses, stderr, stdout, well};

#[test]
fn worklist_programs_are_compared_on_suitable_schedulers() {
    let json = folder().join("worklists.jsonl");
    let json = json.to_str().unwrap();
    let programs = ["compare", "closure:n=2000", "trees:depth=6", "fib:n=12"];
    let session = ["--quick", "--repeat", "1", "--workers", "1,2", "--no-report", "--json", json];
    let schedulers = ["--pools", "split,chase-lev,bwos-l:block=4,idem-lifo", "--peers", "rayon"];
    let table = stdout(&well(&[&programs[..], &session, &schedulers].concat()));
    for word in ["filch chase-lev", "filch bwos-l:block=4", "filch idem-lifo", "Omitted", "closure, split: runs only"] {
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
    assert_eq!(pools("fib"), ["bwos-l:block=4", "chase-lev", "rayon", "split"].into());
}

#[test]
fn a_comparison_writes_a_table_a_report_and_lines() {
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
    for word in ["fib:n=15", "queens:n=6", "filch split", "filch closures", "rayon", "T1/Ts", "C2", "Report:"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    assert!(!table.contains('\u{1b}') && stderr(&output).is_empty(), "colour or progress: {}", stderr(&output));
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
    assert!(runs.iter().any(|run| run["copies"] == 2), "no parallel capacity");
    assert!(runs.iter().all(|run| run["correct"] == true));
    well(&["report", json, "-o", again]);
    for page in [html, again] {
        let page = fs::read_to_string(page).unwrap();
        for part in ["<!DOCTYPE html>", "<svg", "fib:n=15", "queens:n=6", "rayon", "Method"] {
            assert!(page.contains(part), "{part}");
        }
    }
}

/// Returns the words of the table's line with this beginning.
fn line_of<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    let line = text.lines().find(|line| line.trim_start().starts_with(start));
    line.unwrap_or_else(|| panic!("{start} in {text}")).split_whitespace().collect()
}

#[test]
fn columns_can_be_chosen_in_table_report_and_summary() {
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
    assert_eq!(chosen.len(), 1 + 2 * 2, "a row per scheduler and number of workers");
    for row in &chosen {
        let names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let who = ["program", "scheduler", "version", "workers", "baseline"];
        assert_eq!(names, [&who[..], &["max", "to-baseline", "relative-speedup", "rounds"]].concat());
    }
    let row = chosen.iter().find(|row| row["scheduler"] == "filch lace" && row["workers"] == 2).unwrap();
    assert_eq!((&row["program"], &row["baseline"]), (&"fib:n=15".into(), &"filch split".into()));
    for ratio in [&row["to-baseline"], &row["relative-speedup"]] {
        let [low, value, high] = ["low", "value", "high"].map(|name| ratio[name].as_f64().unwrap());
        assert!(low <= value && value <= high && ratio["rounds"] == 3, "{ratio}");
    }
}

#[test]
fn a_summary_is_deterministic_and_complete() {
    let [runs, summary] = ["summarized.jsonl", "summary.jsonl"].map(|name| folder().join(name));
    let [runs, summary] = [&runs, &summary].map(|path| path.to_str().unwrap());
    well(&["compare", "fib:n=12", "--quick", "--repeat", "5", "--pools", "split", "--no-report", "--json", runs]);
    assert!(stdout(&well(&["report", runs, "--json", summary])).trim_end().ends_with("summary.jsonl"));
    let written = fs::read_to_string(summary).unwrap();
    assert_eq!(stdout(&well(&["report", runs, "--json", "-"])), written, "other intervals for the same lines");
    let listed = stdout(&well(&["list", "columns"]));
    for name in listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        assert!(lines(&written).iter().all(|row| row.get(name).is_some()), "{name}");
    }
    // One run of one process gives values without intervals.
    well(&["run", "fib:n=12", "--workers", "1,2", "--json", runs]);
    let rows = lines(&stdout(&well(&["report", runs, "--json", "-"])));
    let ratio = &rows.iter().find(|row| row["workers"] == 2).unwrap()["relative-speedup"];
    assert!(ratio["value"].is_f64() && ratio["low"].is_null() && ratio["rounds"] == 1, "{ratio}");
}

#[test]
fn a_session_is_compared_with_an_earlier_one() {
    let [before, after, both] = ["before.jsonl", "after.jsonl", "both.jsonl"].map(|name| folder().join(name));
    let [before, after, both] = [&before, &after, &both].map(|path| path.to_str().unwrap());
    let session =
        ["compare", "fib:n=12", "--pools", "split", "--peers=", "--workers", "1", "--repeat", "5", "--no-report"];
    well(&[&session[..], &["--json", before]].concat());
    let text = fs::read_to_string(before).unwrap();
    let slowed = |factor: f64, commit: &str| -> String {
        let line = |mut line: Value| {
            line["seconds"] = (line["seconds"].as_f64().unwrap() * factor).into();
            line["commit"] = commit.into();
            line.to_string() + "\n"
        };
        lines(&text).into_iter().map(line).collect()
    };
    fs::write(before, slowed(1.0, "abc")).unwrap();
    fs::write(after, slowed(3.0, "def")).unwrap();
    let report = |now: &str, then: &str| {
        let output = crate::filch(&["report", now, "--baseline", then, "--fail-above", "5%", "--markdown", "-"]);
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let (status, told, why) = report(after, before);
    assert_eq!(status, Some(1), "{why}");
    assert!(why.contains("fib:n=12, filch split on 1 is slower than") && why.contains("the limit is 5 %"), "{why}");
    assert!(
        told.contains("| **slower** | fib:n=12, filch split on 1 | +") && told.contains("**fib:n=12** · Ts"),
        "{told}"
    );
    let (status, told, why) = report(before, after);
    assert_eq!((status, why.as_str()), (Some(0), ""));
    assert!(told.contains("| faster | fib:n=12, filch split on 1 | −"), "{told}");
    // A session that is measured now is compared likewise.
    let told = stdout(&well(&[&session[..], &["--baseline", before]].concat()));
    assert!(
        told.contains(&format!("Against {before}:")) && told.contains(&format!("filch split ({before})")),
        "{told}"
    );
    fs::write(both, fs::read_to_string(before).unwrap() + &fs::read_to_string(after).unwrap()).unwrap();
    refuses(&["report", after, "--baseline", both], &["holds several builds", "commit abc", "commit def"]);
    refuses(&["report", after, "--baseline", "none.jsonl"], &["none.jsonl: cannot be read"]);
    fs::write(both, "").unwrap();
    refuses(&["report", after, "--baseline", both], &["no runs to compare with"]);
    refuses(&["compare", "queens:n=6", "--pools", "split", "--baseline", before], &["none of these rows"]);
}

#[test]
fn tables_are_written_for_other_programs() {
    let session = ["compare", "fib:n=12", "--pools", "split,lace", "--peers=", "--workers", "1,2", "--repeat", "2"];
    let session = [&session[..], &["--no-report", "--base", "lace"]].concat();
    let csv = stdout(&well(&[&session[..], &["--csv", "-", "--columns", "median,T/base,runs"]].concat()));
    let lines: Vec<&str> = csv.lines().collect();
    let heads = "program,scheduler,version,P,baseline,median,median low,median high,T/base,T/base low,T/base high,runs";
    assert_eq!((lines[0], lines.len()), (heads, 1 + 1 + 2 * 2), "{csv}");
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    assert!(lines.iter().all(|line| cells(line).len() == cells(heads).len()), "{csv}");
    let base = lines.iter().map(|line| cells(line)).find(|cells| cells[1] == "filch lace" && cells[3] == "2");
    assert_eq!(
        base.map(|cells| (cells[4].clone(), cells[8].clone())),
        Some(("filch lace".into(), "1".into())),
        "{csv}"
    );
    let twice = [&session[..], &["--csv", "-", "--markdown", "-"]].concat();
    refuses(&twice, &["only one of --json, --csv and --markdown"]);
    refuses(&[&session[..], &["--csv", "/nonexistent/a.csv"]].concat(), &["cannot write /nonexistent/a.csv"]);
}

#[test]
fn a_parameter_is_swept_where_it_exists_and_is_not_set() {
    let start = ["compare", "--peers=", "--repeat", "1", "--no-report", "--csv", "-", "--columns", "runs"];
    let rows = |more: &[&str]| -> Vec<String> {
        let csv = stdout(&well(&[&start[..], more].concat()));
        let cells = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            [cells[0], cells[1], cells[3], cells[5]].join("|").replace("filch ", "")
        };
        csv.lines().map(cells).collect()
    };
    let of_programs = ["fib", "queens:n=6", "--pools", "split", "--workers", "1", "--sweep", "n=5,12"];
    let expected = ["fib:n=5|serial|1|5", "fib:n=5|split|1|5", "fib:n=12|serial|1|12", "fib:n=12|split|1|12"];
    let kept = ["queens:n=6|serial|1|6", "queens:n=6|split|1|6"];
    assert_eq!(rows(&of_programs), [&["program|scheduler|P|n"][..], &expected, &kept].concat());
    let of_pools = ["fib:n=12", "--pools", "lace:steal=one,lace", "--workers", "1", "--sweep", "steal=one,half"];
    let mut found = rows(&of_pools);
    found.sort();
    let expected = [
        "fib:n=12|lace:steal=half|1|half",
        "fib:n=12|lace:steal=one|1|one",
        "fib:n=12|serial|1|",
        "program|scheduler|P|steal",
    ];
    assert_eq!(found, expected);
    let of_workers = rows(&["fib:n=12", "--pools", "split", "--sweep", "workers=1,2,3"]);
    assert_eq!(of_workers.iter().filter(|row| row.contains("split")).count(), 3, "{of_workers:?}");
    let page = folder().join("swept.html");
    let drawn = ["compare", "fib", "--pools", "split", "--peers=", "--workers", "1", "--repeat", "1", "--quiet"];
    well(&[&drawn[..], &["--sweep", "n=5,12", "--report", page.to_str().unwrap()]].concat());
    assert!(fs::read_to_string(page).unwrap().contains("n: "), "nothing is drawn against n");
    let refused = |sweep: &str, words: &[&str]| refuses(&["compare", "fib", "--sweep", sweep], words);
    refused("m=1,2", &["there is no parameter of these programs and pools `m`"]);
    refused("cutof=1,2", &["did you mean `cutoff`?"]);
    refused("n=1,ten", &["ten"]);
    refused("n=1,,2", &["a value is missing"]);
    refused("n", &["NAME=VALUE"]);
    refused("workers=1,0", &["0 is not a number from 1 to 1024"]);
    refuses(&["compare", "fib", "--sweep", "workers=1", "--workers", "1"], &["say the same"]);
}

/// Returns the code of a notebook's cells.
fn cells(notebook: &str) -> String {
    let notebook: Value = serde_json::from_str(notebook).expect("JSON");
    let cells = notebook["cells"].as_array().expect("cells").iter().filter(|cell| cell["cell_type"] == "code");
    let lines = |cell: &Value| -> String {
        cell["source"].as_array().expect("lines").iter().filter_map(|line| line.as_str()).collect::<String>() + "\n"
    };
    cells.map(lines).collect()
}

#[test]
fn the_examples_in_pandas_run() {
    let python = |code: &str| {
        std::process::Command::new("python3").args(["-c", code]).current_dir(folder().join("pandas")).output()
    };
    fs::create_dir_all(folder().join("pandas")).unwrap();
    if !python("import pandas").is_ok_and(|output| output.status.success()) {
        return println!("not tested: no pandas");
    }
    let session = ["compare", "fib:n=12", "--pools", "split,lace", "--peers=", "--workers", "1,2", "--repeat", "5"];
    well(&[&session[..], &["--no-report", "--base", "lace", "--csv", "pandas/ratios.csv"]].concat());
    let book = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book");
    let page = fs::read_to_string(book.join("faster.md")).unwrap();
    let (_, code) = page.split_once("```python\n").expect("an example");
    let ran = python(code.split("```").next().unwrap()).unwrap();
    let said = stdout(&ran);
    assert!(ran.status.success() && said.contains("filch split") && said.contains("rows are slower"), "{ran:?}");
    let ran = python(&cells(&fs::read_to_string(book.join("ratios.ipynb")).unwrap())).unwrap();
    let said = stdout(&ran);
    assert!(ran.status.success() && said.contains("filch split") && said.contains("not compared"), "{ran:?}");
}

#[test]
fn files_are_merged_and_invalid_lines_refused() {
    let [first, second, html] = ["first.jsonl", "second.jsonl", "merged.html"].map(|name| folder().join(name));
    let [first, second, html] = [&first, &second, &html].map(|path| path.to_str().unwrap());
    well(&["run", "fib:n=10", "--repeat", "1", "--json", first]);
    well(&["run", "fib:n=10", "--repeat", "1", "--peers", "rayon", "--json", second]);
    assert!(stdout(&well(&["report", first, second, "-o", html])).starts_with("2 runs"));
    fs::write(second, "{\"workload\":\"fib\"}\n").unwrap();
    refuses(&["report", first, second, "-o", html], &["second.jsonl, line 1", "not a measured run"]);
    fs::write(second, "").unwrap();
    refuses(&["report", second, "-o", html], &["no runs"]);
}

#[test]
fn an_interrupted_session_can_be_resumed() {
    let file = folder().join("resumed.jsonl");
    let arguments = ["compare", "fib:n=15", "queens:n=6", "--pools", "split,wool", "--peers=", "--workers", "1,2"];
    let arguments = [&arguments[..], &["--repeat", "2", "--no-report", "--json", "resumed.jsonl"]].concat();
    well(&arguments);
    let whole = fs::read_to_string(&file).expect("a file of lines");
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
    // Some lines, and half a line.
    let kept: String = whole.lines().take(9).map(|line| format!("{line}\n")).collect();
    let next = whole.lines().nth(9).expect("more lines");
    fs::write(&file, format!("{kept}{}", &next[..next.len() / 2])).expect("the file is writable");
    well(&[&arguments[..], &["--resume"]].concat());
    let resumed = fs::read_to_string(&file).expect("a file of lines");
    assert!(resumed.starts_with(&kept), "the old lines changed");
    assert_eq!(keys(&resumed), keys(&whole), "lines are missing");
    let kept_keys = keys(&kept);
    let again = lines(&resumed[kept.len()..]).iter().map(key).filter(|key| kept_keys.contains(key)).count();
    assert_eq!(again, 0, "something was measured twice");
    // The session is complete: nothing more is measured.
    well(&[&arguments[..], &["--resume"]].concat());
    assert_eq!(fs::read_to_string(&file).expect("a file of lines"), resumed);
    // Lines of another commit.
    let foreign = resumed.replace("\"commit\":\"", "\"commit\":\"0");
    fs::write(&file, foreign).expect("the file is writable");
    refuses(&[&arguments[..], &["--resume"]].concat(), &["cannot be compared with"]);
    refuses(&["compare", "--resume"], &["--json"]);
}

/// A session of the experiment that needs the fewest runners.
const PLACEMENT: &[&str] = &["experiment", "placement", "--quick", "--workers", "1", "--json", "placement.jsonl"];

#[test]
fn an_experiment_can_be_run_resumed_and_reported() {
    let [file, page] = ["placement.jsonl", "placement.html"].map(|name| folder().join(name));
    let once = [PLACEMENT, &["--repeat", "1", "--report", "placement.html"]].concat();
    let told = stdout(&well(&once));
    for word in ["Does it matter whether", "filch split pinned", "serial pinned", "not testable here", "It holds if"] {
        assert!(told.contains(word), "{word} in {told}");
    }
    let whole = fs::read_to_string(&file).expect("a file of lines");
    let runs = lines(&whole);
    assert!(runs.iter().all(|run| run["experiment"] == "placement" && run["correct"] == true));
    let pinned = |run: &&Value| run["placement"] == "pinned";
    assert!(runs.iter().filter(pinned).count() > 0 && runs.iter().filter(pinned).all(|run| run["copies"].is_null()));
    // All but the last lines are kept: the rest is measured, and nothing twice.
    let kept: String = whole.lines().take(runs.len() - 3).map(|line| format!("{line}\n")).collect();
    fs::write(&file, &kept).expect("the file is writable");
    well(&[&once[..], &["--resume"]].concat());
    let resumed = fs::read_to_string(&file).expect("a file of lines");
    assert!(resumed.starts_with(&kept) && lines(&resumed).len() >= runs.len(), "{} lines", lines(&resumed).len());
    refuses(
        &["compare", "fib:n=12", "--json", "placement.jsonl", "--resume"],
        &["holds the experiment placement", "a comparison cannot continue it"],
    );
    let columns = ["report", "placement.jsonl", "--columns", "median,overhead", "--json", "-"];
    let summary = lines(&stdout(&well(&[&columns[..], &["-o", "placement.html"]].concat())));
    let claims: Vec<&Value> = summary.iter().filter(|line| line["claim"].is_string()).collect();
    assert_eq!(claims.len(), 1, "{summary:?}");
    assert_eq!((&claims[0]["verdict"], &claims[0]["evidence"]), (&"not testable here".into(), &Value::Array(vec![])));
    let page = fs::read_to_string(page).expect("a page");
    for part in ["Does it matter whether", "filch reproduce placement --size quick", "class=\"verdict untestable\""] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn schedulers_without_pinning_are_omitted() {
    let common = ["compare", "fib:n=12", "--pools", "split", "--peers", "rayon", "--workers", "1,2", "--pin"];
    let told = stdout(&well(&[&common[..], &["--repeat", "1", "--no-report", "--json", "pinned.jsonl"]].concat()));
    assert!(told.contains("fib, rayon: its workers cannot be bound to processors"), "{told}");
    assert!(told.contains("filch split pinned") && told.contains("C2"), "{told}");
    let runs = lines(&fs::read_to_string(folder().join("pinned.jsonl")).expect("a file of lines"));
    let alone = runs.iter().filter(|run| run["copies"].is_null());
    assert!(alone.clone().count() >= 3 && alone.clone().all(|run| run["placement"] == "pinned"), "{runs:?}");
    let run = &lines(&stdout(&well(&["run", "fib:n=12", "--repeat", "1", "--pin", "--json", "-"])))[0];
    assert_eq!((&run["placement"], &run["correct"]), (&"pinned".into(), &true.into()));
}
