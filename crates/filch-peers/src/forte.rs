//! forte: a worker is passed along, and a heartbeat shares work.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{LazyLock, Mutex, PoisonError};

use filch_workloads::{Answer, ForkJoin, Instance, Program, forks_by_halves};
use forte::{ThreadPool, Worker};

use crate::peer::{Failure, Rival, default_stack_bytes};
use crate::root::Root;

/// The pools by number of workers. They are never dropped: this version of forte deadlocks when a pool with threads
/// shrinks, since it joins its heartbeat thread while holding the lock that the heartbeat takes.
static POOLS: LazyLock<Mutex<HashMap<NonZero<usize>, &'static ThreadPool>>> = LazyLock::new(Mutex::default);

pub(crate) struct Forte {
    root: Root<&'static ThreadPool>,
    workers: usize,
}

impl Forte {
    /// A thread that enters a pool from outside becomes an additional worker.
    pub(crate) fn start(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        let root = Root::start(stack_bytes, move || Ok::<_, Failure>(pool(workers)))?;
        Ok(Self { root, workers: workers.get() })
    }
}

impl Rival for Forte {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.root.run(|pool| instance.in_calls(|instance| pool.with_worker(|worker| instance.run(Handle(worker)))))
    }

    fn helper_stacks(&self) -> Option<(usize, &'static str)> {
        (self.workers > 1)
            .then(|| (default_stack_bytes(), "set RUST_MIN_STACK=BYTES in the environment, or use one worker"))
    }
}

fn pool(workers: NonZero<usize>) -> &'static ThreadPool {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.entry(workers).or_insert_with(|| {
        let pool: &'static ThreadPool = Box::leak(Box::new(ThreadPool::new()));
        pool.resize_to(workers.get() - 1);
        pool
    })
}

#[derive(Clone, Copy)]
struct Handle<'w>(&'w Worker);

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
        self.0.join(move |worker| a(Handle(worker)), move |worker| b(Handle(worker)))
    }

    forks_by_halves!();
}
