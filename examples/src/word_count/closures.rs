//! In closure style.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use super::{Counts, count_file, list, merge};

/// Counts the words below `path`, and the files in `done`.
///
/// # Errors
/// The first in time. Folders that are being read go on until the loop around them looks.
pub fn count(path: &Path, done: &AtomicU64) -> io::Result<Counts> {
    if !path.is_dir() {
        return count_file(path, done);
    }
    let entries = list(path)?;
    filch::try_map_reduce(&entries[..], Counts::new(), |entry| count(entry, done), merge)
}
