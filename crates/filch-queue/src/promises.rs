//! The promises of queues, as constants that tests and schedulers read.

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
    /// The figure, listing or section of the paper that the queue follows. Empty if there is no paper.
    pub follows: &'static str,
    /// The queue's departures from that, a sentence each; none if it is as printed. Departures of all queues are left
    /// out: a task is one word, a push that finds no room returns its task, and orderings are as Rust's memory model
    /// needs.
    pub departures: &'static [&'static str],
    /// Which task the owner's pop returns, if no thief interferes.
    pub order: Order,
    /// Which task a thief gets, if neither the owner nor another thief interferes.
    pub steals: StealOrder,
    /// How often a task can be returned.
    pub delivery: Delivery,
    /// What happens when the queue is full.
    pub capacity: Capacity,
    /// Whether a steal can be refused although there are tasks ([`Steal::Aborted`](crate::Steal::Aborted)).
    pub may_abort: bool,
    /// What a thief may have to wait for.
    pub steal_progress: Progress,
    /// Which tasks thieves can take.
    pub stealable: Stealable,
    /// The memory model that the correctness argument needs.
    pub memory_model: MemoryModel,
    /// Whether thieves need the owner to call [`Owner::poll`](crate::Owner::poll) even when it neither pushes nor pops.
    pub owner_must_poll: bool,
    /// Whether the owner may delay its answer to a request until a clock permits it. Otherwise it answers at its next
    /// operation.
    pub answers_by_clock: bool,
}

impl Promises {
    /// Returns whether a thief may get this answer.
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
    /// The oldest task that thieves can take.
    OldestShared,
    /// The newest.
    NewestFirst,
    /// Any, for instance one set aside for this thief earlier.
    Unordered,
}

/// How often a pushed task has been returned when the queue is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Once.
    ExactlyOnce,
    /// Once, and perhaps again to any thread if another thread took a task at the same time. For tasks that may run
    /// twice.
    AtLeastOnce,
}

/// Whether and when a push is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// Never, or only at a limit that the algorithm's file names. The capacity given to
    /// [`Queue::make`](crate::Queue::make) is the initial one.
    Grows,
    /// A ring: it holds at least the given number of tasks, less those that thieves are taking at this moment.
    Ring,
    /// An array, or a ring that does not reuse its slots one by one. Since the last pop that found the queue empty, it
    /// has had room for at least the given number of tasks, less those that thieves are taking at this moment.
    Array,
}

/// What a steal may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A thread that stops in the middle of an operation can block others: there is a lock, or the like.
    Blocking,
    /// No stopped thread blocks others; an attempt fails only because another thread succeeded.
    LockFree,
    /// The owner has to answer first; the attempt returns [`Steal::Pending`](crate::Steal::Pending) and does not wait.
    OwnerDependent,
    /// As `Blocking`, and an attempt may wait for the owner's next pop or [poll](crate::Owner::poll). After a poll no
    /// thief waits until the owner's next push or pop. An owner polls before waiting for a thief, stealing, sleeping or
    /// leaving.
    WaitsForOwner,
}

/// Which of the tasks in a queue thieves can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stealable {
    /// All of them, at any time.
    All,
    /// All but some of the newest; their maximum is fixed when the queue is made.
    AllButNewest,
    /// All but the tasks in the block from which the owner takes.
    OtherBlocks,
    /// The tasks that the owner has shared; it shares more while it pushes, pops or polls.
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
    /// Rust's, and asymmetric barriers ([`Asymmetric`](filch_memory::Asymmetric)), which Rust's model does not cover.
    /// Without such barriers the queue uses fences, and Rust's model is enough: hence every target.
    AsymmetricBarriers,
    /// One thread's: the owner must be alone, and [`Queue::make`](crate::Queue::make) refuses thieves.
    OneThread,
    /// Total store order with store buffers of bounded length, as on x86-64 processors. Outside Rust's model.
    BoundedTso,
}
