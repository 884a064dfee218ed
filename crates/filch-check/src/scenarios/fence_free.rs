//! The scenarios of queues that are correct only with bounded store buffers.

use std::sync::{Arc, Mutex};

use filch_queue::{Delta, FfCl, FfThe, Owner, Queue, Task, Thep, ThepApart, Thief};

use super::battery::{Row, called, client, queue};
use super::cost::Cost::{Full, FullTso, Quick, QuickTso};
use super::cost::scenario;
use super::queues::{lock, task};
use crate::Program;
use crate::c11::Loom;
use crate::scenario::{Checker, Dependence, Scenario, Setting};
use crate::tso::Tso;

pub(super) fn scenarios() -> Vec<Scenario> {
    fn delta(setting: Setting) -> Delta {
        setting.delta.map_or_else(Delta::default, exactly)
    }
    const EXACT: Row = ("++++|----", &[2], 8, QuickTso);
    /// Thieves that wait for the echo.
    const PATIENT: &[Row] = &[
        EXACT,
        ("+++|----", &[2], 3, QuickTso),
        ("++|.", &[2], 2, QuickTso),
        ("+|.-", &[1], 1, QuickTso),
        ("++|.-.", &[2], 2, QuickTso),
        ("+|.+.", &[1, 1], 2, QuickTso),
        ("++|.--+.", &[2], 3, Full),
        ("++|-.-+.", &[2, 1], 3, FullTso),
        ("+++.-+.-.", &[3], 3, FullTso),
    ];
    let rows: &[Row] = &[
        EXACT,
        ("+++|---", &[2], 3, QuickTso),
        ("+++-+--", &[2], 3, QuickTso),
        ("++|-+-", &[1, 1], 3, QuickTso),
        ("++++++-----", &[3], 8, FullTso),
        ("++++|-+---", &[2, 1], 7, FullTso),
    ];
    // Thieves that look for the echo twice and give up, and thieves that wait for an owner that goes on taking, or
    // polls (`.`) before it waits, idles or leaves.
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
        queue::<Thep>(PATIENT, delta, delta),
        queue::<ThepApart>(PATIENT, delta, delta),
    ];
    let exact = client(&EXACT).to_string();
    let mut all: Vec<Scenario> = all.into_iter().flatten().collect();
    for scenario in all.iter_mut().filter(|scenario| scenario.name == exact) {
        scenario.delta = Dependence::Exact;
    }
    all.extend(published());
    let crossed = "two owners that steal from each other";
    all.push(scenario(
        "thep",
        crossed,
        Quick,
        || thieves_of_each_other::<Tso>(false),
        || thieves_of_each_other::<Loom>(false),
    ));
    all
}

/// Two owners of THEP deques with one task each steal from each other, and then each takes what is left of its own.
/// Unless they are `silent`, they poll before they steal, as any thread that may wait for a thief must.
pub fn thieves_of_each_other<M: Checker>(silent: bool) -> Program {
    let [mut first, mut second] = [1, 2].map(|id| {
        let (mut owner, mut thieves) = <Thep as Queue<M>>::make(1, 1, &Delta::INFINITE);
        assert!(owner.push(task(id)).is_ok(), "there is room");
        (owner, thieves.remove(0))
    });
    std::mem::swap(&mut first.1, &mut second.1);
    let taken: Arc<Mutex<Vec<Task>>> = Arc::default();
    let worker = |name: &str, (mut owner, mut thief): (<Thep as Queue<M>>::Owner, <Thep as Queue<M>>::Thief)| {
        let taken = Arc::clone(&taken);
        let act = move || {
            if !silent {
                owner.poll();
            }
            M::note(|| "steal".into());
            let stolen = thief.steal().task();
            M::note(|| "pop".into());
            let popped = owner.pop();
            owner.poll();
            lock(&taken).extend(stolen.into_iter().chain(popped));
        };
        (name.to_owned(), Box::new(act) as Box<dyn FnOnce()>)
    };
    let threads = vec![worker("first", first), worker("second", second)];
    let finally = move || {
        let mut taken: Vec<usize> = lock(&taken).iter().map(|task| task.id().get()).collect();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2], "each task is taken once");
    };
    Program { threads, finally: Box::new(finally) }
}

fn exactly(delta: usize) -> Delta {
    // SAFETY: the processor is an abstract machine, and the check is meant to find a task taken twice.
    unsafe { Delta::new(delta) }
}

/// Scenarios that need no bound: a task is published to its thief. Owner and thief never reach for the same task, or
/// both swap for it, or the thief waits for the echo.
fn published() -> Vec<Scenario> {
    const APART: Row = ("+++-", &[1], 4, Quick);
    const PUBLISHED: &[Row] = &[
        ("+|.-", &[1], 1, Quick),
        ("+|.+.", &[2], 2, Quick),
        ("+|.+.", &[1, 1], 2, QuickTso),
        ("++|--.", &[1], 2, Quick),
    ];
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
        called("δ=∞", queue::<Thep>(PUBLISHED, |_| Delta::INFINITE, |_| Delta::INFINITE)),
        called("δ=∞", queue::<ThepApart>(PUBLISHED, |_| Delta::INFINITE, |_| Delta::INFINITE)),
    ]
    .concat();
    for scenario in &mut all {
        scenario.delta = Dependence::None;
    }
    all
}
