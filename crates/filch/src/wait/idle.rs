//! Work of any kind: a worker's life, the wait for a scope or another pool, and yielding.

use std::cell::Cell;
use std::mem;

use crossbeam_queue::SegQueue;

use super::find::Find;
use super::here::Standing;
use super::{Here, Patience};
use crate::front::Enter;
use crate::guest::{Guests, Outlook};
use crate::pool::Pool;
use crate::protocol::sleep::{ANY, ANY_MEANWHILE, Wanted};
use crate::protocol::waiting::{self, Searcher, leave, search};
use crate::spawn::Spawned;
use crate::unwind::AbortOnUnwind;
use crate::worker::{Core, Home};

/// Makes the current thread the worker `core` until its pool closes. `start` and `exit` are called by the worker before and after, and
/// it runs what they spawn. `stack_size`: of the thread, or a lower bound; 0 if nobody knows.
///
/// # Safety
/// No other thread is that worker, and its task stack is empty.
pub(crate) unsafe fn work<P: Pool>(core: &Core<P>, stack_size: usize, start: impl FnOnce(), exit: impl FnOnce()) {
    core.home.measure_stack(stack_size);
    let (front, head) = (P::front(core), core.pool.bottom());
    let _enter = Enter::new(front, head);
    // SAFETY: the caller's promise; the hooks leave the stack as they find it.
    let here = unsafe { Here::new(core, front, head) };
    start();
    live(here);
    exit();
    live(here);
}

/// Runs whatever there is until the pool closes, and what is left then.
fn live<P: Pool>(here: Here<'_, P>) {
    let living = AbortOnUnwind("a worker panicked outside of all tasks");
    let worker = Searching::idle(here);
    search(&worker, ANY, &|| here.home().common.is_closing());
    while let Some(find) = worker.find() {
        worker.run(find);
    }
    mem::forget(living);
}

/// Something that a worker waits for, other than a stolen job.
pub(crate) struct Awaited<'a> {
    /// Whether it has come.
    pub(crate) is_over: &'a dyn Fn() -> bool,
    /// What the worker had [spawned](crate::worker::Home::spawns) before it began.
    pub(crate) spawns: usize,
    /// What alone is to be run meanwhile, unless anything may be.
    pub(crate) tasks: Option<&'a SegQueue<Spawned>>,
}

/// Runs whatever may be run, or sleeps, until it is over. Whoever makes it so, or adds to what alone may be run, must notify this worker
/// afterwards.
pub(crate) fn wait_until<P: Pool>(here: Here<'_, P>, awaited: &Awaited<'_>) {
    let waiting = AbortOnUnwind("a worker panicked while it waited");
    if let Some(tasks) = awaited.tasks {
        // Nobody else's work, so that it is not woken for any.
        search(&Confined { here, tasks }, here.home().index as Wanted, awaited.is_over);
    } else {
        let worker = Searching { here, is_idle: false, looks: Cell::new(0), mark: Cell::new(awaited.spawns) };
        search(&worker, ANY_MEANWHILE, awaited.is_over);
    }
    mem::forget(waiting);
}

/// Runs `work` on a thread from outside, a guest, which has taken the seat of an idle worker; then leaves it.
pub(crate) fn visit<P: Pool>(here: Here<'_, P>, work: &mut dyn FnMut()) {
    let visiting = AbortOnUnwind("a guest panicked outside of its call");
    here.home().on_another_stack(|| {
        let _enter = Enter::new(here.front, here.head);
        // SAFETY: this thread is the worker, and nothing lies on its stack.
        unsafe { P::begins(here.core) };
        work();
    });
    leave(&Searching::idle(here), &|| here.home().common.is_closing());
    mem::forget(visiting);
}

/// A worker that takes work of any kind: because it is idle, with nothing on its stack; or while it waits.
struct Searching<'w, P: Pool> {
    here: Here<'w, P>,
    is_idle: bool,
    /// How often it has looked on while there was work, and its stack was low.
    looks: Cell<u32>,
    /// What it has spawned above this may be part of what it waits for.
    mark: Cell<usize>,
}

impl<'w, P: Pool> Searching<'w, P> {
    fn idle(here: Here<'w, P>) -> Self {
        Self { here, is_idle: true, looks: Cell::new(0), mark: Cell::new(0) }
    }
}

impl<P: Pool> Standing for Searching<'_, P> {
    type Pool = P;

    fn here(&self) -> Here<'_, P> {
        self.here
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
        let home = self.here.home();
        let guests = if self.is_idle { home.common.guests.as_ref() } else { None };
        Watchful { patience: Patience::default(), home, guests, outlook: Outlook::default() }
    }

    fn find(&self) -> Option<Find> {
        let here = &self.here;
        if self.is_idle {
            return here.find_own().or_else(|| here.find_kept()).or_else(|| here.find_far_idle());
        }
        let home = here.home();
        if !home.is_stack_low() {
            return here.find_own().or_else(|| here.find_far()).or_else(|| here.find_forked());
        }
        // SAFETY: this thread is the worker.
        let own = unsafe { home.pop_spawned_since(&self.mark) };
        // Mail is for nobody else, and what comes from outside may have nobody else.
        let find = own.or_else(|| home.next_mail()).or_else(|| home.common.injected.pop()).map(Find::Spawned);
        find.or_else(|| here.find_reluctantly(&self.looks))
    }

    fn leaves_more(&self, find: &Find) -> bool {
        // Where a task was there are likely more, which do not show before somebody asks.
        matches!(find, Find::Stolen { .. }) || self.here.sees_any()
    }

    fn leaves_many(&self, find: &Find) -> bool {
        match find {
            // SAFETY: this thread is the worker.
            Find::Stolen { victim, .. } => unsafe { P::has_work(self.here.core, &self.here.core.peers()[*victim]) },
            _ => false,
        }
    }

    fn run(&self, find: Find) {
        if self.is_idle {
            // SAFETY: this thread is the worker; an idle one has nothing on its stack.
            unsafe { P::begins(self.here.core) };
            self.here.run(find);
        } else {
            // What is run may take long, and its worker answers nobody meanwhile.
            self.share();
            self.here.run_meanwhile(find);
        }
    }

    fn share(&self) {
        self.here.share();
    }

    fn ask(&self) {
        for victim in self.here.core.peers() {
            P::ask(self.here.core, victim);
        }
    }

    fn insist(&self) -> bool {
        self.here.insist(self.here.core.peers())
    }

    fn sees_any(&self) -> bool {
        // What it has itself it would have found, had it not left that to others, or spawned it as a guest that leaves.
        let own = || {
            if self.is_idle {
                // SAFETY: this thread is the worker.
                unsafe { self.here.home().has_own_spawned() }
            } else {
                self.here.home().is_stack_low() && self.here.has_own()
            }
        };
        self.here.sees_any() || own()
    }
}

/// A worker that waits for a scope and runs nothing but its tasks, and jobs that are for this worker alone.
struct Confined<'w, P: Pool> {
    here: Here<'w, P>,
    tasks: &'w SegQueue<Spawned>,
}

impl<P: Pool> Standing for Confined<'_, P> {
    type Pool = P;

    fn here(&self) -> Here<'_, P> {
        self.here
    }
}

impl<P: Pool> Searcher for Confined<'_, P> {
    /// A job, and whether it is one of the tasks.
    type Find = (Spawned, bool);
    type Patience = Patience;

    fn patience(&self) -> Patience {
        Patience::default()
    }

    fn find(&self) -> Option<(Spawned, bool)> {
        let mail = || self.here.home().next_mail().map(|job| (job, false));
        self.tasks.pop().map(|task| (task, true)).or_else(mail)
    }

    fn leaves_more(&self, _: &(Spawned, bool)) -> bool {
        false
    }

    fn run(&self, (job, is_task): (Spawned, bool)) {
        self.share();
        let find = Find::Spawned(job);
        // A task of the scope is a part of what the worker may have stolen.
        if is_task { self.here.run(find) } else { self.here.run_meanwhile(find) }
    }

    fn share(&self) {
        self.here.share();
    }

    fn ask(&self) {}

    fn sees_any(&self) -> bool {
        !self.tasks.is_empty() || self.here.home().has_mail()
    }
}

/// Where a worker that yields looks for something to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// What it has spawned or forked itself, and what is for it alone.
    Own,
    /// Everywhere.
    All,
}

/// Runs one job, if there is one within reach, in the middle of whatever the worker is doing; returns whether there was.
pub(crate) fn run_one<P: Pool>(here: Here<'_, P>, reach: Reach) -> bool {
    let far = || if reach == Reach::All { here.find_far() } else { None };
    let Some(find) = here.find_own().or_else(|| here.find_forked()).or_else(far) else { return false };
    here.run_meanwhile(find);
    true
}
