//! Jobs that count their unfinished parts, compact, with mistakes to choose from.
//!
//! **Source.** The job system of the project injinj/WSQ, <https://github.com/injinj/WSQ>. A job counts itself and its children;
//! whoever takes off the last part has ended it.
//!
//! The program: a job whose runner makes two children, passes one on and runs the other. A third thread waits for the job, and
//! looks at what its children have done.
//!
//! What must always hold: without a mistake, all that was done in the job comes before the end of the wait, on every machine.

use std::sync::Arc;

use filch_memory::{Atomic, AtomicInt, Cell, Memory, Ordering};

use super::mutant::{Harm, Mutant, protocol};
use crate::tso::Tso;
use crate::{Checker, Program};

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// As in the source: the end of a part orders nothing. Where every update drains the store buffer it does no harm.
    RelaxedDecrement,
    /// A part is taken off by a load and a store.
    TwoSteps,
    /// A child is counted after it has been passed on.
    CountedAfterPassing,
}

struct Shared<M: Memory> {
    unfinished: M::AtomicUsize,
    passed: M::AtomicBool,
    /// By child: whether it has been run.
    ran: [M::Cell<bool>; CHILDREN],
}

const CHILDREN: usize = 2;

impl<M: Checker> Shared<M> {
    fn finish(&self, mistake: Mistake) {
        match mistake {
            Mistake::TwoSteps => {
                self.unfinished.store(self.unfinished.load(Ordering::Acquire) - 1, Ordering::Release);
            }
            Mistake::RelaxedDecrement => _ = self.unfinished.fetch_sub(1, Ordering::Relaxed),
            _ => _ = self.unfinished.fetch_sub(1, Ordering::AcqRel),
        }
    }

    fn run(&self, child: usize, mistake: Mistake) {
        M::note(|| format!("child {child}"));
        // SAFETY: a cell of the program; a checker reports any other access at the same time, where it looks for them.
        self.ran[child].with_mut(|ran| unsafe { *ran = true });
        self.finish(mistake);
    }
}

type Body = Box<dyn FnOnce()>;

/// Two workers, and a thread that waits.
pub fn program<M: Checker>(mistake: Mistake) -> Program {
    let shared = Arc::new(Shared::<M> {
        unfinished: Atomic::new(1),
        passed: Atomic::new(false),
        ran: [(); CHILDREN].map(|()| Cell::new(false)),
    });
    let [first, second, waiter] = [(); 3].map(|()| Arc::clone(&shared));
    let threads: [(&str, Body); 3] = [
        (
            "worker 0",
            Box::new(move || {
                let counts_late = mistake == Mistake::CountedAfterPassing;
                if !counts_late {
                    first.unfinished.fetch_add(2, Ordering::Relaxed);
                }
                first.passed.store(true, Ordering::Release);
                if counts_late {
                    first.unfinished.fetch_add(2, Ordering::Relaxed);
                }
                first.run(1, mistake);
                M::note(|| "its own part".into());
                first.finish(mistake);
            }),
        ),
        (
            "worker 1",
            Box::new(move || {
                while !second.passed.load(Ordering::Acquire) {
                    M::spin_loop();
                }
                second.run(0, mistake);
            }),
        ),
        (
            "waiter",
            Box::new(move || {
                while waiter.unfinished.load(Ordering::Acquire) != 0 {
                    M::spin_loop();
                }
                M::note(|| "the job is over".into());
                for (child, ran) in waiter.ran.iter().enumerate() {
                    // SAFETY: as in `run`.
                    let ran = ran.with(|ran| unsafe { *ran });
                    assert!(ran, "the end was announced before child {child} had run");
                }
            }),
        ),
    ];
    Program { threads: threads.map(|(name, body)| (name.to_owned(), body)).into(), finally: Box::new(|| ()) }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = |name, mistake, harm, shows| {
        protocol("lineage", (name, mistake), "two children, two workers, one wait", harm, shows, program::<Tso>)
    };
    vec![
        row(
            "two-steps",
            Mistake::TwoSteps,
            Harm::Hang,
            "two workers take off a part each, and the count is lower by one",
        ),
        row(
            "counted-after-passing",
            Mistake::CountedAfterPassing,
            Harm::EarlyEnd,
            "a child that is finished before it is counted ends the job in its parent's place",
        ),
    ]
}
