//! Wool's direct task stack, compact, with mistakes to choose from. See `filch::protocol::wool` for the algorithm.
//!
//! All slots are public, and a thief that has taken a task is taken to run it, as in the paper: it puts back what it should not have.
//!
//! What must always hold: without a mistake it is correct on every machine.

use filch_memory::{Atomic, Memory, Ordering};

use super::mutant::{Harm, Mutant, buffer, protocol};
use crate::scenarios::wool::{Client, Fate, Stack, program};
use crate::tso::Tso;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// The owner takes a task back by a load and a store.
    JoinWithoutSwap,
    /// A join of a stolen task leaves `bot` where it is.
    BotStays,
    /// A thief keeps the task that it has taken, wherever `bot` stands by then.
    NoBackOut,
}

const EMPTY: usize = 0;
const TASK: usize = 1;
const STOLEN: usize = 2;
const DONE: usize = 3;

/// The stack.
pub struct Wool<M: Memory> {
    bot: M::AtomicUsize,
    states: Vec<M::AtomicUsize>,
    mistake: Mistake,
}

impl<M: Memory> Wool<M> {
    fn swap(&self, index: usize, from: usize, to: usize) -> bool {
        self.states[index].compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl<M: Memory> Stack<M> for Wool<M> {
    type Owner = ();
    type Params = Mistake;

    fn new(slots: usize, &mistake: &Mistake) -> (Self, ()) {
        (Self { bot: Atomic::new(0), states: (0..slots).map(|_| Atomic::new(EMPTY)).collect(), mistake }, ())
    }

    fn push(&self, (): &mut (), index: usize) {
        self.states[index].store(TASK, Ordering::Release);
    }

    fn answer(&self, (): &mut (), _: usize) {}

    fn take_back(&self, (): &mut (), index: usize) -> bool {
        if self.mistake == Mistake::JoinWithoutSwap {
            let is_there = self.states[index].load(Ordering::Acquire) == TASK;
            if is_there {
                self.states[index].store(EMPTY, Ordering::Release);
            }
            return is_there;
        }
        self.swap(index, TASK, EMPTY)
    }

    fn look(&self, index: usize) -> Fate {
        match self.states[index].load(Ordering::Acquire) {
            TASK if self.swap(index, TASK, EMPTY) => Fate::TakenBack,
            DONE => Fate::Done,
            _ => Fate::Runs,
        }
    }

    fn joined(&self, (): &mut (), index: usize) {
        if self.states[index].load(Ordering::Relaxed) == DONE {
            self.states[index].store(EMPTY, Ordering::Relaxed);
            if self.mistake != Mistake::BotStays {
                self.bot.store(index, Ordering::Release);
            }
        }
    }

    fn steal(&self) -> Option<usize> {
        let bot = self.bot.load(Ordering::Acquire);
        if bot >= self.states.len() || !self.swap(bot, TASK, STOLEN) {
            return None;
        }
        if self.bot.load(Ordering::Acquire) != bot && self.mistake != Mistake::NoBackOut {
            self.states[bot].store(TASK, Ordering::Release);
            return None;
        }
        self.bot.store(bot + 1, Ordering::Release);
        Some(bot)
    }

    fn finish(&self, index: usize) {
        self.states[index].store(DONE, Ordering::Release);
    }

    fn is_clean(&self) -> Result<(), String> {
        match self.bot.load(Ordering::Relaxed) {
            0 => Ok(()),
            bot => Err(format!("bot stands at {bot}")),
        }
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = |name, mistake, owner, thieves, harm, shows| {
        let client = Client { owner, above: "", thieves };
        let program = move |mistake| program::<Tso, Wool<Tso>>(&client, &mistake);
        let mutant = protocol("wool", (name, mistake), client.to_string(), harm, shows, program);
        Mutant { processor: buffer(0), ..mutant }
    };
    vec![
        row(
            "join-without-swap",
            Mistake::JoinWithoutSwap,
            "+|-",
            &[1],
            Harm::Twice,
            "a thief takes the task between the owner's load and its store",
        ),
        row(
            "bot-stays",
            Mistake::BotStays,
            "+|-",
            &[1],
            Harm::Hidden,
            "once a stolen task has been joined, thieves look above the stack",
        ),
        row(
            "no-back-out",
            Mistake::NoBackOut,
            "++|--++--",
            &[2],
            Harm::Hidden,
            "a thief that read bot before older tasks were joined and forked again takes a newer one, and sets bot past the older",
        ),
    ]
}
