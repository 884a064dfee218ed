//! Broadcasts: the same closure on every worker.
//!
//! Invariant: a broadcast does not return before its jobs have ended, each on its own worker.

use std::iter::repeat_with;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crossbeam_queue::SegQueue;

use crate::fork::spawned::{MayDangle, Spawned};
use crate::shared::common::Common;
use crate::tasks::handle::{Worker, with_handle};
use crate::tasks::levels::Level;
use crate::threads::{enter::IsSend, thread_pool::ThreadPool};
use crate::unwind::{AbortOnUnwind, FirstPanic};
use crate::worker::latch::{self, Latch, Waiter};
use crate::worker::{home::current_home, plumbing::Pool};

impl Common {
    /// Runs `op` once on every worker, with its number, and returns the results by number. A worker that waits for the
    /// others runs nothing unrelated meanwhile if `is_confined`.
    ///
    /// # Panics
    /// If `op` panics, with the payload of the first such worker by number, once all have ended; as
    /// [`Common::assert_here`] and [`Common::need_all`]; and on a worker that leaves.
    pub(crate) fn broadcast<R: Send>(&self, is_confined: bool, op: &(impl Fn(usize) -> R + Sync)) -> Vec<R> {
        self.assert_here();
        assert!(
            self.current_home().is_none() || !self.may_miss_mail(),
            "the workers of this pool leave, so they run no broadcast"
        );
        self.need_all();
        let place = || Mutex::new(None::<thread::Result<R>>);
        let outcomes: Vec<_> = repeat_with(place).take(self.workers()).collect();
        let latch = Latch::new(self.workers(), Waiter::current());
        // The jobs borrow from this frame.
        let jobs = AbortOnUnwind("a thread panicked while others ran its broadcast");
        let job = |(index, outcome): (usize, &Mutex<_>)| {
            let over = IsSend((&raw const latch).cast_mut());
            let captured = MayDangle::new((outcome, op));
            // SAFETY: what the job borrows lives until its last act, which ends the latch; and it does not unwind.
            unsafe {
                Spawned::new(move || {
                    let over = over;
                    let (outcome, op) = captured.into_inner();
                    let result = catch_unwind(AssertUnwindSafe(|| op(index)));
                    *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                    Latch::end(over.0);
                })
            }
        };
        let posts: Vec<_> = outcomes.iter().enumerate().map(job).collect();
        self.post_to_each(posts);
        let nothing = is_confined.then(SegQueue::new);
        latch::wait(&latch, nothing.as_ref(), false);
        std::mem::forget(jobs);
        let panic = FirstPanic::default();
        let results = outcomes.into_iter().filter_map(|outcome| {
            let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
            outcome.expect("every worker has run it").map_err(|payload| panic.keep(payload)).ok()
        });
        let results = results.collect();
        panic.resume();
        results
    }
}

/// Whether the current thread is a worker that runs nothing unrelated while it waits.
fn is_strict_here() -> bool {
    current_home().is_some_and(|home| home.common.wait.is_strict())
}

impl<P: Pool> ThreadPool<P> {
    /// Runs `op` once on every worker, with its handle, and returns the results by the workers' numbers. Use it to set
    /// up or collect data of threads or workers.
    ///
    /// A worker runs `op` after the jobs that it has spawned, or while it waits; in the middle of a long task, it first
    /// ends the task. A caller from outside sleeps meanwhile; a worker of the pool runs other work, or with
    /// [`Wait::Leapfrog`](crate::Wait::Leapfrog) and [`Wait::Transitive`](crate::Wait::Transitive) nothing else.
    ///
    /// Cost: an allocation for each worker, and a wake-up for each sleeping one; some microseconds.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(3)?;
    /// assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2]);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `op` panics, once all have ended, with the payload of the first such worker by number. If the system refuses
    /// a worker its thread, which a pool starts when it is first needed. Also in a hook of
    /// [`Builder::on_exit`](crate::Builder::on_exit).
    pub fn broadcast<F, R>(&self, op: F) -> Vec<R>
    where
        F: for<'b> Fn(Worker<'b, P>) -> R + Sync,
        R: Send,
    {
        self.common.broadcast(is_strict_here(), &|_| with_handle(&op))
    }
}

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// [`ThreadPool::broadcast`] from a task.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let squares = pool.run(|mut w| w.broadcast(|w| w.index() * w.index()));
    /// assert_eq!(squares, [0, 1]);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`ThreadPool::broadcast`].
    pub fn broadcast<F, R>(&mut self, op: F) -> Vec<R>
    where
        F: for<'b> Fn(Worker<'b, P>) -> R + Sync,
        R: Send,
    {
        let home = self.seen().home();
        self.install(|| home.common.broadcast(is_strict_here(), &|_| with_handle(&op)))
    }
}

/// Runs `op` once on every worker of the current pool or, outside all pools, of the [global pool](ThreadPool::global),
/// with the worker's number, and returns the results by number. This is [`ThreadPool::broadcast`] in closure style.
///
/// ```
/// let numbers = filch::broadcast(|worker| worker);
/// assert!(numbers.into_iter().eq(0..filch::ThreadPool::global().workers()));
/// ```
///
/// # Panics
/// As [`ThreadPool::broadcast`].
pub fn broadcast<F, R>(op: F) -> Vec<R>
where
    F: Fn(usize) -> R + Sync,
    R: Send,
{
    match current_home() {
        Some(home) => home.common.broadcast(is_strict_here(), &op),
        None => ThreadPool::global().common.broadcast(false, &op),
    }
}
