//! The handler of the signal that interrupts workers, and the threads that receive the signal.
//!
//! Invariant: that of [`interrupts`](super).

use std::cell::Cell;
use std::io;
use std::mem;
use std::ptr::{self, null, null_mut};
use std::sync::{Arc, Mutex, PoisonError};

use filch_memory::{Memory, Native, Ordering};
use libc::{c_int, c_void, sigaction, siginfo_t};

use crate::fork::{front::Front, here::Here};
use crate::machine::signals::{SIGNAL, mask, the_signal};
use crate::machine::{leaked::keep, process::PerProcess};

thread_local! {
    /// This thread's worker, if signals interrupt it. It has no destructor and is set before the first signal, so
    /// that the handler may read it.
    static WORKER: Cell<*const Front> = const { Cell::new(null()) };
    static IS_PASSING: Cell<bool> = const { Cell::new(false) };
}

/// Lets signals interrupt the current thread, a worker, while it exists. A signal that arrives too late still finds the
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
        // The thread that started this one has [blocked](crate::machine::signals::Held) the signal.
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

/// Keeps the signal handler installed while any `Handler` exists.
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
                // In the child of a `fork()` our handler may be installed already: the parent's.
                if outcome == 0 && !is_own(&former) {
                    // Blocks the signals that must not interrupt the former handler.
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
        // Never freed, since a handler may be reading it. This costs a few bytes each time that a program had its own
        // handler.
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
    // The former handler may itself pass signals on to ours, because the program once put it before ours. This check
    // breaks the cycle.
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
