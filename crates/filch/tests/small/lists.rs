//! Worklists and jobs on every queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use filch::jobs::{JobWorker, Jobs};
use filch::worklist::Worklist;
use filch_queue::{
    Adws, ChaseLev, Delegation, IdempotentDeque, IdempotentFifo, IdempotentLifo, PadWs, Prefetch, Queue, Revocation,
    pad_ws,
};

use crate::any::Thing;
use crate::any_lists::{AnyList, AnyWorker, JobWork, QueueKind, with_queues};
use crate::common::{picked, throw, thrown_by, times, watchdog};

const NODES: usize = times(300, 12);

/// The children of a node of a tree of `NODES` nodes, numbered as in a heap.
fn children(node: usize) -> impl Iterator<Item = usize> {
    [2 * node + 1, 2 * node + 2].into_iter().filter(|&child| child < NODES)
}

fn counters() -> Vec<AtomicUsize> {
    (0..NODES).map(|_| AtomicUsize::new(0)).collect()
}

fn all_run_once(runs: &[AtomicUsize]) -> bool {
    runs.iter().all(|runs| runs.load(SeqCst) == 1)
}

#[test]
fn lists_of_trees() {
    let _watchdog = watchdog("lists of trees");
    with_queues(&[QueueKind::every(), QueueKind::looting()].concat(), |kind, workers, capacity| {
        let (alive, runs) = (Arc::default(), counters());
        let (states, is_complete) = (kind.list)(workers, capacity).run(
            Box::new([Box::new(Thing::counted(0, &alive))].into_iter()),
            &|_| Thing::counted(0, &alive),
            Box::new(|worker, mine, task| {
                runs[task.number()].fetch_add(1, SeqCst);
                children(task.number()).for_each(|child| worker.push(Box::new(Thing::counted(child, &alive))));
                mine.set(mine.number() + 1);
                worker.poll();
            }),
        );
        assert!(is_complete && all_run_once(&runs));
        assert_eq!(states.iter().map(Thing::number).sum::<usize>(), NODES);
        drop(states);
        assert_eq!(alive.load(SeqCst), 0);
    });
}

#[test]
fn lists_of_bags() {
    let _watchdog = watchdog("lists of bags");
    with_queues(&QueueKind::every(), |kind, workers, capacity| {
        let (alive, runs) = (Arc::default(), counters());
        let is_complete = (kind.list)(workers, capacity).run_bags(vec![Thing::counted(0, &alive)], &|nodes| {
            let node = nodes.pop().expect("an item").number();
            runs[node].fetch_add(1, SeqCst);
            nodes.extend(children(node).map(|child| Thing::counted(child, &alive)));
        });
        assert!(is_complete && all_run_once(&runs));
        assert_eq!(alive.load(SeqCst), 0);
    });
}

#[test]
fn lists_of_idempotent_tasks() {
    fn search<Q: Queue>() {
        for workers in picked(&[1, 2, 3], 2) {
            let nodes: Vec<_> = (0..NODES).map(|node| Box::new((node, AtomicBool::new(false)))).collect();
            let list = Worklist::new(workers).capacity(16).queue::<Q>(Q::Params::default());
            let outcome = list.run_idempotent(
                [&*nodes[0]],
                |_| (),
                |worker, (), node: &(usize, AtomicBool)| {
                    if !node.1.swap(true, SeqCst) {
                        children(node.0).for_each(|child| worker.push(&*nodes[child]));
                    }
                },
            );
            assert!(outcome.is_complete && nodes.iter().all(|node| node.1.load(SeqCst)));
        }
    }
    let _watchdog = watchdog("lists of idempotent tasks");
    search::<IdempotentLifo>();
    search::<IdempotentFifo>();
    search::<IdempotentDeque>();
    search::<ChaseLev>();
}

/// The list is stopped, or a task, the tasks' iterator or a state's constructor panics. Each remaining task is dropped
/// once.
fn early(list: impl Fn() -> Box<dyn AnyList>, workers: usize) {
    for end in 0..4 {
        let (alive, runs, list) = (Arc::default(), AtomicUsize::new(0), list());
        let (stop, task) = (list.stop(), || Thing::counted(0, &alive));
        let tasks = (0..4).map(|n| Box::new(if end == 2 && n == 3 { throw(2) } else { task() }));
        let state = |worker| if end == 3 && worker + 1 == workers { throw(3) } else { task() };
        let run = || {
            list.run(
                Box::new(tasks),
                &state,
                Box::new(|worker, _, one| {
                    if runs.fetch_add(1, SeqCst) == times(50, 5) {
                        if end == 0 { stop.stop() } else { throw(1) }
                    }
                    // For ever.
                    worker.push(one);
                    if runs.load(SeqCst) < times(1000, 20) {
                        worker.push(Box::new(task()));
                    }
                }),
            )
        };
        if end == 0 {
            assert!(!run().1);
        } else {
            assert_eq!(thrown_by(run), end);
        }
        assert_eq!(alive.load(SeqCst), 0, "end {end}");
    }
}

#[test]
fn lists_that_end_early() {
    let _watchdog = watchdog("early ends");
    with_queues(&QueueKind::every(), |kind, workers, capacity| early(|| (kind.list)(workers, capacity), workers));
    // One worker's request is granted while another's tasks are dropped.
    let delegation = Delegation { revocation: Revocation::Off, prefetch: Prefetch::Always, ..Delegation::default() };
    let params = pad_ws::Params { delegation, ..pad_ws::Params::default() };
    early(|| Box::new(Worklist::new(3).capacity(64).queue::<Adws>(delegation)), 3);
    early(|| Box::new(Worklist::new(3).capacity(64).queue::<PadWs>(params)), 3);
}

/// Makes its children in every way, and waits for some of them.
fn grow<'s>(w: &mut dyn AnyWorker<'s>, node: usize, runs: &Arc<Vec<AtomicUsize>>, alive: &Arc<AtomicUsize>) {
    runs[node].fetch_add(1, SeqCst);
    let child = |node| -> JobWork<'s> {
        let (thing, runs, alive) = (Thing::counted(node, alive), Arc::clone(runs), Arc::clone(alive));
        Box::new(move |w| grow(w, thing.number(), &runs, &alive))
    };
    match node % 4 {
        0 => w.spawn_all(Box::new(children(node).map(child))),
        1 => children(node).for_each(|node| w.spawn(node.is_multiple_of(3), child(node))),
        2 => {
            let started: Vec<_> = children(node).map(|node| w.start(child(node))).collect();
            for (job, node) in started.into_iter().zip(children(node)) {
                w.wait(job);
                assert!(job.is_over() && runs[node].load(SeqCst) == 1);
            }
        }
        _ => {
            children(node).for_each(|node| _ = w.start_under_root(child(node)));
            w.wait_for_children();
        }
    }
}

#[test]
fn jobs_in_trees() {
    let _watchdog = watchdog("jobs in trees");
    with_queues(&[QueueKind::every(), QueueKind::looting()].concat(), |kind, workers, capacity| {
        let jobs = (kind.jobs)(workers, capacity);
        for _ in 0..times(3, 1) {
            let (alive, runs) = (Arc::default(), Arc::new(counters()));
            let (result, is_complete) = jobs.run(Box::new(|w| {
                grow(w, 0, &runs, &alive);
                w.wait_for_children();
                Thing::new(runs.len())
            }));
            assert!(is_complete && all_run_once(&runs));
            assert_eq!((result.number(), alive.load(SeqCst)), (NODES, 0));
        }
    });
}

/// Jobs that borrow from outside the run.
#[test]
fn jobs_that_borrow() {
    fn visit<'s>(w: &mut JobWorker<'s, '_>, node: usize, runs: &'s [AtomicUsize]) {
        runs[node].fetch_add(1, SeqCst);
        children(node).for_each(|node| w.spawn(move |w| visit(w, node, runs)));
    }
    let _watchdog = watchdog("jobs that borrow");
    for workers in 1..=3 {
        let runs = counters();
        let outcome = Jobs::new(workers).run(|w| visit(w, 0, &runs));
        assert!(outcome.is_complete && all_run_once(&runs));
    }
}

type Ends = Arc<dyn Fn() + Send + Sync>;

/// Returns a job that spawns another, perhaps ends the run, and waits.
fn with_luggage<'s>(n: usize, alive: &Arc<AtomicUsize>, ends: &Ends) -> JobWork<'s> {
    let (small, large) = (Thing::counted(n, alive), [(); 3].map(|()| Thing::counted(n, alive)));
    let ends = Arc::clone(ends);
    Box::new(move |w| {
        w.spawn(n.is_multiple_of(2), Box::new(move |_| drop(small)));
        ends();
        w.wait_for_children();
        drop(large);
    })
}

/// The run is stopped, or a job, the iterator of jobs or the body panics. Each remaining job is dropped once.
#[test]
fn jobs_that_end_early() {
    const JOBS: usize = times(100, 8);
    let _watchdog = watchdog("jobs that end early");
    with_queues(&QueueKind::every(), |kind, workers, capacity| {
        for end in 0..4 {
            let (alive, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let jobs = (kind.jobs)(workers, capacity);
            let stop = jobs.stop();
            let ends: Ends = Arc::new(move || match (end, runs.fetch_add(1, SeqCst)) {
                (0, 3) => stop.stop(),
                (1, 3) => throw(1),
                _ => {}
            });
            let run = || {
                jobs.run(Box::new(|w| {
                    let work = |n| if end == 2 && n == 6 { throw(2) } else { with_luggage(n, &alive, &ends) };
                    w.spawn_all(Box::new((0..JOBS).map(work)));
                    if end == 3 {
                        throw(3)
                    }
                    w.wait_for_children();
                    Thing::default()
                }))
            };
            if end == 0 {
                assert!(!run().1);
            } else {
                assert_eq!(thrown_by(run), end);
            }
            assert_eq!(alive.load(SeqCst), 0, "{workers} workers on {}, end {end}", kind.name);
        }
    });
}
