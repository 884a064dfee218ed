//! Interrupts, which make workers answer thieves in the middle of a long task.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, section 4: if owners must answer, a long task without forks and joins keeps all thieves
//! waiting; so a thread ticks, and the owners answer on each tick.
//!
//! **Three ways.** A tick raises a flag, which tasks check by [`poll`] or [`Worker::poll`](crate::Worker::poll). Or a
//! tick is a signal, whose handler answers wherever the task is, unless the worker's own flag says that the worker is
//! using its deque; then the worker answers soon anyway. Or there is no clock, and thieves send the signal themselves,
//! to the worker that they [ask](crate::interrupts::by_thieves).
//!
//! **The signal** is `SIGURG`, which few programs use, and which is ignored by default: a signal that arrives after the
//! handler is gone does no harm. The handler does not allocate, lock or make system calls, except that PDQ-S reads the
//! system's clock on processors without a readable counter. On a thread that is not a worker, it passes the signal on
//! to the previous handler.
//!
//! **No ticks unless a thief waits.** A tick costs a switch to the ticker and back, and a signal to each worker. At the
//! default period, that is some 5 to 10 % of two processors. The paper's clock always ticks; ours does if it is
//! [steady](Interrupts::steady), and otherwise only while thieves find nothing: see [`ticks`](crate::protocol::ticks).
//!
//! Invariant: no signal is sent to a worker's thread that may have ended, and the handler finds no worker on a thread
//! that has stopped being one.

pub(crate) mod by_thieves;
pub(crate) mod ticker;

use std::time::Duration;

use crate::fork::here::Here;

/// When and how the workers of a pool are interrupted to answer thieves in the middle of a long task:
/// [`Builder::interrupts`](crate::Builder::interrupts). From *Scheduling Parallel Programs by Work Stealing with
/// Private Deques* (Acar, Charguéraud and Rainey, 2013).
///
/// Interrupts are for pools whose thieves need an answer, such as that of [`PdqRAsync`](filch_queue::PdqRAsync).
/// Workers answer at each fork and join; during a task that does neither for milliseconds, thieves cannot get its
/// worker's earlier forks. By default nothing interrupts such a task. While no thief waits there are no ticks, and
/// interrupts cost nothing.
///
/// ```
/// use std::time::Duration;
///
/// use filch::pool::Queued;
/// use filch::{Builder, Interrupts};
/// use filch_queue::PdqRAsync;
///
/// let builder = Builder::<Queued<PdqRAsync>>::new().workers(2);
/// let pool = builder.interrupts(Interrupts::flag().every(Duration::from_millis(1))).build()?;
/// let (_, b) = pool.install(|| {
///     filch::join(
///         || {
///             for _ in 0..1_000_000 {
///                 filch::poll(); // between the steps of a long task
///             }
///         },
///         || "may have been stolen meanwhile",
///     )
/// });
/// assert!(b.starts_with("may"));
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupts {
    pub(crate) by: By,
    pub(crate) period: Duration,
    pub(crate) is_steady: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Flag,
    Signal,
    Thief,
}

impl By {
    pub(crate) fn is_signal(self) -> bool {
        self != Self::Flag
    }
}

impl Interrupts {
    /// The time between two ticks, unless [`Interrupts::every`] sets another.
    pub const DEFAULT_PERIOD: Duration = Duration::from_micros(200);

    /// Lets each worker's next [`poll`] after a tick answer; without interrupts every poll answers. This spares tasks
    /// that poll in a tight loop the cost of an answer, which on some queues is reading a clock.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).interrupts(filch::Interrupts::flag()).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| filch::poll(), || 2)), ((), 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub const fn flag() -> Self {
        Self { by: By::Flag, period: Self::DEFAULT_PERIOD, is_steady: false }
    }

    /// Sends `SIGURG` on each tick to each worker that is awake. The signal's handler answers thieves; tasks need do
    /// nothing. Unix only.
    ///
    /// While such a pool exists, the program's own handler for that signal, if any, is called only on threads that are
    /// not workers of such a pool. Afterwards it is restored. Tasks' system calls are restarted; calls that are never
    /// restarted, such as `nanosleep`, may return early with `EINTR`, which std hides.
    ///
    /// This setting has neither effect nor cost on pools whose thieves need no answer.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use filch::pool::Queued;
    /// use filch::{Builder, Interrupts};
    ///
    /// let builder = Builder::<Queued<filch_queue::PdqRAsync>>::new().workers(2);
    /// let pool = builder.interrupts(Interrupts::signal()).build()?;
    /// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    /// # }
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub const fn signal() -> Self {
        Self { by: By::Signal, period: Self::DEFAULT_PERIOD, is_steady: false }
    }

    /// Lets a thief that waits for an answer send `SIGURG` itself, to the worker that it asks: the paper's first way.
    /// There is no clock; a thief sends a signal once it has found nothing for a period, and again after each further
    /// period. The rest is as with [`Interrupts::signal`].
    ///
    /// Pools whose owners deal tasks out themselves, such as that of [`PdqS`](filch_queue::PdqS), cannot be built with
    /// this setting: their thieves ask nobody in particular.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use filch::pool::Queued;
    /// use filch::{Builder, Interrupts};
    ///
    /// let builder = Builder::<Queued<filch_queue::PdqRAsync>>::new().workers(2);
    /// let pool = builder.interrupts(Interrupts::by_thieves()).build()?;
    /// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    ///
    /// let builder = Builder::<Queued<filch_queue::PdqS>>::new().workers(2);
    /// assert!(builder.interrupts(Interrupts::by_thieves()).build().is_err());
    /// # }
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub const fn by_thieves() -> Self {
        Self { by: By::Thief, period: Self::DEFAULT_PERIOD, is_steady: false }
    }

    /// Sets the time between two ticks, which must not be zero. The paper tried 0.2 to 2 ms. The time is a lower bound,
    /// since the ticker is an ordinary thread.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let seldom = filch::Interrupts::flag().every(Duration::from_millis(2));
    /// assert!(filch::ThreadPool::builder().workers(2).interrupts(seldom).build().is_ok());
    /// assert!(filch::ThreadPool::builder().interrupts(seldom.every(Duration::ZERO)).build().is_err());
    /// ```
    #[must_use]
    pub const fn every(self, period: Duration) -> Self {
        Self { period, ..self }
    }

    /// Lets the clock tick also while no thief waits, as the paper's clock does: to measure what ticks cost, or to
    /// bound by a period the wait of a thief that has just asked. Changes nothing if there is no clock.
    ///
    /// ```
    /// let steady = filch::Interrupts::flag().steady();
    /// let pool = filch::ThreadPool::builder().workers(1).interrupts(steady).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| filch::poll(), || 2)), ((), 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    #[must_use]
    pub const fn steady(self) -> Self {
        Self { is_steady: true, ..self }
    }
}

/// Answers thieves that wait for this worker, in closure style: see [`Worker::poll`](crate::Worker::poll). Does nothing
/// outside all pools.
///
/// ```
/// let pool = filch::ThreadPool::new(2)?;
/// let squares = pool.install(|| {
///     filch::join(
///         || {
///             let mut sum = 0;
///             for n in 0..1000_u64 {
///                 sum += n * n;
///                 filch::poll();
///             }
///             sum
///         },
///         || "something else",
///     )
/// });
/// assert_eq!(squares.0, 332_833_500);
/// # Ok::<(), filch::BuildError>(())
/// ```
pub fn poll() {
    Here::with(|here| {
        here.poll();
    });
}

pub(crate) use handler::{Handler, Listening};

#[cfg(unix)]
mod handler;

/// For systems without signals.
#[cfg(not(unix))]
mod handler {
    use std::io;
    use std::sync::Arc;

    use crate::fork::front::Front;

    pub(crate) enum Handler {}

    impl Handler {
        pub(crate) fn install() -> io::Result<Self> {
            Err(io::Error::other("this system has no signals"))
        }
    }

    pub(crate) struct Listening;

    impl Listening {
        #[allow(clippy::missing_safety_doc, clippy::needless_pass_by_value, reason = "cannot be called")]
        pub(crate) unsafe fn new(_: &Front, handler: Arc<Handler>) -> Self {
            match *handler {}
        }
    }
}
