//! The harm that an execution does: its kind, and a message for the reader.
//!
//! Invariant: no decision depends on the message.

use std::any::Any;
use std::fmt::{self, Display, Formatter};

/// A kind of harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// A task was taken twice.
    Twice,
    /// A task was never taken.
    Lost,
    /// The emptied queue accepts no task.
    NoRoom,
    /// A pop found nothing, although the queue had a task.
    NotEmpty,
    /// The end of all work was announced too early.
    EarlyEnd,
    /// The end of all work was never announced.
    NoEnd,
    /// A thread waits forever.
    Hang,
    /// A worker ran something that is not a task.
    NotATask,
    /// Tasks pushed later are hidden from thieves.
    Hidden,
    /// Two threads access the same memory without an order between them.
    Race,
    /// An assertion failed.
    Panic,
}

/// A harm that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The kind of harm.
    pub harm: Harm,
    /// What happened.
    pub message: String,
}

impl Wrong {
    pub(crate) fn new(harm: Harm, message: impl Into<String>) -> Self {
        Self { harm, message: message.into() }
    }

    /// Returns the harm in the payload of a panic.
    pub(crate) fn told_by(payload: &(dyn Any + Send)) -> Self {
        if let Some(wrong) = payload.downcast_ref::<Self>() {
            return wrong.clone();
        }
        let text = payload.downcast_ref::<String>().map(String::as_str);
        Self::new(Harm::Panic, text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic"))
    }
}

impl Display for Wrong {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Fails the execution with this harm unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $harm:ident, $($message:tt)+) => {
        if !$holds {
            std::panic::panic_any($crate::harm::Wrong::new($crate::harm::Harm::$harm, format!($($message)+)));
        }
    };
}
pub(crate) use ensure;
