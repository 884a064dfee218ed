//! Frames: all workers leave what they do, run something together, and continue.
//!
//! A frame has a crew of its own, with as many workers as the pool; each worker of the pool takes the seat of its own
//! number, on its own thread, when it next waits, is idle or steals. Frames may be nested: those in a frame use its
//! crew. Two frames that begin at once come one after the other, since broadcasts reach all workers in one order.
//!
//! Invariant: a frame's seats are left before the broadcast that took them returns, so its jobs may borrow from the
//! call.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null;
#[allow(clippy::disallowed_types, reason = "C reads it")]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::sync::{Barrier, Mutex, PoisonError};

use filch::inside::host::{self, RawWorker, Seat};
use filch::{Builder, ThreadPool};

use crate::thrown::{Enter, IsSend, no_unwinding};

thread_local! {
    /// The barrier of the frame that this thread is in.
    static BARRIER: Cell<*const Barrier> = const { Cell::new(null()) };
}

/// How many frames have begun and not ended: whether a look for one's part in them is worth while.
#[allow(clippy::disallowed_types, non_upper_case_globals, reason = "C reads it, by this name")]
#[unsafe(no_mangle)]
pub static filch_frames_: AtomicU32 = AtomicU32::new(0);

/// Counts a frame.
struct Counted;

impl Counted {
    fn begin() -> Self {
        // Relaxed, here and below: a hint; the broadcast itself publishes the frame.
        filch_frames_.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        filch_frames_.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call that a program in C has made, with `size` bytes of context.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) enter: Enter,
    pub(crate) context: *mut c_void,
    pub(crate) size: usize,
    pub(crate) unwinds: bool,
}

impl Call {
    /// Makes the call on the current worker.
    ///
    /// # Safety
    /// The context is the function's, and the current thread is a worker of a frame.
    unsafe fn make(self, context: *mut c_void) {
        // SAFETY: the caller's promise.
        let call = |worker| no_unwinding(!self.unwinds, || unsafe { (self.enter)(worker, context) });
        RawWorker::with_current(call).expect("frames are of split pools");
    }

    /// As [`make`](Self::make), with a copy of the context.
    ///
    /// # Safety
    /// As there; the context may be copied.
    unsafe fn make_copy(self) {
        let mut words = Box::<[u128]>::new_uninit_slice(self.size.div_ceil(size_of::<u128>()));
        // SAFETY: the caller's promise; the words have room.
        unsafe {
            words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(self.context.cast(), self.size);
            self.make(words.as_mut_ptr().cast());
        }
    }
}

/// Makes a call in a new frame: on one worker, or on every one.
///
/// # Safety
/// The call may be made on other threads, and copied if it is for every worker.
pub(crate) unsafe fn frame(pool: &ThreadPool, call: Call, on_every: bool) {
    let workers = host::workers_here().unwrap_or_else(|| pool.workers());
    let caller = host::current_index().unwrap_or(0);
    let built = Builder::<filch::pool::Split>::new().workers(workers).seats();
    let (crew, lease, seats) = built.unwrap_or_else(|error| panic!("a frame needs memory for its tasks: {error}"));
    let (lease, barrier) = (Mutex::new((if on_every { workers } else { 1 }, Some(lease))), Barrier::new(workers));
    // Whoever has ended its call is an idle worker of the frame until the last one has, and takes part in frames that
    // the others begin meanwhile.
    let end = || {
        let mut lease = lease.lock().unwrap_or_else(PoisonError::into_inner);
        lease.0 -= 1;
        let last = if lease.0 == 0 { lease.1.take() } else { None };
        drop(lease);
        drop(last);
    };
    let seats: Vec<Mutex<Option<Seat>>> = seats.into_iter().map(|seat| Mutex::new(Some(seat))).collect();
    let run = |worker: usize| {
        let seat = seats[worker].lock().unwrap_or_else(PoisonError::into_inner).take();
        let seat = seat.expect("each worker has its own");
        let former = BARRIER.replace(&raw const barrier);
        host::outside(|| seat.run(0, || (), || ()));
        BARRIER.set(former);
    };
    let call = IsSend(call);
    let (call, end) = (&call, &end);
    // SAFETY: the jobs' borrows live until the broadcast returns, which waits until all seats are left, and these for
    // the jobs. The caller's promises are those of the calls.
    unsafe {
        if on_every {
            crew.post_to_each(|_| {
                || {
                    barrier.wait();
                    call.0.make_copy();
                    end();
                }
            });
        } else {
            crew.post(caller, || {
                call.0.make(call.0.context);
                end();
            });
        }
    }
    let _counted = Counted::begin();
    if host::current_index().is_some() {
        filch::broadcast(run);
    } else {
        pool.broadcast(|worker| run(worker.index()));
    }
}

/// Waits until all workers of the frame have come here.
///
/// # Panics
/// Outside all frames.
#[unsafe(no_mangle)]
pub extern "C" fn filch_barrier() {
    // SAFETY: the barrier outlives the frame, which this thread is in.
    let barrier = unsafe { BARRIER.get().as_ref() };
    barrier.expect("a barrier is for tasks that run together").wait();
}

/// Takes part in a frame that somebody has begun, if it has come to this worker.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn filch_take_part_() {
    host::run_posted();
}

/// A worker, or null words.
#[repr(C)]
pub struct Current {
    front: *const (),
    head: *const (),
}

/// Returns the worker that the current thread is, for a function that was not passed one; null outside. Its forks take
/// a slower path, since its head is elsewhere.
#[unsafe(no_mangle)]
pub extern "C" fn filch_current_() -> Current {
    let (front, head) = RawWorker::with_current(RawWorker::words).unwrap_or((null(), null()));
    Current { front, head }
}
