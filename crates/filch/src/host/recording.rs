//! Recordings of whole processes, which the environment asks for: the work and span of a program that says nothing of
//! filch.
//!
//! Invariant: a process writes only its own recording, since the child of a `fork()` has no worker that records.

use std::env;
use std::fs::File;
use std::io::BufWriter;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::crew::Crew;
use crate::machine::process::{self, at_exit};
use crate::machine::{thread::Thread, thread_time::ThreadClock};
use crate::pool::Recorded;
use crate::tasks::record::{Recording, empty_forks};
use crate::threads::builder::Builder;
use crate::threads::{defaults::MAX_WORKERS, environment::variable, error::BuildError};
use crate::unwind::warn;
use crate::worker::strands;
use crate::worker::strands::calls::{self, Doing};

/// The file into which a recording of the process goes, if the environment variable `FILCH_SCALE` names one.
///
/// ```
/// use filch::inside::host::ScaleFile;
///
/// assert!(ScaleFile::by_environment()?.is_none(), "the variable is not set");
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Debug)]
pub struct ScaleFile {
    name: String,
    file: File,
    workers: usize,
}

/// The stack of a thread that only watches.
const LITTLE: usize = 256 << 10;

/// Where the recording of this process goes.
static FILE: Mutex<Option<(String, File)>> = Mutex::new(None);

extern "C" fn write_at_exit() {
    if calls::is_here() {
        ScaleFile::write();
    }
}

impl ScaleFile {
    /// Makes the file that the environment names, if any. The first process that asks gets it: its children run as
    /// ever. If the file cannot be made, says so, and the program runs as ever.
    ///
    /// # Errors
    /// [`BuildError::Variable`] if `FILCH_SCALE_WORKERS` is no number of workers.
    pub fn by_environment() -> Result<Option<Self>, BuildError> {
        const WORKERS: &str = "FILCH_SCALE_WORKERS";
        const MANY: usize = 64;
        let Some(name) = variable("FILCH_SCALE")? else { return Ok(None) };
        let workers = match variable(WORKERS)? {
            None => MANY,
            Some(value) => match value.parse() {
                Ok(workers @ 1..=MAX_WORKERS) => workers,
                _ => {
                    let why = format!("it must be a number from 1 to {}", MAX_WORKERS);
                    return Err(BuildError::Variable { name: WORKERS, value, why });
                }
            },
        };
        if process::is_child() {
            return Ok(None);
        }
        let name = name.replace("%p", &std::process::id().to_string());
        match File::create(&name) {
            Ok(file) => Ok(Some(Self { name, file, workers })),
            Err(error) => {
                warn(format_args!("nothing is recorded, since {name} cannot be made ({error})"));
                Ok(None)
            }
        }
    }

    /// The number of workers of the machine for which the program divides its work: `FILCH_SCALE_WORKERS`.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Returns the settings of the crew that records.
    pub fn builder() -> Builder<Recorded> {
        Builder::<Recorded>::new().workers(1).caller_works(false)
    }

    /// Records all calls into this crew, which has a thread, and writes the file when the process ends.
    pub fn record(self, crew: &Crew) {
        let Self { name, file, workers } = self;
        let (log, clock) = crew.enter(|| {
            let log = Recording::new().start(empty_forks);
            strands::rest();
            strands::crowd(workers);
            (log, ThreadClock::current())
        });
        calls::begin(log, crew.address(), filch_queue::clock::per_nanosecond());
        *FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some((name, file));
        at_exit(write_at_exit);
        if let Some(clock) = clock {
            // Without a thread for it, nobody watches.
            let _ = Thread::start(None, Some(LITTLE), move || watch(clock));
        }
    }

    /// Ends the recording of this process, if there is one: writes it, and says what it shows.
    pub fn write() {
        let Some((name, file)) = FILE.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let Some((scale, census)) = calls::end() else { return };
        if census.calls == 0 {
            return warn(format_args!("nothing was recorded: the program has not called into a pool that records"));
        }
        let written = scale.write_json(BufWriter::new(&file), &program());
        warn(format_args!("{scale}"));
        for name in census.drawing {
            warn(format_args!(
                "`{name}` draws items by `par_bridge`, and one thread has drawn all: they count as sequential there, \
                 and may be parallel"
            ));
        }
        if census.threads > 1 {
            warn(format_args!(
                "{} threads called into the pool: each is taken to begin with the program, in parallel to the others",
                census.threads
            ));
        }
        if census.unrecorded > 0 {
            warn(format_args!(
                "{} calls went unrecorded, into pools with threads of the program's own",
                census.unrecorded
            ));
        }
        match written {
            Ok(()) => warn(format_args!("the recording is in {name}")),
            Err(error) => {
                // Half a recording is none. What is no file stays as it is.
                let _ = file.set_len(0);
                warn(format_args!(
                    "the recording cannot be written to {name} ({error}): make room there, or have FILCH_SCALE name \
                     another file, and run the program again"
                ));
            }
        }
    }
}

/// Says so if the worker is stuck in a task: perhaps it waits for another.
fn watch(clock: ThreadClock) {
    const LONG: Duration = Duration::from_secs(5);
    /// What a thread that waits may run meanwhile, in nanoseconds.
    const LITTLE_TIME: u64 = 10_000_000;
    let look = || Some((calls::doing()?, clock.time()?));
    let mut before = look();
    while let Some((doing, ran)) = before {
        std::thread::sleep(LONG);
        let now = look();
        if let (Doing::Strand(_), Some((still, runs))) = (doing, now)
            && doing == still
            && runs - ran < LITTLE_TIME
        {
            return warn(format_args!(
                "a task has waited for {} s: if it waits for another task, it waits for ever, since one thread runs \
                 all tasks of a program that is recorded",
                LONG.as_secs()
            ));
        }
        before = now;
    }
}

/// The command line.
fn program() -> String {
    env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The current job ends here, for a strand that waits by other means, and [collects](collect) it at this address.
pub fn arrive(at: usize) {
    calls::arrive(at);
}

/// The current strand goes on no earlier than those that have [arrived](arrive) at this address.
pub fn collect(at: usize) {
    calls::collect(at);
}
