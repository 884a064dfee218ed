//! Every scheduler has a runner, which runs its programs and gives a reason for refusing any other.
//!
//! Every program runs on some schedulers, and every scheduler runs some programs. `FILCH_LONG=1` runs each program on
//! each.

mod common;

use common::{Runner, order, own, set};
use filch_catalogue::protocol::{Description, Order, Ran, Reply, Request, VERSION};
use filch_catalogue::{Lists, ONE_WORKER, POOLS, PoolSpec, PoolTuning, QUEUES, STEAL, Tuning, WAITS, why_not_for};
use filch_workloads::{Kind, Workload};

/// All fork–join programs, each so small that a run takes a millisecond.
const PROGRAMS: &[(&str, &[(&str, &str)])] = &[
    ("fib", &[("n", "16")]),
    ("fib-unrolled", &[("n", "16")]),
    ("skynet", &[("levels", "3")]),
    ("skynet-unrolled", &[("levels", "3")]),
    ("queens", &[("n", "6")]),
    ("nqueens", &[("n", "8")]),
    ("uts", &[("tree", "T1"), ("depth", "5")]),
    ("matmul", &[("n", "60")]),
    ("cilksort", &[("n", "5000"), ("cutoff", "100"), ("input", "exponential")]),
    ("quicksort", &[("n", "5000"), ("cutoff", "20")]),
    ("integrate", &[("n", "10")]),
    ("jacobi", &[("n", "40"), ("sweeps", "3"), ("grain", "2")]),
    ("each", &[("n", "3000"), ("times", "2")]),
    ("loops", &[("n", "50"), ("steps", "20"), ("spread", "50"), ("pause", "10"), ("times", "5")]),
    ("heat", &[("nx", "31"), ("ny", "33"), ("steps", "3"), ("leaf", "3")]),
    ("fft", &[("n", "2048"), ("cutoff", "16")]),
    ("strassen", &[("n", "64"), ("cutoff", "16")]),
    ("lud", &[("n", "64"), ("cutoff", "16")]),
    ("knapsack", &[("items", "14")]),
    ("matmul-quarters", &[("n", "64")]),
    ("matmul-inplace", &[("n", "64"), ("cutoff", "16")]),
    ("matmul-temp", &[("n", "64"), ("cutoff", "16")]),
    ("samplesort", &[("n", "3000")]),
    ("hull", &[("n", "3000"), ("cutoff", "20")]),
    ("cholesky", &[("n", "60"), ("nonzeros", "120")]),
    ("mis", &[("graph", "rmat"), ("n", "500"), ("grain", "16")]),
    ("matching", &[("graph", "randlocal"), ("n", "500"), ("grain", "16")]),
    ("spread", &[("n", "4"), ("micros", "50"), ("shape", "loop")]),
    ("grain", &[("n", "10"), ("longest", "50")]),
];

/// The programs for worklists and jobs.
const LISTS: &[(&str, &[(&str, &str)])] = &[
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

/// The programs of one queue.
const OF_QUEUES: &[(&str, &[(&str, &str)])] = &[
    ("owner-throughput", &[("n", "2000"), ("share", "50"), ("work", "20")]),
    ("owner-throughput", &[("n", "2000"), ("share", "50"), ("entry", "64")]),
    ("steal-latency", &[("n", "2000"), ("batch", "100")]),
    ("steal-throughput", &[("n", "2000")]),
];

/// Starts a runner of filch.
fn start(name: &str) -> Runner {
    let runner = Runner::start(&own(name));
    assert_eq!((runner.hello.protocol, runner.hello.scheduler.as_str()), (VERSION, name));
    runner
}

/// The items with their numbers.
fn numbered<T>(items: &[T]) -> Vec<(usize, &T)> {
    items.iter().enumerate().collect()
}

fn runs(name: &str, order: &Order) -> Result<[Ran; 2], String> {
    common::runs(start(name), order)
}

fn is_right(name: &str, order: &Order) {
    let runs = runs(name, order).unwrap_or_else(|why| panic!("{name} on {order:?}: {why}"));
    for ran in runs {
        assert_eq!(ran.error, None, "{name} on {order:?}: {}", ran.answer);
        assert!(ran.seconds > 0.0 && ran.peak_rss_bytes > 0, "{ran:?}");
    }
}

/// Returns every seventh item, among them that of this number; or all if `FILCH_LONG` is set.
fn some_of<T>(items: &[T], number: usize) -> impl Iterator<Item = &T> {
    let step = if std::env::var_os("FILCH_LONG").is_some() { 1 } else { 7 };
    items.iter().skip(number % step).step_by(step)
}

/// Tests all items, four at a time: most of a runner's life is waiting.
fn each<T: Sync>(items: &[T], see: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        for items in items.chunks(items.len().div_ceil(4)) {
            scope.spawn(|| items.iter().for_each(&see));
        }
    });
}

/// Two workers, or one on pools for one.
fn two(pool: &PoolSpec) -> usize {
    if pool.memory == ONE_WORKER { 1 } else { 2 }
}

#[test]
fn all_programs_are_there() {
    for spec in filch_workloads::specs() {
        let programs = match spec.kind() {
            Kind::ForkJoin => PROGRAMS,
            Kind::Queue => OF_QUEUES,
            _ => LISTS,
        };
        assert!(programs.iter().any(|(name, _)| *name == spec.name), "{}", spec.name);
    }
}

#[test]
fn programs_are_right_on_every_pool() {
    each(&numbered(&POOLS), |&(number, pool)| {
        for &program in some_of(PROGRAMS, number) {
            for workers in [1, 2, 8] {
                if pool.memory == ONE_WORKER && workers > 1 {
                    let refused = runs(pool.name, &order(program, workers, &[])).expect_err(pool.name);
                    assert!(refused.contains("does not fence, so it must be alone"), "{refused}");
                    continue;
                }
                is_right(pool.name, &order(program, workers, &[]));
            }
        }
    });
}

#[test]
fn sequential_programs_are_right() {
    for &program in PROGRAMS.iter().chain(LISTS).chain(OF_QUEUES) {
        is_right("serial", &order(program, 1, &[]));
    }
    assert!(runs("serial", &order(PROGRAMS[0], 2, &[])).unwrap_err().contains("one worker"));
}

#[test]
fn programs_are_right_with_interrupts() {
    each(&numbered(&POOLS), |&(number, pool)| {
        for (shift, interrupts) in ["flag", "signal"].into_iter().enumerate() {
            for &program in some_of(PROGRAMS, number + shift) {
                is_right(pool.name, &order(program, two(pool), &[("interrupts", interrupts), ("every", "50us")]));
            }
        }
    });
}

#[test]
fn the_default_pool_has_every_style_and_wait() {
    for (number, wait) in numbered(&WAITS) {
        for (shift, style) in ["handles", "levels", "closures"].into_iter().enumerate() {
            for &program in some_of(PROGRAMS, number + shift) {
                is_right(POOLS[0].name, &order(program, 2, &[("style", style), ("wait", wait.name)]));
            }
        }
    }
    for pool in &POOLS[1..] {
        for style in ["levels", "closures"] {
            let refused = runs(pool.name, &order(PROGRAMS[0], 1, &[("style", style)])).expect_err(pool.name);
            assert!(refused.contains(style), "{refused}");
        }
    }
}

#[test]
fn worklist_programs_are_right_on_every_queue_that_can_run_them() {
    each(&numbered(LISTS), |&(number, &program)| {
        let parameters: Vec<_> = set(program.1).into_iter().collect();
        let workload = Workload::new(program.0, &parameters).expect("the parameters are right");
        for queue in some_of(&QUEUES, number) {
            let can = match workload.kind() {
                Kind::Jobs => queue.lists != Lists::Twice,
                _ => why_not_for(queue, workload.is_idempotent()).is_none(),
            };
            // The second setting keeps the queue full, or steals several tasks at once.
            let steals = queue.knobs().iter().any(|knob| knob.name == STEAL);
            let other = if steals { ("steal", "half") } else { ("capacity", "5") };
            for settings in [&[][..], &[other]] {
                for workers in [1, 2, 8] {
                    let order = order(program, workers, settings);
                    if can {
                        is_right(queue.name, &order);
                    } else {
                        assert!(runs(queue.name, &order).is_err(), "{} on {order:?}", queue.name);
                    }
                }
            }
        }
    });
}

#[test]
fn queue_programs_are_right_on_every_queue() {
    each(&QUEUES, |queue| {
        for &program in OF_QUEUES {
            let frees = program.1.contains(&("entry", "64"));
            for (workers, settings) in [(2, &[][..]), (3, &[("pin", "true"), ("capacity", "50")])] {
                let order = order(program, workers, settings);
                if frees && queue.lists == Lists::Twice {
                    let refused = runs(queue.name, &order).expect_err(queue.name);
                    assert!(refused.contains("must return it once"), "{refused}");
                    continue;
                }
                for ran in runs(queue.name, &order).unwrap_or_else(|why| panic!("{} on {order:?}: {why}", queue.name)) {
                    assert_eq!(ran.error, None, "{} on {order:?}", queue.name);
                    // The counts of this run alone, though another preceded it.
                    assert_eq!((ran.tasks, sum(&ran, "pushed")), (Some(2000), 2000), "{} on {order:?}", queue.name);
                    assert_eq!(ran.workers.len(), workers);
                    let taken = sum(&ran, "popped") + sum(&ran, "steals");
                    assert!(if queue.lists == Lists::Twice { taken >= 2000 } else { taken == 2000 }, "{ran:?}");
                    let times = ["steal_ns", "steal_p50_ns", "steal_p90_ns", "steal_p99_ns", "steal_elapsed_ns"];
                    assert!(times.iter().all(|time| ran.counters[*time].is_u64()), "{ran:?}");
                }
            }
        }
    });
}

/// Values other than the default for each parameter of pools and queues.
const VALUES: &[(&str, &str)] = &[
    ("capacity", "5"),
    ("steal", "half"),
    ("first", "oldest"),
    ("end", "homes"),
    ("end", "transfers"),
    ("victims", "last"),
    ("victims", "next"),
    ("idle", "spin"),
    ("loss", "give-up"),
    ("leaps", "1"),
    ("leaps", "adaptive"),
    ("caller", "waits"),
    ("interrupts", "flag"),
    ("every", "50us"),
    ("ticks", "always"),
    ("block", "sqrt"),
    ("block", "2"),
    ("fences", "symmetric"),
    ("grow", "one"),
    ("shrink", "all"),
    ("moves", "half-stores"),
    ("share", "half"),
    ("share", "chunk"),
    ("share", "one"),
    ("share", "all"),
    ("spare", "0"),
    ("copying", "deferred"),
    ("contention", "retry"),
    ("cross", "each"),
    ("revocation", "off"),
    ("prefetch", "always"),
    ("answers", "polled"),
    ("cross", "off"),
    ("keep", "2"),
    ("poll", "4"),
    ("delta", "infinite"),
    ("delta", "5us"),
    ("bound", "200"),
    ("stores", "1"),
    ("chunk", "1"),
    ("privatise", "1"),
    ("beat", "1ms"),
    ("parts", "together"),
    ("parts", "one-by-one"),
];

/// What must be set besides this parameter.
fn needed(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "every" | "ticks" => Some(("interrupts", "flag")),
        "first" => Some(("steal", "half")),
        _ => None,
    }
}

fn with_needed(name: &str, value: &str) -> String {
    needed(name).into_iter().chain([(name, value)]).map(|(name, value)| format!("{name}={value}:")).collect()
}

#[test]
fn programs_are_right_whatever_is_set_of_a_pool() {
    each(&POOLS, |pool| {
        for knob in pool.knobs() {
            let values: Vec<_> = VALUES.iter().filter(|(name, _)| *name == knob.name).collect();
            let fits = |value: &str| PoolTuning::parse(pool.name, &with_needed(knob.name, value)).is_ok();
            let values: Vec<&str> = values.into_iter().map(|&(_, value)| value).filter(|value| fits(value)).collect();
            assert!(!values.is_empty(), "{}: {}", pool.name, knob.name);
            for value in values {
                for program in [("fib", PROGRAMS[0].1), ("cilksort", PROGRAMS[5].1)] {
                    let settings: Vec<_> = needed(knob.name).into_iter().chain([(knob.name, value)]).collect();
                    is_right(pool.name, &order(program, two(pool), &settings));
                }
            }
        }
    });
}

#[test]
fn worklists_and_jobs_are_right_with_every_queue_setting() {
    each(&QUEUES, |queue| {
        for knob in queue.knobs() {
            let fits = |value: &str| Tuning::parse(queue.name, &with_needed(knob.name, value)).is_ok();
            let values = VALUES.iter().filter(|&&(name, value)| name == knob.name && fits(value));
            assert!(values.clone().count() > 0, "{}: {}", queue.name, knob.name);
            for &(name, value) in values {
                let is_once = queue.lists != Lists::Twice;
                let programs = match knob.name {
                    "end" => &[LISTS[6], LISTS[4]][..],
                    _ if is_once => &[LISTS[6], LISTS[9]],
                    _ => &[LISTS[3]],
                };
                for &program in programs {
                    let settings: Vec<_> = needed(name).into_iter().chain([(name, value)]).collect();
                    is_right(queue.name, &order(program, 2, &settings));
                }
            }
        }
    });
}

fn sum(ran: &Ran, counter: &str) -> u64 {
    ran.workers.iter().filter_map(|worker| worker[counter].as_u64()).sum()
}

/// Of private deques, forked on and in worklists: their owners' answers, or deals.
#[test]
fn answers_and_deals_are_counted() {
    for (name, tried, some) in [
        ("pdq-r", "polls", "declined"),
        ("pdq-r2-async", "polls", "declined"),
        ("pdq-s", "deals_tried", "deals"),
        ("pdq-s-at-once", "deals_tried", "deals"),
        ("pdq-s-told", "deals_tried", "deals"),
        ("pdq-s-one-step", "deals_tried", "deals"),
    ] {
        for program in [("fib", PROGRAMS[0].1), LISTS[6]] {
            let ran = runs(name, &order(program, 2, &[])).unwrap_or_else(|why| panic!("{name}: {why}"));
            for ran in &ran {
                assert!(ran.counters.contains_key(tried), "{name}: {:?}", ran.counters);
                assert!(sum(ran, tried) >= sum(ran, some), "{name}: {:?}", ran.counters);
            }
            // Its first attempt is due at once.
            assert!(name != "pdq-s" || sum(&ran[0], tried) > 0, "{:?}", ran[0].counters);
        }
    }
}

/// Each list with its number of tasks, if every run has the same.
#[test]
fn pushed_tasks_match_the_program() {
    for (name, program, tasks) in [
        ("chase-lev", ("trees", &[("tree", "fat"), ("fanout", "12")][..]), Some(1885)),
        ("bwos-f", ("trees", &[("tree", "comb"), ("depth", "1000")]), Some(2001)),
        ("pdq-r-async", ("trees", &[("tree", "thin"), ("depth", "10")]), Some(2047)),
        ("idem-lifo", ("spanning-tree", &[("adopt", "swap"), ("n", "2000")]), Some(2000)),
        ("wsq", ("wsq", &[("jobs", "3000")]), Some(3000)),
        ("idem-fifo", ("closure", &[("n", "2000")]), None),
        ("lace", ("pseudo-dfs", &[("n", "3000"), ("items", "16")]), None),
    ] {
        for (workers, pin) in [(1, "false"), (2, "true"), (5, "true")] {
            for ran in
                runs(name, &order(program, workers, &[("pin", pin)])).unwrap_or_else(|why| panic!("{name}: {why}"))
            {
                assert_eq!(ran.error, None, "{name} on {program:?}");
                assert_eq!(ran.expected_tasks, tasks, "{name} on {program:?}");
                assert!(tasks.is_none() || ran.tasks == tasks, "{name} on {program:?}: {:?}", ran.tasks);
                // The counts of this run alone, though another preceded it.
                assert_eq!(Some(sum(&ran, "pushed")), ran.tasks, "{name} on {program:?}");
                assert!(sum(&ran, "run") >= sum(&ran, "pushed"));
                assert_eq!(ran.workers.len(), workers);
                for counter in ["steals", "attempts", "lost", "aborted", "pushed", "run"] {
                    assert_eq!(ran.counters[counter], sum(&ran, counter));
                }
            }
        }
    }
}

#[test]
fn pools_count_per_worker() {
    for pool in POOLS.iter() {
        for &workers in if pool.memory == ONE_WORKER { &[1][..] } else { &[1, 3] } {
            for ran in runs(pool.name, &order(PROGRAMS[0], workers, &[])).expect("a run") {
                assert_eq!((ran.workers.len(), ran.expected_tasks), (workers, None));
                assert_eq!(ran.counters["steals"], sum(&ran, "steals"));
                let deepest = ran.workers.iter().filter_map(|worker| worker["peak_depth"].as_u64()).max();
                assert_eq!(ran.counters["peak_depth"].as_u64(), deepest);
            }
        }
    }
    let [ran, _] = runs("serial", &order(PROGRAMS[0], 1, &[])).expect("a run");
    assert!(ran.workers.is_empty() && ran.counters.is_empty());
}

/// The warm-up runs a larger program, whose depth must not show.
#[test]
fn a_peak_depth_belongs_to_one_run() {
    let depth = |name, n: &str| {
        let order = order(("fib", &[("n", n)]), 1, &[]);
        let order = Order { warmup: 1, warmup_parameters: Some(set(&[("n", "22")])), ..order };
        runs(name, &order).expect("a run").map(|ran| ran.counters["peak_depth"].as_u64())
    };
    for name in ["split", "wool"] {
        // Each level forks once, but the last but one forks without a task.
        assert_eq!(
            [depth(name, "10"), depth(name, "5"), depth(name, "22")].map(|[first, second]| (first, second)),
            [9, 4, 21].map(|n| (Some(n), Some(n))),
            "{name}"
        );
    }
}

#[test]
fn refusals_give_a_reason() {
    let fib = PROGRAMS[0];
    for (name, order, words) in [
        ("split", order(("fibb", &[]), 1, &[]), "did you mean `fib`"),
        ("split", order(("fib", &[("n", "ten")]), 1, &[]), "ten"),
        ("split", order(fib, 1, &[("mood", "sunny")]), "mood"),
        ("split", order(fib, 1, &[("wait", "leapfog")]), "leapfog"),
        ("split", order(fib, 1, &[("pin", "perhaps")]), "perhaps"),
        ("chase-lev", order(LISTS[0], 1, &[("pin", "perhaps")]), "perhaps"),
        ("chase-lev", order(LISTS[0], 0, &[]), "at least"),
        ("split", order(fib, 1, &[("style", "closure")]), "did you mean `closures`"),
        ("split", order(LISTS[0], 1, &[]), "does not run pseudo-dfs"),
        ("idem-lifo", order(fib, 1, &[]), "does not run fib"),
        ("bwos-l", order(LISTS[0], 1, &[("block", "0")]), "block"),
        ("wsq", order(LISTS[0], 1, &[("capacity", "65473")]), "largest capacity is 65472"),
        ("wsq", order(fib, 1, &[("capacity", "65473")]), "counts to 65472"),
        ("split", order(fib, 0, &[]), "at least"),
        ("split", order(fib, 1, &[("steal", "half")]), "one task at a time"),
        ("padws", order(fib, 1, &[("blck", "4")]), "did you mean `block`"),
        ("lace", order(fib, 2, &[("steal", "half"), ("wait", "leapfrog")]), "leapfrog"),
        ("pdq-r-async", order(fib, 2, &[("steal", "half"), ("interrupts", "signal")]), "signal"),
        ("chase-lev", order(LISTS[0], 2, &[("interrupts", "flag")]), "answer thieves themselves"),
        ("split", order(OF_QUEUES[0], 2, &[]), "does not run owner-throughput"),
        ("chase-lev", order(OF_QUEUES[2], 1, &[]), "two workers"),
        ("chase-lev", order(OF_QUEUES[0], 2, &[("victims", "last")]), "thieves of one queue"),
        ("lace", order(OF_QUEUES[0], 2, &[("steal", "half")]), "thieves of one queue"),
        ("wsq", order(OF_QUEUES[0], 2, &[("capacity", "65473")]), "largest capacity is 65472"),
    ] {
        let refused = runs(name, &order).expect_err(words);
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn a_runner_survives_unknown_requests() {
    let mut runner = start("split");
    for line in ["hello?", "{}", r#"{"ask":"dance"}"#] {
        runner.tell(line);
        assert!(matches!(runner.listen(), Some(Reply::Refused { .. })), "{line}");
    }
    assert!(matches!(runner.ask(&Request::Run), Reply::Refused { .. }));
    let Reply::Description(Description { programs, settings, .. }) = runner.ask(&Request::Describe) else {
        panic!("not a description")
    };
    assert!(programs.iter().any(|program| program.name == "fib" && program.parameters.contains(&"n".to_owned())));
    assert!(settings.contains_key("wait"));
    assert_eq!(runner.ask(&Request::Prepare(order(PROGRAMS[0], 1, &[]))), Reply::Ready);
    assert!(matches!(runner.ask(&Request::Run), Reply::Ran(_)));
    assert!(matches!(runner.ask(&Request::Run), Reply::Refused { .. }), "it has not been reset");
    runner.end();
}
