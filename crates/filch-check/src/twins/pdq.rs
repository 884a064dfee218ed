//! Private deques, compact, with mistakes to choose from. See `filch_queue::pdq` for the algorithms.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, figures 2 and 8: workers that are owner and thief in one, with one request cell and one
//! transfer cell each.
//!
//! The programs: workers with and without tasks, of which each asks once, runs what it has, and goes home.
//!
//! What must always hold: without a mistake every task is run once and everybody comes home, on every machine.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};

use super::mutant::{Harm, Mutant, buffer, protocol};
use crate::harm::ensure;
use crate::tso::Tso;
use crate::{Checker, Program};

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Figure 2: a thief that has received a task clears its own request cell.
    OwnRequestCleared,
    /// A worker goes home without refusing requests from then on.
    NotRefused,
    /// Who waits for an answer gives none.
    NoAnswerInWait,
    /// Figure 8: a worker without tasks asks for some, and does not refuse requests first.
    NotRejected,
}

const NOBODY: usize = 0;
/// In a request cell, where other numbers are one more than the thief's.
const REFUSES: usize = usize::MAX;
/// In a transfer cell.
const NO_ANSWER: usize = usize::MAX;
const DECLINED: usize = 0;

struct Shared<M: Memory> {
    /// By worker, as what follows: whether it has tasks to give.
    has_tasks: Vec<M::AtomicBool>,
    request: Vec<M::AtomicUsize>,
    transfer: Vec<M::AtomicUsize>,
    /// By task: how often it has been run.
    runs: Vec<M::AtomicUsize>,
}

/// What one worker has to itself.
struct Worker<M: Memory> {
    shared: Arc<Shared<M>>,
    me: usize,
    tasks: Vec<usize>,
    mistake: Option<Mistake>,
}

impl<M: Memory> Worker<M> {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn update_status(&self) {
        self.shared.has_tasks[self.me].store(!self.tasks.is_empty(), Ordering::Relaxed);
    }

    fn add_task(&mut self, task: usize) {
        self.tasks.push(task);
        self.update_status();
    }

    /// Answers a request, if there is one.
    fn communicate(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut request = shared.request[self.me].load(Ordering::Acquire);
        if request != NOBODY {
            request = shared.request[self.me].swap(NOBODY, Ordering::AcqRel);
        }
        if request != NOBODY {
            let task = if self.tasks.is_empty() { DECLINED } else { self.tasks.remove(0) };
            shared.transfer[request - 1].store(task, Ordering::Release);
            self.update_status();
        }
    }

    /// Asks a victim once; whether there is an answer to wait for.
    fn ask(&self, victim: usize) -> bool {
        let shared = &self.shared;
        shared.transfer[self.me].store(NO_ANSWER, Ordering::Relaxed);
        shared.has_tasks[victim].load(Ordering::Relaxed)
            && shared.request[victim].compare_exchange(NOBODY, self.me + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Waits for the answer, and answers others meanwhile.
    fn receive(&mut self) {
        let task = self.answer(!self.makes(Mistake::NoAnswerInWait));
        if task != DECLINED {
            self.add_task(task);
            if self.makes(Mistake::OwnRequestCleared) {
                self.shared.request[self.me].store(NOBODY, Ordering::Release);
            }
        }
    }

    /// What the victim has sent, once it has; answers others meanwhile, or does not.
    fn answer(&mut self, answers: bool) -> usize {
        loop {
            let task = self.shared.transfer[self.me].load(Ordering::Acquire);
            if task != NO_ANSWER {
                return task;
            }
            if answers {
                self.communicate();
            }
            M::spin_loop();
        }
    }

    /// Figure 8: refuses requests, asks a victim once, and answers again when it has received a task.
    fn acquire_alone(&mut self, victim: usize) {
        if !self.makes(Mistake::NotRejected) {
            self.refuse();
        }
        let task = if self.ask(victim) { self.answer(false) } else { DECLINED };
        if task != DECLINED {
            self.add_task(task);
            self.shared.request[self.me].store(NOBODY, Ordering::Release);
        }
    }

    fn run(&self, task: usize) {
        ensure!(
            (1..self.shared.runs.len()).contains(&task),
            NotATask,
            "worker {} runs {task:#x}, which is not a task",
            self.me
        );
        self.shared.runs[task].fetch_add_one();
    }

    /// Runs what there is, the newest first, and answers in between.
    fn run_all(&mut self) {
        while let Some(task) = self.tasks.pop() {
            self.update_status();
            self.communicate();
            self.run(task);
        }
    }

    fn go_home(&self) {
        if !self.makes(Mistake::NotRefused) {
            self.refuse();
        }
    }

    /// Refuses requests from now on.
    fn refuse(&self) {
        let request = self.shared.request[self.me].swap(REFUSES, Ordering::AcqRel);
        if ![NOBODY, REFUSES].contains(&request) {
            self.shared.transfer[request - 1].store(DECLINED, Ordering::Release);
        }
    }
}

/// One more, by a counter of which only the sum matters.
trait FetchAddOne {
    fn fetch_add_one(&self);
}

impl<A: filch_memory::AtomicInt<usize>> FetchAddOne for A {
    fn fetch_add_one(&self) {
        self.fetch_add(1, Ordering::Relaxed);
    }
}

type Body<M> = fn(&mut Worker<M>);

/// A program of workers, each with a number of tasks and something to do.
fn program<M: Checker>(mistake: Option<Mistake>, workers: &[(usize, Body<M>)]) -> Program {
    let total: usize = workers.iter().map(|(tasks, _)| tasks).sum();
    let shared = Arc::new(Shared::<M> {
        has_tasks: workers.iter().map(|&(tasks, _)| Atomic::new(tasks > 0)).collect(),
        request: workers.iter().map(|_| Atomic::new(NOBODY)).collect(),
        transfer: workers.iter().map(|_| Atomic::new(DECLINED)).collect(),
        runs: (0..=total).map(|_| Atomic::new(0)).collect(),
    });
    let mut first = 1;
    let mut threads: Vec<(String, Box<dyn FnOnce()>)> = Vec::new();
    for (me, &(tasks, body)) in workers.iter().enumerate() {
        let mut worker = Worker { shared: Arc::clone(&shared), me, tasks: (first..first + tasks).collect(), mistake };
        first += tasks;
        threads.push((format!("worker {me}"), Box::new(move || body(&mut worker))));
    }
    let finally = Box::new(move || {
        for (task, runs) in shared.runs.iter().enumerate().skip(1) {
            let runs = runs.load(Ordering::Relaxed);
            ensure!(runs > 0, Lost, "task {task} was lost");
            ensure!(runs == 1, Twice, "task {task} was run {runs} times");
        }
    });
    Program { threads, finally }
}

fn gives<M: Memory>(worker: &mut Worker<M>) {
    worker.communicate();
    worker.run_all();
    worker.go_home();
}

fn asks<M: Memory>(worker: &mut Worker<M>, victim: usize) {
    if worker.ask(victim) {
        worker.receive();
    }
    worker.run_all();
    worker.go_home();
}

fn gives_and_asks<M: Memory>(worker: &mut Worker<M>, victim: usize) {
    worker.communicate();
    worker.run_all();
    asks(worker, victim);
}

fn asks_alone<M: Memory>(worker: &mut Worker<M>, victim: usize) {
    worker.acquire_alone(victim);
    worker.run_all();
    worker.go_home();
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row_with = |entries, name, mistake, client, workers: &'static [(usize, Body<Tso>)], harm, shows| {
        let program = |mistake| program::<Tso>(mistake, workers);
        let mutant = protocol("pdq", (name, Some(mistake)), client, harm, shows, program);
        Mutant { processor: buffer(entries), ..mutant }
    };
    let row = |name, mistake, client, workers, harm, shows| row_with(1, name, mistake, client, workers, harm, shows);
    vec![
        row(
            "own-request-cleared",
            Mistake::OwnRequestCleared,
            "worker 0 has two tasks, 1 asks 0, 2 asks 1",
            &[(2, gives), (0, |worker| asks(worker, 0)), (0, |worker| asks(worker, 1))],
            Harm::Hang,
            "a thief that has received a task erases the request of another, which waits for ever",
        ),
        row(
            "not-refused",
            Mistake::NotRefused,
            "worker 0 has one task, 1 asks 0",
            &[(1, gives), (0, |worker| asks(worker, 0))],
            Harm::Hang,
            "a worker goes home, and who asks it then waits for ever",
        ),
        row_with(
            2,
            "no-answer-in-wait",
            Mistake::NoAnswerInWait,
            "workers 0 and 1 have a task each, and ask each other when they have run it or given it away; 2 asks 0",
            &[
                (1, |worker| gives_and_asks(worker, 1)),
                (1, |worker| gives_and_asks(worker, 0)),
                (0, |worker| asks(worker, 0)),
            ],
            Harm::Hang,
            "two workers without tasks wait for each other: each has seen what the other had before",
        ),
        row(
            "not-rejected",
            Mistake::NotRejected,
            "worker 0 has two tasks, 1 asks 0, 2 asks 1; who asks refuses requests",
            &[(2, gives), (0, |worker| asks_alone(worker, 0)), (0, |worker| asks_alone(worker, 1))],
            Harm::Hang,
            "a thief that has received a task erases the request of another that it had not refused",
        ),
    ]
}
