//! Small trees of tasks, and an owner whose forks must wake a sleeper.
//!
//! Invariant: every task runs once, and its result reaches its joiner.

use std::cell::Cell as Plain;
use std::sync::{Arc, Mutex};

use filch::inside::protocol::sleep::{ANY, Dormitory};
use filch::inside::protocol::waiting::{Searcher, Sleeper, search};
use filch_memory::Memory;

use super::Threads;
use super::patience::Rounds;
use super::worker::{CAPACITY, COARSE, Policy, Waiting, Worker};
use crate::Program;
use crate::scenario::Checker;
use crate::scenarios::napping::Naps;
use crate::scenarios::queues::lock;

/// What the workers other than worker 0 do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Try to steal this many times.
    Try(usize),
    /// Steal once and give the loot back.
    GiveBack,
    /// Steal, or sleep after this many rounds without a find, until the root is done.
    Live(u32),
}

/// Worker 0 runs the tree, whose root is task 0; the others help.
pub fn fork_join<M: Checker>(
    tree: &'static [&'static [usize]],
    workers: usize,
    waiting: Waiting,
    others: Others,
    policy: impl Into<Policy>,
) -> Program {
    let mut team = Worker::<M>::team(workers, waiting, tree, policy);
    let shared = Arc::clone(&team[0].team);
    let total = Arc::new(Mutex::new(0));
    let mut threads: Threads = Vec::new();
    for mut worker in team.drain(..).rev() {
        let (me, total) = (worker.me, Arc::clone(&total));
        let body = move || match (me, others) {
            (0, _) => {
                worker.begin();
                let result = worker.run(0, 0);
                *lock(&total) = result;
                worker.close();
            }
            (_, Others::Try(times)) => {
                for _ in 0..times {
                    worker.steal_and_run(0, 0);
                }
            }
            (_, Others::GiveBack) => {
                worker.gives_back = true;
                worker.steal_and_run(0, 0);
            }
            (_, Others::Live(patience)) => {
                worker.patience = patience;
                worker.live();
            }
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

/// A worker that says when it sleeps and looks for one task, or only naps.
struct Napper<M: Memory> {
    worker: Worker<M>,
    /// What it says of its sleep.
    told: Arc<Naps<M>>,
    sleeps: Plain<u32>,
    /// If set, the worker does not look for work, but goes to sleep, or sees something in its last look, this often.
    naps: Option<u32>,
    rounds: Plain<u32>,
    served: Plain<bool>,
}

impl<M: Checker> Sleeper for Napper<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        self.worker.dormitory()
    }

    fn index(&self) -> usize {
        self.worker.me
    }

    fn park(&self) {
        self.rounds.set(self.rounds.get() + 1);
        self.sleeps.set(self.sleeps.get() + 1);
        self.told.begin(self.sleeps.get());
    }
}

impl<M: Checker> Searcher for Napper<M> {
    type Find = (usize, usize);
    type Backoff = Rounds<M>;

    fn backoff(&self) -> Rounds<M> {
        Rounds::new(self.worker.patience)
    }

    fn find(&self) -> Option<(usize, usize)> {
        if self.sleeps.get() > 0 {
            self.told.end(self.sleeps.get());
        }
        if self.naps.is_some() { None } else { self.worker.steal(0) }
    }

    fn leaves_more(&self, _: &(usize, usize)) -> bool {
        true
    }

    fn run(&self, find: (usize, usize)) {
        self.worker.run_stolen(find, 0);
        self.served.set(true);
    }

    fn share(&self) {}

    fn ask(&self) {
        self.worker.ask(0);
    }

    fn sees_any(&self) -> bool {
        let sees = self.worker.team.desks[0].index.has_shared();
        self.rounds.set(self.rounds.get() + u32::from(sees));
        sees
    }
}

/// Worker 1 wants one task and sleeps until it gets it. Worker 0 forks (`+`) and joins (`-`), and once worker 1 sleeps
/// it forks again, which must wake worker 1.
///
/// With `naps`, worker 1 does not look for work but goes to sleep `naps` times; its finds do not matter. Before its
/// first sleep it stays visibly awake for `rounds` rounds.
pub fn wake_up<M: Checker>(owner: &'static str, naps: Option<u32>, rounds: u32, policy: impl Into<Policy>) -> Program {
    let policy = policy.into();
    const LEAVES: &[&[usize]] = &[&[] as &[usize]; CAPACITY + 1];
    let mut team = Worker::<M>::team(2, Waiting::Sleeps, LEAVES, policy);
    let (mut thief, worker) = (team.pop().expect("two workers"), team.pop().expect("two workers"));
    thief.patience = rounds;
    let told = Arc::new(Naps::<M>::default());
    let mine = Arc::clone(&told);
    let own = move || {
        worker.begin();
        let mut head = 0;
        let fork = |head: &mut usize| {
            worker.push(1, *head);
            *head += 1;
        };
        for act in owner.chars() {
            if act == '+' {
                fork(&mut head);
            } else {
                head -= 1;
                worker.join(head);
            }
        }
        mine.attend(worker.dormitory().place(1), || {
            let is_overlooked = policy == COARSE.into() && worker.desk().index.has_shared();
            assert!(!is_overlooked, "a worker sleeps though there is a task for it");
            fork(&mut head);
        });
        while head > 0 {
            head -= 1;
            worker.join(head);
        }
    };
    let steal = move || {
        let (sleeps, rounds, served) = (Plain::new(0), Plain::new(0), Plain::new(false));
        let napper = Napper { worker: thief, told, sleeps, naps, rounds, served };
        search(&napper, ANY, &|| naps.map_or_else(|| napper.served.get(), |naps| napper.rounds.get() >= naps));
        napper.told.leave();
    };
    Program {
        threads: vec![("worker 0".into(), Box::new(own)), ("worker 1".into(), Box::new(steal))],
        finally: Box::new(|| ()),
    }
}
