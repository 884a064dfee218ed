//! The memory of programs that run under loom: loom's variables behind the trait's methods.
//!
//! Invariant: an operation that reaches loom passes on the caller's location, which names the call site. An operation
//! that must not reach loom (see the [module](super)) uses only the second copy.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::panic::Location;

use filch_memory::{Asymmetric, Atomic, AtomicInt, Memory, Native, Ordering, Sleep};
use loom::sync::atomic as loomed;

use super::context::{has_read, has_written, is_aside, number_variable, order_at, outcome};
use super::wait::{Turn, Turns, call, end_wait, fall_asleep, get_up, lie_down, look_alone, take_turn, wait_for_others};
use crate::Checker;
use crate::sites::{Kind, Site};
use crate::tso::Words;

/// The memory of C11, as far as loom implements it: see the [module](super). It exists only inside
/// [`explore`](super::explore()).
#[derive(Clone, Copy, Debug)]
pub struct Loom;

// SAFETY: the operations are those of the crate loom, which follows the Rust memory model. A checker that weakens one
// runs scenarios, whose tasks are numbers.
unsafe impl Memory for Loom {
    type AtomicU32 = Word<u32, loomed::AtomicU32>;
    type AtomicU64 = Word<u64, loomed::AtomicU64>;
    type AtomicI64 = Word<i64, loomed::AtomicI64>;
    type AtomicUsize = Word<usize, loomed::AtomicUsize>;
    type AtomicBool = Word<bool, loomed::AtomicBool>;
    type AtomicPtr<T> = Word<*mut T, loomed::AtomicPtr<T>>;
    type Cell<T> = Plain<T>;

    #[track_caller]
    fn fence(order: Ordering) {
        fence(Location::caller(), Kind::Fence, order);
    }

    fn compiler_fence() {}

    #[track_caller]
    fn spin_loop() {
        if is_aside() {
            look_alone();
        } else {
            wait_for_others();
        }
    }
}

impl Sleep for Loom {
    #[track_caller]
    fn wait(word: &Self::AtomicU32, expected: u32) {
        if is_aside() {
            assert_ne!(word.load(Ordering::Relaxed), expected, "the only thread goes to sleep for ever");
            return;
        }
        lie_down(word.address());
        // Unlike a load, a failed compare-and-swap reads a newest value.
        let found = word.word.compare_exchange(NEVER, NEVER, Ordering::Relaxed, Ordering::Relaxed);
        if found == Err(expected) {
            fall_asleep();
        } else {
            get_up();
        }
    }

    #[track_caller]
    fn wake_one(word: &Self::AtomicU32) {
        if !is_aside() {
            call(word.address(), false);
        }
    }

    #[track_caller]
    fn wake_all(word: &Self::AtomicU32) {
        if !is_aside() {
            call(word.address(), true);
        }
    }
}

/// A value that no futex word ever holds.
const NEVER: u32 = 0x9e37_79b9;

// SAFETY: both are fences.
unsafe impl Asymmetric for Loom {
    #[track_caller]
    fn light_barrier() {
        fence(Location::caller(), Kind::Barrier, Ordering::SeqCst);
    }

    #[track_caller]
    fn heavy_barrier() {
        fence(Location::caller(), Kind::Barrier, Ordering::SeqCst);
    }
}

fn fence(site: Site, kind: Kind, order: Ordering) {
    if is_aside() {
        return;
    }
    match order_at(site, kind, order) {
        Some(Ordering::SeqCst) => {
            // Loom treats a fence as part of the step before it.
            take_turn(Turn::Fence);
            loomed::fence(Ordering::SeqCst);
        }
        Some(order) => loomed::fence(order),
        None => {}
    }
}

impl Checker for Loom {
    fn note(_: impl FnOnce() -> String) {}

    fn outcome() -> u64 {
        outcome()
    }
}

/// An atomic variable: loom's, and a copy of its newest value for use when no operation may reach loom.
#[derive(Debug)]
pub struct Word<T, L> {
    word: L,
    /// Loom does not see that a thread's load precedes another thread's store if that other thread has itself loaded
    /// since. So loads take turns.
    loads: Turns,
    newest: <Native as Memory>::AtomicU64,
    /// Whether an update has written it.
    updated: <Native as Memory>::AtomicBool,
    /// The variable's number in the outcome.
    number: usize,
    value: PhantomData<fn() -> T>,
}

impl<T: Words, L> Word<T, L> {
    fn newest(&self) -> T {
        T::from_bits(self.newest.load(Ordering::Relaxed))
    }

    fn set_newest(&self, value: T) {
        self.newest.store(value.to_bits(), Ordering::Relaxed);
        if !is_aside() {
            has_written(self.number, value.to_bits());
        }
    }

    fn has_read(&self, value: T, succeeds: bool) -> T {
        has_read(self.number, value.to_bits(), succeeds);
        value
    }

    fn set_updated(&self, value: T) {
        self.updated.store(true, Ordering::Relaxed);
        if !is_aside() {
            end_wait();
        }
        self.set_newest(value);
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Replaces the newest value and returns the old one.
    fn replace_newest(&self, value: T) -> T {
        let old = self.newest();
        self.set_newest(value);
        old
    }
}

/// The kinds of loom's variables.
#[doc(hidden)]
pub trait Loomed<T>: Send + Sync {
    #[track_caller]
    fn new(value: T) -> Self;
    #[track_caller]
    fn load(&self, order: Ordering) -> T;
    #[track_caller]
    fn store(&self, value: T, order: Ordering);
    #[track_caller]
    fn swap(&self, value: T, order: Ordering) -> T;
    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T>;
}

macro_rules! loomed {
    ([$($parameter:ident)?] $word:ty, $value:ty) => {
        impl<$($parameter)?> Loomed<$value> for $word {
            #[track_caller]
            fn new(value: $value) -> Self {
                Self::new(value)
            }
            #[track_caller]
            fn load(&self, order: Ordering) -> $value {
                self.load(order)
            }
            #[track_caller]
            fn store(&self, value: $value, order: Ordering) {
                self.store(value, order);
            }
            #[track_caller]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                self.swap(value, order)
            }
            #[track_caller]
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
        }
    };
}
loomed!([] loomed::AtomicU32, u32);
loomed!([] loomed::AtomicU64, u64);
loomed!([] loomed::AtomicI64, i64);
loomed!([] loomed::AtomicUsize, usize);
loomed!([] loomed::AtomicBool, bool);
loomed!([T] loomed::AtomicPtr<T>, *mut T);

/// Returns the ordering to use at a call site. Only fences can be removed.
fn order(site: Site, kind: Kind, order: Ordering) -> Ordering {
    order_at(site, kind, order).unwrap_or(Ordering::Relaxed)
}

impl<T: Words + PartialEq, L: Loomed<T>> Atomic<T> for Word<T, L> {
    #[track_caller]
    fn new(value: T) -> Self {
        Self {
            word: L::new(value),
            loads: Turns::new(),
            newest: Atomic::new(value.to_bits()),
            updated: Atomic::new(false),
            number: number_variable(value.to_bits(), T::IS_ADDRESS),
            value: PhantomData,
        }
    }

    #[track_caller]
    fn load(&self, asked: Ordering) -> T {
        if is_aside() {
            return self.newest();
        }
        self.loads.take();
        self.has_read(self.word.load(order(Location::caller(), Kind::Load, asked)), true)
    }

    #[track_caller]
    fn store(&self, value: T, asked: Ordering) {
        if !is_aside() {
            let order = order(Location::caller(), Kind::Store, asked);
            if self.updated.load(Ordering::Relaxed) {
                // Loom does not know that nothing comes between an update and the write it reads. It would leave this
                // store unordered with an update of a value that this thread stored.
                self.word.swap(value, order);
            } else {
                self.word.store(value, order);
            }
            end_wait();
        }
        self.set_newest(value);
    }

    #[track_caller]
    fn swap(&self, value: T, asked: Ordering) -> T {
        if is_aside() {
            return self.replace_newest(value);
        }
        let old = self.word.swap(value, order(Location::caller(), Kind::Update, asked));
        self.set_updated(value);
        self.has_read(old, true)
    }

    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T> {
        if is_aside() {
            let old = self.newest();
            return if old == current { Ok(self.replace_newest(new)) } else { Err(old) };
        }
        let site = Location::caller();
        let (success, failure) = (order(site, Kind::Update, success), order(site, Kind::Failure, failure));
        let result = self.word.compare_exchange(current, new, success, failure);
        if result.is_ok() {
            self.set_updated(new);
        }
        let (Ok(old) | Err(old)) = result;
        self.has_read(old, result.is_ok());
        result
    }

    #[track_caller]
    fn compare_exchange_weak(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T> {
        self.compare_exchange(current, new, success, failure)
    }
}

macro_rules! arithmetic {
    ($(($value:ty, $loomed:ty)),*) => {
        $(impl AtomicInt<$value> for Word<$value, $loomed> {
            arithmetic!(@ $value, fetch_add, <$value>::wrapping_add);
            arithmetic!(@ $value, fetch_sub, <$value>::wrapping_sub);
            arithmetic!(@ $value, fetch_or, std::ops::BitOr::bitor);
            arithmetic!(@ $value, fetch_and, std::ops::BitAnd::bitand);
        })*
    };
    (@ $value:ty, $name:ident, $apply:expr) => {
        #[track_caller]
        fn $name(&self, value: $value, asked: Ordering) -> $value {
            let old = if is_aside() {
                self.newest()
            } else {
                self.has_read(self.word.$name(value, order(Location::caller(), Kind::Update, asked)), true)
            };
            self.set_updated($apply(old, value));
            old
        }
    };
}
arithmetic!((u32, loomed::AtomicU32), (u64, loomed::AtomicU64), (i64, loomed::AtomicI64), (usize, loomed::AtomicUsize));

/// A cell that is not atomic. Unordered accesses are reported.
#[derive(Debug)]
pub struct Plain<T> {
    /// Loom's record of the accesses to the cell.
    used: loom::cell::UnsafeCell<()>,
    value: UnsafeCell<T>,
}

impl<T> filch_memory::Cell<T> for Plain<T> {
    #[track_caller]
    fn new(value: T) -> Self {
        Self { used: loom::cell::UnsafeCell::new(()), value: UnsafeCell::new(value) }
    }

    #[track_caller]
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let _use = (!is_aside()).then(|| self.used.get());
        f(self.value.get())
    }

    #[track_caller]
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let _use = (!is_aside()).then(|| self.used.get_mut());
        f(self.value.get())
    }
}
