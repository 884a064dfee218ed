//! Delegation: thieves ask, and the owner answers with a place to copy the task from.
//!
//! [`PadWs`](crate::PadWs) and [`Adws`](crate::Adws) share it; their files name the paper, which leaves all of this
//! open. A thief asks by changing its bit of a bitmap, and moves on. At every operation the owner compares the bitmap
//! with the one it saw last, and writes to the cell of each thief that asked: either a position whose task the thief
//! may copy, or the answer "nothing". So owner and thieves never race for a task, and the owner needs no fence.
//!
//! **Fields.** Each on its own line.
//! * `bell`: a bit for each thief, changed by that thief. The owner only reads it, so that it stays in the owner's
//!   cache while no thief asks. If one word does not hold all the bits, they are in `requests`, and the bell counts the
//!   changes there. So the owner looks at one word in any case.
//! * `cells`: one for each thief: (number of the request, kind, position). Written by the owner as the answer to that
//!   request; then changed by the thread that takes the task.
//! * private to the owner: the bits and the bell that it last saw, and the number of answered requests of each thief.
//! * private to a thief: the number of its last request, and whether that request is outstanding.
//!
//! **Invariants.**
//! * D1: a request is outstanding until its thief has seen a settled answer: nothing, or a task that has been taken. A
//!   thief with an outstanding request makes no other.
//! * D2: so the owner overwrites only settled answers, and a cell names a granted task until it is taken.
//! * D3: a granted task is taken by the one compare-and-swap that changes its cell; its number makes the word unique.
//!
//! **Edges.**
//! * E1: the owner's store of an answer (release) → the compare-and-swap in `take` (acquire): entry and task contents.
//! * E2: a change of `bell` or `requests` (release) → its load in `answer_all` (acquire): the settling of the last
//!   answer comes before the next answer.
//! * E3: a ring of the bell (release) → its load in `answer_all` (acquire): the change of `requests` before the ring.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::num::NonZeroU32;

use filch_memory::{Atomic, AtomicInt, Memory, Native, Ordering};

use crate::counts::Counting;
use crate::{Counts, Padded, Steal};

/// How thieves ask and the owner answers, in [`PadWs`](crate::PadWs) and [`Adws`](crate::Adws).
///
/// ```
/// use filch_queue::{CrossTaking, Delegation, Revocation};
///
/// let delegation = Delegation { cross_taking: CrossTaking::Off, ..Delegation::default() };
/// assert_eq!(delegation.revocation, Revocation::WhenNeeded);
/// assert_eq!(delegation.poll_every.get(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// Whether thieves take tasks granted to others.
    pub cross_taking: CrossTaking,
    /// Whether the owner takes back tasks that it has granted.
    pub revocation: Revocation,
    /// When thieves ask. Ignored by [`Adws`](crate::Adws), where asking is the only way to a task.
    pub prefetch: Prefetch,
    /// What a scheduler's thief does after it has asked.
    pub answers: Answers,
    /// The number of tasks that the owner does not grant; in [`PadWs`](crate::PadWs), of the tasks in its block.
    pub keep: u32,
    /// The owner checks for requests at one in this many pushes and pops.
    pub poll_every: NonZeroU32,
    /// How many thieves have their bits in one word, at most 64. If one word does not hold all bits, the owner still
    /// looks at a single word, and each thief asks by two operations.
    pub thieves_per_word: NonZeroU32,
}

impl Default for Delegation {
    fn default() -> Self {
        Self {
            cross_taking: CrossTaking::default(),
            revocation: Revocation::default(),
            prefetch: Prefetch::default(),
            answers: Answers::default(),
            keep: 0,
            poll_every: NonZeroU32::MIN,
            thieves_per_word: NonZeroU32::new(u64::BITS).expect("not zero"),
        }
    }
}

/// Whether a thief that finds nothing takes a task that was granted to another thief and not collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrossTaking {
    /// Never.
    Off,
    /// It looks at one other thief's cell, the next one each time.
    #[default]
    One,
    /// It looks at all other cells.
    Each,
}

/// Whether the owner takes back granted tasks that no thief has collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Revocation {
    /// Never: a granted task waits for a thief. If thieves do not take tasks granted to others, it waits for its own
    /// thief, and a pop may return an older task first.
    Off,
    /// When a pop finds no newer task.
    #[default]
    WhenNeeded,
}

/// When a thief asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefetch {
    /// When it has seen no open block.
    #[default]
    WhenNothingIsOpen,
    /// With every attempt.
    Always,
}

/// What a thief does between its request and the answer. The queues never wait; a scheduler reads the setting by
/// [`Queue::polls`](crate::Queue::polls).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answers {
    /// It goes on elsewhere, and collects the answer when it comes back: the paper's asynchronous delegation.
    #[default]
    Later,
    /// It polls for the answer for a while.
    Polled,
}

/// The state of a request, in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Taken, and copied if a copy matters; or there never was a request.
    Taken = 0,
    /// There was no task.
    Nothing = 1,
    /// The task at the position.
    Granted = 2,
    /// Taken; the task at the position is being copied.
    Copying = 3,
}

/// An answer: (number: 32 bits, kind: 2 bits, position: 30 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    number: u32,
    pub(crate) kind: Kind,
    pub(crate) position: u32,
}

/// Positions are below this.
pub(crate) const POSITIONS: u32 = 1 << 30;

impl Answer {
    const fn word(self) -> u64 {
        (self.number as u64) << 32 | (self.kind as u64) << 30 | self.position as u64
    }

    const fn from_word(word: u64) -> Self {
        let kind = match word >> 30 & 3 {
            0 => Kind::Taken,
            1 => Kind::Nothing,
            2 => Kind::Granted,
            _ => Kind::Copying,
        };
        Self { number: (word >> 32) as u32, kind, position: word as u32 & (POSITIONS - 1) }
    }
}

/// The state that owner and thieves share.
pub(crate) struct Desk<M: Memory = Native> {
    bell: Padded<M::AtomicU64>,
    /// Empty if the bell has a bit for each thief.
    requests: Box<[Padded<M::AtomicU64>]>,
    cells: Box<[Padded<M::AtomicU64>]>,
    per_word: u32,
}

/// The owner's private state.
pub(crate) struct OwnerDesk {
    /// The bell as last seen.
    seen: u64,
    seen_requests: Box<[u64]>,
    answered: Box<[u32]>,
    /// Whether there may be granted tasks that no thief has taken.
    has_granted: bool,
    /// The number of operations without a check between two with one.
    skipped: u32,
    /// How many of these operations are left.
    countdown: u32,
    tally: Counting,
}

/// A thief's private state.
pub(crate) struct ThiefDesk {
    index: usize,
    number: u32,
    is_outstanding: bool,
    /// Selects the other cell that it looks at first.
    next: usize,
    tally: Counting,
}

impl<M: Memory> Desk<M> {
    /// Makes a desk for this many thieves; none has asked.
    pub(crate) fn new(thieves: usize, delegation: &Delegation) -> (Self, OwnerDesk) {
        let per_word = delegation.thieves_per_word.get();
        assert!(per_word <= u64::BITS, "a word has bits for 64 thieves");
        let words = thieves.div_ceil(per_word as usize);
        let words = if words > 1 { words } else { 0 };
        let desk = Self {
            bell: Padded(Atomic::new(0)),
            requests: (0..words).map(|_| Padded(Atomic::new(0))).collect(),
            cells: (0..thieves).map(|_| Padded(Atomic::new(0))).collect(),
            per_word,
        };
        let skipped = delegation.poll_every.get() - 1;
        let owner = OwnerDesk {
            seen: 0,
            seen_requests: (0..words).map(|_| 0).collect(),
            answered: (0..thieves).map(|_| 0).collect(),
            has_granted: false,
            skipped,
            countdown: skipped,
            tally: Counting::default(),
        };
        (desk, owner)
    }

    pub(crate) fn thieves(&self) -> usize {
        self.cells.len()
    }

    /// Returns the answer in a cell.
    #[track_caller]
    pub(crate) fn answer(&self, cell: usize, order: Ordering) -> Answer {
        Answer::from_word(self.cells[cell].load(order))
    }

    /// Takes a granted task, unless another thread was faster: D3.
    pub(crate) fn take(&self, cell: usize, granted: Answer, kind: Kind) -> bool {
        let taken = Answer { kind, ..granted }.word();
        // E1: pairs with the store in `answer`.
        self.cells[cell].compare_exchange(granted.word(), taken, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Records that a task has been copied.
    #[track_caller]
    pub(crate) fn copied(&self, cell: usize, granted: Answer, order: Ordering) {
        self.cells[cell].store(Answer { kind: Kind::Taken, ..granted }.word(), order);
    }
}

impl OwnerDesk {
    /// Checks for requests if it is time, and answers them with what `grant` returns.
    #[inline]
    pub(crate) fn poll_in_turn<M: Memory>(&mut self, desk: &Desk<M>, grant: impl FnMut() -> Option<u32>) {
        if self.countdown == 0 {
            self.countdown = self.skipped;
            self.poll(desk, grant);
        } else {
            self.countdown -= 1;
        }
    }

    /// Answers all requests with what `grant` returns.
    #[inline]
    pub(crate) fn poll<M: Memory>(&mut self, desk: &Desk<M>, grant: impl FnMut() -> Option<u32>) {
        // Relaxed: a request seen late is answered late; `answer_all` loads again.
        if desk.bell.load(Ordering::Relaxed) != self.seen {
            self.answer_all(desk, grant);
        }
    }

    #[cold]
    fn answer_all<M: Memory>(&mut self, desk: &Desk<M>, mut grant: impl FnMut() -> Option<u32>) {
        self.tally.count(|counts| &counts.polls);
        // E2: pairs with the changes in `ask`; E3: with the ring there.
        let bell = desk.bell.load(Ordering::Acquire);
        let rung = core::mem::replace(&mut self.seen, bell) ^ bell;
        if desk.requests.is_empty() {
            return self.answer(desk, 0, rung, &mut grant);
        }
        for word in 0..desk.requests.len() {
            // E2: as above.
            // kept over Relaxed: a thief's last change of its cell comes before the next answer there. C11 would allow
            // the opposite order, and the answer would be lost; loom's variables change in the order of execution.
            let requests = desk.requests[word].load(Ordering::Acquire);
            let asking = core::mem::replace(&mut self.seen_requests[word], requests) ^ requests;
            self.answer(desk, word * desk.per_word as usize, asking, &mut grant);
        }
    }

    /// Answers the thieves whose bits are set; the lowest bit stands for `first`.
    fn answer<M: Memory>(
        &mut self,
        desk: &Desk<M>,
        first: usize,
        mut asking: u64,
        grant: &mut impl FnMut() -> Option<u32>,
    ) {
        while asking != 0 {
            let thief = first + asking.trailing_zeros() as usize;
            asking &= asking - 1;
            self.answered[thief] = self.answered[thief].wrapping_add(1);
            let number = self.answered[thief];
            let answer = match grant() {
                Some(position) => {
                    self.has_granted = true;
                    self.tally.count(|counts| &counts.grants);
                    Answer { number, kind: Kind::Granted, position }
                }
                None => {
                    self.tally.count(|counts| &counts.declined);
                    Answer { number, kind: Kind::Nothing, position: 0 }
                }
            };
            // E1: pairs with the compare-and-swap in `take`.
            desk.cells[thief].store(answer.word(), Ordering::Release);
        }
    }

    pub(crate) fn count_in(&mut self, counts: &Arc<Counts>) {
        self.tally.count_in(counts);
    }

    /// Returns whether there may be granted tasks that no thief has taken.
    pub(crate) fn has_granted(&self) -> bool {
        self.has_granted
    }

    /// Finds out whether there are granted tasks that no thief has taken.
    pub(crate) fn looks_for_granted<M: Memory>(&mut self, desk: &Desk<M>) -> bool {
        // Relaxed: the owner wrote the grants, and a grant that is being taken may count.
        let mut cells = (0..desk.thieves()).map(|cell| desk.answer(cell, Ordering::Relaxed).kind);
        self.has_granted = self.has_granted && cells.any(|kind| kind == Kind::Granted);
        self.has_granted
    }

    /// Takes back the newest granted task, whose position has the greatest `age`, unless `is_too_old` says that a newer
    /// task is elsewhere.
    pub(crate) fn revoke<M: Memory>(
        &mut self,
        desk: &Desk<M>,
        age: impl Fn(u32) -> u64,
        is_too_old: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        if !self.has_granted {
            return None;
        }
        loop {
            // Relaxed: the owner wrote the grants, and the compare-and-swap decides.
            let cells = (0..desk.thieves()).map(|cell| (cell, desk.answer(cell, Ordering::Relaxed)));
            let granted = cells.filter(|(_, answer)| answer.kind == Kind::Granted);
            let Some((cell, newest)) = granted.max_by_key(|(_, answer)| age(answer.position)) else {
                self.has_granted = false;
                return None;
            };
            if is_too_old(newest.position) {
                return None;
            }
            if desk.take(cell, newest, Kind::Taken) {
                self.tally.count(|counts| &counts.revocations);
                return Some(newest.position);
            }
        }
    }
}

impl ThiefDesk {
    pub(crate) fn new(index: usize) -> Self {
        Self { index, number: 0, is_outstanding: false, next: 0, tally: Counting::default() }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn count_in(&mut self, counts: &Arc<Counts>) {
        self.tally.count_in(counts);
    }

    /// Counts the outcome of an attempt; `crossed` if its task was granted to another thief.
    pub(crate) fn tried<T>(&self, outcome: Steal<T>, crossed: bool) -> Steal<T> {
        if crossed {
            self.tally.count(|counts| &counts.crossings);
        } else if matches!(outcome, Steal::Pending) {
            self.tally.count(|counts| &counts.retries);
        }
        outcome
    }

    /// Returns the answer to the outstanding request, if it has come.
    #[track_caller]
    pub(crate) fn answer<M: Memory>(&self, desk: &Desk<M>, order: Ordering) -> Option<Answer> {
        if !self.is_outstanding {
            return None;
        }
        let answer = desk.answer(self.index, order);
        (answer.number == self.number).then_some(answer)
    }

    /// Ends the outstanding request: D1.
    pub(crate) fn settle(&mut self) {
        self.is_outstanding = false;
    }

    /// Asks, unless a request is outstanding.
    pub(crate) fn ask<M: Memory>(&mut self, desk: &Desk<M>) {
        if self.is_outstanding {
            return;
        }
        self.number = self.number.wrapping_add(1);
        self.is_outstanding = true;
        let per_word = desk.per_word as usize;
        let bit = 1 << (self.index % per_word);
        let requests = desk.requests.get(self.index / per_word).unwrap_or(&desk.bell);
        // E2, both: pair with the loads in `answer_all`.
        if self.number % 2 == 1 {
            // kept over Relaxed: as for those loads.
            requests.fetch_or(bit, Ordering::Release);
        } else {
            // kept over Relaxed: as for those loads.
            requests.fetch_and(!bit, Ordering::Release);
        }
        if !desk.requests.is_empty() {
            // E3: pairs with the load in `answer_all`.
            desk.bell.fetch_add(1, Ordering::Release);
        }
    }

    /// Returns the other cells to look at.
    pub(crate) fn others(&mut self, cells: usize, cross_taking: CrossTaking) -> impl Iterator<Item = usize> + use<> {
        let (index, others) = (self.index, cells - 1);
        let count = match cross_taking {
            CrossTaking::Off => 0,
            CrossTaking::One => others.min(1),
            CrossTaking::Each => others,
        };
        let first = self.next;
        if count > 0 {
            self.next = (first + 1) % others;
        }
        (0..count).map(move |step| (index + 1 + (first + step) % others) % cells)
    }
}
