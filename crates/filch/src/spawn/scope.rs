//! Scopes and spawns in both styles: tasks that may outlive their spawner, but not their scope.
//!
//! Such a task cannot be on the task stack, whose top is gone when the spawner returns; it goes to the worker's word
//! deque.
//!
//! Invariant: a scope does not end before its tasks have.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crossbeam_queue::SegQueue;
use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::fork::spawned::{MayDangle, Spawned};
use crate::protocol::latch::Waiter as _;
use crate::shared::common::Common;
#[cfg(doc)]
use crate::shared::policy::Wait;
use crate::tasks::handle::{Worker, with_handle};
use crate::tasks::levels::Level;
use crate::threads::thread_pool::ThreadPool;
use crate::unwind::{AbortOnUnwind, FirstPanic};
use crate::worker::latch::{self, Latch, Waiter};
use crate::worker::strands;
use crate::worker::{detached::spawn_detached_here, home::current_home, plumbing::Pool};

/// A scope for tasks that borrow from outside it: see [`scope()`] and [`Worker::scope`].
///
/// In handle style, `P` is the type of the pool.
pub struct Scope<'scope, P = ()> {
    /// Counts the unfinished tasks and the scope's body.
    latch: Latch,
    panic: FirstPanic,
    /// Whether tasks not begun are dropped.
    is_stopped: <Native as Memory>::AtomicBool,
    /// The tasks not begun, if a worker that waits for the scope may run nothing else.
    tasks: Option<Arc<SegQueue<Spawned>>>,
    /// Invariant in `'scope`.
    scope: PhantomData<fn(&'scope ()) -> &'scope ()>,
    pool: PhantomData<fn() -> P>,
}

impl<P> fmt::Debug for Scope<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("pending", &self.latch.pending()).finish_non_exhaustive()
    }
}

/// Runs `body`, which may [spawn](Scope::spawn) tasks that borrow data that outlives the scope, and returns once all
/// tasks have ended.
///
/// On a worker, `body` runs at once, and the worker runs tasks of any kind while it waits; under [`Wait::Leapfrog`] and
/// [`Wait::Transitive`] it runs only tasks of this scope, and a spawn costs an additional allocation and queue
/// operation. Elsewhere `body` moves to the [global pool](ThreadPool::global).
///
/// ```
/// let mut squares = vec![0; 10];
/// filch::scope(|s| {
///     for (i, square) in squares.iter_mut().enumerate() {
///         s.spawn(move |_| *square = i * i);
///     }
/// });
/// assert_eq!(squares[9], 81);
/// ```
///
/// A task's borrows must outlive the scope:
///
/// ```compile_fail,E0373
/// filch::scope(|s| {
///     let local = 1;
///     s.spawn(|_| println!("{local}")); // may outlive the body
/// });
/// ```
///
/// # Panics
/// If the body or a task panics, once all tasks have ended, with the payload of the body or else of the first task.
pub fn scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    /// Out of line, so that it is not part of frames in which `body` runs at once.
    #[cold]
    #[inline(never)]
    fn elsewhere<R: Send>(scope: impl FnOnce() -> R + Send) -> R {
        ThreadPool::global().install(scope)
    }
    match current_home() {
        Some(home) => Scope::around(&home.common, body),
        None => elsewhere(|| scope(body)),
    }
}

/// As [`scope()`], but `body` runs at once on the current thread, even outside all pools; so it need not be `Send`.
/// Tasks run in the current pool or, outside all pools, in the [global pool](ThreadPool::global), for whose workers the
/// thread then waits.
///
/// ```
/// use std::rc::Rc;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let (local, sum) = (Rc::new(3), AtomicU32::new(0));
/// filch::in_place_scope(|s| {
///     for n in 0..*local {
///         let sum = &sum;
///         s.spawn(move |_| _ = sum.fetch_add(n, Relaxed));
///     }
/// });
/// assert_eq!(sum.into_inner(), 3);
/// ```
///
/// # Panics
/// As [`scope()`].
pub fn in_place_scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    match current_home() {
        Some(home) => Scope::around(&home.common, body),
        None => {
            let common = &ThreadPool::global().common;
            // It may panic, so it comes before there is anything to wait for.
            common.assert_here();
            Scope::around(common, body)
        }
    }
}

impl<P: Pool> ThreadPool<P> {
    /// Runs `body` on a worker, in closure style, and returns once all tasks that it has [spawned](Scope::spawn) have
    /// ended: a [`scope()`] in [`install`](Self::install).
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let mut halves = [0; 2];
    /// let [left, right] = &mut halves;
    /// pool.scope(|s| {
    ///     s.spawn(|_| *left = 1);
    ///     s.spawn(|_| *right = 2);
    /// });
    /// assert_eq!(halves, [1, 2]);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`scope()`].
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(body))
    }
}

impl<'scope> Scope<'scope> {
    /// Runs `task` some time before the scope ends. It may spawn more tasks through its argument.
    ///
    /// Cost: an allocation and a push to the worker's word deque or, from a thread of another pool, to a shared queue.
    ///
    /// ```
    /// # use filch::Scope;
    /// fn walk<'scope>(s: &Scope<'scope>, depth: u32) {
    ///     if depth > 0 {
    ///         s.spawn(move |s| walk(s, depth - 1));
    ///         s.spawn(move |s| walk(s, depth - 1));
    ///     }
    /// }
    /// filch::scope(|s| walk(s, 5));
    /// ```
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Self) + Send + 'scope,
    {
        self.hand_in(task);
    }
}

impl<'scope, P: Pool> Scope<'scope, P> {
    /// Runs `task` some time before the scope ends, with a handle of the worker that runs it. It may spawn more tasks
    /// through its second argument.
    ///
    /// Cost: an allocation and a push to the worker's word deque or, from a thread of another pool, to a shared queue.
    ///
    /// ```
    /// use filch::pool::Split;
    /// use filch::{Scope, ThreadPool, Worker};
    ///
    /// fn walk<'scope>(mut w: Worker<'_>, s: &Scope<'scope, Split>, depth: u32) {
    ///     if depth > 0 {
    ///         s.spawn(move |w, s| walk(w, s, depth - 1));
    ///         w.join(|_| (), |_| ());
    ///     }
    /// }
    /// ThreadPool::new(2)?.run(|mut w| w.scope(|w, s| walk(w, s, 5)));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn spawn<F>(&self, task: F)
    where
        F: for<'b> FnOnce(Worker<'b, P>, &Self) + Send + 'scope,
    {
        self.hand_in(|scope| with_handle(|w| task(w, scope)));
    }
}

impl<'scope, P> Scope<'scope, P> {
    /// Runs `body`, and then waits for the tasks of its scope.
    fn around<R>(common: &Common, body: impl FnOnce(&Self) -> R) -> R {
        /// Out of line: a queue is large, and is made in the frame.
        #[cold]
        #[inline(never)]
        fn queue() -> Arc<SegQueue<Spawned>> {
            Arc::default()
        }
        // First, so that no other value has to be in memory in case this unwinds.
        let tasks = common.wait.is_strict().then(queue);
        let scope = Self {
            latch: Latch::new(1, Waiter::current()),
            panic: FirstPanic::default(),
            is_stopped: Atomic::new(false),
            tasks,
            scope: PhantomData,
            pool: PhantomData,
        };
        // The tasks borrow from this frame, so it must not unwind before they have ended.
        let ending = AbortOnUnwind("a scope panicked while its tasks ran");
        let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        // SAFETY: the latch counts the body, and is in this frame.
        unsafe { Latch::end(&raw const scope.latch) };
        latch::wait(&scope.latch, scope.tasks.as_deref(), false);
        std::mem::forget(ending);
        match result {
            Ok(result) => {
                scope.panic.resume();
                result
            }
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Stops the scope: tasks that have not begun, and those spawned later, are dropped instead of run. A long task may
    /// [check](Self::is_stopped).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    ///
    /// let found = AtomicBool::new(false);
    /// filch::scope(|s| {
    ///     for n in 0..1000_u64 {
    ///         let found = &found;
    ///         s.spawn(move |s| {
    ///             if n * n == 49 {
    ///                 found.store(true, Relaxed);
    ///                 s.stop();
    ///             }
    ///         });
    ///     }
    /// });
    /// assert!(found.into_inner());
    /// ```
    pub fn stop(&self) {
        // Relaxed: it publishes nothing.
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has called [`Scope::stop`].
    pub fn is_stopped(&self) -> bool {
        // Relaxed: as above.
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Hands a task to the pool, as a job in closure style.
    fn hand_in<F>(&self, task: F)
    where
        F: FnOnce(&Self) + Send + 'scope,
    {
        let handing = AbortOnUnwind("a task could not be handed to its pool, and its scope would wait for ever");
        // The latch is not over, since it counts the spawner.
        self.latch.add(1);
        let scope = ScopePtr(self);
        let task = MayDangle::new(task);
        // SAFETY: the scope does not end before the task, and the task's borrows outlive the scope; the job does not
        // unwind.
        let job = unsafe {
            Spawned::new(move || {
                let scope = scope;
                let scope = &*scope.0;
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let task = task.into_inner();
                    if !scope.is_stopped() {
                        task(scope);
                    }
                }));
                if let Err(payload) = outcome {
                    scope.panic.keep(payload);
                }
                Latch::end(&raw const scope.latch);
            })
        };
        self.hand_in_job(job);
        std::mem::forget(handing);
    }

    #[inline(never)]
    fn hand_in_job(&self, job: Spawned) {
        let common = match self.latch.waiter() {
            Waiter::Worker(common, ..) => common,
            Waiter::Thread(_) => &ThreadPool::global().common,
        };
        let Some(tasks) = &self.tasks else { return common.hand_in(job) };
        if strands::is_on() && self.latch.waiter().is_current() {
            strands::spawned(job.address());
            // No other worker is there to run it, and so it runs in the wait for its scope.
            return tasks.push(job);
        }
        tasks.push(job);
        // A worker that finds this job runs one of the tasks, if the scope's own worker has left any.
        let tasks = Arc::clone(tasks);
        // SAFETY: it borrows nothing, and the tasks do not unwind; a job has the exact head, so it may run another job
        // itself.
        let any = unsafe {
            Spawned::new(move || {
                if let Some(task) = tasks.pop() {
                    task.run();
                }
            })
        };
        common.hand_in(any);
        if !self.latch.waiter().is_current() {
            self.latch.waiter().wake();
        }
    }
}

/// A pointer to a scope, which outlives the task that has it.
struct ScopePtr<'scope, P>(*const Scope<'scope, P>);

// SAFETY: a scope's parts are made for sharing.
unsafe impl<P> Send for ScopePtr<'_, P> {}

// SAFETY: tasks use only a scope's latch, panic, queue and pool, which are made for sharing.
unsafe impl<P> Sync for Scope<'_, P> {}

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// Runs `body`, which may [spawn](Scope::spawn) tasks that borrow data that outlives the scope, and returns once
    /// all tasks have ended. This is [`scope()`] in handle style: the body and the tasks get handles.
    ///
    /// During the scope thieves see all of this worker's forks, since the head is in memory; with `filch::scope` in
    /// handle style they do not.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let mut squares = vec![0; 10];
    /// pool.run(|mut w| {
    ///     w.scope(|_, s| {
    ///         for (i, square) in squares.iter_mut().enumerate() {
    ///             s.spawn(move |mut w, _| *square = w.join(|_| i, |_| i).0 * i);
    ///         }
    ///     });
    /// });
    /// assert_eq!(squares[9], 81);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// A task's borrows must outlive the scope, and a task has no handle but its own:
    ///
    /// ```compile_fail,E0597
    /// filch::ThreadPool::new(1).unwrap().run(|mut w| {
    ///     w.scope(|_, s| {
    ///         let local = 1;
    ///         let local = &local;
    ///         s.spawn(move |_, _| println!("{local}")); // may outlive the body
    ///     });
    /// });
    /// ```
    ///
    /// ```compile_fail
    /// filch::ThreadPool::new(1).unwrap().run(|mut w| {
    ///     w.scope(|w, s| s.spawn(move |_, _| drop(w))); // handles are not `Send`
    /// });
    /// ```
    ///
    /// # Panics
    /// If the body or a task panics, once all tasks have ended, with the payload of the body or else of the first task.
    pub fn scope<'scope, F, R>(&mut self, body: F) -> R
    where
        F: for<'b> FnOnce(Worker<'b, P>, &Scope<'scope, P>) -> R,
    {
        let home = self.seen().home();
        self.install(|| Scope::around(&home.common, |scope| with_handle(|w| body(w, scope))))
    }

    /// Spawns `task` to run some time on a worker of this pool, with that worker's handle, and returns at once. This is
    /// [`spawn()`] in handle style.
    ///
    /// A panic in it goes to the pool's [handler](crate::Builder::on_panic); without one, only the panic hook sees it.
    ///
    /// Cost: an allocation and a push to the worker's word deque.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = filch::ThreadPool::new(2)?;
    /// pool.run(|w| w.spawn(move |mut w| sender.send(w.join(|_| 6, |_| 7)).unwrap()));
    /// assert_eq!(receiver.recv(), Ok((6, 7)));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn spawn<F>(&self, task: F)
    where
        F: for<'b> FnOnce(Worker<'b, P>) + Send + 'static,
    {
        self.seen().spawn_detached(|| with_handle(task));
    }
}

/// Spawns `task` to run some time on a worker of the current pool or, outside all pools, of the [global
/// pool](ThreadPool::global), and returns at once.
///
/// A panic in it goes to the pool's [handler](crate::Builder::on_panic); without one, only the panic hook sees it.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// filch::spawn(move || sender.send("done").unwrap());
/// assert_eq!(receiver.recv(), Ok("done"));
/// ```
pub fn spawn<F>(task: F)
where
    F: FnOnce() + Send + 'static,
{
    match current_home() {
        Some(_) => spawn_detached_here(task),
        None => ThreadPool::global().spawn(task),
    }
}
