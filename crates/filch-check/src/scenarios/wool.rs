//! Wool's direct task stack, as it ships: [`Shared`], [`Owner`] and [`JobState`]. In the end `bot` is at the bottom
//! again.
//!
//! [`wake_up`] adds the limits and a thief that sleeps. Its owner is the one that ships, [`public::Owner`].

use std::cell::{Cell as Plain, RefCell};
use std::sync::Arc;

use filch::inside::protocol::grain::{self, Time};
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::public;
use filch::inside::protocol::sharer::{Sharer, Wakes};
use filch::inside::protocol::sleep::{ANY, Dormitory, Sleepers};
use filch::inside::protocol::state::JobState;
use filch::inside::protocol::waiting::Sleeper;
use filch::inside::protocol::wool::{Owner, Params, Shared};
use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::lace::index::StealIndex;

use super::stacks::{self, Client, Fate, SLOTS, Tasks, look};
use crate::Program;
use crate::scenario::Checker;

/// A direct task stack; thieves take the oldest public task.
struct Stack<M: Memory> {
    shared: Shared<M>,
    states: Vec<JobState<M>>,
}

impl<M: Checker> Tasks<M> for Stack<M> {
    type Owner = Owner;

    fn state(&self, index: usize) -> &JobState<M> {
        &self.states[index]
    }

    fn push(&self, owner: &mut Owner, index: usize) {
        owner.push(&self.states[index], index as u32);
    }

    fn answer(&self, owner: &mut Owner, top: usize) {
        owner.publish(&self.shared, |index| &self.states[index as usize], top as u32, self.states.len() as u32);
    }

    fn take_back(&self, owner: &mut Owner, index: usize) -> bool {
        if index >= owner.public() as usize {
            return true;
        }
        let taken = owner.take_back(&self.states[index], index as u32);
        if taken {
            owner.privatise(&self.shared, index as u32);
        }
        taken
    }

    fn joined(&self, owner: &mut Owner, index: usize) {
        owner.joined(&self.shared, &self.states[index], index as u32);
    }

    fn steal(&self, _: usize) -> Option<usize> {
        match self.shared.steal(|index| &self.states[index as usize]) {
            StealIndex::Index(index) => Some(index as usize),
            _ => None,
        }
    }

    fn is_clean(&self) -> Result<(), String> {
        match self.shared.bot() {
            0 if self.states.iter().all(JobState::is_fresh) => Ok(()),
            0 => Err("a slot is not free".into()),
            bot => Err(format!("bot stands at {bot}")),
        }
    }
}

/// Returns the program of a client.
pub fn program<M: Checker>(client: &Client, params: &Params) -> Program {
    let (shared, owner) = Shared::new(*params, SLOTS as u32);
    let states = (0..SLOTS).map(|_| JobState::default()).collect();
    stacks::program::<M, _>(client, (Stack { shared, states }, owner))
}

/// A stack, its owner's limits, and the sleeping places of the owner and the only thief.
struct Desk<M: Memory> {
    stack: Stack<M>,
    limits: Limits<M>,
    dormitory: Dormitory<M>,
    /// Odd while the thief is asleep or about to be, after its last look; `SERVED` in the end.
    phase: M::AtomicU32,
}

const SERVED: u32 = u32::MAX;
/// The thief's place.
const THIEF: usize = 1;

/// Limits compare addresses.
fn address(slot: usize) -> usize {
    (slot + 1) * 64
}

/// The owner of a desk.
struct Tenant<M: Memory> {
    desk: Arc<Desk<M>>,
    grain: grain::Params,
    owner: RefCell<public::Owner>,
    owed: Plain<Wakes>,
    height: Plain<usize>,
}

impl<M: Checker> Sleeper for Tenant<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        &self.desk.dormitory
    }

    fn index(&self) -> usize {
        0
    }
}

impl<M: Checker> Sharer for Tenant<M> {
    type Memory = M;

    fn sleepers(&self) -> &Sleepers<M> {
        self.desk.dormitory.sleepers()
    }

    fn workers(&self) -> usize {
        self.desk.dormitory.len()
    }

    fn wake_after(&self, wakes: Wakes) {
        self.owed.set(wakes);
    }

    fn has_aside(&self) -> bool {
        false
    }

    /// Returns 0: nothing takes any time.
    fn now(&self) -> Time {
        0
    }

    fn grain(&self) -> grain::Params {
        self.grain
    }
}

impl<M: Checker> Tenant<M> {
    fn stack<'s>(&'s self) -> public::Stack<'s, M, impl Fn(u32) -> &'s JobState<M>> {
        let Desk { stack: Stack { shared, states }, limits, .. } = &*self.desk;
        let state_at = |index| &states[index as usize];
        public::Stack {
            shared,
            limits,
            state_at,
            bottom: address(0),
            slot_size: address(1) - address(0),
            capacity: SLOTS,
        }
    }

    /// Gives `f` the owner's part, and then wakes whom that has shared tasks for.
    fn enter<R>(&self, f: impl FnOnce(&mut public::Owner) -> R) -> R {
        let result = f(&mut self.owner.borrow_mut());
        self.owed.take().wake(self);
        result
    }

    fn push(&self) {
        let index = self.height.get();
        self.height.set(index + 1);
        M::note(|| format!("forks in slot {index}"));
        if !self.desk.limits.admits_push(address(index)) {
            self.enter(|owner| owner.pushed(&self.stack(), self, index));
        }
    }

    /// Joins the newest task, stolen or not.
    fn join(&self) {
        let index = self.height.get() - 1;
        self.height.set(index);
        M::note(|| format!("joins slot {index}"));
        let desk = &self.desk;
        if desk.limits.admits_pop(address(index)) || self.enter(|owner| owner.take_back(&self.stack(), self, index)) {
            return;
        }
        while !matches!(look(desk.stack.state(index)), Fate::Done | Fate::TakenBack) {
            M::spin_loop();
        }
        self.enter(|owner| owner.joined(&self.stack(), index));
    }
}

/// A thief wants one task and sleeps until it gets it. The owner forks (`+`) and joins (`-`), and once it sees the
/// thief asleep it forks again, which must wake the thief.
pub fn wake_up<M: Checker>(acts: &'static str, params: Params, grain: grain::Params) -> Program {
    let (shared, owner) = public::Owner::new(params, SLOTS as u32);
    let desk = Arc::new(Desk::<M> {
        stack: Stack { shared, states: (0..SLOTS).map(|_| JobState::default()).collect() },
        limits: Limits::closed(),
        dormitory: Dormitory::new(2),
        phase: Atomic::new(0),
    });
    let (owner, owed, height) = (RefCell::new(owner), Plain::default(), Plain::new(0));
    let tenant = Tenant::<M> { desk: Arc::clone(&desk), grain, owner, owed, height };
    let own = move || {
        let desk: &Desk<M> = &tenant.desk;
        tenant.enter(|owner| owner.begin(&tenant.stack(), &tenant));
        for act in acts.chars() {
            if act == '+' { tenant.push() } else { tenant.join() }
        }
        loop {
            let now = desk.phase.load(Ordering::Acquire);
            if now == SERVED {
                break;
            }
            // Asleep, and not about to be woken: only the owner wakes it.
            if now % 2 == 1 && desk.dormitory.place(THIEF).would_help(|_| true) {
                M::note(|| "sees the thief asleep".into());
                tenant.push();
            }
            while desk.phase.load(Ordering::Acquire) == now {
                M::spin_loop();
            }
        }
        while tenant.height.get() > 0 {
            tenant.join();
        }
    };
    let steal = move || {
        let shared = &desk.stack.shared;
        let (sleepers, place) = (desk.dormitory.sleepers(), desk.dormitory.place(THIEF));
        let (mut phase, mut searching) = (0, false);
        let slot = loop {
            if let Some(slot) = desk.stack.steal(1) {
                break slot;
            }
            if std::mem::replace(&mut searching, true) {
                sleepers.end_search();
            }
            place.announce(sleepers, ANY);
            if shared.has_run_out() {
                desk.limits.request(|| 0);
            }
            place.settle();
            if shared.has_public(|index| &desk.stack.states[index as usize]) {
                place.cancel(sleepers);
                continue;
            }
            desk.phase.store(phase + 1, Ordering::Release);
            M::note(|| "sleeps".into());
            place.sleep();
            phase += 2;
            desk.phase.store(phase, Ordering::Release);
        };
        desk.stack.states[slot].claim(1, 0);
        desk.stack.states[slot].finish(false);
        desk.phase.store(SERVED, Ordering::Release);
    };
    Program {
        threads: vec![("owner".into(), Box::new(own)), ("thief".into(), Box::new(steal))],
        finally: Box::new(|| ()),
    }
}
