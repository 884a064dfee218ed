//! The machine's own memory: operations are those of `core::sync::atomic`, inlined. Stores and loads of half a word are
//! in assembly.
#![allow(clippy::disallowed_types, reason = "the only place that names the standard atomics")]

use alloc::alloc::{alloc_zeroed, handle_alloc_error};
use alloc::boxed::Box;
use core::alloc::Layout;
#[cfg(all(target_arch = "x86_64", not(miri), not(filch_without_assembly)))]
use core::arch::asm;
use core::cell::UnsafeCell;
use core::ptr::slice_from_raw_parts_mut;
use core::sync::atomic::{self, Ordering};

use crate::{Atomic, AtomicInt, Cell, Memory};

/// Counts an operation, if counting is on.
#[cfg(feature = "count")]
macro_rules! executes {
    ($kind:ident) => {
        crate::count::executes(crate::count::Kind::$kind)
    };
    ($kind:ident if $order:ident) => {
        if $order == Ordering::SeqCst {
            executes!($kind);
        }
    };
}

#[cfg(not(feature = "count"))]
macro_rules! executes {
    ($($operation:tt)*) => {};
}

/// The machine's memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

// SAFETY: these are the operations of `core::sync::atomic`, and a cell is an `UnsafeCell`.
unsafe impl Memory for Native {
    type AtomicU32 = atomic::AtomicU32;
    type AtomicU64 = atomic::AtomicU64;
    type AtomicI64 = atomic::AtomicI64;
    type AtomicUsize = atomic::AtomicUsize;
    type AtomicBool = atomic::AtomicBool;
    type AtomicPtr<T> = atomic::AtomicPtr<T>;
    type Cell<T> = NativeCell<T>;

    fn nulls<T>(count: usize) -> Box<[Self::AtomicPtr<T>]> {
        let layout = Layout::array::<Self::AtomicPtr<T>>(count).expect("the address space holds them");
        if layout.size() == 0 {
            return Box::default();
        }
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc_zeroed(layout) }.cast::<Self::AtomicPtr<T>>();
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the memory comes from the allocator, with the layout of this slice; a null pointer is all zeros
        // (`ptr::null_mut`).
        unsafe { Box::from_raw(slice_from_raw_parts_mut(memory, count)) }
    }

    /// Rust has no atomic accesses of different sizes to one place, so this is assembly. To Rust it means an atomic
    /// update of the whole word with release ordering. Other threads cannot tell the store from such an update: they
    /// access only the whole word, and the processor stores the half in one step, after all earlier stores in program
    /// order, which the assembly block makes the compiler keep. They see the store later than an update, perhaps after
    /// their own updates of the lower half, which it leaves alone. Only the storing thread could tell them apart, by
    /// reading a lower half from before. `load_low` may read one, since its block may mean any older value; a load of
    /// the whole word waits for the store, since no processor puts one together from the store buffer and the cache.
    #[cfg(all(target_arch = "x86_64", not(miri), not(filch_without_assembly)))]
    #[inline(always)]
    fn store_high(word: &Self::AtomicU64, _: u32, high: u32, _: Ordering) {
        // SAFETY: four bytes within the word.
        unsafe {
            asm!(
                "mov dword ptr [{word} + 4], {high:e}",
                word = in(reg) word.as_ptr(),
                high = in(reg) high,
                options(nostack, preserves_flags),
            );
        }
    }

    #[cfg(all(target_arch = "x86_64", not(miri), not(filch_without_assembly)))]
    #[inline(always)]
    fn load_low(word: &Self::AtomicU64, _: Ordering) -> u32 {
        let low: u32;
        // SAFETY: four bytes within the word, which are read.
        unsafe {
            asm!(
                "mov {low:e}, dword ptr [{word}]",
                word = in(reg) word.as_ptr(),
                low = lateout(reg) low,
                options(nostack, preserves_flags, readonly),
            );
        }
        low
    }

    #[inline(always)]
    fn fence(order: Ordering) {
        executes!(Fence if order);
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

/// On Linux threads sleep on a word by `futex`. If the system refuses that from the beginning, a thread that would
/// sleep yields instead. If the system refuses later, nothing can wake the threads that sleep, and the process ends
/// with a message.
#[cfg(feature = "std")]
impl crate::Sleep for Native {
    fn wait(word: &Self::AtomicU32, expected: u32) {
        futex::wait(word, expected);
    }

    fn wake_one(word: &Self::AtomicU32) {
        futex::wake_one(word);
    }

    fn wake_all(word: &Self::AtomicU32) {
        futex::wake_all(word);
    }
}

#[cfg(all(feature = "std", not(target_os = "linux")))]
use atomic_wait as futex;

/// The system call itself. The crate for the other systems passes it pointers of a type that Miri rejects.
#[cfg(all(feature = "std", target_os = "linux"))]
mod futex {
    use core::ffi::c_int;
    use core::ptr::null;
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::io::{self, Write as _};

    const WAIT: c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    const WAKE: c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

    /// What is known about the system: one of the three below. It changes once.
    static SYSTEM: AtomicU32 = AtomicU32::new(UNKNOWN);
    const UNKNOWN: u32 = 0;
    const WORKS: u32 = 1;
    const REFUSES: u32 = 2;

    /// Makes the call. It counts as done even if it did not wait because the word has changed or a signal arrived.
    fn call(word: &AtomicU32, operation: c_int, value: u32) -> io::Result<()> {
        // SAFETY: the word is alive, and without a timeout the call touches no other memory of ours.
        let outcome =
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, null::<libc::timespec>()) };
        if outcome >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) { Ok(()) } else { Err(error) }
    }

    /// Returns whether the system can wake threads, which is found out before the first one sleeps.
    fn works(word: &AtomicU32) -> bool {
        // Relaxed, here and below: a fact about the system, which publishes nothing.
        if SYSTEM.load(Ordering::Relaxed) == UNKNOWN {
            let found = if call(word, WAKE, 0).is_ok() { WORKS } else { REFUSES };
            let _ = SYSTEM.compare_exchange(UNKNOWN, found, Ordering::Relaxed, Ordering::Relaxed);
        }
        SYSTEM.load(Ordering::Relaxed) == WORKS
    }

    pub(super) fn wait(word: &AtomicU32, expected: u32) {
        // A wait may return early: the caller checks again.
        if !works(word) || call(word, WAIT, expected).is_err() {
            std::thread::yield_now();
        }
    }

    pub(super) fn wake_one(word: &AtomicU32) {
        wake(word, 1);
    }

    pub(super) fn wake_all(word: &AtomicU32) {
        wake(word, i32::MAX as u32);
    }

    fn wake(word: &AtomicU32, most: u32) {
        if let Err(error) = call(word, WAKE, most)
            && works(word)
        {
            // The sleepers would sleep for ever. If standard error is closed, there is nowhere to report to.
            let _ = writeln!(io::stderr(), "filch: the system no longer wakes threads ({error}); aborting");
            std::process::abort();
        }
    }
}

/// The heavy side is Linux's `membarrier`, which interrupts the processors that run threads of this process.
// SAFETY: `membarrier` is what the trait describes.
unsafe impl crate::Asymmetric for Native {
    fn prepare_barriers() -> bool {
        membarrier::prepare()
    }

    fn barriers_are_quick() -> bool {
        membarrier::is_registered()
    }

    fn await_barriers() {
        membarrier::await_registration();
    }

    #[inline(always)]
    fn light_barrier() {
        atomic::compiler_fence(Ordering::SeqCst);
    }

    fn heavy_barrier() {
        executes!(Barrier);
        membarrier::run();
        // The call is a fence already, to the kernel; this tells the compiler.
        atomic::fence(Ordering::SeqCst);
    }
}

#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
mod membarrier {
    use std::mem::MaybeUninit;
    use std::os::linux::fs::MetadataExt;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Mutex, PoisonError};

    /// Whether the process is registered, as far as is known here; or the number of the process that has begun to
    /// register itself. The child of a `fork` has not begun, since the registering thread is the parent's.
    static REGISTRATION: AtomicU32 = AtomicU32::new(UNKNOWN);
    const UNKNOWN: u32 = 0;
    const DONE: u32 = u32::MAX;

    /// The process that has begun to register itself, and its registering thread, unless that thread has ended or been
    /// awaited. Only that thread waits for the lock, since the child of a `fork` may find it locked for ever.
    static THREAD: Mutex<Option<Kept>> = Mutex::new(None);

    struct Kept {
        process: u32,
        thread: libc::pthread_t,
    }

    // SAFETY: a thread's name means the same to all threads; with musl it is an address, which only the C library uses.
    unsafe impl Send for Kept {}

    // As in `linux/membarrier.h`.
    const QUERY: core::ffi::c_int = 0;
    const PRIVATE_EXPEDITED: core::ffi::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: core::ffi::c_int = 1 << 4;

    /// Returns the kernel's answer, negative if there is an error.
    fn command(command: core::ffi::c_int) -> core::ffi::c_long {
        // SAFETY: `membarrier` takes a command, flags and a processor's number, and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    }

    fn does(order: core::ffi::c_int) -> bool {
        command(order) == 0
    }

    /// A process with several threads waits for its registration (a grace period of the kernel: ten milliseconds on two
    /// processors, thirty on sixteen), and a process with one thread does not. So a process with one thread registers
    /// here; one with several registers when it first needs a barrier.
    pub(super) fn prepare() -> bool {
        const BOTH: core::ffi::c_long = (PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED) as core::ffi::c_long;
        let known = command(QUERY);
        known >= 0 && known & BOTH == BOTH && (!is_alone() || registers())
    }

    fn registers() -> bool {
        let is_done = does(REGISTER_PRIVATE_EXPEDITED);
        // Relaxed: the kernel orders its own knowledge, and `run` asks it again, even if this call has failed.
        REGISTRATION.store(DONE, Ordering::Relaxed);
        is_done
    }

    pub(super) fn is_registered() -> bool {
        // Relaxed: as above; the exchange chooses who begins.
        let known = REGISTRATION.load(Ordering::Relaxed);
        if known == DONE {
            return true;
        }
        let this = std::process::id();
        let begins =
            known != this && REGISTRATION.compare_exchange(known, this, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !begins {
            return false;
        }
        // The lock is held until the thread is kept.
        if let Ok(mut kept) = THREAD.try_lock()
            && let Some(thread) = start()
        {
            *kept = Some(Kept { process: this, thread });
            return false;
        }
        // Without such a thread, this thread registers, and waits.
        registers()
    }

    /// Starts the registering thread. It is none of the standard library's: those may begin with a lock that nobody
    /// releases in the child of a `fork`.
    fn start() -> Option<libc::pthread_t> {
        const STACK: usize = 64 << 10;
        let (mut attributes, mut thread) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let attributes = attributes.as_mut_ptr();
        // SAFETY: the attributes are initialized first, and destroyed once; `run_apart` uses no argument; the thread's
        // name is written if it has started.
        unsafe {
            if libc::pthread_attr_init(attributes) != 0 {
                return None;
            }
            libc::pthread_attr_setstacksize(attributes, STACK);
            let outcome = libc::pthread_create(thread.as_mut_ptr(), attributes, run_apart, null_mut());
            libc::pthread_attr_destroy(attributes);
            (outcome == 0).then(|| thread.assume_init())
        }
    }

    extern "C" fn run_apart(_: *mut core::ffi::c_void) -> *mut core::ffi::c_void {
        // SAFETY: a string, to name this thread.
        unsafe { libc::pthread_setname_np(libc::pthread_self(), c"filch barriers".as_ptr()) };
        registers();
        if THREAD.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            // SAFETY: nobody joins this thread, which is no longer kept. Perhaps nobody ever would.
            unsafe { libc::pthread_detach(libc::pthread_self()) };
        }
        null_mut()
    }

    pub(super) fn await_registration() {
        let kept = THREAD.try_lock().ok().and_then(|mut kept| kept.take());
        if let Some(Kept { process, thread }) = kept
            && process == std::process::id()
        {
            // SAFETY: it was kept, and so is neither joined nor detached, and will not be.
            unsafe { libc::pthread_join(thread, null_mut()) };
        }
    }

    /// Returns whether this is certainly the only thread.
    fn is_alone() -> bool {
        // glibc knows since version 2.32. The first look into `/proc` takes 20 µs.
        // SAFETY: the name is a C string.
        let known = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) }.cast::<u8>();
        if !known.is_null() {
            // SAFETY: glibc's variable is a `char`, which changes only when this thread, the only one, starts another.
            return unsafe { *known } != 0;
        }
        const DOTS: u64 = 2;
        std::fs::metadata("/proc/self/task").is_ok_and(|tasks| tasks.st_nlink() == DOTS + 1)
    }

    pub(super) fn run() {
        // The kernel remembers the registration of a process, and refuses barriers before it. `prepare` has ruled out
        // its other reasons to refuse.
        let is_done = does(PRIVATE_EXPEDITED) || registers() && does(PRIVATE_EXPEDITED);
        assert!(is_done, "the barriers are not ready, or no longer allowed");
    }
}

#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
mod membarrier {
    pub(super) fn prepare() -> bool {
        false
    }

    pub(super) fn is_registered() -> bool {
        false
    }

    pub(super) fn await_registration() {}

    pub(super) fn run() {
        panic!("this system has no barriers");
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
                executes!(Locked if order);
                <$atomic>::store(self, value, order);
            }
            #[inline(always)]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                executes!(Locked);
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
                executes!(Locked);
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
                executes!(Locked);
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
                executes!(Locked);
                <$atomic>::fetch_add(self, value, order)
            }
            #[inline(always)]
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                executes!(Locked);
                <$atomic>::fetch_sub(self, value, order)
            }
            #[inline(always)]
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                executes!(Locked);
                <$atomic>::fetch_or(self, value, order)
            }
            #[inline(always)]
            fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                executes!(Locked);
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
    /// Makes a cell that holds `value`, in a constant.
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
