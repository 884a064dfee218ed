//! Checks that a queue with work says that it has work.
//!
//! Invariant: the client leaves a task, so that there is always one.

use std::sync::{Arc, Mutex};

use filch_queue::{Delivery, Owner, Queue, Task};

use super::made::{Made, Taker};
use super::{Act, Client, lock, task};
use crate::Program;
use crate::scenario::Checker;

/// Returns a program in which a worker looks for work once while the owner and another thief act. The client must leave
/// at least one of the tasks that are in the queue at the start.
pub fn hint<M: Checker, Q: Queue<M>>(client: &Client, params: &Q::Params) -> Program {
    hint_of::<M>(client, Made::new::<M, Q>(client.capacity, 2, params))
}

fn hint_of<M: Checker>(client: &Client, made: Made) -> Program {
    let Made { mut owner, mut thieves, promises, withdraws, trial, kind } = made;
    let taken = Arc::new(Mutex::new(0));
    for id in 1..=client.before {
        assert!(owner.push(task(id)).is_ok(), "there is room for what lies there before");
    }
    let (mut looker, mut thief) = (thieves.remove(1), thieves.remove(0));
    // Each thread leaves its side of the queue here when it ends.
    let owners: Ended<Box<dyn Owner<Task> + Send>> = Arc::default();
    let [thieves, lookers]: [Ended<Box<dyn Taker>>; 2] = Default::default();
    let (mine, yours, others) = (Arc::clone(&owners), Arc::clone(&thieves), Arc::clone(&lookers));
    let seen = Arc::new(Mutex::new(None));
    let look = {
        let seen = Arc::clone(&seen);
        move || {
            let hint = looker.side().thief().has_work_hint();
            M::note(|| format!("there is {}", if hint { "work" } else { "no work" }));
            *lock(&seen) = Some(hint);
            *lock(&others) = Some(looker);
        }
    };
    let own = {
        let (taken, acts) = (Arc::clone(&taken), client.owner.clone());
        move || {
            for act in acts {
                match act {
                    Act::Push | Act::PushMany(_) => panic!("what is pushed now need not be seen"),
                    Act::Pop => *lock(&taken) += usize::from(owner.pop().is_some()),
                    Act::Poll => owner.poll(),
                }
            }
            *lock(&mine) = Some(owner);
        }
    };
    let steal = {
        let (taken, steals) = (Arc::clone(&taken), client.thieves.iter().sum());
        move || {
            for _ in 0..steals {
                *lock(&taken) += usize::from(thief.side().thief().steal().is_task());
            }
            *lock(&yours) = Some(thief);
        }
    };
    let (before, ends) = (client.before, client.ends.clone());
    Program {
        threads: vec![
            ("owner".into(), Box::new(own)),
            ("thief".into(), Box::new(steal)),
            ("looker".into(), Box::new(look)),
        ],
        finally: Box::new(move || {
            let mut taken = *lock(&taken);
            assert!(taken < before, "the client leaves a task, or it shows nothing");
            assert_eq!(*lock(&seen), Some(true), "there was a task all the time, and the hint did not say so");
            let mut owner = lock(&owners).take().expect("the owner has ended");
            let mut thieves = [&thieves, &lookers].map(|thief| lock(thief).take().expect("the thief has ended"));
            for _ in 0..2 {
                if !withdraws {
                    owner.poll();
                }
                taken += std::iter::from_fn(|| thieves[0].side().thief().quiesce()).count();
                taken += std::iter::from_fn(|| owner.pop()).count();
                owner.poll();
            }
            let is_once = promises.delivery == Delivery::ExactlyOnce;
            assert!(taken == before || taken > before && !is_once, "{taken} of {before} tasks were taken");
            ends.prove::<M>(kind, &trial, &mut *owner, &mut thieves);
        }),
    }
}

/// The side of a queue whose thread has ended.
type Ended<T> = Arc<Mutex<Option<T>>>;
