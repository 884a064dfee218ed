//! The signal that interrupts workers: its handler, who receives it, and sending it.
//!
//! Invariant: as of [`interrupts`](super).

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
