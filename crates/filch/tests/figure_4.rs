//! The direct stack with [`Sharing::OnRequest`] against figure 4 of *Lace*, line by line: the same operations, in any
//! order, give the same results and leave the same tasks shared. Each operation is whole here; how they overlap is the
//! checker's to examine.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;
#[path = "common/fenced.rs"]
mod fenced;
#[path = "common/owner.rs"]
mod owner;

use std::cell::Cell;
use std::rc::Rc;

use common::watchdog;
use fenced::{AT_LOOK, Fenced};
use filch::inside::protocol::grain;
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::sharer::Time;
use filch::inside::protocol::sleep::ANY;
use filch::inside::protocol::split::{self, Sharing};
use filch::pool::{Split, SplitSettings};
use filch::{Builder, Idle, Wait, Worker};
use filch_queue::Amount;
use filch_queue::lace::index::{Moves, SharedIndex, StealIndex};

type Owner = owner::Owner<Fenced>;

const SIZE: usize = 6;

/// Figure 4, with the paper's names. What the owner copies and what it shares agree between operations, so there is one
/// of each.
struct Figure4 {
    tail: usize,
    split: usize,
    head: usize,
    allstolen: bool,
    splitreq: bool,
    /// How many of the private tasks are shared at once, and of the shared ones taken back: the paper's half, or
    /// others.
    amount: Amount,
    /// The changes of the split point by `grow_shared`, and the fences.
    grows: u32,
    fences: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Popped {
    Empty,
    Stolen(usize),
    Work(usize),
}

impl Figure4 {
    fn new(amount: Amount) -> Self {
        let [tail, split, head] = [0; 3];
        Self { tail, split, head, allstolen: true, splitreq: false, amount, grows: 0, fences: 0 }
    }

    /// Half as the paper computes it.
    #[expect(clippy::manual_div_ceil, reason = "as printed")]
    fn new_split(&self, (low, high): (usize, usize), grows: bool) -> usize {
        let of = |count: usize| self.amount.of(count as u32) as usize;
        match (self.amount, grows) {
            (Amount::Half, true) => (low + high + 1) / 2,
            (Amount::Half, false) => (low + high) / 2,
            (_, true) => low + of(high - low),
            (_, false) => high - of(high - low),
        }
    }

    fn steal(&mut self) -> Option<usize> {
        if self.allstolen {
            return None;
        }
        if self.tail < self.split {
            self.tail += 1;
            return Some(self.tail - 1);
        }
        self.splitreq = true;
        None
    }

    fn push(&mut self) -> bool {
        if self.head == SIZE {
            return false;
        }
        self.head += 1;
        if self.allstolen {
            (self.tail, self.split) = (self.head - 1, self.head);
            self.allstolen = false;
            self.splitreq = false;
        } else if self.splitreq {
            self.grow_shared();
        }
        true
    }

    fn pop(&mut self) -> Popped {
        if self.head == 0 {
            return Popped::Empty;
        }
        if self.allstolen || self.split == self.head && self.shrink_shared() {
            return Popped::Stolen(self.head - 1);
        }
        self.head -= 1;
        if self.splitreq {
            self.grow_shared();
        }
        Popped::Work(self.head)
    }

    fn pop_stolen(&mut self) {
        self.head -= 1;
        self.allstolen = true;
    }

    fn grow_shared(&mut self) {
        let new_s = self.new_split((self.split, self.head), true);
        self.grows += u32::from(new_s != self.split);
        self.split = new_s;
        self.splitreq = false;
    }

    fn shrink_shared(&mut self) -> bool {
        if self.tail != self.split {
            // No thief comes between the two looks at tail here.
            self.fences += 1;
            self.split = self.new_split((self.tail, self.split), false);
            return false;
        }
        self.allstolen = true;
        true
    }
}

/// The direct stack, with slots of 10 bytes from address 100 on.
struct Direct {
    index: Rc<SharedIndex<Fenced>>,
    limits: Limits<Fenced>,
    stack: split::Owner,
    owner: Owner,
    head: usize,
}

impl Direct {
    fn new(moves: Moves, amount: Amount) -> Self {
        let (index, stack) = split::Owner::new(moves, Sharing::OnRequest(amount));
        // Each request has waited long.
        let owner = Owner { now: Cell::new(Time::MAX / 2), grain: grain::Params::DEFAULT, ..Owner::with(2) };
        let mut direct = Self { index: Rc::new(index), limits: Limits::closed(), stack, owner, head: 0 };
        direct.with(split::Owner::begin);
        direct
    }

    fn with<R>(&mut self, f: impl FnOnce(&mut split::Owner, &split::Stack<'_, Fenced>, &Owner) -> R) -> R {
        let Self { index, limits, stack, owner, .. } = self;
        let view = split::Stack { shared: index, limits, bottom: 100, slot_size: 10, capacity: SIZE };
        f(stack, &view, owner)
    }

    fn steal(&self) -> Option<usize> {
        match self.index.steal() {
            StealIndex::Index(index) => return Some(index as usize),
            StealIndex::NothingShared => _ = self.limits.request(|| 7),
            StealIndex::AllStolen | StealIndex::Retry => {}
        }
        None
    }

    fn push(&mut self) {
        let head = self.head;
        if !self.limits.admits_push(100 + 10 * head) {
            self.with(|stack, view, owner| stack.pushed(view, owner, head));
        }
        self.head += 1;
    }

    fn pop(&mut self) -> Popped {
        let Some(index) = self.head.checked_sub(1) else { return Popped::Empty };
        if !self.limits.admits_pop(100 + 10 * index)
            && !self.with(|stack, view, owner| stack.take_back(view, owner, index))
        {
            return Popped::Stolen(index);
        }
        self.head = index;
        Popped::Work(index)
    }

    fn pop_stolen(&mut self) {
        self.head -= 1;
        self.with(|stack, view, _| stack.joined(view));
    }
}

/// Runs both, and compares them after each operation: 0 is a push, 1 a pop, with the join of a stolen task; others are
/// steals.
fn run(all: &[u64], moves: Moves, amount: Amount) {
    let (mut paper, mut direct) = (Figure4::new(amount), Direct::new(moves, amount));
    for (nth, &operation) in all.iter().enumerate() {
        match operation {
            0 => {
                if paper.push() {
                    direct.push();
                }
            }
            1 => {
                let popped = paper.pop();
                assert_eq!(direct.pop(), popped, "{all:?} at {nth}");
                if let Popped::Stolen(_) = popped {
                    paper.pop_stolen();
                    direct.pop_stolen();
                }
            }
            _ => assert_eq!(direct.steal(), paper.steal(), "{all:?} at {nth}"),
        }
        let shared = if paper.allstolen { 0 } else { paper.split - paper.tail };
        let theirs = (paper.head, paper.allstolen, shared, !paper.allstolen && paper.split < paper.head);
        let index = &direct.index;
        let ours = (direct.head, index.is_all_stolen(), index.shared_now(), index.has_private(direct.head as u32));
        assert_eq!(ours, theirs, "head, allstolen, shared, private; {all:?} at {nth}");
        if !paper.allstolen {
            assert_eq!(direct.limits.is_asked(), paper.splitreq, "splitreq; {all:?} at {nth}");
        }
        let counts = (direct.owner.grown.get(), direct.owner.shrunk.get());
        assert_eq!(counts, (paper.grows, paper.fences), "grows, fences; {all:?} at {nth}");
    }
}

const LENGTH: u32 = if cfg!(miri) { 4 } else { 9 };

#[test]
fn the_direct_stack_does_what_figure_4_says() {
    for moves in [Moves::Updates, Moves::HalfStores] {
        for amount in [Amount::Half, Amount::One, Amount::All] {
            for number in 0..3_u64.pow(LENGTH) {
                let operations: Vec<u64> = (0..LENGTH).map(|place| number / 3_u64.pow(place) % 3).collect();
                run(&operations, moves, amount);
            }
            // Longer ones, with as many pushes as pops and fewer steals.
            for seed in 0..if cfg!(miri) { 2 } else { 2000 } {
                let mut random = seed;
                let mut next = || {
                    random = u64::wrapping_add(u64::wrapping_mul(random, 6_364_136_223_846_793_005), 1);
                    (random >> 33) % 5 / 2
                };
                let operations: Vec<u64> = (0..60).map(|_| next()).collect();
                run(&operations, moves, amount);
            }
        }
    }
}

#[test]
fn the_printed_rounding_leaves_the_middle_task_on_either_side() {
    let mut direct = Direct::new(Moves::HalfStores, Amount::Half);
    let private = |direct: &Direct| direct.head - direct.index.shared_now();
    for _ in 0..4 {
        direct.push();
    }
    assert_eq!((direct.index.shared_now(), private(&direct)), (1, 3), "the first one alone");
    assert_eq!((direct.steal(), direct.steal()), (Some(0), None));
    // Of four private tasks, the fifth push included, two; then, at a pop, one of the one that remains below.
    direct.push();
    assert_eq!(direct.index.shared_now(), 2);
    assert_eq!((direct.steal(), direct.steal(), direct.steal()), (Some(1), Some(2), None));
    assert_eq!((direct.pop(), direct.index.shared_now()), (Popped::Work(4), 1));
    // The owner takes back half of the one that is shared, rounded up, and then nothing is left.
    assert_eq!((direct.pop(), direct.index.shared_now()), (Popped::Work(3), 0));
    assert_eq!(direct.pop(), Popped::Stolen(2));
    assert_eq!((direct.owner.grown.get(), direct.owner.shrunk.get()), (2, 1));
    // The first task after all were stolen is shared without a request.
    direct.pop_stolen();
    direct.push();
    assert_eq!((direct.index.shared_now(), direct.owner.grown.get()), (1, 2));
}

#[test]
fn a_shrink_of_three_takes_two_back() {
    let mut direct = Direct::new(Moves::Updates, Amount::Half);
    (0..5).for_each(|_| direct.push());
    assert_eq!((direct.steal(), direct.steal()), (Some(0), None));
    // Three of five private tasks.
    direct.push();
    assert_eq!(direct.index.shared_now(), 3);
    assert_eq!((direct.pop(), direct.pop()), (Popped::Work(5), Popped::Work(4)));
    assert_eq!((direct.index.shared_now(), direct.owner.shrunk.get()), (3, 0));
    assert_eq!((direct.pop(), direct.index.shared_now(), direct.owner.shrunk.get()), (Popped::Work(3), 1, 1));
}

/// The paper's shrinks are its fences.
#[test]
fn a_shrink_that_comes_too_late_is_counted() {
    let mut direct = Direct::new(Moves::HalfStores, Amount::Half);
    direct.push();
    let index = Rc::clone(&direct.index);
    // After the owner's look at tail, the thief takes the only task.
    AT_LOOK.set(Some(Box::new(move || assert_eq!(index.steal(), StealIndex::Index(0)))));
    assert_eq!((direct.pop(), direct.owner.shrunk.get()), (Popped::Stolen(0), 1));
    // Once all are known to be stolen there is nothing to move.
    direct.pop_stolen();
    direct.push();
    assert_eq!(direct.steal(), Some(0));
    assert_eq!((direct.pop(), direct.owner.shrunk.get()), (Popped::Stolen(0), 1));
}

/// What the paper has no need of: its thieves never sleep.
#[test]
fn the_request_of_a_sleeper_stands_while_nothing_is_shared() {
    let mut direct = Direct::new(Moves::Updates, Amount::Half);
    direct.push();
    direct.owner.lays_down(1, ANY);
    assert_eq!(direct.pop(), Popped::Work(0));
    assert_eq!((direct.index.shared_now(), direct.owner.woken.get()), (0, 0));
    direct.push();
    assert_eq!((direct.index.shared_now(), direct.owner.woken.get()), (1, 1), "it is woken for the next task");
}

/// A push that finds no place shares nothing unasked.
#[test]
fn a_task_beyond_the_end_makes_no_difference() {
    let mut direct = Direct::new(Moves::Updates, Amount::Half);
    (0..SIZE).for_each(|_| direct.push());
    direct.with(|stack, view, owner| stack.pushed(view, owner, SIZE));
    assert_eq!((direct.index.shared_now(), direct.owner.grown.get()), (1, 0));
}

fn fib(mut w: Worker<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    a + b
}

/// In a pool, too, an owner shares more than its first task only for a thief that has asked, and nobody shares for it.
#[test]
fn a_pool_shares_on_request_alone() {
    let _watchdog = watchdog("figure 4");
    let (n, result) = if cfg!(miri) { (6, 8) } else { (20, 6765) };
    for share in [Amount::Half, Amount::One, Amount::All].map(Sharing::OnRequest) {
        let settings = SplitSettings::default().share(share);
        // The request of a sleeper would stand without being repeated.
        let builder = Builder::<Split>::new().workers(3).idle(Idle::Spin).wait(Wait::Leapfrog);
        let pool = builder.settings(settings).build().expect("a pool");
        for _ in 0..if cfg!(miri) { 1 } else { 50 } {
            assert_eq!(pool.run(|w| fib(w, n)), result);
        }
        let stats = pool.stats().total();
        assert!(stats.grows <= stats.requests && stats.seizures == 0, "{share:?}: {stats}");
    }
}

/// The first task is shared and, if there is no thief, taken back: one fence for a run. Later runs begin with a private
/// task.
#[test]
fn a_run_without_thieves_fences_once() {
    let as_printed = SplitSettings::default().moves(Moves::HalfStores).share(Sharing::OnRequest(Amount::Half));
    let pool = Builder::<Split>::new().workers(1).settings(as_printed).build().expect("a pool");
    for _ in 0..3 {
        assert_eq!(pool.run(|w| fib(w, 10)), 55);
        let stats = pool.stats().total();
        assert_eq!((stats.grows, stats.shrinks), (0, 1), "{stats}");
    }
}
