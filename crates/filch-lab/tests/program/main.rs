//! The program as users call it: its output and exit status.

use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::Value;

#[path = "../common/mod.rs"]
mod common;
mod driver;
mod peers;
mod reproductions;
#[cfg(unix)]
mod runners;
mod runs;
mod sessions;
mod simulations;
mod usage;

use driver::driver;

fn filch(arguments: &[&str]) -> Output {
    let mut command = driver();
    command.args(arguments).current_dir(folder()).env_remove("NO_COLOR").stdin(Stdio::null());
    command.output().expect("the program starts")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object on each line")).collect()
}

fn well(arguments: &[&str]) -> Output {
    let output = filch(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    output
}

/// Expects bad usage: status 2, nothing on standard output, and these words on standard error.
fn refuses(arguments: &[&str], words: &[&str]) {
    let output = filch(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: `{word}` in {said}");
    }
}
