//! The quick checks: every queue and every protocol, as the test command runs them. Unless `FILCH_LONG` is set, the
//! largest stop before they have explored all executions. `FILCH_SUBJECTS=abp,wsq` runs only those subjects, and
//! `FILCH_LEFT_OUT=searching` skips scenarios whose name contains that text. Both help to get one answer fast.

use std::sync::Mutex;

use filch_check::check::{Check, Limits, Outcome, Room, Wanted, plan};
use filch_check::scenarios;

#[test]
fn every_quick_check_ends_as_expected() {
    let names = |variable| -> Vec<String> {
        let named = std::env::var(variable).unwrap_or_default();
        named.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let (subjects, left_out) = (names("FILCH_SUBJECTS"), names("FILCH_LEFT_OUT"));
    let least = if subjects.is_empty() { 100 } else { subjects.len() };
    let mut checks = plan(&scenarios::all(), &Wanted { tso: true, c11: true, subjects, ..Wanted::default() });
    let is_long = std::env::var_os("FILCH_LONG").is_some();
    // However long it takes on a busy machine.
    let limits = |check: &Check| {
        let executions = match check.room {
            _ if is_long => Limits::default().executions,
            Room::C11 => 5_000,
            Room::Tso { .. } => 30_000,
        };
        Limits { executions, time: None, ..Limits::default() }
    };
    checks.retain(|check| left_out.iter().all(|part| !check.scenario.name.contains(part.as_str())));
    assert!(checks.len() >= least, "the plan is missing most of its checks");
    let (left, wrong) = (Mutex::new(checks.into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = left.lock().unwrap().next();
                    let Some(check) = next else { break };
                    let result = check.run(limits(&check), &mut |_| ());
                    let (room, delta) = (check.room, check.delta);
                    println!(
                        "{:?} {room:?} δ {delta:?}: {} {:.2} s",
                        check.scenario, result.executions, result.seconds
                    );
                    let is_cut = is_long && matches!(result.outcome, Outcome::HoldsSoFar);
                    if !result.as_expected || is_cut {
                        let told = match &result.outcome {
                            Outcome::Breaks(message, Some(schedule)) => format!("{message}; --replay '{schedule}'"),
                            other => format!("{other:?}"),
                        };
                        let line = format!("{:?} on {room:?}, δ {delta:?}: {told}", check.scenario);
                        println!("wrong: {line}");
                        wrong.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
