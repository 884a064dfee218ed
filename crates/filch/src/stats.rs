//! Counters, which are always on, because only cold paths count.

use std::fmt;

use filch_queue::{Count, Counted};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The counters of one worker, which only that worker writes.
        #[derive(Debug)]
        #[repr(align(128))]
        pub(crate) struct Counters {
            $(pub(crate) $name: Count,)+
        }

        impl Counters {
            pub(crate) fn new() -> Self {
                Self { $($name: Count::default(),)+ }
            }

            pub(crate) fn read(&self, queue: Counted, peak_depth: u64) -> WorkerStats {
                WorkerStats { $($name: self.$name.get(),)+ queue, peak_depth }
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
            /// What was counted at queues whose owners answer thieves.
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
                own.chain(self.queue.each()).chain([("peak_depth", self.peak_depth)])
            }

            /// Adds another worker's counters, and takes the larger of the depths.
            fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)+
                self.queue = self.queue.plus(&other.queue);
                self.peak_depth = self.peak_depth.max(other.peak_depth);
            }

            /// Returns what was counted since `earlier`, a reading of the same worker. The depth is not a count, and
            /// stays.
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
                Self { $($name: self.$name - earlier.$name,)+ queue, peak_depth: self.peak_depth }
            }
        }
    };
}

counters! {
    /// Tasks taken from other workers while idle.
    steals,
    /// Attempts to steal, successful or not.
    attempts,
    /// Attempts that lost a race for a task: [what then](crate::OnLoss).
    lost,
    /// Attempts that were refused, though there may have been a task: too close to the owner, for instance.
    aborted,
    /// Tasks taken from other workers while waiting for a stolen one.
    leaps,
    /// Times the shared part grew, because the worker shared tasks.
    grows,
    /// Times the shared part shrank, because the worker took tasks back.
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
