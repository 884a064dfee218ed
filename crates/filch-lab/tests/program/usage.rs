//! Refusals and their messages, and the texts of help and lists.

use crate::driver::driver;
use crate::{folder, lines, refuses, stderr, stdout, well};

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
    refuses(&["run", "fib", "--pools", "chaselev"], &["did you mean `chase-lev`"]);
    refuses(&["run", "fib", "--peers", "rayn"], &["did you mean `rayon`?"]);
    refuses(&["run", "fib", "--wait", "leapfog"], &["did you mean `leapfrog`"]);
    refuses(&["run", "fib", "--peers", "qqqq"], &["rayon", "chili"]);
    refuses(&["compare", "quens"], &["did you mean `queens` or `nqueens`?"]);
    refuses(&["compare", "--pools", "spilt"], &["did you mean `split`?"]);
    refuses(&["compare", "--peers", "chilli"], &["did you mean `chili`?"]);
    refuses(&["stress", "chaselev"], &["there is no queue", "did you mean `chase-lev`"]);
    refuses(&["compare", "--columns", "median,spedup"], &["there is no column", "did you mean `speedup`"]);
    refuses(&["report", "none.jsonl", "--columns", "medan"], &["did you mean `median`"]);
    refuses(&["compare", "fib", "--base", "raion"], &["there is no contender", "did you mean `rayon`?"]);
    refuses(&["list", "pool"], &["pools"]);
    refuses(&["experiment", "fork"], &["there is no experiment `fork`", "did you mean `forks`?"]);
    refuses(&["comare"], &["compare"]);
    refuses(&["run", "fib", "--worker", "1"], &["--workers"]);
}

#[test]
fn bad_parameters_are_refused() {
    refuses(&["run", "fib:n=-1"], &["fib", "n", "-1"]);
    refuses(&["run", "fib:n=ten"], &["ten"]);
    refuses(&["run", "fib:foo"], &["foo", "NAME=VALUE"]);
    refuses(&["run", "fib:=3"], &["NAME=VALUE"]);
    refuses(&["run", "fib:m=3"], &["m"]);
    refuses(&["run", "fib:n=99999999999999999999999"], &["n"]);
    refuses(&["run", "cilksort:n=1000000000000"], &["memory"]);
    refuses(&["compare", "cilksort:n=1000000000000"], &["memory"]);
    refuses(&["compare", "fib:n"], &["NAME=VALUE"]);
    refuses(&["scale", "fib:n=1,cutoff=2"], &["fib:n=1:cutoff=2"]);
    refuses(&["scale", "closure"], &["does not fork and join"]);
    refuses(&["compare", "fib:n=10,cutoff=3"], &["separated by colons: `fib:n=10:cutoff=3`"]);
    refuses(&["run"], &["WORKLOAD"]);
}

#[test]
fn a_measured_bound_must_have_been_measured() {
    use filch_catalogue::console::store_buffer::{Measured, Model};

    let cache = folder().join("measured-bound");
    let _ = std::fs::remove_dir_all(&cache);
    let run = |pool: &str| {
        let mut command = driver();
        command.args(["run", "fib", "--quick", "--pools", pool, "--workers", "1", "--json", "-"]);
        command.current_dir(folder()).env("XDG_CACHE_HOME", &cache).output().expect("the program starts")
    };
    let refused = run("ff-the:bound=measured");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("run `filch probe store-buffer`"), "{}", stderr(&refused));
    let model = Model::here().expect("x86-64 processors name themselves");
    let measured = Measured { model, entries: 500, commit: String::new() };
    measured.write(&cache.join("filch")).expect("the folder can be written");
    let ran = run("ff-the:bound=measured");
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let shown = format!("ff-the:bound={}", measured.bound());
    assert_eq!(lines(&stdout(&ran))[0]["pool"], shown.as_str());
    let unknown = run("split:bound=measured");
    assert!(unknown.status.code() == Some(2) && stderr(&unknown).contains("bound"), "{}", stderr(&unknown));
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
    refuses(&["probe", "store-buffer", "--rounds", "3"], &["--rounds"]);
    refuses(&["probe", "store-buffer", "--processors", "60000"], &["may not use a processor 60000"]);
}

#[test]
fn contradictions_are_refused() {
    refuses(&["compare", "--quick", "--size", "paper"], &["--quick", "--size"]);
    refuses(&["run", "fib", "--pools", "serial", "--workers", "2"], &["one worker"]);
    refuses(&["run", "fib", "--peers", "rayon", "--wait", "leapfrog"], &["omit --wait"]);
    refuses(&["run", "fib", "--peers", "rayon", "--pin"], &["--pin"]);
    refuses(&["compare", "--report", "a.html", "--no-report"], &["--report"]);
    refuses(&["compare", "fib", "--base", "rayon", "--baseline", "a.jsonl"], &["--base"]);
    refuses(&["compare", "fib", "--fail-above", "5%"], &["--fail-above", "--base or --baseline"]);
    for wrong in ["5", "2000%", "x%", "%"] {
        refuses(&["compare", "fib", "--base", "rayon", "--fail-above", wrong], &["it is a percentage, such as 5%"]);
    }
}

#[test]
fn unwritable_files_are_found_before_measuring() {
    // So large that the test would never end if it were measured first.
    let huge = ["run", "fib:n=60", "--workers", "1"];
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
    let verbs: [&[&str]; 18] = [
        &["compare"],
        &["experiment"],
        &["reproduce"],
        &["build"],
        &["run"],
        &["list"],
        &["report"],
        &["scale"],
        &["stress"],
        &["stress", "programs"],
        &["probe", "idle"],
        &["probe", "wakeup"],
        &["probe", "calls"],
        &["probe", "store-buffer"],
        &["probe", "fences"],
        &["probe", "litmus"],
        &["simulate"],
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
fn lists_name_everything() {
    let all = stdout(&well(&["list"]));
    for name in ["split", "chase-lev", "locked", "serial", "fib", "queens", "uts", "rayon", "chili", "leapfrog"] {
        assert!(all.contains(name), "{name}");
    }
    assert!(!all.contains('\u{1b}'), "colour in a pipe");
    let workloads = stdout(&well(&["list", "workloads"]));
    for word in ["worklist, idempotent", "spanning-tree", "pseudo-dfs", "fork–join"] {
        assert!(workloads.contains(word), "{word}");
    }
    let pools = stdout(&well(&["list", "pools"]));
    assert!(pools.contains("fork–join, worklists") && pools.contains("idempotent worklists"));
    let forms = stdout(&well(&["list", "forms"]));
    for word in ["split\n", "idem-lifo\n", "figures 1 and 2", "departs", "moves=half-stores", "share=half", "idle=spin"]
    {
        assert!(forms.contains(word), "{word} in {forms}");
    }
    assert!(pools.contains("filch list forms") && forms.lines().all(|line| line.chars().count() <= 100), "{forms}");
    let parameters = stdout(&well(&["list", "parameters"]));
    assert!(parameters.contains("block") && parameters.contains("bwos-l bwos-f") && parameters.contains("delta"));
    let waits = stdout(&well(&["list", "waits"]));
    assert!(waits.contains("(the default)") && !waits.contains("rayon"));
    let experiments = stdout(&well(&["list", "experiments"]));
    for word in ["forks", "cutoff", "padws-fig1", "placement", "What does a fork cost"] {
        assert!(experiments.contains(word), "{word} in {experiments}");
    }
    for what in [&["pools"][..], &["forms"], &["scenarios"]] {
        let some = stdout(&well(&[&["list"], what, &["pdq-s", "wsq"]].concat()));
        assert!(some.contains("pdq-s") && some.contains("wsq") && !some.contains("lace"), "{some}");
        refuses(&[&["list"], what, &["pdq-s", "nothing-so"]].concat(), &["`nothing-so`"]);
    }
    let columns = stdout(&well(&["list", "columns"]));
    for word in ["relative-speedup", "T1/TP", "seconds", "nine tenths"] {
        assert!(columns.contains(word), "{word} in {columns}");
    }
}

#[test]
fn unsuitable_schedulers_are_refused_with_the_reason() {
    refuses(&["run", "trees", "--pools", "idem-lifo"], &["idem-lifo", "must run once"]);
    refuses(&["run", "pseudo-dfs", "--pools", "idem-fifo"], &["must run once"]);
    refuses(&["run", "trees", "--pools", "split"], &["runs only fork–join", "trees is a worklist program"]);
    refuses(&["run", "trees", "--pools", "filch-closures"], &["runs only fork–join"]);
    refuses(&["run", "trees", "--peers", "rayon"], &["does not run worklist programs"]);
    refuses(&["run", "trees", "--pools", "chaselev"], &["did you mean `chase-lev`"]);
    refuses(&["run", "trees", "--wait", "random"], &["--wait"]);
    refuses(&["run", "fib", "--pools", "idem-lifo"], &["not fork–join"]);
    refuses(&["run", "fib", "--pools", "bwos-l:steal=half"], &["its thieves take one task at a time"]);
    refuses(&["run", "trees", "--pools", "bwos-l:interrupts=flag"], &["answer thieves themselves"]);
    refuses(&["run", "trees", "--pools", "bwos-l:blok=4"], &["did you mean `block`"]);
    refuses(&["run", "trees", "--pools", "bwos-l:block=many"], &["block=`many`", "is not a number"]);
}
