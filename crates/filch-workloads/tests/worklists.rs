//! Worklist programs give right answers on queues of every kind, and their checks detect every wrong element.

use filch::worklist::{Team, Worklist};
use filch_queue::{BwosF, ChaseLev, Queue, for_each_queue};
use filch_workloads::{Answer, Instance, Kind, Listed, Prepare, Workload, specs};

fn instance(name: &str, set: &[(&str, &str)]) -> Instance {
    let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workload::new(name, &set).and_then(|workload| workload.prepare()).expect("the parameters are right")
}

/// Resets, runs, and checks.
fn checked<R>(instance: &mut Instance, run: impl FnOnce(&mut Instance) -> R, answer: impl Fn(&R) -> &Answer) -> R {
    instance.reset();
    let run = run(instance);
    instance.check(answer(&run)).unwrap_or_else(|wrong| panic!("{}: {wrong}", instance.name()));
    run
}

fn team<Q: Queue>(workers: usize) -> Team<Q> {
    Worklist::new(workers).capacity(64).queue::<Q>(Q::Params::default()).start().expect("threads start")
}

fn exactly_once<Q: Queue>(instance: &mut Instance, workers: usize) -> Listed {
    checked(instance, |instance| instance.list_exactly_once(&mut team::<Q>(workers)), |run| &run.answer)
}

fn at_least_once<Q: Queue>(instance: &mut Instance, workers: usize) -> Listed {
    let run = |instance: &mut Instance| instance.list_at_least_once(&mut team::<Q>(workers)).expect("it is idempotent");
    checked(instance, run, |run| &run.answer)
}

/// Programs small enough to try every element.
const SMALL: &[(&str, &[(&str, &str)])] = &[
    ("pseudo-dfs", &[("n", "300")]),
    ("pseudo-dfs", &[("graph", "rmat"), ("n", "300"), ("task", "node")]),
    ("closure", &[("n", "300")]),
    ("closure", &[("graph", "random"), ("n", "300"), ("degree", "1")]),
    ("spanning-tree", &[("graph", "torus"), ("n", "300")]),
    ("spanning-tree", &[("graph", "random"), ("n", "300"), ("degree", "1")]),
];

#[test]
fn every_wrong_element_is_detected() {
    for &(name, set) in SMALL {
        let mut instance = instance(name, set);
        assert_eq!(instance.kind(), Kind::Worklist);
        let runs: [fn(&mut Instance) -> Answer; 2] =
            [Instance::serial, |instance| instance.list_exactly_once(&mut team::<ChaseLev>(2)).answer];
        for run in runs {
            let answer = checked(&mut instance, run, |answer| answer);
            for at in 0..300 {
                instance.damage(at);
                assert!(instance.check(&answer).is_err(), "{name} {set:?}: element {at} was changed");
                instance.damage(at);
                assert!(instance.check(&answer).is_ok(), "{name} {set:?}: element {at} was restored");
            }
            instance.reset();
            assert!(instance.check(&answer).is_err(), "{name} did not run again");
        }
    }
}

#[test]
fn trees_have_the_right_size() {
    for (set, size) in [
        (&[("tree", "fat"), ("fanout", "64")][..], "266305 nodes, 262144 leaves, depth 3"),
        (&[("tree", "fat"), ("fanout", "10"), ("depth", "2")], "111 nodes, 100 leaves, depth 2"),
        (&[("tree", "thin"), ("depth", "17")], "262143 nodes, 131072 leaves, depth 17"),
        (&[("tree", "thin"), ("depth", "0")], "1 nodes, 1 leaves, depth 0"),
        (&[("tree", "thin"), ("fanout", "1"), ("depth", "5")], "6 nodes, 1 leaves, depth 5"),
        (&[("tree", "comb"), ("depth", "500")], "1001 nodes, 501 leaves, depth 500"),
        (&[("tree", "comb"), ("depth", "0")], "1 nodes, 1 leaves, depth 0"),
        (&[("tree", "thin"), ("depth", "6"), ("spin", "100")], "127 nodes, 64 leaves, depth 6"),
    ] {
        let mut instance = instance("trees", set);
        let answer = checked(&mut instance, Instance::serial, |answer| answer);
        assert_eq!(answer.to_string(), size);
        let run = exactly_once::<ChaseLev>(&mut instance, 2);
        assert_eq!(run.answer, answer);
        assert_eq!(size.split(' ').next(), Some(run.tasks().to_string().as_str()));
        assert_eq!((run.runs(), instance.tasks(&answer)), (run.tasks(), Some(run.tasks())));
        assert_eq!(exactly_once::<BwosF>(&mut instance, 1).answer, answer);
    }
    let paper = |set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Workload::new("trees", &set).expect("the parameters are right").tasks()
    };
    assert_eq!(paper(&[("tree", "fat")]), Some(1_010_101));
    assert_eq!(paper(&[("tree", "fat"), ("fanout", "1000"), ("depth", "2")]), Some(1_001_001));
    assert_eq!(paper(&[("tree", "thin")]), Some(1_048_575));
    assert_eq!(paper(&[("tree", "comb")]), Some(1_000_001));
}

#[test]
fn impossible_trees_are_refused() {
    let refused = |set: &[(&str, &str)], words: &str| {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let said = Workload::new("trees", &set).map(|workload| workload.params()).expect_err("it is refused");
        assert!(said.to_string().contains(words), "{said}");
    };
    refused(&[("tree", "bushy")], "is not one of fat, thin, comb");
    refused(&[("tree", "thin"), ("depth", "41")], "which takes days");
    refused(&[("tree", "fat"), ("fanout", "4000000000"), ("depth", "4000000000")], "which takes days");
    refused(&[("tree", "comb"), ("fanout", "3")], "is not 2");
}

/// The visited set equals that of breadth-first search on a thousand graphs: 50 for each kind of queue.
#[test]
fn small_graphs_are_searched_correctly() {
    const GRAPHS: u64 = 50;
    const FAMILIES: [(&str, &str); 6] =
        [("grid", "2"), ("torus", "2"), ("randlocal", "1"), ("rmat", "2"), ("kgraph", "1"), ("random", "1")];
    /// Calls `search` for each graph, with a number of workers and a number of visits between polls.
    fn each(queue: u64, search: impl Fn(&[(&str, &str)], usize)) {
        for number in 0..GRAPHS {
            let number = number + queue * GRAPHS;
            let (family, degree) = FAMILIES[number as usize % FAMILIES.len()];
            let [n, seed, items] = [1 + number * 7 % 113, number, 1 + number % 5].map(|number| number.to_string());
            let workers = [1, 2, 2, 8][number as usize % 4];
            search(&[("graph", family), ("degree", degree), ("n", &n), ("seed", &seed), ("items", &items)], workers);
        }
    }
    fn bags<Q: Queue>(queue: u64) {
        each(queue, |set, workers| {
            let mut bags = instance("pseudo-dfs", set);
            let bags = exactly_once::<Q>(&mut bags, workers);
            let mut nodes = instance("pseudo-dfs", &[set, &[("task", "node")]].concat());
            assert_eq!(at_least_once::<Q>(&mut nodes, workers).answer, bags.answer, "{}: {set:?}", Q::PROMISES.name);
            twice::<Q>(&set[..4], workers, &bags.answer);
        });
    }
    fn nodes<Q: Queue>(queue: u64) {
        each(queue, |set, workers| {
            let mut nodes = instance("pseudo-dfs", &[set, &[("task", "node")]].concat());
            let nodes = at_least_once::<Q>(&mut nodes, workers);
            twice::<Q>(&set[..4], workers, &nodes.answer);
        });
    }
    fn twice<Q: Queue>(set: &[(&str, &str)], workers: usize, answer: &Answer) {
        for (name, adopt) in [("closure", None), ("spanning-tree", Some("auto")), ("spanning-tree", Some("swap"))] {
            let adopt: Vec<(&str, &str)> = adopt.map(|adopt| ("adopt", adopt)).into_iter().collect();
            let mut instance = instance(name, &[set, &adopt].concat());
            let run = at_least_once::<Q>(&mut instance, workers);
            assert_eq!(run.answer, *answer, "{name} on {}: {set:?}", Q::PROMISES.name);
            let Answer::Reached(reached) = run.answer else { panic!("{} is not a number of vertices", run.answer) };
            assert!(run.tasks() <= run.runs() && run.tasks() >= u64::from(reached));
            assert!(instance.tasks(&run.answer).is_none_or(|tasks| tasks == run.tasks()));
            assert_eq!(run.duplicates, Some(run.runs() - u64::from(reached)));
        }
    }
    macro_rules! search {
        // Its default parameters do not suit this.
        ($lists:ident $queue:ty, delta) => {
            &[]
        };
        (twice $queue:ty) => {
            &[nodes::<$queue>]
        };
        ($lists:ident $queue:ty $(, fifo)?) => {
            &[bags::<$queue>]
        };
    }
    macro_rules! searches {
        ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
            [$(search!($lists $queue $(, $but)?)),+]
        };
    }
    let searches: [&[fn(u64)]; _] = for_each_queue!(searches);
    for (search, queue) in searches.concat().into_iter().zip(0..) {
        search(queue);
    }
}

/// By load and store, on the queues for which that is right.
#[test]
fn spanning_trees_are_trees_without_an_atomic_update() {
    fn grows<Q: Queue>() {
        for graph in ["kgraph", "random", "torus", "grid", "rmat"] {
            let mut tree = instance("spanning-tree", &[("adopt", "store"), ("graph", graph), ("n", "700")]);
            for workers in [1, 2, 8] {
                if tree.why_not_listed::<Q>(workers).is_none() {
                    for _ in 0..10 {
                        exactly_once::<Q>(&mut tree, workers);
                    }
                }
            }
        }
    }
    macro_rules! grow {
        (twice $queue:ty $(, $but:ident)?) => {};
        ($lists:ident $queue:ty $(, $but:ident)?) => {
            grows::<$queue>();
        };
    }
    macro_rules! each {
        ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
            $(grow!($lists $queue $(, $but)?);)+
        };
    }
    for_each_queue!(each);
}

#[test]
#[should_panic(expected = "spanning-tree: adopt=store needs a fence in every pop")]
fn a_spanning_tree_by_store_is_refused_where_it_may_have_rings() {
    exactly_once::<BwosF>(&mut instance("spanning-tree", &[("adopt", "store"), ("n", "100")]), 2);
}

#[test]
fn programs_report_whether_their_tasks_may_run_twice() {
    for spec in specs().iter().filter(|spec| spec.kind() == Kind::Worklist) {
        for task in [None, Some("node")].into_iter().filter(|task| task.is_none() || spec.name == "pseudo-dfs") {
            let set: Vec<_> = task.into_iter().map(|task| ("task".to_owned(), task.to_owned())).collect();
            let workload = Workload::new(spec.name, &set).expect("the parameters are right");
            assert_eq!(workload.kind(), Kind::Worklist);
            let mut instance = workload.prepare().expect("there is memory");
            let runs_twice = instance.list_at_least_once(&mut team::<ChaseLev>(1)).is_some();
            assert_eq!(workload.is_idempotent(), runs_twice, "{} {task:?}", spec.name);
        }
    }
    let fib = Workload::new("fib", &[]).expect("the parameters are right");
    assert_eq!((fib.kind(), fib.is_idempotent()), (Kind::ForkJoin, false));
}
