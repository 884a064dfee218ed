//! Nobody waits for ever: random programs with blocking tasks, on every kind of pool with every waiting strategy, and
//! in job systems.
//!
//! `FILCH_SEEDS` sets the number of programs and `FILCH_FIRST_SEED` the first one. `FILCH_ONLY` selects the settings
//! whose name contains it, and `FILCH_PATIENCE` sets the number of seconds after which a program counts as hanging.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

#[path = "common/blocking.rs"]
mod blocking;

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::Arc;

use blocking::{Forks, Run, STACK_SIZE, Scheduler, Step, check};
use filch::jobs::{JobWorker, Jobs};
use filch::pool::{Heartbeat, Pool, PrivateStack, Queued, Request, Split, Wool};
use filch::{Builder, Scope, ThreadPool, Wait, Worker};
use filch_queue::{
    BwosL, ChaseLev, ChaseLevAsym, Dsq, Lace, OneExposed, PdqR, PdqR2, PdqRAsync, PdqS, PdqSAtOnce, PdqSOneStep,
    PdqSTold, Queue, Stealable, The,
};

struct Pools<P: Pool> {
    pools: [ThreadPool<P>; 2],
    forks: Forks,
}

fn by_handle<'c, P: Pool>(run: &'c Arc<Run<Pools<P>>>, mut w: Worker<'_, P>, task: usize, scope: Option<&Scope<'c>>) {
    run.task_by_handle(task, scope, |step| match step {
        Step::Poll => w.poll(),
        Step::Spawn(task, pool) => run.detach(task, pool),
        Step::Join(a, b) => {
            w.join(|w| run.first(a, b, |a| by_handle(run, w, a, scope)), |w| by_handle(run, w, b, scope));
        }
    });
}

impl<P: Pool> Scheduler for Pools<P> {
    type Scope<'c> = Scope<'c>;

    const HAS_PLACES: bool = false;
    const BROADCASTS: bool = false;

    fn workers(&self) -> usize {
        self.pools[0].workers()
    }

    fn is_strict(&self) -> bool {
        matches!(self.pools[0].wait(), Wait::Leapfrog | Wait::Transitive)
    }

    fn has_strict_scopes(&self) -> bool {
        self.is_strict()
    }

    fn forks(&self) -> Forks {
        // What a leapfrogger has stolen and put back is only for its owner.
        if self.is_strict() { Forks::OutOfReach } else { self.forks }
    }

    fn call(&self, pool: usize, f: impl FnOnce() + Send) {
        self.pools[pool].install(f);
    }

    fn spawn(&self, pool: usize, f: impl FnOnce() + Send + 'static) {
        self.pools[pool].spawn(f);
    }

    fn join(&self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        filch::join(a, b);
    }

    fn scope<'c>(&self, body: impl FnOnce(&Scope<'c>) + Send) {
        filch::scope(body);
    }

    fn spawn_in<'c>(scope: &Scope<'c>, f: impl FnOnce(&Scope<'c>) + Send + 'c) {
        scope.spawn(f);
    }

    fn scope_in_place<'c>(&self, _: usize, _: impl FnOnce(&Scope<'c>) + Send) {
        unreachable!("there are none");
    }

    fn broadcast(&self, _: usize, _: impl Fn(usize) + Sync) {
        unreachable!("there are none");
    }

    fn by_handle<'c>(run: &'c Arc<Run<Self>>, pool: usize, task: usize, scope: Option<&Scope<'c>>) {
        run.scheduler.pools[pool].run(|w| by_handle(run, w, task, scope));
    }

    fn yield_now(&self) {
        filch::inside::host::run_one(true);
    }
}

/// Job systems, one per root.
struct Systems<Q: Queue> {
    workers: usize,
    queue: PhantomData<fn() -> Q>,
}

fn by_job<'s, 'c, Q: Queue>(run: &'c Arc<Run<Systems<Q>>>, w: &mut JobWorker<'s, 'c, Q>, task: usize) {
    run.task_by_handle(task, None, |step| match step {
        Step::Poll => w.poll(),
        Step::Spawn(task, _) => w.spawn(move |w| by_job(run, w, task)),
        Step::Join(a, b) => {
            let job = w.start(move |w| by_job(run, w, b));
            run.first(a, b, |a| by_job(run, w, a));
            if b % 3 == 0 {
                w.wait_for_children();
            } else {
                w.wait(job);
            }
        }
    });
}

impl<Q: Queue> Scheduler for Systems<Q> {
    type Scope<'c> = ();

    const HAS_PLACES: bool = false;
    const BROADCASTS: bool = false;
    const ONLY_HANDLES: bool = true;

    fn workers(&self) -> usize {
        self.workers
    }

    fn is_strict(&self) -> bool {
        false
    }

    fn forks(&self) -> Forks {
        forks_of::<Q>()
    }

    fn call(&self, _: usize, _: impl FnOnce() + Send) {
        unreachable!("nobody calls into another system");
    }

    fn spawn(&self, _: usize, _: impl FnOnce() + Send + 'static) {
        unreachable!("a job spawns by its worker");
    }

    fn join(&self, _: impl FnOnce() + Send, _: impl FnOnce() + Send) {
        unreachable!("a job forks by its worker");
    }

    fn scope<'c>(&self, _: impl FnOnce(&Self::Scope<'c>) + Send) {
        unreachable!("there are none");
    }

    fn spawn_in<'c>((): &Self::Scope<'c>, _: impl FnOnce(&Self::Scope<'c>) + Send + 'c) {
        unreachable!("there are none");
    }

    fn scope_in_place<'c>(&self, _: usize, _: impl FnOnce(&Self::Scope<'c>) + Send) {
        unreachable!("there are none");
    }

    fn broadcast(&self, _: usize, _: impl Fn(usize) + Sync) {
        unreachable!("there are none");
    }

    fn by_handle<'c>(run: &'c Arc<Run<Self>>, _: usize, task: usize, _: Option<&Self::Scope<'c>>) {
        let jobs = Jobs::new(run.scheduler.workers).queue::<Q>(Q::Params::default());
        jobs.run(|w| by_job(run, w, task));
    }

    fn yield_now(&self) {
        unreachable!("a job cannot yield");
    }
}

/// The seeds per combination. All of them take some seconds.
const SEEDS: u64 = 12;

fn check_all<P: Pool>(forks: Forks) {
    check_with::<P>(forks, |builder| builder);
}

fn check_with<P: Pool>(forks: Forks, set: impl Fn(Builder<P>) -> Builder<P>) {
    for &wait in Wait::EVERY {
        if wait == Wait::Transitive && !P::TRANSITIVE {
            continue;
        }
        for workers in [2, 3, 4, 8] {
            let settings = format!("{}, {wait}, {workers} workers", type_name::<P>());
            let builder = || Builder::<P>::new().workers(workers).wait(wait).stack_size(STACK_SIZE);
            let build = || set(builder()).build().unwrap();
            check(&settings, SEEDS, || Pools { pools: [build(), build()], forks });
        }
    }
}

fn forks_of<Q: Queue>() -> Forks {
    match Q::PROMISES.stealable {
        Stealable::All => Forks::Visible,
        Stealable::Shared | Stealable::OldestOnly | Stealable::OnRequest => Forks::OnPoll,
        Stealable::AllButNewest | Stealable::OtherBlocks => Forks::OutOfReach,
    }
}

fn check_queue<Q: Queue>() {
    check_all::<Queued<Q>>(forks_of::<Q>());
}

fn check_jobs<Q: Queue>() {
    for workers in [2, 3, 8] {
        let settings = format!("jobs on {}, {workers} workers", type_name::<Q>());
        check(&settings, SEEDS, || Systems::<Q> { workers, queue: PhantomData });
    }
}

#[test]
fn on_stacks() {
    check_all::<Split>(Forks::OnPoll);
    check_all::<Wool>(Forks::OnPoll);
    check_all::<Wool<1, 1>>(Forks::OnPoll);
    check_all::<PrivateStack>(Forks::OnPoll);
}

#[test]
fn on_queues_visible_to_thieves() {
    check_queue::<ChaseLev>();
    check_queue::<ChaseLevAsym>();
    check_queue::<The>();
    check_queue::<BwosL>();
}

#[test]
fn on_queues_that_share_on_request() {
    check_queue::<Lace>();
    // The owner of this queue never shares a lone task.
    check_all::<Queued<Dsq>>(Forks::OutOfReach);
    check_queue::<OneExposed>();
    check_queue::<PdqRAsync>();
    check_queue::<PdqS>();
    check_queue::<PdqSAtOnce>();
    check_queue::<PdqSTold>();
    check_queue::<PdqSOneStep>();
}

/// A thief waits for the answer, so an owner that blocks has to be interrupted.
#[cfg(all(unix, not(miri)))]
#[test]
fn on_queues_whose_thieves_wait() {
    for by in [filch::Interrupts::signal(), filch::Interrupts::by_thieves()] {
        let interrupted = by.every(std::time::Duration::from_micros(200));
        check_with::<Queued<PdqR>>(forks_of::<PdqR>(), |builder| builder.interrupts(interrupted));
        check_with::<Queued<PdqR2>>(forks_of::<PdqR2>(), |builder| builder.interrupts(interrupted));
    }
}

#[test]
fn on_heartbeats() {
    check_all::<Heartbeat<ChaseLev>>(Forks::OnPoll);
    check_all::<Heartbeat<ChaseLev, Request>>(Forks::OnPoll);
}

#[test]
fn in_job_systems() {
    check_jobs::<ChaseLev>();
    check_jobs::<The>();
    check_jobs::<Lace>();
    check_jobs::<PdqRAsync>();
    check_jobs::<PdqS>();
    check_jobs::<PdqSAtOnce>();
    check_jobs::<PdqSTold>();
    check_jobs::<PdqSOneStep>();
}
