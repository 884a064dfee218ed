//! Chase–Lev on one ring: a deque that does not grow.
//!
//! **Paper.** David Chase and Yossi Lev, *Dynamic Circular Work-Stealing Deque*, SPAA 2005,
//! <https://doi.org/10.1145/1073970.1073974>, without the growing.
//!
//! **Idea.** [`chase_lev`](crate::chase_lev) with the same fields, invariants, edges and code, but with the ring inside
//! the deque. A thief finds a task with one load less, which on a cold line is one miss less, and nothing is ever
//! copied or allocated. A comparison with `chase_lev` shows the cost of growing; a comparison with [`abp`](crate::abp),
//! which is bounded too, shows the gain of a circular array over an array that is full at its end.
//!
//! **Memory model, progress.** As in `chase_lev`. **Capacity.** A ring.
//!
//! **Departures.** As in `chase_lev`. In addition, a push that finds no room returns its task. Tests:
//! `queues/battery.rs` (overflow, wrap-around, last task), `queues/property.rs`.
//!
//! **Scenarios.** `chase_lev_fixed` in the battery, the property and the stalled-thief tests; `chase-lev-fixed` in the
//! checker.

use alloc::vec::Vec;

use filch_memory::Memory;

use crate::chase_lev::{Owner, Thief, make};
use crate::slots::Ring;
use crate::{Capacity, ChaseLev, Padded, Promises, Queue, Steal, Task};

/// The Chase–Lev deque of one size: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{ChaseLevFixed, Full, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <ChaseLevFixed as Queue>::make(2, 1, &());
/// owner.push(task(1)).unwrap();
/// owner.push(task(2)).unwrap();
/// assert_eq!(owner.push(task(3)), Err(Full(task(3))));
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(owner.push(task(3)), Ok(())); // in the slot that the thief emptied
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChaseLevFixed;

// SAFETY: the invariants and edges of `chase_lev.rs`, none of which needs a second ring.
unsafe impl<M: Memory> Queue<M> for ChaseLevFixed {
    type Owner = Owner<M, Padded<Ring<M>>>;
    type Thief = Thief<M, Padded<Ring<M>>>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "chase-lev-fixed",
        follows: "figures 2 and 5, without the growing; orderings after figure 1 of Lê et al., PPoPP 2013",
        departures: &["Those of chase-lev."],
        capacity: Capacity::Ring,
        ..<ChaseLev as Queue<M>>::PROMISES
    };

    // As in `chase_lev.rs`.
    const FENCES_POPS: bool = true;

    const THIEVES_ALIKE: bool = true;

    #[inline]
    fn steal_alike(thief: &Self::Thief) -> Steal<Task> {
        thief.steal_shared()
    }

    fn make(capacity: usize, thieves: usize, (): &()) -> (Self::Owner, Vec<Self::Thief>) {
        make(capacity, thieves)
    }
}
