//! Every queue is found by its name, and runs the worklist programs and jobs that its promises permit.

use filch_queue::{Progress, Queue};
use filch_schedulers::{
    QUEUES, QueueUser, STEAL, Tuning, knobs, list_queues, start_list, why_not, why_not_for, with_queue,
};
use filch_workloads::{Kind, Workload};

struct Name;

impl QueueUser for Name {
    type Output = &'static str;

    fn with<Q: Queue>(self) -> &'static str {
        Q::PROMISES.name
    }
}

#[test]
fn every_name_leads_to_its_queue() {
    for (row, queue) in QUEUES.iter().enumerate() {
        assert_eq!(with_queue(queue.name, Name), Some(queue.name));
        assert!(QUEUES[..row].iter().all(|other| other.name != queue.name), "{} stands twice", queue.name);
    }
    assert_eq!(with_queue("no-such-queue", Name), None);
}

const PROGRAMS: &[(&str, &[(&str, &str)])] = &[
    ("pseudo-dfs", &[("n", "3000"), ("items", "16")]),
    ("pseudo-dfs", &[("graph", "randlocal"), ("n", "3000"), ("items", "1")]),
    ("pseudo-dfs", &[("graph", "rmat"), ("n", "2048"), ("task", "node")]),
    ("closure", &[("n", "2000")]),
    ("closure", &[("graph", "torus"), ("n", "2000")]),
    ("spanning-tree", &[("graph", "random"), ("n", "2000")]),
    ("trees", &[("tree", "fat"), ("fanout", "12")]),
    ("trees", &[("tree", "thin"), ("depth", "10")]),
    ("trees", &[("tree", "comb"), ("depth", "1000")]),
    ("wsq", &[("jobs", "3000")]),
];

#[test]
fn programs_are_right_on_every_queue_that_can_run_them() {
    for &(name, set) in PROGRAMS {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let workload = Workload::new(name, &set).expect("the parameters are right");
        let mut instance = workload.prepare().expect("there is memory");
        for queue in QUEUES.iter().filter(|queue| why_not(queue).is_none()) {
            if workload.kind() == Kind::Jobs && why_not_for(queue, false).is_some() {
                continue;
            }
            // The second one is full all the time, or steals several tasks.
            let steals = knobs(queue.name).contains(&STEAL);
            for rest in ["", if steals { "steal=half" } else { "capacity=5" }] {
                let tuning = Tuning::parse(queue.name, rest).expect("it has these parameters");
                for workers in [1, 2, 8] {
                    let list = start_list(&tuning, workers, workload.kind()).expect("it is in the table");
                    instance.reset();
                    let ran = list.run(&mut instance);
                    let can = why_not_for(queue, workload.is_idempotent()).is_none();
                    assert_eq!(ran.is_ok(), can, "{name} {set:?} on {tuning}, {workers} workers");
                    if let Ok(answer) = ran {
                        instance.check(&answer).unwrap_or_else(|wrong| panic!("{name} on {tuning}: {wrong}"));
                    }
                }
            }
        }
    }
}

#[test]
fn queues_whose_thieves_wait_for_the_owner_are_refused() {
    for queue in QUEUES {
        let waits = queue.steal_progress == Progress::WaitsForOwner;
        assert_eq!(Tuning::parse(queue.name, "").is_err(), waits, "{}", queue.name);
        assert_eq!(list_queues().contains(&queue.name), !waits, "{}", queue.name);
    }
}
