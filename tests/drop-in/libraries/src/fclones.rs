//! fclones: finds files with the same contents. It walks directories by spawning into a `rayon::scope`, hashes files in
//! own pools (`spawn_fifo`, one task for each file), and sorts in parallel.

use std::fs::{create_dir, write};
use std::sync::Arc;

use fclones::config::{GroupConfig, Parallelism};
use fclones::log::{Log, LogLevel, ProgressBarLength};
use fclones::progress::{NoProgressBar, ProgressTracker};
use fclones::{Path, group_files};
use tempfile::Builder;

use crate::numbers::numbers;

/// Shows warnings only.
struct Warnings;

impl Log for Warnings {
    fn progress_bar(&self, _: &str, _: ProgressBarLength) -> Arc<dyn ProgressTracker> {
        Arc::new(NoProgressBar)
    }

    fn log(&self, level: LogLevel, message: String) {
        if !matches!(level, LogLevel::Info) {
            eprintln!("{message}");
        }
    }
}

/// Returns a run: groups 1200 files, of which 400 have two equals each.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    const SIZE: usize = 100_000;
    // Not one of the hidden directories that `TempDir::new` makes: these are skipped.
    let root = Builder::new().prefix("fclones").tempdir().unwrap();
    let bytes: Vec<u8> = numbers(SIZE / 4).into_iter().flat_map(u64::to_le_bytes).collect();
    for i in 0..1200 {
        let directory = root.path().join(format!("d{}", i / 20));
        if i % 20 == 0 {
            create_dir(&directory).unwrap();
        }
        // All begin with the same page, so that the first stage cannot tell them apart.
        let contents = [&bytes[..10_000], &bytes[i % 400..][..SIZE], &bytes[..20_000]].concat();
        write(directory.join(format!("f{i}")), contents).unwrap();
    }
    // By default their sizes depend on the number of processors and the kind of disk, not on RAYON_NUM_THREADS.
    let threads = rayon::current_num_threads();
    let pools = Parallelism { random: threads, sequential: threads };
    let config = GroupConfig {
        paths: vec![Path::from(root.path())],
        threads: vec![("default".into(), pools)],
        ..GroupConfig::default()
    };
    Box::new(move || {
        let _ = &root;
        let groups = group_files(&config, &Warnings).unwrap();
        assert_eq!(groups.len(), 400);
        assert!(groups.iter().all(|group| group.files.len() == 3));
        groups.iter().map(|group| group.file_len.0 * group.files.len() as u64).sum()
    })
}
