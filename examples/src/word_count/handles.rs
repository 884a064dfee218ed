//! In handle style.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use filch::Worker;

use super::{Counts, count_file, list, merge};

/// Counts the words below `path`, and the files in `done`.
///
/// # Errors
/// The first in time. Folders that are being read go on until the loop around them looks.
pub fn count(mut w: Worker<'_>, path: &Path, done: &AtomicU64) -> io::Result<Counts> {
    if !path.is_dir() {
        return count_file(path, done);
    }
    let entries = list(path)?;
    w.try_map_reduce_with(&entries[..], Counts::new(), |w, entry| count(w, entry, done), merge)
}
