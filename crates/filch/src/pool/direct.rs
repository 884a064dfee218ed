//! The direct task stack: fork and join on slots, whatever index protocol says which of them thieves may take.
//!
//! A fork writes its task to the slot at the head and compares the head with the two
//! [limits](crate::protocol::limits); a join compares once more. Everything else is cold, and the pool's own:
//! [`Split`](super::Split) and [`Wool`](super::Wool) are such pools.
//!
//! What must always hold: the limits admit no push but where the slot is the owner's and no thief need know of the task, and no pop
//! but of a task that no thief can have.

use std::cell::UnsafeCell;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::lace::index::StealIndex;
use filch_queue::{ChaseLev, Steal, clock};

use super::{Plumbing, Pool, QueueSettings, Queued, Room, Tuned, saving};
use crate::front::{Front, Kind, Operations, StackOperations};
use crate::job::{self, Body, Job, Payload, Slot};
use crate::protocol::state::{JobState, MAX_DEPTH, Settled, Status};
use crate::protocol::waiting::wake_next;
use crate::stack::Stack;
use crate::unwind::discard;
use crate::wait::{self, Here};
use crate::worker::{Core, Home};

/// A pool whose tasks lie on a direct task stack: the cold paths of its index protocol.
///
/// # Safety
/// Implementations give each index out once, to the owner or to one thief, and keep what the file's head demands of the limits.
pub(crate) unsafe trait Direct: Tuned + Sized + Send + Sync + 'static {
    fn new(stack: Stack, words: Queued<ChaseLev>, settings: &<Self as Tuned>::Settings) -> Self;

    fn stack(&self) -> &Stack;

    /// For forks by code that does not know the head.
    fn words(&self) -> &Queued<ChaseLev>;

    /// The stack is empty, and the worker, which was idle, runs something.
    ///
    /// # Safety
    /// The current thread is this worker.
    unsafe fn begins(&self, front: &Front, home: &Home);

    /// The limits did not admit the push of the task at `index`: it lies in its slot now, or beyond the end, where it has been kept
    /// aside.
    ///
    /// # Safety
    /// The current thread is this worker, and this is its newest task.
    unsafe fn pushed(&self, front: &Front, home: &Home, index: usize);

    /// The limits did not admit the pop of the task at `index`: takes it back, if that is still possible.
    ///
    /// # Safety
    /// As [`Direct::pushed`].
    unsafe fn take_back(&self, front: &Front, home: &Home, index: usize) -> bool;

    /// Shares, if somebody wants work, while the head is at `index`.
    ///
    /// # Safety
    /// The current thread is this worker, and everything below the index has been written.
    unsafe fn polled(&self, front: &Front, home: &Home, index: usize);

    /// The stolen task at `index` has been waited for. Its state becomes fresh.
    ///
    /// # Safety
    /// As [`Direct::pushed`].
    unsafe fn joined(&self, front: &Front, index: usize);

    /// Tries to win the oldest task, as a thief.
    fn steal(&self) -> StealIndex<usize>;

    /// Whether a thief that looked now might find something. A snapshot.
    fn has_shared(&self) -> bool;

    /// Shares everything below the head, which is at `index`.
    ///
    /// # Safety
    /// As [`Direct::polled`].
    unsafe fn give_all(&self, front: &Front, home: &Home, index: usize);

    /// Whether asking this worker for work may help. A snapshot.
    fn may_share(&self) -> bool;

    /// Has the worker `thief` share for this one, whose front it is; how many tasks.
    fn share_for(&self, _front: &Front, _thief: &Home) -> u32 {
        0
    }

    /// Whether there may be tasks on the stack that nobody has stolen.
    ///
    /// # Safety
    /// The current thread is this worker.
    unsafe fn may_have_tasks(&self) -> bool;

    /// Whether a push that the limits do not admit at `index`, on the stack, would find a taker.
    ///
    /// # Safety
    /// The current thread is this worker.
    unsafe fn wants_work(&self, front: &Front, index: usize) -> bool;
}

/// The cold half of a push on the stack. The task is in the front's scratch slot.
///
/// # Safety
/// `front` is the stack front of the current thread's worker, of a pool of type `D`, and `head` is exact.
unsafe fn push_on_stack<D: Direct>(front: &Front, home: &Home, head: *mut Slot) {
    // SAFETY: the caller's promise.
    let pool = &unsafe { Core::<D>::of(front) }.pool;
    let index = pool.stack().index_of(head);
    if index < pool.stack().capacity() {
        // SAFETY: a slot of the owner's at the exact head; and the scratch slot.
        unsafe { (*head).fill_from(&front.scratch) };
    } else {
        // SAFETY: this thread is the worker.
        unsafe { home.remember(home.keep_aside(&front.scratch), false) };
        home.overflow.set(home.overflow.get() + 1);
    }
    // SAFETY: the task has been written.
    unsafe { pool.pushed(front, home, index) };
}

/// The cold half of a pop from the stack: takes the task back or waits for its thief.
///
/// # Safety
/// As [`push_on_stack`]; `head` is the slot of the newest task.
unsafe fn pop_from_stack<D: Direct>(front: &Front, home: &Home, head: *mut Slot, help: bool) -> Popped {
    // SAFETY: the caller's promise.
    let core = unsafe { Core::<D>::of(front) };
    let (pool, index) = (&core.pool, core.pool.stack().index_of(head));
    let is_aside = index >= pool.stack().capacity();
    let job = if is_aside {
        home.overflow.set(home.overflow.get() - 1);
        // SAFETY: this thread is the worker; a task beyond the end was kept aside.
        unsafe { home.recycle(home.recall().0, &front.scratch) };
        front.scratch_job()
    } else {
        NonNull::new(head).expect("a slot").cast::<Job>()
    };
    // SAFETY: the newest task.
    if unsafe { pool.take_back(front, home, index) } || is_aside {
        return (job, Settled::Unrun);
    }
    // SAFETY: the task is a thief's, so everything on the stack up to the head is, or older than it; what is run meanwhile may use
    // the slots above it.
    let settled = unsafe { wait::wait_job(Here::new(core, front, head.add(1)), job, help) };
    // SAFETY: this thread is the worker; what was pushed above meanwhile is gone.
    unsafe { pool.joined(front, index) };
    (job, settled)
}

// SAFETY: `Direct` gives each index out once; the fronts' invariants are those of this file's head.
unsafe impl<D: Direct> Plumbing for D {
    type Cursor = *mut Slot;
    type Settings = <D as Tuned>::Settings;

    const OPERATIONS: &'static Operations = &Operations {
        push: |front, job| {
            // SAFETY: called on a front of a worker of this type of pool, on its own thread, as are the others.
            let core = unsafe { Core::<Self>::of(front) };
            // SAFETY: as above.
            let pushed = unsafe { core.pool.words().push(job) };
            if pushed {
                wake_next(&core.home);
            }
            pushed
        },
        take_back: |front, job| {
            // SAFETY: as above.
            unsafe { Core::<Self>::of(front).pool.words().take_back(job) }
        },
        wait_job: |front, head, job, help| {
            // SAFETY: as above, and the caller's promises.
            unsafe { wait::wait_job(Here::<Self>::at(front, head), job, help) }
        },
        wait_until: |front, head, awaited| {
            // SAFETY: as above, and the caller's promise.
            wait::wait_until(unsafe { Here::<Self>::at(front, head) }, awaited);
        },
        visit: |front, head, work| {
            // SAFETY: as above, and the caller's promise.
            wait::visit(unsafe { Here::<Self>::at(front, head) }, work);
        },
        run_one: |front, head, reach| {
            // SAFETY: as above, and the caller's promise.
            wait::run_one(unsafe { Here::<Self>::at(front, head) }, reach)
        },
        has_own: |front, head| {
            // SAFETY: as above, and the caller's promise.
            unsafe { <Self as Plumbing>::has_own(Core::of(front), front, head) }
        },
        // Forks that lie on no stack cannot be asked for. Somebody who sleeps would take one.
        wants_work: |front| front.home().is_some_and(|home| home.common.dormitory.sleepers().any()),
        // What lies in the word queue is shared already, and what lies on the stack only its head knows.
        poll: |_| (),
        interrupt: |_| false,
        stack: Some(StackOperations {
            push: push_on_stack::<Self>,
            pop: pop_from_stack::<Self>,
            wants_work: |front, head| {
                // SAFETY: as above.
                let pool = &unsafe { Core::<Self>::of(front) }.pool;
                let index = pool.stack().index_of(head);
                // SAFETY: as above.
                index < pool.stack().capacity() && unsafe { pool.wants_work(front, index) }
            },
            poll: |front, home, head| {
                // SAFETY: as above.
                let pool = &unsafe { Core::<Self>::of(front) }.pool;
                if front.limits.is_wanted() {
                    // SAFETY: as above: the worker's own thread, and `head` is exact.
                    unsafe { pool.polled(front, home, pool.stack().index_of(head)) };
                }
            },
        }),
    };

    fn create(workers: usize, room: Room, settings: &<D as Tuned>::Settings) -> io::Result<Vec<Self>> {
        let queues = Queued::create(workers, Room { is_asked: false, ..room }, &QueueSettings::default())?;
        queues.into_iter().map(|words| Ok(Self::new(Stack::reserve(room.tasks)?, words, settings))).collect()
    }

    #[inline(always)]
    fn cursor(head: *mut Slot) -> *mut Slot {
        head
    }

    #[inline(always)]
    fn head(cursor: *mut Slot) -> *mut Slot {
        cursor
    }

    fn bottom(&self) -> *mut Slot {
        self.stack().bottom()
    }

    fn front(core: &Core<Self>) -> &Front {
        &core.front
    }

    #[inline(always)]
    unsafe fn join<A: Body, B: Body>(front: &Front, head: *mut Slot, a: A, b: B) -> (A::Out, B::Out) {
        // SAFETY: the caller's promise.
        unsafe { join(front, head, a, b) }
    }

    #[inline]
    fn wants_work(front: &Front, head: *mut Slot) -> bool {
        wants_work(front, head)
    }

    unsafe fn steal(thief: &Core<Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        let pool = &victim.pool;
        match pool.steal() {
            StealIndex::Index(index) => {
                if !pool.has_shared() {
                    // Ahead: whoever comes next finds the answer.
                    Self::ask(thief, victim);
                }
                return NonNull::new(pool.stack().at(index)).map_or(Steal::Empty, |slot| Steal::Task(slot.cast()));
            }
            StealIndex::Retry => return Steal::Retry,
            StealIndex::NothingShared => Self::ask(thief, victim),
            StealIndex::AllStolen => {}
        }
        // SAFETY: the caller's promise.
        unsafe { thief.pool.words().steal_from(victim.home.index) }
    }

    fn ask(thief: &Core<Self>, victim: &Core<Self>) {
        if victim.pool.may_share() && !std::ptr::eq(thief, victim) && victim.front.limits.request(clock::now) {
            thief.home.counters.requests.bump();
        }
    }

    fn insist(thief: &Core<Self>, victim: &Core<Self>) -> u32 {
        victim.pool.share_for(&victim.front, &thief.home)
    }

    unsafe fn has_work(thief: &Core<Self>, victim: &Core<Self>) -> bool {
        // SAFETY: the caller's promise.
        victim.pool.has_shared() || unsafe { thief.pool.words().sees_work_of(victim.home.index) }
    }

    unsafe fn steal_own(core: &Core<Self>, front: &Front, head: *mut Slot) -> Option<NonNull<Job>> {
        // SAFETY: the caller's promise.
        if let Some(job) = unsafe { core.pool.words().pop_own() } {
            return Some(job);
        }
        if front.kind == Kind::Stack && core.pool.may_share() {
            // SAFETY: the caller's promise: everything below the exact head has been written.
            unsafe { core.pool.polled(front, &core.home, core.pool.stack().index_of(head)) };
        }
        loop {
            match core.pool.steal() {
                StealIndex::Index(index) => return NonNull::new(core.pool.stack().at(index)).map(NonNull::cast),
                StealIndex::Retry => std::hint::spin_loop(),
                StealIndex::NothingShared | StealIndex::AllStolen => return None,
            }
        }
    }

    unsafe fn has_own(core: &Core<Self>, front: &Front, head: *mut Slot) -> bool {
        let height = if front.kind == Kind::Stack { core.pool.stack().index_of(head) } else { 0 };
        // Thieves take the oldest first, so the newest says whether there is one left.
        let newest = height.checked_sub(1).and_then(|index| core.pool.stack().get(index));
        newest.is_some_and(|job| matches!(job.state.status(), Status::Fresh | Status::Offered))
            // SAFETY: the caller's promise.
            || unsafe { !core.pool.words().is_empty() }
    }

    unsafe fn begins(core: &Core<Self>) {
        // SAFETY: the caller's promise.
        unsafe { core.pool.begins(&core.front, &core.home) };
    }

    unsafe fn share_all(core: &Core<Self>, front: &Front, head: *mut Slot) {
        if front.kind == Kind::Stack && core.peers().len() > 1 {
            // SAFETY: the caller's promise: everything below the exact head has been written.
            unsafe { core.pool.give_all(front, &core.home, core.pool.stack().index_of(head)) };
        }
    }

    unsafe fn may_have_own(core: &Core<Self>, front: &Front, head: *mut Slot) -> bool {
        // SAFETY: the caller's promise, here and below.
        let is_hidden = front.kind != Kind::Stack && unsafe { core.pool.may_have_tasks() };
        // SAFETY: as above.
        is_hidden || unsafe { Self::has_own(core, front, head) }
    }

    fn height(core: &Core<Self>, front: &Front, head: *mut Slot) -> usize {
        match front.kind {
            Kind::Stack => core.pool.stack().index_of(head).min(MAX_DEPTH - 1),
            // What is forked there lies on no stack: nothing for a transitive leapfrogger to follow.
            Kind::Detached | Kind::Outside => MAX_DEPTH - 1,
        }
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

/// Whether somebody would take a task pushed at `head`, on whatever pool.
///
/// `front` is a current one of this thread, and `head` is exact if it is a stack front.
#[inline]
pub(crate) fn wants_work(front: &Front, head: *mut Slot) -> bool {
    !front.limits.admits_push(head.addr()) && wants_work_cold(front, head)
}

/// Whether others would see at once what is forked at `head`, on whatever pool, if it is not the only worker's.
///
/// `front` is a current one of this thread, and `head` is exact if it is a stack front.
#[inline]
pub(crate) fn lends(front: &Front, head: *mut Slot) -> bool {
    !front.limits.admits_push(head.addr()) && front.home().is_some_and(|home| home.common.workers() > 1)
}

/// Answers thieves, on whatever pool.
///
/// `front` is a current one of this thread, and `head` is exact if it is a stack front.
#[inline]
pub(crate) fn poll(front: &Front, head: *mut Slot) {
    let (Some(home), Some(operations)) = (front.home(), front.operations) else { return };
    if !home.is_polling() {
        return;
    }
    match (front.kind, &operations.stack) {
        (Kind::Stack, Some(stack)) => (stack.poll)(front, home, head),
        // SAFETY: a front of the current thread's worker.
        _ => unsafe { (operations.poll)(front) },
    }
}

/// The rare reasons for which a push is not admitted: which of them mean that somebody wants work?
#[cold]
fn wants_work_cold(front: &Front, head: *mut Slot) -> bool {
    let Some(operations) = front.operations else { return false };
    match (front.kind, &operations.stack) {
        (Kind::Stack, Some(stack)) => (stack.wants_work)(front, head),
        // SAFETY: a front of the current thread's worker.
        _ => unsafe { (operations.wants_work)(front) },
    }
}

/// What became of a task, and its job, from which the contents must be moved out at once.
pub(crate) type Popped = (NonNull<Job>, Settled);

/// A push that the limits did not admit, of the task in the front's scratch slot.
///
/// As a function that cannot unwind it needs no landing pad, and the compiler moves the calls of it out of the way even
/// where they are nested in another fork. Nothing in it panics unless the pool is broken.
///
/// # Safety
/// `front` is a front of the current thread's worker, other than the outside, and `head` is exact if it is a stack front.
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn push_cold(front: &Front, head: *mut Slot) {
    let home = front.home().expect("only workers fork");
    let operations = front.operations.expect("a worker's front");
    // SAFETY: the caller's promises.
    unsafe {
        match (front.kind, &operations.stack) {
            (Kind::Stack, Some(stack)) => (stack.push)(front, home, head),
            _ => {
                let slot = home.keep_aside(&front.scratch);
                let pushed = (operations.push)(front, slot.cast());
                home.remember(slot, pushed);
            }
        }
    }
}

/// A pop that the limits did not admit: runs the task if it is still there; otherwise waits, runs other tasks meanwhile, and
/// continues the task's panic if it panicked.
///
/// # Safety
/// As [`pop_and_run`].
#[cold]
#[inline(never)]
unsafe fn pop_cold<B: Body>(front: &Front, head: *mut Slot) -> B::Out {
    // SAFETY: the caller's promises; what comes back is moved out once.
    unsafe {
        let (job, settled) = pop_or_wait(front, head, true);
        match settled {
            Settled::Unrun => job::take_work::<B, B::Out>(job).inline(front, head),
            Settled::Done => job::take_result::<B, B::Out>(job),
            Settled::Panicked => resume_unwind(job::take_payload::<B, B::Out>(job)),
        }
    }
}

/// Ends the fork of a task that nobody will ask for, because its forker unwinds: drops the task, unless it is
/// [always run](Body::ALWAYS_RUN), or what became of it once its thief is done. Meanwhile nothing else is run.
///
/// As a function that cannot unwind it costs its callers no second landing pad.
///
/// # Safety
/// As [`pop_and_run`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn abandon<B: Body>(front: &Front, head: *mut Slot) {
    // SAFETY: the caller's promises; moved out once.
    unsafe {
        B::lower(front, head);
        let (job, settled) = if front.limits.admits_pop(head.addr()) {
            (NonNull::new_unchecked(head).cast(), Settled::Unrun)
        } else {
            pop_or_wait(front, head, false)
        };
        if B::ALWAYS_RUN && settled == Settled::Unrun {
            let work = job::take_work::<B, B::Out>(job);
            // Nobody sees what its panic left behind, since another one goes on.
            let outcome = catch_unwind(AssertUnwindSafe(|| work.inline(front, head)));
            return discard(outcome);
        }
        match settled {
            Settled::Unrun => discard(job::take_work::<B, B::Out>(job)),
            Settled::Done => discard(job::take_result::<B, B::Out>(job)),
            Settled::Panicked => discard(job::take_payload::<B, B::Out>(job)),
        }
    }
}

/// Takes the newest task back, or waits until its thief has settled it.
///
/// # Safety
/// As [`pop_and_run`].
unsafe fn pop_or_wait(front: &Front, head: *mut Slot, help: bool) -> Popped {
    let home = front.home().expect("only workers join");
    let operations = front.operations.expect("a worker's front");
    // SAFETY: this thread is the worker; the task is the newest one that it pushed and has not joined.
    unsafe {
        match (front.kind, &operations.stack) {
            (Kind::Stack, Some(stack)) => (stack.pop)(front, home, head, help),
            _ => {
                let (slot, pushed) = home.recall();
                let job = slot.cast();
                let settled = if !pushed || (operations.take_back)(front, job) {
                    Settled::Unrun
                } else {
                    (operations.wait_job)(front, head, job, help)
                };
                home.recycle(slot, &front.scratch);
                (front.scratch_job(), settled)
            }
        }
    }
}

/// A fork between its push and its pop: if the first branch unwinds, the second one is taken back or waited for.
struct Guard<'f, B: Body> {
    front: &'f Front,
    head: *mut Slot,
    work: PhantomData<B>,
}

impl<B: Body> Drop for Guard<'_, B> {
    // Inlined, and handing its fields over by value, so that they stay in registers as long as nothing unwinds.
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the matching push was made by `join`, which has not come to its pop.
        unsafe { abandon::<B>(self.front, self.head) };
    }
}

/// Forks `work` at `head`.
///
/// # Safety
/// As [`push_cold`]; a matching pop follows.
#[inline(always)]
pub(crate) unsafe fn push<B: Body>(front: &Front, head: *mut Slot, work: B) {
    if front.limits.admits_push(head.addr()) {
        // SAFETY: admitted, so the slot is the owner's.
        unsafe { job::write(head, work) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { push_unadmitted(front, head, work) };
    }
}

/// Tells the compiler that a branch is rarely taken, so that it lays it out elsewhere.
#[cold]
const fn rare() {}

/// [`push`] once the limits have not admitted it.
///
/// # Safety
/// As [`push`].
#[cold]
#[inline(always)]
pub(crate) unsafe fn push_unadmitted<B: Body>(front: &Front, head: *mut Slot, work: B) {
    // Through memory that is there already: a reference to the closure would force it to the frame on the fast path too.
    // SAFETY: the scratch slot is this thread's; the caller's promise.
    unsafe {
        job::write((&raw const front.scratch).cast_mut(), work);
        saving::push_cold(front, head);
    }
}

/// The fast path of filch.
///
/// # Safety
/// `front` is a front of the current thread's worker, other than the outside, and `head` is exact if it is a stack front.
#[inline(always)]
pub(crate) unsafe fn join<A: Body, B: Body>(front: &Front, head: *mut Slot, a: A, b: B) -> (A::Out, B::Out) {
    if const { !job::fits::<B, B::Out>() } {
        // SAFETY: the caller's promise.
        return unsafe { join_far(front, head, a, b) };
    }
    // SAFETY: the caller's promise, and the work fits.
    unsafe { join_near(front, head, a, b) }
}

/// [`join`] for work and results that fit a slot.
///
/// The slot doubles as the place where what `b` captured survives `a`: reading it back costs less than keeping it in registers
/// that the frame would have to save.
///
/// # Safety
/// As [`join`].
#[inline(always)]
pub(crate) unsafe fn join_near<A: Body, B: Body>(front: &Front, head: *mut Slot, a: A, b: B) -> (A::Out, B::Out) {
    if front.limits.admits_push(head.addr()) {
        // SAFETY: admitted, so the slot is the owner's.
        unsafe { job::write(head, b) };
    } else {
        rare();
        if A::MAY_BE_OUTSIDE && front.kind == Kind::Outside {
            return a.outside(b);
        }
        // SAFETY: the caller's promise.
        unsafe { push_unadmitted(front, head, b) };
    }
    // SAFETY: the matching push was made above, and the slots above the head are free.
    let ra = unsafe { if A::UNROLLED { guarded::<A, B>(front, head, a) } else { caught::<A, B>(front, head, a) } };
    // SAFETY: the matching push was made above.
    (ra, unsafe { pop_and_run::<B>(front, head) })
}

/// Runs the first branch of a fork of a `B`; if it unwinds, abandons the task and goes on unwinding.
///
/// The panic is caught, although a drop guard would do: to the compiler the caught panic flows back into the function, which
/// so has one exit. Otherwise it would save registers before the test that ends the recursion, in half of all calls for nothing.
///
/// # Safety
/// `head` is that of the push of a `B`, which has not been popped; otherwise as [`push_cold`].
#[inline(always)]
unsafe fn caught<A: Body, B: Body>(front: &Front, head: *mut Slot, a: A) -> A::Out {
    // SAFETY: the caller's promise.
    let run = || unsafe { inline_above(front, head, a) };
    // Nobody sees what the panic left behind, since it goes on.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(ra) => ra,
        Err(payload) => {
            // SAFETY: the caller's promise.
            unsafe { (front.unwind)(front, head, abandon::<B>, payload) };
            // SAFETY: never reached: `unwind` is `resume`. An assertion of that would be another exit.
            unsafe { MaybeUninit::zeroed().assume_init() }
        }
    }
}

/// Runs the first branch of a fork above the task.
///
/// # Safety
/// As [`caught`].
#[inline(always)]
unsafe fn inline_above<A: Body>(front: &Front, head: *mut Slot, a: A) -> A::Out {
    let head = head.wrapping_add(1);
    A::raise(front, head);
    // SAFETY: the caller's promise.
    unsafe { a.inline(front, head) }
}

/// As [`caught`], by a drop guard. The compiler inlines no `catch_unwind` into another one, but any number of guards.
///
/// # Safety
/// As [`caught`].
#[inline(always)]
unsafe fn guarded<A: Body, B: Body>(front: &Front, head: *mut Slot, a: A) -> A::Out {
    let guard = Guard { front, head, work: PhantomData::<B> };
    // SAFETY: the caller's promise.
    let ra = unsafe { inline_above(front, head, a) };
    std::mem::forget(guard);
    ra
}

/// What [`resume`] is to the compiler: a function that may return.
pub(crate) type UnwindFn = unsafe fn(&Front, *mut Slot, AbandonFn, Payload);
type AbandonFn = unsafe extern "C" fn(&Front, *mut Slot);

/// Ends a fork whose first branch panicked, and continues the panic. Called through [`Front::unwind`] only, where the compiler
/// cannot see that it never returns.
///
/// # Safety
/// As for the function `abandon`.
pub(crate) unsafe fn resume(front: &Front, head: *mut Slot, abandon: AbandonFn, payload: Payload) {
    // SAFETY: the caller's promise.
    unsafe { abandon(front, head) };
    resume_unwind(payload)
}

/// The second half of a join: runs the newest task, or gets its result.
///
/// # Safety
/// As [`push_cold`]; `head` is that of the matching push, of a `B`, and the newest that has not been popped.
#[inline(always)]
pub(crate) unsafe fn pop_and_run<B: Body>(front: &Front, head: *mut Slot) -> B::Out {
    B::lower(front, head);
    if front.limits.admits_pop(head.addr()) {
        // SAFETY: admitted, so it is a slot, and private; the work is moved out, which frees the slot.
        unsafe { job::take_work::<B, B::Out>(NonNull::new_unchecked(head).cast()).inline(front, head) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { pop_cold::<B>(front, head) }
    }
}

/// Work or a result too large for a slot, on the frame of its fork.
enum Far<B, R> {
    Work(B),
    Running,
    Result(R),
}

/// What the slot holds instead.
struct FarWork<B: Body>(*const UnsafeCell<Far<B, B::Out>>);

impl<B: Body> FarWork<B> {
    /// # Safety
    /// The cell is alive, and the caller is the only one entitled to it.
    unsafe fn run(&self, call: impl FnOnce(B) -> B::Out) {
        // SAFETY: the caller's promise; `UnsafeCell` lets the pointer write.
        let far = unsafe { &mut *(*self.0).get() };
        let Far::Work(work) = std::mem::replace(far, Far::Running) else { unreachable!("a task runs once") };
        *far = Far::Result(call(work));
    }
}

impl<B: Body> Body for FarWork<B> {
    type Out = ();

    unsafe fn inline(self, front: &Front, head: *mut Slot) {
        // SAFETY: whoever runs the body is entitled to the cell; the caller's promise is passed on.
        unsafe { self.run(|work| work.inline(front, head)) };
    }

    unsafe fn stolen(self, front: &Front, head: *mut Slot) {
        // SAFETY: as above.
        unsafe { self.run(|work| work.stolen(front, head)) };
    }

    unsafe fn moved(self, front: &Front, head: *mut Slot) {
        // SAFETY: as above.
        unsafe { self.run(|work| work.moved(front, head)) };
    }

    const ALWAYS_RUN: bool = B::ALWAYS_RUN;

    fn raise(front: &Front, head: *mut Slot) {
        B::raise(front, head);
    }

    #[inline(always)]
    fn lower(front: &Front, head: *mut Slot) {
        B::lower(front, head);
    }
}

/// [`join`] for anything larger. If it unwinds, the frame drops whatever is in the cell.
///
/// # Safety
/// As [`join`].
#[inline]
unsafe fn join_far<A: Body, B: Body>(front: &Front, head: *mut Slot, a: A, b: B) -> (A::Out, B::Out) {
    let far = UnsafeCell::new(Far::Work(b));
    // SAFETY: the caller's promise. The cell outlives the fork, which does not end before the task is settled.
    let (ra, ()) = unsafe { join_near(front, head, a, FarWork::<B>(&raw const far)) };
    match far.into_inner() {
        Far::Result(rb) => (ra, rb),
        Far::Work(_) | Far::Running => unreachable!("the task has been joined"),
    }
}
