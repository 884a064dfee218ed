//! The environment's settings for filch, read whenever a pool is built.
//!
//! `FILCH_POOL` names the task pool, `FILCH_WAIT` says what workers do while they wait, `FILCH_CALLER` whether callers
//! work themselves, whatever the program says, `FILCH_STATS=1` asks for the counters at the end, `FILCH_TIMELINE`
//! names a file for a timeline of the global pool, and `FILCH_SCALE` one for a recording of the program. An unknown
//! value is an error, not a default, and so is a variable whose feature the program lacks: a user who sets one wants to
//! see its effect.

use std::env;
use std::io;

use filch::inside::host::{Crew, Lease, PerProcess, Processors, Seat, Single, TimelineFile};
use filch::pool::Split;
use filch::{BuildError, Builder, Wait};

/// Returns the value of a variable, unless it is unset or empty.
fn variable(name: &'static str) -> io::Result<Option<String>> {
    filch::inside::host::variable(name).map_err(unusable)
}

fn unusable(error: BuildError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

/// Returns where the timeline of the global pool goes.
pub(crate) fn timeline() -> io::Result<TimelineFile> {
    #[cfg(not(feature = "timeline"))]
    if let Some(file) = variable("FILCH_TIMELINE")? {
        return Err(lacks("timeline", "FILCH_TIMELINE", &file));
    }
    TimelineFile::by_environment().map_err(unusable)
}

fn invalid(name: &str, value: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{name}={value}: {why}"))
}

/// The error of a variable whose feature the program lacks.
#[cfg(not(all(feature = "pools", feature = "scale", feature = "timeline")))]
fn lacks(feature: &str, name: &str, value: &str) -> io::Error {
    invalid(name, value, &format!("the program is built without rayon-core's feature `{feature}`"))
}

fn wait() -> io::Result<Wait> {
    let Some(value) = variable("FILCH_WAIT")? else { return Ok(Wait::default()) };
    value.parse().map_err(|error: filch::UnknownWait| invalid("FILCH_WAIT", &value, &error.to_string()))
}

/// The crew of a process that is recorded: one worker, for all pools whose threads are not the program's own.
pub(crate) struct Recorded {
    pub(crate) crew: Crew,
    pub(crate) lease: Lease,
    /// The number of threads that pools say they have if the program does not set it.
    pub(crate) threads: usize,
}

/// Returns the crew of this process's recording, if the environment asks for one. The first call starts it.
pub(crate) fn recorded() -> io::Result<Option<&'static Recorded>> {
    static RECORDED: PerProcess<Single<Option<Recorded>>> = PerProcess::new();
    RECORDED.get().get_or_make(record).map(Option::as_ref)
}

#[cfg(not(feature = "scale"))]
fn record() -> io::Result<Option<Recorded>> {
    variable("FILCH_SCALE")?.map_or(Ok(None), |file| Err(lacks("scale", "FILCH_SCALE", &file)))
}

#[cfg(feature = "scale")]
fn record() -> io::Result<Option<Recorded>> {
    use std::sync::{Arc, Mutex, PoisonError};

    use filch::inside::host::{ScaleFile, Thread};

    // What runs on 64 threads otherwise, each with its own stack, may nest on one.
    const STACK: usize = 1 << 30;
    let Some(file) = ScaleFile::by_environment().map_err(unusable)? else { return Ok(None) };
    if let Some(pool) = variable("FILCH_POOL")? {
        return Err(invalid("FILCH_POOL", &pool, "FILCH_SCALE records on a pool of its own kind; unset one of them"));
    }
    let (crew, lease, seats) = ScaleFile::builder().wait(wait()?).seats().map_err(io::Error::other)?;
    for seat in seats {
        let mut stack = STACK;
        let seat = Arc::new(Mutex::new(Some(seat)));
        loop {
            // A thread that fails to start drops its closure.
            let seat = Arc::clone(&seat);
            let run = move || {
                filch::inside::host::unpin();
                let seat = seat.lock().unwrap_or_else(PoisonError::into_inner).take();
                seat.expect("one thread has started").run(stack, || (), || ());
            };
            match Thread::start(None, Some(stack), run) {
                Err(_) if stack > filch::DEFAULT_STACK_SIZE => stack /= 4,
                started => break drop(started?),
            }
        }
    }
    let threads = file.workers();
    file.record(&crew);
    Ok(Some(Recorded { crew, lease, threads }))
}

/// Makes a crew of `workers` workers as the environment asks. If `follows`, the number of them that work follows the
/// number of processors; `found` has the processors, if they are known already. `callers_work` tells whether callers
/// work if the environment says nothing.
pub(crate) fn crew(
    workers: usize,
    follows: bool,
    found: Option<Processors>,
    callers_work: bool,
) -> io::Result<(Crew, Lease, Vec<Seat>)> {
    let wait = wait()?;
    let callers_work = match variable("FILCH_CALLER")?.as_deref() {
        Some("0") => false,
        Some("1") => true,
        Some(other) => return Err(invalid("FILCH_CALLER", other, "it must be 0 or 1")),
        None => callers_work,
    };
    if let Some(other) = variable("FILCH_STATS")?
        && !["0", "1"].contains(&&*other)
    {
        return Err(invalid("FILCH_STATS", &other, "it must be 0 or 1"));
    }
    let builder =
        Builder::<Split>::new().workers(workers).follow_processors(follows).wait(wait).caller_works(callers_work);
    let builder = found.into_iter().fold(builder, Builder::within);
    match variable("FILCH_POOL")?.as_deref() {
        None | Some("split") => builder.seats().map_err(io::Error::other),
        Some(pool) => seats(builder, pool),
    }
}

#[cfg(not(feature = "pools"))]
fn seats(_: Builder<Split>, pool: &str) -> io::Result<(Crew, Lease, Vec<Seat>)> {
    Err(lacks("pools", "FILCH_POOL", pool))
}

#[cfg(feature = "pools")]
fn seats(builder: Builder<Split>, pool: &str) -> io::Result<(Crew, Lease, Vec<Seat>)> {
    use filch::pool::{Heartbeat, Queued, Request, Wool};
    use filch_queue::{ChaseLev, Lace, PdqRAsync, The};

    let seats = match pool {
        "wool" => builder.pool::<Wool>().seats(),
        "chase-lev" => builder.pool::<Queued<ChaseLev>>().seats(),
        "lace" => builder.pool::<Queued<Lace>>().seats(),
        "the" => builder.pool::<Queued<The>>().seats(),
        "pdq-r-async" => builder.pool::<Queued<PdqRAsync>>().seats(),
        "heartbeat-request" => builder.pool::<Heartbeat<ChaseLev, Request>>().seats(),
        _ => {
            let why = "there is no such pool; there are split, wool, chase-lev, lace, the, pdq-r-async and \
                       heartbeat-request";
            return Err(invalid("FILCH_POOL", pool, why));
        }
    };
    seats.map_err(io::Error::other)
}

/// Returns whether to print the counters.
pub(crate) fn wants_stats() -> bool {
    env::var("FILCH_STATS").is_ok_and(|value| value == "1")
}
