//! The direct private deque, as it ships: [`Owner`], [`Request`], [`Desk`] and [`Limits`].
//!
//! Here a thief looks for its answer once, and withdraws. [`wake_up`] has one that sleeps until it can ask.

use std::sync::Arc;

use filch::inside::protocol::grain;
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::private::{self, Desk, Owner, Request};
use filch::inside::protocol::sleep::Dormitory;
use filch::inside::protocol::state::JobState;
use filch_memory::Memory;
use filch_queue::Padded;

use super::cost::Cost::{self, FullTso, Quick, QuickTso};
use super::cost::scenario;
use super::napping::{Naps, Turn};
use super::stacks::{self, Client, SLOT, SLOTS, Tasks, address};
use crate::Program;
use crate::c11::Loom;
use crate::scenario::{Checker, Scenario};
use crate::tso::Tso;

/// The most workers of a program.
const WORKERS: usize = 3;

/// What all threads see.
struct Stack<M: Memory> {
    request: Request<M>,
    limits: Limits<M>,
    desks: Vec<Padded<Desk<M>>>,
    states: Vec<JobState<M>>,
    dormitory: Dormitory<M>,
}

impl<M: Checker> Stack<M> {
    fn new() -> Self {
        Self {
            request: Request::default(),
            limits: Limits::closed(),
            desks: (0..WORKERS).map(|_| Padded::default()).collect(),
            states: (0..SLOTS).map(|_| JobState::default()).collect(),
            dormitory: Dormitory::new(2),
        }
    }

    /// Gives `f` the view of the stack, and then wakes whom it has to wake.
    fn enter<R>(&self, f: impl FnOnce(&private::Stack<'_, M>, &Turn<'_, M>) -> R) -> R {
        let Self { request, limits, desks, dormitory, .. } = self;
        let (bottom, slot_size, capacity) = (address(0), SLOT, SLOTS);
        let turn = Turn::new(dormitory, grain::Params::DEFAULT);
        let result = f(&private::Stack { request, limits, desks, bottom, slot_size, capacity }, &turn);
        turn.end();
        result
    }

    /// Thief: asks, and waits while `waits` says so.
    fn ask(&self, thief: usize, mut waits: impl FnMut() -> bool) -> Option<usize> {
        let waits = || {
            self.limits.request(|| 0);
            waits()
        };
        self.desks[thief].steal(&self.request, thief as u32, waits)
    }
}

impl<M: Checker> Tasks<M> for Stack<M> {
    type Owner = Owner;

    fn state(&self, index: usize) -> &JobState<M> {
        &self.states[index]
    }

    fn push(&self, owner: &mut Owner, index: usize) {
        if !self.limits.admits_push(address(index)) {
            self.answer(owner, index + 1);
        }
    }

    fn answer(&self, owner: &mut Owner, top: usize) {
        self.enter(|stack, turn| owner.poll(stack, turn, top));
    }

    fn take_back(&self, owner: &mut Owner, index: usize) -> bool {
        self.limits.admits_pop(address(index)) || self.enter(|stack, turn| owner.take_back(stack, turn, index))
    }

    fn joined(&self, owner: &mut Owner, index: usize) {
        self.states[index].reset();
        owner.joined(index);
    }

    fn steal(&self, thief: usize) -> Option<usize> {
        self.ask(thief, || false)
    }

    fn is_clean(&self) -> Result<(), String> {
        match self.states.iter().all(JobState::is_fresh) {
            true if !self.request.is_open() => Ok(()),
            true => Err("thieves are still asked to ask".into()),
            false => Err("a slot is not free".into()),
        }
    }
}

/// Returns the program of a client.
pub fn program<M: Checker>(client: &Client) -> Program {
    stacks::program::<M, _>(client, (Stack::<M>::new(), Owner::default()))
}

/// The place of the only thief.
const THIEF: usize = 1;

/// A thief sleeps until there is something to ask for. The owner forks (`+`), joins (`-`) and rests (`z`), and once it
/// sees the thief asleep it forks again, which must wake the thief.
pub fn wake_up<M: Checker>(acts: &'static str) -> Program {
    let (stack, naps) = (Arc::new(Stack::<M>::new()), Arc::new(Naps::<M>::default()));
    let (owners, owners_naps) = (Arc::clone(&stack), Arc::clone(&naps));
    let live = move || {
        let (mut owner, mut height) = (Owner::default(), 0);
        let mut act = |act| match act {
            '+' => {
                height += 1;
                owners.push(&mut owner, height - 1);
            }
            '-' => {
                height -= 1;
                assert!(owners.take_back(&mut owner, height), "nobody has asked for it");
            }
            _ => owners.enter(|stack, _| owner.rest(stack)),
        };
        acts.chars().for_each(&mut act);
        owners_naps.attend(owners.dormitory.place(THIEF), || act('+'));
    };
    let wait = move || {
        let is_open = || stack.request.is_open();
        naps.sleep_until((&stack.dormitory, THIEF), || is_open().then_some(()), || (), is_open);
        naps.leave();
    };
    Program {
        threads: vec![("owner".into(), Box::new(live)), ("thief".into(), Box::new(wait))],
        finally: Box::new(|| ()),
    }
}

/// Owners that answer at once, late or not at all, and a thief that sleeps.
pub(super) fn scenarios() -> Vec<Scenario> {
    // The owner's acts, those above a given task, the thieves' steals, the cost.
    type Row = (&'static str, &'static str, &'static [usize], Cost);
    const ROWS: &[Row] = &[
        ("+-", "", &[1], Quick),
        ("+.-", "", &[1], Quick),
        ("++|--", "", &[1], Quick),
        ("++|--", "+-", &[1], Quick),
        ("+-+-", "", &[1], QuickTso),
        ("+|-", "", &[1, 1], QuickTso),
        ("++|--", "+.-", &[2], QuickTso),
        ("++|--", "", &[1, 1], FullTso),
        ("++|.-+-", "+-", &[2], FullTso),
        ("+++|--.-", "", &[3], FullTso),
    ];
    let stack = |&(owner, above, thieves, cost): &Row| {
        let client = Client { owner, above, thieves };
        scenario(
            "direct-pdq-r2",
            client.to_string(),
            cost,
            move || program::<Tso>(&client),
            move || program::<Loom>(&client),
        )
    };
    // What the owner does before it checks for the sleeper.
    const SLEEPS: &[(&str, Cost)] =
        &[("", Quick), ("+", Quick), ("+-", Quick), ("+-+", QuickTso), ("+z", Quick), ("++z-", QuickTso)];
    let sleep = |&(acts, cost): &(&'static str, Cost)| {
        scenario(
            "direct-pdq-r2",
            format!("a fork wakes {acts}"),
            cost,
            move || wake_up::<Tso>(acts),
            move || wake_up::<Loom>(acts),
        )
    };
    ROWS.iter().map(stack).chain(SLEEPS.iter().map(sleep)).collect()
}
