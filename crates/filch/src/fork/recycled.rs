//! Memory for spawned jobs. A thread keeps a little of the memory that it frees, for the jobs that it makes next.
//!
//! Invariant: a kept block is an allocation of its list's [layout](layout), and nobody uses it.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::iter;
use std::ptr::NonNull;

/// The sizes of kept blocks are multiples of this, which is also their alignment.
const UNIT: usize = 2 * size_of::<usize>();
/// The largest kept block has this many units.
const LISTS: usize = 8;
/// A thread keeps at most this many blocks of each size. Under Miri it keeps none, so that Miri sees each use of memory
/// that was freed.
const MOST: usize = if cfg!(miri) { 0 } else { 32 };

thread_local! {
    static KEPT: Kept = const { Kept([const { List::new() }; LISTS]) };
}

type Block = NonNull<u8>;

/// The blocks that a thread keeps, one list for each size.
struct Kept([List; LISTS]);

struct List {
    blocks: [Cell<Option<Block>>; MOST],
    len: Cell<usize>,
}

impl List {
    const fn new() -> Self {
        Self { blocks: [const { Cell::new(None) }; MOST], len: Cell::new(0) }
    }

    #[inline]
    fn pop(&self) -> Option<Block> {
        let len = self.len.get().checked_sub(1)?;
        self.len.set(len);
        self.blocks.get(len)?.take()
    }

    /// Keeps a block with this list's layout, which nobody uses, if few are kept; returns whether it did.
    #[inline]
    fn push(&self, block: Block) -> bool {
        let len = self.len.get();
        let keeps = self.blocks.get(len).map(|place| place.set(Some(block))).is_some();
        self.len.set(len + usize::from(keeps));
        keeps
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for (list, kept) in self.0.iter().enumerate() {
            for block in iter::from_fn(|| kept.pop()) {
                // SAFETY: by the file's invariant.
                unsafe { free_block(block, list) };
            }
        }
    }
}

/// Returns the layout of a list's blocks.
const fn layout(list: usize) -> Layout {
    match Layout::from_size_align((list + 1) * UNIT, UNIT) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    }
}

/// Returns the list whose blocks have room for a `T`, if it is small.
const fn list_for<T>() -> Option<usize> {
    let units = size_of::<T>().div_ceil(UNIT);
    if 0 < units && units <= LISTS && align_of::<T>() <= UNIT { Some(units - 1) } else { None }
}

/// Allocates a place for a value, which [`free`] takes back.
#[inline]
pub(crate) fn allocate<T>() -> NonNull<T> {
    let Some(list) = list_for::<T>() else { return NonNull::from(Box::leak(Box::<T>::new_uninit())).cast() };
    // While the thread ends, it may have dropped its lists.
    let block = KEPT.try_with(|kept| kept.0[list].pop()).ok().flatten();
    block.unwrap_or_else(|| new_block(list)).cast()
}

#[inline]
fn new_block(list: usize) -> Block {
    // SAFETY: no layout has size zero.
    NonNull::new(unsafe { alloc(layout(list)) }).unwrap_or_else(|| handle_alloc_error(layout(list)))
}

/// Takes a value out of its place, and frees the place.
///
/// # Safety
/// The value is in a place from [`allocate`], which is not used afterwards.
#[inline]
pub(crate) unsafe fn free<T>(place: NonNull<T>) -> T {
    let Some(list) = list_for::<T>() else {
        // SAFETY: `allocate` leaked this box.
        return *unsafe { Box::from_raw(place.as_ptr()) };
    };
    // SAFETY: by the caller's promise.
    let value = unsafe { place.read() };
    // SAFETY: `allocate` took the block from such a list, or from the allocator with the list's layout.
    unsafe {
        if KEPT.try_with(|kept| kept.0[list].push(place.cast())) != Ok(true) {
            free_block(place.cast(), list);
        }
    }
    value
}

/// # Safety
/// The block is an allocation of this list's layout, which nobody uses.
#[inline]
unsafe fn free_block(block: Block, list: usize) {
    // SAFETY: by the caller's promise.
    unsafe { dealloc(block.as_ptr(), layout(list)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make<T>(value: T) -> NonNull<T> {
        let place = allocate();
        // SAFETY: the place is new, and made for a `T`.
        unsafe { place.write(value) };
        place
    }

    fn lengths() -> [usize; LISTS] {
        KEPT.with(|kept| kept.0.each_ref().map(|list| list.len.get()))
    }

    #[test]
    fn a_value_comes_back_and_its_memory_serves_the_next() {
        fn there_and_back<T: PartialEq + std::fmt::Debug + Copy>(value: T) {
            let place = make(value);
            // SAFETY: the place is not used afterwards.
            assert_eq!(unsafe { free(place) }, value);
        }
        there_and_back(1_u8);
        there_and_back([7_u64; 40]);
        there_and_back(());
        let mut expected = [0; LISTS];
        if MOST > 0 {
            expected[0] = 1;
        }
        assert_eq!(lengths(), expected, "only what is small is kept");
        there_and_back(2_u8);
        assert_eq!(lengths(), expected, "the next takes it");
    }

    #[test]
    fn a_thread_keeps_little() {
        let many = [(); 2 * MOST + 1].map(|()| make([1_usize; 3]));
        // SAFETY: none is used afterwards.
        let sum: usize = many.into_iter().map(|place| unsafe { free(place) }[0]).sum();
        assert_eq!(sum, 2 * MOST + 1);
        assert_eq!(lengths().iter().sum::<usize>(), MOST);
    }

    #[test]
    fn an_ending_thread_may_allocate_after_its_lists_are_gone() {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                let place = make(3);
                // SAFETY: the place is not used afterwards.
                assert_eq!(unsafe { free(place) }, 3);
            }
        }
        thread_local!(static LATE: Late = const { Late });
        let thread = std::thread::spawn(|| {
            // Registered first, so dropped last.
            LATE.with(|_| ());
            // SAFETY: the place is not used afterwards.
            unsafe { free(make(4)) }
        });
        assert_eq!(thread.join().unwrap(), 4);
    }
}
