//! What a program can tell of our rayon-core is what it can tell of the published one, and else it is in the table of
//! `docs/drop-in.md`, where nothing is that it cannot tell.
//!
//! `published.txt` has the lines of the published one. If `STOCK_VISIBLE` is the path of the same program on that, it
//! must still print them.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

type Lines = BTreeMap<String, String>;

fn lines(text: &str) -> Lines {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once(" = ").unwrap_or_else(|| panic!("not a value: {line}")));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn published() -> Lines {
    lines(include_str!("../published.txt"))
}

/// What the program prints with no variables of ours but this one.
fn printed(program: &str, caller: &str) -> Lines {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FILCH_")) {
        command.env_remove(name);
    }
    let output = command.env("FILCH_CALLER", caller).env_remove("RUST_MIN_STACK").output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    lines(&String::from_utf8(output.stdout).expect("text"))
}

fn ours(caller: &str) -> Lines {
    printed(env!("CARGO_BIN_EXE_visible"), caller)
}

/// The lines that only one has, or of which they have other values: `NAME: ONE, OTHER`.
fn differences(one: &Lines, other: &Lines) -> BTreeMap<String, String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let value = |of: &Lines, name: &String| of.get(name).map_or("nothing", String::as_str).to_owned();
    let values = names.into_iter().map(|name| (name.clone(), (value(one, name), value(other, name))));
    values
        .filter(|(_, (one, other))| one != other)
        .map(|(name, (one, other))| (name, format!("{one}; {other}")))
        .collect()
}

/// The lines that the first column of the table names.
fn admitted() -> BTreeSet<String> {
    let page = include_str!("../../../../docs/drop-in.md");
    let (_, rest) = page.split_once("## What a program can see differs\n").expect("the section");
    let section = rest.split("\n## ").next().expect("its text");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let columns = rows.map(|row| row.split(" | ").next().expect("a column"));
    columns.flat_map(|column| column.split('`').filter(|name| name.contains('.')).map(str::to_owned)).collect()
}

#[test]
fn the_page_lists_what_a_program_can_see() {
    let (differing, admitted) = (differences(&published(), &ours("")), admitted());
    let missing: Vec<_> = differing.iter().filter(|(name, _)| !admitted.contains(*name)).collect();
    assert!(missing.is_empty(), "the page does not list these, published and ours: {missing:#?}");
    let alike: Vec<_> = admitted.iter().filter(|name| !differing.contains_key(*name)).collect();
    assert!(alike.is_empty(), "the page lists what does not differ: {alike:#?}");
}

/// The probes are not blind to what they are for.
#[test]
fn a_program_can_tell_callers_that_work() {
    let differing = differences(&ours(""), &ours("1"));
    let expected =
        ["place.main.global.join.first", "place.plain.pool.install", "place.own.thread_local", "place.own.stack"];
    let unseen: Vec<_> = expected.iter().filter(|name| !differing.contains_key(**name)).collect();
    assert!(unseen.is_empty(), "{unseen:?} do not show it, but {differing:#?}");
}

#[test]
fn the_published_lines_are_those_of_the_published_one() {
    let Ok(stock) = std::env::var("STOCK_VISIBLE") else { return };
    let differing = differences(&published(), &printed(&stock, ""));
    assert!(differing.is_empty(), "stored and printed: {differing:#?}");
}

#[test]
fn a_setting_whose_feature_the_program_lacks_is_an_error() {
    for (name, feature) in [("POOL", "pools"), ("SCALE", "scale"), ("TIMELINE", "timeline")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_visible"));
        command.arg("query.default").env(format!("FILCH_{name}"), "x");
        let output = command.output().expect("the program starts");
        let error = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success() && error.contains(&format!("rayon-core's feature `{feature}`")), "{error}");
    }
}
