//! The cold halves of a push and a pop, and the task of a thief.
//!
//! Invariant: a function here gets the worker of the current thread, at its exact head, from a macro of the header.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

use filch::inside::host::RawWorker;
use filch::inside::protocol::state::Settled;

use crate::layout::{DONE, THROWN, UNRUN};
use crate::thrown::{self, Thrown, no_unwinding};

/// A task whose fork has ended: where its contents are, and how it was settled.
#[repr(C)]
pub struct Popped {
    slot: *mut u8,
    settled: usize,
}

/// Completes a push that the limits did not admit. The task is in the scratch slot. Returns the slot that it moves to.
///
/// # Safety
/// The file's invariant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_push_(worker: RawWorker) -> *mut u8 {
    // SAFETY: the header has put the task there.
    unsafe { worker.push() }
}

/// Takes the newest task back, or waits for its thief, and helps meanwhile.
///
/// # Safety
/// The file's invariant; the task at the head is the newest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_pop_(worker: RawWorker) -> Popped {
    // SAFETY: the caller's promise.
    unsafe { pop(worker, true) }
}

/// # Safety
/// As for [`filch_pop_`].
unsafe fn pop(worker: RawWorker, helps: bool) -> Popped {
    // SAFETY: the caller's promise.
    let (slot, settled) = unsafe { worker.pop(helps) };
    let settled = match settled {
        Settled::Unrun => UNRUN,
        Settled::Done => DONE,
        Settled::Panicked => THROWN,
    };
    Popped { slot, settled }
}

/// The function in a slot, as the header makes it: with a null front it frees what the task has outside the slot.
type RunFn = unsafe extern "C" fn(slot: *mut u8, front: *const c_void, head: *mut c_void) -> bool;

/// Ends a fork without its result.
///
/// # Safety
/// As for [`filch_pop_`].
unsafe fn drop_newest(worker: RawWorker, helps: bool) {
    // SAFETY: the caller's promise.
    let Popped { slot, settled } = unsafe { pop(worker, helps) };
    // SAFETY: a macro of the header has pushed the task, and this thread alone has its slot; the thief of a task that
    // has unwound left in it what was thrown.
    unsafe {
        let run = slot.cast::<RunFn>().read();
        if settled == THROWN {
            thrown::in_slot(slot).read().discard();
        }
        run(slot, null(), std::ptr::null_mut());
    }
}

/// Drops the newest task: unrun, or once its thief has run it.
///
/// # Safety
/// As for [`filch_pop_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_drop_(worker: RawWorker) {
    // SAFETY: the caller's promise.
    unsafe { drop_newest(worker, true) };
}

/// Drops all tasks of a frame that unwinds, down to `base`. Runs nothing meanwhile.
///
/// # Safety
/// As for [`filch_pop_`], except that the worker is at its head, above the newest task; `base` is the frame's first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_abandon_(worker: RawWorker, base: RawWorker) {
    let mut worker = worker;
    while worker.is_above(&base) {
        worker = worker.below();
        // SAFETY: the caller's promise; those above are gone.
        unsafe { drop_newest(worker, false) };
    }
}

/// Runs a stolen task, by its function `task`, which returns whether it has left an exception in the slot. Returns
/// whether something was thrown. `unwinds` says whether the task's frames clean up when a panic passes them.
///
/// # Safety
/// The task's function in the slot has just been called with this slot and this worker.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_stolen_(
    slot: *mut u8,
    worker: RawWorker,
    task: unsafe extern "C-unwind" fn(*mut u8, RawWorker) -> bool,
    unwinds: bool,
) -> bool {
    // SAFETY: the caller's promise, and the header's for its function.
    let outcome = unsafe { worker.run_stolen(|worker| no_unwinding(!unwinds, || task(slot, worker))) };
    outcome.unwrap_or_else(|payload| {
        // SAFETY: the slot is this thread's until it settles the task.
        unsafe { thrown::in_slot(slot).write(Thrown::panic(payload)) };
        true
    })
}

/// Ends the process because the program breaks a rule at `place`: for the header's assertions.
///
/// # Safety
/// Both are strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_fail_(place: *const c_char, rule: *const c_char) -> ! {
    // SAFETY: the caller's promise.
    let [place, rule] = [place, rule].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    eprintln!("{place}: {rule}");
    std::process::abort()
}
