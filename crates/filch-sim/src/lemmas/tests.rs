//! What the lemmas are worth: the smallest counterexamples of those that are false, and how tight the others are.

use std::collections::{HashMap, HashSet};

use super::chain::{Chain, Model, Step, count};
use super::graphs::Graph;
use super::{Lemma, Proof, Reading, TOLERANCE};
use crate::dag::Dag;
use crate::engine::{Mistake, Simulation};
use crate::shape::Shape;

/// Each reading with the sender; and the mended one with each kind of request.
const CASES: [(Reading, Model); 7] = [
    (Reading::Definition, Model::Sender),
    (Reading::Figure, Model::Sender),
    (Reading::Longest, Model::Sender),
    (Reading::Mended, Model::Sender),
    (Reading::Mended, Model::Receiver),
    (Reading::Mended, Model::Flags),
    (Reading::Mended, Model::Afresh),
];

/// For δ = 2: a lemma, its reading and model; the computation of the fewest nodes, and the fewest workers; the deques
/// and requests; and the two sides of the lemma.
const COUNTEREXAMPLES: &str = "\
A4, Definition, Sender: (1|1) on 2, [2 1] []: 0.0000, not 1.0000
A4, Figure, Sender: (1|1) on 2, [2 1] []: 0.0000, not 1.0000
A4, Longest, Sender: (1|1) on 2, [2 1] []: 0.0000, not 1.0000
A5, Definition, Sender: (1|3) on 2, [] [4]: 1.0000, not 1.3680
A5, Figure, Sender: ((1|1)|1) on 2, [5 1] []: 1.0000, not 1.0998
A5Transfer, Figure, Sender: ((1|1)|1) on 2, [5 1] []: 0.3734, not 1.0998
A6, Mended, Flags: ((1|1)|(1|1)) on 3, [3 2] [7] [] 2 asks 1: 0.0000, not 0.1580
A6, Mended, Receiver: (2|(1|1)) on 3, [2] [5 4] [] 2 asks 0: 0.0000, not 0.1580
A7, Definition, Sender: (1|2) on 2, [] [3]: 0.0000, not 0.1345
A7, Figure, Sender: ((1|1)|1) on 2, [5 1] []: 0.0846, not 0.1345
A7, Mended, Flags: ((1|1)|(2|1)) on 3, [3] [8 6] [] 2 asks 0: 0.0000, not 0.0449
A7, Mended, Receiver: (2|(2|1)) on 3, [2] [6 4] [] 2 asks 0: 0.0000, not 0.0449
A8, Definition, Sender: (1|2) on 2, [] [3]: 0.0000, not 0.1345
A8, Figure, Sender: ((1|1)|1) on 2, [5 1] []: 0.0846, not 0.1345
A8, Mended, Flags: ((1|1)|(2|1)) on 3, [3] [8 6] [] 2 asks 0: 0.0141, not 0.0449
A8, Mended, Receiver: (4|(2|1)) on 3, [3] [8 6] [] 2 asks 0: 0.0405, not 0.0449
A9, Definition, Sender: 1 on 2, [0] []: 0.0000, not 0.1345
A9, Figure, Sender: 1 on 2, [0] []: 0.0000, not 0.1345
A9, Longest, Sender: 1 on 2, [0] []: 0.0000, not 0.1345
A9, Mended, Flags: ((1|1)|(2|1)) on 3, [3] [8 6] [] 2 asks 0: 0.0143, not 0.0449
A9, Mended, Receiver: (4|(2|1)) on 3, [3] [8 6] [] 2 asks 0: 0.0422, not 0.0449
";

/// Looks at all computations of up to seven nodes on two and three workers, and beyond that at those that are in the
/// list; or, if `FILCH_LONG` is set, at all of up to eleven nodes.
#[test]
fn smallest_counterexamples() {
    let is_long = std::env::var_os("FILCH_LONG").is_some();
    let mut found: Vec<String> = Vec::new();
    let mut open: Vec<_> = CASES.iter().flat_map(|case| Lemma::EVERY.map(|lemma| (lemma, *case))).collect();
    let mut configurations = 0;
    for graph in (1..=11).flat_map(Graph::all) {
        let name = graph.to_string();
        if !is_long && graph.nodes() > 7 && !COUNTEREXAMPLES.contains(&format!(": {name} on ")) {
            continue;
        }
        let dag = graph.dag();
        for workers in 2..=3 {
            for model in Model::EVERY {
                let chain = Chain::new(&dag, model, workers, 2);
                configurations += chain.steps.len();
                let idle = chain.expected(Step::idle);
                open.retain(|&(lemma, (reading, of))| {
                    let proof = Proof::new(&dag, model.machine(workers, 2), reading);
                    let shown = (of == model).then(|| proof.refuted(lemma, &chain, &idle, 1.0)).flatten();
                    let Some(shown) = shown else { return true };
                    found.push(format!("{lemma:?}, {reading:?}, {model:?}: {name} on {workers}, {shown}"));
                    false
                });
            }
        }
    }
    found.sort();
    found.iter().for_each(|line| println!("{line}"));
    println!("{configurations} configurations");
    assert_eq!(found, COUNTEREXAMPLES.lines().collect::<Vec<_>>());
}

impl Proof {
    /// As [`Proof::refutes`] says of the first such configuration of a chain.
    fn refuted(&self, lemma: Lemma, chain: &Chain<'_>, idle: &[f64], times: f64) -> Option<String> {
        chain.steps.iter().zip(idle).find_map(|(step, &idle)| self.refutes(lemma, step, idle, times))
    }
}

/// Mended, all lemmas hold in all configurations of small computations; if requests stay, A.11 and those that need no
/// probability of success. Bounds that are higher by 30 % are refused.
#[test]
fn mended_lemmas_hold_and_higher_bounds_do_not() {
    let mut refused = HashSet::new();
    // The last one is the smallest with three nodes in a deque, of which lemma A.4 says more than of two.
    for graph in (1..=6).flat_map(Graph::all).chain([graph("((1|1)|1)")]) {
        let dag = graph.dag();
        for model in Model::EVERY {
            for (workers, delta) in [(2, 2), (2, 50), (3, 3), (3, 50), (4, 5)] {
                let chain = Chain::new(&dag, model, workers, delta);
                let idle = chain.expected(Step::idle);
                let proof = Proof::new(&dag, model.machine(workers, delta), Reading::Mended);
                let lemmas = Lemma::EVERY.into_iter().filter(|lemma| {
                    !model.keeps_requests() || matches!(lemma, Lemma::A4 | Lemma::A5 | Lemma::A5Transfer | Lemma::A11)
                });
                for lemma in lemmas {
                    let shown = proof.refuted(lemma, &chain, &idle, 1.0);
                    assert_eq!(shown, None, "{lemma:?}, {model:?}: {graph} on {workers}, δ = {delta}");
                    if proof.refuted(lemma, &chain, &idle, 1.3).is_some() {
                        refused.insert(format!("{lemma:?}, {model:?}"));
                    }
                }
            }
        }
    }
    assert_eq!(refused.len(), 2 * 8 + 2 * 4, "{refused:?}");
}

/// Takes a run, and looks for a lemma that is false in one of every so many of its configurations. It does not know how
/// many idle tokens are expected, and so not whether A.11 is true.
fn refuted_on_the_way(dag: &Dag, model: Model, mut simulation: Simulation<'_>, every: u64) -> Option<String> {
    let proof = Proof::new(dag, simulation.machine(), Reading::Mended);
    while simulation.tokens().work < dag.work() {
        if simulation.tokens().steps.is_multiple_of(every) {
            let step = Step::new(simulation.clone(), model);
            let shown = Lemma::EVERY.into_iter().find_map(|lemma| proof.refutes(lemma, &step, 0.0, 1.0));
            if shown.is_some() {
                return shown;
            }
        }
        assert!(simulation.step(), "a node is left");
        model.end_step(&mut simulation);
    }
    None
}

/// Random computations on random machines; and a worker that gives away its newest node is found.
#[test]
fn runs_keep_the_mended_lemmas() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut mistakes = 0;
    for seed in 0..100 {
        let shape = match rng.u32(..4) {
            0 => Shape::Fib { n: rng.u32(5..10) },
            1 => Shape::Balanced { depth: rng.u32(2..6), grain: rng.u32(1..9) },
            2 => Shape::Comb { teeth: rng.u32(2..20), grain: rng.u32(1..9) },
            _ => Shape::Uts { root: rng.u32(2..9), children: 3, per_million: 250_000, seed: rng.u32(..) },
        };
        let dag = shape.dag();
        let model = if rng.bool() { Model::Sender } else { Model::Afresh };
        let mut simulation = model.start(&dag, rng.usize(2..6), rng.u32(2..20), seed);
        let every = dag.work() / 16 + 1;
        let shown = refuted_on_the_way(&dag, model, simulation.clone(), every);
        assert_eq!(shown, None, "{shape}, {:?}, seed {seed}", simulation.machine());
        simulation.mistake = Some(Mistake::Newest);
        mistakes += u32::from(refuted_on_the_way(&dag, model, simulation, every).is_some());
    }
    assert!(mistakes > 10, "{mistakes}");
}

/// E[K] is W/(δ − 1) from each configuration, by lemma A.2, and P·E[T] is W + E[K] + E[I], by lemma A.1.
#[test]
fn expected_tokens_are_those_of_the_equations() {
    for graph in (1..=6).flat_map(Graph::all) {
        let dag = graph.dag();
        for model in Model::EVERY {
            for (workers, delta) in [(2, 2), (3, 2), (3, 7)] {
                let chain = Chain::new(&dag, model, workers, delta);
                let attempts = |step: &Step<'_>| count(step.workers(1).count()) / f64::from(delta);
                let (idle, communication) = (chain.expected(Step::idle), chain.expected(attempts));
                let time = chain.expected(|_| 1.0);
                for (at, step) in chain.steps.iter().enumerate() {
                    let work = (dag.work() - step.before.tokens().work) as f64;
                    let tokens = work + communication[at] + idle[at];
                    assert!((step.expected(|_| 1.0) - 1.0).abs() < TOLERANCE);
                    assert!((communication[at] - work / f64::from(delta - 1)).abs() < TOLERANCE, "{graph}, {model:?}");
                    assert!((count(workers) * time[at] - tokens).abs() < TOLERANCE, "{graph}, {model:?}");
                }
            }
        }
    }
}

fn graph(name: &str) -> Graph {
    (1..12).flat_map(Graph::all).find(|graph| graph.to_string() == name).expect("it has less than twelve nodes")
}

/// The solution of lemma A.3's equations is the mean of runs that begin anew in each configuration: all together are
/// within three standard errors, and each within four and a half.
#[test]
fn expected_idle_tokens_are_those_of_runs() {
    const RUNS: u32 = 200;
    let dag = graph("((1|1)|(1|2))").dag();
    let (mut sum, mut cases) = (0.0, 0.0);
    let mut seeds = 0..;
    for model in [Model::Sender, Model::Receiver] {
        let chain = Chain::new(&dag, model, 3, 4);
        let expected = chain.expected(Step::idle);
        for (step, expected) in chain.steps.iter().zip(expected) {
            let idle = |seed| step.before.restarted(seed).run().idle - step.before.tokens().idle;
            let runs: Vec<f64> = seeds.by_ref().take(RUNS as usize).map(|seed| idle(seed) as f64).collect();
            let mean = runs.iter().sum::<f64>() / f64::from(RUNS);
            let variance = runs.iter().map(|idle| (idle - mean).powi(2)).sum::<f64>() / f64::from(RUNS - 1);
            let away = (mean - expected) / (variance / f64::from(RUNS)).sqrt();
            assert!(away.abs() < 4.5, "{}: {mean}, not {expected}", super::written(&step.before));
            sum += away;
            cases += 1.0;
        }
    }
    assert!(cases > 100.0 && (sum / f64::sqrt(cases)).abs() < 3.0, "{sum} of {cases}");
}

/// The deques alone determine what follows if the sender begins, or requests last for a step. If they stay, lemma A.6
/// is false of the deques, too: of the mean probability over the requests with which a run reaches them.
#[test]
fn requests_are_part_of_the_configuration() {
    let dag = graph("((1|1)|(2|1))").dag();
    for model in Model::EVERY {
        let chain = Chain::new(&dag, model, 3, 20);
        let proof = Proof::new(&dag, model.machine(3, 20), Reading::Mended);
        // The visits of each configuration, and the sums over them of what A.6 says of each worker.
        let mut by_deques: HashMap<_, (f64, Vec<f64>)> = HashMap::new();
        for (step, visits) in chain.steps.iter().zip(chain.visits()) {
            let says = proof.says(Lemma::A6, step, 0.0);
            let known = by_deques.entry(step.before.state().deques).or_insert_with(|| (0.0, vec![0.0; says.len()]));
            known.0 += visits;
            known.1.iter_mut().zip(says).for_each(|(sum, says)| *sum += visits * (says.is - says.least));
        }
        let is_false = by_deques.values().any(|(visits, sums)| sums.iter().any(|sum| sum / visits < -0.1));
        assert_eq!(by_deques.len() < chain.steps.len(), model.keeps_requests(), "{model:?}");
        assert_eq!(is_false, model.keeps_requests(), "{model:?}");
    }
}

/// Lemma B.1, with the signs that its proof takes from f and its derivatives for q ≥ 3; 0.64 in place of 1 − 1/e would
/// be too much. What the proof prints for f(1), 1/e, is q times as much as f(1).
#[test]
fn one_of_n_requests_arrives_as_lemma_b1_says() {
    let e = std::f64::consts::E;
    let excess = |rate: f64, q: f64, n: f64| 1.0 - (1.0 - 1.0 / q).powf(n) - rate * n / q;
    for q in (1..=400).map(f64::from) {
        let f = |n| excess(1.0 - 1.0 / e, q, n);
        assert!((f(1.0) - 1.0 / (e * q)).abs() < TOLERANCE, "{q}");
        let mut n = 1.0;
        while n <= q {
            assert!(f(n) >= 0.0, "{q}, {n}");
            n += 1.0;
        }
        let slope = -(1.0 - 1.0 / q).ln() * (1.0 - 1.0 / q) - (1.0 - 1.0 / e) / q;
        assert!(q < 3.0 || slope >= (1.0 / e - 1.0 / q) / q, "{q}");
    }
    assert!(excess(1.0 - 1.0 / e, 2.0, 2.0) >= 0.11 && excess(0.64, 400.0, 400.0) < 0.0);
}
