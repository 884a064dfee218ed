//! The checker's program: its output and exit status.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;

fn check() -> Command {
    Command::new(env!("CARGO_BIN_EXE_filch-check"))
}

/// Returns the output of a successful run.
fn well(arguments: &[&str]) -> String {
    let output = check().args(arguments).stdin(Stdio::null()).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

/// Whether a δ suffices is the user's question, so a failure comes with its history.
#[test]
fn a_delta_that_is_too_small_is_told() {
    let with = |delta| ["check", "ff-cl", "--buffer", "1", "--memory", "tso", "--delta", delta];
    assert!(well(&with("1")).contains("11 checks"));
    let output = check().args(with("0")).stdin(Stdio::null()).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("was taken 2 times") && said.contains("Again: filch check ff-cl --scenario"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_check_keeps_what_it_has() {
    let mut child = check()
        // Half an hour of work after the first check.
        .args(["check", "chase-lev", "--all", "--memory", "tso", "--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut output = child.stdout.take().expect("a pipe");
    let mut said = vec![0];
    output.read_exact(&mut said).expect("a line comes");
    let process = libc::pid_t::try_from(child.id()).expect("process numbers fit their type");
    // SAFETY: the process is a child that has not been waited for, so the process id is still its own.
    assert_eq!(unsafe { libc::kill(process, libc::SIGINT) }, 0);
    output.read_to_end(&mut said).expect("it ends");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stderr));
    let text = String::from_utf8(said).expect("text");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("an object on each line")).collect();
    assert_eq!(lines[0]["verdict"], "holds");
    assert!(lines.len() < 50, "the rest is left out");
    assert!(lines.iter().all(|line| line["verdict"] == "holds" || line["verdict"] == "interrupted"));
}
