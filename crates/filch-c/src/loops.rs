//! Loops over a range, by a function and its context.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;

use filch::inside::host::RawWorker;

use crate::thrown::IsSend;

/// The body of a loop: a block of the range, on this worker.
type Body = unsafe extern "C-unwind" fn(RawWorker, first: usize, last: usize, context: *mut c_void);

/// Calls `body` on blocks that make up the range, perhaps in parallel.
///
/// # Safety
/// The worker is that of the current thread, at its exact head; `body` may run with this context on several threads.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_for(
    worker: RawWorker,
    first: usize,
    last: usize,
    body: Body,
    context: *mut c_void,
) {
    let context = IsSend(context);
    let fold = |mut worker: filch::Worker<'_>, (), block: Range<usize>| {
        let context = &context;
        // SAFETY: the caller's promise.
        unsafe { body(RawWorker::of(&mut worker), block.start, block.end, context.0) };
    };
    // SAFETY: the caller's promise.
    unsafe { worker.worker() }.fold_blocks_with(first..last.max(first), || (), fold, |(), ()| ());
}

/// As [`filch_for`], in closure style, on the current worker's pool or the global one. `body` returns whether it has
/// thrown an exception, which it has kept; then the loop leaves out blocks not yet begun. Returns whether one has.
///
/// # Safety
/// `body` may run with this context on several threads.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_for_here_(
    first: usize,
    last: usize,
    body: unsafe extern "C-unwind" fn(first: usize, last: usize, context: *mut c_void) -> bool,
    context: *mut c_void,
) -> bool {
    let context = IsSend(context);
    let stop = filch::Stop::new();
    let fold = |(), block: Range<usize>| {
        let context = &context;
        // SAFETY: the caller's promise.
        if !stop.is_stopped() && unsafe { body(block.start, block.end, context.0) } {
            stop.stop();
        }
    };
    filch::fold_blocks(first..last.max(first), (), fold, |(), ()| ());
    stop.is_stopped()
}

/// Folds blocks that make up the range, perhaps in parallel, and joins the results in the order of the blocks.
/// `result` has `size` bytes, at first a neutral element, of which each stolen part begins with a copy.
///
/// # Safety
/// As for [`filch_for`], for both functions; `result` has `size` bytes, which may be copied and moved.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_reduce(
    worker: RawWorker,
    first: usize,
    last: usize,
    result: *mut c_void,
    size: usize,
    fold: unsafe extern "C-unwind" fn(RawWorker, usize, usize, *mut c_void, *mut c_void),
    join: unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *mut c_void),
    context: *mut c_void,
) {
    let context = IsSend(context);
    // SAFETY: the caller's promise; the words are as aligned as C wants of any value.
    let neutral = unsafe { Value::copy(result, size) };
    let step = |mut worker: filch::Worker<'_>, mut sum: Value, block: Range<usize>| {
        let context = &context;
        // SAFETY: the caller's promise.
        unsafe { fold(RawWorker::of(&mut worker), block.start, block.end, sum.address(), context.0) };
        sum
    };
    let join = |mut left: Value, mut right: Value| {
        let context = &context;
        // SAFETY: the caller's promise.
        unsafe { join(left.address(), right.address(), context.0) };
        left
    };
    // SAFETY: the caller's promise.
    let mut sum = unsafe { worker.worker() }.fold_blocks_with(first..last.max(first), || neutral.clone(), step, join);
    // SAFETY: both have `size` bytes.
    unsafe { result.cast::<u8>().copy_from_nonoverlapping(sum.address().cast(), size) };
}

/// A value of C, in words that are aligned for any.
#[derive(Clone)]
struct Value(Box<[MaybeUninit<u128>]>);

impl Value {
    /// # Safety
    /// There are `size` bytes at `from`.
    unsafe fn copy(from: *const c_void, size: usize) -> Self {
        let mut words = Box::new_uninit_slice(size.div_ceil(size_of::<u128>()));
        // SAFETY: the caller's promise; the words have room.
        unsafe { words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(from.cast(), size) };
        Self(words)
    }

    fn address(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}
