//! What a queue promises, as constants that tests and schedulers read.

use crate::Steal;

/// The promises of one queue.
///
/// ```
/// use filch_memory::Native;
/// use filch_queue::{Capacity, ChaseLev, Delivery, Promises, Queue};
///
/// const CHASE_LEV: Promises = <ChaseLev as Queue<Native>>::PROMISES;
/// assert_eq!(CHASE_LEV.delivery, Delivery::ExactlyOnce);
/// assert_eq!(CHASE_LEV.capacity, Capacity::Grows);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// The name on command lines and in plots, in lower case.
    pub name: &'static str,
    /// Authors, title, venue and year.
    pub paper: &'static str,
    /// Which task the owner's pop returns, if no thief interferes.
    pub order: Order,
    /// Which task a thief gets, if neither the owner nor another thief interferes.
    pub steals: StealOrder,
    /// How often a task can be returned.
    pub delivery: Delivery,
    /// What happens when the queue is full.
    pub capacity: Capacity,
    /// Whether a thief can be refused although there are tasks ([`Steal::Aborted`](crate::Steal::Aborted)).
    pub may_abort: bool,
    /// What a thief may have to wait for.
    pub steal_progress: Progress,
    /// Which tasks thieves can take.
    pub stealable: Stealable,
    /// The memory model that the correctness argument needs.
    pub memory_model: MemoryModel,
    /// Whether thieves depend on the owner's calling [`Owner::poll`](crate::Owner::poll) even when it neither pushes
    /// nor pops.
    pub owner_must_poll: bool,
    /// Whether an owner that has been asked may put its answer off because the time for it has not come. Otherwise it answers
    /// at its next operation.
    pub answers_by_clock: bool,
}

impl Promises {
    /// Whether a thief may be told so.
    ///
    /// ```
    /// use filch_queue::{ChaseLev, Queue, Steal};
    ///
    /// let promises = <ChaseLev as Queue>::PROMISES;
    /// assert!(promises.may_answer(&Steal::<()>::Retry) && !promises.may_answer(&Steal::<()>::Pending));
    /// ```
    pub const fn may_answer<T>(&self, answer: &Steal<T>) -> bool {
        match answer {
            Steal::Task(_) | Steal::Empty | Steal::Retry => true,
            Steal::Aborted => self.may_abort,
            Steal::Pending => matches!(self.steal_progress, Progress::OwnerDependent),
        }
    }
}

/// Which task the owner's pop returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The newest.
    Lifo,
    /// The oldest.
    Fifo,
}

/// Which task a thief gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealOrder {
    /// The oldest.
    OldestFirst,
    /// The oldest of those that thieves can take.
    OldestShared,
    /// The newest.
    NewestFirst,
    /// Any, for instance one set aside for this thief earlier.
    Unordered,
}

/// How often a task that was pushed is returned, once everything is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Once.
    ExactlyOnce,
    /// Once, and perhaps again, to anybody, if somebody else took a task at the same time. For tasks that may be run
    /// twice.
    AtLeastOnce,
}

/// Whether and when a push is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// Never, or only at a limit that the algorithm's file names; the capacity given to
    /// [`Queue::make`](crate::Queue::make) is where it starts.
    Grows,
    /// A ring: the given number of tasks fits at least, less those that thieves are taking this moment.
    Ring,
    /// An array, or a ring whose places are not used again one by one: the given number of tasks fits at least, counted
    /// from the last time a pop found the queue empty, less those that thieves are taking this moment.
    Array,
}

/// What a thief's attempt may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A thread that stops in the middle of an operation can hold up others: there is a lock, or something like it.
    Blocking,
    /// No thread holds up others, wherever it stops; an attempt fails only because somebody else succeeded.
    LockFree,
    /// The owner has to answer first; the attempt says [`Steal::Pending`](crate::Steal::Pending) and does not wait.
    OwnerDependent,
    /// As `Blocking`, and an attempt may wait until the owner pops, or finds the queue empty. The owner must not wait
    /// for a thief, and has to pop until no thief steals any more.
    WaitsForOwner,
}

/// Which of the tasks in a queue thieves can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stealable {
    /// All of them, at any time.
    All,
    /// All but some of the newest; at most how many is fixed when the queue is made.
    AllButNewest,
    /// All but those in the block that the owner takes its own from.
    OtherBlocks,
    /// A part that the owner has shared; it shares more while it pushes, pops or polls.
    Shared,
    /// Only the oldest, until the owner exposes the next.
    OldestOnly,
    /// None without the owner's answer to a request.
    OnRequest,
}

/// A memory model that an algorithm is correct under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryModel {
    /// Rust's, hence every target.
    Rust,
    /// Rust's, and barriers of which one side is free ([`Asymmetric`](filch_memory::Asymmetric)), for which it has no
    /// word. Where the system has none, the queue fences instead, and Rust's is enough: hence every target.
    AsymmetricBarriers,
    /// Total store order with store buffers of bounded length, as x86-64 processors have. Outside Rust's model.
    BoundedTso,
}
