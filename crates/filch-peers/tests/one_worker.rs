//! With one worker, one thread computes. This is a separate test program, so that other tests' threads do not count.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use filch_peers::all;
use filch_runner::{Job, Scheduler};
use filch_workloads::{Prepare, Workload};

#[test]
fn one_worker_is_one_thread() {
    /// In hundredths of a second.
    const ENOUGH: u64 = 40;
    let queens = Workload::new("queens", &[("n".into(), "9".into())]).expect("valid parameters");
    let mut instance = queens.prepare().expect("enough memory");
    for spec in all() {
        let settings = BTreeMap::new();
        let job = Job { workload: &queens, workers: 1, settings: &settings, stack_bytes: 16 << 20 };
        let peer = spec.start(&job).expect("the peer starts");
        let Some(before) = processor_time() else { return };
        let start = Instant::now();
        let used = loop {
            peer.run(&mut instance).expect("queens is supported");
            let Some(after) = processor_time() else { return };
            let used = |(thread, ticks): (&String, &u64)| ticks - before.get(thread).unwrap_or(&0);
            let used: Vec<u64> = after.iter().map(used).collect();
            if used.iter().sum::<u64>() >= ENOUGH {
                break used;
            }
        };
        // Heartbeats take less than a tenth of the time, but a thread that computes may get less on a busy machine.
        let least = u64::try_from(start.elapsed().as_millis() / 100).expect("it is short").max(ENOUGH / 5);
        let busy = used.iter().filter(|&&ticks| ticks >= least).count();
        assert!(busy <= 1, "{} computed on {busy} threads: {used:?}", spec.name());
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
