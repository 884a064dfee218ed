//! The fences that owners execute, in runners built for counting: `cargo test -p filch-runner --features count`.
//!
//! The expected numbers are those that the documentation of `filch_queue` gives for a push and a pop.
#![cfg(feature = "count")]

mod common;

use common::{Runner, order, own, runs};
use filch_catalogue::protocol::Ran;
use filch_catalogue::{Lists, ONE_WORKER, QUEUES};
use filch_queue::Queue;
use filch_runner::schedulers::{QueueUser, with_queue};

/// The fences and locked instructions of parking, waking and starting the program.
const AROUND: u64 = 60;

fn ran(name: &str, program: (&str, &[(&str, &str)]), workers: usize) -> [Ran; 2] {
    ran_with(name, program, workers, &[])
}

fn ran_with(name: &str, program: (&str, &[(&str, &str)]), workers: usize, settings: &[(&str, &str)]) -> [Ran; 2] {
    let runner = Runner::start(&own(name));
    assert!(runner.hello.version.ends_with("+count"), "{}", runner.hello.version);
    let ran = runs(runner, &order(program, workers, settings)).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert!(ran.iter().all(|ran| ran.error.is_none()), "{name}");
    ran
}

fn count(ran: &Ran, counter: &str) -> u64 {
    let sum = ran.workers.iter().map(|worker| worker[counter].as_u64().expect("a count")).sum();
    assert_eq!(ran.counters[counter], sum);
    sum
}

/// Whether `counted` is `each` for every thing, and a few more.
fn is_each(counted: u64, each: u64, things: u64) -> bool {
    (each * things..=each * things + AROUND).contains(&counted)
}

/// On one worker without thieves, each fork costs a push and a pop.
#[test]
fn forks_have_the_fences_of_their_queue() {
    for (name, fences, locked) in [
        ("chase-lev", 1, 0),
        ("abp", 1, 0),
        ("the", 1, 0),
        ("chase-lev-asym", 0, 0),
        ("lace", 0, 0),
        ("split", 0, 0),
        ("pdq-r-async", 0, 0),
        ("pdq-s", 0, 0),
        ("pdq-s-at-once", 0, 0),
        ("pdq-s-told", 0, 0),
        ("pdq-s-one-step", 0, 0),
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

/// Each task of a worklist is pushed and popped once.
#[test]
fn tasks_of_worklists_have_the_fences_of_their_queue() {
    for (name, fences, locked) in
        [("chase-lev", 1, 0), ("the", 1, 0), ("lace", 0, 0), ("pdq-r-async", 0, 0), ("wsq", 0, 3), ("wsq-packed", 0, 3)]
    {
        // An owner on `wsq` has then known every slot that it fills to be empty.
        let room: &[_] = if name == "wsq" { &[("capacity", "65472")] } else { &[] };
        for ran in ran_with(name, ("trees", &[("tree", "thin"), ("depth", "12")]), 1, room) {
            assert_eq!(ran.tasks, Some(8191));
            for (counter, each) in [("fences", fences), ("locked", locked)] {
                let counted = count(&ran, counter);
                println!("{name}: {counted} {counter}");
                assert!(is_each(counted, each, 8191), "{name}: {counted} {counter}");
            }
        }
    }
}

/// What a [queue says](filch_queue::Queue::FENCES_POPS) of its pops is so.
#[test]
fn queues_with_a_fence_in_every_pop_say_so() {
    struct Says;
    impl QueueUser for Says {
        type Output = bool;

        fn with<Q: Queue>(self, _: Q::Params) -> bool {
            Q::FENCES_POPS
        }
    }
    for queue in QUEUES.iter().filter(|queue| queue.lists != Lists::Twice && queue.memory != ONE_WORKER) {
        for ran in ran(queue.name, ("trees", &[("tree", "thin"), ("depth", "10")]), 1) {
            let has_fences = count(&ran, "fences") >= 2047;
            assert_eq!(with_queue(queue.name, Says), Some(has_fences), "{}", queue.name);
        }
    }
}

/// Two for a pop. One for a part begun, and one for each of the two that end with a job, if they are counted one by
/// one. The queue's swap for 256 jobs, and the update for their parts, are among the few.
#[test]
fn jobs_on_wsq_count_their_parts_together_unless_told_otherwise() {
    for (parts, each) in [(&[][..], 2), (&[("parts", "one-by-one")], 5), (&[("parts", "together")], 2)] {
        for ran in ran_with("wsq", ("wsq", &[("jobs", "5120"), ("k", "1")]), 1, parts) {
            let counted = count(&ran, "locked");
            assert!(is_each(counted, each, 5120), "{parts:?}: {counted}");
        }
    }
}

/// Thieves do not change the owner's count: a pop executes its fence whether or not it finds the task.
#[test]
fn thieves_are_counted_apart() {
    for ran in ran("chase-lev", ("fib", &[("n", "22")]), 3) {
        let forks = ran.tasks.expect("the number is known");
        assert!(count(&ran, "fences") >= forks, "{} forks", forks);
        assert_eq!(ran.workers.len(), 3);
        let steals = ran.counters["steals"].as_u64().expect("a count");
        assert!(count(&ran, "thief_locked") >= steals, "a steal takes a locked instruction");
    }
}
