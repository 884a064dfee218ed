//! PDQ-S: private deques whose owners deal to idle thieves, at random times.
//!
//! **Paper.** [That of the folder](super), section 2, figures 1 and 3.
//!
//! **Idea.** A thief without work says so on its desk. Now and then an owner with work deals to one such thief. The
//! times between its attempts are exponentially distributed, so that attempts form a Poisson process and do not depend
//! on what the program does. A thief never disturbs an owner; it waits for the clock instead.
//!
//! **Fields.** Each on its own line.
//! * `has_tasks`: whether the deque holds a task. Written by the owner when that changes; for hints, and so that
//!   thieves do not wait in vain.
//! * `wanted`: whether to look at the desks. Raised by idle thieves, lowered by an owner that has found none; read by
//!   both. So an owner does not read the clock while no thief waits for it.
//! * `desks`: one for each thief: busy; idle, and wanting one task or many; being dealt to; dealt to. The thief changes
//!   it from busy to idle, and back, by compare-and-swap, if it wants no task any more; the owner changes it from idle
//!   to being dealt to, by compare-and-swap, and then to dealt to.
//! * private to the owner: `tasks`, oldest first; the clock, which stops while no thief waits.
//! * private to a thief: whether its desk says idle; `loot`, which it has received and not returned.
//!
//! **Invariants.**
//! * I1: an idle desk leaves that state by one compare-and-swap: by the owner, which will deal, or by the thief, which
//!   leaves.
//!
//! **Edges.**
//! * E1: the store of idle in `ask` (release) → the compare-and-swap in `deal` (acquire): the thief's last use of the bag.
//! * E2: the store of `DEALT` (release) → its load in `collect` (acquire): the bag, and the contents of the tasks.
//!
//! **Memory model.** Rust's; no fence anywhere. **Progress.** The owner is wait-free, except for allocation; a thief
//! depends on the owner, unless it leaves (it then waits only for incoming tasks). **Capacity.** Grows.
//!
//! **Departures.** The paper's worker has one cell to which all others may deal. Ours has a desk with each victim, so
//! that it knows whose task it has, and a fork–join worker can wait for one victim only. An owner therefore looks for
//! an idle thief starting at a random one, instead of trying one. All dealing takes two steps, as the paper's does for
//! several tasks; a thief takes nothing before the second (a known mistake in the checker). The paper's clock always runs. Here
//! it stops while no thief waits. That is the same for a busy owner, since in a Poisson process the time to the next
//! event does not depend on when the wait for it begins. An owner that was idle is late, and deals as soon as it has a
//! task, as in the paper; polling an empty deque counts as idle. `has_tasks`, `wanted` and leaving are ours.
//!
//! **Names.** The paper's `s` is a desk's number, `INCOMING` is `INCOMING`, its `d` is the clock's.
//!
//! **Scenarios.** `pdq_s_told`, and `eager_pdq_s_told` without the clock, in the battery, the property and the many-at-once tests;
//! `pdq-s-told`, without the clock, in the checker.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::{Desk, PAPER, Wish, pass_on};
use crate::clock::Poisson;
use crate::{
    Amount, Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealMany,
    StealOrder, Stealable, Task,
};

/// The private deque whose owner deals: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use core::time::Duration;
/// use filch_queue::pdq::sender::Params;
/// use filch_queue::{Owner, PdqSTold, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let params = Params { gap: Duration::ZERO, ..Params::default() }; // deals whenever possible
/// let (mut owner, mut thieves) = <PdqSTold as Queue>::make(8, 1, &params);
/// for n in 1..=3 {
///     owner.push(task(n)).unwrap();
/// }
/// assert_eq!(thieves[0].steal(), Steal::Pending); // the thief is idle
/// assert_eq!(owner.pop(), Some(task(3)));
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PdqSTold;

/// The tuning parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// How many tasks the owner deals to a thief that wants several.
    pub share: Amount,
    /// The paper's δ: the mean time between two attempts to deal. It should be longer than a typical task. Zero: an
    /// attempt at each push, pop and poll.
    pub gap: Duration,
}

impl Default for Params {
    /// Half; 30 µs, as in the paper.
    fn default() -> Self {
        Self { share: Amount::default(), gap: Duration::from_micros(30) }
    }
}

// The states of a desk.
const BUSY: u32 = 0;
const WANTS_ONE: u32 = 1;
const WANTS_MANY: u32 = 2;
const INCOMING: u32 = 3;
const DEALT: u32 = 4;

struct Shared<M: Memory> {
    has_tasks: Padded<M::AtomicBool>,
    wanted: Padded<M::AtomicBool>,
    desks: Box<[Padded<Desk<M>>]>,
    share: Amount,
}

// SAFETY: one side at a time touches a desk's bag, by the invariant of the module above; a task may go to another
// thread.
unsafe impl<M: Memory> Sync for Shared<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Send for Shared<M> {}

/// The owner's side of a [`PdqSTold`] deque.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    tasks: VecDeque<Task>,
    clock: Poisson,
}

/// A thief's side of a [`PdqSTold`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    index: usize,
    /// The desk's state, if it is not busy.
    wants: Option<u32>,
    loot: VecDeque<Task>,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for PdqSTold {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Params;

    const PROMISES: Promises = Promises {
        name: "pdq-s-told",
        paper: PAPER,
        follows: "figures 1 and 3",
        departures: &[
            "Each victim has a desk for each thief; the paper's worker has one cell, to which all others may deal.",
            "An owner deals to the first idle thief from a random one on; the paper's tries one.",
            "A thief waits out INCOMING, which figure 3 would take for a task.",
            "The owner looks at its clock at each push too; in figure 1 only after a pop.",
            "The clock stops while no thief waits.",
        ],
        order: Order::Lifo,
        steals: StealOrder::Unordered,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Grows,
        may_abort: false,
        steal_progress: Progress::OwnerDependent,
        stealable: Stealable::OnRequest,
        memory_model: MemoryModel::Rust,
        owner_must_poll: true,
        answers_by_clock: true,
    };

    fn make(capacity: usize, thieves: usize, params: &Params) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            has_tasks: Padded(Atomic::new(false)),
            wanted: Padded(Atomic::new(false)),
            desks: (0..thieves).map(|_| Padded(Desk::new(BUSY))).collect(),
            share: params.share,
        });
        let thief = |index| Thief { shared: Arc::clone(&shared), index, wants: None, loot: VecDeque::new() };
        let thieves = (0..thieves).map(thief).collect();
        (Owner { shared, tasks: VecDeque::with_capacity(capacity), clock: Poisson::new(params.gap) }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn communicate(&mut self) {
        // Relaxed: a hint.
        if self.shared.wanted.load(Ordering::Relaxed) && !self.tasks.is_empty() {
            self.deal();
        }
    }

    /// Deals to one idle thief, if it is time and there is one. Precondition: there is a task.
    #[cold]
    fn deal(&mut self) {
        let Self { shared, tasks, clock } = self;
        if !clock.is_due() {
            return;
        }
        let desks = &shared.desks;
        let first = clock.below(desks.len());
        let mut has_dealt = false;
        for desk in desks[first..].iter().chain(&desks[..first]) {
            // Relaxed: the compare-and-swap validates it, and acquires.
            let wants = desk.state.load(Ordering::Relaxed);
            let wish = match wants {
                WANTS_ONE => Wish::One,
                WANTS_MANY => Wish::Many,
                _ => continue,
            };
            // E1: pairs with the store in `ask`. Relaxed on failure: nothing is used.
            if desk.state.compare_exchange(wants, INCOMING, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            // SAFETY: the compare-and-swap has claimed this desk, and the answer is next.
            unsafe { desk.give(tasks, wish, shared.share) };
            // E2: pairs with the load in `collect`.
            desk.state.store(DEALT, Ordering::Release);
            has_dealt = true;
            break;
        }
        if !has_dealt {
            clock.stop();
            // Relaxed: a hint. A thief that has become idle since then raises it again when it looks at its desk.
            shared.wanted.store(false, Ordering::Relaxed);
        }
        if tasks.is_empty() {
            self.has_no_tasks();
        }
    }

    #[inline]
    fn has_no_tasks(&self) {
        // Relaxed: a hint.
        self.shared.has_tasks.store(false, Ordering::Relaxed);
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.tasks.is_empty() {
            // Relaxed: a hint.
            self.shared.has_tasks.store(true, Ordering::Relaxed);
        }
        self.tasks.push_back(task);
        self.communicate();
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let task = self.tasks.pop_back()?;
        if self.tasks.is_empty() {
            self.has_no_tasks();
        }
        // After the owner has secured its own task.
        self.communicate();
        Some(task)
    }

    #[inline]
    fn poll(&mut self) {
        if self.tasks.is_empty() {
            self.clock.skip_rest();
        }
        self.communicate();
    }

    fn len_hint(&self) -> usize {
        self.tasks.len()
    }
}

impl<M: Memory> Thief<M> {
    #[inline]
    fn desk(&self) -> &Desk<M> {
        &self.shared.desks[self.index]
    }

    /// Becomes idle, if the owner may have tasks.
    fn ask(&mut self, wish: Wish) -> Steal<Task> {
        // Relaxed: a hint.
        if !self.shared.has_tasks.load(Ordering::Relaxed) {
            return Steal::Empty;
        }
        let wants = match wish {
            Wish::One => WANTS_ONE,
            Wish::Many => WANTS_MANY,
        };
        // E1: pairs with the compare-and-swap in `deal`.
        self.desk().state.store(wants, Ordering::Release);
        self.wants = Some(wants);
        self.want();
        Steal::Pending
    }

    /// Makes the owner look at the desks.
    #[inline]
    fn want(&self) {
        // Relaxed, both: a hint. Written only if that changes it, since the owner reads it all the time.
        if !self.shared.wanted.load(Ordering::Relaxed) {
            self.shared.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Collects what has been dealt, if anything has: the first task, with the others in `loot`.
    fn collect(&mut self, wants: u32) -> Steal<Task> {
        // E2: pairs with the store in `deal`.
        if self.desk().state.load(Ordering::Acquire) != DEALT {
            self.want();
            return Steal::Pending;
        }
        self.wants = None;
        let Self { shared, loot, .. } = self;
        let wish = if wants == WANTS_ONE { Wish::One } else { Wish::Many };
        // SAFETY: the owner has dealt, and will not again before this thief is idle again.
        Steal::Task(unsafe { shared.desks[self.index].take(wish, loot) })
    }

    /// The first task of what there is, with the others in `loot`.
    fn obtain(&mut self, wish: Wish) -> Steal<Task> {
        if let Some(task) = self.loot.pop_front() {
            return Steal::Task(task);
        }
        match self.wants {
            Some(wants) => self.collect(wants),
            None => self.ask(wish),
        }
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        self.obtain(Wish::One)
    }

    /// Stops being idle, or waits for incoming tasks.
    fn quiesce(&mut self) -> Option<Task> {
        let Some(wants) = self.wants else { return self.loot.pop_front() };
        // Relaxed, both: the desk has not been touched, and nothing is used here.
        if self.desk().state.compare_exchange(wants, BUSY, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.wants = None;
            return None;
        }
        // I1: the owner is dealing, or has dealt.
        loop {
            match self.collect(wants) {
                Steal::Pending => M::spin_loop(),
                answer => return answer.task(),
            }
        }
    }

    /// Counts tasks on this thief's desk, not on others'.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed, both: whatever orders the push before this call makes them recent enough.
        let is_on_desk = || self.wants.is_some_and(|wants| self.desk().state.load(Ordering::Relaxed) != wants);
        self.shared.has_tasks.load(Ordering::Relaxed) || !self.loot.is_empty() || is_on_desk()
    }
}

impl<M: Memory> StealMany<Task> for Thief<M> {
    /// Wants as many as [`Params::share`] allows. The next attempts return what exceeds `max`.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        self.obtain(Wish::Many).map(|first| pass_on(first, &mut self.loot, max, loot))
    }
}
