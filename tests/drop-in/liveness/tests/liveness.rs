//! Programs that end on the published rayon-core end on the drop-in.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// The reproductions, and the random programs whose seeds are stored.
///
/// On either build luck decides now and then, such as which of two tasks with one lock a thief finds, and luck differs
/// between machines. What fails here is therefore compared with the published one, which is built only then.
#[test]
fn what_ends_on_the_published_one_ends_here() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let (target, ours) = (env!("CARGO_TARGET_TMPDIR"), env!("CARGO_BIN_EXE_liveness"));
    let check = Command::new(ours)
        .args(["check", &format!("{folder}/seeds.txt"), &format!("{folder}/reproductions.txt"), "5"])
        .output()
        .expect("it starts");
    if check.status.success() {
        return;
    }
    let failed = String::from_utf8(check.stdout).expect("it is text");
    println!("{failed}{}", String::from_utf8_lossy(&check.stderr));
    assert_eq!(check.status.code(), Some(1), "programs have failed, and nothing else");
    let file = format!("{target}/failed.txt");
    fs::write(&file, failed).expect("the file can be written");
    let build = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--bin", "liveness", "--target-dir", target])
        .args(["--manifest-path", &format!("{folder}/../stock/Cargo.toml")])
        .status();
    assert!(build.expect("cargo starts").success(), "the published one can be built");
    let stock = format!("{target}/debug/liveness");
    let compare = Command::new(ours)
        .args(["compare", "--stock", &stock, "--ours", ours, "--file", &file])
        .output()
        .expect("it starts");
    assert!(compare.status.success(), "{}", String::from_utf8_lossy(&compare.stdout));
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
