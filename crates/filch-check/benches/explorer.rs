//! The explorer's speed: at least a million executions of the Chase–Lev deque per minute on one core.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use filch_check::scenarios::queues::{Client, program};
use filch_check::tso::{Bounds, Tso, Verdict, explore};
use filch_queue::{ChaseLev, Lace};

fn explorer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("executions");
    group.sample_size(10);
    let client = Client::new(2, 0, "+-++-+--+-", &[3]);
    let mut bench = |name: &str, run: &dyn Fn() -> u64| {
        group.throughput(Throughput::Elements(run()));
        group.bench_function(name, |bencher| bencher.iter(run));
    };
    let bounds = Bounds::buffer(2);
    bench("chase-lev", &|| {
        let explored = explore(&|| program::<Tso, ChaseLev>(&client, &()), &bounds, &mut |_| ());
        assert!(matches!(explored.verdict, Verdict::Passed));
        explored.executions + explored.redundant
    });
    bench("lace", &|| {
        let explored = explore(&|| program::<Tso, Lace>(&client, &Default::default()), &bounds, &mut |_| ());
        assert!(matches!(explored.verdict, Verdict::Passed));
        explored.executions + explored.redundant
    });
    group.finish();
}

criterion_group!(benches, explorer);
criterion_main!(benches);
