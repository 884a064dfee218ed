//! Fences that owners really execute, by runners that were built for counting: `cargo test -p filch-runner --features count`.
//!
//! The numbers are those that the documentation of `filch_queue` gives for a push and a pop.
#![cfg(feature = "count")]

mod common;

use common::{Runner, order, own, runs};
use filch_protocol::Ran;

/// What wakes a worker and puts it to sleep has fences of its own, and locked instructions; so has what gives it the program.
const AROUND: u64 = 60;

fn ran(name: &str, program: (&str, &[(&str, &str)]), workers: usize) -> [Ran; 2] {
    let runner = Runner::start(&own(name));
    assert!(runner.hello.version.ends_with("+count"), "{}", runner.hello.version);
    let ran = runs(runner, &order(program, workers, &[])).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert!(ran.iter().all(|ran| ran.error.is_none()), "{name}");
    ran
}

fn count(ran: &Ran, counter: &str) -> u64 {
    let sum = ran.workers.iter().map(|worker| worker[counter].as_u64().expect("a count")).sum();
    assert_eq!(ran.counters[counter], sum);
    sum
}

/// Whether there were so many for each of so many things, and a few more.
fn is_each(counted: u64, each: u64, things: u64) -> bool {
    (each * things..=each * things + AROUND).contains(&counted)
}

/// On one worker, where nobody steals: what a push and a pop over other tasks have, for each fork.
#[test]
fn forks_have_the_fences_of_their_queue() {
    for (name, fences, locked) in [
        ("chase-lev", 1, 0),
        ("abp", 1, 0),
        ("the", 1, 0),
        ("chase-lev-asym", 0, 0),
        ("lace", 0, 0),
        ("split", 0, 0),
        ("pdq-r", 0, 0),
        ("pdq-s", 0, 0),
        ("heartbeat", 0, 0),
    ] {
        for ran in ran(name, ("fib", &[("n", "20")]), 1) {
            assert_eq!(ran.tasks, Some(10945));
            for (counter, each) in [("fences", fences), ("locked", locked)] {
                let counted = count(&ran, counter);
                println!("{name}: {counted} {counter}");
                assert!(is_each(counted, each, 10945), "{name}: {counted} {counter}");
            }
            assert_eq!((count(&ran, "thief_fences"), count(&ran, "thief_locked")), (0, 0), "{name}");
        }
    }
}

/// The same of worklists, each task of which is pushed and popped once.
#[test]
fn tasks_of_worklists_have_the_fences_of_their_queue() {
    for (name, fences, locked) in [("chase-lev", 1, 0), ("the", 1, 0), ("lace", 0, 0), ("pdq-r", 0, 0), ("wsq", 0, 3)] {
        for ran in ran(name, ("trees", &[("tree", "thin"), ("depth", "12")]), 1) {
            assert_eq!(ran.tasks, Some(8191));
            for (counter, each) in [("fences", fences), ("locked", locked)] {
                let counted = count(&ran, counter);
                println!("{name}: {counted} {counter}");
                assert!(is_each(counted, each, 8191), "{name}: {counted} {counter}");
            }
        }
    }
}

/// What owners execute stays what it is when there are thieves: a pop has its fence whether or not the task is there.
#[test]
fn thieves_are_counted_apart() {
    for ran in ran("chase-lev", ("fib", &[("n", "22")]), 3) {
        let forks = ran.tasks.expect("it is known");
        assert!(count(&ran, "fences") >= forks, "{} forks", forks);
        assert_eq!(ran.workers.len(), 3);
        let steals = ran.counters["steals"].as_u64().expect("a count");
        assert!(count(&ran, "thief_locked") >= steals, "a theft takes an update");
    }
}
