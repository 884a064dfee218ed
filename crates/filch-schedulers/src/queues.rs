//! The queues of the [table](filch_queue::for_each_queue), by their names.

use filch::worklist::Worklist;
use filch_queue::{Delivery, Progress, Promises, Queue};

use crate::tunable::Tunable;
use crate::tuning::{COMMON, Common, STEAL, Tuning};
use crate::values::{Knob, Values};

/// Code that works with a queue whatever its type, and the parameters that it has by default here: δ of the fence-free queues is that of
/// the bound which is assumed of every processor.
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
/// assert!(with_queue("pdq-s", Paper).is_some_and(|paper| paper.contains("Private Deques")));
/// assert!(with_queue("pdq-x", Paper).is_none());
/// ```
pub trait QueueUser {
    /// What comes of it.
    type Output;

    /// Works with it.
    fn with<Q: Queue>(self, params: Q::Params) -> Self::Output;
}

/// Code that works with a worklist whatever its queue.
pub(crate) trait ListUser {
    type Output;

    fn exactly_once<Q: Queue>(self, list: Worklist<Q>) -> Self::Output;

    /// The queue may return a task twice.
    fn at_least_once<Q: Queue>(self, list: Worklist<Q>) -> Self::Output;
}

macro_rules! queues {
    ($($lists:ident $queue:ty;)+) => {
        /// What the queues promise, their names included.
        pub const QUEUES: &[Promises] = &[$(<$queue as Queue>::PROMISES),+];

        /// Lets `user` have the queue of this name, if there is one.
        pub fn with_queue<U: QueueUser>(name: &str, user: U) -> Option<U::Output> {
            $(if name == <$queue as Queue>::PROMISES.name {
                let params = Tunable::tuned(&Values::of(&[])).expect("what is not set is not wrong");
                return Some(user.with::<$queue>(params));
            })+
            None
        }

        /// The parameters of the queue of this name.
        ///
        /// ```
        /// let knobs = filch_schedulers::knobs("pdq-s");
        /// assert!(knobs.iter().any(|knob| knob.name == "delta"));
        /// ```
        pub fn knobs(name: &str) -> Vec<Knob> {
            $(if name == <$queue as Queue>::PROMISES.name {
                let mut knobs = <<$queue as Queue>::Params as Tunable>::knobs();
                knobs.extend(lists!($lists knobs));
                return knobs;
            })+
            Vec::new()
        }

        /// Lets `user` have a worklist with so many workers on a queue of the table.
        pub(crate) fn with_list<U: ListUser>(tuning: &Tuning, workers: usize, user: U) -> Result<U::Output, String> {
            $(if tuning.queue == <$queue as Queue>::PROMISES.name {
                return lists!($lists $queue, tuning, workers, user);
            })+
            Err(format!("there is no queue `{}`", tuning.queue))
        }
    };
}

/// What worklists can do with a queue.
macro_rules! lists {
    (once knobs) => {
        COMMON
    };
    (many knobs) => {
        [COMMON, &[STEAL]].concat()
    };
    (twice knobs) => {
        COMMON
    };
    (never knobs) => {
        &[] as &[Knob]
    };
    (once $queue:ty, $tuning:expr, $workers:expr, $user:expr) => {
        worklist::<$queue>($tuning, $workers).map(|list| $user.exactly_once(list))
    };
    (many $queue:ty, $tuning:expr, $workers:expr, $user:expr) => {
        worklist::<$queue>($tuning, $workers)
            .map(|list| $user.exactly_once(if $tuning.steals_many() { list.loot(usize::MAX) } else { list }))
    };
    (twice $queue:ty, $tuning:expr, $workers:expr, $user:expr) => {
        worklist::<$queue>($tuning, $workers).map(|list| $user.at_least_once(list))
    };
    (never $queue:ty, $tuning:expr, $workers:expr, $user:expr) => {{
        let why = why_not(&<$queue as Queue>::PROMISES).expect("there is a reason");
        Err(format!("{}: {why}", $tuning.queue))
    }};
}

/// A worklist with so many workers on a queue that is tuned so; several tasks at a time are up to the caller.
///
/// # Errors
/// If the queue cannot be tuned so: a sentence.
pub fn worklist<Q: Queue<Params: Tunable>>(tuning: &Tuning, workers: usize) -> Result<Worklist<Q>, String> {
    let (params, Common { capacity, victims, idle }) = tuning.apply()?;
    let list = Worklist::new(workers).queue::<Q>(params).victims(victims).idle(idle);
    Ok(match capacity {
        Some(capacity) => list.capacity(capacity),
        None => list,
    })
}

impl Tuning {
    /// Of a queue in the table that worklists can use, with all parameters set as the rest of a name says.
    ///
    /// # Errors
    /// If there is no such parameter or value, or worklists cannot use the queue: a sentence.
    pub fn parse(queue: &'static str, rest: &str) -> Result<Self, String> {
        struct Nothing;
        impl ListUser for Nothing {
            type Output = ();
            fn exactly_once<Q: Queue>(self, _: Worklist<Q>) {}
            fn at_least_once<Q: Queue>(self, _: Worklist<Q>) {}
        }
        let tuning = Self::of(queue, rest, &knobs(queue))?;
        with_list(&tuning, 1, Nothing)?;
        Ok(tuning)
    }
}

/// The queues that worklists can use, for messages.
///
/// ```
/// use filch_schedulers::{QUEUES, list_queues, why_not};
///
/// assert!(QUEUES.iter().all(|queue| list_queues().contains(&queue.name) == why_not(queue).is_none()));
/// ```
pub fn list_queues() -> Vec<&'static str> {
    let can = |queue: &&filch_queue::Promises| why_not(queue).is_none();
    QUEUES.iter().filter(can).map(|queue| queue.name).collect()
}

/// Why worklists cannot use a queue, if they cannot.
///
/// ```
/// use filch_schedulers::{QUEUES, why_not, why_not_for};
///
/// let queue = |name: &str| QUEUES.iter().find(|queue| queue.name == name).unwrap();
/// assert!(why_not(queue("idem-lifo")).is_none());
/// assert!(why_not_for(queue("idem-lifo"), false).is_some() && why_not_for(queue("idem-lifo"), true).is_none());
/// ```
pub fn why_not(queue: &Promises) -> Option<&'static str> {
    match queue.steal_progress {
        Progress::WaitsForOwner => Some("not for worklists: a thief may wait for an owner that has gone home"),
        _ => None,
    }
}

/// Why a queue cannot hold the tasks of a worklist program, if it cannot: see [`why_not`].
pub fn why_not_for(queue: &Promises, is_idempotent: bool) -> Option<&'static str> {
    match queue.delivery {
        Delivery::AtLeastOnce if !is_idempotent => {
            Some("not for this program: a task may be returned twice, and must not be run twice")
        }
        _ => why_not(queue),
    }
}

macro_rules! rows {
    ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
        queues! { $($lists $queue;)+ }
    };
}

filch_queue::for_each_queue!(rows);
