//! What holds of all sources: the workspace's crates use one another only as the table of the architecture permits, and
//! comments are as narrow as code.
//!
//! A crate may use only crates above it. Development dependencies are exempt: tests may use any crate.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A crate, and the workspace's crates that it may use.
type Row = (&'static str, &'static [&'static str]);

/// The lowest layer comes first.
const TABLE: &[Row] = &[
    ("filch-memory", &[]),
    ("filch-queue", &["filch-memory"]),
    ("filch-macros", &[]),
    ("filch", &["filch-memory", "filch-queue", "filch-macros"]),
    // Descriptions by name, without anybody's code, and what programs share.
    ("filch-catalogue", &[]),
    ("filch-check", &["filch-memory", "filch-queue", "filch", "filch-catalogue"]),
    ("filch-sim", &["filch-catalogue"]),
    // filch-queue for the programs of one queue.
    ("filch-workloads", &["filch", "filch-queue", "filch-catalogue"]),
    // filch-memory for its counters.
    ("filch-runner", &["filch-memory", "filch", "filch-queue", "filch-catalogue", "filch-workloads"]),
    // Its tests run the book, which also shows queues.
    ("filch-examples", &["filch"]),
    // Queues by name: `FILCH_POOL` chooses among pools made of them.
    ("rayon-core", &["filch", "filch-queue"]),
    ("filch-c", &["filch"]),
    ("filch-peers", &["filch-catalogue", "filch-workloads", "filch-runner"]),
    ("filch-mpi", &["filch", "filch-memory", "filch-queue", "filch-workloads", "filch-catalogue"]),
    (
        "filch-probe",
        &[
            // Threads that time stores agree when to begin.
            "filch-memory",
            "filch",
            "filch-queue",
            "filch-catalogue",
            "filch-workloads",
            "filch-runner",
            "filch-peers",
        ],
    ),
    // Descriptions, and simulated time: it must not use a scheduler that it could measure, directly or indirectly.
    ("filch-lab", &["filch-catalogue", "filch-sim"]),
];

/// A normal or build dependency `from` → `to` within the workspace.
#[derive(Clone, Debug, PartialEq)]
struct Arrow {
    from: String,
    to: String,
}

/// Returns the names of the workspace's crates, and the arrows between them.
fn arrows(metadata: &Value) -> (Vec<String>, Vec<Arrow>) {
    let list = |value: &Value| value.as_array().expect("cargo metadata should hold a list here").clone();
    let text = |value: &Value| value.as_str().expect("cargo metadata should hold a string here").to_owned();
    let packages = list(&metadata["packages"]);
    let crates: Vec<String> = packages.iter().map(|package| text(&package["name"])).collect();
    let mut arrows = Vec::new();
    for package in &packages {
        for dependency in list(&package["dependencies"]) {
            // A crate of the same name from a registry (such as the stock rayon-core) has no path.
            let ours = dependency["path"].is_string() && crates.contains(&text(&dependency["name"]));
            if ours && dependency["kind"] != "dev" {
                arrows.push(Arrow { from: text(&package["name"]), to: text(&dependency["name"]) });
            }
        }
    }
    (crates, arrows)
}

/// Returns one line for each crate without a row and each arrow outside its row.
fn complaints(crates: &[String], arrows: &[Arrow]) -> Vec<String> {
    let row = |name: &str| TABLE.iter().find(|(row, _)| *row == name).map(|(_, may)| *may);
    let strangers = crates.iter().filter(|name| row(name).is_none()).map(|name| {
        format!(
            "{name} is not in the table of crates/filch-lab/tests/arrows.rs: add a row with the crates that it may use"
        )
    });
    let forbidden = arrows.iter().filter_map(|Arrow { from, to }| match row(from)? {
        permitted if !permitted.contains(&to.as_str()) => Some(format!(
            "forbidden arrow {from} → {to}: {from} may use {}",
            if permitted.is_empty() { "no crate of the workspace".to_owned() } else { permitted.join(", ") }
        )),
        _ => None,
    });
    strangers.chain(forbidden).collect()
}

#[test]
fn crates_use_only_what_the_table_permits() {
    let (crates, arrows) = arrows(&common::metadata());
    assert!(crates.iter().any(|name| name == "filch-lab"), "this crate should be among {crates:?}");
    let complaints = complaints(&crates, &arrows);
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn the_table_has_no_upward_arrows() {
    for (index, (name, permitted)) in TABLE.iter().enumerate() {
        for used in *permitted {
            let above = TABLE[..index].iter().any(|(row, _)| row == used);
            assert!(above, "{name} may use {used}, which is not above it in the table");
        }
    }
}

#[test]
fn the_lowest_layer_uses_nothing() {
    let grounded: Vec<_> = TABLE.iter().filter(|(_, permitted)| permitted.is_empty()).map(|row| row.0).collect();
    assert_eq!(grounded, ["filch-memory", "filch-macros", "filch-catalogue"]);
}

#[test]
fn forbidden_arrows_and_unknown_crates_are_reported() {
    let dependency = |name: &str, kind: Option<&str>, path: Option<&str>| serde_json::json!({ "name": name, "kind": kind, "path": path });
    let metadata = serde_json::json!({ "packages": [
        { "name": "filch-memory", "dependencies": [
            dependency("filch-queue", None, Some("…")),
            dependency("filch", Some("dev"), Some("…")),
            dependency("loom", None, None),
        ] },
        { "name": "filch-queue", "dependencies": [
            dependency("filch-memory", None, Some("…")),
            dependency("filch", Some("build"), Some("…")),
        ] },
        { "name": "filch", "dependencies": [] },
        { "name": "filch-peers", "dependencies": [dependency("rayon-core", None, None)] },
        { "name": "rayon-core", "dependencies": [] },
        { "name": "filch-attic", "dependencies": [dependency("filch-memory", None, Some("…"))] },
    ] });
    let (crates, arrows) = arrows(&metadata);
    let complaints = complaints(&crates, &arrows);
    assert_eq!(complaints.len(), 3, "{complaints:#?}");
    assert!(complaints[0].starts_with("filch-attic is not in the table"), "{}", complaints[0]);
    assert_eq!(
        complaints[1],
        "forbidden arrow filch-memory → filch-queue: filch-memory may use no crate of the workspace"
    );
    assert_eq!(complaints[2], "forbidden arrow filch-queue → filch: filch-queue may use filch-memory");
}

/// rustfmt leaves comments as they are. Tables and examples may be wider.
#[test]
fn comments_are_at_most_120_columns_wide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let listed = Command::new("git").args(["ls-files", "*.rs"]).current_dir(&root).output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        return println!("not tested: git does not list the files");
    };
    let mut wide = Vec::new();
    for file in String::from_utf8_lossy(&listed.stdout).lines() {
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        let mut is_example = false;
        for (number, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            let comment = comment.trim_start_matches(['/', '!']).trim_start();
            is_example ^= comment.starts_with("```");
            if line.chars().count() > 120 && !is_example && !comment.starts_with('|') {
                wide.push(format!("{file}:{}", number + 1));
            }
        }
    }
    assert!(wide.is_empty(), "wider than 120 columns:\n{}", wide.join("\n"));
}
