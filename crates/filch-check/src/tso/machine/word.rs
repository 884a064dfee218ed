//! The machine's memory: words, and cells that are not atomic.
//!
//! Invariant: a word's version counts its writes, and a cell identifies the last access of each thread by the number of
//! the store that comes after it.

use super::thread::{Order, join};
use super::{Bits, Machine, Mode, Site};
use crate::harm::{Harm, Wrong};
use crate::outcome::mix;
use crate::tso::clock::MAX_THREADS;

#[derive(Debug)]
pub(crate) struct Word {
    pub(super) value: u64,
    /// The number of writes.
    pub(super) version: u32,
    /// The store that wrote it, as (thread, its number); initially 0.
    pub(super) writer: u32,
    pub(super) last_write: Option<u32>,
    pub(super) reads: Vec<u32>,
    pub(super) order: Order,
    /// The writes, in order.
    pub(super) fingerprint: u64,
    pub(super) is_address: bool,
    pub(crate) born: Site,
}

/// A cell of memory that is not atomic, with the last access of each thread, as numbers of stores.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(super) written: Option<(usize, u16)>,
    pub(super) read: Order,
    pub(super) born: Site,
}

impl Word {
    fn new(value: u64, is_address: bool, born: Site) -> Self {
        Self {
            value,
            is_address,
            version: 0,
            writer: 0,
            last_write: None,
            reads: Vec::new(),
            order: [0; MAX_THREADS],
            fingerprint: 0,
            born,
        }
    }
}

impl Machine {
    pub(crate) fn allocate(&mut self, value: u64, is_address: bool, born: Site) -> u32 {
        let location = self.words_used;
        self.words_used += 1;
        if let Some(word) = self.words.get_mut(location) {
            word.reads.clear();
            let reads = std::mem::take(&mut word.reads);
            *word = Word { reads, ..Word::new(value, is_address, born) };
        } else {
            self.words.push(Word::new(value, is_address, born));
        }
        location as u32
    }

    pub(crate) fn allocate_plain(&mut self, born: Site) -> u32 {
        self.plain.push(Plain { written: None, read: [0; MAX_THREADS], born });
        (self.plain.len() - 1) as u32
    }

    /// Returns the site that made a word, and the word's index among those made there.
    pub(crate) fn birth(&self, location: u32) -> (Site, usize, usize) {
        let born = self.words[location as usize].born;
        let same = |word: &&Word| std::ptr::eq(word.born, born) || word.born == born;
        let before = self.words[..location as usize].iter().filter(same).count();
        (born, before, self.words[..self.words_used].iter().filter(same).count())
    }

    pub(crate) fn value(&self, location: u32) -> u64 {
        self.words[location as usize].value
    }

    pub(crate) fn set_value(&mut self, location: u32, value: u64) {
        self.words[location as usize].value = value;
    }

    /// Records an access to a cell: an error unless it is ordered after all earlier accesses of other threads.
    pub(crate) fn access_plain(&mut self, cell: u32, write: bool) {
        if self.mode == Mode::Alone {
            return;
        }
        let me = self.running;
        let order = self.threads[me].order;
        let plain = &mut self.plain[cell as usize];
        let unordered = |thread: usize, stores: u16| thread != me && order[thread] < stores;
        let mut clash = plain.written.filter(|&(thread, stores)| unordered(thread, stores)).map(|(thread, _)| thread);
        if write {
            clash = clash.or((0..MAX_THREADS).find(|&thread| unordered(thread, plain.read[thread])));
        }
        // A thread that is ordered after this access has read a later store of this thread.
        let next = order[me] + 1;
        if write {
            plain.written = Some((me, next));
        }
        plain.read[me] = next;
        if let Some(other) = clash {
            let (born, names) = (plain.born, (me, other));
            let what = format!(
                "a data race: threads {} and {} use the cell made at {born} with nothing between them that orders it",
                names.0, names.1
            );
            self.violate(Wrong::new(Harm::Race, what));
        }
    }

    pub(super) fn wrote(&mut self, location: u32, step: u32) {
        let word = &mut self.words[location as usize];
        word.reads.clear();
        word.last_write = Some(step);
    }

    /// Records that the thread has read the location's present value from memory.
    pub(super) fn observe(&mut self, thread: usize, location: u32) {
        let word = &self.words[location as usize];
        let own = &mut self.threads[thread];
        join(&mut own.order, &word.order);
        own.fingerprint = mix(own.fingerprint, word.writer.into());
        if let Some(seen) = &mut own.looked_at {
            seen.push((location, word.version));
        }
    }

    pub(super) fn write(&mut self, thread: usize, location: u32, bits: Bits, store: u32, mut order: Order) {
        let word = &mut self.words[location as usize];
        if !bits.is_whole() {
            // Other stores wrote the remaining bits.
            join(&mut order, &word.order);
        }
        word.value = bits.over(word.value);
        word.version += 1;
        word.writer = name(thread, store);
        word.order = order;
        word.fingerprint = mix(word.fingerprint, word.writer.into());
    }
}

/// Returns a store's name in the outcome of an execution.
pub(super) fn name(thread: usize, store: u32) -> u32 {
    (thread as u32 + 1) << 24 | store
}
