//! A worker that counts what its deque tells it, and decides what the deque asks it.
#![allow(dead_code, reason = "each test program uses its part")]

use std::cell::Cell;

use filch::inside::protocol::grain;
use filch::inside::protocol::sharer::{Sharer, Time, Wakes};
use filch::inside::protocol::sleep::{Dormitory, Sleepers, Wanted};
use filch::inside::protocol::waiting::Sleeper;
use filch_memory::Sleep;

/// An owner with a dormitory.
pub(crate) struct Owner<M: Sleep> {
    pub(crate) dormitory: Dormitory<M>,
    pub(crate) has_aside: bool,
    pub(crate) woken: Cell<u32>,
    pub(crate) grown: Cell<u32>,
    pub(crate) shrunk: Cell<u32>,
    pub(crate) now: Cell<Time>,
    pub(crate) grain: grain::Params,
}

impl<M: Sleep> Owner<M> {
    /// Creates an owner that keeps its forks until a request.
    pub(crate) fn with(places: usize) -> Self {
        let [woken, grown, shrunk] = Default::default();
        let (now, grain) = (Cell::new(7), grain::Params::FINE);
        Self { dormitory: Dormitory::new(places), has_aside: false, woken, grown, shrunk, now, grain }
    }

    /// Creates one of two workers. It keeps its forks after three joins within 30 ticks each, until a request has
    /// waited for 100 ticks.
    pub(crate) fn of_two() -> Self {
        Self { grain: grain::Params { window: 3, doubt: 1, fine: 10, patience: 100 }, ..Self::with(2) }
    }

    /// Announces the sleep of the worker of that place.
    pub(crate) fn lays_down(&self, place: usize, wanted: Wanted) {
        self.dormitory.place(place).announce(self.dormitory.sleepers(), wanted);
        self.dormitory.place(place).settle();
    }

    /// The workers that sleep, whatever they want.
    pub(crate) fn asleep(&self) -> Vec<usize> {
        (0..self.dormitory.len()).filter(|&place| self.dormitory.place(place).would_help(|_| true)).collect()
    }
}

impl<M: Sleep> Sleeper for Owner<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        &self.dormitory
    }

    fn index(&self) -> usize {
        0
    }

    fn note_wake_up(&self) {
        self.woken.set(self.woken.get() + 1);
    }
}

impl<M: Sleep> Sharer for Owner<M> {
    type Memory = M;

    fn sleepers(&self) -> &Sleepers<M> {
        self.dormitory.sleepers()
    }

    fn workers(&self) -> usize {
        self.dormitory.len()
    }

    /// Wakes them at once, so that a test sees it.
    fn wake_after(&self, wakes: Wakes) {
        wakes.wake(self);
    }

    fn has_aside(&self) -> bool {
        self.has_aside
    }

    fn note_growth(&self) {
        self.grown.set(self.grown.get() + 1);
    }

    fn note_shrinking(&self) {
        self.shrunk.set(self.shrunk.get() + 1);
    }

    fn now(&self) -> Time {
        self.now.get()
    }

    fn grain(&self) -> grain::Params {
        self.grain
    }
}
