//! Programs that end on the published rayon-core end on the drop-in.

use std::io::Write;
use std::process::{Command, Stdio};

/// The reproductions, and the random programs whose seeds are stored.
#[test]
fn what_ends_on_the_published_one_ends_here() {
    let file = |name| format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut check = Command::new(env!("CARGO_BIN_EXE_liveness"));
    check.args(["check", &file("seeds.txt"), &file("reproductions.txt"), "5"]);
    assert!(check.status().expect("it starts").success());
}

/// What `batch` prints for these programs.
fn verdicts(programs: &str) -> String {
    let mut batch = Command::new(env!("CARGO_BIN_EXE_liveness"))
        .args(["batch", "2", "300", "60000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    batch.stdin.take().expect("it is piped").write_all(programs.as_bytes()).expect("it reads");
    String::from_utf8(batch.wait_with_output().expect("it ends").stdout).expect("it is text")
}

/// A program that cannot end is known by its threads, which all sleep.
#[test]
fn what_does_not_end_is_reported() {
    let ends = "threads 2 chan 1 : spawn { recv a } send a";
    for hangs in [
        "threads 2 chan 1 : recv a",
        "threads 2 latch 1 : spawn { await a }",
        "threads 1 barrier 2 : install { join { meet a } { meet a } }",
        "threads 2 global : hold a { hold a { } }",
        "threads 3 second 1 : scope { other { turn a } child { } }",
    ] {
        assert_eq!(verdicts(&format!("{ends}\n{hangs}\n{ends}\n")), "ends\nhung in run 1\n", "{hangs}");
    }
}
