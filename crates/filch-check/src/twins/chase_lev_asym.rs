//! Chase–Lev with an asymmetric fence, compact, with mistakes to choose from. See `filch_queue::chase_lev_asym` for the
//! algorithm. It does not grow, and a thief does not look first whether a barrier is worth it.
//!
//! What must always hold: without a mistake it is correct on every machine.

use std::sync::Arc;

use filch_memory::{Asymmetric, Atomic, Ordering};
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::mutant::{Harm, Mutant, buffer, mistaken};
use super::twin::{Ring, promises, task, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// Steal has no barrier between its loads of top and bottom.
    NoHeavyBarrier,
    /// Steal has its barrier before both loads.
    BarrierFirst,
    /// Pop takes the last task without swapping top.
    NoSwapForLast,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct ChaseLevAsym;

struct Shared<M: Asymmetric> {
    top: M::AtomicI64,
    bottom: M::AtomicI64,
    slots: Ring<M>,
}

/// The owner's side.
pub struct Owner<M: Asymmetric> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
    bottom: i64,
}

/// A thief's side.
pub struct Thief<M: Asymmetric> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Asymmetric> Queue<M> for ChaseLevAsym {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = promises("chase-lev-asym");

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared { top: Atomic::new(0), bottom: Atomic::new(0), slots: Ring::new(capacity) });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), mistake }).collect();
        (Owner { shared, mistake, bottom: 0 }, thieves)
    }
}

impl<M: Asymmetric> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let top = self.shared.top.load(Ordering::Acquire);
        if self.bottom - top >= self.shared.slots.len() as i64 {
            return Err(Full(task));
        }
        self.shared.slots[self.bottom].store(word(task), Ordering::Relaxed);
        self.bottom += 1;
        self.shared.bottom.store(self.bottom, Ordering::Release);
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let shared = &*self.shared;
        let b = self.bottom - 1;
        shared.bottom.store(b, Ordering::Release);
        M::light_barrier();
        let t = shared.top.load(Ordering::Relaxed);
        if t > b {
            shared.bottom.store(b + 1, Ordering::Release);
            return None;
        }
        let popped = shared.slots[b].load(Ordering::Relaxed);
        if t == b && self.mistake != Mistake::NoSwapForLast {
            let won = shared.top.compare_exchange(t, t + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
            shared.bottom.store(b + 1, Ordering::Release);
            return won.then(|| task(popped));
        }
        self.bottom = b;
        Some(task(popped))
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Asymmetric> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let (shared, mistake) = (&*self.shared, self.mistake);
        if mistake == Mistake::BarrierFirst {
            M::heavy_barrier();
        }
        let t = shared.top.load(Ordering::Acquire);
        if !matches!(mistake, Mistake::BarrierFirst | Mistake::NoHeavyBarrier) {
            M::heavy_barrier();
        }
        if t >= shared.bottom.load(Ordering::Acquire) {
            return Steal::Empty;
        }
        let stolen = shared.slots[t].load(Ordering::Relaxed);
        match shared.top.compare_exchange(t, t + 1, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task(stolen)),
            Err(_) => Steal::Retry,
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = mistaken::<ChaseLevAsym>;
    vec![
        row(
            "no-heavy-barrier",
            Mistake::NoHeavyBarrier,
            Client::new(2, 2, "-", &[2]),
            buffer(1),
            Harm::Twice,
            "pop's load of top overtakes its store of bottom, and owner and thief take one task",
        ),
        row(
            "barrier-first",
            Mistake::BarrierFirst,
            Client::new(2, 2, "-", &[1, 1]),
            buffer(1),
            Harm::Twice,
            "the barrier is over when pop stores bottom, and a thief goes by a top that pop did not see",
        ),
        row(
            "no-swap-for-last",
            Mistake::NoSwapForLast,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::Twice,
            "a thief that has seen the last task swaps top after the owner has taken it",
        ),
    ]
}
