//! Counters. They are always on, because only cold paths count.

use std::fmt;
use std::time::Instant;

use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::{Count, Counted};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The counters of one worker, which only that worker writes.
        #[derive(Debug)]
        #[repr(align(128))]
        pub(crate) struct Counters {
            $(pub(crate) $name: Count,)+
            pub(crate) idle: IdleTime,
        }

        impl Counters {
            pub(crate) fn new() -> Self {
                Self { $($name: Count::default(),)+ idle: IdleTime::new() }
            }

            pub(crate) fn read(&self, queue: Counted, peak_depth: u64) -> WorkerStats {
                let own = WorkerStats { $($name: self.$name.get(),)+ idle_ns: self.idle.read(), queue, peak_depth };
                WorkerStats { grows: own.grows + queue.grows, shrinks: own.shrinks + queue.shrinks, ..own }
            }
        }

        /// The counters of one worker, or of all workers together, since their pool started.
        ///
        /// ```
        /// let pool = filch::ThreadPool::new(2)?;
        /// pool.run(|mut w| w.join(|_| 1, |_| 2));
        /// let total = pool.stats().total();
        /// assert!(total.steals <= 2, "there is only one task besides the root");
        /// # Ok::<(), filch::BuildError>(())
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct WorkerStats {
            $($(#[$doc])* pub $name: u64,)+
            /// Nanoseconds that the worker was without work: asleep, or looking for work after it had found none.
            pub idle_ns: u64,
            /// What the pool's queues have counted, if their algorithms count.
            pub queue: Counted,
            /// The largest number of jobs on the worker's task stack at once; 0 for pools without a task stack.
            pub peak_depth: u64,
        }

        impl WorkerStats {
            /// Returns each counter and its name, in a fixed order.
            ///
            /// ```
            /// let pool = filch::ThreadPool::new(2)?;
            /// for (name, count) in pool.stats().total().each() {
            ///     println!("{name}: {count}");
            /// }
            /// # Ok::<(), filch::BuildError>(())
            /// ```
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                let own = [$((stringify!($name), self.$name),)+].into_iter();
                let own = own.chain([("idle_ns", self.idle_ns)]);
                // The pool and its queue may both count `grows` and `shrinks`; `own` has the sums under these names.
                let of_queue = self.queue.each().filter(|(name, _)| !matches!(*name, "grows" | "shrinks"));
                own.chain(of_queue).chain([("peak_depth", self.peak_depth)])
            }

            /// Adds another worker's counters, and takes the larger of the depths.
            fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)+
                self.idle_ns += other.idle_ns;
                self.queue = self.queue.plus(&other.queue);
                self.peak_depth = self.peak_depth.max(other.peak_depth);
            }

            /// Returns what was counted since `earlier`, a reading of the same worker. The peak depth is not a count,
            /// and stays as it is.
            ///
            /// ```
            /// let pool = filch::ThreadPool::new(1)?;
            /// let before = pool.stats().workers[0];
            /// assert_eq!(pool.stats().workers[0].since(&before).steals, 0);
            /// # Ok::<(), filch::BuildError>(())
            /// ```
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                let queue = self.queue.since(&earlier.queue);
                let idle_ns = self.idle_ns - earlier.idle_ns;
                Self { $($name: self.$name - earlier.$name,)+ idle_ns, queue, peak_depth: self.peak_depth }
            }
        }
    };
}

counters! {
    /// Tasks taken from other workers while idle.
    steals,
    /// Attempts to steal, successful or not.
    attempts,
    /// Attempts that lost a race for a task: [`OnLoss`](crate::OnLoss) says what the thief does then.
    lost,
    /// Attempts that were refused, though there may have been a task: for instance, one too close to the owner.
    aborted,
    /// Tasks that came to this worker from another worker's queue, including all tasks of a steal that takes several,
    /// and jobs that another worker has spawned.
    migrations,
    /// Tasks taken from other workers while waiting for a stolen one.
    leaps,
    /// Times the shared part grew, because the worker shared tasks. On a private stack, tasks given to thieves.
    grows,
    /// Times the shared part shrank, because the worker took tasks back, or tried to and thieves were faster. Each time
    /// costs a fence, or an update of a shared word.
    shrinks,
    /// Requests for work written to a victim's limits.
    requests,
    /// Times the worker shared another's private tasks, because that worker was running a long task.
    seizures,
    /// Times the worker went to sleep.
    parks,
    /// Times the worker woke another.
    wakeups,
    /// Times an [interrupt](crate::Interrupts) made the worker check for thieves that wait for an answer.
    interrupts,
}

/// How long a worker has been without work, in one word, so that it can be read at any time.
#[derive(Debug)]
pub(crate) struct IdleTime {
    born: Instant,
    /// While the worker is busy: the idle nanoseconds so far. While it is idle: the top bit, and when the idle time
    /// would have begun, in nanoseconds since `born`, had it come in one piece.
    word: <Native as Memory>::AtomicU64,
}

impl IdleTime {
    const IDLE: u64 = 1 << 63;

    fn new() -> Self {
        Self { born: Instant::now(), word: Atomic::new(0) }
    }

    /// Returns the time since the worker was made, in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        self.born.elapsed().as_nanos() as u64
    }

    /// Called when the worker finds nothing; returns the time if it was busy. Only the worker itself may call this.
    pub(crate) fn begin(&self) -> Option<u64> {
        // Relaxed, all: there is one writer, and readers want a statistic.
        let word = self.word.load(Ordering::Relaxed);
        let was_busy = word & Self::IDLE == 0;
        was_busy.then(|| {
            let now = self.now();
            self.word.store((now - word) | Self::IDLE, Ordering::Relaxed);
            now
        })
    }

    /// Called when the worker has found something, or its wait is over; returns the time if it was idle. Only the
    /// worker itself may call this.
    pub(crate) fn end(&self) -> Option<u64> {
        let word = self.word.load(Ordering::Relaxed);
        let was_idle = word & Self::IDLE != 0;
        was_idle.then(|| {
            let now = self.now();
            self.word.store(now - (word & !Self::IDLE), Ordering::Relaxed);
            now
        })
    }

    /// Whether the worker is idle. A snapshot.
    #[cfg(feature = "timeline")]
    pub(crate) fn is_going_on(&self) -> bool {
        self.word.load(Ordering::Relaxed) & Self::IDLE != 0
    }

    fn read(&self) -> u64 {
        let word = self.word.load(Ordering::Relaxed);
        if word & Self::IDLE == 0 { word } else { self.now() - (word & !Self::IDLE) }
    }
}

/// The counters of all workers of a pool: [`ThreadPool::stats`](crate::ThreadPool::stats).
///
/// ```
/// let pool = filch::ThreadPool::new(2)?;
/// let before = pool.stats();
/// pool.run(|mut w| w.join(|_| 1, |_| 2));
/// let counted = pool.stats().since(&before);
/// assert_eq!(counted.workers.len(), 2);
/// assert!(counted.total().leaps <= 1, "there is one fork");
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// One per worker, in the order of their numbers.
    pub workers: Vec<WorkerStats>,
}

impl Stats {
    /// Returns the sum over all workers; `peak_depth` is the largest.
    pub fn total(&self) -> WorkerStats {
        let mut total = WorkerStats::default();
        for worker in &self.workers {
            total.add(worker);
        }
        total
    }

    /// Returns what was counted since `earlier`, a reading of the same pool.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let workers = self.workers.iter().zip(&earlier.workers).map(|(now, then)| now.since(then));
        Self { workers: workers.collect() }
    }
}

impl fmt::Display for WorkerStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.each().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{} {value}", name.replace('_', " "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn each_count_has_one_name_whoever_counts_it() {
        let (counters, queue) = (Counters::new(), filch_queue::Counts::default());
        counters.grows.bump();
        queue.grows.add(2);
        queue.shrinks.bump();
        let stats = counters.read(queue.read(), 0);
        assert_eq!((stats.grows, stats.shrinks), (3, 1));
        let mut names: Vec<&str> = stats.each().map(|(name, _)| name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(stats.each().any(|count| count == ("grows", 3)));
    }

    /// The idle time can be read while it lasts and afterwards, and is never longer than by the clock.
    #[test]
    fn idle_time_is_what_lies_between_begin_and_end() {
        const WHILE: Duration = Duration::from_millis(2);
        let idle = IdleTime::new();
        assert_eq!(idle.read(), 0);
        idle.end();
        assert_eq!(idle.read(), 0);
        let start = Instant::now();
        idle.begin();
        sleep(WHILE);
        idle.begin();
        let meanwhile = idle.read();
        assert!(meanwhile >= WHILE.as_nanos() as u64);
        idle.end();
        let total = idle.read();
        assert!((meanwhile..=start.elapsed().as_nanos() as u64).contains(&total));
        sleep(WHILE);
        assert_eq!(idle.read(), total);
        idle.begin();
        idle.end();
        assert!(idle.read() >= total);
    }
}
