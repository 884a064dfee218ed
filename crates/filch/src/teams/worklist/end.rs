//! How a list notices its end.

use std::fmt;

use filch_memory::Native;
use filch_queue::{Delivery, Progress, Queue};

use crate::shared::policy::named;

named! {
    End { Tasks "tasks", Homes "homes", Transfers "transfers" }
}

/// How workers notice that a list is done. A setting of [worklists](super::Worklist::end).
///
/// ```
/// use filch::worklist::{End, Worklist};
/// use filch_queue::{ChaseLev, IdempotentLifo, PdqR};
///
/// assert_eq!(End::of::<ChaseLev>(), [End::Tasks, End::Homes]);
/// assert_eq!(End::of::<PdqR>(), [End::Tasks, End::Transfers]);
/// assert_eq!(End::of::<IdempotentLifo>(), [End::Homes]);
/// let list = Worklist::new(2).end(End::Homes);
/// assert_eq!(list.run(0..100_u32, |_| 0, |_, sum, n| *sum += n).states.iter().sum::<u32>(), 4950);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// They count tasks pushed and tasks run: two plain stores for each task. The default where each task is returned
    /// once.
    Tasks,
    /// They count how often they set out for work and come home without any, which costs nothing per task. It is the
    /// only way for queues that may return a task twice; with it, queues of both kinds pay the same. It is wrong where
    /// a task may be on its way to a thief that has come home without an answer.
    Homes,
    /// They count tasks that go from one worker to another, which costs nothing for a task that stays, and the first
    /// worker compares the sums for all, as in the paper on private deques (section 5). The paper keeps one counter,
    /// the difference of received and sent; we keep two, since a sum of differences may be 0 too early if it is read
    /// while tasks move. For queues whose owners [hand over](Queue::HANDS_OVER) the tasks that thieves get.
    Transfers,
}

impl End {
    /// Returns the ways that are right on a queue, the default first.
    pub fn of<Q: Queue<Native>>() -> Vec<Self> {
        let is_once = Q::PROMISES.delivery == Delivery::ExactlyOnce;
        let is_right = |end: &Self| match end {
            Self::Tasks => is_once,
            Self::Homes => Q::PROMISES.steal_progress != Progress::OwnerDependent,
            Self::Transfers => is_once && Q::HANDS_OVER,
        };
        Self::EVERY.iter().copied().filter(is_right).collect()
    }
}
