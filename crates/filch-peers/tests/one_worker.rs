//! With one worker, one thread computes. This is a separate test program, so that other tests' threads do not count.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use filch_peers::all;
use filch_runner::{Job, Scheduler};
use filch_workloads::{Prepare, Workload};

#[test]
fn one_worker_is_one_thread() {
    /// In hundredths of a second; heartbeats take less.
    const WORK: u64 = 8;
    let queens = Workload::new("queens", &[("n".into(), "9".into())]).expect("valid parameters");
    let mut instance = queens.prepare().expect("enough memory");
    for spec in all() {
        let settings = BTreeMap::new();
        let job = Job { workload: &queens, workers: 1, settings: &settings, stack_bytes: 16 << 20 };
        let peer = spec.start(&job).expect("the peer starts");
        let before = processor_time();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(400) {
            peer.run(&mut instance).expect("queens is supported");
        }
        let Some((before, after)) = before.zip(processor_time()) else { return };
        let used = |(thread, ticks): (&String, &u64)| ticks - before.get(thread).unwrap_or(&0);
        let busy = after.iter().map(used).filter(|&ticks| ticks >= WORK).count();
        assert!(busy <= 1, "{} computed on {busy} threads: {before:?}, {after:?}", spec.name());
    }
}

/// Hundredths of a second that each thread of this process has computed, where the system reports it.
fn processor_time() -> Option<HashMap<String, u64>> {
    let mut times = HashMap::new();
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let thread = thread.ok()?;
        // A thread may end between the listing and the reading.
        let Ok(stat) = std::fs::read_to_string(thread.path().join("stat")) else { continue };
        // User and system time are fields 14 and 15. The second field, the name, may hold anything, but ends with the
        // last bracket.
        let (_, fields) = stat.rsplit_once(')')?;
        let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        times.insert(thread.file_name().to_string_lossy().into_owned(), ticks);
    }
    Some(times)
}
