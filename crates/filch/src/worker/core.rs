//! A whole worker: its two fronts, its home, its task pool.
//!
//! Invariant: only the worker's own thread uses the parts of a [`Core`] that are neither atomic nor constant.

use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex, PoisonError};

use crate::fork::front::{Enter, Front, FrontKind, Operations};
use crate::fork::{here::Here, own::Own};
use crate::machine::processors::Places;
use crate::shared::guest::GuestSeat;
use crate::worker::{home::Home, plumbing::Plumbing, stats::Stats};

/// A worker of a thread pool whose task pools are of type `P`.
#[doc(hidden)]
pub struct Core<P: Plumbing> {
    /// For code that knows the exact head of the task stack.
    pub(crate) front: Front,
    /// For code that does not know the exact head.
    pub(crate) detached: Front,
    pub(crate) home: Home,
    pub(crate) pool: P,
    /// All workers of the thread pool.
    peers: Cell<NonNull<[Box<Self>]>>,
}

// SAFETY: thieves use only the atomics of `pool`, `home` and the fronts; only the worker's own thread uses anything
// else (the file's invariant), and `peers` is set before the threads start.
unsafe impl<P: Plumbing> Sync for Core<P> {}
// SAFETY: no part is tied to the thread that made it.
unsafe impl<P: Plumbing> Send for Core<P> {}

impl<P: Plumbing> Core<P> {
    /// Makes the workers of a thread pool at their places, and links them. The tables are those of the stack front and
    /// of the detached front, for pools of this type.
    pub(crate) fn assemble(
        pools: Vec<P>,
        homes: Vec<Home>,
        [on_stack, detached]: [&'static Operations; 2],
        places: &Places,
    ) -> Arc<[Box<Self>]> {
        let parts = pools.into_iter().zip(homes).map(|(pool, home)| Self {
            front: Front::new(FrontKind::Stack, on_stack),
            detached: Front::new(FrontKind::Detached, detached),
            home,
            pool,
            peers: Cell::new(NonNull::from(&mut [])),
        });
        let parts: Vec<Mutex<Option<Self>>> = parts.map(|worker| Mutex::new(Some(worker))).collect();
        let part = |index: usize| parts[index].lock().unwrap_or_else(PoisonError::into_inner).take();
        let make = |index| Box::new(part(index).expect("each is made once"));
        let workers: Arc<[Box<Self>]> = places.on_each(parts.len(), make).into();
        // From here on there are only shared references, so each pointer below is valid while the workers exist.
        for worker in &*workers {
            let (home, core) = (std::ptr::from_ref(&worker.home).cast(), std::ptr::from_ref(&**worker).cast());
            worker.front.attach(home, core);
            worker.detached.attach(home, core);
            worker.home.attach(P::front(worker), worker.pool.bottom());
            worker.peers.set(NonNull::from(&*workers));
        }
        if let Some(guests) = &workers[0].home.common.guests {
            guests.prepare(workers.iter().map(|worker| GuestSeat::new(P::front(worker), worker.pool.bottom())));
        }
        workers
    }

    /// Returns all workers of the thread pool, by number.
    pub(crate) fn peers(&self) -> &[Box<Self>] {
        // SAFETY: `assemble` set it to the slice that contains `self`.
        unsafe { self.peers.get().as_ref() }
    }

    /// Returns the counters of all workers.
    pub(crate) fn stats(workers: &[Box<Self>]) -> Stats {
        let read = |core: &Self| core.home.counters.read(core.pool.counted(), core.pool.peak_depth() as u64);
        Stats { workers: workers.iter().map(|core| read(core)).collect() }
    }
}

impl<'w, P: Plumbing> Here<'w, P> {
    /// Returns the whole worker.
    #[inline(always)]
    pub(crate) fn core(&self) -> &'w Core<P> {
        // SAFETY: where the type of the pool is known there is a worker, which `assemble` has attached, with that type,
        // to its fronts.
        unsafe { &*self.front().erased_core().cast() }
    }

    /// Returns the worker's type-erased part.
    #[inline(always)]
    pub(crate) fn home(&self) -> Own<'w, Home> {
        // SAFETY: this thread is the worker.
        unsafe { Own::new(&self.core().home) }
    }

    /// Returns the worker's task pool.
    #[inline(always)]
    pub(crate) fn pool(&self) -> Own<'w, P> {
        // SAFETY: this thread is the worker.
        unsafe { Own::new(&self.core().pool) }
    }

    /// Keeps closure style off the task stack until the returned value is dropped.
    pub(crate) fn detach(&self) -> Enter<'w> {
        // SAFETY: this thread is the worker, whose detached front admits nothing at any head.
        unsafe { Enter::new(&self.core().detached, null_mut()) }
    }
}
