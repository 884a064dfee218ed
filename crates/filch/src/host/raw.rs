//! For code in other languages, which forks by the layout of slots and fronts.
//!
//! Such code does what [`fast_path`](crate::fork::fast_path) does: it writes a task to the slot at the head and
//! compares the head with the push limit, and with the pop limit when it joins. The cold halves are here. [`LAYOUT`] is
//! all that it knows of memory. A slot's first word is a function of the C ABI, which runs the task for a thief:
//!
//! ```c
//! bool run(void *slot, void *front, void *head);
//! ```
//!
//! It returns whether the task has unwound, and must not unwind itself. What else is in the slot, only the code that
//! has pushed the task knows.
//!
//! Invariant: a [`RawWorker`] is used as the [`Worker`] that it was made from would be: by one thread, at the exact
//! head, while closure style is off the stack.

use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use filch_memory::Native;

use crate::fork::cold_call::push_any;
use crate::fork::front::{Front, Meanwhile};
use crate::fork::here::Here;
use crate::fork::slot::Slot;
use crate::pool::Split;
use crate::protocol::limits::Limits;
use crate::protocol::state::{KINDS, Settled};
use crate::tasks::handle::{Worker, in_handle_style};
use crate::tasks::levels::{Flat, Level};
use crate::unwind::Payload;

/// The sizes and offsets that code in other languages relies on, in bytes. The limits and the head are words, which are
/// read and written atomically, without an order; the head of a worker is the address of a slot.
///
/// ```
/// assert!(filch::inside::host::LAYOUT.contains(&("SLOT_SIZE", 64)));
/// ```
pub const LAYOUT: [(&str, usize); 11] = [
    ("SLOT_SIZE", size_of::<Slot>()),
    ("SLOT_RUN", Slot::RUN),
    ("SLOT_ROOM", Slot::ROOM),
    ("SLOT_ROOM_SIZE", size_of::<Slot>() - Slot::ROOM),
    ("SLOT_STATE", Slot::STATE),
    ("STATE_KIND", KINDS[0] as usize),
    ("STATE_STOLEN", KINDS[1] as usize),
    ("STATE_DONE", KINDS[2] as usize),
    ("FRONT_PUSH_LIMIT", offset_of!(Front, limits) + Limits::<Native>::OFFSETS[0]),
    ("FRONT_POP_LIMIT", offset_of!(Front, limits) + Limits::<Native>::OFFSETS[1]),
    // The slot for a task whose push the limits do not admit.
    ("FRONT_SCRATCH", offset_of!(Front, scratch)),
];

/// A [`Worker`] of a [`Split`] pool, in two words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawWorker {
    front: NonNull<Front>,
    head: *mut Slot,
}

impl RawWorker {
    /// Returns the worker. Use the result only until `worker` is used again.
    #[inline(always)]
    pub fn of<L: Level>(worker: &mut Worker<'_, Split, L>) -> Self {
        let here = worker.here();
        Self { front: NonNull::from(here.front()), head: here.head() }
    }

    /// Returns the worker as a handle.
    ///
    /// # Safety
    /// The current thread is this worker, at this head: no live task lies at or above it. Until the handle is gone,
    /// nothing else forks there.
    #[inline(always)]
    pub unsafe fn worker<'w>(self) -> Worker<'w, Split, Flat> {
        // SAFETY: the caller's promise; raw workers are of split pools, and handle style has taken closure style off.
        unsafe { Worker::new(self.here()) }
    }

    /// Calls `f` with the current thread's worker, if it is one of a split pool, and keeps closure style off its stack.
    pub fn with_current<R>(f: impl FnOnce(Self) -> R) -> Option<R> {
        let at = |here: Here<'_, Split>| in_handle_style(here, |mut worker: Worker<'_>| f(Self::of(&mut worker)));
        Here::with(|here| here.of_pool().map(at))
    }

    /// Returns the front and the head, which a task written in C takes as its first two arguments. If the task may
    /// panic, it must be compiled with `-fexceptions`: otherwise the panic leaves its forks on the stack.
    #[inline(always)]
    pub fn words(self) -> (*const (), *const ()) {
        (self.front.as_ptr().cast(), self.head.cast())
    }

    /// Whether this is above another head of the same worker.
    pub fn is_above(&self, other: &Self) -> bool {
        self.head.addr() > other.head.addr()
    }

    /// Returns the head one slot below.
    #[must_use]
    pub fn below(self) -> Self {
        Self { head: self.head.wrapping_sub(1), ..self }
    }

    /// # Safety
    /// As for [`worker`](Self::worker).
    unsafe fn here<'w>(self) -> Here<'w, Split> {
        // SAFETY: the caller promises the thread and the head; the worker lives while its thread runs its tasks.
        unsafe { Here::new(self.front.as_ref(), self.head) }
    }

    /// Completes a push that the push limit did not admit. The task is in the front's scratch slot. Returns the slot in
    /// which it stays until it is popped, which is not on the stack if that is full or the head is unknown.
    ///
    /// # Safety
    /// As for [`worker`](Self::worker), and the scratch slot holds a task.
    pub unsafe fn push(self) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            let aside = self.here().home().aside();
            let before = aside.len();
            push_any(self.front.as_ref(), self.head);
            let is_aside = aside.len() > before;
            if is_aside { aside.newest_state().byte_sub(Slot::STATE).cast_mut().cast() } else { self.head.cast() }
        }
    }

    /// Completes a pop: takes the task back, or waits until a thief has run it. Returns the slot that has the contents,
    /// which must be moved out before the worker forks or joins again. While the worker waits it `helps` others, or
    /// else runs nothing.
    ///
    /// # Safety
    /// The current thread is this worker, and its newest task was pushed at this head.
    pub unsafe fn pop(self, helps: bool) -> (*mut u8, Settled) {
        let meanwhile = if helps { Meanwhile::Help } else { Meanwhile::Rest };
        // SAFETY: the front lives while the worker's thread runs its tasks.
        let front = unsafe { self.front.as_ref() };
        if front.limits.admits_pop(self.head.addr()) {
            return (self.head.cast(), Settled::Unrun);
        }
        let operations = front.operations.expect("only workers join");
        // SAFETY: the table is that of this front, and the task is the newest there.
        let (job, settled) = unsafe { (operations.pop)(Here::new(front, self.head), meanwhile) };
        (job.as_ptr().cast(), settled)
    }

    /// Runs a task as its thief does; returns the payload if it panics.
    ///
    /// # Safety
    /// A task's function of the C ABI has been called with this front and head, and `task` does not go beyond the call.
    ///
    /// # Errors
    /// The payload of a panic.
    pub unsafe fn run_stolen<R>(self, task: impl FnOnce(Self) -> R) -> Result<R, Payload> {
        // SAFETY: whoever called that function is this worker, at this head, and uses neither meanwhile.
        let here = unsafe { self.here() };
        catch_unwind(AssertUnwindSafe(|| in_handle_style(here, |mut w: Worker<'_>| task(Self::of(&mut w)))))
    }
}
