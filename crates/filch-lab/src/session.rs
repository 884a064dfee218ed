//! Visits to runners: processes of their own, so that pools, allocator and pages do not leak between contenders.
//!
//! What must always hold: whatever a runner does, a visit ends within its limit, with the runner's process gone.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use filch_protocol::{Description, Hello, Order, Ran, Reply, Request, VERSION};
use shared_child::SharedChild;

use crate::error::{Error, Result};
use crate::interrupt::{Watched, interrupted, is_why_it_ended, kill};

/// Why there are no runs.
#[derive(Debug)]
pub(crate) enum Trouble {
    Broken(String),
    /// It said that it cannot do this here.
    Refused(String),
    Interrupted,
    /// Whoever takes the runs could not.
    Taker(Error),
}

/// What is asked of runners, of how many side by side, and how often.
pub(crate) struct Asked<'a> {
    pub(crate) runner: &'a Path,
    pub(crate) order: &'a Order,
    /// The timed runs of all copies start at the same moment.
    pub(crate) copies: usize,
    pub(crate) repeats: usize,
    /// For everything together.
    pub(crate) limit: Option<Duration>,
}

impl Asked<'_> {
    /// Has each copy run the program, and hands each run to `take`.
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

    /// All copies in step: each is asked for the next thing when all have done the last one.
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
                            let why =
                                format!("it says that a run took {told} s, and has answered after {elapsed:.6} s");
                            return Err(Trouble::Broken(why));
                        }
                        let hello = hellos[from].as_ref().expect("it has said hello");
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

/// Who the runner is, and what it can do.
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

/// A hello of somebody who speaks our version.
fn understood(hello: Hello) -> std::result::Result<Hello, Trouble> {
    if hello.protocol == VERSION {
        return Ok(hello);
    }
    let spoken = hello.protocol;
    Err(Trouble::Broken(format!("the runner speaks version {spoken} of the protocol, this program {VERSION}")))
}

fn no_hello() -> Trouble {
    Trouble::Broken("it did not say hello".to_owned())
}

/// How a process ended says more than that it did.
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

/// Instead of what it should have said.
fn unexpected(reply: Reply) -> Trouble {
    match reply {
        Reply::Refused { why } => Trouble::Refused(why),
        other => {
            let shown = serde_json::to_string(&other).unwrap_or_default();
            Trouble::Broken(format!("it said something out of turn: {shown}"))
        }
    }
}

/// It ended before it was told to.
const ENDED: &str = "it ended early";

/// Something a process did, by its index.
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
                    Err(Trouble::Broken(format!("it printed something else than a reply, `{start}`: {error}")))
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
        // OpenMP leaves the stacks of its threads to this variable, and the default is too small for deep trees.
        if std::env::var_os("OMP_STACKSIZE").is_none() {
            command.env("OMP_STACKSIZE", "64M");
        }
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = Arc::new(SharedChild::spawn(pipes).map_err(broken)?);
        let watched = Watched::new(&child);
        let input = child.take_stdin();
        let output = child.take_stdout().expect("the pipe was asked for");
        let error_output = child.take_stderr().expect("the pipe was asked for");
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

    /// A runner that has died shows it by its end.
    fn ask(&mut self, request: &Request) {
        let mut line = serde_json::to_string(request).expect("requests are plain data");
        line.push('\n');
        if let Some(input) = &mut self.input {
            let _ = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        }
    }

    /// Nothing more is asked of it: waits for its end, which it is given some time for unless it has been killed.
    fn end(self, is_killed: bool) -> std::result::Result<(), Trouble> {
        const GRACE: Duration = Duration::from_secs(5);
        const LAST_WORDS: Duration = Duration::from_secs(1);
        let Self { child, watched: _watched, input, errors, exit } = self;
        drop(input);
        let by_itself = if is_killed { exit.recv().ok() } else { exit.recv_timeout(GRACE).ok() };
        let Some(status) = by_itself else {
            kill(&child);
            return Err(Trouble::Broken("it did not end, though nothing was left to do".to_owned()));
        };
        let status = status.map_err(|error| Trouble::Broken(error.to_string()))?;
        if is_why_it_ended(status) || interrupted() {
            return Err(Trouble::Interrupted);
        }
        // Whatever it has started may have its standard error still.
        let said = errors.recv_timeout(LAST_WORDS).unwrap_or_default();
        let said = said.lines().filter(|line| !line.trim().is_empty()).take(2).collect::<Vec<_>>().join(" ");
        match said.as_str() {
            _ if status.success() => Ok(()),
            "" => Err(Trouble::Broken(status.to_string())),
            said => Err(Trouble::Broken(format!("{said} ({status})"))),
        }
    }
}

/// A line of at most so many bytes as a reply has; what is longer is cut, and so no reply.
fn line(output: &mut impl BufRead) -> io::Result<Option<String>> {
    const LONGEST: u64 = 1 << 20;
    let mut bytes = Vec::new();
    if output.take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()))
}

/// What a process writes to its standard error, as far as anybody wants to read it.
fn beginning(mut output: impl Read) -> String {
    const ENOUGH: u64 = 1 << 14;
    let mut text = Vec::new();
    let _ = output.by_ref().take(ENOUGH).read_to_end(&mut text);
    let _ = io::copy(&mut output, &mut io::sink());
    String::from_utf8_lossy(&text).into_owned()
}
