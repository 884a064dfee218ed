//! Waiting at a join for a stolen task.

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;

use filch_memory::Native;

use super::spot::{Spot, Standing};
use crate::core::Core;
use crate::front::Meanwhile;
use crate::here::Here;
use crate::patience::Patience;
use crate::policy::Wait;
use crate::pool::Pool;
use crate::protocol::sleep::{ANY_MEANWHILE, PERHAPS, Wanted};
use crate::protocol::state::{JobState, Settled, Status, Theft};
use crate::protocol::waiting::{Joiner, Sleeper, await_job};
use crate::slot::Job;
use crate::unwind::AbortOnUnwind;

/// The number of consecutive failures to leapfrog before one attempt at a random victim. Lace has 32; with 8,
/// oversubscribed workers, whose thief may not be running, look elsewhere sooner.
const LEAPS_BEFORE_RANDOM: u32 = 8;

/// Waits until `job`, stolen from this worker, is settled; `meanwhile` says whether it may help others.
///
/// # Safety
/// `job` was forked by this worker, and a thief has won it.
#[cold]
#[inline(never)]
pub(crate) unsafe fn wait_job<P: Pool>(here: Here<'_, P>, job: NonNull<Job>, meanwhile: Meanwhile) -> Settled {
    let waiting = AbortOnUnwind("a worker panicked while it waited for a stolen task");
    // SAFETY: the job's memory is the caller's frame or slot, which stays during the wait.
    let state = &unsafe { job.as_ref() }.state;
    let settled = await_job(&Joining::new(Spot::at(here), meanwhile), state);
    mem::forget(waiting);
    settled
}

/// A worker that waits for a stolen task.
struct Joining<'w, P: Pool> {
    spot: Spot<'w, P>,
    helps: bool,
    /// The number of consecutive failures to leapfrog.
    failures: Cell<u32>,
    /// How many times it has idled, on a low stack, while there was work.
    looks: Cell<u32>,
}

impl<'w, P: Pool> Joining<'w, P> {
    fn new(spot: Spot<'w, P>, meanwhile: Meanwhile) -> Self {
        Self { spot, helps: meanwhile == Meanwhile::Help, failures: Cell::new(0), looks: Cell::new(0) }
    }

    fn strategy(&self) -> Wait {
        self.spot.home().common.wait
    }

    /// The workers whose tasks it may run: the thief, or all.
    fn victims(&self, theft: Theft) -> &[Core<P>] {
        let peers = self.spot.core.peers();
        match self.strategy() {
            _ if !self.helps => &[],
            // A transitive leapfrogger's further victims change all the time. It has asked them in its last search, and
            // does not stay awake for work that may not be for it.
            Wait::Leapfrog | Wait::Transitive => std::slice::from_ref(&peers[theft.thief]),
            Wait::LeapfrogRandom | Wait::Random => peers,
        }
    }

    fn run_any(&self) -> bool {
        let spot = &self.spot;
        if spot.home().victims().any(|victim| spot.steal_and_run(victim, None)) {
            return true;
        }
        let Some(find) = spot.find_spawned() else { return false };
        spot.run_meanwhile(find);
        true
    }

    /// Leapfrogs on a low stack, and leaves other work to other workers for a while.
    fn leap_low(&self, state: &JobState<Native>, theft: Theft) -> bool {
        let (spot, is_strict) = (&self.spot, self.strategy().is_strict());
        // A worker that is not strict keeps what it has won, though it may be unrelated by then: only the owner may run
        // a returned job, and the owner may be waiting for another worker to run it.
        let guard = is_strict.then_some((state, theft));
        if spot.is_warm(state, theft) && spot.steal_and_run(theft.thief, guard) {
            return true;
        }
        if is_strict {
            return false;
        }
        let Some(find) = spot.find_reluctantly(&self.looks) else { return false };
        spot.run_meanwhile(find);
        true
    }
}

impl<P: Pool> Standing for Joining<'_, P> {
    type Pool = P;

    fn core(&self) -> &Core<P> {
        self.spot.core
    }

    fn settles(&self) {
        P::settles(&self.spot.here);
    }
}

impl<P: Pool> Joiner for Joining<'_, P> {
    type Patience = Patience;

    fn patience(&self) -> Patience {
        Patience::default()
    }

    fn leap(&self, state: &JobState<Native>, theft: Theft) -> bool {
        let spot = &self.spot;
        if !self.helps {
            return false;
        }
        let found = if spot.home().is_stack_low() {
            self.leap_low(state, theft)
        } else {
            match self.strategy() {
                // The guard: the thief may have finished the job and be running something unrelated.
                Wait::Leapfrog => spot.steal_and_run(theft.thief, Some((state, theft))),
                Wait::Transitive => leap_transitively(spot, state, theft),
                Wait::LeapfrogRandom => {
                    spot.steal_and_run(theft.thief, None) || {
                        self.failures.set(self.failures.get() + 1);
                        self.failures.get().is_multiple_of(LEAPS_BEFORE_RANDOM) && self.run_any()
                    }
                }
                Wait::Random => self.run_any(),
            }
        };
        if found {
            spot.home().counters.leaps.bump();
            self.failures.set(0);
        }
        found
    }

    fn run_mail(&self) -> bool {
        let home = self.spot.home();
        let Some(job) = home.next_mail() else { return false };
        home.on_detour(|| self.spot.below().run(job));
        true
    }

    fn wanted(&self, theft: Theft) -> Wanted {
        match self.strategy() {
            // It wants only its own work, so that it is woken for none.
            _ if !self.helps => self.index() as Wanted,
            Wait::Leapfrog => theft.thief as Wanted,
            Wait::Transitive => PERHAPS,
            Wait::LeapfrogRandom | Wait::Random => ANY_MEANWHILE,
        }
    }

    fn ask(&self, theft: Theft) {
        for victim in self.victims(theft) {
            P::ask(self.spot.core, victim);
        }
    }

    fn insist(&self, theft: Theft) -> bool {
        self.spot.insist(self.victims(theft))
    }

    fn sees_any(&self, theft: Theft) -> bool {
        let (spot, home) = (&self.spot, self.spot.home());
        if self.helps && !self.strategy().is_strict() {
            return spot.sees_any() || home.has_own_spawned();
        }
        home.has_mail() || self.victims(theft).iter().any(|victim| P::has_work(&spot.here, victim))
    }
}

/// The job that led a transitive leapfrogger to a worker, and its theft, which must still be in progress.
struct Trail<'s> {
    state: &'s JobState<Native>,
    theft: Theft,
    /// The next entry of the thief's stack to look at.
    next: usize,
}

/// Searches, depth first, the workers that run descendants of the job in `state` for something to steal.
fn leap_transitively<P: Pool>(spot: &Spot<'_, P>, state: &JobState<Native>, theft: Theft) -> bool {
    let peers = spot.core.peers();
    let mut seen = vec![false; peers.len()];
    seen[spot.home().index] = true;
    seen[theft.thief] = true;
    if spot.steal_and_run(theft.thief, Some((state, theft))) {
        return true;
    }
    let mut path = vec![Trail { state, theft, next: theft.base }];
    while let Some(trail) = path.last_mut() {
        let entry = peers[trail.theft.thief].pool.stolen_at(trail.next);
        trail.next += 1;
        let further = match entry.map(|entry| (entry, entry.status())) {
            Some((entry, Status::Stolen(theft))) if !seen[theft.thief] => {
                Some(Trail { state: entry, theft, next: theft.base })
            }
            Some(_) => None,
            None => {
                path.pop();
                continue;
            }
        };
        // Checked after reading the entry: if the theft that led here is still in progress, the entry was one of its
        // descendants.
        if !spot.is_warm(trail.state, trail.theft) {
            path.pop();
        } else if let Some(further) = further {
            seen[further.theft.thief] = true;
            if spot.steal_and_run(further.theft.thief, Some((further.state, further.theft))) {
                return true;
            }
            path.push(further);
        }
        if !matches!(state.status(), Status::Stolen(_)) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::pool::Split;
    use crate::protocol::ticks::Tick;
    use crate::{Builder, Interrupts};

    /// What a helping worker sees, and what one that only waits sees.
    fn both<T>(joining: &mut Joining<'_, Split>, see: impl Fn(&Joining<'_, Split>) -> T) -> (T, T) {
        let [helps, waits] = [true, false].map(|helps| {
            joining.helps = helps;
            see(joining)
        });
        (helps, waits)
    }

    /// Calls `f` on the only worker of a pool.
    fn on_a_worker(pool: Builder<Split>, f: impl FnOnce(Here<'_, Split>) + Send) {
        let pool = pool.workers(1).build().unwrap();
        pool.install(|| {
            // SAFETY: this thread is a worker of this pool, and `f` leaves the stack as it finds it.
            f(unsafe { Here::current().known() });
        });
    }

    /// Other workers' tasks concern a worker whose strategy lets it run them, but not one that may only wait.
    #[test]
    fn a_waiting_worker_wants_asks_and_looks_at_those_whose_work_it_may_run() {
        let theft = Theft { thief: 0, base: 0, count: 1 };
        let wanted = [(Wait::Leapfrog, 0), (Wait::Transitive, PERHAPS), (Wait::Random, ANY_MEANWHILE)];
        for (wait, wanted) in wanted.into_iter().chain([(Wait::LeapfrogRandom, ANY_MEANWHILE)]) {
            on_a_worker(Builder::new().wait(wait), |here| {
                let mut joining = Joining::new(Spot::at(here), Meanwhile::Help);
                let own = joining.spot.home();
                assert_eq!(both(&mut joining, |who| who.wanted(theft)), (wanted, own.index as Wanted));
                assert_eq!(both(&mut joining, |who| who.victims(theft).len()), (1, 0));
                assert_eq!(both(&mut joining, |who| who.sees_any(theft)), (false, false));
                crate::spawn(|| ());
                assert_eq!(both(&mut joining, |who| who.sees_any(theft)), (!wait.is_strict(), false));
                joining.spot.below().run(own.pop_spawned().unwrap());
            });
        }
    }

    /// A work request may come too late for the tick that the last attempt to steal requested.
    #[test]
    fn a_worker_that_has_asked_before_it_sleeps_requests_a_tick() {
        on_a_worker(Builder::new().interrupts(Interrupts::flag()), |here| {
            let home = here.home();
            let is_due = || home.common.ticks.as_ref().unwrap().take(0) == Tick::Made;
            // Consumes the ticks that the worker has requested on its way here.
            while is_due()
                || (0..5).any(|_| {
                    thread::sleep(Duration::from_millis(1));
                    is_due()
                })
            {}
            Joining::new(Spot::at(here), Meanwhile::Help).has_asked();
            let start = Instant::now();
            while !is_due() {
                assert!(start.elapsed() < Duration::from_secs(60), "no tick was requested");
                thread::yield_now();
            }
        });
    }
}
