//! BWoS-F, compact, with mistakes to choose from. See `filch_queue::bwos_f` for the algorithm.
//!
//! What must always hold: without a mistake it is correct on every machine.

use std::sync::Arc;

use filch_memory::{Atomic, AtomicInt, Memory, Ordering};
use filch_queue::{Full, Order, Promises, Queue, Steal, StealOrder, Task};

use super::bwos::{pair, parts};
use super::mutant::{Harm, Mutant, buffer, mutant};
use super::twin::{promises, task, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// A push counts its entry before it writes it.
    CommittedBeforeEntry,
    /// A block begins a lap while thieves copy from its last one.
    ReclaimedWithoutStolen,
    /// A block is taken over by a load and a store.
    TakeoverByStore,
    /// A takeover does not count what thieves will never copy.
    NotToppedUp,
}

/// A mistake, the length of a block, and how many there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params(pub Mistake, pub u64, pub u64);

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct BwosF;

struct Block<M: Memory> {
    committed: M::AtomicU64,
    reserved: M::AtomicU64,
    stolen: M::AtomicU64,
}

struct Shared<M: Memory> {
    mistake: Mistake,
    entries: u64,
    blocks: Vec<Block<M>>,
    slots: Vec<M::AtomicUsize>,
    spos: M::AtomicU64,
}

impl<M: Memory> Shared<M> {
    fn block(&self, block: u64) -> &Block<M> {
        &self.blocks[block as usize % self.blocks.len()]
    }

    fn lap(&self, block: u64) -> u64 {
        block / self.blocks.len() as u64
    }

    fn slot(&self, block: u64, entry: u64) -> &M::AtomicUsize {
        &self.slots[(block % self.blocks.len() as u64 * self.entries + entry) as usize]
    }
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    pblk: u64,
    written: u64,
    cblk: u64,
    consumed: u64,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for BwosF {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Params;

    const PROMISES: Promises = Promises { order: Order::Fifo, steals: StealOrder::OldestShared, ..promises("bwos-f") };

    fn make(_: usize, thieves: usize, &Params(mistake, entries, count): &Params) -> (Owner<M>, Vec<Thief<M>>) {
        let block = |place| {
            let lap = u64::from(place == 0);
            Block {
                committed: Atomic::new(pair(lap, if place == 0 { 0 } else { entries })),
                reserved: Atomic::new(pair(lap, entries)),
                stolen: Atomic::new(pair(lap, entries)),
            }
        };
        let shared = Arc::new(Shared {
            mistake,
            entries,
            blocks: (0..count).map(block).collect(),
            slots: (0..entries * count).map(|_| Atomic::new(0)).collect(),
            spos: Atomic::new(count),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, pblk: count, written: 0, cblk: count, consumed: 0 }, thieves)
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let shared = &*self.shared;
        if self.written == shared.entries {
            let next = self.pblk + 1;
            let last = next - shared.blocks.len() as u64;
            let is_read = self.cblk > last || (self.cblk == last && self.consumed == shared.entries);
            let block = shared.block(next);
            let is_copied = shared.mistake == Mistake::ReclaimedWithoutStolen
                || block.stolen.load(Ordering::Acquire) == pair(shared.lap(last), shared.entries);
            if !is_read || !is_copied {
                return Err(Full(task));
            }
            let start = pair(shared.lap(next), 0);
            block.committed.store(start, Ordering::Relaxed);
            block.stolen.store(start, Ordering::Relaxed);
            block.reserved.store(start, Ordering::Release);
            (self.pblk, self.written) = (next, 0);
        }
        let (committed, slot) = (&shared.block(self.pblk).committed, shared.slot(self.pblk, self.written));
        self.written += 1;
        let count = pair(shared.lap(self.pblk), self.written);
        if shared.mistake == Mistake::CommittedBeforeEntry {
            committed.store(count, Ordering::Release);
        }
        slot.store(word(task), Ordering::Relaxed);
        if shared.mistake != Mistake::CommittedBeforeEntry {
            committed.store(count, Ordering::Release);
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let shared = &*self.shared;
        loop {
            let written = if self.cblk == self.pblk { self.written } else { shared.entries };
            if self.consumed < written {
                self.consumed += 1;
                return Some(task(shared.slot(self.cblk, self.consumed - 1).load(Ordering::Relaxed)));
            }
            if self.cblk == self.pblk {
                return None;
            }
            self.cblk += 1;
            let block = shared.block(self.cblk);
            let end = pair(shared.lap(self.cblk), shared.entries);
            let found = if shared.mistake == Mistake::TakeoverByStore {
                let found = block.reserved.load(Ordering::Relaxed);
                block.reserved.store(end, Ordering::Relaxed);
                found
            } else {
                block.reserved.swap(end, Ordering::AcqRel)
            };
            self.consumed = parts(found).1;
            if shared.mistake != Mistake::NotToppedUp {
                block.stolen.fetch_add(shared.entries - self.consumed, Ordering::Relaxed);
            }
        }
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        let mut oldest = shared.spos.load(Ordering::Acquire);
        loop {
            let (block, lap) = (shared.block(oldest), shared.lap(oldest));
            let reserved = block.reserved.load(Ordering::Acquire);
            let (now, index) = parts(reserved);
            if now == lap && index < shared.entries {
                if parts(block.committed.load(Ordering::Acquire)).1 == index {
                    return Steal::Empty;
                }
                if block.reserved.compare_exchange(reserved, reserved + 1, Ordering::AcqRel, Ordering::Relaxed).is_err()
                {
                    return Steal::Retry;
                }
                let stolen = shared.slot(oldest, index).load(Ordering::Relaxed);
                block.stolen.fetch_add(1, Ordering::Release);
                return Steal::Task(task(stolen));
            }
            let next = || parts(shared.block(oldest + 1).reserved.load(Ordering::Acquire)).0;
            if now < lap || (now == lap && next() < shared.lap(oldest + 1)) {
                return Steal::Empty;
            }
            let _ = shared.spos.compare_exchange(oldest, oldest + 1, Ordering::AcqRel, Ordering::Relaxed);
            oldest = shared.spos.load(Ordering::Acquire);
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = |name, mistake, (before, owner, thieves): (usize, &str, &[usize]), harm, shows| {
        let client = Client::new(2, before, owner, thieves);
        let params = [mistake, Mistake::None].map(|mistake| Params(mistake, 1, 2));
        mutant::<BwosF>(name, params, client, buffer(0), harm, shows)
    };
    vec![
        row(
            "committed-before-entry",
            Mistake::CommittedBeforeEntry,
            (1, "+", &[1]),
            Harm::NoTask,
            "a thief reads an entry that is counted and not written",
        ),
        row(
            "reclaimed-without-stolen",
            Mistake::ReclaimedWithoutStolen,
            (2, "-+-+", &[1]),
            Harm::Lost,
            "the owner writes an entry that a thief has won and not copied",
        ),
        row(
            "takeover-by-store",
            Mistake::TakeoverByStore,
            (2, "--", &[1]),
            Harm::Twice,
            "a steal between the owner's load and its store is undone",
        ),
        row(
            "not-topped-up",
            Mistake::NotToppedUp,
            (2, "--+-", &[]),
            Harm::NoRoom,
            "a block that the owner has taken over never counts as copied, and is never used again",
        ),
    ]
}
