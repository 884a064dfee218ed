//! The queue of jobs that a worker has spawned, and the [order](crate::protocol::order) of these jobs and the worker's
//! forks.
//!
//! In a pool that waits [strictly](crate::Wait), a worker that joins must not run jobs that it has spawned. So all
//! spawned jobs count as older than all forks there.
//!
//! Invariant: a word in a queue of spawned jobs comes from [`word_of`], and is converted back once.

use std::cell::{Cell, UnsafeCell};
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use filch_memory::{Asymmetric, Native};
use filch_queue::{Owner, Steal, Task, Thief};

use crate::fork::here::{Here, Known};
use crate::fork::slot::{Job, Slot};
use crate::fork::{own::Own, spawned::Spawned};
use crate::protocol::order::{Height, Marks};
#[cfg(doc)]
use crate::protocol::sleep::Unfenced;
use crate::protocol::waiting::Sleeper;
use crate::shared::common::{Common, Spawning};
use crate::worker::home::Home;
use crate::worker::strands;

/// Whether the upper bits of a word have room for a height, because no address uses them.
const HAS_HEIGHTS: bool = cfg!(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(target_os = "android")
));
/// The bit that says that a word has a height.
const FLAG: usize = 1 << (usize::BITS - 1);
/// The lowest bit of a height, and the number of its bits.
const SHIFT: u32 = usize::BITS / 4 * 3;
const BITS: u32 = usize::BITS - SHIFT - 1;

/// Returns the word for a job that was spawned at this height. If the address leaves no room for the height, the job
/// counts as older than all forks.
pub(crate) fn word_of(job: Spawned, height: Height) -> Task {
    let word = job.into_task().as_ptr::<()>().map_addr(|address| {
        let has_room = HAS_HEIGHTS && address.get() >> SHIFT == 0;
        assert!(has_room || !has_height(address.get()), "an address of the system");
        address | if has_room { FLAG | height.pack(BITS) << SHIFT } else { 0 }
    });
    Task::from_ptr(word)
}

/// Returns the word of the same job, with its height lowered to this one if it was above.
fn lowered(word: Task, height: Height) -> Task {
    if height_of(word) <= height {
        return word;
    }
    let lowered = |bits: usize| bits & ((1 << SHIFT) - 1) | FLAG | height.pack(BITS) << SHIFT;
    Task::from_ptr(
        word.as_ptr::<()>().map_addr(|bits| NonZeroUsize::new(lowered(bits.get())).expect("it has the flag")),
    )
}

/// The inverse of [`word_of`].
///
/// # Safety
/// `word` comes from [`word_of`], and is converted back once.
pub(crate) unsafe fn job_of(word: Task) -> Spawned {
    let strip = |bits: usize| if has_height(bits) { bits & ((1 << SHIFT) - 1) } else { bits };
    let job = word.as_ptr::<()>().map_addr(|bits| NonZeroUsize::new(strip(bits.get())).expect("a job has an address"));
    // SAFETY: it is the job's address, which the caller converts once.
    unsafe { Spawned::from_task(Task::from_ptr(job)) }
}

/// Returns the height at which the job with this word was spawned.
pub(crate) fn height_of(word: Task) -> Height {
    let bits = word.id().get();
    if has_height(bits) { Height::unpack((bits ^ FLAG) >> SHIFT, BITS) } else { Height::GROUND }
}

fn has_height(bits: usize) -> bool {
    HAS_HEIGHTS && bits & FLAG != 0
}

/// A worker publishes jobs [without fences](Unfenced) once it has spawned this many in a row. Each worker that falls
/// asleep then pays for a barrier.
const MANY: u32 = 16;

impl Home {
    /// Whether the worker publishes spawned jobs without fences.
    #[inline(always)]
    pub(crate) fn is_unfenced(&self) -> bool {
        self.spawned_in_row.get() == MANY
    }

    /// Counts a job that the worker has spawned; the caller then fences.
    pub(crate) fn count_spawned(&self) {
        if self.is_unfenced() || !self.common.has_barriers {
            return;
        }
        let spawned = self.spawned_in_row.get() + 1;
        if spawned < MANY {
            self.spawned_in_row.set(spawned);
        } else if Native::barriers_are_quick() {
            self.spawned_in_row.set(spawned);
            self.common.dormitory.unfenced().begin();
        }
    }

    /// Called when the worker has nothing of its own, and looks for work elsewhere or leaves.
    pub(crate) fn look_elsewhere(&self) {
        if self.spawned_in_row.replace(0) == MANY {
            self.common.dormitory.unfenced().end();
        }
    }
}

impl Own<'_, Home> {
    /// Gives `f` the owner's end of the queue of spawned jobs. Nothing else that `f` calls may use that end.
    fn with_spawned<R>(self, f: impl FnOnce(&mut Spawning) -> R) -> R {
        // SAFETY: only this thread uses the owner's end; `f` is one operation of the queue, which does not reenter this
        // function.
        f(unsafe { &mut *self.spawned.get() })
    }

    /// Returns a mark: jobs that the worker spawns later lie above it, unless the worker takes back jobs from below it.
    pub(crate) fn spawns(self) -> usize {
        self.with_spawned(|spawned| spawned.next_position())
    }

    /// Takes the worker's own newest spawned job.
    #[inline]
    pub(crate) fn pop_spawned(self) -> Option<Spawned> {
        let task = self.with_spawned(Spawning::pop_or_steal)?;
        // SAFETY: only spawned jobs are pushed there, and the queue gives out each word once.
        Some(unsafe { job_of(task) })
    }

    /// Takes the worker's own newest spawned job, if it lies above `mark`. Lowers the mark if jobs below it were taken
    /// back.
    pub(crate) fn pop_spawned_since(self, mark: &Cell<usize>) -> Option<Spawned> {
        let spawns = self.spawns();
        mark.set(mark.get().min(spawns));
        if spawns > mark.get() { self.pop_spawned() } else { None }
    }

    /// Whether the worker has spawned jobs that nobody has taken. A snapshot.
    pub(crate) fn has_own_spawned(self) -> bool {
        self.with_spawned(|spawned| spawned.len_hint() > 0)
    }

    /// Gives `f` the list of heights at which the worker has spawned.
    fn with_marks<R>(self, f: impl FnOnce(&mut Marks) -> R) -> R {
        let marks: &UnsafeCell<Marks> = &self.seen().marks;
        // SAFETY: only this thread uses the list, and each `f` is an operation of the list.
        f(unsafe { &mut *marks.get() })
    }

    /// The greatest height at which the worker may have a job.
    fn newest_height(self) -> Height {
        self.with_marks(|marks| marks.newest())
    }

    /// The height of the worker's newest spawned job that nobody has taken, if there is one. A snapshot.
    fn newest_job(self) -> Option<Height> {
        let (end, jobs) = self.with_spawned(|spawned| (spawned.next_position(), spawned.len_hint()));
        (jobs > 0).then(|| self.with_marks(|marks| marks.height_at(end - 1)))
    }

    fn floor(self) -> usize {
        let early = Height::on_stack(self.aside().above_early());
        self.newest_height().max(early).floor(self.bottom(), size_of::<Slot>())
    }

    /// As [`Aside::take_early`](crate::fork::off_stack::Aside); also raises the floor, so that the fork's join is cold.
    pub(crate) fn take_early(
        self,
        index: usize,
        slot: &Slot,
        recall: impl FnOnce(&mut dyn FnMut()) -> bool,
    ) -> Option<NonNull<Job>> {
        let job = self.aside().take_early(index, slot, recall)?;
        self.stack_front().limits.raise_floor(self.floor());
        Some(job)
    }

    /// Whether the worker's newest fork, which is at this height, has been run early.
    pub(crate) fn has_run_early(self, height: Height) -> bool {
        self.aside().above_early() == height.forks_on_stack() as usize + 1
    }

    /// Returns where the fork at this index of the worker's stack lies, if it has been run early. Forgets it.
    pub(crate) fn ran_early(self, index: usize) -> Option<NonNull<Slot>> {
        let slot = self.aside().ran_early(index)?;
        self.stack_front().limits.set_floor(self.floor());
        Some(slot)
    }

    /// Pushes a job that may outlive its spawner, at this height, and wakes a sleeper for it.
    #[inline(always)]
    fn spawn(self, job: Spawned, height: Height) {
        let height = if self.common.wait.is_strict() { Height::GROUND } else { height };
        // Most jobs come in long series, each at the height of the one before.
        if height > self.newest_height() || !self.with_spawned(|spawned| spawned.has_room()) || !self.is_unfenced() {
            return self.spawn_rarely(job, height);
        }
        self.push_spawned(job, height);
        if self.common.dormitory.sleepers().sleepers_after_unfenced() {
            self.wake_for_spawned();
        }
    }

    #[inline(never)]
    fn spawn_rarely(self, job: Spawned, height: Height) {
        strands::spawned(job.address());
        let position = self.spawns();
        if self.with_marks(|marks| marks.note(height, position)) {
            self.stack_front().limits.raise_floor(self.floor());
        }
        self.push_spawned(job, height);
        self.count_spawned();
        if self.common.dormitory.sleepers().sleepers_after() {
            self.wake_for_spawned();
        }
    }

    #[inline(always)]
    fn push_spawned(self, job: Spawned, height: Height) {
        if let Err(full) = self.with_spawned(|spawned| spawned.push(word_of(job, height))) {
            self.inject_spawned(full.0);
        }
    }

    #[cold]
    fn inject_spawned(self, word: Task) {
        // SAFETY: the word just came from `word_of`, for a push that failed.
        self.common.injected.push(unsafe { job_of(word) });
    }

    #[cold]
    fn wake_for_spawned(self) {
        if self.common.dormitory.wake_for_any(self.index + 1) {
            self.note_wake_up();
        }
    }

    /// Whether the worker may have spawned a job above the fork `below`.
    pub(crate) fn may_have_newer(self, below: Height) -> bool {
        self.newest_height() > below
    }

    /// Takes the newest job that the worker has spawned above the fork `below`, to run it just above that fork.
    pub(crate) fn pop_newer(self, below: Height) -> Option<Spawned> {
        let first = self.with_marks(|marks| marks.first_above(below))?;
        self.lower(below.above());
        if self.spawns() > first { self.pop_spawned() } else { None }
    }

    /// Lowers the jobs that the worker has spawned above this height to it, because the forks above it have ended, or
    /// soon will.
    #[inline]
    pub(crate) fn lower(self, height: Height) {
        if let Some(first) = self.with_marks(|marks| marks.lower(height)) {
            self.lower_from(first, height);
        }
    }

    #[cold]
    fn lower_from(self, first: usize, height: Height) {
        self.stack_front().limits.set_floor(self.floor());
        self.with_spawned(|spawned| spawned.replace_from(first, |word| lowered(word, height)));
    }
}

impl<P: Known> Here<'_, P> {
    /// Returns the height of the head.
    fn height_of_head(&self, home: Own<'_, Home>) -> Height {
        if self.is_on_stack() {
            Height::on_stack((self.head().addr() - home.bottom()) / size_of::<Slot>())
        } else {
            Height::aside(home.aside().len())
        }
    }

    /// The part of this worker that does not depend on the type of its pool.
    ///
    /// # Panics
    /// Outside all pools.
    pub(crate) fn spawner(&self) -> Own<'_, Home> {
        self.any_home().expect("only workers spawn")
    }

    /// Whether the worker's newest fork that has not been run is newer than its newest job. Without a job, it may
    /// return `true` even if there is no such fork.
    #[inline]
    pub(crate) fn forks_are_newer(&self) -> bool {
        let home = self.spawner();
        let height = self.height_of_head(home);
        height > Height::GROUND && self.are_newer_below(home, height)
    }

    /// As [`Here::forks_are_newer`], with forks below this height.
    #[inline(never)]
    fn are_newer_below(&self, home: Own<'_, Home>, height: Height) -> bool {
        let newest = if self.is_on_stack() {
            let newest = home.aside().newest_below(height.forks_on_stack() as usize);
            Height::on_stack(newest.map_or(0, |newest| newest + 1))
        } else {
            height
        };
        home.newest_job().is_none_or(|job| newest > job)
    }

    /// Spawns a job that may outlive its spawner.
    ///
    /// # Panics
    /// Outside all pools.
    pub(crate) fn spawn(&self, job: Spawned) {
        let home = self.spawner();
        home.spawn(job, self.height_of_head(home));
    }
}

impl Common {
    /// Tries to take the oldest job that `victim` has spawned, if it was spawned at this height or below.
    pub(crate) fn steal_spawned(&self, victim: usize, up_to: Height) -> Option<Spawned> {
        loop {
            match self.spawned[victim].steal_if(|job| height_of(job) <= up_to) {
                // SAFETY: only spawned jobs are pushed there, and the queue gives out each word once.
                Steal::Task(task) => return Some(unsafe { job_of(task) }),
                Steal::Retry => {}
                Steal::Empty | Steal::Aborted | Steal::Pending => return None,
            }
        }
    }

    /// Returns the height of the oldest job that `victim` has spawned and nobody has taken. A snapshot.
    pub(crate) fn oldest_spawned(&self, victim: usize) -> Option<Height> {
        self.spawned[victim].oldest_hint().map(height_of)
    }

    /// Whether `victim` has spawned jobs to take. A snapshot, accurate enough for a last look before sleep.
    pub(crate) fn has_spawned(&self, victim: usize) -> bool {
        self.spawned[victim].has_work_hint()
    }
}

#[cfg(test)]
mod tests {
    use filch_memory::{Memory, Native, Ordering};

    use super::*;

    #[test]
    fn a_word_keeps_the_job_and_orders_the_heights() {
        let heights = [0, 1, 2, 1 << 13].map(Height::on_stack).into_iter().chain([0, 1, 5].map(Height::aside));
        for height in heights.clone() {
            let ran = <Native as Memory>::AtomicBool::new(false);
            // SAFETY: the job runs below, and does not unwind.
            let word = word_of(unsafe { Spawned::new(|| ran.store(true, Ordering::Relaxed)) }, height);
            assert_eq!(height_of(word), if HAS_HEIGHTS { height } else { Height::GROUND });
            for low in heights.clone() {
                assert_eq!(height_of(lowered(word, low)), height_of(word).min(low));
            }
            // SAFETY: it is converted once, and forks nothing.
            unsafe { job_of(lowered(word, Height::on_stack(1))).run() };
            assert!(ran.load(Ordering::Relaxed));
        }
        assert!(Height::on_stack(usize::MAX / 8).pack(BITS) < Height::aside(0).pack(BITS));
    }
}
