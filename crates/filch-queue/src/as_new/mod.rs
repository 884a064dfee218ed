//! As good as new: checks that a used and emptied queue behaves like a new one.
//!
//! Even if every task was taken once, a queue may answer "empty", "pending" or "full" from then on, may have forgotten
//! a thief's request, or may have miscounted. Draining it does not show this, since no task is missing. So a test or a
//! checker's scenario ends with a [`Trial`]. It fills and empties the queue in rounds: by the owner alone, by each
//! thief alone, by all thieves, and by a thief whose request meets an owner that takes everything back. Each round must
//! end as [`Promises`] says, and as on a new queue with the same parameters.
//!
//! Invariant: a trial has one thread, so no thread interferes, and all promises for that case must hold. The trial
//! allows a used queue these differences from a new one:
//!
//! * A queue in blocks may begin in the middle of a block, where the last task was taken. So the owner first fills both
//!   queues completely and empties them, which leaves both at the same place. Even this first filling must fit the
//!   requested capacity.
//! * An owner that meets a thief's claim when it computes its room has room for one task more than without thieves,
//!   until it next computes its room.
//! * A thief that looks at one other thief's answer at a time cycles through them. So if three or more thieves take
//!   tasks in any order, a round compares only the tasks that they take together.
//! * For an owner that [answers by a clock](crate::Promises::answers_by_clock), a round compares only the tasks that
//!   thieves and owner take together.

mod course;
mod round;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::{self, Debug, Formatter};

use filch_memory::Memory;

use self::course::{BRIM, Course};
use self::round::Ending;
use crate::{Capacity, Owner, Promises, Queue, Steal, StealMany, Task, Thief};

/// The trial of a queue that has been used.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_memory::Native;
/// use filch_queue::{BlockSize, BwosL, Owner, Queue, Task, Thief, as_new::Trial};
///
/// let params = BlockSize::Entries(NonZeroUsize::new(2).unwrap());
/// let (mut owner, mut thieves) = <BwosL as Queue>::make(4, 2, &params);
/// for n in 1..100 {
///     owner.push(Task::from_id(NonZeroUsize::new(n).unwrap())).unwrap();
///     assert!(thieves[n % 2].steal().is_task() || owner.pop().is_some());
/// }
/// while owner.pop().is_some() {}
/// Trial::new::<BwosL, Native>(4, &params).passes(&mut owner, &mut thieves);
/// ```
pub struct Trial {
    capacity: usize,
    promises: &'static Promises,
    new: Box<dyn Fn(usize) -> Endings + Send + Sync>,
}

/// A thief in a trial. A mutable reference to any thief [is](From) one that takes one task at a time.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_memory::Native;
/// use filch_queue::as_new::{Side, Trial};
/// use filch_queue::{Locked, Owner, Queue, Steal, Task};
///
/// let (mut owner, mut thieves) = <Locked as Queue>::make(8, 1, &());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task)?;
/// let (mut side, mut bag) = (Side::Several(&mut thieves[0]), Vec::new());
/// assert_eq!(side.attempt(Some(4), &mut bag), Steal::Task(1));
/// assert_eq!((bag, side.thief().quiesce()), (vec![task], None));
/// Trial::of_many::<Locked, Native>(8, &()).passes(&mut owner, [side]);
/// # Ok::<_, filch_queue::Full<Task>>(())
/// ```
#[expect(missing_debug_implementations, reason = "queues need not have it")]
pub enum Side<'q> {
    /// Takes one at a time.
    One(&'q mut dyn Thief<Task>),
    /// Can take several at once: there are rounds in which it does.
    Several(&'q mut dyn StealMany<Task>),
}

impl Side<'_> {
    /// Makes one attempt at up to `most` tasks if the thief can take several, otherwise at one, and puts them into the
    /// bag.
    pub fn attempt(&mut self, most: Option<usize>, bag: &mut Vec<Task>) -> Steal<usize> {
        match (self, most) {
            (Self::Several(thief), Some(most)) => thief.steal_many(most, bag),
            (side, _) => side.thief().steal().map(|task| {
                bag.push(task);
                1
            }),
        }
    }

    /// Returns the thief.
    pub fn thief(&mut self) -> &mut dyn Thief<Task> {
        match self {
            Self::One(thief) => *thief,
            Self::Several(thief) => *thief,
        }
    }

    fn has_work_hint(&self) -> bool {
        match self {
            Self::One(thief) => thief.has_work_hint(),
            Self::Several(thief) => thief.has_work_hint(),
        }
    }
}

impl<'q, T: Thief<Task>> From<&'q mut T> for Side<'q> {
    fn from(thief: &'q mut T) -> Self {
        Self::One(thief)
    }
}

impl Trial {
    /// Makes the trial of a queue that was made with this capacity and these parameters.
    pub fn new<Q: Queue<M>, M: Memory>(capacity: usize, params: &Q::Params) -> Self {
        Self::of::<Q, M>(capacity, params, |thief| Side::One(thief))
    }

    /// As [`Trial::new`], of thieves that are [`Side::Several`].
    pub fn of_many<Q: Queue<M, Thief: StealMany<Task>>, M: Memory>(capacity: usize, params: &Q::Params) -> Self {
        Self::of::<Q, M>(capacity, params, |thief| Side::Several(thief))
    }

    fn of<Q: Queue<M>, M: Memory>(
        capacity: usize,
        params: &Q::Params,
        side: for<'q> fn(&'q mut Q::Thief) -> Side<'q>,
    ) -> Self {
        let params = params.clone();
        let new = move |thieves| {
            let (mut owner, mut thieves) = Q::make(capacity, thieves, &params);
            let sides = thieves.iter_mut().map(side).collect();
            Endings(Course::new(None, &Q::PROMISES, capacity, &mut owner, sides).run())
        };
        Self { capacity, promises: &Q::PROMISES, new: Box::new(new) }
    }

    /// Tries the queue. All of its tasks must have been taken; thieves may have asked for more.
    ///
    /// # Panics
    /// If a round does not end as promised, or as on a new queue.
    pub fn passes<'q>(
        &self,
        owner: &mut (dyn Owner<Task> + 'q),
        thieves: impl IntoIterator<Item: Into<Side<'q>>, IntoIter: ExactSizeIterator>,
    ) {
        let thieves = thieves.into_iter();
        self.passes_like(&self.of_new(thieves.len()), owner, thieves);
    }

    /// Returns how the rounds end on a new queue with this many thieves, for callers that try many queues.
    ///
    /// # Panics
    /// If a round does not end as promised.
    pub fn of_new(&self, thieves: usize) -> Endings {
        (self.new)(thieves)
    }

    /// As [`Trial::passes`], with the result of [`Trial::of_new`] for this many thieves.
    ///
    /// # Panics
    /// As [`Trial::passes`].
    pub fn passes_like<'q>(
        &self,
        new: &Endings,
        owner: &mut (dyn Owner<Task> + 'q),
        thieves: impl IntoIterator<Item: Into<Side<'q>>>,
    ) {
        let thieves = thieves.into_iter().map(Into::into).collect();
        let found = Course::new(Some(&new.0), self.promises, self.capacity, owner, thieves).run();
        assert_eq!(new.0.len(), found.len(), "the queues have different thieves");
        // Unless the queue was filled completely, blocks may begin anywhere.
        let is_comparable = self.capacity <= BRIM || self.promises.capacity != Capacity::Array;
        for (expected, found) in new.0.iter().zip(&found).filter(|_| is_comparable) {
            assert!(expected == found, "not as good as new: {found}; {expected}");
        }
    }
}

impl Debug for Trial {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("queue", &self.promises.name).field("capacity", &self.capacity).finish()
    }
}

/// The results of the rounds of a trial on a new queue.
#[derive(Debug)]
pub struct Endings(Vec<Ending>);
