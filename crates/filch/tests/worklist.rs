//! Worklists on every kind of queue: no task is lost, nothing leaks, and every run ends.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Once};

use common::{EveryQueue, WORKERS, throw, thrown_by, times, watchdog};
use filch::worklist::{Bag, BagSplit, Bags, End, Tally, Worklist};
use filch_queue::{
    Adws, ChaseLev, Delegation, IdempotentDeque, IdempotentFifo, IdempotentLifo, PadWs, PdqR, PdqR2, PdqR2Async,
    PdqRAsync, PdqS, PdqSAtOnce, PdqSOneStep, PdqSTold, Prefetch, Queue, Revocation, pad_ws,
};

fn list<Q: Queue>(workers: usize, capacity: usize) -> Worklist<Q> {
    Worklist::new(workers).capacity(capacity).queue::<Q>(Q::Params::default())
}

/// The children of a node of a tree of `size` nodes, numbered as in a heap whose root is 0.
fn children(node: usize, size: usize) -> impl Iterator<Item = usize> {
    [2 * node + 1, 2 * node + 2].into_iter().filter(move |&child| child < size)
}

#[test]
fn every_task_is_run_once() {
    struct Tree;
    impl EveryQueue for Tree {
        fn with<Q: Queue>(&self) {
            for (workers, capacity, size) in WORKERS.into_iter().flat_map(|n| [(n, 4, 300), (n, 1 << 10, 3000)]) {
                let runs: Vec<AtomicUsize> = (0..size).map(|_| AtomicUsize::new(0)).collect();
                let outcome = list::<Q>(workers, capacity).run(
                    [0_usize],
                    |index| index,
                    |worker, index, node| {
                        assert_eq!(worker.index(), *index);
                        runs[node].fetch_add(1, SeqCst);
                        children(node, size).for_each(|child| worker.push(child));
                    },
                );
                assert!(outcome.is_complete);
                assert!(runs.iter().all(|runs| runs.load(SeqCst) == 1), "{} workers on {}", workers, Q::PROMISES.name);
                assert_eq!(outcome.tallies.iter().map(|tally| tally.run).sum::<u64>(), size as u64);
                assert!(outcome.states.into_iter().eq(0..workers));
            }
        }
    }
    let _watchdog = watchdog("trees");
    Tree.every();
}

/// In several lists of a team, whose counts go on, and after one that was stopped.
#[test]
fn the_end_is_noticed_in_every_way() {
    struct Ways;
    impl EveryQueue for Ways {
        fn with<Q: Queue>(&self) {
            let ways = End::of::<Q>();
            for (workers, &end) in WORKERS.into_iter().flat_map(|n| ways.iter().map(move |end| (n, end))) {
                let what = format!("{workers} workers on {}, by {}", Q::PROMISES.name, end.name());
                let mut team = list::<Q>(workers, 64).end(end).start().expect("threads start");
                for size in [1, 700, 0, 50].map(|size| times(size, size / 5 + 1)) {
                    let runs: Vec<AtomicUsize> = (0..size).map(|_| AtomicUsize::new(0)).collect();
                    let outcome = team.run(
                        (0..size).take(1),
                        |_| (),
                        |worker, (), node| {
                            runs[node].fetch_add(1, SeqCst);
                            children(node, size).for_each(|child| worker.push(child));
                        },
                    );
                    assert!(runs.iter().all(|runs| runs.load(SeqCst) == 1), "{what}");
                    let sum = |count: fn(&Tally) -> u64| outcome.tallies.iter().map(count).sum::<u64>();
                    assert_eq!(
                        (sum(|tally| tally.pushed), sum(|tally| tally.run)),
                        (size as u64, size as u64),
                        "{what}"
                    );
                    let thrown = thrown_by(|| {
                        team.run(
                            [0_usize],
                            |_| (),
                            |worker, (), node| {
                                children(node, 200).for_each(|child| worker.push(child));
                                if node >= 100 {
                                    throw(node);
                                }
                            },
                        )
                    });
                    assert!(thrown >= 100, "{what}");
                }
            }
        }
    }
    let _watchdog = watchdog("an end");
    Ways.every();
}

#[test]
#[should_panic(expected = "idem-lifo cannot notice the end by tasks")]
fn tasks_that_may_run_twice_cannot_be_counted() {
    let _ = Worklist::new(1).queue::<IdempotentLifo>(()).end(End::Tasks);
}

#[test]
fn idempotent_tasks_are_run_at_least_once() {
    fn search<Q: Queue>() {
        for (workers, size) in WORKERS.into_iter().flat_map(|n| [(n, 300), (n, 20_000)]) {
            let seen: Vec<AtomicBool> = (0..size).map(|_| AtomicBool::new(false)).collect();
            let outcome = list::<Q>(workers, 16).run_idempotent(
                [0_usize],
                |_| (),
                |worker, (), node| {
                    // A second run finds that the first has pushed the children, and pushes nothing.
                    if !seen[node].swap(true, SeqCst) {
                        children(node, size).for_each(|child| worker.push(child));
                    }
                },
            );
            assert!(outcome.is_complete);
            let missed = seen.iter().filter(|seen| !seen.load(SeqCst)).count();
            assert_eq!(missed, 0, "{} workers on {}", workers, Q::PROMISES.name);
            assert!(outcome.tallies.iter().map(|tally| tally.run).sum::<u64>() >= size as u64);
        }
    }
    let _watchdog = watchdog("idempotent tasks");
    search::<IdempotentLifo>();
    search::<IdempotentFifo>();
    search::<IdempotentDeque>();
    search::<ChaseLev>();
}

#[test]
fn bags_are_emptied() {
    struct Emptied;
    impl EveryQueue for Emptied {
        fn with<Q: Queue>(&self) {
            const SIZE: usize = 3000;
            let ways = [
                (1, BagSplit::Half),
                (64, BagSplit::Half),
                (1, BagSplit::One),
                (64, BagSplit::One),
                (64, BagSplit::Eager),
            ];
            for (workers, (items, split)) in WORKERS.into_iter().flat_map(|n| ways.map(|way| (n, way))) {
                let runs: Vec<AtomicUsize> = (0..SIZE).map(|_| AtomicUsize::new(0)).collect();
                list::<Q>(workers, 16).run_bags(
                    [vec![0_usize]],
                    Bags { items, split },
                    |_| (),
                    |_, (), nodes| {
                        let node = nodes.pop().expect("an item");
                        runs[node].fetch_add(1, SeqCst);
                        nodes.extend(children(node, SIZE));
                    },
                );
                assert!(runs.iter().all(|runs| runs.load(SeqCst) == 1), "{} workers on {}", workers, Q::PROMISES.name);
            }
        }
    }
    let _watchdog = watchdog("bags");
    Emptied.every();
    let mut one = vec![1];
    assert_eq!((one.split(), one.split_one(), Bag::is_empty(&one)), (None, None, false));
    assert_eq!(vec![1, 2, 3].split_one(), Some(vec![1]));
}

/// A thief that asks gets half of the bag, or one item of it, while its owner has nothing else to give.
#[test]
fn a_bag_is_split_for_who_asks() {
    fn first_loot<Q: Queue>(split: BagSplit) -> usize {
        let others_have_some = AtomicUsize::new(0);
        let outcome = list::<Q>(2, 16).run_bags(
            [(0..8_usize).collect::<Vec<_>>()],
            Bags { items: 1, split },
            |_| None,
            |worker, loot, items| {
                if worker.index() > 0 {
                    loot.get_or_insert(items.len());
                    others_have_some.store(1, SeqCst);
                }
                // The first worker holds on to what it has until something of it is with the other one.
                if others_have_some.load(SeqCst) > 0 {
                    items.pop();
                }
            },
        );
        let given: u64 = outcome.tallies.iter().map(|tally| tally.given).sum();
        let loot = outcome.states[1].expect("the other worker has run something");
        assert!(given >= loot as u64, "{given} items were given, and {loot} at first");
        loot
    }
    fn is_split<Q: Queue>() {
        assert_eq!([BagSplit::Half, BagSplit::One].map(first_loot::<Q>), [4, 1], "{}", Q::PROMISES.name);
    }
    let _watchdog = watchdog("a bag that is asked for");
    is_split::<PdqR>();
    is_split::<PdqR2>();
    is_split::<PdqRAsync>();
    is_split::<PdqR2Async>();
    is_split::<PdqS>();
    is_split::<PdqSAtOnce>();
    is_split::<PdqSTold>();
    is_split::<PdqSOneStep>();
}

/// Counts the values that are alive.
struct Counted(Arc<AtomicUsize>, usize);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>, node: usize) -> Box<Self> {
        alive.fetch_add(1, SeqCst);
        Box::new(Self(Arc::clone(alive), node))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// How a run ends early.
#[derive(Clone, Copy, PartialEq)]
enum Halt {
    Stopped,
    Panicked,
}

#[test]
fn an_early_end_drops_what_is_left() {
    fn early<Q: Queue<Params: Clone>>(params: &Q::Params) {
        for (workers, end, after) in WORKERS
            .into_iter()
            .flat_map(|n| [Halt::Stopped, Halt::Panicked].map(|end| (n, end)))
            .flat_map(|(n, end)| [1, 50, 2000].map(|after| (n, end, after)))
        {
            let alive = Arc::new(AtomicUsize::new(0));
            let runs = AtomicUsize::new(0);
            let list = Worklist::new(workers).capacity(256).queue::<Q>(params.clone());
            let stop = list.stop();
            let result = catch_unwind(AssertUnwindSafe(|| {
                list.run(
                    (0..4).map(|node| Counted::new(&alive, node)),
                    |_| (),
                    |worker, (), task: Box<Counted>| {
                        if runs.fetch_add(1, SeqCst) + 1 == after {
                            match end {
                                Halt::Stopped => stop.stop(),
                                Halt::Panicked => std::panic::panic_any("enough"),
                            }
                        }
                        // For ever, but without unlimited growth.
                        for _ in 0..if runs.load(SeqCst) < 100_000 { 2 } else { 1 } {
                            worker.push(Counted::new(&alive, task.1 + 1));
                        }
                    },
                )
            }));
            let name = Q::PROMISES.name;
            match (end, result) {
                (Halt::Stopped, Ok(outcome)) => assert!(!outcome.is_complete),
                (Halt::Panicked, Err(payload)) => assert_eq!(payload.downcast_ref::<&str>(), Some(&"enough")),
                _ => panic!("{workers} workers on {name} ended differently"),
            }
            assert_eq!(alive.load(SeqCst), 0, "{workers} workers on {name} leak");
        }
    }
    struct Early;
    impl EveryQueue for Early {
        fn with<Q: Queue>(&self) {
            early::<Q>(&Q::Params::default());
        }
    }
    let _watchdog = watchdog("early ends");
    expect_panics();
    Early.every();
    // One worker's request is granted while another's tasks are dropped.
    let delegation = Delegation { revocation: Revocation::Off, prefetch: Prefetch::Always, ..Delegation::default() };
    for _ in 0..20 {
        early::<Adws>(&delegation);
        early::<PadWs>(&pad_ws::Params { delegation, ..pad_ws::Params::default() });
    }
}

/// Suppresses the messages of panics with `enough`.
fn expect_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"enough") {
                hook(info);
            }
        }));
    });
}

#[test]
fn nobody_waits_for_a_task_that_cannot_be_pushed() {
    let _watchdog = watchdog("a refused task");
    let outcome = Worklist::new(2).run(
        [0_usize],
        |_| (),
        |worker, (), _| {
            let refused = catch_unwind(AssertUnwindSafe(|| worker.push(usize::MAX)));
            assert!(refused.is_err(), "no word can represent it");
        },
    );
    assert!(outcome.is_complete);
}

#[test]
fn a_panicking_destructor_does_not_prevent_the_others() {
    struct Fragile(Arc<AtomicUsize>);
    impl Drop for Fragile {
        fn drop(&mut self) {
            if self.0.fetch_add(1, SeqCst) % 3 == 2 {
                std::panic::panic_any("enough");
            }
        }
    }
    let _watchdog = watchdog("panicking destructors");
    expect_panics();
    for workers in WORKERS {
        let drops = Arc::new(AtomicUsize::new(0));
        let list = Worklist::new(workers);
        let stop = list.stop();
        let tasks = (0..20).map(|_| Box::new(Fragile(Arc::clone(&drops))));
        let run = || {
            list.run(
                tasks,
                |_| (),
                |_, (), task| {
                    stop.stop();
                    drop(task);
                },
            )
        };
        let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("destructors panic");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"enough"));
        assert_eq!(drops.load(SeqCst), 20, "{workers} workers");
    }
}

#[test]
fn idempotent_tasks_end_early_too() {
    fn early<Q: Queue>() {
        for (workers, end, after) in WORKERS
            .into_iter()
            .flat_map(|n| [Halt::Stopped, Halt::Panicked].map(|end| (n, end)))
            .flat_map(|(n, end)| [1, 50, 2000].map(|after| (n, end, after)))
        {
            let runs = AtomicUsize::new(0);
            let list = list::<Q>(workers, 256);
            let stop = list.stop();
            let run = || {
                list.run_idempotent(
                    0..4,
                    |_| (),
                    |worker, (), task: usize| {
                        if runs.fetch_add(1, SeqCst) + 1 == after {
                            match end {
                                Halt::Stopped => stop.stop(),
                                Halt::Panicked => std::panic::panic_any("enough"),
                            }
                        }
                        // For ever.
                        worker.push(task + 1);
                    },
                )
            };
            match (end, catch_unwind(AssertUnwindSafe(run))) {
                (Halt::Stopped, Ok(outcome)) => assert!(!outcome.is_complete),
                (Halt::Panicked, Err(payload)) => assert_eq!(payload.downcast_ref::<&str>(), Some(&"enough")),
                _ => panic!("{workers} workers on {} ended differently", Q::PROMISES.name),
            }
        }
    }
    let _watchdog = watchdog("early ends of idempotent tasks");
    expect_panics();
    early::<IdempotentLifo>();
    early::<IdempotentFifo>();
    early::<IdempotentDeque>();
}

#[test]
fn a_list_without_tasks_ends_at_once() {
    let _watchdog = watchdog("empty lists");
    for workers in WORKERS {
        let outcome = list::<ChaseLev>(workers, 1).run([0_u32; 0], |_| 7, |_, _, _| unreachable!());
        assert_eq!((outcome.is_complete, outcome.states), (true, vec![7; workers]));
        let outcome = list::<IdempotentLifo>(workers, 1).run_idempotent([0_u32; 0], |_| 7, |_, _, _| unreachable!());
        assert!(outcome.is_complete);
    }
}

#[test]
fn references_are_tasks() {
    let words: Vec<String> = ["fork", "join", "steal"].map(str::to_owned).into();
    let outcome = Worklist::new(2).run(&words, |_| 0, |_, letters, word: &String| *letters += word.len());
    assert_eq!(outcome.states.iter().sum::<usize>(), 13);
}
