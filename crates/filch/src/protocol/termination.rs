//! Has everything been done? Per worker two counts, and one reader.
//!
//! **Paper.** Umut Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with Private
//! Deques*, PPoPP 2013, section 5, where the counts are of bags sent and received; the form here is ours.
//!
//! **Idea.** Work comes in pieces that may be split and passed on. Whoever makes a piece counts it as created *before*
//! anybody else can get it; whoever has exhausted one counts it as finished. The counts are never lowered, and each
//! is written by one worker. If the sum of the finished ones, read first, equals the sum of the created ones, read
//! afterwards, then nothing is left.
//!
//! **Why.** Take a reader for whom the sums are equal, and suppose that some piece is unfinished. Of its unfinished
//! ancestors take the first: it is the root, which is counted from the start, or its creation came before the finish
//! of its maker, which is counted. So it is among the created ones; so is each finished one, for its creation came
//! before its finish. The created are more by at least one.
//!
//! **Edges.** E1: `finished` (release) → `all_done`'s first pass (acquire): whatever the worker created before it finished,
//! and whatever came before its getting the piece, is in the second pass.
//!
//! **Tasks that may be run twice** cannot be counted so. What can be counted is how often a worker has set out for work, and
//! how often it has come home: with no task in hand, and its queue, which nobody else fills, empty. If the sums agree, there was a time
//! between them when everybody was at home, so there is nothing left: [`Counts::all_home`].
//!
//! A thief sets out before it steals, with a fence (F), as the reader has one between its sums. Suppose that the reader
//! misses a thief's setting out. Then its fence precedes the thief's. That precedes the theft, which precedes the coming home of the
//! victim, who has found the task gone; and if the reader has seen that, it precedes the reader's fence.
//!
//! **Cost.** One store for each piece created and one for each finished, on a line of the worker's own.
//!
//! ```
//! use filch::protocol::termination::Counts;
//! use filch_memory::Native;
//!
//! let workers: [Counts<Native>; 2] = Default::default();
//! workers[0].created(1); // the root
//! workers[0].created(1); // a part of it, to be passed on
//! workers[0].finished();
//! assert!(!Counts::all_done(&workers));
//! workers[1].finished();
//! assert!(Counts::all_done(&workers));
//! ```

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::Padded;

/// What one worker has created and finished.
#[derive(Debug)]
pub struct Counts<M: Memory> {
    counts: Padded<(M::AtomicU64, M::AtomicU64)>,
}

impl<M: Memory> Default for Counts<M> {
    fn default() -> Self {
        Self { counts: Padded((Atomic::new(0), Atomic::new(0))) }
    }
}

impl<M: Memory> Counts<M> {
    /// The worker: "`pieces` more", before anybody else can get them.
    #[inline]
    pub fn created(&self, pieces: u64) {
        let created = &self.counts.0.0;
        // Relaxed: this worker's own; made visible by whatever passes the pieces on, or by `finished`.
        created.store(created.load(Ordering::Relaxed) + pieces, Ordering::Relaxed);
    }

    /// How many pieces the worker has created. For the worker itself, or for whoever comes after it.
    pub fn pieces(&self) -> u64 {
        // Relaxed: whatever has come before the call is visible.
        self.counts.0.0.load(Ordering::Relaxed)
    }

    /// The worker: a piece is exhausted.
    #[inline]
    pub fn finished(&self) {
        let finished = &self.counts.0.1;
        // E1. The load is of this worker's own.
        finished.store(finished.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Anybody: whether all that was ever created, by all workers, is finished. `false` may be out of date at once,
    /// `true` is for ever.
    pub fn all_done(workers: &[Self]) -> bool {
        // E1: pairs with `finished`.
        let finished: u64 = workers.iter().map(|worker| worker.counts.0.1.load(Ordering::Acquire)).sum();
        // Relaxed: what was created before a finish that was counted is visible by E1.
        let created: u64 = workers.iter().map(|worker| worker.counts.0.0.load(Ordering::Relaxed)).sum();
        finished == created
    }

    /// The worker: looks for work from now on, or has some. Before its first attempt to steal.
    #[inline]
    pub fn sets_out(&self) {
        self.created(1);
        // F: pairs with the fence in `all_home`.
        // kept over AcqRel: the victim's relaxed look at the stolen task lies between the two fences, so only their one
        // order tells; to loom, a fence also acquires what other threads have seen before it.
        M::fence(Ordering::SeqCst);
    }

    /// The worker: has no task, and its queue is empty.
    #[inline]
    pub fn comes_home(&self) {
        self.finished();
    }

    /// Anybody: whether all workers were at home at one time. Then no work is left: a worker at home sets out only to steal, and
    /// there is nothing to steal from workers at home.
    ///
    /// ```
    /// use filch::protocol::termination::Counts;
    /// use filch_memory::Native;
    ///
    /// let workers: [Counts<Native>; 2] = Default::default();
    /// workers[0].sets_out(); // with the first task
    /// workers[1].sets_out(); // to look for some
    /// workers[1].comes_home();
    /// assert!(!Counts::all_home(&workers));
    /// workers[0].comes_home();
    /// assert!(Counts::all_home(&workers));
    /// ```
    pub fn all_home(workers: &[Self]) -> bool {
        // Relaxed: the fence makes it E1, as an acquire would.
        let home: u64 = workers.iter().map(|worker| worker.counts.0.1.load(Ordering::Relaxed)).sum();
        // F: pairs with the fence in `sets_out`; and E1: with `finished`.
        // kept over AcqRel: as that fence.
        M::fence(Ordering::SeqCst);
        // Relaxed: by E1 and F.
        let set_out: u64 = workers.iter().map(|worker| worker.counts.0.0.load(Ordering::Relaxed)).sum();
        home == set_out
    }
}
