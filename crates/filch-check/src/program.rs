//! The programs that the explorers run.

use std::fmt::{self, Debug, Formatter};

/// A small concurrent program: several threads, and a check at the end.
pub struct Program {
    /// The threads, by name.
    pub threads: Vec<(String, Box<dyn FnOnce()>)>,
    /// Runs when all threads have ended, and panics if the outcome is wrong.
    pub finally: Box<dyn FnOnce()>,
}

impl Debug for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.threads.iter().map(|(name, _)| name)).finish()
    }
}
