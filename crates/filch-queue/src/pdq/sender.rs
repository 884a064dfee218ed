//! PDQ-S: private deques whose owners deal to idle thieves, at random times.
//!
//! **Paper.** [That of the folder](super), section 2, figures 1 and 3; section 5 for bags and several tasks.
//!
//! **Idea.** A thief without work says so on its desk. Now and then an owner with work deals to an idle thief. The
//! times between its attempts are exponentially distributed, so that attempts form a Poisson process and do not depend
//! on what the program does. A thief never disturbs an owner; it waits for the clock instead.
//!
//! **Forms.** [`PdqS`] is the paper's: a worker has one desk, for all givers, and an owner whose time has come picks
//! one other worker at random, and deals to it if it is idle. In ours, [`PdqSTold`], a thief has a desk with each
//! victim, so that a fork–join worker can wait for one victim only; and the owner looks for an idle thief, starting at
//! a random one. They differ in which desks an owner tries (`find_idle`), and in when it looks at the clock
//! (`communicate`). [`PdqSAtOnce`] and [`PdqSOneStep`] are the two with the paper's step for one task: one
//! compare-and-swap of a cell of one word deals it. Such a cell cannot say who has dealt, which fork–join has to know;
//! so a fork–join worker of [`PdqSAtOnce`] [writes it into the task](Queue::NAMELESS), and the other has a cell for
//! each victim. The cell (`one_step.rs`) and the desk of the first two (`two_steps.rs`) have files of their own; below,
//! the states of a desk, the invariant and the edges are about the desk.
//!
//! **Fields.** Each on its own line.
//! * `has_tasks`: whether the deque holds a task, or the owner offers something else. Written by the owner when that
//!   changes; for hints, and so that thieves do not wait in vain.
//! * `wanted`, in ours: whether to look at the desks. Raised by idle thieves, lowered by an owner that has found no
//!   idle thief; read by both. So an owner does not read the clock while no thief waits for it.
//! * `desks`: one for each thief. A desk is busy; idle, and wanting one task or many; being dealt to; or dealt to, and
//!   by whom. The thief changes it from busy to idle, and back by compare-and-swap if it wants no task any more. An
//!   owner changes it from idle to being dealt to by compare-and-swap, and then to dealt to; the thief then makes it
//!   busy. In the paper's form the queues of a pool share the desks.
//! * private to the owner: `tasks`, oldest first; the clock; the idle thief that gets the next task.
//! * private to a thief: the tasks received and not returned, and their giver; with one step, whether it is idle.
//!
//! **Invariants.**
//! * I1: an idle desk leaves that state by one compare-and-swap: by an owner, which will deal, or by the thief, which
//!   leaves.
//!
//! **Edges.**
//! * E1: the store of idle in `open` (release) → the compare-and-swap in `deal` (acquire): the thief's last use of the
//!   bag.
//! * E2: the store of who has dealt (release) → its load in `receive` (acquire): the bag, and the contents of the
//!   tasks.
//!
//! **Memory model.** Rust's; no fence anywhere. **Progress.** The owner is wait-free, except for allocation; a thief
//! depends on an owner, unless it leaves (it then waits only for incoming tasks). **Capacity.** Grows.
//!
//! **Departures** of all forms. The paper's worker is idle as soon as it has no task, and waits until somebody deals.
//! An idle worker of ours says so at the first victim with tasks that it looks at. It stops being idle when it sleeps,
//! or finds something else to run; a worker that waits in the middle of a task, which the paper's never does, when it
//! looks elsewhere too. The owner looks at its clock at pushes too; in figure 1 it looks only after pops. An owner that
//! polls an empty deque counts as idle. **Of two steps**: every deal takes two steps, as the paper's does for several
//! tasks: any word can be a task, and a desk also says who has dealt, so that a fork–join worker can wake the task's
//! owner. A thief takes nothing before the second step (a known mistake in the checker). **Of those whose thieves tell
//! a victim**, also: a thief is idle only while it looks at that victim, and the paper's clock always runs. Ours stops
//! while no thief waits. That is the same for a busy owner, since in a Poisson process the time to the next event does
//! not depend on when the wait for it begins. An owner that was idle is late, and deals as soon as it has a task, as in
//! the paper.
//!
//! **Names.** The paper's `s` is a desk's number, `DUMMY_TASK` is `BUSY`, `null` `WANTS_ONE` or `WANTS_MANY`,
//! `INCOMING` is `INCOMING`, its `d` is the clock's.
//!
//! **Scenarios.** `pdq_s`, `pdq_s_at_once`, `pdq_s_told`, `pdq_s_one_step`, and each with `eager_` before it without
//! the clock, in the battery and the property tests, `pdq_s` and `pdq_s_told` also in the many-at-once tests; all four
//! names, without the clock, in the checker; all but `pdq-s-told` also with workers that deal to each other. Idle ones
//! of `pdq-s` and `pdq-s-at-once` stay so from one victim to the next.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::time::Duration;

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::PAPER;
use super::dealt::{Deals, Form};
use super::one_step::{self, OneStep};
use super::two_steps::TwoSteps;
use crate::clock::Poisson;
use crate::counts::Counting;
use crate::roles::deal;
use crate::{
    Amount, Capacity, Counts, Delivery, Full, Hand, MemoryModel, Order, Padded, Progress, Promises, Queue, StealOrder,
    Stealable, Task,
};

pub use super::dealt::Thief;

/// The private deque whose owner deals, in four forms: see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Of<F>(PhantomData<F>);

/// The private deque whose owner deals to a random worker that is idle, as in the paper: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use core::time::Duration;
/// use filch_queue::pdq::sender::Params;
/// use filch_queue::{Owner, PdqS, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let params = Params { gap: Duration::ZERO, ..Params::default() }; // tries at each operation
/// // SAFETY: all handles are used by this thread.
/// let mut hands = unsafe { <PdqS as Queue>::make_together(3, 8, &params) }.unwrap();
/// hands[0].0.push(task(1)).unwrap();
/// hands[1].0.push(task(2)).unwrap();
/// assert_eq!(hands[2].1[0].as_mut().unwrap().steal(), Steal::Pending); // worker 2 is idle
/// while hands[1].0.len_hint() > 0 {
///     hands[1].0.poll(); // and worker 1 picks it, sooner or later
/// }
/// let thief = hands[2].1[0].as_mut().unwrap();
/// assert_eq!(thief.steal(), Steal::Task(task(2)));
/// assert_eq!(thief.taken_from(), Some(1));
/// ```
pub type PdqS = Of<ForAll>;

/// The private deque whose owner deals one task, by one compare-and-swap, to a random worker that is idle, as in the
/// paper: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use core::time::Duration;
/// use filch_queue::pdq::one_step::Params;
/// use filch_queue::{Owner, PdqSAtOnce, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let params = Params { gap: Duration::ZERO }; // tries at each operation
/// // SAFETY: all handles are used by this thread.
/// let mut hands = unsafe { <PdqSAtOnce as Queue>::make_together(2, 8, &params) }.unwrap();
/// hands[0].0.push(task(1)).unwrap();
/// assert_eq!(hands[1].1[0].as_mut().unwrap().steal(), Steal::Pending); // worker 1 is idle
/// hands[0].0.poll();
/// assert_eq!(hands[1].1[0].as_mut().unwrap().steal(), Steal::Task(task(1)));
/// ```
pub type PdqSAtOnce = Of<AtOnce>;

/// The private deque whose owner deals to a thief that has told the owner that it is idle: see the [module](self).
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
pub type PdqSTold = Of<Told>;

/// The private deque whose owner deals one task, by one compare-and-swap, to a thief that has told the owner that it is
/// idle: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use core::time::Duration;
/// use filch_queue::pdq::one_step::Params;
/// use filch_queue::{Owner, PdqSOneStep, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let params = Params { gap: Duration::ZERO }; // deals whenever possible
/// let (mut owner, mut thieves) = <PdqSOneStep as Queue>::make(8, 1, &params);
/// owner.push(task(1)).unwrap();
/// owner.push(task(2)).unwrap();
/// assert_eq!(thieves[0].steal(), Steal::Pending); // the thief is idle
/// owner.poll();
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// ```
pub type PdqSOneStep = Of<ToldOneStep>;

/// The tuning parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// How many tasks the owner deals to a thief that wants several.
    pub share: Amount,
    /// The paper's δ: the mean time between two attempts to deal. It should be longer than a typical task. Zero means
    /// an attempt at each push, pop and poll.
    pub gap: Duration,
}

impl Default for Params {
    /// Half; 30 µs, as in the paper.
    fn default() -> Self {
        Self { share: Amount::default(), gap: Duration::from_micros(30) }
    }
}

/// An idle worker is idle for all others.
#[derive(Clone, Copy, Debug)]
pub struct ForAll;

/// As [`ForAll`], and one compare-and-swap deals one task.
#[derive(Clone, Copy, Debug)]
pub struct AtOnce;

/// A thief tells one victim that it is idle.
#[derive(Clone, Copy, Debug)]
pub struct Told;

/// As [`Told`], and one compare-and-swap deals one task.
#[derive(Clone, Copy, Debug)]
pub struct ToldOneStep;

// Departures of several forms.
const WAITED_OUT: &str = "A thief waits out INCOMING, which figure 3 would take for a task.";
const AT_PUSHES: &str = "The owner looks at its clock at each push too; in figure 1 only after a pop.";
const A_DESK_EACH: &str =
    "Each victim has a desk for each thief; the paper's worker has one cell, to which all others may deal.";
const FIRST_IDLE: &str = "An owner deals to the first idle thief from a random one on; the paper's tries one.";
const CLOSED_AT_TIMES: &str = "An idle worker opens its cell at the first victim with tasks that it looks at, and closes it when it sleeps or finds \
                              something else to run. One that waits in the middle of a task, as the paper's never does, also closes it \
                              when it looks elsewhere.";
const CLOCK_STOPS: &str = "The clock stops while no thief waits.";

impl Form for ForAll {
    const NAME: &'static str = "pdq-s";
    const FOLLOWS: &'static str = "figures 1 and 3";
    const DEPARTURES: &'static [&'static str] = &[
        CLOSED_AT_TIMES,
        "Tasks go by two steps, also one alone: any word can be a task, and the cell also says who deals.",
        WAITED_OUT,
        AT_PUSHES,
    ];
    const FOR_ALL: bool = true;
    type Params = Params;
    type Desk<M: Memory> = TwoSteps<M>;
}

impl Form for AtOnce {
    const NAME: &'static str = "pdq-s-at-once";
    const FOLLOWS: &'static str = "figures 1 and 3, for one task at a time";
    const DEPARTURES: &'static [&'static str] = &[
        CLOSED_AT_TIMES,
        "A worker knows by itself whether it is idle, so any word but null can be a task.",
        "A fork writes its worker's number into the task, since the cell cannot say who deals.",
        AT_PUSHES,
    ];
    const FOR_ALL: bool = true;
    const NAMELESS: bool = true;
    type Params = one_step::Params;
    type Desk<M: Memory> = OneStep<M>;
}

impl Form for Told {
    const NAME: &'static str = "pdq-s-told";
    const FOLLOWS: &'static str = "figures 1 and 3";
    const DEPARTURES: &'static [&'static str] = &[A_DESK_EACH, FIRST_IDLE, WAITED_OUT, AT_PUSHES, CLOCK_STOPS];
    const FOR_ALL: bool = false;
    type Params = Params;
    type Desk<M: Memory> = TwoSteps<M>;
}

impl Form for ToldOneStep {
    const NAME: &'static str = "pdq-s-one-step";
    const FOLLOWS: &'static str = "figures 1 and 3, for one task at a time";
    const DEPARTURES: &'static [&'static str] = &[
        A_DESK_EACH,
        FIRST_IDLE,
        "A thief may leave its cell, by a swap; and it knows by itself whether it is idle, so any word but null can be a task.",
        AT_PUSHES,
        CLOCK_STOPS,
    ];
    const FOR_ALL: bool = false;
    type Params = one_step::Params;
    type Desk<M: Memory> = OneStep<M>;
}

type Desks<M, F> = Arc<[Padded<<F as Form>::Desk<M>>]>;

pub(super) struct Shared<M: Memory, F: Form> {
    pub(super) has_tasks: Padded<M::AtomicBool>,
    pub(super) wanted: Padded<M::AtomicBool>,
    pub(super) desks: Desks<M, F>,
    params: F::Params,
}

/// The owner's side of an [`Of`] deque.
pub struct Owner<M: Memory = Native, F: Form = Told> {
    shared: Arc<Shared<M, F>>,
    tasks: VecDeque<Task>,
    clock: Poisson,
    /// The worker's number if all workers have the same desks; otherwise a number that no desk has.
    index: usize,
    /// The idle thief to which the next task goes.
    picked: Option<usize>,
    tally: Counting,
}

/// Makes a desk for each thief.
fn desks<M: Memory, F: Form>(thieves: usize) -> Desks<M, F> {
    super::check_number(thieves);
    (0..thieves).map(|_| Padded(Deals::new())).collect()
}

/// Makes the queue of one victim.
fn victim<M: Memory, F: Form>(
    index: usize,
    capacity: usize,
    desks: Desks<M, F>,
    params: &F::Params,
) -> (Owner<M, F>, impl Fn(usize) -> Thief<M, F>) {
    let shared = Arc::new(Shared {
        has_tasks: Padded(Atomic::new(false)),
        wanted: Padded(Atomic::new(false)),
        desks,
        params: *params,
    });
    let owner = Owner {
        shared: Arc::clone(&shared),
        tasks: VecDeque::with_capacity(capacity),
        clock: Poisson::new(<F::Desk<M> as Deals<M>>::gap(params)),
        index,
        picked: None,
        tally: Counting::default(),
    };
    (owner, move |index| Thief { shared: Arc::clone(&shared), index, known: Default::default() })
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory, F: Form> Queue<M> for Of<F> {
    type Owner = Owner<M, F>;
    type Thief = Thief<M, F>;
    type Params = F::Params;

    const PROMISES: Promises = Promises {
        name: F::NAME,
        paper: PAPER,
        follows: F::FOLLOWS,
        departures: F::DEPARTURES,
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
    const BY_VICTIM: bool = !F::FOR_ALL;
    const HANDS_OVER: bool = true;
    const STANDS: bool = F::FOR_ALL;
    const NAMELESS: bool = F::NAMELESS;

    fn make(capacity: usize, thieves: usize, params: &F::Params) -> (Self::Owner, Vec<Self::Thief>) {
        let (owner, thief) = victim(thieves, capacity, desks::<M, F>(thieves), params);
        (owner, (0..thieves).map(thief).collect())
    }

    unsafe fn make_together(workers: usize, capacity: usize, params: &F::Params) -> Option<Vec<Hand<Self, M>>> {
        F::FOR_ALL.then(|| {
            let desks = desks::<M, F>(workers);
            deal(workers, |index| victim(index, capacity, Arc::clone(&desks), params))
        })
    }
}

impl<M: Memory, F: Form> Owner<M, F> {
    /// Deals if it is time.
    #[inline]
    fn communicate(&mut self) {
        if F::FOR_ALL {
            if self.clock.is_due() {
                self.deal();
            }
        } else if self.is_wanted() && !self.tasks.is_empty() {
            self.deal_if_due();
        }
    }

    #[inline]
    fn is_wanted(&self) -> bool {
        // Relaxed: a hint.
        F::FOR_ALL || self.shared.wanted.load(Ordering::Relaxed)
    }

    #[cold]
    fn deal_if_due(&mut self) {
        if self.clock.is_due() {
            self.deal();
        }
    }

    /// Deals a task, if there is one, to the first idle thief among those that it tries.
    #[cold]
    fn deal(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        if let Some(desk) = self.picked.take().or_else(|| self.find_idle()) {
            self.deal_to(desk);
        }
    }

    /// Looks for an idle thief: at a random one, and in our forms then at the others.
    fn find_idle(&mut self) -> Option<usize> {
        let Self { shared, clock, index: own, .. } = self;
        self.tally.count(|counts| &counts.deals_tried);
        let others = shared.desks.len() - usize::from(*own < shared.desks.len());
        let first = clock.below(others);
        let tried = (0..if F::FOR_ALL { others.min(1) } else { others }).map(|nth| (first + nth) % others);
        let is_idle = |desk: &usize| shared.desks[*desk].is_idle();
        let idle = { tried }.map(|other| other + usize::from(other >= *own)).find(is_idle);
        if !F::FOR_ALL && idle.is_none() {
            clock.stop();
            // Relaxed: a hint. A thief that has become idle since then raises it again when it looks at its desk.
            shared.wanted.store(false, Ordering::Relaxed);
        }
        idle
    }

    /// Deals to this thief, if it is still idle. Precondition: there is a task.
    fn deal_to(&mut self, desk: usize) {
        let Self { shared, tasks, index, tally, .. } = self;
        // SAFETY: an owner deals to its own thieves.
        if !unsafe { shared.desks[desk].deal(tasks, *index, &shared.params, tally.of(|counts| &counts.grants)) } {
            return;
        }
        if tasks.is_empty() {
            self.has_no_tasks();
        }
        self.tally.count(|counts| &counts.deals);
    }

    #[inline]
    fn has_no_tasks(&self) {
        // Relaxed: a hint.
        self.shared.has_tasks.store(false, Ordering::Relaxed);
    }
}

impl<M: Memory, F: Form> crate::Owner<Task> for Owner<M, F> {
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
        } else {
            self.communicate();
        }
    }

    fn offers(&mut self, more: bool) {
        // Relaxed: the owner's own value, and a hint.
        if self.tasks.is_empty() && self.shared.has_tasks.load(Ordering::Relaxed) != more {
            self.shared.has_tasks.store(more, Ordering::Relaxed);
        }
    }

    /// Returns whether it has found an idle thief; that thief gets the next task pushed.
    fn is_wanting(&mut self) -> bool {
        if !self.tasks.is_empty() || !self.is_wanted() || !self.clock.is_due() {
            return false;
        }
        self.picked = self.find_idle();
        if self.picked.is_some() {
            self.clock.recur();
        }
        self.picked.is_some()
    }

    fn len_hint(&self) -> usize {
        self.tasks.len()
    }

    fn count_in(&mut self, counts: &Arc<Counts>) {
        self.tally.count_in(counts);
    }
}
