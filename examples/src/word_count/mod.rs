//! Counts the words of all files in a folder and its subfolders. The first error ends the count.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub mod closures;
pub mod handles;
#[cfg(test)]
mod with_rayon;

/// How often each word occurs.
pub type Counts = HashMap<String, u64>;

/// Says which file an error is about.
fn about(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns the entries of a folder.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(about(folder))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// Counts the words of one file, and adds 1 to `done`.
fn count_file(path: &Path, done: &AtomicU64) -> io::Result<Counts> {
    let text = fs::read_to_string(path).map_err(about(path))?;
    let mut counts = Counts::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    done.fetch_add(1, Relaxed);
    Ok(counts)
}

/// Adds the smaller counts to the larger.
fn merge(mut left: Counts, mut right: Counts) -> Counts {
    if left.len() < right.len() {
        std::mem::swap(&mut left, &mut right);
    }
    for (word, count) in right {
        *left.entry(word).or_default() += count;
    }
    left
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process;

    use super::*;

    /// A new folder, which is deleted in the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = env::temp_dir().join(format!("filch-{name}-{}", process::id()));
            fs::create_dir(&folder).expect("the name is new");
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // Nothing but the test's own files is left behind if it fails.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    type Count = fn(&Path, &AtomicU64) -> io::Result<Counts>;

    fn by_handles(path: &Path, done: &AtomicU64) -> io::Result<Counts> {
        filch::ThreadPool::global().run(|w| handles::count(w, path, done))
    }

    const VERSIONS: [Count; 3] = [closures::count, by_handles, with_rayon::count];

    #[test]
    fn all_versions_count_the_same() {
        let folder = Folder::new("words");
        for i in 0..40 {
            let inner = folder.0.join(format!("{}/{}", i % 3, i % 5));
            fs::create_dir_all(&inner).unwrap();
            fs::write(inner.join(i.to_string()), format!("The fork, the join. Number{i}\n")).unwrap();
        }
        for count in VERSIONS {
            let done = AtomicU64::new(0);
            let counts = count(&folder.0, &done).unwrap();
            assert_eq!(done.into_inner(), 40);
            assert_eq!(counts.len(), 43);
            assert_eq!((counts["the"], counts["fork"], counts["number39"]), (80, 40, 1));
        }
    }

    #[test]
    fn an_error_names_its_file_and_ends_the_count() {
        let folder = Folder::new("errors");
        for i in 0..20 {
            fs::write(folder.0.join(i.to_string()), "text").unwrap();
        }
        fs::create_dir(folder.0.join("deep")).unwrap();
        fs::write(folder.0.join("deep/binary"), [0xff, 0xfe]).unwrap();
        for count in VERSIONS {
            let error = count(&folder.0, &AtomicU64::new(0)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("binary"), "{error}");
        }
    }
}
