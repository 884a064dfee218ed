//! What a worker does while it waits: it looks for something to run, yields, asks for work, and sleeps.
//!
//! **Idea.** There are two wait loops. [`search`] runs work of any kind until a condition holds, for an idle worker or
//! the wait for a scope. [`await_job`] waits for one stolen job. Traits give the worker its view of the pool: in the
//! library they are implemented by a worker at the head of its stack, in the checker by a small model of one, so that
//! the checker runs the shipped loops.
//!
//! **Invariants.**
//! * I0: a worker does not sleep while it can [share](super::seize) for an owner that does not answer.
//! * I1: before it sleeps, a worker announces its sleep, asks for work, and looks once more, as [`sleep`](super::sleep)
//!   requires. Its last look covers everything that could wake it: work that it takes, its mail, and the end of what it
//!   waits for.
//! * I2: an idle worker counts as searching from when it is woken, or runs out of work, until it finds something,
//!   announces its sleep, or gives its processor away, perhaps for long. A worker that finds something during a search,
//!   or after it has given its processor away, wakes the next sleeper, or two if it leaves work for two.
//! * I3: a worker that was woken for work but finds its wait over, or only mail, passes the wake-up on.
//!
//! A worker that never [sleeps](Sleeper::sleeps) shares everything it has whenever its patience ends, and starts over.
//! It needs no announcement and no last look, since nobody has to wake it: its next look sees what the previous one
//! missed.
//!
//! **Progress.** [`search`] returns once the condition holds, the worker has been [notified](Dormitory::notify), and
//! the task it runs has ended; [`await_job`] returns once the thief has settled the job.

use super::sleep::{ANY, Dormitory, Wanted};
use super::state::{JobState, Settled, Status, Theft};
use filch_memory::{Asymmetric, Sleep};

/// How long a worker that finds nothing stays awake.
pub trait Backoff {
    /// Waits a little. Returns `false` once it is time to sleep.
    fn wait(&mut self) -> bool;

    /// Whether the next wait may give the processor to another thread for long.
    fn may_be_long(&self) -> bool {
        false
    }

    /// Waits a little, however long it has waited already: for an event that no wake-up follows.
    fn hold_on(&mut self);

    /// Starts over.
    fn renew(&mut self);
}

/// A worker that may have to sleep.
pub trait Sleeper {
    /// The memory that workers share.
    type Memory: Sleep;

    /// Returns the dormitory of the worker's pool.
    fn dormitory(&self) -> &Dormitory<Self::Memory>;

    /// Returns the worker's number.
    fn index(&self) -> usize;

    /// Whether the worker ever sleeps.
    fn sleeps(&self) -> bool {
        true
    }

    /// Called after the worker has announced its sleep and asked for work: makes both visible, so that its next look
    /// sees everything done before. Where owners [do not fence](has_pushed) before they look for sleepers, this fences
    /// for them.
    fn settle(&self) {
        self.dormitory().place(self.index()).settle();
    }

    /// Called once its requests are visible, to notify owners that answer only at certain times.
    fn note_request(&self) {}

    /// Called before the worker stops answering thieves, so that none waits for it.
    fn rest(&self) {}

    /// Called before the worker sleeps.
    fn park(&self) {}

    /// Called after the worker has slept.
    fn note_sleep(&self) {}

    /// Called after another thread has woken the worker, even if it did not sleep yet.
    fn note_woken(&self) {}

    /// Called after the worker has woken another.
    fn note_wake_up(&self) {}
}

/// A worker that takes work of any kind.
pub trait Searcher: Sleeper {
    /// The work that it can find.
    type Find;
    /// How long the worker stays awake.
    type Backoff: Backoff;

    /// Returns a fresh back-off.
    fn backoff(&self) -> Self::Backoff;

    /// Looks for something to run, everywhere.
    fn find(&self) -> Option<Self::Find>;

    /// Whether there is probably more work, here or elsewhere, for the next woken worker.
    fn leaves_more(&self, find: &Self::Find) -> bool;

    /// Whether there is more work than one woken worker can take.
    fn leaves_many(&self, _: &Self::Find) -> bool {
        false
    }

    /// Runs a find.
    fn run(&self, find: Self::Find);

    /// Shares everything the worker has, because it is about to sleep and will not answer.
    fn share(&self);

    /// Asks all workers for work.
    fn ask(&self);

    /// Shares [on behalf](super::seize) of owners that do not answer the worker's request; returns whether it shared
    /// anything, or soon can.
    fn insist(&self) -> bool {
        false
    }

    /// Whether [`Searcher::find`] might find something. A snapshot.
    fn sees_any(&self) -> bool;
}

/// A worker that waits for a stolen job.
pub trait Joiner: Sleeper {
    /// The work that it can find.
    type Find;
    /// How long the worker stays awake.
    type Backoff: Backoff;

    /// Returns a fresh back-off.
    fn backoff(&self) -> Self::Backoff;

    /// Looks once for something that the waiting strategy admits.
    fn leap(&self, state: &JobState<Self::Memory>, theft: Theft) -> Option<Self::Find>;

    /// Looks for a job posted to this worker, because the awaited job may be waiting for it.
    fn mail(&self) -> Option<Self::Find>;

    /// Whose work can help with this theft.
    fn wanted(&self, theft: Theft) -> Wanted;

    /// Asks the workers whose work can help.
    fn ask(&self, theft: Theft);

    /// Shares [on behalf](super::seize) of those workers that do not answer the request; returns whether it shared
    /// anything, or soon can.
    fn insist(&self, _: Theft) -> bool {
        false
    }

    /// Whether [`Joiner::leap`] or [`Joiner::mail`] might find something. A snapshot.
    fn sees_any(&self, theft: Theft) -> bool;
}

/// Wakes a sleeper if anybody sleeps: for this worker's new work, or to pass a wake-up on.
#[inline(never)]
pub fn wake_next(worker: &impl Sleeper) {
    if worker.dormitory().sleepers().sleepers_after() {
        wake_one(worker);
    }
}

/// Wakes a sleeper for work that this worker may have shared; returns whether it did. Precondition: as for
/// [`Dormitory::wake_for_any`].
pub fn wake_one(worker: &impl Sleeper) -> bool {
    let has_woken = worker.dormitory().wake_for_stack(worker.index());
    if has_woken {
        worker.note_wake_up();
    }
    has_woken
}

/// Wakes an idle sleeper for work that this worker may have shared, even if a worker searches; returns whether it did.
/// Precondition: as for [`Dormitory::wake_for_any`].
pub fn wake_another(worker: &impl Sleeper) -> bool {
    let has_woken = worker.dormitory().wake_idle(worker.index());
    if has_woken {
        worker.note_wake_up();
    }
    has_woken
}

/// Wakes a sleeper after a push to a queue that anybody can steal from. If sleepers [settle](Sleeper::settle) with a
/// heavy barrier, it fences only if somebody sleeps: either the heavy barrier comes after this light one, and the
/// sleeper's last look sees the push; or it comes before, and this look sees the sleeper.
///
/// Otherwise it fences if the queue `was_empty`, though a thief may have emptied it since that look; so a worker about
/// to sleep must let some time pass before its last look.
#[inline(always)]
pub fn has_pushed<M: Asymmetric + Sleep>(worker: &impl Sleeper<Memory = M>, was_empty: bool) {
    M::light_barrier();
    if was_empty || worker.dormitory().sleepers().any() {
        wake_next(worker);
    }
}

/// Runs any work there is, or sleeps, until `done`. The thread that makes `done` true must [notify](Dormitory::notify)
/// this worker afterwards. `wanted` is the work that the worker announces it wants while it sleeps: [`ANY`] if it is
/// idle.
pub fn search<S: Searcher>(worker: &S, wanted: Wanted, done: &dyn Fn() -> bool) {
    search_as(worker, wanted, false, done);
}

/// As [`search`], for an idle worker that has just been woken.
pub fn search_woken<S: Searcher>(worker: &S, done: &dyn Fn() -> bool) {
    search_as(worker, ANY, true, done);
}

/// `relied_on`: whether others may rely on this worker to pass a wake-up on.
fn search_as<S: Searcher>(worker: &S, wanted: Wanted, mut relied_on: bool, done: &dyn Fn() -> bool) {
    let mut backoff = worker.backoff();
    while let Some(find) = next_find(worker, wanted, std::mem::take(&mut relied_on), &mut backoff, done) {
        worker.run(find);
    }
}

/// A part of [`search`]: returns the work that the worker would run next, or `None` if it is `done`. If the caller runs
/// that work, and waits again within it, the stack holds the caller's frames, but not those of the search.
#[inline(never)]
pub fn search_one<S: Searcher>(worker: &S, wanted: Wanted, done: &dyn Fn() -> bool) -> Option<S::Find> {
    next_find(worker, wanted, false, &mut worker.backoff(), done)
}

fn next_find<S: Searcher>(
    worker: &S,
    wanted: Wanted,
    mut relied_on: bool,
    backoff: &mut S::Backoff,
    done: &dyn Fn() -> bool,
) -> Option<S::Find> {
    let sleepers = worker.dormitory().sleepers();
    let is_idle = wanted == ANY;
    // Whether others may have relied on the worker before it gave way (I2), and whether it looks again before it gives
    // way.
    let (mut gave_way, mut looks_again) = (false, false);
    let ends = |relied_on: &mut bool| {
        if *relied_on && is_idle {
            sleepers.end_search();
        }
        std::mem::take(relied_on)
    };
    while !done() {
        if let Some(find) = worker.find() {
            // Workers that published work during the search have woken nobody else.
            let passes_on = ends(&mut relied_on) | gave_way;
            if passes_on && sleepers.sleepers_after() && worker.leaves_more(&find) {
                // Waking two at a time soon wakes many workers.
                if wake_one(worker) && worker.leaves_many(&find) {
                    wake_another(worker);
                }
            }
            backoff.renew();
            return Some(find);
        }
        // Nobody shall rely on a worker that may have to wait for its processor: others may be free. Nor should work
        // that was left to it before wait.
        let gives_way = is_idle && backoff.may_be_long();
        if gives_way && !std::mem::take(&mut looks_again) && ends(&mut relied_on) {
            gave_way = true;
            if sleepers.sleepers_after() && worker.sees_any() {
                // Perhaps it cannot take the work that it sees; then it gives way all the same.
                (relied_on, looks_again) = (true, true);
                sleepers.start_search();
                continue;
            }
        }
        if backoff.wait() {
            if is_idle && !relied_on && !gives_way {
                relied_on = true;
                sleepers.start_search();
            }
        } else if worker.insist() {
            backoff.renew();
        } else if !worker.sleeps() {
            worker.share();
            backoff.renew();
        } else {
            worker.share();
            if is_idle {
                ends(&mut relied_on);
            }
            let place = worker.dormitory().place(worker.index());
            if lies_down(worker, wanted, done) {
                // Others may have left the work that it saw to this worker.
                relied_on |= cancel(worker) || is_idle;
            } else {
                gave_way = false;
                worker.rest();
                worker.park();
                if is_idle {
                    place.rest();
                } else {
                    place.sleep();
                }
                worker.note_sleep();
                worker.note_woken();
                relied_on = true;
            }
            backoff.renew();
        }
    }
    if ends(&mut relied_on) | gave_way {
        wake_next(worker);
    }
    None
}

/// Makes a guest leave the seat that it has [taken](super::sleep::Place::take) from an idle worker. Nothing is left on
/// the worker's stack. The worker's own thread stays asleep unless it has something to do, or is `done`.
pub fn leave<S: Searcher>(worker: &S, done: &dyn Fn() -> bool) {
    let place = worker.dormitory().place(worker.index());
    let stays = lies_down(worker, ANY, done);
    if stays {
        // The worker's own thread searches as if it had been woken (I2).
        place.cancel(worker.dormitory().sleepers());
    }
    if !stays {
        worker.rest();
    }
    if stays || !place.vacate() {
        worker.dormitory().hand_over(worker.index());
    }
}

/// Puts a worker to sleep whose own thread has not been started; that thread [rests](super::sleep::Place::rest) first.
/// No last look is needed: nothing has happened in the pool, and no other thread knows the worker yet.
pub fn begin_asleep<S: Searcher>(worker: &S) {
    let place = worker.dormitory().place(worker.index());
    place.lend();
    place.announce(worker.dormitory().sleepers(), ANY);
    worker.ask();
    worker.rest();
    let is_vacant = place.vacate();
    debug_assert!(is_vacant, "nobody wakes a worker that nobody knows");
}

/// Announces a worker's sleep, asks all workers, and looks once more. Returns whether there is something to stay awake
/// for; the caller must then cancel the announcement.
fn lies_down<S: Searcher>(worker: &S, wanted: Wanted, done: &dyn Fn() -> bool) -> bool {
    worker.dormitory().place(worker.index()).announce(worker.dormitory().sleepers(), wanted);
    worker.ask();
    worker.settle();
    worker.note_request();
    done() || worker.sees_any()
}

/// Waits until the job of `state`, stolen from this worker, is settled or comes back unrun, or there is something to
/// run meanwhile. The caller runs that, as after [`search_one`], and waits again.
///
/// # Errors
/// The work to run meanwhile.
#[inline(never)]
pub fn await_job<J: Joiner>(worker: &J, state: &JobState<J::Memory>) -> Result<Settled, J::Find> {
    let mut backoff = worker.backoff();
    // Whether the worker was woken, perhaps for work, and has run nothing since (I3).
    let mut roused = false;
    let outcome = loop {
        let theft = match state.status() {
            Status::Done => break Ok(Settled::Done),
            Status::Panicked => break Ok(Settled::Panicked),
            Status::Returned => break Ok(Settled::Unrun),
            Status::Offered => {
                // A thief has put it back.
                if state.retract() {
                    break Ok(Settled::Unrun);
                }
                continue;
            }
            Status::Fresh => {
                // The thief has won the job but not claimed it, so the worker can neither leapfrog nor sleep yet.
                backoff.hold_on();
                continue;
            }
            Status::Stolen(theft) => theft,
        };
        // Mail comes first, since all other workers may be waiting for this worker's part of it.
        if let Some(mail) = worker.mail() {
            break Err(mail);
        }
        if let Some(find) = worker.leap(state, theft) {
            return Err(find);
        }
        if !backoff.wait() {
            roused |= !worker.insist(theft) && worker.sleeps() && sleep_on(worker, state, theft);
            backoff.renew();
        }
    };
    // Mail is no work of the kind for which the worker may have been woken.
    if roused {
        wake_next(worker);
    }
    outcome
}

/// Sleeps until the job is settled, or there may be work that the strategy admits. Returns whether the wake-up may have
/// been for work.
fn sleep_on<J: Joiner>(worker: &J, state: &JobState<J::Memory>, theft: Theft) -> bool {
    let sleepers = worker.dormitory().sleepers();
    let place = worker.dormitory().place(worker.index());
    place.announce(sleepers, worker.wanted(theft));
    worker.ask(theft);
    worker.settle();
    worker.note_request();
    if worker.sees_any(theft) || !state.announce_sleep() {
        return cancel(worker);
    }
    worker.rest();
    worker.park();
    place.sleep();
    worker.note_sleep();
    worker.note_woken();
    true
}

/// Cancels the worker's announcement. Returns whether a wake-up had been sent.
fn cancel(worker: &impl Sleeper) -> bool {
    let is_woken = worker.dormitory().place(worker.index()).cancel(worker.dormitory().sleepers());
    if is_woken {
        worker.note_woken();
    }
    is_woken
}
