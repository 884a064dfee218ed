//! Every pool runs every fork–join program.

use std::time::Duration;

use filch::{Interrupts, Wait};
use filch_schedulers::{POOLS, Settings, Style, start_pool};
use filch_workloads::{Instance, Kind, Workload};

/// All fork–join programs, so small that a run takes a millisecond.
const PROGRAMS: &[(&str, &[(&str, &str)])] = &[
    ("fib", &[("n", "16")]),
    ("fib-unrolled", &[("n", "16")]),
    ("queens", &[("n", "6")]),
    ("uts", &[("tree", "T1"), ("depth", "5")]),
    ("matmul", &[("n", "60")]),
    ("cilksort", &[("n", "5000"), ("cutoff", "100"), ("input", "exponential")]),
    ("quicksort", &[("n", "5000"), ("cutoff", "20")]),
    ("integrate", &[("n", "10")]),
    ("jacobi", &[("n", "40"), ("sweeps", "3"), ("grain", "2")]),
    ("heat", &[("nx", "31"), ("ny", "33"), ("steps", "3"), ("leaf", "3")]),
    ("fft", &[("n", "2048"), ("cutoff", "16")]),
    ("strassen", &[("n", "64"), ("cutoff", "16")]),
    ("lud", &[("n", "64"), ("cutoff", "16")]),
    ("knapsack", &[("items", "14")]),
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

fn programs() -> Vec<Instance> {
    let set = |set: &[(&str, &str)]| -> Vec<(String, String)> {
        set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let made =
        |&(name, values): &(&str, &[(&str, &str)])| Workload::new(name, &set(values)).and_then(|made| made.prepare());
    PROGRAMS.iter().map(|program| made(program).expect("the parameters are right")).collect()
}

const OTHER_STYLES: [Style; 2] = [Style::Levels, Style::Closures];

fn run_all(programs: &mut [Instance], pool: &str, style: Style, settings: &Settings) {
    let started = start_pool(pool, style, settings).unwrap_or_else(|error| panic!("{pool}: {error}"));
    for instance in programs {
        for _ in 0..2 {
            instance.reset();
            let answer = started.run(instance).expect("it forks and joins");
            instance.check(&answer).unwrap_or_else(|wrong| panic!("{} on {pool}: {wrong}", instance.name()));
        }
    }
}

#[test]
fn all_programs_are_there() {
    for spec in filch_workloads::specs().iter().filter(|spec| spec.kind() == Kind::ForkJoin) {
        assert!(PROGRAMS.iter().any(|(name, _)| *name == spec.name), "{}", spec.name);
    }
}

#[test]
fn programs_are_right_on_every_pool() {
    let mut programs = programs();
    for pool in POOLS {
        for workers in [1, 2, 8] {
            run_all(&mut programs, pool.name, Style::Handles, &Settings::of(workers));
        }
    }
}

#[test]
fn interrupts_change_no_answer() {
    let mut programs = programs();
    let often = Duration::from_micros(50);
    for pool in POOLS {
        for interrupts in [Interrupts::flag(), Interrupts::signal()] {
            let mut settings = Settings::of(2);
            settings.interrupts = Some(interrupts.every(often));
            run_all(&mut programs, pool.name, Style::Handles, &settings);
        }
    }
}

#[test]
fn only_the_default_pool_has_other_styles() {
    let mut programs = programs();
    for wait in [Wait::LeapfrogRandom, Wait::Leapfrog, Wait::Transitive, Wait::Random] {
        let mut settings = Settings::of(2);
        settings.wait = wait;
        for style in OTHER_STYLES {
            run_all(&mut programs, POOLS[0].name, style, &settings);
        }
    }
    for pool in &POOLS[1..] {
        for style in OTHER_STYLES {
            let refused = start_pool(pool.name, style, &Settings::of(1)).map(|_| ()).expect_err(pool.name);
            assert!(refused.contains(style.name()), "{refused}");
        }
    }
    assert!(start_pool("no-such-pool", Style::Handles, &Settings::of(1)).is_err());
}
