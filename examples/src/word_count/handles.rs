//! In handle style.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use filch::Worker;

use super::{Counts, count_file, list, merge};

/// Counts the words below `path`, and the files in `done`.
///
/// # Errors
/// That of the last entry that has one.
pub fn count(mut w: Worker<'_>, path: &Path, done: &AtomicU64) -> io::Result<Counts> {
    if !path.is_dir() {
        return count_file(path, done);
    }
    let entries = list(path)?;
    w.fork_all(&entries, |w, entry| count(w, entry, done), Ok(Counts::new()), |sum, below| Ok(merge(sum?, below?)))
}
