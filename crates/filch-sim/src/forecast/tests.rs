use super::*;
use crate::lace::{self, Tree};

const COSTS: Costs = Costs { theft: 5, look: 2, wake: 50, patience: 1_000_000 };

/// A graph of spinning leaves under a balanced tree of forks.
fn balanced(height: u32, leaf: u64) -> String {
    if height == 0 { leaf.to_string() } else { format!("({0}|{0})", balanced(height - 1, leaf)) }
}

fn time(graph: &str, workers: usize, pool: &str, costs: Costs) -> u64 {
    let graph: Graph = graph.parse().unwrap();
    let spread = pool.parse::<Pool>().unwrap().spread();
    run(&graph, Machine { workers, spread, costs }, 3).time
}

/// A random graph of forks, scopes and jobs; `jobs` counts the jobs.
fn random(rng: &mut fastrand::Rng, depth: u32, jobs: &mut u32) -> String {
    let length = rng.u32(..200);
    let mut text = format!("{length}");
    for _ in 0..rng.u32(..3) {
        if depth == 0 {
            break;
        }
        text += &match rng.u32(..4) {
            0 => {
                let (first, second) = (*jobs, *jobs + 1);
                *jobs += 2;
                let bodies = [random(rng, depth - 1, jobs), random(rng, depth - 1, jobs)];
                format!("s{first} s{second} 7{{[{first} {}][{second} {}]}}", bodies[0], bodies[1])
            }
            1 => {
                let job = *jobs;
                *jobs += 1;
                format!("s{job} 9[{job} {}]t{job} 3", random(rng, depth - 1, jobs))
            }
            _ => format!("({}|{})4", random(rng, depth - 1, jobs), random(rng, depth - 1, jobs)),
        };
    }
    text
}

#[test]
fn one_worker_takes_the_work_and_no_number_takes_less_than_the_laws_allow() {
    for seed in 0..60 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let text = random(&mut rng, 7, &mut 0);
        let graph: Graph = text.parse().unwrap();
        for pool in POOLS {
            for workers in [1, 2, 3, 8, 40] {
                let costs = Costs { patience: [0, 30, 1_000_000][(seed % 3) as usize], ..COSTS };
                let costs = Costs { theft: 1, wake: 10, ..costs };
                let outcome = run(&graph, Machine { workers, spread: pool.spread(), costs }, seed);
                let least = (graph.work().div_ceil(workers as u64)).max(graph.span());
                assert!(outcome.time >= least, "{pool} on {workers}: {text}");
                if workers == 1 {
                    assert_eq!(outcome.time, graph.work(), "{pool}: {text}");
                    assert_eq!(outcome.thefts, 0);
                }
            }
        }
    }
}

/// Where deques are private, the tasks of n workers double with each answer, which comes when a leaf has ended.
#[test]
fn leaves_spread() {
    const LEAF: u64 = 10_000;
    let graph = balanced(10, LEAF);
    for pool in POOLS {
        for workers in [2, 4, 16, 64] {
            let doubling = match pool.spread() {
                Spread::Steal(Waiting::Random) => 100,
                // A worker that waits finds nothing.
                Spread::Steal(Waiting::Leapfrog | Waiting::Transitive) => continue,
                Spread::Ask => LEAF,
                // A worker may look at one that has tasks.
                Spread::Deal { interval } => 2 * (interval + LEAF),
            };
            let ideal = 1024 * LEAF / workers;
            // At the end a worker may wait for a leaf that has just begun.
            let limit = ideal + 2 * LEAF + u64::from(workers.ilog2() + 1) * doubling;
            let time = time(&graph, workers as usize, pool.name, COSTS);
            assert!(time < limit, "{pool} on {workers}: {time}, at best {ideal}");
        }
    }
}

#[test]
fn small_graphs_take_what_they_take_by_hand() {
    let on_two = |graph: &str| time(graph, 2, "split", COSTS);
    // The thief looks within two steps, and begins five later.
    assert!((105..=107).contains(&on_two("(100|100)")));
    assert!((110..=112).contains(&on_two("(100|100)5")));
    assert_eq!(on_two("(100|0)"), 100);
    assert!((155..=157).contains(&on_two("s0 50[0 150]")));
    assert!((162..=164).contains(&on_two("s0 50[0 150]t0 7")));
    assert!((162..=164).contains(&on_two("s0 50{[0 150]}7")));
    // A worker that sleeps comes later; so does, then, the one that has waited for it.
    assert_eq!(time("300(100|100)", 2, "split", Costs { patience: 10, ..COSTS }), 300 + 50 + 5 + 100 + 50);
    // One that is asked answers when its strand ends, and its second branch is its last task.
    assert_eq!(time("(60 (1|1)|100)", 2, "pdq-r", COSTS), 60 + 5 + 100);
}

/// Lace's figures 6 and 8: how far T3L scales by the waiting workers' choice of victims. Its tree of tasks, of which
/// each takes a step, runs as the simulator of task stacks has it: that leaves all children at once, and here a child
/// that is not forked yet cannot be stolen.
#[test]
fn t3l_scales_as_on_simulated_task_stacks() {
    fn visit(tree: &Tree, node: u32, text: &mut String) {
        let children = tree.children(node);
        text.push_str(" 1");
        // The first child is the oldest task, and the last one is what the worker runs itself.
        children.clone().skip(1).for_each(|_| text.push('('));
        let last = children.clone().next_back();
        for child in children.rev() {
            if Some(child) != last {
                text.push('|');
            }
            visit(tree, child, text);
            if Some(child) != last {
                text.push(')');
            }
        }
    }
    let tree = Tree::binomial(200, 5, 199_900, 2);
    let mut text = String::new();
    visit(&tree, 0, &mut text);
    let graph: Graph = text.parse().unwrap();
    assert_eq!(graph.work(), tree.nodes());
    let costs = Costs { theft: 1, look: 1, wake: 0, patience: 1 << 40 };
    for waiting in Waiting::EVERY {
        for workers in [4, 16, 48] {
            let spread = Spread::Steal(waiting);
            let ours: u64 = (0..4).map(|seed| run(&graph, Machine { workers, spread, costs }, seed).time).sum();
            let machine = lace::Machine { workers, steal: 1, waiting };
            let theirs: u64 = (0..4).map(|seed| lace::visit(&tree, machine, seed).steps).sum();
            let ratio = ours as f64 / theirs as f64;
            assert!((0.9..1.1).contains(&ratio), "{waiting:?} on {workers}: {ours} and {theirs}");
        }
    }
}

#[test]
fn a_seed_is_a_run() {
    let graph: Graph = balanced(8, 100).parse().unwrap();
    let spread = Spread::Steal(Waiting::Random);
    let run = |seed| run(&graph, Machine { workers: 5, spread, costs: COSTS }, seed);
    assert_eq!(run(1), run(1));
    assert!((2..9).any(|seed| run(seed) != run(1)));
}
