//! The program of a client: every pushed task is taken and accounted for.
//!
//! Invariant: a thread's side of the queue is its own until it has ended.

use std::sync::{Arc, Mutex};

use filch_memory::{Atomic, AtomicInt, Memory, Ordering};
use filch_queue::{Delivery, Full, Order, Owner, Queue, Steal, StealMany, Task};

use super::made::{Made, Taker};
use super::taken::{Contents, Taken};
use super::{Act, Client, lock, task};
use crate::Program;
use crate::harm::ensure;
use crate::scenario::Checker;

/// The order of operations that are single steps, or `None` if the queue has steps of its own.
struct Turns<M: Memory>(Option<M::AtomicU32>);

impl<M: Memory> Turns<M> {
    fn take(&self) {
        if let Some(turns) = &self.0 {
            // Pairs with itself, as the lock that it stands for does.
            turns.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// Returns the program of a client of queue `Q`.
///
/// # Panics
/// If the thieves ask for several tasks at once; use [`program_of_many`] for those.
pub fn program<M: Checker, Q: Queue<M>>(client: &Client, params: &Q::Params) -> Program {
    assert!(client.most.is_none(), "the thieves ask for several tasks at once");
    program_with::<M>(client, Made::new::<M, Q>(client.capacity, client.thieves.len(), params))
}

/// Returns the program of a client of queue `Q` whose thieves ask for several tasks at once.
pub fn program_of_many<M: Checker, Q: Queue<M, Thief: StealMany<Task>>>(
    client: &Client,
    params: &Q::Params,
) -> Program {
    program_with::<M>(client, Made::of_many::<M, Q>(client.capacity, client.thieves.len(), params))
}

fn program_with<M: Checker>(client: &Client, made: Made) -> Program {
    let Made { mut owner, thieves, promises, withdraws: may_withdraw, trial, kind } = made;
    let delivery = promises.delivery;
    let (capacity, leaves_new, lies_before) = (client.capacity, client.leaves_new, client.before);
    let withdraws = client.withdraws;
    let taken = Arc::new(Mutex::new(Taken { by_thieves: vec![Vec::new(); thieves.len()], ..Taken::default() }));
    let pushed = |act: &Act| match *act {
        Act::Push => 1,
        Act::PushMany(tasks) => tasks,
        Act::Pop | Act::Poll => 0,
    };
    let pushes = client.before + client.owner.iter().map(pushed).sum::<usize>();
    let contents = Arc::new(Contents::<M>::new(pushes));
    let turns = Arc::new(Turns::<M>(client.in_turns.then(|| Atomic::new(0))));
    for _ in 0..client.before {
        push(&mut *owner, &taken, &contents, &turns);
    }
    let has_ended: Option<Arc<M::AtomicBool>> = client.told.then(|| Arc::new(Atomic::new(false)));
    let owner = Arc::new(Mutex::new(Some(owner)));
    let mut threads: Vec<(String, Box<dyn FnOnce()>)> = Vec::new();
    {
        let (owner, taken, acts) = (Arc::clone(&owner), Arc::clone(&taken), client.owner.clone());
        let (contents, turns, has_ended) = (Arc::clone(&contents), Arc::clone(&turns), has_ended.clone());
        threads.push((
            "owner".into(),
            Box::new(move || {
                let mut mine = lock(&owner).take().expect("the owner is put there once");
                for act in acts {
                    match act {
                        Act::Push => {
                            M::note(|| format!("push {}", lock(&taken).pushed + 1));
                            push(&mut *mine, &taken, &contents, &turns);
                        }
                        Act::PushMany(tasks) => {
                            let first = lock(&taken).pushed + 1;
                            M::note(|| format!("push {tasks} from {first}"));
                            let tasks: Vec<Task> = (first..first + tasks).map(task).collect();
                            tasks.iter().for_each(|task| contents.write(task.id().get()));
                            turns.take();
                            let pushed = mine.push_many(&tasks);
                            assert!(pushed <= tasks.len(), "{pushed} of {} were pushed", tasks.len());
                            lock(&taken).pushed += pushed;
                        }
                        Act::Pop => {
                            M::note(|| "pop".into());
                            turns.take();
                            let from = lock(&taken).begin();
                            let popped = mine.pop();
                            M::note(|| popped.map_or("nothing".into(), |task| format!("popped {}", task.id())));
                            pop(popped, from, &taken, &contents, delivery);
                        }
                        Act::Poll => {
                            M::note(|| "poll".into());
                            turns.take();
                            mine.poll();
                        }
                    }
                }
                *lock(&owner) = Some(mine);
                // Relaxed: the queue orders what it hands over.
                has_ended.inspect(|it| it.store(true, Ordering::Relaxed));
            }),
        ));
    }
    let thieves: Vec<_> = thieves.into_iter().map(|thief| Arc::new(Mutex::new(Some(thief)))).collect();
    let most = client.most.unwrap_or(1);
    for (index, (thief, &steals)) in thieves.iter().zip(&client.thieves).enumerate() {
        let (thief, taken, contents) = (Arc::clone(thief), Arc::clone(&taken), Arc::clone(&contents));
        let (turns, has_ended) = (Arc::clone(&turns), has_ended.clone());
        threads.push((
            format!("thief {}", index + 1),
            Box::new(move || {
                let mut mine = lock(&thief).take().expect("the thief is put there once");
                // Relaxed, as above.
                while has_ended.as_ref().is_some_and(|it| !it.load(Ordering::Relaxed)) {
                    M::spin_loop();
                }
                for _ in 0..steals {
                    M::note(|| "steal".into());
                    turns.take();
                    let (mut bag, from) = (Vec::new(), lock(&taken).begin());
                    let stolen = mine.side().attempt(Some(most), &mut bag);
                    M::note(|| match stolen {
                        Steal::Task(_) => {
                            bag.iter().map(|task| format!("stole {}", task.id())).collect::<Vec<_>>().join(", ")
                        }
                        other => format!("{other:?}"),
                    });
                    assert_eq!(stolen.task().unwrap_or(0), bag.len(), "the answer is not what is in the bag");
                    assert!(bag.len() <= most, "{} tasks are more than {most}", bag.len());
                    let is_promised = !leaves_new || promises.may_answer(&stolen);
                    assert!(is_promised, "{stolen:?} is no answer of this queue");
                    if bag.is_empty() {
                        lock(&taken).end_in_vain(from, stolen.is_empty());
                    }
                    bag.into_iter().for_each(|task| loot(task, (index, from), &taken, &contents, delivery));
                }
                if withdraws {
                    M::note(|| "withdraw".into());
                    let from = lock(&taken).begin();
                    let rest = mine.side().thief().quiesce();
                    rest.into_iter().for_each(|task| loot(task, (index, from), &taken, &contents, delivery));
                }
                *lock(&thief) = Some(mine);
            }),
        ));
    }
    let ends = client.ends.clone();
    let finally = Box::new(move || {
        let ended = |thief: &Arc<Mutex<Option<Box<dyn Taker>>>>| lock(thief).take().expect("the thief has ended");
        let mut thieves: Vec<_> = thieves.iter().map(ended).collect();
        let mut owner = lock(&owner).take().expect("the owner has ended");
        let last = lock(&taken).begin();
        loop {
            if !may_withdraw {
                owner.poll();
            }
            let before = lock(&taken).all().count();
            for (index, thief) in thieves.iter_mut().enumerate() {
                if let Some(task) = thief.side().thief().quiesce() {
                    loot(task, (index, last), &taken, &contents, delivery);
                }
            }
            while let Some(task) = owner.pop() {
                pop(Some(task), last, &taken, &contents, delivery);
            }
            if !promises.owner_must_poll {
                break;
            }
            // The owner may have answered a thief meanwhile.
            owner.poll();
            if lock(&taken).all().count() == before {
                break;
            }
        }
        lock(&taken).check(promises, lies_before);
        if leaves_new {
            return ends.prove::<M>(kind, &trial, &mut *owner, &mut thieves);
        }
        // The queue is not only empty but usable.
        let first = lock(&taken).pushed + 1;
        let ids: Vec<usize> = (first..first + capacity.min(2)).filter(|&id| owner.push(task(id)).is_ok()).collect();
        ensure!(!ids.is_empty(), NoRoom, "the emptied queue takes no task");
        let popped: Vec<usize> = std::iter::from_fn(|| owner.pop()).map(|task| task.id().get()).collect();
        let expected: Vec<usize> = match promises.order {
            Order::Lifo => ids.into_iter().rev().collect(),
            Order::Fifo => ids,
        };
        assert_eq!(popped, expected, "the emptied queue returns other tasks than it was given");
    });
    Program { threads, finally }
}

fn push<M: Checker>(owner: &mut dyn Owner<Task>, taken: &Mutex<Taken>, contents: &Contents<M>, turns: &Turns<M>) {
    let id = lock(taken).pushed + 1;
    contents.write(id);
    turns.take();
    match owner.push(task(id)) {
        Ok(()) => lock(taken).pushed = id,
        Err(Full(refused)) => assert_eq!(refused, task(id), "a full queue returns the task it refuses"),
    }
}

/// Records that a thief has taken a task, in an attempt that began at `from`.
fn loot<M: Checker>(
    task: Task,
    (thief, from): (usize, usize),
    taken: &Mutex<Taken>,
    contents: &Contents<M>,
    delivery: Delivery,
) {
    let (mut taken, id) = (lock(taken), task.id().get());
    taken.take(id, from);
    contents.take(id, &taken, delivery);
    taken.by_thieves[thief].push(id);
}

fn pop<M: Checker>(
    popped: Option<Task>,
    from: usize,
    taken: &Mutex<Taken>,
    contents: &Contents<M>,
    delivery: Delivery,
) {
    let mut taken = lock(taken);
    match popped {
        Some(task) => {
            taken.take(task.id().get(), from);
            contents.take(task.id().get(), &taken, delivery);
            taken.pop(task.id().get());
        }
        None => {
            taken.end_in_vain(from, false);
            taken.found_empty_at = taken.pushed;
        }
    }
}
