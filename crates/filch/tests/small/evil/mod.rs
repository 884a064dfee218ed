//! Programs whose payloads, results, captured values, iterators and states panic when dropped.
//!
//! Invariant: a program shows what its sequential run shows, or its process aborts; nothing else, in any schedule. Each
//! program says whether it may abort. Those that may not also run under Miri.

#[path = "../../common/children.rs"]
mod children;
mod forks;
mod lists;
mod scopes;
pub(crate) mod values;

use std::panic::{set_hook, take_hook};
use std::sync::Once;

use self::children::{End, Order, StandardError};
use self::values::{Evil, PLAIN};
use crate::any::{AnyPool, Bulk, PoolKind, PoolSettings};
use crate::any_lists::QueueKind;
use crate::common::{picked, watchdog};

/// Whether the process of a program may abort before the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Abort {
    Never,
    /// Two things that a sequential run excludes may happen at the same time.
    IfStolen,
    /// A sequential run aborts or may abort.
    Perhaps,
    /// The documentation says so.
    Always,
}

/// The style of the two branches of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Handles,
    Closures,
    /// Closure style inside handle style.
    Mixed,
}

/// How a program forks.
#[derive(Clone, Copy, Debug)]
struct How {
    style: Style,
    bulk: Bulk,
    /// Whether another worker steals the second branch before the first does anything.
    stolen: bool,
}

/// A program for pools or for queues.
#[derive(Clone, Copy)]
enum Program {
    Pools(fn(How, &dyn AnyPool) -> String),
    Kinds(fn(How, PoolKind, PoolSettings) -> String),
    Queues(fn(QueueKind, usize) -> String),
}

/// A test: its name, the program, what a sequential run of it shows, and whether it may abort.
type Row = (&'static str, Program, &'static str, Abort);

/// A program with everything needed to run it.
struct Case {
    name: String,
    shows: &'static str,
    abort: Abort,
    run: Box<dyn Fn() -> String>,
}

impl Case {
    fn new(name: String, (_, _, shows, abort): Row, workers: usize, run: impl Fn() -> String + 'static) -> Self {
        // On one worker nothing is concurrent.
        let abort = if abort == Abort::IfStolen && workers == 1 { Abort::Never } else { abort };
        Self { name, shows, abort, run: Box::new(run) }
    }

    /// Returns whether this end is permitted.
    fn may(&self, end: &End) -> bool {
        match end {
            End::Said(what) => self.abort != Abort::Always && what == self.shows,
            End::Aborted => self.abort != Abort::Never,
        }
    }
}

/// Returns the cases of a program: every pool type with every strategy, alone and with a thief, with alternating styles
/// and sizes; or every queue.
fn cases(row: Row) -> Vec<Case> {
    let mut cases = Vec::new();
    if let (_, Program::Queues(program), ..) = row {
        for (kind, workers) in QueueKind::every().into_iter().flat_map(|kind| [1, 2, 3].map(|workers| (kind, workers)))
        {
            let name = format!("{workers} workers on {}", kind.name);
            cases.push(Case::new(name, row, workers, move || program(kind, workers)));
        }
        return cases;
    }
    for kind in PoolKind::every() {
        for (wait, workers) in kind.waits().flat_map(|wait| [1, 2].map(|workers| (wait, workers))) {
            let style = [Style::Handles, Style::Closures, Style::Mixed][cases.len() % 3];
            let how = How { style, bulk: Bulk::EVERY[cases.len() / 3 % 4], stolen: workers > 1 };
            let settings = PoolSettings::new(workers, wait, 64);
            let name = format!("{how:?} with {wait} on {}", kind.name);
            cases.push(Case::new(name, row, workers, move || match row.1 {
                Program::Pools(program) => program(how, &*kind.build(settings.clone())),
                Program::Kinds(program) => program(how, kind, settings.clone()),
                Program::Queues(_) => unreachable!("see above"),
            }));
        }
    }
    cases
}

/// Suppresses the messages of the panics here, and of the aborts that they cause, each of which prints its stack.
fn expect_evil() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
            let is_expected = |text: &str| text == PLAIN || text.starts_with("panic in a ");
            if !payload.is::<Evil>() && !text.is_some_and(is_expected) {
                hook(info);
            }
        }));
    });
}

/// Runs all cases of a program in children. Without child processes, runs those that never abort.
fn check(row: Row) {
    let _watchdog = watchdog(row.0);
    let cases = cases(row);
    if cfg!(miri) {
        expect_evil();
        let harmless: Vec<&Case> = cases.iter().filter(|case| case.abort == Abort::Never).collect();
        for case in picked(&harmless, 2) {
            println!("{}: {}", row.0, case.name);
            assert_eq!((case.run)(), case.shows);
        }
        return;
    }
    check_in_children(row, &cases, StandardError::Heard);
}

fn check_in_children(row: Row, cases: &[Case], error: StandardError) {
    let order = Order { main: "evil::child", program: row.0, cases: cases.len(), error, variables: &[] };
    children::run(order, |nth, end| {
        let Case { name, shows, abort, .. } = &cases[nth];
        assert!(cases[nth].may(&end), "{}, {name}: {end:?} instead of {shows}, abort: {abort:?}, {error:?}", row.0);
    });
}

/// Returns some of a program's cases that differ in every respect.
fn some_cases(row: Row) -> Vec<Case> {
    cases(row).into_iter().step_by(7).collect()
}

/// Runs programs whose panics cannot be reported: a failing report must not panic itself. This omits programs that only
/// the language aborts: it prints its stack first, which takes longer than everything else.
fn check_unheard(error: StandardError) {
    let _watchdog = watchdog("programs without standard error");
    for row in PROGRAMS.iter().filter(|row| [Abort::Never, Abort::Always].contains(&row.3)) {
        check_in_children(*row, &some_cases(*row), error);
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn standard_error_is_closed() {
    check_unheard(StandardError::Closed);
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn standard_error_is_full() {
    check_unheard(StandardError::Full);
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn standard_error_is_broken() {
    check_unheard(StandardError::Broken);
}

macro_rules! programs {
    ($($name:ident: $way:ident($program:path), $shows:literal, $abort:ident;)*) => {
        const PROGRAMS: &[Row] = &[$((stringify!($name), Program::$way($program), $shows, Abort::$abort)),*];

        programs!(@tests 0; $($name)*);
    };
    (@tests $nth:expr; $first:ident $($others:ident)*) => {
        #[test]
        fn $first() {
            check(PROGRAMS[$nth]);
        }

        programs!(@tests $nth + 1; $($others)*);
    };
    (@tests $nth:expr;) => {};
}

programs! {
    first_throws: Pools(forks::first_throws), "throws Evil(2)", Never;
    second_throws: Pools(forks::second_throws), "throws Evil(2)", Never;
    both_throw: Pools(forks::both_throw), "throws Evil(3)", IfStolen;
    both_return: Pools(forks::both_return), "returns Evil(3) and Evil(2)", Never;
    first_returns: Pools(forks::first_returns), "throws plain", Perhaps;
    second_returns: Pools(forks::second_returns), "throws plain", IfStolen;
    first_drops: Pools(forks::first_drops), "throws Evil(1)", Never;
    second_drops: Pools(forks::second_drops), "throws Evil(1)", Never;
    second_is_dropped: Pools(forks::second_is_dropped), "throws plain", Perhaps;
    item_throws: Pools(forks::item_throws), "throws Evil(2)", Never;
    items_are_dropped: Pools(forks::items_are_dropped), "throws plain", Perhaps;
    iterator_throws: Pools(forks::iterator_throws), "throws Evil(2)", Never;
    iterator_is_dropped: Pools(forks::iterator_is_dropped), "throws Evil(1)", Never;
    fold_throws: Pools(forks::fold_throws), "throws Evil(2)", Never;
    fold_drops: Pools(forks::fold_drops), "throws Evil(1)", IfStolen;
    loop_throws: Pools(forks::loop_throws), "throws Evil(2)", Never;
    cut_of_a_loop_throws: Pools(forks::cut_throws), "throws Evil(2)", Never;
    iterator_of_a_loop_throws: Pools(forks::loop_iterator_throws), "throws Evil(2)", Never;
    iterator_of_a_loop_is_dropped: Pools(forks::loop_iterator_is_dropped), "throws Evil(2)", Never;
    reduction_drops: Pools(forks::reduction_drops), "throws Evil(1)", Never;
    body_throws: Pools(scopes::body_throws), "throws Evil(2), 5 ran", Never;
    task_throws: Pools(scopes::task_throws), "throws Evil(2), 5 ran", Never;
    tasks_throw: Pools(scopes::tasks_throw), "throws Evil(1), 5 ran", Never;
    task_drops: Pools(scopes::task_drops), "throws Evil(1), 5 ran", Never;
    body_returns: Pools(scopes::body_returns), "throws plain, 5 ran", Perhaps;
    body_and_task_throw: Pools(scopes::body_and_task_throw), "throws plain, 5 ran", Perhaps;
    spawns_throw: Kinds(scopes::spawns_throw), "10 ran", Never;
    calls_throw: Kinds(scopes::calls_throw), "throws Evil(2)", Never;
    branch_of_a_host_throws: Kinds(scopes::host_throws), "throws Evil(2), 2 ran", Never;
    branches_of_a_host_throw: Kinds(scopes::host_both_throw), "throws Evil(2), 2 ran", Perhaps;
    hook_throws: Kinds(scopes::hook_throws), "", Always;
    task_of_a_list_throws: Queues(lists::task_throws), "throws Evil(2)", Never;
    tasks_of_a_list_are_dropped: Queues(lists::tasks_are_dropped), "throws Evil(1)", Never;
    iterator_of_a_list_throws: Queues(lists::iterator_throws), "throws Evil(2)", Never;
    iterator_of_a_list_is_dropped: Queues(lists::iterator_is_dropped), "throws Evil(1)", Never;
    states_are_returned: Queues(lists::states_are_returned), "returns a state for each worker, complete: true", Never;
    states_are_dropped: Queues(lists::states_are_dropped), "throws plain", Perhaps;
    state_is_not_made: Queues(lists::state_is_not_made), "throws Evil(2)", Never;
    work_is_dropped: Queues(lists::work_is_dropped), "throws Evil(1)", Never;
    job_throws: Queues(lists::job_throws), "throws Evil(2)", Never;
    jobs_are_dropped: Queues(lists::jobs_are_dropped), "throws Evil(1)", Never;
    iterator_of_jobs_throws: Queues(lists::job_iterator_throws), "throws Evil(2)", Never;
    iterator_of_jobs_is_dropped: Queues(lists::job_iterator_is_dropped), "throws Evil(1)", Never;
    body_of_jobs_throws: Queues(lists::job_body_throws), "throws Evil(2)", Never;
    result_of_jobs_is_dropped: Queues(lists::job_result_is_dropped), "throws plain", Perhaps;
}

/// Not a test by itself.
#[test]
#[ignore = "run by the others"]
fn child() {
    let Some((program, first)) = children::asked() else { return };
    let row = PROGRAMS.iter().find(|row| row.0 == program).expect("a program");
    let cases = if children::is_heard() {
        expect_evil();
        cases(*row)
    } else {
        some_cases(*row)
    };
    cases.iter().skip(first).for_each(|case| children::say(&(case.run)()));
}
