//! How a worker wakes others and is woken, and what of that it notes.
//!
//! Invariant: a worker wakes nobody within its turn as the owner of its task stack.

use std::sync::Arc;

use filch_memory::Native;
use filch_queue::clock;

use super::home::{Home, current_home};
use crate::protocol::grain::Time;
use crate::protocol::sharer::{Sharer, Wakes};
use crate::protocol::sleep::{Dormitory, Sleepers, WakeUp};
use crate::protocol::waiting::Sleeper;
use crate::shared::common::Common;
use crate::shared::{guest::Guests, policy::Idle};
use crate::timeline::{Act, Activity, Note};

impl Home {
    /// Called when the worker's turn as the owner of its task stack is over. Wakes whom it has to wake.
    #[inline]
    pub(crate) fn end_turn(&self) {
        if self.owed.get() != Wakes::Nobody {
            match &self.common.guests {
                Some(guests) if guests.is_watched() => self.call_watch(guests),
                _ => self.owed.take().wake(self),
            }
        }
    }

    /// Called when the worker has work for others while one watches, and naps. Calls that one, unless this is a guest
    /// whose call may be over before it comes.
    #[cold]
    fn call_watch(&self, guests: &Guests) {
        self.owed.take();
        if guests.is_long(self.counters.idle.now().saturating_sub(self.came.get()), self.common.packs()) {
            self.common.call_for_help();
        }
    }
}

impl Common {
    /// Lets workers that wake others send them [elsewhere](Elsewhere). A thread outside, which waits for what it has
    /// handed in, needs no processor meanwhile.
    pub(crate) fn wake_elsewhere(&self) {
        let Some(elsewhere) = self.elsewhere.clone() else { return };
        self.dormitory.on_wake(move |worker, what| match what {
            WakeUp::Begins => {
                let is_own =
                    |common: &Common| common.elsewhere.as_ref().is_some_and(|own| Arc::ptr_eq(own, &elsewhere));
                let home = current_home().filter(|home| is_own(&home.common) && home.common.is_in_this_process());
                home.is_some_and(|home| {
                    let now = clock::now();
                    home.waking_since.set(now);
                    if home.woke.get() == 0 {
                        home.woke.set(now);
                    }
                    elsewhere.send(worker)
                })
            }
            WakeUp::Fails => {
                elsewhere.come_back(worker);
                false
            }
        });
    }
}

impl Sleeper for Home {
    type Memory = Native;

    fn dormitory(&self) -> &Dormitory<Native> {
        &self.common.dormitory
    }

    fn index(&self) -> usize {
        self.index
    }

    fn sleeps(&self) -> bool {
        self.common.habits.idle == Idle::Sleep
    }

    fn settle(&self) {
        self.common.dormitory.settle(self.index);
    }

    fn note_request(&self) {
        self.common.want_tick();
    }

    fn park(&self) {
        self.counters.parks.bump();
        self.common.look();
        self.note(Note::Begins(Activity::Asleep));
    }

    fn note_sleep(&self) {
        self.note(Note::Ends(Activity::Asleep));
    }

    fn note_woken(&self) {
        if let Some(elsewhere) = &self.common.elsewhere {
            elsewhere.wake_up(self.index);
        }
    }

    fn note_wake_up(&self) {
        /// About three ticks of the clock.
        const NANOSECOND: Time = 3;
        self.counters.wakeups.bump();
        if let Some(guests) = self.common.guests.as_ref().filter(|_| self.waking_since.get() != 0) {
            let took = clock::now().saturating_sub(self.waking_since.replace(0)) / NANOSECOND;
            guests.note_wake_up(took);
            self.came.set(self.came.get() + took);
        }
        self.note(Note::Does(Act::Wakes));
    }
}

impl Sharer for Home {
    type Memory = Native;

    fn sleepers(&self) -> &Sleepers<Native> {
        self.common.dormitory.sleepers()
    }

    fn workers(&self) -> usize {
        self.common.workers()
    }

    fn wake_after(&self, wakes: Wakes) {
        self.owed.set(wakes);
    }

    fn has_aside(&self) -> bool {
        self.aside.has_overflow()
    }

    fn now(&self) -> Time {
        clock::now()
    }

    fn note_growth(&self) {
        self.counters.grows.bump();
        self.note(Note::Does(Act::Shares));
    }

    fn note_shrinking(&self) {
        self.counters.shrinks.bump();
        self.note(Note::Does(Act::TakesBack));
    }
}
