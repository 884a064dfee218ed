//! The default pool: a direct task stack on the split deque.
//!
//! **Paper.** Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014.
//!
//! **Idea.** Tasks lie in the slots of a per-worker array, from their fork to their join. The index protocol of
//! [`filch_queue::lace::index`] says who may take which; the owner's part of it is folded into the two
//! [limits](crate::protocol::limits), so that a fork writes the task, compares twice, and calls twice.
//!
//! **Fields.** `stack`: slots, written by the owner; a thief reads the slots that it has won and leaves the result there.
//! `shared`: tail, split and the all-stolen hint, on lines of their own; thieves and the owner's cold path. `owner`: the
//! owner's copies. `words`: a Chase–Lev deque for forks by code that does not know the head.
//!
//! **Invariants.** With `split` the owner's copy, and `head` the exact head:
//! * I1: while not all stolen, the limits admit exactly the pops at or above split (or, requested, none), and pushes
//!   below the end (or none). While all are stolen, they admit nothing; while tasks are kept aside, no pops.
//! * I2: a slot below tail is its thief's from the winning compare-and-swap to the settling of its state, then the owner's.
//! * I3: at a cold pop, either the head is beyond the end, and the task is the newest one kept aside; or its index is at or
//!   above split and it is private; or it is the newest shared one.
//!
//! **Departures.** Lace keeps one head per worker in memory and tests flags; here the head is in a register and requests
//! overwrite the limits, so that the fast path has two compares in all. Lace's split request is answered only while
//! there is something to share; here it may also stay armed on the push limit, because thieves sleep.

use std::cell::UnsafeCell;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::lace::index::{OwnerIndex, SharedIndex, StealIndex};
use filch_queue::{ChaseLev, Padded, Steal};

use super::{Plumbing, Pool, Queued};
use crate::front::{Front, Kind, Operations};
use crate::job::{self, Body, Job, Payload, Slot};
use crate::protocol::state::{JobState, MAX_DEPTH, Status};
use crate::stack::Stack;
use crate::wait;
use crate::worker::{Core, Home};

/// The split deque with its direct task stack, from *Lace* (van Dijk and van de Pol, 2014). The default.
///
/// Pushing and popping touch nothing that thieves write, except when somebody asks for work. Stealing is lock-free. The
/// stack is reserved address space; when it is full, further tasks are kept aside, where thieves do not see them.
#[derive(Debug)]
pub struct Split {
    stack: Stack,
    shared: Padded<SharedIndex<Native>>,
    owner: UnsafeCell<OwnerIndex>,
    words: Queued<ChaseLev>,
}

// SAFETY: `owner` is touched by the worker's own thread only; the rest is made for sharing.
unsafe impl Sync for Split {}

impl Split {
    /// # Safety
    /// The current thread is this worker, and no other reference from here is alive.
    #[expect(clippy::mut_from_ref, reason = "the owner's part, which the owner's thread alone may ask for")]
    unsafe fn owner(&self) -> &mut OwnerIndex {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.owner.get() }
    }

    fn address_of(&self, index: u32) -> usize {
        self.stack.at(index as usize).addr()
    }

    /// Opens the limits as the owner's indices say, and tells sleepers, if work has been shared; otherwise makes
    /// the next push tell them.
    ///
    /// # Safety
    /// The current thread is this worker; not all tasks are stolen.
    unsafe fn reopen(&self, front: &Front, home: &Home, has_shared: bool) {
        // SAFETY: the caller's promise.
        let split = unsafe { self.owner() }.split();
        front.limits.open(self.address_of(self.stack.capacity() as u32), self.address_of(split));
        if home.overflow.get() != 0 {
            front.limits.stop_pops();
        }
        if home.common.sleepers.sleepers_after() {
            if !has_shared {
                front.limits.stop_next_push();
            } else if home.common.wake_for_stack(home.index) {
                home.counters.wakeups.bump();
            }
        }
    }

    /// Shares half of what lies privately below `head`; returns whether that was anything.
    ///
    /// # Safety
    /// As [`Split::reopen`]; the tasks below `head` have been written.
    unsafe fn share(&self, home: &Home, head: usize) -> bool {
        // SAFETY: the caller's promise.
        let grown = unsafe { self.owner() }.grow(&self.shared, head as u32) != 0;
        if grown {
            home.counters.grows.bump();
        }
        grown
    }

    /// The cold half of a push. The task is in the front's scratch slot.
    ///
    /// # Safety
    /// The current thread is this worker, and `head` is exact.
    unsafe fn push(&self, front: &Front, home: &Home, head: *mut Slot) {
        let index = self.stack.index_of(head);
        let capacity = self.stack.capacity();
        if index < capacity {
            // SAFETY: a slot of the owner's at the exact head; and the scratch slot.
            unsafe { (*head).fill_from(&front.scratch) };
        } else {
            // SAFETY: this thread is the worker.
            unsafe { home.remember(home.keep_aside(&front.scratch), false) };
            home.overflow.set(home.overflow.get() + 1);
        }
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        let has_shared = if !owner.is_all_stolen() {
            // SAFETY: not all stolen, and everything up to the head has been written.
            unsafe { self.share(home, (index + 1).min(capacity)) }
        } else if index < capacity {
            owner.publish_first(&self.shared, index as u32);
            true
        } else {
            return;
        };
        // SAFETY: not all stolen.
        unsafe { self.reopen(front, home, has_shared) };
    }

    /// The cold half of a pop, up to the point where a thief has to be waited for: the task's job if it is the owner's.
    ///
    /// # Safety
    /// The current thread is this worker, and `head` is the slot of the newest task.
    unsafe fn take_back(&self, front: &Front, home: &Home, head: *mut Slot) -> Option<NonNull<Job>> {
        let index = self.stack.index_of(head);
        let capacity = self.stack.capacity();
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        let job = if index < capacity {
            NonNull::new(head)?.cast()
        } else {
            home.overflow.set(home.overflow.get() - 1);
            // SAFETY: this thread is the worker; a task beyond the end was kept aside.
            unsafe { home.recycle(home.recall().0, &front.scratch) };
            front.scratch_job()
        };
        if owner.is_all_stolen() {
            return (index >= capacity).then_some(job);
        }
        if index < owner.split() as usize {
            debug_assert_eq!(index + 1, owner.split() as usize, "everything newer has been joined: I3");
            if owner.shrink(&self.shared) {
                front.limits.close();
                return None;
            }
            home.counters.shrinks.bump();
        }
        let wanted = front.limits.is_wanted();
        // SAFETY: not all stolen; everything below the task has been written.
        let has_shared = wanted && unsafe { self.share(home, index.min(capacity)) };
        // SAFETY: not all stolen.
        unsafe { self.reopen(front, home, has_shared) };
        Some(job)
    }
}

// SAFETY: the index protocol gives each task out once; the invariants of the file's head.
unsafe impl Plumbing for Split {
    type Cursor = *mut Slot;

    const OPERATIONS: &'static Operations = &Operations {
        push: |front, job| {
            // SAFETY: called on a front of a worker of this type of pool, on its own thread, as are the others.
            let core = unsafe { Core::<Self>::of(front) };
            // SAFETY: as above.
            let pushed = unsafe { core.pool.words.push(job) };
            if pushed {
                wait::wake_next(core);
            }
            pushed
        },
        take_back: |front, job| {
            // SAFETY: as above.
            unsafe { Core::<Self>::of(front).pool.words.take_back(job) }
        },
        wait_job: |front, head, job, help| {
            // SAFETY: as above, and the caller's promises.
            unsafe { wait::wait_job(Core::<Self>::of(front), front, head, job, help) }
        },
        wait_until: |front, head, done| {
            // SAFETY: as above.
            unsafe { wait::wait_until(Core::<Self>::of(front), front, head, done) }
        },
    };

    fn create(workers: usize, capacity: usize) -> io::Result<Vec<Self>> {
        let queues = Queued::create(workers, Queued::<ChaseLev>::INITIAL_CAPACITY)?;
        let pools = queues.into_iter().map(|words| {
            let (shared, owner) = SharedIndex::new();
            Ok(Self { stack: Stack::reserve(capacity)?, shared: Padded(shared), owner: UnsafeCell::new(owner), words })
        });
        pools.collect()
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
        self.stack.bottom()
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
        !front.limits.admits_push(head.addr()) && wants_work_cold(front, head)
    }

    unsafe fn steal(thief: &Core<Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        let pool = &victim.pool;
        match pool.shared.steal() {
            StealIndex::Index(index) => {
                let slot = pool.stack.at(index as usize);
                return NonNull::new(slot).map_or(Steal::Empty, |slot| Steal::Task(slot.cast()));
            }
            StealIndex::Retry => return Steal::Retry,
            StealIndex::NothingShared => Self::ask(thief, victim),
            StealIndex::AllStolen => {}
        }
        // SAFETY: the caller's promise.
        unsafe { thief.pool.words.steal_from(victim.home.index) }
    }

    fn ask(thief: &Core<Self>, victim: &Core<Self>) {
        let has_private = !victim.pool.shared.is_all_stolen() && !std::ptr::eq(thief, victim);
        if has_private && victim.front.limits.request() {
            thief.home.counters.requests.bump();
        }
    }

    unsafe fn has_work(thief: &Core<Self>, victim: &Core<Self>) -> bool {
        // SAFETY: the caller's promise.
        victim.pool.shared.has_shared() || unsafe { thief.pool.words.sees_work_of(victim.home.index) }
    }

    fn height(core: &Core<Self>, front: &Front, head: *mut Slot) -> usize {
        match front.kind {
            Kind::Stack => core.pool.stack.index_of(head).min(MAX_DEPTH - 1),
            // What is forked there lies on no stack: nothing for a transitive leapfrogger to follow.
            Kind::Detached | Kind::Outside => MAX_DEPTH - 1,
        }
    }

    fn stolen_at(&self, index: usize) -> Option<&JobState<Native>> {
        let job = self.stack.get(index)?;
        matches!(job.state.status(), Status::Stolen(_)).then_some(&job.state)
    }

    fn peak_depth(&self) -> usize {
        self.stack.used()
    }

    fn forget_peak(&self) {
        self.stack.forget_use();
    }
}

impl Pool for Split {
    const TRANSITIVE: bool = true;
}

/// The rare reasons for which a push is not admitted: which of them mean that somebody wants work?
#[cold]
fn wants_work_cold(front: &Front, head: *mut Slot) -> bool {
    match front.kind {
        Kind::Outside => false,
        Kind::Stack => {
            // SAFETY: a stack front is one of this type of pool.
            let stack = &unsafe { Core::<Split>::of(front) }.pool.stack;
            stack.index_of(head) < stack.capacity()
        }
        // Detached forks cannot be asked for. Somebody who sleeps would take one.
        Kind::Detached => front.home().is_some_and(|home| home.common.sleepers.any()),
    }
}

/// What became of a task: its job, from which the contents must be moved out at once; and, unless it was not run and is the
/// owner's, whether it panicked.
type Popped = (NonNull<Job>, Option<bool>);

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
    // SAFETY: a stack front is one of this type of pool; the caller's promises.
    unsafe {
        match (front.kind, front.operations) {
            (Kind::Stack, _) => Core::<Split>::of(front).pool.push(front, home, head),
            (_, operations) => {
                let slot = home.keep_aside(&front.scratch);
                let pushed = (operations.expect("a worker's front").push)(front, slot.cast());
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
            None => job::take_work::<B, B::Out>(job).inline(front, head),
            Some(panicked) => {
                let result = job::take_result::<B, B::Out>(job, panicked);
                B::restore(front, head);
                result.unwrap_or_else(|payload| resume_unwind(payload))
            }
        }
    }
}

/// Ends the fork of a task that nobody will ask for, because its forker unwinds: drops the task, or what became of it once its
/// thief is done. Meanwhile nothing else is run.
///
/// As a function that cannot unwind it costs its callers no second landing pad. A panic in a destructor during unwinding
/// ends the process in any case.
///
/// # Safety
/// As [`pop_and_run`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn abandon<B: Body>(front: &Front, head: *mut Slot) {
    // SAFETY: the caller's promises; moved out once.
    unsafe {
        let (job, settled) = if front.limits.admits_pop(head.addr()) {
            (NonNull::new_unchecked(head).cast(), None)
        } else {
            pop_or_wait(front, head, false)
        };
        B::restore(front, head);
        match settled {
            None => drop(job::take_work::<B, B::Out>(job)),
            Some(panicked) => drop(job::take_result::<B, B::Out>(job, panicked)),
        }
    }
}

/// Takes the newest task back, or waits until its thief has settled it.
///
/// # Safety
/// As [`pop_and_run`].
unsafe fn pop_or_wait(front: &Front, head: *mut Slot, help: bool) -> Popped {
    let home = front.home().expect("only workers join");
    if front.kind == Kind::Detached {
        let operations = front.operations.expect("a worker's front");
        // SAFETY: this thread is the worker; the slot is that of the newest task that it pushed and has not joined.
        unsafe {
            let (slot, pushed) = home.recall();
            let job = slot.cast();
            let settled = if !pushed || (operations.take_back)(front, job) {
                None
            } else {
                (operations.wait_job)(front, head, job, help)
            };
            home.recycle(slot, &front.scratch);
            return (front.scratch_job(), settled);
        }
    }
    // SAFETY: a stack front is one of this type of pool.
    let core = unsafe { Core::<Split>::of(front) };
    // SAFETY: the caller's promises.
    if let Some(job) = unsafe { core.pool.take_back(front, home, head) } {
        return (job, None);
    }
    let job = NonNull::new(head).expect("a slot").cast::<Job>();
    // SAFETY: everything at and below the head is stolen, so what is run meanwhile may use the slots above it.
    let settled = unsafe { wait::wait_job(core, front, head.add(1), job, help) };
    // SAFETY: the slot is this worker's again.
    unsafe { job.as_ref() }.state.reset();
    // What was pushed above meanwhile may have reopened the deque; it is gone, and what is left below is stolen.
    // SAFETY: this thread is the worker; no other reference.
    unsafe { core.pool.owner() }.set_all_stolen(&core.pool.shared);
    front.limits.close();
    (job, settled)
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

/// [`push`] once the limits have not admitted it.
///
/// # Safety
/// As [`push`].
#[inline(always)]
pub(crate) unsafe fn push_unadmitted<B: Body>(front: &Front, head: *mut Slot, work: B) {
    // Through memory that is there already: a reference to the closure would force it to the frame on the fast path too.
    // SAFETY: the scratch slot is this thread's; the caller's promise.
    unsafe {
        job::write((&raw const front.scratch).cast_mut(), work);
        push_cold(front, head);
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
    } else if A::MAY_BE_OUTSIDE && front.kind == Kind::Outside {
        return a.outside(b);
    } else {
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
    let run = || unsafe { a.inline(front, head.wrapping_add(1)) };
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

/// As [`caught`], by a drop guard. The compiler inlines no `catch_unwind` into another one, but any number of guards.
///
/// # Safety
/// As [`caught`].
#[inline(always)]
unsafe fn guarded<A: Body, B: Body>(front: &Front, head: *mut Slot, a: A) -> A::Out {
    let guard = Guard { front, head, work: PhantomData::<B> };
    // SAFETY: the caller's promise.
    let ra = unsafe { a.inline(front, head.wrapping_add(1)) };
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

    fn restore(front: &Front, head: *mut Slot) {
        B::restore(front, head);
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
