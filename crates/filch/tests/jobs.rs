//! Jobs on every kind of queue: none is lost, nothing leaks, and every run ends.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use common::{Counted, EveryQueue, WORKERS, throw, thrown_by, wait_for, watchdog};
use filch::jobs::{Job, JobWorker, Jobs, Parts};
use filch::{Idle, Stop};
use filch_queue::{Dsq, HendlerShavit, Locked, PdqRAsync, Queue, StealMany, Task, Wsq};

fn jobs<Q: Queue>(workers: usize, capacity: usize) -> Jobs<Q> {
    Jobs::new(workers).capacity(capacity).queue::<Q>(Q::Params::default())
}

/// Returns a random number for a node of a random tree.
fn hash(node: u64) -> u64 {
    let mut x = node.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// How a node makes its children.
#[derive(Clone, Copy, PartialEq)]
enum Making {
    Spawn,
    SpawnAll,
    Start,
    StartUnderRoot,
}

/// A node of a random tree.
#[derive(Clone, Copy)]
struct Node {
    id: u64,
    depth: u32,
}

impl Node {
    fn children(self) -> impl Iterator<Item = Self> + Clone {
        let number = if self.depth == 0 { 0 } else { hash(self.id) % 5 };
        let Self { id, depth } = self;
        (0..number).map(move |nth| Self { id: hash(id ^ nth << 32), depth: depth - 1 })
    }

    fn making(self) -> Making {
        match hash(self.id ^ 1) % 7 {
            0 | 1 => Making::Spawn,
            2 | 3 => Making::SpawnAll,
            4 | 5 => Making::Start,
            _ => Making::StartUnderRoot,
        }
    }

    /// Returns the size of the job with its descendants, and that of other jobs made on the way.
    fn sizes(self) -> (usize, usize) {
        self.children().map(|child| (self.making(), child.sizes())).fold((1, 0), |(own, others), (making, sizes)| {
            match making {
                Making::StartUnderRoot => (own, others + sizes.0 + sizes.1),
                _ => (own + sizes.0, others + sizes.1),
            }
        })
    }
}

/// The record of a job: how often it and its descendants have run.
#[derive(Default)]
struct Runs<'s> {
    parent: Option<Arc<Runs<'s>>>,
    own: Arc<AtomicUsize>,
    /// Descendants that can be waited for, with the record of each.
    started: Mutex<Vec<(Job<'s>, Node, Arc<AtomicUsize>)>>,
}

impl<'s> Runs<'s> {
    fn below(parent: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { parent: Some(Arc::clone(parent)), ..Self::default() })
    }

    fn line(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |runs| runs.parent.as_deref())
    }
}

/// Runs a node, and waits at random.
fn grow<'s, Q: Queue>(
    w: &mut JobWorker<'s, '_, Q>,
    node: Node,
    runs: &Arc<Runs<'s>>,
    root: &Arc<Runs<'s>>,
    alive: &'s AtomicUsize,
) {
    let child = |node: Node, above: &Arc<Runs<'s>>| {
        let (runs, root, counted) = (Runs::below(above), Arc::clone(root), Counted::new(alive));
        let told = Arc::clone(&runs.own);
        let work = move |w: &mut JobWorker<'s, '_, Q>| {
            grow(w, node, &runs, &root, alive);
            runs.line().for_each(|runs| _ = runs.own.fetch_add(1, SeqCst));
            drop(counted);
        };
        (told, work)
    };
    let making = node.making();
    if making == Making::SpawnAll {
        w.spawn_all(node.children().map(|node| child(node, runs).1));
    }
    for node in node.children() {
        match making {
            Making::SpawnAll => {}
            Making::Spawn => w.spawn(child(node, runs).1),
            Making::Start => {
                let (told, work) = child(node, runs);
                let job = w.start(work);
                for above in runs.line() {
                    above.started.lock().unwrap().push((job, node, Arc::clone(&told)));
                }
            }
            Making::StartUnderRoot => {
                w.start_under(w.root(), child(node, root).1);
            }
        }
    }
    match hash(node.id ^ 2) % 4 {
        0 => {
            w.wait_for_children();
            let started = std::mem::take(&mut *runs.started.lock().unwrap());
            assert!(started.iter().all(|(job, ..)| job.is_over()));
            let (own, others) = node.sizes();
            let expected = if runs.parent.is_some() { own } else { own + others };
            assert_eq!(runs.own.load(SeqCst) + 1, expected);
        }
        1 | 2 => {
            // Some of those started so far, at any depth.
            let started = runs.started.lock().unwrap().clone();
            for (job, node, own) in started.into_iter().filter(|(_, node, _)| hash(node.id ^ 3).is_multiple_of(2)) {
                w.wait(job);
                assert_eq!(own.load(SeqCst), node.sizes().0);
            }
        }
        _ => {}
    }
}

fn random_trees<Q: Queue>(jobs: &Jobs<Q>, seeds: std::ops::Range<u64>, depth: u32) {
    for seed in seeds {
        let node = Node { id: hash(seed), depth };
        let (own, others) = node.sizes();
        let alive = AtomicUsize::new(0);
        let outcome = jobs.run(|w| {
            let root = Arc::new(Runs::default());
            grow(w, node, &root, &root, &alive);
            w.wait_for_children();
            root.own.load(SeqCst) + 1
        });
        assert!(outcome.is_complete);
        assert_eq!(outcome.result, own + others, "{jobs:?}, seed {seed}");
        assert_eq!(outcome.tallies.iter().map(|tally| tally.run).sum::<u64>(), (own + others - 1) as u64);
        assert_eq!(alive.load(SeqCst), 0, "{jobs:?} leak");
    }
}

#[test]
fn random_trees_with_waits_anywhere() {
    struct Trees;
    impl EveryQueue for Trees {
        fn with<Q: Queue>(&self) {
            for workers in WORKERS {
                random_trees(&jobs::<Q>(workers, 3), 0..20, 5);
                random_trees(&jobs::<Q>(workers, 1 << 10), 20..25, 8);
                random_trees(&jobs::<Q>(workers, 16).parts(Parts::OneByOne), 0..10, 6);
            }
        }
    }
    let _watchdog = watchdog("random trees");
    Trees.every();
}

#[test]
fn thieves_that_take_several_tasks() {
    fn several<Q: Queue<Thief: StealMany<Task>>>() {
        for workers in WORKERS {
            for most in [1, 3, 16] {
                random_trees(&jobs::<Q>(workers, 1 << 10).loot(most), 0..10, 6);
            }
        }
    }
    let _watchdog = watchdog("thieves of several tasks");
    several::<Wsq>();
    several::<Dsq>();
    several::<HendlerShavit>();
    several::<Locked>();
    several::<PdqRAsync>();
}

#[test]
fn all_of_many_batches_are_run_by_a_team_that_spins_between_runs() {
    let _watchdog = watchdog("many batches");
    for workers in WORKERS {
        for capacity in [4, 1 << 10] {
            let jobs = jobs::<Wsq>(workers, capacity).loot(64).idle(Idle::Spin);
            let mut team = jobs.start().expect("threads start");
            for number in [0, 1, 255, 256, 257, 1000] {
                let count = AtomicUsize::new(0);
                team.run(|w| w.spawn_all((0..number).map(|_| |_: &mut _| _ = count.fetch_add(1, SeqCst))));
                assert_eq!(count.into_inner(), number);
            }
        }
    }
}

#[test]
fn results_are_there_after_waits() {
    fn fib<'s, Q: Queue>(w: &mut JobWorker<'s, '_, Q>, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let cell = Arc::new(AtomicU64::new(0));
        let result = Arc::clone(&cell);
        let job = w.start(move |w| result.store(fib(w, n - 1), SeqCst));
        let other = fib(w, n - 2);
        w.wait(job);
        cell.load(SeqCst) + other
    }
    struct Fib;
    impl EveryQueue for Fib {
        fn with<Q: Queue>(&self) {
            for workers in WORKERS {
                assert_eq!(jobs::<Q>(workers, 256).run(|w| fib(w, 13)).result, 233);
            }
        }
    }
    let _watchdog = watchdog("fib");
    Fib.every();
}

#[test]
fn an_early_end_drops_what_is_left() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum End {
        Stopped,
        Panicked,
    }
    /// Runs for ever, but neither grows without limit nor nests waits without limit: otherwise its end might be delayed
    /// for long.
    fn forever<'s, Q: Queue>(
        w: &mut JobWorker<'s, '_, Q>,
        alive: &'s AtomicUsize,
        runs: &'s AtomicUsize,
        end: &'s (impl Fn(usize) + Sync),
    ) {
        let run = runs.fetch_add(1, SeqCst);
        end(run);
        let more = if run < 50_000 { 2 } else { 1 };
        let child = || {
            let (small, large) = (Counted::new(alive), [(); 8].map(|()| Counted::new(alive)));
            move |w: &mut JobWorker<'s, '_, Q>| {
                forever(w, alive, runs, end);
                drop((small, large));
            }
        };
        match hash(run as u64) % if run < 2000 { 3 } else { 2 } {
            0 => w.spawn_all((0..more).map(|_| child())),
            1 => (0..more).for_each(|_| w.spawn(child())),
            _ => {
                let small = Counted::new(alive);
                let job = w.start(move |_| drop(small));
                w.spawn(child());
                w.wait(job);
            }
        }
    }
    struct Early;
    impl EveryQueue for Early {
        fn with<Q: Queue>(&self) {
            for (workers, end, after) in WORKERS
                .into_iter()
                .flat_map(|n| [End::Stopped, End::Panicked].map(|end| (n, end)))
                .flat_map(|(n, end)| [0, 50, 2000].map(|after| (n, end, after)))
            {
                let (alive, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let jobs = jobs::<Q>(workers, 256);
                let stop = jobs.stop();
                let ends = |run| {
                    if run == after {
                        match end {
                            End::Stopped => Stop::stop(&stop),
                            End::Panicked => throw(7),
                        }
                    }
                };
                let run = || {
                    jobs.run(|w| {
                        w.spawn(|w| forever(w, &alive, &runs, &ends));
                        w.wait_for_children();
                    })
                };
                match end {
                    End::Stopped => assert!(!run().is_complete),
                    End::Panicked => assert_eq!(thrown_by(run), 7),
                }
                assert_eq!(alive.load(SeqCst), 0, "{workers} workers on {} leak: {end:?}", Q::PROMISES.name);
            }
        }
    }
    let _watchdog = watchdog("early ends");
    Early.every();
}

#[test]
fn a_panic_comes_out_of_the_run_and_waits_end() {
    let _watchdog = watchdog("panics");
    for workers in WORKERS {
        let (goes_on, alive) = (AtomicBool::new(false), AtomicUsize::new(0));
        // Out of a job,
        let in_a_job = thrown_by(|| {
            Jobs::new(workers).run(|w| {
                let counted = Counted::new(&alive);
                let job = w.start(|w| w.spawn(|_| throw(1)));
                w.wait(job);
                goes_on.store(true, SeqCst);
                drop(counted);
            });
        });
        assert_eq!((in_a_job, goes_on.load(SeqCst)), (1, false));
        // out of the body, which leaves jobs behind,
        let in_the_body = thrown_by(|| {
            Jobs::new(workers).run(|w| {
                for _ in 0..100 {
                    let counted = Counted::new(&alive);
                    w.spawn(move |_| drop(counted));
                }
                throw(2)
            })
        });
        assert_eq!(in_the_body, 2);
        // though the panic of the wait is caught,
        let caught = thrown_by(|| {
            Jobs::new(workers).run(|w| {
                let job = w.start(|_| throw(3));
                assert!(catch_unwind(AssertUnwindSafe(|| w.wait(job))).is_err());
                w.spawn(|_| goes_on.store(true, SeqCst));
            });
        });
        assert_eq!((caught, goes_on.load(SeqCst)), (3, false));
        // out of an iterator that has already made jobs,
        let iterator = thrown_by(|| {
            Jobs::new(workers).run(|w| {
                let work = || {
                    let counted = Counted::new(&alive);
                    move |_: &mut JobWorker<'_, '_>| drop(counted)
                };
                w.spawn_all((0..40).map(|n| if n == 35 { throw(4) } else { work() }));
            });
        });
        assert_eq!(iterator, 4);
        // and out of the destructor of a job dropped unrun.
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                throw(5);
            }
        }
        let jobs = Jobs::new(workers);
        let stop = jobs.stop();
        stop.stop();
        let bomb = Bomb;
        assert_eq!(thrown_by(|| jobs.run(|w| w.spawn(move |_| std::mem::forget(bomb)))), 5);
        assert_eq!(alive.load(SeqCst), 0);
    }
}

#[test]
fn closures_of_any_size_and_alignment() {
    let _watchdog = watchdog("closures");
    #[repr(align(64))]
    struct Aligned<'c>(Counted<'c>);
    for is_run in [true, false] {
        let (alive, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let jobs = Jobs::new(1);
        if !is_run {
            jobs.stop().stop();
        }
        jobs.run(|w| {
            let counted = || Counted::new(&alive);
            let (one, five, six) = ([0; 1].map(|_| counted()), [0; 4].map(|_| counted()), [0; 6].map(|_| counted()));
            let (aligned, wide) = (Aligned(counted()), (u128::MAX, counted()));
            w.spawn(|_| _ = runs.fetch_add(1, SeqCst));
            w.spawn(|_| _ = (runs.fetch_add(1, SeqCst), one));
            w.spawn(|_| _ = (runs.fetch_add(1, SeqCst), five));
            w.spawn(|_| _ = (runs.fetch_add(1, SeqCst), six));
            w.spawn(|_| {
                let aligned = aligned;
                assert_eq!((&raw const aligned).addr() % 64, 0);
                runs.fetch_add(1, SeqCst);
                drop(aligned.0);
            });
            w.spawn(|_| {
                let wide = wide;
                assert_eq!(wide.0, u128::MAX);
                runs.fetch_add(1, SeqCst);
            });
        });
        assert_eq!((runs.load(SeqCst), alive.load(SeqCst)), (if is_run { 6 } else { 0 }, 0));
    }
}

#[test]
fn only_descendants_can_be_waited_for() {
    let _watchdog = watchdog("strangers");
    let message = |f: &dyn Fn()| {
        let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
        payload
            .downcast_ref::<&str>()
            .copied()
            .map(str::to_owned)
            .or(payload.downcast_ref::<String>().cloned())
            .unwrap()
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let strangers: [&dyn Fn(); 5] = [
        &|| _ = Jobs::new(1).run(|w| w.wait(w.root())),
        &|| {
            Jobs::new(1).run(|w| {
                w.spawn(|w| {
                    let me = w.current();
                    w.wait(me);
                });
            });
        },
        &|| {
            Jobs::new(1).run(|w| {
                w.spawn(|w| {
                    let me = w.current();
                    w.spawn(move |w| w.wait(me));
                });
            });
        },
        &|| {
            Jobs::new(1).run(|w| {
                let sister = w.start(|_| ());
                w.spawn(move |w| w.wait(sister)); // runs first
            });
        },
        &|| {
            Jobs::new(1).run(|w| {
                let sister = w.start(|_| ());
                w.spawn(move |w| _ = w.start_under(sister, |_| ()));
            });
        },
    ];
    let messages = strangers.map(message);
    std::panic::set_hook(hook);
    for told in &messages[..4] {
        assert!(told.contains("wait for its descendants only"), "{told}");
    }
    assert!(messages[4].contains("only ancestors"), "{}", messages[4]);
}

#[test]
fn ancestors_can_have_more_children() {
    let _watchdog = watchdog("ancestors");
    for workers in WORKERS {
        let order = Mutex::new(Vec::new());
        let tell = &|what| order.lock().unwrap().push(what);
        Jobs::new(workers).run(|w| {
            let grandparent = w.start(|w| {
                let grandparent = w.current();
                w.spawn(move |w| {
                    w.spawn(move |w| {
                        w.start_under(grandparent, move |_| tell("late child"));
                    });
                });
            });
            w.wait(grandparent);
            tell("grandparent");
        });
        assert_eq!(order.into_inner().unwrap(), ["late child", "grandparent"]);
    }
}

#[test]
fn a_handle_outlives_its_jobs_slot() {
    let _watchdog = watchdog("old handles");
    Jobs::new(1).run(|w| {
        let first = w.start(|_| ());
        w.wait(first);
        let places = (0..5000).map(|_| {
            let job = w.start(|_| ());
            assert!(!job.is_over() && first.is_over() && first != job);
            w.wait(job);
            w.wait(first);
            job
        });
        let all: Vec<_> = places.collect();
        assert!(all.iter().all(Job::is_over));
    });
}

#[test]
fn runs_in_runs() {
    let _watchdog = watchdog("runs in runs");
    let sum = AtomicU64::new(0);
    let inner = |n| {
        let part = AtomicU64::new(0);
        Jobs::new(2).run(|w| {
            w.spawn_all((0..n).map(|i| (i, &part)).map(|(i, part)| move |_: &mut _| _ = part.fetch_add(i, SeqCst)));
        });
        part.into_inner()
    };
    Jobs::new(2).run(|w| {
        w.spawn_all((1..=10).map(|n| (n, &sum)).map(|(n, sum)| move |_: &mut _| _ = sum.fetch_add(inner(n), SeqCst)));
    });
    assert_eq!(sum.into_inner(), (1..=10).map(|n| n * (n - 1) / 2).sum());
}

#[test]
fn all_workers_get_work() {
    let _watchdog = watchdog("sharing");
    let arrived = AtomicUsize::new(0);
    let outcome = Jobs::new(4).run(|w| {
        assert_eq!((w.workers(), w.index()), (4, 0));
        // Each job waits for the others, so each of the four workers must have one.
        w.spawn_all((0..4).map(|_| &arrived).map(|arrived| {
            move |_: &mut _| {
                arrived.fetch_add(1, SeqCst);
                wait_for("company", || arrived.load(SeqCst) == 4);
            }
        }));
    });
    assert!(outcome.tallies.iter().all(|tally| tally.run == 1), "{:?}", outcome.tallies);
    assert_eq!(outcome.tallies.iter().filter(|tally| tally.stolen > 0).count(), 3);
}
