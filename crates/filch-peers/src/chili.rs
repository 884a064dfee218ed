//! chili: a `Scope` is passed along, and a heartbeat shares work.

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
    /// chili counts the thread that creates a scope as one of its threads, so one worker is that thread alone.
    pub(crate) fn start(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        let config = Config { thread_count: Some(workers), ..Config::default() };
        let root = Root::start(stack_bytes, move || Ok::<_, Failure>(ThreadPool::with_config(config)))?;
        Ok(Self { root, workers: workers.get() })
    }
}

impl Rival for Chili {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.root.run(|pool| instance.in_calls(|instance| instance.run(Handle::new(&mut pool.scope()))))
    }

    fn helper_stacks(&self) -> Option<(usize, &'static str)> {
        (self.workers > 1)
            .then(|| (default_stack_bytes(), "set RUST_MIN_STACK=BYTES in the environment, or use one worker"))
    }
}

/// The scope of one branch.
///
/// chili's closures take `&'a mut Scope<'b>`, but a branch has only one lifetime. The scope is only used through its
/// methods, and never overwritten or moved.
struct Handle<'a>(&'a mut Scope<'a>);

impl<'a> Handle<'a> {
    #[inline(always)]
    fn new<'b: 'a>(scope: &'a mut Scope<'b>) -> Self {
        // SAFETY: this only shortens a lifetime, in which the type is covariant. The exclusive reference would allow
        // storing a scope of the shorter lifetime, but this private field is never used for that.
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
