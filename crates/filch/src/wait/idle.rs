//! Work of any kind: a worker's life, the wait for a scope or another pool, and yielding.

use std::cell::Cell;
use std::mem;

use crossbeam_queue::SegQueue;

use super::find::Find;
use super::spot::{Spot, Standing};
use crate::core::Core;
use crate::front::{Awaited, Reach};
use crate::guest::{Guests, Outlook};
use crate::here::{Here, IdleHere};
use crate::home::Home;
use crate::patience::Patience;
use crate::pool::Pool;
use crate::protocol::sleep::{ANY, ANY_MEANWHILE, Wanted};
use crate::protocol::waiting::{self, Searcher, leave, search};
use crate::spawn::Spawned;
use crate::unwind::AbortOnUnwind;

/// Makes the current thread the worker `core` until its pool closes. `start` and `exit` are called by the worker before and after, and
/// it runs what they spawn. `stack_size`: of the thread, or a lower bound; 0 if nobody knows.
///
/// # Safety
/// No other thread is that worker, and its task stack is empty.
pub(crate) unsafe fn work<P: Pool>(core: &Core<P>, stack_size: usize, start: impl FnOnce(), exit: impl FnOnce()) {
    core.home.measure_stack(stack_size);
    // SAFETY: this thread is the worker from here on, and nothing lies on its stack; the hooks leave it as they find it.
    let here = || unsafe { Here::<P>::new(P::front(core), core.pool.bottom()) };
    let outer = here();
    let _entered = outer.enter();
    start();
    live(here());
    exit();
    live(here());
}

/// Runs whatever there is until the pool closes, and what is left then.
fn live<P: Pool>(here: Here<'_, P>) {
    let living = AbortOnUnwind("a worker panicked outside of all tasks");
    let worker = Searching::idle(Spot::at(here));
    search(&worker, ANY, &|| worker.spot.home().common.is_closing());
    while let Some(find) = worker.find() {
        worker.run(find);
    }
    mem::forget(living);
}

/// Runs whatever may be run, or sleeps, until it is over. Whoever makes it so, or adds to what alone may be run, must notify this worker
/// afterwards.
pub(crate) fn wait_until<P: Pool>(here: Here<'_, P>, awaited: &Awaited<'_>) {
    let waiting = AbortOnUnwind("a worker panicked while it waited");
    if let Some(tasks) = awaited.tasks {
        // Nobody else's work, so that it is not woken for any.
        let spot = Spot::at(here);
        let own = spot.home().index as Wanted;
        search(&Confined { spot, tasks }, own, awaited.is_over);
    } else {
        let spot = Spot::at(here);
        let worker = Searching { spot, is_idle: false, looks: Cell::new(0), mark: Cell::new(awaited.spawns) };
        search(&worker, ANY_MEANWHILE, awaited.is_over);
    }
    mem::forget(waiting);
}

/// Runs `work` on a thread from outside, a guest, which has taken the seat of an idle worker; then leaves it.
///
/// # Safety
/// The worker was idle: nothing lies on its stack.
pub(crate) unsafe fn visit<P: Pool>(here: Here<'_, P>, work: &mut dyn FnMut(Here<'_>)) {
    let visiting = AbortOnUnwind("a guest panicked outside of its call");
    let worker = Searching::idle(Spot::at(here));
    let spot = &worker.spot;
    spot.home().on_another_stack(|| {
        let _entered = spot.here.enter();
        // SAFETY: nothing lies on the stack.
        P::begins(&unsafe { IdleHere::new(&spot.here) });
        work(spot.below());
    });
    leave(&worker, &|| spot.home().common.is_closing());
    mem::forget(visiting);
}

/// A worker that takes work of any kind: because it is idle, with nothing on its stack; or while it waits.
struct Searching<'w, P: Pool> {
    spot: Spot<'w, P>,
    is_idle: bool,
    /// How often it has looked on while there was work, and its stack was low.
    looks: Cell<u32>,
    /// What it has spawned above this may be part of what it waits for.
    mark: Cell<usize>,
}

impl<'w, P: Pool> Searching<'w, P> {
    fn idle(spot: Spot<'w, P>) -> Self {
        Self { spot, is_idle: true, looks: Cell::new(0), mark: Cell::new(0) }
    }
}

impl<P: Pool> Standing for Searching<'_, P> {
    type Pool = P;

    fn core(&self) -> &Core<P> {
        self.spot.core
    }
}

/// The patience of one that searches: an idle worker's lasts longer while guests come.
struct Watchful<'w> {
    patience: Patience,
    home: &'w Home,
    guests: Option<&'w Guests>,
    outlook: Outlook,
}

impl waiting::Patience for Watchful<'_> {
    fn wait(&mut self) -> bool {
        let steals = || self.home.counters.steals.get();
        self.patience.wait() || self.guests.is_some_and(|guests| guests.watch(&mut self.outlook, steals()))
    }

    fn hold_on(&mut self) {
        waiting::Patience::hold_on(&mut self.patience);
    }

    fn renew(&mut self) {
        self.patience.renew();
    }
}

impl<'w, P: Pool> Searcher for Searching<'w, P> {
    type Find = Find;
    type Patience = Watchful<'w>;

    fn patience(&self) -> Watchful<'w> {
        let home = &self.spot.core.home;
        let guests = if self.is_idle { home.common.guests.as_ref() } else { None };
        Watchful { patience: Patience::default(), home, guests, outlook: Outlook::default() }
    }

    fn find(&self) -> Option<Find> {
        let spot = &self.spot;
        if self.is_idle {
            return spot.find_own().or_else(|| spot.find_kept()).or_else(|| spot.find_far_idle());
        }
        let home = spot.home();
        if !home.is_stack_low() {
            return spot.find_own().or_else(|| spot.find_far()).or_else(|| spot.find_forked());
        }
        let own = home.pop_spawned_since(&self.mark);
        // Mail is for nobody else, and what comes from outside may have nobody else.
        let find = own.or_else(|| home.next_mail()).or_else(|| home.common.injected.pop()).map(Find::Spawned);
        find.or_else(|| spot.find_reluctantly(&self.looks))
    }

    fn leaves_more(&self, find: &Find) -> bool {
        // Where a task was there are likely more, which do not show before somebody asks.
        matches!(find, Find::Stolen { .. }) || self.spot.sees_any()
    }

    fn leaves_many(&self, find: &Find) -> bool {
        match find {
            Find::Stolen { victim, .. } => P::has_work(&self.spot.here, &self.spot.core.peers()[*victim]),
            _ => false,
        }
    }

    fn run(&self, find: Find) {
        if self.is_idle {
            // SAFETY: an idle worker has nothing on its stack.
            P::begins(&unsafe { IdleHere::new(&self.spot.here) });
            self.spot.run(find);
        } else {
            // What is run may take long, and its worker answers nobody meanwhile.
            self.share();
            self.spot.run_meanwhile(find);
        }
    }

    fn share(&self) {
        self.spot.share();
    }

    fn ask(&self) {
        for victim in self.spot.core.peers() {
            P::ask(self.spot.core, victim);
        }
    }

    fn insist(&self) -> bool {
        self.spot.insist(self.spot.core.peers())
    }

    fn sees_any(&self) -> bool {
        // What it has itself it would have found, had it not left that to others, or spawned it as a guest that leaves.
        let own = || {
            if self.is_idle {
                self.spot.home().has_own_spawned()
            } else {
                self.spot.home().is_stack_low() && self.spot.has_own()
            }
        };
        self.spot.sees_any() || own()
    }
}

/// A worker that waits for a scope and runs nothing but its tasks, and jobs that are for this worker alone.
struct Confined<'w, 't, P: Pool> {
    spot: Spot<'w, P>,
    tasks: &'t SegQueue<Spawned>,
}

impl<P: Pool> Standing for Confined<'_, '_, P> {
    type Pool = P;

    fn core(&self) -> &Core<P> {
        self.spot.core
    }
}

impl<P: Pool> Searcher for Confined<'_, '_, P> {
    /// A job, and whether it is one of the tasks.
    type Find = (Spawned, bool);
    type Patience = Patience;

    fn patience(&self) -> Patience {
        Patience::default()
    }

    fn find(&self) -> Option<(Spawned, bool)> {
        let mail = || self.spot.home().next_mail().map(|job| (job, false));
        self.tasks.pop().map(|task| (task, true)).or_else(mail)
    }

    fn leaves_more(&self, _: &(Spawned, bool)) -> bool {
        false
    }

    fn run(&self, (job, is_task): (Spawned, bool)) {
        self.share();
        let find = Find::Spawned(job);
        // A task of the scope is a part of what the worker may have stolen.
        if is_task { self.spot.run(find) } else { self.spot.run_meanwhile(find) }
    }

    fn share(&self) {
        self.spot.share();
    }

    fn ask(&self) {}

    fn sees_any(&self) -> bool {
        !self.tasks.is_empty() || self.spot.home().has_mail()
    }
}

/// Runs one job, if there is one within reach, in the middle of whatever the worker is doing; returns whether there was.
pub(crate) fn run_one<P: Pool>(here: Here<'_, P>, reach: Reach) -> bool {
    let spot = Spot::at(here);
    let far = || if reach == Reach::All { spot.find_far() } else { None };
    let Some(find) = spot.find_own().or_else(|| spot.find_forked()).or_else(far) else { return false };
    spot.run_meanwhile(find);
    true
}
