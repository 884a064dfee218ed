//! A team: threads and queues for several runs.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use filch_memory::Native;
use filch_queue::{ChaseLev, Delivery, Padded, Queue};

use super::blocks::Spare;
use super::shared::{Parts, Shared};
use super::worker::JobWorker;
use crate::loops::stop::Stop;
use crate::teams::team::Members;
use crate::teams::worker_queue::{Tally, WorkerQueue};
use crate::unwind::abort_on_panic;

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    /// The body's result.
    pub result: R,
    /// The tally of each worker.
    pub tallies: Vec<Tally>,
    /// Whether all jobs were run: neither [`Stop::stop`] nor a deadline ended the run.
    pub is_complete: bool,
}

/// Threads and queues for jobs, kept from one run to the next. [`Jobs::start`](super::Jobs::start) makes a team.
///
/// The calling thread is the first worker. Between runs the other threads sleep, or [spin](crate::Idle::Spin); dropping
/// the team joins them. A team survives a run whose job panics or that is stopped, but a [stopped](Stop) team stays
/// stopped.
///
/// ```
/// use filch::jobs::Jobs;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let mut team = Jobs::new(2).start()?;
/// for jobs in 1..10 {
///     let count = AtomicU32::new(0);
///     team.run(|w| w.spawn_all((0..jobs).map(|_| |_: &mut _| _ = count.fetch_add(1, Ordering::Relaxed))));
///     assert_eq!(count.into_inner(), jobs);
/// }
/// # Ok::<(), filch::jobs::StartError>(())
/// ```
pub struct Team<Q: Queue<Native> = ChaseLev> {
    members: Members<Q>,
    stop: Stop,
    spare: Arc<Spare>,
    parts: Parts,
}

impl<Q: Queue<Native>> fmt::Debug for Team<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team")
            .field("queue", &Q::PROMISES.name)
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

/// A worker in a run: its queue, which the run borrows, and its tally, once it has left.
struct Member<Q: Queue<Native>> {
    queue: Option<WorkerQueue<Q>>,
    tally: Tally,
}

impl<Q: Queue<Native>> Member<Q> {
    /// Runs the worker's part, and takes its queue back.
    fn take_part<'s, 'env: 's, R>(
        &mut self,
        index: usize,
        shared: &'s Shared<'s>,
        part: impl FnOnce(&mut JobWorker<'s, 'env, Q>) -> R,
    ) -> Option<R> {
        let mut worker = JobWorker::new(index, self.queue.take()?, shared);
        let result = part(&mut worker);
        let (queue, tally) = worker.leave();
        (self.queue, self.tally) = (Some(queue), tally);
        Some(result)
    }
}

impl<Q: Queue<Native>> Team<Q> {
    pub(super) fn new(members: Members<Q>, stop: Stop, spare: Arc<Spare>, parts: Parts) -> Self {
        Self { members, stop, spare, parts }
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.members.queues.len()
    }

    /// Calls `f` on each worker's thread, with the worker's number: to prepare thread-local state before the first run.
    ///
    /// # Panics
    /// If `f` panics, with the payload of the first, once all calls have ended. In the child of a `fork()`, which does
    /// not have the threads.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let mut team = filch::jobs::Jobs::new(2).start()?;
    /// let called = Mutex::new([false; 2]);
    /// team.on_each(|worker| called.lock().unwrap()[worker] = true);
    /// assert_eq!(called.into_inner().unwrap(), [true; 2]);
    /// # Ok::<(), filch::worklist::StartError>(())
    /// ```
    pub fn on_each(&mut self, f: impl Fn(usize) + Sync) {
        self.members.on_each(f);
    }

    /// Returns the handle that stops the team's runs early, from any thread: the handle of the team's system.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// As [`Jobs::run`](super::Jobs::run).
    ///
    /// Cost: waking the threads, and some memory per worker.
    ///
    /// # Panics
    /// As [`Jobs::run`](super::Jobs::run); and in the child of a `fork()`, which does not have the threads.
    pub fn run<'env, R>(&mut self, body: impl for<'s> FnOnce(&mut JobWorker<'s, 'env, Q>) -> R) -> Outcome<R> {
        const {
            assert!(
                matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce),
                "the queue may return a task twice, but a job is gone once it has run"
            );
        };
        let Members { threads, queues } = &mut self.members;
        threads.check_process();
        let shared = Shared::new(&self.stop, &self.spare, self.parts);
        // Nothing unwinds from here until the queues are back.
        let member = |queue| Padded(Member { queue: Some(queue), tally: Tally::default() });
        let mut workers: Vec<Padded<Member<Q>>> = queues.drain(..).map(member).collect();
        let others = |index, member: &mut Padded<Member<Q>>| {
            // A panic here ends the process, because other workers use this worker's blocks.
            member.take_part(index, &shared, JobWorker::live);
        };
        let own = |member: &mut Padded<Member<Q>>| {
            let part = |worker: &mut JobWorker<'_, 'env, Q>| {
                let result = catch_unwind(AssertUnwindSafe(|| body(worker)));
                let result = result.map_err(|payload| shared.keep_panic(payload)).ok();
                worker.finish(worker.root().kin);
                worker.live();
                result
            };
            abort_on_panic("the first worker of a job system panicked", || member.take_part(0, &shared, part).flatten())
        };
        let result = threads.each(&mut workers, others, own);
        let is_complete = !shared.is_stopped();
        let (left, tallies) = workers.into_iter().map(|member| (member.0.queue, member.0.tally)).unzip();
        let left: Vec<Option<WorkerQueue<Q>>> = left;
        queues.extend(left.into_iter().flatten());
        // All jobs are over, so none is left. But a thief may still await an answer, which must not arrive during the
        // next run.
        let jobs: usize = queues.iter_mut().map(|queue| queue.drain().count()).sum();
        debug_assert_eq!(jobs, 0, "a job has been left in a queue");
        shared.panic.resume();
        let result = result.expect("a panic of the body is resumed");
        Outcome { result, tallies, is_complete }
    }
}
