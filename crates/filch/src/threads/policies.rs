//! The part of the [`Builder`] that sets the [policies](crate::shared::policy) of workers without work.

use crate::shared::policy::{Idle, Leaps, OnLoss, Victims, Wait};
use crate::threads::builder::Builder;
use crate::worker::plumbing::Pool;

impl<P: Pool> Builder<P> {
    /// Sets what a worker may run while it waits for a stolen task.
    ///
    /// ```
    /// use filch::{ThreadPool, Wait};
    ///
    /// let pool = ThreadPool::builder().workers(2).wait(Wait::Leapfrog).build()?;
    /// assert_eq!(pool.wait(), Wait::Leapfrog);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Sets how often a worker that waits for a stolen task tries the task's thief before it looks further. Default:
    /// [by strategy](Leaps::ByStrategy).
    ///
    /// ```
    /// use filch::{Leaps, ThreadPool, Wait};
    ///
    /// let pool = ThreadPool::builder().workers(2).wait(Wait::Transitive).leaps(Leaps::Adaptive).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn leaps(mut self, leaps: Leaps) -> Self {
        self.leaps = leaps;
        self
    }

    /// Sets which victims a worker tries first. Default: [any](Victims::Random).
    ///
    /// ```
    /// use filch::{ThreadPool, Victims};
    ///
    /// let pool = ThreadPool::builder().workers(2).victims(Victims::Last).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn victims(mut self, victims: Victims) -> Self {
        self.habits.victims = victims;
        self
    }

    /// Sets what a thief does after it has lost a race for a task. Default: it [tries again](OnLoss::TryAgain).
    ///
    /// ```
    /// use filch::{OnLoss, ThreadPool};
    ///
    /// let pool = ThreadPool::builder().workers(2).on_loss(OnLoss::GiveUp).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn on_loss(mut self, on_loss: OnLoss) -> Self {
        self.habits.on_loss = on_loss;
        self
    }

    /// Sets what a worker does when it finds no work. Default: it [sleeps](Idle::Sleep).
    ///
    /// ```
    /// use filch::{Idle, ThreadPool};
    ///
    /// let pool = ThreadPool::builder().workers(2).idle(Idle::Spin).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn idle(mut self, idle: Idle) -> Self {
        self.habits.idle = idle;
        self
    }
}
