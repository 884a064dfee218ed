//! The activities of workers, as timelines name them.

/// An activity of a worker, which lasts for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// The call of a thread from outside, which has taken the worker's seat.
    Call,
    /// A fork that it has stolen, or that another worker has given to it.
    Task {
        /// The worker that forked it.
        owner: usize,
    },
    /// A job that nobody joins: spawned, submitted, broadcast, or a call that waits outside.
    Job,
    /// The wait for a stolen fork at its join, or for the end of a scope. Work that the worker runs meanwhile lies
    /// within.
    Waiting,
    /// It has no work: it looks for some, or sleeps.
    Idle,
    /// It sleeps.
    Asleep,
}

/// An act of a worker, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Act {
    /// It shared forks that only it could take before.
    Shares,
    /// It took forks back that it had shared.
    TakesBack,
    /// It woke another worker.
    Wakes,
}

/// A worker's note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    Begins(Activity),
    /// The innermost activity ends, apart from idleness and sleep within it.
    Ends(Activity),
    Does(Act),
}

impl Activity {
    /// Whether the worker runs something.
    ///
    /// ```
    /// use filch::timeline::Activity;
    ///
    /// assert!(Activity::Job.is_work() && !Activity::Waiting.is_work());
    /// ```
    pub const fn is_work(self) -> bool {
        matches!(self, Self::Call | Self::Task { .. } | Self::Job)
    }

    /// Returns the name that [`Timeline::write_perfetto`](super::tracks::Timeline::write_perfetto) gives it.
    ///
    /// ```
    /// assert_eq!(filch::timeline::Activity::Waiting.name(), "waiting");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Task { .. } => "task",
            Self::Job => "job",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Asleep => "asleep",
        }
    }
}

impl Act {
    /// Returns the name that [`Timeline::write_perfetto`](super::tracks::Timeline::write_perfetto) gives it.
    ///
    /// ```
    /// assert_eq!(filch::timeline::Act::TakesBack.name(), "takes back");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shares => "shares",
            Self::TakesBack => "takes back",
            Self::Wakes => "wakes another",
        }
    }
}
