//! Two lanes for jobs: now, and whenever.
//!
//! Jobs of the second lane are in a queue of their own, which workers look at last. But now and then it is the lane's
//! [turn](crate::worker::turns), so that other jobs cannot keep it waiting for ever. A worker looks there first after
//! every 64 jobs, or 2048 if it always has jobs or forks of its own. Between two such turns, jobs from outside have a
//! turn.
//!
//! Invariant: if workers end their jobs, each job of either lane begins.

use crate::spawn::submit::Submitted;
use crate::tasks::handle::{Worker, with_handle};
use crate::tasks::levels::Level;
use crate::threads::thread_pool::ThreadPool;
use crate::worker::{home::current_home, plumbing::Pool};

impl<P: Pool> ThreadPool<P> {
    /// As [`ThreadPool::spawn`], for a job that can wait: a worker runs it when it finds nothing else to do. Such jobs
    /// run first in, first out. A busy worker takes one after 64 jobs, or after 2048 while it has jobs of its own.
    ///
    /// A running job is not interrupted: a long one should [spawn](crate::spawn_whenever) its parts, or
    /// [yield](crate::yield_now).
    ///
    /// Cost: an allocation and a push to a shared queue.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_whenever(move || sender.send("tidied up").unwrap());
    /// assert_eq!(receiver.recv(), Ok("tidied up"));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn spawn_whenever<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.common.hand_in_whenever(f);
    }

    /// As [`ThreadPool::submit`], for a job that can wait: see [`ThreadPool::spawn_whenever`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let sum = pool.submit_whenever(|| (1..=100).sum::<u32>());
    /// assert_eq!(sum.join().unwrap(), 5050);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn submit_whenever<F, R>(&self, f: F) -> Submitted<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (task, submitted) = Submitted::of(f);
        self.common.hand_in_whenever(task);
        submitted
    }
}

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// As [`Worker::spawn`], for a job that can wait: see [`ThreadPool::spawn_whenever`].
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = filch::ThreadPool::new(2)?;
    /// pool.run(|w| w.spawn_whenever(move |mut w| sender.send(w.join(|_| 6, |_| 7)).unwrap()));
    /// assert_eq!(receiver.recv(), Ok((6, 7)));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn spawn_whenever<F>(&self, task: F)
    where
        F: for<'b> FnOnce(Worker<'b, P>) + Send + 'static,
    {
        self.seen().home().common.hand_in_whenever(|| with_handle(task));
    }

    /// As [`Worker::submit`], for a job that can wait: see [`ThreadPool::spawn_whenever`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let later = pool.run(|w| w.submit_whenever(|mut w| w.join(|_| 6, |_| 7)));
    /// assert_eq!(later.join().unwrap(), (6, 7));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn submit_whenever<F, R>(&self, f: F) -> Submitted<R>
    where
        F: for<'b> FnOnce(Worker<'b, P>) -> R + Send + 'static,
        R: Send + 'static,
    {
        let (task, submitted) = Submitted::of(|| with_handle(f));
        self.seen().home().common.hand_in_whenever(task);
        submitted
    }
}

/// As [`spawn`](crate::spawn()), for a job that can wait: see [`ThreadPool::spawn_whenever`].
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// filch::spawn_whenever(move || sender.send("tidied up").unwrap());
/// assert_eq!(receiver.recv(), Ok("tidied up"));
/// ```
pub fn spawn_whenever<F>(task: F)
where
    F: FnOnce() + Send + 'static,
{
    match current_home() {
        Some(home) => home.common.hand_in_whenever(task),
        None => ThreadPool::global().spawn_whenever(task),
    }
}

/// As [`submit`](crate::submit()), for a job that can wait: see [`ThreadPool::spawn_whenever`].
///
/// ```
/// assert_eq!(filch::submit_whenever(|| 6 * 7).join().unwrap(), 42);
/// ```
pub fn submit_whenever<F, R>(f: F) -> Submitted<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (task, submitted) = Submitted::of(f);
    match current_home() {
        Some(home) => home.common.hand_in_whenever(task),
        None => ThreadPool::global().common.hand_in_whenever(task),
    }
    submitted
}
