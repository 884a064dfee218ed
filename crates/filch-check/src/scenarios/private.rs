//! Workers with private deques made together: each runs its tasks, asks others in turn, runs what it gets, and ends.
//!
//! Invariant: every task runs once, the worker that runs it sees what its maker wrote, and every worker ends.

use std::fmt::Write as _;
use std::sync::Arc;

use filch_memory::{Atomic, AtomicInt, Cell, Memory, Ordering};
use filch_queue::{Owner, Queue, Steal, Thief};

use super::battery::Params;
use super::cost::Cost;
use super::queues::task;
use crate::Program;
use crate::c11::Loom;
use crate::scenario::{Checker, Dependence, Scenario};
use crate::tso::Tso;

/// The number of tasks that a worker makes, and the victims it asks for one.
pub type Part = (usize, &'static [usize]);

/// Per task, what its maker wrote, and how often it has run.
struct Tasks<M: Memory> {
    contents: Vec<M::Cell<usize>>,
    runs: Vec<M::AtomicUsize>,
}

impl<M: Memory> Tasks<M> {
    fn run(&self, id: usize) {
        // SAFETY: a task's taker may read what was written before the task was pushed; the checker reports any race.
        assert_eq!(self.contents[id].with(|contents| unsafe { *contents }), id, "the contents of a task");
        // Relaxed: read when all threads have ended.
        self.runs[id].fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the program of one worker per part.
pub fn program<M: Checker, Q: Queue<M>>(parts: &[Part], params: &Q::Params) -> Program {
    let count: usize = parts.iter().map(|&(made, _)| made).sum();
    let tasks = Arc::new(Tasks::<M> {
        contents: (0..=count).map(|_| Cell::new(0)).collect(),
        runs: (0..=count).map(|_| Atomic::new(0)).collect(),
    });
    // SAFETY: each worker's handles go to its own thread.
    let hands = unsafe { Q::make_together(parts.len(), 2, params) }.expect("they have their desks in common");
    let mut threads: Vec<(String, Box<dyn FnOnce()>)> = Vec::new();
    let mut next = 1;
    for (index, ((mut owner, mut thieves), &(made, asks))) in hands.into_iter().zip(parts).enumerate() {
        let (tasks, own) = (Arc::clone(&tasks), next..next + made);
        next += made;
        let live = move || {
            for id in own {
                // SAFETY: no other thread knows of the task before it is pushed.
                tasks.contents[id].with_mut(|contents| unsafe { *contents = id });
                assert!(owner.push(task(id)).is_ok(), "a private deque grows");
            }
            let run_all = |owner: &mut Q::Owner| {
                while let Some(task) = owner.pop() {
                    M::note(|| format!("runs {}", task.id()));
                    tasks.run(task.id().get());
                }
            };
            run_all(&mut owner);
            for &victim in asks {
                M::note(|| format!("asks {victim}"));
                let thief = thieves[victim].as_mut().expect("a worker asks others");
                let mut answer = thief.steal();
                while answer == Steal::Pending {
                    owner.poll();
                    M::spin_loop();
                    answer = thief.steal();
                }
                if let Steal::Task(task) = answer {
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
            match runs.load(Ordering::Relaxed) {
                0 => panic!("task {id} was lost"),
                1 => {}
                runs => panic!("task {id} was run {runs} times"),
            }
        }
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
        quick: cost.quick(),
        delta: Dependence::None,
        tso: Arc::new(move |setting| program::<Tso, Q>(parts, &tso(setting))),
        c11: cost.on_c11(move |setting| program::<Loom, Q>(parts, &c11(setting))),
    };
    rows.iter().map(scenario).collect()
}
