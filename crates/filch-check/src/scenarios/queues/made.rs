//! A fresh queue of which only the roles are known, so that its clients' programs are compiled once for all queues.

use std::any::TypeId;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use filch_queue::as_new::{Side, Trial};
use filch_queue::{Owner, Promises, Queue, StealMany, Task, Thief};

use crate::scenario::Checker;

/// A thief of any type.
pub(super) trait Taker: Send {
    fn side(&mut self) -> Side<'_>;
}

/// A queue that has just been made.
pub(super) struct Made {
    pub(super) owner: Box<dyn Owner<Task> + Send>,
    pub(super) thieves: Vec<Box<dyn Taker>>,
    pub(super) promises: &'static Promises,
    /// As [`Queue::WITHDRAWS`].
    pub(super) withdraws: bool,
    pub(super) trial: Trial,
    /// The same number for queues of one type, memory and parameters.
    pub(super) kind: u64,
}

impl Made {
    /// Makes a queue whose thieves take one task at a time.
    pub(super) fn new<M: Checker, Q: Queue<M>>(capacity: usize, thieves: usize, params: &Q::Params) -> Self {
        let take = |thief| Box::new(One(thief)) as Box<dyn Taker>;
        Self::of::<M, Q>(capacity, thieves, params, take, Trial::new::<Q, M>(capacity, params))
    }

    /// Makes a queue whose thieves can take several tasks at once.
    pub(super) fn of_many<M: Checker, Q: Queue<M, Thief: StealMany<Task>>>(
        capacity: usize,
        thieves: usize,
        params: &Q::Params,
    ) -> Self {
        let take = |thief| Box::new(Several(thief)) as Box<dyn Taker>;
        Self::of::<M, Q>(capacity, thieves, params, take, Trial::of_many::<Q, M>(capacity, params))
    }

    fn of<M: Checker, Q: Queue<M>>(
        capacity: usize,
        thieves: usize,
        params: &Q::Params,
        take: fn(Q::Thief) -> Box<dyn Taker>,
        trial: Trial,
    ) -> Self {
        let (owner, thieves) = Q::make(capacity, thieves, params);
        let mut hasher = DefaultHasher::new();
        TypeId::of::<(Q, M)>().hash(&mut hasher);
        write!(Letters(&mut hasher), "{params:?}").expect("a hasher takes everything");
        Self {
            owner: Box::new(owner),
            thieves: thieves.into_iter().map(take).collect(),
            promises: &Q::PROMISES,
            withdraws: Q::WITHDRAWS,
            trial,
            kind: hasher.finish(),
        }
    }
}

/// A writer that hashes what is written.
struct Letters<'h>(&'h mut DefaultHasher);

impl Write for Letters<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

struct One<T>(T);

impl<T: Thief<Task> + Send> Taker for One<T> {
    fn side(&mut self) -> Side<'_> {
        Side::One(&mut self.0)
    }
}

struct Several<T>(T);

impl<T: StealMany<Task> + Send> Taker for Several<T> {
    fn side(&mut self) -> Side<'_> {
        Side::Several(&mut self.0)
    }
}
