//! The memory that filch's algorithms are written against.
//!
//! Every queue and every protocol of filch is generic over [`Memory`]. [`Native`] maps each operation to the machine's
//! own and costs nothing; a checker implements the same trait with an abstract machine and runs the shipped source
//! under every interleaving. Invariant: an implementation never gives an operation a *weaker* meaning than the Rust
//! memory model gives the same operation of `core::sync::atomic`, and no algorithm accesses an atomic except through
//! this trait.
//!
//! Each operation is `#[track_caller]`: a checker knows the call site, and can lower the ordering of one site at a time
//! to find out whether anything depends on it.
//!
//! ```
//! use filch_memory::{Atomic, AtomicInt, Memory, Native, Ordering};
//!
//! struct Counter<M: Memory>(M::AtomicUsize);
//!
//! let counter = Counter::<Native>(Atomic::new(1));
//! counter.0.fetch_add(2, Ordering::Relaxed);
//! assert_eq!(counter.0.load(Ordering::Relaxed), 3);
//! ```
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod count;
mod native;

use alloc::boxed::Box;
use core::ptr::null_mut;

pub use core::sync::atomic::Ordering;
pub use native::{Native, NativeCell};

/// A kind of memory: its atomics, its cells and its fences.
///
/// # Safety
/// No operation on the atomics, and no fence, is weaker than the same operation of `core::sync::atomic`, and a cell is
/// the memory that it represents: the algorithms keep pointers in them.
pub unsafe trait Memory: Sized + Send + Sync + 'static {
    /// A 32-bit word.
    type AtomicU32: AtomicInt<u32>;
    /// A 64-bit word.
    type AtomicU64: AtomicInt<u64>;
    /// A signed 64-bit word, for indices whose differences may be negative.
    type AtomicI64: AtomicInt<i64>;
    /// A word of the machine's address size.
    type AtomicUsize: AtomicInt<usize>;
    /// A flag.
    type AtomicBool: Atomic<bool>;
    /// A pointer, with its provenance.
    type AtomicPtr<T>: Atomic<*mut T>;
    /// Memory that is not atomic; a checker reports unordered accesses to it.
    type Cell<T>: Cell<T>;

    /// Makes this many null pointers.
    ///
    /// Cost: with [`Native`], an allocation whose pages the system provides when they are first used.
    ///
    /// # Panics
    /// If the address space cannot hold that many.
    #[track_caller]
    fn nulls<T>(count: usize) -> Box<[Self::AtomicPtr<T>]> {
        // Not with a closure, which would hide the caller: a checker names the pointers after it.
        let mut nulls = Vec::with_capacity(count);
        for _ in 0..count {
            nulls.push(Atomic::new(null_mut()));
        }
        nulls.into()
    }

    /// Replaces the upper half of a word, which is `former`, by `high`, and leaves the lower half as it is.
    /// Precondition: only one thread at a time replaces the upper half, and each replacement sees the previous one.
    ///
    /// This is an update of the whole word with this ordering, with one difference: until the updating thread has
    /// executed a sequentially consistent [fence](Memory::fence), its [`Memory::load_low`] may read a lower half from
    /// before the update.
    ///
    /// Cost: with [`Native`], a plain store on x86-64, and an update on other targets.
    #[track_caller]
    fn store_high(word: &Self::AtomicU64, former: u32, high: u32, order: Ordering) {
        // The carry leaves the word.
        word.fetch_add(u64::from(high.wrapping_sub(former)) << 32, order);
    }

    /// Reads the lower half of a word: for the thread that [replaces the upper half](Memory::store_high).
    #[track_caller]
    fn load_low(word: &Self::AtomicU64, order: Ordering) -> u32 {
        word.load(order) as u32
    }

    /// Executes a fence, as [`core::sync::atomic::fence`].
    #[track_caller]
    fn fence(order: Ordering);

    /// Keeps the compiler from moving memory accesses across it and emits no instruction.
    fn compiler_fence();

    /// Announces that the caller waits for another thread, in a loop whose rounds only read until something changes. A
    /// checker need not begin another round before such a change.
    #[track_caller]
    fn spin_loop();
}

/// A memory on which a thread can sleep.
///
/// The two operations have the meaning of a futex: `wait` sleeps only if the word still has the expected value when the
/// sleep begins, as one atomic step with respect to `wake_*` on the same word. They order nothing else: a waker writes
/// the word first, and a woken thread reads it again.
pub trait Sleep: Memory {
    /// Sleeps while `word` holds `expected`, until a wake-up; may return spuriously.
    fn wait(word: &Self::AtomicU32, expected: u32);

    /// Wakes one thread that sleeps on `word`, if there is one.
    fn wake_one(word: &Self::AtomicU32);

    /// Wakes all threads that sleep on `word`.
    fn wake_all(word: &Self::AtomicU32);
}

/// A memory with a fence that costs one side nothing.
///
/// A light barrier is a sequentially consistent fence towards heavy ones, and towards nothing else: if it executes
/// before a heavy barrier of another thread, everything before it is visible after the heavy one; if it executes after,
/// it sees everything before the heavy one.
///
/// # Safety
/// This holds once [`Asymmetric::prepare_barriers`] has returned `true`.
pub unsafe trait Asymmetric: Memory {
    /// Prepares the barriers. Call it before the first of them; further calls are harmless. Returns `false` if this
    /// system has no barriers; then both sides have to use [`Memory::fence`] instead.
    ///
    /// Cost: microseconds. If the process has several threads, the first heavy barrier takes some ten milliseconds
    /// more, unless the barriers [have been awaited](Asymmetric::barriers_are_quick).
    #[must_use = "without barriers, both sides have to fence"]
    fn prepare_barriers() -> bool {
        true
    }

    /// Returns whether the next heavy barrier takes microseconds. If not, starts a thread that prepares this: a caller
    /// that can do without a barrier for some ten milliseconds should then do so.
    ///
    /// ```
    /// use filch_memory::{Asymmetric, Native};
    ///
    /// if Native::prepare_barriers() && Native::barriers_are_quick() {
    ///     Native::heavy_barrier();
    /// }
    /// Native::await_barriers(); // no thread is left of those that it began
    /// ```
    fn barriers_are_quick() -> bool {
        true
    }

    /// Waits until the thread that [`Asymmetric::barriers_are_quick`] has started has ended, if there is one.
    fn await_barriers() {}

    /// The cheap side: only a compiler fence.
    #[track_caller]
    fn light_barrier();

    /// The expensive side: makes every thread of the process execute a fence.
    #[track_caller]
    fn heavy_barrier();
}

/// An atomic variable; the operations are those of `core::sync::atomic`.
pub trait Atomic<T: Copy>: Send + Sync {
    /// Makes a variable that holds `value`.
    #[track_caller]
    fn new(value: T) -> Self;
    /// Reads.
    #[track_caller]
    fn load(&self, order: Ordering) -> T;
    /// Writes.
    #[track_caller]
    fn store(&self, value: T, order: Ordering);
    /// Writes and returns the former value.
    #[track_caller]
    fn swap(&self, value: T, order: Ordering) -> T;
    /// Writes `new` if the value is `current`; returns the former value as `Ok` if it wrote.
    ///
    /// # Errors
    /// The value found, if it was not `current`.
    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T>;
    /// Does what [`Atomic::compare_exchange`] does, and may fail spuriously.
    ///
    /// # Errors
    /// The value found.
    #[track_caller]
    fn compare_exchange_weak(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T>;
}

/// An atomic integer. Arithmetic wraps.
pub trait AtomicInt<T: Copy>: Atomic<T> {
    /// Adds and returns the former value.
    #[track_caller]
    fn fetch_add(&self, value: T, order: Ordering) -> T;
    /// Subtracts and returns the former value.
    #[track_caller]
    fn fetch_sub(&self, value: T, order: Ordering) -> T;
    /// Sets bits and returns the former value.
    #[track_caller]
    fn fetch_or(&self, value: T, order: Ordering) -> T;
    /// Keeps bits and returns the former value.
    #[track_caller]
    fn fetch_and(&self, value: T, order: Ordering) -> T;
}

/// A cell whose accesses must be ordered by something else.
///
/// The closures receive raw pointers; a dereference is the caller's unsafe obligation. A checker verifies that no
/// `with_mut` is concurrent with another access.
pub trait Cell<T> {
    /// Makes a cell that holds `value`.
    #[track_caller]
    fn new(value: T) -> Self;
    /// Calls `f` with a pointer for reading.
    #[track_caller]
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R;
    /// Calls `f` with a pointer for reading and writing.
    #[track_caller]
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R;
}

/// The example of the README compiles and runs as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
