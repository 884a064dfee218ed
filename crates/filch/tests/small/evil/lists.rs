//! Worklists and jobs.

use super::values::{Evil, outcome, throw_evil, throw_plain};
use crate::any::Thing;
use crate::any_lists::{JobWork, QueueKind};

const TASKS: usize = 8;

fn tasks() -> Box<dyn Iterator<Item = Box<Thing>>> {
    Box::new((0..TASKS).map(|n| Box::new(Thing::new(n))))
}

/// Returns a state that is a number.
fn number(_: usize) -> Thing {
    Thing::default()
}

pub(super) fn task_throws(kind: QueueKind, workers: usize) -> String {
    let list = (kind.list)(workers, 16);
    let work = |task: Box<Thing>| {
        if task.number() == 2 {
            throw_evil(2)
        }
    };
    outcome(|| list.run(tasks(), &number, Box::new(|_, _, task| work(task))))
}

/// A stopped list drops its tasks. The first panic of their destructors continues.
pub(super) fn tasks_are_dropped(kind: QueueKind, workers: usize) -> String {
    let list = (kind.list)(workers, 16);
    list.stop().stop();
    let tasks = (0..TASKS).map(|_| Box::new(Thing::evil(2)));
    outcome(|| list.run(Box::new(tasks), &number, Box::new(|_, _, task| _ = task.told())))
}

pub(super) fn iterator_throws(kind: QueueKind, workers: usize) -> String {
    let list = (kind.list)(workers, 16);
    let tasks = tasks().map(|task| if task.number() == 5 { throw_evil(2) } else { task });
    outcome(|| list.run(Box::new(tasks), &number, Box::new(|_, _, _| ())))
}

pub(super) fn iterator_is_dropped(kind: QueueKind, workers: usize) -> String {
    let (list, evil) = ((kind.list)(workers, 16), Evil::new(2));
    let tasks = tasks().inspect(move |_| _ = &evil);
    outcome(|| list.run(Box::new(tasks), &number, Box::new(|_, _, _| ())))
}

pub(super) fn states_are_returned(kind: QueueKind, workers: usize) -> String {
    let list = (kind.list)(workers, 16);
    let what = outcome(|| list.run(tasks(), &|_| Thing::evil(2), Box::new(|_, _, _| ())));
    what.replace(&vec!["Evil(2)"; workers].join(", "), "a state for each worker")
}

/// Unwinding drops the states.
pub(super) fn states_are_dropped(kind: QueueKind, workers: usize) -> String {
    let list = (kind.list)(workers, 16);
    let work = |task: Box<Thing>| {
        if task.number() == 2 {
            throw_plain()
        }
    };
    outcome(|| list.run(tasks(), &|_| Thing::evil(1), Box::new(|_, _, task| work(task))))
}

pub(super) fn state_is_not_made(kind: QueueKind, workers: usize) -> String {
    let list = (kind.list)(workers, 16);
    let state = |worker| if worker + 1 == workers { throw_evil(2) } else { Thing::default() };
    outcome(|| list.run(tasks(), &state, Box::new(|_, _, _| ())))
}

/// The end of the run drops the captures of the work.
pub(super) fn work_is_dropped(kind: QueueKind, workers: usize) -> String {
    let (list, evil) = ((kind.list)(workers, 16), Thing::evil(2));
    outcome(|| {
        list.run(
            tasks(),
            &number,
            Box::new(move |_, count, _| count.set(count.number() + usize::from(evil.number() == 2))),
        )
    })
}

pub(super) fn job_throws(kind: QueueKind, workers: usize) -> String {
    let jobs = (kind.jobs)(workers, 16);
    outcome(|| {
        jobs.run(Box::new(|w| {
            let waiting = w.start(Box::new(|_| ()));
            w.spawn_all(Box::new((0..TASKS).map(|n| -> JobWork<'_> {
                Box::new(move |_| {
                    if n == 2 {
                        throw_evil(2)
                    }
                })
            })));
            w.wait(waiting);
            w.wait_for_children();
            Thing::default()
        }))
    })
}

/// A stopped run drops its jobs. The first panic of their destructors continues.
pub(super) fn jobs_are_dropped(kind: QueueKind, workers: usize) -> String {
    let jobs = (kind.jobs)(workers, 16);
    jobs.stop().stop();
    outcome(|| {
        jobs.run(Box::new(|w| {
            for n in 0..TASKS {
                let evil = Evil::new(2);
                w.spawn(n.is_multiple_of(2), Box::new(move |_| _ = evil.defuse()));
            }
            Thing::default()
        }))
    })
}

pub(super) fn job_iterator_throws(kind: QueueKind, workers: usize) -> String {
    let jobs = (kind.jobs)(workers, 16);
    outcome(|| {
        jobs.run(Box::new(|w| {
            let work = |n| if n == 5 { throw_evil(2) } else { nothing() };
            w.spawn_all(Box::new((0..TASKS).map(work)));
            Thing::default()
        }))
    })
}

pub(super) fn job_iterator_is_dropped(kind: QueueKind, workers: usize) -> String {
    let jobs = (kind.jobs)(workers, 16);
    outcome(|| {
        jobs.run(Box::new(|w| {
            let evil = Evil::new(2);
            w.spawn_all(Box::new((0..TASKS).inspect(move |_| _ = &evil).map(|_| nothing())));
            Thing::default()
        }))
    })
}

fn nothing<'s>() -> JobWork<'s> {
    Box::new(|_| ())
}

pub(super) fn job_body_throws(kind: QueueKind, workers: usize) -> String {
    let jobs = (kind.jobs)(workers, 16);
    outcome(|| {
        jobs.run(Box::new(|w| {
            (0..TASKS).for_each(|n| w.spawn(n.is_multiple_of(2), Box::new(|_| ())));
            throw_evil(2)
        }))
    })
}

/// Unwinding drops the body's result.
pub(super) fn job_result_is_dropped(kind: QueueKind, workers: usize) -> String {
    let jobs = (kind.jobs)(workers, 16);
    outcome(|| {
        jobs.run(Box::new(|w| {
            w.spawn(false, Box::new(|_| throw_plain()));
            Thing::evil(2)
        }))
    })
}
