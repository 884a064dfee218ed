//! The oldest task comes first: programs whose tasks block until an older one has begun come to an end.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use filch::pool::{Pool, Split, Wool};
use filch::{Builder, ThreadPool, Wait};

/// Runs a program on a thread of its own, and fails if it does not end.
fn ends(what: &str, program: impl FnOnce() + Send + 'static) {
    const LONG: Duration = Duration::from_secs(60);
    let (ended, end) = sync_channel(1);
    let running = thread::spawn(move || {
        program();
        ended.send(()).unwrap();
    });
    match end.recv_timeout(LONG) {
        Ok(()) => running.join().unwrap(),
        Err(_) if running.is_finished() => running.join().unwrap(),
        Err(_) => panic!("{what} does not end"),
    }
}

/// Calls `f` with pools of two to eight workers, of each kind that keeps the order, several times.
fn on_pools(f: impl Fn(&str, Arc<dyn OnPool>)) {
    for round in 0..if cfg!(miri) { 1 } else { 10 } {
        for workers in [2, 3, 8] {
            for wait in [Wait::LeapfrogRandom, Wait::Random] {
                let name = format!("{wait} with {workers} workers, round {round}");
                f(&format!("split, {name}"), Arc::new(pool::<Split>(workers, wait)));
                f(&format!("wool, {name}"), Arc::new(pool::<Wool>(workers, wait)));
            }
        }
    }
}

/// Runs a program within such pools, where it must come to an end.
fn in_pools(program: fn()) {
    on_pools(|what, pool| ends(what, move || pool.install(Box::new(program))));
}

fn pool<P: Pool>(workers: usize, wait: Wait) -> ThreadPool<P> {
    Builder::<P>::new().workers(workers).wait(wait).build().unwrap()
}

/// A pool of any kind.
trait OnPool: Send + Sync {
    fn spawn(&self, f: Box<dyn FnOnce() + Send>);
    fn install(&self, f: Box<dyn FnOnce() + Send>);
    fn workers(&self) -> usize;
}

impl<P: Pool> OnPool for ThreadPool<P> {
    fn spawn(&self, f: Box<dyn FnOnce() + Send>) {
        ThreadPool::spawn(self, f);
    }

    fn install(&self, f: Box<dyn FnOnce() + Send>) {
        ThreadPool::install(self, f);
    }

    fn workers(&self) -> usize {
        ThreadPool::workers(self)
    }
}

const ITEMS: u32 = 500;

fn feed(sender: &SyncSender<u32>) {
    filch::for_each(0..ITEMS, |n| sender.send(n).unwrap());
}

fn consume(receiver: Receiver<u32>) {
    assert_eq!(receiver.into_iter().sum::<u32>(), (0..ITEMS).sum());
}

#[test]
fn a_consumer_handed_in_from_outside_begins_before_a_later_loop_takes_all_workers() {
    on_pools(|what, pool| {
        ends(what, move || {
            let (sender, receiver) = sync_channel(1);
            pool.spawn(Box::new(|| consume(receiver)));
            pool.install(Box::new(move || feed(&sender)));
        });
    });
}

#[test]
fn a_consumer_spawned_in_a_scope_begins_before_the_scopes_loop_takes_all_workers() {
    in_pools(|| {
        let (sender, receiver) = sync_channel(1);
        filch::scope(|s| {
            s.spawn(|_| consume(receiver));
            feed(&sender);
            drop(sender);
        });
    });
}

/// The loop forks where a fork lay that is older than the consumer.
#[test]
fn a_consumer_spawned_within_an_earlier_fork_begins_before_a_later_loop() {
    in_pools(|| {
        let (sender, receiver) = sync_channel(1);
        let taken = Mutex::new(Some(receiver));
        let meet = Barrier::new(2);
        filch::scope(|s| {
            filch::join(
                || {
                    let receiver = taken.lock().unwrap().take().unwrap();
                    s.spawn(|_| consume(receiver));
                    meet.wait();
                    filch::join(|| feed(&sender), || ());
                },
                || meet.wait(),
            );
            drop(sender);
        });
    });
}

/// The thief has to take the fork, since the job waits for it.
#[test]
fn an_older_fork_begins_before_a_job_that_waits_for_it() {
    in_pools(|| {
        let meet = Barrier::new(2);
        let (begun, begins) = sync_channel(2);
        filch::scope(|s| {
            filch::join(
                || {
                    let begins = Mutex::new(begins);
                    s.spawn(move |_| begins.lock().unwrap().recv().unwrap());
                    meet.wait();
                },
                || {
                    begun.send(()).unwrap();
                    meet.wait();
                },
            );
        });
    });
}

#[test]
fn two_receivers_in_a_join_and_a_sender_spawned_before() {
    in_pools(|| {
        let ((s1, r1), (s2, r2)) = (sync_channel(0), sync_channel(0));
        filch::spawn(move || {
            s1.send(1).unwrap();
            s2.send(2).unwrap();
        });
        assert_eq!(filch::join(move || r1.recv(), move || r2.recv()), (Ok(1), Ok(2)));
    });
}

#[test]
fn before_a_worker_joins_a_fork_it_runs_what_it_has_spawned_since() {
    fn run<P: Pool>() {
        let pool = pool::<P>(1, Wait::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |what| {
            let order = Arc::clone(&order);
            move || order.lock().unwrap().push(what)
        };
        pool.install(|| {
            filch::scope(|s| {
                s.spawn(|_| note("oldest")());
                filch::join(
                    || {
                        filch::join(|| s.spawn(|_| note("first")()), || ());
                        s.spawn(|_| note("second")());
                        s.spawn(|_| note("third")());
                        note("branch")();
                    },
                    note("other branch"),
                );
                note("body")();
            });
        });
        let order = order.lock().unwrap().clone();
        assert_eq!(order, ["first", "branch", "third", "second", "other branch", "body", "oldest"]);
    }
    run::<Split>();
    run::<Wool>();
}

/// The second fork that it could leap to waits for the job that the first has spawned.
#[test]
fn a_worker_that_waits_for_a_stolen_fork_runs_what_it_spawns_meanwhile_first() {
    fn run<P: Pool>() {
        let pool = pool::<P>(2, Wait::default());
        let (begun, begins) = sync_channel(1);
        let (ran, runs) = sync_channel(2);
        let runs = Mutex::new(runs);
        let await_job = || runs.lock().unwrap().recv().unwrap();
        let stolen = move || {
            begun.send(()).unwrap();
            let spawn = move || {
                filch::spawn(move || (0..2).for_each(|_| ran.send(()).unwrap()));
            };
            filch::join(|| filch::join(await_job, await_job), spawn);
        };
        pool.install(|| filch::join(move || begins.recv().unwrap(), stolen));
    }
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        ends("split", run::<Split>);
        ends("wool", run::<Wool>);
    }
}

#[test]
fn a_worker_that_yields_runs_its_newest_fork() {
    let order = Mutex::new(Vec::new());
    let note = |what| order.lock().unwrap().push(what);
    let inner = || {
        note("before");
        assert!(filch::yield_now());
        note("between");
        assert!(filch::yield_now());
        note("after");
        assert!(!filch::yield_now());
    };
    let results = pool::<Split>(1, Wait::default()).install(|| {
        let middle = || filch::join(inner, || (note("inner"), 1).1);
        filch::join(middle, || (note("outer"), 2).1)
    });
    assert_eq!(results, (((), 1), 2));
    assert_eq!(order.into_inner().unwrap(), ["before", "inner", "between", "outer", "after"]);
}

/// What the worker has spawned since then is left, as at the join of a fork that a thief has ended.
#[test]
fn after_a_fork_that_ran_early_spawned_jobs_wait() {
    let pool = pool::<Split>(1, Wait::default());
    let ran = Arc::new(Mutex::new(false));
    let ran_at_the_join = pool.install(|| {
        let set = Arc::clone(&ran);
        let branch = || {
            assert!(filch::yield_now());
            filch::spawn(move || *set.lock().unwrap() = true);
        };
        filch::join(branch, || ());
        *ran.lock().unwrap()
    });
    assert!(!ran_at_the_join);
}

/// Even if the worker had an older job when it left that one.
#[test]
fn a_job_that_a_worker_has_left_at_a_join_is_older_than_its_next_fork() {
    fn program() {
        let (go, gate) = sync_channel(1);
        let (begin, begun) = sync_channel(1);
        filch::spawn(move || {
            begin.send(()).unwrap();
            gate.recv().unwrap();
        });
        begun.recv().unwrap();
        // The other worker takes all this afterwards, the oldest first.
        filch::spawn(|| ());
        let left = || {
            filch::yield_now();
            filch::spawn(|| ());
            filch::spawn(move || {
                let (sender, receiver) = sync_channel(1);
                filch::spawn(move || receiver.into_iter().for_each(drop));
                let send = |sender: SyncSender<u32>| (0..5).for_each(|n| sender.send(n).unwrap());
                let other = sender.clone();
                go.send(()).unwrap();
                filch::join(|| send(sender), || send(other));
            });
        };
        filch::join(|| filch::join(left, || ()), || ());
    }
    for _ in 0..if cfg!(miri) { 1 } else { 50 } {
        ends("split", || pool::<Split>(2, Wait::default()).install(program));
    }
}

#[test]
fn a_fork_runs_once_if_a_job_before_its_join_yields() {
    let pool = pool::<Split>(1, Wait::default());
    let ran = Mutex::new(0);
    pool.install(|| {
        let branch = || filch::spawn(|| assert!(filch::yield_now()));
        filch::join(branch, || *ran.lock().unwrap() += 1);
    });
    assert_eq!(ran.into_inner().unwrap(), 1);
}

/// Each branch yields, so forks run long before their joins, beside thieves.
#[test]
fn forks_that_ran_early_are_joined_once() {
    fn tree(depth: u32, seed: u32) -> u32 {
        if depth == 0 {
            return 1;
        }
        let pause = |n: u32| (0..n % 4).for_each(|_| _ = filch::yield_now());
        let branch = |seed: u32| {
            pause(seed);
            let leaves = tree(depth - 1, seed.wrapping_mul(747_796_405).wrapping_add(1) >> 3);
            pause(seed >> 2);
            leaves
        };
        let (a, b) = filch::join(|| branch(seed), || branch(!seed));
        a + b
    }
    // A yield may last as long as others' shares of the processor.
    let (rounds, depth) = match std::env::var_os("FILCH_LONG") {
        _ if cfg!(miri) => (2, 3),
        Some(_) => (10, 10),
        None => (2, 8),
    };
    for workers in [1, 2, 5] {
        let pool = pool::<Split>(workers, Wait::default());
        for round in 0..rounds {
            assert_eq!(pool.install(|| tree(depth, round)), 1 << depth, "{workers} workers");
        }
    }
}

#[test]
fn a_panic_of_a_fork_that_ran_early_comes_out_of_its_join() {
    let pool = pool::<Split>(1, Wait::default());
    let join = || filch::join(filch::yield_now, || panic!("early"));
    let payload = pool.install(|| std::panic::catch_unwind(join)).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"early"));
    let both = || filch::join(|| -> () { panic!("first, {}", filch::yield_now()) }, || panic!("early"));
    let payload = pool.install(|| std::panic::catch_unwind(both)).unwrap_err();
    assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("first, true"));
}

/// Whoever spawns a job wakes nobody while a worker searches, which then has to pass the wake-up on.
#[test]
fn as_many_jobs_as_there_are_workers_begin_however_they_come() {
    on_pools(|what, pool| {
        ends(what, move || {
            let workers = pool.workers();
            let meet = Arc::new(Barrier::new(workers + 1));
            let jobs = Arc::clone(&meet);
            pool.install(Box::new(move || {
                for _ in 0..workers {
                    let meet = Arc::clone(&jobs);
                    filch::spawn(move || _ = meet.wait());
                }
            }));
            meet.wait();
        });
    });
}

/// It does so however many finds it has made before.
#[test]
fn a_worker_runs_what_it_has_spawned_before_its_part_of_a_broadcast() {
    fn program() {
        for _ in 0..100 {
            let (sender, receiver) = sync_channel(1);
            let receiver = Mutex::new(receiver);
            filch::spawn(move || sender.send(()).unwrap());
            filch::broadcast(|_| receiver.lock().unwrap().recv().unwrap());
        }
    }
    for wait in [Wait::LeapfrogRandom, Wait::Random] {
        ends("split", move || pool::<Split>(1, wait).install(program));
        ends("wool", move || pool::<Wool>(1, wait).install(program));
    }
}

/// Each worker gets the outer broadcast before the inner one.
#[test]
fn broadcasts_come_to_all_workers_in_one_order() {
    on_pools(|what, pool| {
        ends(what, move || {
            let meet = Arc::new(Barrier::new(pool.workers()));
            pool.install(Box::new(move || {
                filch::broadcast(|_| {
                    filch::broadcast(|_| _ = meet.wait());
                });
            }));
        });
    });
}
