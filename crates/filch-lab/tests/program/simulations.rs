//! `filch simulate`, and the forecasts of `filch scale`.

use crate::{folder, lines, refuses, stdout, well};

const SMALL: [&str; 8] = ["simulate", "fib:n=10", "--workers", "2,30", "--delta", "5", "--runs", "3"];

#[test]
fn a_seed_repeats_all_runs() {
    let run = |more: &[&str]| lines(&stdout(&well(&[&SMALL[..], &["--json", "-"], more].concat())));
    let first = run(&[]);
    assert_eq!(first.len(), 4, "two numbers of workers, and two protocols");
    assert_eq!(first, run(&["--seed", "1"]));
    assert_ne!(first[0]["steps"], run(&["--seed", "9"])[0]["steps"]);
    for case in run(&["--check"]) {
        let numbers = |name: &str| case[name].as_array().expect("a list").clone();
        assert_eq!((numbers("steps").len(), case["checked"].as_bool()), (3, Some(true)));
        let workers = case["workers"].as_u64().expect("a number");
        for run in 0..3 {
            let of = |name: &str| numbers(name)[run].as_u64().expect("a number");
            assert_eq!(of("steps") * workers, 265 + of("communication") + of("idle"), "{case}");
        }
    }
}

#[test]
fn a_simulation_is_a_table_with_its_bound() {
    let said = stdout(&well(&[&SMALL[..], &["--protocol", "receiver"]].concat()));
    assert!(said.starts_with("Means of 3 runs") && said.contains("T1/(δ − 1)"), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("fib:n=10") && line.contains("receiver")).count(), 2, "{said}");
    assert!(!said.contains("sender"), "{said}");
}

#[test]
fn impossible_simulations_are_refused() {
    refuses(&["simulate", "tree:n=3"], &["there is no graph `tree`", "fib, balanced, comb, uts"]);
    refuses(&["simulate", "fib:m=3"], &["does not have the form fib:n=N"]);
    refuses(&["simulate", "balanced:depth=22,grain=1000"], &["at most 20000000 fit"]);
    refuses(&["simulate", "--delta", "1"], &["--delta", "1 is not in 2..="]);
    refuses(&["simulate", "--protocol", "both"], &["--protocol", "sender, receiver"]);
    refuses(&["simulate", "--json", "/nonexistent/s.jsonl"], &["cannot write"]);
}

/// A recording is a file, from which the same forecast is made again.
#[test]
fn recordings_are_forecast_again_and_compared() {
    let (file, page) = ("scale-fib.jsonl", "scale-fib.html");
    let said = stdout(&well(&["scale", "fib:n=20", "--quick", "--workers", "1,2", "--json", file]));
    assert!(said.contains("fib:n=20: More than ") && said.contains("forecast of speed-up"), "{said}");
    let first = lines(&std::fs::read_to_string(folder().join(file)).expect("the file"));
    assert_eq!(first[0]["forks"], 10_945);
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
        assert!(said.contains("capacity") && first[0]["capacity"]["times"].as_f64().expect("a number") > 0.0, "{said}");
    }
    let again = ["scale", file, "--against", file, "--workers", "1,2,1024", "--pools", "split,pdq-r", "-o", page];
    let said = stdout(&well(&again));
    assert!(said.contains("work, of before") && said.contains("1.00") && said.contains("on 1024"), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("fib:n=20  ")).count(), 3, "{said}");
    let page = std::fs::read_to_string(folder().join(page)).expect("the page");
    assert!(page.contains("More than ") && page.contains("pdq-r"));
    let second = lines(&stdout(&well(&["scale", file, "--workers", "1,2", "--json", "-"])));
    assert_eq!((&first[0]["forecast"], &first[0]["costs"]), (&second[0]["forecast"], &second[0]["costs"]));
}

/// The graph is that of the recording: forks that are left out make its span longer, and nothing makes it shorter.
#[test]
fn a_graph_has_the_work_and_the_span_of_its_recording() {
    let programs =
        ["scale", "cilksort:n=100000", "each:n=100000", "queens:n=8", "uts:depth=5", "--quick", "--json", "-"];
    for line in lines(&stdout(&well(&programs))) {
        let number = |name: &str| line[name].as_u64().expect("a number");
        let graph: filch_sim::forecast::Graph = line["graph"].as_str().expect("a text").parse().expect("a graph");
        // A strand's length is rounded to a nanosecond.
        let rounding = graph.strands() as u64;
        assert!(graph.work().abs_diff(number("work")) <= rounding, "{} of {}", graph.work(), number("work"));
        assert!(graph.span() + rounding >= number("span"), "{} of {}", graph.span(), number("span"));
        assert_eq!(graph.forks() + number("forks_left_out"), number("forks"), "{}", line["program"]);
    }
}

#[test]
fn what_cannot_be_recorded_is_told() {
    refuses(&["scale", "/nonexistent/file.json"], &["cannot read /nonexistent/file.json"]);
    refuses(&["scale", "fib", "--costs", "steal=3"], &["there is no cost `steal`: there are fork, theft, wake"]);
    refuses(&["scale", "fib", "--pools", "lace"], &["there is no forecast for `lace`", "chase-lev"]);
    #[cfg(unix)]
    refuses(&["scale", "--command", "true"], &["has recorded nothing", "docs/drop-in.md"]);
}
