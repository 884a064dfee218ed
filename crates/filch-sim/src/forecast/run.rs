//! One run of a recorded computation in simulated time.
//!
//! A worker that runs a strand acts again when the strand ends. One that has nothing to run looks for a task at a
//! random victim, again and again, and sleeps when its patience has ended. Where there is nothing to find, it rests,
//! and acts when a task appears.
//!
//! Invariant: `found` is the number of tasks and jobs in all deques, `looking` that of workers that look, and `resting`
//! has those that rest. A worker has at most one event to come, the one whose number it knows.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use super::graph::{Graph, Op};
use super::{Machine, Outcome, Spread};
use crate::chance::another;
use crate::lace::{Waiting, descendant};

/// What a deque holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// A fork's second branch: its place in the table of tasks.
    Branch(usize),
    Job(u32),
}

/// A fork that is not joined.
#[derive(Clone, Copy, Debug)]
struct Task {
    second: u32,
    after: u32,
    owner: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Its thief, and how many activities that had when it stole it: later ones are descendants of it.
    Stolen {
        thief: usize,
        base: usize,
    },
    Done,
}

impl Task {
    /// Its thief, and what that had before, if a thief has it.
    fn theft(&self) -> Option<(usize, usize)> {
        match self.state {
            State::Stolen { thief, base } => Some((thief, base)),
            State::Ready | State::Done => None,
        }
    }
}

/// A part of the computation on a worker's stack.
#[derive(Debug)]
struct Activity {
    at: u32,
    /// Its forks that are not joined.
    open: Vec<usize>,
    /// What it is, unless it is the whole computation.
    item: Option<Item>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Runs,
    /// Looks for a task, or waits until one appears, since it began to.
    Looks,
    Rests,
    /// Has asked this worker for a task.
    Asks(usize),
    /// Has been given this.
    Begins(Item),
}

#[derive(Debug, Default)]
struct Worker {
    stack: Vec<Activity>,
    deque: VecDeque<Item>,
    mode: Mode,
    /// When it last began to look for a task.
    since: u64,
    /// The event to come.
    event: u64,
    /// Whether its last attempt was at the thief of the task that it waits for.
    was_at_thief: bool,
    asked_by: Option<usize>,
    /// When it last looked for somebody to give a task to.
    dealt: u64,
}

pub(super) struct Run<'g> {
    graph: &'g Graph,
    machine: Machine,
    rng: fastrand::Rng,
    now: u64,
    /// When, the number of the event, and whose it is.
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    next: u64,
    workers: Vec<Worker>,
    tasks: Vec<Task>,
    /// Places of the table that are free.
    free: Vec<usize>,
    is_done: Vec<bool>,
    /// The jobs of each scope that have not ended.
    left: Vec<u32>,
    /// The computation and its jobs, as far as they have not ended.
    unfinished: usize,
    found: usize,
    looking: usize,
    /// Since when, and who.
    resting: BTreeSet<(u64, usize)>,
    thefts: u64,
}

impl<'g> Run<'g> {
    pub(super) fn new(graph: &'g Graph, machine: Machine, seed: u64) -> Self {
        Self {
            graph,
            machine,
            rng: fastrand::Rng::with_seed(seed),
            now: 0,
            events: BinaryHeap::new(),
            next: 0,
            workers: std::iter::repeat_with(Worker::default).take(machine.workers).collect(),
            tasks: Vec::new(),
            free: Vec::new(),
            is_done: vec![false; graph.jobs.len()],
            left: graph.scopes.clone(),
            unfinished: 1 + graph.jobs.len(),
            found: 0,
            looking: 0,
            resting: BTreeSet::new(),
            thefts: 0,
        }
    }

    /// Runs the computation.
    pub(super) fn finish(mut self) -> Outcome {
        for me in 1..self.workers.len() {
            self.set(me, Mode::Rests);
        }
        self.workers[0].stack.push(Activity { at: 0, open: Vec::new(), item: None });
        self.act_after(0, 0);
        let graph = self.graph;
        for (job, _) in (0..).zip(&graph.jobs).filter(|(_, job)| !job.is_spawned) {
            self.push(0, Item::Job(job));
        }
        while self.unfinished > 0 {
            let Reverse((time, event, me)) = self.events.pop().expect("somebody runs until all is done");
            if self.workers[me].event == event {
                self.now = time;
                self.act(me);
            }
        }
        Outcome { time: self.now, thefts: self.thefts }
    }

    /// Has a worker act after this time, and not before.
    fn act_after(&mut self, me: usize, time: u64) {
        self.next += 1;
        self.workers[me].event = self.next;
        self.events.push(Reverse((self.now + time, self.next, me)));
    }

    fn set(&mut self, me: usize, mode: Mode) {
        let worker = &mut self.workers[me];
        match std::mem::replace(&mut worker.mode, mode) {
            Mode::Looks => self.looking -= 1,
            Mode::Rests => _ = self.resting.remove(&(worker.since, me)),
            _ => {}
        }
        match mode {
            Mode::Looks => self.looking += 1,
            Mode::Rests => _ = self.resting.insert((worker.since, me)),
            _ => {}
        }
    }

    fn act(&mut self, me: usize) {
        match self.workers[me].mode {
            Mode::Begins(item) => self.begin(me, item),
            Mode::Looks => self.look(me),
            Mode::Runs | Mode::Rests | Mode::Asks(_) => self.run(me),
        }
    }

    fn begin(&mut self, me: usize, item: Item) {
        let at = match item {
            Item::Branch(task) => self.tasks[task].second,
            Item::Job(job) => self.graph.jobs[job as usize].body,
        };
        self.workers[me].stack.push(Activity { at, open: Vec::new(), item: Some(item) });
        self.set(me, Mode::Runs);
        self.run(me);
    }

    /// Runs the newest activity until something takes time.
    fn run(&mut self, me: usize) {
        while let Some(activity) = self.workers[me].stack.last_mut() {
            let at = activity.at;
            activity.at += 1;
            match self.graph.ops[at as usize] {
                Op::Strand(length) => return self.act_after(me, length),
                Op::Fork { second, after } => {
                    let task = Task { second, after, owner: me, state: State::Ready };
                    let place = self.free.pop().unwrap_or(self.tasks.len());
                    if place == self.tasks.len() {
                        self.tasks.push(task);
                    } else {
                        self.tasks[place] = task;
                    }
                    activity.open.push(place);
                    self.fork(me, Item::Branch(place));
                }
                Op::Second => {
                    let task = *activity.open.last().expect("an open fork");
                    self.share(me);
                    match self.tasks[task].state {
                        State::Ready => self.take(me, Item::Branch(task)),
                        State::Stolen { .. } => return self.wait(me),
                        State::Done => {
                            self.newest(me).at = self.tasks[task].after;
                            self.newest(me).open.pop();
                            self.free.push(task);
                        }
                    }
                }
                Op::Join => match activity.open.pop() {
                    Some(task) => self.free.push(task),
                    None => self.end(me),
                },
                Op::Spawn(job) => self.fork(me, Item::Job(job)),
                Op::Skip(to) => activity.at = to,
                Op::Scope(scope) if self.left[scope as usize] > 0 => return self.wait(me),
                Op::Await(job) if !self.is_done[job as usize] => return self.wait(me),
                Op::Scope(_) | Op::Await(_) | Op::Region(_) => {}
                Op::End => self.end(me),
            }
        }
        self.start_to_look(me);
    }

    fn newest(&mut self, me: usize) -> &mut Activity {
        self.workers[me].stack.last_mut().expect("an activity")
    }

    fn fork(&mut self, me: usize, item: Item) {
        self.push(me, item);
        self.share(me);
    }

    /// The newest activity has ended.
    fn end(&mut self, me: usize) {
        match self.workers[me].stack.pop().expect("an activity").item {
            Some(Item::Branch(task)) => {
                self.tasks[task].state = State::Done;
                self.go_on(self.tasks[task].owner);
            }
            Some(Item::Job(job)) => {
                self.is_done[job as usize] = true;
                self.unfinished -= 1;
                if let Some(scope) = self.graph.jobs[job as usize].scope {
                    self.left[scope as usize] -= 1;
                }
                (0..self.workers.len()).for_each(|other| self.go_on(other));
            }
            None => self.unfinished -= 1,
        }
    }

    /// The operation before the current place has to wait.
    fn wait(&mut self, me: usize) {
        self.newest(me).at -= 1;
        self.start_to_look(me);
    }

    fn start_to_look(&mut self, me: usize) {
        self.workers[me].since = self.now;
        self.set(me, Mode::Looks);
        self.look(me);
    }

    /// What the worker waits for, if it waits.
    fn awaited(&self, me: usize) -> Option<Op> {
        let worker = &self.workers[me];
        (worker.mode != Mode::Runs).then_some(())?;
        Some(self.graph.ops[worker.stack.last()?.at as usize])
    }

    /// Whether what the worker waits for has come.
    fn may_go_on(&self, me: usize) -> bool {
        match self.awaited(me) {
            Some(Op::Second) => self.thief(me).is_none(),
            Some(Op::Scope(scope)) => self.left[scope as usize] == 0,
            Some(Op::Await(job)) => self.is_done[job as usize],
            _ => false,
        }
    }

    /// The thief of the newest fork's second branch, and what the thief had before.
    fn thief(&self, me: usize) -> Option<(usize, usize)> {
        self.tasks[*self.workers[me].stack.last()?.open.last()?].theft()
    }

    /// Has a worker go on, if it waits for what has just come.
    fn go_on(&mut self, me: usize) {
        let mode = self.workers[me].mode;
        if matches!(mode, Mode::Runs | Mode::Begins(_)) || !self.may_go_on(me) {
            return;
        }
        if let Mode::Asks(victim) = mode {
            self.workers[victim].asked_by = None;
        }
        let wake = if mode == Mode::Rests && self.is_asleep(me) { self.machine.costs.wake } else { 0 };
        self.set(me, Mode::Runs);
        self.act_after(me, wake);
    }

    /// Looks for something to run, once.
    fn look(&mut self, me: usize) {
        if self.may_go_on(me) {
            self.set(me, Mode::Runs);
            return self.run(me);
        }
        if let Some(item) = self.own_job(me) {
            self.take(me, item);
            return self.begin(me, item);
        }
        self.share(me);
        if self.found == 0 || self.is_asleep(me) {
            return self.set(me, Mode::Rests);
        }
        let costs = self.machine.costs;
        match self.machine.spread {
            Spread::Steal(waiting) => {
                let victim = self.victim(me, waiting);
                if let Some(&item) = victim.and_then(|victim| self.workers[victim].deque.front()) {
                    return self.give(victim.expect("a victim"), me, item);
                }
            }
            Spread::Ask => {
                let victim = self.random(me);
                let is_free = |worker: &Worker| !worker.deque.is_empty() && worker.asked_by.is_none();
                if let Some(victim) = victim.filter(|&victim| is_free(&self.workers[victim])) {
                    self.workers[victim].asked_by = Some(me);
                    self.set(me, Mode::Asks(victim));
                    // Whoever does not run a strand answers at once.
                    if self.workers[victim].mode != Mode::Runs {
                        self.share(victim);
                    }
                    return;
                }
            }
            Spread::Deal { interval } if self.workers[me].deque.is_empty() => {
                // A giver finds it.
                return self.act_after(me, interval.max(costs.patience) + 1);
            }
            // It goes on to deal while it waits.
            Spread::Deal { interval } => return self.act_after(me, interval.max(1)),
        }
        self.act_after(me, costs.look.max(1));
    }

    /// A worker without a task, or that waits for jobs, runs its own newest job.
    fn own_job(&self, me: usize) -> Option<Item> {
        let newest = *self.workers[me].deque.back()?;
        let may = matches!(self.awaited(me), None | Some(Op::Scope(_) | Op::Await(_)));
        (may && matches!(newest, Item::Job(_))).then_some(newest)
    }

    fn is_asleep(&self, me: usize) -> bool {
        self.now > self.workers[me].since + self.machine.costs.patience
    }

    /// Returns whom to steal from.
    fn victim(&mut self, me: usize, waiting: Waiting) -> Option<usize> {
        let Some((thief, base)) = self.thief(me).filter(|_| self.awaited(me) == Some(Op::Second)) else {
            return self.random(me);
        };
        match waiting {
            Waiting::Leapfrog => Some(thief),
            Waiting::Transitive => {
                let has_task = |worker: usize| !self.workers[worker].deque.is_empty();
                let thefts = |worker: usize, base: usize| {
                    let tasks = self.workers[worker].stack.iter().skip(base).flat_map(|activity| &activity.open);
                    tasks.filter_map(|&task| self.tasks[task].theft())
                };
                descendant(self.workers.len(), (thief, base), has_task, thefts)
            }
            Waiting::Random => {
                let was_at_thief = &mut self.workers[me].was_at_thief;
                *was_at_thief = !*was_at_thief;
                if *was_at_thief { Some(thief) } else { self.random(me) }
            }
        }
    }

    fn random(&mut self, me: usize) -> Option<usize> {
        another(&mut self.rng, self.workers.len(), me)
    }

    /// Moves an item from a worker to another one, which looks for one.
    fn give(&mut self, from: usize, to: usize, item: Item) {
        self.take(from, item);
        self.thefts += 1;
        if let Item::Branch(task) = item {
            self.tasks[task].state = State::Stolen { thief: to, base: self.workers[to].stack.len() };
        }
        let wake = if self.is_asleep(to) { self.machine.costs.wake } else { 0 };
        self.set(to, Mode::Begins(item));
        self.act_after(to, self.machine.costs.theft + wake);
        self.wake_one();
    }

    /// Takes an item out of its deque.
    fn take(&mut self, owner: usize, item: Item) {
        let deque = &mut self.workers[owner].deque;
        let place = if deque.front() == Some(&item) { Some(0) } else { deque.iter().rposition(|&other| other == item) };
        deque.remove(place.expect("the item is in the deque"));
        self.found -= 1;
    }

    fn push(&mut self, me: usize, item: Item) {
        self.workers[me].deque.push_back(item);
        self.found += 1;
        if self.found == 1 {
            let awake = self.now.saturating_sub(self.machine.costs.patience);
            let awake: Vec<usize> = self.resting.range((awake, 0)..).map(|&(_, other)| other).collect();
            for other in awake {
                let phase = self.rng.u64(..self.machine.costs.look.max(1));
                self.set(other, Mode::Looks);
                self.act_after(other, phase);
            }
        }
        self.wake_one();
    }

    /// Wakes a worker if there are tasks and nobody looks for one.
    fn wake_one(&mut self) {
        if self.found == 0 || self.looking > 0 {
            return;
        }
        if let Some(&(_, other)) = self.resting.first() {
            let wake = self.machine.costs.wake;
            self.set(other, Mode::Looks);
            self.workers[other].since = self.now + wake;
            self.act_after(other, wake);
        }
    }

    /// Where tasks are private, the worker sees whether another one wants a task.
    fn share(&mut self, me: usize) {
        match self.machine.spread {
            Spread::Steal(_) => {}
            Spread::Ask => {
                let Some(other) = self.workers[me].asked_by.take() else { return };
                if let Some(&item) = self.workers[me].deque.front() {
                    return self.give(me, other, item);
                }
                self.set(other, Mode::Looks);
                self.act_after(other, self.machine.costs.look);
            }
            Spread::Deal { interval } => {
                let worker = &mut self.workers[me];
                let Some(&item) = worker.deque.front() else { return };
                if self.now < worker.dealt + interval {
                    return;
                }
                worker.dealt = self.now;
                let Some(other) = self.random(me) else { return };
                if matches!(self.workers[other].mode, Mode::Looks | Mode::Rests) && self.workers[other].deque.is_empty()
                {
                    self.give(me, other, item);
                }
            }
        }
    }
}
