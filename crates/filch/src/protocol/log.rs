//! A log, which one thread writes and others read meanwhile.
//!
//! **Idea.** Recordings are numbered from 1; at most one at a time goes on. The owner notes entries while one does.
//! Each recording begins at the first entry again, over the entries of the one before. Room is made in pieces, when it
//! is needed; entries that do not fit are only counted.
//!
//! **Fields.** `number`, of a [`Recorder`]: the recording that goes on, or 0; written by whoever begins or ends one.
//! `head`, of a [`Log`]: the number of the last recording that the owner has noted something in, and the number of
//! entries in it; written by the owner, as are the entries.
//!
//! **Invariants.**
//! * I1: another recording begins only after all readers of the one before have finished.
//! * I2: the entries below the head belong to its recording, and stay while that recording goes on.
//!
//! **Edges.**
//! * E1: the store of `head` (release) → the reader's load (acquire): the entries below it.
//! * E2: the store of `number` by whoever begins a recording (release) → the owner's load (acquire): the end of all
//!   reads of the entries that the owner then overwrites.
//!
//! **Cost.** While no recording goes on, a load and a branch per note.
//!
//! ```
//! use filch::inside::protocol::log::{Log, Recorder};
//! use filch_memory::Native;
//!
//! let (recorder, log) = (Recorder::<Native>::default(), Log::<Native>::new(16, 2));
//! log.note(&recorder, || unreachable!("nobody records"));
//! let recording = recorder.begin();
//! log.note(&recorder, || [7, 1]);
//! assert_eq!(log.read(recording, 0).entries, [[7, 1]]);
//! recorder.end();
//! ```

use std::fmt;
use std::sync::OnceLock;

use filch_memory::{Atomic, Memory, Ordering};

/// The number of the recording that goes on.
pub struct Recorder<M: Memory> {
    number: M::AtomicU32,
    /// The number of the last recording; written by whoever begins one.
    last: M::AtomicU32,
}

/// A recording, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording(u32);

impl<M: Memory> Default for Recorder<M> {
    fn default() -> Self {
        Self { number: Atomic::new(0), last: Atomic::new(0) }
    }
}

impl<M: Memory> fmt::Debug for Recorder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl<M: Memory> Recorder<M> {
    /// Begins a recording. Precondition: none goes on, and no other thread calls this at the same time.
    pub fn begin(&self) -> Recording {
        // Relaxed: the caller has synchronized with the last caller.
        let number = self.last.load(Ordering::Relaxed).wrapping_add(1).max(1);
        self.last.store(number, Ordering::Relaxed);
        // Release: E2.
        // kept over Relaxed: a delayed read of an older recording might return an entry written after the owner has
        // seen this.
        self.number.store(number, Ordering::Release);
        Recording(number)
    }

    /// Ends the recording. Owners that have not seen this may still note something in it.
    pub fn end(&self) {
        // Relaxed: it publishes nothing.
        self.number.store(0, Ordering::Relaxed);
    }
}

/// The words of an entry.
pub type Entry = [u64; 2];

/// The entries of a recording, as far as the owner had noted them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// The number of entries since the beginning of the recording for which there was no room.
    pub lost: u64,
}

type Piece<M> = Box<[[<M as Memory>::AtomicU64; 2]]>;

/// A log.
pub struct Log<M: Memory> {
    head: M::AtomicU64,
    lost: M::AtomicU64,
    pieces: Box<[OnceLock<Piece<M>>]>,
    piece: usize,
}

impl<M: Memory> fmt::Debug for Log<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("most", &(self.piece * self.pieces.len())).finish_non_exhaustive()
    }
}

impl<M: Memory> Log<M> {
    const BITS: u32 = u32::BITS;

    /// Makes a log with room for up to `pieces` pieces of `piece` entries each.
    ///
    /// # Panics
    /// If there is no room for an entry.
    pub fn new(piece: usize, pieces: usize) -> Self {
        assert!(piece > 0 && pieces > 0, "a log has room");
        let pieces = (0..pieces).map(|_| OnceLock::new()).collect();
        Self { head: Atomic::new(0), lost: Atomic::new(0), pieces, piece }
    }

    /// Notes an entry, if a recording goes on. Only the owner calls this.
    #[inline]
    pub fn note(&self, recorder: &Recorder<M>, entry: impl FnOnce() -> Entry) {
        // Acquire: E2.
        // kept over Relaxed: as in `begin`.
        let number = recorder.number.load(Ordering::Acquire);
        if number != 0 {
            self.add(number, entry());
        }
    }

    #[cold]
    fn add(&self, number: u32, entry: Entry) {
        // Relaxed: the owner's own.
        let (mut recording, mut length) = Self::parts(self.head.load(Ordering::Relaxed));
        if recording != number {
            (recording, length) = (number, 0);
            // Relaxed: E1 publishes it.
            self.lost.store(0, Ordering::Relaxed);
        }
        let Some(piece) = self.pieces.get(length / self.piece) else {
            // Relaxed, both: a statistic; a thread that has waited for the owner's work sees it as of then or later.
            self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return;
        };
        let piece = piece.get_or_init(|| (0..self.piece).map(|_| [Atomic::new(0), Atomic::new(0)]).collect());
        for (word, value) in piece[length % self.piece].iter().zip(entry) {
            // Relaxed: E1 publishes it.
            word.store(value, Ordering::Relaxed);
        }
        // Release: E1.
        self.head.store(u64::from(recording) << Self::BITS | (length + 1) as u64, Ordering::Release);
    }

    const fn parts(head: u64) -> (u32, usize) {
        ((head >> Self::BITS) as u32, head as u32 as usize)
    }

    /// Returns the number of entries in this recording so far.
    pub fn len(&self, of: Recording) -> usize {
        // Acquire: E1.
        let (recording, length) = Self::parts(self.head.load(Ordering::Acquire));
        if recording == of.0 { length } else { 0 }
    }

    /// Whether there are no entries in this recording so far.
    pub fn is_empty(&self, of: Recording) -> bool {
        self.len(of) == 0
    }

    /// Returns the entries from number `from` on in this recording, which goes on.
    pub fn read(&self, of: Recording, from: usize) -> Noted {
        let length = self.len(of);
        if length == 0 {
            return Noted::default();
        }
        let entry = |index: usize| {
            let piece = self.pieces[index / self.piece].get().expect("the owner has made room for its entries");
            // Relaxed: E1, and I2.
            piece[index % self.piece].each_ref().map(|word| word.load(Ordering::Relaxed))
        };
        // Relaxed: as in `add`.
        Noted { entries: (from..length).map(entry).collect(), lost: self.lost.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use filch_memory::Native;

    use super::*;

    #[test]
    fn a_recording_begins_at_the_first_entry_and_what_does_not_fit_is_counted() {
        let (recorder, log) = (Recorder::<Native>::default(), Log::<Native>::new(2, 2));
        log.note(&recorder, || unreachable!("nobody records yet"));
        let first = recorder.begin();
        for n in 0..7 {
            log.note(&recorder, || [n, 10 * n]);
        }
        assert_eq!(log.read(first, 0), Noted { entries: (0..4).map(|n| [n, 10 * n]).collect(), lost: 3 });
        assert_eq!(log.read(first, 3).entries, [[3, 30]]);
        recorder.end();
        log.note(&recorder, || unreachable!("nobody records"));
        let second = recorder.begin();
        assert_ne!(first, second);
        assert!(log.is_empty(second), "nothing has been noted in it");
        assert_eq!(log.read(second, 0), Noted::default(), "what was lost in the first is not lost in it");
        log.note(&recorder, || [8, 9]);
        assert!(!log.is_empty(second));
        assert_eq!(log.read(second, 0), Noted { entries: vec![[8, 9]], lost: 0 });
        recorder.end();
    }

    #[test]
    fn after_the_last_number_the_first_follows_and_one_entry_is_room() {
        let (recorder, log) = (Recorder::<Native>::default(), Log::<Native>::new(1, 1));
        recorder.last.store(u32::MAX, Ordering::Relaxed);
        let recording = recorder.begin();
        for n in 0..2 {
            log.note(&recorder, || [n, n]);
        }
        assert_eq!(log.read(recording, 0), Noted { entries: vec![[0, 0]], lost: 1 });
    }
}
