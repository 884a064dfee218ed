//! What the operations of the running execution have to know.
//!
//! What must always hold: there is a context as long as an exploration runs, on its thread; nobody keeps it borrowed.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use filch_memory::Ordering;

use super::wait::{Sleeper, Turns};
use crate::outcome::{self, Outcome};
use crate::sites::{Kind, Sites};

/// Of the exploration, and of its running execution.
pub(super) struct Context {
    pub(super) sites: Sites,
    pub(super) executions: u64,
    pub(super) limit: u64,
    pub(super) deadline: Option<Instant>,
    pub(super) stop: fn() -> bool,
    pub(super) progress: Sender<u64>,
    /// Who sleeps where, in the order of their coming.
    pub(super) sleepers: Vec<Sleeper>,
    /// Who waits for another's store, and how often it has looked.
    pub(super) waits: Vec<(loom::thread::ThreadId, u32)>,
    /// What waits and wake-ups have in common, and what fences have: see `take_turn`.
    pub(super) turns: Option<[Rc<Turns>; 2]>,
    pub(super) looks_alone: usize,
    /// The program's threads that have begun, by number.
    pub(super) threads: Vec<(usize, loom::thread::ThreadId)>,
    pub(super) outcome: Outcome,
    /// The newest value of each variable, and whether it may be an address.
    pub(super) values: Vec<(u64, bool)>,
    /// The outcome's number, once the threads have ended.
    pub(super) came_to: u64,
}

impl Context {
    /// Who runs, for the outcome: a thread, or whoever makes the program or ends it.
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

/// Whether an operation must not reach loom.
#[inline]
pub(super) fn is_aside() -> bool {
    ALONE.get() || std::thread::panicking()
}

/// The ordering that an operation is to use: its own, but for surveys and weakenings.
#[inline]
pub(super) fn order_at(site: &'static Location<'static>, kind: Kind, order: Ordering) -> Option<Ordering> {
    context(|context| if context.sites.is_idle() { Some(order) } else { context.sites.visit(site, kind, order) })
}

/// A new variable, for the outcome: its number.
pub(super) fn number_variable(value: u64, is_address: bool) -> usize {
    let number = context(|context| {
        context.values.push((value, is_address));
        context.values.len() - 1
    });
    has_written(number, value);
    number
}

/// The running thread has written this to a variable.
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

/// The running thread has read this from a variable.
#[inline]
pub(super) fn has_read(variable: usize, value: u64, succeeds: bool) {
    context(|context| {
        let is_address = context.values[variable].1;
        let reader = context.reader();
        let value = if is_address { context.outcome.name(value) } else { value };
        context.outcome.reads(reader, value, succeeds);
    });
}

/// What the program's threads, which have ended, have come to.
pub(super) fn outcome() -> u64 {
    context(|context| context.came_to)
}
