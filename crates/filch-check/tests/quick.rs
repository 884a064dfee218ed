//! The quick checks: every queue and every protocol, as the test command runs them; or with `FILCH_SUBJECTS=abp,wsq` only those.

use std::sync::Mutex;

use filch_check::check::{Limits, Outcome, Wanted, plan};
use filch_check::scenarios;

#[test]
fn every_quick_check_ends_as_expected() {
    let named = std::env::var("FILCH_SUBJECTS").unwrap_or_default();
    let subjects: Vec<String> = named.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let least = if subjects.is_empty() { 100 } else { subjects.len() };
    let checks = plan(&scenarios::all(), &Wanted { tso: true, c11: true, subjects, ..Wanted::default() });
    assert!(checks.len() >= least, "the plan is missing most of its checks");
    let (left, wrong) = (Mutex::new(checks.into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = left.lock().unwrap().next();
                    let Some(check) = next else { break };
                    let result = check.run(Limits::default(), &mut |_| ());
                    let (room, delta) = (check.room, check.delta);
                    println!(
                        "{:?} {room:?} δ {delta:?}: {} {:.2} s",
                        check.scenario, result.executions, result.seconds
                    );
                    if !result.as_expected || matches!(result.outcome, Outcome::HoldsSoFar) {
                        let told = match &result.outcome {
                            Outcome::Breaks(message, Some(schedule)) => format!("{message}; --replay '{schedule}'"),
                            other => format!("{other:?}"),
                        };
                        let line = format!("{:?} on {room:?}, δ {delta:?}: {told}", check.scenario);
                        wrong.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
