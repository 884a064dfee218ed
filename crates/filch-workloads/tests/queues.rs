//! Queue programs account for every task, on every queue, and find queues that lose or repeat one.

use std::marker::PhantomData;
use std::sync::Mutex;

use filch_queue::{
    ChaseLev, Delivery, Full, IdempotentLifo, Locked, Owner, Promises, Queue, Steal, Task, Thief, for_each_queue,
};
use filch_workloads::queue::{On, Used};
use filch_workloads::{Answer, Instance, Kind, Prepare, Workload, specs};

const PROGRAMS: [&str; 3] = ["owner-throughput", "steal-latency", "steal-throughput"];

const TASKS: u64 = 500;

fn instance(name: &str, set: &[(&str, &str)]) -> Instance {
    let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workload::new(name, &set).and_then(|workload| workload.prepare()).expect("the parameters are right")
}

fn run<Q: Queue>(instance: &mut Instance, capacity: usize, workers: usize) -> Result<Used, String> {
    instance.reset();
    let on = On::<Q> { params: &Q::Params::default(), capacity, workers };
    instance.run_on_queue(&on, &|_| Ok(()))
}

/// Runs, checks, and compares the counts.
fn is_right<Q: Queue>(instance: &mut Instance, capacity: usize, workers: usize) -> Used {
    let at = format!("{} on {}, {workers} workers", instance.name(), Q::PROMISES.name);
    let used = run::<Q>(instance, capacity, workers).unwrap_or_else(|why| panic!("{at}: {why}"));
    assert_eq!(instance.check(&used.answer), Ok(()), "{at}");
    assert!(used.seconds > 0.0, "{at}");
    let [owner, thieves @ ..] = &used.did[..] else { panic!("{at}: no owner") };
    let taken = owner.popped + thieves.iter().map(|thief| thief.steals).sum::<u64>();
    assert_eq!((owner.pushed, owner.attempts), (TASKS, 0), "{at}");
    match Q::PROMISES.delivery {
        Delivery::ExactlyOnce => assert_eq!(taken, TASKS, "{at}"),
        Delivery::AtLeastOnce => assert!(taken >= TASKS, "{at}"),
    }
    for thief in thieves {
        let failed = thief.empty + thief.lost + thief.aborted + thief.pending;
        // A task that was set aside is collected at the end without an attempt.
        assert!(thief.attempts <= thief.steals + failed && thief.attempts >= failed, "{at}: {thief:?}");
        assert_eq!((thief.pushed, thief.popped), (0, 0), "{at}");
    }
    used
}

fn all_programs<Q: Queue>() {
    let n = TASKS.to_string();
    let is_once = Q::PROMISES.delivery == Delivery::ExactlyOnce;
    for name in PROGRAMS {
        for (entry, batch, capacity, workers) in [("8", "64", 1024, 2), ("64", "7", 16, 3), ("64", "50", 10, 2)] {
            let entry = if is_once { entry } else { "8" };
            let mut instance = instance(name, &[("n", &n), ("batch", batch), ("entry", entry)]);
            assert_eq!(is_right::<Q>(&mut instance, capacity, workers).did.len(), workers);
        }
    }
}

#[test]
fn every_queue_runs_every_program() {
    macro_rules! all {
        ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
            [$(all_programs::<$queue>),+]
        };
    }
    let all: Vec<fn()> = for_each_queue!(all).to_vec();
    all.into_iter().for_each(|test| test());
}

#[test]
fn an_owner_without_a_share_has_no_thief() {
    let mut alone = instance("owner-throughput", &[("n", "500"), ("share", "0")]);
    for workers in [1, 2, 3] {
        let used = is_right::<ChaseLev>(&mut alone, 64, workers);
        assert_eq!((used.did.len(), used.did[0].popped, used.times), (1, TASKS, None));
    }
    let mut single = instance("owner-throughput", &[("n", "500"), ("share", "50")]);
    assert_eq!(is_right::<ChaseLev>(&mut single, 64, 1).did.len(), 1);
}

#[test]
fn an_owner_takes_the_rest_when_the_time_is_up() {
    // Thieves of this queue leave everything to the owner.
    let used = is_right::<Selfish>(&mut instance("steal-throughput", &[("n", "500"), ("batch", "10")]), 64, 2);
    assert_eq!((used.did[0].popped, used.did[1].steals), (TASKS, 0));
    let mut late = instance("steal-throughput", &[("n", "500"), ("millis", "0")]);
    is_right::<ChaseLev>(&mut late, 64, 3);
}

#[test]
fn what_needs_a_thief_is_refused_without() {
    for name in ["steal-latency", "steal-throughput"] {
        let why = run::<ChaseLev>(&mut instance(name, &[("n", "10")]), 64, 1).expect_err(name);
        assert!(why.contains("two workers"), "{why}");
    }
}

#[test]
fn a_place_that_its_taker_frees_needs_a_queue_that_returns_it_once() {
    for name in PROGRAMS {
        let why = run::<IdempotentLifo>(&mut instance(name, &[("n", "10"), ("entry", "64")]), 64, 2).expect_err(name);
        assert!(why.contains("must return it once"), "{why}");
        let is_idempotent = |entry: &str| {
            let set = [("entry".to_owned(), entry.to_owned())];
            Workload::new(name, &set).expect("the parameters are right").is_idempotent()
        };
        assert!(is_idempotent("8") && !is_idempotent("64"));
    }
}

#[test]
fn only_steal_latency_times_its_steals() {
    for name in PROGRAMS {
        let mut instance = instance(name, &[("n", "500")]);
        let used = is_right::<Locked>(&mut instance, 1024, 2);
        let has_stolen = used.did[1].attempts > used.did[1].empty + used.did[1].lost;
        assert_eq!(used.times.is_some(), has_stolen && name == "steal-latency", "{name}");
        if let Some(times) = used.times {
            assert!(times.p50 <= times.p90 && times.p90 <= times.p99, "{times:?}");
            assert!(times.elapsed >= times.mean, "{times:?}");
        }
    }
}

#[test]
fn a_thread_that_cannot_begin_ends_the_run() {
    let mut instance = instance("steal-throughput", &[("n", "500")]);
    for stubborn in 0..3 {
        instance.reset();
        let on = On::<ChaseLev> { params: &(), capacity: 64, workers: 3 };
        let enter = |worker| if worker == stubborn { Err(format!("{worker} will not")) } else { Ok(()) };
        let why = instance.run_on_queue(&on, &enter).map(|used| used.answer).expect_err("one will not");
        assert_eq!(why, format!("{stubborn} will not"));
    }
}

#[test]
fn each_thread_enters_once() {
    let entered = Mutex::new(Vec::new());
    let mut instance = instance("steal-throughput", &[("n", "100")]);
    instance.reset();
    let on = On::<ChaseLev> { params: &(), capacity: 64, workers: 4 };
    let enter = |worker| {
        entered.lock().expect("nobody panics").push(worker);
        Ok(())
    };
    instance.run_on_queue(&on, &enter).expect("a run");
    let mut entered = entered.into_inner().expect("nobody panics");
    entered.sort_unstable();
    assert_eq!(entered, [0, 1, 2, 3]);
}

#[test]
fn every_wrong_element_is_detected() {
    for name in PROGRAMS {
        for entry in ["8", "64"] {
            let mut instance = instance(name, &[("n", "301"), ("entry", entry)]);
            assert_eq!(instance.kind(), Kind::Queue);
            let runs: [fn(&mut Instance) -> Answer; 2] =
                [Instance::serial, |instance| run::<ChaseLev>(instance, 64, 3).expect("a run").answer];
            for run in runs {
                instance.reset();
                let answer = run(&mut instance);
                assert_eq!((&answer, instance.tasks(&answer)), (&Answer::Number(301), Some(301)));
                assert_eq!(instance.check(&answer), Ok(()));
                for at in 0..301 {
                    instance.damage(at);
                    assert!(instance.check(&answer).is_err(), "{name}: element {at} was changed");
                    instance.damage(at);
                    assert!(instance.check(&answer).is_ok(), "{name}: element {at} was restored");
                }
                assert!(instance.check(&Answer::Number(300)).is_err());
                instance.reset();
                assert!(instance.check(&answer).is_err(), "{name} did not run again");
            }
        }
    }
}

#[test]
fn all_queue_programs_are_here() {
    let named: Vec<&str> = specs().iter().filter(|spec| spec.kind() == Kind::Queue).map(|spec| spec.name).collect();
    assert_eq!(named, PROGRAMS);
}

/// The queue `Q` with an owner that loses one task, or pushes one twice.
struct Broken<Q, const LOSES: bool>(PhantomData<fn() -> Q>);

struct BrokenOwner<O, const LOSES: bool>(O);

// SAFETY: only these tests use it, and their tasks are numbers.
unsafe impl<Q: Queue, const LOSES: bool> Queue for Broken<Q, LOSES> {
    type Owner = BrokenOwner<Q::Owner, LOSES>;
    type Thief = Q::Thief;
    type Params = Q::Params;

    const PROMISES: Promises = Q::PROMISES;
    const WITHDRAWS: bool = Q::WITHDRAWS;

    fn make(capacity: usize, thieves: usize, params: &Q::Params) -> (Self::Owner, Vec<Q::Thief>) {
        let (owner, thieves) = Q::make(capacity, thieves, params);
        (BrokenOwner(owner), thieves)
    }
}

/// A queue whose thieves find nothing.
struct Selfish;

struct Blind;

// SAFETY: it is the locked queue's owner's side.
unsafe impl Queue for Selfish {
    type Owner = <Locked as Queue>::Owner;
    type Thief = Blind;
    type Params = ();

    const PROMISES: Promises = <Locked as Queue>::PROMISES;

    fn make(capacity: usize, thieves: usize, params: &()) -> (Self::Owner, Vec<Blind>) {
        (<Locked as Queue>::make(capacity, 0, params).0, (0..thieves).map(|_| Blind).collect())
    }
}

impl Thief<Task> for Blind {
    fn steal(&mut self) -> Steal<Task> {
        Steal::Empty
    }

    fn has_work_hint(&self) -> bool {
        false
    }
}

impl<O: Owner<Task>, const LOSES: bool> Owner<Task> for BrokenOwner<O, LOSES> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        match task.id().get() {
            77 if LOSES => Ok(()),
            77 => self.0.push(task).and_then(|()| self.0.push(task)),
            _ => self.0.push(task),
        }
    }

    fn pop(&mut self) -> Option<Task> {
        self.0.pop()
    }

    fn poll(&mut self) {
        self.0.poll();
    }

    fn len_hint(&self) -> usize {
        self.0.len_hint()
    }
}

#[test]
fn losses_and_repetitions_are_found() {
    fn wrong<Q: Queue>(name: &str) -> Option<String> {
        let mut instance = instance(name, &[("n", "300")]);
        let used = run::<Q>(&mut instance, 1024, 2).expect("a run");
        instance.check(&used.answer).err()
    }
    for name in PROGRAMS {
        assert_eq!(wrong::<Broken<Locked, true>>(name).as_deref(), Some("task 76 of 300 was lost"));
        assert_eq!(wrong::<Broken<Locked, false>>(name).as_deref(), Some("task 76 of 300 was taken twice"));
        assert_eq!(wrong::<Broken<IdempotentLifo, false>>(name), None);
        assert_eq!(wrong::<Broken<IdempotentLifo, true>>(name).as_deref(), Some("task 76 of 300 was lost"));
    }
}
