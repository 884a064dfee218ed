//! Waiting at a join for a stolen task.

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;

use filch_memory::Native;

use super::find::{Find, run_newer};
use super::idle::run_other;
use super::spot::{Spot, Standing};
use crate::fork::own::with_taken;
use crate::fork::{front::Meanwhile, here::Here, slot::Job};
use crate::protocol::order::Height;
use crate::protocol::sleep::{ANY_MEANWHILE, PERHAPS, Wanted};
use crate::protocol::state::{JobState, Settled, Status, Theft};
use crate::protocol::waiting::{Joiner, Sleeper, await_job};
use crate::shared::policy::{Leaps, Wait};
use crate::timeline::Activity;
use crate::unwind::AbortOnUnwind;
use crate::worker::trails::Trail;
use crate::worker::{core::Core, patience::Timed, plumbing::Pool};

/// Waits until `job` is settled, which this worker forked at this height and a thief stole. `meanwhile` says whether
/// the worker may help others. Jobs that it spawns while it waits come before the next work that it takes from others.
///
/// # Safety
/// `job` was forked by this worker, and a thief has won it.
#[cold]
#[inline(never)]
pub(crate) unsafe fn wait_job<P: Pool>(
    mut here: Here<'_, P>,
    job: NonNull<Job>,
    height: Height,
    meanwhile: Meanwhile,
) -> Settled {
    let waiting = AbortOnUnwind("a worker panicked while it waited for a stolen task");
    // SAFETY: the job's memory is the caller's frame or slot, which stays during the wait.
    let state = &unsafe { job.as_ref() }.state;
    let home = &here.core().home;
    let settled = home.doing(Activity::Waiting, || {
        loop {
            if here.home().may_have_newer(height) {
                // SAFETY: the job stays where it is.
                unsafe { run_newer(here.again(), state, height, meanwhile) };
            }
            match next_at_join(here.again(), meanwhile, state) {
                Ok(settled) => return settled,
                Err(Find::Won(won)) => Spot::at(here.again()).run_won(won),
                Err(find) => run_other(here.again(), find),
            }
        }
    });
    mem::forget(waiting);
    settled
}

/// Returns how the job was settled, or else what the waiting worker runs next.
#[inline(never)]
fn next_at_join<P: Pool>(here: Here<'_, P>, meanwhile: Meanwhile, state: &JobState<Native>) -> Result<Settled, Find> {
    await_job(&Joining::new(Spot::at(here), meanwhile, state), state)
}

/// A worker that waits for a stolen task.
struct Joining<'w, 's, P: Pool> {
    spot: Spot<'w, P>,
    state: &'s JobState<Native>,
    helps: bool,
    /// The number of failures to leapfrog since the worker last looked further.
    failures: Cell<u32>,
    /// How many times the worker has napped, on a low stack, while there was work.
    naps: Cell<u32>,
}

impl<'w, 's, P: Pool> Joining<'w, 's, P> {
    fn new(spot: Spot<'w, P>, meanwhile: Meanwhile, state: &'s JobState<Native>) -> Self {
        let helps = meanwhile == Meanwhile::Help;
        Self { spot, state, helps, failures: Cell::new(0), naps: Cell::new(0) }
    }

    fn strategy(&self) -> Wait {
        self.spot.home().common.wait
    }

    /// Returns the workers whose tasks this one may run: none, the thief, or all; without those that it finds only by a
    /// [walk](Self::walk).
    fn victims(&self, theft: Theft) -> &[Box<Core<P>>] {
        let peers = self.spot.core.peers();
        match self.strategy() {
            _ if !self.helps => &[],
            Wait::Leapfrog | Wait::Transitive => std::slice::from_ref(&peers[theft.thief]),
            Wait::LeapfrogRandom | Wait::Random => peers,
        }
    }

    /// Counts a failure to leapfrog, and looks further if there have been enough failures.
    fn further(&self, look: impl FnOnce() -> Option<Find>) -> Option<Find> {
        let home = self.spot.home();
        let (failures, adapted) = (self.failures.get() + 1, home.leaps.get());
        self.failures.set(failures);
        if failures < home.common.leaps.before(self.strategy(), adapted) {
            return None;
        }
        self.failures.set(0);
        let found = look();
        home.leaps.set(Leaps::adapt(adapted, found.is_some()));
        found
    }

    /// Whether the worker follows the tasks that were stolen from the thief.
    fn leaps_further(&self) -> bool {
        self.helps && self.strategy() == Wait::Transitive && !self.spot.home().is_stack_low()
    }

    /// Visits, depth first, the workers that run descendants of the awaited job, except its thief, until `visit`
    /// returns something. It gets the worker, and the entry and the theft by which that worker got a descendant.
    fn walk<R>(
        &self,
        theft: Theft,
        mut visit: impl FnMut(usize, (&JobState<Native>, Theft)) -> Option<R>,
    ) -> Option<R> {
        let (spot, peers) = (&self.spot, self.spot.core.peers());
        with_taken(&spot.home().trails, |trails| {
            trails.begin(peers.len());
            trails.is_new(spot.home().index);
            trails.is_new(theft.thief);
            trails.path.push(Trail { via: None, theft, next: theft.base });
            while let Some(trail) = trails.path.last_mut() {
                let at = (trail.theft.thief, trail.next);
                let entry = peers[at.0].pool.stolen_at(at.1).map(|entry| (entry, entry.status()));
                trail.next += 1;
                // Checked after the entry was read: if the theft that led here is still in progress, the entry
                // descended from it.
                let via = trail.via.map_or(Some(self.state), |(worker, index)| peers[worker].pool.stolen_at(index));
                let is_warm = entry.is_some() && via.is_some_and(|via| spot.is_warm(via, trail.theft));
                if !is_warm {
                    trails.path.pop();
                } else if let Some((entry, Status::Stolen(theft))) = entry
                    && trails.is_new(theft.thief)
                {
                    if let Some(result) = visit(theft.thief, (entry, theft)) {
                        return Some(result);
                    }
                    trails.path.push(Trail { via: Some(at), theft, next: theft.base });
                }
                if !matches!(self.state.status(), Status::Stolen(_)) {
                    return None;
                }
            }
            None
        })
    }

    fn find_any(&self) -> Option<Find> {
        let (spot, home) = (&self.spot, self.spot.home());
        let own = if home.has_own_spawned() { home.pop_spawned().map(Find::Spawned) } else { None };
        own.or_else(|| spot.find_far()).map(|find| spot.claimed(find))
    }

    /// Leapfrogs on a low stack, and leaves other work to other workers for a while.
    fn leap_low(&self, state: &JobState<Native>, theft: Theft) -> Option<Find> {
        let (spot, is_strict) = (&self.spot, self.strategy().is_strict());
        // A worker that is not strict keeps its loot, though the loot may be unrelated by then: only the owner may run
        // a returned job, and the owner may be waiting for another worker to run it.
        let guard = is_strict.then_some((state, theft));
        if (is_strict || P::BY_VICTIM)
            && spot.is_warm(state, theft)
            && let Some(won) = spot.win(theft.thief, guard)
        {
            return Some(Find::Won(won));
        }
        if is_strict { None } else { spot.find_reluctantly(&self.naps) }
    }
}

impl<P: Pool> Standing for Joining<'_, '_, P> {
    type Pool = P;

    fn core(&self) -> &Core<P> {
        self.spot.core
    }

    fn at(&self, what: fn(&Here<'_, P>)) {
        what(&self.spot.here);
    }
}

impl<'w, P: Pool> Joiner for Joining<'w, '_, P> {
    type Find = Find;
    type Backoff = Timed<'w>;

    fn backoff(&self) -> Timed<'w> {
        Timed::new(&self.spot.core.home)
    }

    fn leap(&self, state: &JobState<Native>, theft: Theft) -> Option<Find> {
        let spot = &self.spot;
        if !self.helps {
            return None;
        }
        let win = |guard| spot.win(theft.thief, guard).map(Find::Won);
        let found = if spot.home().is_stack_low() {
            self.leap_low(state, theft)
        } else {
            match self.strategy() {
                // The guard: the thief may have finished the job and be running something unrelated.
                Wait::Leapfrog => win(Some((state, theft))),
                Wait::Transitive => {
                    let transitively = || {
                        let won = self.walk(theft, |thief, guard| spot.win(thief, Some(guard)));
                        won.map(Find::Won)
                    };
                    win(Some((state, theft))).or_else(|| self.further(transitively))
                }
                Wait::LeapfrogRandom => spot.leap_to(theft.thief).or_else(|| self.further(|| self.find_any())),
                Wait::Random => self.find_any(),
            }
        };
        if found.is_some() {
            spot.home().counters.leaps.bump();
            self.failures.set(0);
        }
        found
    }

    fn mail(&self) -> Option<Find> {
        self.spot.home().next_mail().map(Find::Spawned)
    }

    fn wanted(&self, theft: Theft) -> Wanted {
        match self.strategy() {
            // The worker says that it wants only its own work, so no work wakes it.
            _ if !self.helps => self.index() as Wanted,
            Wait::Leapfrog => theft.thief as Wanted,
            Wait::Transitive => PERHAPS,
            Wait::LeapfrogRandom | Wait::Random => ANY_MEANWHILE,
        }
    }

    fn ask(&self, theft: Theft) {
        let core = self.spot.core;
        self.victims(theft).iter().for_each(|victim| P::ask(core, victim));
        if self.leaps_further() {
            // A worker that comes to the way later looks for sleepers when it shares its first task.
            self.walk(theft, |thief, _| -> Option<()> {
                P::ask(core, &core.peers()[thief]);
                None
            });
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
        let has_work = |victim: &Core<P>| P::has_work(&spot.here, victim);
        if home.has_mail() || self.victims(theft).iter().any(|victim| has_work(victim)) {
            return true;
        }
        let sees_further = self.leaps_further()
            && self.walk(theft, |thief, _| has_work(&spot.core.peers()[thief]).then_some(())).is_some();
        if sees_further {
            // The next leap goes there.
            self.failures.set(u32::MAX - 1);
        }
        sees_further
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::pool::Split;
    use crate::protocol::ticks::Tick;
    use crate::{Builder, Interrupts};

    /// Returns what a helping worker sees, and what one that only waits sees.
    fn both<T>(joining: &mut Joining<'_, '_, Split>, see: impl Fn(&Joining<'_, '_, Split>) -> T) -> (T, T) {
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
            Here::with(|here| f(here.of_pool().unwrap()));
        });
    }

    /// Other workers' tasks concern a worker whose strategy lets it run them, but not one that may only wait.
    #[test]
    fn a_waiting_worker_wants_asks_and_looks_at_those_whose_work_it_may_run() {
        let theft = Theft { thief: 0, base: 0, count: 1 };
        let wanted = [(Wait::Leapfrog, 0), (Wait::Transitive, PERHAPS), (Wait::Random, ANY_MEANWHILE)];
        for (wait, wanted) in wanted.into_iter().chain([(Wait::LeapfrogRandom, ANY_MEANWHILE)]) {
            on_a_worker(Builder::new().wait(wait), |here| {
                let state = JobState::default();
                let mut joining = Joining::new(Spot::at(here), Meanwhile::Help, &state);
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

    #[test]
    fn a_transitive_leapfrogger_has_room_for_a_search_before_its_first() {
        on_a_worker(Builder::new().wait(Wait::Transitive), |here| {
            let mut trails = here.home().trails.take();
            assert!(trails.path.capacity() > 0);
            assert!(trails.is_new(0) && !trails.is_new(0));
            here.home().trails.set(trails);
        });
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
            Joining::new(Spot::at(here), Meanwhile::Help, &JobState::default()).note_request();
            let start = Instant::now();
            while !is_due() {
                assert!(start.elapsed() < Duration::from_secs(60), "no tick was requested");
                thread::yield_now();
            }
        });
    }
}
