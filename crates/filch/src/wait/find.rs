//! Finding work, and running it.

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;

use filch_memory::{Memory, Native, Ordering, count};
use filch_queue::{Steal, Task};

use super::spot::Spot;
use crate::fork::here::{Here, IdleHere};
use crate::fork::{front::Meanwhile, job, slot::Job, spawned::Spawned};
use crate::protocol::order::{Height, Victim, steal_oldest};
use crate::protocol::state::{JobState, Status, Theft};
use crate::protocol::waiting::{Sleeper, wake_next};
use crate::shared::{common::Lane, policy::OnLoss};
use crate::timeline::Activity;
use crate::unwind::AbortOnUnwind;
use crate::worker::core::Core;
#[cfg(doc)]
use crate::worker::home::Home;
use crate::worker::plumbing::{Insisted, Pool};

/// Something for this worker to run.
pub(super) enum Find {
    /// A task won from a worker's pool, perhaps this worker's own. `reluctantly`: whether others should have run it.
    Stolen { victim: usize, job: NonNull<Job>, reluctantly: bool },
    /// A task that this worker has won and claimed.
    Won(Won),
    /// A job that nobody waits for at a join.
    Spawned(Spawned),
    /// As [`Find::Spawned`], for a job that others should have run.
    Unwanted(Spawned),
}

impl Find {
    fn stolen(victim: usize, job: NonNull<Job>) -> Self {
        Self::Stolen { victim, job, reluctantly: false }
    }

    fn reluctantly(self) -> Self {
        match self {
            Self::Stolen { victim, job, .. } => Self::Stolen { victim, job, reluctantly: true },
            Self::Spawned(job) => Self::Unwanted(job),
            find => find,
        }
    }

    /// The second word of a packed [`Find::Spawned`].
    pub(super) const IS_SPAWNED: usize = 0;
    const IS_UNWANTED: usize = 1;
    const IS_STOLEN: usize = 2;
    const IS_STOLEN_RELUCTANTLY: usize = 3;
    const IS_WON: usize = 4;
    const KINDS: usize = 8;

    /// Packs the find in two words, which a function returns in registers.
    pub(super) fn pack(self) -> (Task, usize) {
        match self {
            Self::Spawned(job) => (job.into_task(), Self::IS_SPAWNED),
            Self::Unwanted(job) => (job.into_task(), Self::IS_UNWANTED),
            Self::Stolen { victim, job, reluctantly } => {
                let kind = if reluctantly { Self::IS_STOLEN_RELUCTANTLY } else { Self::IS_STOLEN };
                (Task::from_ptr(job), victim * Self::KINDS + kind)
            }
            Self::Won(Won { owner, job }) => (Task::from_ptr(job), owner * Self::KINDS + Self::IS_WON),
        }
    }

    /// # Safety
    /// [`Find::pack`] made the two words, which are unpacked once.
    pub(super) unsafe fn unpack((task, how): (Task, usize)) -> Self {
        // SAFETY: called for the two kinds whose word comes from `into_task`; the caller unpacks it once.
        let spawned = || unsafe { Spawned::from_task(task) };
        let (worker, job) = (how / Self::KINDS, task.as_ptr());
        match how % Self::KINDS {
            Self::IS_SPAWNED => Self::Spawned(spawned()),
            Self::IS_UNWANTED => Self::Unwanted(spawned()),
            Self::IS_WON => Self::Won(Won { owner: worker, job }),
            kind => Self::Stolen { victim: worker, job, reluctantly: kind == Self::IS_STOLEN_RELUCTANTLY },
        }
    }
}

/// A task that this worker has stolen and claimed.
#[derive(Clone, Copy)]
pub(super) struct Won {
    owner: usize,
    job: NonNull<Job>,
}

impl Won {
    /// The job's state, until it is settled.
    fn state(&self) -> &JobState<Native> {
        // SAFETY: the queue gave the job to this thread alone, and its owner waits until it is settled.
        &unsafe { self.job.as_ref() }.state
    }
}

/// Runs the jobs that the worker has spawned since it forked the task of `state` at the height `below`, which it is
/// about to join. If the task ends meanwhile, run by a thief or early by the worker, leaves the remaining jobs for
/// later; leaves all of them if the worker must not help, or its stack is low.
///
/// # Safety
/// The job of `state` stays where it is.
#[cold]
#[inline(never)]
pub(crate) unsafe fn run_newer<P: Pool>(
    here: Here<'_, P>,
    state: *const JobState<Native>,
    below: Height,
    meanwhile: Meanwhile,
) {
    let spot = Spot::at(here);
    let home = spot.home();
    let running = AbortOnUnwind("a worker panicked before it joined a task");
    if meanwhile == Meanwhile::Help && !home.is_stack_low() {
        // A job may run long, and the worker does not answer meanwhile.
        spot.share();
        // SAFETY: by the caller's promise.
        let is_over = || unsafe { &*state }.settled().is_some() || home.has_run_early(below);
        while !is_over()
            && let Some(job) = home.pop_newer(below)
        {
            spot.run_meanwhile(Find::Spawned(job));
        }
    }
    home.lower(below);
    mem::forget(running);
}

/// Another worker, from which this one steals forks by `steal`.
struct Target<'t, 'w, P: Pool, S> {
    spot: &'t Spot<'w, P>,
    victim: usize,
    steal: &'t S,
}

impl<'w, P: Pool, S: Fn(&Spot<'w, P>, usize, Height) -> Option<NonNull<Job>>> Victim for Target<'_, 'w, P, S> {
    type Loot = Find;

    fn shared_below(&self) -> Height {
        let height = P::shared_below(&self.spot.here, &self.spot.core.peers()[self.victim]);
        // E1 of `order`.
        Native::fence(Ordering::Acquire);
        height
    }

    fn oldest_job(&self) -> Option<Height> {
        let height = self.spot.home().common.oldest_spawned(self.victim)?;
        // E2 of `order`.
        Native::fence(Ordering::Acquire);
        Some(height)
    }

    fn has_older(&self, height: Height) -> bool {
        P::has_older(&self.spot.core.peers()[self.victim], height)
    }

    fn steal_job(&self, up_to: Height) -> Option<Find> {
        let home = self.spot.home();
        let job = home.common.steal_spawned(self.victim, up_to)?;
        home.counters.migrations.bump();
        Some(Find::Spawned(job))
    }

    fn steal_fork(&self, below: Height) -> Option<Find> {
        (self.steal)(self.spot, self.victim, below).map(|job| Find::stolen(self.victim, job))
    }
}

impl<'w, P: Pool> Spot<'w, P> {
    /// Steals a task from `victim`, if one lies below this height, and asks for more; at the ground only asks. After a
    /// lost race tries again, unless thieves [give up](OnLoss). Returns `None` if it got no task.
    pub(super) fn steal(&self, victim: usize, below: Height) -> Option<NonNull<Job>> {
        self.steal_by(victim, below, |victim| P::steal(&self.here, victim, below))
    }

    /// As [`Spot::steal`], for an idle worker: it may take several tasks, and keep all but one.
    fn haul(&self, victim: usize, below: Height) -> Option<NonNull<Job>> {
        // SAFETY: an idle worker's stack is empty.
        let idle = unsafe { IdleHere::new(&self.here) };
        self.steal_by(victim, below, |victim| P::haul(&idle, victim, below))
    }

    fn steal_by(
        &self,
        victim: usize,
        below: Height,
        attempt: impl Fn(&Core<P>) -> Steal<NonNull<Job>>,
    ) -> Option<NonNull<Job>> {
        let home = self.home();
        if victim == home.index {
            return None;
        }
        let core = &self.core.peers()[victim];
        let attempt = || {
            if below > Height::GROUND {
                attempt(core)
            } else {
                P::ask(self.core, core);
                Steal::Empty
            }
        };
        let stealing = AbortOnUnwind("a worker panicked while it stole a task");
        let stolen = loop {
            home.counters.attempts.bump();
            match count::stealing(attempt) {
                Steal::Task(job) => {
                    home.note_theft_from(victim);
                    home.counters.migrations.bump();
                    break Some(job);
                }
                Steal::Retry => {
                    home.counters.lost.bump();
                    if home.common.habits.on_loss == OnLoss::GiveUp {
                        break None;
                    }
                    std::hint::spin_loop();
                }
                nothing => {
                    if nothing == Steal::Aborted {
                        home.counters.aborted.bump();
                    }
                    home.common.want_tick();
                    break None;
                }
            }
        };
        mem::forget(stealing);
        stolen
    }

    /// Finds a job that the worker has spawned itself, else a job from its mail.
    pub(super) fn find_own(&self) -> Option<Find> {
        let home = self.home();
        home.pop_spawned().or_else(|| home.next_mail()).map(Find::Spawned)
    }

    /// For an idle worker: finds work that it may have passed over, if such work has its turn; else a job of its own,
    /// or mail.
    #[inline(always)]
    pub(super) fn find_near(&self) -> Option<Find> {
        self.next_spawned().map(Find::Spawned).or_else(|| self.find_near_rarely())
    }

    #[inline(never)]
    fn find_near_rarely(&self) -> Option<Find> {
        self.find_in_turn().or_else(|| self.find_own())
    }

    /// As [`Spot::find_near`], in the middle of a task, when the worker also has forks. Its newest job or fork comes
    /// first; if the pool cannot [take](crate::worker::plumbing::Plumbing::take_own) the newest fork, an older one
    /// comes instead.
    pub(super) fn find_within(&self) -> Option<Find> {
        let newer_fork = || if self.here.forks_are_newer() { self.find_own_fork() } else { None };
        let spawned = || self.home().pop_spawned().map(Find::Spawned);
        let mail = || self.home().next_mail().map(Find::Spawned);
        self.find_in_turn().or_else(newer_fork).or_else(spawned).or_else(|| self.find_own_fork()).or_else(mail)
    }

    /// Finds what [`Spot::find_within`] would find, if that is a job that the worker has spawned: mostly the next of
    /// many.
    #[inline(always)]
    pub(super) fn next_spawned_within(&self) -> Option<Spawned> {
        if self.here.forks_are_newer() { None } else { self.next_spawned() }
    }

    #[inline(always)]
    fn next_spawned(&self) -> Option<Spawned> {
        if self.home().turns.is_next(|| self.has_own()) { None } else { self.home().pop_spawned() }
    }

    /// Takes one of the worker's own forks, to run it before its join.
    #[inline(never)]
    fn find_own_fork(&self) -> Option<Find> {
        let job = P::take_own(&self.here)?;
        Some(Find::Won(self.claim_job(self.home().index, job)))
    }

    /// Takes one of the worker's own forks as a thief would, so that its join finds it stolen.
    pub(super) fn find_forked(&self) -> Option<Find> {
        let job = P::steal_own(&self.here)?;
        Some(Find::stolen(self.home().index, job))
    }

    /// Finds a stolen task that the idle worker has kept.
    pub(super) fn find_kept(&self) -> Option<Find> {
        // SAFETY: an idle worker's stack is empty.
        let job = P::pop_kept(&unsafe { IdleHere::new(&self.here) })?;
        Some(Find::stolen(self.home().index, job))
    }

    /// Looks everywhere else: at the other workers, and at injected jobs.
    pub(super) fn find_far(&self) -> Option<Find> {
        self.find_far_by(Self::steal)
    }

    /// As [`Spot::find_far`], for an idle worker.
    pub(super) fn find_far_idle(&self) -> Option<Find> {
        self.find_far_by(Self::haul)
    }

    fn find_far_by(&self, steal: impl Fn(&Self, usize, Height) -> Option<NonNull<Job>>) -> Option<Find> {
        let home = self.home();
        home.look_elsewhere();
        home.at_victims(|victim| self.find_at(victim, &steal))
            .or_else(|| home.common.next_injected(Lane::Now).map(Find::Spawned))
    }

    /// Takes the oldest fork or job that `victim` has.
    fn find_at(&self, victim: usize, steal: &impl Fn(&Self, usize, Height) -> Option<NonNull<Job>>) -> Option<Find> {
        if victim == self.home().index { None } else { steal_oldest(&Target { spot: self, victim, steal }) }
    }

    /// Takes the oldest fork or job that `victim` has, to run it while this worker waits for a task that `victim` has
    /// stolen.
    pub(super) fn leap_to(&self, victim: usize) -> Option<Find> {
        self.find_at(victim, &Self::steal).map(|find| self.claimed(find))
    }

    /// Claims a find that is a stolen task. One that is run reluctantly is claimed when it runs.
    pub(super) fn claimed(&self, find: Find) -> Find {
        match find {
            Find::Stolen { victim, job, reluctantly: false } => Find::Won(self.claim_job(victim, job)),
            find => find,
        }
    }

    /// If it is the [turn](crate::worker::turns::Turns::is_next) of work that this worker may have passed over each
    /// time, finds such work: its mail, injected jobs of both lanes, and what other workers have. So nothing waits for
    /// ever.
    fn find_in_turn(&self) -> Option<Find> {
        if self.home().turns.is_next(|| self.has_own()) { self.find_passed_over() } else { None }
    }

    #[cold]
    fn find_passed_over(&self) -> Option<Find> {
        let home = self.home();
        let lane = home.turns.begin();
        let job = home.next_mail().or_else(|| home.common.next_injected(lane));
        job.map(Find::Spawned).or_else(|| self.find_far())
    }

    /// Whether [`Spot::find_far`] might find something, or there is mail.
    pub(super) fn sees_any(&self) -> bool {
        let home = self.home();
        let sees = |index: usize| home.common.has_spawned(index) || P::has_work(&self.here, &self.core.peers()[index]);
        home.has_mail()
            || home.common.has_injected()
            || (0..self.core.peers().len()).filter(|&index| index != home.index).any(sees)
    }

    /// Shares the worker's forks, because it will not answer thieves.
    pub(super) fn share(&self) {
        P::share_all(&self.here);
    }

    /// Shares on behalf of `victims`, which do not answer requests; returns whether it shared anything, or soon can.
    pub(super) fn insist(&self, victims: &[Box<Core<P>>]) -> bool {
        let sharing = AbortOnUnwind("a worker panicked while it shared another's tasks");
        let victims = victims.iter().filter(|victim| !std::ptr::eq(&***victim, self.core));
        let (mut shared, mut soon) = (0, false);
        for victim in victims {
            match P::insist(&self.here, victim) {
                Insisted::Shared(tasks) => shared += tasks,
                Insisted::Soon => soon = true,
            }
        }
        if shared > 1 {
            wake_next(&self.core.home);
        }
        mem::forget(sharing);
        shared > 0 || soon
    }

    /// For a worker with a low stack: [hesitates](Home::hesitates) while there is work that others should do, including
    /// its own spawned jobs and forks, and in the end finds such work after all.
    pub(super) fn find_reluctantly(&self, naps: &Cell<u32>) -> Option<Find> {
        if !self.sees_any() && !self.has_own() {
            return None;
        }
        if self.home().hesitates(naps) {
            return None;
        }
        let spawned = || self.home().pop_spawned().map(Find::Spawned);
        self.find_far().or_else(spawned).or_else(|| self.find_forked()).map(Find::reluctantly)
    }

    /// Whether the worker has spawned jobs or forks that nobody has taken. A snapshot.
    #[inline(never)]
    pub(super) fn has_own(&self) -> bool {
        self.home().has_own_spawned() || P::has_own(&self.here)
    }

    /// As [`Spot::run`], on a detour: the worker's tasks meanwhile need not descend from the task that it has stolen.
    pub(super) fn run_meanwhile(&self, find: Find) {
        self.home().on_detour(|| self.run(find));
    }

    /// Runs a find.
    pub(super) fn run(&self, find: Find) {
        let run_spawned = |job: Spawned| {
            self.home().doing(Activity::Job, || P::in_job(job.address(), || self.below().run(job)));
        };
        match find {
            Find::Stolen { victim, job, reluctantly } => {
                if victim != self.home().index {
                    self.home().counters.steals.bump();
                }
                let won = self.claim_job(victim, job);
                if reluctantly {
                    self.home().reluctantly(|| self.run_stolen(won));
                } else {
                    self.run_stolen(won);
                }
            }
            Find::Won(won) => self.run_won(won),
            Find::Spawned(job) => run_spawned(job),
            Find::Unwanted(job) => self.home().reluctantly(|| run_spawned(job)),
        }
    }

    /// Tries to steal from `victim`, and claims the loot, which the caller must run. With a guard, keeps the loot only
    /// if it was the victim's own task and the guard's theft is still [warm](Spot::is_warm) after the steal; otherwise
    /// gives the loot back to its owner.
    pub(super) fn win(&self, victim: usize, guard: Option<(&JobState<Native>, Theft)>) -> Option<Won> {
        let is_cold = || guard.is_some_and(|(via, theft)| !self.is_warm(via, theft));
        if is_cold() {
            return None;
        }
        let won = self.claim_job(victim, self.steal(victim, Height::TOP)?);
        // The steal has acquired everything that the owner did before it published the loot; if the guard's theft had
        // ended by then, this look sees that.
        // Only the victim's own tasks are descendants.
        if is_cold() || guard.is_some() && won.owner != victim {
            let owner_sleeps = won.state().give_back();
            self.wake_owner(won.owner, owner_sleeps);
            return None;
        }
        Some(won)
    }

    /// Claims a task just won from `victim`.
    fn claim_job(&self, victim: usize, job: NonNull<Job>) -> Won {
        let won = Won { owner: victim, job };
        Won { owner: self.claim(victim, won.state()), job }
    }

    /// Runs a task that this worker has stolen and claimed.
    pub(super) fn run_won(&self, won: Won) {
        if P::may_have_own(&self.here) {
            self.home().on_detour(|| self.run_stolen(won));
        } else {
            self.run_stolen(won);
        }
    }

    /// Whether the thief of `theft` is still running the job of `state`, with nothing unrelated inside it.
    pub(super) fn is_warm(&self, state: &JobState<Native>, theft: Theft) -> bool {
        !self.core.peers()[theft.thief].home.is_on_detour() && state.status() == Status::Stolen(theft)
    }

    /// Claims a job won from `victim`; returns its owner.
    fn claim(&self, victim: usize, state: &JobState<Native>) -> usize {
        let thief = self.home().index;
        if P::KEEPS
            && let Some(owner) = state.claim_again(thief)
        {
            return owner;
        }
        state.claim(thief, self.height());
        victim
    }

    /// Runs a claimed job, and settles it.
    fn run_stolen(&self, won: Won) {
        let panicked = self.home().doing(Activity::Task { owner: won.owner }, || {
            // SAFETY: this worker has won the job, which was forked in its pool.
            unsafe { job::call(won.job, self.below()) }
        });
        let owner_sleeps = won.state().finish(panicked);
        self.wake_owner(won.owner, owner_sleeps);
    }

    fn wake_owner(&self, owner: usize, sleeps: bool) {
        if sleeps && self.home().common.dormitory.wake(owner) {
            self.home().note_wake_up();
        }
    }

    /// Returns the greatest possible number of tasks below the head, for leapfroggers that follow stolen tasks.
    fn height(&self) -> usize {
        P::height(&self.here)
    }
}
