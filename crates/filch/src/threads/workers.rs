//! The part of the [`Builder`] that sets the workers: how many there are, how many work, and where.

use crate::machine::processors::{Allowed, Places};
use crate::machine::topology::CoreKind;
use crate::protocol::state::MAX_WORKERS;
#[cfg(doc)]
use crate::threads::thread_pool::ThreadPool;
use crate::threads::{builder::Builder, defaults::workers_by_environment, error::BuildError};
use crate::worker::plumbing::Pool;

impl<P: Pool> Builder<P> {
    /// Sets the number of workers. Default: the environment variable `FILCH_WORKERS`, else the number of processors
    /// that the current thread may use, but at most four times those that a container's quota grants. [At any
    /// time](Self::follow_processors), only as many of these workers work as processors and quota allow.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(3).build()?;
    /// assert_eq!(pool.workers(), 3);
    /// assert!(filch::ThreadPool::builder().workers(0).build().is_err());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets whether the number of workers that work at once follows the processors that they may use and, in
    /// containers, the quota of processor time (control groups of Linux, version 1 or 2; a part of a processor counts
    /// as one). Default: yes, unless [`workers`](Self::workers) or `FILCH_WORKERS` says how many there are. Never for
    /// [pinned](Self::pin) workers.
    ///
    /// [`ThreadPool::workers`] does not change. If processors or quota fall below that number, surplus workers finish
    /// the work that they have begun, and sleep until there is room again; meanwhile they are [spares](Self::spares)
    /// for workers that block. Workers ask the system once a second, but not while all sleep, so a change takes effect
    /// a second later, and an idle pool costs nothing.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(64).follow_processors(true).build()?;
    /// let processors = std::thread::available_parallelism().map_or(1, usize::from);
    /// assert_eq!(pool.workers(), 64);
    /// assert!((1..=64).contains(&pool.active_workers()));
    /// println!("{} of 64 workers for {processors} processors", pool.active_workers());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn follow_processors(mut self, follow: bool) -> Self {
        self.follows = Some(follow);
        self
    }

    /// Sets the number of spare workers, each of which works while another one [blocks](crate::blocking). Default:
    /// none.
    ///
    /// They have the numbers after those of the other workers, and [count](ThreadPool::workers) as workers; a
    /// [broadcast](ThreadPool::broadcast) runs on them too. When no longer needed, a spare first ends its work.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).spares(1).build()?;
    /// assert_eq!(pool.workers(), 3);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn spares(mut self, spares: usize) -> Self {
        self.spares = spares;
        self
    }

    /// Sets whether to pin each worker to its own processor. Default: no. Ignored where the system cannot pin. Where
    /// the system tells which processors share a core (Linux), workers share one only if there are more workers than
    /// cores. The memory of a pinned worker (its deque, its counters and all else that is its own) is first written
    /// from its processor, so that a machine with several memory nodes takes it from the nearest.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).pin(true).build()?;
    /// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// [Pins](Self::pin) each worker to its own processor of this kind; to one of any kind, if the current thread may
    /// use none of this kind, or the system does not tell kinds (Linux does). Unless the number of workers [is
    /// set](Self::workers), there is one for each such processor.
    ///
    /// ```
    /// use filch::{CoreKind, ThreadPool};
    ///
    /// let pool = ThreadPool::builder().pin_to(CoreKind::Efficiency).build()?;
    /// assert!(pool.workers() >= 1);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn pin_to(mut self, cores: CoreKind) -> Self {
        (self.pin, self.cores) = (true, Some(cores));
        self
    }

    /// Returns the processor of each pinned worker; none if workers are not pinned.
    pub(crate) fn places(&self) -> Places {
        let all = Places::if_pinned(self.pin, &self.machine);
        self.cores.map_or(all.clone(), |kind| all.only(kind, &self.machine))
    }

    /// Settles, and returns, the number of workers, and whether they follow the processors.
    pub(crate) fn settle_workers(&mut self) -> Result<usize, BuildError> {
        let asked = match self.workers {
            None => workers_by_environment()?,
            asked => asked,
        };
        self.follows = Some(self.follows.unwrap_or(asked.is_none()) && !self.pin);
        if let Some(workers) = asked {
            return Ok(workers);
        }
        let allowed = self.allowed();
        self.allowed = Some(allowed);
        let processors = match self.cores {
            Some(_) => self.places().len().max(1).min(allowed.at_once()),
            None if self.pin => allowed.at_once(),
            None => allowed.with_room(),
        };
        Ok(processors.min(MAX_WORKERS))
    }

    /// Returns what the workers may use now, or could use when their number was settled. This may read files.
    pub(crate) fn allowed(&self) -> Allowed {
        let to = if self.unpin { Allowed::to_process } else { Allowed::to_this_thread };
        self.allowed.unwrap_or_else(|| to(&self.machine))
    }
}
