//! A worker whose thread starts when it is first needed.
//!
//! A caller that works takes the last seat first. So while there is one caller, the last worker's thread would only sleep; and to start it,
//! and to end it, takes as long as to make the rest of a pool of two. So a new pool has its last worker asleep without a thread, which
//! whoever wakes the worker starts.
//!
//! It starts as if it had been there: on the processors of the first worker, and with the signals blocked that the thread which made the
//! pool had blocked. (It has the priority of the thread that wakes it, if the program gives its threads different ones.) If the system
//! refuses it, the pool has a worker less.
//!
//! Invariant: once somebody has given the worker's own thread its seat, the thread starts, or the worker is dead: nobody can wake it or
//! take its seat, and it does not count as searching.

use std::io;
use std::process::abort;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::interrupts::{Held, Mask};
use crate::processors::{self, Affinity};
use crate::registry::Common;
use crate::thread::Thread;
use crate::unwind::warn;
use crate::wait::Begins;

/// The last worker of a pool, if its thread starts when it is first needed.
pub(crate) struct Late {
    worker: usize,
    inherited: Arc<Inherited>,
    begin: Box<dyn Fn(Begins, Arc<Inherited>) -> io::Result<Thread> + Send + Sync>,
    state: Mutex<State>,
}

enum State {
    /// The worker sleeps, or a guest has its seat.
    Absent,
    /// It has, or had, its thread.
    There(Thread),
    /// The system has refused the thread.
    Dead,
    /// It has left without a thread.
    Left,
    /// It is a worker like the others, as far as the pool has threads.
    Over,
}

/// What a thread has from the one that starts it, from another one.
pub(crate) struct Inherited {
    /// The system's number of a thread like it; 0 if there is none yet.
    like: <Native as Memory>::AtomicU32,
    affinity: Option<Affinity>,
    signals: Mask,
}

impl Inherited {
    fn from_this_thread() -> Self {
        Self { like: Atomic::new(0), affinity: Affinity::of(0), signals: Mask::of_this_thread() }
    }

    /// Says that the current thread is like it, and has its processors, which the program may change.
    fn is_like_this(&self) {
        // Relaxed, here and below: a number.
        self.like.store(processors::this_thread().cast_unsigned(), Ordering::Relaxed);
    }

    /// Gives all this to the current thread, which has just started and blocks all signals.
    pub(crate) fn adopt(&self) {
        let like = self.like.load(Ordering::Relaxed).cast_signed();
        let affinity = if like == 0 { None } else { Affinity::of(like) };
        if let Some(affinity) = affinity.as_ref().or(self.affinity.as_ref()) {
            affinity.adopt();
        }
        self.signals.adopt();
    }
}

impl Late {
    /// `begin` starts the thread, which [adopts](Inherited::adopt) its second argument.
    pub(crate) fn new(
        worker: usize,
        begin: impl Fn(Begins, Arc<Inherited>) -> io::Result<Thread> + Send + Sync + 'static,
    ) -> Self {
        let inherited = Arc::new(Inherited::from_this_thread());
        Self { worker, inherited, begin: Box::new(begin), state: Mutex::new(State::Absent) }
    }

    /// Starts the thread, unless it has been started: the caller has given it its seat. If the pool `is_over`, the worker leaves instead.
    /// Returns whether there is a thread.
    ///
    /// # Errors
    /// The system's, if it refuses the thread. The worker is then dead.
    fn start(&self, is_over: impl FnOnce() -> bool) -> io::Result<bool> {
        let mut state = self.state();
        if let State::Absent = *state {
            if is_over() {
                *state = State::Left;
                return Ok(false);
            }
            *state = State::Dead;
            *state = State::There(self.begin(Begins::Asleep)?);
        }
        Ok(true)
    }

    /// Starts the thread of a dead worker.
    ///
    /// # Errors
    /// The system's, if it still refuses the thread. The worker stays dead.
    fn try_again(&self) -> io::Result<()> {
        let mut state = self.state();
        if let State::Dead = *state {
            // Nobody counts it as searching, or as a stand-in at work.
            *state = State::There(self.begin(Begins::Awake)?);
        }
        Ok(())
    }

    fn begin(&self, begins: Begins) -> io::Result<Thread> {
        // A new thread has the mask of the one that starts it.
        let _held = Held::all();
        (self.begin)(begins, Arc::clone(&self.inherited))
    }

    /// Whether the thread has ended, or there is none.
    fn is_finished(&self) -> bool {
        !matches!(&*self.state(), State::There(thread) if !thread.is_finished())
    }

    /// Whether the worker has left.
    fn has_left(&self) -> bool {
        match &*self.state() {
            State::There(thread) => thread.is_finished(),
            State::Left => true,
            State::Absent | State::Dead | State::Over => false,
        }
    }

    /// Ends what there is once the pool's other threads have left: joins the thread, or has `retire` take the seat from the worker without
    /// one. Returns `false` if somebody else has the seat for now.
    fn end(&self, retire: impl FnOnce() -> bool) -> bool {
        let mut state = self.state();
        if let State::Absent = *state
            && !retire()
        {
            return false;
        }
        let former = std::mem::replace(&mut *state, State::Over);
        drop(state);
        if let State::There(thread) = former {
            thread.join();
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Common {
    /// Says that the last worker, which sleeps, has no thread yet. Called before other threads know the pool.
    pub(crate) fn comes_late(self: &Arc<Self>, late: Late) {
        let late = Arc::new(late);
        let is_first = self.late.set(Arc::clone(&late)).is_ok();
        debug_assert!(is_first, "a pool is made once");
        let common = Arc::downgrade(self);
        self.dormitory.on_rouse(move |_, worker| {
            if worker != late.worker {
                return;
            }
            // Whoever wakes a worker keeps what it belongs to.
            let common = || common.upgrade().expect("a worker has its pool");
            match late.start(|| common().is_over()) {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => warn(format_args!("worker {worker} has no thread, and the others do its part ({error})")),
            }
            common().goes_without(worker);
        });
    }

    /// Says that the current thread is a worker's, with the processors that all have.
    pub(crate) fn has_begun(&self) {
        if let Some(late) = self.late.get() {
            late.inherited.is_like_this();
        }
    }

    /// Counts the late worker, which has been woken, as one that has ended its search and left.
    fn goes_without(&self, worker: usize) {
        self.stands_in_no_more(worker);
        let sleepers = self.dormitory.sleepers();
        sleepers.end_search();
        if sleepers.sleepers_after() {
            self.dormitory.wake_for_any(0);
        }
    }

    fn stands_in_no_more(&self, worker: usize) {
        if let Some(spares) = self.spares.as_ref().filter(|spares| spares.has(worker)) {
            spares.ends();
            spares.notify();
        }
    }

    /// Called after a job that only `worker` may run has been posted, and the worker notified.
    pub(crate) fn needs(&self, worker: usize) {
        if let Some(late) = self.late.get()
            && late.worker == worker
            && let Err(error) = late.try_again()
        {
            warn(format_args!("worker {worker} has a job and cannot have a thread ({error}); aborting"));
            abort();
        }
    }

    /// The number of threads that the pool has apart from those it was started with.
    pub(crate) fn threads_apart(&self) -> usize {
        self.late.get().map_or(0, |late| usize::from(!matches!(*late.state(), State::Over)))
    }

    /// Whether such a thread has ended, or does not exist.
    pub(crate) fn are_others_finished(&self) -> bool {
        self.late.get().is_none_or(|late| late.is_finished())
    }

    /// Returns the late worker if its thread has ended and missed a job that only it may run.
    pub(crate) fn late_misses_mail(&self) -> Option<usize> {
        let late = self.late.get()?;
        (late.has_left() && self.has_mail(late.worker)).then_some(late.worker)
    }

    /// Ends what [comes late](Self::comes_late), after the other threads have left: the last worker is then as one that has left. Returns
    /// `false` if that may come about soon: if a guest has its seat, or its thread runs and the caller does not want to `wait` for it.
    pub(crate) fn ends_late(&self, wait: bool) -> bool {
        let Some(late) = self.late.get() else { return true };
        let retire = || {
            let place = self.dormitory.place(late.worker);
            let is_taken = place.take(self.dormitory.sleepers());
            if is_taken {
                place.hand_over();
                self.stands_in_no_more(late.worker);
            }
            is_taken
        };
        (wait || late.is_finished()) && late.end(retire)
    }

    /// Wakes all workers that have a thread, or a guest.
    pub(crate) fn notify_all(&self) {
        let absent = self.late.get().filter(|late| matches!(*late.state(), State::Absent)).map(|late| late.worker);
        self.dormitory.notify_all_but(absent);
    }
}
