//! With rayon.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use rayon::prelude::*;

use super::{Counts, count_file, list, merge};

pub(super) fn count(path: &Path, done: &AtomicU64) -> io::Result<Counts> {
    if !path.is_dir() {
        return count_file(path, done);
    }
    let entries = list(path)?;
    entries.par_iter().map(|entry| count(entry, done)).try_reduce(Counts::new, |left, right| Ok(merge(left, right)))
}
