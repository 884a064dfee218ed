//! The trait that each kind of task pool implements for the scheduler. Users can neither name nor implement it.

use std::fmt::Debug;
use std::io;
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::{Counted, Steal};

use crate::fork::front::{Front, Meanwhile, Popped};
use crate::fork::here::{Here, IdleHere, Known};
use crate::fork::job::Body;
use crate::fork::slot::{Job, Slot};
use crate::machine::processors::Places;
use crate::protocol::order::Height;
use crate::protocol::state::{JobState, MAX_WORKERS, Settled};
use crate::shared::policy::Wait;
use crate::worker::core::Core;

/// The room for tasks in a pool.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The number of tasks.
    pub(crate) tasks: usize,
    /// Whether the user has set it. If so, a growing queue begins with this capacity.
    pub(crate) is_asked: bool,
}

/// The settings of a pool with its own task stack: [`Plumbing::Settings`].
pub trait Tuned {
    type Settings: Clone + Debug + Default + Send + Sync;
}

/// A kind of task pool. Sealed: all kinds are in [`pool`](crate::pool). A worker's operations on its own pool take a
/// [`Here`], which only the worker itself can have.
///
/// # Safety
/// Implementations give out each job once, to its owner or to one thief, and keep the invariants of [`Front`].
pub unsafe trait Plumbing: Known + Send + Sync {
    /// The settings of such a pool; `()` if there are none.
    type Settings: Clone + Debug + Default + Send + Sync;

    /// Whether thieves gain if a signal makes the worker answer them.
    const ANSWERS_SIGNALS: bool = false;

    /// Whether thieves ask one worker in particular for its tasks. `false` if owners deal out tasks by themselves.
    const IS_ASKED: bool = true;

    /// The largest number of workers.
    const MAX_WORKERS: usize = MAX_WORKERS;

    /// Whether a thief may keep tasks for others to take.
    const KEEPS: bool = false;

    /// Whether a task that is stolen from a victim was that victim's own. Otherwise the thief [keeps](JobState::keep) a
    /// task of another worker, before it claims the task.
    const BY_VICTIM: bool = true;

    /// Whether the pool's worker reports to a [recorder](crate::worker::strands) what it spawns.
    const IS_RECORDED: bool = false;

    /// Returns why there cannot be such a pool, as a sentence. `by_signal` says whether workers answer thieves in a
    /// signal handler.
    fn refusal(_: &Self::Settings, _wait: Wait, _by_signal: bool) -> Option<&'static str> {
        None
    }

    /// Creates the pools of `workers` workers at their places, each with this room if it is bounded.
    fn create(workers: usize, room: Room, settings: &Self::Settings, places: &Places) -> io::Result<Vec<Self>>;

    /// Starts what the task pools of a thread pool need besides workers, such as a clock.
    fn start(_: &mut [Self], _: &Self::Settings) -> io::Result<()> {
        Ok(())
    }

    /// Returns the head of the empty stack.
    fn bottom(&self) -> *mut Slot;

    /// Returns the front for closure style with an exact head.
    fn front(core: &Core<Self>) -> &Front;

    /// Forks and joins in handle style.
    fn join<A: Body<In = Self>, B: Body<In = Self>>(here: Here<'_, Self>, a: A, b: B) -> (A::Out, B::Out);

    /// Whether somebody would take a task forked in handle style.
    fn wants_work(here: &Here<'_, Self>) -> bool;

    /// The cold half of a push on the task stack: moves the task from the front's scratch slot to the slot at the head.
    ///
    /// # Safety
    /// The scratch slot holds a task, and `here` is at the stack front, which did not admit it.
    unsafe fn push_on_stack(_: &Here<'_, Self>) {
        unreachable!("the pool has no task stack")
    }

    /// The cold half of a pop from the task stack: takes back the task at the head, or waits for its thief.
    ///
    /// # Safety
    /// The task is the newest on the stack, and `here` is at the stack front, which did not admit the pop.
    unsafe fn pop_from_stack(_: Here<'_, Self>, _: Meanwhile) -> Popped {
        unreachable!("the pool has no task stack")
    }

    /// Forks through the pool's word queue; returns `false` if it is full.
    ///
    /// # Safety
    /// The job stays where it is until it is taken back or settled.
    unsafe fn push_word(here: &Here<'_, Self>, job: NonNull<Job>) -> bool;

    /// Takes back the newest job forked through the word queue; returns `false` if it was stolen.
    ///
    /// # Safety
    /// `job` is the newest job that was pushed there and has not been joined.
    unsafe fn take_word_back(here: &Here<'_, Self>, job: NonNull<Job>) -> bool;

    /// Ends the newest fork through the word queue: takes its job back, or says how it was settled here; `None` if a
    /// thief has the job.
    ///
    /// # Safety
    /// As [`Plumbing::take_word_back`]; and the job holds its work.
    #[inline(always)]
    unsafe fn end_fork(here: &Here<'_, Self>, job: NonNull<Job>, _: Meanwhile) -> Option<Settled> {
        // SAFETY: by the caller's promise.
        if unsafe { Self::take_word_back(here, job) } { Some(Settled::Unrun) } else { None }
    }

    /// Runs the job at this address, which nobody joins: calls `run` once.
    #[inline(always)]
    fn in_job<R>(_job: usize, run: impl FnOnce() -> R) -> R {
        run()
    }

    /// Waits for the tasks of a scope, or for something else, and runs jobs meanwhile: calls `wait` once.
    #[inline(always)]
    fn in_wait<R>(_is_for_scope: bool, wait: impl FnOnce() -> R) -> R {
        wait()
    }

    /// Whether somebody would take a task that the limits of the front at `here` do not admit.
    fn wants_more(here: &Here<'_, Self>) -> bool;

    /// Answers thieves.
    fn poll(here: &Here<'_, Self>);

    /// Does [`Plumbing::poll`] from a signal handler; returns `false` if that is impossible now, or ever. The signal
    /// may have interrupted any code, including this pool's own.
    fn interrupt(_: &Here<'_, Self>) -> bool {
        false
    }

    /// Tries to take `victim`'s oldest task, and asks for work if none is shared. A pool that keeps the order takes it
    /// only if it lies below this height.
    fn steal(here: &Here<'_, Self>, victim: &Core<Self>, below: Height) -> Steal<NonNull<Job>>;

    /// As [`Plumbing::steal`], for an idle worker: it may take several tasks, and keep all but one where other thieves
    /// find them.
    fn haul(idle: &IdleHere<'_, '_, Self>, victim: &Core<Self>, below: Height) -> Steal<NonNull<Job>> {
        Self::steal(idle, victim, below)
    }

    /// Returns one of the tasks that the worker has kept.
    fn pop_kept(_: &IdleHere<'_, '_, Self>) -> Option<NonNull<Job>> {
        None
    }

    /// Whether `victim` has a fork below this height that a thief can take, now or once it has asked. A snapshot.
    fn has_older(_victim: &Core<Self>, _: Height) -> bool {
        false
    }

    /// Returns a height below which a thief should try to steal from `victim`, and not only ask. In a pool that keeps
    /// the order, there is something to take; if not, it is the ground.
    fn shared_below(_: &Here<'_, Self>, _victim: &Core<Self>) -> Height {
        Height::TOP
    }

    /// Asks `victim` to share work, if it may have some.
    fn ask(thief: &Core<Self>, victim: &Core<Self>);

    /// Returns how many of a worker's newest tasks thieves leave to it.
    fn kept_back(&self) -> usize {
        0
    }

    /// Shares on behalf of `victim`, which does not answer a request.
    fn insist(_: &Here<'_, Self>, _victim: &Core<Self>) -> Insisted {
        Insisted::Shared(0)
    }

    /// Called before an idle worker runs something.
    fn begin(_: &IdleHere<'_, '_, Self>) {}

    /// Shares all of the worker's tasks, and wakes sleepers, because the worker is about to sleep and will not answer.
    fn share_all(_: &Here<'_, Self>) {}

    /// Called before a worker sleeps or leaves: the worker answers no thief until it looks for work again.
    fn rest(_: &Here<'_, Self>) {}

    /// Called after a worker has announced its sleep and fenced, before its last look. Ensures that this look sees all
    /// work whose owners have not seen the announcement.
    fn settle(_: &Here<'_, Self>) {}

    /// Whether [settling](Plumbing::settle) is fast. If not, a guest should not take a seat for a short call.
    fn is_settling_fast(&self) -> bool {
        true
    }

    /// Whether there is something to steal from `victim`, accurate enough for a last look before sleep.
    fn has_work(here: &Here<'_, Self>, victim: &Core<Self>) -> bool;

    /// Takes one of the worker's own forks: the newest, or the one that [`steal_own`](Plumbing::steal_own) takes. The
    /// caller must run it at once, so that its join finds it done. For a worker that yields in the middle of a branch,
    /// or waits for a scope.
    fn take_own(here: &Here<'_, Self>) -> Option<NonNull<Job>> {
        Self::steal_own(here)
    }

    /// Takes one of the worker's own forks as a thief would, so that its join finds it stolen.
    fn steal_own(here: &Here<'_, Self>) -> Option<NonNull<Job>>;

    /// Whether the worker has forked something that nobody has stolen. A snapshot.
    fn has_own(here: &Here<'_, Self>) -> bool;

    /// Whether the worker may have forks of its own that nobody has stolen.
    fn may_have_own(here: &Here<'_, Self>) -> bool {
        Self::has_own(here)
    }

    /// Returns the number of tasks below the head; 0 without a task stack.
    fn height(_: &Here<'_, Self>) -> usize {
        0
    }

    /// Returns the state of the task at `index` if a thief has or had it; `None` from the first unstolen task on, or if
    /// the pool has no stack that other workers can read.
    fn stolen_at(&self, _index: usize) -> Option<&JobState<Native>> {
        None
    }

    /// Returns the peak depth so far; 0 without a task stack.
    fn peak_depth(&self) -> usize {
        0
    }

    /// Returns what the worker has counted at its own queue and at other workers' queues; nothing without queues.
    fn counted(&self) -> Counted {
        Counted::default()
    }

    /// Resets [`Plumbing::peak_depth`], from the next time the worker's stack is empty.
    fn forget_peak(&self) {}
}

/// A kind of task pool: a type parameter of [`ThreadPool`](crate::ThreadPool) and [`Worker`](crate::Worker).
///
/// The trait is sealed: [`Split`](crate::pool::Split), [`Wool`](crate::pool::Wool),
/// [`PrivateStack`](crate::pool::PrivateStack), [`Queued`](crate::pool::Queued) and
/// [`Heartbeat`](crate::pool::Heartbeat) implement it. Its `Settings`, such as those of
/// [`Split`](crate::pool::SplitSettings), are for [`Builder::settings`](crate::Builder::settings).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind of task pool",
    label = "neither `Split`, `Wool`, `PrivateStack`, `Queued<…>` nor `Heartbeat<…>`",
    note = "a queue makes a pool when wrapped, as in `filch::pool::Queued<filch_queue::ChaseLev>`",
    note = "a function for every kind has a type parameter: `fn f<P: filch::pool::Pool>(w: Worker<'_, P>)`"
)]
pub trait Pool: Plumbing {
    /// Whether thieves can follow stolen tasks through the pool, as [transitive leapfrogging](crate::Wait::Transitive)
    /// requires.
    const TRANSITIVE: bool;
}

/// The outcome of sharing on another worker's behalf.
#[derive(Clone, Copy, Debug)]
pub enum Insisted {
    /// This many tasks are shared.
    Shared(u32),
    /// There are tasks that can be shared soon.
    Soon,
}
