//! The rounds of a trial, on one queue. They are written once for all queues, and rely only on the promises.
//!
//! Invariant: the model knows every task in the queue, and judges every answer.

use alloc::vec::Vec;
use core::num::NonZeroUsize;

use super::Side;
use super::round::{Ending, Kind, Round};
use crate::model::{Disagreement, Model};
use crate::{Capacity, Full, Order, Owner, Progress, Promises, Steal, StealOrder, Stealable, Task};

/// The number of failed attempts, each followed by a poll, after which a thief gives up. An owner that polls answers
/// sooner.
const LOOKS: usize = 4;

/// The same for an owner that answers by a clock: enough for its time to come.
const LOOKS_BY_CLOCK: usize = 1_000_000;

/// A queue of a larger capacity is not filled completely.
pub(super) const BRIM: usize = 1024;

/// The most tasks that a queue gets if it grows or is too large to fill.
const HEAP: usize = 33;

/// All rounds of one queue.
pub(super) struct Course<'c, 'q> {
    promises: &'static Promises,
    capacity: usize,
    owner: &'c mut (dyn Owner<Task> + 'q),
    thieves: Vec<Side<'q>>,
    /// The content of the queue.
    model: Model<Task>,
    pushed: usize,
    loot: Vec<Vec<usize>>,
    popped: Vec<usize>,
    lengths: Vec<usize>,
    round: Round,
    /// The results of the rounds on a new queue; empty if this queue is new.
    expected: &'c [Ending],
    endings: Vec<Ending>,
}

fn task(number: usize) -> Task {
    Task::from_id(NonZeroUsize::new(number).expect("tasks are numbered from 1"))
}

/// How many more times a thief tries.
struct Patience {
    looks: usize,
    waits: usize,
}

impl Patience {
    fn is_over(&self) -> bool {
        self.looks == 0 || self.waits == 0
    }

    fn follow(&mut self, answer: &Steal<usize>, full: Self) {
        match answer {
            Steal::Task(_) => *self = full,
            Steal::Pending => self.waits = self.waits.saturating_sub(1),
            Steal::Empty => self.looks = self.looks.saturating_sub(1),
            // Trying again is useless.
            Steal::Retry | Steal::Aborted => self.looks = 0,
        }
    }
}

impl<'c, 'q> Course<'c, 'q> {
    pub(super) fn new(
        expected: Option<&'c [Ending]>,
        promises: &'static Promises,
        capacity: usize,
        owner: &'c mut (dyn Owner<Task> + 'q),
        thieves: Vec<Side<'q>>,
    ) -> Self {
        Self {
            promises,
            capacity,
            model: Model::new(*promises, capacity),
            pushed: 0,
            loot: thieves.iter().map(|_| Vec::new()).collect(),
            popped: Vec::new(),
            lengths: Vec::new(),
            round: Round { is_new: expected.is_none(), kind: Kind::Settle, thief: 0, pass: 0 },
            expected: expected.unwrap_or_default(),
            endings: Vec::new(),
            owner,
            thieves,
        }
    }

    fn patience(&self, thieves: usize) -> Patience {
        let waits = if self.promises.answers_by_clock { LOOKS_BY_CLOCK } else { LOOKS };
        Patience { looks: LOOKS * thieves, waits: waits * thieves }
    }

    fn depends_on_owner(&self) -> bool {
        self.promises.steal_progress == Progress::OwnerDependent
    }

    fn is_unordered(&self) -> bool {
        self.promises.steals == StealOrder::Unordered
    }

    pub(super) fn run(mut self) -> Vec<Ending> {
        self.settle();
        self.begin(Kind::Brim, 0);
        self.fill(usize::MAX);
        self.empty();
        for pass in 1..=2 {
            self.round.pass = pass;
            self.alone();
            for thief in 0..self.thieves.len() {
                self.one_thief(thief);
                self.several(thief);
                self.taken_back(thief);
            }
            if self.thieves.len() > 1 {
                self.in_turn();
                self.at_once();
                (0..self.thieves.len()).for_each(|thief| self.handed_on(thief));
            }
        }
        self.endings
    }

    /// Answers the thieves' outstanding requests with nothing, since the queue is empty.
    fn settle(&mut self) {
        self.owner.poll();
        for thief in 0..self.thieves.len() {
            self.quiesce(thief);
            self.attempt(thief);
            self.owner.poll();
            self.quiesce(thief);
        }
        self.empty();
    }

    fn alone(&mut self) {
        self.begin(Kind::Alone, 0);
        self.fill(usize::MAX);
        self.drain();
        let Self { round, pushed, popped, .. } = self;
        let is_in_order = match self.promises.order {
            Order::Lifo => popped.iter().copied().eq((1..=*pushed).rev()),
            Order::Fifo => popped.iter().copied().eq(1..=*pushed),
        };
        assert!(is_in_order, "{round}: of {pushed} tasks the owner popped {popped:?}");
        for (index, &length) in self.lengths.iter().enumerate() {
            // Lengths after each push, then before each pop; the last pop finds nothing.
            let count = if index < *pushed { index + 1 } else { 2 * *pushed - index };
            assert!(length > 0 || count == 0, "{round}: the length is 0 with {count} tasks");
        }
        self.end();
    }

    fn one_thief(&mut self, thief: usize) {
        self.begin(Kind::OneThief, thief);
        let pushed = self.fill(usize::MAX);
        self.rob(thief, None);
        let (round, left) = (self.round, self.model.len());
        match self.promises.stealable {
            Stealable::All | Stealable::OldestOnly => assert!(left == 0, "{round}: {left} of {pushed} tasks are left"),
            // An owner may keep some tasks for itself.
            Stealable::Shared | Stealable::OnRequest => {
                assert!(left < pushed || pushed < 2, "{round}: of {pushed} tasks the thief gets none");
            }
            Stealable::AllButNewest | Stealable::OtherBlocks => {}
        }
        self.end();
    }

    fn several(&mut self, thief: usize) {
        for most in [2, usize::MAX] {
            if matches!(self.thieves[thief], Side::Several(_)) {
                self.begin(Kind::Several, thief);
                self.fill(usize::MAX);
                self.rob(thief, Some(most));
                self.end();
            }
        }
    }

    fn taken_back(&mut self, thief: usize) {
        self.begin(Kind::TakenBack, thief);
        self.fill(2);
        self.attempt(thief);
        self.drain();
        self.rob(thief, None);
        self.end();
    }

    fn in_turn(&mut self) {
        self.begin(Kind::InTurn, 0);
        self.fill(usize::MAX);
        let mut patience = self.patience(self.thieves.len());
        while !patience.is_over() && !self.model.is_empty() {
            for thief in 0..self.thieves.len() {
                let answer = self.attempt(thief);
                patience.follow(&answer, self.patience(self.thieves.len()));
                self.owner.poll();
            }
        }
        self.end();
    }

    fn at_once(&mut self) {
        self.begin(Kind::AtOnce, 0);
        let (count, pushed) = (self.thieves.len(), self.fill(usize::MAX));
        for _ in 0..self.patience(count).waits {
            for thief in 0..count {
                if self.loot[thief].is_empty() {
                    self.attempt(thief);
                }
            }
            self.owner.poll();
            if self.loot.iter().all(|loot| !loot.is_empty()) {
                break;
            }
        }
        let is_enough = match self.promises.stealable {
            Stealable::All => pushed >= count,
            // The owner may keep one.
            Stealable::Shared | Stealable::OldestOnly | Stealable::OnRequest => pushed > count,
            Stealable::AllButNewest | Stealable::OtherBlocks => false,
        };
        let without = self.loot.iter().position(Vec::is_empty);
        assert!(!is_enough || without.is_none(), "{}: thief {without:?} of {count} gets none of {pushed}", self.round);
        self.end();
    }

    fn handed_on(&mut self, thief: usize) {
        self.begin(Kind::HandedOn, thief);
        self.fill(usize::MAX);
        self.attempt(thief);
        self.owner.poll();
        let next = (thief + 1) % self.thieves.len();
        // Once for each other thief, since an attempt may look at only one of them.
        for _ in 1..self.thieves.len() {
            if self.loot[next].is_empty() {
                self.attempt(next);
            }
        }
        self.rob(thief, None);
        self.end();
    }

    fn begin(&mut self, kind: Kind, thief: usize) {
        self.round = Round { kind, thief, ..self.round };
        self.popped.clear();
        self.lengths.clear();
        self.loot.iter_mut().for_each(Vec::clear);
    }

    /// Pushes `most` tasks, fewer if the queue is full, a few if it grows or is too large to fill. Returns how many.
    fn fill(&mut self, most: usize) -> usize {
        let grows = self.promises.capacity == Capacity::Grows;
        // One more than twice the capacity, so that it grows if it can.
        let heap = self.capacity.saturating_mul(2).saturating_add(1).min(HEAP);
        let most = if grows || self.capacity > BRIM { most.min(heap) } else { most };
        // More than fits: the number and the length of blocks are rounded up to powers of two.
        let brim = self.capacity.max(4).saturating_mul(8);
        self.pushed = 0;
        while self.pushed < most {
            let task = task(self.pushed + 1);
            let answer = self.owner.push(task);
            let is_spare = answer.is_ok() && self.is_filled();
            if is_spare {
                // An owner that met a thief's claim when it last computed its room has room for one more.
                assert_eq!(self.promises.capacity, Capacity::Ring, "{}: the queue has too much room", self.round);
                assert_eq!(self.owner.pop(), Some(task), "{}: the newest task", self.round);
                break;
            }
            self.judge(|model| model.push(task, answer));
            if answer.is_err() {
                assert_eq!(self.owner.push(task), Err(Full(task)), "{}: the queue has room after all", self.round);
                break;
            }
            self.pushed += 1;
            assert!(grows || self.pushed <= brim, "{}: the queue never fills up", self.round);
            self.lengths.push(self.owner.len_hint());
            self.look();
        }
        self.pushed
    }

    /// Returns whether the queue holds as many tasks as a new one takes.
    fn is_filled(&self) -> bool {
        self.round.kind != Kind::Brim
            && self.expected.get(self.endings.len()).is_some_and(|new| self.pushed == new.pushed)
    }

    /// Checks that the thieves' hints miss no tasks.
    fn look(&self) {
        let told = |side: &Side<'_>| side.has_work_hint();
        let is_told = match self.promises.steals {
            // A thief need not see a task that is set aside for another.
            StealOrder::Unordered => self.thieves.is_empty() || self.thieves.iter().any(told),
            _ => self.thieves.iter().all(told),
        };
        assert!(self.model.is_empty() || is_told, "{}: a hint misses {} tasks", self.round, self.model.len());
    }

    fn judge(&mut self, answer: impl FnOnce(&mut Model<Task>) -> Result<(), Disagreement<Task>>) {
        let round = self.round;
        answer(&mut self.model).unwrap_or_else(|disagreement| panic!("{round}: {disagreement}"));
    }

    /// Makes one attempt at one task.
    fn attempt(&mut self, thief: usize) -> Steal<usize> {
        self.attempt_at(thief, None)
    }

    /// Makes one attempt at one task, or at several.
    fn attempt_at(&mut self, thief: usize, most: Option<usize>) -> Steal<usize> {
        self.look();
        if self.promises.steal_progress == Progress::WaitsForOwner {
            // The steal would wait for this thread.
            self.owner.poll();
        }
        let mut bag = Vec::new();
        let answer = self.thieves[thief].attempt(most, &mut bag);
        let (round, count) = (self.round, bag.len());
        assert_eq!(answer.task().unwrap_or(0), count, "{round}: the answer differs from the bag");
        assert!(most.is_none_or(|most| count <= most), "{round}: {count} tasks are more than {most:?}");
        if bag.is_empty() {
            self.judge(|model| model.steal(answer.map(|_| task(1))));
        }
        bag.into_iter().for_each(|task| self.take(thief, task));
        answer
    }

    fn take(&mut self, thief: usize, task: Task) {
        self.judge(|model| model.steal(Steal::Task(task)));
        self.loot[thief].push(task.id().get());
    }

    /// Makes attempts, each followed by a poll, until they yield nothing.
    fn rob(&mut self, thief: usize, most: Option<usize>) {
        let mut patience = self.patience(1);
        while !patience.is_over() {
            let answer = self.attempt_at(thief, most);
            patience.follow(&answer, self.patience(1));
            if self.model.is_empty() {
                // There is no task left to answer with.
                patience.waits = patience.waits.min(LOOKS);
            }
            self.owner.poll();
        }
        self.quiesce(thief);
    }

    fn quiesce(&mut self, thief: usize) {
        while let Some(task) = self.thieves[thief].thief().quiesce() {
            self.take(thief, task);
        }
    }

    /// The owner pops until it finds nothing.
    fn drain(&mut self) {
        loop {
            self.lengths.push(self.owner.len_hint());
            let popped = self.owner.pop();
            match popped {
                // Among tasks set aside for thieves, the newest need not come first.
                Some(task) if self.depends_on_owner() => self.judge(|model| model.steal(Steal::Task(task))),
                _ => self.judge(|model| model.pop(popped)),
            }
            let Some(task) = popped else { break };
            self.popped.push(task.id().get());
        }
    }

    /// All threads take the remaining tasks.
    fn empty(&mut self) {
        self.drain();
        if self.depends_on_owner() {
            for _ in 0..=self.thieves.len() {
                self.owner.poll();
                (0..self.thieves.len()).for_each(|thief| self.quiesce(thief));
                self.drain();
            }
        }
        let round = self.round;
        assert!(self.model.is_empty(), "{round}: {} tasks are lost", self.model.len());
        assert_eq!(self.owner.len_hint(), 0, "{round}: the length of an empty queue");
        let told = self.thieves.iter().position(Side::has_work_hint);
        assert!(told.is_none(), "{round}: thief {told:?} is told of work, but there is none");
    }

    /// Empties the queue and records the result of the round.
    fn end(&mut self) {
        let have_rivals = matches!(self.round.kind, Kind::InTurn | Kind::AtOnce | Kind::HandedOn);
        if have_rivals && self.depends_on_owner() {
            // While an owner pops, the time of its checks decides which thief it answers.
            (0..self.thieves.len()).for_each(|thief| self.rob(thief, None));
        }
        self.empty();
        let Self { round, pushed, .. } = *self;
        for loot in &self.loot {
            let is_in_order = match self.promises.steals {
                StealOrder::OldestFirst | StealOrder::OldestShared => loot.is_sorted(),
                StealOrder::NewestFirst => loot.is_sorted_by(|a, b| a > b),
                StealOrder::Unordered => true,
            };
            assert!(is_in_order, "{round}: a thief got its tasks in the wrong order: {loot:?}");
        }
        let (mut loot, mut popped, mut lengths) = (self.loot.clone(), self.popped.clone(), self.lengths.clone());
        // The length may include blocks that thieves emptied and did not pass, in the whole round or not at all.
        let lag = lengths.first().map_or(0, |&length| length - 1);
        lengths.iter_mut().for_each(|length| *length = length.saturating_sub(lag));
        let may_lag = matches!(self.promises.stealable, Stealable::OtherBlocks | Stealable::Shared);
        assert!(lag == 0 || may_lag, "{round}: the length is {} with one task", lag + 1);
        let is_timed = self.promises.answers_by_clock;
        // An owner may answer a few operations late; then it is the thief's rival.
        let is_rival = is_timed || self.depends_on_owner() && round.kind == Kind::TakenBack;
        if self.is_unordered() && (is_rival || have_rivals) {
            if is_rival || self.thieves.len() > 2 {
                loot.push(core::mem::take(&mut popped));
            }
            loot = [loot.concat()].into();
            loot[0].sort_unstable();
            lengths.clear();
        }
        self.endings.push(Ending { round, pushed, loot, popped, lengths });
    }
}
