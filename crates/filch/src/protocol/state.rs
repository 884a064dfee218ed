//! The state of a job: dirtied only by its thief, cleaned by the owner who waited for it.
//!
//! A job that nobody steals is never touched here: its word stays [`Status::Fresh`] from one use of its slot to the
//! next. The thief that won the job marks it stolen, runs it, writes the result and marks it done.
//!
//! Where an index says who has won a job, that is all. In [Wool](super::wool) the word itself decides: the owner offers a
//! job, one compare-and-swap takes it, the owner's or a thief's, and a thief that should not have had it puts it back.
//!
//! A thief that wins several jobs at once claims all of them, runs one, and keeps the others where further thieves may win them. Whoever
//! wins a job that is [kept](JobState::keep) claims it [again](JobState::claim_again). Its owner waits as for any stolen job; the state
//! word tells whose it is, for whoever runs it did not win it from its owner.
//!
//! **Field.** One word: kind (3 bits), owner sleeps (1), thief (14), base (28), count (18). `thief` and `base` tell
//! leapfroggers where the job's descendants are: on that thief's stack at or above that index. `count` grows with each
//! theft, so that two thefts of one slot are told apart (a wrap after 2¹⁸ thefts may mislead a transitive leapfrogger
//! into running a job that is not a descendant; never into running one twice). Of a job that is kept `base` is its owner's number: pools
//! whose thieves keep jobs have no stack that others could follow.
//!
//! **Invariants.**
//! * I1: `claim`, then one of `finish` and `give_back`, each once, by the thief that the queue, or `take`, made the only one. Or `keep`
//!   instead, then `claim_again` by each thief that the queue makes the only one after that, and `finish` by the last.
//! * I2: only the owner sets the sleep bit and only on a stolen job; only the owner returns the word to fresh.
//! * I3: between `take` and the claim, or the putting back, only the thief writes the word; before `take`, only the owner.
//!
//! **Edges.**
//! * E1: `finish`'s or `give_back`'s swap (release) → `status` (acquire): the result, and the thief's last use of the
//!   job's memory, come before the owner's reading it and reusing the slot.
//! * E2: `announce_sleep` (release) → `finish`'s swap (acquire): the owner's preparations for sleep come before the
//!   thief's waking it. A `claim_again` between the two is an atomic update, and so a part of the release sequence.
//! * E3: `offer` (release), and `put_back` by whoever had acquired it (release) → `take` (acquire): the job, and whatever its
//!   owner did before offering it, come before the thief's reading it.

use filch_memory::{Atomic, Memory, Ordering};

const KIND: u64 = 0b111;
const FRESH: u64 = 0;
const STOLEN: u64 = 1;
const DONE: u64 = 2;
const PANICKED: u64 = 3;
const RETURNED: u64 = 4;
const OFFERED: u64 = 5;
const TAKEN: u64 = 6;
const SLEEPS: u64 = 0b1000;
const THIEF_SHIFT: u32 = 4;
const BASE_SHIFT: u32 = 18;
const COUNT_SHIFT: u32 = 46;

/// Workers are numbered below this.
pub const MAX_WORKERS: usize = 1 << (BASE_SHIFT - THIEF_SHIFT);
/// Indices on a task stack are below this.
pub const MAX_DEPTH: usize = 1 << (COUNT_SHIFT - BASE_SHIFT);

/// The state word of a job.
#[derive(Debug)]
#[repr(transparent)]
pub struct JobState<M: Memory>(M::AtomicU64);

/// What the state word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not stolen, or stolen a moment ago by a thief who has not said so yet.
    Fresh,
    /// On offer: whoever is first may have it.
    Offered,
    /// Being run.
    Stolen(Theft),
    /// The result is there.
    Done,
    /// The job panicked; the payload is there.
    Panicked,
    /// The thief did not want it after all; only the owner may run it now.
    Returned,
}

/// How the wait for a job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nobody has run it, and it is its owner's again.
    Unrun,
    /// The result is there.
    Done,
    /// The job panicked; the payload is there.
    Panicked,
}

/// Who stole a job, and where the job's descendants are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theft {
    /// The thief's number.
    pub thief: usize,
    /// The job's descendants lie at or above this index of the thief's stack.
    pub base: usize,
    /// Tells this theft from others of the same slot.
    pub count: u32,
}

/// What a thief's attempt to take a job came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// The thief alone is entitled to the job now.
    Taken,
    /// The owner or another thief was first.
    Lost,
    /// The job is not on offer.
    NotOffered,
}

impl JobState<filch_memory::Native> {
    /// A fresh state, for a constant.
    #[allow(clippy::disallowed_types, clippy::declare_interior_mutable_const, reason = "a constant initial value")]
    pub const FRESH: Self = Self(std::sync::atomic::AtomicU64::new(FRESH));
}

impl<M: Memory> Default for JobState<M> {
    fn default() -> Self {
        Self(Atomic::new(FRESH))
    }
}

impl<M: Memory> JobState<M> {
    /// Owner: thieves may take the job. Precondition: fresh, and the job has been written.
    #[inline]
    pub fn offer(&self) {
        // Relaxed: the owner is alone with a fresh word (I3).
        let count = self.0.load(Ordering::Relaxed) >> COUNT_SHIFT << COUNT_SHIFT;
        // E3: pairs with `take`.
        self.0.store(count | OFFERED, Ordering::Release);
    }

    /// Owner: takes the job back if it is still on offer; otherwise a thief has it, or has had it. Precondition: it has been
    /// offered and is not fresh again.
    #[inline]
    pub fn retract(&self) -> bool {
        // Relaxed, here and below: the job is the owner's own work, and a thief that put it back has not touched it.
        let word = self.0.load(Ordering::Relaxed);
        let fresh = word >> COUNT_SHIFT << COUNT_SHIFT | FRESH;
        word & KIND == OFFERED && self.0.compare_exchange(word, fresh, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Thief: takes the job if it is on offer. Nobody can leapfrog it before it has been claimed.
    #[inline]
    pub fn take(&self) -> Taking {
        // Relaxed: the compare-and-swap decides.
        let word = self.0.load(Ordering::Relaxed);
        if word & KIND != OFFERED {
            return Taking::NotOffered;
        }
        let taken = word >> COUNT_SHIFT << COUNT_SHIFT | TAKEN;
        // E3: pairs with `offer` and `put_back`.
        match self.0.compare_exchange(word, taken, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Taking::Taken,
            Err(_) => Taking::Lost,
        }
    }

    /// Thief: does not want what it has taken after all; it is on offer again. Precondition: taken by this thread and not claimed.
    #[inline]
    pub fn put_back(&self) {
        // Relaxed: this thread is the only writer (I3).
        let count = self.0.load(Ordering::Relaxed) >> COUNT_SHIFT << COUNT_SHIFT;
        // E3: this store ends the release sequence of the offer, which this thread has acquired, so it starts another.
        // kept over Relaxed: a relaxed store would end the release of the offer; to loom, a store after an update
        // continues it.
        self.0.store(count | OFFERED, Ordering::Release);
    }

    /// Whether nobody but the owner has to do with the job. A snapshot that orders nothing.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        // Relaxed: as the name says; who must not miss an offer has fenced.
        self.0.load(Ordering::Relaxed) & KIND == FRESH
    }

    /// Thief: "I have it". `base` is the height of the thief's own stack.
    #[inline]
    pub fn claim(&self, thief: usize, base: usize) {
        debug_assert!(thief < MAX_WORKERS && base < MAX_DEPTH);
        // Relaxed: the queue made this thread the only writer (I1), and nothing is published yet.
        let count = (self.0.load(Ordering::Relaxed) >> COUNT_SHIFT).wrapping_add(1);
        let word = count << COUNT_SHIFT | (base as u64) << BASE_SHIFT | (thief as u64) << THIEF_SHIFT | STOLEN;
        self.0.store(word, Ordering::Relaxed);
    }

    /// Thief: "I have it, and it is `owner`'s", of a job that it will hand on to whoever wins it, itself or another thief.
    #[inline]
    pub fn keep(&self, thief: usize, owner: usize) {
        debug_assert!(owner < MAX_WORKERS);
        self.claim(thief, owner);
    }

    /// Thief: "now I have it", of a job that somebody has [kept](Self::keep): whose it is. `None` if nobody has, and it is to be claimed.
    /// Precondition: thieves of its pool keep jobs.
    #[inline]
    pub fn claim_again(&self, thief: usize) -> Option<usize> {
        debug_assert!(thief < MAX_WORKERS);
        // Relaxed: whoever kept it did so before it handed it on by the queue's own edges.
        let mut word = self.0.load(Ordering::Relaxed);
        if word & KIND != STOLEN {
            return None;
        }
        loop {
            let count = (word >> COUNT_SHIFT).wrapping_add(1) << COUNT_SHIFT;
            let base = word & (MAX_DEPTH as u64 - 1) << BASE_SHIFT;
            let next = count | base | (thief as u64) << THIEF_SHIFT | word & SLEEPS | STOLEN;
            // Only the owner's announcement of its sleep can come between. Relaxed: nothing is published, and E2 goes on.
            match self.0.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((base >> BASE_SHIFT) as usize),
                Err(now) => word = now,
            }
        }
    }

    /// Thief: the result, or the payload of the panic, is there. Returns whether the owner sleeps and must be woken.
    /// The job must not be touched any more.
    #[inline]
    pub fn finish(&self, panicked: bool) -> bool {
        self.settle(if panicked { PANICKED } else { DONE })
    }

    /// Thief: the job has not been run and is the owner's again. Returns whether the owner sleeps and must be woken.
    #[inline]
    pub fn give_back(&self) -> bool {
        self.settle(RETURNED)
    }

    #[inline]
    fn settle(&self, kind: u64) -> bool {
        // Relaxed: the count is this thief's own.
        let count = self.0.load(Ordering::Relaxed) >> COUNT_SHIFT << COUNT_SHIFT;
        // E1 (release) and E2 (acquire).
        // kept over Release: the owner marks its place asleep before its thief wakes it; loom's updates always read the
        // newest mark, and the fence of the sleep protocol, of which this component does not know, releases too.
        self.0.swap(count | kind, Ordering::AcqRel) & SLEEPS != 0
    }

    /// What has become of the job.
    #[inline]
    pub fn status(&self) -> Status {
        // E1: pairs with `settle`.
        let word = self.0.load(Ordering::Acquire);
        match word & KIND {
            STOLEN => Status::Stolen(Theft {
                thief: (word >> THIEF_SHIFT) as usize % MAX_WORKERS,
                base: (word >> BASE_SHIFT) as usize % MAX_DEPTH,
                count: (word >> COUNT_SHIFT) as u32,
            }),
            DONE => Status::Done,
            PANICKED => Status::Panicked,
            RETURNED => Status::Returned,
            OFFERED => Status::Offered,
            _ => Status::Fresh,
        }
    }

    /// Owner: asks to be woken when the job is settled; `false` if it has been settled already, or has just passed to another thief.
    /// Precondition: a thief has claimed it.
    pub fn announce_sleep(&self) -> bool {
        // Relaxed: the compare-and-swap decides.
        let word = self.0.load(Ordering::Relaxed);
        debug_assert!(word & KIND != FRESH);
        if word & KIND != STOLEN {
            return false;
        }
        // E2. On failure the job has been settled or claimed again, and the owner looks again with `status`.
        // kept over Relaxed: as the swap in `settle`.
        word & SLEEPS != 0 || self.0.compare_exchange(word, word | SLEEPS, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Owner: makes the word fresh for the next use of its slot. Precondition: settled.
    #[inline]
    pub fn reset(&self) {
        // Relaxed: the owner is alone with it now (I2); the next thief learns of it by the queue's own edges.
        let count = self.0.load(Ordering::Relaxed) >> COUNT_SHIFT << COUNT_SHIFT;
        self.0.store(count | FRESH, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filch_memory::Native;

    #[test]
    fn a_theft_is_read_back_whole() {
        let state = JobState::<Native>::default();
        for round in 1..=3 {
            assert_eq!(state.status(), Status::Fresh);
            state.claim(MAX_WORKERS - 1, MAX_DEPTH - 1);
            let theft = Theft { thief: MAX_WORKERS - 1, base: MAX_DEPTH - 1, count: round };
            assert_eq!(state.status(), Status::Stolen(theft));
            assert!(!state.finish(false));
            assert_eq!(state.status(), Status::Done);
            state.reset();
        }
    }

    #[test]
    fn an_offer_goes_to_the_first() {
        let state = JobState::<Native>::default();
        assert_eq!(state.take(), Taking::NotOffered);
        state.offer();
        assert_eq!((state.status(), state.retract()), (Status::Offered, true));
        assert_eq!((state.status(), state.is_fresh()), (Status::Fresh, true));
        state.offer();
        assert_eq!(state.take(), Taking::Taken);
        // Taken and not claimed: for the owner as if the thief had not said so yet.
        assert_eq!((state.status(), state.is_fresh()), (Status::Fresh, false));
        assert_eq!((state.retract(), state.take()), (false, Taking::NotOffered));
        state.put_back();
        assert_eq!(state.take(), Taking::Taken);
        state.claim(1, 2);
        assert_eq!(state.status(), Status::Stolen(Theft { thief: 1, base: 2, count: 1 }));
        assert!(!state.retract());
    }

    /// Each thief that a kept job passes to learns whose it is, and the last one that its owner sleeps, whenever that was announced.
    #[test]
    fn a_job_that_is_kept_remembers_its_owner_and_whether_that_sleeps() {
        let owner = MAX_WORKERS - 2;
        for announced in 0..3 {
            let state = JobState::<Native>::default();
            assert_eq!(state.claim_again(7), None, "nobody has it");
            state.keep(3, owner);
            for (pass, thief) in [5, 3, MAX_WORKERS - 1].into_iter().enumerate() {
                if pass == announced {
                    assert!(state.announce_sleep());
                }
                assert_eq!(state.claim_again(thief), Some(owner));
                assert!(matches!(state.status(), Status::Stolen(theft) if theft.thief == thief));
            }
            assert!(state.finish(false));
            state.reset();
            assert_eq!((state.status(), state.claim_again(7)), (Status::Fresh, None));
        }
    }

    #[test]
    fn a_sleeping_owner_is_reported_once_and_by_every_way_to_settle() {
        let state = JobState::<Native>::default();
        let settle: [fn(&JobState<Native>) -> bool; 3] = [|s| s.finish(false), |s| s.finish(true), JobState::give_back];
        for settle in settle {
            state.claim(3, 5);
            assert!(state.announce_sleep());
            assert!(state.announce_sleep(), "a spurious wake-up may lead to a second announcement");
            assert!(matches!(state.status(), Status::Stolen(Theft { thief: 3, base: 5, .. })));
            assert!(settle(&state));
            assert!(!state.announce_sleep());
            state.reset();
        }
    }
}
