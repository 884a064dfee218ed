//! The current worker's number, and yields to other tasks.

use std::thread;

use crate::fork::{front::Reach, here::Here, own::Own};
use crate::tasks::{handle::Worker, levels::Level};
use crate::worker::home::{Home, current_home};
use crate::worker::plumbing::Pool;

/// The number of the current worker in its pool; `None` outside all pools. This is [`Worker::index`] in closure style.
///
/// After a wait the number is the same; in a branch or an item that another worker runs, it is that worker's. Numbers
/// of different pools overlap.
///
/// Cost: a load from thread-local storage.
///
/// ```
/// assert_eq!(filch::current_index(), None);
/// let pool = filch::ThreadPool::new(2)?;
/// assert!(pool.install(filch::current_index).is_some_and(|index| index < 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
pub fn current_index() -> Option<usize> {
    current_home().map(|home| home.index)
}

impl Own<'_, Home> {
    /// Where the worker looks for something to run when its task yields.
    fn reach(self) -> Reach {
        if self.common.wait.is_strict() || self.is_stack_low() { Reach::Mail } else { Reach::All }
    }
}

/// Runs one other task on the current worker, if there is one, in the middle of the current task; otherwise yields the
/// processor. Returns whether it ran a task. Call it in a loop that waits for another task of the pool, and hold
/// nothing that such a task needs.
///
/// The task may be a job or a fork, of this worker or of another. This worker's newest comes first (in the pool
/// [`Split`](crate::pool::Split); other pools take the oldest of its forks). With
/// [`Wait::Leapfrog`](crate::Wait::Leapfrog) and [`Wait::Transitive`](crate::Wait::Transitive) a worker runs nothing
/// unrelated here, only a [broadcast](crate::broadcast); nor does a worker that has used half of its thread's stack.
/// Outside all pools it only yields the processor.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
/// use std::sync::Arc;
///
/// let pool = filch::ThreadPool::new(1)?;
/// pool.install(|| {
///     let done = Arc::new(AtomicBool::new(false));
///     let set = Arc::clone(&done);
///     filch::spawn(move || set.store(true, SeqCst));
///     while !done.load(SeqCst) {
///         filch::yield_now(); // the only worker runs the job here
///     }
/// });
/// # Ok::<(), filch::BuildError>(())
/// ```
pub fn yield_now() -> bool {
    let run = |home: Own<'_, Home>| Here::with(|here| here.run_one(home.reach())) == Some(true);
    let has_run = current_home().is_some_and(run);
    if !has_run {
        thread::yield_now();
    }
    has_run
}

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// [`yield_now`] in handle style.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.run(|mut w| {
    ///     w.spawn(move |_| sender.send("done").unwrap());
    ///     assert!(w.yield_now());
    /// });
    /// assert_eq!(receiver.try_recv(), Ok("done"));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn yield_now(&mut self) -> bool {
        let reach = self.seen().home().reach();
        let has_run = self.here().of_any().run_one(reach) == Some(true);
        if !has_run {
            thread::yield_now();
        }
        has_run
    }
}
