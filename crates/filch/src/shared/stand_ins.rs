//! Workers that work only while they are needed: spare workers, while others block; and in a pool that follows the
//! processors, as many workers as there is processor time for.
//!
//! Such a worker, a *stand-in*, has a thread, a number and a task pool like any other. It works while it has mail,
//! while the pool closes, and while fewer workers work than are admitted and blocked, taken together. Otherwise its
//! thread sleeps here, not in the [dormitory](crate::protocol::sleep), as if the worker had left. A stand-in that is no
//! longer needed ends the task that it runs, then the jobs that it has spawned, and comes back here with empty queues.
//! So there is nothing that only it could run. It swallows no wake-up either: its last search passes wake-ups on.
//!
//! In a pool that follows the processors, all workers are stand-ins. A worker that finds work, or is about to sleep,
//! asks the system how many workers are admitted, unless somebody has asked within the last second. A worker in the
//! middle of a long task does not ask. So while others work, one worker that waits here *watches*: it wakes each second
//! to ask. The last watch ends when all others sleep; the first worker that then finds work calls for another watch. So
//! in an idle pool nobody asks.
//!
//! Invariants: a stand-in that waits here has seen, under the lock, that it is not needed. A thread that makes it
//! needed takes the same lock, for the change or after it, and then notifies it. At least one worker is admitted, so
//! somebody is there to be woken.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::clock;

use crate::machine::processors;
use crate::shared::common::Common;

/// The stand-ins of a pool, and how many of them work.
pub(crate) struct Spares {
    /// The number of workers that are not spares. Spares have the numbers after theirs.
    own: usize,
    follow: Option<Follow>,
    counts: Mutex<Numbers>,
    change: Condvar,
    /// Whether too many workers are at work. A hint.
    is_surplus: <Native as Memory>::AtomicBool,
    /// How many of the `own` workers are admitted; readable without the lock.
    admitted: <Native as Memory>::AtomicUsize,
}

struct Numbers {
    /// The number of workers for which there is processor time.
    admitted: usize,
    /// The number of workers that block.
    blocked: usize,
    /// The number of workers at work.
    active: usize,
    /// Whether somebody watches.
    is_watched: bool,
}

impl Numbers {
    /// The number of workers that should be at work.
    fn wanted(&self) -> usize {
        self.admitted + self.blocked
    }
}

/// How a pool follows the processors.
struct Follow {
    /// The directory of `proc` and `sys`.
    root: PathBuf,
    /// The time of the last look.
    looked: <Native as Memory>::AtomicU64,
    /// Whether a worker waits here that could watch, but nobody watches. A hint.
    is_unwatched: <Native as Memory>::AtomicBool,
    /// The system's numbers of the workers' threads; 0 for a worker without a thread.
    threads: Box<[<Native as Memory>::AtomicU32]>,
}

impl Follow {
    /// Whether it is time for a look. Only one thread gets `true`, and then looks.
    fn is_due(&self) -> bool {
        /// Half a second to two, by the rate of the clock.
        const INTERVAL: u64 = 1 << 31;
        // Relaxed, here and below: nothing is published.
        let (looked, now) = (self.looked.load(Ordering::Relaxed), clock::now());
        now.saturating_sub(looked) > INTERVAL
            && self.looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Returns for how many workers there is processor time.
    ///
    /// Counts the processors of the threads, not those of the process, because a program may bind its first thread to
    /// one. Numbers them together, because it may bind each worker to another.
    fn admitted(&self, own: usize) -> usize {
        // Relaxed: a thread that has just ended has no processors.
        let threads = self.threads.iter().map(|thread| thread.load(Ordering::Relaxed)).filter(|thread| *thread != 0);
        let processors = processors::of_threads(threads.map(u32::cast_signed)).unwrap_or(own);
        processors.min(processors::quota(&self.root).unwrap_or(own)).clamp(1, own)
    }
}

impl Spares {
    /// Returns the stand-ins of a pool whose workers from number `own` on are spares.
    pub(crate) fn new(own: usize) -> Self {
        Self::of(own, None, Numbers { admitted: own, blocked: 0, active: own, is_watched: false })
    }

    /// Returns the stand-ins of a pool whose size follows the quota, in files below `root`, and its threads' affinity.
    /// At first `admitted` of the `own` workers work.
    pub(crate) fn following(own: usize, workers: usize, admitted: usize, root: PathBuf) -> Self {
        let threads = (0..workers).map(|_| Atomic::new(0)).collect();
        let is_unwatched = Atomic::new(false);
        let follow = Follow { root, looked: Atomic::new(clock::now()), is_unwatched, threads };
        Self::of(
            own,
            Some(follow),
            Numbers { admitted: admitted.clamp(1, own), blocked: 0, active: 0, is_watched: false },
        )
    }

    fn of(own: usize, follow: Option<Follow>, counts: Numbers) -> Self {
        let admitted = Atomic::new(counts.admitted);
        Self {
            own,
            follow,
            counts: Mutex::new(counts),
            change: Condvar::new(),
            is_surplus: Atomic::new(false),
            admitted,
        }
    }

    /// Whether worker `index` is a stand-in.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.follow.is_some() || index >= self.own
    }

    /// Worker `index` has no thread yet. If it is a stand-in that is needed, counts it as one at work. Returns `false`
    /// if it is a stand-in that is not needed.
    pub(crate) fn count_in(&self, index: usize) -> bool {
        if !self.has(index) {
            return true;
        }
        let mut counts = self.counts();
        let is_needed = counts.active < counts.wanted();
        if is_needed {
            self.change(&mut counts, |counts| counts.active += 1);
        }
        is_needed
    }

    /// How many workers work at once, if none blocks.
    pub(crate) fn admitted(&self) -> usize {
        // Relaxed: a snapshot.
        self.admitted.load(Ordering::Relaxed)
    }

    /// Says that the current thread is worker `index`, until the result is dropped.
    pub(crate) fn begin_life(&self, index: usize) -> impl Drop + use<'_> {
        struct Life<'s>(Option<&'s <Native as Memory>::AtomicU32>);
        impl Drop for Life<'_> {
            fn drop(&mut self) {
                if let Some(thread) = self.0 {
                    // Relaxed: see `admitted`.
                    thread.store(0, Ordering::Relaxed);
                }
            }
        }
        let thread = self.follow.as_ref().map(|follow| &follow.threads[index]);
        if let Some(thread) = thread {
            // Relaxed: see `admitted`.
            thread.store(processors::this_thread().cast_unsigned(), Ordering::Relaxed);
        }
        Life(thread)
    }

    /// Asks the system how many workers are admitted, unless somebody has asked within the last second; calls for a
    /// watch if there is none. Called by a worker that finds work or falls asleep.
    pub(crate) fn look(&self) {
        let Some(follow) = &self.follow else { return };
        // Relaxed: a hint, and the lock decides.
        if follow.is_unwatched.load(Ordering::Relaxed) {
            self.call_watch(follow);
        }
        if follow.is_due() {
            self.admit(follow.admitted(self.own));
        }
    }

    #[cold]
    fn call_watch(&self, follow: &Follow) {
        let counts = self.counts();
        // Relaxed: as above.
        follow.is_unwatched.store(false, Ordering::Relaxed);
        if !counts.is_watched {
            self.change.notify_one();
        }
    }

    /// As [`Spares::look`], for a guest, whose calls are short: looks only while some workers are not admitted.
    pub(crate) fn look_for_more(&self) {
        if self.admitted() < self.own {
            self.look();
        }
    }

    #[cold]
    fn admit(&self, admitted: usize) {
        let mut counts = self.counts();
        if self.change(&mut counts, |counts| counts.admitted = admitted) {
            self.change.notify_all();
        }
        // Relaxed: a hint for others.
        self.admitted.store(admitted, Ordering::Relaxed);
    }

    /// Makes the next look come at once.
    pub(crate) fn look_soon(&self) {
        if let Some(follow) = &self.follow {
            // Relaxed: see `is_due`.
            follow.looked.store(0, Ordering::Relaxed);
        }
    }

    fn counts(&self) -> MutexGuard<'_, Numbers> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counts; returns whether too few workers work.
    fn change(&self, counts: &mut Numbers, change: impl FnOnce(&mut Numbers)) -> bool {
        change(counts);
        // Relaxed: a hint, and the lock decides.
        self.is_surplus.store(counts.active > counts.wanted(), Ordering::Relaxed);
        counts.active < counts.wanted()
    }

    /// Wakes the stand-ins, one of which may be needed.
    pub(crate) fn notify(&self) {
        let _counts = self.counts();
        self.change.notify_all();
    }

    /// Waits until stand-in `index` is needed, and counts it as one at work.
    pub(crate) fn wait_until_needed(&self, common: &Common, index: usize) {
        let is_needed =
            |counts: &Numbers| counts.active < counts.wanted() || common.is_closing() || common.has_mail(index);
        let mut counts = self.counts();
        while !is_needed(&counts) {
            counts = match &self.follow {
                Some(follow) if !counts.is_watched => self.watch(common, follow, counts),
                _ => self.change.wait(counts).unwrap_or_else(PoisonError::into_inner),
            };
        }
        self.change(&mut counts, |counts| counts.active += 1);
        if let Some(follow) = &self.follow {
            // Relaxed: a hint. Perhaps this worker was called to watch, and others still wait.
            follow.is_unwatched.store(!counts.is_watched, Ordering::Relaxed);
        }
    }

    /// Waits for a change. If others work, waits for at most a second, and then looks.
    fn watch<'s>(
        &'s self,
        common: &Common,
        follow: &Follow,
        mut counts: MutexGuard<'s, Numbers>,
    ) -> MutexGuard<'s, Numbers> {
        const SECOND: Duration = Duration::from_secs(1);
        let is_busy = (common.dormitory.sleepers().hungry() as usize) < counts.active;
        // Relaxed: a hint, set under the lock.
        follow.is_unwatched.store(!is_busy, Ordering::Relaxed);
        if !is_busy {
            return self.change.wait(counts).unwrap_or_else(PoisonError::into_inner);
        }
        counts.is_watched = true;
        drop(self.change.wait_timeout(counts, SECOND).unwrap_or_else(PoisonError::into_inner));
        self.look();
        let mut counts = self.counts();
        counts.is_watched = false;
        counts
    }

    /// Makes stand-in `index`, which is at work, leave if it is no longer needed; returns whether it has left.
    pub(crate) fn leaves(&self, common: &Common, index: usize) -> bool {
        // Relaxed: a hint. A stand-in that misses it works until its next look.
        if !self.is_surplus.load(Ordering::Relaxed) || common.is_closing() {
            return false;
        }
        let mut counts = self.counts();
        let is_needed = counts.active <= counts.wanted() || common.has_mail(index);
        if !is_needed {
            self.change(&mut counts, |counts| counts.active -= 1);
        }
        !is_needed
    }

    /// Whether there is, or may soon be, somebody to stand in for a worker that blocks.
    pub(crate) fn has_any(&self, common: &Common) -> bool {
        self.own < common.workers() || self.admitted() < self.own
    }

    /// Numbers a worker that blocks, until dropped.
    pub(crate) fn block(&self) -> impl Drop + use<'_> {
        struct Blocked<'s>(&'s Spares);
        impl Drop for Blocked<'_> {
            fn drop(&mut self) {
                self.0.change(&mut self.0.counts(), |counts| counts.blocked -= 1);
            }
        }
        if self.change(&mut self.counts(), |counts| counts.blocked += 1) {
            self.change.notify_all();
        }
        Blocked(self)
    }

    /// Numbers a stand-in as no longer at work, because the pool is over or the worker has no thread.
    pub(crate) fn end(&self) {
        self.change(&mut self.counts(), |counts| counts.active -= 1);
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::thread;
    use std::time::{Duration, Instant};

    use filch_queue::{Adws, ChaseLev, Lace, PdqRAsync};

    use crate::machine::described::Described;
    use crate::pool::{Heartbeat, Queued, Request, Split, Wool};
    use crate::worker::plumbing::Pool;
    use crate::{Builder, ThreadPool, current_index};

    const WORKERS: usize = 4;

    fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < Duration::from_secs(120), "{what} does not happen");
        }
    }

    fn grant(machine: &Described, processors: &str) {
        machine.write("sys/fs/cgroup/cpu.max", &format!("{processors} 100000"));
    }

    fn with_quota(name: &str, processors: &str) -> Described {
        let machine = Described::new(name);
        machine.write("proc/self/cgroup", "0::/\n");
        machine.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        grant(&machine, processors);
        machine
    }

    fn following<P: Pool>(machine: &Described) -> ThreadPool<P> {
        let mut builder = Builder::<P>::new().workers(WORKERS).follow_processors(true);
        builder.machine = machine.root().into();
        builder.build().unwrap()
    }

    /// Makes the next look come at once, runs some jobs, and returns the numbers of the workers that they ran on.
    fn workers_of_jobs<P: Pool>(pool: &ThreadPool<P>) -> HashSet<usize> {
        static SEEN: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
        pool.common.spares.as_ref().unwrap().look_soon();
        let own = std::ptr::from_ref(pool).addr();
        for _ in 0..16 {
            pool.spawn(move || {
                thread::sleep(Duration::from_micros(50));
                SEEN.lock().unwrap().push((own, current_index().unwrap()));
            });
        }
        pool.wait_idle();
        let mut seen = SEEN.lock().unwrap();
        let jobs: Vec<usize> = seen.iter().filter(|job| job.0 == own).map(|job| job.1).collect();
        seen.retain(|job| job.0 != own);
        assert_eq!(jobs.len(), 16, "each runs once");
        jobs.into_iter().collect()
    }

    fn sum<P: Pool>(pool: &ThreadPool<P>) -> u64 {
        pool.install(|| {
            let spawned = Mutex::new(0);
            let (sum, ()) = crate::join(
                || crate::map_reduce(0..1000_u64, 0, |n| n, |a, b| a + b),
                || crate::scope(|s| (0..10).for_each(|_| s.spawn(|_| *spawned.lock().unwrap() += 1))),
            );
            sum + spawned.into_inner().unwrap()
        })
    }

    fn follows<P: Pool>() {
        let machine = with_quota("every kind", "100000");
        let pool = following::<P>(&machine);
        assert_eq!((pool.workers(), pool.active_workers()), (WORKERS, 1));
        assert_eq!(workers_of_jobs(&pool).len(), 1);
        // The processors that the test may use are a limit, too.
        let most = thread::available_parallelism().unwrap().get().min(WORKERS);
        for round in 0..6 {
            let (quota, admitted) = if round % 2 == 0 { ("max", most) } else { ("50000", 1) };
            grant(&machine, quota);
            wait_for("a change", || {
                assert_eq!(sum(&pool), 499_510);
                workers_of_jobs(&pool);
                pool.active_workers() == admitted
            });
            wait_for("work on as many workers", || (workers_of_jobs(&pool).len() > 1) == (admitted > 1));
            // A broadcast runs on all workers all the same.
            assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn every_kind_of_pool_follows_a_quota_that_changes() {
        follows::<Split>();
        follows::<Wool>();
        follows::<Queued<ChaseLev>>();
        follows::<Queued<Lace>>();
        follows::<Queued<Adws>>();
        follows::<Queued<PdqRAsync>>();
        follows::<Heartbeat<ChaseLev, Request>>();
    }

    #[test]
    fn an_explicit_number_of_workers_and_pinned_workers_do_not_follow() {
        let machine = with_quota("fixed", "100000");
        let built = |builder: Builder| {
            let mut builder = builder;
            builder.machine = machine.root().into();
            let pool = builder.build().unwrap();
            (pool.workers() == pool.active_workers(), pool.common.spares.is_none())
        };
        assert_eq!(built(Builder::new().workers(3)), (true, true));
        assert_eq!(built(Builder::new().pin(true)), (true, true));
        assert_eq!(built(Builder::new().pin(true).follow_processors(true)), (true, true));
        assert_eq!(built(Builder::new().workers(3).follow_processors(true)), (false, false));
        let mut default = Builder::<Split>::new();
        default.machine = machine.root().into();
        let pool = default.build().unwrap();
        let processors = thread::available_parallelism().unwrap().get();
        assert_eq!((pool.workers(), pool.active_workers()), (processors.min(4), 1), "room for four times the quota");
    }

    #[test]
    fn a_worker_in_the_middle_of_a_task_gets_help_when_there_are_more_processors() {
        if thread::available_parallelism().unwrap().get() == 1 {
            return;
        }
        let machine = with_quota("watched", "100000");
        let pool = following::<Split>(&machine);
        let spares = pool.common.spares.as_ref().unwrap();
        for _ in 0..3 {
            pool.install(|| {
                assert_eq!(pool.active_workers(), 1);
                grant(&machine, "max");
                // This worker neither steals nor sleeps, so it does not ask.
                wait_for("help", || pool.active_workers() > 1);
            });
            grant(&machine, "100000");
            wait_for("a change", || {
                workers_of_jobs(&pool);
                pool.active_workers() == 1
            });
            wait_for("the end of the watch", || !spares.counts().is_watched);
        }
    }

    /// A worker that blocks is not at work.
    #[test]
    fn workers_without_processor_time_stand_in_for_those_that_block() {
        let machine = with_quota("blocking", "100000");
        let pool = following::<Split>(&machine);
        let (sender, receiver) = std::sync::mpsc::channel();
        let received = pool.install(move || {
            crate::spawn(move || sender.send(current_index()).unwrap());
            crate::blocking(|| (receiver.recv().unwrap(), current_index()))
        });
        assert!(received.0.is_some() && received.0 != received.1, "{received:?}");
    }
}
