//! PDQ-R and PDQ-R2: private deques whose thieves ask.
//!
//! **Paper.** [That of the folder](super), section 3, figure 2; and its alternative acquire, figure 8, the comparison
//! in Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014.
//!
//! **Idea.** A thief writes its number into the victim's request cell. The victim reads the cell at each push and pop,
//! takes out the request, and answers on the thief's desk with its oldest tasks or with none. In PDQ-R2 a worker that
//! has run out of tasks blocks its own cell, so that no thief asks it until it has some again.
//!
//! **Fields.** Each on its own line.
//! * `has_tasks`: whether the deque holds a task. Written by the owner when that changes; read by thieves.
//! * `request`: the thief that asks, and for how many; or none, or a block by the owner. Thieves set it by
//!   compare-and-swap; the owner claims it by a swap; the thief that set it may withdraw it.
//! * `desks`: one for each thief. The number shows whether the request has been answered: written by the thief before
//!   it asks, by the owner as the answer.
//! * private to the owner: `tasks`, oldest first, and whether it has blocked the cell.
//! * private to a thief: whether it has asked; `loot`, which it has received and not returned.
//!
//! **Invariants.**
//! * I1: a thief has at most one request, in the cell or claimed.
//! * I2: the side that takes a request out of the cell, by one atomic update, settles it: the owner by an answer, the
//!   thief because there will be none.
//!
//! **Edges.**
//! * E1: the compare-and-swap in `ask` (release) → the swap in `claim` (acquire): the thief's `PENDING` and its last
//!   use of the bag come before the owner's answer.
//! * E2: the store of the answer (release) → its load in `collect` (acquire): the bag, and the contents of the tasks.
//!
//! **Memory model.** Rust's; no fence anywhere. **Progress.** The owner is wait-free, except for allocation; a thief
//! depends on the owner's next operation, unless it withdraws (it then waits only for an answer already claimed).
//! **Capacity.** Grows.
//!
//! **Departures.** The paper's thief waits for its answer. Ours leaves and comes back, and may withdraw, so that a
//! victim that does not run stalls no thief. Therefore the owner claims a request by a swap before it answers: with a
//! load and two stores, as in the paper, it could send a task to a thief that has gone. Each thief has a desk with each
//! victim instead of one for all. Figure 2 also clears the thief's own request cell once it has received a task; in
//! PDQ-R that could erase another thief's request, and that thief would wait for ever (a known mistake in the checker).
//!
//! **Names.** The paper's `a`, `r` and `t` are `has_tasks`, `request` and a desk; `poll` is its `communicate`; `reject`
//! is `claim(BLOCKED)`.
//!
//! **Scenarios.** `pdq_r` and `pdq_r2` in the battery and the property tests, `pdq_r` and `generous_pdq_r2` in the
//! many-at-once tests; `pdq-r` and `pdq-r2` in the checker.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::{Desk, PAPER, Wish, pass_on};
use crate::{
    Amount, Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealMany,
    StealOrder, Stealable, Task,
};

/// The private deque whose thieves ask: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Owner, PdqR, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <PdqR as Queue>::make(8, 1, &Default::default());
/// for n in 1..=3 {
///     owner.push(task(n)).unwrap();
/// }
/// assert_eq!(thieves[0].steal(), Steal::Pending); // the thief has asked
/// assert_eq!(owner.pop(), Some(task(3))); // the owner answers too
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PdqR;

/// [`PdqR`], except that thieves do not ask an owner without tasks: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Owner, PdqR2, Queue, Steal, StealMany, Task};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <PdqR2 as Queue>::make(8, 1, &Default::default());
/// for n in 1..=4 {
///     owner.push(task(n)).unwrap();
/// }
/// let mut loot = Vec::new();
/// assert_eq!(thieves[0].steal_many(8, &mut loot), Steal::Pending);
/// owner.poll(); // a push or a pop would do, too
/// assert_eq!(thieves[0].steal_many(8, &mut loot), Steal::Task(2)); // half, by default
/// assert_eq!(loot, [task(1), task(2)]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PdqR2;

/// The tuning parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Params {
    /// How many tasks a thief gets that asks for several.
    pub share: Amount,
}

// The values of the request cell: one of these, or a code.
const FREE: u32 = 0;
const BLOCKED: u32 = 1;
const FIRST_CODE: u32 = 2;

// The states of a desk.
const PENDING: u32 = 0;
const DECLINED: u32 = 1;
const GRANTED: u32 = 2;

struct Shared<M: Memory> {
    has_tasks: Padded<M::AtomicBool>,
    request: Padded<M::AtomicU32>,
    desks: Box<[Padded<Desk<M>>]>,
    share: Amount,
}

// SAFETY: one side at a time touches a desk's bag, by the invariant of the module above; a task may go to another
// thread.
unsafe impl<M: Memory> Sync for Shared<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Send for Shared<M> {}

/// The owner's side of a [`PdqR`] deque, or, blocking, of a [`PdqR2`] one.
pub struct Owner<M: Memory = Native, const BLOCKS: bool = false> {
    shared: Arc<Shared<M>>,
    tasks: VecDeque<Task>,
    /// Whether the request cell is `BLOCKED`.
    is_blocked: bool,
}

/// A thief's side of a [`PdqR`] or [`PdqR2`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    index: u32,
    /// The outstanding request.
    asked: Option<u32>,
    loot: VecDeque<Task>,
}

const fn promises(name: &'static str) -> Promises {
    Promises {
        name,
        paper: PAPER,
        order: Order::Lifo,
        steals: StealOrder::Unordered,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Grows,
        may_abort: false,
        steal_progress: Progress::OwnerDependent,
        stealable: Stealable::OnRequest,
        memory_model: MemoryModel::Rust,
        owner_must_poll: true,
        answers_by_clock: false,
    }
}

fn make<M: Memory, const BLOCKS: bool>(
    capacity: usize,
    thieves: usize,
    params: Params,
) -> (Owner<M, BLOCKS>, Vec<Thief<M>>) {
    let count = u32::try_from(thieves).ok().filter(|&count| count < (u32::MAX - FIRST_CODE) / 2);
    let count = count.expect("the number of thieves is out of range");
    let shared = Arc::new(Shared {
        has_tasks: Padded(Atomic::new(false)),
        request: Padded(Atomic::new(if BLOCKS { BLOCKED } else { FREE })),
        desks: (0..thieves).map(|_| Padded(Desk::new(DECLINED))).collect(),
        share: params.share,
    });
    let thief = |index| Thief { shared: Arc::clone(&shared), index, asked: None, loot: VecDeque::with_capacity(1) };
    let thieves = (0..count).map(thief).collect();
    (Owner { shared, tasks: VecDeque::with_capacity(capacity), is_blocked: BLOCKS }, thieves)
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for PdqR {
    type Owner = Owner<M, false>;
    type Thief = Thief<M>;
    type Params = Params;

    const PROMISES: Promises = promises("pdq-r");

    fn make(capacity: usize, thieves: usize, &params: &Params) -> (Owner<M, false>, Vec<Thief<M>>) {
        make(capacity, thieves, params)
    }
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for PdqR2 {
    type Owner = Owner<M, true>;
    type Thief = Thief<M>;
    type Params = Params;

    const PROMISES: Promises = promises("pdq-r2");

    fn make(capacity: usize, thieves: usize, &params: &Params) -> (Owner<M, true>, Vec<Thief<M>>) {
        make(capacity, thieves, params)
    }
}

impl<M: Memory, const BLOCKS: bool> Owner<M, BLOCKS> {
    #[inline]
    fn communicate(&mut self) {
        // Relaxed: a request seen late is answered late; the swap acquires.
        if self.shared.request.load(Ordering::Relaxed) >= FIRST_CODE {
            self.claim(FREE);
        }
    }

    /// Leaves `instead` in the request cell, and answers the request that was there, if any.
    #[cold]
    fn claim(&mut self, instead: u32) {
        let Self { shared, tasks, .. } = self;
        // E1: pairs with the compare-and-swap in `ask`.
        let request = shared.request.swap(instead, Ordering::Acquire);
        let Some(code) = request.checked_sub(FIRST_CODE) else { return };
        let desk = &shared.desks[(code / 2) as usize];
        if tasks.is_empty() {
            // Relaxed: it publishes nothing.
            desk.state.store(DECLINED, Ordering::Relaxed);
            return;
        }
        let wish = if code % 2 == 0 { Wish::One } else { Wish::Many };
        // SAFETY: the swap has claimed this thief's request, and the answer is next.
        unsafe { desk.give(tasks, wish, shared.share) };
        // E2: pairs with the load in `collect`.
        desk.state.store(GRANTED, Ordering::Release);
        if tasks.is_empty() {
            self.has_no_tasks();
        }
    }

    #[inline]
    fn has_no_tasks(&self) {
        // Relaxed: it publishes nothing, and a thief that sees it late asks in vain.
        self.shared.has_tasks.store(false, Ordering::Relaxed);
    }

    /// Pushes to the empty deque: announces tasks again.
    #[cold]
    fn has_tasks_again(&mut self) {
        // Relaxed: a thief asks before it gets anything.
        self.shared.has_tasks.store(true, Ordering::Relaxed);
        if self.is_blocked {
            self.is_blocked = false;
            // Relaxed: no thief changes a blocked cell, and it publishes nothing.
            self.shared.request.store(FREE, Ordering::Relaxed);
        }
    }
}

impl<M: Memory, const BLOCKS: bool> crate::Owner<Task> for Owner<M, BLOCKS> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.tasks.is_empty() {
            self.has_tasks_again();
        }
        self.tasks.push_back(task);
        self.communicate();
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let Some(task) = self.tasks.pop_back() else {
            if BLOCKS && !self.is_blocked {
                self.is_blocked = true;
                self.claim(BLOCKED);
            }
            self.communicate();
            return None;
        };
        if self.tasks.is_empty() {
            self.has_no_tasks();
        }
        // After the owner has secured its own task.
        self.communicate();
        Some(task)
    }

    #[inline]
    fn poll(&mut self) {
        self.communicate();
    }

    fn len_hint(&self) -> usize {
        self.tasks.len()
    }
}

impl<M: Memory> Thief<M> {
    #[inline]
    fn desk(&self) -> &Desk<M> {
        &self.shared.desks[self.index as usize]
    }

    /// Puts a request into the cell, if the owner may have tasks and no other thief is asking.
    fn ask(&mut self, wish: Wish) -> Steal<()> {
        // Relaxed: old or not, the owner answers from what it has.
        if !self.shared.has_tasks.load(Ordering::Relaxed) {
            return Steal::Empty;
        }
        // Relaxed: published by E1.
        self.desk().state.store(PENDING, Ordering::Relaxed);
        let code = FIRST_CODE + 2 * self.index + u32::from(wish == Wish::Many);
        // E1: pairs with the swap in `claim`. Relaxed on failure: nothing is used.
        match self.shared.request.compare_exchange(FREE, code, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => {
                self.asked = Some(code);
                Steal::Pending
            }
            Err(BLOCKED) => Steal::Empty,
            // The owner has to answer another thief first.
            Err(_) => Steal::Pending,
        }
    }

    /// Collects the answer to the outstanding request into `loot`, if it has come.
    fn collect(&mut self) -> Steal<()> {
        // E2: pairs with the store in `claim`.
        let state = self.desk().state.load(Ordering::Acquire);
        if state == PENDING {
            return Steal::Pending;
        }
        self.asked = None;
        if state == DECLINED {
            return Steal::Empty;
        }
        let Self { shared, loot, .. } = self;
        // SAFETY: the only request has been answered.
        unsafe { shared.desks[self.index as usize].take(loot) };
        Steal::Task(())
    }

    /// Makes sure that `loot` has a task.
    fn obtain(&mut self, wish: Wish) -> Steal<()> {
        if !self.loot.is_empty() {
            Steal::Task(())
        } else if self.asked.is_some() {
            self.collect()
        } else {
            self.ask(wish)
        }
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        self.obtain(Wish::One).map(|()| self.loot.pop_front().expect("`loot` has a task"))
    }

    /// Withdraws the request, or waits for the answer if the owner has claimed it.
    fn quiesce(&mut self) -> Option<Task> {
        if let Some(code) = self.asked {
            // Relaxed, both: the request published nothing that any thread will use, and nothing is used here.
            match self.shared.request.compare_exchange(code, FREE, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => self.asked = None,
                // I2: the owner is between its claim and its answer.
                Err(_) => {
                    while self.collect() == Steal::Pending {
                        M::spin_loop();
                    }
                }
            }
        }
        self.loot.pop_front()
    }

    /// Counts tasks on this thief's desk, not on others'.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed, both: whatever orders the push before this call makes them recent enough.
        let may_be_on_desk = || self.asked.is_some() && self.desk().state.load(Ordering::Relaxed) != DECLINED;
        self.shared.has_tasks.load(Ordering::Relaxed) || !self.loot.is_empty() || may_be_on_desk()
    }
}

impl<M: Memory> StealMany<Task> for Thief<M> {
    /// Asks for as many as [`Params::share`] allows. The next attempts return what exceeds `max`.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        self.obtain(Wish::Many).map(|()| pass_on(&mut self.loot, max, loot))
    }
}
