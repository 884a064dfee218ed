//! Runs in processes of their own, so that pools, allocator and pages do not leak between contenders.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use shared_child::SharedChild;

use crate::interrupt::{Watched, interrupted, is_why_it_ended, kill};
use crate::record::Run;

/// What a process says when it waits to be let go.
pub(crate) const READY: &str = "ready";

/// Why there are no runs.
#[derive(Debug, PartialEq)]
pub(crate) enum Trouble {
    Broken(String),
    /// It said that it cannot do this here.
    Refused(String),
    Interrupted,
}

/// Runs `filch run` with these flags in `copies` fresh processes, whose timed runs all start at the same moment.
///
/// Gives the runs of each process. `limit` is for everything together.
pub(crate) fn run(flags: &[String], copies: usize, limit: Duration) -> Result<Vec<Vec<Run>>, Trouble> {
    let (sender, events) = channel();
    let mut processes = Vec::new();
    for index in 0..copies {
        processes.push(Process::start(flags, index, copies > 1, &sender)?);
    }
    drop(sender);
    let watch = watch(&mut processes, &events, Instant::now() + limit);
    if watch.is_err() {
        processes.iter().for_each(|process| kill(&process.child));
    }
    let ends: Vec<Result<Vec<Run>, Trouble>> = processes.into_iter().map(Process::end).collect();
    if interrupted() {
        return Err(Trouble::Interrupted);
    }
    watch?;
    ends.into_iter().collect()
}

/// Something a process did, by its index.
enum Event {
    Line(usize, String),
    Ended,
}

/// Collects what the processes say until all have ended, letting them go whenever all wait.
fn watch(processes: &mut [Process], events: &Receiver<Event>, deadline: Instant) -> Result<(), Trouble> {
    let mut waiting = 0;
    let mut alive = processes.len();
    while alive > 0 {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Line(_, line)) if line == READY => {
                waiting += 1;
                if waiting == processes.len() {
                    waiting = 0;
                    // One that has died shows it by its end.
                    processes.iter_mut().for_each(|process| drop(process.input.write_all(b"go\n")));
                }
            }
            Ok(Event::Line(index, line)) => match serde_json::from_str(&line) {
                Ok(run) => processes[index].runs.push(run),
                Err(error) => return Err(Trouble::Broken(format!("it printed something else than a run: {error}"))),
            },
            Ok(Event::Ended) => {
                alive -= 1;
                if alive > 0 && processes.len() > 1 && waiting > 0 {
                    return Err(Trouble::Broken("one of the copies side by side ended early".to_owned()));
                }
            }
            Err(RecvTimeoutError::Timeout) => return Err(Trouble::Broken("it did not end in time".to_owned())),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}

struct Process {
    child: Arc<SharedChild>,
    watched: Watched,
    input: ChildStdin,
    runs: Vec<Run>,
    errors: std::thread::JoinHandle<String>,
}

impl Process {
    fn start(flags: &[String], index: usize, gate: bool, events: &Sender<Event>) -> Result<Self, Trouble> {
        let broken = |error: std::io::Error| Trouble::Broken(format!("the process could not be started: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(broken)?);
        command.arg("run").args(flags).args(["--json", "-", "--child"]);
        if gate {
            command.arg("--gate");
        }
        // OpenMP leaves the stacks of its threads to this variable, and the default is too small for deep trees.
        if std::env::var_os("OMP_STACKSIZE").is_none() {
            command.env("OMP_STACKSIZE", "64M");
        }
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = Arc::new(SharedChild::spawn(pipes).map_err(broken)?);
        let watched = Watched::new(&child);
        let input = child.take_stdin().expect("the pipe was asked for");
        let output = child.take_stdout().expect("the pipe was asked for");
        let mut error_output = child.take_stderr().expect("the pipe was asked for");
        let events = events.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if events.send(Event::Line(index, line)).is_err() {
                    return;
                }
            }
            let _ = events.send(Event::Ended);
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = error_output.read_to_string(&mut text);
            text
        });
        Ok(Self { child, watched, input, runs: Vec::new(), errors })
    }

    fn end(self) -> Result<Vec<Run>, Trouble> {
        let Self { child, watched: _watched, input, runs, errors } = self;
        drop(input);
        let said = errors.join().unwrap_or_default();
        let status = child.wait().map_err(|error| Trouble::Broken(error.to_string()))?;
        if is_why_it_ended(status) || interrupted() {
            return Err(Trouble::Interrupted);
        }
        let wrong_answer = runs.iter().any(|run| !run.correct);
        if status.success() || (wrong_answer && status.code() == Some(1)) {
            return Ok(runs);
        }
        let said = said.lines().filter(|line| !line.trim().is_empty()).take(2).collect::<Vec<_>>().join(" ");
        let said = said.strip_prefix("filch: ").unwrap_or(&said);
        if status.code() == Some(2) && !said.is_empty() {
            return Err(Trouble::Refused(said.to_owned()));
        }
        Err(Trouble::Broken(if said.is_empty() { status.to_string() } else { format!("{said} ({status})") }))
    }
}
