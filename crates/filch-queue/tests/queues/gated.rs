//! A memory in which a thread can be stopped just before its n-th operation.

use std::cell::Cell as StdCell;
use std::sync::atomic as std_atomic;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use filch_memory::{Asymmetric, Atomic, AtomicInt, Memory, NativeCell, Ordering};

/// Where a thread stops, and the signal for it to continue.
pub(crate) struct Gate {
    pub(crate) before: usize,
    pub(crate) arrived: Sender<()>,
    pub(crate) go_on: Receiver<()>,
}

thread_local! {
    static GATE: StdCell<Option<Gate>> = const { StdCell::new(None) };
}

/// Makes the current thread stop at a gate.
pub(crate) fn install(gate: Gate) {
    GATE.set(Some(gate));
}

/// Removes the gate, if it has not been reached.
pub(crate) fn remove() {
    GATE.set(None);
}

fn step() {
    let Some(mut gate) = GATE.take() else { return };
    if gate.before > 0 {
        gate.before -= 1;
        GATE.set(Some(gate));
    } else {
        gate.arrived.send(()).expect("the test waits");
        // An error means that the test is over.
        let _ = gate.go_on.recv();
    }
}

/// The machine's memory, with gates.
pub(crate) struct Gated;

/// A variable of any kind. A step is atomic because it happens under a lock, which is stronger than any ordering asked
/// for.
pub(crate) struct Variable<T>(Mutex<T>);

// SAFETY: the values are words; a pointer among them is only a name here.
unsafe impl<T> Send for Variable<T> {}
// SAFETY: as above; the lock orders the accesses.
unsafe impl<T> Sync for Variable<T> {}

impl<T: Copy> Variable<T> {
    fn update(&self, f: impl FnOnce(T) -> Option<T>) -> T {
        step();
        let mut value = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let former = *value;
        if let Some(new) = f(former) {
            *value = new;
        }
        former
    }
}

impl<T: Copy + PartialEq> Atomic<T> for Variable<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }
    fn load(&self, _: Ordering) -> T {
        self.update(|_| None)
    }
    fn store(&self, value: T, _: Ordering) {
        self.update(|_| Some(value));
    }
    fn swap(&self, value: T, _: Ordering) -> T {
        self.update(|_| Some(value))
    }
    fn compare_exchange(&self, current: T, new: T, _: Ordering, _: Ordering) -> Result<T, T> {
        let former = self.update(|former| (former == current).then_some(new));
        if former == current { Ok(former) } else { Err(former) }
    }
    fn compare_exchange_weak(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T> {
        self.compare_exchange(current, new, success, failure)
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl AtomicInt<$integer> for Variable<$integer> {
            fn fetch_add(&self, value: $integer, _: Ordering) -> $integer {
                self.update(|former| Some(former.wrapping_add(value)))
            }
            fn fetch_sub(&self, value: $integer, _: Ordering) -> $integer {
                self.update(|former| Some(former.wrapping_sub(value)))
            }
            fn fetch_or(&self, value: $integer, _: Ordering) -> $integer {
                self.update(|former| Some(former | value))
            }
            fn fetch_and(&self, value: $integer, _: Ordering) -> $integer {
                self.update(|former| Some(former & value))
            }
        })*
    };
}
integers!(u32, u64, i64, usize);

// SAFETY: each operation happens under a lock, and cells are the machine's.
unsafe impl Memory for Gated {
    type AtomicU32 = Variable<u32>;
    type AtomicU64 = Variable<u64>;
    type AtomicI64 = Variable<i64>;
    type AtomicUsize = Variable<usize>;
    type AtomicBool = Variable<bool>;
    type AtomicPtr<T> = Variable<*mut T>;
    type Cell<T> = NativeCell<T>;

    fn fence(order: Ordering) {
        step();
        std_atomic::fence(order);
    }
    fn compiler_fence() {}
    fn spin_loop() {
        std::thread::yield_now();
    }
}

/// Steps happen under locks, so the light side has nothing to do.
// SAFETY: a lock is taken by an instruction that leaves nothing in a buffer.
unsafe impl Asymmetric for Gated {
    fn light_barrier() {}
    fn heavy_barrier() {
        step();
    }
}
