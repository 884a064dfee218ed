//! The state that the workers of one thread pool share, and through which threads outside reach them.
//!
//! Invariant: an injected job wakes a sleeper unless a worker searches, and a worker that looks before it sleeps finds
//! the job.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crossbeam_queue::SegQueue;
use filch_memory::{Asymmetric, Atomic, Memory, Native, Ordering};
use filch_queue::{ChaseLev, Padded, Queue};

use crate::fork::spawned::Spawned;
use crate::interrupts::by_thieves::Calls;
use crate::machine::processors::{self, Places};
use crate::machine::{process, thread::nap};
use crate::protocol::{sleep::Dormitory, ticks::Ticks};
use crate::shared::job_counts::{JobCounts, PanicHandler};
use crate::shared::policy::{Habits, Idle, Leaps, Wait};
use crate::shared::{elsewhere::Elsewhere, guest::Guests, handles::deal_alike};
use crate::shared::{late::Late, near::Near, stand_ins::Spares};
#[cfg(feature = "timeline")]
use crate::timeline::Recorders;
use crate::unwind::abort_on_panic;

/// The two sides of a queue of spawned jobs.
pub(crate) type Spawning = <ChaseLev as Queue<Native>>::Owner;
pub(crate) type Spawner = <ChaseLev as Queue<Native>>::Thief;

/// A lane of injected jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Now,
    /// For workers that have nothing else to do.
    Whenever,
}

impl Lane {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Now => Self::Whenever,
            Self::Whenever => Self::Now,
        }
    }
}

/// The number of no process.
const ENDED: u32 = 0;

/// The state that the workers of one thread pool share.
pub(crate) struct Common {
    /// The number of the process that made the pool and has its threads.
    process: u32,
    /// The same number while there are threads; 0 while the [global pool](crate::ThreadPool::end_global) has ended.
    live_in: <Native as Memory>::AtomicU32,
    /// Starts the threads of the global pool again.
    again: OnceLock<fn()>,
    pub(crate) dormitory: Dormitory<Native>,
    /// Jobs from threads outside the pool.
    pub(crate) injected: SegQueue<Spawned>,
    /// Jobs for workers that have nothing else to do.
    pub(crate) whenever: SegQueue<Spawned>,
    /// The thieves' side of the queues of spawned jobs, by worker.
    pub(crate) spawned: Arc<[Spawner]>,
    /// The jobs posted to each worker.
    mail: Box<[Padded<SegQueue<Spawned>>]>,
    /// Held while a thread posts jobs to all workers.
    posting: Mutex<()>,
    /// Whether the pool is being dropped, so that workers leave when nothing is left to do.
    pub(crate) closing: <Native as Memory>::AtomicBool,
    /// Whether a worker has run its last job, and leaves.
    leaving: <Native as Memory>::AtomicBool,
    /// How many jobs and calls each worker has begun and ended.
    pub(crate) job_counts: Box<[Padded<JobCounts>]>,
    /// The number of workers that leave work to others because their stacks are low.
    reluctant: <Native as Memory>::AtomicUsize,
    /// The number of jobs begun by threads outside.
    pub(crate) begun_outside: <Native as Memory>::AtomicUsize,
    /// Present if there are workers that work only while they are needed.
    pub(crate) spares: Option<Spares>,
    /// Takes the payloads of panics in jobs that nobody joins.
    pub(crate) on_panic: Option<PanicHandler>,
    pub(crate) wait: Wait,
    pub(crate) leaps: Leaps,
    pub(crate) habits: Habits,
    /// Whether there was a processor for each worker when the pool was made.
    pub(crate) fits: bool,
    /// Whether the system has heavy barriers.
    pub(crate) has_barriers: bool,
    /// Present if some workers are nearer than others, and thieves prefer them.
    pub(crate) near: Option<Near>,
    /// The number of a worker's newest tasks that thieves leave to it.
    pub(crate) kept_back: usize,
    /// The ticks that thieves wait for, if workers answer on ticks.
    pub(crate) ticks: Option<Ticks<Native>>,
    /// Present if thieves interrupt the workers that they ask.
    pub(crate) calls: Option<Arc<Calls>>,
    /// Present if callers may take the seats of sleeping workers.
    pub(crate) guests: Option<Guests>,
    /// Present if workers may be woken on other processors than their wakers'.
    pub(crate) elsewhere: Option<Arc<Elsewhere>>,
    /// Present if some workers' threads start when they are first needed.
    pub(crate) late: OnceLock<Arc<Late>>,
    /// Present once somebody has recorded what the workers do.
    #[cfg(feature = "timeline")]
    pub(crate) recorders: OnceLock<Recorders>,
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
        places: &Places,
    ) -> (Self, Vec<Spawning>) {
        const INITIAL_CAPACITY: usize = 64;
        let (owners, spawned) = deal_alike::<ChaseLev>(workers, INITIAL_CAPACITY, &(), places);
        let fits = workers <= processors::of_process();
        let may_move = fits && workers > 1 && habits.idle == Idle::Sleep && processors::current().is_some();
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
            posting: Mutex::new(()),
            mail: (0..workers).map(|_| Padded(SegQueue::new())).collect(),
            closing: Atomic::new(false),
            leaving: Atomic::new(false),
            job_counts: (0..workers).map(|_| Padded(JobCounts::new())).collect(),
            reluctant: Atomic::new(0),
            begun_outside: Atomic::new(0),
            late: OnceLock::new(),
            #[cfg(feature = "timeline")]
            recorders: OnceLock::new(),
            spares: None,
            on_panic: None,
            calls: None,
            wait,
            leaps,
            habits,
            fits,
            elsewhere: may_move.then(|| Arc::new(Elsewhere::new(workers))),
            has_barriers: Native::prepare_barriers(),
            near: None,
            kept_back,
        };
        (common, owners)
    }

    /// The number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.dormitory.len()
    }

    /// How many workers work at once, if none blocks.
    pub(crate) fn admitted(&self) -> usize {
        self.spares.as_ref().map_or(self.workers(), Spares::admitted)
    }

    /// Whether the workers' threads are in this process. They may be in an ancestor, or have ended.
    #[inline]
    pub(crate) fn is_in_this_process(&self) -> bool {
        // Relaxed: a thread that pushes a job looks again.
        self.live_in.load(Ordering::Relaxed) == process::current()
    }

    /// Called before a job is injected from outside. Checks that the workers are in this process, and starts the
    /// threads of a global pool that has ended.
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
        if !self.is_in_this_process() {
            is_elsewhere(self);
        }
    }

    /// Starts the threads again, if the pool has ended. Called by a thread outside after it has pushed a job and
    /// fenced; its fence pairs with the fence of the thread that ends the pool. If the threads cannot be started, ends
    /// the process, since the job may borrow from the caller.
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

    /// Sets the function that starts the threads again. Called before the threads leave. The thread that ends such a
    /// pool also restarts the thread of a worker that has missed its mail.
    pub(crate) fn will_live_again(&self, again: fn()) {
        let _is_first = self.again.set(again);
    }

    /// Says that the threads are gone.
    pub(crate) fn note_end(&self) {
        // Relaxed: the caller fences.
        self.live_in.store(ENDED, Ordering::Relaxed);
    }

    /// Whether the pool has something to do.
    pub(crate) fn has_left(&self) -> bool {
        let has_mail = || self.mail.iter().any(|jobs| !jobs.is_empty());
        self.has_injected() || has_mail() || !self.is_idle()
    }

    /// Prepares the pool, which has ended, for new threads.
    pub(crate) fn begin_again(&self) {
        // Relaxed, all: the start of the threads publishes these stores.
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

    /// As [`Common::inject`], for a job that the caller has [counted](Common::count_begun_outside).
    pub(crate) fn inject_counted(&self, job: Spawned) -> bool {
        self.inject_into(&self.injected, job)
    }

    /// As [`Common::inject_counted`], for a job that is left to workers that have nothing else to do. A worker may call
    /// this, too.
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

    /// Asks now and then how many workers should work: [`Spares::look`].
    #[inline]
    pub(crate) fn look(&self) {
        if let Some(spares) = &self.spares {
            spares.look();
        }
    }

    /// Called on a worker that leaves work to others. Naps, and returns `true`, unless all others sleep or leave work
    /// to others, too. In that case returns `false` at once, unless the worker `must` nap. The others may be busy for
    /// long, but nobody knows how long.
    pub(crate) fn leave_to_others(&self, must: bool) -> bool {
        // A worker that has been woken for the work does not count as asleep.
        let is_asleep = |worker: &usize| self.dormitory.place(*worker).would_help(|_| true);
        let asleep = (0..self.workers()).filter(is_asleep).count();
        // Relaxed, here and below: a hint.
        if !must && asleep + self.reluctant.load(Ordering::Relaxed) + 1 >= self.workers() {
            return false;
        }
        self.reluctant.fetch_add(1, Ordering::Relaxed);
        nap();
        self.reluctant.fetch_sub(1, Ordering::Relaxed);
        true
    }

    fn notify_spares(&self) {
        if let Some(spares) = &self.spares {
            spares.notify();
        }
    }

    fn call_watch(&self) {
        if let Some(guests) = &self.guests {
            guests.call_watch(|_| ());
        }
    }

    /// Called on a worker whose call has proved long: wakes the worker that watches, if it naps.
    pub(crate) fn call_for_help(&self) {
        if let Some(guests) = &self.guests {
            guests.call_watch(|worker| {
                if let Some(elsewhere) = &self.elsewhere {
                    elsewhere.send_now(worker);
                }
            });
        }
    }

    /// Whether the system packs threads on few processors.
    pub(crate) fn packs(&self) -> bool {
        self.elsewhere.as_ref().is_some_and(|elsewhere| elsewhere.is_needed())
    }

    /// Posts a job to one worker, which runs it once it looks for work, in most cases after the jobs that it has
    /// spawned itself.
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn post(&self, worker: usize, job: Spawned) {
        self.assert_here();
        self.mail[worker].push(job);
        self.deliver(worker);
    }

    /// [Posts](Common::post) a job to each worker, in the order of their numbers. Several such posts reach all workers
    /// in the same order.
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn post_to_each(&self, jobs: impl IntoIterator<Item = Spawned>) {
        self.assert_here();
        let posting = self.posting.lock().unwrap_or_else(PoisonError::into_inner);
        self.mail.iter().zip(jobs).for_each(|(mail, job)| mail.push(job));
        drop(posting);
        (0..self.workers()).for_each(|worker| self.deliver(worker));
    }

    fn deliver(&self, worker: usize) {
        self.dormitory.notify(worker);
        self.need(worker);
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

    /// Closes the pool, and wakes all workers so that they see it.
    pub(crate) fn close(&self) {
        // Relaxed: the fence of the wake-ups orders it before them, as it orders published work.
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
    pub(crate) fn leave(&self) {
        // Relaxed: a worker that looks, in its exit hook, has stored it itself.
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Whether mail may stay unread, because a worker leaves for good.
    pub(crate) fn may_miss_mail(&self) -> bool {
        // Relaxed: see `leave`.
        self.leaving.load(Ordering::Relaxed) && self.again.get().is_none()
    }

    /// Takes an injected job, from the lane `first` if it has one.
    pub(crate) fn next_injected(&self, first: Lane) -> Option<Spawned> {
        let lane = |lane| match lane {
            Lane::Now => self.injected.pop(),
            Lane::Whenever => self.whenever.pop(),
        };
        lane(first).or_else(|| lane(first.other()))
    }

    /// Whether there is an injected job. A snapshot, accurate enough for a last look before sleep.
    pub(crate) fn has_injected(&self) -> bool {
        !self.injected.is_empty() || !self.whenever.is_empty()
    }

    /// Takes a job posted to worker `index`.
    pub(crate) fn next_mail(&self, index: usize) -> Option<Spawned> {
        self.mail[index].pop()
    }

    /// Whether a job is posted to worker `index`. A snapshot, accurate enough for a last look before sleep.
    pub(crate) fn has_mail(&self, index: usize) -> bool {
        !self.mail[index].is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};
    use std::time::{Duration, Instant};

    use crate::ThreadPool;

    #[test]
    fn work_is_left_to_others_that_are_awake() {
        let leaves = |pool: &ThreadPool| pool.install(|| pool.common.leave_to_others(false));
        let [one, two] =
            [1, 2].map(|workers| ThreadPool::builder().workers(workers).caller_works(false).build().unwrap());
        assert!(!leaves(&one) && one.install(|| one.common.leave_to_others(true)));
        let is_left = [(); 2].map(|()| Arc::new(Barrier::new(2)));
        let [begins, ends] = is_left.clone();
        two.spawn(move || {
            begins.wait();
            ends.wait();
        });
        is_left[0].wait();
        assert!(leaves(&two), "the other one is busy");
        is_left[1].wait();
        let start = Instant::now();
        two.install(|| {
            while two.common.leave_to_others(false) {
                assert!(start.elapsed() < Duration::from_secs(60), "the other one does not sleep");
            }
        });
    }
}
