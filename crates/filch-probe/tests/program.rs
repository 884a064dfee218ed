//! The output of the probes.

use std::process::Command;

use serde_json::Value;

/// Runs a probe and parses the lines that it prints.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_filch-probe")).args(arguments).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object on each line")).collect()
}

#[test]
fn probes_write_one_object() {
    let idle = lines(&["probe", "idle", "--workers", "2", "--seconds", "1", "--json", "-"]);
    assert_eq!((&idle[0]["probe"], &idle[0]["workers"]), (&"idle".into(), &2.into()));
    let wakeup = lines(&["probe", "wakeup", "--workers", "2", "--samples", "5", "--json", "-"]);
    assert_eq!(wakeup[0]["samples"].as_array().unwrap().len(), 5);
    let calls = lines(&["probe", "calls", "--callers", "2", "--samples", "1", "--json", "-"]);
    assert_eq!(
        (calls.len(), &calls[0]["calls"]),
        (6 * 5 * 3, &6.into()),
        "calls of a contender: two callers in three turns"
    );
}

/// Runs a probe that keeps what it finds, with a cache of its own.
#[cfg(target_arch = "x86_64")]
fn with_cache(cache: &std::path::Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_filch-probe"));
    let output = command.args(arguments).env("XDG_CACHE_HOME", cache).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What it finds depends on the machine and on its other programs; what it writes about that does not.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_store_buffer_has_a_capacity_or_a_reason_and_is_kept_accordingly() {
    let cache = std::env::temp_dir().join(format!("filch-probe-cache-{}", std::process::id()));
    let text = with_cache(&cache, &["probe", "store-buffer", "--rounds", "4", "--json", "-"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert!(lines.len() >= 2, "lines and one address");
    for line in &lines {
        assert_eq!(line["ticks"].as_array().unwrap().len(), 160);
        assert!(line["capacity"].is_u64() != line["why_not"].is_string(), "{line}");
    }
    let kept = cache.join("filch").exists();
    assert_eq!(kept, lines.iter().all(|line| line["capacity"].is_u64()));
    let shown = with_cache(&cache, &["probe", "store-buffer", "--rounds", "4"]);
    for word in ["distinct lines", "one address", "ticks of the time-stamp counter", "bound=measured"] {
        assert!(shown.contains(word), "{shown}");
    }
    let _ = std::fs::remove_dir_all(cache);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn fences_have_prices() {
    let priced = lines(&["probe", "fences", "--rounds", "3", "--json", "-"]);
    let of = |name: &str| priced.iter().find(|line| line["operation"] == name).unwrap_or_else(|| panic!("no {name}"));
    for name in ["mfence", "lock or", "xchg", "lock cmpxchg", "light barrier"] {
        assert!(of(name)["median_seconds"].is_number() && of(name)["interval_ticks"].is_array(), "{}", of(name));
    }
    let ways: Vec<_> = priced.iter().filter(|line| line["processors"].as_array().unwrap().len() == 2).collect();
    assert!(ways.iter().all(|line| line["median_seconds"].as_f64().unwrap() > 0.0));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_litmus_map_has_every_pair_in_both_placements() {
    if filch_catalogue::protocol::cores() < 2 {
        return;
    }
    let map = lines(&["probe", "litmus", "--bound", "500", "--runs", "2", "--json", "-"]);
    for between in [0, 1, 3, 7, 15, 31, 63] {
        let row = |line: &&Value| line["stores_between"] == between;
        let placements: std::collections::BTreeSet<_> =
            map.iter().filter(row).map(|line| line["placement"].to_string()).collect();
        assert_eq!(placements.len(), 2, "L = {between}");
    }
    for line in &map {
        let (between, delta) = (line["stores_between"].as_u64().unwrap(), line["delta"].as_u64().unwrap());
        assert_eq!(line["is_safe"], delta * (between + 1) >= 500, "{line}");
        // No processor has so many pending stores.
        assert!(between == 0 || line["is_safe"] == false || (line["taken_twice"] == 0 && line["lost"] == 0), "{line}");
    }
}

/// Stresses something, and returns what is told.
fn stressed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_filch-probe")).arg("stress").args(arguments).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn random_programs_are_right() {
    let text = stressed(&["programs", "--seconds", "1", "--seed", "1", "--workers", "1,2"]);
    assert!(text.contains("all right"), "{text}");
}

#[test]
fn queues_are_stressed() {
    let text = stressed(&["chase-lev", "locked", "--seconds", "1", "--seed", "1", "--threads", "3"]);
    assert!(text.contains("No task lost") && text.contains("chase-lev") && !text.contains("lace"), "{text}");
    assert_eq!(stressed(&["lace", "--seconds", "1", "--threads", "1", "--quiet"]), "");
}

#[test]
fn programs_are_recorded_in_both_styles() {
    for style in [&[][..], &["--closures"]] {
        let lines = lines(&[&["scale", "fib:n=12", "each", "--quick"], style].concat());
        let [costs, fib, each] = &lines[..] else { panic!("{lines:?}") };
        assert!(costs["fork"].as_f64() > Some(0.0), "{costs}");
        assert_eq!((&fib["program"], &fib["forks"]), (&"fib:n=12".into(), &232.into()));
        for line in [fib, each] {
            assert!(line["span"].as_u64() <= line["work"].as_u64() && line["graph"].is_string(), "{line}");
        }
    }
}
