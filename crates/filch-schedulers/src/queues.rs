//! The queues of the [table](filch_queue::for_each_queue), by name.

use filch::worklist::Worklist;
use filch_queue::{Promises, Queue};

use filch_catalogue::{Lists, QueueSpec, Tuning, Values};

use crate::tunable::Tunable;
use crate::tuning::{Common, ForQueue};
use crate::values::Reader;
use crate::words;

/// Code that is generic over the queue, and gets the default parameters: the default δ of a fence-free queue follows from the bound that is
/// assumed for every processor.
///
/// ```
/// use filch_queue::Queue;
/// use filch_schedulers::{QueueUser, with_queue};
///
/// struct Paper;
/// impl QueueUser for Paper {
///     type Output = &'static str;
///     fn with<Q: Queue>(self, _: Q::Params) -> &'static str {
///         Q::PROMISES.paper
///     }
/// }
/// assert!(with_queue("pdq-s-told", Paper).is_some_and(|paper| paper.contains("Private Deques")));
/// assert!(with_queue("pdq-x", Paper).is_none());
/// ```
pub trait QueueUser {
    /// The result.
    type Output;

    /// Runs on this queue.
    fn with<Q: Queue>(self, params: Q::Params) -> Self::Output;
}

macro_rules! queues {
    ($($lists:ident $queue:ty;)+) => {
        /// The guarantees of all queues, with their names.
        pub const PROMISES: &[Promises] = &[$(<$queue as Queue>::PROMISES),+];

        /// Calls `user` with the queue of this name, if there is one.
        pub fn with_queue<U: QueueUser>(name: &str, user: U) -> Option<U::Output> {
            $(if name == <$queue as Queue>::PROMISES.name {
                let params = Tunable::tuned(&Reader::of(Values::of(&[]))).expect("defaults are valid");
                return Some(user.with::<$queue>(params));
            })+
            None
        }

        /// How worklists can use the queue of this name, if there is one.
        pub(crate) fn lists(name: &str) -> Option<Lists> {
            $(if name == <$queue as Queue>::PROMISES.name {
                return Some(lists!($lists));
            })+
            None
        }

        /// The rows of all queues for the catalogue.
        ///
        /// ```
        /// assert!(filch_schedulers::described_queues().iter().any(|queue| queue.name == "pdq-s-told" && queue.own[0].name == "steal"));
        /// ```
        pub fn described_queues() -> Vec<QueueSpec> {
            vec![$(described::<$queue>(lists!($lists))),+]
        }
    };
}

macro_rules! lists {
    (once) => {
        Lists::Once
    };
    (many) => {
        Lists::Many
    };
    (twice) => {
        Lists::Twice
    };
}

fn described<Q: Queue<Params: Tunable>>(lists: Lists) -> QueueSpec {
    let Promises { name, paper, follows, departures, capacity, stealable, steal_progress, memory_model, .. } =
        Q::PROMISES;
    QueueSpec {
        name,
        lists,
        stealable: words::stealable(stealable),
        progress: words::progress(steal_progress),
        capacity: words::capacity(capacity),
        memory: words::memory(memory_model),
        paper,
        follows,
        departures: departures.to_vec(),
        own: Q::Params::knobs(),
    }
}

/// Returns a worklist on a queue with these settings; the caller sets how many tasks a thief takes.
///
/// # Errors
/// A sentence, if a setting is wrong.
pub fn worklist<Q: Queue<Params: Tunable>>(tuning: &Tuning, workers: usize) -> Result<Worklist<Q>, String> {
    let (params, Common { capacity, victims, idle, on_loss }) = tuning.apply()?;
    let list = Worklist::new(workers).queue::<Q>(params).victims(victims).idle(idle).on_loss(on_loss);
    Ok(match capacity {
        Some(capacity) if capacity > Q::MAX_CAPACITY => {
            return Err(format!("{}: its largest capacity is {}", tuning.queue(), Q::MAX_CAPACITY));
        }
        Some(capacity) => list.capacity(capacity),
        None => list,
    })
}

macro_rules! rows {
    ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
        queues! { $($lists $queue;)+ }
    };
}

filch_queue::for_each_queue!(rows);
