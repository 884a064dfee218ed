//! Jobs and their parents: when is a job over with all its descendants, and when may its place hold another?
//!
//! **Source.** The job system of the project injinj/WSQ, <https://github.com/injinj/WSQ>, whose decrements are relaxed.
//!
//! **Idea.** A job counts what is unfinished of it: itself, and its children. Whoever finishes one of them takes it off, and
//! whoever takes off the last has finished the job for its parent. Parts that one thread finishes may be taken off together, if it
//! is not too late: see [`Lineage::is_left_with`]. Jobs lie in places that are used again and again, many of
//! them in one block. A place counts its lives, so that who asks for a job of an earlier life learns that it is over, and nobody
//! has to be told when a place is reused.
//!
//! **Fields.** Per place a [`Lineage`]: one word of life (high 32 bits), whether the job is known to anybody but its kin (1 bit),
//! and unfinished (31 bits); and the parent. Per block [`Returned`]: how many places its owner and others have given back.
//!
//! **Invariants.**
//! * I1: each part, the job itself and each child, is counted before it can be finished, and taken off once.
//! * I2: only who has an unfinished part adds one, so the count rises from 0 by [`Lineage::begin`] alone.
//! * I3: a part of an unknown job is added and taken off by who has one. So who has all that are left is alone with the word.
//! * I4: between giving back and the next beginning only the block's owner has to do with a place, but for those who ask for
//!   a job of an earlier life.
//! * I5: a job's parent stays while the job is unfinished, and is unfinished.
//!
//! **Edges.**
//! * E1: `finish` (release) → the `finish` that is the last (acquire): what was done in all parts, and the parent's name, come
//!   before the end of the job, and before what its parent does next.
//! * E2: the last `finish` (release) → `is_over` (acquire), and any (release) → `is_left_with` (acquire): what was done in the parts
//!   comes before the end of the wait for them.
//! * E3: `begin` (release) → `is_over` (acquire), when it finds another life: the same for a job whose place has been
//!   reused, as the owner has acquired its end by E4.
//! * E4: `by_other` (release) → `all` (acquire): the last use of a place comes before its next.
//! * E5: `begin`'s store of the parent (release) → its load in `descent_from` (acquire): who reads the parent of a later
//!   job sees that the one it asked for is over.
//!
//! **Cost.** None of the updates is atomic where one thread has all that is left of a job, and nobody knows it. Otherwise one for
//! each child, or for several that are begun or finished together.
//!
//! ```
//! use std::ptr::NonNull;
//! use filch::protocol::lineage::Lineage;
//! use filch_memory::Native;
//!
//! let (parent, child): (Lineage<Native>, Lineage<Native>) = Default::default();
//! let life = parent.begin(None, true);
//! parent.add(1);
//! child.begin(Some(NonNull::from(&parent)), false);
//! assert!(!parent.finish(1)); // its own part
//! assert!(child.finish(1));
//! assert!(!parent.is_over(life));
//! assert!(parent.finish(1)); // that of the child, in its name
//! assert!(parent.is_over(life));
//! ```

use std::ptr::{self, NonNull};

use filch_memory::{Atomic, AtomicInt, Memory, Ordering};

const COUNT: u64 = (1 << 31) - 1;
const KNOWN: u64 = 1 << 31;
const LIFE_SHIFT: u32 = 32;

/// More unfinished parts are refused.
pub const MAX_CHILDREN: u64 = 1 << 30;

/// What a job's place says of its parts and of its parent.
#[derive(Debug)]
#[repr(C)]
pub struct Lineage<M: Memory> {
    word: M::AtomicU64,
    parent: M::AtomicPtr<Self>,
}

/// What a job is to another: see [`Lineage::descent_from`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descent {
    /// The same job, or a descendant.
    Descendant,
    /// Neither.
    Unrelated,
    /// The job is over, so nobody can tell.
    Over,
}

impl<M: Memory> Default for Lineage<M> {
    /// A place that has not held a job.
    fn default() -> Self {
        Self { word: Atomic::new(0), parent: Atomic::new(ptr::null_mut()) }
    }
}

impl<M: Memory> Lineage<M> {
    /// The owner of the place: a job begins here, itself unfinished; returns the life of the place that it is. A job that is not
    /// `known` is never asked whether it is over. Precondition: the one before is over and its place was given back, if there was
    /// one; the parent has counted this one.
    #[inline]
    pub fn begin(&self, parent: Option<NonNull<Self>>, known: bool) -> u32 {
        // Relaxed: nobody else writes the word (I4).
        let life = ((self.word.load(Ordering::Relaxed) >> LIFE_SHIFT) as u32).wrapping_add(1);
        // E3: pairs with `is_over`.
        // kept over Relaxed: a relaxed store would end the release of the job before; to loom, a store after an update
        // continues it.
        self.word.store(u64::from(life) << LIFE_SHIFT | if known { KNOWN } else { 0 } | 1, Ordering::Release);
        let parent = parent.map_or(ptr::null_mut(), NonNull::as_ptr);
        // E5: pairs with `descent_from`, and comes after the word.
        self.parent.store(parent, Ordering::Release);
        life
    }

    /// Who has an unfinished part: there are `parts` more.
    ///
    /// # Panics
    /// If that makes more than [`MAX_CHILDREN`]; then none was added.
    #[inline]
    pub fn add(&self, parts: u32) {
        // E1: pairs with the update in `finish`, for `finish` itself then reads this thread's store.
        // kept over Relaxed: the store that may follow ends the release of the finishes before, which the end of the
        // job has to acquire; to loom, a store after an update continues it.
        let before = self.word.load(Ordering::Acquire);
        if (before & COUNT) + u64::from(parts) > MAX_CHILDREN {
            refuse();
        }
        if before & (KNOWN | COUNT) == 1 {
            // Relaxed: this thread is alone with the word (I3), and has acquired what was released to it.
            self.word.store(before + u64::from(parts), Ordering::Relaxed);
        } else {
            // Relaxed: whoever finishes the parts learns of them from this thread, whose own part keeps the job unfinished. More
            // than the limit by what other threads add at the same time.
            self.word.fetch_add(u64::from(parts), Ordering::Relaxed);
        }
    }

    /// Who has `parts` unfinished parts: those are finished; and if they were the last, so is the job. Then the caller gives
    /// the place back and finishes the job's part in its parent. Otherwise it must not touch the place any more.
    #[inline]
    pub fn finish(&self, parts: u32) -> bool {
        let parts = u64::from(parts);
        // E1: pairs with the update below. The last parts of an unknown job need no update: I3.
        if self.word.load(Ordering::Acquire) & (KNOWN | COUNT) == parts {
            return true;
        }
        // E1, both sides; E2: pairs with `is_over` and `is_left_with`.
        self.word.fetch_sub(parts, Ordering::AcqRel) & COUNT == parts
    }

    /// Who has `parts` unfinished parts: whether there are no others. While there are, it can put off finishing its own for
    /// as long as it has one in hand, or does not rest.
    #[inline]
    pub fn is_left_with(&self, parts: u32) -> bool {
        // E2: pairs with `finish`.
        self.word.load(Ordering::Acquire) & COUNT == u64::from(parts)
    }

    /// Who has finished the last part: the job's parent.
    #[inline]
    pub fn parent(&self) -> Option<NonNull<Self>> {
        // Relaxed: written before the job could be finished (E1).
        NonNull::new(self.parent.load(Ordering::Relaxed))
    }

    /// Who has an unfinished part: others may ask for the job from now on. Returns its life.
    pub fn make_known(&self) -> u32 {
        // Relaxed: it has to be seen by those who finish a part after this thread's own.
        (self.word.fetch_or(KNOWN, Ordering::Relaxed) >> LIFE_SHIFT) as u32
    }

    /// Anybody: whether the known job of that life is over, with all its descendants.
    #[inline]
    pub fn is_over(&self, life: u32) -> bool {
        // E2: pairs with `finish`; E3: with `begin`.
        let word = self.word.load(Ordering::Acquire);
        (word >> LIFE_SHIFT) as u32 != life || word & COUNT == 0
    }

    /// Anybody: what the known job of that life is to the job in `ancestor`, which is unfinished.
    ///
    /// # Safety
    /// All places stay where they are meanwhile, this one's ancestors' too, whatever they hold.
    pub unsafe fn descent_from(&self, life: u32, ancestor: NonNull<Self>) -> Descent {
        let mut place = NonNull::from(self);
        while place != ancestor {
            // E5: pairs with `begin`. SAFETY: the caller's promise.
            let parent = unsafe { place.as_ref() }.parent.load(Ordering::Acquire);
            // If not, what was read is of its lineage: I5.
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

/// How many places of a block have been given back.
#[derive(Debug)]
pub struct Returned<M: Memory> {
    /// By the block's owner, which alone reads and writes it.
    own: M::AtomicU32,
    others: M::AtomicU32,
}

impl<M: Memory> Default for Returned<M> {
    fn default() -> Self {
        Self { own: Atomic::new(0), others: Atomic::new(0) }
    }
}

impl<M: Memory> Returned<M> {
    /// The owner gives a place back.
    #[inline]
    pub fn by_owner(&self) {
        // Relaxed: the owner's alone.
        self.own.store(self.own.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Another thread gives a place back.
    #[inline]
    pub fn by_other(&self) {
        // E4: pairs with `all`.
        self.others.fetch_add(1, Ordering::Release);
    }

    /// The owner: whether all of so many places have been given back. Then they may be used once more, and the counts are 0.
    pub fn all(&self, places: u32) -> bool {
        // Relaxed: the owner's alone. E4: pairs with `by_other`.
        let all = self.own.load(Ordering::Relaxed) + self.others.load(Ordering::Acquire) == places;
        if all {
            // Relaxed, both: nobody else has to do with the block before places in it are used again, which publishes this.
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
