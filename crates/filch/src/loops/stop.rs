//! Ending work early: a flag that the work reads.
//!
//! Invariant: a flag that was set stays set.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use filch_memory::{Atomic, Memory, Native, Ordering};

/// A request to end work early. Loops must read it, by [`Stop::check`]; a [worklist](crate::worklist) does so by
/// itself. A running item is not interrupted: if it takes a second, it ends after a second. Clones are the same
/// request.
///
/// ```
/// use filch::Stop;
///
/// // A preimage of a hash, looked for until the time is over.
/// let stop = Stop::after(std::time::Duration::from_millis(5));
/// let found = filch::try_for_each(0..u64::MAX, |n| {
///     let hash = (n ^ n >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1;
///     assert_ne!(hash, 0x1234_5678_9abc_def0, "{n} is one");
///     stop.check()
/// });
/// assert_eq!(found, Err(filch::Stopped));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Request>);

#[derive(Debug)]
struct Request {
    is_made: <Native as Memory>::AtomicBool,
    deadline: Option<Instant>,
}

impl Default for Request {
    fn default() -> Self {
        Self { is_made: Atomic::new(false), deadline: None }
    }
}

/// The error of work that was stopped: see [`Stop::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped before the end")
    }
}

impl Error for Stopped {}

impl Stop {
    /// Creates a request that nobody has made yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a request that is made at this time, if not before.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// assert!(filch::Stop::at(Instant::now()).is_stopped());
    /// ```
    pub fn at(deadline: Instant) -> Self {
        Self(Arc::new(Request { deadline: Some(deadline), ..Request::default() }))
    }

    /// Creates a request that is made after this time, if not before.
    pub fn after(time: Duration) -> Self {
        Instant::now().checked_add(time).map_or_else(Self::new, Self::at)
    }

    /// Makes the request.
    pub fn stop(&self) {
        // Relaxed: it publishes nothing.
        self.0.is_made.store(true, Ordering::Relaxed);
    }

    /// Whether the request was made, or its time has come.
    ///
    /// Cost: a load; with a deadline, a look at the clock too, some twenty nanoseconds.
    pub fn is_stopped(&self) -> bool {
        // Relaxed: as above.
        if self.0.is_made.load(Ordering::Relaxed) {
            return true;
        }
        let is_late = self.0.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_late {
            self.stop();
        }
        is_late
    }

    /// Returns an error if the request was made, so that `?` ends a loop such as [`try_for_each`](crate::try_for_each).
    ///
    /// ```
    /// let stop = filch::Stop::new();
    /// assert_eq!(stop.check(), Ok(()));
    /// stop.clone().stop();
    /// assert_eq!(stop.check(), Err(filch::Stopped));
    /// ```
    ///
    /// # Errors
    /// [`Stopped`], once the request was made.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.is_stopped() { Err(Stopped) } else { Ok(()) }
    }
}
