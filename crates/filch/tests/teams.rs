//! Teams: threads and queues that serve one list, or one run of jobs, after another.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use common::{Counted, EveryQueue, WORKERS, throw, thrown_by, times, wait_for, watchdog};
use filch::jobs::{JobWorker, Jobs};
use filch::worklist::{Tally, Team, Worklist};
use filch_queue::{ChaseLev, IdempotentDeque, IdempotentFifo, IdempotentLifo, Queue};

const NODES: usize = times(500, 20);

fn team<Q: Queue>(workers: usize) -> Team<Q> {
    Worklist::new(workers).capacity(16).queue::<Q>(Q::Params::default()).start().expect("threads start")
}

/// The children of a node of a tree of `NODES` nodes, numbered as in a heap.
fn children(node: usize) -> impl Iterator<Item = usize> {
    [2 * node + 1, 2 * node + 2].into_iter().filter(|&child| child < NODES)
}

fn counters() -> Vec<AtomicUsize> {
    (0..NODES).map(|_| AtomicUsize::new(0)).collect()
}

fn sum(tallies: &[Tally], of: fn(&Tally) -> u64) -> u64 {
    tallies.iter().map(of).sum()
}

/// Who has nothing to do is idle for as long as the only task takes, in each run of its own.
#[test]
fn idle_time_is_counted_for_each_run() {
    const WHILE: Duration = Duration::from_millis(5);
    let idle = |tallies: &[Tally]| tallies.iter().filter(|tally| tally.run == 0).map(|tally| tally.idle_ns).max();
    let is_right = |tallies: &[Tally]| {
        // The other worker may have started late.
        let busy = tallies.iter().find(|tally| tally.run > 0).expect("who runs the task");
        assert!(u128::from(busy.idle_ns) < Duration::from_secs(60).as_nanos());
        idle(tallies).is_some_and(|idle| idle > 0)
    };
    let mut list = team::<ChaseLev>(2);
    let mut jobs = Jobs::new(2).start().expect("threads start");
    wait_for("idle time", || is_right(&list.run([0_usize], |_| (), |_, (), _| thread::sleep(WHILE)).tallies));
    wait_for("idle time", || is_right(&jobs.run(|w| w.spawn(|_| thread::sleep(WHILE))).tallies));
}

/// Lists of numbers, boxes, references and bags, one after the other on the same threads and queues.
#[test]
fn a_team_runs_lists_of_any_types() {
    struct Lists;
    impl EveryQueue for Lists {
        fn with<Q: Queue>(&self) {
            for workers in WORKERS {
                let mut team = team::<Q>(workers);
                for round in 0..times(20, 2) {
                    numbers(&mut team);
                    boxes(&mut team);
                    let words: Vec<String> = (0..round).map(|n| "x".repeat(n)).collect();
                    let outcome = team.run(&words, |_| 0, |_, letters, word: &String| *letters += word.len());
                    assert_eq!(outcome.states.iter().sum::<usize>(), words.concat().len());
                    bags(&mut team);
                    assert!(team.run([0_u32; 0], |_| (), |_, (), _| unreachable!()).is_complete);
                }
            }
        }
    }
    fn numbers<Q: Queue>(team: &mut Team<Q>) {
        let runs = counters();
        let outcome = team.run(
            [0_usize],
            |index| index,
            |worker, index, node| {
                assert_eq!(worker.index(), *index);
                runs[node].fetch_add(1, SeqCst);
                children(node).for_each(|child| worker.push(child));
            },
        );
        let name = Q::PROMISES.name;
        assert!(outcome.is_complete && runs.iter().all(|runs| runs.load(SeqCst) == 1), "{name}");
        assert!(outcome.states.into_iter().eq(0..team.workers()));
        assert_eq!(sum(&outcome.tallies, |tally| tally.run), NODES as u64, "{name}");
        assert_eq!(sum(&outcome.tallies, |tally| tally.pushed), NODES as u64, "{name}");
    }
    fn boxes<Q: Queue>(team: &mut Team<Q>) {
        let alive = AtomicUsize::new(0);
        let tasks = (0..3).map(|_| Box::new((4, Counted::new(&alive))));
        let outcome = team.run(
            tasks,
            |_| 0,
            |worker, runs, task: Box<(usize, Counted<'_>)>| {
                *runs += 1;
                (0..task.0).for_each(|depth| worker.push(Box::new((depth, Counted::new(&alive)))));
            },
        );
        // As many as there are subsets of the smaller numbers.
        assert_eq!(outcome.states.iter().sum::<usize>(), 3 * 16);
        assert_eq!(sum(&outcome.tallies, |tally| tally.pushed), 3 * 16);
        assert_eq!(alive.load(SeqCst), 0);
    }
    fn bags<Q: Queue>(team: &mut Team<Q>) {
        let runs = counters();
        let outcome = team.run_bags(
            [vec![0_usize]],
            8,
            |_| (),
            |_, (), nodes| {
                let node = nodes.pop().expect("an item");
                runs[node].fetch_add(1, SeqCst);
                nodes.extend(children(node));
            },
        );
        assert!(outcome.is_complete && runs.iter().all(|runs| runs.load(SeqCst) == 1), "{}", Q::PROMISES.name);
        assert_eq!(sum(&outcome.tallies, |tally| tally.pushed), sum(&outcome.tallies, |tally| tally.run));
    }
    let _watchdog = watchdog("lists of any types");
    Lists.every();
}

#[test]
fn a_team_runs_idempotent_lists() {
    fn search<Q: Queue>() {
        for workers in WORKERS {
            let mut team = team::<Q>(workers);
            for _ in 0..times(30, 2) {
                let runs = counters();
                let outcome = team.run_idempotent(
                    [0_usize],
                    |_| 0,
                    |worker, pushed, node| {
                        if runs[node].fetch_add(1, SeqCst) == 0 {
                            children(node).for_each(|child| {
                                *pushed += 1;
                                worker.push(child);
                            });
                        }
                    },
                );
                assert!(outcome.is_complete && runs.iter().all(|runs| runs.load(SeqCst) > 0), "{}", Q::PROMISES.name);
                assert_eq!(outcome.states.iter().sum::<u64>() + 1, sum(&outcome.tallies, |tally| tally.pushed));
                assert!(sum(&outcome.tallies, |tally| tally.run) >= NODES as u64);
            }
        }
    }
    let _watchdog = watchdog("idempotent lists");
    search::<IdempotentLifo>();
    search::<IdempotentFifo>();
    search::<IdempotentDeque>();
    search::<ChaseLev>();
}

/// A panic of a task, of the tasks' iterator or of a state's constructor does not damage the team.
#[test]
fn a_panic_does_not_damage_a_team() {
    struct Panics;
    impl EveryQueue for Panics {
        fn with<Q: Queue>(&self) {
            for workers in WORKERS {
                let mut team = team::<Q>(workers);
                for end in [1, 2, 3, 1, 2, 3] {
                    let (alive, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
                    let tasks =
                        (0..4).map(|n| Box::new(if end == 2 && n == 3 { throw(2) } else { Counted::new(&alive) }));
                    let state = |worker| {
                        if end == 3 && worker + 1 == workers {
                            throw(3)
                        }
                    };
                    let run = || {
                        team.run(tasks, state, |worker, (), task: Box<Counted<'_>>| {
                            if runs.fetch_add(1, SeqCst) == times(50, 5) {
                                throw(1)
                            }
                            // For ever.
                            worker.push(task);
                            if runs.load(SeqCst) < times(1000, 20) {
                                worker.push(Box::new(Counted::new(&alive)));
                            }
                        })
                    };
                    assert_eq!(thrown_by(run), end, "{workers} workers on {}", Q::PROMISES.name);
                    assert_eq!(alive.load(SeqCst), 0, "{workers} workers on {}, end {end}", Q::PROMISES.name);
                    let sum = team.run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
                    assert!(sum.is_complete);
                    assert_eq!(sum.states.iter().sum::<u32>(), 4950);
                }
            }
        }
    }
    let _watchdog = watchdog("panics on teams");
    Panics.every();
}

#[test]
fn a_stop_stops_all_later_lists() {
    struct Stops;
    impl EveryQueue for Stops {
        fn with<Q: Queue>(&self) {
            for workers in WORKERS {
                let (alive, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let mut team = team::<Q>(workers);
                let stop = team.stop();
                for _ in 0..3 {
                    let tasks = (0..4).map(|_| Box::new(Counted::new(&alive)));
                    let outcome = team.run(
                        tasks,
                        |_| (),
                        |worker, (), task: Box<Counted<'_>>| {
                            if runs.fetch_add(1, SeqCst) == 20 {
                                stop.stop();
                            }
                            worker.push(task); // for ever
                        },
                    );
                    assert!(!outcome.is_complete);
                    assert_eq!(alive.load(SeqCst), 0, "{workers} workers on {} leak", Q::PROMISES.name);
                }
            }
        }
    }
    let _watchdog = watchdog("stops on teams");
    Stops.every();
}

/// A team is started and dropped: without a run, after some, and by a panic.
#[test]
fn a_team_may_be_dropped_at_any_time() {
    let _watchdog = watchdog("dropped teams");
    for workers in 1..=8 {
        for runs in 0..times(40, 3) {
            let mut team = team::<ChaseLev>(workers);
            for _ in 0..runs % 4 {
                assert_eq!(team.run(0..10_u32, |_| 0, |_, sum, n| *sum += n).states.iter().sum::<u32>(), 45);
            }
        }
        let thrown = catch_unwind(AssertUnwindSafe(|| {
            let mut team = team::<ChaseLev>(workers);
            team.run([0_u32], |_| (), |_, (), _| throw(1));
        }));
        assert!(thrown.is_err());
    }
}

/// The lists are so short that threads come late to most of them, or are about to sleep when the next one comes.
#[test]
fn very_many_very_short_lists() {
    let _watchdog = watchdog("short lists");
    for workers in 1..=8 {
        let mut team = team::<ChaseLev>(workers);
        for round in 0..times(400, 10) {
            let tasks = round as u32 % 4;
            let outcome = team.run(0..tasks, |_| 0, |_, count, _| *count += 1);
            assert_eq!(outcome.states.iter().sum::<u32>(), tasks);
            if round % 100 == 0 {
                // Sometimes long enough for all threads to fall asleep.
                thread::sleep(std::time::Duration::from_micros(200));
            }
        }
    }
}

/// Makes every worker take part, and returns the set of their threads.
fn all_together<Q: Queue>(team: &mut Team<Q>, seen: impl Fn() + Sync) -> HashSet<ThreadId> {
    let workers = team.workers();
    let (together, threads) = (Barrier::new(workers), Mutex::new(HashSet::new()));
    team.run(
        0..workers as u32,
        |_| (),
        |_, (), _| {
            threads.lock().unwrap().insert(thread::current().id());
            together.wait();
            seen();
        },
    );
    threads.into_inner().unwrap()
}

#[test]
fn all_lists_have_the_same_threads() {
    let _watchdog = watchdog("the same threads");
    for workers in [1, 2, 4] {
        let mut team = team::<ChaseLev>(workers);
        let first = all_together(&mut team, || ());
        assert_eq!(first.len(), workers);
        assert!(first.contains(&thread::current().id()), "the caller is a worker");
        for _ in 0..times(20, 2) {
            assert_eq!(all_together(&mut team, || ()), first);
        }
        let called = Mutex::new(Vec::new());
        team.on_each(|worker| called.lock().unwrap().push((worker, thread::current().id())));
        let mut called = called.into_inner().unwrap();
        called.sort_unstable_by_key(|&(worker, _)| worker);
        assert!(called.iter().map(|&(worker, _)| worker).eq(0..workers));
        assert_eq!(called.iter().map(|&(_, thread)| thread).collect::<HashSet<_>>(), first);
        assert_eq!(called[0].1, thread::current().id());
        // A panic on any of them.
        for at in 0..workers {
            let throws = |worker| {
                if worker == at {
                    throw(worker)
                }
            };
            assert_eq!(thrown_by(|| team.on_each(throws)), at);
        }
        assert_eq!(all_together(&mut team, || ()), first);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod on_linux {
    use std::time::Duration;

    use super::*;
    use common::wait_for;

    /// Returns the numbers of context switches of each thread with this name.
    fn switches(name: &str) -> Vec<String> {
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it").flatten();
        let status = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
        let ours = status.filter(|status| status.lines().next().is_some_and(|line| line.ends_with(name)));
        ours.map(|status| status.lines().filter(|line| line.contains("ctxt_switches")).collect()).collect()
    }

    #[test]
    fn threads_sleep_between_lists() {
        let _watchdog = watchdog("sleeping teams");
        // The system truncates names.
        let mut team = Jobs::new(3).start().expect("threads start");
        for _ in 0..3 {
            team.run(|w| w.spawn(|_| ()));
            wait_for("the sleep of a team", || {
                let before = ["filch jobs 1", "filch jobs 2"].map(switches);
                thread::sleep(Duration::from_millis(30));
                // A thread that naps or yields is switched all the time.
                before.iter().all(|thread| !thread.is_empty())
                    && ["filch jobs 1", "filch jobs 2"].map(switches) == before
            });
        }
    }

    fn processors() -> Vec<usize> {
        core_affinity::get_core_ids().expect("Linux tells").into_iter().map(|core| core.id).collect()
    }

    #[test]
    fn pinned_workers_get_a_processor_each_and_callers_recover_theirs() {
        let _watchdog = watchdog("pinned teams");
        let own = processors();
        for workers in [1, 2, 4] {
            let mut team = Worklist::new(workers).pin(true).start().expect("Linux can");
            for _ in 0..3 {
                let seen = Mutex::new(Vec::new());
                all_together(&mut team, || seen.lock().unwrap().push(processors()));
                assert_eq!(processors(), own);
                let mut seen = seen.into_inner().unwrap();
                seen.sort_unstable();
                let mut expected: Vec<_> = own.iter().cycle().take(workers).map(|&processor| vec![processor]).collect();
                expected.sort_unstable();
                assert_eq!(seen, expected, "{workers} workers");
            }
            // After a panic too.
            thrown_by(|| team.run([0_u32], |_| (), |_, (), _| throw(1)));
            assert_eq!(processors(), own);
        }
        let seen = Jobs::new(2).pin(true).start().expect("Linux can").run(|_| processors()).result;
        assert_eq!(seen, own[..1]);
        assert_eq!(Jobs::new(1).run(|_| processors()).result, own);
    }
}

/// Runs a job for each node and records it.
fn grow<'s, Q: Queue>(w: &mut JobWorker<'s, '_, Q>, node: usize, runs: &'s [AtomicUsize]) {
    runs[node].fetch_add(1, SeqCst);
    children(node).for_each(|child| w.spawn(move |w| grow(w, child, runs)));
    if node.is_multiple_of(5) {
        w.wait_for_children();
    }
}

#[test]
fn a_team_runs_jobs_repeatedly() {
    struct Again;
    impl EveryQueue for Again {
        fn with<Q: Queue>(&self) {
            for workers in WORKERS {
                let jobs = Jobs::new(workers).capacity(16).queue::<Q>(Q::Params::default());
                let mut team = jobs.start().expect("threads start");
                // The team keeps what it needs.
                drop(jobs);
                for round in 0..times(20, 2) {
                    let runs = counters();
                    let outcome = team.run(|w| {
                        assert_eq!((w.index(), w.workers()), (0, workers));
                        grow(w, 0, &runs);
                        round
                    });
                    let name = Q::PROMISES.name;
                    assert!(outcome.is_complete && runs.iter().all(|runs| runs.load(SeqCst) == 1), "{name}");
                    assert_eq!(outcome.result, round);
                    // All but the job of the body itself.
                    assert_eq!(sum(&outcome.tallies, |tally| tally.run), NODES as u64 - 1, "{name}");
                    assert_eq!(sum(&outcome.tallies, |tally| tally.pushed), NODES as u64 - 1, "{name}");
                    let alive = AtomicUsize::new(0);
                    let panics = || {
                        team.run(|w| {
                            for n in 0..8 {
                                let luggage = Counted::new(&alive);
                                w.spawn(move |w| {
                                    w.spawn(move |_| drop(luggage));
                                    if n == 5 {
                                        throw(n)
                                    }
                                });
                            }
                            if round % 2 == 1 {
                                throw(7)
                            }
                        })
                    };
                    assert!([5, 7].contains(&thrown_by(panics)), "{name}");
                    assert_eq!(alive.load(SeqCst), 0, "{name}");
                }
            }
        }
    }
    let _watchdog = watchdog("jobs on teams");
    Again.every();
}

#[test]
fn a_stop_stops_all_later_runs_of_jobs() {
    fn again<'s>(w: &mut JobWorker<'s, '_>) {
        w.spawn(again);
    }
    let _watchdog = watchdog("stops of jobs on teams");
    for workers in WORKERS {
        let mut team = Jobs::new(workers).start().expect("threads start");
        for _ in 0..3 {
            let stop = team.stop();
            let outcome = team.run(|w| {
                w.spawn(again); // for ever
                w.spawn(move |_| stop.stop());
            });
            assert!(!outcome.is_complete);
        }
    }
}

/// Teams inside tasks of others, and a team that moves between threads.
#[test]
fn teams_nest_and_travel() {
    let _watchdog = watchdog("nested teams");
    let count = Arc::new(AtomicUsize::new(0));
    let mut outer = team::<ChaseLev>(3);
    outer.run(
        0..6_u32,
        |_| team::<ChaseLev>(2),
        |_, inner, n| {
            for _ in 0..3 {
                let sum = inner.run(0..=n, |_| 0, |_, sum, n| *sum += n);
                assert_eq!(sum.states.iter().sum::<u32>(), n * (n + 1) / 2);
            }
            count.fetch_add(1, SeqCst);
        },
    );
    assert_eq!(count.load(SeqCst), 6);
    for _ in 0..3 {
        outer = thread::spawn(move || {
            let sum = outer.run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
            assert_eq!(sum.states.iter().sum::<u32>(), 4950);
            outer
        })
        .join()
        .expect("the sum is right");
    }
}
