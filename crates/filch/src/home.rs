//! The part of a worker that does not depend on the type of its task pool: what it has spawned, its habits, its counters.
//!
//! What must always hold: what is neither atomic nor constant in a [`Home`] is touched only by the thread that is this worker.

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::{Owner, clock};

use crate::aside::Aside;
use crate::front::{Front, current};
use crate::here::{Here, Known};
use crate::own::Own;
use crate::policy::Idle;
use crate::protocol::grain::Time;
use crate::protocol::limits::Sharer;
use crate::protocol::sleep::Dormitory;
use crate::protocol::ticks::Tick;
use crate::protocol::waiting::Sleeper;
use crate::registry::{Common, Spawning};
use crate::spawn::Spawned;
use crate::stats::Counters;
use crate::thread_stack;

/// The part of a worker that does not depend on the type of its task pool.
pub(crate) struct Home {
    /// The worker's number.
    pub(crate) index: usize,
    pub(crate) common: Arc<Common>,
    pub(crate) counters: Counters,
    /// How many jobs of any kind the worker is running, one inside the other, while it waits for a scope or another pool.
    detours: <Native as Memory>::AtomicUsize,
    /// Jobs that outlive whoever spawned them.
    spawned: UnsafeCell<Spawning>,
    /// Where among all that it has spawned the next one goes: one past the newest that it has not taken back, whatever thieves have taken.
    spawns: Cell<usize>,
    /// Its forks that have no place on the task stack.
    aside: Aside,
    random: Cell<u64>,
    /// Whom it last stole from; itself at first.
    last_victim: Cell<usize>,
    /// The middle of the thread's own stack.
    stack_middle: Cell<usize>,
    /// How many jobs the worker is running, one inside the other, though its stack was [low](Home::is_stack_low).
    reluctant: Cell<u32>,
}

impl Home {
    /// The type-erased parts of all workers of a pool.
    pub(crate) fn create(common: &Arc<Common>, spawned: Vec<Spawning>) -> Vec<Self> {
        let spawned = spawned.into_iter().enumerate();
        spawned
            .map(|(index, spawned)| Self {
                index,
                common: Arc::clone(common),
                counters: Counters::new(),
                detours: Atomic::new(0),
                spawned: UnsafeCell::new(spawned),
                spawns: Cell::new(0),
                aside: Aside::default(),
                random: Cell::new((index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
                last_victim: Cell::new(index),
                stack_middle: Cell::new(0),
                reluctant: Cell::new(0),
            })
            .collect()
    }

    /// Whether what the worker has to give may descend from something else than what it had stolen. Precondition, for `false` to
    /// be right: the caller has just won a task from it.
    pub(crate) fn is_on_detour(&self) -> bool {
        // Relaxed: the worker published the task after it set out, and is not back before the task is settled.
        self.detours.load(Ordering::Relaxed) != 0
    }

    /// Runs `f`, a job that this worker happens to find, with the warning that [`Home::is_on_detour`] gives.
    pub(crate) fn on_detour(&self, f: impl FnOnce()) {
        // Relaxed, here and below: published with the tasks, and there is one writer.
        self.detours.store(self.detours.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        f();
        self.detours.store(self.detours.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// A number below `bound`: xorshift64*, which is enough to choose victims.
    pub(crate) fn random_below(&self, bound: usize) -> usize {
        let mut state = self.random.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.random.set(state);
        let high = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * bound as u64) >> 32) as usize
    }

    /// All workers, in the order in which this one looks for work among them; it is among them itself.
    pub(crate) fn victims(&self) -> impl Iterator<Item = usize> + use<> {
        let (workers, last) = (self.common.workers(), self.last_victim.get());
        self.common.victims.order(workers, self.index, last, self.random_below(workers))
    }

    /// The worker has stolen something from `victim`.
    pub(crate) fn has_stolen_from(&self, victim: usize) {
        self.last_victim.set(victim);
    }

    /// Remembers how much of the thread's stack there is: `bytes`, or more, or 0 if nobody knows. Call at the thread's start.
    pub(crate) fn measure_stack(&self, bytes: usize) {
        self.stack_middle.set(thread_stack::middle(bytes));
    }

    /// Runs `f` on a thread that is the worker meanwhile, on a stack of its own.
    pub(crate) fn on_another_stack(&self, f: impl FnOnce()) {
        let middle = self.stack_middle.replace(thread_stack::middle(0));
        f();
        self.stack_middle.set(middle);
    }

    /// Whether more than half of the thread's stack is used: no time to nest foreign work.
    pub(crate) fn is_stack_low(&self) -> bool {
        thread_stack::is_past(self.stack_middle.get())
    }

    /// How often a worker whose stack is low looks on while work lies about that others should do, before it does some of it after all:
    /// the deeper it is in such work, the longer.
    pub(crate) fn reluctance(&self) -> u32 {
        const LOOKS: u32 = 10;
        LOOKS << self.reluctant.get().min(20)
    }

    /// Runs `f`, a job of others, though the stack is low.
    pub(crate) fn reluctantly(&self, f: impl FnOnce()) {
        self.reluctant.set(self.reluctant.get() + 1);
        f();
        self.reluctant.set(self.reluctant.get() - 1);
    }
}

impl<'w> Own<'w, Home> {
    /// A job that only this worker may run.
    pub(crate) fn next_mail(self) -> Option<Spawned> {
        self.common.next_mail(self.index)
    }

    /// Whether there is such a job. A snapshot, good enough for a last look before sleep.
    pub(crate) fn has_mail(self) -> bool {
        self.common.has_mail(self.index)
    }

    /// Its forks that have no place on the task stack.
    pub(crate) fn aside(self) -> Own<'w, Aside> {
        // SAFETY: a part of the worker that this thread is.
        unsafe { self.part(|home| &home.aside) }
    }

    /// Gives `f` the owner's end of the queue of spawned jobs, of which nothing that the worker calls meanwhile knows.
    fn with_spawned<R>(self, f: impl FnOnce(&mut Spawning) -> R) -> R {
        // SAFETY: the owner's end is this thread's; `f` is one operation of the queue, which does not come back here.
        f(unsafe { &mut *self.spawned.get() })
    }

    /// Pushes a job that may outlive its spawner, and wakes somebody for it.
    pub(crate) fn spawn(self, job: Spawned) {
        let pushed = self.with_spawned(|spawned| spawned.push(job.into_task()));
        if let Err(full) = pushed {
            // SAFETY: the word just came out of `into_task`.
            self.common.injected.push(unsafe { Spawned::from_task(full.0) });
        } else {
            self.spawns.set(self.spawns.get() + 1);
        }
        let dormitory = &self.common.dormitory;
        if dormitory.sleepers().sleepers_after() && dormitory.wake_for_any(self.index + 1) {
            self.counters.wakeups.bump();
        }
    }

    /// What the worker spawns from now on lies above this, as long as it takes nothing back from below.
    pub(crate) fn spawns(self) -> usize {
        self.seen().spawns.get()
    }

    /// Takes the worker's own newest spawned job.
    pub(crate) fn pop_spawned(self) -> Option<Spawned> {
        let task = self.with_spawned(Owner::pop)?;
        self.spawns.set(self.spawns.get() - 1);
        // SAFETY: only `spawn` pushes, and the queue gives each word out once.
        Some(unsafe { Spawned::from_task(task) })
    }

    /// Takes the worker's own newest spawned job, if that lies above `mark`, which is lowered where jobs below it were taken back.
    pub(crate) fn pop_spawned_since(self, mark: &Cell<usize>) -> Option<Spawned> {
        let spawns = self.spawns.get();
        mark.set(mark.get().min(spawns));
        if spawns > mark.get() { self.pop_spawned() } else { None }
    }

    /// Whether the worker has spawned jobs that nobody has taken. A snapshot.
    pub(crate) fn has_own_spawned(self) -> bool {
        self.with_spawned(|spawned| spawned.len_hint() > 0)
    }

    /// Whether a poll is to answer thieves: always, or once for each tick.
    #[inline]
    pub(crate) fn is_polling(self) -> bool {
        match self.common.ticks.as_ref().map_or(Tick::NoFlag, |ticks| ticks.take(self.index)) {
            Tick::NoFlag => true,
            Tick::NotYet => false,
            Tick::Made => {
                self.counters.interrupts.bump();
                true
            }
        }
    }
}

impl Front {
    /// The type-erased part of the worker behind this front; `None` outside.
    #[inline]
    fn home(&self) -> Option<&Home> {
        // SAFETY: null, or attached by `Core::assemble` to the home of a worker that lives as long as its fronts.
        unsafe { self.erased_home().cast::<Home>().as_ref() }
    }
}

/// The worker that the current thread is, of whatever pool; `None` outside. The reference is for calls made on the worker.
pub(crate) fn current_home() -> Option<Own<'static, Home>> {
    // SAFETY: the current front is one of the worker that this thread is.
    current().home().map(|home| unsafe { Own::new(home) })
}

impl<'w> Here<'w> {
    /// The worker; `None` outside.
    #[inline]
    pub(crate) fn home(&self) -> Option<Own<'w, Home>> {
        // SAFETY: the front is one of the worker that this thread is.
        self.front().home().map(|home| unsafe { Own::new(home) })
    }

    /// Answers thieves from a signal's handler, if that is possible now.
    #[cfg(unix)]
    pub(crate) fn interrupted(self) {
        let (Some(home), Some(operations)) = (self.home(), self.front().operations) else { return };
        // SAFETY: the table is that of the front at which this is.
        if unsafe { (operations.interrupt)(self) } {
            // The worker itself does not count these as long as signals do.
            home.counters.interrupts.bump();
        }
    }
}

impl<P: Known> Here<'_, P> {
    /// Whether others would see at once what is forked here.
    #[inline]
    pub(crate) fn lends(&self) -> bool {
        !self.front().limits.admits_push(self.head().addr())
            && self.front().home().is_some_and(|home| home.common.workers() > 1)
    }

    /// Answers thieves.
    #[inline]
    pub(crate) fn poll(self) {
        let here = self.of_any();
        let (Some(home), Some(operations)) = (here.home(), here.front().operations) else { return };
        if home.is_polling() {
            // SAFETY: the table is that of the front at which this is.
            unsafe { (operations.poll)(here) };
        }
    }
}

impl Common {
    /// The worker of this pool that the current thread is.
    pub(crate) fn here(&self) -> Option<Own<'static, Home>> {
        current_home().filter(|home| std::ptr::eq(&raw const *home.common, self))
    }

    /// Hands a job to the pool: to the current thread's own jobs if it is a worker of the pool.
    pub(crate) fn hand_in(&self, job: Spawned) {
        match self.here() {
            Some(home) => home.spawn(job),
            None => _ = self.inject(job),
        }
    }
}

impl Sleeper for Home {
    type Memory = Native;

    fn dormitory(&self) -> &Dormitory<Native> {
        &self.common.dormitory
    }

    fn index(&self) -> usize {
        self.index
    }

    fn sleeps(&self) -> bool {
        self.common.idle == Idle::Sleep
    }

    fn has_asked(&self) {
        self.common.want_tick();
    }

    fn parks(&self) {
        self.counters.parks.bump();
    }

    fn has_woken(&self) {
        self.counters.wakeups.bump();
    }
}

impl Sharer for Home {
    fn has_aside(&self) -> bool {
        self.aside.has_overflow()
    }

    fn now(&self) -> Time {
        clock::now()
    }

    fn has_grown(&self) {
        self.counters.grows.bump();
    }

    fn has_shrunk(&self) {
        self.counters.shrinks.bump();
    }
}
