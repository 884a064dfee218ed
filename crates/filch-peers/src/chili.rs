//! chili: a `Scope` is passed along, and work is shared at a heartbeat.

use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};
use filch_workloads::{Answer, ForkJoin, Instance, Program, forks_by_halves};

use crate::peer::{Failure, Rival, default_stack_bytes};
use crate::root::Root;

pub(crate) struct Chili {
    root: Root<ThreadPool>,
    workers: usize,
}

impl Chili {
    /// chili counts the thread that makes a scope among its threads, so one worker is that thread alone.
    pub(crate) fn start(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        let config = Config { thread_count: Some(workers), ..Config::default() };
        let root = Root::start(stack_bytes, move || Ok::<_, Failure>(ThreadPool::with_config(config)))?;
        Ok(Self { root, workers: workers.get() })
    }
}

impl Rival for Chili {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.root.run(|pool| instance.run(Handle::new(&mut pool.scope())))
    }

    fn helper_stacks(&self) -> Option<(usize, &'static str)> {
        (self.workers > 1)
            .then(|| (default_stack_bytes(), "set RUST_MIN_STACK=BYTES in the environment, or use one worker"))
    }
}

/// A scope as one branch sees it.
///
/// chili's closures take `&'a mut Scope<'b>`, and a branch has one lifetime only. The scope is used through its methods
/// alone and never overwritten or moved.
struct Handle<'a>(&'a mut Scope<'a>);

impl<'a> Handle<'a> {
    #[inline(always)]
    fn new<'b: 'a>(scope: &'a mut Scope<'b>) -> Self {
        // SAFETY: only a lifetime is shortened, of a type that is covariant in it. What the exclusive reference forbids
        // is to put a scope of the shorter lifetime there, which this private field is not used for.
        Self(unsafe { std::mem::transmute::<&'a mut Scope<'b>, &'a mut Scope<'a>>(scope) })
    }
}

impl ForkJoin for Handle<'_> {
    type Branch<'b> = Handle<'b>;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Handle<'b>) -> RA + Send,
        B: for<'b> FnOnce(Handle<'b>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.join(move |scope| a(Handle::new(scope)), move |scope| b(Handle::new(scope)))
    }

    forks_by_halves!();
}
