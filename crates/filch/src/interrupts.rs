//! Interrupts, which make workers answer thieves in the middle of a long task.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, section 4: where owners must answer, a long task without forks and joins keeps all
//! thieves waiting, so a thread ticks, and the owners answer on each tick.
//!
//! **Three ways.** A tick raises a flag, which tasks check by [`poll`] or [`Worker::poll`](crate::Worker::poll). Or it is
//! a signal, whose handler answers wherever the task is, unless the worker is using its deque, as the worker's own flag
//! says; the worker then answers soon anyway. Or there is no clock, and thieves send the signal themselves, to the worker that
//! they [ask](crate::calls).
//!
//! **The signal** is `SIGURG`, which few programs use, and which is ignored by default: a signal that arrives after the
//! handler is gone does no harm. The handler does not allocate, lock or make system calls, except that PDQ-S reads the
//! system's clock on processors without a readable counter. On a thread that is not a worker, it passes the signal on
//! to the previous handler.
//!
//! **No ticks unless a thief waits.** A tick costs a switch to the ticker and back, and a signal to each worker, some 5
//! to 10 % of two processors at the default period. The paper's clock always ticks; ours does if it is
//! [steady](Interrupts::steady), and otherwise only while thieves find nothing: see [`ticks`](crate::protocol::ticks).
//!
//! Invariant: no signal is sent to a worker's thread that may have ended, and the handler finds no worker on a thread
//! that has stopped being one.

use std::time::Duration;

use crate::here::Here;

/// When and how the workers of a pool are interrupted to answer thieves in the middle of a long task:
/// [`Builder::interrupts`](crate::Builder::interrupts). From *Scheduling Parallel Programs by Work Stealing with
/// Private Deques* (Acar, Charguéraud and Rainey, 2013).
///
/// Interrupts are for pools whose thieves need an answer, such as that of [`PdqRAsync`](filch_queue::PdqRAsync). Workers answer
/// at each fork and join; during a task that does neither for milliseconds, thieves cannot get its worker's earlier
/// forks. By default nothing interrupts such a task. While no thief waits there are no ticks, and interrupts cost
/// nothing.
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

    /// Sends `SIGURG` on each tick to each worker that is awake, whose handler answers thieves; tasks need do nothing.
    /// Unix only.
    ///
    /// While such a pool exists, the program's own handler for that signal, if any, is called only on threads that are
    /// not workers of such a pool. Afterwards it is restored. Tasks' system calls are restarted; those that never are,
    /// such as `nanosleep`, may return early with `EINTR`, which std hides.
    ///
    /// It has neither effect nor cost on pools whose thieves need no answer.
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

    /// Lets a thief that waits for an answer send `SIGURG` itself, to the worker that it asks: the paper's first way. There is no clock; a
    /// thief sends one once it has found nothing for a period, and again after each further period. The rest is as with
    /// [`Interrupts::signal`].
    ///
    /// Pools whose owners deal tasks out themselves, such as that of [`PdqS`](filch_queue::PdqS), cannot be built with it: their thieves ask
    /// nobody in particular.
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

    /// Lets the clock tick also while no thief waits, as the paper's clock does: to measure what ticks cost, or to bound
    /// the wait of a thief that has just asked by a period. It changes nothing where there is no clock.
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
    // SAFETY: it is used at once.
    unsafe { Here::current() }.poll();
}

pub(crate) use signals::{Handler, Held, Listening, Mask, names, send, send_to_all};

#[cfg(unix)]
mod signals {
    use std::cell::Cell;
    use std::io;
    use std::marker::PhantomData;
    use std::mem;
    use std::ptr::{self, null, null_mut};
    use std::sync::{Arc, Mutex, PoisonError};

    use filch_memory::{Memory, Native, Ordering};
    use libc::{c_int, c_void, sigaction, siginfo_t};

    use crate::front::Front;
    use crate::here::Here;
    use crate::kept::keep;
    use crate::process::PerProcess;
    use crate::registry::Common;
    use crate::thread::{Name, Thread};

    const SIGNAL: c_int = libc::SIGURG;

    thread_local! {
        /// This thread's worker, if signals interrupt it. It has no destructor and is set before the first signal, so
        /// that the handler may read it.
        static WORKER: Cell<*const Front> = const { Cell::new(null()) };
        static IS_PASSING: Cell<bool> = const { Cell::new(false) };
    }

    /// While it exists, signals interrupt the current thread, a worker. A signal that arrives too late still finds the
    /// handler.
    pub(crate) struct Listening {
        _handler: Arc<Handler>,
    }

    impl Listening {
        /// # Safety
        /// The current thread is the worker of `front`, and drops this before it stops being the worker.
        pub(crate) unsafe fn new(front: &Front, handler: Arc<Handler>) -> Self {
            WORKER.set(front);
            // The handler must see the whole pointer.
            Native::compiler_fence();
            // The thread that started it has [blocked](Held) the signal.
            mask(libc::SIG_UNBLOCK, &the_signal());
            Self { _handler: handler }
        }
    }

    impl Drop for Listening {
        fn drop(&mut self) {
            // A signal still in flight is lost with the thread.
            mask(libc::SIG_BLOCK, &the_signal());
            WORKER.set(null());
            Native::compiler_fence();
        }
    }

    /// Blocks the signal, while it exists, on the current thread and on threads that it starts, until they
    /// [listen](Listening): a signal for a worker that has not started would be passed on to the program's own handler.
    pub(crate) struct Held {
        former: libc::sigset_t,
        /// Not `Send`, since the mask is this thread's.
        thread: PhantomData<*mut ()>,
    }

    impl Held {
        pub(crate) fn new() -> Self {
            Self { former: mask(libc::SIG_BLOCK, &the_signal()), thread: PhantomData }
        }

        /// Blocks all signals.
        pub(crate) fn all() -> Self {
            Self { former: mask(libc::SIG_SETMASK, &all_or_none(true)), thread: PhantomData }
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            mask(libc::SIG_SETMASK, &self.former);
        }
    }

    /// The signals that a thread blocks.
    pub(crate) struct Mask(libc::sigset_t);

    impl Mask {
        pub(crate) fn of_this_thread() -> Self {
            // Blocks nothing more.
            Self(mask(libc::SIG_BLOCK, &all_or_none(false)))
        }

        /// Gives the current thread this mask.
        pub(crate) fn adopt(&self) {
            mask(libc::SIG_SETMASK, &self.0);
        }
    }

    fn the_signal() -> libc::sigset_t {
        // SAFETY: a signal set is plain data, for which all zeros are valid, and the system initializes it.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, SIGNAL);
            set
        }
    }

    /// Returns the set of all signals, or none. Miri does not know such sets.
    fn all_or_none(all: bool) -> libc::sigset_t {
        let fill = if all { libc::sigfillset } else { libc::sigemptyset };
        // SAFETY: as in `the_signal`.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            if !cfg!(miri) {
                fill(&raw mut set);
            }
            set
        }
    }

    /// Changes the current thread's signal mask, and returns the former mask.
    fn mask(how: c_int, set: &libc::sigset_t) -> libc::sigset_t {
        // SAFETY: both sets are plain data in live frames. The call cannot fail with these arguments.
        unsafe {
            let mut former: libc::sigset_t = mem::zeroed();
            // Miri has no signals.
            if !cfg!(miri) {
                libc::pthread_sigmask(how, set, &raw mut former);
            }
            former
        }
    }

    /// Interrupts a pool's workers that are awake.
    ///
    /// # Safety
    /// As for [`send`].
    pub(crate) unsafe fn send_to_all(common: &Common, threads: &[Name]) {
        for (worker, &thread) in threads.iter().enumerate() {
            if !common.dormitory.place(worker).would_help(|_| true) {
                // SAFETY: the caller's promise.
                unsafe { send(thread) };
            }
        }
    }

    /// Interrupts a worker.
    ///
    /// # Safety
    /// Its thread has been neither joined nor detached, and has not ended.
    pub(crate) unsafe fn send(Name(thread): Name) {
        // SAFETY: the caller's promise.
        unsafe { libc::pthread_kill(thread, SIGNAL) };
    }

    /// Returns the threads' handles for [`send`].
    pub(crate) fn names(threads: &[Thread]) -> Vec<Name> {
        threads.iter().map(Thread::name).collect()
    }

    /// The number of pools that use the handler, and the previous action.
    #[derive(Default)]
    struct Installed {
        users: usize,
        former: Option<sigaction>,
    }

    static INSTALLED: PerProcess<Mutex<Installed>> = PerProcess::new();

    /// The previous handler, to pass signals on to. It is written before our handler can run.
    #[allow(clippy::disallowed_types, reason = "a static needs the concrete type's constant constructor")]
    static FORMER: std::sync::atomic::AtomicPtr<sigaction> = std::sync::atomic::AtomicPtr::new(null_mut());

    /// Keeps the signal handler installed while any exists.
    pub(crate) struct Handler(());

    impl Handler {
        pub(crate) fn install() -> io::Result<Self> {
            let mut installed = INSTALLED.get().lock().unwrap_or_else(PoisonError::into_inner);
            if installed.users == 0 {
                // SAFETY: an action is plain data, for which all zeros are valid.
                let (mut own, mut former): (sigaction, sigaction) = unsafe { (mem::zeroed(), mem::zeroed()) };
                own.sa_sigaction = answer as *const () as usize;
                // `SA_ONSTACK`: some threads have an alternate stack, because their own has no room for a handler.
                own.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
                // SAFETY: the pointers are to actions in this frame, and the handler has the type that `SA_SIGINFO`
                // requires.
                let outcome = unsafe {
                    let mut outcome = libc::sigaction(SIGNAL, null(), &raw mut former);
                    // In the child of a `fork()` it may be there: its parent's.
                    if outcome == 0 && !is_own(&former) {
                        // Signals that must not interrupt the former handler.
                        own.sa_mask = former.sa_mask;
                        pass_on_to(former);
                        outcome = libc::sigaction(SIGNAL, &raw const own, null_mut());
                    }
                    outcome
                };
                if outcome != 0 {
                    return Err(io::Error::last_os_error());
                }
                installed.former = (!is_own(&former)).then_some(former);
            }
            installed.users += 1;
            Ok(Self(()))
        }
    }

    fn is_own(action: &sigaction) -> bool {
        action.sa_sigaction == answer as *const () as usize
    }

    /// Remembers a handler for [`answer`].
    fn pass_on_to(former: sigaction) {
        let is_handler = former.sa_sigaction != libc::SIG_DFL && former.sa_sigaction != libc::SIG_IGN;
        let former = if is_handler {
            // Never freed, since a handler may be reading it: a few bytes each time a program had its own handler.
            let former: &'static sigaction = Box::leak(Box::new(former));
            keep(former);
            ptr::from_ref(former).cast_mut()
        } else {
            null_mut()
        };
        // Release: pairs with the load in `answer`, on any thread.
        FORMER.store(former, Ordering::Release);
    }

    impl Drop for Handler {
        fn drop(&mut self) {
            let mut installed = INSTALLED.get().lock().unwrap_or_else(PoisonError::into_inner);
            installed.users -= 1;
            if installed.users > 0 {
                return;
            }
            if let Some(former) = installed.former.take() {
                // SAFETY: as in `install`.
                unsafe {
                    let mut present: sigaction = mem::zeroed();
                    let is_known = libc::sigaction(SIGNAL, null(), &raw mut present) == 0;
                    // Otherwise the program has set its own handler meanwhile, which stays.
                    if is_known && is_own(&present) {
                        libc::sigaction(SIGNAL, &raw const former, null_mut());
                    }
                }
            }
        }
    }

    extern "C" fn answer(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the pointer is null, or `Listening` set it to the front of this thread's worker.
        if let Some(front) = unsafe { WORKER.get().as_ref() } {
            // SAFETY: this thread is the worker, and an answer forks nothing, so any head will do.
            unsafe { Here::new(front, null_mut()) }.interrupted();
            return;
        }
        // SAFETY: the pointer is null, or to an action that is never freed. Acquire: pairs with `pass_on_to`.
        let Some(former) = (unsafe { FORMER.load(Ordering::Acquire).as_ref() }) else { return };
        // A handler that the program has put before ours, and which passes signals on to it, may later be the former one.
        if IS_PASSING.replace(true) {
            return;
        }
        // SAFETY: the handler has the type that the action's flags say.
        unsafe {
            if former.sa_flags & libc::SA_SIGINFO != 0 {
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = mem::transmute(former.sa_sigaction);
                handler(signal, info, context);
            } else {
                let handler: extern "C" fn(c_int) = mem::transmute(former.sa_sigaction);
                handler(signal);
            }
        }
        IS_PASSING.set(false);
    }
}

/// For systems without signals.
#[cfg(not(unix))]
mod signals {
    use std::io;
    use std::sync::Arc;

    use crate::front::Front;
    use crate::registry::Common;
    use crate::thread::{Name, Thread};

    pub(crate) enum Handler {}

    impl Handler {
        pub(crate) fn install() -> io::Result<Self> {
            Err(io::Error::other("this system has no signals"))
        }
    }

    pub(crate) struct Listening;

    impl Listening {
        #[allow(clippy::missing_safety_doc, reason = "cannot be called")]
        pub(crate) unsafe fn new(_: &Front, handler: Arc<Handler>) -> Self {
            match *handler {}
        }
    }

    pub(crate) struct Held;

    impl Held {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn all() -> Self {
            Self
        }
    }

    pub(crate) struct Mask;

    impl Mask {
        pub(crate) fn of_this_thread() -> Self {
            Self
        }

        pub(crate) fn adopt(&self) {}
    }

    pub(crate) unsafe fn send_to_all(_: &Common, _: &[Name]) {}

    pub(crate) unsafe fn send(name: Name) {
        match name {}
    }

    pub(crate) fn names(_: &[Thread]) -> Vec<Name> {
        Vec::new()
    }
}
