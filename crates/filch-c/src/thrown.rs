//! What unwinds out of a task: a panic of Rust, or an exception of C++, between its thief and whoever joins it.
//!
//! It lies in the task's slot, in place of the result, with functions that resume and discard it; so a task can throw
//! in one language and be joined in another.
//!
//! Invariant: each is resumed or discarded once.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use filch::inside::host::{AbortOnUnwind, LAYOUT, RawWorker, keep};

/// Something thrown. The header knows it as `filch_thrown_`.
#[repr(C)]
pub struct Thrown {
    /// Throws it again.
    resume: unsafe extern "C-unwind" fn(*mut Thrown) -> !,
    discard: unsafe extern "C" fn(*mut Thrown),
    contents: *mut c_void,
}

/// Behind the first word of the room, which a task with outside memory needs for its address.
const OFFSET: usize = LAYOUT[2].1 + size_of::<usize>();

const _: () = assert!(OFFSET + size_of::<Thrown>() <= LAYOUT[0].1, "it fits a slot");

/// Returns where it lies in a slot.
pub(crate) fn in_slot(slot: *mut u8) -> *mut Thrown {
    slot.wrapping_add(OFFSET).cast()
}

type Payload = Box<dyn Any + Send>;

impl Thrown {
    pub(crate) fn panic(payload: Payload) -> Self {
        Self { resume, discard, contents: Box::into_raw(Box::new(payload)).cast() }
    }

    /// Drops it.
    ///
    /// # Safety
    /// It was thrown by a task that nobody joins, and has neither been discarded nor resumed.
    pub(crate) unsafe fn discard(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { (self.discard)(self) };
    }

    /// Throws it again.
    ///
    /// # Safety
    /// It has neither been discarded nor resumed.
    pub(crate) unsafe fn resume(&mut self) -> ! {
        // SAFETY: the caller's promise.
        unsafe { (self.resume)(self) }
    }
}

/// # Safety
/// It is the panic of a task, and has been neither resumed nor discarded.
unsafe fn payload(thrown: *mut Thrown) -> Payload {
    // SAFETY: `panic` leaked the box; the caller is the only one to take it back.
    *unsafe { Box::from_raw((*thrown).contents.cast::<Payload>()) }
}

unsafe extern "C-unwind" fn resume(thrown: *mut Thrown) -> ! {
    // SAFETY: the function is that of a panic, and the caller resumes it once.
    resume_unwind(unsafe { payload(thrown) })
}

unsafe extern "C" fn discard(thrown: *mut Thrown) {
    // SAFETY: the function is that of a panic, and the caller discards it once.
    let payload = unsafe { payload(thrown) };
    // The payload's destructor might panic, and the payload of that panic as well.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        keep(payload);
    }
}

/// A call that the header has made of a task: with its context, which takes the result.
pub(crate) type Enter = unsafe extern "C-unwind" fn(RawWorker, *mut c_void);

/// Runs `f`, which must not unwind if its frames are of C that does not clean up.
pub(crate) fn no_unwinding<R>(forbidden: bool, f: impl FnOnce() -> R) -> R {
    let guard = AbortOnUnwind("a panic would leave a task compiled without -fexceptions");
    let guard = if forbidden {
        Some(guard)
    } else {
        std::mem::forget(guard);
        None
    };
    let result = f();
    std::mem::forget(guard);
    result
}

/// Marks the panic that carries a C++ exception through Rust; the exception itself stays with its catcher.
pub(crate) struct Exception;

/// Runs both functions by [`filch::join`]. Each returns whether it has thrown an exception, which it has kept. Returns
/// which one's counts: 1, 2, or 0 for none.
///
/// # Safety
/// Each function may be called once with its argument, `second` on another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_join_(
    first: unsafe extern "C-unwind" fn(*mut c_void) -> bool,
    first_context: *mut c_void,
    second: unsafe extern "C-unwind" fn(*mut c_void) -> bool,
    second_context: *mut c_void,
) -> u32 {
    let second_context = IsSend(second_context);
    let first_context = IsSend(first_context);
    let first = move || {
        let context = first_context;
        // SAFETY: the caller's promise.
        if unsafe { first(context.0) } {
            resume_unwind(Box::new((Exception, 1_u32)));
        }
    };
    let second = move || {
        let context = second_context;
        // SAFETY: the caller's promise.
        if unsafe { second(context.0) } {
            resume_unwind(Box::new((Exception, 2_u32)));
        }
    };
    match catch_unwind(AssertUnwindSafe(|| filch::join(first, second))) {
        Ok(((), ())) => 0,
        Err(payload) => match payload.downcast::<(Exception, u32)>() {
            Ok(which) => which.1,
            Err(payload) => resume_unwind(payload),
        },
    }
}

/// A pointer that its user may give to another thread.
pub(crate) struct IsSend<T>(pub(crate) T);

// SAFETY: each use argues it.
unsafe impl<T> Send for IsSend<T> {}
// SAFETY: likewise.
unsafe impl<T> Sync for IsSend<T> {}
