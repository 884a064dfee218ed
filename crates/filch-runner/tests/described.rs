//! The catalogue describes queues, pools and waiting strategies as their types do.

use std::path::Path;

use filch_catalogue::{BOUNDED_TSO, WaitSpec};
use filch_runner::schedulers::{WAITS, described_pools, described_queues};
use serde_json::Value;

/// Compares a file of the catalogue, one JSON object per line, or writes it if `FILCH_BLESS` is set.
fn compare(file: &str, rows: &[Value]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filch-catalogue/src").join(file);
    let said: String = rows.iter().map(|row| format!("{row}\n")).collect();
    if std::env::var_os("FILCH_BLESS").is_some() && cfg!(target_arch = "x86_64") {
        std::fs::write(&path, said).expect("the file should be writable");
        return;
    }
    let stored = std::fs::read_to_string(&path).expect("the file should be readable");
    let is_here = |line: &&str| {
        let row: Value = serde_json::from_str(line).expect("each line should be an object");
        cfg!(target_arch = "x86_64") || row["memory"] != BOUNDED_TSO
    };
    let stored: String = stored.lines().filter(is_here).map(|line| format!("{line}\n")).collect();
    let (path, how) = (path.display(), "FILCH_BLESS=1 cargo test -p filch-runner --test described");
    assert!(said == stored, "{path} differs from the types: `{how}` rewrites it\n{said}");
}

fn json(row: impl serde::Serialize) -> Value {
    serde_json::to_value(row).expect("descriptions are JSON")
}

#[test]
fn queues() {
    compare("queues.jsonl", &described_queues().iter().map(json).collect::<Vec<_>>());
}

#[test]
fn pools() {
    compare("pools.jsonl", &described_pools().iter().map(json).collect::<Vec<_>>());
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
fn waits() {
    assert_eq!(WAITS[0].0, filch::Wait::default(), "the first strategy is not the default");
    compare(
        "waits.jsonl",
        &WAITS.iter().map(|&(wait, help)| json(WaitSpec { name: wait.name(), help })).collect::<Vec<_>>(),
    );
}
