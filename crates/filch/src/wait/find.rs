//! Finding something to run, and running it.

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;

use filch_memory::{Native, count};
use filch_queue::Steal;

use super::spot::Spot;
use crate::core::Core;
use crate::here::IdleHere;
use crate::job;
use crate::patience::nap;
use crate::pool::Pool;
use crate::protocol::state::{JobState, Status, Theft};
use crate::protocol::waiting::wake_next;
use crate::slot::Job;
use crate::spawn::Spawned;
use crate::unwind::AbortOnUnwind;

/// Something to run, which is this worker's.
pub(super) enum Find {
    /// A task won from a worker's pool, perhaps from its own.
    Stolen { victim: usize, job: NonNull<Job> },
    /// A job that nobody waits for at a join.
    Spawned(Spawned),
    /// Something that others should have done.
    Reluctantly(Box<Find>),
}

impl<P: Pool> Spot<'_, P> {
    /// One successful steal, as many lost races as it takes, or nothing.
    pub(super) fn steal(&self, victim: usize) -> Option<NonNull<Job>> {
        self.steal_by(victim, |victim| P::steal(&self.here, victim))
    }

    /// As [`Spot::steal`], for a worker that is idle: it may take several, and keep the others.
    fn haul(&self, victim: usize) -> Option<NonNull<Job>> {
        // SAFETY: an idle worker has nothing on its stack.
        let idle = unsafe { IdleHere::new(&self.here) };
        self.steal_by(victim, |victim| P::haul(&idle, victim))
    }

    fn steal_by(&self, victim: usize, attempt: impl Fn(&Core<P>) -> Steal<NonNull<Job>>) -> Option<NonNull<Job>> {
        let home = self.home();
        if victim == home.index {
            return None;
        }
        let core = &self.core.peers()[victim];
        let stealing = AbortOnUnwind("a worker panicked while it stole a task");
        let stolen = loop {
            home.counters.attempts.bump();
            match count::stealing(|| attempt(core)) {
                Steal::Task(job) => {
                    home.has_stolen_from(victim);
                    break Some(job);
                }
                Steal::Retry => std::hint::spin_loop(),
                Steal::Empty | Steal::Aborted | Steal::Pending => {
                    home.common.want_tick();
                    break None;
                }
            }
        };
        mem::forget(stealing);
        stolen
    }

    /// What the worker has spawned itself, then what is for it alone.
    pub(super) fn find_own(&self) -> Option<Find> {
        let home = self.home();
        home.pop_spawned().or_else(|| home.next_mail()).map(Find::Spawned)
    }

    /// One of the worker's own forks, as a thief would take it: its join will find it stolen.
    pub(super) fn find_forked(&self) -> Option<Find> {
        let job = P::steal_own(&self.here)?;
        Some(Find::Stolen { victim: self.home().index, job })
    }

    /// What an idle worker has kept of what it had stolen.
    pub(super) fn find_kept(&self) -> Option<Find> {
        // SAFETY: an idle worker has nothing on its stack.
        let job = P::pop_kept(&unsafe { IdleHere::new(&self.here) })?;
        Some(Find::Stolen { victim: self.home().index, job })
    }

    /// Looks everywhere else: at the others, and outside.
    pub(super) fn find_far(&self) -> Option<Find> {
        self.find_far_by(Self::steal)
    }

    /// As [`Spot::find_far`], for a worker that is idle.
    pub(super) fn find_far_idle(&self) -> Option<Find> {
        self.find_far_by(Self::haul)
    }

    fn find_far_by(&self, steal: impl Fn(&Self, usize) -> Option<NonNull<Job>>) -> Option<Find> {
        let home = self.home();
        for victim in home.victims() {
            if let Some(job) = steal(self, victim) {
                return Some(Find::Stolen { victim, job });
            }
            if victim != home.index
                && let Some(job) = home.common.steal_spawned(victim)
            {
                return Some(Find::Spawned(job));
            }
        }
        home.common.injected.pop().map(Find::Spawned)
    }

    /// Looks everywhere for a job that nobody waits for at a join. Where there is none that costs a few loads, since whoever waits at a
    /// join comes here often.
    pub(super) fn find_spawned(&self) -> Option<Find> {
        let home = self.home();
        let injected = &home.common.injected;
        let steal = |victim| if home.common.has_spawned(victim) { home.common.steal_spawned(victim) } else { None };
        let own = if home.has_own_spawned() { home.pop_spawned() } else { None };
        own.or_else(|| home.victims().find_map(steal))
            .or_else(|| if injected.is_empty() { None } else { injected.pop() })
            .map(Find::Spawned)
    }

    /// Whether [`Spot::find_far`] might find something, or there is mail.
    pub(super) fn sees_any(&self) -> bool {
        let home = self.home();
        let sees = |index: usize| home.common.has_spawned(index) || P::has_work(&self.here, &self.core.peers()[index]);
        home.has_mail()
            || !home.common.injected.is_empty()
            || (0..self.core.peers().len()).filter(|&index| index != home.index).any(sees)
    }

    /// Shares what the worker has forked: it will answer nobody.
    pub(super) fn share(&self) {
        P::share_all(&self.here);
    }

    /// Shares on behalf of those workers, which have been asked and do not answer; whether it was anything.
    pub(super) fn insist(&self, victims: &[Core<P>]) -> bool {
        let sharing = AbortOnUnwind("a worker panicked while it shared another's tasks");
        let victims = victims.iter().filter(|victim| !std::ptr::eq(*victim, self.core));
        let shared: u32 = victims.map(|victim| P::insist(&self.here, victim)).sum();
        if shared > 1 {
            wake_next(&self.core.home);
        }
        mem::forget(sharing);
        shared > 0
    }

    /// Lets a worker with a low stack look on while there is something that others should do, what it has spawned and forked itself
    /// included; then finds it after all.
    pub(super) fn find_reluctantly(&self, looks: &Cell<u32>) -> Option<Find> {
        if !self.sees_any() && !self.has_own() {
            return None;
        }
        if looks.get() < self.home().reluctance() {
            looks.set(looks.get() + 1);
            nap();
            return None;
        }
        looks.set(0);
        let spawned = || self.home().pop_spawned().map(Find::Spawned);
        let find = self.find_far().or_else(spawned).or_else(|| self.find_forked())?;
        Some(Find::Reluctantly(Box::new(find)))
    }

    /// Whether the worker has spawned or forked something that nobody has taken. A snapshot.
    pub(super) fn has_own(&self) -> bool {
        self.home().has_own_spawned() || P::has_own(&self.here)
    }

    /// As [`Spot::run`], for a worker that waits: what it has to give meanwhile need not descend from what it had stolen.
    pub(super) fn run_meanwhile(&self, find: Find) {
        self.home().on_detour(|| self.run(find));
    }

    /// Runs what was found.
    pub(super) fn run(&self, find: Find) {
        match find {
            Find::Reluctantly(find) => self.home().reluctantly(|| self.run(*find)),
            Find::Stolen { victim, job } => {
                if victim != self.home().index {
                    self.home().counters.steals.bump();
                }
                // SAFETY: the queue made this thread the only one entitled to the job, whose owner waits for it to be settled.
                let owner = self.claim(victim, &unsafe { job.as_ref() }.state);
                self.run_stolen(owner, job);
            }
            Find::Spawned(job) => self.below().run(job),
        }
    }

    /// Tries to steal from `victim`, and runs the loot. With a guard: only if that theft is still going on once the loot has been
    /// won; else it is given back to its owner.
    pub(super) fn steal_and_run(&self, victim: usize, guard: Option<(&JobState<Native>, Theft)>) -> bool {
        let is_cold = || guard.is_some_and(|(via, theft)| !self.is_warm(via, theft));
        if is_cold() {
            return false;
        }
        let Some(job) = self.steal(victim) else { return false };
        // SAFETY: the queue made this thread the only one entitled to the job, whose owner waits for it to be settled.
        let state = &unsafe { job.as_ref() }.state;
        let owner = self.claim(victim, state);
        // Acquiring the loot has acquired whatever its owner did before publishing it, the end of its former task included.
        if is_cold() {
            let owner_sleeps = state.give_back();
            self.wake_owner(owner, owner_sleeps);
            return false;
        }
        if P::may_have_own(&self.here) {
            self.home().on_detour(|| self.run_stolen(owner, job));
        } else {
            self.run_stolen(owner, job);
        }
        true
    }

    /// Whether the thief is still running that very job, and nothing unrelated inside it.
    pub(super) fn is_warm(&self, state: &JobState<Native>, theft: Theft) -> bool {
        !self.core.peers()[theft.thief].home.is_on_detour() && state.status() == Status::Stolen(theft)
    }

    /// Claims a job that was won from `victim`; returns whose it is.
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

    /// Runs a job of `owner`'s that was won and has been claimed, and settles it.
    fn run_stolen(&self, owner: usize, job: NonNull<Job>) {
        // SAFETY: the job is this worker's, and was forked in its pool.
        let panicked = unsafe { job::call(job, self.below()) };
        // SAFETY: the job's memory stays until it is settled. Afterwards it is not touched.
        let owner_sleeps = unsafe { job.as_ref() }.state.finish(panicked);
        self.wake_owner(owner, owner_sleeps);
    }

    fn wake_owner(&self, owner: usize, sleeps: bool) {
        let dormitory = &self.home().common.dormitory;
        if sleeps && dormitory.place(owner).wake(dormitory.sleepers()) {
            self.home().counters.wakeups.bump();
        }
    }

    /// How many tasks there may be below the head, for those who follow stolen ones.
    fn height(&self) -> usize {
        P::height(&self.here)
    }
}
