//! Worklists and jobs behind trait objects: see [`any`](crate::any).

use std::cell::RefCell;

use filch::Stop;
use filch::jobs::{Job, JobWorker, Jobs};
use filch::worklist::{ListWorker, Worklist};
use filch_queue::{Queue, StealMany, Task, for_each_queue};

use crate::any::Thing;
use crate::common::{EveryQueue, picked};

/// A [`ListWorker`] on a queue of any type.
pub(crate) trait AnyListWorker {
    fn push(&mut self, task: Box<Thing>);

    fn poll(&mut self);
}

impl<Q: Queue> AnyListWorker for ListWorker<'_, Box<Thing>, Q> {
    fn push(&mut self, task: Box<Thing>) {
        self.push(task);
    }

    fn poll(&mut self) {
        self.poll();
    }
}

pub(crate) type ListWork<'f> = Box<dyn Fn(&mut dyn AnyListWorker, &mut Thing, Box<Thing>) + Sync + 'f>;

/// A [`Worklist`] on a queue of any type. Its runs return the workers' states and whether they are complete.
pub(crate) trait AnyList {
    fn run(
        &self,
        tasks: Box<dyn Iterator<Item = Box<Thing>> + '_>,
        state: &(dyn Fn(usize) -> Thing + Sync),
        work: ListWork<'_>,
    ) -> (Vec<Thing>, bool);

    fn run_bags(&self, bag: Vec<Thing>, work: &(dyn Fn(&mut Vec<Thing>) + Sync)) -> bool;

    fn stop(&self) -> Stop;
}

impl<Q: Queue> AnyList for Worklist<Q> {
    fn run(
        &self,
        tasks: Box<dyn Iterator<Item = Box<Thing>> + '_>,
        state: &(dyn Fn(usize) -> Thing + Sync),
        work: ListWork<'_>,
    ) -> (Vec<Thing>, bool) {
        let outcome = self.run(tasks, state, move |worker, state, task| work(worker, state, task));
        (outcome.states, outcome.is_complete)
    }

    fn run_bags(&self, bag: Vec<Thing>, work: &(dyn Fn(&mut Vec<Thing>) + Sync)) -> bool {
        self.run_bags([bag], 2, |_| (), |_, (), bag| work(bag)).is_complete
    }

    fn stop(&self) -> Stop {
        self.stop()
    }
}

pub(crate) type JobWork<'s> = Box<dyn FnOnce(&mut dyn AnyWorker<'s>) + Send + 's>;

/// A [`JobWorker`] on a queue of any type.
pub(crate) trait AnyWorker<'s> {
    /// Spawns a job, perhaps one too large for its slot.
    fn spawn(&mut self, is_large: bool, work: JobWork<'s>);

    fn spawn_all(&mut self, works: Box<dyn Iterator<Item = JobWork<'s>> + '_>);

    fn start(&mut self, work: JobWork<'s>) -> Job<'s>;

    fn start_under_root(&mut self, work: JobWork<'s>) -> Job<'s>;

    fn wait(&mut self, job: Job<'s>);

    fn wait_for_children(&mut self);
}

impl<'s, Q: Queue> AnyWorker<'s> for JobWorker<'s, '_, Q> {
    fn spawn(&mut self, is_large: bool, work: JobWork<'s>) {
        if is_large {
            let large = [7_usize; 9];
            self.spawn(move |w| {
                assert_eq!(large, [7; 9]);
                work(w);
            });
        } else {
            self.spawn(|w| work(w));
        }
    }

    fn spawn_all(&mut self, works: Box<dyn Iterator<Item = JobWork<'s>> + '_>) {
        self.spawn_all(works.map(|work| |w: &mut Self| work(w)));
    }

    fn start(&mut self, work: JobWork<'s>) -> Job<'s> {
        self.start(|w| work(w))
    }

    fn start_under_root(&mut self, work: JobWork<'s>) -> Job<'s> {
        self.start_under(self.root(), |w| work(w))
    }

    fn wait(&mut self, job: Job<'s>) {
        self.wait(job);
    }

    fn wait_for_children(&mut self) {
        self.wait_for_children();
    }
}

pub(crate) type JobBody<'b> = Box<dyn for<'s> FnOnce(&mut dyn AnyWorker<'s>) -> Thing + 'b>;

/// A [`Jobs`] on a queue of any type. Its runs return the body's result and whether they are complete.
pub(crate) trait AnyJobs {
    fn run(&self, body: JobBody<'_>) -> (Thing, bool);

    fn stop(&self) -> Stop;
}

impl<Q: Queue> AnyJobs for Jobs<Q> {
    fn run(&self, body: JobBody<'_>) -> (Thing, bool) {
        let outcome = self.run(|w| body(w));
        (outcome.result, outcome.is_complete)
    }

    fn stop(&self) -> Stop {
        self.stop()
    }
}

/// A type of queue that returns each task once.
#[derive(Clone, Copy)]
pub(crate) struct QueueKind {
    pub(crate) name: &'static str,
    pub(crate) list: fn(workers: usize, capacity: usize) -> Box<dyn AnyList>,
    pub(crate) jobs: fn(workers: usize, capacity: usize) -> Box<dyn AnyJobs>,
}

fn list<Q: Queue>(workers: usize, capacity: usize) -> Worklist<Q> {
    Worklist::new(workers).capacity(capacity).queue::<Q>(Q::Params::default())
}

impl QueueKind {
    /// All such types.
    pub(crate) fn every() -> Vec<Self> {
        struct Kinds(RefCell<Vec<QueueKind>>);
        impl EveryQueue for Kinds {
            fn with<Q: Queue>(&self) {
                self.0.borrow_mut().push(QueueKind {
                    name: Q::PROMISES.name,
                    list: |workers, capacity| Box::new(list::<Q>(workers, capacity)),
                    jobs: |workers, capacity| Box::new(Jobs::from(list::<Q>(workers, capacity))),
                });
            }
        }
        let kinds = Kinds(RefCell::default());
        kinds.every();
        kinds.0.into_inner()
    }

    /// The types whose thieves can take several tasks at once, set to do so.
    pub(crate) fn looting() -> Vec<Self> {
        fn kind<Q: Queue<Thief: StealMany<Task>>>() -> QueueKind {
            QueueKind {
                name: Q::PROMISES.name,
                list: |workers, capacity| Box::new(list::<Q>(workers, capacity).loot(3)),
                jobs: |workers, capacity| Box::new(Jobs::from(list::<Q>(workers, capacity)).loot(3)),
            }
        }
        macro_rules! many {
            (many $queue:ty) => {
                &[kind::<$queue>()]
            };
            ($lists:ident $queue:ty) => {
                &[]
            };
        }
        macro_rules! kinds {
            ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
                [$(many!($lists $queue)),+]
            };
        }
        let all: [&[Self]; _] = for_each_queue!(kinds);
        picked(&all.concat(), 2).collect()
    }
}

/// Calls `program` for each kind with each number of workers, and with queues that fill up soon.
pub(crate) fn with_queues(kinds: &[QueueKind], program: impl Fn(QueueKind, usize, usize)) {
    let sizes: Vec<_> = (1..=3).flat_map(|workers| [(workers, 2), (workers, 64)]).collect();
    for &kind in kinds {
        for (workers, capacity) in picked(&sizes, 1) {
            println!("{workers} workers on {}, capacity: {capacity}", kind.name);
            program(kind, workers, capacity);
        }
    }
}
