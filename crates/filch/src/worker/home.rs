//! The part of a worker that does not depend on the type of its task pool: its spawned jobs, its policies, its
//! counters.
//!
//! Invariant: only the worker's own thread uses the parts of a [`Home`] that are neither atomic nor constant.

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;
use std::time::Instant;

use fastrand::Rng;
use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::clock;

use crate::fork::front::{Front, current};
use crate::fork::here::{Here, Known};
use crate::fork::{fast_path, off_stack::Aside, own::Own, slot::Slot, spawned::Spawned};
use crate::machine::thread_stack::LowerHalf;
use crate::protocol::sharer::Wakes;
use crate::protocol::{grain::Time, order::Marks, ticks::Tick};
use crate::shared::common::{Common, Spawning};
use crate::shared::policy::Wait;
use crate::timeline::{Activity, Note};
use crate::worker::{stats::Counters, trails::Trails, turns::Turns};

/// The part of a worker that does not depend on the type of its task pool.
pub(crate) struct Home {
    /// The worker's number.
    pub(crate) index: usize,
    pub(crate) common: Arc<Common>,
    pub(crate) counters: Counters,
    /// The nesting depth of the unrelated jobs that the worker runs while it waits or yields.
    detours: <Native as Memory>::AtomicUsize,
    /// The front of the worker's task stack, or its only front, and the address of the stack's bottom. Set once, before
    /// the worker starts.
    stack: Cell<(*const Front, usize)>,
    /// Jobs that may outlive their spawner.
    pub(crate) spawned: UnsafeCell<Spawning>,
    /// The heights at which the worker has spawned.
    pub(crate) marks: UnsafeCell<Marks>,
    /// The worker's forks that are not on the task stack.
    pub(super) aside: Aside,
    random: Cell<Rng>,
    /// The victim of the worker's last steal; at first the worker itself.
    last_victim: Cell<usize>,
    /// When the worker's unanswered requests began, or when it last [interrupted](crate::Interrupts::by_thieves) a
    /// victim.
    has_waited_since: Cell<Option<Instant>>,
    pub(crate) turns: Turns,
    /// How many jobs the worker has spawned since it last looked elsewhere; counted up to the limit from which on it
    /// omits fences.
    pub(crate) spawned_in_row: Cell<u32>,
    /// How many leaps must fail before the worker looks further, if it [adapts](crate::Leaps::Adaptive).
    pub(crate) leaps: Cell<u32>,
    /// For a transitive leapfrogger's searches.
    pub(crate) trails: Cell<Trails>,
    /// The lower half of the thread's own stack.
    lower_half: Cell<LowerHalf>,
    /// How many times the rest of the lower half had been halved, plus one, when the worker began its current job
    /// although the stack was [low](Home::is_stack_low); 0 if it runs no such job.
    reluctant: Cell<u32>,
    /// Whom the worker wakes once its turn is over.
    pub(super) owed: Cell<Wakes>,
    /// Whether the thread is in the handler of a signal.
    pub(crate) is_interrupted: Cell<bool>,
    /// What loops that start on this worker know of the block around them. After a panic this is stale, which costs a
    /// loop a look at the clock.
    pub(crate) outer: Cell<Outer>,
    /// How long the items of some loops that began here took lately.
    pub(crate) rates: Rates,
    /// When the worker's last guest came, in nanoseconds of its [idle time](Counters); later by the time that it took
    /// to wake others.
    pub(crate) came: Cell<u64>,
    /// When the worker first woke another since it was idle; 0 if it has not.
    pub(super) woke: Cell<Time>,
    /// When the worker began to wake another; 0 once it has.
    pub(super) waking_since: Cell<Time>,
}

impl Home {
    /// Makes the type-erased parts of all workers of a pool.
    pub(crate) fn create(common: &Arc<Common>, spawned: Vec<Spawning>) -> Vec<Self> {
        let spawned = spawned.into_iter().enumerate();
        spawned
            .map(|(index, spawned)| Self {
                index,
                common: Arc::clone(common),
                counters: Counters::new(),
                detours: Atomic::new(0),
                stack: Cell::new((std::ptr::null(), 0)),
                spawned: UnsafeCell::new(spawned),
                marks: UnsafeCell::default(),
                aside: Aside::default(),
                random: Cell::new(Rng::with_seed(index as u64)),
                last_victim: Cell::new(index),
                has_waited_since: Cell::new(None),
                turns: Turns::default(),
                spawned_in_row: Cell::new(0),
                leaps: Cell::new(1),
                owed: Cell::default(),
                is_interrupted: Cell::new(false),
                outer: Cell::default(),
                rates: Rates::default(),
                came: Cell::new(0),
                woke: Cell::new(0),
                waking_since: Cell::new(0),
                trails: Cell::default(),
                lower_half: Cell::default(),
                reluctant: Cell::new(0),
            })
            .collect()
    }

    /// Sets the front of the worker's task stack, or its only front, and the stack's bottom.
    pub(crate) fn attach(&self, front: &Front, bottom: *mut Slot) {
        self.stack.set((front, bottom.addr()));
    }

    /// Whether the worker's tasks may descend from something other than its stolen task. Precondition for a correct
    /// `false`: the caller has just won a task from the worker.
    pub(crate) fn is_on_detour(&self) -> bool {
        // Relaxed: the worker published the task after it began the detour, and does not end the detour before the task
        // is settled.
        self.detours.load(Ordering::Relaxed) != 0
    }

    /// Runs `f`, an unrelated job, with [`Home::is_on_detour`] set.
    pub(crate) fn on_detour(&self, f: impl FnOnce()) {
        self.begin_detour();
        f();
        self.end_detour();
    }

    /// Begins an unrelated job.
    #[inline(always)]
    pub(crate) fn begin_detour(&self) {
        // Relaxed, here and below: the tasks' edges publish the depth, and there is one writer.
        self.detours.store(self.detours.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Ends an unrelated job.
    #[inline(always)]
    pub(crate) fn end_detour(&self) {
        self.detours.store(self.detours.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Returns a random number below `bound`, which is not 0.
    fn random_below(&self, bound: usize) -> usize {
        // While the generator is out, one with a constant seed, which costs no computation, takes its place.
        let mut random = self.random.replace(Rng::with_seed(0));
        let number = random.usize(..bound);
        self.random.set(random);
        number
    }

    /// Returns what `look` finds first at the workers, including this one, in the order in which this one looks for
    /// work.
    pub(crate) fn at_victims<R>(&self, look: impl FnMut(usize) -> Option<R>) -> Option<R> {
        if let Some(near) = &self.common.near {
            return near.order(self.index, self.random_below(usize::MAX)).find_map(look);
        }
        let (workers, last) = (self.common.workers(), self.last_victim.get());
        self.common.habits.victims.order(workers, self.index, last, self.random_below(workers)).find_map(look)
    }

    /// Records a steal from `victim`.
    pub(crate) fn note_theft_from(&self, victim: usize) {
        self.last_victim.set(victim);
        self.has_waited_since.set(None);
    }

    /// Called after the worker has asked `victim` for a task. Requests a tick if workers answer on ticks; interrupts
    /// `victim` if thieves interrupt, this thief has waited for a period, and `victim` is awake.
    #[cold]
    pub(crate) fn want_answer(&self, victim: usize) {
        self.common.want_tick();
        if let Some(calls) = &self.common.calls
            && !self.common.dormitory.place(victim).would_help(|_| true)
        {
            calls.call(victim, &self.has_waited_since);
        }
    }

    /// Prepares the worker on its own thread, which has just started, with a stack of `bytes` or more; 0 if unknown.
    pub(crate) fn prepare(&self, bytes: usize) {
        self.lower_half.set(LowerHalf::of(bytes));
        self.make_room();
    }

    /// Prepares for a transitive leapfrogger's searches.
    pub(crate) fn make_room(&self) {
        if self.common.wait == Wait::Transitive {
            let mut trails = Trails::default();
            trails.begin(self.common.workers());
            self.trails.set(trails);
        }
    }

    /// Runs `f`, and notes when this activity of the worker begins and ends.
    #[inline(always)]
    pub(crate) fn doing<R>(&self, activity: Activity, f: impl FnOnce() -> R) -> R {
        self.turn(true, activity);
        let result = f();
        self.turn(false, activity);
        result
    }

    /// Called when the worker has found nothing to run. Returns the time, as its counter of idle time counts it, if the
    /// worker was busy.
    pub(crate) fn fall_idle(&self) -> Option<u64> {
        let now = self.counters.idle.begin();
        if now.is_some() {
            self.note(Note::Begins(Activity::Idle));
            let woke = self.woke.replace(0);
            if woke != 0
                && let Some(elsewhere) = &self.common.elsewhere
            {
                elsewhere.note_work(clock::now().saturating_sub(woke));
            }
        }
        now
    }

    /// Called when the worker has found something, or its wait is over. Returns the time, if the worker was idle.
    pub(crate) fn get_busy(&self) -> Option<u64> {
        let now = self.counters.idle.end();
        if now.is_some() {
            self.note(Note::Ends(Activity::Idle));
        }
        now
    }

    /// Whether this is the worker whose seat callers take in a pool whose workers never sleep.
    pub(crate) fn is_for_callers(&self) -> bool {
        self.common.guests.is_some() && self.index + 1 == self.common.admitted()
    }

    /// Runs `f` on a guest's thread, which is the worker meanwhile and has a stack of its own.
    pub(crate) fn on_another_stack(&self, f: impl FnOnce()) {
        let half = self.lower_half.replace(LowerHalf::of(0));
        f();
        self.lower_half.set(half);
    }

    /// Whether more than half of the thread's stack is used, too much to nest unrelated work.
    pub(crate) fn is_stack_low(&self) -> bool {
        self.lower_half.get().has_begun()
    }

    /// Called on a low stack, before the worker does what others should do. Naps, and returns `true`, unless there are
    /// no others or the worker has [napped](Common::leave_to_others) for long enough. Its wait may end meanwhile; so
    /// the less of the stack is left, the longer it naps, in the end even without others. Once it has run such work
    /// after all, it naps again within that work only when half of the rest is used.
    pub(crate) fn hesitates(&self, naps: &Cell<u32>) -> bool {
        const NAPS: u32 = 10;
        const SCARCE: u32 = 2;
        // Two seconds in all.
        const MOST: u32 = 5;
        let halvings = self.lower_half.get().halvings().min(MOST);
        let hesitates = halvings >= self.reluctant.get()
            && naps.get() < NAPS << (2 * halvings)
            && self.common.leave_to_others(halvings >= SCARCE);
        naps.set(if hesitates { naps.get() + 1 } else { 0 });
        hesitates
    }

    /// Runs `f`, a job that others should do, although the stack is low.
    pub(crate) fn reluctantly<R>(&self, f: impl FnOnce() -> R) -> R {
        let outer = self.reluctant.replace(self.lower_half.get().halvings() + 1);
        let result = f();
        self.reluctant.set(outer);
        result
    }
}

/// What a loop within a block of another loop knows of that block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outer {
    /// When the block began.
    pub(crate) began: Time,
    /// When a loop on this worker last looked at the clock; 0 outside of all fine blocks of several items.
    pub(crate) looked: Time,
}

/// The [rates](crate::divide::block_size::Pace::rate) of some loops, each at a place that the address of its code
/// chooses.
#[derive(Default)]
pub(crate) struct Rates([Cell<(usize, Time)>; 8]);

impl Rates {
    fn of(&self, code: usize) -> &Cell<(usize, Time)> {
        &self.0[(code >> 6) % self.0.len()]
    }

    pub(crate) fn get(&self, code: usize) -> Option<Time> {
        let (known, rate) = self.of(code).get();
        (known == code).then_some(rate)
    }

    pub(crate) fn set(&self, code: usize, rate: Time) {
        self.of(code).set((code, rate));
    }
}

impl<'w> Own<'w, Home> {
    /// Takes a job posted to this worker.
    pub(crate) fn next_mail(self) -> Option<Spawned> {
        self.common.next_mail(self.index)
    }

    /// Whether a job is posted to this worker. A snapshot, accurate enough for a last look before sleep.
    pub(crate) fn has_mail(self) -> bool {
        self.common.has_mail(self.index)
    }

    /// The worker's forks that are not on the task stack.
    pub(crate) fn aside(self) -> Own<'w, Aside> {
        // SAFETY: it is a part of this thread's worker.
        unsafe { self.part(|home| &home.aside) }
    }

    /// The front of the worker's task stack, or its only front.
    pub(crate) fn stack_front(self) -> &'w Front {
        // SAFETY: `Core::assemble` set it to a front of this worker, which lives as long as this home.
        unsafe { &*self.seen().stack.get().0 }
    }

    /// The address of the stack's bottom.
    pub(crate) fn bottom(self) -> usize {
        self.stack.get().1
    }

    /// Whether a poll answers thieves: always, or once per tick.
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
    /// Returns the type-erased part of this front's worker; `None` outside.
    #[inline]
    pub(crate) fn home(&self) -> Option<&Home> {
        // SAFETY: the pointer is null, or `Core::assemble` set it to the home of a worker, which lives as long as its
        // fronts.
        unsafe { self.erased_home().cast::<Home>().as_ref() }
    }
}

/// Returns the worker, of any pool, that the current thread is; `None` outside. The result is for use within calls made
/// on the worker.
pub(crate) fn current_home() -> Option<Own<'static, Home>> {
    // SAFETY: the current front is one of this thread's worker.
    current().home().map(|home| unsafe { Own::new(home) })
}

impl Here<'_> {
    /// Answers thieves from a signal handler, if that is possible now.
    #[cfg(unix)]
    pub(crate) fn interrupted(self) {
        let Some(home) = self.any_home() else { return };
        home.is_interrupted.set(true);
        if self.cold(|operations| &operations.interrupt, ()) == Some(true) {
            // With signals, polls do not count interrupts.
            home.counters.interrupts.bump();
        }
        home.is_interrupted.set(false);
    }
}

impl<'w, P: Known> Here<'w, P> {
    /// Returns the worker; `None` outside.
    #[inline]
    pub(crate) fn any_home(&self) -> Option<Own<'w, Home>> {
        // SAFETY: the front is one of this thread's worker.
        self.front().home().map(|home| unsafe { Own::new(home) })
    }

    /// Whether other workers would see a fork made here at once, and need more work than they see.
    #[inline]
    pub(crate) fn lends(&self) -> bool {
        !self.front().limits.admits_push(self.head().addr())
            && self.front().home().is_some_and(|home| home.common.workers() > 1)
            && (!self.is_on_stack() || fast_path::wants_work(self))
    }

    /// Answers thieves.
    #[inline]
    pub(crate) fn poll(self) {
        let here = self.of_any();
        if here.any_home().is_some_and(Own::is_polling) {
            here.cold(|operations| &operations.poll, ());
        }
    }
}

impl Common {
    /// Returns the worker of this pool that the current thread is.
    pub(crate) fn current_home(&self) -> Option<Own<'static, Home>> {
        current_home().filter(|home| std::ptr::eq(&raw const *home.common, self))
    }

    /// Hands a job to the pool: spawns it if the current thread is a worker of the pool, else injects it.
    ///
    /// Out of line, so that its locals are not part of the spawner's frame, which may stay while other jobs run.
    #[inline(never)]
    pub(crate) fn hand_in(&self, job: Spawned) {
        match self.current_home() {
            Some(_) => Here::with(|here| here.spawn(job)),
            None => _ = self.inject(job),
        }
    }
}
