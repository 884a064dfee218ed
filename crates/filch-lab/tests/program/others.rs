//! Verbs that other programs answer: the probes, the checkers.

#[cfg(unix)]
use std::io::Read;
#[cfg(unix)]
use std::process::{Command, Stdio};

#[cfg(unix)]
use crate::stderr;
use crate::{lines, refuses, stdout, well};

#[test]
fn probes_write_one_object() {
    let idle = lines(&stdout(&well(&["probe", "idle", "--workers", "2", "--seconds", "1", "--json", "-"])));
    assert_eq!((&idle[0]["probe"], &idle[0]["workers"]), (&"idle".into(), &2.into()));
    let wakeup = lines(&stdout(&well(&["probe", "wakeup", "--workers", "2", "--samples", "5", "--json", "-"])));
    assert_eq!(wakeup[0]["samples"].as_array().unwrap().len(), 5);
    let calls = lines(&stdout(&well(&["probe", "calls", "--callers", "2", "--samples", "1", "--json", "-"])));
    assert_eq!(
        (calls.len(), &calls[0]["calls"]),
        (6 * 5 * 3, &6.into()),
        "a call of each kind, caller, contender and turn"
    );
}

#[test]
fn random_programs_are_right() {
    let text = stdout(&well(&["stress", "programs", "--seconds", "1", "--seed", "1", "--workers", "1,2"]));
    assert!(text.contains("all right"), "{text}");
}

#[test]
fn queues_are_stressed() {
    let text = stdout(&well(&["stress", "chase-lev", "locked", "--seconds", "1", "--seed", "1", "--threads", "3"]));
    assert!(text.contains("No task lost") && text.contains("chase-lev") && !text.contains("lace"), "{text}");
    assert_eq!(stdout(&well(&["stress", "lace", "--seconds", "1", "--threads", "1", "--quiet"])), "");
    refuses(&["stress", "--threads", "0"], &["--threads"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_check_keeps_what_it_has() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_filch"))
        // Half an hour of work, but for the first.
        .args(["check", "chase-lev", "--all", "--memory", "tso", "--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut output = child.stdout.take().expect("a pipe");
    let mut said = vec![0];
    output.read_exact(&mut said).expect("a line comes");
    let process = libc::pid_t::try_from(child.id()).expect("process numbers fit their type");
    // SAFETY: the process is a child that has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(process, libc::SIGINT) }, 0);
    output.read_to_end(&mut said).expect("it ends");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(130), "{}", stderr(&ended));
    let lines = lines(&String::from_utf8(said).expect("text"));
    assert_eq!(lines[0]["verdict"], "holds");
    assert!(lines.len() < 50, "the rest is left out");
    assert!(lines.iter().all(|line| line["verdict"] == "holds" || line["verdict"] == "interrupted"));
}
