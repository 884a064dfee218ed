//! Every enabled peer gives right answers for every program that it supports.

use std::collections::BTreeMap;

use filch_catalogue::PEERS;
use filch_peers::all;
use filch_runner::{Job, Scheduler};
use filch_workloads::{Prepare, Workload, specs};

const STACK_BYTES: usize = 16 << 20;

const PROGRAMS: &[(&str, &[(&str, &str)])] = &[
    ("fib", &[("n", "18")]),
    ("fib", &[("n", "22"), ("cutoff", "10")]),
    ("fib-unrolled", &[("n", "18")]),
    ("skynet", &[("levels", "4")]),
    ("skynet-unrolled", &[("levels", "3")]),
    ("queens", &[("n", "8")]),
    ("nqueens", &[("n", "8")]),
    ("uts", &[("tree", "T1"), ("depth", "6")]),
    ("uts", &[("tree", "T3"), ("b", "40"), ("depth", "7")]),
    ("matmul", &[("n", "150")]),
    ("cilksort", &[("n", "50000"), ("cutoff", "100"), ("input", "exponential")]),
    ("cilksort", &[("n", "13"), ("cutoff", "1")]),
    ("quicksort", &[("n", "20000"), ("cutoff", "100")]),
    ("integrate", &[("n", "20")]),
    ("jacobi", &[("n", "60"), ("sweeps", "5")]),
    ("each", &[("n", "3000"), ("times", "2")]),
    ("loops", &[("n", "50"), ("steps", "20"), ("spread", "50"), ("pause", "10"), ("times", "5")]),
    ("heat", &[("nx", "61"), ("ny", "33"), ("steps", "5"), ("leaf", "3")]),
    ("fft", &[("n", "8192"), ("cutoff", "64")]),
    ("strassen", &[("n", "100"), ("cutoff", "16")]),
    ("lud", &[("n", "100"), ("cutoff", "16")]),
    ("knapsack", &[("items", "17")]),
    ("matmul-quarters", &[("n", "128")]),
    ("matmul-inplace", &[("n", "100"), ("cutoff", "16")]),
    ("matmul-temp", &[("n", "100"), ("cutoff", "16")]),
    ("samplesort", &[("n", "10000")]),
    ("hull", &[("n", "20000"), ("cutoff", "100")]),
    ("cholesky", &[("n", "100"), ("nonzeros", "300")]),
    ("mis", &[("n", "4000")]),
    ("matching", &[("n", "2000")]),
    ("spread", &[("n", "6"), ("micros", "100")]),
    ("spread", &[("n", "6"), ("micros", "100"), ("shape", "list")]),
    ("spread", &[("n", "6"), ("micros", "100"), ("shape", "backwards")]),
    ("spread", &[("n", "6"), ("micros", "100"), ("shape", "forks")]),
    ("spread", &[("n", "6"), ("micros", "100"), ("shape", "loop")]),
    ("grain", &[("n", "30"), ("longest", "200")]),
];

fn workload(name: &str, set: &[(&str, &str)]) -> Workload {
    let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workload::new(name, &set).expect("valid parameters")
}

#[test]
fn every_peer_on_every_program() {
    for peer in all() {
        // Spinning threads take long on few processors.
        let most = if peer.name() == "lace-ws" { 2 } else { 8 };
        for workers in [1, 2, most] {
            for (name, set) in PROGRAMS {
                let workload = workload(name, set);
                let spec = specs().iter().find(|spec| spec.name == *name).expect("a listed program");
                if !peer.runs(spec) {
                    continue;
                }
                let settings = BTreeMap::new();
                let job = Job { workload: &workload, workers, settings: &settings, stack_bytes: STACK_BYTES };
                let started = peer.start(&job).expect("the peer starts");
                let mut instance = workload.prepare().expect("enough memory");
                for _ in 0..2 {
                    instance.reset();
                    match started.run(&mut instance) {
                        Ok(answer) => {
                            let verdict = instance.check(&answer);
                            assert_eq!(verdict, Ok(()), "{peer:?} with {workers} workers: {name} {set:?}");
                        }
                        Err(why) => assert!(workers > 1 && why.contains("may need stacks"), "{peer:?}: {why}"),
                    }
                }
            }
        }
    }
}

#[test]
fn a_peer_that_cannot_start_says_why() {
    let workload = workload("fib", &[]);
    for peer in all() {
        let settings = BTreeMap::new();
        let job = Job { workload: &workload, workers: 0, settings: &settings, stack_bytes: STACK_BYTES };
        let said = peer.start(&job).map(|_| ()).expect_err("no worker");
        assert_eq!(said, format!("{} needs at least one worker", peer.name()));
        let settings = [("mood".to_owned(), "sunny".to_owned())].into();
        let said = peer.start(&Job { workers: 1, settings: &settings, ..job }).map(|_| ()).expect_err("no settings");
        assert!(said.contains("`mood`"), "{said}");
    }
}

#[test]
fn every_peer_is_in_the_list() {
    for peer in all() {
        assert!(PEERS.iter().any(|listed| listed.name == peer.name()), "{peer:?}");
        assert!(!peer.version().is_empty(), "{peer:?}");
    }
}
