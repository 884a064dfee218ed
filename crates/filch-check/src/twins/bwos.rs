//! BWoS-L and PadWS, compact, with mistakes to choose from. See `filch_queue::{bwos_l, pad_ws}` for the algorithms.
//!
//! What must always hold: without a mistake it is correct on every machine. A thief of PadWS takes what was granted to
//! others.

use std::sync::Arc;

use filch_memory::{Atomic, AtomicInt, Memory, Ordering};
use filch_queue::{Full, Progress, Promises, Queue, Steal, StealOrder, Task};

use super::mutant::{Harm, Mutant, buffer, mutant};
use super::twin::{promises, task, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// A block begins a round while thieves copy from its last one.
    ReclaimedWithoutDone,
    /// A block is opened from its first entry on, and not from the first that was not handed out.
    OpenedFromZero,
    /// A block is taken over by a load and a store.
    TakeoverByStore,
    /// A thief says that it has copied before it does.
    DoneBeforeCopy,
    /// A block whose entries were granted is used again before they are copied.
    ResetWithoutDone,
    /// A pop looks at the block below its own and no further.
    NoSkip,
    /// A thief asks again before it has collected the answer.
    AskedTooEarly,
}

/// A mistake, the length of a block, and how many there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params(pub Mistake, pub u64, pub u64);

/// The twin's name as a type; one that delegates is PadWS.
#[derive(Clone, Copy, Debug)]
pub struct Bwos<const DELEGATES: bool>;

/// Of `spos`; above every index.
const CLOSED: u64 = 1 << 20;

const GRANTED: u64 = 1;
const NOTHING: u64 = 2;
const TAKEN: u64 = 3;

struct Shared<M: Memory> {
    mistake: Mistake,
    entries: u64,
    /// `spos` and `done`.
    blocks: Vec<(M::AtomicU64, M::AtomicU64)>,
    slots: Vec<M::AtomicUsize>,
    sblk: M::AtomicU64,
    requests: Vec<M::AtomicU64>,
    cells: Vec<M::AtomicU64>,
}

pub(super) fn pair(high: u64, low: u64) -> u64 {
    high << 32 | low
}

pub(super) fn parts(word: u64) -> (u64, u64) {
    (word >> 32, word & 0xFFFF_FFFF)
}

impl<M: Memory> Shared<M> {
    fn place(&self, block: u64) -> usize {
        block as usize % self.blocks.len()
    }

    fn round(&self, block: u64) -> u64 {
        block / self.blocks.len() as u64
    }

    fn spos(&self, block: u64) -> &M::AtomicU64 {
        &self.blocks[self.place(block)].0
    }

    fn slot(&self, block: u64, entry: u64) -> usize {
        self.place(block) * self.entries as usize + entry as usize
    }

    fn copy(&self, slot: usize) -> Task {
        let done = &self.blocks[slot / self.entries as usize].1;
        if self.mistake == Mistake::DoneBeforeCopy {
            done.fetch_add(1, Ordering::Release);
        }
        let copied = self.slots[slot].load(Ordering::Relaxed);
        if self.mistake != Mistake::DoneBeforeCopy {
            done.fetch_add(1, Ordering::Release);
        }
        task(copied)
    }

    /// Takes what a cell grants.
    fn take(&self, cell: usize) -> Option<usize> {
        let granted = self.cells[cell].load(Ordering::Acquire);
        let (number, answer) = parts(granted);
        let taken = pair(number, TAKEN << 24);
        let is_mine = answer >> 24 == GRANTED
            && self.cells[cell].compare_exchange(granted, taken, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        is_mine.then_some((answer & 0xFF_FFFF) as usize)
    }
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    block: u64,
    front: u64,
    back: u64,
    /// Which block was in each place, and its front when it was left.
    left: Vec<(u64, u64)>,
    answered: Vec<u64>,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    index: usize,
    number: u64,
    is_outstanding: bool,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory, const DELEGATES: bool> Queue<M> for Bwos<DELEGATES> {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Params;

    const PROMISES: Promises = if DELEGATES {
        Promises {
            steals: StealOrder::Unordered,
            steal_progress: Progress::OwnerDependent,
            owner_must_poll: true,
            ..promises("padws")
        }
    } else {
        promises("bwos-l")
    };

    fn make(_: usize, thieves: usize, &Params(mistake, entries, count): &Params) -> (Owner<M>, Vec<Thief<M>>) {
        let block = |place| match place {
            0 => (Atomic::new(pair(1, CLOSED)), Atomic::new(0)),
            _ => (Atomic::new(pair(0, entries)), Atomic::new(entries)),
        };
        let thieves = if DELEGATES { 0..thieves } else { thieves..2 * thieves };
        let cells = thieves.end * usize::from(DELEGATES);
        let shared = Arc::new(Shared {
            mistake,
            entries,
            blocks: (0..count).map(block).collect(),
            slots: (0..entries * count).map(|_| Atomic::new(0)).collect(),
            sblk: Atomic::new(count),
            requests: (0..cells).map(|_| Atomic::new(0)).collect(),
            cells: (0..cells).map(|_| Atomic::new(pair(0, TAKEN << 24))).collect(),
        });
        let left = (0..count).map(|place| if place == 0 { (count, 0) } else { (place, entries) }).collect();
        let thief = |index| Thief { shared: Arc::clone(&shared), index, number: 0, is_outstanding: false };
        let thieves = thieves.map(thief).collect();
        (Owner { shared, block: count, front: 0, back: 0, left, answered: vec![0; cells] }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    fn is_settled(&self, block: u64, front: u64, needs: bool) -> bool {
        let done = &self.shared.blocks[self.shared.place(block)].1;
        let is_settled = !needs || done.load(Ordering::Acquire) == front;
        if is_settled {
            done.store(0, Ordering::Relaxed);
        }
        is_settled
    }

    fn go_up(&mut self) -> bool {
        let (shared, mistake) = (Arc::clone(&self.shared), self.shared.mistake);
        let careful = mistake != Mistake::ResetWithoutDone;
        if self.front == shared.entries && self.is_settled(self.block, self.front, careful) {
            (self.front, self.back) = (0, 0);
            return true;
        }
        let next = self.block + 1;
        let (last, front) = self.left[shared.place(next)];
        let start = if last == next {
            if self.is_settled(next, front, careful) { 0 } else { front }
        } else {
            let is_exhausted = shared.spos(next).load(Ordering::Relaxed) == pair(shared.round(last), shared.entries);
            if !is_exhausted || !self.is_settled(next, shared.entries, mistake != Mistake::ReclaimedWithoutDone) {
                return false;
            }
            shared.spos(next).store(pair(shared.round(next), CLOSED), Ordering::Relaxed);
            0
        };
        let open = if mistake == Mistake::OpenedFromZero { 0 } else { self.front };
        shared.spos(self.block).store(pair(shared.round(self.block), open), Ordering::Release);
        self.left[shared.place(self.block)] = (self.block, self.front);
        self.left[shared.place(next)] = (next, start);
        (self.block, self.front, self.back) = (next, start, start);
        true
    }

    fn below(&self) -> Option<u64> {
        let shared = &*self.shared;
        let mut oldest = shared.sblk.load(Ordering::Relaxed).max(self.block + 1 - shared.blocks.len() as u64);
        if shared.mistake == Mistake::NoSkip {
            oldest = oldest.max(self.block - 1);
        }
        (oldest..self.block).rev().find(|&block| {
            let (round, index) = parts(shared.spos(block).load(Ordering::Relaxed));
            round == shared.round(block) && index < shared.entries
        })
    }

    fn take_over(&mut self, block: u64) {
        let shared = Arc::clone(&self.shared);
        let closed = pair(shared.round(block), CLOSED);
        let found = if shared.mistake == Mistake::TakeoverByStore {
            let found = shared.spos(block).load(Ordering::Relaxed);
            shared.spos(block).store(closed, Ordering::Relaxed);
            found
        } else {
            shared.spos(block).swap(closed, Ordering::Relaxed)
        };
        let index = parts(found).1;
        if index == shared.entries {
            shared.spos(block).store(found, Ordering::Relaxed);
            return;
        }
        for between in block + 1..self.block {
            shared.spos(between).store(pair(shared.round(between), CLOSED), Ordering::Relaxed);
            self.left[shared.place(between)] = (between, shared.entries);
        }
        self.left[shared.place(self.block)] = (self.block, self.front);
        (self.block, self.front, self.back) = (block, index, shared.entries);
    }

    /// Takes back the newest task that was granted above the block `below`.
    fn revoke(&self, below: Option<u64>) -> Option<Task> {
        let shared = &*self.shared;
        loop {
            let granted = (0..shared.cells.len()).filter_map(|cell| {
                let answer = parts(shared.cells[cell].load(Ordering::Relaxed)).1;
                let slot = answer & 0xFF_FFFF;
                let behind =
                    (self.block + shared.blocks.len() as u64 - slot / shared.entries) % shared.blocks.len() as u64;
                (answer >> 24 == GRANTED).then_some((self.block - behind, slot, cell))
            });
            let (block, slot, cell) = granted.max()?;
            if below.is_some_and(|below| block <= below) {
                return None;
            }
            if shared.take(cell) == Some(slot as usize) {
                return Some(shared.copy(slot as usize));
            }
        }
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        while self.back == self.shared.entries {
            if !self.go_up() {
                self.poll();
                return Err(Full(task));
            }
        }
        self.shared.slots[self.shared.slot(self.block, self.back)].store(word(task), Ordering::Relaxed);
        self.back += 1;
        self.poll();
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let popped = loop {
            if self.back > self.front {
                self.back -= 1;
                let slot = self.shared.slot(self.block, self.back);
                break Some(task(self.shared.slots[slot].load(Ordering::Relaxed)));
            }
            let below = self.below();
            if let Some(revoked) = self.revoke(below) {
                break Some(revoked);
            }
            match below {
                Some(block) => self.take_over(block),
                None => break None,
            }
        };
        self.poll();
        popped
    }

    fn poll(&mut self) {
        let shared = Arc::clone(&self.shared);
        for cell in 0..shared.cells.len() {
            let number = shared.requests[cell].load(Ordering::Acquire);
            if number == self.answered[cell] {
                continue;
            }
            self.answered[cell] = number;
            let answer = if self.back > self.front {
                self.front += 1;
                GRANTED << 24 | shared.slot(self.block, self.front - 1) as u64
            } else {
                NOTHING << 24
            };
            shared.cells[cell].store(pair(number, answer), Ordering::Release);
        }
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> Thief<M> {
    fn delegates(&self) -> bool {
        self.index < self.shared.cells.len()
    }

    fn collect(&mut self) -> Option<Task> {
        if !self.is_outstanding {
            return None;
        }
        let (number, answer) = parts(self.shared.cells[self.index].load(Ordering::Acquire));
        if number != self.number {
            return None;
        }
        self.is_outstanding = false;
        (answer >> 24 == GRANTED).then(|| self.shared.take(self.index)).flatten().map(|slot| self.shared.copy(slot))
    }

    fn ask(&mut self) {
        if self.delegates() && !self.is_outstanding {
            self.number += 1;
            self.is_outstanding = true;
            self.shared.requests[self.index].store(self.number, Ordering::Release);
        }
    }

    fn steal_directly(&self) -> Steal<Task> {
        let shared = &*self.shared;
        let mut oldest = shared.sblk.load(Ordering::Relaxed);
        loop {
            let (spos, round) = (shared.spos(oldest), shared.round(oldest));
            let found = spos.load(Ordering::Relaxed);
            let (now, index) = parts(found);
            if now == round && index < shared.entries {
                if spos.compare_exchange(found, found + 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                    return Steal::Retry;
                }
                return Steal::Task(shared.copy(shared.slot(oldest, index)));
            }
            let next = || parts(shared.spos(oldest + 1).load(Ordering::Relaxed));
            let goes_on = now == round
                && index == shared.entries
                && matches!(next(), (now, index) if now == shared.round(oldest + 1) && index != CLOSED);
            if now <= round && !goes_on {
                return Steal::Empty;
            }
            let _ = shared.sblk.compare_exchange(oldest, oldest + 1, Ordering::Relaxed, Ordering::Relaxed);
            oldest = shared.sblk.load(Ordering::Relaxed);
        }
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        if self.shared.mistake == Mistake::AskedTooEarly {
            self.is_outstanding = false;
            self.ask();
        }
        let mut outcome = self.collect().map_or(Steal::Empty, Steal::Task);
        if outcome.is_empty() {
            outcome = self.steal_directly();
        }
        if outcome.is_empty() {
            let others = (0..self.shared.cells.len()).filter(|&cell| cell != self.index);
            let taken = others.filter_map(|cell| self.shared.take(cell)).next();
            outcome = taken.map_or(Steal::Pending, |slot| Steal::Task(self.shared.copy(slot)));
        }
        self.ask();
        outcome
    }

    fn quiesce(&mut self) -> Option<Task> {
        self.collect()
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    fn row<const DELEGATES: bool>(
        name: &str,
        mistake: Mistake,
        [entries, blocks]: [u64; 2],
        (before, owner, thieves): (usize, &str, &[usize]),
        harm: Harm,
        shows: &'static str,
    ) -> Mutant {
        let client = Client::new(1, before, owner, thieves);
        let params = [mistake, Mistake::None].map(|mistake| Params(mistake, entries, blocks));
        mutant::<Bwos<DELEGATES>>(name, params, client, buffer(0), harm, shows)
    }
    vec![
        row::<false>(
            "reclaimed-without-done",
            Mistake::ReclaimedWithoutDone,
            [1, 2],
            (2, "+", &[1]),
            Harm::Lost,
            "the owner writes an entry that a thief has won and not copied",
        ),
        row::<false>(
            "opened-from-zero",
            Mistake::OpenedFromZero,
            [2, 2],
            (3, "--++---", &[1]),
            Harm::Twice,
            "a block that the owner took back in part is opened with what thieves have taken of it",
        ),
        row::<false>(
            "takeover-by-store",
            Mistake::TakeoverByStore,
            [1, 2],
            (2, "--", &[1]),
            Harm::Twice,
            "a steal between the owner's load and its store is undone",
        ),
        row::<false>(
            "done-before-copy",
            Mistake::DoneBeforeCopy,
            [1, 2],
            (2, "+", &[1]),
            Harm::Lost,
            "the owner writes an entry that a thief says it has copied, and has not",
        ),
        row::<true>(
            "reset-without-done",
            Mistake::ResetWithoutDone,
            [1, 2],
            (1, ".+", &[2]),
            Harm::Lost,
            "a granted entry is written again before it is copied",
        ),
        row::<true>(
            "no-skip",
            Mistake::NoSkip,
            [1, 4],
            (3, ".+---", &[1]),
            Harm::Lost,
            "a block that was granted as a whole hides an open one below it",
        ),
        row::<true>(
            "asked-too-early",
            Mistake::AskedTooEarly,
            [2, 2],
            (2, "..", &[2]),
            Harm::Lost,
            "the answer to the second request overwrites that to the first, which nobody has taken",
        ),
    ]
}
