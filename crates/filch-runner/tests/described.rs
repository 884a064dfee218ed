//! The catalogue describes queues, pools and waiting strategies as their types do.

use std::path::Path;

use filch_catalogue::{BOUNDED_TSO, Described, WaitSpec};
use filch_runner::schedulers::{WAITS, described_pools, described_queues};
use serde_json::Value;

#[test]
fn everything() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filch-catalogue/src/described.jsonl");
    let queues = described_queues().into_iter().map(Described::Queue);
    let pools = described_pools().into_iter().map(Described::Pool);
    let waits = WAITS.iter().map(|&(wait, help)| Described::Wait(WaitSpec { name: wait.name(), help }));
    let json = |row| serde_json::to_value(row).expect("descriptions are JSON");
    let said: String = queues.chain(pools).chain(waits).map(|row| format!("{}\n", json(row))).collect();
    if std::env::var_os("FILCH_BLESS").is_some() && cfg!(target_arch = "x86_64") {
        std::fs::write(&path, said).expect("the file should be writable");
        return;
    }
    let stored = std::fs::read_to_string(&path).expect("the file should be readable");
    let is_here = |line: &&str| {
        let row: Value = serde_json::from_str(line).expect("each line should be an object");
        let needs_tso = row.as_object().is_some_and(|row| row.values().any(|row| row["memory"] == BOUNDED_TSO));
        cfg!(target_arch = "x86_64") || !needs_tso
    };
    let stored: String = stored.lines().filter(is_here).map(|line| format!("{line}\n")).collect();
    let (path, how) = (path.display(), "FILCH_BLESS=1 cargo test -p filch-runner --test described");
    assert!(said == stored, "{path} differs from the types: `{how}` rewrites it\n{said}");
}

#[test]
fn forms() {
    let queues = described_queues();
    let pools = described_pools();
    let queues = queues.iter().map(|queue| (queue.name, queue.paper, queue.follows, &queue.departures));
    let pools = pools.iter().map(|pool| (pool.name, pool.paper, pool.follows, &pool.departures));
    let forms: Vec<_> = queues.chain(pools).collect();
    for &(name, paper, follows, departures) in &forms {
        let has_place = ["figure", "listing", "section", "sentence"].iter().any(|place| follows.contains(place));
        assert_eq!(has_place, !paper.starts_with("none"), "{name} is from {paper:?}, but follows {follows:?}");
        for point in departures {
            assert!(point.starts_with(char::is_uppercase) && point.ends_with('.'), "{name}: no sentence: {point:?}");
            let named = point.strip_prefix("Those of ").map(|other| other.trim_end_matches('.'));
            assert!(
                named.is_none_or(|other| other != name && forms.iter().any(|form| form.0 == other)),
                "{name}: {point:?}"
            );
        }
    }
}

#[test]
fn the_first_strategy_is_the_default() {
    assert_eq!(WAITS[0].0, filch::Wait::default());
}
