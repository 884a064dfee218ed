//! A trial that finds nothing must prove that it can: these queues hold every task and give each to one taker, and are
//! useless all the same.

use core::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use filch_queue::as_new::{Side, Trial};
use filch_queue::{
    Adws, ChaseLev, Full, IdempotentLifo, Lace, Locked, Owner, PdqRAsync, Promises, Queue, Steal, StealMany, Task, The,
    Thief,
};

use crate::task;

/// The flaw of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Flaw {
    #[default]
    None,
    /// After this many attempts, thieves find it empty.
    EmptyAfter(usize),
    /// After this many attempts, thieves wait for an answer.
    PendingAfter(usize),
    /// After this many attempts, thieves lose every race.
    RetriesAfter(usize),
    /// The second thief finds it empty.
    OneSided,
    /// After this many pushes, it is full with one task.
    FullAfter(usize),
    /// After this many pushes, it takes more tasks than it has room for, in a separate place.
    Boundless(usize),
    /// After this many polls, the owner ignores requests.
    DeafAfter(usize),
    /// Its length is this much too large, or too small.
    Length(isize),
    /// Thieves are told of work always, or never.
    Hint(bool),
    /// The owner finds the oldest task first.
    Backwards,
    /// Thieves that ask for several tasks get one, and are told of two.
    Miscounts,
}

/// `Q` with a flaw.
struct Flawed<Q>(PhantomData<fn() -> Q>);

struct FlawedOwner<O> {
    owner: O,
    flaw: Flaw,
    pushes: usize,
    polls: usize,
    held: usize,
    more: Vec<Task>,
}

struct FlawedThief<T> {
    thief: T,
    flaw: Flaw,
    index: usize,
    attempts: usize,
}

// SAFETY: only tests use it, and their tasks are numbers.
unsafe impl<Q: Queue<Params: Default>> Queue for Flawed<Q> {
    type Owner = FlawedOwner<Q::Owner>;
    type Thief = FlawedThief<Q::Thief>;
    type Params = Flaw;

    const PROMISES: Promises = Q::PROMISES;
    const WITHDRAWS: bool = Q::WITHDRAWS;

    fn make(capacity: usize, thieves: usize, &flaw: &Flaw) -> (Self::Owner, Vec<Self::Thief>) {
        let (owner, thieves) = Q::make(capacity, thieves, &Q::Params::default());
        let flawed = |(index, thief)| FlawedThief { thief, flaw, index, attempts: 0 };
        let owner = FlawedOwner { owner, flaw, pushes: 0, polls: 0, held: 0, more: Vec::new() };
        (owner, thieves.into_iter().enumerate().map(flawed).collect())
    }
}

impl<O: Owner<Task>> Owner<Task> for FlawedOwner<O> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.pushes += 1;
        match self.flaw {
            Flaw::FullAfter(after) if self.pushes > after && self.held > 0 => return Err(Full(task)),
            _ => {}
        }
        match self.owner.push(task) {
            Err(Full(task)) if matches!(self.flaw, Flaw::Boundless(after) if self.pushes > after) => {
                self.more.push(task);
            }
            answer => answer?,
        }
        self.held += 1;
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let popped = if self.flaw == Flaw::Backwards {
            let mut all: Vec<_> = core::iter::from_fn(|| self.owner.pop()).collect();
            let oldest = all.pop();
            all.into_iter().rev().for_each(|task| self.owner.push(task).expect("there was room"));
            oldest
        } else {
            self.more.pop().or_else(|| self.owner.pop())
        };
        self.held = if popped.is_some() { self.held - 1 } else { 0 };
        popped
    }

    fn poll(&mut self) {
        self.polls += 1;
        if !matches!(self.flaw, Flaw::DeafAfter(after) if self.polls > after) {
            self.owner.poll();
        }
    }

    fn len_hint(&self) -> usize {
        let length = self.owner.len_hint() + self.more.len();
        match self.flaw {
            Flaw::Length(error) => length.saturating_add_signed(error),
            _ => length,
        }
    }
}

impl<T: Thief<Task>> FlawedThief<T> {
    fn refuses(&mut self) -> Option<Steal<Task>> {
        self.attempts += 1;
        let is_late = |after| self.attempts > after;
        match self.flaw {
            Flaw::EmptyAfter(after) if is_late(after) => Some(Steal::Empty),
            Flaw::PendingAfter(after) if is_late(after) => Some(Steal::Pending),
            Flaw::RetriesAfter(after) if is_late(after) => Some(Steal::Retry),
            Flaw::OneSided if self.index == 1 => Some(Steal::Empty),
            _ => None,
        }
    }
}

impl<T: Thief<Task>> Thief<Task> for FlawedThief<T> {
    fn steal(&mut self) -> Steal<Task> {
        self.refuses().unwrap_or_else(|| self.thief.steal())
    }

    fn quiesce(&mut self) -> Option<Task> {
        self.thief.quiesce()
    }

    fn has_work_hint(&self) -> bool {
        if let Flaw::Hint(hint) = self.flaw { hint } else { self.thief.has_work_hint() }
    }
}

impl<T: StealMany<Task>> StealMany<Task> for FlawedThief<T> {
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        match self.refuses() {
            Some(refusal) => refusal.map(|_| 0),
            None if self.flaw == Flaw::Miscounts => self.thief.steal_many(max.min(1), loot).map(|count| count + 1),
            None => self.thief.steal_many(max, loot),
        }
    }
}

/// Returns a trial's verdict on a flawed queue that has been used a little.
fn verdict<Q: Queue>(
    flaw: Flaw,
    trial: &Trial,
    side: for<'q> fn(&'q mut FlawedThief<Q::Thief>) -> Side<'q>,
) -> Result<(), String> {
    let (mut owner, mut thieves) = Flawed::<Q>::make(CAPACITY, 2, &flaw);
    for n in 0..8 {
        let _ = owner.push(task(n));
        let _ = thieves[n % 2].steal();
        while owner.pop().is_some() {}
        thieves.iter_mut().for_each(|thief| while thief.quiesce().is_some() {});
    }
    let tried = catch_unwind(AssertUnwindSafe(|| trial.passes(&mut owner, thieves.iter_mut().map(side))));
    tried.map_err(|panic| panic.downcast_ref::<String>().expect("a message").clone())
}

const CAPACITY: usize = 4;

#[track_caller]
fn fails<Q: Queue>(flaw: Flaw) {
    let verdict = verdict::<Q>(flaw, &Trial::new::<Flawed<Q>, _>(CAPACITY, &flaw), |thief| Side::One(thief));
    assert!(verdict.is_err(), "{flaw:?} of {} is missed", Q::PROMISES.name);
}

/// More operations than the trial of the new queue for comparison takes.
const LATE: usize = 8;

#[test]
fn a_queue_without_a_flaw_passes() {
    fn passes<Q: Queue>() {
        let trial = Trial::new::<Flawed<Q>, _>(CAPACITY, &Flaw::None);
        assert_eq!(verdict::<Q>(Flaw::None, &trial, |thief| Side::One(thief)), Ok(()));
    }
    passes::<ChaseLev>();
    passes::<The>();
    passes::<Lace>();
    passes::<PdqRAsync>();
    passes::<Adws>();
    passes::<IdempotentLifo>();
    let of_many = Trial::of_many::<Flawed<Locked>, _>(CAPACITY, &Flaw::None);
    assert_eq!(verdict::<Locked>(Flaw::None, &of_many, |thief| Side::Several(thief)), Ok(()));
}

#[test]
fn thieves_that_are_turned_away_are_found() {
    for after in [0, LATE] {
        fails::<ChaseLev>(Flaw::EmptyAfter(after));
        fails::<Lace>(Flaw::EmptyAfter(after));
        fails::<PdqRAsync>(Flaw::EmptyAfter(after));
        fails::<Adws>(Flaw::PendingAfter(after));
        fails::<PdqRAsync>(Flaw::PendingAfter(after));
        fails::<The>(Flaw::RetriesAfter(after));
    }
    fails::<ChaseLev>(Flaw::OneSided);
    fails::<Adws>(Flaw::OneSided);
    fails::<Lace>(Flaw::OneSided);
    fails::<IdempotentLifo>(Flaw::OneSided);
}

#[test]
fn owners_that_answer_nobody_are_found() {
    for after in [0, LATE] {
        fails::<Adws>(Flaw::DeafAfter(after));
        fails::<PdqRAsync>(Flaw::DeafAfter(after));
        fails::<Lace>(Flaw::DeafAfter(after));
    }
    fails::<ChaseLev>(Flaw::Backwards);
}

#[test]
fn too_little_and_too_much_room_are_found() {
    for after in [0, LATE] {
        fails::<ChaseLev>(Flaw::FullAfter(after));
        fails::<The>(Flaw::FullAfter(after));
        fails::<Adws>(Flaw::FullAfter(after));
    }
    fails::<The>(Flaw::Boundless(40));
}

#[test]
fn miscounts_are_found() {
    for error in [-1, 1] {
        fails::<ChaseLev>(Flaw::Length(error));
        fails::<The>(Flaw::Length(error));
        fails::<PdqRAsync>(Flaw::Length(error));
    }
    for hint in [false, true] {
        fails::<ChaseLev>(Flaw::Hint(hint));
        fails::<Adws>(Flaw::Hint(hint));
    }
    let of_many = Trial::of_many::<Flawed<Locked>, _>(CAPACITY, &Flaw::Miscounts);
    assert!(verdict::<Locked>(Flaw::Miscounts, &of_many, |thief| Side::Several(thief)).is_err());
}
