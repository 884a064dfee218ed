//! PDQ-R and PDQ-R2: private deques whose thieves ask.
//!
//! **Paper.** [That of the folder](super), section 2, figures 1 and 2; its alternative acquire, figure 8; and the
//! comparison in Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014.
//!
//! **Idea.** A thief writes its number into the victim's request cell. The victim looks at the cell at each push and
//! pop, and answers on the thief's desk with its oldest tasks or with none. In PDQ-R2 a worker that has run out of
//! tasks blocks its own cell, so that nobody asks it until it has some again.
//!
//! **Forms.** [`PdqR`] and [`PdqR2`] are the paper's: a thief that has asked waits for the answer, and answers others
//! meanwhile; so it has one desk, for all its victims. In ours, [`PdqRAsync`] and [`PdqR2Async`], a thief goes away and
//! comes back, and may withdraw, so that a victim that does not run stalls nobody; it has a desk with each victim. The
//! forms differ in three places: how the owner claims a request (`claim`), whether a thief may ask (`ask`), and what it
//! does when it wants to leave (`quiesce`).
//!
//! **Fields.** Each on its own line.
//! * `has_tasks`: whether the deque holds a task, or the owner offers something else. Written by the owner when that
//!   changes; read by thieves.
//! * `request`: who asks, and for how many tasks; or that nobody asks, or that the owner does not want to be asked.
//!   Thieves set it by compare-and-swap. The owner claims it by a swap; in the paper's form, by a load and, after the
//!   answer, a store. In ours, the thief that set it may withdraw it.
//! * `desks`: one for each thief. The number says whether the request has been answered. The thief writes it before it
//!   asks, and the owner writes it as the answer. In the paper's form the queues of a pool share the desks, and the
//!   thief clears the number when it has seen the answer.
//! * the owner's own: `tasks`, oldest first, and whether it has blocked its cell.
//! * a thief's own: whether it has asked; `loot`, which it has received and not returned.
//!
//! **Invariants.**
//! * I1: a desk is for at most one request, which is in a cell or claimed.
//! * I2: whoever takes a request out of the cell settles it: the owner answers it, or the thief withdraws it. Taking it
//!   out is one atomic update, unless thieves never withdraw: then only the owner takes requests out.
//!
//! **Edges.**
//! * E1: the compare-and-swap in `ask` (release) → the look at the cell in `claim` (acquire): the thief's `PENDING` and
//!   its last use of the desk come before the owner's answer.
//! * E2: the store of the answer (release) → its load in `collect` (acquire): the desk, and the contents of the tasks.
//!
//! **Memory model.** Rust's; no fence anywhere. **Progress.** The owner is wait-free, except for allocation. A thief
//! depends on the owner's next operation; in our form a thief that withdraws waits only for an answer under way.
//! **Capacity.** Grows.
//!
//! **Departures** of the paper's form. Figure 2 also clears the thief's own request cell once it has received a task;
//! in PDQ-R that could erase somebody's request, and the asker would wait for ever (a twin in the checker). Here no
//! thief clears its cell then, and in PDQ-R2 a worker opens its cell when it pushes. The owner answers at pushes too;
//! in figure 1 only after pops. An owner that sleeps or goes home blocks its cell in PDQ-R too: the paper's workers
//! spin to the end. A cell is a number beside the task, on the same line, instead of a task or one of two marks, since
//! any word can be a task. The scheduler decides whom to ask next. **Of ours**, also: a request is claimed by a swap
//! before it is answered, since with a load and a store a task could be sent to a thief that has gone (a twin).
//!
//! **Names.** The paper's `a`, `r` and `t` are `has_tasks`, `request` and a desk; `poll` is its `communicate`; `reject`
//! is `claim(BLOCKED)`.
//!
//! **Scenarios.** `pdq_r`, `pdq_r2`, `pdq_r_async` and `pdq_r2_async` in the battery and the property tests, the first
//! three and `generous_pdq_r2_async` in the many-at-once tests; the queues' names in the checker, and `private deques`:
//! workers that ask each other.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

use filch_memory::{Atomic, Memory, Native, Ordering};

pub use super::asking::Thief;
use super::asking::wish;
use super::{Desks, PAPER, desks, waits, withdraws};
use crate::counts::Counting;
use crate::roles::deal;
use crate::{
    Amount, Capacity, Counts, Delivery, Full, Hand, MemoryModel, Order, Padded, Progress, Promises, Queue, StealOrder,
    Stealable, Task,
};

/// The private deque whose thieves ask, in four forms: see the [module](self). Its parameters say whether an owner
/// blocks its cell when it runs out of tasks, and whether thieves wait.
#[derive(Clone, Copy, Debug)]
pub struct Of<const BLOCKS: bool, const WAITS: bool>;

/// The private deque whose thieves ask and wait, as in the paper: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Owner, PdqR, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// // Two queues that belong together: worker 2 asks workers 0 and 1.
/// // SAFETY: all handles are used by this thread.
/// let mut hands = unsafe { <PdqR as Queue>::make_together(3, 8, &Default::default()) }.unwrap();
/// hands[0].0.push(task(1)).unwrap();
/// hands[1].0.push(task(2)).unwrap();
/// assert_eq!(hands[2].1[0].as_mut().unwrap().steal(), Steal::Pending); // has asked
/// assert_eq!(hands[2].1[1].as_mut().unwrap().steal(), Steal::Aborted); // and waits for that answer
/// hands[0].0.poll();
/// assert_eq!(hands[2].1[0].as_mut().unwrap().steal(), Steal::Task(task(1)));
/// ```
pub type PdqR = Of<false, true>;

/// As [`PdqR`], except that thieves do not ask an owner without tasks: see the [module](self).
pub type PdqR2 = Of<true, true>;

/// The private deque whose thieves ask and go away: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Owner, PdqRAsync, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <PdqRAsync as Queue>::make(8, 1, &Default::default());
/// for n in 1..=3 {
///     owner.push(task(n)).unwrap();
/// }
/// assert_eq!(thieves[0].steal(), Steal::Pending); // the thief has asked
/// assert_eq!(owner.pop(), Some(task(3))); // the owner answers too
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// ```
pub type PdqRAsync = Of<false, false>;

/// [`PdqRAsync`], except that thieves do not ask an owner without tasks: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Owner, PdqR2Async, Queue, Steal, StealMany, Task};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <PdqR2Async as Queue>::make(8, 1, &Default::default());
/// for n in 1..=4 {
///     owner.push(task(n)).unwrap();
/// }
/// let mut loot = Vec::new();
/// assert_eq!(thieves[0].steal_many(8, &mut loot), Steal::Pending);
/// owner.poll(); // a push or a pop would do, too
/// assert_eq!(thieves[0].steal_many(8, &mut loot), Steal::Task(2)); // half, by default
/// assert_eq!(loot, [task(1), task(2)]);
/// ```
pub type PdqR2Async = Of<true, false>;

/// The tuning parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Params {
    /// How many tasks a thief gets if it asks for several.
    pub share: Amount,
}

// Departures of several forms.
const AT_PUSHES: &str = "The owner answers at each push too; in figure 1 only after a pop.";
const AT_REST: &str = "An owner that sleeps or goes home blocks its cell; the paper's workers spin to the end.";
const ANY_WORD: &str = "An answer is a number beside the task, since any word can be a task.";
const WITHDRAWN: &str =
    "A thief goes away and comes back for the answer, or withdraws its request; so it has a desk with each victim.";
const SWAPPED: &str = "A request is claimed by a swap before it is answered.";

// The values of the request cell: one of these, or a code.
pub(super) const FREE: u32 = 0;
pub(super) const BLOCKED: u32 = 1;
pub(super) const FIRST_CODE: u32 = 2;

// The states of a desk.
pub(super) const PENDING: u32 = 0;
pub(super) const DECLINED: u32 = 1;
pub(super) const GRANTED: u32 = 2;
/// No request is outstanding: a desk for all victims may be used.
pub(super) const CLEAR: u32 = 3;

pub(super) struct Shared<M: Memory> {
    pub(super) has_tasks: Padded<M::AtomicBool>,
    pub(super) request: Padded<M::AtomicU32>,
    pub(super) desks: Desks<M>,
    share: Amount,
}

// SAFETY: one side at a time touches what lies on a desk, by the invariant of the module above; a task may go to
// another thread.
unsafe impl<M: Memory> Sync for Shared<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Send for Shared<M> {}

/// The owner's side. It blocks its cell when it runs out of tasks, or only when it rests; and its thieves wait, or may
/// withdraw.
pub struct Owner<M: Memory = Native, const BLOCKS: bool = false, const WAITS: bool = false> {
    shared: Arc<Shared<M>>,
    tasks: VecDeque<Task>,
    /// Whether the request cell is `BLOCKED`.
    is_blocked: bool,
    tally: Counting,
}

/// Makes the queue of one victim.
fn victim<M: Memory, const BLOCKS: bool, const WAITS: bool>(
    capacity: usize,
    desks: Desks<M>,
    params: Params,
) -> (Owner<M, BLOCKS, WAITS>, impl Fn(usize) -> Thief<M, WAITS>) {
    let shared = Arc::new(Shared {
        has_tasks: Padded(Atomic::new(false)),
        request: Padded(Atomic::new(if BLOCKS { BLOCKED } else { FREE })),
        desks,
        share: params.share,
    });
    let owner = Owner {
        shared: Arc::clone(&shared),
        tasks: VecDeque::with_capacity(capacity),
        is_blocked: BLOCKS,
        tally: Counting::default(),
    };
    (owner, move |index| Thief { shared: Arc::clone(&shared), index: index as u32, asked: None, loot: VecDeque::new() })
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory, const BLOCKS: bool, const WAITS: bool> Queue<M> for Of<BLOCKS, WAITS> {
    type Owner = Owner<M, BLOCKS, WAITS>;
    type Thief = Thief<M, WAITS>;
    type Params = Params;

    const PROMISES: Promises = Promises {
        name: match (BLOCKS, WAITS) {
            (false, true) => "pdq-r",
            (true, true) => "pdq-r2",
            (false, false) => "pdq-r-async",
            (true, false) => "pdq-r2-async",
        },
        paper: PAPER,
        follows: if BLOCKS { "figures 1, 2 and 8" } else { "figures 1 and 2" },
        departures: match (BLOCKS, WAITS) {
            (false, true) => &[
                "A thief that has received a task does not clear its own request cell: that could erase a request.",
                AT_PUSHES,
                AT_REST,
                ANY_WORD,
            ],
            (true, true) => &[
                "A worker opens its cell when it pushes, not when it has received a task.",
                AT_PUSHES,
                AT_REST,
                ANY_WORD,
            ],
            (false, false) => &["Those of pdq-r.", WITHDRAWN, SWAPPED],
            (true, false) => &["Those of pdq-r2.", WITHDRAWN, SWAPPED],
        },
        order: Order::Lifo,
        steals: StealOrder::Unordered,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Grows,
        // A thief does not ask while its request is outstanding elsewhere, or if somebody else has asked.
        may_abort: WAITS,
        steal_progress: Progress::OwnerDependent,
        stealable: Stealable::OnRequest,
        memory_model: MemoryModel::Rust,
        owner_must_poll: true,
        answers_by_clock: false,
    };
    const WITHDRAWS: bool = !WAITS;
    const HANDS_OVER: bool = true;

    fn make(capacity: usize, thieves: usize, &params: &Params) -> (Self::Owner, Vec<Self::Thief>) {
        let (owner, thief) = victim(capacity, desks(thieves, CLEAR), params);
        (owner, (0..thieves).map(thief).collect())
    }

    unsafe fn make_together(workers: usize, capacity: usize, &params: &Params) -> Option<Vec<Hand<Self, M>>> {
        WAITS.then(|| {
            let desks = desks(workers, CLEAR);
            deal(workers, |_| victim(capacity, Arc::clone(&desks), params))
        })
    }
}

impl<M: Memory, const BLOCKS: bool, const WAITS: bool> Owner<M, BLOCKS, WAITS> {
    #[inline]
    fn communicate(&mut self) {
        // Relaxed: a request that is seen late is answered late; `claim` acquires.
        if self.shared.request.load(Ordering::Relaxed) >= FIRST_CODE {
            self.claim(FREE);
        }
    }

    /// Leaves `instead` in the request cell, and answers the request that was there, if any.
    #[cold]
    fn claim(&mut self, instead: u32) {
        // E1: in both forms it pairs with the compare-and-swap in `ask`.
        let request = if WAITS {
            waits::request_or(&*self.shared.request, instead)
        } else {
            withdraws::request_and(&*self.shared.request, instead)
        };
        let Some(code) = request.checked_sub(FIRST_CODE) else { return };
        self.answer(code);
        if WAITS {
            // Relaxed: it publishes nothing, and nobody else changes the cell while a request is in it.
            self.shared.request.store(instead, Ordering::Relaxed);
        }
    }

    fn answer(&mut self, code: u32) {
        let Self { shared, tasks, tally, .. } = self;
        let desk = &shared.desks[(code / 2) as usize];
        tally.count(|counts| &counts.polls);
        if tasks.is_empty() {
            // Relaxed: it publishes nothing.
            desk.state.store(DECLINED, Ordering::Relaxed);
            return tally.count(|counts| &counts.declined);
        }
        // SAFETY: this thief's request has been claimed, and the answer is next.
        let given = unsafe { desk.give(tasks, wish(code), shared.share) };
        // Before the thief has them: `HANDS_OVER`.
        tally.add(|counts| &counts.grants, given);
        // E2: pairs with the load in `collect`.
        desk.state.store(GRANTED, Ordering::Release);
        if tasks.is_empty() {
            self.has_no_tasks();
        }
    }

    #[inline]
    fn has_no_tasks(&self) {
        // Relaxed: it publishes nothing, and whoever sees it late asks in vain.
        self.shared.has_tasks.store(false, Ordering::Relaxed);
    }

    /// Announces tasks again, after there were none.
    #[cold]
    fn has_tasks_again(&mut self) {
        // Relaxed: a thief asks before it gets anything.
        self.shared.has_tasks.store(true, Ordering::Relaxed);
        if self.is_blocked {
            self.unblock();
        }
    }

    fn block(&mut self) {
        if !core::mem::replace(&mut self.is_blocked, true) {
            self.claim(BLOCKED);
        }
    }

    fn unblock(&mut self) {
        self.is_blocked = false;
        // Relaxed: nobody else changes a blocked cell, and it publishes nothing.
        self.shared.request.store(FREE, Ordering::Relaxed);
    }
}

impl<M: Memory, const BLOCKS: bool, const WAITS: bool> crate::Owner<Task> for Owner<M, BLOCKS, WAITS> {
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
            if BLOCKS {
                self.block();
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
        if WAITS && self.is_blocked && !self.tasks.is_empty() {
            // The owner has rested although it has tasks.
            self.unblock();
        }
        self.communicate();
    }

    fn rest(&mut self) {
        if WAITS {
            self.block();
        }
    }

    fn offers(&mut self, more: bool) {
        // Relaxed: the owner's own value.
        if self.tasks.is_empty() && self.shared.has_tasks.load(Ordering::Relaxed) != more {
            if more {
                self.has_tasks_again();
            } else {
                self.has_no_tasks();
            }
        }
    }

    #[inline]
    fn is_wanting(&mut self) -> bool {
        // Relaxed: a request that is seen late is answered late.
        self.tasks.is_empty() && self.shared.request.load(Ordering::Relaxed) >= FIRST_CODE
    }

    fn len_hint(&self) -> usize {
        self.tasks.len()
    }

    fn count_in(&mut self, counts: &Arc<Counts>) {
        self.tally.count_in(counts);
    }
}
