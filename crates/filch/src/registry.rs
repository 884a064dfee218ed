//! The state that the workers of one thread pool share, and by which threads outside reach them.
//!
//! Invariant: an injected job wakes a sleeper unless a worker searches, and a worker that looks before it sleeps finds
//! the job.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crossbeam_queue::SegQueue;
use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::{ChaseLev, Padded, Queue, Steal, Thief};

use crate::deal::deal_alike;
use crate::detached::{PanicHandler, Tally};
use crate::guest::Guests;
use crate::late::Late;
use crate::near::Near;
use crate::policy::{Habits, Leaps, Wait};
use crate::process;
use crate::processors::Deal;
use crate::protocol::sleep::Dormitory;
use crate::protocol::ticks::Ticks;
use crate::spares::Spares;
use crate::spawn::Spawned;
use crate::unwind::{abort_on_panic, warn};

/// The two sides of a queue of spawned jobs.
pub(crate) type Spawning = <ChaseLev as Queue<Native>>::Owner;
type Spawner = <ChaseLev as Queue<Native>>::Thief;

/// No process.
const ENDED: u32 = 0;

/// The state that the workers of one thread pool share.
pub(crate) struct Common {
    /// The process of the threads.
    process: u32,
    /// The same while there are threads; 0 while the [global pool](crate::ThreadPool::end_global) has ended.
    live_in: <Native as Memory>::AtomicU32,
    /// Starts the threads of the global pool again.
    again: OnceLock<fn()>,
    pub(crate) dormitory: Dormitory<Native>,
    /// Jobs from threads outside the pool.
    pub(crate) injected: SegQueue<Spawned>,
    /// Jobs for workers that have nothing else to do.
    pub(crate) whenever: SegQueue<Spawned>,
    /// The thieves' side of the queues of spawned jobs, by worker.
    spawned: Arc<[Spawner]>,
    /// Jobs posted to one worker, by worker.
    mail: Box<[Padded<SegQueue<Spawned>>]>,
    /// Whether the pool is being dropped, so that workers leave when nothing is left to do.
    pub(crate) closing: <Native as Memory>::AtomicBool,
    /// Whether a worker has run its last job, and leaves.
    leaving: <Native as Memory>::AtomicBool,
    /// What each worker has begun and ended.
    pub(crate) tallies: Box<[Padded<Tally>]>,
    /// The number of jobs begun by threads outside.
    pub(crate) begun_outside: <Native as Memory>::AtomicUsize,
    /// Present if there are workers that work only while they are needed.
    pub(crate) spares: Option<Spares>,
    /// What takes the payloads of jobs that nobody joins.
    pub(crate) on_panic: Option<PanicHandler>,
    pub(crate) wait: Wait,
    pub(crate) leaps: Leaps,
    pub(crate) habits: Habits,
    /// Present if some workers are nearer than others, and thieves prefer them.
    pub(crate) near: Option<Near>,
    /// The number of a worker's newest tasks that thieves leave to it.
    pub(crate) kept_back: usize,
    /// The ticks that thieves wait for, if workers answer on ticks.
    pub(crate) ticks: Option<Ticks<Native>>,
    /// Present if callers may take the seats of sleeping workers.
    pub(crate) guests: Option<Guests>,
    /// Present if the last worker's thread starts when it is first needed.
    late: OnceLock<Arc<Late>>,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

impl Common {
    /// Returns the state of this many workers, and each worker's own side of its queue of spawned jobs.
    pub(crate) fn new(
        workers: usize,
        (wait, leaps): (Wait, Leaps),
        habits: Habits,
        ticks: Option<Ticks<Native>>,
        guests: Option<Guests>,
        kept_back: usize,
        places: &Deal,
    ) -> (Self, Vec<Spawning>) {
        const INITIAL_CAPACITY: usize = 64;
        let (owners, spawned) = deal_alike::<ChaseLev>(workers, INITIAL_CAPACITY, &(), places);
        let common = Self {
            process: process::current(),
            live_in: Atomic::new(process::current()),
            again: OnceLock::new(),
            spawned,
            ticks,
            guests,
            dormitory: Dormitory::new(workers),
            injected: SegQueue::new(),
            whenever: SegQueue::new(),
            mail: (0..workers).map(|_| Padded(SegQueue::new())).collect(),
            closing: Atomic::new(false),
            leaving: Atomic::new(false),
            tallies: (0..workers).map(|_| Padded(Tally::new())).collect(),
            begun_outside: Atomic::new(0),
            late: OnceLock::new(),
            spares: None,
            on_panic: None,
            wait,
            leaps,
            habits,
            near: None,
            kept_back,
        };
        (common, owners)
    }

    /// The number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.dormitory.len()
    }

    /// Whether the workers' threads are in this process, not in an ancestor or nowhere.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        // Relaxed: a thread that pushes a job looks again.
        self.live_in.load(Ordering::Relaxed) == process::current()
    }

    /// Checks, before a job is injected from outside, that the workers are here, and starts those of a global pool that
    /// has ended.
    ///
    /// # Panics
    /// If the workers are in another process, or cannot be started again.
    #[inline]
    pub(crate) fn assert_here(&self) {
        #[cold]
        fn is_elsewhere(common: &Common) {
            assert!(
                common.process == process::current(),
                "the workers of this pool are in the process that forked this one: after fork() a child has to make pools of its own"
            );
            if let Some(again) = common.again.get() {
                again();
            }
        }
        if !self.is_here() {
            is_elsewhere(self);
        }
    }

    /// Starts the threads again, if the pool has ended. Called by a thread outside after it has pushed a job, and a
    /// fence, which pairs with that of the thread that ends the pool. If they cannot be started, ends the process, since
    /// the job may borrow from the caller.
    fn live_again(&self) {
        if self.is_ended()
            && let Some(again) = self.again.get()
        {
            abort_on_panic("a pool that had ended cannot run a job", again);
        }
    }

    /// Whether the threads are gone.
    pub(crate) fn is_ended(&self) -> bool {
        // Relaxed: the caller has fenced, or will.
        self.live_in.load(Ordering::Relaxed) == ENDED
    }

    /// Sets what starts the threads again, before they leave. Whoever ends such a pool also starts a thread again that
    /// has missed its mail.
    pub(crate) fn will_live_again(&self, again: fn()) {
        let _is_first = self.again.set(again);
    }

    /// Says that the threads are gone.
    pub(crate) fn has_ended(&self) {
        // Relaxed: the caller fences.
        self.live_in.store(ENDED, Ordering::Relaxed);
    }

    /// Whether the pool has something to do.
    pub(crate) fn has_left(&self) -> bool {
        let has_mail = || self.mail.iter().any(|jobs| !jobs.is_empty());
        self.has_injected() || has_mail() || !self.is_idle()
    }

    /// Prepares for threads after the end.
    pub(crate) fn begins_again(&self) {
        // Relaxed, all: the start of the threads publishes it.
        self.closing.store(false, Ordering::Relaxed);
        self.leaving.store(false, Ordering::Relaxed);
        self.live_in.store(self.process, Ordering::Relaxed);
        if let Some(spares) = &self.spares {
            spares.look_soon();
        }
    }

    /// Injects a job into the pool from outside; returns whether it woke a worker.
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn inject(&self, job: Spawned) -> bool {
        self.assert_here();
        self.inject_counted(job)
    }

    /// As [`Common::inject`], for a job that the caller has [counted](Common::begins_outside).
    pub(crate) fn inject_counted(&self, job: Spawned) -> bool {
        self.inject_into(&self.injected, job)
    }

    /// As [`Common::inject_counted`], for workers that have nothing else to do. A worker may do it, too.
    pub(crate) fn inject_whenever(&self, job: Spawned) {
        self.inject_into(&self.whenever, job);
    }

    fn inject_into(&self, lane: &SegQueue<Spawned>, job: Spawned) -> bool {
        lane.push(job);
        let has_woken = self.dormitory.sleepers().sleepers_after() && self.dormitory.wake_for_any(0);
        self.live_again();
        if !has_woken {
            self.call_watch();
        }
        has_woken
    }

    /// Looks now and then how many workers should work.
    #[inline]
    pub(crate) fn look(&self) {
        if let Some(spares) = &self.spares {
            spares.look();
        }
    }

    fn notify_spares(&self) {
        if let Some(spares) = &self.spares {
            spares.notify();
        }
    }

    fn call_watch(&self) {
        if let Some(guests) = &self.guests {
            guests.call_watch();
        }
    }

    /// Posts a job to one worker, which runs it once it waits for something and has no spawned jobs of its own left.
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn post(&self, worker: usize, job: Spawned) {
        self.assert_here();
        self.mail[worker].push(job);
        self.dormitory.notify(worker);
        self.needs(worker);
        self.notify_spares();
        self.live_again();
        self.call_watch();
    }

    /// Requests a tick, if workers answer on ticks, for a thief that has found nothing or is about to sleep.
    pub(crate) fn want_tick(&self) {
        if let Some(ticks) = &self.ticks {
            ticks.want();
        }
    }

    /// Says that the last worker, which sleeps, has no thread yet. Called before other threads know the pool.
    pub(crate) fn comes_late(self: &Arc<Self>, late: Late) {
        let late = Arc::new(late);
        let is_first = self.late.set(Arc::clone(&late)).is_ok();
        debug_assert!(is_first, "a pool is made once");
        let common = Arc::downgrade(self);
        self.dormitory.on_rouse(move |_, worker| {
            if worker == late.worker() {
                // Whoever wakes a worker keeps what it belongs to.
                let common = common.upgrade().expect("a worker has its pool");
                match late.start(|| common.is_over()) {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(error) => {
                        warn(format_args!("worker {worker} has no thread, and the others do its part ({error})"));
                    }
                }
                common.goes_without(worker);
            }
        });
    }

    /// Says that the current thread is a worker's, with the processors that all have.
    pub(crate) fn has_begun(&self) {
        if let Some(late) = self.late.get() {
            late.inherited().is_like_this();
        }
    }

    /// Counts the late worker, which has been woken, as one that has ended its search and left.
    fn goes_without(&self, worker: usize) {
        self.stands_in_no_more(worker);
        let sleepers = self.dormitory.sleepers();
        sleepers.end_search();
        if sleepers.sleepers_after() {
            self.dormitory.wake_for_any(0);
        }
    }

    fn stands_in_no_more(&self, worker: usize) {
        if let Some(spares) = self.spares.as_ref().filter(|spares| spares.has(worker)) {
            spares.ends();
            spares.notify();
        }
    }

    /// Called after a job that only `worker` may run has been posted, and the worker notified.
    fn needs(&self, worker: usize) {
        let Some(late) = self.late.get().filter(|late| late.worker() == worker && late.is_dead()) else { return };
        if let Err(error) = late.try_again(|| self.dormitory.sleepers().start_search()) {
            warn(format_args!("worker {worker} has a job and cannot have a thread ({error}); aborting"));
            std::process::abort();
        }
    }

    /// The number of threads that the pool has apart from those it was started with.
    pub(crate) fn threads_apart(&self) -> usize {
        self.late.get().map_or(0, |late| usize::from(late.is_apart()))
    }

    /// Whether such a thread has ended, or does not exist.
    pub(crate) fn are_others_finished(&self) -> bool {
        self.late.get().is_none_or(|late| late.is_finished())
    }

    /// Returns the late worker if its thread has ended and missed a job that only it may run.
    pub(crate) fn late_misses_mail(&self) -> Option<usize> {
        let late = self.late.get()?;
        (late.has_left() && self.has_mail(late.worker())).then(|| late.worker())
    }

    /// Ends what [comes late](Self::comes_late), after the other threads have left: the last worker is then as one that has left. Returns
    /// `false` if that may come about soon: if a guest has its seat, or its thread runs and the caller does not want to `wait` for it.
    pub(crate) fn ends_late(&self, wait: bool) -> bool {
        let Some(late) = self.late.get() else { return true };
        let retire = || {
            let place = self.dormitory.place(late.worker());
            let is_taken = place.take(self.dormitory.sleepers());
            if is_taken {
                place.hand_over();
                self.stands_in_no_more(late.worker());
            }
            is_taken
        };
        (wait || late.is_finished()) && late.end(retire)
    }

    /// Wakes all workers that have a thread, or a guest.
    pub(crate) fn notify_all(&self) {
        let absent = self.late.get().filter(|late| late.is_absent()).map(|late| late.worker());
        self.dormitory.notify_all_but(absent);
    }

    /// Closes the pool, and wakes all workers to see it.
    pub(crate) fn close(&self) {
        // Relaxed: the fence orders it before the wake-ups, as it does work.
        self.closing.store(true, Ordering::Relaxed);
        self.notify_all();
        self.notify_spares();
        self.call_watch();
    }

    pub(crate) fn is_closing(&self) -> bool {
        // Relaxed: see `close`.
        self.closing.load(Ordering::Relaxed)
    }

    /// Called by a worker that leaves, and runs no mail any more.
    pub(crate) fn leaves(&self) {
        // Relaxed: this worker itself looks, in its last hook.
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Whether mail may stay unread.
    pub(crate) fn misses_mail(&self) -> bool {
        // Relaxed: see `leaves`.
        self.leaving.load(Ordering::Relaxed) && self.again.get().is_none()
    }

    /// Takes an injected job.
    pub(crate) fn next_injected(&self) -> Option<Spawned> {
        self.injected.pop().or_else(|| self.whenever.pop())
    }

    /// Whether there is such a job. A snapshot, accurate enough for a last look before sleep.
    pub(crate) fn has_injected(&self) -> bool {
        !self.injected.is_empty() || !self.whenever.is_empty()
    }

    /// Takes a job posted to worker `index`.
    pub(crate) fn next_mail(&self, index: usize) -> Option<Spawned> {
        self.mail[index].pop()
    }

    /// Whether there is such a job. A snapshot, accurate enough for a last look before sleep.
    pub(crate) fn has_mail(&self, index: usize) -> bool {
        !self.mail[index].is_empty()
    }

    /// Tries to take a job that `victim` spawned.
    pub(crate) fn steal_spawned(&self, victim: usize) -> Option<Spawned> {
        loop {
            match <ChaseLev as Queue<Native>>::steal_alike(&self.spawned[victim]) {
                // SAFETY: only spawned jobs are pushed there, and the queue gives out each word once.
                Steal::Task(task) => return Some(unsafe { Spawned::from_task(task) }),
                Steal::Retry => {}
                Steal::Empty | Steal::Aborted | Steal::Pending => return None,
            }
        }
    }

    /// Whether `victim` has spawned jobs to take. A snapshot, accurate enough for a last look before sleep.
    pub(crate) fn has_spawned(&self, victim: usize) -> bool {
        self.spawned[victim].has_work_hint()
    }
}
