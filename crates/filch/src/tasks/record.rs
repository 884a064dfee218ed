//! Recording a computation, on a pool of its own.
//!
//! Invariant: the pool's one worker has a recorder while it runs the computation and what that has spawned.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use filch_queue::clock;

use crate::pool::Recorded;
use crate::shared::policy::Wait;
use crate::tasks::{handle::Worker, join::join};
use crate::threads::{builder::Builder, thread_pool::ThreadPool};
use crate::worker::strands::{self, Clock, Log, Recorder, Scale};

/// Settings for recording a computation.
///
/// ```
/// use std::cell::Cell;
/// use filch::scale::Recording;
///
/// // Counts comparisons instead of time: the same in every run.
/// thread_local!(static COMPARED: Cell<u64> = const { Cell::new(0) });
/// fn largest(v: &[u32]) -> u32 {
///     if let [x] = v {
///         return *x;
///     }
///     let (left, right) = v.split_at(v.len() / 2);
///     let (a, b) = filch::join(|| largest(left), || largest(right));
///     COMPARED.set(COMPARED.get() + 1);
///     a.max(b)
/// }
/// let measured = Recording::new().clock(|| COMPARED.get()).measure(|| largest(&[3; 1024]));
/// assert_eq!((measured.scale.work, measured.scale.span), (1023, 10));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Recording {
    /// The clock of the user's own.
    clock: Option<fn() -> u64>,
    theft: u64,
    piece: u64,
}

/// The result of a recorded computation, and its [`Scale`].
///
/// ```
/// use filch::scale::{Measured, measure};
///
/// let Measured { result, scale } = measure(|| filch::join(|| 6, || 7));
/// assert_eq!((result, scale.forks), ((6, 7), 1));
/// ```
#[derive(Clone, Debug)]
pub struct Measured<R> {
    /// What the computation returned.
    pub result: R,
    /// Its work and span.
    pub scale: Scale,
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Recording {
    /// Records time. A theft costs 5 µs, and loops split into pieces of 5 µs. For an example see [`Recording`].
    pub fn new() -> Self {
        const FIVE_MICROSECONDS: u64 = 5_000;
        Self { clock: None, theft: FIVE_MICROSECONDS, piece: FIVE_MICROSECONDS }
    }

    /// Sets a clock of your own, which is read on the thread that runs the computation. It does not go back, and if it
    /// panics during the computation, the process ends. The lengths that are set and reported are then in its units;
    /// until they are set, thefts cost nothing, and loops split into single items. For an example see [`Recording`].
    pub fn clock(self, now: fn() -> u64) -> Self {
        Self { clock: Some(now), theft: 0, piece: 0 }
    }

    /// Sets what a theft costs, for the [burdened span](Scale::burdened_span), in nanoseconds.
    ///
    /// ```
    /// use filch::scale::Recording;
    ///
    /// let recording = Recording::new().theft(20_000);
    /// let scale = recording.measure(|| filch::join(|| 1, || 2)).scale;
    /// assert_eq!(scale.theft, 20_000);
    /// assert!(scale.burdened_span <= scale.work, "where a theft costs more than it gains, nobody steals");
    /// ```
    pub fn theft(self, cost: u64) -> Self {
        Self { theft: cost, ..self }
    }

    /// Sets how long a piece of a loop may take, in nanoseconds, to be one strand: the recorder does not split it.
    ///
    /// ```
    /// use filch::scale::Recording;
    ///
    /// let scale = Recording::new().piece(u64::MAX).measure(|| filch::for_each(0..1000, |_| ())).scale;
    /// assert!(scale.forks < 1000);
    /// ```
    pub fn piece(self, length: u64) -> Self {
        Self { piece: length, ..self }
    }

    /// Runs `f` in closure style, and records it. For an example see [`Recording`].
    ///
    /// # Panics
    /// If `f` does, with its payload; or if the system refuses a thread.
    pub fn measure<F, R>(&self, f: F) -> Measured<R>
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.record(|pool| {
            pool.install(|| {
                self.start(empty_forks);
                let outcome = catch_unwind(AssertUnwindSafe(f));
                strands::rest();
                outcome.unwrap_or_else(|payload| resume_unwind(payload))
            })
        })
    }

    /// Runs `f` in handle style, and records it.
    ///
    /// ```
    /// use filch::Worker;
    /// use filch::pool::Pool;
    /// use filch::scale::Recording;
    ///
    /// fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    ///     a + b
    /// }
    /// let measured = Recording::new().measure_with(|w| fib(w, 15));
    /// assert_eq!((measured.result, measured.scale.forks), (610, 986));
    /// ```
    ///
    /// # Panics
    /// As [`Recording::measure`].
    pub fn measure_with<F, R>(&self, f: F) -> Measured<R>
    where
        F: for<'b> FnOnce(Worker<'b, Recorded>) -> R + Send,
        R: Send,
    {
        self.record(|pool| {
            pool.run(|mut w| {
                self.start(|forks| (0..forks).for_each(|_| _ = w.join(|_| (), |_| ())));
                let outcome = catch_unwind(AssertUnwindSafe(|| f(w)));
                strands::rest();
                outcome.unwrap_or_else(|payload| resume_unwind(payload))
            })
        })
    }

    /// Starts to record on this thread, the pool's worker; returns its log. `empty` makes that many forks
    /// of empty branches.
    pub(crate) fn start(&self, empty: impl FnMut(usize)) -> Arc<Log> {
        // A tenth of a millisecond: time slices are longer.
        const LONG: f64 = 100_000.0;
        let rate = self.clock.map_or_else(clock::per_nanosecond, |_| 1.0);
        let long = self.clock.map_or((LONG * rate) as u64, |_| u64::MAX);
        let clock = Clock { own: self.clock, rate, long };
        let ticks = |length: u64| (length as f64 * rate) as u64;
        let recorder = Recorder::new(clock, ticks(self.piece), ticks(self.theft));
        strands::start(Box::new(if clock.own.is_none() { recorder.calibrated(empty) } else { recorder }))
    }

    /// Runs a computation on a pool for it.
    fn record<R>(&self, run: impl FnOnce(&ThreadPool<Recorded>) -> R) -> Measured<R> {
        // Under this strategy a worker that waits for a scope runs the scope's tasks only, so their ends are the
        // scope's. On a thread of its own, since a caller's stack may be small.
        let pool = Builder::<Recorded>::new().workers(1).wait(Wait::Leapfrog).caller_works(false).build();
        let pool = pool.expect("a thread for the recording");
        let result = run(&pool);
        pool.wait_idle();
        let recorder = pool.install(strands::take).expect("the worker has recorded");
        Measured { result, scale: Scale::of(*recorder) }
    }
}

/// Forks empty branches so many times.
pub(crate) fn empty_forks(forks: usize) {
    (0..forks).for_each(|_| _ = join(|| (), || ()));
}

/// Runs a computation in closure style, and records its work and span.
///
/// The computation runs on one thread, with thread-local variables of its own, and some times slower than otherwise.
/// What it runs on other threads, or in pools of its own, is not recorded.
///
/// ```
/// let v: Vec<f64> = (0..100_000).map(f64::from).collect();
/// let measured = filch::scale::measure(|| filch::map_reduce(&v[..], 0.0, |x| x.sqrt(), |a, b| a + b));
/// println!("{}", measured.scale); // More than … workers will not help.
/// assert!(measured.scale.parallelism() > 1.0);
/// ```
///
/// # Panics
/// As [`Recording::measure`].
pub fn measure<F, R>(f: F) -> Measured<R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    Recording::new().measure(f)
}
