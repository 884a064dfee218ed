//! The machine's own memory: every operation is the `core::sync::atomic` one, inlined.
#![allow(clippy::disallowed_types, reason = "the one place where the standard atomics are named")]

use core::cell::UnsafeCell;
use core::sync::atomic::{self, Ordering};

use crate::{Atomic, AtomicInt, Cell, Memory};

/// The machine's memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

// SAFETY: the operations of `core::sync::atomic` themselves, and a cell is an `UnsafeCell`.
unsafe impl Memory for Native {
    type AtomicU32 = atomic::AtomicU32;
    type AtomicU64 = atomic::AtomicU64;
    type AtomicI64 = atomic::AtomicI64;
    type AtomicUsize = atomic::AtomicUsize;
    type AtomicBool = atomic::AtomicBool;
    type AtomicPtr<T> = atomic::AtomicPtr<T>;
    type Cell<T> = NativeCell<T>;

    #[inline(always)]
    fn fence(order: Ordering) {
        atomic::fence(order);
    }

    #[inline(always)]
    fn compiler_fence() {
        atomic::compiler_fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn spin_loop() {
        core::hint::spin_loop();
    }
}

#[cfg(feature = "std")]
impl crate::Sleep for Native {
    fn wait(word: &Self::AtomicU32, expected: u32) {
        atomic_wait::wait(word, expected);
    }

    fn wake_one(word: &Self::AtomicU32) {
        atomic_wait::wake_one(word);
    }

    fn wake_all(word: &Self::AtomicU32) {
        atomic_wait::wake_all(word);
    }
}

/// The heavy side is `membarrier` of Linux, which interrupts the processors that run threads of this process.
// SAFETY: `membarrier` is what the trait describes.
unsafe impl crate::Asymmetric for Native {
    fn prepare_barriers() -> bool {
        membarrier::register()
    }

    #[inline(always)]
    fn light_barrier() {
        atomic::compiler_fence(Ordering::SeqCst);
    }

    fn heavy_barrier() {
        membarrier::run();
        // The call is one already, to the kernel; this says so to the compiler.
        atomic::fence(Ordering::SeqCst);
    }
}

#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
mod membarrier {
    // As in `linux/membarrier.h`.
    const PRIVATE_EXPEDITED: core::ffi::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: core::ffi::c_int = 1 << 4;

    fn command(command: core::ffi::c_int) -> bool {
        // SAFETY: `membarrier` takes a command, flags and a processor's number, and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Idempotent: the kernel remembers it for the process.
    pub(super) fn register() -> bool {
        command(REGISTER_PRIVATE_EXPEDITED)
    }

    pub(super) fn run() {
        assert!(command(PRIVATE_EXPEDITED), "the barriers are not ready, or no longer allowed");
    }
}

#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
mod membarrier {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn run() {
        panic!("there are no barriers on this system");
    }
}

macro_rules! atomic {
    ($value:ty, $atomic:ty $(, $parameter:ident)?) => {
        impl$(<$parameter>)? Atomic<$value> for $atomic {
            #[inline(always)]
            fn new(value: $value) -> Self {
                <$atomic>::new(value)
            }
            #[inline(always)]
            fn load(&self, order: Ordering) -> $value {
                <$atomic>::load(self, order)
            }
            #[inline(always)]
            fn store(&self, value: $value, order: Ordering) {
                <$atomic>::store(self, value, order);
            }
            #[inline(always)]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::swap(self, value, order)
            }
            #[inline(always)]
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                <$atomic>::compare_exchange(self, current, new, success, failure)
            }
            #[inline(always)]
            fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                <$atomic>::compare_exchange_weak(self, current, new, success, failure)
            }
        }
    };
}

macro_rules! atomic_int {
    ($value:ty, $atomic:ty) => {
        atomic!($value, $atomic);
        impl AtomicInt<$value> for $atomic {
            #[inline(always)]
            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::fetch_add(self, value, order)
            }
            #[inline(always)]
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::fetch_sub(self, value, order)
            }
            #[inline(always)]
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::fetch_or(self, value, order)
            }
            #[inline(always)]
            fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::fetch_and(self, value, order)
            }
        }
    };
}

atomic_int!(u32, atomic::AtomicU32);
atomic_int!(u64, atomic::AtomicU64);
atomic_int!(i64, atomic::AtomicI64);
atomic_int!(usize, atomic::AtomicUsize);
atomic!(bool, atomic::AtomicBool);
atomic!(*mut T, atomic::AtomicPtr<T>, T);

/// An [`UnsafeCell`] behind the [`Cell`] trait.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct NativeCell<T>(UnsafeCell<T>);

impl<T> NativeCell<T> {
    /// A cell holding `value`, in a constant.
    pub const fn const_new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

impl<T> Cell<T> for NativeCell<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
