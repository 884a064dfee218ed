//! Runs `#[bench]` functions on the protocol of `measure`: without an argument it lists them, with a name it runs one
//! and prints the seconds per call.
//!
//! A package that depends on this one under the name `test` is linked with it in place of the compiler's own `test`,
//! which calls each function at least 300 times: some of rayon's demo programs would take half a minute. The types
//! are those that the compiler's expansion of `#[bench]` and `#[test]` mentions.

pub use std::hint::black_box;
use std::process::exit;
use std::time::{Duration, Instant};

/// What a function is measured for, in batches of at least `BATCH`, of which the median counts.
const MEASURED: Duration = Duration::from_millis(40);
const BATCH: Duration = Duration::from_millis(1);
const FEWEST_BATCHES: usize = 3;
/// Calls before that.
const WARM_UP: usize = 4;

/// The sequential versions among rayon's demo programs. There is nothing to compare in them.
const SEQUENTIAL: [&str; 8] = [
    "factorial::factorial_iterator",
    "factorial::factorial_recursion",
    "fibonacci::fibonacci_iterative",
    "fibonacci::fibonacci_recursive",
    "life::bench::generations",
    "pythagoras::euclid_serial",
    "sieve::bench::sieve_chunks",
    "sieve::bench::sieve_serial",
];

pub struct Bencher {
    pub bytes: u64,
    seconds: f64,
}

impl Bencher {
    /// Measures `call`, after a few calls that start the pool and touch the pages of each thread's heap.
    pub fn iter<T>(&mut self, mut call: impl FnMut() -> T) {
        let mut batch = |calls: u32| {
            let start = Instant::now();
            (0..calls).for_each(|_| drop(black_box(call())));
            start.elapsed() / calls
        };
        (0..WARM_UP).for_each(|_| _ = batch(1));
        let start = Instant::now();
        let mut times = vec![batch(1)];
        let calls = (BATCH.as_secs_f64() / times[0].as_secs_f64()).ceil().clamp(1.0, 1e6) as u32;
        while times.len() < FEWEST_BATCHES || start.elapsed() < MEASURED {
            times.push(batch(calls));
        }
        times.sort();
        self.seconds = times[times.len() / 2].as_secs_f64();
    }
}

pub enum TestName {
    StaticTestName(&'static str),
}
pub use TestName::StaticTestName;

pub enum TestFn {
    StaticTestFn(fn() -> Result<(), String>),
    StaticBenchFn(fn(&mut Bencher) -> Result<(), String>),
}
pub use TestFn::{StaticBenchFn, StaticTestFn};

pub enum ShouldPanic {
    No,
}

pub enum TestType {
    UnitTest,
}

pub struct TestDesc {
    pub name: TestName,
    pub ignore: bool,
    pub ignore_message: Option<&'static str>,
    pub source_file: &'static str,
    pub start_line: usize,
    pub start_col: usize,
    pub end_line: usize,
    pub end_col: usize,
    pub compile_fail: bool,
    pub no_run: bool,
    pub should_panic: ShouldPanic,
    pub test_type: TestType,
}

pub struct TestDescAndFn {
    pub desc: TestDesc,
    pub testfn: TestFn,
}

pub fn assert_test_result<T>(_: T) -> Result<(), String> {
    Ok(())
}

/// The program's `main`, with all its `#[test]` and `#[bench]` functions.
pub fn test_main_static(all: &[&TestDescAndFn]) {
    let benches = all.iter().filter_map(|test| match (&test.desc.name, &test.testfn) {
        (StaticTestName(name), StaticBenchFn(bench)) => Some((*name, bench)),
        (_, StaticTestFn(_)) => None,
    });
    let is_parallel = |name: &str| {
        let last = name.rsplit("::").next().unwrap_or(name);
        !SEQUENTIAL.contains(&name)
            && !last.starts_with("serial_")
            && !last.ends_with("_seq")
            && !last.contains("_seq_")
    };
    let mut parallel = benches.filter(|(name, _)| is_parallel(name));
    let Some(wanted) = std::env::args().nth(1) else {
        return parallel.for_each(|(name, _)| println!("{name}"));
    };
    let Some((_, bench)) = parallel.find(|(name, _)| *name == wanted) else {
        eprintln!("there is no program `{wanted}`");
        exit(2);
    };
    let mut bencher = Bencher { bytes: 0, seconds: f64::NAN };
    if let Err(message) = bench(&mut bencher) {
        eprintln!("{message}");
        exit(1);
    }
    println!("{}", bencher.seconds);
}
