//! Every program gives its known answers with the known number of forks on any executor.

use std::cell::Cell;

use filch_workloads::{
    Answer, Executor, FilchClosures, ForkJoin, Instance, Prepare, Program, Serial, Workload, forks_by_halves, specs,
};

/// Runs sequentially and counts forks.
#[derive(Clone, Copy)]
struct Counting<'c>(&'c Cell<u64>);

impl<'c> ForkJoin for Counting<'c> {
    type Branch<'b> = Counting<'c>;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self) -> RA + Send,
        B: for<'b> FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.set(self.0.get() + 1);
        (a(*self), b(*self))
    }

    fn fork_all<I, T, R, S, F, G>(&mut self, items: I, each: F, init: S, mut fold: G) -> S
    where
        I: IntoIterator<Item = T>,
        T: Send,
        R: Send,
        F: for<'b> Fn(Self, T) -> R + Sync,
        G: FnMut(S, R) -> S,
    {
        items.into_iter().fold(init, |sum, item| {
            self.0.set(self.0.get() + 1);
            fold(sum, each(*self, item))
        })
    }
}

/// Runs the second branch of every join near the root on a new thread, and `fork_all` by halving.
#[derive(Clone, Copy)]
struct Threads {
    levels: u32,
}

impl ForkJoin for Threads {
    type Branch<'b> = Self;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self) -> RA + Send,
        B: for<'b> FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let Some(levels) = self.levels.checked_sub(1) else { return (a(*self), b(*self)) };
        let below = Self { levels };
        std::thread::scope(|scope| {
            let other = scope.spawn(move || b(below));
            let first = a(below);
            (first, other.join().expect("no branch panics"))
        })
    }

    forks_by_halves!();
}

impl Executor for Threads {
    fn execute<P: Program>(&self, program: &mut P) -> P::Output {
        program.run(*self)
    }
}

fn workload(name: &str, set: &[(&str, &str)]) -> Workload {
    let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workload::new(name, &set).expect("the parameters are right")
}

/// Resets, runs, and checks.
fn checked(instance: &mut Instance, run: impl FnOnce(&mut Instance) -> Answer) -> Answer {
    instance.reset();
    let answer = run(instance);
    instance.check(&answer).unwrap_or_else(|wrong| panic!("{}: {wrong}", instance.name()));
    answer
}

/// Runs the sequential and the fork–join version. Returns the answer and the forks, which the program must know.
fn run(name: &str, set: &[(&str, &str)]) -> (String, u64) {
    let (answer, forks, counted) = run_uncounted(name, set);
    assert_eq!(counted, Some(forks), "{name} {set:?}");
    (answer, forks)
}

/// Like `run`, but also returns the number of forks that the program reports, if any.
fn run_uncounted(name: &str, set: &[(&str, &str)]) -> (String, u64, Option<u64>) {
    let workload = workload(name, set);
    let mut instance = workload.prepare().expect("there is memory");
    let sequential = checked(&mut instance, Instance::serial);
    let digest = instance.digest();
    let forks = Cell::new(0);
    let answer = checked(&mut instance, |instance| instance.run(Counting(&forks)));
    assert_eq!(answer, sequential, "{name} {set:?}");
    assert_eq!(instance.digest(), digest, "{name} {set:?}");
    if let Some(tasks) = workload.tasks() {
        assert_eq!(tasks, forks.get(), "{name} {set:?}");
    }
    (answer.to_string(), forks.get(), instance.tasks(&answer))
}

#[test]
fn fib_table() {
    for (n, value, forks) in [("10", "55", 88), ("20", "6765", 10_945), ("25", "75025", 121_392)] {
        assert_eq!(run("fib", &[("n", n)]), (value.to_owned(), forks));
        assert_eq!(run("fib-unrolled", &[("n", n)]), (value.to_owned(), forks));
    }
    assert_eq!(run("fib", &[("n", "0")]), ("0".to_owned(), 0));
    assert_eq!(run("fib", &[("n", "20"), ("cutoff", "18")]), ("6765".to_owned(), 2));
    run("fib", &[("n", "20"), ("cutoff", "90")]);
}

#[test]
fn queens_table() {
    let solutions = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724];
    let forks = [1, 2, 5, 16, 53, 152, 551, 2_056, 8_393, 35_538];
    for (n, (solutions, forks)) in (1..).zip(solutions.iter().zip(forks)) {
        assert_eq!(run("queens", &[("n", &n.to_string())]), (solutions.to_string(), forks));
    }
}

fn is_long() -> bool {
    std::env::var_os("FILCH_LONG").is_some()
}

/// The trees of four million nodes only if the test may be long.
#[test]
fn uts_table() {
    let table = [
        ("T1", "4130071 nodes, 3305118 leaves, depth 10", 4_130_070),
        ("T2", "4117769 nodes, 2342762 leaves, depth 81", 4_117_768),
        ("T3", "4112897 nodes, 3599034 leaves, depth 1572", 4_112_896),
        ("T1S", "1031269 nodes, 825408 leaves, depth 9", 1_031_268),
        ("T3S", "1026961 nodes, 898840 leaves, depth 684", 1_026_960),
        ("T4", "4132453 nodes, 3108986 leaves, depth 134", 4_132_452),
        ("T5", "4147582 nodes, 2181318 leaves, depth 20", 4_147_581),
    ];
    std::thread::scope(|scope| {
        for (tree, answer, forks) in table.into_iter().filter(|tree| is_long() || tree.0.ends_with('S')) {
            scope.spawn(move || assert_eq!(run("uts", &[("tree", tree)]), (answer.to_owned(), forks)));
        }
    });
}

#[test]
fn small_trees_of_every_kind() {
    for set in [
        &[("tree", "T1"), ("depth", "6")][..],
        &[("tree", "T3"), ("b", "20")],
        &[("tree", "T2"), ("depth", "5")],
        &[("tree", "T4"), ("depth", "8")],
        &[("tree", "custom"), ("shape", "exponential"), ("depth", "12"), ("b", "6"), ("seed", "1")],
        &[("type", "hybrid"), ("shape", "fixed"), ("depth", "9"), ("b", "2"), ("q", "0.2"), ("m", "4")],
    ] {
        let (answer, forks) = run("uts", set);
        assert!(forks > 10, "{set:?}: {answer}");
    }
    for (b, depth, answer, forks) in [
        ("3", "9", "29524 nodes, 19683 leaves, depth 9", 29_523),
        ("1.5", "20", "21 nodes, 1 leaves, depth 20", 20),
        ("0", "7", "1 nodes, 1 leaves, depth 0", 0),
        ("200", "2", "40201 nodes, 40000 leaves, depth 2", 40_200),
    ] {
        assert_eq!(run("uts", &[("type", "balanced"), ("b", b), ("depth", depth)]), (answer.to_owned(), forks));
    }
}

#[test]
fn matmul_table() {
    for (n, forks) in [("64", 13), ("128", 109), ("256", 877), ("512", 7_021)] {
        assert_eq!(run("matmul", &[("n", n)]), (format!("{n} × {n} product"), forks));
    }
    for n in ["1", "2", "21", "22", "33", "100", "127"] {
        run("matmul", &[("n", n)]);
    }
    for (n, forks) in [("1024", 56_173), ("2048", 449_389), ("4096", 3_595_117)] {
        assert_eq!(workload("matmul", &[("n", n)]).tasks(), Some(forks));
    }
}

#[test]
fn cilksort_of_all_sizes() {
    for input in ["random", "exponential"] {
        for n in 1..70 {
            for cutoff in ["1", "2", "7"] {
                run("cilksort", &[("n", &n.to_string()), ("cutoff", cutoff), ("input", input)]);
            }
        }
        let (_, forks) = run("cilksort", &[("n", "300000"), ("input", input), ("seed", "7")]);
        assert!(forks > 300);
    }
}

/// Programs of moderate size for parallel executors.
const MODERATE: &[(&str, &[(&str, &str)])] = &[
    ("fib", &[("n", "18")]),
    ("fib", &[("n", "22"), ("cutoff", "10")]),
    ("fib-unrolled", &[("n", "18")]),
    ("skynet", &[("levels", "4")]),
    ("skynet-unrolled", &[("levels", "3")]),
    ("queens", &[("n", "8")]),
    ("nqueens", &[("n", "8")]),
    ("uts", &[("tree", "T1"), ("depth", "6")]),
    ("uts", &[("tree", "T3"), ("b", "40")]),
    ("matmul", &[("n", "150")]),
    ("cilksort", &[("n", "50000"), ("cutoff", "100"), ("input", "exponential")]),
    ("quicksort", &[("n", "50000"), ("cutoff", "100")]),
    ("quicksort", &[("n", "50000"), ("cutoff", "2"), ("input", "exponential")]),
    ("integrate", &[("n", "30")]),
    ("jacobi", &[("n", "70"), ("sweeps", "9")]),
    ("jacobi", &[("n", "41"), ("sweeps", "4"), ("grain", "1")]),
    ("heat", &[("nx", "61"), ("ny", "33"), ("steps", "7"), ("leaf", "3")]),
    ("heat", &[("nx", "40"), ("ny", "20"), ("steps", "5"), ("leaf", "0")]),
    ("fft", &[("n", "16384"), ("cutoff", "64")]),
    ("fft", &[("n", "8192"), ("grain", "512")]),
    ("strassen", &[("n", "200"), ("cutoff", "32")]),
    ("lud", &[("n", "150"), ("cutoff", "16")]),
    ("knapsack", &[("items", "17")]),
    ("knapsack", &[("items", "22"), ("input", "independent")]),
    ("matmul-quarters", &[("n", "128")]),
    ("matmul-inplace", &[("n", "120"), ("cutoff", "16")]),
    ("matmul-inplace", &[("n", "256"), ("cutoff", "128"), ("poll", "on")]),
    ("matmul-temp", &[("n", "300"), ("cutoff", "64")]),
    ("samplesort", &[("n", "40000")]),
    ("samplesort", &[("n", "20000"), ("input", "exponential"), ("grain", "3")]),
    ("samplesort", &[("n", "70000"), ("transpose", "gather"), ("grain", "leaves")]),
    ("hull", &[("n", "50000"), ("cutoff", "100")]),
    ("hull", &[("n", "50000"), ("input", "plummer"), ("grain", "100")]),
    ("cholesky", &[("n", "150"), ("nonzeros", "400")]),
    ("mis", &[("n", "8000")]),
    ("mis", &[("graph", "rmat"), ("n", "8000"), ("grain", "64")]),
    ("mis", &[("graph", "randlocal"), ("n", "8000"), ("phases", "1"), ("grain", "leaves")]),
    ("matching", &[("graph", "randlocal"), ("n", "8000")]),
    ("matching", &[("n", "4000"), ("grain", "64")]),
    ("each", &[("n", "30000"), ("times", "3")]),
    ("each", &[("n", "1000"), ("times", "2"), ("grain", "7")]),
    ("loops", &[("n", "3000"), ("spread", "100"), ("steps", "30"), ("pause", "0"), ("times", "3")]),
];

/// Checks that every run leaves what the sequential program leaves, bit for bit.
fn moderate(runs: &[&dyn Fn(&mut Instance) -> Answer]) {
    for (name, set) in MODERATE {
        let mut instance = workload(name, set).prepare().expect("there is memory");
        let answer = checked(&mut instance, Instance::serial);
        let digest = instance.digest();
        for run in runs {
            for _ in 0..if is_long() { 3 } else { 1 } {
                assert_eq!(checked(&mut instance, run), answer, "{name} {set:?}");
                assert_eq!(instance.digest(), digest, "{name} {set:?}");
            }
        }
    }
}

#[test]
fn on_the_serial_executor_and_on_threads() {
    moderate(&[&|instance| Serial.execute(instance), &|instance| Threads { levels: 5 }.execute(instance)]);
}

fn pools() -> Vec<filch::ThreadPool> {
    [1, 2, 8].map(|workers| filch::ThreadPool::new(workers).expect("threads start")).into()
}

#[test]
fn on_filch_with_handles() {
    let pools = pools();
    let runs: Vec<_> = pools.iter().map(|pool| |instance: &mut Instance| pool.execute(instance)).collect();
    moderate(&runs.iter().map(|run| run as &dyn Fn(&mut Instance) -> Answer).collect::<Vec<_>>());
}

#[test]
fn on_filch_with_closures() {
    let pools = pools();
    let runs: Vec<_> =
        pools.iter().map(|pool| |instance: &mut Instance| pool.install(|| FilchClosures.execute(instance))).collect();
    moderate(&runs.iter().map(|run| run as &dyn Fn(&mut Instance) -> Answer).collect::<Vec<_>>());
}

/// A sequential executor that counts how often it is asked to poll.
#[derive(Clone, Copy)]
struct Polled<'c>(&'c Cell<u64>);

impl ForkJoin for Polled<'_> {
    type Branch<'b> = Self;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self) -> RA + Send,
        B: for<'b> FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        (a(*self), b(*self))
    }

    forks_by_halves!();

    fn poll(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// Every four rows of a leaf, if they are asked to, and if it is long.
#[test]
fn leaves_of_matrices_poll_only_if_they_are_asked_to() {
    for (cutoff, poll, polls) in [("128", "off", 0), ("128", "on", 8 * 128 / 4), ("64", "on", 0)] {
        let mut instance =
            workload("matmul-inplace", &[("n", "256"), ("cutoff", cutoff), ("poll", poll)]).prepare().unwrap();
        let counted = Cell::new(0);
        checked(&mut instance, |instance| instance.run(Polled(&counted)));
        assert_eq!(counted.into_inner(), polls, "cutoff {cutoff}, poll {poll}");
    }
}

#[test]
fn results_in_memory_are_checked() {
    for (name, set) in [("matmul", [("n", "40")]), ("cilksort", [("n", "1000")])] {
        let mut instance = workload(name, &set).prepare().expect("there is memory");
        let answer = checked(&mut instance, Instance::serial);
        instance.reset();
        assert!(instance.check(&answer).is_err(), "{name} did not run again");
    }
}

#[test]
fn one_wrong_element_is_detected() {
    let mut with_memory = 0;
    for (name, set) in MODERATE {
        let mut instance = workload(name, set).prepare().expect("there is memory");
        for at in [0, 1, 1234, 98_765] {
            let answer = checked(&mut instance, Instance::serial);
            let digest = instance.digest();
            if !instance.damage(at) {
                break;
            }
            assert!(instance.check(&answer).is_err(), "{name} {set:?}: element {at} was changed");
            assert!(digest == 0 || digest != instance.digest(), "{name} {set:?}: element {at} was changed");
            with_memory += usize::from(at == 0);
        }
    }
    assert!(with_memory >= MODERATE.len() / 2, "{with_memory} programs leave something in memory");
}

/// Cut-offs, sizes that fit no tile, and loops that halve.
#[test]
fn small_sizes() {
    let sizes = [1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 64, 65, 100];
    for n in sizes.map(|n| n.to_string()) {
        for name in ["strassen", "lud", "matmul-inplace", "matmul-temp"] {
            run_uncounted(name, &[("n", &n), ("cutoff", "8")]);
        }
        for input in ["random", "exponential"] {
            run("quicksort", &[("n", &n), ("cutoff", "2"), ("input", input)]);
        }
    }
    for items in 1..25 {
        run_uncounted("knapsack", &[("items", &items.to_string()), ("range", "100"), ("input", "independent")]);
    }
    for n in 1..70 {
        let n = n.to_string();
        run_uncounted("samplesort", &[("n", &n)]);
        run_uncounted("cholesky", &[("n", &n), ("nonzeros", "100")]);
        for input in ["uniform", "plummer"] {
            run_uncounted("hull", &[("n", if n == "1" { "2" } else { &n }), ("input", input), ("cutoff", "1")]);
        }
    }
    for k in 0..14 {
        for (cutoff, grain) in [("1", "0"), ("16", "7"), ("1000000", "0")] {
            run_uncounted("fft", &[("n", &(1_u64 << k).to_string()), ("cutoff", cutoff), ("grain", grain)]);
        }
    }
    for n in 3..20 {
        let n = n.to_string();
        run_uncounted("jacobi", &[("n", &n), ("sweeps", "3"), ("grain", "2")]);
        run("heat", &[("nx", &n), ("ny", "5"), ("steps", "4"), ("leaf", "2")]);
    }
}

/// No vertex and no edge can be added, and none conflicts with another.
#[test]
fn sets_and_matchings_are_maximal() {
    for graph in ["grid", "randlocal", "rmat", "random"] {
        for n in ["1", "2", "3", "10", "500", "3000"] {
            let set = [("graph", graph), ("n", n)];
            let Instance::IndependentSet(mis) = ready("mis", &set) else { panic!("mis is an independent set") };
            let (graph, members) = mis.set();
            for vertex in 0..graph.vertices() {
                let beside = graph.neighbours(vertex).iter().any(|&neighbour| members[neighbour as usize]);
                assert_ne!(members[vertex as usize], beside, "{set:?}: {vertex}");
            }
            let Instance::Matching(matching) = ready("matching", &set) else { panic!("matching is a matching") };
            let (edges, matched) = matching.matching();
            for (&(u, v), edge) in edges.iter().zip(0..) {
                let [a, b] = [matched[u as usize], matched[v as usize]];
                assert_eq!(a == edge, b == edge, "{set:?}: half of edge {edge} is matched");
                assert!(a != u32::MAX || b != u32::MAX, "{set:?}: edge {edge} could be added");
            }
        }
    }
}

/// Returns a program after a run on two workers.
fn ready(name: &str, set: &[(&str, &str)]) -> Instance {
    let pool = filch::ThreadPool::new(2).expect("threads start");
    let mut instance = workload(name, set).prepare().expect("there is memory");
    checked(&mut instance, |instance| pool.execute(instance));
    instance
}

/// The integral is known, and `check` knows the optimum.
#[test]
fn known_answers() {
    for seed in ["1", "2", "3"] {
        run_uncounted("knapsack", &[("items", "18"), ("seed", seed)]);
    }
    for (n, right) in [(1, 0.75), (10, 2550.0), (100, 25_005_000.0)] {
        let (answer, ..) = run_uncounted("integrate", &[("n", &n.to_string())]);
        let answer: f64 = answer.parse().expect("it is a number");
        assert!((answer - right).abs() <= 1e-6 * right, "{answer}, {right}");
    }
}

#[test]
fn wrong_answers_are_detected() {
    for (name, set) in MODERATE {
        let mut instance = workload(name, set).prepare().expect("there is memory");
        let other = if *name == "fib" { workload("queens", &[("n", "5")]) } else { workload("fib", &[("n", "5")]) };
        let other = other.prepare().expect("there is memory").serial();
        checked(&mut instance, Instance::serial);
        let wrong = instance.check(&other).expect_err("it is the answer of another program");
        assert!(wrong.contains("but it should be"), "{wrong}");
    }
}

/// T3L nests 17 844 levels deep. A worker's stack must hold them with ease.
#[test]
#[ignore = "half a minute in a release build: cargo test --release -- --ignored"]
fn the_deepest_tree_fits_a_small_stack() {
    let run = || {
        let mut instance = workload("uts", &[("tree", "T3L")]).prepare().expect("there is memory");
        checked(&mut instance, |instance| Serial.execute(instance));
    };
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(run).expect("threads start");
    thread.join().expect("it fits");
}

#[test]
fn presets_are_parameters() {
    for spec in specs() {
        for preset in [spec.quick, spec.compare] {
            assert_eq!(workload(spec.name, preset).name(), spec.name);
        }
        for (name, _) in spec.paper {
            assert!(spec.params.iter().any(|param| param.name == *name), "{}: {name}", spec.name);
        }
    }
}
