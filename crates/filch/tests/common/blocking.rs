//! Random programs whose tasks block until other tasks have started: nobody may wait for ever.
//!
//! A program is made from a seed: tasks, each with a list of actions. A task forks and joins, opens scopes and spawns
//! into them, spawns tasks that nobody waits for, calls into another pool, broadcasts and yields. A deep task keeps
//! more than half of its worker's stack in use. And a task blocks, keeping its processor, until another task has
//! started.
//!
//! **Which blocking must a scheduler be able to serve?** Blocking that obeys two rules:
//!
//! 1. *The other task has already been handed to the scheduler, and some worker can reach it.* A task yet to be forked
//!    may be below the blocked task on its own stack. And while its owner is busy with something else, a fork can be
//!    out of reach where owners keep forks private until a request: on [`Split`](filch::pool::Split),
//!    [`Wool`](filch::pool::Wool), [`PrivateStack`](filch::pool::PrivateStack), [`Heartbeat`](filch::pool::Heartbeat),
//!    and queues that share on request. So a task that blocks on a fork there [polls](filch::poll) while it blocks, and
//!    a task that does not poll blocks only on spawned tasks, which are visible at once. A poll in closure style does
//!    not see enclosing forks in handle style: here code in handle style forks and polls by its handle, and waits only
//!    for its joins. On queues that keep some tasks from all thieves, nobody blocks on a fork. In a [job
//!    system](filch::jobs) spawned jobs are where others have their forks, so the same holds for them.
//! 2. *A worker is free.* A blocked task occupies its worker, so at least one worker of each pool is not blocked. That
//!    worker is idle, or waits for something and meanwhile runs tasks that it finds, or eventually does one of both.
//!    Under strict leapfrogging a worker that waits at a join runs only parts of what it waits for, and a fork that a
//!    leapfrogger has stolen and put back is only for its owner. So there nobody blocks on a fork, and at least one
//!    worker is neither blocked nor within a join, nor within a scope if waiting for scopes is as strict. The running
//!    program omits whatever would break the rule: such a task does not block, such a join does not fork, and tasks for
//!    such a scope run at once.
//!
//! **Why this suffices.** Suppose that nothing can proceed. A task that waits for a started task waits for one that
//! started later than itself; and a task on a stack started before those above it. So the task that started last waits
//! for no started task: it is blocked on one that has not started. By the second rule some worker of that task's pool
//! is free to run it, and by the first rule the worker can reach it.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]
#![allow(dead_code, reason = "each test program uses its part")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{Write as _, stderr};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// The stack size of the workers.
pub(crate) const STACK_SIZE: usize = 1 << 20;
/// More than half of the stack. The rest has room for all tasks of a program, one inside the other.
const DEEP: usize = 560 << 10;

/// When a free worker can reach the forks of a blocked one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forks {
    Visible,
    OnPoll,
    /// Nobody may block on a fork.
    OutOfReach,
}

/// The scheduler under test: two pools with the same number of workers. All functions except those that name a pool are
/// called on a worker.
pub(crate) trait Scheduler: Send + Sync + Sized + 'static {
    type Scope<'c>: Sync;

    /// Whether a scope's body can run on a thread that is not a worker.
    const HAS_PLACES: bool;
    /// Whether there are broadcasts.
    const BROADCASTS: bool;
    /// Whether all code is in handle style and each root has its own workers.
    const ONLY_HANDLES: bool = false;

    /// The number of workers of each pool.
    fn workers(&self) -> usize;
    /// Whether a worker that waits at a join runs only parts of what it waits for.
    fn is_strict(&self) -> bool;
    /// Whether a worker that waits for a scope runs only tasks of that scope.
    fn has_strict_scopes(&self) -> bool {
        false
    }
    /// When others can reach forks.
    fn forks(&self) -> Forks;

    /// Runs `f` on a worker of the pool.
    fn call(&self, pool: usize, f: impl FnOnce() + Send);
    fn spawn(&self, pool: usize, f: impl FnOnce() + Send + 'static);
    fn join(&self, a: impl FnOnce() + Send, b: impl FnOnce() + Send);
    fn scope<'c>(&self, body: impl FnOnce(&Self::Scope<'c>) + Send);
    fn spawn_in<'c>(scope: &Self::Scope<'c>, f: impl FnOnce(&Self::Scope<'c>) + Send + 'c);
    /// Opens a scope of the pool whose body runs on the current thread.
    fn scope_in_place<'c>(&self, pool: usize, body: impl FnOnce(&Self::Scope<'c>) + Send);
    /// Runs `f` once on each worker of the pool, with the worker's number.
    fn broadcast(&self, pool: usize, f: impl Fn(usize) + Sync);
    /// Runs a task in handle style, if that exists, on the current worker, which must belong to the pool.
    fn by_handle<'c>(run: &'c Arc<Run<Self>>, _pool: usize, task: usize, scope: Option<&Self::Scope<'c>>) {
        run.task(task, scope);
    }
    fn yield_now(&self);
}

/// How a task is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// By a thread outside.
    Root,
    /// In place: as a first branch or a scope's body.
    Inline,
    /// As the second branch of a fork.
    Fork,
    /// Spawned, into a scope or detached.
    Spawn,
    /// By a call into a pool.
    Call,
    /// As a worker's part of a broadcast.
    Broadcast,
}

/// The style of a task's code, which decides what it may do under the rules above.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Closure,
    Handle,
    /// On a thread that may not be a worker.
    Place,
}

/// The context of a task.
#[derive(Clone, Copy)]
struct Around {
    pool: usize,
    style: Style,
    /// The pool of the innermost enclosing scope, if there is one.
    scope: Option<usize>,
}

/// The pool of tasks on threads that are not workers.
const OUTSIDE: usize = 2;

struct Task {
    how: How,
    pool: usize,
    is_deep: bool,
    actions: Vec<Action>,
}

#[derive(Debug)]
enum Action {
    Spin(usize),
    Nap,
    /// Blocks until that task has started, polling or not.
    Block(usize, Polls),
    Join(usize, usize),
    Scope(Spawns),
    /// A scope of that pool, whose body runs on the current thread.
    Place(Spawns, usize),
    /// Spawns into the innermost enclosing scope.
    Spawn(usize),
    /// Spawns on that pool; nobody waits.
    Detach(usize, usize),
    /// Calls into that pool.
    Call(usize, usize),
    /// Broadcasts these parts on that pool.
    Broadcast(Vec<usize>, usize),
    Handle(usize),
    Yield,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Polls {
    Yes,
    No,
}

/// The tasks that a scope spawns first, and the rest of its body.
#[derive(Debug)]
struct Spawns {
    spawned: Vec<usize>,
    body: usize,
}

/// Makes programs.
struct Author<'s, S> {
    random: Rng,
    tasks: Vec<Task>,
    /// The tasks for which somebody inside the task being made may wait.
    rivals: Vec<usize>,
    scheduler: &'s S,
}

impl<S: Scheduler> Author<'_, S> {
    /// The style of spawned tasks and of roots.
    const SPAWNED: Style = if S::ONLY_HANDLES { Style::Handle } else { Style::Closure };

    /// Makes the roots of a program and its tasks.
    fn program(mut self) -> Program {
        let magnitude = 2 + self.random.usize(..4);
        let size = 2 + self.random.usize(..1 << magnitude);
        let roots = 1 + self.random.usize(..3);
        let mut program = Program { roots: Vec::new(), tasks: Vec::new() };
        for _ in 0..roots {
            let in_place = S::HAS_PLACES && self.random.usize(..4) == 0;
            let pool = if self.random.usize(..5) == 0 { 1 } else { 0 };
            let root = self.reserve(How::Root, if in_place { OUTSIDE } else { pool });
            if in_place {
                let spawns =
                    self.spawns(pool, Around { pool: OUTSIDE, style: Style::Place, scope: None }, size / roots);
                self.tasks[root].actions.push(Action::Place(spawns, pool));
            } else {
                self.fill(root, Around { pool, style: Self::SPAWNED, scope: None }, size / roots);
            }
            program.roots.push(root);
        }
        self.choose_targets();
        program.tasks = self.tasks;
        program
    }

    fn reserve(&mut self, how: How, pool: usize) -> usize {
        let is_deep = pool != OUTSIDE && self.random.usize(..5) == 0;
        self.tasks.push(Task { how, pool, is_deep, actions: Vec::new() });
        self.tasks.len() - 1
    }

    /// Makes a new task with its actions.
    fn task(&mut self, how: How, around: Around, budget: usize) -> usize {
        let task = self.reserve(how, around.pool);
        self.fill(task, around, budget);
        task
    }

    /// Gives a task its actions, which create about `budget` further tasks.
    fn fill(&mut self, task: usize, around: Around, mut budget: usize) {
        let rivals = self.rivals.len();
        let count = 1 + self.random.usize(..4);
        for nth in 1..=count {
            let share = if nth == count { budget } else { self.random.usize(..budget + 1) };
            let action = self.action(around, share);
            budget -= share;
            self.tasks[task].actions.push(action);
        }
        // Tasks spawned by this one concern those around it no more than others do.
        self.rivals.truncate(rivals);
    }

    fn action(&mut self, around: Around, budget: usize) -> Action {
        if budget == 0 || self.random.usize(..5) == 0 {
            return self.small();
        }
        let (pool, rest) = (around.pool, budget - 1);
        let inner = Around { style: Style::Closure, ..around };
        match (self.random.usize(..16), around.style) {
            (0..=4, Style::Closure) | (0..=9, Style::Handle) => self.join(around, rest),
            (5 | 6, Style::Closure) => Action::Scope(self.spawns(pool, around, rest)),
            (7, Style::Closure) if S::HAS_PLACES => Action::Place(self.spawns(pool, around, rest), pool),
            (8 | 9, Style::Closure) => {
                let pool = 1 - pool;
                Action::Call(self.task(How::Call, Around { pool, ..inner }, rest), pool)
            }
            (10, Style::Closure) if S::BROADCASTS => {
                let pool = self.random.usize(..2);
                let part = |author: &mut Self| author.task(How::Broadcast, Around { pool, ..inner }, 0);
                Action::Broadcast((0..self.scheduler.workers()).map(|_| part(self)).collect(), pool)
            }
            (11, Style::Closure) => {
                Action::Handle(self.task(How::Inline, Around { style: Style::Handle, ..around }, rest))
            }
            (12, Style::Closure | Style::Handle) => {
                let pool = if S::ONLY_HANDLES { pool } else { self.random.usize(..2) };
                let task = self.task(How::Spawn, Around { pool, style: Self::SPAWNED, scope: None }, rest);
                self.rivals.push(task);
                Action::Detach(task, pool)
            }
            (13, Style::Closure) => Action::Yield,
            _ => match around.scope {
                Some(pool) => {
                    let task = self.task(How::Spawn, Around { pool, ..inner }, rest);
                    self.rivals.push(task);
                    Action::Spawn(task)
                }
                None => self.small(),
            },
        }
    }

    fn small(&mut self) -> Action {
        match self.random.usize(..10) {
            0..=2 => Action::Spin(self.random.usize(..3000)),
            3 => Action::Nap,
            _ => {
                let near = self.rivals.len().checked_sub(1 + self.random.usize(..3));
                // Only a root can be task 0, so 0 can mean any task.
                Action::Block(near.map_or(0, |rival| self.rivals[rival]), Polls::Yes)
            }
        }
    }

    fn join(&mut self, around: Around, budget: usize) -> Action {
        let (a, b) = (self.reserve(How::Inline, around.pool), self.reserve(How::Fork, around.pool));
        let share = self.random.usize(..budget + 1);
        self.rivals.push(b);
        self.fill(a, around, share);
        self.rivals.pop();
        self.fill(b, around, budget - share);
        Action::Join(a, b)
    }

    /// Makes the tasks spawned into a scope of `pool`, and its body in this context.
    fn spawns(&mut self, pool: usize, around: Around, budget: usize) -> Spawns {
        let (count, rivals) = (self.random.usize(..4), self.rivals.len());
        let spawned: Vec<usize> = (0..count).map(|_| self.reserve(How::Spawn, pool)).collect();
        self.rivals.extend(&spawned);
        let share = budget / (count + 1);
        for &task in &spawned {
            self.fill(task, Around { pool, style: Style::Closure, scope: Some(pool) }, share);
        }
        let body = self.task(How::Inline, Around { scope: Some(pool), ..around }, share);
        self.rivals.truncate(rivals);
        Spawns { spawned, body }
    }

    /// Chooses a target for each block that has none, or one on which it may not block.
    fn choose_targets(&mut self) {
        let forks = self.scheduler.forks();
        let may_be = |how| match how {
            // In a job system both kinds are in the same queue.
            How::Spawn if !S::ONLY_HANDLES => true,
            How::Spawn | How::Fork => forks != Forks::OutOfReach,
            _ => false,
        };
        let targets: Vec<usize> = (0..self.tasks.len()).filter(|&task| may_be(self.tasks[task].how)).collect();
        for task in 0..self.tasks.len() {
            for nth in 0..self.tasks[task].actions.len() {
                let Action::Block(target, _) = self.tasks[task].actions[nth] else { continue };
                let action = if let Some(&target) = targets.iter().find(|&&one| one == target) {
                    self.block(target)
                } else if !targets.is_empty() {
                    let any = targets[self.random.usize(..targets.len())];
                    self.block(any)
                } else {
                    Action::Nap
                };
                self.tasks[task].actions[nth] = action;
            }
        }
    }

    fn block(&mut self, target: usize) -> Action {
        let is_spawned = self.tasks[target].how == How::Spawn && !S::ONLY_HANDLES;
        let is_visible = is_spawned || self.scheduler.forks() == Forks::Visible;
        Action::Block(target, if is_visible && self.random.usize(..2) == 0 { Polls::No } else { Polls::Yes })
    }
}

struct Program {
    roots: Vec<usize>,
    tasks: Vec<Task>,
}

/// The progress of a task.
#[derive(Default)]
struct State {
    /// One of the constants below, or [`AT`] plus the number of the action.
    stage: AtomicU32,
    /// The number of the thread that runs it.
    thread: AtomicUsize,
    is_blocked: AtomicUsize,
}

/// The task does not exist yet.
const UNKNOWN: u32 = 0;
/// The scheduler has the task.
const HANDED_IN: u32 = 1;
const ENDED: u32 = 2;
const AT: u32 = 3;

impl State {
    fn has_started(&self) -> bool {
        self.stage.load(SeqCst) > HANDED_IN
    }
}

/// How many workers of a pool may still be occupied such that one stays free.
struct Rest(AtomicUsize);

impl Rest {
    fn take(&self) -> bool {
        self.0.fetch_update(SeqCst, SeqCst, |rest| rest.checked_sub(1)).is_ok()
    }
}

/// A program in progress.
pub(crate) struct Run<S> {
    pub(crate) scheduler: Arc<S>,
    seed: u64,
    settings: String,
    program: Program,
    states: Vec<State>,
    /// The number of tasks that have not ended.
    left: AtomicUsize,
    rests: [Rest; 2],
}

thread_local! {
    /// The number of this thread, from 1 on.
    static THREAD: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(1);
        THREADS.fetch_add(1, SeqCst)
    };
    /// The number of nested reasons for not counting this worker as free.
    static TAKEN_UP: Cell<usize> = const { Cell::new(0) };
    /// Whether more than half of the stack is in use.
    static IS_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with more than half of the stack in use.
#[inline(never)]
fn deep(f: impl FnOnce()) {
    let used = [0_u8; DEEP];
    black_box(&used);
    f();
    black_box(&used);
}

/// The operations of handle-style code on its handle.
pub(crate) enum Step {
    /// Joins these two tasks.
    Join(usize, usize),
    /// Spawns this task on that pool; nobody waits.
    Spawn(usize, usize),
    Poll,
}

impl<S: Scheduler> Run<S> {
    /// Runs a task on the current thread.
    pub(crate) fn task<'c>(self: &'c Arc<Self>, task: usize, scope: Option<&S::Scope<'c>>) {
        self.each_action(task, |action| match action {
            Action::Block(target, polls) => self.block(task, *target, *polls, filch::poll),
            Action::Join(a, b) => self.fork(
                task,
                *a,
                *b,
                |a| self.task(a, scope),
                || {
                    self.scheduler.join(|| self.first(*a, *b, |a| self.task(a, scope)), || self.task(*b, scope));
                },
            ),
            Action::Scope(spawns) => self.open(task, spawns),
            Action::Place(spawns, pool) => self.scheduler.scope_in_place(*pool, |scope| self.spawn_all(spawns, scope)),
            Action::Call(callee, pool) => self.scheduler.call(*pool, || self.task(*callee, scope)),
            Action::Broadcast(parts, pool) => self.scheduler.broadcast(*pool, |worker| self.task(parts[worker], None)),
            Action::Handle(inner) => S::by_handle(self, self.program.tasks[task].pool, *inner, scope),
            Action::Yield => self.scheduler.yield_now(),
            other => self.act_anywhere(other, scope),
        });
    }

    /// Runs a task in handle style.
    pub(crate) fn task_by_handle<'c>(
        self: &'c Arc<Self>,
        task: usize,
        scope: Option<&S::Scope<'c>>,
        mut by_handle: impl FnMut(Step),
    ) {
        self.each_action(task, |action| match action {
            Action::Block(target, polls) => self.block(task, *target, *polls, || by_handle(Step::Poll)),
            Action::Join(a, b) => self.fork(task, *a, *b, |a| self.task(a, scope), || by_handle(Step::Join(*a, *b))),
            Action::Detach(task, pool) => {
                by_handle(Step::Spawn(*task, *pool));
                self.hand_in(*task);
            }
            other => self.act_anywhere(other, scope),
        });
    }

    /// Runs the actions that both styles share.
    fn act_anywhere<'c>(self: &'c Arc<Self>, action: &Action, scope: Option<&S::Scope<'c>>) {
        match action {
            Action::Spin(rounds) => (0..*rounds).for_each(|_| std::hint::spin_loop()),
            Action::Nap => thread::sleep(Duration::from_micros(200)),
            Action::Spawn(task) => match scope {
                Some(scope) => self.spawn(*task, scope),
                // Its scope was omitted.
                None => self.task(*task, None),
            },
            Action::Detach(task, pool) => {
                self.detach(*task, *pool);
                self.hand_in(*task);
            }
            other => unreachable!("{other:?} is not for this style"),
        }
    }

    pub(crate) fn detach(self: &Arc<Self>, task: usize, pool: usize) {
        let run = Arc::clone(self);
        self.scheduler.spawn(pool, move || run.task(task, None));
    }

    fn spawn<'c>(self: &'c Arc<Self>, task: usize, scope: &S::Scope<'c>) {
        S::spawn_in(scope, move |scope| self.task(task, Some(scope)));
        self.hand_in(task);
    }

    /// Spawns into a scope; or runs the tasks one after the other, if that keeps a worker free.
    fn open(self: &Arc<Self>, task: usize, spawns: &Spawns) {
        let pool = self.program.tasks[task].pool;
        let open = || self.scheduler.scope(|scope| self.spawn_all(spawns, scope));
        if !self.scheduler.has_strict_scopes() {
            open();
        } else if self.takes_up(pool) {
            open();
            self.lets_go(pool);
        } else {
            spawns.spawned.iter().chain([&spawns.body]).for_each(|&task| self.task(task, None));
        }
    }

    fn spawn_all<'c>(self: &'c Arc<Self>, spawns: &Spawns, scope: &S::Scope<'c>) {
        spawns.spawned.iter().for_each(|&task| self.spawn(task, scope));
        self.task(spawns.body, Some(scope));
    }

    fn each_action(&self, task: usize, mut act: impl FnMut(&Action)) {
        let (state, actions) = (&self.states[task], &self.program.tasks[task].actions);
        state.thread.store(THREAD.with(|&thread| thread), SeqCst);
        let mut act_all = || {
            for (nth, action) in (AT..).zip(actions) {
                state.stage.store(nth, SeqCst);
                act(action);
            }
        };
        if self.program.tasks[task].is_deep && !IS_DEEP.replace(true) {
            deep(act_all);
            IS_DEEP.set(false);
        } else {
            act_all();
        }
        state.stage.store(ENDED, SeqCst);
        self.left.fetch_sub(1, SeqCst);
    }

    /// Allows others to block on the task.
    fn hand_in(&self, task: usize) {
        let _ = self.states[task].stage.compare_exchange(UNKNOWN, HANDED_IN, SeqCst, SeqCst);
    }

    /// Runs the first branch of a fork that has been made.
    pub(crate) fn first(&self, a: usize, b: usize, run: impl FnOnce(usize)) {
        self.hand_in(b);
        run(a);
    }

    /// Runs two tasks by `join`; or one after the other, if that keeps a worker free.
    fn fork(&self, task: usize, a: usize, b: usize, run: impl Fn(usize), join: impl FnOnce()) {
        let pool = self.program.tasks[task].pool;
        if !self.scheduler.is_strict() {
            join();
        } else if self.takes_up(pool) {
            join();
            self.lets_go(pool);
        } else {
            run(a);
            run(b);
        }
    }

    /// Blocks until `target` has started, if the scheduler has it and a worker stays free.
    fn block(&self, task: usize, target: usize, polls: Polls, mut poll: impl FnMut()) {
        let (pool, target_state) = (self.program.tasks[task].pool, &self.states[target]);
        if target_state.stage.load(SeqCst) == UNKNOWN || !self.takes_up(pool) {
            return;
        }
        self.states[task].is_blocked.store(1, SeqCst);
        while !target_state.has_started() {
            if polls == Polls::Yes {
                poll();
            }
            thread::yield_now();
        }
        self.states[task].is_blocked.store(0, SeqCst);
        self.lets_go(pool);
    }

    /// Marks the current worker as occupied, unless it is the last free one.
    fn takes_up(&self, pool: usize) -> bool {
        let may = pool == OUTSIDE || TAKEN_UP.get() > 0 || self.rests[pool].take();
        TAKEN_UP.set(TAKEN_UP.get() + usize::from(may));
        may
    }

    fn lets_go(&self, pool: usize) {
        TAKEN_UP.set(TAKEN_UP.get() - 1);
        if pool != OUTSIDE && TAKEN_UP.get() == 0 {
            self.rests[pool].0.fetch_add(1, SeqCst);
        }
    }
}

/// Reports where each task is, for finding out why a program takes so long.
trait Report: Send + Sync {
    fn report(&self) -> String;
}

impl<S: Scheduler> Report for Run<S> {
    fn report(&self) -> String {
        let mut lines = format!("seed {}, {}: somebody waits for ever\n", self.seed, self.settings);
        for (number, (task, state)) in self.program.tasks.iter().zip(&self.states).enumerate() {
            let (stage, thread) = (state.stage.load(SeqCst), state.thread.load(SeqCst));
            let place = match stage {
                UNKNOWN => "has not been made".to_owned(),
                HANDED_IN => "is with the scheduler and HAS NOT STARTED".to_owned(),
                ENDED => format!("has ended on thread {thread}"),
                at if state.is_blocked.load(SeqCst) == 1 => {
                    format!("is BLOCKED on thread {thread} at {:?}", task.actions[(at - AT) as usize])
                }
                at => format!("is on thread {thread} at {:?}", task.actions[(at - AT) as usize]),
            };
            let deep = if task.is_deep { ", deep" } else { "" };
            lines += &format!(
                "  task {number} ({:?}, pool {}{deep}) {place}; all of it: {:?}\n",
                task.how, task.pool, task.actions
            );
        }
        lines
    }
}

/// The running programs, by the thread that waits for them, with their start times.
type Programs = BTreeMap<usize, (Instant, Arc<dyn Report>)>;
static WATCHED: Mutex<Programs> = Mutex::new(Programs::new());

/// Watches a program until dropped.
struct Watched;

impl Watched {
    fn new(run: Arc<dyn Report>) -> Self {
        THREAD.with(|&thread| watched().insert(thread, (Instant::now(), run)));
        Self
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        THREAD.with(|thread| watched().remove(thread));
    }
}

fn watched() -> MutexGuard<'static, Programs> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Aborts the process, with a report, when a program takes far too long.
fn start_watchdog() {
    static STARTED: Once = Once::new();
    let patience = Duration::from_secs(number("FILCH_PATIENCE", 100));
    STARTED.call_once(|| {
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_millis(100));
                let late =
                    watched().values().find(|(since, _)| since.elapsed() > patience).map(|(_, run)| run.report());
                if let Some(report) = late {
                    let _ = stderr().write_all(report.as_bytes());
                    std::process::abort();
                }
            }
        });
    });
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Runs programs on a scheduler: those of `seeds` seeds, or of as many as `FILCH_SEEDS` says, from `FILCH_FIRST_SEED`
/// on. If `FILCH_ONLY` is set, runs only settings whose name contains it.
pub(crate) fn check<S: Scheduler>(settings: &str, seeds: u64, scheduler: impl FnOnce() -> S) {
    if std::env::var("FILCH_ONLY").is_ok_and(|only| !settings.contains(&only)) {
        return;
    }
    start_watchdog();
    let scheduler = Arc::new(scheduler());
    let first = number("FILCH_FIRST_SEED", 0);
    for seed in first..first + number("FILCH_SEEDS", seeds) {
        check_one(&scheduler, settings, seed);
    }
    // The pools end here, not in the last of their tasks.
    while Arc::strong_count(&scheduler) > 1 {
        thread::yield_now();
    }
}

fn check_one<S: Scheduler>(scheduler: &Arc<S>, settings: &str, seed: u64) {
    // Different settings get different programs.
    let of_settings = settings.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let random = Rng::with_seed(of_settings.wrapping_add(seed.wrapping_mul(0x9E37_79B9)));
    let program = Author { random, tasks: Vec::new(), rivals: Vec::new(), scheduler: &**scheduler }.program();
    let rest = || Rest(AtomicUsize::new(scheduler.workers() - 1));
    let run = Arc::new(Run {
        scheduler: Arc::clone(scheduler),
        seed,
        settings: settings.to_owned(),
        states: program.tasks.iter().map(|_| State::default()).collect(),
        left: AtomicUsize::new(program.tasks.len()),
        program,
        rests: [rest(), rest()],
    });
    let _watched = Watched::new(Arc::clone(&run) as Arc<dyn Report>);
    let start = |root: usize| match run.program.tasks[root].pool {
        OUTSIDE => run.task(root, None),
        pool if S::ONLY_HANDLES => S::by_handle(&run, pool, root, None),
        pool => scheduler.call(pool, || run.task(root, None)),
    };
    let (first, others) = run.program.roots.split_first().expect("there is a root");
    thread::scope(|s| {
        for &root in others {
            s.spawn(move || start(root));
        }
        start(*first);
    });
    // Waits for tasks that nobody else waits for.
    while run.left.load(SeqCst) > 0 {
        thread::yield_now();
    }
}
