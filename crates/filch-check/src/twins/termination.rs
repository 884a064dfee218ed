//! Termination detection by counts, compact, with mistakes to choose from.
//!
//! **Paper.** Umut Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with Private Deques*,
//! PPoPP 2013, section 5. Each worker counts the bags that it has created, before anybody can see them, and those that it has
//! finished. All work has ended if the sum of the finished, read first, is the sum of the created, read second.
//!
//! The program: a bag that splits off a second, which another worker runs and which splits off a third for the first worker. A
//! third thread checks once.
//!
//! What must always hold: without a mistake, a check that says that all work has ended is right, on every machine.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};

use super::mutant::{Harm, Mutant, protocol};
use crate::tso::Tso;
use crate::{Checker, Program};

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// The checker sums up the created bags before the finished ones.
    CreatedReadFirst,
    /// A worker counts a bag after it has published it.
    CountedAfterPublishing,
}

struct Shared<M: Memory> {
    /// By worker, as what follows.
    created: Vec<M::AtomicUsize>,
    finished: Vec<M::AtomicUsize>,
    /// A bag for the worker to run.
    mailbox: Vec<M::AtomicUsize>,
    /// By bag: whether it has been run.
    ran: Vec<M::AtomicBool>,
}

const BAGS: usize = 3;

impl<M: Memory> Shared<M> {
    fn count(counter: &M::AtomicUsize) {
        // Its only writer.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Runs a bag: bag 0 splits off bag 1, and that one bag 2, each for the other worker.
    fn run(&self, worker: usize, bag: usize, mistake: Mistake) {
        if bag + 1 < BAGS {
            if mistake != Mistake::CountedAfterPublishing {
                Self::count(&self.created[worker]);
            }
            self.mailbox[1 - worker].store(bag + 1, Ordering::Release);
            if mistake == Mistake::CountedAfterPublishing {
                Self::count(&self.created[worker]);
            }
        }
        self.ran[bag].store(true, Ordering::Relaxed);
        Self::count(&self.finished[worker]);
    }

    fn receive(&self, worker: usize) -> usize {
        loop {
            let bag = self.mailbox[worker].load(Ordering::Acquire);
            if bag != 0 {
                return bag;
            }
            M::spin_loop();
        }
    }

    fn has_ended(&self, mistake: Mistake) -> bool {
        let sum = |counters: &[M::AtomicUsize]| counters.iter().map(|count| count.load(Ordering::Acquire)).sum();
        let early: Option<usize> = (mistake == Mistake::CreatedReadFirst).then(|| sum(&self.created));
        let finished: usize = sum(&self.finished);
        finished == early.unwrap_or_else(|| sum(&self.created))
    }
}

type Body = Box<dyn FnOnce()>;

/// Two workers and a checker.
pub fn program<M: Checker>(mistake: Mistake) -> Program {
    let shared = Arc::new(Shared::<M> {
        created: [1, 0].into_iter().map(|count| Atomic::new(count)).collect(),
        finished: (0..2).map(|_| Atomic::new(0)).collect(),
        mailbox: (0..2).map(|_| Atomic::new(0)).collect(),
        ran: (0..BAGS).map(|_| Atomic::new(false)).collect(),
    });
    let [first, second, checker] = [(); 3].map(|()| Arc::clone(&shared));
    let threads: [(&str, Body); 3] = [
        (
            "worker 0",
            Box::new(move || {
                M::note(|| "bag 0".into());
                first.run(0, 0, mistake);
                let bag = first.receive(0);
                M::note(|| format!("bag {bag}"));
                first.run(0, bag, mistake);
            }),
        ),
        (
            "worker 1",
            Box::new(move || {
                let bag = second.receive(1);
                M::note(|| format!("bag {bag}"));
                second.run(1, bag, mistake);
            }),
        ),
        (
            "checker",
            Box::new(move || {
                if checker.has_ended(mistake) {
                    M::note(|| "all work has ended".into());
                    for (bag, ran) in checker.ran.iter().enumerate() {
                        assert!(ran.load(Ordering::Relaxed), "the end was announced before bag {bag} had run");
                    }
                }
            }),
        ),
    ];
    Program { threads: threads.map(|(name, body)| (name.to_owned(), body)).into(), finally: Box::new(|| ()) }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = |name, mistake, shows| {
        let client = "three bags, two workers, one check";
        protocol("termination", (name, mistake), client, Harm::EarlyEnd, shows, program::<Tso>)
    };
    vec![
        row(
            "created-read-first",
            Mistake::CreatedReadFirst,
            "a bag that is created after the one sum and finished before the other makes up for one that is not finished",
        ),
        row(
            "counted-after-publishing",
            Mistake::CountedAfterPublishing,
            "a bag that is finished before it is counted makes up for one that is not finished",
        ),
    ]
}
