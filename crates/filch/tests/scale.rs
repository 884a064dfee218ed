//! The work and span of a recording are those computed by hand, tick by tick: leaves advance a clock of the test's own.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use filch::pool::{Pool, Recorded};
use filch::scale::{Measured, Recording, Scale, region};
use filch::{Scope, Worker};

thread_local!(static NOW: Cell<u64> = const { Cell::new(0) });

/// A leaf of this length.
fn spin(ticks: u64) {
    NOW.set(NOW.get() + ticks);
}

fn recording() -> Recording {
    Recording::new().clock(|| NOW.get())
}

/// Returns the work and the span of `f`.
fn ticks<R: Send>(f: impl FnOnce() -> R + Send) -> (u64, u64) {
    let Scale { work, span, .. } = recording().measure(f).scale;
    (work, span)
}

fn fib(n: u64) -> u64 {
    spin(3);
    if n < 2 {
        return n;
    }
    let (a, b) = filch::join(|| fib(n - 1), || fib(n - 2));
    spin(1);
    a + b
}

fn fib_with<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
    spin(3);
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib_with(w, n - 1), move |w| fib_with(w, n - 2));
    spin(1);
    a + b
}

#[test]
fn fib_in_both_styles() {
    let n = 12;
    // The calls, and the levels of the longest recursion.
    let (calls, levels) = (465, n);
    let expected = (3 * calls + calls / 2, 3 * levels + levels - 1);
    for Measured { result, scale } in [recording().measure(|| fib(n)), recording().measure_with(|w| fib_with(w, n))] {
        assert_eq!((result, scale.work, scale.span, scale.forks), (144, expected.0, expected.1, calls / 2));
        let strands: u64 = scale.grains().iter().map(|grain| grain.strands).sum();
        assert_eq!(strands, 3 * scale.forks + 1);
    }
}

/// Returns the text of the graph, in which branches shorter than a tenth of `theft` are left out.
fn graph<R: Send>(theft: u64, f: impl FnOnce() -> R + Send) -> String {
    recording().theft(theft).measure(f).scale.graph().expect("a short text").to_string()
}

#[test]
fn the_graph_is_a_text() {
    let forks = || {
        spin(1);
        filch::join(|| filch::join(|| spin(20), || spin(30)), || spin(400));
        spin(2);
    };
    assert_eq!(graph(0, forks), "1((20|30)|400)2");
    assert_eq!(graph(250, forks), "1(50|400)2", "a branch of 20 is not worth a theft");
    assert_eq!(graph(4100, forks), "453");
    let jobs = || {
        filch::scope(|s| {
            spin(1);
            s.spawn(|s| {
                spin(20);
                s.spawn(|_| spin(3));
            });
            spin(4);
        });
        let job = filch::submit(|| filch::join(|| spin(5), || spin(60)));
        spin(7);
        job.join().expect("no panic");
        filch::spawn(|| spin(80));
        spin(9);
    };
    assert_eq!(graph(0, jobs), "1s0 4{[0 20s1][1 3]}s2 7[2(5|60)]t2s3 9[3 80]");
    let regions = || {
        spin(1);
        region("a", || {
            filch::join(
                || {
                    spin(20);
                    region("b", || spin(300));
                },
                || spin(400),
            );
        });
        spin(2);
    };
    assert_eq!(graph(0, regions), "1(r1 20r2 300|r1 400)r0 2");
    assert_eq!(graph(4000, regions), "1r1 720r0 2", "of a fork that is left out all is where it ends");
    assert_eq!(graph(1000, || catch_unwind(|| filch::join(|| panic!(), || spin(1))).is_err()), "");
}

#[test]
fn a_style_within_the_other() {
    let scale = recording().measure_with(|mut w| {
        w.join(|mut w| w.install(|| fib(5)), |_| filch::join(|| spin(7), || spin(9)));
    });
    assert_eq!((scale.scale.work, scale.scale.span), (3 * 15 + 7 + 16, 3 * 5 + 4));
}

#[test]
fn trees_and_combs() {
    fn tree(height: u32) {
        spin(10);
        if height > 0 {
            filch::join(|| tree(height - 1), || tree(height - 1));
        }
    }
    fn left(teeth: u64) {
        if teeth > 0 {
            filch::join(|| left(teeth - 1), || spin(100));
            spin(1);
        }
    }
    fn right(teeth: u64) {
        if teeth > 0 {
            filch::join(|| spin(100), || right(teeth - 1));
            spin(1);
        }
    }
    assert_eq!(ticks(|| tree(9)), (10 * 1023, 10 * 10));
    assert_eq!(ticks(|| left(500)), (500 * 101, 100 + 500));
    assert_eq!(ticks(|| right(500)), (500 * 101, 100 + 500));
    assert_eq!(ticks(|| (0..300).for_each(|_| _ = filch::join(|| spin(5), || spin(8)))), (300 * 13, 300 * 8));
    // Larger than a slot.
    let large = [1_u64; 40];
    assert_eq!(ticks(move || filch::join(|| spin(2), move || spin(large.iter().sum()))), (42, 40));
}

#[test]
fn loops_are_parallel_over_their_items() {
    assert_eq!(ticks(|| filch::for_each(0..1000_u64, |n| spin(n % 7))), (2997, 6));
    let nested = || filch::for_each(0..20, |_| filch::for_each(0..30, |_| spin(4)));
    assert_eq!(ticks(nested), (20 * 30 * 4, 4));
    let reduced = || filch::map_reduce(0..1024, 0, |n| n, |a, b| (spin(5), a + b).1);
    // Each item is added to a zero first.
    assert_eq!(ticks(reduced), (2047 * 5, 11 * 5));
    let collected = || filch::par(0..100).map(|n| (spin(2), n).1).filter(|n| n % 2 == 0).collect::<Vec<_>>();
    assert_eq!(ticks(collected), (200, 2));
    // An iterator is drawn by one worker, here without a cost, while others work on what it has given.
    let (work, span) = ticks(|| filch::for_each(filch::iter::bridge((0..5000).filter(|n| *n != 7)), |_| spin(3)));
    assert!(work == 14_997 && span <= work / 10, "{span}");
    let by_handle = |mut w: Worker<'_, Recorded>| w.for_each_with(0..64, |w, _| _ = fib_with(w, 3));
    let Scale { work, span, .. } = recording().measure_with(by_handle).scale;
    assert_eq!((work, span), (64 * (5 * 3 + 2), 3 * 3 + 2));
}

#[test]
fn short_items_are_one_strand() {
    let Scale { work, span, forks, .. } =
        recording().piece(100).measure(|| filch::for_each(0..1024, |_| spin(10))).scale;
    // The first item is alone, and the later pieces have eight.
    assert_eq!((work, span), (10_240, 80));
    assert!((1024 / 8 - 1..1024 / 8 + 8).contains(&forks), "{forks}");
}

#[test]
fn all_forks_of_many() {
    let closures = || filch::fork_all(1..=50, spin, (), |(), ()| ());
    assert_eq!(ticks(closures), (1275, 50));
    let Scale { work, span, .. } =
        recording().measure_with(|mut w| w.fork_all(1..=50, |_, n| spin(n), (), |(), ()| ())).scale;
    assert_eq!((work, span), (1275, 50));
}

#[test]
fn a_sort_divides_its_items() {
    let mut v: Vec<u64> = (0..100_000).map(|n| n * 7_919 % 100_003).collect();
    let compare = |a: &u64, b: &u64| (spin(1), a.cmp(b)).1;
    let scale = recording().measure(|| filch::par(&mut v[..]).sort_by(compare)).scale;
    assert!(v.is_sorted() && scale.parallelism() > 4.0, "{scale}");
}

#[test]
fn scopes_end_with_their_last_job() {
    let simple = || {
        filch::scope(|s| {
            spin(10);
            s.spawn(|_| spin(100));
            spin(20);
            s.spawn(|_| spin(30));
        });
        spin(5);
    };
    assert_eq!(ticks(simple), (165, 115));
    // The job of the outer scope lies in neither the inner scope nor the fork.
    let outer = || {
        filch::scope(|s| {
            filch::scope(|t| {
                filch::join(|| (spin(1), s.spawn(|_| spin(100))), || t.spawn(|_| spin(10)));
            });
            spin(7);
        });
        spin(1);
    };
    assert_eq!(ticks(outer), (119, 102));
    fn chain<'scope>(s: &Scope<'scope>, links: u64) {
        spin(3);
        if links > 1 {
            s.spawn(move |s| chain(s, links - 1));
        }
        spin(10);
    }
    assert_eq!(ticks(|| filch::scope(|s| chain(s, 100))), (1300, 310));
}

#[test]
fn jobs_are_awaited() {
    let two = || {
        let (a, b) = (filch::submit(|| spin(50)), filch::submit(|| spin(80)));
        spin(20);
        a.join().unwrap();
        spin(10);
        b.join().unwrap();
        spin(1);
    };
    assert_eq!(ticks(two), (161, 81));
    // The first wait runs both jobs, and the fork's branch finds the second one's result.
    let scale = recording().theft(1).measure(|| {
        let (a, b) = (filch::submit(|| spin(1)), filch::submit(|| spin(100)));
        a.join().unwrap();
        filch::join(|| b.join().unwrap(), || spin(5));
    });
    let Scale { work, span, burdened_span, .. } = scale.scale;
    assert_eq!((work, span, burdened_span), (106, 100, 101));
    // Nobody awaits it, but the computation is not over before.
    assert_eq!(ticks(|| (spin(1), filch::spawn(|| spin(100)), spin(10))), (111, 101));
}

#[test]
fn the_longest_way_may_lie_in_regions_that_have_less_work() {
    let program = || {
        region("split", || spin(10));
        filch::join(
            || region("left", || filch::join(|| spin(30), || region("deep", || spin(50)))),
            || filch::for_each(0..100, |_| spin(7)),
        );
        region("merge", || spin(40));
        spin(1);
    };
    let scale = recording().measure(program).scale;
    let found = |name| {
        let region = scale.regions().iter().find(|region| region.name == name).unwrap();
        (region.work, region.span)
    };
    assert_eq!((scale.work, scale.span), (831, 101));
    assert_eq!(
        ["split", "left", "deep", "merge"].map(|name| found(Some(name))),
        [(10, 10), (30, 0), (50, 50), (40, 40)]
    );
    assert_eq!(found(None), (701, 1));
    let text = scale.to_string();
    assert!(text.starts_with("More than 8 workers will not help: 50 % of the span is in `deep`"), "{text}");
}

#[test]
fn a_theft_costs_only_where_it_pays() {
    let scale = |ticks| recording().theft(10).measure(move || filch::join(|| spin(ticks), || spin(ticks))).scale;
    let [fine, coarse] = [4, 40].map(scale);
    assert_eq!((fine.span, fine.burdened_span), (4, 8));
    assert_eq!((coarse.span, coarse.burdened_span), (40, 50));
    let left_out = recording().theft(100).measure(|| filch::join(|| spin(4), || spin(5))).scale;
    assert_eq!((left_out.work, left_out.span, left_out.burdened_span), (9, 5, 9));
}

#[test]
fn panics_leave_a_valid_record() {
    fn fail(ticks: u64) {
        spin(ticks);
        panic!("after {ticks} ticks");
    }
    let program = || {
        let first = catch_unwind(|| filch::join(|| fail(10), || spin(100)));
        let second = catch_unwind(|| filch::join(|| spin(20), || fail(30)));
        let job = catch_unwind(|| filch::scope(|s| s.spawn(|_| region("lost", || fail(40)))));
        assert!(first.is_err() && second.is_err() && job.is_err());
        let ours = catch_unwind(|| filch::for_each(0..4, |n| if n == 2 { fail(50) } else { spin(1) }));
        assert!(ours.is_err());
        filch::join(|| spin(1), || spin(2));
    };
    // The second branch of the first fork never runs, whereas that of the loop runs after the third item.
    assert_eq!(ticks(program), (10 + 50 + 40 + 52 + 3, 10 + 30 + 40 + 50 + 2));
    let by_handle = |mut w: Worker<'_, Recorded>| {
        let fork = AssertUnwindSafe(|| w.join(|_| fail(10), |_| spin(100)));
        assert!(catch_unwind(fork).is_err());
        w.join(|_| spin(5), |_| spin(6));
    };
    let Scale { work, span, .. } = recording().measure_with(by_handle).scale;
    assert_eq!((work, span), (21, 16));
    assert!(catch_unwind(|| recording().measure(|| panic!("all"))).is_err());
    assert_eq!(ticks(|| fib(3)), (17, 11), "the next recording is a new one");
}

/// A program, whose work and span can be computed.
#[derive(Debug)]
enum Program {
    Leaf(u64),
    Sequence(Vec<Program>),
    Fork(Box<[Program; 2]>),
    ForkAll(Vec<Program>),
    Scope(Box<Program>),
    /// A job of the innermost scope.
    Spawn(Box<Program>),
    Submit {
        job: Box<Program>,
        meanwhile: Box<Program>,
    },
}

use Program::{Fork, ForkAll, Leaf, Sequence, Spawn, Submit};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn program(&mut self, height: u32) -> Program {
        let program = |random: &mut Self| random.program(height - 1);
        let several = |random: &mut Self| (0..random.below(4)).map(|_| program(random)).collect();
        match if height == 0 { 0 } else { self.below(8) } {
            0 => Leaf(self.below(50)),
            1 | 2 => Sequence(several(self)),
            3 => Fork(Box::new([program(self), program(self)])),
            4 => ForkAll(several(self)),
            5 => Program::Scope(Box::new(program(self))),
            6 => Spawn(Box::new(program(self))),
            _ => Submit { job: Box::new(program(self)), meanwhile: Box::new(program(self)) },
        }
    }
}

impl Program {
    fn work(&self) -> u64 {
        let sum = |programs: &[Self]| programs.iter().map(Self::work).sum();
        match self {
            Leaf(ticks) => *ticks,
            Sequence(programs) | ForkAll(programs) => sum(programs),
            Fork(branches) => sum(&branches[..]),
            Program::Scope(program) | Spawn(program) => program.work(),
            Submit { job, meanwhile } => job.work() + meanwhile.work(),
        }
    }

    /// Returns when the program ends that begins at `start`; `scope` is when the innermost scope's jobs have ended.
    fn end(&self, start: u64, scope: &mut u64) -> u64 {
        match self {
            Leaf(ticks) => start + ticks,
            Sequence(programs) => programs.iter().fold(start, |start, program| program.end(start, scope)),
            Fork(branches) => branches.iter().map(|branch| branch.end(start, scope)).max().unwrap(),
            ForkAll(programs) => programs.iter().map(|program| program.end(start, scope)).max().unwrap_or(start),
            Program::Scope(program) => {
                let mut jobs = 0;
                program.end(start, &mut jobs).max(jobs)
            }
            Spawn(job) => {
                let end = job.end(start, scope);
                *scope = end.max(*scope);
                start
            }
            Submit { job, meanwhile } => {
                let mut jobs = 0;
                let end = job.end(start, &mut jobs).max(jobs);
                meanwhile.end(start, scope).max(end)
            }
        }
    }

    fn run(&'static self, s: &Scope<'static>) {
        match self {
            Leaf(ticks) => spin(*ticks),
            Sequence(programs) => programs.iter().for_each(|program| program.run(s)),
            Fork(branches) => _ = filch::join(|| branches[0].run(s), || branches[1].run(s)),
            ForkAll(programs) => filch::fork_all(programs, |program| program.run(s), (), |(), ()| ()),
            Program::Scope(program) => filch::scope(|s| program.run(s)),
            Spawn(job) => s.spawn(|s| job.run(s)),
            Submit { job, meanwhile } => {
                let submitted = filch::submit(|| filch::scope(|s| job.run(s)));
                meanwhile.run(s);
                submitted.join().unwrap();
            }
        }
    }

    fn run_with<P: Pool>(&'static self, mut w: Worker<'_, P>, s: &Scope<'static, P>) {
        match self {
            Leaf(ticks) => spin(*ticks),
            Sequence(programs) => {
                for program in programs {
                    w.join(|w| program.run_with(w, s), |_| ());
                }
            }
            Fork(branches) => _ = w.join(|w| branches[0].run_with(w, s), |w| branches[1].run_with(w, s)),
            ForkAll(programs) => w.fork_all(programs, |w, program| program.run_with(w, s), (), |(), ()| ()),
            Program::Scope(program) => w.scope(|w, s| program.run_with(w, s)),
            Spawn(job) => s.spawn(|w, s| job.run_with(w, s)),
            Submit { job, meanwhile } => {
                let submitted = w.submit(|mut w| w.scope(|w, s| job.run_with(w, s)));
                w.join(|w| meanwhile.run_with(w, s), |_| ());
                submitted.join().unwrap();
            }
        }
    }
}

#[test]
fn random_programs() {
    for seed in 0..if cfg!(miri) { 5 } else { 300 } {
        let program: &'static Program = Box::leak(Box::new(Random(seed).program(7)));
        let mut jobs = 0;
        let expected = (program.work(), program.end(0, &mut jobs).max(jobs));
        assert_eq!(ticks(|| filch::scope(|s| program.run(s))), expected, "seed {seed}: {program:?}");
        // Short forks are left out of the graph, but not of the sums.
        let Scale { work, span, .. } = recording().theft(300).measure(|| filch::scope(|s| program.run(s))).scale;
        assert_eq!((work, span), expected, "seed {seed}, with thefts: {program:?}");
        let by_handle = |mut w: Worker<'_, Recorded>| w.scope(|w, s| program.run_with(w, s));
        let Scale { work, span, burdened_span, .. } = recording().measure_with(by_handle).scale;
        assert_eq!(
            (work, span, burdened_span),
            (expected.0, expected.1, expected.1),
            "seed {seed}, by handle: {program:?}"
        );
    }
}
