//! Waiting for a task that somebody stole: what may be run meanwhile, and when to sleep.
//!
//! **Leapfrogging** (Wagner and Calder 1993; Lace, figure 1): steal only from the thief of the awaited task. Whatever it
//! has to give descends from that task: nothing of its own was left when it stole, so it has forked in that task what
//! is there now. So a waiting worker runs nothing but parts of what it waits for: no lock held across a join can
//! deadlock with unrelated work, and no stack gets deeper than in the sequential run.
//!
//! **Transitive leapfrogging** (Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010): if the thief has
//! nothing, its own work may have been stolen further. The entries of its stack at or above the base that its theft
//! recorded descend from the awaited task; follow the stolen ones to their thieves. A task won from such a thief is
//! given back if the theft that led there has ended meanwhile, so the property of leapfrogging is kept.
//!
//! **Random**: steal from anybody, and run what was spawned. Keeps everybody busy, and gives up both properties; to bound the depth, a
//! worker whose thread stack is half used only leapfrogs.
//!
//! Waiting for a scope, or for a call into another pool, is different: whatever is found is run, since what is waited for may
//! need any of it. A worker on such a *detour* has tasks to give that do not descend from what it had stolen, so leapfroggers give
//! back what they won from it.
//!
//! What must always hold: a worker that waits for a job returns only when the job is settled, and what it pushed above
//! the job meanwhile is gone. Nothing unwinds out of a wait or a theft, since other threads use the memory below.

use std::fmt;
use std::ptr::NonNull;
use std::str::FromStr;

use filch_queue::Steal;

use crate::front::{Enter, Front};
use crate::job::{Job, Slot};
use crate::pool::Pool;
use crate::protocol::sleep::Wanted;
use crate::protocol::state::{JobState, Status, Theft};
use crate::unwind::AbortOnUnwind;
use crate::worker::{ALL, ALL_TOO, Core, PERHAPS};

/// What a worker may run while it waits for a stolen task. A setting of the builder, consulted only when there is nothing
/// else to do.
///
/// ```
/// use filch::{ThreadPool, Wait};
///
/// for wait in Wait::EVERY {
///     let pool = ThreadPool::builder().workers(2).wait(wait).build()?;
///     assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
///     assert_eq!(wait.name().parse(), Ok(wait));
/// }
/// assert!("patiently".parse::<Wait>().is_err());
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Tasks of the thief of the awaited task, and no others: only descendants of the awaited task are ever run, so a
    /// lock may be held across a join, and no stack gets deeper than in the sequential run.
    Leapfrog,
    /// As `Leapfrog`, and follows tasks that were stolen further. Same guarantees. Only for pools with a task stack:
    /// [`Split`](crate::pool::Split) and [`Wool`](crate::pool::Wool).
    Transitive,
    /// Leapfrogs first; if that fails a few times in a row, does as `Random` once. The default.
    ///
    /// On two processors all strategies take the same time within 2 % (UTS T3, 2 and 8 workers). On 48, Lace's authors found strict
    /// leapfrogging to stop scaling on the larger T3L, and random stealing to mend it.
    #[default]
    LeapfrogRandom,
    /// Steals from anybody, and runs what was spawned.
    Random,
}

impl Wait {
    /// All strategies.
    pub const EVERY: [Self; 4] = [Self::Leapfrog, Self::Transitive, Self::LeapfrogRandom, Self::Random];

    /// The name on command lines and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leapfrog => "leapfrog",
            Self::Transitive => "transitive",
            Self::LeapfrogRandom => "leapfrog-random",
            Self::Random => "random",
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no waiting strategy of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWait(String);

impl fmt::Display for UnknownWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Wait::EVERY.map(Wait::name).join(", ");
        write!(f, "no waiting strategy is called '{}'; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownWait {}

impl FromStr for Wait {
    type Err = UnknownWait;

    fn from_str(name: &str) -> Result<Self, UnknownWait> {
        Self::EVERY.into_iter().find(|wait| wait.name() == name).ok_or_else(|| UnknownWait(name.to_owned()))
    }
}

/// Patience: busy waiting first, then giving the processor away, then sleep.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Rounds of pauses, of doubling length.
    const SPINS: u32 = 7;
    /// Rounds of yields after them. With more workers than processors somebody useful runs meanwhile.
    const YIELDS: u32 = 6;

    /// Waits a little; `false` once it has been long enough to sleep.
    pub(crate) fn wait(&mut self) -> bool {
        if self.0 < Self::SPINS {
            for _ in 0..1 << self.0 {
                std::hint::spin_loop();
            }
        } else if self.0 < Self::SPINS + Self::YIELDS {
            std::thread::yield_now();
        } else {
            return false;
        }
        self.0 += 1;
        true
    }

    pub(crate) fn renew(&mut self) {
        self.0 = 0;
    }
}

/// Failures to leapfrog in a row before one attempt at anybody. Lace has 32; with 8, oversubscribed workers, whose thief may not be
/// running, look elsewhere sooner.
const LEAPS_BEFORE_RANDOM: u32 = 8;

/// Waits until `job`, stolen from this worker, is settled. `None`: it came back unrun. `Some`: whether it panicked.
///
/// # Safety
/// The current thread is the worker `core`; `front` and `head` are as for [`Job::call`]; `job` was forked by this worker, and
/// a thief has won it.
pub(crate) unsafe fn wait_job<P: Pool>(
    core: &Core<P>,
    front: &Front,
    head: *mut Slot,
    job: NonNull<Job>,
    help: bool,
) -> Option<bool> {
    let waiting = AbortOnUnwind("a worker panicked while it waited for a stolen task");
    // SAFETY: the job's memory is the caller's frame or slot, which stays while it waits.
    let state = &unsafe { job.as_ref() }.state;
    let mut patience = Patience::default();
    let mut failures = 0;
    let mut roused = false;
    let settled = loop {
        let theft = match state.status() {
            Status::Done => break Some(false),
            Status::Panicked => break Some(true),
            Status::Returned => break None,
            Status::Offered => {
                // A thief has put it back.
                if state.retract() {
                    break None;
                }
                continue;
            }
            Status::Fresh => {
                // The thief is between winning the job and saying so. It cannot be leapfrogged yet, nor slept for.
                if !patience.wait() {
                    std::thread::yield_now();
                }
                continue;
            }
            Status::Stolen(theft) => theft,
        };
        // SAFETY: the caller's promises.
        if help && unsafe { leap(core, front, head, state, theft, &mut failures) } {
            patience.renew();
            roused = false;
        } else if let Some(job) = core.home.next_mail() {
            // Nobody else can run it, and what this worker waits for may be waiting for it.
            // SAFETY: the caller's promises.
            core.home.on_detour(|| unsafe { job.run(front, head) });
            patience.renew();
        } else if !patience.wait() {
            roused |= sleep_on(core, state, theft, help);
            patience.renew();
        }
    };
    if roused {
        // This worker was woken for work and has found its own result instead: the work is for the next sleeper.
        wake_next(core);
    }
    std::mem::forget(waiting);
    settled
}

/// One attempt to run something while waiting for a job that `theft` describes.
///
/// # Safety
/// As [`wait_job`].
unsafe fn leap<P: Pool>(
    core: &Core<P>,
    front: &Front,
    head: *mut Slot,
    state: &JobState<filch_memory::Native>,
    theft: Theft,
    failures: &mut u32,
) -> bool {
    let peers = core.peers();
    let wait = if core.home.is_stack_low() { Wait::Leapfrog } else { core.home.common.wait };
    // SAFETY: the caller's promises, here and below.
    let steal_from = |victim: usize| unsafe { steal_and_run(core, front, head, victim, None) };
    let run_any = || {
        if steal_from(core.home.random_below(peers.len())) {
            return true;
        }
        // SAFETY: as above.
        let Some(job) = (unsafe { find_spawned(core) }) else { return false };
        // SAFETY: as above; the job is this worker's.
        core.home.on_detour(|| unsafe { job.run(front, head) });
        true
    };
    let found = match wait {
        // SAFETY: as above. The guard: the thief may be done with the job, and on to something unrelated, by now.
        Wait::Leapfrog => unsafe { steal_and_run(core, front, head, theft.thief, Some((state, theft))) },
        // SAFETY: as above.
        Wait::Transitive => unsafe { leap_transitively(core, front, head, state, theft) },
        Wait::LeapfrogRandom => {
            steal_from(theft.thief) || {
                *failures += 1;
                (*failures).is_multiple_of(LEAPS_BEFORE_RANDOM) && run_any()
            }
        }
        Wait::Random => run_any(),
    };
    if found {
        core.home.counters.leaps.bump();
        *failures = 0;
    }
    found
}

/// The job that led a transitive leapfrogger to a worker, and the theft of it that must still be going on.
struct Trail<'s> {
    state: &'s JobState<filch_memory::Native>,
    theft: Theft,
    /// The next entry of the thief's stack to look at.
    next: usize,
}

impl Trail<'_> {
    /// Whether the thief is still running that very job, and nothing unrelated inside it.
    fn is_warm<P: Pool>(&self, core: &Core<P>) -> bool {
        is_warm(core, self.state, self.theft)
    }
}

fn is_warm<P: Pool>(core: &Core<P>, state: &JobState<filch_memory::Native>, theft: Theft) -> bool {
    !core.peers()[theft.thief].home.is_on_detour() && state.status() == Status::Stolen(theft)
}

/// Searches, depth first, the workers that run descendants of the job in `state` for something to steal.
///
/// # Safety
/// As [`wait_job`].
unsafe fn leap_transitively<P: Pool>(
    core: &Core<P>,
    front: &Front,
    head: *mut Slot,
    state: &JobState<filch_memory::Native>,
    theft: Theft,
) -> bool {
    let peers = core.peers();
    let mut seen = vec![false; peers.len()];
    seen[core.home.index] = true;
    seen[theft.thief] = true;
    // SAFETY: the caller's promises, here and below.
    if unsafe { steal_and_run(core, front, head, theft.thief, Some((state, theft))) } {
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
        // After reading the entry: if the theft that led here is still going on, the entry was one of its descendants.
        if !trail.is_warm(core) {
            path.pop();
        } else if let Some(further) = further {
            seen[further.theft.thief] = true;
            // SAFETY: as above.
            if unsafe { steal_and_run(core, front, head, further.theft.thief, Some((further.state, further.theft))) } {
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

/// Tries to steal from `victim`, and runs the loot. With a guard: only if that theft is still going on once the loot has been
/// won; else it is given back to its owner.
///
/// # Safety
/// As [`wait_job`].
pub(crate) unsafe fn steal_and_run<P: Pool>(
    core: &Core<P>,
    front: &Front,
    head: *mut Slot,
    victim: usize,
    guard: Option<(&JobState<filch_memory::Native>, Theft)>,
) -> bool {
    let is_cold = || guard.is_some_and(|(via, theft)| !is_warm(core, via, theft));
    if is_cold() {
        return false;
    }
    // SAFETY: the caller's promises.
    let Some(job) = (unsafe { steal(core, victim) }) else { return false };
    // SAFETY: the queue made this thread the only one entitled to the job, whose owner waits for it to be settled.
    let state = &unsafe { job.as_ref() }.state;
    state.claim(core.home.index, P::height(core, front, head));
    // Acquiring the loot has acquired whatever its owner did before publishing it, the end of its former task included.
    if is_cold() {
        let owner_sleeps = state.give_back();
        wake_owner(core, victim, owner_sleeps);
        return false;
    }
    // SAFETY: as above, and the caller's promises about `front` and `head`.
    unsafe { run_stolen(core, front, head, victim, job) };
    true
}

/// Runs a job that has been claimed, and settles it.
///
/// # Safety
/// As [`wait_job`]; `job` was won from `victim` and claimed.
pub(crate) unsafe fn run_stolen<P: Pool>(
    core: &Core<P>,
    front: &Front,
    head: *mut Slot,
    victim: usize,
    job: NonNull<Job>,
) {
    // SAFETY: the caller's promises.
    let panicked = unsafe { Job::call(job, front, head) };
    // SAFETY: the job's memory stays until it is settled. Afterwards it is not touched.
    let owner_sleeps = unsafe { job.as_ref() }.state.finish(panicked);
    wake_owner(core, victim, owner_sleeps);
}

fn wake_owner<P: Pool>(core: &Core<P>, owner: usize, sleeps: bool) {
    let common = &core.home.common;
    if sleeps && common.places[owner].wake(&common.sleepers) {
        core.home.counters.wakeups.bump();
    }
}

/// One successful steal, as many lost races as it takes, or nothing.
///
/// # Safety
/// The current thread is the worker `core`.
pub(crate) unsafe fn steal<P: Pool>(core: &Core<P>, victim: usize) -> Option<NonNull<Job>> {
    if victim == core.home.index {
        return None;
    }
    let victim = &core.peers()[victim];
    let stealing = AbortOnUnwind("a worker panicked while it stole a task");
    let stolen = loop {
        core.home.counters.attempts.bump();
        // SAFETY: the caller's promise.
        match unsafe { P::steal(core, victim) } {
            Steal::Task(job) => break Some(job),
            Steal::Retry => std::hint::spin_loop(),
            Steal::Empty | Steal::Aborted | Steal::Pending => {
                core.home.common.want_tick();
                break None;
            }
        }
    };
    std::mem::forget(stealing);
    stolen
}

/// Sleeps until the job is settled or work that the strategy admits may be had. Returns whether it may have been the latter.
fn sleep_on<P: Pool>(core: &Core<P>, state: &JobState<filch_memory::Native>, theft: Theft, help: bool) -> bool {
    let home = &core.home;
    let place = home.place();
    let wait = if home.is_stack_low() { Wait::Leapfrog } else { home.common.wait };
    let wanted: Wanted = match wait {
        Wait::Leapfrog => theft.thief as Wanted,
        Wait::Transitive => PERHAPS,
        Wait::LeapfrogRandom | Wait::Random => ALL_TOO,
    };
    // A transitive leapfrogger's further victims change all the time: it has asked them on its last search, and does not
    // stay awake because somebody has work that may not be for it.
    let (victims, is_for_any) = match wait {
        _ if !help => (&[][..], false),
        Wait::Leapfrog | Wait::Transitive => (std::slice::from_ref(&core.peers()[theft.thief]), false),
        Wait::LeapfrogRandom | Wait::Random => (core.peers(), true),
    };
    place.announce(&home.common.sleepers, if help { wanted } else { home.index as Wanted });
    for victim in victims {
        P::ask(core, victim);
    }
    place.settled();
    home.common.want_tick();
    // SAFETY: this thread is the worker.
    let found = unsafe {
        if is_for_any {
            sees_any(core) || home.has_own_spawned()
        } else {
            victims.iter().any(|victim| P::has_work(core, victim))
        }
    };
    if found || home.has_mail() || !state.announce_sleep() {
        return place.cancel(&home.common.sleepers);
    }
    home.counters.parks.bump();
    place.sleep();
    true
}

/// Passes a wake-up on.
pub(crate) fn wake_next<P: Pool>(core: &Core<P>) {
    if core.home.common.sleepers.sleepers_after() {
        core.home.wake_one();
    }
}

/// Runs whatever there is, or sleeps, until `done`. Whoever makes it so must wake this worker's place afterwards.
///
/// # Safety
/// As [`wait_job`].
pub(crate) unsafe fn wait_until<P: Pool>(core: &Core<P>, front: &Front, head: *mut Slot, done: &dyn Fn() -> bool) {
    // SAFETY: the caller's promises.
    unsafe { run_until(core, false, done, |find| core.home.on_detour(|| find.run(core, front, head))) };
}

/// Makes the current thread the worker `core` until its pool closes. `start` and `exit` are called by the worker before and after, and
/// it runs what they spawn. `stack_size`: of the thread, or a lower bound; 0 if nobody knows.
///
/// # Safety
/// No other thread is that worker, and its task stack is empty.
pub(crate) unsafe fn work<P: Pool>(core: &Core<P>, stack_size: usize, start: impl FnOnce(), exit: impl FnOnce()) {
    core.home.measure_stack(stack_size);
    let _enter = Enter::new(P::front(core), core.pool.bottom());
    start();
    // SAFETY: the caller's promises, here and below.
    unsafe { live(core) };
    exit();
    // SAFETY: as above.
    unsafe { live(core) };
}

/// A worker's life: runs whatever there is until its pool closes, and what is left then.
///
/// # Safety
/// The current thread is the worker `core`, and its task stack is empty.
unsafe fn live<P: Pool>(core: &Core<P>) {
    let (front, head) = (P::front(core), core.pool.bottom());
    // SAFETY: the caller's promises, here and below.
    let run = |find: Find| unsafe { find.run(core, front, head) };
    // SAFETY: as above.
    unsafe {
        run_until(core, true, &|| core.home.common.is_closing(), run);
        while let Some(find) = find_any(core) {
            run(find);
        }
    }
}

/// Runs whatever there is, by `run`, or sleeps, until `done`. An idle worker has nothing on its own task stack, so its search finds
/// whatever there is to find in the pool.
///
/// # Safety
/// The current thread is the worker `core`.
unsafe fn run_until<P: Pool>(core: &Core<P>, is_idle: bool, done: &dyn Fn() -> bool, run: impl Fn(Find)) {
    let home = &core.home;
    let sleepers = &home.common.sleepers;
    let wanted = if is_idle { ALL } else { ALL_TOO };
    let mut patience = Patience::default();
    // Whether somebody may rely on this worker to pass a wake-up on. An idle worker is then counted among those that search.
    let mut relied_on = false;
    let ends = |relied_on: &mut bool| {
        if *relied_on && is_idle {
            sleepers.end_search();
        }
        std::mem::take(relied_on)
    };
    while !done() {
        // SAFETY: the caller's promises.
        if let Some(find) = unsafe { find_any(core) } {
            // Whoever has published work meanwhile has woken nobody else. Where a task was there are likely more, which do not show
            // before somebody asks.
            // SAFETY: as above.
            let is_more = || matches!(find, Find::Stolen { .. }) || unsafe { sees_any(core) };
            if ends(&mut relied_on) && sleepers.sleepers_after() && is_more() {
                home.wake_one();
            }
            patience.renew();
            run(find);
        } else if patience.wait() {
            if is_idle && !relied_on {
                relied_on = true;
                sleepers.start_search();
            }
        } else {
            // SAFETY: as above.
            unsafe { P::share_all(core) };
            if is_idle {
                ends(&mut relied_on);
            }
            let place = home.place();
            place.announce(sleepers, wanted);
            for victim in core.peers() {
                P::ask(core, victim);
            }
            place.settled();
            home.common.want_tick();
            // SAFETY: this thread is the worker.
            if done() || unsafe { sees_any(core) } {
                // What it saw may have been left to it.
                relied_on |= place.cancel(sleepers) || is_idle;
            } else {
                home.counters.parks.bump();
                place.sleep();
                relied_on = true;
            }
            patience.renew();
        }
    }
    if ends(&mut relied_on) {
        wake_next(core);
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
///
/// # Safety
/// As [`wait_job`]; `front` is a current one, and `head` is exact if it is a stack front.
pub(crate) unsafe fn run_one<P: Pool>(core: &Core<P>, front: &Front, head: *mut Slot, reach: Reach) -> bool {
    let home = &core.home;
    // SAFETY: the caller's promises, here and below.
    if let Some(find) = unsafe { find_own(core) } {
        // SAFETY: as above; the find is this worker's, here and below.
        home.on_detour(|| unsafe { find.run(core, front, head) });
        return true;
    }
    // SAFETY: as above.
    if let Some(job) = unsafe { P::steal_own(core, front, head) } {
        // SAFETY: as above. The job was won as if by a thief, so its join will look at its state.
        home.on_detour(|| unsafe {
            job.as_ref().state.claim(home.index, P::height(core, front, head));
            run_stolen(core, front, head, home.index, job);
        });
        return true;
    }
    // SAFETY: as above.
    let Some(find) = (if reach == Reach::All { unsafe { find_any(core) } } else { None }) else { return false };
    // SAFETY: as above.
    home.on_detour(|| unsafe { find.run(core, front, head) });
    true
}

/// Something to run.
pub(crate) enum Find {
    /// A task won from a worker's pool.
    Stolen { victim: usize, job: NonNull<Job> },
    /// A job that nobody waits for at a join.
    Spawned(crate::spawn::Spawned),
}

impl Find {
    /// # Safety
    /// As [`wait_job`]; the find is this worker's.
    pub(crate) unsafe fn run<P: Pool>(self, core: &Core<P>, front: &Front, head: *mut Slot) {
        match self {
            Self::Stolen { victim, job } => {
                core.home.counters.steals.bump();
                // SAFETY: the job is this worker's to claim and run.
                unsafe {
                    job.as_ref().state.claim(core.home.index, P::height(core, front, head));
                    run_stolen(core, front, head, victim, job);
                }
            }
            // SAFETY: the caller's promises.
            Self::Spawned(job) => unsafe { job.run(front, head) },
        }
    }
}

/// What the worker has spawned itself, then what is for it alone.
///
/// # Safety
/// The current thread is the worker `core`.
unsafe fn find_own<P: Pool>(core: &Core<P>) -> Option<Find> {
    // SAFETY: the caller's promise.
    let spawned = unsafe { core.home.pop_spawned() };
    spawned.or_else(|| core.home.next_mail()).map(Find::Spawned)
}

/// Looks everywhere for something to run: own spawned jobs and mail, the others from a random one on, the outside.
///
/// # Safety
/// The current thread is the worker `core`.
pub(crate) unsafe fn find_any<P: Pool>(core: &Core<P>) -> Option<Find> {
    let home = &core.home;
    let workers = core.peers().len();
    // SAFETY: the caller's promise, here and below.
    if let Some(find) = unsafe { find_own(core) } {
        return Some(find);
    }
    if home.is_stack_low() {
        // Scopes nested this deep make do with their own jobs, and those that have nobody else.
        return home.common.injected.pop().map(Find::Spawned);
    }
    let start = home.random_below(workers);
    for victim in (start..workers).chain(0..start) {
        // SAFETY: as above.
        if let Some(job) = unsafe { steal(core, victim) } {
            return Some(Find::Stolen { victim, job });
        }
        // SAFETY: as above.
        if let Some(job) = unsafe { home.steal_spawned(victim) } {
            return Some(Find::Spawned(job));
        }
    }
    home.common.injected.pop().map(Find::Spawned)
}

/// Looks everywhere for a job that nobody waits for at a join. Where there is none that costs a few loads, since whoever waits at a join
/// comes here often.
///
/// # Safety
/// The current thread is the worker `core`.
unsafe fn find_spawned<P: Pool>(core: &Core<P>) -> Option<crate::spawn::Spawned> {
    let home = &core.home;
    let injected = &home.common.injected;
    let workers = core.peers().len();
    let start = home.random_below(workers);
    // SAFETY: the caller's promise.
    unsafe {
        let steal = |victim| if home.has_spawned(victim) { home.steal_spawned(victim) } else { None };
        let own = if home.has_own_spawned() { home.pop_spawned() } else { None };
        own.or_else(|| (start..workers).chain(0..start).find_map(steal))
            .or_else(|| if injected.is_empty() { None } else { injected.pop() })
    }
}

/// Whether [`find_any`] might find something.
///
/// # Safety
/// The current thread is the worker `core`.
pub(crate) unsafe fn sees_any<P: Pool>(core: &Core<P>) -> bool {
    let others = core.peers().iter().filter(|victim| victim.home.index != core.home.index);
    // SAFETY: the caller's promise.
    core.home.has_mail()
        || !core.home.common.injected.is_empty()
        || others
            .into_iter()
            .any(|victim| unsafe { P::has_work(core, victim) || core.home.has_spawned(victim.home.index) })
}
