//! The interrupt from the keyboard: the first one ends the measuring, the second one the program.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared_child::SharedChild;

use crate::error::{Result, usage};

struct State {
    interrupted: bool,
    /// Processes that would keep us waiting.
    children: Vec<Arc<SharedChild>>,
}

static STATE: Mutex<State> = Mutex::new(State { interrupted: false, children: Vec::new() });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on an interrupt is noted instead of ending the program.
pub fn watch() -> Result {
    let handler = || {
        let mut state = state();
        if state.interrupted {
            std::process::exit(130);
        }
        state.interrupted = true;
        state.children.iter().for_each(|child| kill(child));
    };
    ctrlc::set_handler(handler).map_err(|error| usage(format!("cannot watch for interrupts: {error}")))
}

/// Whether there was an interrupt.
pub fn interrupted() -> bool {
    state().interrupted
}

/// Whether a process with this status ended by it: the terminal sends it to us and to our processes, and may reach them first.
pub fn is_why_it_ended(status: ExitStatus) -> bool {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status) == Some(libc::SIGINT);
    // STATUS_CONTROL_C_EXIT.
    #[cfg(windows)]
    return status.code() == Some(0xC000_013A_u32.cast_signed());
}

/// A process of ours that an interrupt ends.
pub struct Watched(Arc<SharedChild>);

impl Watched {
    /// From now until this is dropped.
    pub fn new(process: &Arc<SharedChild>) -> Self {
        let mut state = state();
        if state.interrupted {
            kill(process);
        }
        state.children.push(Arc::clone(process));
        Self(Arc::clone(process))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        state().children.retain(|process| !Arc::ptr_eq(process, &self.0));
    }
}

/// Ends a process.
pub fn kill(process: &SharedChild) {
    // It fails if the process has ended by itself.
    let _ = process.kill();
}
