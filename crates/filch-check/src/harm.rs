//! What is wrong with an execution: a kind of harm, and a message for the reader.
//!
//! What must always hold: no decision depends on the message.

use std::any::Any;
use std::fmt::{self, Display, Formatter};

/// A kind of harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// A task was taken twice.
    Twice,
    /// A task was never taken.
    Lost,
    /// The emptied queue takes no task.
    NoRoom,
    /// A pop found nothing, though there was something.
    NotEmpty,
    /// The end of all work was announced too early.
    EarlyEnd,
    /// The end of all work was never announced.
    NoEnd,
    /// A thread waits for ever.
    Hang,
    /// A worker ran something that is not a task.
    NotATask,
    /// Tasks to come are hidden from thieves.
    Hidden,
    /// Two threads use the same memory without an order between them.
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
