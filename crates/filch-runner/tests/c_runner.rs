//! A scheduler in another language needs only the protocol: the runner in C, built and driven as a third party's.
#![cfg(unix)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use common::{Runner, order, own, runs};
use filch_catalogue::protocol::{Reply, Request, VERSION};

/// The path of the program; `None` without a C compiler.
static BUILT: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("not tested: no C compiler `{compiler}`");
        return None;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runner-in-c/runner.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain-c");
    let mut command = Command::new(&compiler);
    command.args(["-std=c99", "-O2", "-o"]).arg(&program).args([source, "-lm"]);
    let output = command.output().expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
});

fn start() -> Option<Runner> {
    let runner = Runner::start(BUILT.as_ref()?);
    assert_eq!((runner.hello.protocol, runner.hello.scheduler.as_str()), (VERSION, "plain-c"));
    Some(runner)
}

#[test]
fn its_answers_match_the_sequential_programs() {
    let programs: &[(&str, &[(&str, &str)])] = &[
        ("fib", &[("n", "0")]),
        ("fib", &[("n", "1")]),
        ("fib", &[("n", "27"), ("cutoff", "1_0")]),
        ("uts", &[("depth", "6")]),
        ("uts", &[("tree", "T1S"), ("depth", "5"), ("b", "3.5"), ("seed", "7")]),
        ("uts", &[("tree", "T2"), ("depth", "4")]),
        ("uts", &[("tree", "t3"), ("b", "500"), ("q", "0.12")]),
        ("uts", &[("tree", "T3S"), ("b", "200.9")]),
        ("uts", &[("tree", "T3L"), ("b", "20"), ("m", "4")]),
        ("uts", &[("tree", "T4"), ("depth", "7")]),
        ("uts", &[("tree", "T5"), ("depth", "11")]),
        ("uts", &[("tree", "custom"), ("type", "geometric"), ("shape", "cyclic"), ("depth", "3"), ("seed", "5")]),
        ("uts", &[("tree", "custom"), ("shape", "exponential"), ("depth", "5"), ("b", "2"), ("seed", "3")]),
        ("uts", &[("tree", "custom"), ("type", "hybrid"), ("shape", "fixed"), ("depth", "9"), ("b", "2"), ("m", "2")]),
        ("uts", &[("tree", "T3S")]),
    ];
    for &program in programs {
        let order = order(program, 1, &[]);
        let Some(runner) = start() else { return };
        let found = runs(runner, &order).unwrap_or_else(|why| panic!("{program:?}: {why}"));
        let right = runs(Runner::start(&own("serial")), &order).unwrap_or_else(|why| panic!("{program:?}: {why}"));
        for (ran, right) in found.iter().zip(&right) {
            assert_eq!(ran.answer, right.answer, "{program:?}");
            assert!(ran.seconds > 0.0 && ran.peak_rss_bytes > 0, "{ran:?}");
        }
    }
}

#[test]
fn refusals_give_a_reason() {
    let fib: (&str, &[(&str, &str)]) = ("fib", &[("n", "10")]);
    for (order, words) in [
        (order(("matmul", &[]), 1, &[]), "matmul"),
        (order(("odd \"name\"\n\\ of ä", &[]), 1, &[]), "`odd \"name\"\n\\ of ä`"),
        (order((&"ä".repeat(99), &[]), 1, &[]), "ä…`"),
        (order(("fib", &[("n", "ten")]), 1, &[]), "n=`ten`"),
        (order(("fib", &[("n", "91")]), 1, &[]), "from 0 to 90"),
        (order(("fib", &[("m", "9")]), 1, &[]), "fib has no parameter `m`"),
        (order(("uts", &[("tree", "T9")]), 1, &[]), "T9"),
        (order(("uts", &[("tree", "T3"), ("q", "0x1p-2")]), 1, &[]), "q=`0x1p-2`"),
        (order(("uts", &[("tree", "T3"), ("q", "0.5")]), 1, &[]), "infinite"),
        (order(fib, 1, &[("wait", "leapfrog")]), "wait"),
        (order(fib, 0, &[]), "not 0"),
        (order(fib, 2, &[]), "not 2"),
    ] {
        let Some(runner) = start() else { return };
        let refused = runs(runner, &order).expect_err(words);
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn requests_out_of_order_are_refused() {
    let Some(mut runner) = start() else { return };
    let nested = "[".repeat(100_000);
    for line in ["", "hello?", "{}", r#"{"ask":"dance"}"#, r#"{"ask":"run"} {"#, r#"{"ask":"\u00"#, &nested] {
        runner.tell(line);
        assert!(matches!(runner.listen(), Some(Reply::Refused { .. })), "{line}");
    }
    let early = [Request::Run, Request::Reset].map(|request| runner.ask(&request));
    assert!(early.iter().all(|reply| matches!(reply, Reply::Refused { .. })), "{early:?}");
    let Reply::Description(description) = runner.ask(&Request::Describe) else { panic!("not a description") };
    let programs: Vec<_> = description.programs.iter().map(|program| program.name.as_str()).collect();
    assert_eq!((programs, description.most_workers), (vec!["fib", "uts"], Some(1)));
    let first = r#" { "mood" : [ "sunny", { "since": -1.5e3, "why": null } ], "workers" :1, "warmup_parameters":null"#;
    let rest = r#","warmup":2, "parameters": {"\u006e": "1\u0030"}, "program": "fib", "ask": "prepare" } "#;
    runner.tell(first);
    assert!(matches!(runner.listen(), Some(Reply::Refused { .. })), "half of a request");
    runner.tell(&format!("{first}{rest}"));
    assert_eq!(runner.listen(), Some(Reply::Ready));
    assert!(matches!(runner.ask(&Request::Run), Reply::Ran(ran) if ran.answer == "55"));
    for request in [Request::Run, Request::Describe] {
        assert!(matches!(runner.ask(&request), Reply::Refused { .. }), "{request:?}");
    }
    runner.end();
}

#[test]
fn its_parameters_match_the_programs() {
    let Some(mut runner) = start() else { return };
    let Reply::Description(description) = runner.ask(&Request::Describe) else { panic!("not a description") };
    for program in description.programs {
        let spec = filch_workloads::specs().iter().find(|spec| spec.name == program.name).expect("the same programs");
        let names: Vec<_> = spec.params.iter().map(|param| param.name).collect();
        assert_eq!(program.parameters, names, "{}", program.name);
    }
    runner.end();
}
