//! Termination detection: two counts per worker, and one reader.
//!
//! **Paper.** Umut Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, section 5, which counts bags sent and received; this form is ours.
//!
//! **Idea.** Work comes in pieces that may be split and passed on. A worker counts a piece as created *before* any
//! other worker can get it, and as finished once it is exhausted. Counts never decrease, and one worker writes each. If
//! the sum of the finished counts, read first, equals the sum of the created counts, read second, then no work is left.
//!
//! **Why.** Suppose that a reader finds the sums equal while some piece is unfinished. Take its first unfinished
//! ancestor. Either that is the root, which is counted from the start, or its creation came before the finish of its
//! maker, and that finish is counted. So the created sum includes it. The sum also includes each finished piece, whose
//! creation came before its finish. So the created sum is greater by at least one, a contradiction.
//!
//! **Edges.** E1: `finished_all` (release) → `all_done`'s first pass (acquire): the second pass includes all pieces
//! that the worker created before it finished, and everything before it got the piece.
//!
//! **Tasks that may run twice** cannot be counted this way. Instead, each worker counts how often it sets out for work,
//! and how often it comes home: it has no task, and its queue, which only it fills, is empty. If the sums agree, all
//! workers were at home at some time between the two reads, so no work is left: [`TaskCounts::all_home`].
//!
//! A thief sets out, with a fence (F), before it steals; the reader has a fence between its sums. Suppose that the
//! reader misses a thief that set out. Then the reader's fence precedes the thief's fence, which precedes the theft,
//! which precedes the victim's coming home, since the victim found the task gone. If the reader has seen the victim
//! come home, that precedes the reader's fence: a contradiction.
//!
//! **What owners hand over** can be counted instead of each piece. Everything that a worker has received, with
//! everything that this yields while it stays there, is then one piece. The giver counts it as created, and the worker
//! counts it as finished when it is without work again: [`TaskCounts::all_done_of`].
//!
//! **Cost.** One store per piece created and one per piece finished, on the worker's own cache line.
//!
//! ```
//! use filch::inside::protocol::termination::TaskCounts;
//! use filch_memory::Native;
//!
//! let workers: [TaskCounts<Native>; 2] = Default::default();
//! workers[0].created(1); // the root
//! workers[0].created(1); // a part of it, to be passed on
//! workers[0].finished();
//! assert!(!TaskCounts::all_done(&workers));
//! workers[1].finished();
//! assert!(TaskCounts::all_done(&workers));
//! ```

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::Padded;

/// The counts of one worker.
#[derive(Debug)]
pub struct TaskCounts<M: Memory> {
    counts: Padded<(M::AtomicU64, M::AtomicU64)>,
}

impl<M: Memory> Default for TaskCounts<M> {
    fn default() -> Self {
        Self { counts: Padded((Atomic::new(0), Atomic::new(0))) }
    }
}

impl<M: Memory> TaskCounts<M> {
    /// Worker: counts `pieces` more as created, before any other worker can get them.
    #[inline]
    pub fn created(&self, pieces: u64) {
        let created = &self.counts.0.0;
        // Relaxed: only this worker writes it; passing the pieces on, or `finished`, publishes it.
        created.store(created.load(Ordering::Relaxed) + pieces, Ordering::Relaxed);
    }

    /// The number of pieces that the worker has created. Called by the worker itself, or by a thread ordered after its
    /// counting, by E1 for instance.
    pub fn pieces(&self) -> u64 {
        // Relaxed: all stores before the call are visible.
        self.counts.0.0.load(Ordering::Relaxed)
    }

    /// Worker: counts a piece as finished.
    #[inline]
    pub fn finished(&self) {
        self.finished_all(1);
    }

    /// Worker: counts `pieces` more as finished.
    #[inline]
    pub fn finished_all(&self, pieces: u64) {
        let finished = &self.counts.0.1;
        // E1. Only this worker writes the count.
        finished.store(finished.load(Ordering::Relaxed) + pieces, Ordering::Release);
    }

    /// Any thread: returns whether all pieces that any worker created are finished. `false` may be out of date at once;
    /// `true` stays true.
    pub fn all_done(workers: &[Self]) -> bool {
        // E1: pairs with `finished_all`.
        let finished: u64 = workers.iter().map(|worker| worker.counts.0.1.load(Ordering::Acquire)).sum();
        // Relaxed: pieces created before a counted finish are visible by E1.
        let created: u64 = workers.iter().map(|worker| worker.counts.0.0.load(Ordering::Relaxed)).sum();
        finished == created
    }

    /// Any thread: as [`TaskCounts::all_done`], if others count the pieces created. `created` returns the sum of these
    /// counts, each raised before another worker could get the piece. A count may be too high for a while, for a piece
    /// that nobody gets; then the end is noticed later.
    ///
    /// ```
    /// use filch::inside::protocol::termination::TaskCounts;
    /// use filch_memory::Native;
    ///
    /// let workers: [TaskCounts<Native>; 2] = Default::default();
    /// workers[1].finished_all(3);
    /// assert!(!TaskCounts::all_done_of(&workers, || 4));
    /// workers[0].finished();
    /// assert!(TaskCounts::all_done_of(&workers, || 4));
    /// ```
    pub fn all_done_of(workers: &[Self], created: impl FnOnce() -> u64) -> bool {
        // E1: pairs with `finished_all`.
        let finished: u64 = workers.iter().map(|worker| worker.counts.0.1.load(Ordering::Acquire)).sum();
        finished == created()
    }

    /// Worker: sets out, to look for work or because it has some. Called before its first attempt to steal.
    #[inline]
    pub fn set_out(&self) {
        self.created(1);
        // F: pairs with the fence in `all_home`.
        // kept over AcqRel: the victim's relaxed look at the stolen task is between the two fences, so only their total
        // order helps; to loom, a fence also acquires what other threads have seen before it.
        M::fence(Ordering::SeqCst);
    }

    /// Worker: comes home; it has no task, and its queue is empty.
    #[inline]
    pub fn come_home(&self) {
        self.finished();
    }

    /// Any thread: returns whether all workers were at home at one time. Then no work is left: a worker at home sets
    /// out only to steal, and workers at home have nothing to steal.
    ///
    /// ```
    /// use filch::inside::protocol::termination::TaskCounts;
    /// use filch_memory::Native;
    ///
    /// let workers: [TaskCounts<Native>; 2] = Default::default();
    /// workers[0].set_out(); // with the first task
    /// workers[1].set_out(); // to look for some
    /// workers[1].come_home();
    /// assert!(!TaskCounts::all_home(&workers));
    /// workers[0].come_home();
    /// assert!(TaskCounts::all_home(&workers));
    /// ```
    pub fn all_home(workers: &[Self]) -> bool {
        // Relaxed: the fence below makes E1, as an acquire load would.
        let home: u64 = workers.iter().map(|worker| worker.counts.0.1.load(Ordering::Relaxed)).sum();
        // F: pairs with the fence in `set_out`; and E1: with `finished`.
        // kept over AcqRel: as for that fence.
        M::fence(Ordering::SeqCst);
        // Relaxed: by E1 and F.
        let set_out: u64 = workers.iter().map(|worker| worker.counts.0.0.load(Ordering::Relaxed)).sum();
        home == set_out
    }
}
