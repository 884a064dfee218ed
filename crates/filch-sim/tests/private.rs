//! Runs of the private deques: what the document proves of their tokens and steps, in small sizes.

use filch_sim::{Bound, Dag, Machine, Move, Protocol, Shape, Simulation, Tokens};

const SHAPES: [&str; 6] = [
    "fib:n=12",
    "fib:n=14",
    "balanced:depth=8,grain=1",
    "balanced:depth=3,grain=100",
    "comb:teeth=16,grain=60",
    "comb:teeth=150,grain=1",
];
const WORKERS: [usize; 3] = [2, 8, 30];
const DELTAS: [u32; 5] = [2, 5, 10, 50, 200];
const RUNS: u32 = 24;

fn dag(shape: &str) -> Dag {
    shape.parse::<Shape>().unwrap_or_else(|why| panic!("{why}")).dag()
}

/// Calls a function with every case and its runs.
fn each_case(mut judge: impl FnMut(&str, &Dag, Machine, &[Tokens])) {
    for shape in SHAPES {
        let dag = dag(shape);
        for protocol in Protocol::EVERY {
            for workers in WORKERS {
                for delta in DELTAS {
                    let machine = Machine { workers, delta, protocol };
                    let runs: Vec<Tokens> =
                        (0..RUNS).map(|seed| Simulation::new(&dag, machine, seed.into()).run()).collect();
                    judge(shape, &dag, machine, &runs);
                }
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
fn mean(runs: &[Tokens], of: impl Fn(&Tokens) -> u64) -> f64 {
    runs.iter().map(|tokens| of(tokens) as f64).sum::<f64>() / f64::from(RUNS)
}

#[test]
fn expected_steps_and_idle_tokens_are_below_their_bounds() {
    each_case(|shape, dag, machine, runs| {
        let bound = Bound::new(dag, machine);
        let (steps, idle) = (mean(runs, |tokens| tokens.steps), mean(runs, |tokens| tokens.idle));
        assert!(steps <= bound.steps(), "{shape}, {machine:?}: {steps} steps, {} expected at most", bound.steps());
        assert!(idle <= bound.idle(), "{shape}, {machine:?}: {idle} idle tokens, {} expected at most", bound.idle());
    });
}

/// Section 4: few nodes move, and idle time grows at most as δ does.
#[test]
fn idle_time_grows_at_most_linearly() {
    let dag = dag("fib:n=20");
    for (protocol, workers) in [(Protocol::Sender, 8), (Protocol::Sender, 30), (Protocol::Receiver, 30)] {
        let on = |delta| {
            let machine = Machine { workers, delta, protocol };
            let runs: Vec<Tokens> = (0..RUNS).map(|seed| Simulation::new(&dag, machine, seed.into()).run()).collect();
            assert!(runs.iter().all(|tokens| tokens.moved < dag.work() / 50), "{machine:?}");
            mean(&runs, |tokens| tokens.idle)
        };
        let idle = [5, 10, 20, 40].map(on);
        for pair in idle.windows(2) {
            assert!((1.3..2.0).contains(&(pair[1] / pair[0])), "{protocol:?} on {workers}: {idle:?}");
        }
    }
}

#[test]
fn tokens_are_those_of_the_steps() {
    each_case(|shape, dag, machine, runs| {
        for tokens in runs {
            let sum = tokens.work + tokens.communication + tokens.idle;
            assert_eq!(sum, tokens.steps * machine.workers as u64, "{shape}, {machine:?}");
            assert!(tokens.work == dag.work() && tokens.steps >= dag.span().into(), "{shape}, {machine:?}");
            assert!(tokens.steps * machine.workers as u64 >= dag.work() && tokens.moved <= tokens.communication);
        }
    });
}

/// Lemma A.2 is an equation: all cases together are within three standard errors, and each within four and a half,
/// which one of them would exceed by chance in one session of a thousand.
#[test]
fn expected_communication_is_work_over_delta_less_one() {
    let (mut sum, mut cases) = (0.0, 0);
    each_case(|shape, dag, machine, runs| {
        let bound = Bound::new(dag, machine);
        let error = bound.communication_deviation() / f64::from(RUNS).sqrt();
        let away = (mean(runs, |tokens| tokens.communication) - bound.communication()) / error;
        assert!(away.abs() < 4.5, "{shape}, {machine:?}: {away} standard errors");
        sum += away;
        cases += 1;
    });
    assert!(cases == 180 && (sum / f64::from(cases).sqrt()).abs() < 3.0, "{sum} of {cases}");
}

#[test]
fn one_worker_runs_the_nodes_in_sequence() {
    let dag = dag("fib:n=9");
    for protocol in Protocol::EVERY {
        let tokens = Simulation::new(&dag, Machine { workers: 1, delta: 4, protocol }, 3).run();
        assert_eq!((tokens.steps, tokens.idle, tokens.moved), (dag.work() + tokens.communication, 0, 0));
    }
}

/// The deques after a step, what ran, and what moved.
type Step = (Vec<Vec<u32>>, Vec<u32>, Vec<Move>);

fn trace(machine: Machine, seed: u64) -> Vec<Step> {
    let dag = dag("fib:n=9");
    let mut simulation = Simulation::new(&dag, machine, seed);
    let mut trace = Vec::new();
    while simulation.step() {
        let deques = (0..machine.workers).map(|worker| simulation.deque(worker).collect()).collect();
        trace.push((deques, simulation.ran().to_vec(), simulation.moves().to_vec()));
    }
    trace
}

#[test]
fn a_seed_is_a_trace() {
    for protocol in Protocol::EVERY {
        let machine = Machine { workers: 4, delta: 3, protocol };
        assert_eq!(trace(machine, 5), trace(machine, 5));
        assert!((6..9).all(|seed| trace(machine, seed) != trace(machine, 5)));
        assert!(trace(machine, 5).iter().any(|(_, _, moves)| !moves.is_empty()));
    }
}

/// A fork and two leaves of one node, on two workers that attempt a transfer in every second step, as solved by hand:
/// the fork takes a geometric number of steps with mean 2. Then with probability 1/2 the worker runs a leaf, and the
/// other one follows: 1 step, 2 for the other leaf, 2 for the join. Otherwise it gives a leaf away, and each worker
/// takes a geometric number of steps for its leaf: 1 step, then 8/3 for the slower one, and 2 for the join.
#[test]
fn the_smallest_fork_takes_the_time_that_is_expected() {
    let dag = dag("fib:n=2");
    let expected = 2.0 + 1.0 + f64::midpoint(2.0, 8.0 / 3.0) + 2.0;
    for protocol in Protocol::EVERY {
        let machine = Machine { workers: 2, delta: 2, protocol };
        let runs = 40_000_u32;
        let steps: u64 = (0..runs).map(|seed| Simulation::new(&dag, machine, seed.into()).run().steps).sum();
        #[expect(clippy::cast_precision_loss, reason = "below a million")]
        let mean = steps as f64 / f64::from(runs);
        // The variance is below 10.
        assert!(
            (mean - expected).abs() < 3.0 * (10.0 / f64::from(runs)).sqrt(),
            "{protocol:?}: {mean}, not {expected}"
        );
    }
}
