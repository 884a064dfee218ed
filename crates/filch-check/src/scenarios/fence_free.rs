//! The scenarios of the queues that are right only where store buffers are bounded.

use filch_queue::{Delta, FfCl, FfThe, PatientThep, Thep};

use super::battery::{Row, called, client, queue};
use super::cost::Cost::{Full, FullTso, Quick, QuickTso};
use crate::scenario::{Dependence, Scenario, Setting};

pub(super) fn scenarios() -> Vec<Scenario> {
    fn delta(setting: Setting) -> Delta {
        setting.delta.map_or_else(Delta::default, exactly)
    }
    const EXACT: Row = ("++++|----", &[2], 8, QuickTso);
    let rows: &[Row] = &[
        EXACT,
        ("+++|---", &[2], 3, QuickTso),
        ("+++-+--", &[2], 3, QuickTso),
        ("++|-+-", &[1, 1], 3, QuickTso),
        ("++++++-----", &[3], 8, FullTso),
        ("++++|-+---", &[2, 1], 7, FullTso),
    ];
    // Thieves that look for the echo twice and give up; and one that waits, whose owner goes on taking.
    let all = [
        queue::<FfThe>(rows, delta, delta),
        queue::<FfCl>(rows, delta, delta),
        queue::<Thep<1>>(
            &[
                EXACT,
                ("+++|---", &[2], 3, QuickTso),
                ("+|+-", &[2], 1, QuickTso),
                ("++|-+-", &[1, 1], 3, QuickTso),
                ("++-+--", &[2], 3, Full),
                ("+++-+--", &[2], 3, FullTso),
                ("++++++-----", &[3], 8, FullTso),
            ],
            delta,
            delta,
        ),
        queue::<PatientThep>(&[EXACT, ("+++|----", &[2], 3, QuickTso)], delta, delta),
    ];
    let exact = client(&EXACT).to_string();
    let mut all: Vec<Scenario> = all.into_iter().flatten().collect();
    for scenario in all.iter_mut().filter(|scenario| scenario.name == exact) {
        scenario.delta = Dependence::Exact;
    }
    all.extend(published());
    all
}

fn exactly(delta: usize) -> Delta {
    // SAFETY: the processor is an abstract machine, and a task taken twice is what the check is to find.
    unsafe { Delta::new(delta) }
}

/// What needs no bound: a task is published to its thief. Here owner and thief never come for the same task, or both swap
/// for it, or the thief waits for the echo.
fn published() -> Vec<Scenario> {
    const APART: Row = ("+++-", &[1], 4, Quick);
    let mut all = [
        called("δ=1", queue::<FfThe>(&[APART], |_| exactly(1), |_| exactly(1))),
        called("δ=1", queue::<FfCl>(&[APART, ("+++", &[1], 1, Quick)], |_| exactly(1), |_| exactly(1))),
        called("δ=0", queue::<FfCl>(&[("+-", &[1], 1, Quick)], |_| exactly(0), |_| exactly(0))),
        called("δ=1", queue::<Thep<1>>(&[APART], |_| exactly(1), |_| exactly(1))),
        called(
            "δ=∞",
            queue::<Thep<1>>(
                &[("+|-++-", &[1], 2, Quick), ("++-", &[1], 2, Quick)],
                |_| Delta::INFINITE,
                |_| Delta::INFINITE,
            ),
        ),
    ]
    .concat();
    for scenario in &mut all {
        scenario.delta = Dependence::None;
    }
    all
}
