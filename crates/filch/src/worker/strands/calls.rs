//! The recording of a whole process: what threads outside do between their calls into the pool, and where the calls
//! lie in the graph.
//!
//! Each thread outside is a chain: it begins with the program, and is its own time and the calls that it waits for, one
//! after the other. Its time is the processor's: what it sleeps, or waits for files, is no work. Chains are parallel to
//! each other, since nobody knows where a thread was started. In the [text](super::Graph) a chain's parts are jobs,
//! each of which spawns the next.
//!
//! *Foretold thefts.* A loop of rayon's splits further where it is stolen. On idle workers, so many of them, the halves
//! of a fork are shared out: each branch gets half of the fork's workers, and a second branch is stolen if one of them
//! is its own. Jobs share the workers with those that wait to begin.
//!
//! Invariant: whoever holds the session's lock asks for no other lock.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use filch_memory::Ordering;

use super::current::{is_on, rest, with};
use super::log::Log;
use super::name::{draws, short};
use super::recorder::{Open, Point, Recorder};
use super::report::Scale;
use super::tape::OUTSIDE;
use crate::machine::{process, thread_time::thread_time};

/// The region of what threads outside do themselves.
const ALONE: &str = "outside the pool";

/// What a thread outside has done so far.
struct Chain {
    at: Point,
    /// How long the thread has run, in nanoseconds, of which this knows.
    ran: u64,
    /// The number of the next part, as a job.
    next: u64,
}

/// A part of a chain, which the text does not have yet.
struct Part {
    job: u64,
    ticks: u64,
    awaits: Vec<u64>,
    spawns: Vec<u64>,
}

/// A job that was spawned outside, or is a call from there.
pub(super) struct Outer {
    at: Point,
    name: &'static str,
    job: u64,
    is_call: bool,
    /// Parts that come before it.
    parts: Vec<Part>,
}

/// The recording of a process.
struct Session {
    log: Arc<Log>,
    /// The address of what the pool's workers share.
    pool: usize,
    /// Ticks per nanosecond.
    rate: f64,
    chains: Vec<Chain>,
    /// Parts that the text does not have yet.
    parts: Vec<Part>,
    /// The next number of a job that was spawned outside, beyond the recorder's own.
    job: u64,
    /// The number of the chains' own strands, and their sum, by the logarithm of their length.
    grains: BTreeMap<usize, (u64, u64)>,
    /// The jobs spawned outside that have not begun, by address.
    jobs: HashMap<usize, Outer>,
    /// The chains whose calls have not ended, by the call's job.
    calling: HashMap<u64, usize>,
    /// The jobs that have come to a place where a strand collects them, and their latest end, by its address.
    ends: HashMap<usize, (Point, Vec<u64>)>,
    /// The calls and spawned jobs that were recorded, and those that were not.
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

/// Records the process from now on: the log, whose clock has so many ticks per nanosecond, is that of the one worker of
/// the pool whose common state has this address.
pub(crate) fn begin(log: Arc<Log>, pool: usize, rate: f64) {
    const BEYOND: u64 = 1 << 32;
    *session() = Some(Session {
        log,
        pool,
        rate,
        chains: Vec::new(),
        parts: Vec::new(),
        job: BEYOND,
        grains: BTreeMap::new(),
        jobs: HashMap::new(),
        calling: HashMap::new(),
        ends: HashMap::new(),
        calls: 0,
        unrecorded: 0,
    });
    // Relaxed: see `is_here`.
    PROCESS.store(process::current(), Ordering::Relaxed);
}

impl Session {
    fn new_job(&mut self) -> u64 {
        self.job += 1;
        self.job
    }

    /// Returns the number of the current thread's chain.
    fn chain(&mut self) -> usize {
        if CHAIN.get() == 0 {
            let next = self.new_job();
            self.chains.push(Chain { at: Point::default(), ran: 0, next });
            CHAIN.set(self.chains.len());
        }
        CHAIN.get() - 1
    }

    /// Ends a part of the current thread's chain, which goes on with the job that this returns.
    fn part(&mut self, awaits: Vec<u64>, spawns: Option<u64>) -> u64 {
        let chain = self.chain();
        let next = self.new_job();
        let chain = &mut self.chains[chain];
        let ran = thread_time().unwrap_or(chain.ran);
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
        let job = std::mem::replace(&mut chain.next, next);
        self.parts.push(Part { job, ticks, awaits, spawns: spawns.into_iter().chain([next]).collect() });
        next
    }

    /// The current thread spawns a job outside; it goes on at once.
    fn spawns(&mut self, address: usize, name: &'static str) {
        let job = self.new_job();
        self.part(Vec::new(), Some(job));
        self.begins(address, name, job, false);
    }

    /// The job at this address begins where the current thread's chain has come.
    fn begins(&mut self, address: usize, name: &'static str, job: u64, is_call: bool) {
        self.calls += 1;
        let chain = self.chain();
        let at = self.chains[chain].at.clone();
        self.jobs.insert(address, Outer { at, name, job, is_call, parts: std::mem::take(&mut self.parts) });
    }
}

/// The current thread calls into the pool whose common state has this address, by a job at this address, with this
/// name. It keeps nothing of the call, since each level of a recursion through pools would.
#[inline]
pub(crate) fn call(pool: usize, job: usize, name: fn() -> &'static str) {
    #[cold]
    #[inline(never)]
    fn begins(pool: usize, address: usize, name: &'static str) {
        with_session(|session| {
            if session.pool != pool {
                // If this is the worker that records, its strand waits meanwhile.
                session.unrecorded += 1;
                return;
            }
            let job = session.part(Vec::new(), None);
            session.begins(address, name, job, true);
            let (next, chain) = (session.new_job(), session.chain());
            session.chains[chain].next = next;
            session.calling.insert(job, chain);
        });
    }
    if is_here() {
        begins(pool, job, name());
    }
}

/// The current job ends; if it is a call, its caller's next part follows it.
#[inline]
pub(crate) fn call_ends() {
    #[cold]
    #[inline(never)]
    fn ends() {
        let Some(Some(job)) = with(|recorder| recorder.suspended.last().map(|suspended| suspended.job)) else {
            return;
        };
        let caller = |session: &mut Session| {
            let chain = session.calling.remove(&job)?;
            Some((chain, session.chains[chain].next))
        };
        let Some((chain, next)) = with_session(caller).flatten() else { return };
        if let Some(end) = with(|recorder| recorder.call_ends(next)) {
            with_session(|session| session.chains[chain].at = end);
        }
    }
    if is_on() {
        ends();
    }
}

/// A call into the pool whose common state has this address returns.
#[inline]
pub(crate) fn call_returns(pool: usize) {
    #[cold]
    #[inline(never)]
    fn returns(pool: usize) {
        let ran = thread_time();
        with_session(|session| {
            if session.pool == pool {
                let chain = session.chain();
                let chain = &mut session.chains[chain];
                chain.ran = ran.unwrap_or(chain.ran);
            }
        });
    }
    if is_here() {
        returns(pool);
    }
}

/// A job at this address, with this name, is about to be spawned in the pool whose common state has this address. If
/// this is outside, it begins here.
#[inline]
pub(crate) fn spawns(pool: usize, job: usize, name: fn() -> &'static str) {
    #[cold]
    #[inline(never)]
    fn note(pool: usize, job: usize, name: &'static str) {
        with_session(|session| if session.pool == pool { session.spawns(job, name) } else { session.unrecorded += 1 });
    }
    if is_here() && !is_on() {
        note(pool, job, name());
    }
}

/// Returns the job at this address if it was spawned outside.
pub(super) fn spawned_outside(job: usize) -> Option<Outer> {
    with_session(|session| session.jobs.remove(&job))?
}

/// The current job ends here for a strand that [collects](collect) it at this address.
pub(crate) fn arrive(at: usize) {
    let Some((end, Some(job))) = with(Recorder::arrives) else { return };
    with_session(|session| {
        let (latest, jobs) = session.ends.entry(at).or_default();
        latest.raise(end);
        jobs.push(job);
    });
}

/// The current strand goes on no earlier than the jobs that have [arrived](arrive) at this address.
pub(crate) fn collect(at: usize) {
    let Some((end, jobs)) = with_session(|session| session.ends.remove(&at)).flatten() else { return };
    if is_on() {
        with(|recorder| recorder.collects(end, &jobs));
    } else {
        with_session(|session| {
            session.part(jobs, None);
            let chain = session.chain();
            session.chains[chain].at.raise(end);
        });
    }
}

/// What a recording of a process says besides.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    /// The calls and spawned jobs from outside.
    pub(crate) calls: u64,
    pub(crate) unrecorded: u64,
    /// The number of threads outside that have called.
    pub(crate) threads: usize,
    /// The regions with loops that draw their items from a place that all their branches share.
    pub(crate) drawing: Vec<&'static str>,
}

/// Ends the recording of this process. What the pool still runs counts up to its last fork.
pub(crate) fn end() -> Option<(Scale, Census)> {
    let mut ended = if is_here() { session().take()? } else { return None };
    rest();
    let mut recorder = ended.log.lock().take()?;
    recorder.runs = false;
    if !is_on() && CHAIN.get() > 0 {
        ended.part(Vec::new(), None);
    }
    let drawing = std::mem::take(&mut recorder.drawing);
    let census = Census { calls: ended.calls, unrecorded: ended.unrecorded, threads: ended.chains.len(), drawing };
    recorder.end(ended);
    Some((Scale::of(*recorder), census))
}

/// What the worker that records is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Nothing, or it waits for what others do.
    Nothing,
    /// The strand of a task that began then.
    Strand(u64),
}

/// Returns what the worker is in the middle of; `None` if the recording has ended.
pub(crate) fn doing() -> Option<Doing> {
    let log = with_session(|session| Arc::clone(&session.log))?;
    let recorder = log.lock();
    let recorder = recorder.as_ref()?;
    let is_in_task = recorder.runs && !recorder.suspended.is_empty();
    Some(if is_in_task { Doing::Strand(recorder.since) } else { Doing::Nothing })
}

impl Recorder {
    /// Counts on so many workers, and names forks.
    pub(super) fn crowd(&mut self, workers: usize) {
        (self.crowd, self.workers) = (workers, workers);
        self.kinds = Some(HashMap::new());
        self.region_named(ALONE);
    }

    /// Returns the point to which the current strand has come.
    fn now(&mut self) -> Point {
        self.pause();
        let now = self.here();
        self.resume();
        now
    }

    /// Writes parts of chains into the text.
    fn tell(&mut self, parts: Vec<Part>) {
        let runs = self.runs;
        self.pause();
        for Part { job, ticks, awaits, spawns } in parts {
            self.tape.job_begins(job);
            self.tape.strand(ticks, OUTSIDE + 1);
            awaits.into_iter().for_each(|job| self.tape.awaits(job));
            spawns.into_iter().for_each(|job| self.tape.spawns_this(job));
            self.tape.job_ends();
        }
        if runs {
            self.resume();
        }
    }

    /// A job at this address has been spawned outside.
    pub(super) fn spawned_at(&mut self, address: usize, outer: Outer) {
        let Outer { mut at, name, job, is_call, parts } = outer;
        self.tell(parts);
        self.forks += u64::from(!is_call);
        at.burdened = at.burdened.saturating_add(self.theft);
        let region = self.region_for(name);
        self.jobs.insert(address, (at, region, job));
    }

    /// Returns where the current call ends, which the caller's next part follows.
    fn call_ends(&mut self, next: u64) -> Point {
        let end = self.now();
        self.tape.spawns_this(next);
        end
    }

    /// Returns where the current strand is, and the job that it is part of.
    fn arrives(&mut self) -> (Point, Option<u64>) {
        (self.now(), self.suspended.last().map(|suspended| suspended.job))
    }

    fn collects(&mut self, end: Point, jobs: &[u64]) {
        self.pause();
        jobs.iter().for_each(|job| self.tape.awaits(*job));
        self.raise(end);
        self.resume();
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
            let short: &'static str = Box::leak(short(name).into_boxed_str());
            self.names[within - 1] = short;
            if draws(name) && !self.drawing.contains(&short) {
                self.drawing.push(short);
            }
        }
        workers > 1
    }

    /// Ends the recording of a process.
    fn end(&mut self, session: Session) {
        let Session { chains, mut parts, jobs, ends, grains, .. } = session;
        for chain in &chains {
            parts.push(Part { job: chain.next, ticks: 0, awaits: Vec::new(), spawns: Vec::new() });
        }
        let outer = jobs.into_values().map(|mut outer| {
            parts.append(&mut outer.parts);
            outer.job
        });
        let unbegun: Vec<u64> = outer.chain(self.jobs.drain().map(|(_, (.., job))| job)).collect();
        self.tape.close();
        self.tell(parts);
        for job in unbegun {
            self.tape.job_begins(job);
            self.tape.job_ends();
        }
        // What is open has not been joined, and what is suspended would go on.
        let open = std::mem::take(&mut self.open).into_iter().map(|open| open.other);
        let suspended = std::mem::take(&mut self.suspended).into_iter().map(|suspended| suspended.at);
        let chains = chains.into_iter().map(|chain| chain.at);
        let waits = std::mem::take(&mut self.waits).into_iter().flatten();
        let ends = ends.into_values().map(|(end, _)| end);
        for point in open.chain(suspended).chain(waits).chain(chains).chain(ends) {
            self.raise(point);
        }
        for (log, (strands, sum)) in grains {
            self.strands[log] += strands;
            self.grains[log] += sum;
            self.work += sum;
            self.works[0] += sum;
        }
        self.unite_regions();
    }

    /// Makes one region of those with the same name, and none of those without.
    fn unite_regions(&mut self) {
        let (names, works) = (std::mem::take(&mut self.names), std::mem::take(&mut self.works));
        self.tape.name(&names);
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
