//! A thread of the machine, its store buffer, and the actions that it takes without a step.
//!
//! Invariant: the buffer's entries are in the order of the stores, and the extra entry is older than all of them.

use std::collections::VecDeque;

use super::{Bits, Machine, Op, Site};
use crate::tso::clock::{Clock, MAX_THREADS};
use crate::tso::record::Act;

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) location: u32,
    pub(super) bits: Bits,
    /// The store that made the entry.
    pub(super) store: u32,
    pub(super) clock: Clock,
    pub(super) order: Order,
}

impl Entry {
    /// Returns whether this entry may join an older one in the extra entry: it writes everything that the older one
    /// writes.
    pub(super) fn replaces(&self, older: &Self) -> bool {
        self.location == older.location && older.bits.mask & !self.bits.mask == 0
    }
}

/// The order that a program may rely on: for each thread, the number of its stores that came before.
pub(super) type Order = [u16; MAX_THREADS];

pub(super) fn join(order: &mut Order, other: &Order) {
    for (mine, theirs) in order.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

#[derive(Debug)]
pub(crate) struct Thread {
    /// The yielder of its coroutine.
    pub(crate) yielder: *const corosensei::Yielder<(), ()>,
    pub(crate) op: Op,
    pub(crate) site: Option<Site>,
    /// The result of the last operation: the value read, and whether a compare-and-swap has written.
    pub(crate) result: (u64, bool),
    pub(super) buffer: VecDeque<Entry>,
    pub(super) extra: Option<Entry>,
    /// Loads that an entry served, with the entry's store: they are ordered with its drain.
    pub(super) forwarded: Vec<(u32, u32)>,
    /// The locations that the current round of a waiting loop has read; `None` once it has written.
    pub(super) looked_at: Option<Vec<(u32, u32)>>,
    pub(super) clock: Clock,
    pub(super) buffer_clock: Clock,
    pub(super) extra_clock: Clock,
    /// The extra entry's last drain, and the entry: a store that replaces it might have joined it.
    pub(super) extra_drained: Option<(u32, Entry)>,
    /// The last store that joined another in the extra entry; that one might have drained before.
    pub(super) extra_joined: Option<u32>,
    /// The drains so far, if stores are steps: one of them freed the entry that a store needs.
    pub(super) drains: Vec<Clock>,
    pub(super) order: Order,
    pub(super) stores: u32,
    /// Which writes it has read.
    pub(super) fingerprint: u64,
}

impl Thread {
    pub(super) fn new() -> Self {
        Self {
            yielder: std::ptr::null(),
            op: Op::Run,
            site: None,
            result: (0, false),
            buffer: VecDeque::new(),
            extra: None,
            forwarded: Vec::new(),
            looked_at: Some(Vec::new()),
            clock: Clock::default(),
            buffer_clock: Clock::default(),
            extra_clock: Clock::default(),
            extra_drained: None,
            extra_joined: None,
            drains: Vec::new(),
            order: [0; MAX_THREADS],
            stores: 0,
            fingerprint: 0,
        }
    }

    pub(super) fn reset(&mut self) {
        let (mut buffer, mut forwarded) = (std::mem::take(&mut self.buffer), std::mem::take(&mut self.forwarded));
        let mut looked_at = self.looked_at.take().unwrap_or_default();
        buffer.clear();
        forwarded.clear();
        looked_at.clear();
        *self = Self { buffer, forwarded, looked_at: Some(looked_at), ..Self::new() };
    }

    /// Returns the newest store to `location` that has not reached memory.
    #[inline]
    pub(super) fn pending(&self, location: u32) -> Option<&Entry> {
        self.buffer.iter().rev().chain(&self.extra).find(|entry| entry.location == location)
    }

    /// Returns all stores to `location` that have not reached memory, merged.
    pub(super) fn all_pending(&self, location: u32) -> Bits {
        let older_first = self.extra.iter().chain(&self.buffer).filter(|entry| entry.location == location);
        older_first.fold(Bits { value: 0, mask: 0 }, |older, entry| entry.bits.after(older))
    }

    pub(super) fn is_drained(&self) -> bool {
        self.buffer.is_empty() && self.extra.is_none()
    }
}

impl Machine {
    /// Returns the contents of a thread's buffer, oldest first, starting with the extra entry.
    pub(crate) fn buffered(&self, thread: usize) -> impl Iterator<Item = (u32, u64)> {
        let thread = &self.threads[thread];
        thread.extra.iter().chain(&thread.buffer).map(|entry| (entry.location, entry.bits.value))
    }

    /// Puts a store into the buffer, if it has room.
    #[inline]
    pub(crate) fn try_buffer(&mut self, thread: usize, location: u32, bits: Bits) -> bool {
        let limit = self.processor.buffer;
        let own = &mut self.threads[thread];
        if own.buffer.len() >= limit {
            return false;
        }
        own.looked_at = None;
        own.stores += 1;
        let store = own.stores;
        own.order[thread] += 1;
        own.buffer.push_back(Entry { location, bits, store, clock: own.clock, order: own.order });
        if self.recorder.is_some() {
            self.record(thread, Act::Buffer { location, value: bits.value });
        }
        true
    }

    #[inline]
    pub(crate) fn is_drained(&self, thread: usize) -> bool {
        self.threads[thread].is_drained()
    }

    /// Passes a fence whose thread found the buffer empty: all drains come before it.
    #[inline]
    pub(crate) fn pass_fence(&mut self, thread: usize) {
        let own = &mut self.threads[thread];
        own.clock.join(&own.buffer_clock);
        own.clock.join(&own.extra_clock);
    }

    /// Returns whether something has changed since this round of a waiting loop began. If the round has written, it
    /// need not wait.
    pub(crate) fn may_look_again(&mut self, thread: usize) -> bool {
        let words = &self.words;
        match &mut self.threads[thread].looked_at {
            Some(seen) => {
                let changed = seen.iter().any(|&(location, version)| words[location as usize].version != version);
                let again = changed || seen.is_empty();
                if again {
                    seen.clear();
                }
                again
            }
            none => {
                *none = Some(Vec::new());
                true
            }
        }
    }

    /// Lets a thread that waits for its buffer, or for a change, continue if it can. The caller then resumes it.
    pub(crate) fn unblock(&mut self, thread: usize) -> bool {
        let op = self.threads[thread].op;
        match op {
            Op::Fence if self.is_drained(thread) => self.pass_fence(thread),
            Op::Store { location, bits } if self.processor.buffer != 0 && !self.stores_are_steps => {
                if !self.try_buffer(thread, location, bits) {
                    return false;
                }
                // A drain made room.
                let own = &mut self.threads[thread];
                own.clock.join(&own.buffer_clock);
            }
            Op::Spin if self.may_look_again(thread) => {}
            // Another thread's step woke it.
            Op::Run => return true,
            _ => return false,
        }
        self.threads[thread].op = Op::Run;
        true
    }
}
