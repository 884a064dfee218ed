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
