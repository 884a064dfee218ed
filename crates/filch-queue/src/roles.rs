//! The roles: who may do what to a queue.

use alloc::vec::Vec;
use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};

use filch_memory::{Memory, Native};

use crate::{Promises, Task};

/// The owner's side of a queue. One thread has it.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Lace, Owner, Queue, Task};
///
/// let (mut owner, _) = <Lace as Queue>::make(2, 0, &Default::default());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task)?;
/// owner.push(task)?;
/// assert!(owner.push(task).is_err());
/// assert_eq!(owner.pop(), Some(task));
/// # Ok::<_, filch_queue::Full<Task>>(())
/// ```
pub trait Owner<T> {
    /// Adds a task.
    ///
    /// # Errors
    /// [`Full`] gives the task back; the queue is as it was. Usually the owner then runs the task itself.
    fn push(&mut self, task: T) -> Result<(), Full<T>>;

    /// Takes a task back, which one [`Promises::order`] says. `None` means that the owner has no task left that
    /// somebody else did not take.
    fn pop(&mut self) -> Option<T>;

    /// Answers thieves. Pushing and popping do so too; call it where the owner does neither for long, and in every
    /// loop in which it waits, if [`Promises::owner_must_poll`] says so.
    #[inline]
    fn poll(&mut self) {}

    /// About how many tasks there are. Thieves may be taking some of them; a queue that does not know how many of its
    /// shared tasks are left may count them as one.
    fn len_hint(&self) -> usize;
}

/// A thief's side of a queue. Every thread that may steal has its own.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{ChaseLev, Owner, Queue, Steal, Task, Thief};
///
/// let (mut owner, mut thieves) = <ChaseLev as Queue>::make(8, 2, &());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task).unwrap();
/// assert!(thieves[1].has_work_hint());
/// assert_eq!(thieves[0].steal(), Steal::Task(task));
/// assert_eq!(thieves[1].steal(), Steal::Empty);
/// ```
pub trait Thief<T> {
    /// Tries once to take a task. Does not wait for what the owner does next, unless the queue promises
    /// [`Progress::WaitsForOwner`](crate::Progress::WaitsForOwner).
    fn steal(&mut self) -> Steal<T>;

    /// Settles what this thief has asked for and not received. Call it before the thread sleeps or leaves, until it
    /// returns `None`: a task returned is this thief's, as if stolen.
    #[inline]
    #[must_use = "a task returned belongs to the caller and is lost if ignored"]
    fn quiesce(&mut self) -> Option<T> {
        None
    }

    /// Whether there may be a task in the queue: a cheap look, for a worker that is about to sleep.
    ///
    /// It is true if a task is there whose push is ordered before the call: it happens before it, or a sequentially
    /// consistent fence after the push precedes one before the call. It may be true for no reason, and it counts
    /// tasks that thieves cannot take yet; a thief that wants those must have tried to steal before it sleeps, so
    /// that the owner knows. A task that has been set aside for a thief is there for that thief.
    fn has_work_hint(&self) -> bool;
}

/// A thief that can take several tasks in one go.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Locked, Owner, Queue, Steal, StealMany, Task};
///
/// let (mut owner, mut thieves) = <Locked as Queue>::make(8, 1, &());
/// for n in 1..=6 {
///     owner.push(Task::from_id(NonZeroUsize::new(n).unwrap())).unwrap();
/// }
/// let mut loot = Vec::new();
/// assert_eq!(thieves[0].steal_many(16, &mut loot), Steal::Task(3));
/// assert_eq!(loot.iter().map(|task| task.id().get()).collect::<Vec<_>>(), [1, 2, 3]);
/// ```
pub trait StealMany<T>: Thief<T> {
    /// Tries once to take up to `max` tasks, appends them to `loot` in the order of [`Promises::steals`], and returns
    /// how many. How many it takes below `max` is the queue's policy, most often half of what there is.
    ///
    /// The order is that of a thief alone. Where several steal at the same time, each gets its own tasks, but the loot of
    /// one call need not be in order, nor without gaps.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<T>) -> Steal<usize>;
}

/// A queue algorithm on a kind of memory: a type that is only a name, and makes the two sides.
///
/// ```
/// use filch_queue::{Owner, Queue};
///
/// fn is_empty_at_first<Q: Queue>() -> bool {
///     let (owner, thieves) = Q::make(16, 3, &Q::Params::default());
///     owner.len_hint() == 0 && thieves.len() == 3
/// }
/// assert!(is_empty_at_first::<filch_queue::ChaseLev>());
/// assert!(is_empty_at_first::<filch_queue::Lace>());
/// ```
///
/// # Safety
/// * The two sides, [`StealMany`] included, return no words but those that have been pushed, and each as often as
///   [`PROMISES`](Self::PROMISES) says: whoever receives a word may be the only one who does, and runs what it points to.
/// * What happened before a push happens before its word is returned.
/// * The owner's operations do not unwind: its frames hold the tasks that it takes back.
/// * If [`THIEVES_ALIKE`](Self::THIEVES_ALIKE), a thief's handle may be shared between threads, which may call
///   [`steal_alike`](Self::steal_alike) and [`has_work_hint`](crate::Thief::has_work_hint) at the same time.
pub unsafe trait Queue<M: Memory = Native>: Sized + 'static {
    /// The owner's side.
    type Owner: Owner<Task> + Send;
    /// A thief's side.
    type Thief: Thief<Task> + Send;
    /// What can be tuned; `()` if nothing can.
    type Params: Clone + Default + Debug + Send + Sync;

    /// What the queue promises.
    const PROMISES: Promises;

    /// Whether one thief's handle serves any number of threads, because it has no state of its own. Where it does, many workers need one
    /// handle for each queue instead of one for each pair of workers.
    const THIEVES_ALIKE: bool = false;

    /// [`Thief::steal`](crate::Thief::steal), for any number of threads at once.
    ///
    /// ```
    /// use core::num::NonZeroUsize;
    /// use filch_queue::{ChaseLev, Owner, Queue, Steal, Task};
    ///
    /// const { assert!(<ChaseLev as Queue>::THIEVES_ALIKE) };
    /// let (mut owner, thieves) = <ChaseLev as Queue>::make(8, 1, &());
    /// let task = Task::from_id(NonZeroUsize::MIN);
    /// owner.push(task)?;
    /// assert_eq!(<ChaseLev as Queue>::steal_alike(&thieves[0]), Steal::Task(task));
    /// # Ok::<_, filch_queue::Full<Task>>(())
    /// ```
    ///
    /// # Panics
    /// Unless [`THIEVES_ALIKE`](Self::THIEVES_ALIKE).
    fn steal_alike(_: &Self::Thief) -> Steal<Task> {
        not_alike()
    }

    /// Makes an empty queue with room for `capacity` tasks, at least one (see [`Capacity`](crate::Capacity)), and
    /// `thieves` thieves' handles, one for each thread that may steal.
    ///
    /// # Panics
    /// If `capacity` is more than the algorithm can count, or than memory holds.
    fn make(capacity: usize, thieves: usize, params: &Self::Params) -> (Self::Owner, Vec<Self::Thief>);
}

#[cold]
fn not_alike() -> ! {
    panic!("the queue's thieves are not alike")
}

/// The outcome of an attempt to steal.
///
/// ```
/// use filch_queue::Steal;
///
/// assert_eq!(Steal::Task(3).map(|n| n + 1), Steal::Task(4));
/// assert_eq!(Steal::<u8>::Retry.task(), None);
/// assert!(Steal::<u8>::Empty.is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Steal<T> {
    /// A task, now the thief's.
    Task(T),
    /// There was nothing to take.
    Empty,
    /// Somebody else was faster. Trying again at once is worth it.
    Retry,
    /// Refused for lack of certainty, though there may be tasks. Trying again at once is useless unless the owner
    /// pushes. Not a sign that work has run out.
    Aborted,
    /// The owner has been asked and has not answered. A later attempt collects the answer. Not a sign that work has
    /// run out.
    Pending,
}

impl<T> Steal<T> {
    /// The task, if there is one.
    ///
    /// ```
    /// assert_eq!(filch_queue::Steal::Task(1).task(), Some(1));
    /// ```
    #[inline]
    pub fn task(self) -> Option<T> {
        match self {
            Self::Task(task) => Some(task),
            _ => None,
        }
    }

    /// Whether a task was taken.
    ///
    /// ```
    /// assert!(filch_queue::Steal::Task(1).is_task());
    /// ```
    #[inline]
    pub fn is_task(&self) -> bool {
        matches!(self, Self::Task(_))
    }

    /// Whether the queue was found empty.
    ///
    /// ```
    /// assert!(!filch_queue::Steal::<u8>::Aborted.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether trying again at once is worth it.
    ///
    /// ```
    /// assert!(filch_queue::Steal::<u8>::Retry.is_retry());
    /// ```
    #[inline]
    pub fn is_retry(&self) -> bool {
        matches!(self, Self::Retry)
    }

    /// The same outcome with another task.
    ///
    /// ```
    /// use filch_queue::Steal;
    /// assert_eq!(Steal::Task("ab").map(str::len), Steal::Task(2));
    /// ```
    #[inline]
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Steal<U> {
        match self {
            Self::Task(task) => Steal::Task(f(task)),
            Self::Empty => Steal::Empty,
            Self::Retry => Steal::Retry,
            Self::Aborted => Steal::Aborted,
            Self::Pending => Steal::Pending,
        }
    }
}

/// The task that a full queue did not accept.
///
/// ```
/// let full = filch_queue::Full("task");
/// assert_eq!(full.to_string(), "the queue is full");
/// assert_eq!(full.0, "task");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> Display for Full<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the queue is full")
    }
}

impl<T: Debug> Error for Full<T> {}
