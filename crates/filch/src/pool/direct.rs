//! The direct task stack: a pool whose tasks lie in slots. It is generic over the index protocol, which says which
//! tasks thieves may take.
//!
//! Forks and joins that the [limits](crate::protocol::limits) admit are in [`fast_path`](crate::fork::fast_path). The
//! cold paths are the pool's own: [`Split`](super::Split), [`Wool`](super::Wool) and
//! [`PrivateStack`](super::PrivateStack) are such pools.
//!
//! Invariant: the limits admit a push only if the slot is the owner's and no thief need know of the task, and a pop
//! only of a task that no thief can have.

use std::io;
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::lace::index::StealIndex;
use filch_queue::{ChaseLev, Steal, clock};

use super::loot::QueueSettings;
use super::queued::Queued;
use super::stack::Stack;
use crate::fork::front::{Front, Meanwhile, Popped};
use crate::fork::here::{Here, IdleHere, Known};
use crate::fork::slot::{Job, Slot};
use crate::fork::{fast_path, job::Body, own::Own};
use crate::machine::processors::Places;
use crate::protocol::state::{JobState, MAX_DEPTH, Settled, Status};
use crate::protocol::{order::Height, waiting::wake_next};
use crate::wait;
use crate::worker::plumbing::{Insisted, Plumbing, Pool, Room, Tuned};
use crate::worker::{core::Core, home::Home};

/// How many of its private tasks an owner shares.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Share {
    /// As many as the pool shares on request.
    Half,
    All,
}

/// A pool whose tasks lie on a direct task stack: the cold paths of its index protocol. The owner's operations take the
/// worker's front and home; a caller that has the pool as its [own](Own) is that worker.
///
/// # Safety
/// Implementations give out each index once, to the owner or to one thief, and keep the file head's invariant of the
/// limits.
// As on `Pool`: for a type that is no pool, the compiler may first miss this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind of task pool",
    label = "neither `Split`, `Wool`, `PrivateStack`, `Queued<…>` nor `Heartbeat<…>`",
    note = "a queue makes a pool when wrapped, as in `filch::pool::Queued<filch_queue::ChaseLev>`",
    note = "a function for every kind has a type parameter: `fn f<P: filch::pool::Pool>(w: Worker<'_, P>)`"
)]
pub(crate) unsafe trait Direct: Tuned + Sized + Send + Sync + 'static {
    /// Makes the pools of all workers.
    fn make(parts: Vec<(Stack, Queued<ChaseLev>)>, settings: &<Self as Tuned>::Settings) -> Vec<Self>;

    fn stack(&self) -> &Stack;

    /// Returns the queue for forks by code that does not know the head.
    fn words(&self) -> &Queued<ChaseLev>;

    /// Called before an idle worker runs something.
    fn begin(_: &IdleHere<'_, '_, Self>) {}

    /// Completes a push that the limits did not admit. The task at `index` is in its slot, or lies beyond the end and
    /// has been kept aside.
    ///
    /// # Safety
    /// The task is the worker's newest.
    unsafe fn pushed(own: Own<'_, Self>, front: &Front, home: &Home, index: usize);

    /// Completes a pop that the limits did not admit: takes back the task at `index`, unless it is stolen.
    ///
    /// # Safety
    /// The task is the worker's newest.
    unsafe fn take_back(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) -> bool;

    /// Whether the pool can [recall](Direct::recall) tasks.
    const RECALLS: bool = false;

    /// Makes the task at `index`, below `head`, private, and calls `take` while no thief can share it; all tasks above
    /// are empty. Returns `false` if the task is stolen.
    fn recall(_own: Own<'_, Self>, _: &Front, _: &Home, _index: usize, _head: usize, _take: impl FnOnce()) -> bool {
        unreachable!("it does not recall tasks")
    }

    /// Shares this much of the tasks below the head, which is on the stack.
    fn give(here: &Here<'_, Self>, share: Share);

    /// Reports that the wait for the stolen task at `index` is over, and makes the task's state fresh.
    ///
    /// # Safety
    /// The task was the worker's newest.
    unsafe fn joined(own: Own<'_, Self>, front: &Front, home: &Home, index: usize);

    /// Tries to win the victim's oldest task, as a thief, if it lies below this height. The victim may be the worker
    /// itself.
    fn win_oldest(here: &Here<'_, Self>, victim: &Core<Self>, below: Height) -> StealIndex<usize>;

    /// Returns a height below which a thief might find something, or the ground. A snapshot.
    fn shared_below(&self) -> Height;

    /// Whether a thief might find something. A snapshot.
    fn has_shared(&self) -> bool {
        self.shared_below() > Height::GROUND
    }

    /// Whether there is a task below this height that a thief can take, now or once it has asked. A snapshot.
    fn has_older(&self, front: &Front, height: Height) -> bool;

    /// Whether a request to this worker may help. A snapshot.
    fn may_share(&self) -> bool;

    /// Whether a thief that takes the last shared task asks for more at once.
    fn asks_ahead(&self) -> bool {
        true
    }

    /// Shares on behalf of this pool's worker, whose front is `front`, as the worker `thief`.
    fn share_for(&self, _front: &Front, _thief: &Home) -> Insisted {
        Insisted::Shared(0)
    }

    /// Called before the worker sleeps or blocks: it answers no thief until its next push, pop or poll.
    fn rest(_: &Here<'_, Self>) {}

    /// Whether the stack may have tasks that nobody has stolen.
    fn may_have_tasks(own: Own<'_, Self>) -> bool;

    /// Whether a thief would take a task pushed here, at `index` on the stack, if the limits do not admit the push.
    fn wants_work(here: &Here<'_, Self>, index: usize) -> bool;
}

/// Returns the index of the head, which is on the stack or beyond its end.
pub(super) fn index_of<D: Direct>(here: &Here<'_, D>) -> usize {
    debug_assert!(here.is_on_stack(), "there is no head elsewhere");
    here.pool().stack().index_of(here.head())
}

/// Returns the pool's word queue.
fn words<'w, D: Direct>(here: &Here<'w, D>) -> Own<'w, Queued<ChaseLev>> {
    // SAFETY: the word queue is a part of the worker's pool.
    unsafe { here.pool().part(D::words) }
}

impl<D: Direct> Known for D {
    type Cursor = *mut Slot;

    #[inline(always)]
    fn cursor(head: *mut Slot) -> *mut Slot {
        head
    }

    #[inline(always)]
    fn head(cursor: *mut Slot) -> *mut Slot {
        cursor
    }
}

// SAFETY: `Direct` gives out each index once; the fronts' invariants are those in this file's head.
unsafe impl<D: Direct> Plumbing for D {
    type Settings = <D as Tuned>::Settings;

    fn create(workers: usize, room: Room, settings: &<D as Tuned>::Settings, places: &Places) -> io::Result<Vec<Self>> {
        // Few programs fork both with and without the head, so the word queues begin small; they grow.
        let few = Room { tasks: 1 << 5, is_asked: true };
        let queues = Queued::create(workers, few, &QueueSettings::default(), places)?;
        let stacks = Stack::reserve(workers, room.tasks)?;
        Ok(Self::make(stacks.into_iter().zip(queues).collect(), settings))
    }

    fn bottom(&self) -> *mut Slot {
        self.stack().bottom()
    }

    fn front(core: &Core<Self>) -> &Front {
        &core.front
    }

    #[inline(always)]
    fn join<A: Body<In = Self>, B: Body<In = Self>>(here: Here<'_, Self>, a: A, b: B) -> (A::Out, B::Out) {
        fast_path::join(here, a, b)
    }

    #[inline]
    fn wants_work(here: &Here<'_, Self>) -> bool {
        fast_path::wants_work(here)
    }

    unsafe fn push_on_stack(here: &Here<'_, Self>) {
        let (pool, front, home) = (here.pool(), here.front(), here.home());
        let index = index_of(here);
        if index < pool.stack().capacity() {
            // SAFETY: the slot at the exact head is the owner's, and so is the scratch slot.
            unsafe { (*here.head()).fill_from(&front.scratch) };
        } else {
            home.aside().keep_overflow(&front.scratch);
        }
        // SAFETY: the task has been written.
        unsafe { Self::pushed(pool, front, &home, index) };
    }

    unsafe fn pop_from_stack(here: Here<'_, Self>, meanwhile: Meanwhile) -> Popped {
        let (pool, front, home) = (here.pool(), here.front(), here.home());
        let index = index_of(&here);
        let height = Height::on_stack(index);
        if home.may_have_newer(height) {
            // A task beyond the end has no slot, and no thief takes it; so a state that stays fresh stands in for its
            // own.
            let state = pool.stack().get(index).map_or(&raw const front.scratch.job.state, |job| &raw const job.state);
            // SAFETY: the task stays where it is; jobs that run before it use the slots above.
            unsafe {
                let above = Here::<Self>::new(front, here.head().wrapping_add(1));
                wait::run_newer(above, state, height, meanwhile);
            }
        }
        let is_aside = index >= pool.stack().capacity();
        let job = if is_aside {
            home.aside().recall_overflow(&front.scratch);
            front.scratch_job()
        } else {
            NonNull::new(here.head()).expect("a slot").cast::<Job>()
        };
        // The first branch, or one of those jobs, may have run the task early.
        let early = if Self::RECALLS { home.ran_early(index) } else { None };
        // SAFETY: the caller promises that the task is the newest.
        let settled = if unsafe { Self::take_back(pool, front, &home, index) } || is_aside {
            Settled::Unrun
        } else {
            // SAFETY: a thief has the task, so every task on the stack up to the head is stolen, or older than a stolen
            // one; tasks that run meanwhile may use the slots above it.
            let settled =
                unsafe { wait::wait_job(Here::<Self>::new(front, here.head().add(1)), job, height, meanwhile) };
            // SAFETY: tasks pushed above meanwhile are gone, so this one is the newest again.
            unsafe { Self::joined(pool, front, &home, index) };
            settled
        };
        let Some(early) = early else { return (job, settled) };
        // The task in the slot was an empty one.
        // SAFETY: the slot is this worker's, and its job has been run.
        let settled = unsafe {
            let settled = early.as_ref().job.state.settled().expect("it ran where the worker found it");
            home.aside().recycle(early, &front.scratch);
            settled
        };
        (front.scratch_job(), settled)
    }

    unsafe fn push_word(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        // SAFETY: the caller promises that the job stays where it is.
        let pushed = unsafe { words(here).push(job) };
        if pushed {
            wake_next(&*here.home());
        }
        pushed
    }

    unsafe fn take_word_back(here: &Here<'_, Self>, job: NonNull<Job>) -> bool {
        // SAFETY: the caller promises that the job is the newest.
        unsafe { words(here).take_back(job) }
    }

    fn wants_more(here: &Here<'_, Self>) -> bool {
        if here.is_on_stack() {
            let index = index_of(here);
            return index < here.pool().stack().capacity() && <Self as Direct>::wants_work(here, index);
        }
        // Thieves cannot ask for forks that lie on no stack. A sleeper would take one.
        here.home().common.dormitory.sleepers().any()
    }

    fn poll(here: &Here<'_, Self>) {
        // Tasks in the word queue are shared already, and only code that knows the head can share those on the stack.
        if here.is_on_stack() && here.front().limits.is_wanted() {
            Self::give(here, Share::Half);
        }
    }

    fn steal(here: &Here<'_, Self>, victim: &Core<Self>, below: Height) -> Steal<NonNull<Job>> {
        let pool = &victim.pool;
        match Self::win_oldest(here, victim, below) {
            StealIndex::Index(index) => {
                // Asks ahead, so that the next thief finds the answer. A sleeper cannot ask again.
                let asks = || here.pool().asks_ahead() || here.home().common.dormitory.sleepers().any();
                if !pool.has_shared() && asks() {
                    Self::ask(here.core(), victim);
                }
                return NonNull::new(pool.stack().at(index)).map_or(Steal::Empty, |slot| Steal::Task(slot.cast()));
            }
            StealIndex::Retry => return Steal::Retry,
            StealIndex::NothingShared => Self::ask(here.core(), victim),
            StealIndex::AllStolen => {}
        }
        // Forks in the word queue lie above all forks on the stack.
        if below < Height::aside(0) {
            return Steal::Empty;
        }
        words(here).steal_from(here.home().index, victim.home.index, false, || {})
    }

    fn has_older(victim: &Core<Self>, height: Height) -> bool {
        victim.pool.has_older(&victim.front, height)
    }

    fn shared_below(here: &Here<'_, Self>, victim: &Core<Self>) -> Height {
        if words(here).sees_work_of(victim.home.index) { Height::TOP } else { victim.pool.shared_below() }
    }

    fn ask(thief: &Core<Self>, victim: &Core<Self>) {
        if victim.pool.may_share() && !std::ptr::eq(thief, victim) && victim.front.limits.request(clock::now) {
            thief.home.counters.requests.bump();
        }
    }

    fn insist(here: &Here<'_, Self>, victim: &Core<Self>) -> Insisted {
        victim.pool.share_for(&victim.front, &here.home())
    }

    fn has_work(here: &Here<'_, Self>, victim: &Core<Self>) -> bool {
        victim.pool.has_shared() || words(here).sees_work_of(victim.home.index)
    }

    fn take_own(here: &Here<'_, Self>) -> Option<NonNull<Job>> {
        if !Self::RECALLS {
            return Self::steal_own(here);
        }
        let own = words(here).pop_own();
        if own.is_some() || !here.is_on_stack() {
            return own;
        }
        let (pool, home, head) = (here.pool(), here.home(), index_of(here));
        let index = home.aside().newest_below(head).filter(|_| head <= pool.stack().capacity())?;
        // SAFETY: the slot is on the stack.
        let slot = unsafe { &*pool.stack().at(index) };
        home.take_early(index, slot, |take| Self::recall(pool, here.front(), &home, index, head, take))
    }

    fn steal_own(here: &Here<'_, Self>) -> Option<NonNull<Job>> {
        if let Some(job) = words(here).pop_own() {
            return Some(job);
        }
        let pool = here.pool();
        if here.is_on_stack() && pool.may_share() {
            Self::give(here, Share::Half);
        }
        loop {
            match Self::win_oldest(here, here.core(), Height::TOP) {
                StealIndex::Index(index) => return NonNull::new(pool.stack().at(index)).map(NonNull::cast),
                StealIndex::Retry => std::hint::spin_loop(),
                StealIndex::NothingShared | StealIndex::AllStolen => return None,
            }
        }
    }

    fn has_own(here: &Here<'_, Self>) -> bool {
        let height = if here.is_on_stack() { index_of(here) } else { 0 };
        // Thieves take the oldest first, so the newest fork that has not been run tells whether any is left.
        let newest = here.home().aside().newest_below(height).and_then(|index| here.pool().seen().stack().get(index));
        newest.is_some_and(|job| matches!(job.state.status(), Status::Fresh | Status::Offered))
            || !words(here).is_empty()
    }

    fn begin(idle: &IdleHere<'_, '_, Self>) {
        // SAFETY: the stack of an idle worker is empty.
        unsafe { idle.pool().stack().begin() };
        <Self as Direct>::begin(idle);
    }

    fn share_all(here: &Here<'_, Self>) {
        if here.is_on_stack() && index_of(here) > 0 && here.core().peers().len() > 1 {
            Self::give(here, Share::All);
        }
    }

    fn rest(here: &Here<'_, Self>) {
        <Self as Direct>::rest(here);
    }

    fn may_have_own(here: &Here<'_, Self>) -> bool {
        let is_hidden = !here.is_on_stack() && Self::may_have_tasks(here.pool());
        is_hidden || Self::has_own(here)
    }

    fn height(here: &Here<'_, Self>) -> usize {
        // A transitive leapfrogger cannot follow forks that lie on no stack.
        if here.is_on_stack() { index_of(here).min(MAX_DEPTH - 1) } else { MAX_DEPTH - 1 }
    }

    fn stolen_at(&self, index: usize) -> Option<&JobState<Native>> {
        let job = self.stack().get(index)?;
        (!matches!(job.state.status(), Status::Fresh | Status::Offered)).then_some(&job.state)
    }

    fn peak_depth(&self) -> usize {
        self.stack().used()
    }

    fn forget_peak(&self) {
        self.stack().forget_use();
    }
}

impl<D: Direct> Pool for D {
    const TRANSITIVE: bool = true;
}
