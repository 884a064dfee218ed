use super::*;
use crate::record::tests::run;

/// Five rounds of these schedulers; the last number is the spread of the first one's times.
fn session(times: &[(&str, usize, f64)], spread: f64) -> Vec<Run> {
    let of = |round: usize| {
        times.iter().enumerate().map(move |(nth, &(who, workers, seconds))| {
            let noise = if nth == 0 { [-1.0, 0.5, 0.0, -0.5, 1.0][round] * spread } else { 0.0 };
            Run { round, ..run("fib", who, workers, seconds * (1.0 + noise)) }
        })
    };
    (0..5).flat_map(of).collect()
}

fn against(base: Base, earlier: Vec<Run>, limit: f64) -> Comparison {
    Comparison { base, earlier, limit: Some(limit) }
}

/// Compares rayon with chili.
fn rayon_against_chili(seconds: f64, spread: f64, limit: f64) -> Difference {
    let runs = session(&[("rayon", 1, seconds), ("chili", 1, 1.0), ("serial", 1, 1.0)], spread);
    let comparison = against(Base::Named("chili".to_owned()), Vec::new(), limit);
    let [one] = &comparison.differences(&comparison.summarize(&runs, &[]))[..] else { panic!("one row") };
    one.clone()
}

#[test]
fn a_row_fails_only_if_its_whole_interval_is_above_the_limit() {
    let slow = rayon_against_chili(1.04, 0.01, 0.02);
    assert_eq!((slow.to_string().as_str(), slow.verdict()), ("+4.0 % [+3.0, +5.0]", "slower"));
    assert!(slow.is_failure() && !slow.is_open());
    let failure = "fib:n=30, rayon on 1 is slower than chili by 4.0 % [3.0, 5.0]; the limit is 2 %";
    assert_eq!(slow.failure().as_deref(), Some(failure));
    let crosses = rayon_against_chili(1.04, 0.01, 0.05);
    assert_eq!((crosses.verdict(), crosses.failure(), crosses.is_open()), ("slower", None, true));
    let below = rayon_against_chili(1.04, 0.01, 0.10);
    assert_eq!((below.verdict(), below.failure(), below.is_open()), ("slower", None, false));
    let alike = rayon_against_chili(1.0, 0.01, 0.0);
    assert_eq!((alike.verdict(), alike.failure()), ("no difference", None));
    assert_eq!(
        (rayon_against_chili(0.9, 0.01, 0.0).verdict(), alike.to_string().as_str()),
        ("faster", "+0.0 % [−1.0, +1.0]")
    );
}

#[test]
fn few_rounds_decide_nothing() {
    let few = |sessions: bool| {
        let short = |seconds| {
            session(&[("rayon", 1, seconds), ("chili", 1, 1.0)], 0.01).into_iter().filter(|run| run.round < 4)
        };
        let (runs, then): (Vec<Run>, Vec<Run>) = (short(1.5).collect(), short(1.0).collect());
        let base = if sessions { Base::Earlier("then".to_owned()) } else { Base::Named("chili".to_owned()) };
        let comparison = against(base, then, 0.0);
        comparison.differences(&comparison.summarize(&runs, &[])).pop().expect("rayon is slowest")
    };
    for slow in [few(false), few(true)] {
        assert_eq!((slow.verdict(), slow.is_failure(), slow.is_open()), ("unknown", false, true), "{slow}");
        assert!(slow.ratio.interval.is_some_and(|(low, _)| low > 1.4), "{slow}");
    }
}

#[test]
fn a_base_has_a_name_of_the_table_or_of_the_flags() {
    let mut pinned = run("fib", "filch chase-lev", 1, 2.0);
    pinned.who.placement = Placement::Pinned;
    let mut built = run("fib", "split", 1, 5.0);
    built.who.build = Some("old/split".to_owned());
    let runs = [
        run("fib", "filch split", 1, 1.0),
        run("fib", "filch chase-lev", 1, 2.0),
        pinned,
        run("fib", "filch levels", 1, 3.0),
        run("fib", "rayon", 1, 4.0),
        built,
    ];
    let title = |name: &str| summarize_against(&runs, &[], &Base::Named(name.to_owned()))[0].baseline.clone();
    for (name, found) in [
        ("chase-lev", "filch chase-lev"),
        ("filch chase-lev", "filch chase-lev"),
        ("filch-levels", "filch levels"),
        ("rayon", "rayon"),
        ("old/split", "split (old/split)"),
        ("split", "filch split"),
    ] {
        assert_eq!(title(name).as_deref(), Some(found), "{name}");
    }
    assert_eq!(title("chili"), None);
    // Rows are compared with one of their own placement, if there is one.
    let program = &summarize_against(&runs, &[], &Base::Named("chase-lev".to_owned()))[0];
    let ratio = |label: &str| program.called(label, 1).unwrap().compared.to_baseline.unwrap();
    assert_eq!((ratio("filch split").value, ratio("filch chase-lev pinned").value), (0.5, 1.0));
}

#[test]
fn an_unknown_base_is_told_before_anything_is_measured() {
    let rows = rows_of(&session(&[("rayon", 1, 1.0), ("chili", 1, 1.0)], 0.0));
    let told = |name: &str, rows: &[RowId]| {
        let comparison = against(Base::Named(name.to_owned()), Vec::new(), 0.0);
        comparison.check(rows, &["it is closed".to_owned()]).map_err(|error| error.to_string())
    };
    assert!(told("rayon", &rows).is_ok());
    let unknown = told("raion", &rows).unwrap_err();
    assert!(unknown.contains("did you mean `rayon`?") && unknown.contains("it is closed"), "{unknown}");
    assert!(told("rayon", &rows[..1]).unwrap_err().contains("nothing is compared with rayon"));
}

#[test]
fn an_earlier_session_is_compared_row_by_row() {
    let now = session(&[("filch split", 2, 1.2), ("serial", 1, 1.0), ("rayon", 2, 3.0)], 0.01);
    let then = session(&[("filch split", 2, 1.0), ("serial", 1, 0.5), ("filch split", 4, 1.0)], 0.01);
    let comparison = against(Base::Earlier("then.jsonl".to_owned()), then.clone(), 0.1);
    comparison.check(&rows_of(&now), &[]).expect("it has the pool's row");
    let programs = comparison.summarize(&now, &[]);
    let program = &programs[0];
    assert_eq!(program.baseline.as_deref(), Some("then.jsonl"));
    let labels: Vec<&str> = program.rows.iter().map(|row| row.label.as_str()).collect();
    let expected = ["serial (then.jsonl)", "serial", "filch split (then.jsonl)", "filch split", "rayon"];
    assert_eq!(labels, expected, "rows without a like are left out");
    let [one] = &comparison.differences(&programs)[..] else { panic!("one row is compared") };
    let (low, high) = one.ratio.interval.expect("an interval of two sessions");
    assert!((one.ratio.value - 1.2).abs() < 1e-9 && low < 1.19 && high > 1.21, "{one}");
    assert!(one.is_failure() && one.base == "then.jsonl", "{one:?}");
    // The speed-ups are those of each session.
    let speedup = |label: &str| program.called(label, 2).unwrap().compared.speedup.unwrap().value;
    assert!((speedup("filch split") - 1.0 / 1.2).abs() < 1e-9);
    assert!((speedup("filch split (then.jsonl)") - 0.5).abs() < 1e-9);
    let drifts = crate::warnings::warnings(&now, &programs);
    let drift =
        drifts.iter().map(ToString::to_string).find(|text| text.contains("sequential program")).expect("a doubt");
    assert!(drift.ends_with("fib:n=30, serial on 1 (100 %)."), "{drift}");
    let other = against(Base::Earlier("then.jsonl".to_owned()), session(&[("chili", 1, 1.0)], 0.0), 0.1);
    let why = other.check(&rows_of(&now), &[]).unwrap_err().to_string();
    assert!(why.ends_with("then.jsonl has none of these rows; it has fib:n=30, chili on 1"), "{why}");
}
