//! Worklists over ranks that are threads: no task is lost, and every run ends.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use filch_mpi::{Aborted, Cluster, Outcome, Threads};

/// Runs the same function on all ranks. A run that hangs fails.
fn on_ranks<R: Send + 'static>(size: usize, f: impl Fn(usize, Threads) -> R + Clone + Send + 'static) -> Vec<R> {
    let (done, all) = channel();
    for (rank, world) in Threads::world(size).into_iter().enumerate() {
        let (done, f) = (done.clone(), f.clone());
        thread::spawn(move || done.send((rank, f(rank, world))));
    }
    let next = |_| all.recv_timeout(Duration::from_secs(300)).expect("every rank ends");
    let mut results: Vec<_> = (0..size).map(next).collect();
    results.sort_by_key(|(rank, _)| *rank);
    results.into_iter().map(|(_, result)| result).collect()
}

fn total(runs: &[Result<Outcome<(u64, u64)>, Aborted>]) -> Option<(u64, u64)> {
    assert!(runs[1..].iter().all(|run| run.as_ref().is_ok_and(|run| run.state.is_none())));
    runs[0].as_ref().expect("no panic").state
}

/// A task is a number and a budget of tasks below it, shared unevenly among a few children.
fn children(task: (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    let (seed, mut budget) = task;
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::from_fn(move || {
        let part = if random.u8(..) < 64 { budget } else { random.u64(..=budget) }.max(1);
        budget = budget.checked_sub(part)?;
        Some((random.u64(..), part - 1))
    })
}

#[test]
fn random_lists_are_done_once() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (size, workers, runs) = (random.usize(1..6), random.usize(1..3), random.u64(1..4));
        let first = random.usize(..size);
        let budgets: Vec<u64> = (0..runs).map(|_| random.u64(..3000)).collect();
        let expected: Vec<u64> = budgets.iter().map(|budget| budget + 1).collect();
        let results = on_ranks(size, move |rank, world| {
            let mut cluster = Cluster::new(world, workers);
            let run = |&budget: &u64| {
                cluster.run(
                    (rank == first).then_some((seed, budget)),
                    |_| (0, 0),
                    |worker, (count, _), task| {
                        *count += 1;
                        children(task).for_each(|child| worker.push(child));
                    },
                    |a: (u64, u64), b| (a.0 + b.0, 0),
                )
            };
            budgets.iter().map(run).collect::<Vec<_>>()
        });
        for (run, &expected) in expected.iter().enumerate() {
            let of_run: Vec<_> = results.iter().map(|results| results[run].clone()).collect();
            assert_eq!(total(&of_run), Some((expected, 0)), "seed {seed}, run {run}");
        }
    }
}

#[test]
fn a_run_without_tasks_ends() {
    for size in [1, 2, 3, 8] {
        let runs = on_ranks(size, |_, world| {
            Cluster::new(world, 1).run([0_u8; 0], |_| (1, 1), |_, _, _| (), |a, b| (a.0 + b.0, a.1 + b.1))
        });
        // One state for each worker, and for each communicator, which a lone rank does without.
        let threads = size as u64 + if size > 1 { size as u64 } else { 0 };
        assert_eq!(total(&runs), Some((threads, threads)));
    }
}

#[test]
fn tasks_may_be_empty_or_large() {
    for bytes in [0, 10_000_000] {
        let runs = on_ranks(3, move |rank, world| {
            let seeds = (0..if rank == 1 { 12 } else { 0 }).map(|n| vec![n; bytes]);
            Cluster::new(world, 1).run(
                seeds,
                |_| (0, 0),
                |_, sum: &mut (u64, u64), task: Vec<u8>| {
                    *sum = (sum.0 + 1, sum.1 + task.len() as u64);
                    thread::sleep(Duration::from_millis(2));
                },
                |a, b| (a.0 + b.0, a.1 + b.1),
            )
        });
        assert_eq!(total(&runs), Some((12, 12 * bytes as u64)));
    }
}

#[test]
fn a_panic_ends_the_run_on_all_ranks() {
    let results = on_ranks(3, |rank, world| {
        let run = || {
            Cluster::new(world, 1).run(
                [u64::from(rank == 1)],
                |_| 0_u64,
                |worker, _, task| {
                    assert_eq!(task, 0, "the task of rank 1");
                    worker.push(0);
                },
                |a, b| a + b,
            )
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).map_err(drop)
    });
    let by: Vec<_> = results.iter().map(|result| result.as_ref().map(|run| run.as_ref().err().copied())).collect();
    // Any rank may have stolen the task.
    assert_eq!(by.iter().filter(|by| by.is_err()).count(), 1, "{by:?}");
    let broken = by.iter().position(Result::is_err).expect("one has panicked");
    assert!(by.iter().flatten().all(|by| *by == Some(Aborted { by: broken })), "{by:?}");
}

/// The numbers below a bound that tasks have visited, as bits.
type Visits = Vec<u64>;

fn either(a: Visits, b: Visits) -> Visits {
    a.into_iter().zip(b).map(|(a, b)| a | b).collect()
}

#[test]
fn ranks_survive_others() {
    const NODES: u64 = 1 << 12;
    const WORDS: usize = NODES as usize / 64;
    let seeds = if std::env::var_os("FILCH_LONG").is_some() { 100 } else { 25 };
    for seed in 0..seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        let (size, workers) = (random.usize(2..6), random.usize(1..3));
        // How many tasks each rank runs before it breaks.
        let lives: Vec<u64> = (0..size).map(|_| if random.bool() { random.u64(..NODES) } else { u64::MAX }).collect();
        let results = on_ranks(size, move |rank, world| {
            let left = AtomicU64::new(if rank == 0 { u64::MAX } else { lives[rank] });
            let run = || {
                Cluster::new(world, workers).run_idempotent(
                    (rank == 0).then_some(1),
                    |_| vec![0; WORDS],
                    |worker, visits: &mut Visits, node: u64| {
                        if left.fetch_sub(1, Ordering::Relaxed) == 0 {
                            std::panic::resume_unwind(Box::new("broken"));
                        }
                        visits[(node / 64) as usize] |= 1 << (node % 64);
                        thread::sleep(Duration::from_micros(1));
                        [2 * node, 2 * node + 1]
                            .into_iter()
                            .filter(|&node| node < NODES)
                            .for_each(|node| worker.push(node));
                    },
                    either,
                )
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).map_err(drop)
        });
        let visits =
            results[0].as_ref().expect("rank 0 does not break").as_ref().expect("nor is it dead").state.as_ref();
        let visits = visits.expect("the state of all");
        assert_eq!(visits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>(), NODES - 1, "seed {seed}");
        for result in results[1..].iter().flatten() {
            assert_eq!(result.as_ref().map(|run| run.state.is_none()), Ok(true), "seed {seed}");
        }
    }
}
