//! A thief: it steals, and waits between two steals so that thieves take their share.

use std::hint::spin_loop;
use std::sync::atomic::Ordering;
use std::thread;

use filch_queue::{Queue, Steal, Thief, clock};

use super::entries::Entries;
use super::{Did, Shared};

/// Ticks between two looks at the owner's count: some 20 µs. A look takes the count's cache line from the owner.
const LOOK: u64 = 50_000;

/// Failed attempts in a row before this thread yields to the owner, which may need this processor.
const FAILURES: u32 = 1 << 14;

/// Decides when a thief's next steal is due.
pub(super) struct Pace {
    /// This thief's part of the tasks; all that it can get if there is none.
    share: Option<f64>,
    /// The owner's count at the last look, when that was, and the tasks that it pushed per tick before.
    seen: u64,
    at: u64,
    rate: f64,
}

impl Pace {
    pub(super) fn new(share: Option<f64>) -> Self {
        Self { share, seen: 0, at: clock::now(), rate: 0.0 }
    }

    /// Whether a thief that has stolen so many tasks has less than its share.
    fn is_due(&mut self, stolen: u64, pushed: impl Fn() -> u64) -> bool {
        let Some(share) = self.share else { return true };
        let now = clock::now();
        let ticks = now.saturating_sub(self.at);
        if ticks >= LOOK {
            let pushed = pushed();
            self.rate = (pushed - self.seen) as f64 / ticks as f64;
            (self.seen, self.at) = (pushed, now);
        }
        // Between two looks the owner goes on as before. So steals are spread evenly.
        let estimate = self.seen as f64 + self.rate * now.saturating_sub(self.at) as f64;
        (stolen as f64) < share * estimate
    }
}

/// The time of the attempts for one task.
#[derive(Default)]
struct Stopwatch {
    first: Option<u64>,
    within: u64,
    elapsed: u64,
}

impl Stopwatch {
    /// Adds an attempt that began at `from`.
    fn add(&mut self, from: u64) {
        let to = clock::now();
        self.within += to.saturating_sub(from);
        self.elapsed = to.saturating_sub(*self.first.get_or_insert(from));
    }

    /// The ticks of a steal: of a thief that waits, since its first attempt; of any other those within its attempts,
    /// because it may do something else in between.
    fn ticks(&self, waits: bool) -> u64 {
        if waits { self.elapsed } else { self.within }
    }
}

/// Whether a thief that has asked waits for its owner: it cannot withdraw, or says that it is idle and is told when
/// there is a task.
pub(super) const fn waits<Q: Queue>() -> bool {
    !Q::WITHDRAWS || Q::PROMISES.answers_by_clock
}

/// What a thief writes down.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The tasks that it took.
    pub(super) log: Vec<u32>,
    /// The ticks that each took, if steals are timed.
    pub(super) ticks: Vec<u32>,
    /// The ticks of all of them, from the first attempt of each.
    pub(super) elapsed: u64,
}

/// Steals until the owner has pushed all tasks and nothing is left for this thief. `nth` is its number among the
/// thieves.
pub(super) fn rob<const IS_TIMED: bool, Q: Queue, E: Entries>(
    mut thief: Q::Thief,
    nth: usize,
    (shared, entries): (&Shared, &E),
    mut pace: Pace,
    notes: &mut Notes,
) -> Did {
    let (mut did, mut failures, mut watch) = (Did::default(), 0, Stopwatch::default());
    loop {
        // Acquire: pairs with the owner's release; an attempt after it sees whatever was pushed.
        let was_done = shared.is_done.load(Ordering::Acquire);
        // Whoever waits for an answer does nothing but look for it. Relaxed: an estimate.
        let has_asked = waits::<Q>() && watch.first.is_some();
        if !has_asked && !pace.is_due(did.steals, || shared.pushed.load(Ordering::Relaxed)) {
            if was_done {
                break;
            }
            spin_loop();
            continue;
        }
        let from = if IS_TIMED { clock::now() } else { 0 };
        let answer = thief.steal().map(|task| entries.take(task));
        if IS_TIMED {
            watch.add(from);
        }
        debug_assert!(Q::PROMISES.may_answer(&answer), "{answer:?} is no answer of this queue");
        did.attempts += 1;
        match answer {
            Steal::Task(number) => {
                notes.log.push(number);
                did.steals += 1;
                // Relaxed: the owner only counts.
                shared.taken[nth].store(did.steals, Ordering::Relaxed);
                if IS_TIMED {
                    notes.ticks.push(watch.ticks(waits::<Q>()).try_into().unwrap_or(u32::MAX));
                    notes.elapsed += watch.elapsed;
                    watch = Stopwatch::default();
                }
                failures = 0;
                continue;
            }
            Steal::Empty => {
                did.empty += 1;
                watch = Stopwatch::default();
            }
            Steal::Retry => did.lost += 1,
            Steal::Aborted => did.aborted += 1,
            Steal::Pending => did.pending += 1,
        }
        if was_done && !answer.is_retry() {
            break;
        }
        failures += 1;
        if failures % FAILURES == 0 {
            thread::yield_now();
        }
        spin_loop();
    }
    while let Some(task) = thief.quiesce() {
        notes.log.push(entries.take(task));
        did.steals += 1;
    }
    did
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_follows_the_owner() {
        // Some clocks begin at 0.
        while clock::now() <= LOOK {}
        let mut all = Pace::new(None);
        assert!(all.is_due(u64::MAX, || 0));
        let mut none = Pace::new(Some(0.0));
        assert!(!none.is_due(0, || 1000));
        // The last look was long ago, so this one counts.
        let ago = |seen| Pace { share: Some(0.25), seen, at: clock::now() - LOOK, rate: 0.0 };
        assert!(ago(0).is_due(249, || 1000) && !ago(1000).is_due(250, || 1000));
        // A recent look and a rate: a quarter of a task per tick is due.
        let mut soon = Pace { share: Some(0.25), seen: 0, at: clock::now(), rate: 1.0 };
        while clock::now() - soon.at < 100 {}
        // If this thread was stopped for long, it looks again.
        assert!(soon.is_due(24, || 1000));
    }

    #[test]
    fn attempts_are_timed_from_the_first_if_the_thief_waits() {
        let start = clock::now();
        while clock::now() < start + 1000 {}
        let mut watch = Stopwatch { first: Some(start), within: 1, elapsed: 0 };
        // An attempt whose end is its beginning takes no time.
        watch.add(u64::MAX);
        assert_eq!(watch.ticks(false), 1);
        assert!(watch.ticks(true) >= 1000);
    }

    #[test]
    fn those_wait_whom_their_paper_lets_wait() {
        use filch_queue::{Adws, ChaseLev, PadWs, PdqR, PdqRAsync, PdqS};
        assert!(waits::<PdqR>() && waits::<PdqS>());
        assert!(!waits::<PdqRAsync>() && !waits::<Adws>() && !waits::<PadWs>() && !waits::<ChaseLev>());
    }
}
