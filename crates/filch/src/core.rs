//! A worker, whole: its two fronts, its home, its task pool.
//!
//! What must always hold: everything in a [`Core`] that is not atomic and not constant is touched only by the thread that
//! is this worker.
//!
//! This file and [`pool`](crate::pool) need each other: a worker's type is that of its pool, and what a pool does it does to workers.

use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use crate::front::{Enter, Front, FrontKind, Operations};
use crate::guest::GuestSeat;
use crate::here::Here;
use crate::home::Home;
use crate::own::Own;
use crate::pool::Plumbing;
use crate::stats::Stats;

/// A worker of a thread pool whose task pools are of type `P`.
#[doc(hidden)]
pub struct Core<P: Plumbing> {
    /// For code that knows the exact head of the task stack.
    pub(crate) front: Front,
    /// For code that does not.
    pub(crate) detached: Front,
    pub(crate) home: Home,
    pub(crate) pool: P,
    /// All workers of the thread pool.
    peers: Cell<NonNull<[Self]>>,
}

// SAFETY: thieves use the atomics of `pool`, `home` and the fronts only; everything else is touched by the worker's own
// thread alone (the file's invariant), and `peers` is set before the threads start.
unsafe impl<P: Plumbing> Sync for Core<P> {}
// SAFETY: nothing in it is tied to the thread that made it.
unsafe impl<P: Plumbing> Send for Core<P> {}

impl<P: Plumbing> Core<P> {
    /// The workers of a thread pool, each knowing the others. The tables are those of its two fronts, for pools of this type.
    pub(crate) fn assemble(
        pools: Vec<P>,
        homes: Vec<Home>,
        [on_stack, detached]: [&'static Operations; 2],
    ) -> Arc<[Self]> {
        let workers = pools.into_iter().zip(homes).map(|(pool, home)| Self {
            front: Front::new(FrontKind::Stack, on_stack),
            detached: Front::new(FrontKind::Detached, detached),
            home,
            pool,
            peers: Cell::new(NonNull::from(&mut [])),
        });
        let workers: Arc<[Self]> = workers.collect();
        // From here on there are shared references only: each pointer below may be used as long as the workers are there.
        for worker in &*workers {
            let (home, core) = (std::ptr::from_ref(&worker.home).cast(), std::ptr::from_ref(worker).cast());
            worker.front.attach(home, core);
            worker.detached.attach(home, core);
            worker.peers.set(NonNull::from(&*workers));
        }
        if let Some(guests) = &workers[0].home.common.guests {
            guests.prepare(workers.iter().map(|worker| GuestSeat::new(P::front(worker), worker.pool.bottom())));
        }
        workers
    }

    /// All workers of the thread pool, by number.
    pub(crate) fn peers(&self) -> &[Self] {
        // SAFETY: set by `assemble` to the slice that `self` is in.
        unsafe { self.peers.get().as_ref() }
    }

    /// The counters of all workers.
    pub(crate) fn stats(workers: &[Self]) -> Stats {
        let read = |core: &Self| core.home.counters.read(core.pool.peak_depth() as u64);
        Stats { workers: workers.iter().map(read).collect() }
    }
}

impl<'w, P: Plumbing> Here<'w, P> {
    /// The whole worker.
    #[inline(always)]
    pub(crate) fn core(&self) -> &'w Core<P> {
        // SAFETY: where the type of the pool is known there is a worker, and `assemble` has attached it, of that type, to its fronts.
        unsafe { &*self.front().erased_core().cast() }
    }

    /// Its type-erased part.
    #[inline(always)]
    pub(crate) fn home(&self) -> Own<'w, Home> {
        // SAFETY: this thread is the worker.
        unsafe { Own::new(&self.core().home) }
    }

    /// Its task pool.
    #[inline(always)]
    pub(crate) fn pool(&self) -> Own<'w, P> {
        // SAFETY: this thread is the worker.
        unsafe { Own::new(&self.core().pool) }
    }

    /// Keeps closure style off the stack until what is returned is dropped.
    pub(crate) fn detach(&self) -> Enter<'w> {
        // SAFETY: this thread is the worker, whose detached front admits nothing at any head.
        unsafe { Enter::new(&self.core().detached, null_mut()) }
    }
}
