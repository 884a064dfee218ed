//! What a program can tell of the rayon-core with which it is linked: lines `name = value`.
//!
//! `visible` runs all groups of probes, each in a process of its own; `visible GROUP` runs one. A group's last line
//! says how its process has ended. A probe whose answer could depend on the speed of threads, or on the machine, has no
//! place here.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

mod builders;
mod drops;
mod loops;
mod mixed;
mod order;
mod panics;
mod places;
mod queries;
mod threads;
mod types;
mod waits;

/// A group: its name, and its probes.
type Group = (&'static str, fn());

const GROUPS: &[&[Group]] = &[
    places::GROUPS,
    queries::GROUPS,
    order::GROUPS,
    mixed::GROUPS,
    waits::GROUPS,
    loops::GROUPS,
    panics::GROUPS,
    drops::GROUPS,
    threads::GROUPS,
    builders::GROUPS,
    types::GROUPS,
];

/// Threads of the global pool that nobody builds.
const GLOBAL: usize = 2;

fn say(name: impl AsRef<str>, value: impl std::fmt::Display) {
    println!("{} = {value}", name.as_ref());
}

/// Waits until the condition holds, for a minute at most, and returns whether it does.
fn until(condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > Duration::from_secs(60) {
            return false;
        }
        thread::sleep(Duration::from_micros(100));
    }
    true
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

/// What has happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    fn get(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until so much has happened.
    fn reaches(&self, count: usize) -> bool {
        until(|| self.get().len() >= count)
    }

    /// Waits until so much has happened; returns it as a line.
    fn after(&self, count: usize) -> String {
        self.reaches(count);
        self.get().join(" ")
    }

    /// The same as a set, for what happens in no order.
    fn set_after(&self, count: usize) -> String {
        self.reaches(count);
        self.get().into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    }
}

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1);
    let mut groups = GROUPS.iter().copied().flatten();
    if let Some(wanted) = wanted {
        let Some((_, probes)) = groups.find(|(name, _)| *name == wanted) else {
            eprintln!("usage: visible [GROUP]");
            return ExitCode::from(2);
        };
        probes();
        return ExitCode::SUCCESS;
    }
    println!("# What the published rayon-core shows to programs. Printed in tests/drop-in/stock by");
    println!(
        "# cargo run --release --target-dir ../../../target/drop-in-stock --bin visible > ../visible/published.txt"
    );
    let program = std::env::current_exe().expect("the program's path");
    for (name, _) in groups {
        let mut command = Command::new(&program);
        command.arg(name).env("RAYON_NUM_THREADS", GLOBAL.to_string()).env_remove("RAYON_RS_NUM_CPUS");
        let output = command.output().expect("the program starts");
        print!("{}", String::from_utf8_lossy(&output.stdout));
        let end = match (output.status.code(), output.status.signal()) {
            (Some(code), _) => format!("code {code}"),
            (None, signal) => format!("signal {}", signal.expect("a process that has ended")),
        };
        say(format!("{name}.ends"), end);
    }
    ExitCode::SUCCESS
}
