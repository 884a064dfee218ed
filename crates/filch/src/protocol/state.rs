//! The state of a job: written by its thief, reset by the owner that waited for it.
//!
//! Nobody writes the word of a job that is not stolen: it stays [`Status::Fresh`] from one use of its slot to the next.
//! A thief that wins a job marks it stolen, runs it, writes the result and marks it done.
//!
//! That is all if an index decides who wins a job. In [Wool](super::wool) the word itself decides: the owner offers a
//! job, a compare-and-swap by the owner or a thief takes it, and a thief that took it in error puts it back.
//!
//! A thief that wins several jobs at once claims all of them, runs one, and keeps the others where other thieves can
//! win them. The winner of a [kept](JobState::keep) job claims it [again](JobState::claim_again). The owner waits as
//! for any stolen job. The state word names the owner, because the final thief did not win the job from the owner.
//!
//! **Field.** One word: kind (3 bits), owner sleeps (1), thief (14), base (28), count (18). `thief` and `base` tell
//! leapfroggers where the job's descendants are: on that thief's stack, at or above that index. `count` grows with each
//! theft, to distinguish thefts of one slot. (A wrap after 2¹⁸ thefts may mislead a transitive leapfrogger into running
//! a job that is not a descendant, but never into running one twice.) For a kept job `base` is the owner's number:
//! pools whose thieves keep jobs have no stack to leapfrog on.
//!
//! **Invariants.**
//! * I1: the only thief to which the queue, or `take`, gave the job calls `claim`, then `finish` or `give_back`, each
//!   once. Or it calls `keep` instead; then each thief to which the queue gives the job in turn calls `claim_again`,
//!   and the last of them `finish`.
//! * I2: only the owner sets the sleep bit, and only on a stolen job; only the owner makes the word fresh again.
//! * I3: between `take` and `claim` or `put_back` only the thief writes the word; before `take`, only the owner does.
//!
//! **Edges.**
//! * E1: `finish`'s or `give_back`'s swap (release) → `status` (acquire): the result, and the thief's last use of the
//!   job's memory, come before the owner reads the result and reuses the slot.
//! * E2: `announce_sleep` (release) → `finish`'s swap (acquire): the owner's preparations for sleep come before the
//!   thief wakes it. A `claim_again` between the two is an atomic update, so it continues the release sequence.
//! * E3: `offer` (release), and `put_back` by a thief that has acquired the offer (release) → `take` (acquire): the
//!   job, and everything its owner did before the offer, come before the thief reads the job.

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

/// Worker numbers are below this.
pub const MAX_WORKERS: usize = 1 << (BASE_SHIFT - THIEF_SHIFT);
/// Indices on a task stack are below this.
pub const MAX_DEPTH: usize = 1 << (COUNT_SHIFT - BASE_SHIFT);

/// The state word of a job.
#[derive(Debug)]
#[repr(transparent)]
pub struct JobState<M: Memory>(M::AtomicU64);

/// The status that a state word encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The job is not stolen, or its thief has not claimed it yet.
    Fresh,
    /// The job is on offer to the first taker.
    Offered,
    /// A thief has the job.
    Stolen(Theft),
    /// The result is ready.
    Done,
    /// The job panicked; the payload is ready.
    Panicked,
    /// The thief gave the job back; only the owner may run it.
    Returned,
}

/// The result of a wait for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nobody ran the job, and its owner has it again.
    Unrun,
    /// The result is ready.
    Done,
    /// The job panicked; the payload is ready.
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

/// The result of a thief's attempt to take a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// The thief has the job.
    Taken,
    /// The owner or another thief was first.
    Lost,
    /// The job is not on offer.
    NotOffered,
}

/// For code in other languages, which may look at the state of a job of its own: the bits of the kind, and two kinds,
/// that of a job whose thief runs it and that of one whose result is ready.
pub const KINDS: [u64; 3] = [KIND, STOLEN, DONE];

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
    /// Owner: offers the job to thieves. Precondition: the word is fresh and the job has been written.
    #[inline]
    pub fn offer(&self) {
        // Relaxed: the owner is alone with a fresh word (I3).
        let count = self.0.load(Ordering::Relaxed) >> COUNT_SHIFT << COUNT_SHIFT;
        // E3: pairs with `take`.
        self.0.store(count | OFFERED, Ordering::Release);
    }

    /// Owner: takes the job back if it is on offer; otherwise a thief has it or had it. Precondition: the job was
    /// offered and is not fresh again.
    #[inline]
    pub fn retract(&self) -> bool {
        // Relaxed, here and below: the owner wrote the job itself, and a thief that put it back did not touch it.
        let word = self.0.load(Ordering::Relaxed);
        let fresh = word >> COUNT_SHIFT << COUNT_SHIFT | FRESH;
        word & KIND == OFFERED && self.0.compare_exchange(word, fresh, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Thief: takes the job if it is on offer. Nobody can leapfrog it before it is claimed.
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

    /// Thief: puts a job that it has taken back on offer. Precondition: this thread took the job and has not claimed
    /// it.
    #[inline]
    pub fn put_back(&self) {
        // Relaxed: this thread is the only writer (I3).
        let count = self.0.load(Ordering::Relaxed) >> COUNT_SHIFT << COUNT_SHIFT;
        // E3: this store ends the release sequence of the offer, which this thread has acquired, so it must start
        // another.
        // kept over Relaxed: a relaxed store would end the release sequence of the offer; to loom, a store after an
        // update continues it.
        self.0.store(count | OFFERED, Ordering::Release);
    }

    /// Whether only the owner uses the job. A snapshot that orders nothing.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        // Relaxed: a snapshot; a thread that must not miss an offer has fenced.
        self.0.load(Ordering::Relaxed) & KIND == FRESH
    }

    /// Thief: claims the job. `base` is the height of the thief's own stack.
    #[inline]
    pub fn claim(&self, thief: usize, base: usize) {
        debug_assert!(thief < MAX_WORKERS && base < MAX_DEPTH);
        // Relaxed: this thread is the only writer (I1), and the store publishes nothing.
        let count = (self.0.load(Ordering::Relaxed) >> COUNT_SHIFT).wrapping_add(1);
        let word = count << COUNT_SHIFT | (base as u64) << BASE_SHIFT | (thief as u64) << THIEF_SHIFT | STOLEN;
        self.0.store(word, Ordering::Relaxed);
    }

    /// Thief: claims a job of `owner`'s that it keeps where any thief, itself included, can win it.
    #[inline]
    pub fn keep(&self, thief: usize, owner: usize) {
        debug_assert!(owner < MAX_WORKERS);
        self.claim(thief, owner);
    }

    /// Thief: claims a [kept](Self::keep) job and returns its owner's number. Returns `None` if the job was not kept
    /// and must be [claimed](Self::claim). Precondition: thieves of the pool keep jobs.
    #[inline]
    pub fn claim_again(&self, thief: usize) -> Option<usize> {
        debug_assert!(thief < MAX_WORKERS);
        // Relaxed: the thief that kept the job did so before it passed it on, by the queue's own edges.
        let mut word = self.0.load(Ordering::Relaxed);
        if word & KIND != STOLEN {
            return None;
        }
        loop {
            let count = (word >> COUNT_SHIFT).wrapping_add(1) << COUNT_SHIFT;
            let base = word & (MAX_DEPTH as u64 - 1) << BASE_SHIFT;
            let next = count | base | (thief as u64) << THIEF_SHIFT | word & SLEEPS | STOLEN;
            // Only the owner's `announce_sleep` can interfere. Relaxed: this publishes nothing, and it continues E2's
            // release sequence.
            match self.0.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((base >> BASE_SHIFT) as usize),
                Err(now) => word = now,
            }
        }
    }

    /// Thief: reports that the result, or the payload of the panic, is ready. Returns whether the owner sleeps and must
    /// be woken. The thief must not touch the job again.
    #[inline]
    pub fn finish(&self, panicked: bool) -> bool {
        self.settle(if panicked { PANICKED } else { DONE })
    }

    /// Thief: gives the job back to its owner unrun. Returns whether the owner sleeps and must be woken.
    #[inline]
    pub fn give_back(&self) -> bool {
        self.settle(RETURNED)
    }

    #[inline]
    fn settle(&self, kind: u64) -> bool {
        // Relaxed: this thief wrote the count.
        let count = self.0.load(Ordering::Relaxed) >> COUNT_SHIFT << COUNT_SHIFT;
        // E1 (release) and E2 (acquire).
        // kept over Release: the owner marks its place asleep before its thief wakes it; loom's updates always read the
        // newest mark, and the fence of the sleep protocol, unknown to this component, releases too.
        self.0.swap(count | kind, Ordering::AcqRel) & SLEEPS != 0
    }

    /// Returns the status of the job.
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

    /// Returns how a thief's run of the job ended, and acquires its effects; `None` if no run has ended.
    pub fn settled(&self) -> Option<Settled> {
        match self.status() {
            Status::Done => Some(Settled::Done),
            Status::Panicked => Some(Settled::Panicked),
            _ => None,
        }
    }

    /// Owner: asks to be woken when the job is settled. Returns `false` if it is settled already, or has just passed to
    /// another thief. Precondition: a thief has claimed the job.
    pub fn announce_sleep(&self) -> bool {
        // Relaxed: the compare-and-swap decides.
        let word = self.0.load(Ordering::Relaxed);
        debug_assert!(word & KIND != FRESH);
        if word & KIND != STOLEN {
            return false;
        }
        // E2. On failure the job has been settled or claimed again, and the owner calls `status` again.
        // kept over Relaxed: as for the swap in `settle`.
        word & SLEEPS != 0 || self.0.compare_exchange(word, word | SLEEPS, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Owner: makes the word fresh for the next use of its slot. Precondition: the job is settled.
    #[inline]
    pub fn reset(&self) {
        // Relaxed: only the owner accesses the word here (I2); the next thief learns of it by the queue's own edges.
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
        // To the owner, a job that is taken but not claimed looks fresh.
        assert_eq!((state.status(), state.is_fresh()), (Status::Fresh, false));
        assert_eq!((state.retract(), state.take()), (false, Taking::NotOffered));
        state.put_back();
        assert_eq!(state.take(), Taking::Taken);
        state.claim(1, 2);
        assert_eq!(state.status(), Status::Stolen(Theft { thief: 1, base: 2, count: 1 }));
        assert!(!state.retract());
    }

    /// Each thief of a kept job learns its owner, and the last one learns that the owner sleeps, whenever the owner
    /// announced it.
    #[test]
    fn a_kept_job_remembers_its_owner_and_whether_the_owner_sleeps() {
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
    fn every_way_to_settle_reports_a_sleeping_owner_once() {
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
