//! The recording of a whole process: what threads outside do between their calls into the pool, and where the calls
//! lie in the graph.
//!
//! Each thread outside is a chain: it begins with the program, and is its own time and the calls that it waits for, one
//! after the other. Its time is the processor's: what it sleeps, or waits for files, is no work. Chains are parallel to
//! each other, since nobody knows where a thread was started.
//!
//! *Foretold thefts.* A loop of rayon's splits further where it is stolen. On idle workers, so many of them, the halves
//! of a fork are shared out: each branch gets half of the fork's workers, and a second branch is stolen if one of them
//! is its own. Jobs share the workers with those that wait to begin.
//!
//! Invariant: whoever holds the session's lock asks for no other lock.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use filch_memory::Ordering;

use super::current::{Place, exempt, is_on};
use super::name::short;
use super::recorder::{OUTSIDE, Open, Point, Recorder};
use super::report::Scale;
use crate::machine::{process, thread_time::thread_time};

/// The region of what threads outside do themselves.
const ALONE: &str = "outside the pool";

/// What a thread outside has done so far.
#[derive(Default)]
struct Chain {
    at: Point,
    /// How long the thread has run, in nanoseconds, of which this knows.
    ran: u64,
}

/// The recording of a process.
#[derive(Default)]
struct Session {
    place: Option<Place>,
    /// Ticks per nanosecond.
    rate: f64,
    chains: Vec<Chain>,
    /// The number of the chains' own strands, and their sum, by the logarithm of their length.
    grains: BTreeMap<usize, (u64, u64)>,
    /// Where jobs were spawned outside that have not begun, and their names, by the job's address.
    jobs: HashMap<usize, (Point, &'static str)>,
    /// The latest end of those who have come to a place where a thread collects them, by its address.
    ends: HashMap<usize, Point>,
    /// The calls that were recorded, and those that were not.
    calls: u64,
    unrecorded: u64,
}

#[allow(clippy::disallowed_types, reason = "a static needs the concrete type's constant constructor")]
type Number = std::sync::atomic::AtomicU32;

/// The number of the process that is recorded, or 0.
static PROCESS: Number = Number::new(0);
static SESSION: Mutex<Option<Session>> = Mutex::new(None);

thread_local! {
    /// The number of this thread's chain, from 1 on; 0 if it has none.
    static CHAIN: Cell<usize> = const { Cell::new(0) };
}

/// Whether this process is recorded.
#[inline]
pub(crate) fn is_here() -> bool {
    // Relaxed: who sees a number that is set just now finds the session in its lock, or none.
    let recorded = PROCESS.load(Ordering::Relaxed);
    recorded != 0 && recorded == process::current()
}

fn session() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives `f` the session, if this process is recorded.
fn with_session<R>(f: impl FnOnce(&mut Session) -> R) -> Option<R> {
    if is_here() { session().as_mut().map(f) } else { None }
}

/// Records the process from now on: the recorder in this place, whose clock has so many ticks per nanosecond, is that
/// of the pool's one worker.
pub(crate) fn begin(place: Place, rate: f64) {
    *session() = Some(Session { place: Some(place), rate, ..Session::default() });
    // Relaxed: see `is_here`.
    PROCESS.store(process::current(), Ordering::Relaxed);
}

impl Session {
    /// Returns the current thread's chain, up to now.
    fn chain(&mut self) -> &mut Chain {
        let mut number = CHAIN.get();
        if number == 0 {
            self.chains.push(Chain::default());
            number = self.chains.len();
            CHAIN.set(number);
        }
        let chain = &mut self.chains[number - 1];
        if let Some(ran) = thread_time() {
            let ticks = (ran.saturating_sub(chain.ran) as f64 * self.rate) as u64;
            chain.ran = ran;
            chain.at.span += ticks;
            chain.at.burdened += ticks;
            // The region is the first: see `Recorder::crowd`.
            chain.at.parts.resize(chain.at.parts.len().max(1), 0);
            chain.at.parts[0] += ticks;
            let (strands, sum) = self.grains.entry((u64::BITS - ticks.leading_zeros()) as usize).or_default();
            *strands += 1;
            *sum += ticks;
        }
        chain
    }
}

/// A call from outside into a pool, if the process is recorded.
pub(crate) struct Call(Option<Box<Begun>>);

struct Begun {
    name: fn() -> &'static str,
    /// Where it begins; once it has ended, where that was.
    at: Point,
    is_recorded: bool,
}

/// The current thread calls into a pool, or is a worker of another pool. The call has this name.
#[inline]
pub(crate) fn call(name: fn() -> &'static str) -> Call {
    #[cold]
    fn begun(name: fn() -> &'static str) -> Option<Box<Begun>> {
        // What the worker calls in other pools is not recorded, and its own strand waits meanwhile.
        let at = if is_on() { Point::default() } else { with_session(|session| session.chain().at.clone())? };
        Some(Box::new(Begun { name, at, is_recorded: false }))
    }
    Call(if is_here() { begun(name) } else { None })
}

impl Call {
    /// Runs the call on a worker.
    pub(crate) fn run<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let Some(begun) = &mut self.0 else { return call() };
        begun.is_recorded =
            exempt(|recorder| recorder.call_begins(std::mem::take(&mut begun.at), begun.name)).is_some();
        let result = call();
        exempt(|recorder| begun.at = recorder.call_ends());
        result
    }

    /// The caller goes on.
    pub(crate) fn returns(self) {
        let Some(begun) = self.0 else { return };
        with_session(|session| {
            *if begun.is_recorded { &mut session.calls } else { &mut session.unrecorded } += 1;
            if begun.is_recorded && !is_on() {
                let number = CHAIN.get();
                let ran = thread_time();
                if let Some(chain) = session.chains.get_mut(number.wrapping_sub(1)) {
                    chain.at = begun.at;
                    chain.ran = ran.unwrap_or(chain.ran);
                }
            }
        });
    }
}

/// The job at this address is about to be spawned. If this is outside, it begins here.
#[inline]
pub(crate) fn spawns(job: usize, name: fn() -> &'static str) {
    #[cold]
    fn note(job: usize, name: &'static str) {
        with_session(|session| {
            let at = session.chain().at.clone();
            session.jobs.insert(job, (at, name));
            session.calls += 1;
        });
    }
    if is_here() && !is_on() {
        note(job, name());
    }
}

/// Returns where the job at this address was spawned, if that was outside, and its name.
pub(super) fn spawned_outside(job: usize) -> Option<(Point, &'static str)> {
    with_session(|session| session.jobs.remove(&job))?
}

/// The current strand ends, or goes on, no earlier than which the strand that [collects](collect) at this address does.
pub(crate) fn arrive(at: usize) {
    let Some(end) = exempt(Recorder::now) else { return };
    with_session(|session| _ = session.ends.entry(at).or_default().raise(end));
}

/// The current strand goes on no earlier than those that have [arrived](arrive) at this address.
pub(crate) fn collect(at: usize) {
    let Some(end) = with_session(|session| session.ends.remove(&at)).flatten() else { return };
    if is_on() {
        exempt(|recorder| recorder.raise(end));
    } else {
        with_session(|session| _ = session.chain().at.raise(end));
    }
}

/// What a recording of a process says besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Census {
    pub(crate) calls: u64,
    pub(crate) unrecorded: u64,
    /// The number of threads outside that have called.
    pub(crate) threads: usize,
}

/// Ends the recording of this process. What the pool still runs, and is in the middle of, counts up to its last fork.
pub(crate) fn end() -> Option<(Scale, Census)> {
    let mut ended = if is_here() { session().take()? } else { return None };
    let place = ended.place.take()?;
    let mut recorder = place.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    if is_on() {
        recorder.pause();
    } else if CHAIN.get() > 0 {
        ended.chain();
    }
    let census = Census { calls: ended.calls, unrecorded: ended.unrecorded, threads: ended.chains.len() };
    recorder.end(ended);
    Some((Scale::of(*recorder), census))
}

impl Recorder {
    /// Counts on so many workers, and names forks.
    pub(super) fn crowd(&mut self, workers: usize) {
        (self.crowd, self.workers) = (workers, workers);
        self.kinds = Some(HashMap::new());
        self.region_named(ALONE);
    }

    /// Lets the clock stand while `f` runs, without ending the current strand.
    pub(super) fn exempt<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = (self.clock.now)();
        let result = f(self);
        self.since += (self.clock.now)().saturating_sub(before);
        result
    }

    /// Returns the point up to which the current strand has come.
    fn now(&mut self) -> Point {
        self.pause();
        let now = self.here();
        self.resume();
        now
    }

    /// A job has been spawned there.
    pub(super) fn spawned_at(&mut self, job: usize, (mut start, name): (Point, &'static str)) {
        self.forks += 1;
        start.burdened = start.burdened.saturating_add(self.theft);
        let region = self.region_for(name);
        self.jobs.insert(job, (start, region));
    }

    /// The job that has just begun is a call from this point.
    fn call_begins(&mut self, at: Point, name: fn() -> &'static str) {
        self.region = self.region_for(name());
        self.workers = self.crowd;
        self.at = at;
    }

    fn call_ends(&mut self) -> Point {
        self.now()
    }

    /// Returns the region of what has the type of this name.
    fn region_for(&mut self, name: &'static str) -> usize {
        let address = name.as_ptr().addr();
        if let Some(known) = self.kinds.as_ref().and_then(|kinds| kinds.get(&address)) {
            return *known;
        }
        let short = short(name);
        let known = self.names.iter().position(|known| *known == short);
        let region = known.map_or_else(|| self.region_named(Box::leak(short.into_boxed_str())), |known| known + 1);
        self.kinds.get_or_insert_default().insert(address, region);
        region
    }

    /// Returns the region of forks of this kind, whose name may come later.
    pub(super) fn region_of(&mut self, kind: usize) -> usize {
        let Some(kinds) = &mut self.kinds else { return self.region };
        *kinds.entry(kind).or_insert_with(|| {
            self.names.push("");
            self.works.push(0);
            self.names.len()
        })
    }

    /// See [`is_stolen`](super::is_stolen).
    pub(super) fn is_stolen(&mut self, name: &'static str) -> bool {
        let Some(&Open { within, workers, .. }) = self.open.last() else { return true };
        if self.kinds.is_some() && within != OUTSIDE && self.names[within - 1].is_empty() {
            self.exempt(|recorder| recorder.names[within - 1] = Box::leak(short(name).into_boxed_str()));
        }
        workers > 1
    }

    /// Ends the recording of a process.
    fn end(&mut self, session: Session) {
        // What is open has not been joined, and what is suspended would go on.
        let open = std::mem::take(&mut self.open).into_iter().map(|open| open.other);
        let suspended = std::mem::take(&mut self.suspended).into_iter().map(|suspended| suspended.at);
        let chains = session.chains.into_iter().map(|chain| chain.at);
        let waits = std::mem::take(&mut self.waits).into_iter().flatten();
        for point in open.chain(suspended).chain(waits).chain(chains).chain(session.ends.into_values()) {
            self.raise(point);
        }
        for (log, (strands, sum)) in session.grains {
            self.grains[log].0 += strands;
            self.grains[log].1 += sum;
            self.work += sum;
            self.works[0] += sum;
        }
        self.unite_regions();
    }

    /// Makes one region of those with the same name, and none of those without.
    fn unite_regions(&mut self) {
        let (names, works) = (std::mem::take(&mut self.names), std::mem::take(&mut self.works));
        let parts = std::mem::take(&mut self.at.parts);
        let parts = parts.into_iter().chain(std::iter::repeat(0));
        for (name, (work, part)) in names.into_iter().zip(works.into_iter().zip(parts)) {
            if !name.is_empty() {
                let index = self.region_named(name) - 1;
                self.works[index] += work;
                self.at.parts.resize(self.names.len(), 0);
                self.at.parts[index] += part;
            }
        }
    }
}
