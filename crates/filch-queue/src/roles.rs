//! The roles: what each side of a queue may do.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};

use filch_memory::{Memory, Native};

use crate::{Counts, Promises, Stealable, Task};

/// The owner's side of a queue, held by one thread.
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
    /// [`Full`] returns the task and leaves the queue unchanged. The owner then usually runs the task itself.
    fn push(&mut self, task: T) -> Result<(), Full<T>>;

    /// Adds the first ones of `tasks`, in order, as [`push`](Self::push) does: as many as there is room for. Returns
    /// how many. Some queues pay only once for many tasks.
    ///
    /// ```
    /// use core::num::NonZeroUsize;
    /// use filch_queue::{Owner, Queue, Task, Wsq};
    ///
    /// let (mut owner, _) = <Wsq as Queue>::make(4, 0, &Default::default());
    /// let tasks = [1, 2, 3, 4, 5].map(|n| Task::from_id(NonZeroUsize::new(n).unwrap()));
    /// assert_eq!(owner.push_many(&tasks), 4);
    /// assert_eq!(owner.pop(), Some(tasks[3]));
    /// ```
    fn push_many(&mut self, tasks: &[T]) -> usize
    where
        T: Copy,
    {
        tasks.iter().take_while(|task| self.push(**task).is_ok()).count()
    }

    /// Returns how many stolen tasks the owner should bring here at most, of `max` that it would: a thief that takes
    /// [several](StealMany) asks for so many and one to run. By default all.
    fn room_for_loot(&mut self, max: usize) -> usize {
        max
    }

    /// Takes a task back; [`Promises::order`] says which one. `None` means that no task is left for the owner.
    fn pop(&mut self) -> Option<T>;

    /// Answers thieves. Pushing and popping do so too. If [`Promises::owner_must_poll`], call it when the owner does
    /// neither for a long time, and in every loop in which the owner waits.
    #[inline]
    fn poll(&mut self) {}

    /// Answers pending requests. Until the next push, poll or [`offers(true)`](Self::offers), no thief then waits for
    /// this owner. Call it before the owner sleeps or leaves, if the queue's thieves do not
    /// [withdraw](Queue::WITHDRAWS).
    #[inline]
    fn rest(&mut self) {}

    /// Says whether the owner can give more than the tasks in the queue, such as a part of the running task. Thieves
    /// that check before they ask see this. An answer may reset it, so the owner repeats it at each check for requests.
    #[inline]
    fn offers(&mut self, _more: bool) {}

    /// Returns whether a thief would get a task if the owner pushed one. A queue that does not know who asks returns
    /// whether it is empty.
    #[inline]
    fn is_wanting(&mut self) -> bool {
        self.len_hint() == 0
    }

    /// Returns the approximate number of tasks. Thieves may be taking some of them; a queue that does not know how many
    /// shared tasks are left may count them as one.
    fn len_hint(&self) -> usize;

    /// Counts this handle's events there from now on, if the algorithm counts anything.
    fn count_in(&mut self, _: &Arc<Counts>) {}
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
    /// Tries once to take a task. Does not wait for the owner's next operation, unless the queue promises
    /// [`Progress::WaitsForOwner`](crate::Progress::WaitsForOwner).
    fn steal(&mut self) -> Steal<T>;

    /// Settles this thief's outstanding request. Before the thread sleeps or leaves, call it until it returns `None`: a
    /// returned task belongs to this thief, as if stolen. If a request cannot be [withdrawn](Queue::WITHDRAWS), the
    /// call waits for the owner's next operation.
    #[inline]
    #[must_use = "a task returned belongs to the caller and is lost if ignored"]
    fn quiesce(&mut self) -> Option<T> {
        None
    }

    /// Returns whether there may be a task in the queue: a cheap check for a worker that is about to sleep.
    ///
    /// It is true if the queue holds a task whose push is ordered before the call: the push happens before the call, or
    /// a sequentially consistent fence after the push precedes one before the call. It may be true without a task, and
    /// it counts tasks that thieves cannot take yet. A thief that wants such tasks must try to steal before it sleeps,
    /// so that the owner knows. A task set aside for a thief counts for that thief.
    fn has_work_hint(&self) -> bool;

    /// As [`has_work_hint`](Self::has_work_hint), but may ignore the newest tasks that thieves [leave to the
    /// owner](Queue::kept_back): a worker that could not take them sleeps.
    #[inline]
    fn has_stealable_hint(&self) -> bool {
        self.has_work_hint()
    }

    /// Returns the worker whose task this handle returned last, if that need not be the handle's
    /// [victim](Queue::BY_VICTIM). For queues [made together](Queue::make_together).
    #[inline]
    fn taken_from(&self) -> Option<usize> {
        None
    }

    /// Counts this handle's events there from now on, if the algorithm counts anything.
    fn count_in(&mut self, _: &Arc<Counts>) {}
}

/// A thief that can take several tasks at once.
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
    /// their number. The queue's policy decides how many it takes below `max`, most often half of the tasks.
    ///
    /// The order holds for a thief alone. If several thieves steal at the same time, the loot of each call may be out
    /// of order and have gaps.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<T>) -> Steal<usize>;
}

/// A queue algorithm on a kind of memory: a type that is only a name and makes the two sides.
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
/// * The two sides, [`StealMany`] included, return only words that have been pushed, and each as often as
///   [`PROMISES`](Self::PROMISES) says: a receiver may rely on being the only one, and runs the word's job.
/// * What happens before a push happens before the return of its word.
/// * The owner's operations do not unwind: its frames hold the tasks that it takes back.
/// * If [`THIEVES_ALIKE`](Self::THIEVES_ALIKE), threads may share a thief's handle and call
///   [`steal_alike`](Self::steal_alike) and [`has_work_hint`](crate::Thief::has_work_hint) at the same time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no work-stealing queue",
    label = "not a queue of `filch_queue`",
    note = "name a queue, as in `filch::pool::Queued<filch_queue::ChaseLev>`; each has a file in `filch_queue`, which says what it promises"
)]
pub unsafe trait Queue<M: Memory = Native>: Sized + 'static {
    /// The owner's side.
    type Owner: Owner<Task> + Send;
    /// A thief's side.
    type Thief: Thief<Task> + Send;
    /// The tuning parameters; `()` if there are none.
    type Params: Clone + Default + Debug + Send + Sync;

    /// The queue's promises.
    const PROMISES: Promises;

    /// The largest capacity that the algorithm can count.
    const MAX_CAPACITY: usize = usize::MAX;

    /// Whether one thief's handle serves any number of threads, because it has no state of its own. Many workers then
    /// need one handle for each queue instead of one for each pair of workers.
    const THIEVES_ALIKE: bool = false;

    /// Whether a thief that has asked may go away, since [`quiesce`](crate::Thief::quiesce) withdraws its request.
    /// Otherwise it waits for the answer. Meanwhile its own owner's end has to answer others, and each owner has to
    /// [rest](crate::Owner::rest) before it stops answering.
    const WITHDRAWS: bool = true;

    /// Whether the owner itself hands over each task that a thief gets, and [counts](Counts::grants) it before the
    /// thief can have it. So the number of tasks handed over can be compared with the number that thieves have
    /// finished. If a thief leaves before it gets its task, the owner takes the task off the count again: the count may
    /// be too high for a moment, and is never too low.
    const HANDS_OVER: bool = false;

    /// Whether every pop that returns a task executes a sequentially consistent fence, so that all threads see the
    /// owner's earlier stores before the owner executes the task's loads.
    const FENCES_POPS: bool = false;

    /// Whether a handle returns only tasks of its victim. Otherwise its [thief](crate::Thief::taken_from) says whose
    /// task it was, unless they are [nameless](Self::NAMELESS).
    const BY_VICTIM: bool = true;

    /// Whether a request may stand while its thief looks elsewhere, since any owner may answer it: an idle worker is
    /// idle for all. Before the worker runs anything but the answer, sleeps or leaves, it
    /// [settles](crate::Thief::quiesce) by one of its handles.
    const STANDS: bool = false;

    /// Whether a handle returns tasks of any worker and cannot say whose, so whoever has to know writes it into the
    /// task.
    const NAMELESS: bool = false;

    /// Does what [`Thief::steal`](crate::Thief::steal) does, for any number of threads at once.
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

    /// Returns whether a thread whose attempt is [`Pending`](Steal::Pending) should poll for the answer for a while.
    /// Otherwise it goes on elsewhere, and collects the answer when it comes back.
    fn polls(_: &Self::Thief) -> bool {
        matches!(Self::PROMISES.stealable, Stealable::OnRequest)
    }

    /// Returns how many of the newest tasks thieves leave to the owner, at most. If the queue holds no more than that,
    /// nothing can be stolen. `usize::MAX` means that thieves leave everything.
    ///
    /// ```
    /// use filch_queue::{BwosL, ChaseLev, Queue};
    ///
    /// assert_eq!(<ChaseLev as Queue>::kept_back(8, &()), 0);
    /// assert!(<BwosL as Queue>::kept_back(1024, &Default::default()) > 1, "the owner's block");
    /// ```
    fn kept_back(_capacity: usize, _: &Self::Params) -> usize {
        0
    }

    /// Makes an empty queue with room for `capacity` tasks, at least one (see [`Capacity`](crate::Capacity)), and
    /// `thieves` handles, one for each thread that may steal.
    ///
    /// # Panics
    /// If `capacity` is more than the algorithm can count or memory can hold.
    fn make(capacity: usize, thieves: usize, params: &Self::Params) -> (Self::Owner, Vec<Self::Thief>);

    /// Makes the queues of one pool's workers, at least one, if the queues have something in common: in some algorithms
    /// a worker receives the tasks of all givers in one place. `None` means that [each is made](Self::make) by itself,
    /// and that the handles are [dealt out](deal_out).
    ///
    /// # Safety
    /// One thread at a time uses the handles of one worker.
    ///
    /// # Panics
    /// As [`make`](Self::make).
    unsafe fn make_together(_workers: usize, _capacity: usize, _: &Self::Params) -> Option<Vec<Hand<Self, M>>> {
        None
    }
}

/// A worker's end of its own queue, and its handles on the others' queues, by worker; at its own number there is none.
pub type Hand<Q, M = Native> = (<Q as Queue<M>>::Owner, Vec<Option<<Q as Queue<M>>::Thief>>);

/// Deals out the handles on each worker's queue, one for each of the other workers.
///
/// ```
/// use filch_queue::{ChaseLev, Queue, deal_out};
///
/// let made = (0..3).map(|_| <ChaseLev as Queue>::make(8, 2, &())).collect();
/// let hands = deal_out::<ChaseLev, _>(made);
/// assert!(hands[1].1[1].is_none() && hands[1].1[2].is_some());
/// ```
///
/// # Panics
/// If a queue has too few handles.
pub fn deal_out<Q: Queue<M>, M: Memory>(made: Vec<(Q::Owner, Vec<Q::Thief>)>) -> Vec<Hand<Q, M>> {
    let (workers, mut made) = (made.len(), made.into_iter());
    deal(workers, |_| {
        let (owner, handles) = made.next().expect("one for each worker");
        let mut handles = handles.into_iter();
        (owner, move |_| handles.next().expect("one for each of the others"))
    })
}

/// Makes each worker's queue, and deals out the handles on it. Each handle is made for the worker that receives it.
pub(crate) fn deal<O, T, H: FnMut(usize) -> T>(
    workers: usize,
    mut make: impl FnMut(usize) -> (O, H),
) -> Vec<(O, Vec<Option<T>>)> {
    let mut thieves: Vec<Vec<Option<T>>> = (0..workers).map(|_| Vec::with_capacity(workers)).collect();
    let owners: Vec<O> = (0..workers)
        .map(|victim| {
            let (owner, mut handle) = make(victim);
            for (thief, row) in thieves.iter_mut().enumerate() {
                row.push((thief != victim).then(|| handle(thief)));
            }
            owner
        })
        .collect();
    owners.into_iter().zip(thieves).collect()
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
    /// A task, which belongs to the thief from here on.
    Task(T),
    /// The queue was empty.
    Empty,
    /// Another thread was faster. Trying again at once is worthwhile.
    Retry,
    /// Refused because the thief cannot be sure, though there may be tasks. Trying again at once is useless unless the
    /// owner pushes. Not a sign that work has run out.
    Aborted,
    /// The owner has been asked and has not answered. A later attempt collects the answer. Not a sign that work has run
    /// out.
    Pending,
}

impl<T> Steal<T> {
    /// Returns the task, if there is one.
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

    /// Returns whether a task was taken.
    ///
    /// ```
    /// assert!(filch_queue::Steal::Task(1).is_task());
    /// ```
    #[inline]
    pub fn is_task(&self) -> bool {
        matches!(self, Self::Task(_))
    }

    /// Returns whether the queue was empty.
    ///
    /// ```
    /// assert!(!filch_queue::Steal::<u8>::Aborted.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns whether trying again at once is worthwhile.
    ///
    /// ```
    /// assert!(filch_queue::Steal::<u8>::Retry.is_retry());
    /// ```
    #[inline]
    pub fn is_retry(&self) -> bool {
        matches!(self, Self::Retry)
    }

    /// Returns the same outcome with another task.
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
