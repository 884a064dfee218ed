//! A recorder composes work and span while the computation runs, in constant memory for each fork that is open.
//!
//! A [`Point`] of the graph is described by the longest way that leads there. The recorder keeps the current one; at a
//! fork it saves it, so that both branches begin there; at the join it goes on from the later of their ends. A job
//! begins at the point of its spawn; a scope ends at the latest end of its jobs, and a strand that takes a job's result
//! goes on no earlier than the job's end.
//!
//! *Its own cost.* The recorder reads the [log](super::log) of forks afterwards, so that at an event of a fork there is
//! one look at the clock. At others the clock stands while the recorder works. The way from the program to the look
//! and back is nearly the same for each strand, and is subtracted.
//!
//! *Other programs.* A strand that is longer than a time slice may have been interrupted by one. Then the recorder asks
//! the system for how long the thread has run, and so it does if it was interrupted itself.
//!
//! *Burdened.* The second branch of a fork costs a theft, unless running both branches in turn ends sooner; a job
//! always costs one.
//!
//! Invariant: outside the recorder's own functions `since` is the time at which the current strand began, if one
//! `runs`.

use std::collections::HashMap;

use filch_memory::{Atomic, Ordering};
use filch_queue::clock;

use super::event::{Event, Word};
use super::tape::{OUTSIDE, Place, Tape};
use crate::machine::thread_time::thread_time;
use crate::unwind::abort_on_panic;

/// How a recorder tells the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// A clock of the user's own.
    pub(crate) own: Option<fn() -> u64>,
    /// Ticks per unit of what is reported.
    pub(crate) rate: f64,
    /// From this length on, a strand, or the recorder's own work between two, may include time in which the thread did
    /// not run.
    pub(crate) long: u64,
}

impl Clock {
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.own.map_or_else(clock::now, |own| abort_on_panic("the clock of a recording panicked", own))
    }
}

/// A point of the graph, by the longest way to it from the beginning.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Point {
    pub(super) span: u64,
    /// What each region contributes to the span; what is left is outside all regions. It lies here since the lengths
    /// beside each other would be loaded as one, which waits for the stores of both.
    pub(super) parts: Vec<u64>,
    /// The length of the way that is longest if thefts cost something.
    pub(super) burdened: u64,
}

impl Point {
    /// Goes on no earlier than `other`.
    pub(super) fn raise(&mut self, other: Self) -> Vec<u64> {
        self.burdened = self.burdened.max(other.burdened);
        if other.span <= self.span {
            return other.parts;
        }
        self.span = other.span;
        std::mem::replace(&mut self.parts, other.parts)
    }
}

/// A fork that has not been joined.
pub(super) struct Open {
    /// The point of the fork; once its first branch has ended, the point of that end.
    pub(super) other: Point,
    region: usize,
    /// The region of its branches.
    pub(super) within: usize,
    /// How many workers had it and all that it forks.
    pub(super) workers: usize,
    /// The span, the burdened span, and the work so far, at the fork.
    span: u64,
    burdened: u64,
    work: u64,
    /// The work at the beginning of the second branch.
    middle: u64,
    place: Place,
}

/// A task that waits while its worker runs a job.
pub(super) struct Suspended {
    pub(super) at: Point,
    region: usize,
    workers: usize,
    runs: bool,
    /// The job.
    pub(super) job: u64,
}

/// Records a computation.
pub(crate) struct Recorder {
    pub(super) clock: Clock,
    /// What is subtracted from each strand, and what a theft costs, in ticks.
    cost: u64,
    pub(super) theft: u64,
    /// Loops are not split into pieces that take less.
    pub(super) piece: u64,
    pub(super) runs: bool,
    pub(super) since: u64,
    /// When the worker came here, and how many words of its log have been read.
    pub(super) now: u64,
    pub(super) read: usize,
    /// When the recorder last asked the system how long the thread had run, and the answer, in nanoseconds.
    asked: Option<(u64, u64)>,
    pub(super) at: Point,
    pub(super) region: usize,
    pub(super) open: Vec<Open>,
    pub(super) suspended: Vec<Suspended>,
    /// For each wait, if it is for a scope, the latest end of the scope's jobs so far.
    pub(super) waits: Vec<Option<Point>>,
    /// The latest end of other jobs.
    pub(super) last: Point,
    /// Where jobs were spawned that have not begun, in which region, and their numbers, by the job's address.
    pub(super) jobs: HashMap<usize, (Point, usize, u64)>,
    /// Where jobs ended whose results have not been taken, and their numbers.
    results: HashMap<usize, (Point, u64)>,
    pub(super) tape: Tape,
    /// Memory for points.
    spare: Vec<Vec<u64>>,
    pub(super) work: u64,
    /// The work in each region.
    pub(super) works: Vec<u64>,
    pub(super) names: Vec<&'static str>,
    pub(super) forks: u64,
    /// The workers whose thefts are foretold, all of them, and those of the current strand: see
    /// [`is_stolen`](super::is_stolen).
    pub(super) crowd: usize,
    pub(super) workers: usize,
    /// The region of the forks of each kind, if forks are named.
    pub(super) kinds: Option<HashMap<usize, usize>>,
    /// The names of regions whose loops [draw](super::name::draws).
    pub(super) drawing: Vec<&'static str>,
    /// The number of strands, and their sum, by the logarithm of their length.
    pub(super) strands: [u64; 65],
    pub(super) grains: [u64; 65],
}

impl Recorder {
    pub(crate) fn new(clock: Clock, piece: u64, theft: u64) -> Self {
        // A theft that gains less than a tenth of what it costs is of no interest.
        let tape = Tape::new(theft / 10, clock.rate);
        Self {
            clock,
            cost: 0,
            theft,
            piece,
            runs: false,
            since: 0,
            now: 0,
            read: 0,
            asked: None,
            at: Point::default(),
            region: OUTSIDE,
            open: Vec::new(),
            suspended: Vec::new(),
            waits: Vec::new(),
            last: Point::default(),
            jobs: HashMap::new(),
            results: HashMap::new(),
            tape,
            spare: Vec::new(),
            work: 0,
            works: Vec::new(),
            names: Vec::new(),
            forks: 0,
            crowd: 1,
            workers: 1,
            kinds: None,
            drawing: Vec::new(),
            strands: [0; 65],
            grains: [0; 65],
        }
    }

    /// Reads words of the log.
    pub(super) fn reads(&mut self, words: &[Word]) {
        let load = |at: usize| words.get(at).map_or(u64::MAX, |word| word.load(Ordering::Relaxed));
        let mut at = 0;
        while at < words.len() {
            let (event, ticks) = Event::of(load(at));
            at += 1;
            self.since += ticks;
            if std::mem::replace(&mut self.runs, true) {
                self.strand(ticks.saturating_sub(self.cost));
            }
            match event {
                Event::Fork => {
                    let kind = load(at);
                    let [(second, first), (join, other)] = [load(at + 1), load(at + 2)].map(Event::of);
                    at += 1;
                    if (second, join) == (Event::Second, Event::Join) && self.small(first, other) {
                        at += 2;
                    } else {
                        self.fork(kind as usize);
                    }
                }
                Event::Second => self.second(),
                Event::Join => self.join(),
                Event::Dropped => self.drop_second(),
            }
        }
    }

    /// A fork whose branches have these ticks and no forks, if it is left out, and in no region: returns whether.
    #[inline]
    fn small(&mut self, first: u64, second: u64) -> bool {
        let [a, b] = [first, second].map(|ticks| ticks.saturating_sub(self.cost));
        let is_small = self.kinds.is_none() && self.region == OUTSIDE && self.tape.leaves_out(a);
        if is_small {
            self.forks += 1;
            self.since += first + second;
            self.work += a + b;
            self.tape.strand(a + b, OUTSIDE);
            self.grain(a);
            self.grain(b);
            self.at.span += a.max(b);
            self.at.burdened += a.max(b.saturating_add(self.theft)).min(a + b);
        }
        is_small
    }

    /// An event that is not in the log.
    pub(super) fn event(&mut self, event: Event, kind: usize) {
        self.pause();
        // Of no ticks, since no strand runs.
        let words = [event as u64, kind as u64].map(Atomic::new);
        self.reads(&words[..if event == Event::Fork { 2 } else { 1 }]);
        self.resume();
    }

    #[inline]
    fn grain(&mut self, ticks: u64) {
        let log = (u64::BITS - ticks.leading_zeros()) as usize;
        self.strands[log] += 1;
        self.grains[log] += ticks;
    }

    /// The current strand has this length so far.
    #[inline(always)]
    fn strand(&mut self, ticks: u64) {
        self.grain(ticks);
        self.work += ticks;
        self.tape.strand(ticks, self.region);
        self.at.span += ticks;
        self.at.burdened += ticks;
        if self.region != OUTSIDE {
            let part = self.region - 1;
            self.works[part] += ticks;
            if self.at.parts.len() <= part {
                self.at.parts.resize(part + 1, 0);
            }
            self.at.parts[part] += ticks;
        }
    }

    /// Ends the current strand where the worker came here, if one runs.
    pub(super) fn pause(&mut self) {
        if !std::mem::take(&mut self.runs) {
            return;
        }
        let mut ticks = self.now.saturating_sub(self.since).saturating_sub(self.cost);
        if ticks > self.clock.long {
            ticks = ticks.saturating_sub(self.lost(self.now));
        }
        self.strand(ticks);
    }

    /// Begins a strand at the current point.
    pub(super) fn resume(&mut self) {
        self.runs = true;
        self.since = self.clock.now();
        if self.since.saturating_sub(self.now) > self.clock.long {
            self.lost(self.since);
        }
    }

    /// Returns for how many ticks before `now` the thread has not run, since this was asked last.
    #[cold]
    fn lost(&mut self, now: u64) -> u64 {
        let Some(ran) = thread_time() else { return 0 };
        let Some((then, ran_then)) = self.asked.replace((now, ran)) else { return 0 };
        let ran = ran.saturating_sub(ran_then) as f64 * self.clock.rate;
        now.saturating_sub(then).saturating_sub(ran as u64)
    }

    /// Returns a copy of the current point.
    pub(super) fn here(&mut self) -> Point {
        let mut parts = Vec::new();
        if !self.at.parts.is_empty() {
            parts = self.spare.pop().unwrap_or_default();
            parts.clone_from(&self.at.parts);
        }
        Point { span: self.at.span, burdened: self.at.burdened, parts }
    }

    fn keep(&mut self, parts: Vec<u64>) {
        if parts.capacity() > 0 {
            self.spare.push(parts);
        }
    }

    /// A fork of this kind: its first branch begins.
    #[inline(always)]
    fn fork(&mut self, kind: usize) {
        self.forks += 1;
        let other = self.here();
        let (span, burdened) = (other.span, other.burdened);
        let place = self.tape.fork();
        let work = self.work;
        let (region, within, workers) = (self.region, self.region_of(kind), self.workers);
        self.open.push(Open { other, region, within, workers, span, burdened, work, middle: work, place });
        self.region = within;
        self.workers = workers - workers / 2;
    }

    /// The first branch of the newest fork has ended: its second branch begins.
    #[inline(always)]
    fn second(&mut self) {
        let Some(open) = self.open.last_mut() else { return };
        std::mem::swap(&mut self.at, &mut open.other);
        self.region = open.within;
        self.workers = (open.workers / 2).max(1);
        self.at.burdened = self.at.burdened.saturating_add(self.theft);
        open.middle = self.work;
        self.tape.second(&mut open.place, self.work - open.work);
    }

    /// The second branch has ended, too.
    #[inline(always)]
    fn join(&mut self) {
        let Some(Open { other, region, workers, span, burdened, work, middle, place, .. }) = self.open.pop() else {
            return;
        };
        self.tape.join(&place, self.work - middle);
        self.raise(other);
        let in_turn = self.work - work;
        // Otherwise a branch has awaited a job that ran outside the fork.
        if self.at.span <= span + in_turn {
            self.at.burdened = self.at.burdened.min(burdened.saturating_add(in_turn));
        }
        self.region = region;
        self.workers = workers;
    }

    /// The first branch has unwound, and the second never runs.
    fn drop_second(&mut self) {
        let Some(open) = self.open.pop() else { return };
        self.tape.open(&open.place);
        self.keep(open.other.parts);
        self.region = open.region;
        self.workers = open.workers;
    }

    /// A job is spawned.
    pub(super) fn spawned(&mut self, job: usize) {
        self.pause();
        self.forks += 1;
        let mut start = self.here();
        start.burdened = start.burdened.saturating_add(self.theft);
        self.jobs.insert(job, (start, self.region, self.tape.spawns()));
        self.resume();
    }

    /// A job begins. One that something outside the computation has spawned begins here.
    pub(super) fn job_begins(&mut self, job: usize) {
        let runs = self.runs;
        self.pause();
        // The workers share the jobs that are left.
        let workers = (self.crowd / self.jobs.len().max(1)).max(1);
        let spawned = self.jobs.remove(&job);
        let (start, region, job) = spawned.unwrap_or_else(|| (self.here(), self.region, self.tape.new_job()));
        self.tape.job_begins(job);
        let at = std::mem::replace(&mut self.at, start);
        let (region, workers) =
            (std::mem::replace(&mut self.region, region), std::mem::replace(&mut self.workers, workers));
        self.suspended.push(Suspended { at, region, workers, runs, job });
        self.resume();
    }

    pub(super) fn job_ends(&mut self) {
        self.pause();
        let Some(Suspended { at, region, workers, runs, .. }) = self.suspended.pop() else { return };
        self.tape.job_ends();
        let end = std::mem::replace(&mut self.at, at);
        (self.region, self.workers) = (region, workers);
        let rest = match self.waits.last_mut() {
            Some(Some(latest)) => latest.raise(end),
            _ => self.last.raise(end),
        };
        self.keep(rest);
        if runs {
            self.resume();
        }
    }

    /// A wait begins, for a scope or something else. A strand that waits does nothing.
    pub(super) fn wait_begins(&mut self, is_for_scope: bool) {
        self.pause();
        self.waits.push(is_for_scope.then(Point::default));
        if is_for_scope {
            self.tape.wait_begins();
        }
    }

    pub(super) fn wait_ends(&mut self) {
        if let Some(Some(latest)) = self.waits.pop() {
            self.tape.wait_ends();
            self.raise(latest);
        }
        self.resume();
    }

    /// The current job has its result.
    pub(super) fn ended(&mut self, result: usize) {
        self.pause();
        let end = self.here();
        if let Some(&Suspended { job, .. }) = self.suspended.last() {
            self.results.insert(result, (end, job));
        }
        self.resume();
    }

    /// Goes on no earlier than this point, when no strand runs.
    pub(super) fn raise(&mut self, point: Point) {
        let rest = self.at.raise(point);
        self.keep(rest);
    }

    /// The current strand takes the result.
    pub(super) fn takes(&mut self, result: usize) {
        self.pause();
        if let Some((end, job)) = self.results.remove(&result) {
            self.tape.awaits(job);
            self.raise(end);
        }
        self.resume();
    }

    /// Enters the region of this name; returns the former region, to which [`Recorder::set_region`] returns.
    pub(super) fn enter(&mut self, name: &'static str) -> usize {
        self.pause();
        let region = self.region_named(name);
        let former = std::mem::replace(&mut self.region, region);
        self.resume();
        former
    }

    /// Returns the region of this name.
    pub(super) fn region_named(&mut self, name: &'static str) -> usize {
        let known = self.names.iter().position(|known| *known == name);
        1 + known.unwrap_or_else(|| {
            self.names.push(name);
            self.works.push(0);
            self.names.len() - 1
        })
    }

    pub(super) fn set_region(&mut self, region: usize) {
        self.pause();
        self.region = region;
        self.resume();
    }

    /// Returns the recorder, which has recorded nothing, with the length that strands seem to have although they do
    /// nothing. `forks` makes that many forks of empty branches.
    pub(crate) fn calibrated(self, mut forks: impl FnMut(usize)) -> Self {
        const ROUNDS: usize = 65;
        const FORKS: usize = 32;
        let mut costs: Vec<u64> = (0..ROUNDS)
            .map(|_| {
                super::start(Box::new(Self::new(self.clock, self.piece, self.theft)));
                forks(FORKS);
                super::take().map_or(0, |recorder| recorder.work / recorder.strands.iter().sum::<u64>().max(1))
            })
            .collect();
        costs.sort_unstable();
        Self { cost: costs[ROUNDS / 2], ..self }
    }
}
