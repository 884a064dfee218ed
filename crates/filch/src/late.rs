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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::interrupts::{Held, Mask};
use crate::processors::{self, Own};
use crate::thread::Thread;

/// The last worker of a pool, if its thread starts when it is first needed.
pub(crate) struct Late {
    worker: usize,
    inherited: Arc<Inherited>,
    /// Starts the thread, with a small stack if it says so.
    begin: Box<dyn Fn(Stack, Arc<Inherited>) -> io::Result<Thread> + Send + Sync>,
    state: Mutex<State>,
}

/// How large a stack is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stack {
    /// As the pool's others.
    Usual,
    Small,
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
    processors: Own,
    signals: Mask,
}

impl Inherited {
    pub(crate) fn from_this_thread() -> Self {
        Self { like: Atomic::new(0), processors: Own::of_this_thread(), signals: Mask::of_this_thread() }
    }

    /// Says that the current thread is like it, and has its processors, which the program may change.
    pub(crate) fn is_like_this(&self) {
        // Relaxed, here and below: a number.
        self.like.store(processors::this_thread().cast_unsigned(), Ordering::Relaxed);
    }

    /// Gives all this to the current thread, which has just started and blocks all signals.
    pub(crate) fn adopt(&self) {
        let like = self.like.load(Ordering::Relaxed).cast_signed();
        let processors = if like == 0 { None } else { Some(Own::of_thread(like)).filter(Own::is_known) };
        processors.as_ref().unwrap_or(&self.processors).adopt();
        self.signals.adopt();
    }
}

impl Late {
    /// `begin` starts the thread, which [adopts](Inherited::adopt) its second argument.
    pub(crate) fn new(
        worker: usize,
        begin: impl Fn(Stack, Arc<Inherited>) -> io::Result<Thread> + Send + Sync + 'static,
    ) -> Self {
        let inherited = Arc::new(Inherited::from_this_thread());
        Self { worker, inherited, begin: Box::new(begin), state: Mutex::new(State::Absent) }
    }

    pub(crate) fn inherited(&self) -> &Inherited {
        &self.inherited
    }

    pub(crate) fn worker(&self) -> usize {
        self.worker
    }

    /// Starts the thread, unless it has been started: the caller has given it its seat. If the pool `is_over`, the worker leaves instead.
    /// Returns whether there is a thread.
    ///
    /// # Errors
    /// The system's, if it refuses the thread. The worker is then dead.
    pub(crate) fn start(&self, is_over: impl FnOnce() -> bool) -> io::Result<bool> {
        let mut state = self.state();
        if let State::Absent = *state {
            if is_over() {
                *state = State::Left;
                return Ok(false);
            }
            *state = State::Dead;
            *state = State::There(self.begin()?);
        }
        Ok(true)
    }

    /// Starts the thread of a dead worker, before which `revive` makes it alive.
    ///
    /// # Errors
    /// The system's, if it still refuses the thread. The worker stays dead.
    pub(crate) fn try_again(&self, revive: impl FnOnce()) -> io::Result<()> {
        let mut state = self.state();
        if let State::Dead = *state {
            let thread = self.begin()?;
            revive();
            *state = State::There(thread);
        }
        Ok(())
    }

    fn begin(&self) -> io::Result<Thread> {
        // A new thread has the mask of the one that starts it.
        let _held = Held::all();
        let begin = |stack| (self.begin)(stack, Arc::clone(&self.inherited));
        begin(Stack::Usual).or_else(|_| begin(Stack::Small))
    }

    /// Whether the thread has not been started.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(*self.state(), State::Absent)
    }

    /// Whether the system has refused the thread.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(*self.state(), State::Dead)
    }

    /// Whether the thread is one that [`Late::end`] joins.
    pub(crate) fn is_apart(&self) -> bool {
        !matches!(*self.state(), State::Over)
    }

    /// Whether the thread has ended, or there is none.
    pub(crate) fn is_finished(&self) -> bool {
        match &*self.state() {
            State::There(thread) => thread.is_finished(),
            State::Absent | State::Dead | State::Left | State::Over => true,
        }
    }

    /// Whether the worker has left.
    pub(crate) fn has_left(&self) -> bool {
        match &*self.state() {
            State::There(thread) => thread.is_finished(),
            State::Left => true,
            State::Absent | State::Dead | State::Over => false,
        }
    }

    /// Ends what there is once the pool's other threads have left: joins the thread, or has `retire` take the seat from the worker without
    /// one. Returns `false` if somebody else has the seat for now.
    pub(crate) fn end(&self, retire: impl FnOnce() -> bool) -> bool {
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
