//! filch's own protocols, together: fork, join, steal, leapfrog, sleep, wake.
//!
//! A worker here is a worker of the default pool reduced to its protocols. The components are those that ship:
//! [`SharedIndex`] and [`OwnerIndex`], [`Limits`], [`JobState`], [`Sleepers`] and [`Place`]; what calls them, in the
//! same order and under the same conditions, restates `pool/split.rs` and `wait.rs` of filch, whose slots and closures are
//! made for speed on one memory.
//!
//! What is checked: every task of a small tree runs once, its result reaches its joiner, nobody sleeps for ever, and a
//! task's memory is never used by two threads without an order between them.

use std::sync::{Arc, Mutex};

use filch::protocol::beat::{Clock, Due};
use filch::protocol::limits::Limits;
use filch::protocol::sleep::{ANY, Place, Sleepers, Wanted};
use filch::protocol::state::{JobState, Status};
use filch::protocol::termination::Counts;
use filch::protocol::ticks::Ticks;
use filch_memory::{Atomic, AtomicInt, Cell, Memory, Ordering};
use filch_queue::lace::index::{OwnerIndex, SharedIndex, StealIndex};

use super::queues::lock;
use crate::Program;
use crate::scenario::Checker;

/// Slots of a worker's stack: more than any tree here needs.
const CAPACITY: usize = 6;

/// Limits compare addresses.
fn address(slot: usize) -> usize {
    (slot + 1) * 64
}

/// A slot of a task stack.
struct Slot<M: Memory> {
    state: JobState<M>,
    /// The task, then its result.
    content: M::Cell<usize>,
}

/// What the others see of a worker.
struct Desk<M: Memory> {
    index: SharedIndex<M>,
    limits: Limits<M>,
    place: Place<M>,
    slots: Vec<Slot<M>>,
}

struct Team<M: Memory> {
    desks: Vec<Desk<M>>,
    sleepers: Sleepers<M>,
    closing: M::AtomicBool,
    waiting: Waiting,
    /// For each task, the numbers of its parts.
    tree: &'static [&'static [usize]],
    /// How often each task ran.
    ran: Mutex<Vec<usize>>,
}

/// What a worker does whose task is stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Leapfrogs, and sleeps when there is nothing to steal.
    Sleeps,
    /// Tries to leapfrog so many times, and then stays awake.
    Leaps(usize),
}

/// A worker, on its own thread.
struct Worker<M: Memory> {
    team: Arc<Team<M>>,
    me: usize,
    owner: OwnerIndex,
    /// Whether it has been woken and has found nothing yet.
    searching: bool,
}

impl<M: Checker> Worker<M> {
    fn team(workers: usize, waiting: Waiting, tree: &'static [&'static [usize]]) -> Vec<Self> {
        let mut owners = Vec::new();
        let desks = (0..workers).map(|_| {
            let (index, owner) = SharedIndex::new();
            owners.push(owner);
            let slot = |_| Slot { state: JobState::default(), content: Cell::new(usize::MAX) };
            Desk { index, limits: Limits::closed(), place: Place::default(), slots: (0..CAPACITY).map(slot).collect() }
        });
        let team = Arc::new(Team {
            desks: desks.collect(),
            sleepers: Sleepers::default(),
            closing: Atomic::new(false),
            waiting,
            tree,
            ran: Mutex::new(vec![0; tree.len()]),
        });
        let worker = |(me, owner)| Self { team: Arc::clone(&team), me, owner, searching: false };
        owners.into_iter().enumerate().map(worker).collect()
    }

    /// Runs a task on the stack from `head` up; the result is the number of tasks in its subtree.
    fn run(&mut self, task: usize, head: usize) -> usize {
        M::note(|| format!("runs task {task}"));
        lock(&self.team.ran)[task] += 1;
        let parts = self.team.tree[task];
        for (offset, &part) in parts.iter().enumerate() {
            self.push(part, head + offset);
        }
        (0..parts.len()).rev().map(|offset| self.join(head + offset)).sum::<usize>() + 1
    }

    fn push(&mut self, task: usize, head: usize) {
        let team = Arc::clone(&self.team);
        let desk = &team.desks[self.me];
        M::note(|| format!("forks task {task}"));
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        desk.slots[head].content.with_mut(|content| unsafe { *content = task });
        if desk.limits.admits_push(address(head)) {
            return;
        }
        let has_shared = if self.owner.is_all_stolen() {
            self.owner.publish_first(&desk.index, head as u32);
            true
        } else {
            self.owner.grow(&desk.index, head as u32 + 1) != 0
        };
        self.reopen(has_shared);
    }

    fn reopen(&self, has_shared: bool) {
        let desk = &self.team.desks[self.me];
        desk.limits.open(address(CAPACITY), address(self.owner.split() as usize));
        if self.team.sleepers.sleepers_after() {
            if has_shared {
                self.wake_for_stack();
            } else {
                desk.limits.stop_next_push();
            }
        }
    }

    fn wake_for_stack(&self) {
        let is_searched = self.team.sleepers.is_searched();
        let wants = |wanted| if wanted == ANY { !is_searched } else { wanted as usize == self.me };
        let _ = self.team.desks.iter().any(|desk| desk.place.would_help(wants) && desk.place.wake(&self.team.sleepers));
    }

    fn join(&mut self, head: usize) -> usize {
        let team = Arc::clone(&self.team);
        let desk = &team.desks[self.me];
        M::note(|| format!("joins slot {head}"));
        if desk.limits.admits_pop(address(head)) || self.take_back(head) {
            // SAFETY: as in `push`.
            let task = desk.slots[head].content.with(|content| unsafe { *content });
            return self.run(task, head);
        }
        self.wait_for(head);
        // SAFETY: as in `push`.
        let result = desk.slots[head].content.with(|content| unsafe { *content });
        let returned = desk.slots[head].state.status() == Status::Returned;
        desk.slots[head].state.reset();
        self.owner.set_all_stolen(&desk.index);
        desk.limits.close();
        if returned { self.run(result, head) } else { result }
    }

    /// The cold half of a pop; `false` if the task is stolen.
    fn take_back(&mut self, head: usize) -> bool {
        let team = Arc::clone(&self.team);
        let desk = &team.desks[self.me];
        if self.owner.is_all_stolen() {
            return false;
        }
        if head < self.owner.split() as usize && self.owner.shrink(&desk.index) {
            desk.limits.close();
            return false;
        }
        let has_shared = desk.limits.is_wanted() && self.owner.grow(&desk.index, head as u32) != 0;
        self.reopen(has_shared);
        true
    }

    /// Waits for the thief of the task at `head`, leapfrogging.
    fn wait_for(&mut self, head: usize) {
        let team = Arc::clone(&self.team);
        let desk = &team.desks[self.me];
        let state = &desk.slots[head].state;
        let mut leaps = 0;
        loop {
            let theft = match state.status() {
                Status::Done | Status::Panicked | Status::Returned => return,
                // Nothing is offered on the split deque.
                Status::Fresh | Status::Offered => {
                    M::spin_loop();
                    continue;
                }
                Status::Stolen(theft) => theft,
            };
            if team.waiting == Waiting::Leaps(leaps) {
                M::spin_loop();
                continue;
            }
            leaps += 1;
            if self.steal_and_run(theft.thief, head + 1, false) || team.waiting != Waiting::Sleeps {
                continue;
            }
            desk.place.announce(&team.sleepers, theft.thief as Wanted);
            self.ask(theft.thief);
            desk.place.settled();
            if team.desks[theft.thief].index.has_shared() || !state.announce_sleep() {
                desk.place.cancel(&team.sleepers);
                continue;
            }
            M::note(|| "sleeps on its task".into());
            desk.place.sleep();
        }
    }

    fn ask(&self, victim: usize) {
        let desk = &self.team.desks[victim];
        if !desk.index.is_all_stolen() && victim != self.me {
            desk.limits.request();
        }
    }

    fn steal_and_run(&mut self, victim: usize, head: usize, gives_back: bool) -> bool {
        let team = Arc::clone(&self.team);
        let desk = &team.desks[victim];
        M::note(|| format!("tries worker {victim}"));
        let index = loop {
            match desk.index.steal() {
                StealIndex::Index(index) => break index as usize,
                StealIndex::Retry => {}
                StealIndex::NothingShared => {
                    self.ask(victim);
                    return false;
                }
                StealIndex::AllStolen => return false,
            }
        };
        if self.end_search() {
            self.pass_on();
        }
        let slot = &desk.slots[index];
        slot.state.claim(self.me, head);
        let owner_sleeps = if gives_back {
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
            desk.place.wake(&team.sleepers);
        }
        true
    }

    /// An idle worker's life, until the team closes.
    fn live(&mut self) {
        let team = Arc::clone(&self.team);
        let (me, place) = (self.me, &team.desks[self.me].place);
        // Relaxed: the fences of the sleep protocol order it, as they would work.
        while !team.closing.load(Ordering::Relaxed) {
            let others = (0..team.desks.len()).filter(|&victim| victim != me);
            if others.clone().any(|victim| self.steal_and_run(victim, 0, false)) {
                continue;
            }
            self.end_search();
            place.announce(&team.sleepers, ANY);
            others.clone().for_each(|victim| self.ask(victim));
            place.settled();
            let sees_any = others.clone().any(|victim| team.desks[victim].index.has_shared());
            if team.closing.load(Ordering::Relaxed) || sees_any {
                place.cancel(&team.sleepers);
            } else {
                M::note(|| "sleeps".into());
                place.sleep();
            }
            self.searching = true;
        }
        if self.end_search() {
            self.pass_on();
        }
    }

    /// Ends the search, if it is one; returns whether it was.
    fn end_search(&mut self) -> bool {
        let was_searching = std::mem::take(&mut self.searching);
        if was_searching {
            self.team.sleepers.end_search();
        }
        was_searching
    }

    fn pass_on(&self) {
        if self.team.sleepers.sleepers_after() {
            self.wake_for_stack();
        }
    }

    fn close(&self) {
        M::note(|| "closes".into());
        self.team.closing.store(true, Ordering::Relaxed);
        self.team.sleepers.sleepers_after();
        for desk in &self.team.desks {
            desk.place.wake(&self.team.sleepers);
        }
    }
}

type Threads = Vec<(String, Box<dyn FnOnce()>)>;

/// What the workers other than the first do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Try to steal so many times.
    Try(usize),
    /// Steal once and give the loot back.
    GiveBack,
    /// Steal whatever there is, or sleep, until the root is done.
    Live,
}

/// Worker 0 runs the tree, whose root is task 0; the others help.
pub fn fork_join<M: Checker>(
    tree: &'static [&'static [usize]],
    workers: usize,
    waiting: Waiting,
    others: Others,
) -> Program {
    let mut team = Worker::<M>::team(workers, waiting, tree);
    let shared = Arc::clone(&team[0].team);
    let total = Arc::new(Mutex::new(0));
    let mut threads: Threads = Vec::new();
    for mut worker in team.drain(..).rev() {
        let (me, total) = (worker.me, Arc::clone(&total));
        let body = move || match (me, others) {
            (0, _) => {
                let result = worker.run(0, 0);
                *lock(&total) = result;
                worker.close();
            }
            (_, Others::Try(times)) => {
                for _ in 0..times {
                    worker.steal_and_run(0, 0, false);
                }
            }
            (_, Others::GiveBack) => {
                worker.steal_and_run(0, 0, true);
            }
            (_, Others::Live) => worker.live(),
        };
        threads.insert(0, (format!("worker {me}"), Box::new(body)));
    }
    let finally = Box::new(move || {
        let ran = lock(&shared.ran).clone();
        assert!(ran.iter().all(|&times| times == 1), "tasks ran this often: {ran:?}");
        assert_eq!(*lock(&total), tree.len(), "the root's result");
    });
    Program { threads, finally }
}

/// Worker 1 wants one task and sleeps until it gets it. Worker 0 forks and joins, as `+` and `-` say, and once the other
/// sleeps it forks again: this must wake the sleeper.
///
/// With `naps`, worker 1 does not look for work but goes to sleep so often: what it finds is of no account.
pub fn wake_up<M: Checker>(owner: &'static str, naps: Option<u32>) -> Program {
    const LEAVES: &[&[usize]] = &[&[] as &[usize]; CAPACITY + 1];
    let mut team = Worker::<M>::team(2, Waiting::Sleeps, LEAVES);
    let (mut thief, mut worker) = (team.pop().expect("two workers"), team.pop().expect("two workers"));
    // Odd while worker 1 is asleep or about to be; `SERVED` in the end.
    let phase: Arc<M::AtomicU32> = Arc::new(Atomic::new(0));
    let mine = Arc::clone(&phase);
    let own = move || {
        let mut head = 0;
        let fork = |worker: &mut Worker<M>, head: &mut usize| {
            worker.push(1, *head);
            *head += 1;
        };
        for act in owner.chars() {
            if act == '+' {
                fork(&mut worker, &mut head);
            } else {
                head -= 1;
                worker.join(head);
            }
        }
        let team = Arc::clone(&worker.team);
        let wait_while = |phase: u32| {
            while mine.load(Ordering::Acquire) == phase {
                M::spin_loop();
            }
        };
        loop {
            let now = mine.load(Ordering::Acquire);
            if now == SERVED {
                break;
            }
            // Asleep, and not about to be woken, which nobody but this worker does.
            if now % 2 == 1 && team.desks[1].place.would_help(|_| true) {
                M::note(|| "sees the other asleep".into());
                fork(&mut worker, &mut head);
            }
            wait_while(now);
        }
        while head > 0 {
            head -= 1;
            worker.join(head);
        }
    };
    let steal = move || {
        let team = Arc::clone(&thief.team);
        let place = &team.desks[1].place;
        let (mut sleeps, mut rounds) = (0, 0);
        while naps.map_or_else(|| !thief.steal_and_run(0, 0, false), |naps| rounds < naps) {
            rounds += 1;
            thief.end_search();
            place.announce(&team.sleepers, ANY);
            thief.ask(0);
            place.settled();
            // Once it is awake again.
            thief.searching = true;
            if team.desks[0].index.has_shared() {
                place.cancel(&team.sleepers);
                continue;
            }
            phase.store(2 * sleeps + 1, Ordering::Release);
            M::note(|| "sleeps".into());
            place.sleep();
            sleeps += 1;
            phase.store(2 * sleeps, Ordering::Release);
        }
        phase.store(SERVED, Ordering::Release);
    };
    Program {
        threads: vec![("worker 0".into(), Box::new(own)), ("worker 1".into(), Box::new(steal))],
        finally: Box::new(|| ()),
    }
}

const SERVED: u32 = u32::MAX;

/// Two workers pass pieces of work through a cell each, counting them; a third asks whether all is done.
pub fn termination<M: Checker>(looks: usize) -> Program {
    struct Shared<M: Memory> {
        counts: [Counts<M>; 2],
        /// Whether a piece is on its way to worker 1.
        passed: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> = Arc::new(Shared { counts: Default::default(), passed: Atomic::new(false) });
    shared.counts[0].created(1);
    let (first, second, third) = (Arc::clone(&shared), Arc::clone(&shared), Arc::clone(&shared));
    let finished: Arc<[Mutex<bool>; 3]> = Arc::default();
    let (a, b, c) = (Arc::clone(&finished), Arc::clone(&finished), finished);
    let root = move || {
        M::note(|| "splits the root".into());
        first.counts[0].created(1);
        first.passed.store(true, Ordering::Release);
        *lock(&a[0]) = true;
        first.counts[0].finished();
    };
    let other = move || {
        // Two looks for the piece, then it stays unfinished.
        for _ in 0..2 {
            if second.passed.load(Ordering::Acquire) {
                second.counts[1].created(1);
                M::note(|| "has got a piece, and splits it".into());
                *lock(&b[1]) = true;
                second.counts[1].finished();
                *lock(&b[2]) = true;
                second.counts[1].finished();
                break;
            }
        }
    };
    let reader = move || {
        for _ in 0..looks {
            if Counts::all_done(&third.counts) {
                let undone = (0..3).filter(|&piece| !*lock(&c[piece])).count();
                assert_eq!(undone, 0, "found all done with {undone} pieces left");
            }
        }
    };
    Program {
        threads: vec![
            ("worker 0".into(), Box::new(root)),
            ("worker 1".into(), Box::new(other)),
            ("reader".into(), Box::new(reader)),
        ],
        finally: Box::new(|| ()),
    }
}

/// Worker 0 has a task that worker 1 may steal; each sets out and comes home. A third asks whether all are at home.
pub fn all_home<M: Checker>(looks: usize) -> Program {
    struct Shared<M: Memory> {
        counts: [Counts<M>; 2],
        /// Worker 0's queue: whether the task is in it.
        task: M::AtomicBool,
        /// Whether it has been run.
        done: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> =
        Arc::new(Shared { counts: Default::default(), task: Atomic::new(true), done: Atomic::new(false) });
    shared.counts[0].sets_out();
    let (first, second, third) = (Arc::clone(&shared), Arc::clone(&shared), shared);
    // Relaxed, as all that queues that return a task twice can be relied on for.
    let takes =
        |shared: &Shared<M>| shared.task.compare_exchange(true, false, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let owner = move || {
        if takes(&first) {
            M::note(|| "runs the task".into());
            first.done.store(true, Ordering::Relaxed);
        }
        first.counts[0].comes_home();
    };
    let thief = move || {
        second.counts[1].sets_out();
        if takes(&second) {
            M::note(|| "runs the task".into());
            second.done.store(true, Ordering::Relaxed);
        }
        second.counts[1].comes_home();
    };
    let reader = move || {
        for _ in 0..looks {
            if Counts::all_home(&third.counts) {
                // Relaxed: a worker comes home after what it has done.
                assert!(third.done.load(Ordering::Relaxed), "found all at home before the task was done");
            }
        }
    };
    Program {
        threads: vec![
            ("worker 0".into(), Box::new(owner)),
            ("worker 1".into(), Box::new(thief)),
            ("reader".into(), Box::new(reader)),
        ],
        finally: Box::new(|| ()),
    }
}

/// So many jobs are posted to a worker that sleeps whenever it has none, as it does when one thing more ends that a latch counts. If it
/// sleeps through one, it sleeps for ever.
pub fn posted<M: Checker>(jobs: usize) -> Program {
    struct Shared<M: Checker> {
        mail: M::AtomicUsize,
        sleepers: Sleepers<M>,
        place: Place<M>,
    }
    let shared: Arc<Shared<M>> =
        Arc::new(Shared { mail: Atomic::new(0), sleepers: Sleepers::default(), place: Place::default() });
    let (worker, poster) = (Arc::clone(&shared), shared);
    let work = move || {
        let Shared { mail, sleepers, place } = &*worker;
        let mut run = 0;
        while run < jobs {
            let found = mail.load(Ordering::Acquire);
            if found > run {
                run = found;
                continue;
            }
            place.announce(sleepers, 0);
            place.settled();
            if mail.load(Ordering::Acquire) > run {
                place.cancel(sleepers);
                continue;
            }
            M::note(|| "sleeps".into());
            place.sleep();
        }
    };
    let post = move || {
        for _ in 0..jobs {
            M::note(|| "posts a job".into());
            poster.mail.fetch_add(1, Ordering::Release);
            poster.sleepers.sleepers_after();
            poster.place.wake(&poster.sleepers);
        }
    };
    Program {
        threads: vec![("worker".into(), Box::new(work)), ("poster".into(), Box::new(post))],
        finally: Box::new(|| ()),
    }
}

/// A worker takes so many beats, waits for each and once more, and closes; the clock sleeps when it may. If it sleeps through
/// a beat that was taken, the worker waits for ever.
pub fn beat<M: Checker>(beats: usize) -> Program {
    let due = Arc::new(Due::<M>::new(true));
    let clock = Arc::new(Clock::new([Arc::clone(&due)]));
    let ticking = Arc::clone(&clock);
    let work = move || {
        let wait = || {
            while !due.is_raised() {
                M::spin_loop();
            }
        };
        for _ in 0..beats {
            wait();
            M::note(|| "takes a beat".into());
            due.lower();
            clock.taken();
        }
        wait();
        M::note(|| "closes".into());
        clock.close();
    };
    let tick = move || ticking.run(|| M::note(|| "ticks".into()));
    Program {
        threads: vec![("worker".into(), Box::new(work)), ("clock".into(), Box::new(tick))],
        finally: Box::new(|| ()),
    }
}

/// A thief wants a tick so many times in vain, then makes a request, and wants another, as if it went to sleep; the owner answers on
/// ticks only. If the last tick comes before the request can be seen, the thief waits for ever.
pub fn ticks<M: Checker>(in_vain: usize) -> Program {
    struct Shared<M: Checker> {
        ticks: Ticks<M>,
        request: M::AtomicBool,
        answer: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> =
        Arc::new(Shared { ticks: Ticks::new(1), request: Atomic::new(false), answer: Atomic::new(false) });
    let (thief, owner, ticker) = (Arc::clone(&shared), Arc::clone(&shared), shared);
    let steal = move || {
        for _ in 0..in_vain {
            thief.ticks.want();
        }
        M::note(|| "asks".into());
        // Relaxed, as the fence orders it.
        thief.request.store(true, Ordering::Relaxed);
        M::fence(Ordering::SeqCst);
        thief.ticks.want();
        while !thief.answer.load(Ordering::Relaxed) {
            M::spin_loop();
        }
        thief.ticks.clock().close();
    };
    let own = move || {
        loop {
            if owner.ticks.is_due(0) == Some(true) && owner.request.load(Ordering::Relaxed) {
                M::note(|| "answers".into());
                owner.answer.store(true, Ordering::Relaxed);
                return;
            }
            M::spin_loop();
        }
    };
    let tick = move || {
        ticker.ticks.clock().run(|| {
            M::note(|| "ticks".into());
            ticker.ticks.make();
        });
    };
    Program {
        threads: vec![
            ("thief".into(), Box::new(steal)),
            ("owner".into(), Box::new(own)),
            ("ticker".into(), Box::new(tick)),
        ],
        finally: Box::new(|| ()),
    }
}
