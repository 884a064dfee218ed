//! As good as new: what a queue must do that has been used and emptied.
//!
//! That every task was taken once says nothing of a queue that answers "empty", "pending" or "full" from then on, that has
//! forgotten a thief's request, or that has miscounted: its owner drains it, and no task is missing. So a test or a
//! checker's scenario ends with a [`Trial`]: the queue is filled and emptied in rounds, by the owner alone, by each
//! thief alone, by all thieves, by a thief whose request meets an owner that takes everything back. Each round has to end as
//! [`Promises`](crate::Promises) says, and as it ends on a new queue that was made alike.
//!
//! What must always hold: a trial has one thread, so nobody interferes, and whatever is promised for that case is due. Where a
//! used queue may differ from a new one the trial says by how much:
//!
//! * A queue in blocks begins wherever in a block the last task was taken. So the owner first fills both queues to the
//!   brim and empties them, which leaves both at the same place; that the capacity that was asked for fits is demanded
//!   even of this first filling.
//! * An owner that meets a thief's claim when it looks for room finds room for one task more than there is without
//!   thieves, until it looks again.
//! * A thief that looks at one other thief's answer at a time goes round them. So of rounds in which three thieves or more
//!   take what may be in any order, only what they take together is compared.
//! * Of an owner that [answers by a clock](crate::Promises::answers_by_clock), nothing is compared but what thieves and owner take together.

mod course;

use alloc::vec::Vec;

use filch_memory::Memory;

use self::course::{BRIM, Course, Ending, Side};
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
    /// Of a queue that was made with this capacity and these parameters.
    pub fn new(capacity: usize, params: &Q::Params) -> Self {
        Self { capacity, params: params.clone(), side: |thief| Side::One(thief) }
    }

    /// For thieves that can take several tasks at once: there are rounds in which they do.
    #[must_use]
    pub fn of_many(self) -> Self
    where
        Q::Thief: StealMany<Task>,
    {
        Self { side: |thief| Side::Several(thief), ..self }
    }

    /// Tries the queue, of which all tasks have been taken. Thieves may have asked for more.
    ///
    /// # Panics
    /// If a round does not end as promised, or not as with a new queue.
    pub fn passes(&self, owner: &mut Q::Owner, thieves: &mut [Q::Thief]) {
        self.passes_like(&self.of_new(thieves.len()), owner, thieves);
    }

    /// How the rounds end on a new queue with so many thieves, for those who try many.
    ///
    /// # Panics
    /// If a round does not end as promised.
    pub fn of_new(&self, thieves: usize) -> Endings {
        let (mut owner, mut thieves) = Q::make(self.capacity, thieves, &self.params);
        Endings(self.run(None, &mut owner, &mut thieves))
    }

    /// As [`Trial::passes`], with what [`Trial::of_new`] said of so many thieves.
    ///
    /// # Panics
    /// As there.
    pub fn passes_like(&self, new: &Endings, owner: &mut Q::Owner, thieves: &mut [Q::Thief]) {
        let found = self.run(Some(&new.0), owner, thieves);
        assert_eq!(new.0.len(), found.len(), "a queue with as many thieves");
        // Where no brim was reached, blocks may begin anywhere.
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

/// How the rounds of a trial end on a new queue.
#[derive(Debug)]
pub struct Endings(Vec<Ending>);
