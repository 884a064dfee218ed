//! Ctrl-C: the first one stops the measurement, the second one ends the program.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared_child::SharedChild;

use crate::console::error::{Result, usage};

struct State {
    interrupted: bool,
    /// Processes that we would otherwise wait for.
    children: Vec<Arc<SharedChild>>,
}

static STATE: Mutex<State> = Mutex::new(State { interrupted: false, children: Vec::new() });

static WATCHING: Mutex<bool> = Mutex::new(false);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes an interrupt set a flag instead of ending the program, from the first call on.
pub fn watch() -> Result {
    let mut is_watching = WATCHING.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_watching {
        return Ok(());
    }
    let handler = || {
        let mut state = state();
        if state.interrupted {
            std::process::exit(130);
        }
        state.interrupted = true;
        state.children.iter().for_each(|child| kill(child));
    };
    ctrlc::set_handler(handler).map_err(|error| usage(format!("cannot watch for interrupts: {error}")))?;
    *is_watching = true;
    Ok(())
}

/// Whether an interrupt has happened.
pub fn interrupted() -> bool {
    state().interrupted
}

/// Whether an interrupt ended the process with this status: the terminal sends the signal to us and to our processes,
/// and may reach them first.
pub fn is_why_it_ended(status: ExitStatus) -> bool {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status) == Some(libc::SIGINT);
    // STATUS_CONTROL_C_EXIT.
    #[cfg(windows)]
    return status.code() == Some(0xC000_013A_u32.cast_signed());
}

/// A child process that an interrupt kills.
pub struct Watched(Arc<SharedChild>);

impl Watched {
    /// Watches the process until this is dropped.
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

/// Kills a process.
pub fn kill(process: &SharedChild) {
    // This fails if the process has already ended.
    let _ = process.kill();
}
