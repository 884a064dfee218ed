//! The space left on a thread's own stack.
//!
//! Invariant: the middle of a stack lies within that stack, or is an address below all stacks, so that no stack passes
//! it.

use std::cell::OnceCell;
use std::ops::Range;

/// The lower half of what was left of a thread's stack when this was made; the default if the stack is unknown.
#[derive(Clone, Copy, Default)]
pub(crate) struct LowerHalf {
    bottom: usize,
    middle: usize,
}

impl LowerHalf {
    /// Returns the lower half of what is left of the current thread's stack. If the system does not tell, assumes that
    /// `bytes` are left; 0 if that is unknown.
    pub(crate) fn of(bytes: usize) -> Self {
        if cfg!(miri) {
            // Under Miri the address of a variable says nothing about its depth.
            return Self::default();
        }
        let here = std::ptr::from_ref(&bytes).addr();
        match stack_here() {
            Some(stack) if stack.contains(&here) => {
                Self { bottom: stack.start, middle: usize::midpoint(stack.start, here) }
            }
            _ if bytes == 0 => Self::default(),
            _ => Self { bottom: here.saturating_sub(bytes), middle: here.saturating_sub(bytes / 2) },
        }
    }

    /// Whether the current thread's stack has grown past the middle.
    #[inline]
    pub(crate) fn has_begun(self) -> bool {
        let here = 0_u8;
        std::ptr::from_ref(&here).addr() < self.middle
    }

    /// How many times the current thread has halved what was left of the lower half.
    pub(crate) fn halvings(self) -> u32 {
        let here = 0_u8;
        let left = std::ptr::from_ref(&here).addr().saturating_sub(self.bottom).max(1);
        ((self.middle - self.bottom) / left).max(1).ilog2()
    }
}

/// Whether the current thread certainly has this many bytes of its stack left. Returns `false` if the thread runs on
/// another stack, as a coroutine does.
pub(crate) fn has_room(bytes: usize) -> bool {
    if cfg!(miri) {
        return true;
    }
    let here = std::ptr::from_ref(&bytes).addr();
    stack_here().is_some_and(|stack| stack.contains(&here) && here - stack.start >= bytes)
}

/// Caches [`system::stack`] per thread, because it is slow for the first thread.
fn stack_here() -> Option<Range<usize>> {
    thread_local! {
        static STACK: OnceCell<Option<Range<usize>>> = const { OnceCell::new() };
    }
    STACK.with(|stack| stack.get_or_init(system::stack).clone())
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod system {
    use std::ffi::CStr;
    use std::mem::zeroed;
    use std::ops::Range;
    use std::ptr::{addr_of_mut, null_mut, with_exposed_provenance};

    use crate::machine::thread::LARGEST_PAGE;

    /// Returns the addresses of the current thread's stack; the lowest may be a little above the stack's real end.
    pub(super) fn stack() -> Option<Range<usize>> {
        stack_of_first().or_else(stack_of_any)
    }

    /// As [`stack`], if this is the process's first thread, with a usual limit. For this thread, glibc searches a file
    /// of `/proc`, which takes longer than the start of a thread.
    pub(super) fn stack_of_first() -> Option<Range<usize>> {
        // SAFETY: the kernel gives the address of a C string that never changes, or 0.
        let name = unsafe {
            let name = libc::getauxval(libc::AT_EXECFN) as usize;
            (name != 0).then(|| CStr::from_ptr(with_exposed_provenance(name)))?
        };
        // The string lies at the stack's top.
        let top = (name.as_ptr().addr() + name.count_bytes()).next_multiple_of(LARGEST_PAGE);
        let here = (&raw const top).addr();
        let end = top.checked_sub(usual_limit()?)?;
        (end..top).contains(&here).then_some(end..top)
    }

    /// Returns the limit of the first thread's stack, if nothing else can lie within it.
    pub(super) fn usual_limit() -> Option<usize> {
        /// The kernel leaves more than this below the top for the stack alone, whatever the limit.
        const ALONE: usize = 64 << 20;
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the call fills in the limit.
        let is_known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
        usize::try_from(limit.rlim_cur).ok().filter(|bytes| is_known && *bytes <= ALONE)
    }

    /// As [`stack`], for any thread.
    pub(super) fn stack_of_any() -> Option<Range<usize>> {
        // SAFETY: the attributes are plain data, which the first call initializes and the last one destroys.
        unsafe {
            let mut attributes: libc::pthread_attr_t = zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
                return None;
            }
            let (mut lowest, mut size) = (null_mut(), 0);
            let outcome = libc::pthread_attr_getstack(&raw const attributes, addr_of_mut!(lowest), addr_of_mut!(size));
            libc::pthread_attr_destroy(&raw mut attributes);
            (outcome == 0 && size > 0).then(|| lowest.addr()..lowest.addr() + size)
        }
    }
}

#[cfg(target_vendor = "apple")]
mod system {
    use std::ops::Range;

    /// Returns the addresses of the current thread's stack.
    pub(super) fn stack() -> Option<Range<usize>> {
        // SAFETY: both functions only read the system's data on a thread.
        let (base, size) = unsafe {
            let thread = libc::pthread_self();
            (libc::pthread_get_stackaddr_np(thread).addr(), libc::pthread_get_stacksize_np(thread))
        };
        base.checked_sub(size).map(|end| end..base)
    }
}

#[cfg(not(any(all(any(target_os = "linux", target_os = "android"), not(miri)), target_vendor = "apple")))]
mod system {
    pub(super) fn stack() -> Option<std::ops::Range<usize>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Uses the stack down to `address`, and returns whether the lower half has begun, and how often it was halved.
    #[inline(never)]
    fn at(address: usize, half: LowerHalf) -> (bool, u32) {
        let here = std::hint::black_box([0_u8; 1 << 10]);
        let found =
            if here.as_ptr().addr() > address { at(address, half) } else { (half.has_begun(), half.halvings()) };
        std::hint::black_box(here);
        found
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no stack depths")]
    fn the_middle_is_that_of_the_real_stack_whatever_size_is_given() {
        const SIZE: usize = 4 << 20;
        let on_a_stack = |said: usize| {
            let look = move || {
                let (here, half) = (std::ptr::from_ref(&said).addr(), LowerHalf::of(said));
                [1, 5, 7].map(|eighths| at(here - SIZE / 16 * (2 * eighths - 1), half))
            };
            thread::Builder::new().stack_size(SIZE).spawn(look).unwrap().join().unwrap()
        };
        let known = [(false, 0), (true, 0), (true, 1)];
        assert_eq!(on_a_stack(SIZE), known);
        if cfg!(any(target_os = "linux", target_vendor = "apple")) {
            assert_eq!(on_a_stack(0), known);
        } else {
            assert_eq!(on_a_stack(0), [(false, 0); 3], "the size is unknown, so no depth is past the middle");
        }
    }

    /// The stacks that the first thread finds before `main`, since the harness runs tests on other threads. (musl tells
    /// only what the stack has grown to so far.)
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    mod first {
        use std::ops::Range;
        use std::sync::OnceLock;

        pub(super) static STACKS: OnceLock<[Option<Range<usize>>; 2]> = OnceLock::new();

        extern "C" fn look() {
            STACKS.get_or_init(|| [super::system::stack_of_first(), super::system::stack_of_any()]);
        }

        // SAFETY: the section is an array of functions that the C library calls before `main`, on the first thread.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static LOOK: extern "C" fn() = look;
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    fn the_end_of_the_first_thread_is_that_which_the_system_finds() {
        assert_eq!(system::stack_of_first(), None, "this is another thread");
        let [quick, exact] = first::STACKS.get().unwrap().clone();
        assert_eq!(quick.is_some(), system::usual_limit().is_some());
        if let (Some(quick), Some(exact)) = (quick, exact) {
            const NEAR: usize = 128 << 10;
            assert!((exact.start..exact.start + NEAR).contains(&quick.start), "{quick:#x?}, {exact:#x?}");
            assert!(quick.end.abs_diff(exact.end) < NEAR, "{quick:#x?}, {exact:#x?}");
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    fn a_coroutine_is_not_known_to_have_room() {
        use std::cell::{Cell, UnsafeCell};
        use std::mem::zeroed;

        thread_local! {
            static ROOM: Cell<Option<bool>> = const { Cell::new(None) };
        }
        extern "C" fn look() {
            ROOM.set(Some(has_room(1)));
        }
        // Before the thread's own, and so above it.
        let mut stack = vec![0_u8; 1 << 20];
        let runs = move || {
            assert!(has_room(1));
            // SAFETY: contexts are plain data, which the first two calls initialize; the coroutine has this stack to
            // itself, and returns to this one.
            unsafe {
                let (here, coroutine) = (UnsafeCell::new(zeroed()), UnsafeCell::<libc::ucontext_t>::new(zeroed()));
                assert_eq!(libc::getcontext(coroutine.get()), 0);
                (*coroutine.get()).uc_stack.ss_sp = stack.as_mut_ptr().cast();
                (*coroutine.get()).uc_stack.ss_size = stack.len();
                (*coroutine.get()).uc_link = here.get();
                libc::makecontext(coroutine.get(), look, 0);
                assert_eq!(libc::swapcontext(here.get(), coroutine.get()), 0);
            }
            ROOM.get()
        };
        assert_eq!(thread::spawn(runs).join().unwrap(), Some(false));
    }
}
