//! lace-ws: spawn and sync on a split deque, after the C library Lace.
//!
//! Its macros expand only to calls of the worker's public methods `join`, `spawn` and `sync` with a function and its
//! arguments. A generic function that takes a closure as its argument is such a function. So the programs use the same
//! methods as hand-written tasks, and a branch's captures replace the arguments.

use std::num::NonZero;

use filch_workloads::{Answer, ForkJoin, Instance, Program};
use lace_ws::{Lace, Worker};

use crate::peer::{Failure, Rival};
use crate::root::Root;

/// The stack size of its own threads, which cannot be chosen.
const HELPER_STACK_BYTES: usize = 16 << 20;

pub(crate) struct LaceWs {
    root: Root<Lace>,
    workers: usize,
}

impl LaceWs {
    /// The thread that creates a `Lace` is its first worker.
    pub(crate) fn start(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        let workers = workers.get();
        let root = Root::start(stack_bytes, move || Ok::<_, Failure>(Lace::init(workers)))?;
        Ok(Self { root, workers })
    }
}

impl Rival for LaceWs {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.root.run(|lace| instance.in_calls(|instance| lace.run(|worker| instance.run(Handle(worker)))))
    }

    fn helper_stacks(&self) -> Option<(usize, &'static str)> {
        (self.workers > 1).then_some((HELPER_STACK_BYTES, "use one worker"))
    }
}

struct Handle<'w>(&'w mut Worker);

/// The task of a branch.
#[inline(always)]
fn branch<F, R>(worker: &mut Worker, f: F) -> R
where
    F: for<'b> FnOnce(Handle<'b>) -> R,
{
    f(Handle(worker))
}

/// The task of one item.
#[inline(always)]
fn item<F, T, R>(worker: &mut Worker, (each, item): (&F, T)) -> R
where
    F: for<'b> Fn(Handle<'b>, T) -> R,
{
    each(Handle(worker), item)
}

impl ForkJoin for Handle<'_> {
    type Branch<'b> = Handle<'b>;

    /// lace-ws spawns its first argument, so that is our second branch.
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Handle<'b>) -> RA + Send,
        B: for<'b> FnOnce(Handle<'b>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let (b, a) = self.0.join(branch::<B, RB>, b, branch::<A, RA>, a);
        (a, b)
    }

    #[inline(always)]
    fn fork_all<I, T, R, S, F, G>(&mut self, items: I, each: F, init: S, mut fold: G) -> S
    where
        I: IntoIterator<Item = T>,
        T: Send,
        R: Send,
        F: for<'b> Fn(Handle<'b>, T) -> R + Sync,
        G: FnMut(S, R) -> S,
    {
        // A token is a zero-sized type, so the vector does not allocate.
        let mut tokens = Vec::new();
        for i in items {
            tokens.push(self.0.spawn(item::<F, T, R>, (&each, i)));
        }
        let mut sum = init;
        while let Some(token) = tokens.pop() {
            sum = fold(sum, self.0.sync(token));
        }
        sum
    }
}
