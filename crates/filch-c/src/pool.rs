//! Pools: start, stop, what they are, and the way in.
//!
//! Invariant: a pool that C has is a box that it stops once.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null_mut;
use std::sync::Once;

use filch::inside::host::{self, RawWorker};
use filch::{Builder, ThreadPool, Wait};

use crate::frames::{Call, frame, is_in_frame_of};
use crate::layout::{ABI, RUN, TOGETHER};
use crate::thrown::{Enter, IsSend, no_unwinding};

/// The settings of a pool. What is zero is left to the library.
#[repr(C)]
pub struct Settings {
    /// The number of workers.
    pub workers: usize,
    /// Bytes for each worker's stack.
    pub stack_size: usize,
    /// Tasks for which each worker's task stack has room.
    pub task_capacity: usize,
    /// What a worker does while it waits, by name.
    pub wait: *const c_char,
    /// Whether each worker stays on a processor of its own.
    pub pin: bool,
}

thread_local! {
    /// Why this thread could not start a pool or a team.
    static ERROR: RefCell<CString> = RefCell::default();
}

pub(crate) fn of_another_version(abi: u32) -> String {
    format!(
        "this program was compiled with the filch.h of another version ({abi:#010x}) than that of the library \
         ({ABI:#010x}): compile it again with the header that came with the library"
    )
}

/// Gives C what has started; or null, and the reason to [`filch_error`].
pub(crate) fn give_or_fail<T>(started: Result<T, String>) -> *mut T {
    match started {
        Ok(started) => Box::into_raw(Box::new(started)),
        Err(error) => {
            let error = CString::new(error).unwrap_or_default();
            ERROR.with(|place| *place.borrow_mut() = error);
            null_mut()
        }
    }
}

/// A pool whose workers say that their stacks overflow.
fn builder() -> Builder {
    let builder = ThreadPool::builder();
    #[cfg(target_os = "linux")]
    let builder = builder.on_start(|_| crate::overflow::watch());
    builder
}

fn start(settings: Option<&Settings>, abi: u32) -> Result<ThreadPool, String> {
    if abi != ABI {
        return Err(of_another_version(abi));
    }
    let mut builder = builder();
    if let Some(settings) = settings {
        if settings.workers != 0 {
            builder = builder.workers(settings.workers);
        }
        if settings.stack_size != 0 {
            builder = builder.stack_size(settings.stack_size);
        }
        if settings.task_capacity != 0 {
            builder = builder.task_capacity(settings.task_capacity);
        }
        if !settings.wait.is_null() {
            // SAFETY: the header wants a string.
            let name = unsafe { CStr::from_ptr(settings.wait) }.to_string_lossy();
            builder = builder.wait(name.parse::<Wait>().map_err(|error| error.to_string())?);
        }
        builder = builder.pin(settings.pin);
    }
    builder.build().map_err(|error| error.to_string())
}

/// Starts a pool, of default settings if there are none. Returns null if it cannot start: see [`filch_error`].
///
/// # Safety
/// The settings are those of the header whose version is `abi`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_pool_start_(settings: *const Settings, abi: u32) -> *mut ThreadPool {
    // SAFETY: the caller's promise; settings of another version are not looked at.
    let settings = if abi == ABI { unsafe { settings.as_ref() } } else { None };
    give_or_fail(start(settings, abi))
}

/// Returns why this thread's last pool did not start. The string is valid until the thread starts another.
#[unsafe(no_mangle)]
pub extern "C" fn filch_error() -> *const c_char {
    ERROR.with(|place| place.borrow().as_ptr())
}

/// Returns the pool, or the global one for null.
///
/// # Safety
/// The pool has been started and not stopped, or it is null.
unsafe fn pool<'p>(pool: *const ThreadPool) -> &'p ThreadPool {
    // SAFETY: the caller's promise.
    unsafe { pool.as_ref() }.unwrap_or_else(|| {
        static BUILT: Once = Once::new();
        // If there is one already, it stays.
        BUILT.call_once(|| drop(builder().build_global()));
        ThreadPool::global()
    })
}

/// Waits for what still runs, and joins the pool's threads.
///
/// # Safety
/// The pool was started, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_pool_stop(pool: *mut ThreadPool) {
    if !pool.is_null() {
        // SAFETY: `filch_pool_start_` made the box.
        drop(unsafe { Box::from_raw(pool) });
    }
}

/// The number of workers.
///
/// # Safety
/// The pool has been started and not stopped, or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_pool_workers(of: *const ThreadPool) -> usize {
    // SAFETY: the caller's promise.
    unsafe { pool(of) }.workers()
}

/// Calls `each` with the name and the value of each counter, summed over the workers.
///
/// # Safety
/// The pool has been started and not stopped, or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_pool_stats(
    of: *const ThreadPool,
    each: unsafe extern "C-unwind" fn(name: *const c_char, value: u64, context: *mut c_void),
    context: *mut c_void,
) {
    // SAFETY: the caller's promise.
    let stats = unsafe { pool(of) }.stats();
    for (name, value) in stats.total().each() {
        let name = CString::new(name).expect("names have no null");
        // SAFETY: the function is the caller's.
        unsafe { each(name.as_ptr(), value, context) };
    }
}

/// Makes a call, and waits for it: on a worker, in handle style; or in a new [frame](crate::frames), on one worker or,
/// with copies of the context, on all. In a frame, a call on its pool is made at once. The context has `size` bytes.
///
/// # Safety
/// The pool has been started and not stopped, or it is null; `enter` may run with its context on another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_run_(
    on: *const ThreadPool,
    way: usize,
    enter: Enter,
    context: *mut c_void,
    size: usize,
    unwinds: bool,
) {
    // SAFETY: the caller's promise.
    let pool = unsafe { pool(on) };
    let call = Call { enter, context, size, unwinds };
    if way != RUN {
        // SAFETY: the caller's promises.
        return unsafe { frame(pool, call, way == TOGETHER) };
    }
    if is_in_frame_of(pool) {
        // SAFETY: the caller's promises; this thread is a worker of the frame.
        return unsafe { call.make(context) };
    }
    let context = IsSend(context);
    pool.run(|mut worker| {
        let context = context;
        // SAFETY: the caller's promise.
        no_unwinding(!unwinds, || unsafe { enter(RawWorker::of(&mut worker), context.0) });
    });
}

/// Returns the number of the worker that the current thread is, of any pool; -1 if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn filch_worker_index() -> i64 {
    host::current_index().map_or(-1, |index| index as i64)
}

/// Answers thieves in the middle of a long task.
///
/// # Safety
/// The worker is that of the current thread, at its exact head.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_poll(worker: RawWorker) {
    // SAFETY: the caller's promise.
    unsafe { worker.worker() }.poll();
}
