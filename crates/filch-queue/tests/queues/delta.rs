//! The fence-free queues with a finite δ.

use core::marker::PhantomData;

use filch_memory::Memory;
use filch_queue::{Delta, Promises, Queue};

/// `Q` with δ for the bound that is assumed of every processor.
pub(crate) type Bounded<Q> = WithDelta<Q, { Delta::ASSUMED_BOUND / 2 }>;

/// `Q` with the least δ. Only for tests whose threads see each other's every step, or that have only one thread.
pub(crate) type Least<Q> = WithDelta<Q, 1>;

/// `Q` with this δ.
pub(crate) struct WithDelta<Q, const DELTA: usize>(PhantomData<fn() -> Q>);

// SAFETY: `Q` keeps the promises.
unsafe impl<M: Memory, Q: Queue<M, Params = Delta>, const DELTA: usize> Queue<M> for WithDelta<Q, DELTA> {
    type Owner = Q::Owner;
    type Thief = Q::Thief;
    type Params = ();

    const PROMISES: Promises = Q::PROMISES;
    const WITHDRAWS: bool = Q::WITHDRAWS;

    fn make(capacity: usize, thieves: usize, (): &()) -> (Q::Owner, Vec<Q::Thief>) {
        // SAFETY: `Bounded` has the δ of the assumed bound, `Least` is for memory without store buffers.
        let delta = unsafe { Delta::new(DELTA) };
        Q::make(capacity, thieves, &delta)
    }
}
