//! The programs, their arguments, and a JSON line per run.

use std::process::ExitCode;
use std::time::Instant;

use filch_mpi::{Cluster, Mpi, Traffic, Transport, Wire};
use filch_protocol::Machine;
use filch_workloads::uts::{Count, Node, Tree};
use filch_workloads::{Answer, Instance, Prepare, Workload};
use serde_json::{Map, Value, json};

const USAGE: &str = "usage: mpirun -n RANKS filch-mpi uts|queens [--set NAME=VALUE]… [--workers N] [--repeat N]

Runs a program on all ranks, checks its answer, and prints a JSON line per run.
  --set      a parameter of the program, as of `filch run`: tree=T3L, n=12
  --workers  computing threads per rank; default 1
  --repeat   runs; default 1";

struct Arguments {
    workload: Workload,
    workers: usize,
    repeat: usize,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let program = words.next().ok_or("which program?")?;
        if !["uts", "queens"].contains(&&*program) {
            return Err(format!("there is no program `{program}` here"));
        }
        let (mut set, mut workers, mut repeat) = (Vec::new(), 1, 1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
            let number = || value.parse::<usize>().ok().filter(|&n| n > 0).ok_or(format!("{word} {value}: no number"));
            match &*word {
                "--set" => {
                    let (name, value) = value.split_once('=').ok_or(format!("--set {value}: no `=`"))?;
                    set.push((name.to_owned(), value.to_owned()));
                }
                "--workers" => workers = number()?,
                "--repeat" => repeat = number()?,
                _ => return Err(format!("there is no `{word}`")),
            }
        }
        let workload = Workload::new(&program, &set).map_err(|error| error.to_string())?;
        Ok(Self { workload, workers, repeat })
    }
}

pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut cluster = Cluster::new(Mpi::start(), arguments.workers);
    let instance = match arguments.workload.prepare() {
        Ok(instance) => instance,
        Err(error) => panic!("{error}"),
    };
    let mut is_right = true;
    for repeat in 0..arguments.repeat {
        is_right &= run(&mut cluster, &arguments, &instance, repeat);
    }
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the program once. Rank 0 prints the line; returns whether the answer is right, as far as this rank knows.
fn run(cluster: &mut Cluster<Mpi>, arguments: &Arguments, instance: &Instance, repeat: usize) -> bool {
    let is_first = cluster.world().rank() == 0;
    let started = Instant::now();
    let (answer, traffic) = match instance {
        Instance::Uts(instance) => {
            let (count, traffic) = uts(cluster, instance.tree());
            (count.map(Answer::Tree), traffic)
        }
        Instance::Queens(_) => {
            let n = arguments.workload.params()[0].1.parse().expect("the number of queens");
            let (placements, traffic) = queens(cluster, n);
            (placements.map(Answer::Number), traffic)
        }
        _ => unreachable!("no such program is accepted"),
    };
    let seconds = started.elapsed().as_secs_f64();
    let ranks = all_traffic(cluster, &traffic);
    let Some(answer) = answer.filter(|_| is_first) else { return true };
    let error = instance.check(&answer).err();
    if let Some(error) = &error {
        eprintln!("{error}");
    }
    let params: Map<String, Value> =
        arguments.workload.params().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let line = json!({
        "workload": arguments.workload.name(),
        "params": params,
        "scheduler": "filch-mpi",
        "ranks": ranks.len(),
        "workers": arguments.workers,
        "repeat": repeat,
        "seconds": seconds,
        "answer": answer.to_string(),
        "correct": error.is_none(),
        "by_rank": ranks,
        "machine": Machine::here(),
    });
    println!("{line}");
    error.is_none()
}

fn on_cluster<T: Wire, S: Wire + Default>(
    cluster: &mut Cluster<Mpi>,
    root: T,
    task: impl Fn(&mut filch_mpi::Crew<'_, T>, &mut S, T) + Sync,
    merge: impl Fn(S, S) -> S,
) -> (Option<S>, Traffic) {
    let seeds = (cluster.world().rank() == 0).then_some(root);
    match cluster.run(seeds, |_| S::default(), task, merge) {
        Ok(outcome) => (outcome.state, outcome.traffic),
        // The rank with the panic ends the job.
        Err(aborted) => panic!("{aborted}"),
    }
}

/// Counts the nodes of the tree.
fn uts(cluster: &mut Cluster<Mpi>, tree: &Tree) -> (Option<Count>, Traffic) {
    let root = tree.root();
    let (count, traffic) = on_cluster(
        cluster,
        (root.state(), root.height()),
        |crew, [nodes, leaves, depth]: &mut [u64; 3], (state, height)| {
            let node = Node::new(state, height);
            let children = tree.children(&node);
            *nodes += 1;
            *leaves += u64::from(children == 0);
            *depth = (*depth).max(u64::from(height));
            (0..children).map(|index| node.child(index)).for_each(|child| crew.push((child.state(), child.height())));
        },
        |[nodes, leaves, depth], other| [nodes + other[0], leaves + other[1], depth.max(other[2])],
    );
    (count.map(|[nodes, leaves, depth]| Count { nodes, leaves, depth: depth as u32 }), traffic)
}

/// A task is the columns and the diagonals that earlier rows attack, as bits.
fn queens(cluster: &mut Cluster<Mpi>, n: u32) -> (Option<u64>, Traffic) {
    let all = (1 << n) - 1;
    on_cluster(
        cluster,
        [0_u32; 3],
        |crew, count, [columns, left, right]| {
            *count += u64::from(columns == all);
            let mut free = all & !(columns | left | right);
            while free != 0 {
                let queen = free & free.wrapping_neg();
                free ^= queen;
                crew.push([columns | queen, (left | queen) << 1, (right | queen) >> 1]);
            }
        },
        |a, b| a + b,
    )
}

/// Returns the counters of each rank, on rank 0.
fn all_traffic(cluster: &mut Cluster<Mpi>, traffic: &Traffic) -> Vec<Value> {
    let &Traffic { messages, requests, steals, stolen_tasks, end_ns, idle_ns } = traffic;
    let (rank, mine) = (cluster.world().rank() as u64, [messages, requests, steals, stolen_tasks, end_ns, idle_ns]);
    let own = |worker| if worker == 0 { vec![(rank, mine)] } else { Vec::new() };
    let joined = |mut a: Vec<_>, b| {
        a.extend(b);
        a
    };
    let outcome = cluster.run([0_u8; 0], own, |_, _, _| (), joined);
    let mut ranks = outcome.ok().and_then(|outcome| outcome.state).unwrap_or_default();
    ranks.sort_by_key(|(rank, _)| *rank);
    let counters = |(rank, [messages, requests, steals, stolen_tasks, end_ns, idle_ns]): (u64, [u64; 6])| {
        json!({
            "rank": rank, "messages": messages, "requests": requests, "steals": steals,
            "stolen_tasks": stolen_tasks, "end_ns": end_ns, "idle_ns": idle_ns,
        })
    };
    ranks.into_iter().map(counters).collect()
}
