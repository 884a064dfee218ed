//! Jobs and their parents: when a job and all its descendants are over, and when its place may hold another job.
//!
//! **Source.** The job system of the project injinj/WSQ, <https://github.com/injinj/WSQ>, whose decrements are relaxed.
//!
//! **Idea.** A job counts its unfinished parts: itself and its children. A thread that finishes a part subtracts it,
//! and the thread that subtracts the last part has finished the job, which is a part of its parent. One thread may
//! subtract several parts together while others are unfinished: see [`Lineage::is_left_with`]. Jobs lie in places that
//! are reused, many to a block. A place counts its lives, so that a thread that asks about a job of an earlier life
//! learns that the job is over, and reuse needs no notification.
//!
//! **Fields.** Per place a [`Lineage`]: one word with the life (high 32 bits), whether the job is known outside its kin
//! (1 bit), and the number of unfinished parts (31 bits); and the parent. Per block [`Returned`]: how many places the
//! owner and other threads have given back.
//!
//! **Invariants.**
//! * I1: each part (the job itself or a child) is counted before it can be finished, and is subtracted once.
//! * I2: only a thread that has an unfinished part adds one, so the count rises from 0 by [`Lineage::begin`] alone.
//! * I3: parts of an unknown job are added and subtracted only by threads that have one. So a thread that has all
//!   remaining parts is alone with the word.
//! * I4: between the return of a place and its next use, only the block's owner accesses it, apart from threads that
//!   ask about a job of an earlier life.
//! * I5: while a job is unfinished, its parent stays in its place and is unfinished.
//!
//! **Edges.**
//! * E1: `finish` (release) → the last `finish` (acquire): the effects of all parts, and the store of the parent, come
//!   before the end of the job and before what its parent does next.
//! * E2: the last `finish` (release) → `is_over` (acquire), and any `finish` (release) → `is_left_with` (acquire): the
//!   effects of the parts come before the end of the wait for them.
//! * E3: `begin` (release) → `is_over` (acquire), when it finds another life: the same for a job whose place has been
//!   reused, since the owner has acquired its end by E4.
//! * E4: `by_other` (release) → `all` (acquire): the last use of a place comes before its next.
//! * E5: `begin`'s store of the parent (release) → its load in `descent_from` (acquire): a thread that reads the parent
//!   of a later job sees that the job it asked about is over.
//!
//! **Cost.** No atomic update if one thread has all remaining parts of an unknown job. Otherwise one per child, or per
//! group of children begun or finished together. The source's updates, one for each child begun and one for each part
//! finished, are [`Lineage::add_by_update`] and [`Lineage::finish_by_update`].
//!
//! ```
//! use std::ptr::NonNull;
//! use filch::inside::protocol::lineage::Lineage;
//! use filch_memory::Native;
//!
//! let (parent, child): (Lineage<Native>, Lineage<Native>) = Default::default();
//! let life = parent.begin(None, true);
//! parent.add(1);
//! child.begin(Some(NonNull::from(&parent)), false);
//! assert!(!parent.finish(1)); // its own part
//! assert!(child.finish(1));
//! assert!(!parent.is_over(life));
//! assert!(parent.finish(1)); // the child's part
//! assert!(parent.is_over(life));
//! ```

use std::ptr::{self, NonNull};

use filch_memory::{Atomic, AtomicInt, Memory, Ordering};

const COUNT: u64 = (1 << 31) - 1;
const KNOWN: u64 = 1 << 31;
const LIFE_SHIFT: u32 = 32;

/// The greatest number of unfinished parts.
pub const MAX_CHILDREN: u64 = 1 << 30;

/// A job's unfinished parts and its parent, as kept in its place.
#[derive(Debug)]
#[repr(C)]
pub struct Lineage<M: Memory> {
    word: M::AtomicU64,
    parent: M::AtomicPtr<Self>,
}

/// The relation of a job to another one: see [`Lineage::descent_from`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descent {
    /// It is the same job, or a descendant.
    Descendant,
    /// It is neither.
    Unrelated,
    /// The job is over, so the relation is unknown.
    Over,
}

impl<M: Memory> Default for Lineage<M> {
    /// A place that has never held a job.
    fn default() -> Self {
        Self { word: Atomic::new(0), parent: Atomic::new(ptr::null_mut()) }
    }
}

impl<M: Memory> Lineage<M> {
    /// Owner of the place: begins a job here, with itself as its unfinished part. Returns the life of the place. Nobody
    /// asks whether a job that is not `known` is over. Precondition: the previous job, if any, is over and the place
    /// was given back; the parent has counted this job.
    #[inline]
    pub fn begin(&self, parent: Option<NonNull<Self>>, known: bool) -> u32 {
        // Relaxed: no other thread writes the word (I4).
        let life = ((self.word.load(Ordering::Relaxed) >> LIFE_SHIFT) as u32).wrapping_add(1);
        // E3: pairs with `is_over`.
        // kept over Relaxed: a relaxed store would end the previous job's release sequence; to loom, a store after an
        // update continues it.
        self.word.store(u64::from(life) << LIFE_SHIFT | if known { KNOWN } else { 0 } | 1, Ordering::Release);
        let parent = parent.map_or(ptr::null_mut(), NonNull::as_ptr);
        // E5: pairs with `descent_from`; comes after the word.
        self.parent.store(parent, Ordering::Release);
        life
    }

    /// Holder of an unfinished part: adds `parts` more.
    ///
    /// # Panics
    /// If there would be more than [`MAX_CHILDREN`]; then none is added.
    #[inline]
    pub fn add(&self, parts: u32) {
        // E1: pairs with the update in `finish`, because `finish` itself then reads this thread's store.
        // kept over Relaxed: the store that may follow ends the release sequence of earlier finishes, which the end of
        // the job must acquire; to loom, a store after an update continues it.
        let before = self.word.load(Ordering::Acquire);
        if (before & COUNT) + u64::from(parts) > MAX_CHILDREN {
            refuse();
        }
        if before & (KNOWN | COUNT) == 1 {
            // Relaxed: this thread is alone with the word (I3), and has acquired everything released to it.
            self.word.store(before + u64::from(parts), Ordering::Relaxed);
        } else {
            self.increase(parts);
        }
    }

    #[inline]
    fn increase(&self, parts: u32) {
        // Relaxed: threads that finish the parts learn of them from this thread, whose own part keeps the job
        // unfinished. The count may exceed the limit by the parts that other threads add at the same time.
        self.word.fetch_add(u64::from(parts), Ordering::Relaxed);
    }

    /// Holder of an unfinished part: adds one more, always by an update.
    ///
    /// # Panics
    /// As [`Lineage::add`].
    #[inline]
    pub fn add_by_update(&self) {
        // Relaxed: only the number matters here.
        if self.word.load(Ordering::Relaxed) & COUNT >= MAX_CHILDREN {
            refuse();
        }
        self.increase(1);
    }

    /// Holder of `parts` unfinished parts: finishes them. Returns whether they were the last. If so, the job is over,
    /// and the caller gives the place back and finishes the job's part in its parent. Otherwise the caller must not
    /// touch the place again.
    #[inline]
    pub fn finish(&self, parts: u32) -> bool {
        let parts = u64::from(parts);
        // E1: pairs with the update below. The last parts of an unknown job need no update (I3).
        if self.word.load(Ordering::Acquire) & (KNOWN | COUNT) == parts {
            return true;
        }
        self.decrease(parts)
    }

    /// Holder of an unfinished part: as [`Lineage::finish`], always by an update.
    #[inline]
    pub fn finish_by_update(&self) -> bool {
        self.decrease(1)
    }

    #[inline]
    fn decrease(&self, parts: u64) -> bool {
        // E1, both sides; E2: pairs with `is_over` and `is_left_with`.
        self.word.fetch_sub(parts, Ordering::AcqRel) & COUNT == parts
    }

    /// Holder of `parts` unfinished parts: returns whether there are no others. If there are, the holder may defer
    /// finishing its own while it holds one or keeps running.
    #[inline]
    pub fn is_left_with(&self, parts: u32) -> bool {
        // E2: pairs with `finish`.
        self.word.load(Ordering::Acquire) & COUNT == u64::from(parts)
    }

    /// Thread that finished the last part: returns the job's parent.
    #[inline]
    pub fn parent(&self) -> Option<NonNull<Self>> {
        // Relaxed: written before the job could be finished (E1).
        NonNull::new(self.parent.load(Ordering::Relaxed))
    }

    /// Holder of an unfinished part: lets others ask about the job. Returns its life.
    pub fn make_known(&self) -> u32 {
        // Relaxed: only threads that finish a part after this thread's own part must see it.
        (self.word.fetch_or(KNOWN, Ordering::Relaxed) >> LIFE_SHIFT) as u32
    }

    /// Any thread: returns whether the known job of that life and all its descendants are over.
    #[inline]
    pub fn is_over(&self, life: u32) -> bool {
        // E2: pairs with `finish`; E3: with `begin`.
        let word = self.word.load(Ordering::Acquire);
        (word >> LIFE_SHIFT) as u32 != life || word & COUNT == 0
    }

    /// Any thread: returns the relation of the known job of that life to the unfinished job in `ancestor`.
    ///
    /// # Safety
    /// This place and those of its ancestors stay allocated during the call, whatever they hold.
    pub unsafe fn descent_from(&self, life: u32, ancestor: NonNull<Self>) -> Descent {
        let mut place = NonNull::from(self);
        while place != ancestor {
            // E5: pairs with `begin`. SAFETY: the caller's promise.
            let parent = unsafe { place.as_ref() }.parent.load(Ordering::Acquire);
            // If the job is not over, `parent` is in its lineage (I5).
            if self.is_over(life) {
                return Descent::Over;
            }
            let Some(parent) = NonNull::new(parent) else { return Descent::Unrelated };
            place = parent;
        }
        Descent::Descendant
    }
}

#[cold]
fn refuse() -> ! {
    panic!("a job has more than {MAX_CHILDREN} unfinished children")
}

/// The number of places of a block that have been given back.
#[derive(Debug)]
pub struct Returned<M: Memory> {
    /// By the block's owner. Only the owner accesses it.
    own: M::AtomicU32,
    others: M::AtomicU32,
}

impl<M: Memory> Default for Returned<M> {
    fn default() -> Self {
        Self { own: Atomic::new(0), others: Atomic::new(0) }
    }
}

impl<M: Memory> Returned<M> {
    /// Owner: gives a place back.
    #[inline]
    pub fn by_owner(&self) {
        // Relaxed: only the owner accesses it.
        self.own.store(self.own.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Another thread: gives a place back.
    #[inline]
    pub fn by_other(&self) {
        // E4: pairs with `all`.
        self.others.fetch_add(1, Ordering::Release);
    }

    /// Owner: returns whether all of the block's `places` have been given back. If so, resets the counts, and the
    /// places may be reused.
    pub fn all(&self, places: u32) -> bool {
        // Relaxed: only the owner accesses it. E4: pairs with `by_other`.
        let all = self.own.load(Ordering::Relaxed) + self.others.load(Ordering::Acquire) == places;
        if all {
            // Relaxed, both: no other thread uses the block before its places are reused, which publishes this.
            self.own.store(0, Ordering::Relaxed);
            self.others.store(0, Ordering::Relaxed);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filch_memory::Native;

    #[test]
    fn a_place_tells_its_lives_apart() {
        let place = Lineage::<Native>::default();
        let first = place.begin(None, true);
        assert!(!place.is_over(first));
        assert!(place.finish(1));
        assert!(place.is_over(first));
        let second = place.begin(None, true);
        assert_ne!(first, second);
        assert!(place.is_over(first) && !place.is_over(second));
        assert!(place.finish(1));
        assert!(place.is_over(second));
    }

    #[test]
    fn a_job_ends_with_its_last_part() {
        let job = Lineage::<Native>::default();
        for known in [false, true] {
            for together in [1, 2] {
                let life = job.begin(None, known);
                assert!(job.is_left_with(1));
                job.add(1);
                job.add(2);
                assert!(!job.is_left_with(3) && job.is_left_with(4));
                assert!(!job.finish(3 - together));
                assert_eq!(job.make_known(), life);
                assert!(!job.is_over(life));
                assert!(job.finish(1 + together));
                assert!(job.is_over(life));
            }
        }
    }

    #[test]
    fn too_many_children_are_refused_and_not_counted() {
        let job = Lineage::<Native>::default();
        job.begin(None, false);
        let refuses = |parts| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.add(parts))).is_err();
        assert!(refuses(MAX_CHILDREN as u32));
        assert!(!refuses(MAX_CHILDREN as u32 - 3));
        assert!(refuses(3));
        assert!(!refuses(2));
        assert!(job.finish(MAX_CHILDREN as u32));
    }

    #[test]
    fn descent_goes_up_to_the_root() {
        let places: [Lineage<Native>; 4] = Default::default();
        let [root, parent, child, stranger] = &places;
        root.begin(None, true);
        parent.begin(Some(NonNull::from(root)), true);
        let life = child.begin(Some(NonNull::from(parent)), true);
        stranger.begin(Some(NonNull::from(root)), true);
        let descent = |life, ancestor: &Lineage<Native>| {
            // SAFETY: the places stay.
            unsafe { child.descent_from(life, NonNull::from(ancestor)) }
        };
        let expected = [Descent::Descendant, Descent::Descendant, Descent::Descendant, Descent::Unrelated];
        assert_eq!([child, parent, root, stranger].map(|of| descent(life, of)), expected);
        assert!(child.finish(1));
        assert_eq!(descent(life, parent), Descent::Over);
    }

    #[test]
    fn a_block_is_returned_once_all_its_places_are() {
        let returned = Returned::<Native>::default();
        for _ in 0..2 {
            returned.by_owner();
            assert!(!returned.all(3));
            returned.by_other();
            returned.by_owner();
            assert!(returned.all(3));
        }
    }
}
