//! The memory of a task stack: address space reserved once, committed by the first touch.
//!
//! What must always hold: the mapping is zeroed, slot-aligned, and stays at its address until the pool is gone.

use std::io;
use std::ptr::NonNull;

use filch_memory::{Atomic, Memory, Native, Ordering};

use self::pages::Pages;
use crate::slot::{Job, Slot};

/// A reserved array of slots.
#[derive(Debug)]
pub(crate) struct Stack {
    slots: NonNull<Slot>,
    capacity: usize,
    /// Whether what the slots have held is to be forgotten.
    is_to_forget: <Native as Memory>::AtomicBool,
    _memory: Pages,
}

// SAFETY: the memory belongs to whoever the protocols say; the handle itself is only an address and a length.
unsafe impl Send for Stack {}
// SAFETY: sharing the handle shares an address and a length, which never change, and an atomic.
unsafe impl Sync for Stack {}

impl Stack {
    /// Reserves room for `capacity` slots. No memory is used before a slot is.
    pub(crate) fn reserve(capacity: usize) -> io::Result<Self> {
        let bytes = capacity
            .checked_mul(size_of::<Slot>())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the size overflows the address space"))?;
        let memory = Pages::reserve(bytes.max(1))?;
        let slots = NonNull::new(memory.as_mut_ptr().cast::<Slot>()).ok_or(io::ErrorKind::OutOfMemory)?;
        assert!(slots.is_aligned(), "pages are aligned better than slots");
        Ok(Self { slots, capacity, is_to_forget: Atomic::new(false), _memory: memory })
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
    pub(crate) fn get(&self, index: usize) -> Option<&Job> {
        // SAFETY: within the mapping; zeroed memory is a valid `Job`, which consists of atomics.
        (index < self.capacity).then(|| unsafe { &(*self.at(index)).job })
    }

    /// How many slots have ever been used: a stack is used from the bottom up, so they are the first ones.
    pub(crate) fn used(&self) -> usize {
        // Relaxed, here and below: a statistic.
        if self.is_to_forget.load(Ordering::Relaxed) { 0 } else { self.ever_used() }
    }

    /// Starts [`Stack::used`] afresh, as of when the stack is empty next.
    pub(crate) fn forget_use(&self) {
        self.is_to_forget.store(true, Ordering::Relaxed);
    }

    /// Its owner is about to use it again.
    ///
    /// # Safety
    /// The stack is empty.
    pub(crate) unsafe fn begins(&self) {
        if self.is_to_forget.load(Ordering::Relaxed) {
            (0..self.ever_used()).filter_map(|index| self.get(index)).for_each(Job::was_never_used);
            self.is_to_forget.store(false, Ordering::Relaxed);
        }
    }

    fn ever_used(&self) -> usize {
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
}

#[cfg(not(miri))]
mod pages {
    use std::io;

    use memmap2::{MmapOptions, MmapRaw};

    /// Zeroed memory, until dropped.
    #[derive(Debug)]
    pub(super) struct Pages(MmapRaw);

    impl Pages {
        pub(super) fn reserve(bytes: usize) -> io::Result<Self> {
            Ok(Self(MmapRaw::from(MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?)))
        }

        pub(super) fn as_mut_ptr(&self) -> *mut u8 {
            self.0.as_mut_ptr()
        }
    }
}

/// From the heap: Miri knows no mapping without reserved swap space.
#[cfg(miri)]
mod pages {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::ptr::NonNull;

    #[derive(Debug)]
    pub(super) struct Pages {
        memory: NonNull<u8>,
        layout: Layout,
    }

    impl Pages {
        pub(super) fn reserve(bytes: usize) -> io::Result<Self> {
            const PAGE: usize = 4096;
            let layout = Layout::from_size_align(bytes, PAGE).map_err(io::Error::other)?;
            // SAFETY: the caller asks for one byte at least.
            let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Self { memory, layout })
        }

        pub(super) fn as_mut_ptr(&self) -> *mut u8 {
            self.memory.as_ptr()
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: allocated so by `reserve`, and freed once.
            unsafe { dealloc(self.memory.as_ptr(), self.layout) };
        }
    }
}
