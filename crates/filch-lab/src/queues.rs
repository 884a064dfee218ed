//! The one table of queues without a scheduler: a new queue is a row here.

use filch::worklist::Worklist;
use filch_queue::{Delivery, Progress, Promises, Queue};

#[cfg(target_arch = "x86_64")]
use crate::pools::Bounded;
use crate::tuning::{CAPACITY, Knob, STEAL, Tunable, Tuning};

/// Code that works with a queue whatever its type. The queue is made with its default parameters.
pub(crate) trait QueueUser {
    type Output;

    fn with<Q: Queue>(self) -> Self::Output;
}

/// Code that works with a worklist whatever its queue.
pub(crate) trait ListUser {
    type Output;

    fn exactly_once<Q: Queue>(self, list: Worklist<Q>) -> Self::Output;

    /// The queue may return a task twice.
    fn at_least_once<Q: Queue>(self, list: Worklist<Q>) -> Self::Output;
}

macro_rules! queues {
    ($($(#[$cfg:meta])* $lists:ident $queue:ty;)+) => {
        /// What the queues promise, their names included.
        pub(crate) const QUEUES: &[Promises] = &[$($(#[$cfg])* <$queue as Queue>::PROMISES),+];

        /// Lets `user` have the queue of this name, if there is one.
        pub(crate) fn with_queue<U: QueueUser>(name: &str, user: U) -> Option<U::Output> {
            $($(#[$cfg])*
            if name == <$queue as Queue>::PROMISES.name {
                return Some(user.with::<$queue>());
            })+
            None
        }

        /// The parameters of the queue of this name.
        pub(crate) fn knobs(name: &str) -> Vec<Knob> {
            $($(#[$cfg])*
            if name == <$queue as Queue>::PROMISES.name {
                let mut knobs = <<$queue as Queue>::Params as Tunable>::KNOBS.to_vec();
                knobs.extend(lists!($lists knobs));
                return knobs;
            })+
            Vec::new()
        }

        /// Lets `user` have a worklist with so many workers on a queue of the table.
        pub(crate) fn with_list<U: ListUser>(tuning: &Tuning, workers: usize, user: U) -> Result<U::Output, String> {
            $($(#[$cfg])*
            if tuning.queue == <$queue as Queue>::PROMISES.name {
                return lists!($lists $queue, tuning, workers, user);
            })+
            Err(format!("there is no queue `{}`", tuning.queue))
        }
    };
}

/// What worklists can do with a queue.
macro_rules! lists {
    (once knobs) => {
        [CAPACITY]
    };
    (many knobs) => {
        [CAPACITY, STEAL]
    };
    (twice knobs) => {
        [CAPACITY]
    };
    (never knobs) => {
        [] as [Knob; 0]
    };
    (once $queue:ty, $tuning:expr, $workers:expr, $user:expr) => {
        tuned::<$queue>($tuning, $workers).map(|list| $user.exactly_once(list))
    };
    (many $queue:ty, $tuning:expr, $workers:expr, $user:expr) => {
        tuned::<$queue>($tuning, $workers)
            .map(|list| $user.exactly_once(if $tuning.steals_many() { list.loot(usize::MAX) } else { list }))
    };
    (twice $queue:ty, $tuning:expr, $workers:expr, $user:expr) => {
        tuned::<$queue>($tuning, $workers).map(|list| $user.at_least_once(list))
    };
    (never $queue:ty, $tuning:expr, $workers:expr, $user:expr) => {{
        let why = why_not(&<$queue as Queue>::PROMISES).expect("there is a reason");
        Err(format!("{}: {why}", $tuning.queue))
    }};
}

fn tuned<Q: Queue<Params: Tunable>>(tuning: &Tuning, workers: usize) -> Result<Worklist<Q>, String> {
    let (params, capacity) = tuning.apply()?;
    let list = Worklist::new(workers).queue::<Q>(params);
    Ok(match capacity {
        Some(capacity) => list.capacity(capacity),
        None => list,
    })
}

/// Why worklists cannot use a queue, if they cannot.
pub(crate) fn why_not(queue: &Promises) -> Option<&'static str> {
    match queue.steal_progress {
        Progress::WaitsForOwner => Some("not for worklists: a thief may wait for an owner that has gone home"),
        _ => None,
    }
}

/// Why a queue cannot hold the tasks of a worklist program, if it cannot.
pub(crate) fn why_not_for(queue: &Promises, is_idempotent: bool) -> Option<&'static str> {
    match queue.delivery {
        Delivery::AtLeastOnce if !is_idempotent => {
            Some("not for this program: a task may be returned twice, and must not be run twice")
        }
        _ => why_not(queue),
    }
}

// To add a queue, add its type: its name and whatever else is asked of it come from its promises. Where its default
// parameters are not the ones to test, wrap it in a queue that chooses others, as `Bounded` does. The word before it says how worklists
// can use it: `once` for each task, also `many` at a time, for tasks that may be run `twice`, `never`.
queues! {
    once filch_queue::ChaseLev;
    once filch_queue::ChaseLevAsym;
    once filch_queue::Abp;
    once filch_queue::The;
    #[cfg(target_arch = "x86_64")]
    once Bounded<filch_queue::FfThe>;
    #[cfg(target_arch = "x86_64")]
    once Bounded<filch_queue::FfCl>;
    #[cfg(target_arch = "x86_64")]
    once Bounded<filch_queue::Thep>;
    #[cfg(target_arch = "x86_64")]
    never Bounded<filch_queue::PatientThep>;
    many filch_queue::Lace;
    many filch_queue::Dsq;
    many filch_queue::HendlerShavit;
    many filch_queue::Wsq;
    once filch_queue::BwosL;
    once filch_queue::BwosF;
    once filch_queue::PadWs;
    once filch_queue::Adws;
    once filch_queue::OneExposed;
    many filch_queue::PdqR;
    many filch_queue::PdqR2;
    many filch_queue::PdqS;
    twice filch_queue::IdempotentLifo;
    twice filch_queue::IdempotentFifo;
    twice filch_queue::IdempotentDeque;
    many filch_queue::Locked;
}

#[cfg(test)]
mod tests {
    use filch_workloads::{Instance, Listed, Workload};

    use super::*;
    use crate::tuning::list_queues;

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

    /// Runs a program, as far as the queue's promise permits, and checks its answer.
    struct Search<'i>(&'i mut Instance);

    impl Search<'_> {
        fn checked(self, run: impl FnOnce(&mut Instance) -> Option<Listed>) -> bool {
            self.0.reset();
            let Some(run) = run(self.0) else { return false };
            self.0.check(&run.answer).unwrap_or_else(|wrong| panic!("{}: {wrong}", self.0.name()));
            true
        }
    }

    impl ListUser for Search<'_> {
        type Output = bool;

        fn exactly_once<Q: Queue>(self, list: Worklist<Q>) -> bool {
            assert_eq!(Q::PROMISES.delivery, Delivery::ExactlyOnce);
            self.checked(|instance| Some(instance.list_exactly_once(&list)))
        }

        fn at_least_once<Q: Queue>(self, list: Worklist<Q>) -> bool {
            assert_eq!(Q::PROMISES.delivery, Delivery::AtLeastOnce);
            self.checked(|instance| instance.list_at_least_once(&list))
        }
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
    ];

    fn workload(name: &str, set: &[(&str, &str)]) -> Workload {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Workload::new(name, &set).expect("the parameters are right")
    }

    #[test]
    fn worklist_programs_are_right_on_every_queue_that_can_run_them() {
        for &(name, set) in PROGRAMS {
            let workload = workload(name, set);
            let mut instance = workload.prepare().expect("there is memory");
            for queue in QUEUES.iter().filter(|queue| why_not(queue).is_none()) {
                // The second one is full all the time, or steals several tasks.
                let steals = knobs(queue.name).contains(&STEAL);
                for rest in ["", if steals { "steal=half" } else { "capacity=5" }] {
                    let tuning = Tuning::parse(queue.name, rest).expect("it has these parameters");
                    for workers in [1, 2, 8] {
                        let ran = with_list(&tuning, workers, Search(&mut instance)).expect("it is in the table");
                        let can = why_not_for(queue, workload.is_idempotent()).is_none();
                        assert_eq!(ran, can, "{name} {set:?} on {tuning}, {workers} workers");
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
}
