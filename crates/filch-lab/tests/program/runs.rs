//! `filch run` and `filch build`.

use std::io::Read;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::driver::driver;
use crate::{folder, lines, refuses, stderr, stdout, well};

#[test]
fn runners_are_built_by_name() {
    let output = well(&["build", "serial", "split"]);
    let said = stdout(&output);
    assert!(said.lines().count() == 2 && said.lines().all(|path| PathBuf::from(path).is_file()), "{said}");
    refuses(&["build", "spilt"], &["did you mean `split`"]);
}

#[test]
fn a_run_prints_the_documented_object_and_nothing_else() {
    let output = well(&["run", "fib:n=20", "--workers", "2", "--repeat", "3", "--json", "-"]);
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
fn a_trace_shows_what_each_worker_did() {
    let file = folder().join("trace.json");
    let file = file.to_str().unwrap();
    for choice in [&["--pools", "split"][..], &["--pools", "pdq-r:interrupts=flag"], &["--pools", "filch-closures"]] {
        let start = ["trace", "fib:n=24", "--workers", "3", "-o", file];
        let said = stdout(&well(&[&start[..], choice].concat()));
        for wanted in ["fib:n=24 on filch", "worker 0  ", "worker 2  ", "https://ui.perfetto.dev"] {
            assert!(said.contains(wanted), "{wanted:?} is missing: {said}");
        }
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
        assert_eq!((named("thread_name"), named("process_name")), (3, 1));
        assert!(named("call") + named("job") >= 1, "nobody ran the program");
        let is_stolen = |event: &&Value| event["name"] == "task" && event["args"]["owner"] != event["tid"];
        assert_eq!(named("steal"), 2 * events.iter().filter(is_stolen).count(), "each stolen fork has an arrow");
        for event in events {
            assert!(event["ts"].as_f64().is_some_and(|at| at >= 0.0) && event["tid"].as_u64().is_some_and(|at| at < 3));
            assert_eq!(event["dur"].is_number(), event["ph"] == "X", "{event}");
        }
    }
    assert_eq!(stdout(&well(&["trace", "fib:n=10", "-q", "-o", file])), "");
    refuses(&["trace", "fib", "--pools", "serial", "-o", file], &["a pool"]);
    refuses(&["trace", "closure", "-o", file], &["a pool"]);
    refuses(&["trace", "fib", "-o", "no/such/folder/fib.json"], &["no/such/folder/fib.json"]);
}

#[test]
fn every_scheduler_computes_the_same_answer() {
    let pools = ["serial", "split", "chase-lev", "lace", "locked", "filch-closures", "filch-levels"];
    let runs = pools
        .map(|pool| ["--pools", pool])
        .into_iter()
        .chain(["rayon", "chili", "lace-ws"].map(|peer| ["--peers", peer]));
    for scheduler in runs {
        let start = ["run", "fib:n=15", "--repeat", "1", "--json", "-"];
        let runs = lines(&stdout(&well(&[&start[..], &scheduler].concat())));
        assert_eq!(runs[0]["answer"], "610", "{scheduler:?}");
        assert_eq!(runs[0]["correct"], true, "{scheduler:?}");
    }
}

#[test]
fn worklist_programs_run_on_queues() {
    let small = ["run", "closure:n=2000", "--workers", "2", "--repeat", "2", "--json", "-"];
    for pool in [
        "chase-lev",
        "idem-lifo",
        "bwos-f",
        "bwos-l:block=4:capacity=64",
        "pdq-r-async:steal=half",
        "pdq-s-told:delta=5us",
    ] {
        let runs = lines(&stdout(&well(&[&small[..], &["--pools", pool]].concat())));
        assert_eq!(runs.len(), 2);
        for run in runs {
            assert_eq!(
                (&run["workload"], &run["scheduler"], &run["pool"]),
                (&"closure".into(), &"filch".into(), &pool.into())
            );
            assert_eq!((&run["answer"], &run["correct"]), (&"2000 vertices reached".into(), &true.into()));
            assert!(run["wait"].is_null() && run["style"].is_null());
            let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{pool}: no number in {run}"));
            // The number of pushed tasks; a queue that may return a task twice runs some more often.
            let (tasks, runs) = (count(&run["tasks"]), 2000 + count(&run["counters"]["duplicates"]));
            assert!(if pool == "idem-lifo" { (2000..=runs).contains(&tasks) } else { tasks == runs }, "{run}");
            // One attempt to steal half of the tasks may make several steals.
            let [steals, attempts] = ["steals", "attempts"].map(|name| count(&run["counters"][name]));
            assert!(steals <= attempts || pool.contains("half") && attempts > 0);
        }
    }
    let interrupted = "pdq-r-async:interrupts=signal:every=1ms";
    let run = &lines(&stdout(&well(&["run", "fib:n=15", "--pools", interrupted, "--repeat", "1", "--json", "-"])))[0];
    assert_eq!((&run["pool"], &run["correct"]), (&interrupted.into(), &true.into()));
    let text = stdout(&well(&["run", "trees:depth=6", "--workers", "1"]));
    for word in ["trees:tree=thin:depth=6", "filch chase-lev", "127 nodes", "right", "steals 0"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let serial = lines(&stdout(&well(&["run", "trees:depth=6", "--pools", "serial", "--json", "-"])));
    assert_eq!(serial[0]["answer"], "127 nodes, 64 leaves, depth 6");
}

#[test]
fn job_programs_print_the_cost_of_a_job() {
    let small = ["run", "wsq:k=10:jobs=500", "--workers", "1,2", "--repeat", "1"];
    for pool in ["wsq", "chase-lev", "bwos-f", "lace:steal=half"] {
        let runs = lines(&stdout(&well(&[&small[..], &["--pools", pool, "--json", "-"]].concat())));
        let who: Vec<_> = runs.iter().map(|run| (&run["scheduler"], &run["workers"])).collect();
        let expected = [("serial".into(), 1.into()), ("filch".into(), 1.into()), ("filch".into(), 2.into())];
        assert!(who.into_iter().eq(expected.iter().map(|(scheduler, workers)| (scheduler, workers))), "{pool}");
        assert!(runs.iter().all(|run| run["correct"] == true && run["answer"] == runs[0]["answer"]), "{pool}");
    }
    let text = stdout(&well(&small));
    for word in ["filch wsq, 2 workers", "serial", "parallel", "speedup", "overhead"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    refuses(&["run", "wsq", "--pools", "idem-lifo"], &["twice"]);
    refuses(&["run", "wsq", "--pools", "split"], &["job program"]);
}

#[test]
fn a_run_prints_a_few_lines_for_people() {
    let text = stdout(&well(&["run", "fib:n=15", "--repeat", "2", "--workers", "1"]));
    for word in ["fib:n=15", "filch split", "1 worker", "610", "right", "steals"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(!text.contains('\u{1b}'));
    assert_eq!(stdout(&well(&["run", "fib:n=15", "--repeat", "1", "--quiet"])), "");
}

#[test]
fn a_run_takes_what_a_comparison_takes() {
    let start = ["run", "fib:n=15:cutoff=2", "queens:n=6", "--repeat", "2", "--workers", "1,2", "--json", "-"];
    let runs = lines(&stdout(&well(&[&start[..], &["--pools", "serial,filch-levels", "--peers", "rayon"]].concat())));
    let who = |run: &Value| {
        let name = |of: &str| run[of].as_str().unwrap_or_default().to_owned();
        format!("{} {}{} {}", name("workload"), name("scheduler"), name("style"), run["workers"])
    };
    let mut found: Vec<String> = runs.iter().map(who).collect();
    assert_eq!(found.len(), 2 * 2 * 5, "two programs, twice on each scheduler");
    found.dedup();
    let of = |program: &str| {
        ["serial 1", "filchlevels 1", "filchlevels 2", "rayon 1", "rayon 2"].map(|who| format!("{program} {who}"))
    };
    assert_eq!(found, [of("fib"), of("queens")].concat());
    assert!(runs.iter().all(|run| run["correct"] == true));
    let said = stdout(&well(&["run", "fib:n=12", "--pools", "split,lace", "--workers", "1", "--repeat", "1"]));
    assert!(said.contains("fib:n=12 on filch split") && said.contains("fib:n=12 on filch lace"), "{said}");
}

#[test]
fn a_closed_output_is_a_normal_end() {
    let mut child = driver()
        .args(["run", "fib:n=5", "--repeat", "2000", "--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut byte = [0];
    child.stdout.take().expect("a pipe").read_exact(&mut byte).expect("a line");
    let output = child.wait_with_output().expect("the process ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}
