//! What a program is told when a worker's stack overflows. Rust tells it if `main` is in Rust; here it is not.
//!
//! A worker runs into the page below its stack, which nobody may touch. The handler of that fault needs a stack of its
//! own. Other faults end the process as they would without it.
//!
//! Invariant: a handler that the program has installed stays.

use std::cell::Cell;
use std::mem::{MaybeUninit, zeroed};
use std::ops::Range;
use std::ptr::{null, null_mut};
use std::sync::LazyLock;

use libc::{c_int, c_void, siginfo_t};

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The stack that the handler runs on.
const BYTES: usize = 64 << 10;

/// Whether the handler is installed.
static WATCHES: LazyLock<bool> = LazyLock::new(|| {
    // SAFETY: actions are plain data, for which all zeros are valid; the handler does only what handlers may.
    unsafe {
        let is_free = |signal| {
            let mut former: libc::sigaction = zeroed();
            libc::sigaction(signal, null(), &raw mut former) == 0 && former.sa_sigaction == libc::SIG_DFL
        };
        let mut action: libc::sigaction = zeroed();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_sigaction = handle as *const () as usize;
        SIGNALS.into_iter().all(is_free)
            && SIGNALS.into_iter().all(|signal| libc::sigaction(signal, &raw const action, null_mut()) == 0)
    }
});

thread_local! {
    /// The addresses below this thread's stack that nobody may touch. Without a destructor, so the handler may read it.
    static GUARD: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static SECOND: Second = Second::new();
}

/// A stack for this thread's handler.
struct Second(*mut c_void);

impl Second {
    fn new() -> Self {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the mapping is new, and stays until this is dropped.
        unsafe {
            let stack = libc::mmap(null_mut(), BYTES, access, kind, -1, 0);
            if stack != libc::MAP_FAILED {
                let of_it = libc::stack_t { ss_sp: stack, ss_flags: 0, ss_size: BYTES };
                libc::sigaltstack(&raw const of_it, null_mut());
            }
            Self(stack)
        }
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        if self.0 != libc::MAP_FAILED {
            let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: BYTES };
            // SAFETY: no handler runs on it, since this does not.
            unsafe {
                libc::sigaltstack(&raw const none, null_mut());
                libc::munmap(self.0, BYTES);
            }
        }
    }
}

/// Watches over the current thread, which is a worker's own.
pub(crate) fn watch() {
    if *WATCHES {
        SECOND.with(|_| ());
        let guard = guard().unwrap_or(0..0);
        GUARD.set((guard.start, guard.end));
    }
}

/// Returns where an overflow of the current thread's stack faults: C libraries put the page below what they call the
/// stack, or at its lowest addresses.
fn guard() -> Option<Range<usize>> {
    let (mut attributes, mut stack, mut size, mut guard) = (MaybeUninit::uninit(), null_mut(), 0, 0);
    // SAFETY: the attributes are initialized by the first call, if it succeeds, and destroyed by the last.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let mut attributes = attributes.assume_init();
        let is_known = libc::pthread_attr_getstack(&raw const attributes, &raw mut stack, &raw mut size) == 0
            && libc::pthread_attr_getguardsize(&raw const attributes, &raw mut guard) == 0;
        libc::pthread_attr_destroy(&raw mut attributes);
        is_known.then(|| stack.addr() - guard..stack.addr() + guard)
    }
}

unsafe extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    const SAID: &str = "filch: the stack of a worker has overflowed: the pool's settings have its size, stack_size\n";
    let guard = GUARD.get();
    // SAFETY: the system passes the information about the fault. All functions are those that a handler may call.
    unsafe {
        if (guard.0..guard.1).contains(&(*info).si_addr().addr()) {
            libc::write(libc::STDERR_FILENO, SAID.as_ptr().cast(), SAID.len());
            libc::abort();
        }
        // The instruction faults again, and ends the process.
        libc::signal(signal, libc::SIG_DFL);
    }
}
