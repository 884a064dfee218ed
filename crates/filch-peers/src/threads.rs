//! The standard library's threads: what people use who do not know better.
//!
//! A fork starts a thread for its second branch, and gives it half of the threads that its own branch may use; with
//! one, both branches are calls. So as many threads compute as there are workers, but none helps another that has more
//! to do.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use filch_workloads::{Answer, ForkJoin, Instance, Program, forks_by_halves};

use crate::peer::{Failure, Rival};

pub(crate) struct Threads {
    workers: usize,
    stack_bytes: usize,
}

impl Threads {
    /// Nothing is started before the first fork.
    pub(crate) fn start(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        Ok(Self { workers: workers.get(), stack_bytes })
    }
}

impl Rival for Threads {
    fn run(&self, instance: &mut Instance) -> Answer {
        instance.in_calls(|instance| instance.run(Handle { threads: self.workers, stack_bytes: self.stack_bytes }))
    }
}

/// The threads that a branch may use, itself included.
struct Handle {
    threads: usize,
    stack_bytes: usize,
}

impl Handle {
    fn with(&self, threads: usize) -> Self {
        Self { threads, stack_bytes: self.stack_bytes }
    }
}

impl ForkJoin for Handle {
    type Branch<'b> = Self;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Self) -> RA + Send,
        B: FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        if self.threads < 2 {
            return (a(self.with(1)), b(self.with(1)));
        }
        let theirs = self.threads / 2;
        let (one, other) = (self.with(self.threads - theirs), self.with(theirs));
        thread::scope(|scope| {
            let builder = thread::Builder::new().stack_size(self.stack_bytes);
            let thread = builder.spawn_scoped(scope, move || b(other)).expect("the system has a thread");
            let result = a(one);
            (result, thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    forks_by_halves!();
}
