//! As good as new: what a queue must do after it has been used and emptied.
//!
//! A queue can give out each task once and be broken all the same: it may answer "empty", "pending" or "full" from then
//! on, or have forgotten a thief's request, or have miscounted. So a test or a checker's scenario ends with a
//! [`Trial`]. It fills and empties the queue in rounds: by the owner alone, by each
//! thief alone, by all thieves, by a thief whose request meets an owner that takes everything back. Each round has to
//! end as [`Promises`](crate::Promises) says, and as it ends on a new queue made with the same parameters.
//!
//! Invariant: a trial has one thread, so no thread interferes, and all promises for that case are due. The trial allows
//! a used queue these differences from a new one:
//!
//! * A queue in blocks begins wherever in a block the last task was taken. So the owner first fills both queues
//!   completely and empties them, which leaves both at the same place. Even this first filling must fit the requested
//!   capacity.
//! * An owner that meets a thief's claim when it computes its room has room for one task more than without thieves,
//!   until it computes it again.
//! * A thief that looks at one other thief's answer at a time cycles through them. So in rounds in which three thieves
//!   or more take tasks in any order, only what they take together is compared.
//! * For an owner that [answers by a clock](crate::Promises::answers_by_clock), only what thieves and owner take
//!   together is compared.

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

    /// Tries the queue, all of whose tasks have been taken. Thieves may have asked for more.
    ///
    /// # Panics
    /// If a round does not end as promised, or as on a new queue.
    pub fn passes(&self, owner: &mut Q::Owner, thieves: &mut [Q::Thief]) {
        self.passes_like(&self.of_new(thieves.len()), owner, thieves);
    }

    /// Returns how the rounds end on a new queue with this many thieves, for callers that try many.
    ///
    /// # Panics
    /// If a round does not end as promised.
    pub fn of_new(&self, thieves: usize) -> Endings {
        let (mut owner, mut thieves) = Q::make(self.capacity, thieves, &self.params);
        Endings(self.run(None, &mut owner, &mut thieves))
    }

    /// As [`Trial::passes`], but takes the result of [`Trial::of_new`], which was made for the same number of thieves.
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
