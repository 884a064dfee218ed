//! The space left on a thread's own stack.
//!
//! Invariant: the middle of a stack lies within it, or is an address below all stacks, which no stack passes.

use std::cell::OnceCell;

/// Returns the address in the middle of what is left of the current thread's stack. Where the system does not tell,
/// assumes that `bytes` are left; 0 if unknown.
pub(crate) fn middle(bytes: usize) -> usize {
    if cfg!(miri) {
        // Under Miri the address of a variable says nothing about its depth.
        return 0;
    }
    let here = std::ptr::from_ref(&bytes).addr();
    match end_here() {
        Some(end) if end < here => usize::midpoint(end, here),
        _ if bytes == 0 => 0,
        _ => here.saturating_sub(bytes / 2),
    }
}

/// Whether the current thread certainly has this much of its stack left.
pub(crate) fn has_room(bytes: usize) -> bool {
    if cfg!(miri) {
        return true;
    }
    let here = std::ptr::from_ref(&bytes).addr();
    end_here().is_some_and(|end| here.saturating_sub(end) >= bytes)
}

/// Caches [`system::end`] per thread, because it is slow for the first thread.
fn end_here() -> Option<usize> {
    thread_local! {
        static END: OnceCell<Option<usize>> = const { OnceCell::new() };
    }
    END.with(|end| *end.get_or_init(system::end))
}

/// Whether the current thread's stack has grown past `middle`.
#[inline]
pub(crate) fn is_past(middle: usize) -> bool {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr() < middle
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod system {
    use std::ffi::CStr;
    use std::mem::zeroed;
    use std::ptr::{addr_of_mut, null_mut, with_exposed_provenance};

    use crate::limits::LARGEST_PAGE;

    /// Returns the lowest address of the current thread's stack, or one a little above.
    pub(super) fn end() -> Option<usize> {
        end_of_first().or_else(end_of_any)
    }

    /// As [`end`], if this is the process's first thread, with a usual limit. glibc searches a file of `/proc` for it,
    /// which takes longer than the start of a thread.
    pub(super) fn end_of_first() -> Option<usize> {
        // SAFETY: the kernel tells an address of a C string, which stays as it is, or none.
        let name = unsafe {
            let name = libc::getauxval(libc::AT_EXECFN) as usize;
            (name != 0).then(|| CStr::from_ptr(with_exposed_provenance(name)))?
        };
        // The string lies at the stack's top.
        let top = (name.as_ptr().addr() + name.count_bytes()).next_multiple_of(LARGEST_PAGE);
        let here = (&raw const top).addr();
        let end = top.checked_sub(usual_limit()?)?;
        (end..top).contains(&here).then_some(end)
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

    /// As [`end`], for any thread.
    pub(super) fn end_of_any() -> Option<usize> {
        // SAFETY: the attributes are plain data, which the first call initializes and the last one destroys.
        unsafe {
            let mut attributes: libc::pthread_attr_t = zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
                return None;
            }
            let (mut lowest, mut size) = (null_mut(), 0);
            let outcome = libc::pthread_attr_getstack(&raw const attributes, addr_of_mut!(lowest), addr_of_mut!(size));
            libc::pthread_attr_destroy(&raw mut attributes);
            (outcome == 0 && size > 0).then(|| lowest.addr())
        }
    }
}

#[cfg(target_vendor = "apple")]
mod system {
    /// Returns the lowest address of the current thread's stack.
    pub(super) fn end() -> Option<usize> {
        // SAFETY: both functions only read the system's data on a thread.
        let (base, size) = unsafe {
            let thread = libc::pthread_self();
            (libc::pthread_get_stackaddr_np(thread).addr(), libc::pthread_get_stacksize_np(thread))
        };
        base.checked_sub(size)
    }
}

#[cfg(not(any(all(any(target_os = "linux", target_os = "android"), not(miri)), target_vendor = "apple")))]
mod system {
    pub(super) fn end() -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Calls [`is_past`] once the stack is used down to `address`.
    #[inline(never)]
    fn is_past_at(address: usize, middle: usize) -> bool {
        let here = std::hint::black_box([0_u8; 1 << 10]);
        let past = if here.as_ptr().addr() > address { is_past_at(address, middle) } else { is_past(middle) };
        std::hint::black_box(here);
        past
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no stack depths")]
    fn the_middle_is_that_of_the_real_stack_whatever_size_is_given() {
        const SIZE: usize = 4 << 20;
        let on_a_stack = |said: usize| {
            let look = move || {
                let (here, middle) = (std::ptr::from_ref(&said).addr(), middle(said));
                (middle, is_past_at(here - SIZE / 8, middle), is_past_at(here - SIZE / 8 * 5, middle))
            };
            thread::Builder::new().stack_size(SIZE).spawn(look).unwrap().join().unwrap()
        };
        assert!(matches!(on_a_stack(SIZE), (1.., false, true)));
        if cfg!(any(target_os = "linux", target_vendor = "apple")) {
            assert!(matches!(on_a_stack(0), (1.., false, true)));
        } else {
            assert_eq!(on_a_stack(0), (0, false, false), "the size is unknown, so no depth is past the middle");
        }
    }

    /// What the first thread finds before `main`, since the harness runs tests on others. (musl tells what the stack has grown to so far.)
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    mod first {
        use std::sync::OnceLock;

        pub(super) static ENDS: OnceLock<[Option<usize>; 2]> = OnceLock::new();

        extern "C" fn look() {
            ENDS.get_or_init(|| [super::system::end_of_first(), super::system::end_of_any()]);
        }

        // SAFETY: the section is an array of functions that the C library calls before `main`, on the first thread.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static LOOK: extern "C" fn() = look;
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    fn the_end_of_the_first_thread_is_that_which_the_system_finds() {
        assert_eq!(system::end_of_first(), None, "this is another thread");
        let [quick, exact] = *first::ENDS.get().unwrap();
        assert_eq!(quick.is_some(), system::usual_limit().is_some());
        if let (Some(quick), Some(exact)) = (quick, exact) {
            assert!((exact..exact + (128 << 10)).contains(&quick), "{quick:#x}, {exact:#x}");
        }
    }
}
