//! What a worker does that cannot go on: it looks for something to run, gives others time, asks, and sleeps.
//!
//! **Idea.** There are two such loops. [`search`] is for work of any kind, until a condition holds: an idle worker's life, or the wait
//! for a scope. [`await_job`] is for one stolen job. What the worker sees of its pool, and can do about it, comes in by traits: in
//! the library that is a worker at the head of its stack, in the checker a small model of one, so that the loops are checked as they ship.
//!
//! **Invariants.**
//! * I0: nobody sleeps while it can [share](super::seize) for somebody who does not answer.
//! * I1: before it sleeps, a worker announces it, asks, and looks once more, as [`sleep`](super::sleep) demands; and in its last look it
//!   sees whatever could wake it: work that it takes, its mail, and the end of what it waits for.
//! * I2: an idle worker is counted among those that search from when it was woken, or ran out of work, until it finds something or
//!   announces its sleep. Whoever was woken, or was seen to search, and ends that with something in hand, wakes the next, or two if it leaves that much.
//! * I3: whoever was woken for work and finds instead that its wait is over passes the wake-up on.
//!
//! A worker that never [sleeps](Sleeper::sleeps) shares what it has whenever its patience ends, and begins anew. Its announcements and last
//! looks are left out, since nobody has to wake it: its next look sees whatever its last one would have missed.
//!
//! **Progress.** [`search`] returns once the condition holds and the worker has been [notified](Dormitory::notify) of it, and what it
//! runs has ended; [`await_job`] once the job's thief has settled it.

use super::sleep::{ANY, Dormitory, Wanted};
use super::state::{JobState, Settled, Status, Theft};
use filch_memory::{Asymmetric, Sleep};

/// How long a worker stays awake that finds nothing.
pub trait Patience {
    /// Waits a little; `false` once it has been long enough to sleep.
    fn wait(&mut self) -> bool;

    /// Waits a little, however long it has been: what is to come cannot be slept for.
    fn hold_on(&mut self);

    /// Begins anew.
    fn renew(&mut self);
}

/// A worker that may have to sleep.
pub trait Sleeper {
    /// The memory that it shares with the others.
    type Memory: Sleep;

    /// Where the workers of its pool sleep.
    fn dormitory(&self) -> &Dormitory<Self::Memory>;

    /// Its number.
    fn index(&self) -> usize;

    /// Whether it ever sleeps.
    fn sleeps(&self) -> bool {
        true
    }

    /// It has announced its sleep and asked whom it wants work of: makes that visible, and then sees whatever was done before. Where
    /// owners [do not fence](has_pushed) before they look whether anybody sleeps, it does so for them.
    fn settles(&self) {
        self.dormitory().place(self.index()).settled();
    }

    /// Its requests are visible: who answers at certain times only is to be told.
    fn has_asked(&self) {}

    /// It is about to sleep.
    fn parks(&self) {}

    /// It has woken somebody.
    fn has_woken(&self) {}
}

/// A worker that takes work of any kind.
pub trait Searcher: Sleeper {
    /// Something to run.
    type Find;
    /// How long it stays awake.
    type Patience: Patience;

    /// Its patience, whole.
    fn patience(&self) -> Self::Patience;

    /// Looks everywhere.
    fn find(&self) -> Option<Self::Find>;

    /// Whether there is likely more where this came from, or elsewhere, for whoever is woken next.
    fn leaves_more(&self, find: &Self::Find) -> bool;

    /// Whether there is more than one that is woken can take.
    fn leaves_many(&self, _: &Self::Find) -> bool {
        false
    }

    /// Runs what it has found.
    fn run(&self, find: Self::Find);

    /// Makes whatever it has to give available to others: it is about to sleep, and will answer nobody.
    fn share(&self);

    /// Asks everybody for work.
    fn ask(&self);

    /// Shares [on behalf](super::seize) of those who have been asked and do not answer; whether it was anything.
    fn insist(&self) -> bool {
        false
    }

    /// Whether [`Searcher::find`] might find something. A snapshot.
    fn sees_any(&self) -> bool;
}

/// A worker one of whose jobs has been stolen.
pub trait Joiner: Sleeper {
    /// How long it stays awake.
    type Patience: Patience;

    /// Its patience, whole.
    fn patience(&self) -> Self::Patience;

    /// Tries once to run something else meanwhile that the waiting strategy admits; whether it did.
    fn leap(&self, state: &JobState<Self::Memory>, theft: Theft) -> bool;

    /// Runs a job that is for this worker alone, if there is one: what it waits for may itself be waiting for that.
    fn run_mail(&self) -> bool;

    /// Whose work can help.
    fn wanted(&self, theft: Theft) -> Wanted;

    /// Asks them for work.
    fn ask(&self, theft: Theft);

    /// Shares [on behalf](super::seize) of them, if they have been asked and do not answer; whether it was anything.
    fn insist(&self, _: Theft) -> bool {
        false
    }

    /// Whether [`Joiner::leap`] or [`Joiner::run_mail`] might find something. A snapshot.
    fn sees_any(&self, theft: Theft) -> bool;
}

/// Passes a wake-up on, or tells that there is work of this worker's.
#[inline(never)]
pub fn wake_next(worker: &impl Sleeper) {
    if worker.dormitory().sleepers().sleepers_after() {
        wake_one(worker);
    }
}

/// Wakes a sleeper for what this worker may have shared; returns whether it did. Precondition: as [`Dormitory::wake_for_any`].
pub fn wake_one(worker: &impl Sleeper) -> bool {
    let has_woken = worker.dormitory().wake_for_stack(worker.index());
    if has_woken {
        worker.has_woken();
    }
    has_woken
}

/// After a push to a queue that anybody can steal from: tells somebody who sleeps. It need not fence unless somebody does, if sleepers
/// [settle](Sleeper::settles) with a heavy barrier: either that comes after this light one, and their last look sees what was pushed; or
/// it comes before, and this look sees them.
///
/// Otherwise a queue that `was_empty` is enough of a reason to fence, though a thief may have emptied it since it was looked at; who goes
/// to sleep has to let a while pass before its last look.
#[inline(always)]
pub fn has_pushed<M: Asymmetric + Sleep>(worker: &impl Sleeper<Memory = M>, was_empty: bool) {
    M::light_barrier();
    if was_empty || worker.dormitory().sleepers().any() {
        wake_next(worker);
    }
}

/// Runs whatever there is, or sleeps, until `done`; whoever makes it so must [notify](Dormitory::notify) this worker afterwards. `wanted`
/// says what it tells others while it sleeps: [`ANY`] if it is idle.
pub fn search<S: Searcher>(worker: &S, wanted: Wanted, done: &dyn Fn() -> bool) {
    let sleepers = worker.dormitory().sleepers();
    let is_idle = wanted == ANY;
    let mut patience = worker.patience();
    // Whether somebody may rely on this worker to pass a wake-up on: I2.
    let mut relied_on = false;
    let ends = |relied_on: &mut bool| {
        if *relied_on && is_idle {
            sleepers.end_search();
        }
        std::mem::take(relied_on)
    };
    while !done() {
        if let Some(find) = worker.find() {
            // Whoever has published work meanwhile has woken nobody else.
            if ends(&mut relied_on) && sleepers.sleepers_after() && worker.leaves_more(&find) {
                // Two, so that many are awake soon.
                if wake_one(worker) && worker.leaves_many(&find) && worker.dormitory().wake_idle(worker.index()) {
                    worker.has_woken();
                }
            }
            patience.renew();
            worker.run(find);
        } else if patience.wait() {
            if is_idle && !relied_on {
                relied_on = true;
                sleepers.start_search();
            }
        } else if worker.insist() {
            patience.renew();
        } else if !worker.sleeps() {
            worker.share();
            patience.renew();
        } else {
            worker.share();
            if is_idle {
                ends(&mut relied_on);
            }
            let place = worker.dormitory().place(worker.index());
            if lies_down(worker, wanted, done) {
                // What it saw may have been left to it.
                relied_on |= place.cancel(sleepers) || is_idle;
            } else {
                worker.parks();
                if is_idle {
                    place.rest();
                } else {
                    place.sleep();
                }
                relied_on = true;
            }
            patience.renew();
        }
    }
    if ends(&mut relied_on) {
        wake_next(worker);
    }
}

/// A guest, which has [taken](super::sleep::Place::take) the seat of an idle worker, and on whose stack nothing is left, leaves: the
/// worker's own thread rests on, unless there is something to do for it, or it is `done`.
pub fn leave<S: Searcher>(worker: &S, done: &dyn Fn() -> bool) {
    let place = worker.dormitory().place(worker.index());
    let stays = lies_down(worker, ANY, done);
    if stays {
        // The own thread searches, as if it had been woken: I2.
        place.cancel(worker.dormitory().sleepers());
    }
    if stays || !place.vacate() {
        place.hand_over();
    }
}

/// Announces a worker's sleep, asks everybody, and has a last look: whether there is something to stay awake for, so that the announcement
/// is to be cancelled.
fn lies_down<S: Searcher>(worker: &S, wanted: Wanted, done: &dyn Fn() -> bool) -> bool {
    worker.dormitory().place(worker.index()).announce(worker.dormitory().sleepers(), wanted);
    worker.ask();
    worker.settles();
    worker.has_asked();
    done() || worker.sees_any()
}

/// Waits until the job of `state`, stolen from this worker, is settled, or has come back unrun.
pub fn await_job<J: Joiner>(worker: &J, state: &JobState<J::Memory>) -> Settled {
    let mut patience = worker.patience();
    // Whether it was woken, perhaps for work, and has run nothing since: I3.
    let mut roused = false;
    let settled = loop {
        let theft = match state.status() {
            Status::Done => break Settled::Done,
            Status::Panicked => break Settled::Panicked,
            Status::Returned => break Settled::Unrun,
            Status::Offered => {
                // A thief has put it back.
                if state.retract() {
                    break Settled::Unrun;
                }
                continue;
            }
            Status::Fresh => {
                // The thief is between winning the job and saying so. It cannot be leapfrogged yet, nor slept for.
                patience.hold_on();
                continue;
            }
            Status::Stolen(theft) => theft,
        };
        if worker.leap(state, theft) {
            patience.renew();
            roused = false;
        } else if worker.run_mail() {
            patience.renew();
        } else if !patience.wait() {
            roused |= !worker.insist(theft) && worker.sleeps() && sleep_on(worker, state, theft);
            patience.renew();
        }
    };
    if roused {
        wake_next(worker);
    }
    settled
}

/// Sleeps until the job is settled or work that the strategy admits may be had. Returns whether it may have been the latter.
fn sleep_on<J: Joiner>(worker: &J, state: &JobState<J::Memory>, theft: Theft) -> bool {
    let sleepers = worker.dormitory().sleepers();
    let place = worker.dormitory().place(worker.index());
    place.announce(sleepers, worker.wanted(theft));
    worker.ask(theft);
    worker.settles();
    worker.has_asked();
    if worker.sees_any(theft) || !state.announce_sleep() {
        return place.cancel(sleepers);
    }
    worker.parks();
    place.sleep();
    true
}
