//! All states of a few ranks, with messages that arrive in any order.
//!
//! A task is a number; task n makes two tasks n - 1. The explorer takes, in each state, every step that some rank may take: it runs
//! a task, asks a random victim or a lifeline, gives or refuses, or receives any of the messages that are on their way.

use std::collections::{HashMap, VecDeque};

use super::*;

type Tasks = Vec<u8>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    ranks: Vec<Rank>,
    bags: Vec<Tasks>,
    /// How often each rank may still ask a random victim.
    tries: Vec<u8>,
    /// Whether the first task has yet to tell a number to all.
    has_hint: bool,
    run: u32,
    /// In flight: sender, receiver, message; sorted.
    flight: Vec<(usize, usize, Message<Tasks>)>,
}

impl State {
    fn new(size: usize, first: usize, tasks: &[u8], tries: u8, has_hint: bool, mistake: Option<Mistake>) -> Self {
        let mut state = Self {
            ranks: (0..size).map(|me| Rank { mistake, ..Rank::new(me, size) }).collect(),
            bags: vec![Vec::new(); size],
            tries: vec![tries; size],
            has_hint,
            run: 0,
            flight: Vec::new(),
        };
        state.bags[first] = tasks.to_vec();
        for rank in 0..size {
            state.act(rank, |state, out| state.ranks[rank].set_active(!state.bags[rank].is_empty(), out));
        }
        state
    }

    fn act(&mut self, rank: usize, step: impl FnOnce(&mut Self, &mut Outbox<Tasks>)) {
        let mut out = Vec::new();
        step(self, &mut out);
        self.flight.extend(out.into_iter().map(|(to, message)| (rank, to, message)));
        self.flight.sort_unstable();
    }

    fn after(&self, rank: usize, step: impl FnOnce(&mut Self, &mut Outbox<Tasks>)) -> Self {
        let mut next = self.clone();
        next.act(rank, step);
        next
    }

    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for (rank, this) in self.ranks.iter().enumerate() {
            if !self.bags[rank].is_empty() {
                next.push(self.after(rank, |state, out| {
                    let task = state.bags[rank].pop().expect("a task");
                    state.run += 1;
                    if task > 0 {
                        state.bags[rank].extend([task - 1; 2]);
                    }
                    if std::mem::take(&mut state.has_hint) {
                        state.ranks[rank].hint(Hint::default(), out);
                    }
                    state.ranks[rank].set_active(!state.bags[rank].is_empty(), out);
                }));
            }
            if let Some(to) = this.wanted() {
                if self.bags[rank].len() > 1 {
                    next.push(self.after(rank, |state, out| {
                        let kept = state.bags[rank].len().div_ceil(2);
                        let half = state.bags[rank].split_off(kept);
                        state.ranks[rank].give(to, half, out);
                    }));
                }
                if this.has_pending() {
                    next.push(self.after(rank, |state, out| state.ranks[rank].refuse(out)));
                }
            }
            if this.may_ask() {
                for victim in (0..self.ranks.len()).filter(|&victim| victim != rank && self.tries[rank] > 0) {
                    next.push(self.after(rank, |state, out| {
                        state.tries[rank] -= 1;
                        state.ranks[rank].ask(victim, false, out);
                    }));
                }
                if let Some(victim) = this.lifeline() {
                    next.push(self.after(rank, |state, out| state.ranks[rank].ask(victim, true, out)));
                }
            }
        }
        for (index, message) in self.flight.iter().enumerate() {
            if index == 0 || self.flight[index - 1] != *message {
                let (from, to, message) = message.clone();
                next.push(self.after(to, |state, out| {
                    state.flight.remove(index);
                    state.bags[to].extend(state.ranks[to].receive(from, message, out).unwrap_or_default());
                }));
            }
        }
        next
    }

    /// What is wrong with this state, if something is.
    fn wrong(&self, tasks: u32) -> Option<&'static str> {
        let works = |rank: &Rank| rank.is_working();
        let has_work = self.bags.iter().any(|bag| !bag.is_empty())
            || self
                .flight
                .iter()
                .any(|(.., message)| matches!(message, Message::Work(_) | Message::Push(_) | Message::Hint(_)));
        if has_work && !self.ranks.iter().all(works) {
            return Some("the end came too early");
        }
        if self.flight.iter().any(|&(_, to, _)| self.ranks[to].is_done()) {
            return Some("a message to a rank that has left");
        }
        if self.ranks.iter().all(Rank::is_done) && self.run != tasks {
            return Some("tasks were lost");
        }
        // Nobody hangs on a rank that does not know it.
        let forgets = |(me, rank): (usize, &Rank)| {
            let on = |dimension: u32| rank.hangs_on & 1 << dimension != 0;
            let mut lifelines = (0..8).filter(|&dimension| on(dimension)).map(|dimension| me ^ 1 << dimension);
            lifelines.any(|lifeline| {
                let is_between = |&(from, to, ref message): &(usize, usize, Message<Tasks>)| match message {
                    Message::Request { is_lifeline } => (from, to, *is_lifeline) == (me, lifeline, true),
                    Message::Work(_) | Message::Push(_) => (from, to) == (lifeline, me),
                    _ => false,
                };
                !self.ranks[lifeline].remembered.contains(&me) && !self.flight.iter().any(is_between)
            })
        };
        if self.ranks.iter().all(works) && self.ranks.iter().enumerate().any(forgets) {
            return Some("a lifeline is cut");
        }
        None
    }
}

/// Explores all states. Returns their number, or what is wrong with one.
fn explore(start: State, tasks: u32) -> Result<usize, &'static str> {
    let mut numbers = HashMap::from([(start.clone(), 0_usize)]);
    let mut open = VecDeque::from([start]);
    let (mut before, mut ends) = (vec![Vec::new()], Vec::new());
    while let Some(state) = open.pop_front() {
        if let Some(wrong) = state.wrong(tasks) {
            return Err(wrong);
        }
        let number = numbers[&state];
        if state.ranks.iter().all(Rank::is_done) {
            ends.push(number);
        }
        for next in state.next() {
            let fresh = numbers.len();
            let at = *numbers.entry(next.clone()).or_insert(fresh);
            if at == fresh {
                before.push(Vec::new());
                open.push_back(next);
            }
            before[at].push(number);
        }
    }
    // From every state the end can be reached.
    let mut ends_from = vec![false; before.len()];
    while let Some(state) = ends.pop() {
        if !std::mem::replace(&mut ends_from[state], true) {
            ends.extend(&before[state]);
        }
    }
    if ends_from.iter().all(|&ends| ends) { Ok(before.len()) } else { Err("no end can be reached") }
}

#[test]
fn three_ranks_share_all_tasks_and_leave_no_message() {
    // The numbers of states change only with the protocol.
    for (size, first, tasks, runs, tries, has_hint, states) in [
        (1, 0, &[1][..], 3, 1, false, 4),
        (2, 0, &[1, 0], 4, 1, true, 30_948),
        (3, 0, &[], 0, 1, false, 184_912),
        (3, 0, &[0, 0], 2, 0, true, 217_284),
        (3, 0, &[1], 3, 0, false, 27_430),
        (3, 1, &[0, 1], 4, 0, false, 121_124),
    ] {
        let start = State::new(size, first, tasks, tries, has_hint, None);
        assert_eq!(explore(start, runs), Ok(states), "{size} ranks, tasks {tasks:?} at {first}, {tries} tries");
    }
}

#[test]
fn known_mistakes_are_noticed() {
    for (mistake, wrong) in [
        (Mistake::OneWave, "the end came too early"),
        (Mistake::ReportsWithWork, "the end came too early"),
        (Mistake::CountsBeforeWork, "the end came too early"),
        (Mistake::PushUncounted, "the end came too early"),
        (Mistake::LeavesAtStop, "a message to a rank that has left"),
        (Mistake::ForgetsLifelines, "a lifeline is cut"),
        (Mistake::SilentAfterEnd, "no end can be reached"),
    ] {
        let (tasks, runs, tries): (&[u8], _, _) =
            if mistake == Mistake::OneWave { (&[0, 1], 4, 1) } else { (&[0, 0], 2, 0) };
        let start = State::new(3, 1, tasks, tries, false, Some(mistake));
        assert_eq!(explore(start, runs), Err(wrong), "{mistake:?}");
    }
}
