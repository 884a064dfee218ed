//! A worker reduced to its protocols: it forks, joins, steals, runs its loot, and reads its mail.
//!
//! Invariant: a worker's stack is its own from `head` up; only the thread that has a task uses its content.

use std::cell::{Cell as Plain, RefCell};
use std::sync::{Arc, Mutex};

use filch::inside::protocol::grain::{self, Time};
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::sharer::{Sharer, Sharing, Wakes};
use filch::inside::protocol::sleep::{ANY, Dormitory, Sleepers, Wanted};
use filch::inside::protocol::split;
use filch::inside::protocol::state::{JobState, Settled, Theft};
use filch::inside::protocol::waiting::{Joiner, Searcher, Sleeper, await_job, search};
use filch_memory::{Atomic, Cell, Memory, Ordering};
use filch_queue::Amount;
use filch_queue::lace::index::{Moves, SharedIndex, StealIndex};

use super::patience::{Awake, Rounds};
use crate::scenario::Checker;
use crate::scenarios::queues::lock;

/// The slots of a worker's stack: more than any tree here needs.
pub(super) const CAPACITY: usize = 6;
/// Limits compare addresses.
pub(super) const SLOT: usize = 64;
pub(super) const BOTTOM: usize = 64;

pub(super) fn address(slot: usize) -> usize {
    BOTTOM + slot * SLOT
}

/// A slot of a task stack.
pub(super) struct Slot<M: Memory> {
    pub(super) state: JobState<M>,
    /// The task, then its result.
    pub(super) content: M::Cell<usize>,
}

/// The part of a worker that others see.
pub(super) struct Desk<M: Memory> {
    pub(super) index: SharedIndex<M>,
    pub(super) limits: Limits<M>,
    pub(super) slots: Vec<Slot<M>>,
    /// The number of jobs posted to the worker.
    pub(super) mail: M::AtomicUsize,
}

pub(super) struct Team<M: Memory> {
    pub(super) desks: Vec<Desk<M>>,
    pub(super) grain: grain::Params,
    pub(super) dormitory: Dormitory<M>,
    pub(super) closing: M::AtomicBool,
    pub(super) waiting: Waiting,
    /// Per task, the numbers of its parts.
    pub(super) tree: &'static [&'static [usize]],
    /// How often each task ran.
    pub(super) ran: Mutex<Vec<usize>>,
}

/// What a worker does when its task is stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Leapfrogs, and sleeps when there is nothing to steal.
    Sleeps,
    /// Tries to leapfrog this many times, and then stays awake.
    Leaps(usize),
}

/// A worker, on its own thread.
pub(super) struct Worker<M: Memory> {
    pub(super) team: Arc<Team<M>>,
    pub(super) me: usize,
    pub(super) owner: RefCell<split::Owner>,
    /// The number of posted jobs that the worker has run.
    pub(super) read: Plain<usize>,
    /// The number of rounds without a find for which an idle worker stays awake.
    pub(super) patience: u32,
    /// Whether the worker gives back what it steals.
    pub(super) gives_back: bool,
}

impl<M: Checker> Sleeper for Worker<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        &self.team.dormitory
    }

    fn index(&self) -> usize {
        self.me
    }

    fn park(&self) {
        M::note(|| "sleeps".into());
    }
}

impl<M: Checker> Sharer for Worker<M> {
    type Memory = M;

    fn sleepers(&self) -> &Sleepers<M> {
        self.dormitory().sleepers()
    }

    fn workers(&self) -> usize {
        self.dormitory().len()
    }

    /// Wakes them at once: it is the last act of each turn here.
    fn wake_after(&self, wakes: Wakes) {
        wakes.wake(self);
    }

    fn has_aside(&self) -> bool {
        false
    }

    /// Returns 0: nothing takes any time.
    fn now(&self) -> Time {
        0
    }

    fn grain(&self) -> grain::Params {
        self.team.grain
    }
}

/// How owners share their forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    moves: Moves,
    sharing: Sharing,
    pub(super) grain: grain::Params,
}

/// As figure 4 of Lace's paper prints it.
pub const AS_PRINTED: Policy = Policy {
    moves: Moves::HalfStores,
    sharing: Sharing::OnRequest(Amount::Half),
    // Nobody is to look at it.
    grain: COARSE,
};

impl From<grain::Params> for Policy {
    fn from(grain: grain::Params) -> Self {
        Self { moves: Moves::default(), sharing: Sharing::ByGrain, grain }
    }
}

/// The parameters of owners that share every fork.
pub const COARSE: grain::Params = grain::Params { window: u32::MAX, doubt: u32::MAX, fine: 0, patience: 0 };
/// The parameters of owners that share every fork until the second join, and again after a request.
pub const FICKLE: grain::Params = grain::Params { window: 1, doubt: 1, fine: 0, patience: 0 };

impl<M: Checker> Worker<M> {
    pub(super) fn team(
        workers: usize,
        waiting: Waiting,
        tree: &'static [&'static [usize]],
        policy: impl Into<Policy>,
    ) -> Vec<Self> {
        let Policy { moves, sharing, grain } = policy.into();
        let mut owners = Vec::new();
        let desks = (0..workers).map(|_| {
            let (index, owner) = split::Owner::new(moves, sharing);
            owners.push(owner);
            let slot = |_| Slot { state: JobState::default(), content: Cell::new(usize::MAX) };
            let slots = (0..CAPACITY).map(slot).collect();
            Desk { index, limits: Limits::closed(), slots, mail: Atomic::new(0) }
        });
        let team = Arc::new(Team {
            desks: desks.collect(),
            grain,
            dormitory: Dormitory::new(workers),
            closing: Atomic::new(false),
            waiting,
            tree,
            ran: Mutex::new(vec![0; tree.len()]),
        });
        let worker = |(me, owner)| Self {
            team: Arc::clone(&team),
            me,
            owner: RefCell::new(owner),
            read: Plain::new(0),
            patience: 0,
            gives_back: false,
        };
        owners.into_iter().enumerate().map(worker).collect()
    }

    pub(super) fn desk(&self) -> &Desk<M> {
        &self.team.desks[self.me]
    }

    pub(super) fn stack(&self) -> split::Stack<'_, M> {
        let Desk { index, limits, .. } = self.desk();
        split::Stack { shared: index, limits, bottom: BOTTOM, slot_size: SLOT, capacity: CAPACITY }
    }

    pub(super) fn others(&self) -> impl Iterator<Item = usize> + Clone + use<M> {
        let me = self.me;
        (0..self.team.desks.len()).filter(move |&victim| victim != me)
    }

    /// Begins to run something on an empty stack.
    pub(super) fn begin(&self) {
        self.owner.borrow_mut().begin(&self.stack(), self);
    }

    /// Runs a task on the stack from `head` up, and returns the number of tasks in its subtree.
    pub(super) fn run(&self, task: usize, head: usize) -> usize {
        M::note(|| format!("runs task {task}"));
        lock(&self.team.ran)[task] += 1;
        let parts = self.team.tree[task];
        for (offset, &part) in parts.iter().enumerate() {
            self.push(part, head + offset);
        }
        (0..parts.len()).rev().map(|offset| self.join(head + offset)).sum::<usize>() + 1
    }

    pub(super) fn push(&self, task: usize, head: usize) {
        M::note(|| format!("forks task {task}"));
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        self.desk().slots[head].content.with_mut(|content| unsafe { *content = task });
        if !self.desk().limits.admits_push(address(head)) {
            self.owner.borrow_mut().pushed(&self.stack(), self, head);
        }
    }

    pub(super) fn join(&self, head: usize) -> usize {
        let slot = &self.desk().slots[head];
        M::note(|| format!("joins slot {head}"));
        // SAFETY: as in `push`.
        let content = || slot.content.with(|content| unsafe { *content });
        if self.desk().limits.admits_pop(address(head)) || self.owner.borrow_mut().take_back(&self.stack(), self, head)
        {
            return self.run(content(), head);
        }
        let joining = Joining { worker: self, head: head + 1, leaps: Plain::new(0) };
        let settled = joining.wait(&slot.state);
        let result = content();
        slot.state.reset();
        self.owner.borrow_mut().joined(&self.stack());
        if settled == Settled::Unrun { self.run(result, head) } else { result }
    }

    pub(super) fn ask(&self, victim: usize) {
        let desk = &self.team.desks[victim];
        if !desk.index.is_all_stolen() && victim != self.me {
            desk.limits.request(|| 0);
        }
    }

    /// Wins a slot of a worker, or asks the worker for more.
    pub(super) fn steal(&self, victim: usize) -> Option<(usize, usize)> {
        let desk = &self.team.desks[victim];
        M::note(|| format!("tries worker {victim}"));
        loop {
            match desk.index.steal() {
                StealIndex::Index(index) => return Some((victim, index as usize)),
                StealIndex::Retry => {}
                StealIndex::NothingShared => {
                    self.ask(victim);
                    return None;
                }
                StealIndex::AllStolen => return None,
            }
        }
    }

    /// Runs a won task on the stack from `head` up, or gives it back.
    pub(super) fn run_stolen(&self, (victim, index): (usize, usize), head: usize) {
        let slot = &self.team.desks[victim].slots[index];
        slot.state.claim(self.me, head);
        let owner_sleeps = if self.gives_back {
            slot.state.give_back()
        } else {
            // SAFETY: as in `push`.
            let task = slot.content.with(|content| unsafe { *content });
            let result = self.run(task, head);
            // SAFETY: as in `push`.
            slot.content.with_mut(|content| unsafe { *content = result });
            slot.state.finish(false)
        };
        M::note(|| format!("has settled slot {index} of worker {victim}"));
        if owner_sleeps {
            self.dormitory().place(victim).wake(self.dormitory().sleepers());
        }
    }

    pub(super) fn steal_and_run(&self, victim: usize, head: usize) -> bool {
        let found = self.steal(victim);
        found.inspect(|&found| self.run_stolen(found, head)).is_some()
    }

    /// Runs the jobs posted to this worker.
    pub(super) fn read_mail(&self) -> bool {
        let posted = self.desk().mail.load(Ordering::Acquire);
        posted > self.read.replace(posted)
    }

    pub(super) fn has_mail(&self) -> bool {
        self.desk().mail.load(Ordering::Acquire) > self.read.get()
    }

    /// Lives as an idle worker until the team closes.
    pub(super) fn live(&self) {
        // Relaxed: the fences of the sleep protocol order it, as they would work.
        search(self, ANY, &|| self.team.closing.load(Ordering::Relaxed));
    }

    pub(super) fn close(&self) {
        M::note(|| "closes".into());
        self.team.closing.store(true, Ordering::Relaxed);
        self.dormitory().notify_all();
    }
}

impl<M: Checker> Searcher for Worker<M> {
    type Find = (usize, usize);
    type Backoff = Rounds<M>;

    fn backoff(&self) -> Rounds<M> {
        Rounds::new(self.patience)
    }

    fn find(&self) -> Option<(usize, usize)> {
        self.read_mail();
        self.others().find_map(|victim| self.steal(victim))
    }

    fn leaves_more(&self, _: &(usize, usize)) -> bool {
        true
    }

    fn leaves_many(&self, &(victim, _): &(usize, usize)) -> bool {
        self.team.desks[victim].index.has_shared()
    }

    fn run(&self, find: (usize, usize)) {
        self.begin();
        self.run_stolen(find, 0);
    }

    fn share(&self) {}

    fn ask(&self) {
        self.others().for_each(|victim| self.ask(victim));
    }

    fn sees_any(&self) -> bool {
        self.has_mail() || self.others().any(|victim| self.team.desks[victim].index.has_shared())
    }
}

/// A worker whose task is stolen.
pub(super) struct Joining<'w, M: Memory> {
    pub(super) worker: &'w Worker<M>,
    /// Tasks that it runs meanwhile use the stack from here up.
    pub(super) head: usize,
    pub(super) leaps: Plain<usize>,
}

impl<M: Checker> Joining<'_, M> {
    pub(super) fn wait(&self, state: &JobState<M>) -> Settled {
        wait_as(self, state, |find| self.run(find))
    }

    pub(super) fn run(&self, find: Option<(usize, usize)>) {
        if let Some(find) = find {
            self.worker.run_stolen(find, self.head);
        }
    }
}

/// Waits for a job, as a worker does in the library.
pub(super) fn wait_as<J: Joiner>(joiner: &J, state: &JobState<J::Memory>, run: impl Fn(J::Find)) -> Settled {
    loop {
        match await_job(joiner, state) {
            Ok(settled) => return settled,
            Err(find) => run(find),
        }
    }
}

impl<M: Checker> Sleeper for Joining<'_, M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        self.worker.dormitory()
    }

    fn index(&self) -> usize {
        self.worker.me
    }

    fn park(&self) {
        M::note(|| "sleeps on its task".into());
    }
}

impl<M: Checker> Joiner for Joining<'_, M> {
    /// `None`: nothing, but it looks again at once; or its mail, which it has read.
    type Find = Option<(usize, usize)>;
    type Backoff = Awake<M>;

    fn backoff(&self) -> Awake<M> {
        Awake::new(self.worker.team.waiting != Waiting::Sleeps)
    }

    fn leap(&self, _: &JobState<M>, theft: Theft) -> Option<Self::Find> {
        if self.worker.team.waiting == Waiting::Leaps(self.leaps.get()) {
            return None;
        }
        self.leaps.set(self.leaps.get() + 1);
        let found = self.worker.steal(theft.thief);
        // After a failure, do not wait while leaps are left.
        (found.is_some() || self.worker.team.waiting != Waiting::Sleeps).then_some(found)
    }

    fn mail(&self) -> Option<Self::Find> {
        self.worker.read_mail().then_some(None)
    }

    fn wanted(&self, theft: Theft) -> Wanted {
        theft.thief as Wanted
    }

    fn ask(&self, theft: Theft) {
        self.worker.ask(theft.thief);
    }

    fn sees_any(&self, theft: Theft) -> bool {
        self.worker.has_mail() || self.worker.team.desks[theft.thief].index.has_shared()
    }
}
