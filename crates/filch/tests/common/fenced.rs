//! A memory in which something happens on another thread at a chosen moment of this one.
#![allow(dead_code, reason = "each test program uses its part")]

use std::cell::RefCell;

use filch_memory::{Asymmetric, Memory, Native, Ordering, Sleep};

thread_local! {
    /// What happens on another thread while this one fences, once.
    pub(crate) static AT_FENCE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    /// The same at a light barrier.
    pub(crate) static AT_BARRIER: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    /// The same just after this thread has read half of a word.
    pub(crate) static AT_LOOK: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    /// The same while this thread sleeps.
    pub(crate) static AT_WAIT: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// The machine's memory, where something may happen at a fence, at a look or while a thread sleeps.
pub(crate) struct Fenced;

// SAFETY: as `Native`, whose operations it forwards; a fence is made after what happens.
unsafe impl Memory for Fenced {
    type AtomicU32 = <Native as Memory>::AtomicU32;
    type AtomicU64 = <Native as Memory>::AtomicU64;
    type AtomicI64 = <Native as Memory>::AtomicI64;
    type AtomicUsize = <Native as Memory>::AtomicUsize;
    type AtomicBool = <Native as Memory>::AtomicBool;
    type AtomicPtr<T> = <Native as Memory>::AtomicPtr<T>;
    type Cell<T> = <Native as Memory>::Cell<T>;

    fn load_low(word: &Self::AtomicU64, order: Ordering) -> u32 {
        let seen = Native::load_low(word, order);
        if let Some(happens) = AT_LOOK.take() {
            happens();
        }
        seen
    }

    fn store_high(word: &Self::AtomicU64, former: u32, high: u32, order: Ordering) {
        Native::store_high(word, former, high, order);
    }

    fn fence(order: Ordering) {
        if let Some(happens) = AT_FENCE.take() {
            happens();
        }
        Native::fence(order);
    }

    fn compiler_fence() {
        Native::compiler_fence();
    }

    fn spin_loop() {
        Native::spin_loop();
    }
}

impl Sleep for Fenced {
    fn wait(word: &Self::AtomicU32, expected: u32) {
        match AT_WAIT.take() {
            Some(happens) => happens(),
            None => Native::wait(word, expected),
        }
    }

    fn wake_one(word: &Self::AtomicU32) {
        Native::wake_one(word);
    }

    fn wake_all(word: &Self::AtomicU32) {
        Native::wake_all(word);
    }
}

// SAFETY: the tests run both sides on one thread, where program order gives what the barriers promise.
unsafe impl Asymmetric for Fenced {
    fn light_barrier() {
        if let Some(happens) = AT_BARRIER.take() {
            happens();
        }
        Native::compiler_fence();
    }

    fn heavy_barrier() {
        Native::fence(Ordering::SeqCst);
    }
}
