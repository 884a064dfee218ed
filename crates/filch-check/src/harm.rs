//! What is wrong with an execution: a kind, and words for the reader.
//!
//! What must always hold: nothing is decided by the words.

use std::any::Any;
use std::fmt::{self, Display, Formatter};

/// What can be wrong with an execution.
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
    /// Somebody waits for ever.
    Hang,
    /// Somebody ran what is not a task.
    NotATask,
    /// Tasks to come are hidden from thieves.
    Hidden,
    /// Two use the same memory with nothing that orders them.
    Race,
    /// The program panics: what it asserts does not hold.
    Panic,
}

/// What was found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Its kind.
    pub harm: Harm,
    /// What happened.
    pub message: String,
}

impl Wrong {
    pub(crate) fn new(harm: Harm, message: impl Into<String>) -> Self {
        Self { harm, message: message.into() }
    }

    /// What the payload of a panic says.
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

/// Ends the execution, in which this is wrong, unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $harm:ident, $($message:tt)+) => {
        if !$holds {
            std::panic::panic_any($crate::harm::Wrong::new($crate::harm::Harm::$harm, format!($($message)+)));
        }
    };
}
pub(crate) use ensure;
