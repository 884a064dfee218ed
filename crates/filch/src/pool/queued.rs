//! A task pool made of any word queue: the task lies on the frame of its fork, and the queue holds its address.
//!
//! **Invariants.**
//! * I1: forks and joins of one worker are nested, so the newest word that the owner finds is that of the task it joins, or
//!   that task has been stolen.
//! * I2: a frame does not end before its task was popped or settled.
//!
//! **Sleep.** A push is not ordered before the look at the sleepers that follows it, except on a queue that was
//! empty. That is enough: a thief who goes to sleep has seen the queue empty, so what it missed was, or followed, a
//! push on an empty queue.

use std::any::type_name;
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};

use filch_memory::Native;
use filch_queue::{Capacity, Delivery, Order, Owner, Queue, Steal, Stealable, Thief};

use super::{Plumbing, Pool};
use crate::front::{Front, Operations};
use crate::job::{self, Body, Job, Record, Slot};
use crate::protocol::state::JobState;
use crate::wait;
use crate::worker::{Core, job_to_task, task_to_job};

/// A task pool on the word queue `Q`: for every algorithm of [`filch_queue`] whose owner's end is last in, first out,
/// and that returns each task once. The compiler refuses others:
///
/// ```compile_fail
/// use filch::{ThreadPool, pool::Queued};
/// use filch_queue::IdempotentLifo;
///
/// let pool = ThreadPool::builder().pool::<Queued<IdempotentLifo>>().workers(2).build();
/// ```
///
/// When the queue is full, forks run their second branch after the first.
pub struct Queued<Q: Queue<Native>> {
    owner: UnsafeCell<Q::Owner>,
    /// This worker's thief handles on the other workers' queues, by worker; its own place holds nothing.
    thieves: UnsafeCell<Vec<Option<Q::Thief>>>,
}

// SAFETY: both parts are touched by the worker's own thread only; the queue's shared part is behind its handles.
unsafe impl<Q: Queue<Native>> Sync for Queued<Q> {}

impl<Q: Queue<Native>> fmt::Debug for Queued<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queued<{}>", type_name::<Q>())
    }
}

impl<Q: Queue<Native>> Queued<Q> {
    /// For queues that grow.
    pub(super) const INITIAL_CAPACITY: usize = 256;

    /// Pushes a job; returns whether there was room, and wakes nobody.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(super) unsafe fn push(&self, job: NonNull<Job>) -> bool {
        // SAFETY: the owner's end is this thread's, and nothing called here comes back to it.
        unsafe { &mut *self.owner.get() }.push(job_to_task(job)).is_ok()
    }

    /// Takes `job` back if nobody has stolen it.
    ///
    /// # Safety
    /// The current thread is this worker; `job` is the newest one that it pushed and has not joined.
    pub(super) unsafe fn take_back(&self, job: NonNull<Job>) -> bool {
        // SAFETY: as above.
        let owner = unsafe { &mut *self.owner.get() };
        match owner.pop() {
            None => false,
            Some(task) if task_to_job(task) == job => true,
            // I1: an older one, so `job` was stolen out of order.
            Some(mut older) => {
                while let Err(full) = owner.push(older) {
                    older = full.0;
                    std::hint::spin_loop();
                }
                false
            }
        }
    }

    /// Where thieves get nothing without an answer of the owner, waits for one a while, and then withdraws the request:
    /// afterwards nothing is outstanding that only this worker could take, so it may sleep, or run something else.
    ///
    /// # Safety
    /// The current thread is this worker.
    pub(super) unsafe fn steal_from(&self, victim: usize) -> Steal<NonNull<Job>> {
        // Longer than it takes an owner that runs to come to its next fork, or to deal, on average.
        const PATIENCE: u32 = 1 << 11;
        // SAFETY: the thief handles are this thread's, and nothing called here comes back to them.
        let Some(Some(thief)) = (unsafe { &mut *self.thieves.get() }).get_mut(victim) else { return Steal::Empty };
        // Stealing is what a worker does in every loop in which it waits: it answers its own thieves meanwhile.
        let mut steal = || {
            // SAFETY: the owner's end is this thread's, and nothing called here comes back to it.
            unsafe { &mut *self.owner.get() }.poll();
            thief.steal()
        };
        let mut stolen = steal();
        if matches!(Q::PROMISES.stealable, Stealable::OnRequest) && stolen == Steal::Pending {
            for _ in 0..PATIENCE {
                std::hint::spin_loop();
                stolen = steal();
                if stolen != Steal::Pending {
                    break;
                }
            }
            if stolen == Steal::Pending {
                stolen = thief.quiesce().map_or(Steal::Pending, Steal::Task);
            }
        }
        stolen.map(task_to_job)
    }

    /// # Safety
    /// The current thread is this worker.
    pub(super) unsafe fn sees_work_of(&self, victim: usize) -> bool {
        // SAFETY: as above.
        if Q::PROMISES.owner_must_poll && !unsafe { self.is_empty() } {
            // What it would leave behind asleep, nobody could steal: it stays awake and polls.
            return true;
        }
        // SAFETY: as above.
        let thieves = unsafe { &*self.thieves.get() };
        thieves.get(victim).and_then(Option::as_ref).is_some_and(Thief::has_work_hint)
    }

    /// # Safety
    /// The current thread is this worker.
    unsafe fn is_empty(&self) -> bool {
        // SAFETY: as above.
        unsafe { &*self.owner.get() }.len_hint() == 0
    }
}

/// A worker's end of its own queue, and its thief handles on the others', by worker; its own place holds nothing.
pub(crate) type Hand<Q> = (<Q as Queue<Native>>::Owner, Vec<Option<<Q as Queue<Native>>::Thief>>);

/// A queue for each worker, and its handles dealt out.
pub(crate) fn deal<Q: Queue<Native>>(workers: usize, capacity: usize) -> Vec<Hand<Q>> {
    const {
        // A job is gone once it has run.
        assert!(matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce), "the queue may return a task twice");
        // I1.
        assert!(matches!(Q::PROMISES.order, Order::Lifo), "the owner's end of the queue is first in, first out");
    };
    let mut thieves: Vec<Vec<Option<Q::Thief>>> = (0..workers).map(|_| Vec::with_capacity(workers)).collect();
    let owners: Vec<Q::Owner> = (0..workers)
        .map(|victim| {
            let (owner, handles) = Q::make(capacity, workers - 1, &Q::Params::default());
            let mut handles = handles.into_iter();
            for (thief, row) in thieves.iter_mut().enumerate() {
                row.push(if thief == victim { None } else { handles.next() });
            }
            owner
        })
        .collect();
    owners.into_iter().zip(thieves).collect()
}

/// Pushes and tells sleepers.
///
/// # Safety
/// The current thread is the worker `core`.
#[inline]
unsafe fn push<Q: Queue<Native>>(core: &Core<Queued<Q>>, job: NonNull<Job>) -> bool {
    // SAFETY: the caller's promise, here and below.
    let was_empty = unsafe { core.pool.is_empty() };
    // SAFETY: as above.
    let pushed = unsafe { core.pool.push(job) };
    if was_empty || core.home.common.sleepers.any() {
        wait::wake_next(core);
    }
    pushed
}

// SAFETY: the queue gives each word out once.
unsafe impl<Q: Queue<Native>> Plumbing for Queued<Q> {
    type Cursor = ();

    const OPERATIONS: &'static Operations = &Operations {
        push: |front, job| {
            // SAFETY: called on a front of a worker of this type of pool, on its own thread, as are the others.
            unsafe { push(Core::<Self>::of(front), job) }
        },
        take_back: |front, job| {
            // SAFETY: as above.
            unsafe { Core::<Self>::of(front).pool.take_back(job) }
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
        let capacity = match Q::PROMISES.capacity {
            Capacity::Grows => Self::INITIAL_CAPACITY,
            _ => capacity,
        };
        let queues = deal::<Q>(workers, capacity).into_iter();
        Ok(queues
            .map(|(owner, thieves)| Self { owner: UnsafeCell::new(owner), thieves: UnsafeCell::new(thieves) })
            .collect())
    }

    #[inline(always)]
    fn cursor(_: *mut Slot) {}

    #[inline(always)]
    fn head((): ()) -> *mut Slot {
        null_mut()
    }

    fn bottom(&self) -> *mut Slot {
        null_mut()
    }

    fn front(core: &Core<Self>) -> &Front {
        &core.detached
    }

    #[inline]
    unsafe fn join<A: Body, B: Body>(front: &Front, (): (), a: A, b: B) -> (A::Out, B::Out) {
        // SAFETY: the caller's promise.
        let core = unsafe { Core::<Self>::of(front) };
        let record = Record::new(b);
        // SAFETY: the record stays until the guard, or the pop below, has settled it: I2.
        let pushed = unsafe { push(core, record.job()) };
        let guard = Guard { core, front, record: &record, pushed };
        // SAFETY: there is no stack to respect.
        let ra = unsafe { a.inline(front, null_mut()) };
        // SAFETY: forgotten next, so the job is popped once.
        let settled = unsafe { ManuallyDrop::new(guard).pop(true) };
        // SAFETY: popped and not run, or settled; moved out once.
        unsafe {
            match settled {
                None => (ra, job::take_work::<B, B::Out>(record.job()).inline(front, null_mut())),
                Some(panicked) => match job::take_result::<B, B::Out>(record.job(), panicked) {
                    Ok(rb) => (ra, rb),
                    Err(payload) => std::panic::resume_unwind(payload),
                },
            }
        }
    }

    fn wants_work(front: &Front, (): ()) -> bool {
        // SAFETY: a front of this type of pool, on its own thread.
        let core = unsafe { Core::<Self>::of(front) };
        // A queue that thieves have emptied is how they ask. SAFETY: as above.
        core.peers().len() > 1 && unsafe { core.pool.is_empty() }
    }

    unsafe fn steal(thief: &Core<Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        // SAFETY: the caller's promise.
        unsafe { thief.pool.steal_from(victim.home.index) }
    }

    fn ask(_: &Core<Self>, _: &Core<Self>) {}

    unsafe fn has_work(thief: &Core<Self>, victim: &Core<Self>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { thief.pool.sees_work_of(victim.home.index) }
    }

    fn height(_: &Core<Self>, _: &Front, _: *mut Slot) -> usize {
        0
    }

    fn stolen_at(&self, _: usize) -> Option<&JobState<Native>> {
        None
    }

    fn peak_depth(&self) -> usize {
        0
    }

    fn forget_peak(&self) {}
}

impl<Q: Queue<Native>> Pool for Queued<Q> {
    const TRANSITIVE: bool = false;
}

/// A fork between its push and its pop.
struct Guard<'f, Q: Queue<Native>, B: Body> {
    core: &'f Core<Queued<Q>>,
    front: &'f Front,
    record: &'f Record<B, B::Out>,
    pushed: bool,
}

impl<Q: Queue<Native>, B: Body> Guard<'_, Q, B> {
    /// # Safety
    /// Called once, by the worker that pushed, after everything that it pushed later has been popped.
    unsafe fn pop(&self, help: bool) -> Option<bool> {
        let job = self.record.job();
        // SAFETY: the caller's promise.
        if !self.pushed || unsafe { self.core.pool.take_back(job) } {
            return None;
        }
        // SAFETY: as above; a thief has the job.
        unsafe { wait::wait_job(self.core, self.front, null_mut(), job, help) }
    }
}

impl<Q: Queue<Native>, B: Body> Drop for Guard<'_, Q, B> {
    fn drop(&mut self) {
        // SAFETY: `join` has not come to its own pop; the work or the result is moved out once.
        unsafe {
            match self.pop(false) {
                None => drop(job::take_work::<B, B::Out>(self.record.job())),
                Some(panicked) => drop(job::take_result::<B, B::Out>(self.record.job(), panicked)),
            }
        }
    }
}
