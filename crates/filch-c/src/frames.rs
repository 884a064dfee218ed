//! Frames: all workers leave what they do, run something together, and continue.
//!
//! A frame has a crew of its own, with as many workers as the pool; each worker of the pool takes the seat of its own
//! number, on its own thread, when it next waits, is idle or steals. Frames may be nested: those in a frame use its
//! crew.
//!
//! The thread that begins a frame may hold what others wait for until the frame is over, such as the flag that says
//! that a collection of garbage is on. So a worker in `frame` runs no task of its pool, but takes part in frames: its
//! own, and while it waits for its turn to begin that, those of others.
//!
//! Invariants:
//! * Of the frames of one pool, or of one enclosing frame, one at most has begun and not ended.
//! * No call of a frame is made before all workers have come.
//! * A frame's seats are left before the broadcast that took them returns, so its jobs may borrow from the call.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::null;
#[allow(clippy::disallowed_types, reason = "C reads it")]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

use filch::inside::host::{self, Countdown, RawWorker, Seat};
use filch::{Builder, ThreadPool};

use crate::thrown::{Enter, IsSend, no_unwinding};

/// A frame, on the stack of the thread that has begun it.
struct Frame {
    barrier: Barrier,
    /// The pool where the outermost frame around this one was begun; only its address is used.
    pool: *const ThreadPool,
}

// SAFETY: the address is only compared.
unsafe impl Sync for Frame {}

thread_local! {
    /// The frame that this thread is in.
    static FRAME: Cell<*const Frame> = const { Cell::new(null()) };
}

/// Returns the frame that this thread is in. Use it only until the caller's part in that ends.
fn here<'f>() -> Option<&'f Frame> {
    // SAFETY: a frame outlives its seats, and this thread has one of them while the pointer is set.
    unsafe { FRAME.get().as_ref() }
}

/// Whether this thread is in a frame that was begun on this pool, whose workers therefore run nothing else.
pub(crate) fn is_in_frame_of(pool: &ThreadPool) -> bool {
    here().is_some_and(|frame| frame.pool == pool)
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

/// Threads that wait to begin a frame on the same workers, where another one has the turn.
struct Line {
    /// The [address](host::address_here) of the workers.
    of: usize,
    next: VecDeque<IsSend<*const Countdown>>,
}

/// A line for each pool or frame where a frame has begun.
static LINES: Mutex<Vec<Line>> = Mutex::new(Vec::new());

fn lines() -> MutexGuard<'static, Vec<Line>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to begin a frame on the workers with this address. One thread has it; it gives it to the next in line.
struct Turn(usize);

impl Turn {
    /// Waits for the turn. A worker meanwhile takes part in the frames of those before it.
    fn wait(of: usize) -> Self {
        let mine = Countdown::new(1);
        let mut lines = lines();
        match lines.iter_mut().find(|line| line.of == of) {
            None => lines.push(Line { of, next: VecDeque::new() }),
            Some(line) => {
                line.next.push_back(IsSend(&raw const mine));
                drop(lines);
                mine.wait_confined();
            }
        }
        Self(of)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lines = lines();
        let mine = lines.iter().position(|line| line.of == self.0).expect("whoever has the turn has a line");
        match lines[mine].next.pop_front() {
            // SAFETY: the countdown lives until its thread has waited for this end, the only one.
            Some(next) => unsafe { Countdown::end(next.0) },
            None => _ = lines.swap_remove(mine),
        }
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
    pub(crate) unsafe fn make(self, context: *mut c_void) {
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
    let _turn = Turn::wait(host::address_here(pool));
    let workers = host::workers_here().unwrap_or_else(|| pool.workers());
    let caller = host::current_index().unwrap_or(0);
    let built = Builder::<filch::pool::Split>::new().workers(workers).seats();
    let (crew, lease, seats) = built.unwrap_or_else(|error| panic!("a frame needs memory for its tasks: {error}"));
    let lease = Mutex::new((if on_every { workers } else { 1 }, Some(lease)));
    let frame = Frame { barrier: Barrier::new(workers), pool: here().map_or(pool, |outer| outer.pool) };
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
        let former = FRAME.replace(&raw const frame);
        host::outside(|| {
            // The copies of a call for everyone meet by themselves, so that none is late for another's tasks.
            if !on_every {
                frame.barrier.wait();
            }
            seat.run(0, || (), || ());
        });
        FRAME.set(former);
    };
    let call = IsSend(call);
    let (call, end) = (&call, &end);
    // SAFETY: the jobs' borrows live until the broadcast returns, which waits until all seats are left, and these for
    // the jobs. The caller's promises are those of the calls.
    unsafe {
        if on_every {
            crew.post_to_each(|_| {
                || {
                    frame.barrier.wait();
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
    host::broadcast_confined(pool, run);
}

/// Waits until all workers of the frame have come here.
///
/// # Panics
/// Outside all frames.
#[unsafe(no_mangle)]
pub extern "C" fn filch_barrier() {
    here().expect("a barrier is for tasks that run together").barrier.wait();
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
