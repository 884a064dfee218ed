//! Nobody waits for ever: random programs with blocking tasks, on every pool that `FILCH_POOL` names and with every
//! waiting strategy, each in a process of its own.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

#[path = "../../filch/tests/common/blocking.rs"]
mod blocking;

use std::env;
use std::process::Command;

use blocking::{Forks, STACK_SIZE, Scheduler, check};
use rayon_core::{Scope, ThreadPool, ThreadPoolBuilder};

struct Pools {
    pools: [ThreadPool; 2],
    forks: Forks,
}

impl Scheduler for Pools {
    type Scope<'c> = Scope<'c>;

    const HAS_PLACES: bool = true;
    const BROADCASTS: bool = true;

    fn workers(&self) -> usize {
        self.pools[0].current_num_threads()
    }

    fn is_strict(&self) -> bool {
        matches!(env::var("FILCH_WAIT").as_deref(), Ok("leapfrog" | "transitive"))
    }

    fn forks(&self) -> Forks {
        // What a leapfrogger has stolen and put back is only for its owner.
        if self.is_strict() { Forks::OutOfReach } else { self.forks }
    }

    fn call(&self, pool: usize, f: impl FnOnce() + Send) {
        self.pools[pool].install(f);
    }

    fn spawn(&self, pool: usize, f: impl FnOnce() + Send + 'static) {
        if self.pools[pool].current_thread_index().is_some_and(|index| index % 2 == 1) {
            self.pools[pool].spawn_fifo(f);
        } else {
            self.pools[pool].spawn(f);
        }
    }

    fn join(&self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        rayon_core::join(a, b);
    }

    fn scope<'c>(&self, body: impl FnOnce(&Scope<'c>) + Send) {
        rayon_core::scope(body);
    }

    fn spawn_in<'c>(scope: &Scope<'c>, f: impl FnOnce(&Scope<'c>) + Send + 'c) {
        scope.spawn(f);
    }

    fn scope_in_place<'c>(&self, pool: usize, body: impl FnOnce(&Scope<'c>) + Send) {
        self.pools[pool].in_place_scope(body);
    }

    fn broadcast(&self, pool: usize, f: impl Fn(usize) + Sync) {
        self.pools[pool].broadcast(|context| f(context.index()));
    }

    fn yield_now(&self) {
        rayon_core::yield_now();
    }
}

/// Not a test by itself.
#[test]
#[ignore = "run by the others"]
fn child() {
    let forks = match env::var("FILCH_POOL").as_deref() {
        Ok("chase-lev" | "the") => Forks::Visible,
        _ => Forks::OnPoll,
    };
    for workers in [2, 3, 8] {
        let build = || ThreadPoolBuilder::new().num_threads(workers).stack_size(STACK_SIZE).build().unwrap();
        let [pool, wait] = ["FILCH_POOL", "FILCH_WAIT"].map(|name| env::var(name).unwrap_or_default());
        check(&format!("drop-in {pool}, {wait}, {workers} workers"), 6, || Pools { pools: [build(), build()], forks });
    }
}

#[test]
fn nobody_waits_for_ever() {
    for pool in ["split", "wool", "chase-lev", "lace", "the", "pdq-r-async", "heartbeat-request"] {
        for wait in ["leapfrog", "transitive", "leapfrog-random", "random"] {
            if wait == "transitive" && !["split", "wool"].contains(&pool) {
                continue;
            }
            let mut command = Command::new(env::current_exe().unwrap());
            command
                .args(["--exact", "child", "--ignored", "--nocapture"])
                .env("FILCH_POOL", pool)
                .env("FILCH_WAIT", wait);
            // The child has a watchdog.
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
            assert!(output.status.success(), "{pool}, {wait}: {said}");
        }
    }
}
