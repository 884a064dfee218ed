//! Wool's direct task stack, as it ships: [`Shared`], [`Owner`] and [`JobState`]. In the end `bot` is at the bottom
//! again.
//!
//! [`wake_up`] adds the limits and a thief that sleeps. Its owner is the one that ships, [`public::Owner`].

use std::cell::{Cell as Plain, RefCell};
use std::sync::Arc;

use filch::inside::protocol::grain;
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::public;
use filch::inside::protocol::sleep::Dormitory;
use filch::inside::protocol::state::JobState;
use filch::inside::protocol::wool::{Owner, Params, Shared};
use filch_memory::Memory;
use filch_queue::lace::index::StealIndex;

use super::napping::{Naps, Turn};
use super::stacks::{self, Client, Fate, SLOT, SLOTS, Tasks, address, look};
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
    naps: Naps<M>,
}

/// The thief's place.
const THIEF: usize = 1;

/// The owner of a desk.
struct Tenant<M: Memory> {
    desk: Arc<Desk<M>>,
    grain: grain::Params,
    owner: RefCell<public::Owner>,
    height: Plain<usize>,
}

impl<M: Checker> Tenant<M> {
    fn stack<'s>(&'s self) -> public::Stack<'s, M, impl Fn(u32) -> &'s JobState<M>> {
        let Desk { stack: Stack { shared, states }, limits, .. } = &*self.desk;
        let state_at = |index| &states[index as usize];
        public::Stack { shared, limits, state_at, bottom: address(0), slot_size: SLOT, capacity: SLOTS }
    }

    /// Gives `f` the owner's part, and then wakes whom that has shared tasks for.
    fn enter<R>(&self, f: impl FnOnce(&mut public::Owner, &Turn<'_, M>) -> R) -> R {
        let turn = Turn::new(&self.desk.dormitory, self.grain);
        let result = f(&mut self.owner.borrow_mut(), &turn);
        turn.end();
        result
    }

    fn push(&self) {
        let index = self.height.get();
        self.height.set(index + 1);
        M::note(|| format!("forks in slot {index}"));
        if !self.desk.limits.admits_push(address(index)) {
            self.enter(|owner, turn| owner.pushed(&self.stack(), turn, index));
        }
    }

    /// Joins the newest task, stolen or not.
    fn join(&self) {
        let index = self.height.get() - 1;
        self.height.set(index);
        M::note(|| format!("joins slot {index}"));
        let desk = &self.desk;
        if desk.limits.admits_pop(address(index))
            || self.enter(|owner, turn| owner.take_back(&self.stack(), turn, index))
        {
            return;
        }
        while !matches!(look(desk.stack.state(index)), Fate::Done | Fate::TakenBack) {
            M::spin_loop();
        }
        self.enter(|owner, _| owner.joined(&self.stack(), index));
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
        naps: Naps::default(),
    });
    let (owner, height) = (RefCell::new(owner), Plain::new(0));
    let tenant = Tenant::<M> { desk: Arc::clone(&desk), grain, owner, height };
    let own = move || {
        tenant.enter(|owner, turn| owner.begin(&tenant.stack(), turn));
        for act in acts.chars() {
            if act == '+' { tenant.push() } else { tenant.join() }
        }
        let Desk { dormitory, naps, .. } = &*tenant.desk;
        naps.attend(dormitory.place(THIEF), || tenant.push());
        while tenant.height.get() > 0 {
            tenant.join();
        }
    };
    let steal = move || {
        let Desk { stack, limits, dormitory, naps } = &*desk;
        let Stack { shared, states } = stack;
        let asks = || {
            if shared.has_run_out() {
                limits.request(|| 0);
            }
        };
        let sees_any = || shared.has_public(|index| &states[index as usize]);
        let slot = naps.sleep_until((dormitory, THIEF), || stack.steal(THIEF), asks, sees_any);
        states[slot].claim(THIEF, 0);
        states[slot].finish(false);
        naps.leave();
    };
    Program {
        threads: vec![("owner".into(), Box::new(own)), ("thief".into(), Box::new(steal))],
        finally: Box::new(|| ()),
    }
}
