//! Cases that may end their process. They run in a child process: the same test program, started again.
//!
//! The child runs the cases one after the other and reports the outcome of each. When a case ends the child, another
//! child continues with the next case. Invariant: a case that ends the process other than by an abort, or does not end,
//! fails the test.
#![allow(dead_code, reason = "each test program uses its part")]

use std::env;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write, pipe, stdout};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Far longer than a case takes, even on a busy machine or under a sanitizer.
const PATIENCE: Duration = Duration::from_secs(120);
const PROGRAM: &str = "FILCH_TEST_PROGRAM";
const FIRST: &str = "FILCH_TEST_FIRST_CASE";
const ERROR: &str = "FILCH_TEST_STANDARD_ERROR";
/// Begins the lines of a child that are for its parent.
const MARK: &str = "a child says: ";

/// The state of the child's standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandardError {
    /// Its output is shown if the test fails.
    Heard,
    /// It is closed.
    Closed,
    /// Writing fails because the device is full.
    Full,
    /// Writing fails because nobody reads.
    Broken,
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It reported this.
    Said(String),
    /// The process was aborted.
    Aborted,
}

/// The orders for children.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'o> {
    /// The ignored test that is their main function.
    pub(crate) main: &'o str,
    /// The name that tells them what to run, and its number of cases.
    pub(crate) program: &'o str,
    pub(crate) cases: usize,
    pub(crate) error: StandardError,
    /// Additional environment variables.
    pub(crate) variables: &'o [(&'o str, &'o str)],
}

/// Runs all cases of a program in children, and calls `check` with the outcome of each.
pub(crate) fn run(order: Order<'_>, mut check: impl FnMut(usize, End)) {
    let Order { program, error, variables, .. } = order;
    let mut next = 0;
    while next < order.cases {
        let mut child = start(order, next);
        let (lines, said) = channel();
        let stdout = child.stdout.take().expect("piped");
        let listener = thread::spawn(move || {
            // The test harness prints lines too, before and after.
            let lines_for_us = BufReader::new(stdout).lines().map_while(Result::ok);
            lines_for_us
                .filter_map(|line| line.split_once(MARK).map(|(_, said)| said.to_owned()))
                .for_each(|said| lines.send(said).expect("somebody listens"));
        });
        let stderr = child.stderr.take().map(listen);
        let told =
            |stderr: Option<JoinHandle<String>>| stderr.map_or(String::new(), |all| all.join().expect("no panic"));
        loop {
            match said.recv_timeout(PATIENCE) {
                Ok(what) => check(next, End::Said(what)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    child.kill().expect("it is there");
                    panic!("{program}, case {next}, {error:?}, {variables:?}: it hangs\n{}", told(stderr));
                }
            }
            next += 1;
        }
        listener.join().expect("no panic");
        let status = child.wait().expect("it was started");
        let told = told(stderr);
        if status.signal() == Some(ABORTED) {
            check(next, End::Aborted);
            next += 1;
        } else {
            let is_well = status.success() && next == order.cases;
            assert!(is_well, "{program}, case {next}, {error:?}, {variables:?}: {status}\n{told}");
        }
    }
}

/// The signal of [`std::process::abort`].
const ABORTED: i32 = 6;

fn start(order: Order<'_>, first: usize) -> Child {
    let executable = env::current_exe().expect("a test program has a path");
    let mut command = match order.error {
        StandardError::Closed => {
            let mut shell = Command::new("sh");
            shell.args(["-c", "exec \"$0\" \"$@\" 2>&-"]).arg(executable);
            shell
        }
        _ => Command::new(executable),
    };
    command.args(["--exact", order.main, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(PROGRAM, order.program).env(FIRST, first.to_string()).env(ERROR, format!("{:?}", order.error));
    command.envs(order.variables.iter().copied());
    match order.error {
        StandardError::Heard => command.stderr(Stdio::piped()),
        StandardError::Closed => &mut command,
        StandardError::Full => command.stderr(OpenOptions::new().write(true).open("/dev/full").expect("Linux has it")),
        StandardError::Broken => {
            let (_, writer) = pipe().expect("a pipe");
            command.stderr(writer)
        }
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a test program can be started")
}

fn listen(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut all = Vec::new();
        // The part read so far is good enough.
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    })
}

/// Returns what the child must run: the program, and the first of its cases.
pub(crate) fn asked() -> Option<(String, usize)> {
    Some((env::var(PROGRAM).ok()?, env::var(FIRST).ok()?.parse().ok()?))
}

/// Returns whether somebody reads the child's standard error.
pub(crate) fn is_heard() -> bool {
    env::var(ERROR).is_ok_and(|error| error == format!("{:?}", StandardError::Heard))
}

/// Reports the outcome of the next case to the parent.
pub(crate) fn say(what: &str) {
    let mut stdout = stdout().lock();
    writeln!(stdout, "{MARK}{what}").and_then(|()| stdout.flush()).expect("the parent listens");
}
