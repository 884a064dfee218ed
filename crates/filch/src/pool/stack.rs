//! The memory of a task stack: address space reserved once, and committed on first use.
//!
//! Invariant: the mapping is zeroed at first and slot-aligned, and stays at its address until the pool is gone.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Native, Ordering};

use self::pages::Pages;
use crate::fork::slot::{Job, Slot};

/// The smallest size of a page. A stack begins at a page, as if it had a mapping of its own.
const PAGE: usize = 4096;

/// A reserved array of slots.
#[derive(Debug)]
pub(crate) struct Stack {
    slots: NonNull<Slot>,
    capacity: usize,
    /// Whether to forget, once the stack is empty, which slots have been used.
    is_to_forget: <Native as Memory>::AtomicBool,
    /// The mapping, which this stack shares with the pool's other stacks.
    _memory: Arc<Pages>,
}

// SAFETY: the protocols say which thread may use the memory; the handle itself is only an address and a length.
unsafe impl Send for Stack {}
// SAFETY: sharing the handle shares an address and a length, which never change, and an atomic.
unsafe impl Sync for Stack {}

impl Stack {
    /// Reserves `stacks` stacks with room for `capacity` slots each. A slot takes no memory before it is used.
    pub(crate) fn reserve(stacks: usize, capacity: usize) -> io::Result<Vec<Self>> {
        let too_large = || io::Error::new(io::ErrorKind::InvalidInput, "the size overflows the address space");
        let each =
            capacity.checked_mul(size_of::<Slot>()).and_then(|bytes| bytes.max(1).checked_next_multiple_of(PAGE));
        let (each, bytes) = each.and_then(|each| Some((each, each.checked_mul(stacks)?))).ok_or_else(too_large)?;
        // One mapping for all stacks: the system takes microseconds to make a mapping, and to take it back.
        let memory = Arc::new(Pages::reserve(bytes)?);
        let bottom = NonNull::new(memory.as_mut_ptr()).ok_or(io::ErrorKind::OutOfMemory)?;
        let stack = |index: usize| {
            // SAFETY: the mapping has `each` bytes for each stack.
            let slots = unsafe { bottom.add(index * each) }.cast::<Slot>();
            assert!(slots.is_aligned(), "page alignment exceeds slot alignment");
            Self { slots, capacity, is_to_forget: Atomic::new(false), _memory: Arc::clone(&memory) }
        };
        Ok((0..stacks).map(stack).collect())
    }

    pub(crate) fn bottom(&self) -> *mut Slot {
        self.slots.as_ptr()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the slot at `index`; beyond the end, an address without a slot.
    pub(crate) fn at(&self, index: usize) -> *mut Slot {
        self.slots.as_ptr().wrapping_add(index)
    }

    /// Returns the index of `slot`, which may lie beyond the end.
    pub(crate) fn index_of(&self, slot: *mut Slot) -> usize {
        (slot.addr() - self.slots.as_ptr().addr()) / size_of::<Slot>()
    }

    /// Returns the job in a slot, for a look at its atomics by any thread.
    pub(crate) fn get(&self, index: usize) -> Option<&Job> {
        // SAFETY: the slot is within the mapping; zeroed memory is a valid `Job`, which consists of atomics.
        (index < self.capacity).then(|| unsafe { &(*self.at(index)).job })
    }

    /// Returns how many slots have been used: a stack is used from the bottom up, so these are the first ones.
    pub(crate) fn used(&self) -> usize {
        // Relaxed, here and below: a statistic.
        if self.is_to_forget.load(Ordering::Relaxed) { 0 } else { self.ever_used() }
    }

    /// Resets [`Stack::used`], from the next time the stack is empty.
    pub(crate) fn forget_use(&self) {
        self.is_to_forget.store(true, Ordering::Relaxed);
    }

    /// Called before the owner uses the stack again.
    ///
    /// # Safety
    /// The stack is empty.
    pub(crate) unsafe fn begin(&self) {
        if self.is_to_forget.load(Ordering::Relaxed) {
            (0..self.ever_used()).filter_map(|index| self.get(index)).for_each(Job::was_never_used);
            self.is_to_forget.store(false, Ordering::Relaxed);
        }
    }

    fn ever_used(&self) -> usize {
        // Searches from the bottom, where programs use the stack, since a look costs memory for the system's page
        // tables.
        let was_used = |index: &usize| self.get(*index).is_some_and(Job::was_used);
        let bound = (0..usize::BITS).map(|bits| 1 << bits).find(|index| !was_used(index));
        let (mut used, mut unused) = (0, bound.map_or(self.capacity, |bound| bound.min(self.capacity)));
        while used < unused {
            let middle = used.midpoint(unused);
            if was_used(&middle) {
                used = middle + 1;
            } else {
                unused = middle;
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

/// Uses the heap: Miri does not know mappings without reserved swap space.
#[cfg(miri)]
mod pages {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::ptr::NonNull;

    use super::PAGE;

    #[derive(Debug)]
    pub(super) struct Pages {
        memory: NonNull<u8>,
        layout: Layout,
    }

    impl Pages {
        pub(super) fn reserve(bytes: usize) -> io::Result<Self> {
            let layout = Layout::from_size_align(bytes, PAGE).map_err(io::Error::other)?;
            // SAFETY: the caller asks for at least one byte.
            let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Self { memory, layout })
        }

        pub(super) fn as_mut_ptr(&self) -> *mut u8 {
            self.memory.as_ptr()
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: `reserve` allocated the memory with this layout, and it is freed once.
            unsafe { dealloc(self.memory.as_ptr(), self.layout) };
        }
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;

    /// Returns how many pages of a stack have memory.
    fn resident(stack: &Stack) -> usize {
        let bytes = stack.capacity * size_of::<Slot>();
        let mut pages = vec![0_u8; bytes.div_ceil(PAGE)];
        // SAFETY: the range is the stack's part of its mapping, and there is a byte for each of its pages.
        let refused = unsafe { libc::mincore(stack.bottom().cast(), bytes, pages.as_mut_ptr()) };
        assert_eq!(refused, 0, "{}", io::Error::last_os_error());
        pages.iter().filter(|&page| page & 1 != 0).count()
    }

    /// *Lace*, section 3.3: only the used pages of a large array take memory.
    #[test]
    fn only_used_slots_take_memory() {
        const PAGES: usize = 1 << 14;
        let stack = Stack::reserve(1, PAGES * PAGE / size_of::<Slot>()).expect("64 MiB of addresses").remove(0);
        assert_eq!(resident(&stack), 0);
        stack.get(0).expect("a slot").state.reset();
        let few = resident(&stack);
        assert!((1..PAGES / 2).contains(&few), "{few} pages for one slot");
        (0..stack.capacity).filter_map(|index| stack.get(index)).for_each(|job| job.state.reset());
        assert_eq!(resident(&stack), PAGES);
    }
}
