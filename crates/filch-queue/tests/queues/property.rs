//! Random operations, one after the other, against the sequential model.

use filch_queue::as_new::Trial;
use filch_queue::model::{Disagreement, Model};
use filch_queue::{Full, Owner, Progress, Queue, StealOrder, Task, Thief};
use proptest::prelude::*;

use crate::{is_tried, long, task, times};

macro_rules! tests {
    ($queue:ty) => {
        #[test]
        fn agrees_with_the_model() {
            $crate::run::<$queue, filch_memory::Native>($crate::property::agrees_with_the_model::<$queue>);
        }
    };
}
pub(crate) use tests;

const THIEVES: usize = times(3, 2);

#[derive(Clone, Copy, Debug)]
enum Operation {
    Push,
    PushMany(usize),
    Pop,
    Steal(usize),
    Poll,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => Just(Operation::Push),
        1 => (0_usize..6).prop_map(Operation::PushMany),
        3 => Just(Operation::Pop),
        3 => (0..THIEVES).prop_map(Operation::Steal),
        1 => Just(Operation::Poll),
    ]
}

/// The model gets the requested capacity; the queue may have more.
fn follow<Q: Queue>(capacity: usize, operations: &[Operation]) -> Result<(), Disagreement<Task>> {
    let (mut owner, mut thieves) = Q::make(capacity, THIEVES, &Q::Params::default());
    let mut model = Model::new(Q::PROMISES, capacity);
    let mut next = 0;
    for operation in operations {
        match *operation {
            Operation::Push => {
                model.push(task(next), owner.push(task(next)))?;
                next += 1;
            }
            Operation::PushMany(count) => {
                let tasks: Vec<Task> = (next..next + count).map(task).collect();
                let pushed = owner.push_many(&tasks);
                tasks[..pushed].iter().try_for_each(|task| model.push(*task, Ok(())))?;
                if let Some(refused) = tasks.get(pushed) {
                    model.push(*refused, Err(Full(*refused)))?;
                }
                next += count;
                assert!(owner.room_for_loot(count) <= count);
            }
            Operation::Pop => model.pop(owner.pop())?,
            Operation::Steal(thief) => {
                // A task set aside for one thief need not be seen by another.
                let seen = match Q::PROMISES.steals {
                    StealOrder::Unordered => thieves.iter().any(Thief::has_work_hint),
                    _ => thieves[thief].has_work_hint(),
                };
                assert!(model.is_empty() || seen, "the hint misses {} tasks", model.len());
                if Q::PROMISES.steal_progress == Progress::WaitsForOwner {
                    // Or the thief would wait for this thread.
                    owner.poll();
                }
                model.steal(thieves[thief].steal())?;
            }
            Operation::Poll => owner.poll(),
        }
    }
    crate::answers_waiting::<Q, _>(&mut owner);
    for thief in &mut thieves {
        while let Some(task) = thief.quiesce() {
            model.steal(filch_queue::Steal::Task(task))?;
        }
    }
    while !model.is_empty() {
        let popped = owner.pop();
        model.pop(popped)?;
        assert!(popped.is_some(), "{} tasks are lost", model.len());
    }
    model.pop(owner.pop())?;
    // Where each answer takes time, not after every case.
    if (!Q::PROMISES.answers_by_clock || operations.len().is_multiple_of(16)) && is_tried(capacity) {
        Trial::new::<Q, _>(capacity, &Q::Params::default()).passes(&mut owner, &mut thieves);
    }
    Ok(())
}

pub(crate) fn agrees_with_the_model<Q: Queue>() {
    agrees(long(512, 1), follow::<Q>);
}

/// Checks so many random cases: a capacity and operations. Compiled once for all queues.
fn agrees(cases: usize, follow: fn(usize, &[Operation]) -> Result<(), Disagreement<Task>>) {
    let cases = cases as u32;
    // Failures are shrunk and printed; nothing is written next to the sources.
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(capacity in 1_usize..9, operations in prop::collection::vec(operation(), 0..times(200, 30)))| {
        if let Err(disagreement) = follow(capacity, &operations) {
            return Err(TestCaseError::fail(disagreement.to_string()));
        }
    });
}
