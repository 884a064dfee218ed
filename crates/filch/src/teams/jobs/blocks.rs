//! The memory of jobs: places of 64 bytes, in blocks that a worker fills one after the other.
//!
//! **Fields.** A block has 64 KiB: a header and 1023 places. Its address is a multiple of its size, so that a place can
//! find its block.
//!
//! **Invariants.**
//! * I1: a worker hands out each place of a block once, and the block again only after all its places have been given
//!   back.
//! * I2: a block stays allocated, and belongs to its worker, until the worker's [`Blocks`] are dropped, whatever the
//!   state of its places.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, offset_of};
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use filch_memory::Native;

use crate::protocol::lineage::{Descent, Lineage, Returned};

/// A job without its work: its identity and its counts.
pub(super) type Kin = Lineage<Native>;

/// A job of the run `'s`, or the run itself. Invariant: it is the [root](Self::root), or the first field of a place, of
/// whose block it may find the rest; and `'s` does not outlive the blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KinPtr<'s> {
    kin: NonNull<Kin>,
    /// Invariant, so that runs cannot be confused.
    run: PhantomData<fn(&'s ()) -> &'s ()>,
}

// SAFETY: it gives access only to atomics, which stay as long as the run's jobs do.
unsafe impl Send for KinPtr<'_> {}
// SAFETY: a shared one gives access to the same atomics.
unsafe impl Sync for KinPtr<'_> {}

impl Deref for KinPtr<'_> {
    type Target = Kin;

    #[inline(always)]
    fn deref(&self) -> &Kin {
        // SAFETY: I2, for `'s`.
        unsafe { self.kin.as_ref() }
    }
}

impl<'s> KinPtr<'s> {
    pub(super) fn root(root: &'s Kin) -> Self {
        Self { kin: NonNull::from(root), run: PhantomData }
    }

    /// The job in a place.
    ///
    /// # Safety
    /// [`Blocks::take`] of a worker of the run returned the place.
    #[inline(always)]
    pub(super) unsafe fn of(place: NonNull<JobPlace>) -> Self {
        Self { kin: place.cast(), run: PhantomData }
    }

    /// The place of a job that is not the root.
    pub(super) fn place(self) -> NonNull<JobPlace> {
        self.kin.cast()
    }

    /// [Begins](Lineage::begin) a child of `parent` here.
    #[inline(always)]
    pub(super) fn begin_child(self, parent: Self, known: bool) -> u32 {
        self.begin(Some(parent.kin), known)
    }

    /// Returns the parent of this unfinished or just finished job.
    #[inline(always)]
    pub(super) fn parent(self) -> Option<Self> {
        // Only `begin_child` sets it.
        self.deref().parent().map(|kin| Self { kin, run: PhantomData })
    }

    /// Returns the relation of the known job of that life to the unfinished job `ancestor`.
    pub(super) fn descent_from(self, life: u32, ancestor: Self) -> Descent {
        // SAFETY: I2: all places stay until the run is over.
        unsafe { self.deref().descent_from(life, ancestor.kin) }
    }
}

/// Runs the work in a place for a worker, or drops it if the worker is null.
type RunFn = unsafe fn(place: NonNull<JobPlace>, worker: *mut ());

/// The memory of one job.
#[repr(C, align(64))]
pub(super) struct JobPlace {
    /// The first field, so that its address is the place's address.
    pub(super) kin: Kin,
    /// Written by [`JobPlace::fill`].
    run: UnsafeCell<MaybeUninit<RunFn>>,
    /// A closure, or a box of a closure that is too large.
    work: UnsafeCell<[MaybeUninit<u64>; 5]>,
}

const _: () = assert!(size_of::<JobPlace>() == 64);

/// Whether a closure fits without a box.
pub(super) const fn fits<F>() -> bool {
    size_of::<F>() <= size_of::<[u64; 5]>() && align_of::<F>() <= align_of::<u64>()
}

impl JobPlace {
    /// Writes the work to a place, for workers of type `W`.
    ///
    /// # Safety
    /// The place is the caller's, and holds no work.
    #[inline]
    pub(super) unsafe fn fill<W, F: FnOnce(&mut W)>(place: NonNull<Self>, work: F) {
        // SAFETY: the place is the caller's, and a closure that fits, or a box, fits there.
        unsafe {
            if const { fits::<F>() } {
                Self::fill_with(place, work);
            } else {
                Self::fill_with(place, Box::new(work));
            }
        }
    }

    /// # Safety
    /// As for [`JobPlace::fill`]; and `work` fits.
    #[inline]
    unsafe fn fill_with<W, F: FnOnce(&mut W)>(place: NonNull<Self>, work: F) {
        // SAFETY: as the caller promises for the place, and the caller of `run` for the worker.
        unsafe {
            let run: RunFn = |place, worker| {
                let work = Self::work(place).cast::<F>().read();
                if let Some(worker) = worker.cast::<W>().as_mut() {
                    work(worker);
                }
            };
            Self::work(place).cast::<F>().write(work);
            (&raw mut (*place.as_ptr()).run).cast::<RunFn>().write(run);
        }
    }

    /// Moves the work out and runs it, or drops it if `worker` is null.
    ///
    /// # Safety
    /// * The place holds work, which is the caller's.
    /// * `worker` is null, or the worker that the current thread has, of the type for which the place was filled and
    ///   not otherwise used meanwhile.
    #[inline]
    pub(super) unsafe fn run(place: NonNull<Self>, worker: *mut ()) {
        // SAFETY: `fill` wrote the function before the place was published, and the caller promises what the function
        // requires.
        unsafe { (&raw const (*place.as_ptr()).run).cast::<RunFn>().read()(place, worker) };
    }

    fn work(place: NonNull<Self>) -> *mut u8 {
        place.as_ptr().cast::<u8>().wrapping_add(offset_of!(Self, work))
    }
}

/// Fewer under Miri, whose steps take a thousand times as long, so that tests use up blocks there too.
const PLACES: usize = if cfg!(miri) { 63 } else { 1023 };

#[repr(C, align(64))]
struct BlockHeader {
    /// The worker that fills the block. Never changes.
    owner: usize,
    returned: Returned<Native>,
}

#[repr(C)]
struct Block {
    header: BlockHeader,
    places: [MaybeUninit<JobPlace>; PLACES],
}

const BYTES: usize = size_of::<Block>();
const _: () = assert!(BYTES.is_power_of_two() && BYTES == (PLACES + 1) << 6);

const LAYOUT: Layout = match Layout::from_size_align(BYTES, BYTES) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// Unused blocks, kept from one run for the next, since getting fresh memory costs more than using it.
#[derive(Default)]
pub(super) struct Spare(Mutex<Vec<NonNull<Block>>>);

// SAFETY: nothing else refers to the blocks.
unsafe impl Send for Spare {}
// SAFETY: the blocks are under a lock.
unsafe impl Sync for Spare {}

impl Spare {
    fn lock(&self) -> MutexGuard<'_, Vec<NonNull<Block>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        for block in self.lock().drain(..) {
            // SAFETY: `Block::new` allocated it with this layout, and it is freed once.
            unsafe { dealloc(block.as_ptr().cast(), LAYOUT) };
        }
    }
}

/// The blocks of a worker.
pub(super) struct Blocks<'j> {
    owner: usize,
    spare: &'j Spare,
    /// The next place of the newest block, and its end.
    next: *mut JobPlace,
    end: *mut JobPlace,
    /// Whether the places from `next` on have never been used.
    are_fresh: bool,
    /// All blocks; the last is the one being filled.
    blocks: VecDeque<NonNull<Block>>,
    /// How many times the worker has begun to fill a block.
    fillings: u64,
}

impl<'j> Blocks<'j> {
    /// How many blocks are checked for reuse before another is allocated. So up to a quarter of the memory may be
    /// reusable but unused.
    const LOOKS: usize = 4;

    pub(super) fn new(owner: usize, spare: &'j Spare) -> Self {
        Self {
            owner,
            spare,
            next: ptr::null_mut(),
            end: ptr::null_mut(),
            are_fresh: true,
            blocks: VecDeque::new(),
            fillings: 0,
        }
    }

    /// Returns how many places have been handed out.
    pub(super) fn taken(&self) -> u64 {
        let left = (self.end.addr() - self.next.addr()) / size_of::<JobPlace>();
        self.fillings * PLACES as u64 - left as u64
    }

    #[cfg(test)]
    pub(super) fn number(&self) -> usize {
        self.blocks.len()
    }

    /// Returns a place for a job.
    #[inline]
    pub(super) fn take(&mut self) -> NonNull<JobPlace> {
        if self.next == self.end {
            self.refill();
        }
        let place = self.next;
        // SAFETY: `place` is not the end, so it is a place of the block, which no other thread has; the next is another
        // or the end.
        unsafe {
            self.next = place.add(1);
            if self.are_fresh {
                (&raw mut (*place).kin).write(Kin::default());
            }
            NonNull::new_unchecked(place)
        }
    }

    #[cold]
    fn refill(&mut self) {
        let looks = Self::LOOKS.min(self.blocks.len());
        let reused = (0..looks).any(|_| {
            self.blocks.rotate_left(1);
            // SAFETY: I2; `Block::new` wrote the header.
            let header = self.blocks.back().map(|block| unsafe { &(*block.as_ptr()).header });
            header.is_some_and(|header| header.returned.all(PLACES as u32))
        });
        if !reused {
            let spare = self.spare.lock().pop();
            self.blocks.push_back(Block::new(self.owner, spare));
        }
        self.are_fresh = !reused;
        self.fillings += 1;
        let newest = self.blocks[self.blocks.len() - 1];
        // SAFETY: I2; the places are a part of the block, and the pointer is valid for all of it.
        unsafe {
            self.next = (&raw mut (*newest.as_ptr()).places).cast();
            self.end = self.next.add(PLACES);
        }
    }

    /// Gives back a place of any worker.
    ///
    /// # Safety
    /// [`Blocks::take`] of some worker of the run returned the place; it holds no work, and is not used again.
    #[inline]
    pub(super) unsafe fn give_back(&self, place: NonNull<JobPlace>) {
        let block = place.as_ptr().map_addr(|address| address & !(BYTES - 1)).cast::<Block>();
        // SAFETY: `take` makes places from pointers to their blocks, and block addresses are multiples of the block
        // size; I2.
        let header = unsafe { &(*block).header };
        if header.owner == self.owner {
            header.returned.by_owner();
        } else {
            header.returned.by_other();
        }
    }
}

impl Block {
    /// Makes a block, in the memory of a spare one if there is one.
    fn new(owner: usize, spare: Option<NonNull<Self>>) -> NonNull<Self> {
        // SAFETY: the layout is not empty.
        let block = spare.or_else(|| NonNull::new(unsafe { alloc(LAYOUT) }.cast::<Self>()));
        let Some(block) = block else { handle_alloc_error(LAYOUT) };
        // SAFETY: the memory is exclusive, large enough and aligned.
        unsafe { (&raw mut (*block.as_ptr()).header).write(BlockHeader { owner, returned: Returned::default() }) };
        block
    }
}

impl Drop for Blocks<'_> {
    /// Called when all jobs of the run are over.
    fn drop(&mut self) {
        self.spare.lock().extend(self.blocks.drain(..));
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_types, reason = "a test synchronizes its threads")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    use super::*;
    use crate::threads::enter::IsSend;

    #[test]
    fn a_block_is_reused_only_when_all_its_places_are_back() {
        let spare = Spare::default();
        let (mut blocks, other) = (Blocks::new(0, &spare), Blocks::new(1, &spare));
        let mut take_all = || {
            let mut places: Vec<_> = (0..PLACES).map(|_| blocks.take()).collect();
            places.sort_unstable();
            places
        };
        let (first, second) = (take_all(), take_all());
        let is_in = |places: &[NonNull<JobPlace>], place| places.binary_search(&place).is_ok();
        assert!(first.iter().all(|&place| !is_in(&second, place)));
        let give_back = |places: &[NonNull<JobPlace>], to: &Blocks<'_>| {
            for &place in places {
                // SAFETY: the place holds no work.
                unsafe { to.give_back(place) };
            }
        };
        give_back(&first[1..PLACES / 2], &blocks);
        give_back(&first[PLACES / 2..], &other);
        give_back(&second[..], &other);
        assert!((0..PLACES).all(|_| is_in(&second, blocks.take())));
        assert!((0..PLACES).all(|_| !is_in(&first, blocks.take())));
        give_back(&first[..1], &other);
        assert!((0..PLACES).all(|_| is_in(&first, blocks.take())));
        assert_eq!(blocks.number(), 3);
        assert_eq!(blocks.taken(), 5 * PLACES as u64);
        let _ = blocks.take();
        assert_eq!((blocks.taken(), blocks.number()), (5 * PLACES as u64 + 1, 4));
        drop(blocks);
        assert_eq!(spare.lock().len(), 4);
        let mut next = Blocks::new(0, &spare);
        assert_eq!(next.taken(), 0);
        let _ = next.take();
        assert_eq!((next.taken(), spare.lock().len()), (1, 3));
    }

    #[test]
    fn places_that_two_workers_give_back_at_once_are_all_counted() {
        const BLOCKS: usize = if cfg!(miri) { 1 } else { 20 };
        let (spare, others_spare) = (Spare::default(), Spare::default());
        let mut blocks = Blocks::new(0, &spare);
        for _ in 0..if cfg!(miri) { 1 } else { 20 } {
            let places: Vec<_> = (0..BLOCKS * PLACES).map(|_| blocks.take()).collect();
            assert_eq!(blocks.number(), BLOCKS);
            // Each thread has every other place, so that both use the same blocks.
            let of = |worker| IsSend(places.iter().copied().skip(worker).step_by(2));
            let (mine, others, ready, spare) = (of(0), of(1), &AtomicUsize::new(0), &others_spare);
            let give_back = |places: &mut dyn Iterator<Item = NonNull<JobPlace>>, to: &Blocks<'_>| {
                ready.fetch_add(1, SeqCst);
                while ready.load(SeqCst) < 2 {
                    thread::yield_now();
                }
                // SAFETY: the places hold no work.
                places.for_each(|place| unsafe { to.give_back(place) });
            };
            thread::scope(|s| {
                s.spawn(move || {
                    let IsSend(mut others) = { others };
                    give_back(&mut others, &Blocks::new(1, spare));
                });
                let IsSend(mut mine) = mine;
                give_back(&mut mine, &blocks);
            });
        }
    }

    #[test]
    fn a_place_has_room_for_five_words() {
        assert!(fits::<[u64; 5]>() && !fits::<[u64; 6]>() && !fits::<u128>());
    }
}
