//! Dealing out the handles of one word queue per worker; and a steal attempt on any queue.
//!
//! Invariant: once an attempt has polled for its answer, nothing is left that only that thief could take, unless the
//! owners are told not to revoke grants, or the request stands.

use std::sync::Arc;

use filch_memory::Native;
use filch_queue::{Counts, Hand, Owner, Queue, Steal, StealMany, Task, Thief, deal_out};

use super::policy::{First, Haul};
use crate::machine::processors::Places;

/// Tries to take a task by `attempt`. Also polls the worker's own queue, for its own thieves, since every wait loop
/// steals. If the attempt may [wait](filch_queue::Progress::WaitsForOwner) for the victim, that poll is an answer that
/// lasts, so no two workers wait for each other.
///
/// If thieves [poll](Queue::polls) for the owner's answer, the thief waits for it a while, and then withdraws the
/// request; if the queue does not [withdraw](Queue::WITHDRAWS) requests, the thief waits until the answer comes.
/// Afterwards nothing is left that only this thief could take, so it may sleep or run something else. (If a grant
/// cannot be withdrawn, the owner revokes it, unless the owner is told not to.) If thieves do not poll, or the request
/// `stands`, the thief goes on at once, and has the answer when it comes back; a request that [may](Queue::STANDS)
/// stand must be settled before the thief does anything else. The thief `insists` now and then while a request stands,
/// for owners that answer only when they are interrupted.
pub(crate) fn steal_by<Q: Queue<Native>>(
    owner: &mut Q::Owner,
    thief: &mut Q::Thief,
    stands: bool,
    mut attempt: impl FnMut(&mut Q::Thief) -> Steal<Task>,
    insists: impl Fn(),
) -> Steal<Task> {
    owner.poll();
    let mut stolen = attempt(thief);
    if Q::polls(thief) && !stands {
        let mut polling = Polling::default();
        while stolen == Steal::Pending {
            if !polling.wait(&insists) && Q::WITHDRAWS {
                return thief.quiesce().map_or(Steal::Pending, Steal::Task);
            }
            owner.poll();
            stolen = attempt(thief);
        }
    } else if stolen == Steal::Pending {
        insists();
    }
    stolen
}

/// How often a thief has looked for an answer.
#[derive(Default)]
pub(crate) struct Polling(u32);

impl Polling {
    /// On average, a running owner forks or deals within this time. Under Miri, where that may take any time, the limit
    /// bounds how long a test waits.
    const PATIENCE: u32 = if cfg!(miri) { 1 << 4 } else { 1 << 11 };
    const PAUSES: u32 = Self::PATIENCE / 4;

    /// Waits a little, and now and then `insists`. Returns `false` once it is time to withdraw.
    pub(crate) fn wait(&mut self, insists: impl Fn()) -> bool {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(Self::PAUSES) {
            insists();
            // The owner may need this processor, and can answer only while the request stands.
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        self.0 < Self::PATIENCE
    }
}

/// Makes a worker's handles share one set of counters.
pub(crate) fn count_in<Q: Queue<Native>>((owner, thieves): &mut Hand<Q>) -> Arc<Counts> {
    let counts = Arc::default();
    owner.count_in(&counts);
    thieves.iter_mut().flatten().for_each(|thief| thief.count_in(&counts));
    counts
}

/// Makes a queue for each worker, at the worker's place unless the queues share something, and deals out the handles.
///
/// # Safety
/// One thread at a time uses the handles of one worker.
pub(crate) unsafe fn deal_any<Q: Queue<Native>>(
    workers: usize,
    capacity: usize,
    params: &Q::Params,
    places: &Places,
) -> Vec<Hand<Q>> {
    // SAFETY: the caller's promise.
    let together = unsafe { Q::make_together(workers, capacity, params) };
    together.unwrap_or_else(|| deal_out::<Q, _>(places.on_each(workers, |_| Q::make(capacity, workers - 1, params))))
}

/// Makes a queue for each worker, at the worker's place, and one handle on each queue for all thieves.
pub(crate) fn deal_alike<Q: Queue<Native>>(
    workers: usize,
    capacity: usize,
    params: &Q::Params,
    places: &Places,
) -> (Vec<Q::Owner>, Arc<[Q::Thief]>) {
    assert!(Q::THIEVES_ALIKE, "each thief needs its own handle");
    let made = places.on_each(workers, |_| Q::make(capacity, 1, params));
    let (owners, thieves): (Vec<Q::Owner>, Vec<Vec<Q::Thief>>) = made.into_iter().unzip();
    (owners, thieves.into_iter().flatten().collect())
}

/// How many tasks a thief takes at once, and the operation that takes them.
pub(crate) struct Loot<Q: Queue<Native>> {
    pub(crate) haul: Haul,
    steal: fn(&mut Q::Thief, usize, &mut Vec<Task>) -> Steal<usize>,
}

impl<Q: Queue<Native>> Clone for Loot<Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q: Queue<Native>> Copy for Loot<Q> {}

impl<Q: Queue<Native, Thief: StealMany<Task>>> Loot<Q> {
    /// # Panics
    /// If `haul` is of no task.
    #[track_caller]
    pub(crate) fn of(haul: Haul) -> Self {
        assert!(haul.most > 0, "a thief takes at least one task");
        Self { haul, steal: Q::Thief::steal_many }
    }
}

impl<Q: Queue<Native>> Loot<Q> {
    /// Makes one attempt. Returns the stolen task to run first, and adds the others, at most as many as there is `room`
    /// for, to `spoils`, which is empty.
    pub(crate) fn take(self, thief: &mut Q::Thief, room: usize, spoils: &mut Vec<Task>) -> Steal<Task> {
        (self.steal)(thief, self.haul.most.min(room.saturating_add(1)), spoils).map(|_| match self.haul.first {
            First::Newest => spoils.pop().expect("a theft has a task"),
            First::Oldest => spoils.remove(0),
        })
    }
}
