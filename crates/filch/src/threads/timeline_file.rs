//! Timelines of whole processes, which the environment asks for.
//!
//! Invariant: a process writes only the timelines of its own pools, since the child of a `fork()` has none of the
//! threads of its parent's.

use std::fs::File;
use std::io::BufWriter;
use std::sync::{Arc, Mutex, PoisonError};

use crate::machine::process::{self, at_exit};
use crate::shared::common::Common;
use crate::threads::{environment::variable, error::BuildError};
use crate::timeline::{Beginning, Recorders};
use crate::unwind::warn;

/// A pool that is recorded until the process ends.
struct Recorded {
    process: u32,
    common: Arc<Common>,
    beginning: Beginning,
    name: String,
    file: File,
}

static RECORDED: Mutex<Vec<Recorded>> = Mutex::new(Vec::new());

impl Recorded {
    fn write(self) {
        let Some(recorders) = self.common.recorders.get() else { return };
        let timeline = recorders.read(&self.beginning);
        if let Err(error) = timeline.write_perfetto(BufWriter::new(self.file)) {
            warn(format_args!("the timeline cannot be written to {} ({error})", self.name));
        }
    }
}

extern "C" fn write_all() {
    // In a child, another thread of the parent's may have held the lock.
    let Ok(mut recorded) = RECORDED.try_lock() else { return };
    let recorded = std::mem::take(&mut *recorded);
    recorded.into_iter().filter(|recorded| recorded.process == process::current()).for_each(Recorded::write);
}

/// A timeline of a global pool until the process ends, if the environment variable `FILCH_TIMELINE` names a file for
/// it.
///
/// ```
/// use filch::inside::host::TimelineFile;
///
/// let wanted = TimelineFile::by_environment()?;
/// let (crew, lease, seats) = filch::ThreadPool::builder().workers(2).seats()?;
/// wanted.record_crew(&crew);
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Debug, Default)]
pub struct TimelineFile(Option<(String, File)>);

impl TimelineFile {
    /// Makes the file that the environment names, if any.
    ///
    /// # Errors
    /// [`BuildError::Variable`] if it cannot be made.
    pub fn by_environment() -> Result<Self, BuildError> {
        const NAME: &str = "FILCH_TIMELINE";
        let Some(value) = variable(NAME)? else { return Ok(Self(None)) };
        let name = value.replace("%p", &std::process::id().to_string());
        match File::create(&name) {
            Ok(file) => Ok(Self(Some((name, file)))),
            Err(error) => {
                Err(BuildError::Variable { name: NAME, value, why: format!("the file cannot be made: {error}") })
            }
        }
    }

    /// Records a pool that has just been made and has no work.
    pub(crate) fn record(self, common: &Arc<Common>) {
        let Some((name, file)) = self.0 else { return };
        let recorders = common.recorders.get_or_init(|| Recorders::new(common.workers()));
        let (process, beginning) = (process::current(), recorders.begin(|_| true));
        let mut all = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            at_exit(write_all);
        }
        all.push(Recorded { process, common: Arc::clone(common), beginning, name, file });
    }
}
