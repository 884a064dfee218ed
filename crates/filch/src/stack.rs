//! The memory of a task stack: address space reserved once, committed by the first touch.
//!
//! What must always hold: the mapping is zeroed, slot-aligned, and stays at its address until the pool is gone.

use std::io;
use std::ptr::NonNull;

use memmap2::{MmapOptions, MmapRaw};

use crate::job::Slot;

/// A reserved array of slots.
#[derive(Debug)]
pub(crate) struct Stack {
    slots: NonNull<Slot>,
    capacity: usize,
    _memory: MmapRaw,
}

// SAFETY: the memory belongs to whoever the protocols say; the handle itself is only an address and a length.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

impl Stack {
    /// Reserves room for `capacity` slots. No memory is used before a slot is.
    pub(crate) fn reserve(capacity: usize) -> io::Result<Self> {
        let bytes = capacity
            .checked_mul(size_of::<Slot>())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the size overflows the address space"))?;
        let memory = MmapRaw::from(MmapOptions::new().len(bytes.max(1)).no_reserve_swap().map_anon()?);
        let slots = NonNull::new(memory.as_mut_ptr().cast::<Slot>()).ok_or(io::ErrorKind::OutOfMemory)?;
        assert!(slots.is_aligned(), "pages are aligned better than slots");
        Ok(Self { slots, capacity, _memory: memory })
    }

    pub(crate) fn bottom(&self) -> *mut Slot {
        self.slots.as_ptr()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The slot at `index`; beyond the end, an address without a slot.
    pub(crate) fn at(&self, index: usize) -> *mut Slot {
        self.slots.as_ptr().wrapping_add(index)
    }

    /// The index of `slot`, which may lie beyond the end.
    pub(crate) fn index_of(&self, slot: *mut Slot) -> usize {
        (slot.addr() - self.slots.as_ptr().addr()) / size_of::<Slot>()
    }

    /// A slot for looking at its job's atomics, whoever it belongs to at the moment.
    pub(crate) fn get(&self, index: usize) -> Option<&crate::job::Job> {
        // SAFETY: within the mapping; zeroed memory is a valid `Job`, which consists of atomics.
        (index < self.capacity).then(|| unsafe { &(*self.at(index)).job })
    }

    /// How many slots have ever been used: a stack is used from the bottom up, so they are the first ones.
    pub(crate) fn used(&self) -> usize {
        let (mut used, mut unused) = (0, self.capacity);
        while used < unused {
            let middle = used.midpoint(unused);
            match self.get(middle) {
                Some(job) if job.was_used() => used = middle + 1,
                _ => unused = middle,
            }
        }
        used
    }

    /// Starts [`Stack::used`] afresh. The figure will be too low if the stack is not empty or does not stay so meanwhile.
    pub(crate) fn forget_use(&self) {
        for index in 0..self.used() {
            if let Some(job) = self.get(index) {
                job.forget_use();
            }
        }
    }
}
