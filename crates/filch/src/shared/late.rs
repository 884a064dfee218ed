//! Workers whose threads start when they are first needed.
//!
//! To start a thread, and to end it, takes as long as to make the rest of a pool of two. A caller that works takes the
//! last seat first, so while there is one caller, the last worker's thread would only sleep; and on a machine of many
//! processors a program that has little work would wait for threads without any. So a new pool has the first worker's
//! thread, and its other workers are asleep without one, which whoever wakes the worker starts.
//!
//! Most programs that need a second of these threads soon need all. So each thread that starts late starts two more,
//! which sleep, before it looks for work: the threads come up as a tree, in a time that grows with the logarithm of
//! their number, and no caller starts them all. The last worker is not among those: its thread waits until it is
//! needed.
//!
//! A late thread starts as if it had been there: on the processors of the first worker, and with the signals blocked
//! that the thread which made the pool had blocked. (It has the priority of the thread that starts it, if the program
//! gives its threads different ones.) If the system refuses it when it is needed, the pool has a worker less.
//!
//! Invariants.
//! * I1: once somebody has given such a worker's own thread its seat, the thread starts, or the worker is dead: nobody
//!   can wake it or take its seat, and it does not count as searching. No thread starts to sleep once the pool closes.
//! * I2: what starts a thread may be the host's or the user's code, as may a panic hook. It runs outside all pools,
//!   though the thread may be a worker, whose head in memory need not be above all its tasks; and never [within an
//!   owner's turn](crate::protocol::sharer).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::fork::front::Outside;
use crate::machine::processors::{self, Affinity};
use crate::machine::signals::{Held, Mask};
use crate::machine::{leaked::keep, thread::Thread};
use crate::unwind::warn;

/// How a worker's thread begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// It looks for work.
    Awake,
    /// It sleeps, since somebody has [lain down](crate::wait::lie_down) for it.
    Asleep,
}

/// The workers of a pool, from number `first` on, whose threads start when they are first needed.
pub(crate) struct Late {
    first: usize,
    pub(super) inherited: Arc<Inherited>,
    begin: Box<Begin>,
    pub(super) states: Box<[Mutex<State>]>,
    /// The next worker whose thread may start before it is needed.
    next: <Native as Memory>::AtomicUsize,
    has_warned: <Native as Memory>::AtomicBool,
}

/// Starts the thread of a worker.
type Begin = dyn Fn(usize, Begins, Arc<Inherited>) -> io::Result<Thread> + Send + Sync;

pub(super) enum State {
    /// The worker sleeps, or a guest has its seat.
    Absent,
    /// It has, or had, its thread.
    There(Thread),
    /// The system has refused the thread.
    Dead,
    /// It has left, and has no thread.
    Left,
}

/// Attributes that a thread inherits from another one than its starter.
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
    pub(super) fn is_like_this(&self) {
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

/// Returns the number of the first worker whose thread can start late: after the first worker of all, and after those
/// that begin awake.
pub(crate) fn first(begins: &[Begins]) -> usize {
    begins.iter().rposition(|begins| *begins == Begins::Awake).map_or(1, |awake| awake + 1)
}

impl State {
    /// Whether the thread has ended, or there is none.
    pub(super) fn is_finished(&self) -> bool {
        !matches!(self, Self::There(thread) if !thread.is_finished())
    }

    /// Whether the worker has left.
    pub(super) fn has_left(&self) -> bool {
        matches!(self, Self::Left) || matches!(self, Self::There(thread) if thread.is_finished())
    }

    /// Takes the thread from a worker that leaves, or has left.
    pub(super) fn take_thread(&mut self) -> Option<Thread> {
        match std::mem::replace(self, Self::Left) {
            Self::There(thread) => Some(thread),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl Late {
    /// For the workers from number `first` to the one before `end`, each of which sleeps. `begin` starts a worker's
    /// thread, which [adopts](Inherited::adopt) its last argument.
    pub(crate) fn new(
        first: usize,
        end: usize,
        begin: impl Fn(usize, Begins, Arc<Inherited>) -> io::Result<Thread> + Send + Sync + 'static,
    ) -> Self {
        let inherited = Arc::new(Inherited::from_this_thread());
        let states = (first..end).map(|_| Mutex::new(State::Absent)).collect();
        let (next, has_warned) = (Atomic::new(first), Atomic::new(false));
        Self { first, inherited, begin: Box::new(begin), states, next, has_warned }
    }

    /// Starts a worker's thread, unless it has been started: the caller has given it its seat. If the pool `is_over`,
    /// the worker leaves instead. Returns whether there is a thread.
    ///
    /// # Errors
    /// The system's, if it refuses the thread. The worker is then dead.
    pub(super) fn start(&self, worker: usize, is_over: impl FnOnce() -> bool) -> io::Result<bool> {
        let Some(mut state) = self.state(worker) else { return Ok(true) };
        if let State::Absent = *state {
            if is_over() {
                *state = State::Left;
                return Ok(false);
            }
            *state = State::Dead;
            *state = State::There(self.begin(worker, Begins::Asleep)?);
        }
        Ok(true)
    }

    /// Starts the threads of up to two more workers, which sleep, unless the pool `is_closing`.
    pub(super) fn starts_others(&self, is_closing: impl Fn() -> bool) {
        const OTHERS: usize = 2;
        let last = self.first + self.states.len() - 1;
        let mut started = 0;
        while started < OTHERS {
            // Relaxed, here and below: a number, for one thread each.
            let worker = self.next.fetch_add(1, Ordering::Relaxed);
            if worker >= last {
                return;
            }
            let Some(mut state) = self.state(worker) else { return };
            if let State::Absent = *state {
                // Whoever closes the pool has said so before it looks at the state.
                if is_closing() {
                    return;
                }
                if self.begin_in(&mut state, worker, Begins::Asleep).is_err() {
                    // If it is needed, that is tried again.
                    return self.next.store(last, Ordering::Relaxed);
                }
                started += 1;
            }
        }
    }

    /// Starts the thread of a dead worker.
    ///
    /// # Errors
    /// The system's, if it still refuses the thread. The worker stays dead.
    pub(super) fn try_again(&self, worker: usize) -> io::Result<()> {
        match self.state(worker) {
            // Nobody counts it as searching, or as a stand-in at work.
            Some(mut state) if matches!(*state, State::Dead) => self.begin_in(&mut state, worker, Begins::Awake),
            _ => Ok(()),
        }
    }

    /// Starts the threads of all workers that have none, unless the pool `is_closing`.
    ///
    /// # Errors
    /// The system's, if it refuses one. Workers that slept or were dead still are.
    pub(super) fn starts_all(&self, is_closing: impl Fn() -> bool) -> io::Result<()> {
        for worker in self.workers() {
            let Some(mut state) = self.state(worker) else { break };
            match *state {
                // As in `starts_others`.
                State::Absent if !is_closing() => self.begin_in(&mut state, worker, Begins::Asleep)?,
                State::Dead => self.begin_in(&mut state, worker, Begins::Awake)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Starts the thread of a worker that has left, again. Returns the former one.
    ///
    /// # Errors
    /// The system's, if it refuses the thread.
    pub(super) fn come_back(&self, worker: usize) -> io::Result<Option<Thread>> {
        let Some(mut state) = self.state(worker) else { return Ok(None) };
        let former = state.take_thread();
        self.begin_in(&mut state, worker, Begins::Awake)?;
        Ok(former)
    }

    /// Starts a worker's thread; if the system refuses it, the state stays as it was.
    pub(super) fn begin_in(&self, state: &mut State, worker: usize, begins: Begins) -> io::Result<()> {
        self.begin(worker, begins).map(|thread| *state = State::There(thread))
    }

    fn begin(&self, worker: usize, begins: Begins) -> io::Result<Thread> {
        // A new thread has the mask of the one that starts it.
        let _held = Held::all();
        // I2.
        let _outside = Outside::enter();
        // Whoever needs the worker may have published what it borrows, so it cannot unwind.
        catch_unwind(AssertUnwindSafe(|| (self.begin)(worker, begins, Arc::clone(&self.inherited)))).unwrap_or_else(
            |payload| {
                keep(payload);
                Err(io::Error::other("its start panicked"))
            },
        )
    }

    /// Lets a worker without a thread leave, by `retire`, which takes the seat. Returns whether the worker has left.
    pub(super) fn leaves(&self, worker: usize, retire: impl FnOnce(usize) -> bool) -> bool {
        let Some(mut state) = self.state(worker) else { return true };
        if let State::Absent = *state
            && retire(worker)
        {
            *state = State::Left;
        }
        !matches!(*state, State::Absent) && state.is_finished()
    }

    /// Says, once, that the system has refused a thread.
    pub(super) fn warns(&self, worker: usize, error: &io::Error) {
        // Relaxed: once is enough, and twice no harm.
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            warn(format_args!("worker {worker} has no thread, and the others do its part ({error})"));
        }
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = usize> {
        self.first..self.first + self.states.len()
    }

    pub(super) fn is(&self, worker: usize, so: impl FnOnce(&State) -> bool) -> bool {
        self.state(worker).is_some_and(|state| so(&state))
    }

    /// Returns the state of one of the workers.
    pub(super) fn state(&self, worker: usize) -> Option<MutexGuard<'_, State>> {
        let state = self.states.get(worker.checked_sub(self.first)?)?;
        Some(state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
