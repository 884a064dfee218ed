//! Interrupts: how workers come to answer thieves in the middle of a long task.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with Private
//! Deques*, PPoPP 2013, section 4: where an owner has to answer, a task that runs for long without a fork or a join keeps all
//! others waiting, so a thread ticks, and on each tick the owners answer.
//!
//! **Two ways.** The tick raises a flag, and tasks look at it by [`poll`] or [`Worker::poll`](crate::Worker::poll). Or it is a signal,
//! whose handler answers wherever the task is: unless the worker is using its deque, which its own flag says; then it answers
//! by itself soon.
//!
//! **The signal** is `SIGURG`, which hardly anybody uses, and which is ignored where nobody has asked for it: one that arrives
//! after the handler has gone does no harm. The handler allocates nothing, locks nothing and calls nothing of the system,
//! but that PDQ-S reads the system's clock on processors without a counter to read. On a thread that is no worker, the handler passes
//! the signal on to the one that was there before.
//!
//! **Nobody waits, nothing ticks.** A tick costs a switch to the ticker and back, and a signal to each worker, some 5 to 10 % of two
//! processors at the default period. The paper's ticks always; ours only while thieves have found nothing: see
//! [`ticks`](crate::protocol::ticks).
//!
//! What must always hold: no signal is sent to a worker's thread that may have left, and the handler finds no worker on a thread
//! that has left its own.

use std::time::Duration;

use crate::here::Here;

/// When and how the workers of a pool are interrupted, to answer thieves in the middle of a long task:
/// [`Builder::interrupts`](crate::Builder::interrupts). From *Scheduling Parallel Programs by Work Stealing with Private Deques*
/// (Acar, Charguéraud and Rainey, 2013).
///
/// For pools whose thieves get nothing without an answer, such as that of [`PdqR`](filch_queue::PdqR). Workers answer at each
/// fork and join; a task that does neither for milliseconds keeps what its worker has forked before out of reach. By default
/// nothing interrupts it. While no thief waits nothing ticks, and interrupts cost nothing.
///
/// ```
/// use std::time::Duration;
///
/// use filch::pool::Queued;
/// use filch::{Builder, Interrupts};
/// use filch_queue::PdqR;
///
/// let builder = Builder::<Queued<PdqR>>::new().workers(2);
/// let pool = builder.interrupts(Interrupts::flag().every(Duration::from_millis(1))).build()?;
/// let (_, b) = pool.install(|| {
///     filch::join(
///         || {
///             for _ in 0..1_000_000 {
///                 filch::poll(); // between the steps of something long
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Flag,
    Signal,
}

impl Interrupts {
    /// The time between two ticks unless [`Interrupts::every`] says otherwise.
    pub const DEFAULT_PERIOD: Duration = Duration::from_micros(200);

    /// A tick allows the next [`poll`] of each worker to answer; without interrupts every poll does. It spares tasks that
    /// poll in a tight loop the cost of an answer, which on some queues is a look at a clock.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(2).interrupts(filch::Interrupts::flag()).build()?;
    /// assert_eq!(pool.install(|| filch::join(|| filch::poll(), || 2)), ((), 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub const fn flag() -> Self {
        Self { by: By::Flag, period: Self::DEFAULT_PERIOD }
    }

    /// A tick sends `SIGURG` to each worker that is awake, and its handler answers thieves; tasks need do nothing. Unix only.
    ///
    /// While such a pool exists the program's own handler for that signal, if it has one, is called only on threads that are not
    /// workers of such a pool. Afterwards it is in place again. System calls that tasks make are restarted; those that never are, such
    /// as `nanosleep`, may return early with `EINTR`, which std hides.
    ///
    /// Without effect, and without cost, on pools whose thieves need no answer.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use filch::pool::Queued;
    /// use filch::{Builder, Interrupts};
    ///
    /// let builder = Builder::<Queued<filch_queue::PdqR>>::new().workers(2);
    /// let pool = builder.interrupts(Interrupts::signal()).build()?;
    /// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    /// # }
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub const fn signal() -> Self {
        Self { by: By::Signal, period: Self::DEFAULT_PERIOD }
    }

    /// The same with another time between two ticks, which must not be zero. The paper tried 0.2 to 2 ms. It is a lower bound: the
    /// ticker is a thread like any other.
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
}

/// Answers thieves that wait for this worker, in closure style: see [`Worker::poll`](crate::Worker::poll). Does nothing outside of
/// all pools.
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
    // SAFETY: used at once.
    unsafe { Here::current() }.poll();
}

pub(crate) use signals::{Handler, Held, Listening, names, send};

#[cfg(unix)]
mod signals {
    use std::cell::Cell;
    use std::io;
    use std::marker::PhantomData;
    use std::mem;
    use std::os::unix::thread::JoinHandleExt;
    use std::ptr::{self, null, null_mut};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::thread::JoinHandle;

    use filch_memory::{Memory, Native, Ordering};
    use libc::{c_int, c_void, sigaction, siginfo_t};

    use crate::front::Front;
    use crate::here::Here;
    use crate::kept::keep;
    use crate::registry::Common;

    const SIGNAL: c_int = libc::SIGURG;

    thread_local! {
        /// The worker that this thread is, if signals are to interrupt it. Without a destructor and set before the first signal, so
        /// that the handler may look at it.
        static WORKER: Cell<*const Front> = const { Cell::new(null()) };
    }

    /// While it exists, the current thread is a worker that signals interrupt. A signal that comes to it too late to interrupt it still
    /// finds the handler.
    pub(crate) struct Listening {
        _handler: Arc<Handler>,
    }

    impl Listening {
        /// # Safety
        /// The current thread is the worker of `front`, and drops this before it ceases to be.
        pub(crate) unsafe fn new(front: &Front, handler: Arc<Handler>) -> Self {
            WORKER.set(front);
            // The handler sees it whole.
            Native::compiler_fence();
            // Its starter has [held](Held) the signal.
            mask(libc::SIG_UNBLOCK, &the_signal());
            Self { _handler: handler }
        }
    }

    impl Drop for Listening {
        fn drop(&mut self) {
            // One that is still on its way ends with the thread.
            mask(libc::SIG_BLOCK, &the_signal());
            WORKER.set(null());
            Native::compiler_fence();
        }
    }

    /// While it exists, the current thread does not get the signal, nor do those that it starts until they [listen](Listening): one that
    /// is meant for a worker which is not there yet would be passed on to the program's own handler.
    pub(crate) struct Held {
        former: libc::sigset_t,
        /// The mask is this thread's.
        thread: PhantomData<*mut ()>,
    }

    impl Held {
        pub(crate) fn new() -> Self {
            Self { former: mask(libc::SIG_BLOCK, &the_signal()), thread: PhantomData }
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            mask(libc::SIG_SETMASK, &self.former);
        }
    }

    fn the_signal() -> libc::sigset_t {
        // SAFETY: a set of signals is plain data, for which all zeros are valid, and is initialized by the system.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, SIGNAL);
            set
        }
    }

    /// Changes which signals the current thread blocks, and returns those that it blocked before.
    fn mask(how: c_int, set: &libc::sigset_t) -> libc::sigset_t {
        // SAFETY: the set is plain data, of this frame, and so is the one that is returned. It cannot fail with what is asked here.
        unsafe {
            let mut former: libc::sigset_t = mem::zeroed();
            libc::pthread_sigmask(how, set, &raw mut former);
            former
        }
    }

    /// Interrupts those of a pool's workers that are awake.
    ///
    /// # Safety
    /// None of the threads has been joined or detached, and none has ended.
    pub(crate) unsafe fn send(common: &Common, threads: &[libc::pthread_t]) {
        for (worker, &thread) in threads.iter().enumerate() {
            if !common.dormitory.place(worker).would_help(|_| true) {
                // SAFETY: the caller's promise.
                unsafe { libc::pthread_kill(thread, SIGNAL) };
            }
        }
    }

    /// What [`send`] wants.
    pub(crate) fn names(threads: &[JoinHandle<()>]) -> Vec<libc::pthread_t> {
        threads.iter().map(JoinHandleExt::as_pthread_t).collect()
    }

    /// How many pools want the handler, and what was there before.
    struct Installed {
        users: usize,
        former: Option<sigaction>,
    }

    static INSTALLED: Mutex<Installed> = Mutex::new(Installed { users: 0, former: None });

    /// The handler to pass signals on to. A constant needs the concrete type; it is written before the handler can run.
    #[allow(clippy::disallowed_types, reason = "a static needs the concrete type's constant constructor")]
    static FORMER: std::sync::atomic::AtomicPtr<sigaction> = std::sync::atomic::AtomicPtr::new(null_mut());

    /// While one of these exists the signal is handled.
    pub(crate) struct Handler(());

    impl Handler {
        pub(crate) fn install() -> io::Result<Self> {
            let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
            if installed.users == 0 {
                // SAFETY: actions are plain data, for which all zeros are valid.
                let (mut own, mut former): (sigaction, sigaction) = unsafe { (mem::zeroed(), mem::zeroed()) };
                own.sa_sigaction = answer as *const () as usize;
                // On threads whose own stack has no room for a handler, there is another for it.
                own.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
                // SAFETY: the pointers are to actions of this frame, and the handler has the type that `SA_SIGINFO` asks for.
                let outcome = unsafe {
                    if libc::sigaction(SIGNAL, null(), &raw mut former) == 0 {
                        // What the former handler does not want to be interrupted by.
                        own.sa_mask = former.sa_mask;
                        pass_on_to(former);
                        libc::sigaction(SIGNAL, &raw const own, null_mut())
                    } else {
                        -1
                    }
                };
                if outcome != 0 {
                    return Err(io::Error::last_os_error());
                }
                installed.former = Some(former);
            }
            installed.users += 1;
            Ok(Self(()))
        }
    }

    /// Remembers a handler for [`answer`].
    fn pass_on_to(former: sigaction) {
        let is_handler = former.sa_sigaction != libc::SIG_DFL && former.sa_sigaction != libc::SIG_IGN;
        let former = if is_handler {
            // Since a handler may be reading it: a few bytes for each time that a program had a handler of its own.
            let former: &'static sigaction = Box::leak(Box::new(former));
            keep(former);
            ptr::from_ref(former).cast_mut()
        } else {
            null_mut()
        };
        // Release: pairs with the load in `answer`, on whatever thread.
        FORMER.store(former, Ordering::Release);
    }

    impl Drop for Handler {
        fn drop(&mut self) {
            let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
            installed.users -= 1;
            if installed.users > 0 {
                return;
            }
            if let Some(former) = installed.former.take() {
                // SAFETY: as in `install`.
                unsafe {
                    let mut present: sigaction = mem::zeroed();
                    let is_known = libc::sigaction(SIGNAL, null(), &raw mut present) == 0;
                    // Otherwise the program has set its own meanwhile, which stays.
                    if is_known && present.sa_sigaction == answer as *const () as usize {
                        libc::sigaction(SIGNAL, &raw const former, null_mut());
                    }
                }
            }
        }
    }

    extern "C" fn answer(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: null, or set by `Listening` to the front of the worker that this thread is.
        if let Some(front) = unsafe { WORKER.get().as_ref() } {
            // SAFETY: this thread is the worker, and answering forks nothing, at whatever head.
            unsafe { Here::new(front, null_mut()) }.interrupted();
            return;
        }
        // SAFETY: null, or an action that is never freed. Acquire: pairs with `pass_on_to`.
        let Some(former) = (unsafe { FORMER.load(Ordering::Acquire).as_ref() }) else { return };
        // SAFETY: the program gave the system a handler of the type that its flags say.
        unsafe {
            if former.sa_flags & libc::SA_SIGINFO != 0 {
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = mem::transmute(former.sa_sigaction);
                handler(signal, info, context);
            } else {
                let handler: extern "C" fn(c_int) = mem::transmute(former.sa_sigaction);
                handler(signal);
            }
        }
    }
}

/// Where there are none.
#[cfg(not(unix))]
mod signals {
    use std::io;
    use std::sync::Arc;
    use std::thread::JoinHandle;

    use crate::front::Front;
    use crate::registry::Common;

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
    }

    pub(crate) unsafe fn send(_: &Common, _: &[()]) {}

    pub(crate) fn names(_: &[JoinHandle<()>]) -> Vec<()> {
        Vec::new()
    }
}
