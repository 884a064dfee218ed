//! A thread that sleeps until it gets something, and an owner that forks whenever it sees that thread asleep.
//!
//! Invariant: only the owner wakes the sleeper. So if a fork does not, both wait for ever, which the checker reports.

use std::cell::Cell as Plain;

use filch::inside::protocol::grain::{self, Time};
use filch::inside::protocol::sharer::{Sharer, Wakes};
use filch::inside::protocol::sleep::{ANY, Dormitory, Place, Sleepers};
use filch::inside::protocol::waiting::Sleeper;
use filch_memory::{Atomic, Memory, Ordering};

use crate::scenario::Checker;

/// Where the sleeper stands: odd while it is asleep or about to be, after its last look.
pub(super) struct Naps<M: Memory>(M::AtomicU32);

const SERVED: u32 = u32::MAX;

impl<M: Memory> Default for Naps<M> {
    fn default() -> Self {
        Self(Atomic::new(0))
    }
}

impl<M: Checker> Naps<M> {
    /// Sleeper: says that it goes to sleep for the `nth` time, from 1 on.
    pub(super) fn begin(&self, nth: u32) {
        self.0.store(2 * nth - 1, Ordering::Release);
        M::note(|| "sleeps".into());
    }

    /// Sleeper: says that it has slept so many times, and is awake.
    pub(super) fn end(&self, times: u32) {
        self.0.store(2 * times, Ordering::Release);
    }

    /// Sleeper: says that it needs nothing more.
    pub(super) fn leave(&self) {
        self.0.store(SERVED, Ordering::Release);
    }

    /// Owner: forks whenever the sleeper in this place is asleep, until it needs nothing more.
    pub(super) fn attend(&self, place: &Place<M>, mut fork: impl FnMut()) {
        loop {
            let now = self.0.load(Ordering::Acquire);
            if now == SERVED {
                return;
            }
            // Asleep, and not about to be woken.
            if now % 2 == 1 && place.would_help(|_| true) {
                M::note(|| "sees the other asleep".into());
                fork();
            }
            while self.0.load(Ordering::Acquire) == now {
                M::spin_loop();
            }
        }
    }

    /// Sleeper, in place `own` of the dormitory: sleeps until it can `take` something. Before its last look it `asks`.
    pub(super) fn sleep_until<R>(
        &self,
        (dormitory, own): (&Dormitory<M>, usize),
        take: impl Fn() -> Option<R>,
        asks: impl Fn(),
        sees_any: impl Fn() -> bool,
    ) -> R {
        let (sleepers, place) = (dormitory.sleepers(), dormitory.place(own));
        let (mut times, mut searching) = (0, false);
        loop {
            if let Some(taken) = take() {
                return taken;
            }
            if std::mem::replace(&mut searching, true) {
                sleepers.end_search();
            }
            place.announce(sleepers, ANY);
            asks();
            place.settle();
            if sees_any() {
                place.cancel(sleepers);
                continue;
            }
            times += 1;
            self.begin(times);
            place.sleep();
            self.end(times);
        }
    }
}

/// Worker 0 of a dormitory, within a turn as the owner of its stack. Nothing takes it any time.
pub(super) struct Turn<'d, M: Memory> {
    dormitory: &'d Dormitory<M>,
    grain: grain::Params,
    owed: Plain<Wakes>,
}

impl<'d, M: Checker> Turn<'d, M> {
    pub(super) fn new(dormitory: &'d Dormitory<M>, grain: grain::Params) -> Self {
        Self { dormitory, grain, owed: Plain::default() }
    }

    /// Wakes whom it has to wake.
    pub(super) fn end(self) {
        self.owed.take().wake(&self);
    }
}

impl<M: Checker> Sleeper for Turn<'_, M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        self.dormitory
    }

    fn index(&self) -> usize {
        0
    }
}

impl<M: Checker> Sharer for Turn<'_, M> {
    type Memory = M;

    fn sleepers(&self) -> &Sleepers<M> {
        self.dormitory.sleepers()
    }

    fn workers(&self) -> usize {
        self.dormitory.len()
    }

    fn wake_after(&self, wakes: Wakes) {
        self.owed.set(wakes);
    }

    fn has_aside(&self) -> bool {
        false
    }

    fn now(&self) -> Time {
        0
    }

    fn grain(&self) -> grain::Params {
        self.grain
    }
}
