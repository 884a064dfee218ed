//! Workers with private deques made together: each runs its tasks, asks others in turn, runs what it gets, and ends.
//!
//! Invariant: every task runs once, the worker that runs it sees what its maker wrote, who steals it learns from whom
//! unless it is nameless, every worker ends, and owners have counted what they have handed over, if they promise that.

use std::fmt::Write as _;
use std::sync::Arc;

use filch_memory::{Atomic, AtomicInt, Cell, Memory, Ordering};
use filch_queue::{Count, Counts, Hand, Owner, Queue, Steal, Thief};

use super::battery::Params;
use super::cost::Cost;
use super::queues::task;
use crate::Program;
use crate::c11::Loom;
use crate::harm::ensure;
use crate::scenario::{Checker, Dependence, Scenario};
use crate::tso::Tso;

/// The number of tasks that a worker makes, and the victims it asks for one.
pub type Part = (usize, &'static [usize]);

/// How often a thief that may withdraw looks for an answer.
const LOOKS: usize = 2;

/// Per task, what its maker wrote, and who has pushed it last; and how often it has run.
struct Tasks<M: Memory> {
    contents: Vec<M::Cell<(usize, usize)>>,
    runs: Vec<M::AtomicUsize>,
    /// Per worker, its thefts, and what its queue counts: not in the memory that is checked, of which each access is a
    /// step.
    thefts: Vec<(Count, Arc<Counts>)>,
}

impl<M: Memory> Tasks<M> {
    /// What was written before the task was pushed.
    fn read(&self, id: usize) -> (usize, usize) {
        // SAFETY: for a task's taker, who may read it; the checker reports any race.
        self.contents[id].with(|contents| unsafe { *contents })
    }

    /// Writes before `worker` pushes the task.
    fn write(&self, id: usize, worker: usize) {
        // SAFETY: no other thread has the task; the checker reports any race.
        self.contents[id].with_mut(|contents| unsafe { *contents = (id, worker) });
    }

    fn run(&self, id: usize) {
        assert_eq!(self.read(id).0, id, "the contents of a task");
        // Relaxed: read when all threads have ended.
        self.runs[id].fetch_add(1, Ordering::Relaxed);
    }
}

/// Queues that have nothing in common.
fn apart<M: Memory, Q: Queue<M>>(workers: usize, params: &Q::Params) -> Vec<Hand<Q, M>> {
    let made = (0..workers).map(|_| Q::make(2, workers - 1, params));
    let (owners, mut thieves): (Vec<_>, Vec<_>) = made.map(|(owner, thieves)| (owner, thieves.into_iter())).unzip();
    let mut handles =
        |me| thieves.iter_mut().enumerate().map(|(of, rest)| if of == me { None } else { rest.next() }).collect();
    owners.into_iter().enumerate().map(|(me, owner)| (owner, handles(me))).collect()
}

/// Returns the program of one worker per part.
pub fn program<M: Checker, Q: Queue<M>>(parts: &[Part], params: &Q::Params) -> Program {
    let count: usize = parts.iter().map(|&(made, _)| made).sum();
    let tasks = Arc::new(Tasks::<M> {
        contents: (0..=count).map(|_| Cell::new((0, 0))).collect(),
        runs: (0..=count).map(|_| Atomic::new(0)).collect(),
        thefts: parts.iter().map(|_| Default::default()).collect(),
    });
    // SAFETY: each worker's handles go to its own thread.
    let hands = unsafe { Q::make_together(parts.len(), 2, params) };
    let hands = hands.unwrap_or_else(|| apart::<M, Q>(parts.len(), params));
    let mut threads: Vec<(String, Box<dyn FnOnce()>)> = Vec::new();
    let mut next = 1;
    for (index, ((mut owner, mut thieves), &(made, asks))) in hands.into_iter().zip(parts).enumerate() {
        let (tasks, own) = (Arc::clone(&tasks), next..next + made);
        next += made;
        owner.count_in(&tasks.thefts[index].1);
        let live = move || {
            for id in own {
                tasks.write(id, index);
                assert!(owner.push(task(id)).is_ok(), "a private deque grows");
            }
            let run_all = |owner: &mut Q::Owner| {
                while let Some(task) = owner.pop() {
                    M::note(|| format!("runs {}", task.id()));
                    tasks.run(task.id().get());
                }
            };
            run_all(&mut owner);
            for (nth, &victim) in asks.iter().enumerate() {
                // A request that may stand does, from one victim to the next.
                let is_last = nth + 1 == asks.len();
                M::note(|| format!("asks {victim}"));
                let thief = thieves[victim].as_mut().expect("a worker asks others");
                let mut answer = thief.steal();
                let mut looks = 0;
                while answer == Steal::Pending {
                    owner.poll();
                    looks += 1;
                    answer = if !Q::WITHDRAWS {
                        M::spin_loop();
                        thief.steal()
                    } else if looks < LOOKS {
                        thief.steal()
                    } else if Q::STANDS && !is_last {
                        break;
                    } else {
                        thief.quiesce().map_or(Steal::Empty, Steal::Task)
                    };
                }
                if let Steal::Task(task) = answer {
                    let id = task.id().get();
                    tasks.thefts[index].0.bump();
                    let giver = thief.taken_from().unwrap_or(victim);
                    assert!(Q::NAMELESS || tasks.read(id).1 == giver, "task {id} was not {giver}'s");
                    tasks.write(id, index);
                    assert!(owner.push(task).is_ok(), "a private deque grows");
                }
                run_all(&mut owner);
            }
            owner.rest();
        };
        threads.push((format!("worker {index}"), Box::new(live)));
    }
    let finally = Box::new(move || {
        for (id, runs) in tasks.runs.iter().enumerate().skip(1) {
            let runs = runs.load(Ordering::Relaxed);
            ensure!(runs > 0, Lost, "task {id} was lost");
            ensure!(runs == 1, Twice, "task {id} was run {runs} times");
        }
        let sum = |counted: fn(&(Count, Arc<Counts>)) -> u64| tasks.thefts.iter().map(counted).sum::<u64>();
        let (stolen, given) = (sum(|(thefts, _)| thefts.get()), sum(|(_, counts)| counts.grants.get()));
        assert!(!Q::HANDS_OVER || stolen == given, "{given} tasks were counted as given, {stolen} stolen");
    });
    Program { threads, finally }
}

/// Describes what the workers do.
pub fn said(parts: &[Part]) -> String {
    let mut said = "workers".to_owned();
    for (made, asks) in parts {
        // Writing to a string cannot fail.
        let _ = write!(said, " {made}{}", asks.iter().map(|victim| format!("?{victim}")).collect::<String>());
    }
    said
}

/// Returns a scenario for the workers of each row.
pub(super) fn scenarios<Q: Queue<Tso> + Queue<Loom>>(
    rows: &'static [(&'static [Part], Cost)],
    tso: Params<Q, Tso>,
    c11: Params<Q, Loom>,
) -> Vec<Scenario> {
    let scenario = |&(parts, ref cost): &'static (&'static [Part], Cost)| Scenario {
        subject: <Q as Queue<Tso>>::PROMISES.name,
        name: said(parts),
        is_quick_on_tso: cost.is_quick_on_tso(),
        is_quick_on_c11: cost.is_quick_on_c11(),
        delta: Dependence::None,
        tso: Arc::new(move |setting| program::<Tso, Q>(parts, &tso(setting))),
        c11: cost.on_c11(move |setting| program::<Loom, Q>(parts, &c11(setting))),
    };
    rows.iter().map(scenario).collect()
}
