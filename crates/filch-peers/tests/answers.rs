//! Every peer that is built gives right answers for every program that it has.

use filch_peers::{Peer, PeerError, specs};
use filch_workloads::{Instance, Workload};

const STACK_BYTES: usize = 16 << 20;

const PROGRAMS: &[(&str, &[(&str, &str)])] = &[
    ("fib", &[("n", "18")]),
    ("fib", &[("n", "22"), ("cutoff", "10")]),
    ("fib-unrolled", &[("n", "18")]),
    ("queens", &[("n", "8")]),
    ("uts", &[("tree", "T1"), ("depth", "6")]),
    ("uts", &[("tree", "T3"), ("b", "40"), ("depth", "7")]),
    ("matmul", &[("n", "150")]),
    ("cilksort", &[("n", "50000"), ("cutoff", "100"), ("input", "exponential")]),
    ("cilksort", &[("n", "13"), ("cutoff", "1")]),
    ("quicksort", &[("n", "20000"), ("cutoff", "100")]),
    ("integrate", &[("n", "20")]),
    ("jacobi", &[("n", "60"), ("sweeps", "5")]),
    ("heat", &[("nx", "61"), ("ny", "33"), ("steps", "5"), ("leaf", "3")]),
    ("fft", &[("n", "8192"), ("cutoff", "64")]),
    ("strassen", &[("n", "100"), ("cutoff", "16")]),
    ("lud", &[("n", "100"), ("cutoff", "16")]),
    ("knapsack", &[("items", "17")]),
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

fn instance(name: &str, set: &[(&str, &str)]) -> Instance {
    let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workload::new(name, &set).and_then(|workload| workload.prepare()).expect("the parameters are right")
}

#[test]
fn every_peer_on_every_program() {
    for spec in specs().iter().filter(|spec| spec.built) {
        for workers in [1, 2] {
            let peer = Peer::start(spec.name, workers, STACK_BYTES).expect("a built peer starts");
            for (name, set) in PROGRAMS {
                let mut instance = instance(name, set);
                for _ in 0..3 {
                    instance.reset();
                    match peer.run(&mut instance) {
                        Ok(answer) => {
                            let verdict = instance.check(&answer);
                            assert_eq!(verdict, Ok(()), "{} with {workers} workers: {name} {set:?}", spec.name);
                            assert!(peer.supports(name));
                        }
                        Err(PeerError::Unsupported { .. }) => assert!(!peer.supports(name)),
                        Err(PeerError::StackTooSmall { .. }) => assert!(workers > 1),
                        Err(error) => panic!("{}: {error}", spec.name),
                    }
                }
            }
        }
    }
}

#[test]
fn what_cannot_start_says_why() {
    let say = |name: &str, workers| Peer::start(name, workers, STACK_BYTES).expect_err("refused").to_string();
    assert_eq!(say("rayn", 1), "there is no peer `rayn`; did you mean `rayon`?");
    for spec in specs() {
        if spec.built {
            assert_eq!(say(spec.name, 0), format!("{} cannot start: it needs at least one worker", spec.name));
        } else {
            assert!(say(spec.name, 1).starts_with(&format!("{} is not compiled in", spec.name)));
        }
    }
}
