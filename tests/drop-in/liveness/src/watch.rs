//! Ends the process when a run does not end, and says so.
//!
//! A run hangs if for some time no thread of the process has run or wanted to, or if it takes very long. The first is
//! soon known and holds on a busy machine too, where a thread that waits for a processor counts as running.

use std::fs;
use std::process::exit;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time is counted in pauses and not read from a clock, which advances while a virtual machine is stopped.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Clone, Copy)]
pub struct Limits {
    pub quiet: Duration,
    pub busy: Duration,
}

impl Limits {
    /// After which a program is not worth a comparison.
    pub const SHORTEST: Limits = Limits { quiet: Duration::from_millis(100), busy: Duration::from_secs(1) };
    /// After which a run is suspected.
    pub const SHORT: Limits = Limits { quiet: Duration::from_millis(300), busy: Duration::from_secs(2) };
    /// After which it is believed to hang.
    pub const LONG: Limits = Limits { quiet: Duration::from_secs(20), busy: Duration::from_secs(60) };
}

/// What runs now, and how many runs have begun.
#[derive(Default)]
struct Now {
    what: String,
    begun: usize,
}

pub struct Watch {
    now: Arc<Mutex<Now>>,
}

impl Watch {
    pub fn start(limits: Limits) -> Watch {
        let now = Arc::new(Mutex::new(Now::default()));
        let watched = Arc::clone(&now);
        thread::spawn(move || watch(limits, &watched));
        Watch { now }
    }

    /// A run begins. If it hangs, the process prints `hung` with `what` and exits.
    pub fn begin(&self, what: String) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = Now { what, begun: now.begun + 1 };
    }
}

fn watch(limits: Limits, now: &Mutex<Now>) {
    let (mut seen, mut activity, mut busy, mut quiet) = (0, None, Duration::ZERO, Duration::ZERO);
    loop {
        thread::sleep(PAUSE);
        busy += PAUSE;
        quiet += PAUSE;
        let last = activity;
        activity = activity_of_others();
        if activity.is_none() || activity != last {
            quiet = Duration::ZERO;
        }
        let now = now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.begun != seen {
            (seen, busy, quiet) = (now.begun, Duration::ZERO, Duration::ZERO);
        } else if seen != 0 && (busy >= limits.busy || quiet >= limits.quiet) {
            println!("hung {}", now.what);
            exit(3);
        }
    }
}

/// How much all other threads have run, or `None` if one of them runs or wants to, or the system does not tell.
fn activity_of_others() -> Option<String> {
    let own = fs::read_link("/proc/thread-self").ok()?;
    let mut activity = String::new();
    for task in fs::read_dir("/proc/self/task").ok()? {
        let task = task.ok()?;
        if Some(task.file_name().as_os_str()) == own.file_name() {
            continue;
        }
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        let (_, state) = stat.rsplit_once(") ")?;
        if !state.starts_with('S') {
            return None;
        }
        activity += &fs::read_to_string(task.path().join("schedstat")).ok()?;
    }
    Some(activity)
}
