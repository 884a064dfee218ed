//! Jobs whose results come later: to a thread that waits, or to a future that is awaited.
//!
//! Invariant: a job runs once, or never if its [`Submitted`] was dropped before it began; its result is taken once.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::fork::{front::Reach, here::Here};
use crate::tasks::handle::{Worker, with_handle};
use crate::tasks::levels::Level;
use crate::threads::thread_pool::ThreadPool;
use crate::unwind::discard;
use crate::worker::latch::{self, Latch, Waiter};
use crate::worker::strands;
use crate::worker::{detached::spawn_detached_here, home::current_home, plumbing::Pool};

/// A submitted job: a way to its result. It can be [joined](Self::join), looked at, or awaited in any async runtime.
///
/// Dropping it cancels the job, unless the job has begun; [`Submitted::detach`] does not.
#[must_use = "dropping it cancels the job unless it has begun; `detach` lets it run"]
pub struct Submitted<R>(Option<Arc<Shared<R>>>);

/// What a job and its [`Submitted`] share.
struct Shared<R>(Mutex<State<R>>);

enum State<R> {
    /// With the waker of the task that awaits the job.
    Waiting(Option<Waker>),
    Running(Option<Waker>),
    /// Nobody wants the result.
    Forsaken,
    Done(thread::Result<R>),
    Taken,
}

impl<R> Shared<R> {
    /// No foreign code runs under the lock: no job, no waker, no destructor.
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the job, unless it was cancelled.
    fn begin(&self) -> bool {
        let mut state = self.lock();
        let State::Waiting(waker) = &mut *state else { return false };
        *state = State::Running(waker.take());
        true
    }

    /// Leaves the result for whoever wants it.
    fn end(&self, result: thread::Result<R>) {
        strands::ended(std::ptr::from_ref(self).addr());
        let mut state = self.lock();
        let left = match std::mem::replace(&mut *state, State::Forsaken) {
            State::Running(waker) => {
                *state = State::Done(result);
                drop(state);
                if let Some(waker) = waker {
                    waker.wake();
                }
                return;
            }
            _ => result,
        };
        drop(state);
        // The panic hook has reported a panic.
        discard(left);
    }
}

impl<R> fmt::Debug for Submitted<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitted").field("is_done", &self.is_done()).finish()
    }
}

impl<R> Submitted<R> {
    /// Returns a task that does `work`, and the way to its result.
    pub(crate) fn of(work: impl FnOnce() -> R + Send + 'static) -> (impl FnOnce() + Send + 'static, Self)
    where
        R: Send + 'static,
    {
        let shared = Arc::new(Shared(Mutex::new(State::Waiting(None))));
        let job = Arc::clone(&shared);
        let task = move || {
            if job.begin() {
                job.end(catch_unwind(AssertUnwindSafe(work)));
            }
        };
        (task, Self(Some(shared)))
    }

    fn shared(&self) -> &Shared<R> {
        self.0.as_ref().expect("only `detach` and the destructor take it")
    }

    /// Whether the job has ended.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let job = pool.submit(|| 42);
    /// while !job.is_done() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(job.join().unwrap(), 42);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn is_done(&self) -> bool {
        matches!(*self.shared().lock(), State::Done(_))
    }

    /// Waits for the result. A worker runs other work meanwhile; any other thread sleeps.
    ///
    /// # Errors
    /// The payload, if the job panics.
    ///
    /// # Panics
    /// If it was awaited to its end before.
    pub fn join(self) -> thread::Result<R> {
        block_on(self)
    }

    /// Lets the job run although nobody wants its result. A panic, even of the result's destructor, is ignored.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// filch::submit(move || sender.send("done")).detach();
    /// assert_eq!(receiver.recv(), Ok("done"));
    /// ```
    pub fn detach(mut self) {
        // The job may have ended already; else its worker drops the result.
        discard(self.0.take());
    }
}

impl<R> Drop for Submitted<R> {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        let left = std::mem::replace(&mut *shared.lock(), State::Forsaken);
        // Outside the lock, since it may be a result or a waker.
        drop(left);
    }
}

/// Its output is the result, or the payload if the job panics.
///
/// # Panics
/// If it is polled after its end.
impl<R> Future for Submitted<R> {
    type Output = thread::Result<R>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // A waker's clone and destructor are foreign code.
        let waker = context.waker().clone();
        let mut state = self.shared().lock();
        let earlier = match &mut *state {
            State::Waiting(known) | State::Running(known) => known.replace(waker),
            State::Done(_) => {
                let State::Done(result) = std::mem::replace(&mut *state, State::Taken) else { unreachable!() };
                drop(state);
                strands::took(std::ptr::from_ref(self.shared()).addr());
                return Poll::Ready(result);
            }
            State::Forsaken | State::Taken => {
                drop(state);
                panic!("the result of a submitted job was taken before")
            }
        };
        drop(state);
        drop(earlier);
        Poll::Pending
    }
}

/// Wakes a thread that waits in [`block_on`], once.
struct Alarm {
    latch: Latch,
    is_rung: <Native as Memory>::AtomicBool,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Relaxed: it only chooses who ends the latch, which orders what came before.
        if !self.is_rung.swap(true, Ordering::Relaxed) {
            // SAFETY: the latch is in this alarm, and its one thing ends only here, since the flag is set once.
            unsafe { Latch::end(&raw const self.latch) };
        }
    }
}

/// Runs a future to its end on this thread. While the future waits, a worker runs other work of any kind, so hold no
/// lock that such work may want; any other thread sleeps. A future that wakes itself, for example to yield, is polled
/// again after one job has run, if there is one.
///
/// ```
/// let pool = filch::ThreadPool::new(2)?;
/// let sum = async {
///     let (left, right) = (pool.submit(|| 20), pool.submit(|| 22));
///     left.await.unwrap() + right.await.unwrap()
/// };
/// assert_eq!(filch::block_on(sum), 42);
/// # Ok::<(), filch::BuildError>(())
/// ```
///
/// # Panics
/// If the future does.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let naps = Cell::new(0);
    loop {
        let alarm = Arc::new(Alarm { latch: Latch::new(1, Waiter::current()), is_rung: Atomic::new(false) });
        let waker = Waker::from(Arc::clone(&alarm));
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        if alarm.latch.is_over() {
            give_way(&naps);
        } else {
            latch::wait(&alarm.latch, None, false);
        }
    }
}

/// Runs one job of any kind if this is a worker and there is one; otherwise yields the processor. This is for a future
/// that has woken itself, perhaps to let work run for which it waits.
fn give_way(naps: &Cell<u32>) {
    let runs = || Here::with(|here| here.run_one(Reach::All)) == Some(true);
    let has_run = match current_home() {
        Some(home) if home.is_stack_low() => home.hesitates(naps) || home.reluctantly(runs),
        _ => runs(),
    };
    if !has_run {
        thread::yield_now();
    }
}

impl<P: Pool> ThreadPool<P> {
    /// Submits `f` to run some time on a worker, in closure style, and returns at once, with a way to its result.
    /// Dropping the result cancels the job unless it has begun; [`detach`](Submitted::detach) lets it run.
    ///
    /// Cost: two allocations and a push to a shared queue or, on a worker of this pool, to its word deque.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let job = pool.submit(|| filch::map_reduce(1..101, 0, |n| n, |a, b| a + b));
    /// assert_eq!(job.join().unwrap(), 5050);
    ///
    /// let payload = pool.submit(|| panic!("no")).join().unwrap_err();
    /// assert_eq!(payload.downcast_ref(), Some(&"no"));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn submit<F, R>(&self, f: F) -> Submitted<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (task, submitted) = Submitted::of(f);
        self.common.hand_in_detached(task);
        submitted
    }
}

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// Submits `f` to run some time on a worker of this pool, with that worker's handle, and returns at once, with a
    /// way to its result. This is [`submit()`] in handle style: dropping the result [cancels](Submitted) the job unless
    /// it has begun.
    ///
    /// Cost: two allocations and a push to the worker's word deque.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let later = pool.run(|w| w.submit(|mut w| w.join(|_| 6, |_| 7)));
    /// assert_eq!(later.join().unwrap(), (6, 7));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn submit<F, R>(&self, f: F) -> Submitted<R>
    where
        F: for<'b> FnOnce(Worker<'b, P>) -> R + Send + 'static,
        R: Send + 'static,
    {
        let (task, submitted) = Submitted::of(|| with_handle(f));
        self.seen().spawn_detached(task);
        submitted
    }
}

/// Submits `f` to run some time on a worker of the current pool or, outside all pools, of the [global
/// pool](ThreadPool::global), and returns at once, with a way to its result.
///
/// Dropping the result cancels the job unless it has begun, unlike a thread of the standard library;
/// [`detach`](Submitted::detach) lets the job run. If nobody wants a result, [`spawn`](crate::spawn()) the job.
///
/// ```
/// let job = filch::submit(|| 6 * 7);
/// assert_eq!(job.join().unwrap(), 42);
///
/// filch::submit(|| println!("sooner or later")).detach();
/// ```
pub fn submit<F, R>(f: F) -> Submitted<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    if current_home().is_none() {
        return ThreadPool::global().submit(f);
    }
    let (task, submitted) = Submitted::of(f);
    spawn_detached_here(task);
    submitted
}
