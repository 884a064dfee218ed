//! The interrupt from the keyboard: the first one ends the measuring, the second one the program.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Result, usage};

struct State {
    interrupted: bool,
    /// Processes that would keep us waiting.
    children: Vec<libc::pid_t>,
}

static STATE: Mutex<State> = Mutex::new(State { interrupted: false, children: Vec::new() });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on an interrupt is noted instead of ending the program.
pub(crate) fn watch() -> Result {
    let handler = || {
        let mut state = state();
        if state.interrupted {
            std::process::exit(130);
        }
        state.interrupted = true;
        state.children.iter().for_each(|&child| kill(child));
    };
    ctrlc::set_handler(handler).map_err(|error| usage(format!("cannot watch for interrupts: {error}")))
}

/// Whether there was an interrupt.
pub(crate) fn interrupted() -> bool {
    state().interrupted
}

/// A process of ours that an interrupt ends; to be dropped before the process is waited for, so that its number is
/// still its own.
pub(crate) struct Watched(libc::pid_t);

impl Watched {
    pub(crate) fn new(process: u32) -> Self {
        let process = libc::pid_t::try_from(process).expect("process numbers fit their type");
        let mut state = state();
        if state.interrupted {
            kill(process);
        }
        state.children.push(process);
        Self(process)
    }

    /// Ends the process.
    pub(crate) fn kill(&self) {
        kill(self.0);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        state().children.retain(|&process| process != self.0);
    }
}

fn kill(process: libc::pid_t) {
    // SAFETY: the process is a child that has not been waited for, so the number cannot be another's.
    unsafe { libc::kill(process, libc::SIGKILL) };
}
