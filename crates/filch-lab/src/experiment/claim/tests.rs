use super::*;
use crate::experiment::quantity::{At, Comparison, Pick};
use crate::record::Run;
use crate::record::tests::run;
use crate::summary::summarize;

const LESS: Claim = Claim::new(
    "filch takes half of rayon's time",
    Pick::new("filch split", At::Any),
    Measure::Over(Quantity::Time, Pick::new("rayon", At::Any)),
    Limit::Below(0.5),
);

/// Rounds in which rayon takes a second, and filch takes these seconds.
fn session(seconds: &[f64], workers: usize) -> Vec<Run> {
    let rounds = seconds.iter().enumerate().flat_map(|(round, &seconds)| {
        [("filch split", seconds), ("rayon", 1.0)].map(|(who, seconds)| {
            let mut run = run("fib", who, workers, seconds);
            (run.round, run.tasks) = (round, Some(1000));
            run
        })
    });
    rounds.collect()
}

fn of(claim: &Claim, sweep: Option<Sweep>) -> Experiment {
    Experiment { sweep, claims: vec![claim.clone()], ..Experiment::new("") }
}

fn verdict(claim: &Claim, runs: &[Run]) -> Decided {
    decide(&of(claim, None), &summarize(runs, &[]), 2).remove(0)
}

#[test]
fn a_claim_is_decided_by_the_whole_interval() {
    assert_eq!(verdict(&LESS, &session(&[0.4; 5], 1)).verdict, Verdict::Holds);
    assert_eq!(verdict(&LESS, &session(&[0.6; 5], 1)).verdict, Verdict::DoesNotHold);
    let open = verdict(&LESS, &session(&[0.4, 0.45, 0.45, 0.55, 0.6], 1));
    assert!(matches!(&open.verdict, Verdict::Undecided { why, .. } if why.contains("crosses")), "{open:?}");
    assert!(open.why().contains("fib:n=30, filch split on 1, time over rayon: 0.45 ["), "{}", open.why());
}

#[test]
fn a_claim_needs_enough_evidence() {
    let missing = |runs: &[Run]| match verdict(&LESS, runs).verdict {
        Verdict::Undecided { why, .. } | Verdict::NotTestable(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing(&session(&[0.4; 3], 1)), "It needs 5 rounds, but there are 3");
    assert_eq!(missing(&session(&[0.4; 5], 8)), "It needs 8 processors, but there are 2");
    assert_eq!(missing(&session(&[0.4; 5], 1)[..1]), "It concerns nothing that was measured");
}

#[test]
fn one_violating_row_refutes_a_claim() {
    let mut runs = session(&[0.4; 5], 1);
    runs.extend(session(&[0.6; 5], 2));
    let decided = verdict(&LESS, &runs);
    assert_eq!((&decided.verdict, decided.evidence.len()), (&Verdict::DoesNotHold, 2));
    assert!(decided.evidence[0].of.contains("on 2"), "{decided:?}");
    assert_eq!(verdict(&Claim { workers: Some(1), ..LESS }, &runs).verdict, Verdict::Holds);
    assert_eq!(verdict(&Claim { programs: &["fib"], workers: Some(2), ..LESS }, &runs).verdict, Verdict::DoesNotHold);
    assert_eq!(verdict(&Claim { with: Some(("n", "30")), ..LESS }, &runs).verdict, Verdict::DoesNotHold);
    let with = |parameter, value| Claim { with: Some((parameter, value)), ..LESS };
    for elsewhere in [Claim { programs: &["queens"], ..LESS }, with("n", "31"), with("cutoff", "1")] {
        assert!(matches!(verdict(&elsewhere, &runs).verdict, Verdict::NotTestable(_)), "{elsewhere:?}");
    }
}

#[test]
fn counters_are_compared_per_task() {
    let steals = Claim { measure: Measure::Is(Quantity::STOLEN), limit: Limit::Within(0.01, 0.02), ..LESS };
    let decided = verdict(&steals, &session(&[0.4; 5], 2));
    assert_eq!(decided.verdict, Verdict::Holds);
    assert!((decided.evidence[0].estimate.value - 0.012).abs() < 1e-9);
    let told = decided.json();
    assert_eq!((&told["verdict"], &told["missing"]), (&"holds".into(), &Value::Null));
    assert!(told["rule"].as_str().unwrap().ends_with("the steals per task of filch split is between 0.01 and 0.02"));
}

#[test]
fn swept_values_are_compared_with_one_or_with_the_same_value() {
    let sweep = Sweep { parameter: "block", values: Vec::new(), meaning: "" };
    let mut runs = Vec::new();
    for round in 0..5 {
        let rows = [
            ("bwos-l:block=2", 2.0),
            ("bwos-l:block=8", 1.0),
            ("padws:block=2", 1.0),
            ("padws:block=8", 1.0),
            ("abp", 1.5),
        ];
        for (pool, seconds) in rows {
            let mut run = run("trees", "filch x", 2, seconds);
            (run.who.pool, run.round) = (Some(pool.to_owned()), round);
            runs.push(run);
        }
    }
    let programs = summarize(&runs, &[]);
    let evidence = |of_rows, over| {
        let claim = Claim { of: of_rows, measure: Measure::Over(Quantity::Time, over), ..LESS };
        let found = decide(&of(&claim, Some(sweep.clone())), &programs, 2).remove(0).evidence;
        found.iter().map(|evidence| evidence.estimate.value).collect::<Vec<_>>()
    };
    assert_eq!(
        evidence(Pick::new("filch bwos-l", At::Any), Pick::new("filch padws", At::Any)),
        [2.0, 1.0],
        "matched by value"
    );
    assert_eq!(
        evidence(Pick::new("filch bwos-l", At::One("2")), Pick::new("filch padws", At::Any)),
        [2.0, 2.0],
        "one with all"
    );
    assert_eq!(
        evidence(Pick::new("filch bwos-l", At::Any), Pick::new("filch bwos-l", At::One("8"))),
        [2.0],
        "all with one"
    );
    assert_eq!(
        evidence(Pick::new("filch bwos-l", At::One("8")), Pick::new("filch abp", At::Any)),
        [1.0 / 1.5],
        "a reference line"
    );
}

#[test]
fn a_claim_about_many_processors_concerns_only_rows_with_as_many_workers() {
    let mut runs = session(&[0.6; 5], 2);
    runs.extend(session(&[0.4; 5], 4));
    let needy = Claim { needs: Some(Need::Processors(4)), ..LESS };
    let on = |cores| decide(&of(&needy, None), &summarize(&runs, &[]), cores).remove(0);
    assert_eq!((on(4).verdict, on(4).evidence.len()), (Verdict::Holds, 1));
    assert_eq!(on(2).verdict, Verdict::NotTestable("It needs 4 processors, but there are 2".to_owned()));
}

#[test]
fn a_difference_has_the_unit_of_its_quantity() {
    let beyond = Measure::Beyond(Quantity::Per(&Quantity::Time, &Quantity::Tasks), Pick::new("rayon", At::Any));
    let decided =
        verdict(&Claim { measure: beyond, limit: Limit::Within(-0.7e-3, -0.5e-3), ..LESS }, &session(&[0.4; 5], 1));
    assert_eq!(decided.verdict, Verdict::Holds, "(0.4 − 1) s for 1000 tasks: {decided:?}");
    assert!(decided.rule.contains("time per task of filch split minus that of rayon"), "{}", decided.rule);
}

#[test]
fn a_counter_of_nanoseconds_is_compared_with_a_swept_time() {
    let mut runs = session(&[0.4; 5], 2);
    for run in &mut runs {
        run.counters.insert("idle_ns".to_owned(), 30_000.into());
        run.counters.insert("migrations".to_owned(), 3.into());
        run.who.pool = Some("pdq-s:delta=10us".to_owned());
    }
    let sweep = Sweep { parameter: "delta", values: Vec::new(), meaning: "" };
    let measure = Measure::OverSwept(Quantity::IDLE_PER_MIGRATION);
    let claim = Claim { of: Pick::new("filch pdq-s", At::Any), measure, limit: Limit::Within(0.99, 1.01), ..LESS };
    let decided = decide(&of(&claim, Some(sweep)), &summarize(&runs, &[]), 2).remove(0);
    assert_eq!(decided.verdict, Verdict::Holds, "{decided:?}");
    assert!(decided.rule.contains("idle time per migration"), "{}", decided.rule);
}

#[test]
fn wrong_answers_are_counted() {
    let mut runs = session(&[0.4; 5], 1);
    let right = Claim { measure: Measure::Is(Quantity::Wrong), limit: Limit::Below(1.0), ..LESS };
    assert_eq!(verdict(&right, &runs).verdict, Verdict::Holds);
    runs[0].correct = false;
    assert_eq!(verdict(&right, &runs).verdict, Verdict::DoesNotHold);
}

#[test]
fn one_decision_against_a_claim_refutes_it() {
    let missing = || Err("a thing".to_owned());
    assert_eq!(Verdict::of([Ok(true), missing(), Ok(false)]), Verdict::DoesNotHold);
    assert_eq!(Verdict::of([Ok(true), missing(), Ok(true)]), Verdict::NotTestable("a thing".to_owned()));
    assert_eq!(Verdict::of([Ok(true), Ok(true)]), Verdict::Holds);
    assert!(matches!(Verdict::of([]), Verdict::NotTestable(why) if why.contains("nothing")));
}

#[test]
fn an_undecided_claim_names_the_rows_that_may_decide_it() {
    let mut runs = session(&[0.4; 5], 1);
    let wide = session(&[0.4, 0.45, 0.45, 0.55, 0.6], 2);
    runs.extend(wide.iter().cloned());
    let Verdict::Undecided { rows, .. } = verdict(&LESS, &runs).verdict else {
        panic!("an interval crosses the limit")
    };
    let row = |run: &Run| RowId { program: run.program.clone(), who: run.who.clone(), workers: run.workers };
    assert_eq!(rows, [row(&wide[0]), row(&wide[1])], "one worker is decided");

    let mean = Claim { measure: Measure::MeanOver(Quantity::Time, Pick::new("rayon", At::Any)), ..LESS };
    let Verdict::Undecided { rows, .. } = verdict(&mean, &wide).verdict else { panic!("so does the mean's") };
    assert_eq!(rows, [row(&wide[0]), row(&wide[1])]);

    let speedup = Claim { measure: Measure::Of(Comparison::Overhead), limit: Limit::Below(0.45), ..LESS };
    let mut alone = session(&[0.4, 0.45, 0.45, 0.55, 0.6], 1);
    alone.extend((0..5).map(|round| Run { round, ..run("fib", "serial", 1, 1.0) }));
    let Verdict::Undecided { rows, .. } = verdict(&speedup, &alone).verdict else { panic!("so does that of T1/Ts") };
    assert!(rows.contains(&row(&alone[0])) && rows.contains(&row(alone.last().unwrap())), "{rows:?}");
}
