//! Work of any kind: the main loop of a worker, the wait for a scope or another pool, and yielding.

use std::cell::Cell;
use std::mem;

use crossbeam_queue::SegQueue;
use filch_memory::Native;
use filch_queue::Task;

use super::find::Find;
use super::spot::{Spot, Standing};
use super::watchful::Watchful;
use crate::fork::front::{Only, Reach};
use crate::fork::here::{Here, IdleHere};
use crate::fork::spawned::Spawned;
use crate::protocol::sleep::{ANY, ANY_MEANWHILE, Wanted};
use crate::protocol::waiting::{Searcher, Sleeper, begin_asleep, leave, search, search_one, search_woken};
use crate::protocol::{latch::Pending, order::Height};
use crate::shared::{common::Lane, late::Begins, stand_ins::Spares};
use crate::timeline::Activity;
use crate::unwind::{AbortOnUnwind, abort_on_panic};
use crate::worker::{core::Core, latch::spawns_before, patience::Timed, plumbing::Pool};

/// Puts a worker to sleep whose thread has not been started yet. So a new pool's threads have nothing to do until there
/// is work, and the thread that made the pool can take a seat at once.
///
/// # Safety
/// No thread is that worker until its own begins, [asleep](Begins::Asleep), and its task stack is empty.
pub(crate) unsafe fn lie_down<P: Pool>(core: &Core<P>) {
    core.home.make_room();
    core.home.counters.idle.begin();
    core.home.counters.parks.bump();
    // SAFETY: this thread is the worker meanwhile, and the stack is empty.
    begin_asleep(&Searching::idle(Spot::at(unsafe { Here::<P>::new(P::front(core), core.pool.bottom()) })));
}

/// Makes the current thread the worker `core` until its pool closes. The worker calls `start` before and `exit` after,
/// and runs what they spawn. `stack_size` is the size of the thread's stack, or a lower bound; 0 if unknown. A panic in
/// `start` or `exit` ends the process.
///
/// # Safety
/// No other thread is that worker, unless the worker begins asleep; and the worker's task stack is empty.
pub(crate) unsafe fn work<P: Pool>(
    core: &Core<P>,
    stack_size: usize,
    begins: Begins,
    start: impl FnOnce(),
    exit: impl FnOnce(),
) {
    abort_on_panic("a worker's thread panicked", || {
        let elsewhere = core.home.common.elsewhere.as_ref();
        if let Some(elsewhere) = elsewhere {
            elsewhere.begin(core.home.index);
        }
        if core.home.index == 0 {
            core.home.common.note_start();
        }
        let spares = core.home.common.spares.as_ref().filter(|spares| spares.has(core.home.index));
        let _life = spares.map(|spares| spares.begin_life(core.home.index));
        if begins == Begins::Asleep {
            core.home.common.dormitory.place(core.home.index).rest();
        }
        core.home.prepare(stack_size);
        // SAFETY: this thread is the worker from here on, and its stack is empty; the hooks leave it as they find it.
        let here = || unsafe { Here::<P>::new(P::front(core), core.pool.bottom()) };
        let outer = here();
        let _entered = outer.enter();
        start();
        match spares {
            Some(spares) => stand_in(here, spares, core, begins),
            None => live(here(), begins),
        }
        core.home.common.leave();
        exit();
        live(here(), Begins::Awake);
        if let Some(elsewhere) = elsewhere {
            elsewhere.end(core.home.index);
        }
    });
}

/// Lives as a stand-in, whenever that is needed. A stand-in that begins asleep is already counted as at work.
fn stand_in<'w, P: Pool>(here: impl Fn() -> Here<'w, P>, spares: &Spares, core: &Core<P>, mut begins: Begins) {
    let (index, common) = (core.home.index, &core.home.common);
    while begins == Begins::Asleep || !common.is_over() {
        if begins == Begins::Awake {
            spares.wait_until_needed(common, index);
        }
        let standing = AbortOnUnwind("a worker panicked outside of all tasks");
        let has_left = Cell::new(false);
        let is_over = || {
            has_left.set(has_left.get() || spares.leaves(common, index));
            has_left.get() || common.is_over()
        };
        let worker = Searching::idle(Spot::at(here()));
        worker.search(std::mem::replace(&mut begins, Begins::Awake), &is_over);
        // Runs only what this worker has itself: others run the rest.
        while let Some(find) = worker.find_left() {
            worker.run(find);
        }
        worker.rest();
        if !has_left.get() {
            spares.end();
        }
        mem::forget(standing);
    }
}

/// Runs any work until the pool closes and is idle, and then what is left.
fn live<P: Pool>(here: Here<'_, P>, begins: Begins) {
    let living = AbortOnUnwind("a worker panicked outside of all tasks");
    let worker = Searching::idle(Spot::at(here));
    let common = &worker.spot.core.home.common;
    worker.search(begins, &|| common.is_over());
    while let Some(find) = worker.find().or_else(|| worker.find_left()) {
        worker.run(find);
    }
    worker.rest();
    // Others may sleep because they saw the last job unfinished. At least one worker looks after its end, and wakes
    // them here.
    common.notify_all();
    mem::forget(living);
}

/// Runs any permitted work, or sleeps, until the latch is over. A thread that adds to the `only` tasks must notify this
/// worker afterwards.
///
/// A recursion through scopes has this frame once per level, and no other frame of this file. So this frame is small:
/// the functions that look for work have frames of their own, which are gone when the work runs.
///
/// # Safety
/// Closure-style code is at `here`.
pub(crate) unsafe fn wait_until<P: Pool>(mut here: Here<'_, P>, latch: &Pending<Native>, before: u32, only: Only<'_>) {
    let waiting = AbortOnUnwind("a worker panicked while it waited");
    here.core().home.turn(true, Activity::Waiting);
    P::in_wait(only.is_some(), || {
        if let Some(tasks) = only {
            return wait_confined(here.again(), latch, tasks);
        }
        let mark = Cell::new(spawns_before(before, here.home().spawns()));
        while let Some((task, how)) = next_meanwhile(here.again(), latch, &mark) {
            if how == Find::IS_SPAWNED {
                // SAFETY: `pack` made the word of a job; closure style has this head, by the caller's promise, and
                // everything that has run here since has left it so.
                unsafe {
                    let job = Spawned::from_task(task);
                    P::in_job(job.address(), || job.run());
                }
                here.core().home.turn(false, Activity::Job);
                here.core().home.end_detour();
            } else {
                // SAFETY: `pack` has just made the two words.
                unsafe { run_packed(here.again(), task, how) };
            }
        }
    });
    here.core().home.turn(false, Activity::Waiting);
    mem::forget(waiting);
}

/// Returns what a waiting worker runs next, [packed](Find::pack), or `None` if the latch is over. A spawned job already
/// counts as begun.
#[inline(never)]
fn next_meanwhile<'w, P: Pool>(
    here: Here<'w, P>,
    latch: &Pending<Native>,
    mark: &'w Cell<usize>,
) -> Option<(Task, usize)> {
    if latch.is_over() {
        return None;
    }
    let spot = Spot::at(here);
    // The next of many spawned jobs needs no search.
    if !spot.home().is_stack_low()
        && let Some(job) = spot.next_spawned_within()
    {
        begins_meanwhile(&spot, true);
        return Some(Find::Spawned(job).pack());
    }
    let worker = Searching { spot, naps: Cell::new(0), mark: Some(mark) };
    let find = search_one(&worker, ANY_MEANWHILE, &|| latch.is_over())?;
    begins_meanwhile(&worker.spot, matches!(find, Find::Spawned(_)));
    Some(find.pack())
}

#[inline(always)]
fn begins_meanwhile<P: Pool>(spot: &Spot<'_, P>, is_spawned: bool) {
    let home = &spot.core.home;
    home.turns.note_find();
    // The find may run long, and the worker does not answer meanwhile.
    spot.share();
    if is_spawned {
        // The job begins here, because keeping it during these calls would enlarge the frame of `wait_until`.
        home.begin_detour();
        home.turn(true, Activity::Job);
    }
}

/// # Safety
/// As [`Find::unpack`].
#[inline(never)]
unsafe fn run_packed<P: Pool>(here: Here<'_, P>, task: Task, how: usize) {
    // SAFETY: by the caller's promise.
    Spot::at(here).run_meanwhile(unsafe { Find::unpack((task, how)) });
}

/// Runs a find in the middle of the worker's current task.
#[inline(never)]
pub(super) fn run_other<P: Pool>(here: Here<'_, P>, find: Find) {
    Spot::at(here).run_meanwhile(find);
}

/// Runs only `tasks`, and mail, until the latch is over.
#[inline(never)]
fn wait_confined<P: Pool>(here: Here<'_, P>, latch: &Pending<Native>, tasks: &SegQueue<Spawned>) {
    let spot = Spot::at(here);
    // The worker says that it wants only its own work, so no work wakes it.
    let own = spot.home().index as Wanted;
    search(&Confined { spot, tasks }, own, &|| latch.is_over());
}

/// Shares all forks, before the worker answers nobody for a while, in the middle of a task.
pub(crate) fn pause<P: Pool>(here: &Here<'_, P>) {
    let pausing = AbortOnUnwind("a worker panicked while it shared its forks");
    P::share_all(here);
    P::rest(here);
    mem::forget(pausing);
}

/// Runs `work` on a guest, a thread from outside that has taken the seat of an idle worker; then leaves the seat.
///
/// # Safety
/// The worker was idle, so its stack is empty.
pub(crate) unsafe fn visit<P: Pool>(here: Here<'_, P>, work: &mut dyn FnMut(Here<'_>)) {
    let visiting = AbortOnUnwind("a guest panicked outside of its call");
    let worker = Searching::idle(Spot::at(here));
    let spot = &worker.spot;
    // The worker's own thread went to sleep idle.
    let came = spot.home().get_busy();
    spot.home().came.set(came.unwrap_or(0));
    spot.home().on_another_stack(|| {
        let _entered = spot.here.enter();
        // SAFETY: the stack is empty.
        P::begin(&unsafe { IdleHere::new(&spot.here) });
        spot.home().count_begun();
        if let Some(spares) = &spot.home().common.spares {
            spares.look_for_more();
        }
        spot.home().doing(Activity::Call, || work(spot.below()));
        spot.home().count_ended();
    });
    let left = spot.home().fall_idle();
    if let (Some(guests), Some(left)) = (&spot.home().common.guests, left) {
        guests.note_call(left.saturating_sub(spot.home().came.get()), spot.home().common.packs());
    }
    spot.home().look_elsewhere();
    leave(&worker, &|| spot.home().common.is_closing());
    mem::forget(visiting);
}

/// A worker that takes work of any kind: an idle one, with an empty stack, or a waiting one.
struct Searching<'w, P: Pool> {
    spot: Spot<'w, P>,
    /// How many times the worker has napped, on a low stack, while there was work.
    naps: Cell<u32>,
    /// Jobs that a waiting worker has spawned above this mark may be part of the awaited scope; `None` if the worker is
    /// idle.
    mark: Option<&'w Cell<usize>>,
}

impl<'w, P: Pool> Searching<'w, P> {
    fn idle(spot: Spot<'w, P>) -> Self {
        Self { spot, naps: Cell::new(0), mark: None }
    }

    /// Returns what a worker that leaves has itself, or gets since its last look has asked for it. After `None`, nobody
    /// gives it anything.
    fn find_left(&self) -> Option<Find> {
        // SAFETY: the worker's stack is empty.
        P::begin(&unsafe { IdleHere::new(&self.spot.here) });
        self.spot.find_own().or_else(|| self.spot.find_kept())
    }

    /// Searches as an idle worker; a worker that begins asleep has just been woken.
    fn search(&self, begins: Begins, done: &dyn Fn() -> bool) {
        match begins {
            Begins::Awake => search(self, ANY, done),
            Begins::Asleep => search_woken(self, done),
        }
    }
}

impl<P: Pool> Standing for Searching<'_, P> {
    type Pool = P;

    fn core(&self) -> &Core<P> {
        self.spot.core
    }

    fn leaves_seat(&self) -> bool {
        self.mark.is_none() && self.spot.core.home.is_for_callers()
    }

    fn at(&self, what: fn(&Here<'_, P>)) {
        what(&self.spot.here);
    }
}

impl<'w, P: Pool> Searcher for Searching<'w, P> {
    type Find = Find;
    type Backoff = Watchful<'w>;

    fn backoff(&self) -> Watchful<'w> {
        Watchful::new(&self.spot.core.home, self.mark.is_none())
    }

    fn find(&self) -> Option<Find> {
        let spot = &self.spot;
        let Some(mark) = self.mark else {
            return spot.find_near().or_else(|| spot.find_kept()).or_else(|| spot.find_far_idle());
        };
        let home = spot.home();
        if !home.is_stack_low() {
            return spot.find_within().or_else(|| spot.find_far());
        }
        let own = home.pop_spawned_since(mark);
        // Nobody else may run mail, and perhaps nobody else can run jobs from outside.
        let find = own.or_else(|| home.next_mail()).or_else(|| home.common.next_injected(Lane::Now)).map(Find::Spawned);
        find.or_else(|| spot.find_reluctantly(&self.naps))
    }

    fn leaves_more(&self, find: &Find) -> bool {
        // A victim of one theft probably has more tasks, which are private until somebody asks.
        // This worker may have jobs of its own for which nobody was woken, since it was searching.
        matches!(find, Find::Stolen { .. }) || self.spot.sees_any() || self.spot.home().has_own_spawned()
    }

    fn leaves_many(&self, find: &Find) -> bool {
        match find {
            Find::Stolen { victim, .. } => P::has_work(&self.spot.here, &self.spot.core.peers()[*victim]),
            _ => false,
        }
    }

    /// For an idle worker: runs the find, and then the work that it finds [near](Spot::find_near).
    fn run(&self, mut find: Find) {
        loop {
            self.spot.core.home.turns.note_find();
            self.spot.core.home.common.look();
            self.spot.home().lower(Height::GROUND);
            // SAFETY: an idle worker's stack is empty.
            P::begin(&unsafe { IdleHere::new(&self.spot.here) });
            self.spot.run(find);
            // The next of a chain of spawned jobs needs no search.
            let Some(next) = self.spot.find_near() else { return };
            find = next;
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
        // The worker would have found its own work, unless it left the work to others, or a leaving guest spawned it.
        let own = || {
            if self.mark.is_none() {
                self.spot.home().has_own_spawned()
            } else {
                self.spot.home().is_stack_low() && self.spot.has_own()
            }
        };
        self.spot.sees_any() || own()
    }
}

/// A worker that waits for a scope and runs only the scope's tasks and its own mail.
struct Confined<'w, 't, P: Pool> {
    spot: Spot<'w, P>,
    tasks: &'t SegQueue<Spawned>,
}

impl<P: Pool> Standing for Confined<'_, '_, P> {
    type Pool = P;

    fn core(&self) -> &Core<P> {
        self.spot.core
    }

    fn at(&self, what: fn(&Here<'_, P>)) {
        what(&self.spot.here);
    }
}

impl<'w, P: Pool> Searcher for Confined<'w, '_, P> {
    /// A job, and whether it is one of the scope's tasks.
    type Find = (Spawned, bool);
    type Backoff = Timed<'w>;

    fn backoff(&self) -> Timed<'w> {
        Timed::new(&self.spot.core.home)
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
        // A task of the scope is a part of the task that the worker may have stolen.
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

/// Runs one job within reach, if there is one, in the middle of the worker's current task; returns whether there was
/// one.
pub(crate) fn run_one<P: Pool>(mut here: Here<'_, P>, reach: Reach) -> bool {
    match find_one(here.again(), reach) {
        None => false,
        Some(Find::Spawned(job)) => {
            let home = &here.core().home;
            home.on_detour(|| home.doing(Activity::Job, || P::in_job(job.address(), || here.again().run(job))));
            true
        }
        Some(find) => {
            run_other(here, find);
            true
        }
    }
}

#[inline(never)]
fn find_one<P: Pool>(here: Here<'_, P>, reach: Reach) -> Option<Find> {
    let spot = Spot::at(here);
    match reach {
        Reach::Mail => spot.home().next_mail().map(Find::Spawned),
        Reach::Own => spot.find_within(),
        Reach::All => spot.find_within().or_else(|| spot.find_far()),
    }
}
