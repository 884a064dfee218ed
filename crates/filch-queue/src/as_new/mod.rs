//! As good as new: checks that a used and emptied queue behaves like a new one.
//!
//! Even if every task was taken once, a queue may answer "empty", "pending" or "full" from then on, may have forgotten
//! a thief's request, or may have miscounted. Draining it does not show this, since no task is missing. So a test or a
//! checker's scenario ends with a [`Trial`]. It fills and empties the queue in rounds: by the owner alone, by each
//! thief alone, by all thieves, and by a thief whose request meets an owner that takes everything back. Each round must
//! end as [`Promises`](crate::Promises) says, and as on a new queue with the same parameters.
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

use alloc::vec::Vec;

use filch_memory::Memory;

use self::course::{BRIM, Course, Side};
use self::round::Ending;
use crate::{Capacity, Queue, StealMany, Task};

/// The trial of a queue that has been used.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{BlockSize, BwosL, Owner, Queue, Task, Thief, as_new::Trial};
///
/// let params = BlockSize::Entries(NonZeroUsize::new(2).unwrap());
/// let (mut owner, mut thieves) = <BwosL as Queue>::make(4, 2, &params);
/// for n in 1..100 {
///     owner.push(Task::from_id(NonZeroUsize::new(n).unwrap())).unwrap();
///     assert!(thieves[n % 2].steal().is_task() || owner.pop().is_some());
/// }
/// while owner.pop().is_some() {}
/// Trial::<BwosL>::new(4, &params).passes(&mut owner, &mut thieves);
/// ```
#[derive(Debug)]
pub struct Trial<Q: Queue<M>, M: Memory = filch_memory::Native> {
    capacity: usize,
    params: Q::Params,
    side: for<'q> fn(&'q mut Q::Thief) -> Side<'q>,
}

impl<Q: Queue<M>, M: Memory> Trial<Q, M> {
    /// Makes the trial of a queue that was made with this capacity and these parameters.
    pub fn new(capacity: usize, params: &Q::Params) -> Self {
        Self { capacity, params: params.clone(), side: |thief| Side::One(thief) }
    }

    /// Adds rounds in which thieves take several tasks at once.
    #[must_use]
    pub fn of_many(self) -> Self
    where
        Q::Thief: StealMany<Task>,
    {
        Self { side: |thief| Side::Several(thief), ..self }
    }

    /// Tries the queue. All of its tasks must have been taken; thieves may have asked for more.
    ///
    /// # Panics
    /// If a round does not end as promised, or as on a new queue.
    pub fn passes(&self, owner: &mut Q::Owner, thieves: &mut [Q::Thief]) {
        self.passes_like(&self.of_new(thieves.len()), owner, thieves);
    }

    /// Returns how the rounds end on a new queue with this many thieves, for callers that try many queues.
    ///
    /// # Panics
    /// If a round does not end as promised.
    pub fn of_new(&self, thieves: usize) -> Endings {
        let (mut owner, mut thieves) = Q::make(self.capacity, thieves, &self.params);
        Endings(self.run(None, &mut owner, &mut thieves))
    }

    /// As [`Trial::passes`], with the result of [`Trial::of_new`] for this many thieves.
    ///
    /// # Panics
    /// As [`Trial::passes`].
    pub fn passes_like(&self, new: &Endings, owner: &mut Q::Owner, thieves: &mut [Q::Thief]) {
        let found = self.run(Some(&new.0), owner, thieves);
        assert_eq!(new.0.len(), found.len(), "the queues have different numbers of thieves");
        // Unless the queue was filled completely, blocks may begin anywhere.
        let is_comparable = self.capacity <= BRIM || Q::PROMISES.capacity != Capacity::Array;
        for (expected, found) in new.0.iter().zip(&found).filter(|_| is_comparable) {
            assert!(expected == found, "not as good as new: {found}; {expected}");
        }
    }

    fn run(&self, expected: Option<&[Ending]>, owner: &mut Q::Owner, thieves: &mut [Q::Thief]) -> Vec<Ending> {
        let sides = thieves.iter_mut().map(self.side).collect();
        Course::new(expected, &Q::PROMISES, self.capacity, owner, sides).run()
    }
}

/// The results of the rounds of a trial on a new queue.
#[derive(Debug)]
pub struct Endings(Vec<Ending>);
