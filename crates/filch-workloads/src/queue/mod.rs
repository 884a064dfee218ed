//! A queue by itself: its owner pushes tasks, and thieves take a share of them.
//!
//! Three programs differ in what the owner does. In *owner-throughput* it pushes a batch, pops until the queue is
//! empty, and so on; the time is the owner's. In *steal-latency* it leaves a batch in the queue, and thieves time their
//! steals. In *steal-throughput* it only pushes, and thieves steal as fast as they can, until all tasks are taken or
//! the time is up; then the owner takes the rest.
//!
//! In the first two, a thief waits after each steal until it has less than its part of the tasks pushed so far. It may
//! get less than that: an owner that only pushes and pops is many times as fast as a thief, so for large shares it has
//! to work in between. The share that thieves took is part of the result. A task is its number, or 64 bytes, which the
//! queue's word refers to and whoever takes the task copies. Each thread writes down the tasks that it takes. The
//! sequential program does as the owner of owner-throughput, on a plain array.
//!
//! **What it stresses.** What thieves cost an owner, and an owner its thieves: fences and locked instructions, the
//! cache lines of both, and the requests that an owner answers.
//!
//! **Source.** Figure 2 of Jiawei Wang et al., *Work Stealing through Partial Asynchronous Delegation*, SPAA 2024. The
//! paper does not say how many tasks are in the queue, nor how it controls the share.

#![expect(
    clippy::disallowed_types,
    reason = "the threads agree on when to begin and to end, outside of what is measured"
)]

mod entries;
mod owner;
mod thief;

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use filch_catalogue::ParamError;
use filch_catalogue::programs::queue::{OwnerThroughput, Params, StealLatency, StealThroughput, Use};
use filch_queue::{Counts, Delivery, Owner, Padded, Queue, clock};

use crate::answer::{Answer, expect};
use crate::spec::{Prepare, Runs, Uses};
use entries::{Entries, Lines, Words};
use owner::{Plain, Pushing};
use thief::{Notes, Pace, rob};

/// A queue, and the threads that use it.
#[derive(Clone, Copy, Debug)]
pub struct On<'s, Q: Queue> {
    /// The queue's parameters.
    pub params: &'s Q::Params,
    /// The tasks that it can hold.
    pub capacity: usize,
    /// The owner and its thieves.
    pub workers: usize,
}

/// What each thread does before the clock starts, given its number. The owner is 0.
pub type Enter<'e> = &'e (dyn Fn(usize) -> Result<(), String> + Sync);

/// The result of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Used {
    /// The number of tasks.
    pub answer: Answer,
    /// The owner's time from its first push until it has no more to do.
    pub seconds: f64,
    /// What each thread did, the owner first.
    pub did: Vec<Did>,
    /// How long steals took, if they were timed.
    pub times: Option<Times>,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Did {
    /// Tasks pushed.
    pub pushed: u64,
    /// Tasks that the owner took.
    pub popped: u64,
    /// Tasks that the thief took.
    pub steals: u64,
    /// Attempts to steal.
    pub attempts: u64,
    /// Those that found the queue empty.
    pub empty: u64,
    /// Those that lost a race.
    pub lost: u64,
    /// Those that were refused.
    pub aborted: u64,
    /// Those that found a request unanswered.
    pub pending: u64,
    /// Tasks that the owner gave to thieves on request.
    pub grants: u64,
}

/// The times of steals, in nanoseconds. The attempts before a steal are part of it, unless they found the queue empty;
/// what lies between two attempts is, for a thief that waits for the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The mean.
    pub mean: u64,
    /// Half of the steals were faster.
    pub p50: u64,
    /// Nine tenths of the steals were faster.
    pub p90: u64,
    /// All but a hundredth of the steals were faster.
    pub p99: u64,
    /// The mean from the first attempt on, whatever the thief did in between.
    pub elapsed: u64,
}

impl Times {
    /// Returns the times of steals that took so many ticks, and by the clock so many together.
    fn of(mut ticks: Vec<u32>, elapsed: u64, per_nanosecond: f64) -> Option<Self> {
        let last = ticks.len().checked_sub(1)?;
        ticks.sort_unstable();
        let nanoseconds = |ticks: f64| (ticks / per_nanosecond).round() as u64;
        let below = |percent: usize| nanoseconds(ticks[last * percent / 100].into());
        let sum: f64 = ticks.iter().map(|&ticks| f64::from(ticks)).sum();
        let mean = |sum: f64| nanoseconds(sum / ticks.len() as f64);
        Some(Self { mean: mean(sum), p50: below(50), p90: below(90), p99: below(99), elapsed: mean(elapsed as f64) })
    }
}

/// What the owner and the thieves tell one another besides the queue.
struct Shared {
    /// Tasks pushed so far.
    pushed: Padded<AtomicU64>,
    /// Tasks that each thief has taken so far.
    taken: Vec<Padded<AtomicU64>>,
    ready: AtomicUsize,
    has_begun: AtomicBool,
    is_done: AtomicBool,
}

impl Shared {
    fn new(thieves: usize) -> Self {
        Self {
            pushed: Padded::default(),
            taken: (0..thieves).map(|_| Padded::default()).collect(),
            ready: AtomicUsize::new(0),
            has_begun: AtomicBool::new(false),
            is_done: AtomicBool::new(false),
        }
    }

    /// The number of tasks that thieves have taken.
    fn stolen(&self) -> u64 {
        // Relaxed: a number that is too small only delays the owner.
        self.taken.iter().map(|taken| taken.load(Ordering::Relaxed)).sum()
    }

    /// Waits for the owner to begin.
    fn wait(&self) {
        // Release: pairs with the owner's acquire.
        self.ready.fetch_add(1, Ordering::Release);
        // Acquire: pairs with the owner's release.
        while !self.has_begun.load(Ordering::Acquire) {
            thread::yield_now();
        }
    }

    /// Lets the thieves begin, once so many of them are ready.
    fn begin(&self, thieves: usize) {
        // Acquire: pairs with a thief's release.
        while self.ready.load(Ordering::Acquire) < thieves {
            thread::yield_now();
        }
        // Release: pairs with a thief's acquire.
        self.has_begun.store(true, Ordering::Release);
        spin_loop();
    }
}

macro_rules! prepare {
    ($($program:ident)*) => {
        $(impl Prepare for $program {
            type Instance = Instance;

            fn prepare(&self) -> Result<Instance, ParamError> {
                Ok(Instance { params: self.0, notes: vec![Notes::default()], may_repeat: false })
            }
        })*
    };
}

prepare!(OwnerThroughput StealLatency StealThroughput);

/// One of the programs, and the tasks that each thread took in the last run.
#[derive(Debug)]
pub struct Instance {
    params: Params,
    /// The owner's come first.
    notes: Vec<Notes>,
    /// Whether the last queue may return a task twice.
    may_repeat: bool,
}

/// Makes room for so many entries, and touches it, so that no page is missing when the clock runs.
fn clear(log: &mut Vec<u32>, room: usize) {
    log.clear();
    log.resize(room, 0);
    log.clear();
}

impl Instance {
    fn tasks(&self) -> usize {
        self.params.n as usize
    }

    /// Runs the owner on this thread, and the thieves on others.
    fn go<Q: Queue, E: Entries>(&mut self, on: &On<'_, Q>, enter: Enter<'_>, entries: &E) -> Result<Used, String> {
        let params = self.params;
        self.may_repeat = Q::PROMISES.delivery == Delivery::AtLeastOnce;
        let (mut owner, mut thieves) = Q::make(on.capacity, on.workers - 1, on.params);
        let counts = Arc::new(Counts::default());
        owner.count_in(&counts);
        if params.share == 0 {
            // The handles stay, but nobody uses them.
            thieves.clear();
        }
        let (number, shared) = (thieves.len(), &Shared::new(thieves.len()));
        let part = (params.what != Use::Feeds).then(|| f64::from(params.share) / 100.0 / number as f64);
        let room = (part.unwrap_or(1.0) * f64::from(params.n)) as usize;
        self.notes.resize_with(number + 1, Notes::default);
        let [mine, theirs @ ..] = &mut self.notes[..] else { unreachable!("the owner's are there") };
        let rob = if params.what == Use::Keeps { rob::<true, Q, E> } else { rob::<false, Q, E> };
        thread::scope(|scope| {
            let mut started = Vec::new();
            let mut refused = None;
            for (nth, (thief, notes)) in thieves.into_iter().zip(theirs).enumerate() {
                clear(&mut notes.log, room);
                clear(&mut notes.ticks, if params.what == Use::Keeps { room } else { 0 });
                notes.elapsed = 0;
                let work = move || {
                    let entered = enter(nth + 1);
                    shared.wait();
                    entered.map(|()| rob(thief, nth, (shared, entries), Pace::new(part), notes))
                };
                match thread::Builder::new().spawn_scoped(scope, work) {
                    Ok(thief) => started.push(thief),
                    Err(error) => refused = Some(format!("cannot start a thread: {error}")),
                }
            }
            let mut pushing = Pushing {
                owner,
                params: &params,
                shared,
                entries,
                log: &mut mine.log,
                kept_back: kept_back::<Q>(on, params.batch),
                end: None,
                next: 0,
                place: 0,
            };
            let entered = refused.map_or_else(|| enter(0), Err);
            shared.begin(started.len());
            let (start, tick) = (Instant::now(), clock::now());
            pushing.end = Some(start + Duration::from_millis(params.millis.into()));
            if entered.is_ok() {
                pushing.push_all();
            }
            let (time, ticks) = (start.elapsed(), clock::now() - tick);
            // Release: pairs with the thieves' acquire.
            shared.is_done.store(true, Ordering::Release);
            while !started.iter().all(thread::ScopedJoinHandle::is_finished) {
                pushing.owner.poll();
                thread::yield_now();
            }
            // What a thief had asked for and did not take.
            pushing.pop_all();
            let popped = pushing.log.len() as u64;
            let grants = counts.grants.get();
            let mut did = vec![Did { pushed: params.n.into(), popped, grants, ..Did::default() }];
            for thief in started {
                did.push(thief.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            entered?;
            Ok((did, time, ticks))
        })
        .map(|(did, time, ticks)| {
            let per_nanosecond = ticks as f64 / time.as_nanos() as f64;
            let times = self.notes[1..].iter().flat_map(|notes| &notes.ticks).copied().collect();
            let elapsed = self.notes[1..].iter().map(|notes| notes.elapsed).sum();
            let answer = Answer::Number(params.n.into());
            Used { answer, seconds: time.as_secs_f64(), did, times: Times::of(times, elapsed, per_nanosecond) }
        })
    }

    /// Fails if a task was lost, or taken twice though the queue returns it once.
    fn judge(&self) -> Result<(), String> {
        let n = self.tasks();
        let mut is_taken = vec![false; n];
        let mut again = None;
        for &task in self.notes.iter().flat_map(|notes| &notes.log) {
            match is_taken.get_mut(task as usize) {
                None if task == entries::TORN => return Err("a task does not hold what was put there".to_owned()),
                None => return Err(format!("task {task} was taken, which nobody pushed")),
                Some(true) => _ = again.get_or_insert(task),
                Some(is_taken) => *is_taken = true,
            }
        }
        match (is_taken.iter().position(|is_taken| !is_taken), again) {
            (Some(lost), _) => Err(format!("task {lost} of {n} was lost")),
            (None, Some(task)) if !self.may_repeat => Err(format!("task {task} of {n} was taken twice")),
            _ => Ok(()),
        }
    }
}

/// How many tasks the owner lets thieves leave: no more than fit into the queue with what it pushes.
fn kept_back<Q: Queue>(on: &On<'_, Q>, batch: u32) -> u64 {
    Q::kept_back(on.capacity, on.params).min(on.capacity.saturating_sub(2 * batch as usize)) as u64
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.notes.truncate(1);
        clear(&mut self.notes[0].log, self.params.n as usize);
    }

    fn serial(&mut self) -> Answer {
        let params = Params { what: Use::Empties, ..self.params };
        self.may_repeat = false;
        let shared = &Shared::new(0);
        let log = &mut self.notes[0].log;
        let owner = Plain(Vec::with_capacity(params.batch as usize));
        if params.entry == 8 {
            plain(owner, &params, shared, &Words, log);
        } else {
            plain(owner, &params, shared, &Lines::new(params.batch as usize), log);
        }
        Answer::Number(params.n.into())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Number(self.params.n.into())).and_then(|()| self.judge())
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        Some(self.params.n.into())
    }

    fn damage(&mut self, at: u64) -> bool {
        let mut all = self.notes.iter_mut().flat_map(|notes| &mut notes.log);
        if let Some(task) = all.nth(at as usize % self.params.n as usize) {
            *task ^= 1;
        }
        true
    }
}

fn plain<E: Entries>(owner: Plain, params: &Params, shared: &Shared, entries: &E, log: &mut Vec<u32>) {
    Pushing { owner, params, shared, entries, log, kept_back: 0, end: None, next: 0, place: 0 }.push_all();
}

impl Uses for Instance {
    fn on_queue<Q: Queue>(&mut self, on: &On<'_, Q>, enter: Enter<'_>) -> Result<Used, String> {
        let Params { what, entry, batch, .. } = self.params;
        if on.workers < 2 && what != Use::Empties {
            return Err("there is nobody to steal: it needs two workers or more".to_owned());
        }
        if entry == 8 {
            return self.go(on, enter, &Words);
        }
        if Q::PROMISES.delivery == Delivery::AtLeastOnce {
            return Err("whoever takes a task of 64 bytes frees its place, so the queue must return it once".to_owned());
        }
        let most = 2 * batch as usize + kept_back(on, batch) as usize + on.workers;
        self.go(on, enter, &Lines::new(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_nanoseconds() {
        let ticks: Vec<u32> = (0..=200).rev().map(|tick| 10 * tick).collect();
        let times = Times { mean: 500, p50: 500, p90: 900, p99: 990, elapsed: 1500 };
        assert_eq!(Times::of(ticks, 201 * 3000, 2.0), Some(times));
        assert_eq!(Times::of(vec![3], 4, 1.0), Some(Times { mean: 3, p50: 3, p90: 3, p99: 3, elapsed: 4 }));
        assert_eq!(Times::of(Vec::new(), 0, 1.0), None);
    }

    #[test]
    fn a_task_that_does_not_hold_what_was_put_is_found() {
        let params = Params { what: Use::Feeds, n: 2, share: 100, batch: 1, entry: 64, work: 0, millis: 0 };
        let judge = |log: &[u32], may_repeat| {
            let notes = vec![Notes { log: log.to_vec(), ..Notes::default() }];
            Instance { params, notes, may_repeat }.judge()
        };
        assert_eq!(judge(&[1, 0], false), Ok(()));
        assert_eq!(judge(&[1, 0, 1], true), Ok(()));
        let wrong = |log: &[u32]| judge(log, false).unwrap_err();
        assert_eq!(wrong(&[1, 0, 1]), "task 1 of 2 was taken twice");
        assert_eq!(wrong(&[1]), "task 0 of 2 was lost");
        assert_eq!(wrong(&[0, 1, 2]), "task 2 was taken, which nobody pushed");
        assert_eq!(wrong(&[0, entries::TORN]), "a task does not hold what was put there");
    }
}
