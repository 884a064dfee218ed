//! Jobs, their parents, and their places: [`Lineage`] and [`Returned`] as filch's `teams/jobs/worker.rs` uses them.
//!
//! Checks: everything done in a job and below it happens before what follows its end, both for the worker that ends it
//! and for a waiter. A place is reused only after its last user is done with it. A thread that asks
//! about an earlier job of a place is told so.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use filch::inside::protocol::lineage::{Descent, Lineage, Returned};
use filch_memory::{Atomic, Cell, Memory, Ordering};

use super::queues::lock;
use crate::Program;
use crate::harm::ensure;
use crate::scenario::Checker;

/// A parent, its children, and their work.
struct Family<M: Memory> {
    /// Whether each part is added and finished by an update of its own.
    by_updates: bool,
    parent: Lineage<M>,
    children: [Lineage<M>; 2],
    /// Per child, whether its work is done.
    work: [M::Cell<bool>; 2],
    /// Per child, whether it has been passed on.
    passed: [M::AtomicBool; 2],
    /// How often the parent has ended.
    ended: Mutex<usize>,
}

/// The parent's life, by which other threads can ask about it if it is known.
const LIFE: u32 = 1;

impl<M: Checker> Family<M> {
    fn new(known: bool, by_updates: bool) -> Arc<Self> {
        let family = Self {
            by_updates,
            parent: Lineage::default(),
            children: Default::default(),
            work: [(); 2].map(|()| Cell::new(false)),
            passed: [(); 2].map(|()| Atomic::new(false)),
            ended: Mutex::new(0),
        };
        assert_eq!(family.parent.begin(None, known), LIFE);
        Arc::new(family)
    }

    /// Adds a child to the parent.
    fn make(&self, child: usize) {
        if self.by_updates {
            self.parent.add_by_update();
        } else {
            self.parent.add(1);
        }
        self.children[child].begin(Some(NonNull::from(&self.parent)), false);
    }

    fn pass(&self, child: usize) {
        M::note(|| format!("passes child {child} on"));
        self.passed[child].store(true, Ordering::Release);
    }

    fn receive(&self, child: usize) {
        while !self.passed[child].load(Ordering::Acquire) {
            M::spin_loop();
        }
    }

    /// Runs a child, which has no children.
    fn run(&self, child: usize) {
        M::note(|| format!("runs child {child}"));
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        self.work[child].with_mut(|done| unsafe { *done = true });
        assert!(self.end(&self.children[child], 1), "child {child} is not over");
        assert_eq!(self.children[child].parent(), Some(NonNull::from(&self.parent)));
    }

    /// Finishes parts of a job; whether they were the last.
    fn end(&self, job: &Lineage<M>, parts: u32) -> bool {
        if self.by_updates { job.finish_by_update() } else { job.finish(parts) }
    }

    /// Finishes parts of the parent.
    fn finish(&self, parts: u32) {
        if self.end(&self.parent, parts) {
            M::note(|| "ends the parent".into());
            self.both_are_done();
            *lock(&self.ended) += 1;
        }
    }

    fn both_are_done(&self) {
        for (child, work) in self.work.iter().enumerate() {
            // SAFETY: as in `run`.
            let is_done = work.with(|done| unsafe { *done });
            ensure!(is_done, EarlyEnd, "the end came before child {child} was done");
        }
    }

    fn finally(&self) {
        let ended = *lock(&self.ended);
        ensure!(ended > 0, NoEnd, "the parent has not ended");
        assert_eq!(ended, 1, "the parent ended this often");
    }
}

type Body = Box<dyn FnOnce()>;

fn program_of(threads: Vec<(&str, Body)>, finally: Body) -> Program {
    Program { threads: threads.into_iter().map(|(name, body)| (name.to_owned(), body)).collect(), finally }
}

/// How a worker finishes a child and then the child's parent, which it is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finishing {
    /// One after the other.
    OneByOne,
    /// One after the other, each by an update of its own.
    ByUpdates,
    /// One after the other, asking in between whether the other child is over.
    Asking,
    /// Both parts of the parent together.
    Together,
}

/// One worker makes two children, passes one on and runs the other. If the parent is known, a third thread asks `looks`
/// times whether it is over.
pub fn family<M: Checker>(finishing: Finishing, looks: Option<usize>) -> Program {
    let family = Family::<M>::new(looks.is_some(), finishing == Finishing::ByUpdates);
    let [first, second, third, last] = [(); 4].map(|()| Arc::clone(&family));
    let make = move || {
        first.make(0);
        first.pass(0);
        first.make(1);
        first.run(1);
        if finishing == Finishing::Together {
            return first.finish(2);
        }
        first.finish(1);
        if finishing == Finishing::Asking && first.parent.is_left_with(1) {
            M::note(|| "finds both children over".into());
            first.both_are_done();
        }
        first.finish(1);
    };
    let help = move || {
        second.receive(0);
        second.run(0);
        second.finish(1);
    };
    let mut threads: Vec<(&str, Body)> = vec![("worker 0", Box::new(make)), ("worker 1", Box::new(help))];
    if let Some(looks) = looks {
        let wait = move || {
            if (0..looks).any(|_| third.parent.is_over(LIFE)) {
                M::note(|| "finds the parent over".into());
                third.both_are_done();
            }
        };
        threads.push(("waiter", Box::new(wait)));
    }
    let check = move || {
        last.finally();
        assert!(looks.is_none() || last.parent.is_over(LIFE), "the parent is not over");
    };
    program_of(threads, Box::new(check))
}

/// One worker makes two children in turn; a second and a third worker run one each.
pub fn one_after_the_other<M: Checker>() -> Program {
    let family = Family::<M>::new(false, false);
    let [first, second, third, last] = [(); 4].map(|()| Arc::clone(&family));
    let make = move || {
        first.make(0);
        first.pass(0);
        first.make(1);
        first.pass(1);
        first.finish(1);
    };
    let help = |family: Arc<Family<M>>, child| -> Body {
        Box::new(move || {
            family.receive(child);
            family.run(child);
            family.finish(1);
        })
    };
    program_of(
        vec![("worker 0", Box::new(make)), ("worker 1", help(second, 0)), ("worker 2", help(third, 1))],
        Box::new(move || last.finally()),
    )
}

/// The owner of a block with one place makes a job in it, which another worker runs. The owner checks up to `looks`
/// times whether the place has been returned, and if so makes the next job. A third thread has the first job's name and
/// asks whether that job is over.
pub fn reuse<M: Checker>(looks: usize) -> Program {
    struct Block<M: Memory> {
        roots: [Lineage<M>; 2],
        place: Lineage<M>,
        returned: Returned<M>,
        /// The content of the place.
        content: M::Cell<usize>,
        result: M::Cell<usize>,
    }
    let block: Arc<Block<M>> = Arc::new(Block {
        roots: Default::default(),
        place: Lineage::default(),
        returned: Returned::default(),
        content: Cell::new(0),
        result: Cell::new(0),
    });
    let make = |block: &Block<M>, job: usize| {
        let root = &block.roots[job - 1];
        assert_eq!(root.begin(None, true), LIFE);
        root.add(1);
        let life = block.place.begin(Some(NonNull::from(root)), true);
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        block.content.with_mut(|content| unsafe { *content = job });
        assert_eq!(life, job as u32);
    };
    make(&block, 1);
    let [first, second, third] = [(); 3].map(|()| Arc::clone(&block));
    let owner = move || {
        if (0..looks).any(|_| first.returned.all(1)) {
            M::note(|| "makes the next job in the same place".into());
            make(&first, 2);
            // The owner runs this job itself.
            first.returned.by_owner();
            assert!(!first.returned.all(2), "places are given back that were not handed out");
        }
    };
    let run = move || {
        // SAFETY: as above.
        assert_eq!(second.content.with(|content| unsafe { *content }), 1, "what is in the place");
        // SAFETY: as above.
        second.result.with_mut(|result| unsafe { *result = 10 });
        assert!(second.place.finish(1));
        let root = second.place.parent();
        M::note(|| "gives the place back".into());
        second.returned.by_other();
        assert_eq!(root, Some(NonNull::from(&second.roots[0])), "the first job's parent");
        second.roots[0].finish(1);
    };
    let ask = move || {
        // SAFETY: all places stay alive.
        let descent = unsafe { third.place.descent_from(1, NonNull::from(&third.roots[0])) };
        assert_ne!(descent, Descent::Unrelated, "the job of another life was asked for its parent");
        if third.place.is_over(1) {
            M::note(|| "finds the first job over".into());
            // SAFETY: as above.
            assert_eq!(third.result.with(|result| unsafe { *result }), 10, "the result");
        }
    };
    program_of(vec![("owner", Box::new(owner)), ("thief", Box::new(run)), ("waiter", Box::new(ask))], Box::new(|| ()))
}
