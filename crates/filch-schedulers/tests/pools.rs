//! Every pool runs programs that fork much, unevenly, and many children at once.

use std::time::Duration;

use filch::{Interrupts, Wait};
use filch_schedulers::{POOLS, Settings, Style, start_pool};
use filch_workloads::{Instance, Workload};

const PROGRAMS: &[(&str, &[(&str, &str)])] =
    &[("fib", &[("n", "16")]), ("queens", &[("n", "6")]), ("uts", &[("tree", "T1"), ("depth", "5")])];

fn programs() -> Vec<Instance> {
    let set = |set: &[(&str, &str)]| -> Vec<(String, String)> {
        set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let made =
        |&(name, values): &(&str, &[(&str, &str)])| Workload::new(name, &set(values)).and_then(|made| made.prepare());
    PROGRAMS.iter().map(|program| made(program).expect("the parameters are right")).collect()
}

fn run_all(pool: &str, style: Style, settings: &Settings) {
    let started = start_pool(pool, style, settings).unwrap_or_else(|error| panic!("{pool}: {error}"));
    for mut instance in programs() {
        for _ in 0..2 {
            instance.reset();
            let answer = started.run(&mut instance).expect("it forks and joins");
            instance.check(&answer).unwrap_or_else(|wrong| panic!("{} on {pool}: {wrong}", instance.name()));
        }
    }
}

#[test]
fn programs_are_right_on_every_pool() {
    for pool in POOLS {
        for workers in [1, 2, 8] {
            run_all(pool.name, Style::Handles, &Settings::of(workers));
        }
    }
}

#[test]
fn interrupts_change_no_answer() {
    let often = Duration::from_micros(50);
    for pool in POOLS {
        for interrupts in [Interrupts::flag(), Interrupts::signal()] {
            let mut settings = Settings::of(2);
            settings.interrupts = Some(interrupts.every(often));
            run_all(pool.name, Style::Handles, &settings);
        }
    }
}

#[test]
fn only_the_default_pool_has_closures() {
    for wait in [Wait::LeapfrogRandom, Wait::Leapfrog, Wait::Transitive, Wait::Random] {
        let mut settings = Settings::of(2);
        settings.wait = wait;
        run_all(POOLS[0].name, Style::Closures, &settings);
    }
    for pool in &POOLS[1..] {
        let refused = start_pool(pool.name, Style::Closures, &Settings::of(1)).map(|_| ()).expect_err(pool.name);
        assert!(refused.contains("closure style"), "{refused}");
    }
    assert!(start_pool("no-such-pool", Style::Handles, &Settings::of(1)).is_err());
}
