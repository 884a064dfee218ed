use super::*;
use crate::record::tests::run;

impl Program {
    /// Returns the row of this name.
    pub(crate) fn called(&self, label: &str, workers: usize) -> Option<&Row> {
        self.rows.iter().find(|row| row.label == label && row.workers == workers)
    }
}

pub(crate) fn session() -> Vec<Run> {
    let mut runs = Vec::new();
    for round in 0..3 {
        for (scheduler, workers, seconds) in
            [("serial", 1, 1.0), ("filch split", 1, 1.1), ("filch split", 2, 0.6), ("rayon", 1, 4.0), ("rayon", 2, 2.2)]
        {
            let mut run = run("fib", scheduler, workers, seconds);
            run.round = round;
            run.machine.cores = 2;
            runs.push(run);
        }
        for _ in 0..2 {
            let mut run = run("fib", "serial", 1, 1.0 / 0.95);
            run.round = round;
            run.copies = 2;
            runs.push(run);
        }
    }
    runs
}

#[test]
fn ratios_use_the_right_times() {
    let programs = summarize(&session(), &[]);
    let [program] = programs.as_slice() else { panic!("one program") };
    assert_eq!(program.title, "fib:n=30");
    let labels: Vec<(&str, usize)> = program.rows.iter().map(|row| (row.label.as_str(), row.workers)).collect();
    let order = [("serial", 1), ("filch split", 1), ("rayon", 1), ("filch split", 2), ("rayon", 2)];
    assert_eq!(labels, order);
    let one = program.called("filch split", 1).unwrap();
    let value = |estimate: Option<Estimate>| estimate.unwrap().value;
    assert!((value(one.compared.overhead) - 1.1).abs() < 1e-9);
    assert!((value(one.compared.fork_seconds) - 0.1 / 1_346_268.0).abs() < 1e-15);
    assert_eq!(one.compared.relative_speedup, None);
    let two = program.called("filch split", 2).unwrap();
    assert_eq!(two.compared.overhead, None);
    assert!((value(two.compared.task_overhead_seconds) - (2.0 * 0.6 - 1.0) / 1_346_268.0).abs() < 1e-15);
    assert!((value(two.compared.speedup) - 1.0 / 0.6).abs() < 1e-9);
    assert!((value(two.compared.relative_speedup) - 1.1 / 0.6).abs() < 1e-9);
    assert!((program.capacity(2, 2).unwrap().sample.median - 1.9).abs() < 1e-9);
    assert!((value(two.compared.of_capacity) - 1.1 / 0.6 / 1.9).abs() < 1e-9);
    assert_eq!(program.baseline.as_deref(), Some("rayon"));
    assert!((value(two.compared.to_baseline) - 0.6 / 2.2).abs() < 1e-9);
    assert_eq!(two.compared.to_baseline.unwrap().rounds, 3);
    assert_eq!(value(program.called("rayon", 2).unwrap().compared.to_baseline), 1.0);
    assert_eq!(program.rows[0].compared.speedup, None, "the sequential program is not compared");
    assert_eq!(two.counters["steals"].median, 12.0);
}

#[test]
fn oversubscribed_rows_use_the_processors_capacity() {
    let mut runs = session();
    let mut oversubscribed = run("fib", "filch split", 8, 0.6);
    oversubscribed.machine.cores = 2;
    runs.push(oversubscribed);
    let programs = summarize(&runs, &[]);
    assert!(programs[0].called("filch split", 8).unwrap().compared.of_capacity.is_some());
}

#[test]
fn medians_of_the_same_round_are_compared() {
    let mut runs = Vec::new();
    // The machine slows down, but in each round rayon takes twice as long.
    for (round, slow) in [1.0, 1.5, 4.0].into_iter().enumerate() {
        for (scheduler, seconds) in [("filch split", slow), ("rayon", 2.0 * slow)] {
            for factor in [0.9, 1.0, 1.1] {
                let mut run = run("fib", scheduler, 2, seconds * factor);
                run.round = round;
                runs.push(run);
            }
        }
    }
    // One more round of filch alone, at a fast moment.
    let mut alone = run("fib", "filch split", 2, 0.1);
    alone.round = 3;
    runs.push(alone);
    let programs = summarize(&runs, &[]);
    let ratio = programs[0].called("filch split", 2).unwrap().compared.to_baseline.unwrap();
    assert_eq!(ratio, Estimate { value: 0.5, interval: Some((0.5, 0.5)), rounds: 3 });
}

#[test]
fn the_baseline_is_rayon_or_the_first_scheduler() {
    let of = |names: &[&str]| {
        let runs: Vec<Run> = names.iter().map(|name| run("fib", name, 1, 1.0)).collect();
        summarize(&runs, &[])[0].baseline.clone()
    };
    assert_eq!(of(&["chili", "rayon", "filch split"]).as_deref(), Some("rayon"));
    assert_eq!(of(&["chili", "filch chase-lev", "filch split"]).as_deref(), Some("filch split"));
    assert_eq!(of(&["serial", "chili"]), None);
    let mut runs = [run("fib", "rayon", 1, 1.0), run("fib", "chili", 1, 1.0), run("fib", "filch split", 1, 1.0)];
    runs[0].seconds = None;
    assert_eq!(summarize(&runs, &[])[0].baseline.as_deref(), Some("filch split"));
}

#[test]
fn programs_keep_the_requested_order() {
    let runs = [run("fib", "rayon", 1, 1.0), run("queens", "rayon", 1, 1.0)];
    let asked = ["uts", "queens", "fib"].map(|name| run(name, "rayon", 1, 1.0).program);
    let found: Vec<String> = summarize(&runs, &asked).into_iter().map(|program| program.title).collect();
    assert_eq!(found, ["queens:n=30", "fib:n=30"]);
    let cutoffs = [10, 5, 0].map(|cutoff| {
        let mut run = run("fib", "rayon", 1, 1.0);
        run.program.params.insert("cutoff".to_owned(), cutoff.into());
        run
    });
    let found: Vec<String> = summarize(&cutoffs, &[]).into_iter().map(|program| program.title).collect();
    assert_eq!(found, ["fib:n=30", "fib:n=30:cutoff=5", "fib:n=30:cutoff=10"], "not in numeric order");
}

#[test]
fn another_placement_is_another_row() {
    let mut runs = [run("fib", "serial", 1, 1.0), run("fib", "filch split", 1, 1.1)].to_vec();
    let pinned = runs.clone().into_iter().map(|mut run| {
        run.who.placement = Placement::Pinned;
        run.seconds = run.seconds.map(|seconds| 2.0 * seconds);
        run
    });
    runs.extend(pinned);
    let programs = summarize(&runs, &[]);
    let [program] = programs.as_slice() else { panic!("one program") };
    for label in ["filch split", "filch split pinned"] {
        let overhead = program.called(label, 1).unwrap().compared.overhead.unwrap().value;
        assert!((overhead - 1.1).abs() < 1e-9, "{label} {overhead}: not over its own sequential program");
    }
    assert_eq!(program.serial.map(|serial| (serial.n, serial.median)), Some((1, 1.0)), "placed by the system");
}

#[test]
fn failed_and_wrong_runs_are_visible_but_not_timed() {
    let mut broken = run("fib", "chili", 1, 1.0);
    (broken.seconds, broken.correct, broken.error) = (None, false, Some("killed".to_owned()));
    let mut wrong = run("fib", "rayon", 1, 1.0);
    (wrong.correct, wrong.error) = (false, Some("5 is wrong".to_owned()));
    let programs = summarize(&[broken, wrong], &[]);
    assert!(programs[0].rows.iter().any(|row| !row.wrong.is_empty() || !row.broken.is_empty()));
    assert_eq!(programs[0].called("chili", 1).unwrap().broken, ["killed"]);
    assert_eq!(programs[0].called("chili", 1).unwrap().time, None);
    assert_eq!(programs[0].called("rayon", 1).unwrap().wrong, ["5 is wrong"]);
}

#[test]
fn the_least_depth_is_that_of_the_lowest_stack() {
    let mut runs = vec![run("uts", "filch split", 2, 1.0)];
    assert!(!summarize(&runs, &[])[0].rows[0].counters.contains_key(LEAST_DEPTH), "a run without workers' counters");
    let depth = |depth: u64| serde_json::Map::from_iter([("peak_depth".to_owned(), depth.into())]);
    runs[0].counters_by_worker = vec![depth(40), depth(7)];
    assert_eq!(summarize(&runs, &[])[0].rows[0].counted(LEAST_DEPTH), Some(7.0));
}

#[test]
fn a_run_without_steals_has_no_time_of_a_steal() {
    let with = |round, steals: u64, nanoseconds: u64| {
        let mut run = run("steal-latency", "filch abp", 2, 1.0);
        run.round = round;
        run.counters = [("steals", steals), ("steal_ns", nanoseconds)]
            .map(|(name, n)| (name.to_owned(), n.into()))
            .into_iter()
            .collect();
        run
    };
    let programs = summarize(&[with(0, 0, 0), with(1, 5, 30)], &[]);
    let counters = &programs[0].rows[0].counters;
    assert_eq!((counters["steal_ns"].median, counters["steal_ns"].rounds.len()), (30.0, 1));
    assert_eq!(counters["steals"].rounds.len(), 2);
}
