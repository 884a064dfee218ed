//! What the two forms of [WSQ](super) do differently: the word's fields, and how a slot is handed over.
//!
//! What must always hold: I1 to I5 of the queue; its edge E1 ends here.

use filch_memory::{Atomic, Memory, Ordering};

use crate::Task;
use crate::spin_lock::Waiting;

/// The contents of the word.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Index {
    pub(super) top: u32,
    pub(super) bottom: u32,
    pub(super) count: u32,
}

/// The differences between the forms. Sealed: the forms are [`Source`] and [`Packed`].
#[doc(hidden)]
pub trait Form: Copy + Send + Sync + Sized + 'static {
    const NAME: &'static str;
    const PAPER: &'static str;
    const FOLLOWS: &'static str;
    const DEPARTURES: &'static [&'static str];
    /// The most tasks that a queue may count.
    const MAX_CAPACITY: usize;
    /// The most tasks that a thief takes at once.
    const MAX_LOOT: u32;
    /// Whether the owner remembers how many slots are empty.
    const REMEMBERS: bool;

    /// `former` is the previous count.
    fn pack(index: Index, former: u32) -> u64;

    fn unpack(word: u64) -> Index;

    /// Waits until a slot that the owner has reserved is empty.
    fn await_empty<M: Memory>(slot: &M::AtomicPtr<()>);

    /// Empties a slot that a thief has claimed, once it is full.
    fn take<M: Memory>(slot: &M::AtomicPtr<()>) -> Task;
}

/// The form of the source.
#[derive(Clone, Copy, Debug)]
pub struct Source;

impl Form for Source {
    const NAME: &'static str = "wsq";
    const PAPER: &'static str = "none: the job system injinj/WSQ";
    const FOLLOWS: &'static str = "its program, at commit 3380d0f";
    const DEPARTURES: &'static [&'static str] = &[
        "Slots are released and acquired, in the source relaxed; the word is swapped relaxed, in the source not.",
        "A thief whose swap of the word fails has lost a race; the source reports nothing found.",
        "A thread that has exchanged in vain waits with loads until the slot changes; the source goes on to exchange.",
        "The newest of several stolen jobs is run first; with first=oldest the first one stolen, as in the source.",
        "A thief asks each victim for up to 64 jobs; in the source, all but the first victim of a look for one.",
    ];
    const MAX_CAPACITY: usize = (1 << 16) - 64;
    const MAX_LOOT: u32 = 64;
    const REMEMBERS: bool = true;

    #[inline(always)]
    fn pack(Index { top, bottom, count }: Index, former: u32) -> u64 {
        let fields = [top, bottom, count, former].map(|field| u64::from(field as u16));
        fields[0] << 48 | fields[1] << 32 | fields[2] << 16 | fields[3]
    }

    #[inline(always)]
    fn unpack(word: u64) -> Index {
        let field = |shift: u32| u32::from((word >> shift) as u16);
        Index { top: field(48), bottom: field(32), count: field(16) }
    }

    fn await_empty<M: Memory>(slot: &M::AtomicPtr<()>) {
        let mut waiting = Waiting::default();
        loop {
            // Relaxed, all: if a thief is late, the owner itself wrote the task that is there, and by E1 the task stays
            // published.
            let late = slot.swap(Task::NO_WORD, Ordering::Relaxed);
            if late.is_null() {
                return;
            }
            slot.swap(late, Ordering::Relaxed);
            while slot.load(Ordering::Relaxed) == late {
                waiting.pause::<M>();
            }
        }
    }

    #[inline(always)]
    fn take<M: Memory>(slot: &M::AtomicPtr<()>) -> Task {
        let mut waiting = Waiting::default();
        loop {
            // E1: pairs with the store in `fill`.
            if let Some(task) = Task::from_word(slot.swap(Task::NO_WORD, Ordering::Acquire)) {
                return task;
            }
            // Relaxed: the exchange decides.
            while slot.load(Ordering::Relaxed).is_null() {
                waiting.pause::<M>();
            }
        }
    }
}

/// The cheaper form.
#[derive(Clone, Copy, Debug)]
pub struct Packed;

impl Form for Packed {
    const NAME: &'static str = "wsq-packed";
    const PAPER: &'static str = Source::PAPER;
    const FOLLOWS: &'static str = Source::FOLLOWS;
    const DEPARTURES: &'static [&'static str] = &[
        "Those of wsq.",
        "The word has two fields instead of four.",
        "A push looks whether its slot is empty, and waits with loads; a thief exchanges only when it has seen a task.",
        "A thief may take any number of tasks; in the source 64. Many tasks are pushed one by one.",
    ];
    /// Indices are 32-bit numbers, and the indices in use must differ.
    const MAX_CAPACITY: usize = 1 << 31;
    const MAX_LOOT: u32 = u32::MAX;
    const REMEMBERS: bool = false;

    #[inline(always)]
    fn pack(Index { top, count, .. }: Index, _: u32) -> u64 {
        u64::from(top) | u64::from(count) << 32
    }

    #[inline(always)]
    fn unpack(word: u64) -> Index {
        let (top, count) = (word as u32, (word >> 32) as u32);
        Index { top, bottom: top.wrapping_add(count), count }
    }

    #[inline(always)]
    fn await_empty<M: Memory>(slot: &M::AtomicPtr<()>) {
        let mut waiting = Waiting::default();
        // Relaxed: I2 needs only the order of this slot's own modifications.
        while !slot.load(Ordering::Relaxed).is_null() {
            waiting.pause::<M>();
        }
    }

    #[inline(always)]
    fn take<M: Memory>(slot: &M::AtomicPtr<()>) -> Task {
        let mut waiting = Waiting::default();
        loop {
            // Relaxed: the swap decides, and acquires.
            let word = slot.load(Ordering::Relaxed);
            if !word.is_null()
                // E1: pairs with the store in `fill`. Relaxed on failure: nothing is used. The loaded word may dangle.
                && let Ok(word) = slot.compare_exchange(word, Task::NO_WORD, Ordering::Acquire, Ordering::Relaxed)
            {
                return Task::from_word(word).expect("not null");
            }
            waiting.pause::<M>();
        }
    }
}
