//! Visits to runners, each in separate processes, so that pools, allocator and pages do not leak between contenders.
//!
//! Invariant: whatever a runner does, a visit ends within its limit, and the runner's process is gone.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use filch_catalogue::protocol::{Description, Hello, Order, Ran, Reply, Request, VERSION};
use shared_child::SharedChild;

use crate::error::{Error, Result};
use crate::interrupt::{Watched, interrupted, is_why_it_ended, kill};

/// The reason why there are no runs.
#[derive(Debug)]
pub(crate) enum Trouble {
    Broken(String),
    /// The runner reported that it cannot do this here.
    Refused(String),
    Interrupted,
    /// The receiver of the runs failed.
    Taker(Error),
}

/// A request to copies of a runner.
pub(crate) struct Asked<'a> {
    pub(crate) runner: &'a Path,
    pub(crate) order: &'a Order,
    /// The timed runs of all copies start at the same moment.
    pub(crate) copies: usize,
    pub(crate) repeats: usize,
    /// The time limit for everything together.
    pub(crate) limit: Option<Duration>,
}

impl Asked<'_> {
    /// Makes each copy run the program, and passes each run to `take`.
    pub(crate) fn run(&self, take: &mut dyn FnMut(&Hello, Ran) -> Result) -> std::result::Result<(), Trouble> {
        let (sender, events) = channel();
        let mut processes = Vec::new();
        for index in 0..self.copies {
            match Process::start(self.runner, index, &sender) {
                Ok(process) => processes.push(process),
                Err(trouble) => {
                    processes.iter().for_each(|process| kill(&process.child));
                    return Err(trouble);
                }
            }
        }
        drop(sender);
        let outcome = self.converse(&mut processes, &events, take);
        if outcome.is_err() {
            processes.iter().for_each(|process| kill(&process.child));
        }
        let ends: Vec<_> = processes.into_iter().map(|process| process.end(outcome.is_err())).collect();
        if interrupted() || ends.iter().any(|end| matches!(end, Err(Trouble::Interrupted))) {
            return Err(Trouble::Interrupted);
        }
        match outcome {
            Err(trouble) => Err(better(trouble, ends)),
            Ok(()) => ends.into_iter().collect(),
        }
    }

    /// Drives the copies in step: the next request follows when all have answered the last one.
    fn converse(
        &self,
        processes: &mut [Process],
        events: &Receiver<Event>,
        take: &mut dyn FnMut(&Hello, Ran) -> Result,
    ) -> std::result::Result<(), Trouble> {
        let mut listen = Listener { deadline: self.limit.map(|limit| Instant::now() + limit), events };
        for process in processes.iter_mut() {
            process.ask(&Request::Prepare(self.order.clone()));
        }
        let mut hellos: Vec<Option<Hello>> = vec![None; self.copies];
        for round in 0..self.repeats {
            if round > 0 {
                processes.iter_mut().for_each(|process| process.ask(&Request::Reset));
            }
            for _ in 0..self.copies {
                let mut said = listen.next()?;
                while let (from, Reply::Hello(hello)) = said {
                    hellos[from] = Some(understood(hello)?);
                    said = listen.next()?;
                }
                match said {
                    (from, Reply::Ready) if hellos[from].is_some() => {}
                    (_, Reply::Ready) => return Err(no_hello()),
                    (_, other) => return Err(unexpected(other)),
                }
            }
            let asked = Instant::now();
            processes.iter_mut().for_each(|process| process.ask(&Request::Run));
            for _ in 0..self.copies {
                match listen.next()? {
                    (from, Reply::Ran(ran)) => {
                        let (told, elapsed) = (ran.seconds, asked.elapsed().as_secs_f64());
                        if !(0.0..=elapsed).contains(&told) {
                            let why = format!("it reports {told} s for a run, but answered after {elapsed:.6} s");
                            return Err(Trouble::Broken(why));
                        }
                        let hello = hellos[from].as_ref().expect("a hello precedes");
                        take(hello, *ran).map_err(Trouble::Taker)?;
                    }
                    (_, other) => return Err(unexpected(other)),
                }
            }
        }
        processes.iter_mut().for_each(|process| process.input = None);
        Ok(())
    }
}

/// Returns the runner's identity and description.
pub(crate) fn describe(runner: &Path, limit: Duration) -> std::result::Result<(Hello, Description), Trouble> {
    let (sender, events) = channel();
    let mut process = Process::start(runner, 0, &sender)?;
    drop(sender);
    let mut listen = Listener { deadline: Some(Instant::now() + limit), events: &events };
    process.ask(&Request::Describe);
    let mut converse = || {
        let Reply::Hello(hello) = listen.next()?.1 else { return Err(no_hello()) };
        let hello = understood(hello)?;
        match listen.next()?.1 {
            Reply::Description(description) => Ok((hello, description)),
            other => Err(unexpected(other)),
        }
    };
    let outcome = converse();
    process.input = None;
    if outcome.is_err() {
        kill(&process.child);
    }
    let end = process.end(outcome.is_err());
    outcome.map_err(|trouble| better(trouble, [end]))
}

/// Checks the protocol version of a hello.
fn understood(hello: Hello) -> std::result::Result<Hello, Trouble> {
    if hello.protocol == VERSION {
        return Ok(hello);
    }
    let spoken = hello.protocol;
    Err(Trouble::Broken(format!(
        "the runner uses version {spoken} of the protocol, but this program uses version {VERSION}"
    )))
}

fn no_hello() -> Trouble {
    Trouble::Broken("it did not say hello".to_owned())
}

/// Prefers the error of a process's end, which says more than that it ended.
fn better(trouble: Trouble, ends: impl IntoIterator<Item = std::result::Result<(), Trouble>>) -> Trouble {
    match trouble {
        Trouble::Broken(why) if why == ENDED => {
            let told = ends.into_iter().find_map(|end| match end {
                Err(Trouble::Broken(told)) => Some(told),
                _ => None,
            });
            Trouble::Broken(told.unwrap_or(why))
        }
        other => other,
    }
}

/// Returns the trouble of an unexpected reply.
fn unexpected(reply: Reply) -> Trouble {
    match reply {
        Reply::Refused { why } => Trouble::Refused(why),
        other => {
            let shown = serde_json::to_string(&other).unwrap_or_default();
            Trouble::Broken(format!("it sent an unexpected reply: {shown}"))
        }
    }
}

/// The message about a process that ended too early.
const ENDED: &str = "it ended early";

/// An event of a process, by its index.
enum Event {
    Line(usize, String),
    Ended,
}

struct Listener<'e> {
    deadline: Option<Instant>,
    events: &'e Receiver<Event>,
}

impl Listener<'_> {
    fn next(&mut self) -> std::result::Result<(usize, Reply), Trouble> {
        let event = match self.deadline {
            Some(deadline) => self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match event {
            Ok(Event::Line(from, line)) => match serde_json::from_str(&line) {
                Ok(reply) => Ok((from, reply)),
                Err(error) => {
                    let start: String = line.chars().take(60).collect();
                    Err(Trouble::Broken(format!("it printed something other than a reply, `{start}`: {error}")))
                }
            },
            Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => Err(Trouble::Broken(ENDED.to_owned())),
            Err(RecvTimeoutError::Timeout) => Err(Trouble::Broken("it did not end in time".to_owned())),
        }
    }
}

struct Process {
    child: Arc<SharedChild>,
    watched: Watched,
    input: Option<ChildStdin>,
    errors: Receiver<String>,
    exit: Receiver<io::Result<ExitStatus>>,
}

impl Process {
    fn start(runner: &Path, index: usize, events: &Sender<Event>) -> std::result::Result<Self, Trouble> {
        let broken = |error: io::Error| {
            Trouble::Broken(format!("the runner {} could not be started: {error}", runner.display()))
        };
        let mut command = Command::new(runner);
        // OpenMP reads the stack size of its threads from this variable; the default is too small for deep trees.
        if std::env::var_os("OMP_STACKSIZE").is_none() {
            command.env("OMP_STACKSIZE", "64M");
        }
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = Arc::new(SharedChild::spawn(pipes).map_err(broken)?);
        let watched = Watched::new(&child);
        let input = child.take_stdin();
        let output = child.take_stdout().expect("stdout is piped");
        let error_output = child.take_stderr().expect("stderr is piped");
        let events = events.clone();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(Some(line)) = line(&mut output) {
                if events.send(Event::Line(index, line)).is_err() {
                    return;
                }
            }
            let _ = events.send(Event::Ended);
        });
        let (told, errors) = channel();
        std::thread::spawn(move || told.send(beginning(error_output)));
        let ((ended, exit), waited_for) = (channel(), Arc::clone(&child));
        std::thread::spawn(move || ended.send(waited_for.wait()));
        Ok(Self { child, watched, input, errors, exit })
    }

    /// Sends a request. The end of a dead runner is reported elsewhere.
    fn ask(&mut self, request: &Request) {
        let mut line = serde_json::to_string(request).expect("requests are plain data");
        line.push('\n');
        if let Some(input) = &mut self.input {
            let _ = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        }
    }

    /// Ends the conversation and waits for the process to end, for a limited time unless it was killed.
    fn end(self, is_killed: bool) -> std::result::Result<(), Trouble> {
        const GRACE: Duration = Duration::from_secs(5);
        const LAST_WORDS: Duration = Duration::from_secs(1);
        let Self { child, watched: _watched, input, errors, exit } = self;
        drop(input);
        let by_itself = if is_killed { exit.recv().ok() } else { exit.recv_timeout(GRACE).ok() };
        let Some(status) = by_itself else {
            kill(&child);
            return Err(Trouble::Broken("it did not end after its last request".to_owned()));
        };
        let status = status.map_err(|error| Trouble::Broken(error.to_string()))?;
        if is_why_it_ended(status) || interrupted() {
            return Err(Trouble::Interrupted);
        }
        // The process's own children may still hold its standard error.
        let said = errors.recv_timeout(LAST_WORDS).unwrap_or_default();
        let said = said.lines().filter(|line| !line.trim().is_empty()).take(2).collect::<Vec<_>>().join(" ");
        match said.as_str() {
            _ if status.success() => Ok(()),
            "" => Err(Trouble::Broken(status.to_string())),
            said => Err(Trouble::Broken(format!("{said} ({status})"))),
        }
    }
}

/// Reads a line. A line longer than any reply is cut, so that it is not a valid reply.
fn line(output: &mut impl BufRead) -> io::Result<Option<String>> {
    const LONGEST: u64 = 1 << 20;
    let mut bytes = Vec::new();
    if output.take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()))
}

/// Reads the beginning of a process's standard error, and discards the rest.
fn beginning(mut output: impl Read) -> String {
    const ENOUGH: u64 = 1 << 14;
    let mut text = Vec::new();
    let _ = output.by_ref().take(ENOUGH).read_to_end(&mut text);
    let _ = io::copy(&mut output, &mut io::sink());
    String::from_utf8_lossy(&text).into_owned()
}
