//! Workers whose threads start when they are first needed.
//!
//! Starting and ending a thread takes as long as making the rest of a pool of two workers. A caller that works takes
//! the last seat first, so while there is one caller, the last worker's thread would only sleep. And on a machine of
//! many processors, a program that has little work would wait for threads that have none. So a new pool has only the
//! thread of its first worker. The other workers are asleep without a thread; a waker starts the thread of the worker
//! that it wakes.
//!
//! Most programs that need one of these threads soon need all. So each thread that starts late starts two more, which
//! sleep, before it looks for work. The threads come up as a tree, in a time that grows with the logarithm of their
//! number, and no caller starts them all. The thread of the last worker is never one of the two; it starts only when it
//! is needed.
//!
//! A late thread starts as if it had been there from the beginning: on the processors of the first worker, and with the
//! signal mask of the thread that made the pool. (Its priority is that of the thread that starts it, if the program
//! gives its threads different ones.) If the system refuses the thread when it is needed, the pool has one worker less.
//!
//! Invariants.
//! * I1: once such a worker's own thread has been given the worker's seat, the thread starts, or the worker is dead:
//!   nobody can wake the worker or take its seat, and it does not count as searching. Once the pool closes, no thread
//!   is started for a worker that still sleeps.
//! * I2: the code that starts a thread may be the host's or the user's, and so may a panic hook. This code runs outside
//!   all pools, though the current thread may be a worker, whose head in memory need not be above all its tasks. It
//!   never runs [within an owner's turn](crate::protocol::sharer).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::fork::front::Outside;
use crate::machine::processors::{self, Affinity};
use crate::machine::signals::{Held, Mask};
use crate::machine::{leaked::keep, thread::Thread};
use crate::shared::elsewhere::Elsewhere;
use crate::unwind::warn;

/// How a worker's thread begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// It looks for work.
    Awake,
    /// It sleeps, since another thread has [lain down](crate::wait::lie_down) for it.
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
    /// The worker has, or had, its thread.
    There(Thread),
    /// The system has refused the thread.
    Dead,
    /// The worker has left, or soon will; its thread, if there is one, has been taken.
    Left,
}

/// The attributes that a late thread inherits from threads other than its starter.
pub(crate) struct Inherited {
    /// The system's number of the thread whose processors late threads take; 0 if there is none yet.
    like: <Native as Memory>::AtomicU32,
    /// Present if that thread, the first worker's, may be [sent elsewhere](Elsewhere::send).
    elsewhere: OnceLock<Arc<Elsewhere>>,
    affinity: Option<Affinity>,
    signals: Mask,
}

impl Inherited {
    fn from_this_thread() -> Self {
        let (affinity, signals) = (Affinity::of(0), Mask::of_this_thread());
        Self { like: Atomic::new(0), elsewhere: OnceLock::new(), affinity, signals }
    }

    /// Says that late threads take the processors of the current thread, the first worker's, which the program may
    /// change.
    pub(super) fn take_after_this(&self, elsewhere: Option<&Arc<Elsewhere>>) {
        if let Some(elsewhere) = elsewhere {
            self.elsewhere.get_or_init(|| Arc::clone(elsewhere));
        }
        // Relaxed, here and below: a number.
        self.like.store(processors::this_thread().cast_unsigned(), Ordering::Relaxed);
    }

    /// Gives these attributes to the current thread, which has just started and blocks all signals.
    pub(crate) fn adopt(&self) {
        let like = self.like.load(Ordering::Relaxed).cast_signed();
        let of_first = || self.elsewhere.get().map_or_else(|| Affinity::of(like), |elsewhere| elsewhere.own_of(0));
        let affinity = if like == 0 { None } else { of_first() };
        if let Some(affinity) = affinity.as_ref().or(self.affinity.as_ref()) {
            affinity.adopt();
        }
        self.signals.adopt();
    }
}

/// Returns the number of the first worker whose thread can start late. It comes after worker 0 and after all workers
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

    /// Takes the thread from a worker that has left, or soon will.
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
    /// Makes the late workers from number `first` to the one before `end`, each of which sleeps. `begin` starts the
    /// thread of a worker; that thread [adopts](Inherited::adopt) the last argument of `begin`.
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

    /// Starts the thread of a worker, unless it has been started. The caller has given that thread the seat. If the
    /// pool `is_over`, the worker leaves instead. Returns whether there is a thread.
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
    pub(super) fn start_others(&self, is_closing: impl Fn() -> bool) {
        const OTHERS: usize = 2;
        let last = self.first + self.states.len() - 1;
        let mut started = 0;
        while started < OTHERS {
            // Relaxed, here and below: each number goes to one thread, and publishes nothing.
            let worker = self.next.fetch_add(1, Ordering::Relaxed);
            if worker >= last {
                return;
            }
            let Some(mut state) = self.state(worker) else { return };
            if let State::Absent = *state {
                // The thread that closes the pool sets `closing` before it looks at the state.
                if is_closing() {
                    return;
                }
                if self.begin_in(&mut state, worker, Begins::Asleep).is_err() {
                    // If the thread is needed, its start is tried again.
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
            // Awake, since nobody counts the worker as searching, or as a stand-in at work.
            Some(mut state) if matches!(*state, State::Dead) => self.begin_in(&mut state, worker, Begins::Awake),
            _ => Ok(()),
        }
    }

    /// Starts the threads of all workers that sleep without one, unless the pool `is_closing`, and of all dead workers.
    ///
    /// # Errors
    /// The system's, if it refuses a thread. The workers that have none then stay asleep or dead.
    pub(super) fn start_all(&self, is_closing: impl Fn() -> bool) -> io::Result<()> {
        for worker in self.workers() {
            let Some(mut state) = self.state(worker) else { break };
            match *state {
                // As in `start_others`.
                State::Absent if !is_closing() => self.begin_in(&mut state, worker, Begins::Asleep)?,
                State::Dead => self.begin_in(&mut state, worker, Begins::Awake)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Starts a new thread for a worker that has left. Returns the former thread, if there was one.
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
        // A new thread has the signal mask of the thread that starts it.
        let _held = Held::all();
        // I2.
        let _outside = Outside::enter();
        // The thread that needs the worker may have published a job that borrows from its frames, so it must not
        // unwind.
        catch_unwind(AssertUnwindSafe(|| (self.begin)(worker, begins, Arc::clone(&self.inherited)))).unwrap_or_else(
            |payload| {
                keep(payload);
                Err(io::Error::other("its start panicked"))
            },
        )
    }

    /// Makes a worker without a thread leave, if `retire` takes its seat. Returns whether the worker has left.
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
    pub(super) fn warn(&self, worker: usize, error: &io::Error) {
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

    /// Returns the state of a late worker, locked; `None` for any other worker.
    pub(super) fn state(&self, worker: usize) -> Option<MutexGuard<'_, State>> {
        let state = self.states.get(worker.checked_sub(self.first)?)?;
        Some(state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
