//! The cost of a job on one worker, besides its work.
#![allow(missing_docs, reason = "criterion's macros")]

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use filch::jobs::{JobWorker, Jobs};
use filch_queue::{
    BwosL, ChaseLev, ChaseLevAsym, Dsq, HendlerShavit, Lace, Locked, OneExposed, PadWs, PdqRAsync, Queue, Wsq,
};

/// As in the table of WSQ.
const CHILDREN: u64 = 10_000;
const DEPTH: u32 = 12;

/// Runs a benchmark on every queue of a selection.
trait Queues {
    fn with<Q: Queue>(&mut self);

    fn every(&mut self) {
        self.with::<Wsq>();
        self.with::<ChaseLev>();
        self.with::<ChaseLevAsym>();
        self.with::<Lace>();
        self.with::<BwosL>();
        self.with::<PadWs>();
        self.with::<Dsq>();
        self.with::<HendlerShavit>();
        self.with::<OneExposed>();
        self.with::<PdqRAsync>();
        self.with::<Locked>();
    }
}

fn jobs<Q: Queue>() -> Jobs<Q> {
    Jobs::new(1).capacity(Q::MAX_CAPACITY.min(1 << 16)).queue::<Q>(Q::Params::default())
}

/// One job has all children.
struct Children<'g, 'c>(&'g mut BenchmarkGroup<'c, WallTime>);

impl Queues for Children<'_, '_> {
    fn with<Q: Queue>(&mut self) {
        self.0.throughput(Throughput::Elements(CHILDREN));
        self.0.bench_function(Q::PROMISES.name, |b| {
            jobs::<Q>().run(|w| {
                b.iter(|| {
                    let job = w.start(|w| {
                        w.spawn_all((0..CHILDREN).map(|n| move |_: &mut JobWorker<'_, '_, Q>| _ = black_box(n)));
                    });
                    w.wait(job);
                });
            });
        });
    }
}

/// Each job has two children, down to the leaves.
struct Tree<'g, 'c>(&'g mut BenchmarkGroup<'c, WallTime>);

fn tree<Q: Queue>(w: &mut JobWorker<'_, '_, Q>, depth: u32) {
    if black_box(depth) > 0 {
        w.spawn(move |w| tree(w, depth - 1));
        w.spawn(move |w| tree(w, depth - 1));
    }
}

impl Queues for Tree<'_, '_> {
    fn with<Q: Queue>(&mut self) {
        self.0.throughput(Throughput::Elements((2 << DEPTH) - 2));
        self.0.bench_function(Q::PROMISES.name, |b| {
            jobs::<Q>().run(|w| {
                b.iter(|| {
                    tree(w, DEPTH);
                    w.wait_for_children();
                });
            });
        });
    }
}

fn benches(c: &mut Criterion) {
    Children(&mut c.benchmark_group("children")).every();
    Tree(&mut c.benchmark_group("tree")).every();
}

criterion_group!(all, benches);
criterion_main!(all);
