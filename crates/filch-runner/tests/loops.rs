//! Flat loops are shared on queues whose thieves leave the newest tasks to the owner.

#![cfg(all(target_arch = "x86_64", not(miri)))]
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use filch::pool::{QueueSettings, Queued};
use filch::{Builder, ThreadPool};
use filch_queue::{BlockSize, BwosL, Delta, FfCl, FfThe, Queue};

const ITEMS: usize = 200_000;

/// Runs flat loops until a thief has had a part of one.
fn is_shared<Q: Queue>(params: Q::Params) {
    let name = Q::PROMISES.name;
    let pool: ThreadPool<Queued<Q>> = Builder::new().workers(2).settings(QueueSettings::of(params)).build().unwrap();
    let start = Instant::now();
    while pool.stats().total().steals == 0 {
        assert!(start.elapsed() < Duration::from_secs(120), "{name}: nothing is stolen from a flat loop");
        let done = AtomicUsize::new(0);
        pool.run(|mut w| w.for_each(0..ITEMS, |_| _ = done.fetch_add(1, Relaxed)));
        assert_eq!(done.into_inner(), ITEMS, "{name}");
    }
}

#[test]
fn loops_lend_more_tasks_than_thieves_leave_alone() {
    // SAFETY: no documented x86-64 processor has so large a store buffer.
    let delta = unsafe { Delta::from_bound(Delta::ASSUMED_BOUND) };
    is_shared::<FfThe>(delta);
    is_shared::<FfCl>(delta);
    is_shared::<BwosL>(BlockSize::Entries(64.try_into().unwrap()));
}
