//! The queues of the [table](filch_queue::for_each_queue), by name.

use filch::jobs::Parts;
use filch::worklist::{End, Worklist};
use filch_queue::{Promises, Queue};

use filch_catalogue::values::word;
use filch_catalogue::{Knob, Lists, QueueSpec, Takes, Tuning, Values};

use super::tunable::Tunable;
use super::tuning::{Common, ForQueue};
use super::values::Reader;
use super::words;

/// Code that is generic over the queue, and gets the default parameters: the default δ of a fence-free queue follows
/// from the bound that is assumed for every processor.
///
/// ```
/// use filch_queue::Queue;
/// use filch_runner::schedulers::{QueueUser, with_queue};
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
        /// assert!(filch_runner::schedulers::described_queues().iter().any(|queue| queue.name == "pdq-s-told" && queue.own[0].name == "steal"));
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
        own: list_knobs::<Q>(),
    }
}

/// The words for how a list on a queue can end, the default first.
fn ends<Q: Queue>() -> Vec<(&'static str, End)> {
    End::of::<Q>().into_iter().map(|end| (end.name(), end)).collect()
}

/// The own parameters of worklists on a queue: the queue's, and how the end of a list is noticed, if there is a choice.
pub fn list_knobs<Q: Queue<Params: Tunable>>() -> Vec<Knob> {
    let words: Vec<&str> = ends::<Q>().into_iter().map(|(word, _)| word).collect();
    let end = (words.len() > 1).then(|| Knob::new(END, END_HELP, Takes::Words(words.join(", ").into())));
    Q::Params::knobs().into_iter().chain(end).collect()
}

/// The parameter of worklists that says how their end is noticed.
pub const END: &str = "end";

const END_HELP: &str = "what workers of a worklist count to notice its end: tasks, each when it is made and when it is run; or homes: how often \
                        they set out for work and come home without any, as on queues that may return a task twice; or transfers: what \
                        goes from one worker to another, as in Private deques (section 5)";

/// Returns a worklist on a queue with these settings; the caller sets how many tasks a thief takes.
///
/// # Errors
/// A sentence, if a setting is wrong.
pub fn worklist<Q: Queue<Params: Tunable>>(tuning: &Tuning, workers: usize) -> Result<Worklist<Q>, String> {
    let (params, Common { capacity, victims, idle, on_loss }) = tuning.apply()?;
    let list = Worklist::new(workers).queue::<Q>(params).victims(victims).idle(idle).on_loss(on_loss);
    let end = tuning.values().get(END, word(&ends::<Q>())).map_err(|why| format!("{}: {why}", tuning.queue()))?;
    let list = match end {
        Some(end) => list.end(end),
        None => list,
    };
    Ok(match capacity {
        Some(capacity) if capacity > Q::MAX_CAPACITY => {
            return Err(format!("{}: its largest capacity is {}", tuning.queue(), Q::MAX_CAPACITY));
        }
        Some(capacity) => list.capacity(capacity),
        None => list,
    })
}

/// How jobs with these settings count their parts.
///
/// # Errors
/// A sentence, if the setting is wrong.
pub fn parts(tuning: &Tuning) -> Result<Parts, String> {
    let words = [("together", Parts::Together), ("one-by-one", Parts::OneByOne)];
    let parts = tuning.values().get_or("parts", Parts::default(), word(&words));
    parts.map_err(|why| format!("{}: {why}", tuning.queue()))
}

macro_rules! rows {
    ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
        queues! { $($lists $queue;)+ }
    };
}

filch_queue::for_each_queue!(rows);
