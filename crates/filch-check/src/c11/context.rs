//! The state that the operations of the running execution need.
//!
//! Invariant: while an exploration runs, its thread has a context, and nothing keeps it borrowed.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use filch_memory::Ordering;

use super::wait::{Sleeper, Turns};
use crate::outcome::{self, Outcome};
use crate::sites::{Kind, Sites};

/// The state of an exploration and of its running execution.
pub(super) struct Context {
    pub(super) sites: Sites,
    pub(super) executions: u64,
    pub(super) limit: u64,
    pub(super) deadline: Option<Instant>,
    pub(super) stop: fn() -> bool,
    pub(super) progress: Sender<u64>,
    /// The sleeping threads and their places, in order of arrival.
    pub(super) sleepers: Vec<Sleeper>,
    /// The threads that wait for another thread's store, and how often each has looked.
    pub(super) waits: Vec<(loom::thread::ThreadId, u32)>,
    /// The turns that waits and wake-ups share, and those that fences share: see `take_turn`.
    pub(super) turns: Option<[Rc<Turns>; 2]>,
    pub(super) looks_alone: usize,
    /// The program's started threads, by number.
    pub(super) threads: Vec<(usize, loom::thread::ThreadId)>,
    pub(super) outcome: Outcome,
    /// The newest value of each variable, and whether it may be an address.
    pub(super) values: Vec<(u64, bool)>,
    /// The number of the outcome, once the threads have ended.
    pub(super) came_to: u64,
}

impl Context {
    /// Returns the running thread's number in the outcome, or that of the code that makes or ends the program.
    fn reader(&self) -> usize {
        if ALONE.get() || self.threads.is_empty() {
            return outcome::ALONE;
        }
        let me = loom::thread::current().id();
        self.threads.iter().find(|&&(_, thread)| thread == me).map_or(outcome::ALONE, |&(index, _)| index + 1)
    }

    pub(super) fn find_sleeper(&self, thread: loom::thread::ThreadId) -> usize {
        self.sleepers.iter().position(|sleeper| sleeper.thread.id() == thread).expect("it lay down")
    }
}

thread_local! {
    pub(super) static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
    /// Whether the program's threads have ended and one of them runs `finally`.
    pub(super) static ALONE: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn context<R>(work: impl FnOnce(&mut Context) -> R) -> R {
    CONTEXT
        .with_borrow_mut(|context| work(context.as_mut().expect("this memory exists only while a program is explored")))
}

/// Returns whether an operation must not reach loom.
#[inline]
pub(super) fn is_aside() -> bool {
    ALONE.get() || std::thread::panicking()
}

/// Returns the ordering that an operation uses: its own, unless a survey or a weakening changes it.
#[inline]
pub(super) fn order_at(site: &'static Location<'static>, kind: Kind, order: Ordering) -> Option<Ordering> {
    context(|context| if context.sites.is_idle() { Some(order) } else { context.sites.visit(site, kind, order) })
}

/// Numbers a new variable for the outcome.
pub(super) fn number_variable(value: u64, is_address: bool) -> usize {
    let number = context(|context| {
        context.values.push((value, is_address));
        context.values.len() - 1
    });
    has_written(number, value);
    number
}

/// Records that the running thread has written this to a variable.
#[inline]
pub(super) fn has_written(variable: usize, value: u64) {
    context(|context| {
        let is_address = context.values[variable].1;
        context.values[variable].0 = value;
        if is_address {
            let reader = context.reader();
            context.outcome.writes_address(reader, value);
        }
    });
}

/// Records that the running thread has read this from a variable.
#[inline]
pub(super) fn has_read(variable: usize, value: u64, succeeds: bool) {
    context(|context| {
        let is_address = context.values[variable].1;
        let reader = context.reader();
        let value = if is_address { context.outcome.name(value) } else { value };
        context.outcome.reads(reader, value, succeeds);
    });
}

/// Returns the outcome of the program's threads, which have ended.
pub(super) fn outcome() -> u64 {
    context(|context| context.came_to)
}
