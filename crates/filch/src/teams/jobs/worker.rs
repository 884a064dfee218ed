//! A worker of a run, which makes jobs, runs them, and waits for them.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use filch_memory::Native;
use filch_queue::{ChaseLev, Queue, Task};

use super::blocks::{Blocks, JobPlace, KinPtr};
use super::handle::Job;
use super::shared::{Abandoned, Parts, Shared};
use crate::protocol::lineage::Descent;
use crate::teams::worker_queue::{Tally, WorkerQueue};
use crate::worker::patience::Patience;

/// A worker of a run, as a job sees it: to make jobs and wait for them.
///
/// `'s` is the run; `'env` is the lifetime of borrows from its surroundings.
///
/// Whoever holds the reference is the worker: no part of the worker belongs to a thread, so a job may lend the
/// reference to a branch or to another thread.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let sum = &AtomicU32::new(0);
/// filch::jobs::Jobs::new(2).run(|w| {
///     let spawns = || {
///         w.spawn(|_| _ = sum.fetch_add(1, Ordering::Relaxed));
///         w.wait_for_children();
///         sum.load(Ordering::Relaxed)
///     };
///     let (spawned, other) = filch::join(spawns, || 2);
///     assert_eq!((spawned, other), (1, 2));
/// });
/// ```
///
/// ```compile_fail
/// filch::jobs::Jobs::new(2).run(|w| {
///     filch::join(|| w.spawn(|_| ()), || w.spawn(|_| ())); // two are not the worker at once
/// });
/// ```
pub struct JobWorker<'s, 'env: 's, Q: Queue<Native> = ChaseLev> {
    index: usize,
    pub(super) queue: WorkerQueue<Q>,
    blocks: Blocks<'s>,
    /// The job being run, which is unfinished; for the caller's worker, at the bottom, the run itself.
    pub(super) current: KinPtr<'s>,
    /// Parts of one job that are finished but not yet subtracted. This does not delay the job's end: while there are
    /// such parts, this worker is running another part of the job, or about to look for its next job.
    put_off: PutOff<'s>,
    /// Room for jobs that are made together; otherwise empty.
    pub(super) batch: Vec<Task>,
    /// A copy of `parts` in [`Shared`].
    parts: Parts,
    shared: &'s Shared<'s>,
    /// Makes both lifetimes invariant.
    run: PhantomData<&'s mut &'env mut ()>,
}

// SAFETY: the queue's owner and thieves are `Send`. The pointers are to jobs, of which other threads use only the
// counts, which are atomics, and to blocks, which are only this worker's to fill; and one thread at a time has the
// worker.
unsafe impl<Q: Queue<Native>> Send for JobWorker<'_, '_, Q> {}

/// A number of finished parts of a job.
struct PutOff<'s> {
    kin: KinPtr<'s>,
    parts: u32,
}

impl<Q: Queue<Native>> fmt::Debug for JobWorker<'_, '_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobWorker")
            .field("index", &self.index)
            .field("tally", &self.queue.tally)
            .finish_non_exhaustive()
    }
}

impl<'s, 'env: 's, Q: Queue<Native>> JobWorker<'s, 'env, Q> {
    /// Creates a worker on an empty queue.
    pub(super) fn new(index: usize, queue: WorkerQueue<Q>, shared: &'s Shared<'s>) -> Self {
        let blocks = Blocks::new(index, shared.spare);
        let root = KinPtr::root(&shared.root);
        let put_off = PutOff { kin: root, parts: 0 };
        let (batch, parts) = (Vec::new(), shared.parts);
        Self { index, queue, blocks, current: root, put_off, batch, parts, shared, run: PhantomData }
    }

    /// Returns the worker's queue and tally when the run is over.
    pub(super) fn leave(mut self) -> (WorkerQueue<Q>, Tally) {
        // No thief is to wait for a worker that has gone.
        self.queue.rest();
        let tally = self.queue.take_tally();
        (self.queue, Tally { pushed: self.blocks.taken(), ..tally })
    }

    /// The worker's number, below [`JobWorker::workers`].
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.queue.workers()
    }

    /// Makes a child of the current job, for this worker or a thief. The body given to `run` makes children of the run.
    ///
    /// Cost: two copies of the closure, which needs a box if it has more than 40 bytes or an alignment of more than 8;
    /// and at most two atomic updates besides those of the queue.
    ///
    /// ```
    /// use filch::jobs::{JobWorker, Jobs};
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// fn count<'s>(w: &mut JobWorker<'s, '_>, nodes: &'s AtomicU32, depth: u32) {
    ///     nodes.fetch_add(1, Ordering::Relaxed);
    ///     if depth > 0 {
    ///         w.spawn(move |w| count(w, nodes, depth - 1));
    ///         w.spawn(move |w| count(w, nodes, depth - 1));
    ///     }
    /// }
    /// let nodes = AtomicU32::new(0);
    /// Jobs::new(2).run(|w| count(w, &nodes, 5));
    /// assert_eq!(nodes.into_inner(), 63);
    /// ```
    ///
    /// # Panics
    /// If the job has more than 2³⁰ unfinished children.
    #[inline]
    pub fn spawn<F: FnOnce(&mut Self) + Send + 's>(&mut self, work: F) {
        self.start_in(self.current, work, false);
    }

    /// Spawns all of `works`, as [`JobWorker::spawn`] does, with one update for 256 children, and one
    /// [push](filch_queue::Owner::push_many) to the queue.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let sum = &AtomicU32::new(0);
    /// filch::jobs::Jobs::new(2).run(|w| {
    ///     w.spawn_all((1..=100).map(|n| move |_: &mut _| _ = sum.fetch_add(n, Ordering::Relaxed)));
    ///     w.wait_for_children();
    ///     assert_eq!(sum.load(Ordering::Relaxed), 5050);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`JobWorker::spawn`]; or if the iterator panics, after spawning the work that it had returned.
    #[inline]
    pub fn spawn_all<F: FnOnce(&mut Self) + Send + 's>(&mut self, works: impl IntoIterator<Item = F>) {
        let mut works = works.into_iter();
        loop {
            let mut batch = Batch { tasks: std::mem::take(&mut self.batch), worker: self };
            for work in works.by_ref().take(BATCH) {
                let job = batch.worker.make(batch.worker.current, work, false);
                batch.tasks.push(Task::from_ptr(job.kin.place()));
            }
            if batch.tasks.len() < BATCH {
                return;
            }
        }
    }

    /// As [`JobWorker::spawn`], and returns a handle to wait for the job.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let done = &AtomicBool::new(false);
    /// filch::jobs::Jobs::new(2).run(|w| {
    ///     // The job includes what it spawns.
    ///     let job = w.start(|w| w.spawn(|_| done.store(true, Ordering::Relaxed)));
    ///     w.wait(job);
    ///     assert!(done.load(Ordering::Relaxed));
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`JobWorker::spawn`].
    #[inline]
    pub fn start<F: FnOnce(&mut Self) + Send + 's>(&mut self, work: F) -> Job<'s> {
        self.start_in(self.current, work, true)
    }

    /// As [`JobWorker::start`], but makes a child of an ancestor of the current job, for instance of the
    /// [run](JobWorker::root). The ancestor is then not over before the child.
    ///
    /// Cost: a step for each job between the two.
    ///
    /// # Panics
    /// As [`JobWorker::spawn`]; and if `ancestor` is not an ancestor.
    pub fn start_under<F: FnOnce(&mut Self) + Send + 's>(&mut self, ancestor: Job<'s>, work: F) -> Job<'s> {
        // The current job and its ancestors are unfinished, so their places are theirs.
        let mut line = std::iter::successors(Some(self.current), |kin| kin.parent());
        let is_ancestor = ancestor.kin == self.root().kin || line.any(|kin| kin == ancestor.kin);
        assert!(is_ancestor && !ancestor.is_over(), "only ancestors of the current job can get children from it");
        self.start_in(ancestor.kin, work, true)
    }

    /// Returns the current job.
    pub fn current(&mut self) -> Job<'s> {
        Job { kin: self.current, life: self.current.make_known() }
    }

    /// Returns the run itself, the ancestor of all jobs.
    pub fn root(&self) -> Job<'s> {
        Job { kin: KinPtr::root(&self.shared.root), life: self.shared.root_life }
    }

    /// Waits until a descendant of the current job and all its own descendants are over. Meanwhile the worker runs
    /// other jobs.
    ///
    /// It cannot deadlock: each waiting job began after the job, if any, that its wait delays. The stack must have room
    /// for nested waiting jobs: few on last-in, first-out queues, on others possibly all jobs.
    ///
    /// Once the run is stopped, jobs are dropped unrun, so the wait ends soon.
    ///
    /// # Panics
    /// If the job is neither a descendant nor over. If any job of the run has panicked, in which case the run panics
    /// too.
    pub fn wait(&mut self, job: Job<'s>) {
        if !job.is_over() {
            let is_descendant = match job.kin.descent_from(job.life, self.current) {
                Descent::Descendant => job.kin != self.current,
                Descent::Unrelated => false,
                Descent::Over => true,
            };
            assert!(is_descendant, "a job can wait for its descendants only");
        }
        self.help_until(|_| job.is_over());
    }

    /// As [`JobWorker::wait`], for all children of the current job.
    ///
    /// # Panics
    /// If any job of the run has panicked, in which case the run panics too.
    #[inline]
    pub fn wait_for_children(&mut self) {
        self.help_until(|worker| worker.current.is_left_with(1 + worker.put_off_of(worker.current)));
    }

    /// Answers thieves, for long jobs that make no others.
    #[inline]
    pub fn poll(&mut self) {
        self.queue.poll();
    }

    /// Whether to divide a divisible job, because there is nothing for others to steal.
    #[inline]
    pub fn wants_jobs(&self) -> bool {
        self.queue.wants_tasks()
    }

    /// Whether the run is stopped, so that a long job may return early.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Counts children of the current job or an ancestor.
    #[inline]
    pub(super) fn add_to(&self, parent: KinPtr<'s>, children: u32) {
        match self.parts {
            Parts::Together => parent.add(children),
            Parts::OneByOne => (0..children).for_each(|_| parent.add_by_update()),
        }
    }

    #[inline]
    fn start_in<F: FnOnce(&mut Self) + Send + 's>(&mut self, parent: KinPtr<'s>, work: F, known: bool) -> Job<'s> {
        self.add_to(parent, 1);
        let job = self.make(parent, work, known);
        self.queue.push(Task::from_ptr(job.kin.place()));
        job
    }

    /// Makes a job. Its parent counts it before any other thread learns of it.
    #[inline]
    pub(super) fn make<F: FnOnce(&mut Self) + Send + 's>(
        &mut self,
        parent: KinPtr<'s>,
        work: F,
        known: bool,
    ) -> Job<'s> {
        let place = self.blocks.take();
        // SAFETY: the place is this worker's, and holds no work.
        unsafe {
            let kin = KinPtr::of(place);
            let life = kin.begin_child(parent, known);
            JobPlace::fill(place, work);
            Job { kin, life }
        }
    }

    /// Runs jobs of any descent until `done`.
    ///
    /// # Panics
    /// If a job has panicked.
    #[inline]
    fn help_until(&mut self, done: impl Fn(&Self) -> bool) {
        let mut patience = self.queue.patience();
        let is_broken = loop {
            let is_done = done(self);
            if self.shared.is_broken() {
                break true;
            }
            if is_done {
                break false;
            }
            self.help(&mut patience, |worker| done(worker) || worker.shared.is_broken());
        };
        // The code after the wait may take long.
        if self.put_off.kin != self.current {
            self.take_off();
        }
        if is_broken {
            resume_unwind(Box::new(Abandoned));
        }
    }

    /// Runs jobs until the run is over.
    pub(super) fn live(&mut self) {
        let mut patience = self.queue.patience();
        while !self.root().is_over() {
            self.help(&mut patience, |worker| worker.root().is_over());
        }
    }

    /// Runs a job; returns without running one if `done` holds before there is a job.
    #[inline(always)]
    fn help(&mut self, patience: &mut Patience, done: impl Fn(&Self) -> bool) {
        if let Some(task) = self.queue.pop() {
            self.execute(task);
        } else {
            self.help_others(patience, done);
        }
    }

    #[cold]
    fn help_others(&mut self, patience: &mut Patience, done: impl Fn(&Self) -> bool) {
        self.take_off();
        loop {
            if let Some(task) = self.queue.steal() {
                self.queue.get_busy();
                patience.renew();
                return self.execute(task);
            }
            if done(self) {
                return self.queue.get_busy();
            }
            // Nobody else fills its queue.
            self.queue.fall_idle();
            patience.wait_or_nap();
        }
    }

    /// Runs a job, or drops it if the run is stopped, and finishes it.
    #[inline(always)]
    fn execute(&mut self, task: Task) {
        // SAFETY: only this run's jobs are pushed, by their places.
        let kin = unsafe { KinPtr::of(task.as_ptr()) };
        if kin.parent() != Some(self.put_off.kin) {
            self.take_off();
        }
        let outer = std::mem::replace(&mut self.current, kin);
        let worker = if self.is_stopped() {
            ptr::null_mut()
        } else {
            self.queue.tally.run += 1;
            ptr::from_mut(self).cast()
        };
        // SAFETY: the queue gives out each job once, to workers of this run, whose types differ only in lifetimes.
        let result = catch_unwind(AssertUnwindSafe(|| unsafe { JobPlace::run(kin.place(), worker) }));
        self.current = outer;
        if let Err(payload) = result {
            self.shared.keep_panic(payload);
        }
        self.finish(kin);
    }

    fn put_off_of(&self, kin: KinPtr<'s>) -> u32 {
        if self.put_off.kin == kin { self.put_off.parts } else { 0 }
    }

    /// Finishes a part of a job, and all ancestors that are then over; or puts this off, if it can wait.
    #[inline]
    pub(super) fn finish(&mut self, mut kin: KinPtr<'s>) {
        if self.parts == Parts::OneByOne {
            while let Some(parent) = self.end(kin, 1) {
                kin = parent;
            }
            return;
        }
        loop {
            let parts = 1 + self.put_off_of(kin);
            if !kin.is_left_with(parts) {
                if self.put_off.kin != kin && self.put_off.parts > 0 {
                    self.take_off();
                    continue;
                }
                self.put_off = PutOff { kin, parts };
                return;
            }
            // Those among them that were put off.
            self.put_off.parts -= parts - 1;
            match self.end(kin, parts) {
                Some(parent) => kin = parent,
                None => return,
            }
        }
    }

    /// Subtracts the parts that were put off.
    fn take_off(&mut self) {
        let mut parts = std::mem::take(&mut self.put_off.parts);
        let mut kin = self.put_off.kin;
        while parts > 0
            && let Some(parent) = self.end(kin, parts)
        {
            (kin, parts) = (parent, 1);
        }
    }

    /// Finishes parts of a job. If they were the last, gives back its place and returns the parent, of which the caller
    /// must then finish a part.
    #[inline]
    fn end(&self, kin: KinPtr<'s>, parts: u32) -> Option<KinPtr<'s>> {
        let is_over = match self.parts {
            Parts::Together => kin.finish(parts),
            Parts::OneByOne => kin.finish_by_update(),
        };
        // The place is the job's until it is given back.
        let parent = is_over.then(|| kin.parent())??;
        // SAFETY: a job that has a parent lies in a place of its maker's blocks. It has been run or dropped, and is
        // over.
        unsafe { self.blocks.give_back(kin.place()) };
        Some(parent)
    }
}

/// As in the source's program.
const BATCH: usize = 256;

/// Jobs that have been made, but neither counted nor pushed.
struct Batch<'w, 's, 'env: 's, Q: Queue<Native>> {
    worker: &'w mut JobWorker<'s, 'env, Q>,
    tasks: Vec<Task>,
}

impl<Q: Queue<Native>> Drop for Batch<'_, '_, '_, Q> {
    #[inline]
    fn drop(&mut self) {
        let Self { worker, tasks } = self;
        if !tasks.is_empty() {
            worker.add_to(worker.current, tasks.len() as u32);
            worker.queue.push_all(tasks);
        }
        worker.batch = std::mem::take(tasks);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Jobs;

    #[test]
    fn places_are_reused() {
        Jobs::new(1).run(|w| {
            // Several times the number of places in a block.
            for _ in 0..if cfg!(miri) { 150 } else { 20_000 } {
                w.spawn(|_| ());
                w.wait_for_children();
            }
            assert_eq!(w.blocks.number(), 1);
        });
    }
}
