//! Sleeping, waiting and taking turns, which loom does not provide: see the [module](super).
//!
//! Invariant: a thread is among the sleepers from before its last check of the word until it is woken or leaves.

use std::rc::Rc;

use filch_memory::Ordering;
use loom::sync::atomic::AtomicBool;

use super::context::context;
use crate::tso::LOOKS_ALONE;

/// A thread that sleeps or is about to sleep.
pub(super) struct Sleeper {
    place: usize,
    pub(super) thread: loom::thread::Thread,
    state: State,
}

#[derive(PartialEq)]
pub(super) enum State {
    /// It must still check that it may sleep.
    Lying,
    Asleep,
    /// Woken before it slept, perhaps together with all others.
    Called {
        all: bool,
    },
}

/// Adds the running thread to the sleepers at a place, before it checks that it may sleep.
pub(super) fn lie_down(place: usize) {
    take_turn(Turn::Sleep);
    let thread = loom::thread::current();
    context(|context| context.sleepers.push(Sleeper { place, thread, state: State::Lying }));
}

/// Sleeps, unless another thread has woken the running thread since `lie_down`.
pub(super) fn fall_asleep() {
    let me = loom::thread::current().id();
    let sleeps = context(|context| {
        let index = context.find_sleeper(me);
        let lying = context.sleepers[index].state == State::Lying;
        if lying {
            context.sleepers[index].state = State::Asleep;
        } else {
            context.sleepers.remove(index);
        }
        lying
    });
    if sleeps {
        loom::thread::park();
    }
}

/// Removes the running thread from the sleepers: it may not sleep. A wake-up that it received belongs to another
/// thread.
pub(super) fn get_up() {
    let me = loom::thread::current().id();
    let Sleeper { place, state, .. } = context(|context| {
        let index = context.find_sleeper(me);
        context.sleepers.remove(index)
    });
    if state == (State::Called { all: false }) {
        wake(place, false);
    }
}

/// Wakes one or all of the threads that sleep at a place.
pub(super) fn call(place: usize, all: bool) {
    take_turn(Turn::Sleep);
    wake(place, all);
}

fn wake(place: usize, all: bool) {
    let mut woken = Vec::new();
    let mut more = true;
    context(|context| {
        context.sleepers.retain_mut(|sleeper| {
            if sleeper.place != place || !more || matches!(sleeper.state, State::Called { .. }) {
                return true;
            }
            more = all;
            let asleep = sleeper.state == State::Asleep;
            if asleep {
                woken.push(sleeper.thread.clone());
            } else {
                sleeper.state = State::Called { all };
            }
            !asleep
        });
    });
    woken.iter().for_each(loom::thread::Thread::unpark);
}

/// The number of checks in one wait after which an execution is followed in one order only. More failed checks make no
/// difference, and two waiting threads would keep each other running for as long as the exploration continues.
const LOOKS: u32 = 3;

/// Lets the other threads run, since the running thread waits for them.
pub(super) fn wait_for_others() {
    let me = loom::thread::current().id();
    let is_long = context(|context| {
        let index = context.waits.iter().position(|&(thread, _)| thread == me).unwrap_or_else(|| {
            context.waits.push((me, 0));
            context.waits.len() - 1
        });
        context.waits[index].1 += 1;
        context.waits[index].1 > LOOKS
    });
    if is_long {
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// Counts a check in a waiting loop of the last thread, or of a thread that unwinds.
pub(super) fn look_alone() {
    context(|context| context.looks_alone += 1);
    let is_over = context(|context| context.looks_alone >= LOOKS_ALONE);
    assert!(!is_over || std::thread::panicking(), "the only thread waits for ever");
}

/// Ends the running thread's wait: it has written something.
#[inline]
pub(super) fn end_wait() {
    context(|context| {
        if !context.waits.is_empty() {
            let me = loom::thread::current().id();
            context.waits.retain(|&(thread, _)| thread != me);
        }
    });
}

/// The purpose of a turn.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    Sleep,
    Fence,
}

/// Takes the running thread's turn, for a step that loom does not order.
pub(super) fn take_turn(turn: Turn) {
    let turns = context(|context| {
        let turns = context.turns.as_ref().expect("made at the start of the execution");
        Rc::clone(&turns[turn as usize])
    });
    turns.take();
}

/// Steps that loom tries in every order and that have no visible effect.
#[derive(Debug)]
pub(super) struct Turns(AtomicBool);

impl Turns {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    pub(super) fn take(&self) {
        // The update fails, but loom treats it as a possible write.
        let failed = self.0.compare_exchange(true, true, Ordering::Relaxed, Ordering::Relaxed);
        debug_assert!(failed.is_err());
    }
}
