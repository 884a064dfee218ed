//! One JSON object per line.
//!
//! Invariant: one process at a time writes a file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::console::error::{Error, Result};

/// A file or standard output that receives one object per line.
///
/// ```
/// use filch_catalogue::console::json::Lines;
///
/// let file = std::env::temp_dir().join(format!("filch-lines-{}", std::process::id()));
/// Lines::create(&file).and_then(|mut lines| lines.write(&[1, 2])).unwrap();
/// Lines::append(&file).and_then(|mut lines| lines.write(&"three")).unwrap();
/// assert_eq!(std::fs::read_to_string(&file)?, "[1,2]\n\"three\"\n");
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Lines {
    output: Box<dyn Write + Send>,
    /// The file, if it is not standard output.
    path: Option<PathBuf>,
}

impl Lines {
    /// Opens the file at once, so that a measurement of minutes does not end with an error. What it contains is lost.
    ///
    /// # Errors
    /// If it cannot be written, or another process writes it.
    pub fn create(path: &Path) -> Result<Self> {
        Self::open(path, false)
    }

    /// Like [`Lines::create`], but appends to the file.
    ///
    /// # Errors
    /// As there.
    pub fn append(path: &Path) -> Result<Self> {
        Self::open(path, true)
    }

    fn open(path: &Path, keeps: bool) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { output: Box::new(io::stdout()), path: None });
        }
        let alone = || {
            let file = OpenOptions::new().append(true).create(true).open(path)?;
            if !file.metadata()?.is_file() {
                // A device or a pipe may have several writers.
                return Ok(file);
            }
            // Some file systems have no locks.
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Err(io::Error::other("another process is writing it"));
            }
            if !keeps {
                file.set_len(0)?;
            }
            Ok::<File, io::Error>(file)
        };
        Ok(Self { output: Box::new(alone().map_err(unwritable(path))?), path: Some(path.to_path_buf()) })
    }

    /// Whether the lines go to standard output.
    pub fn is_stdout(&self) -> bool {
        self.path.is_none()
    }

    /// Writes and flushes a line: an interrupt must not lose it.
    pub fn write(&mut self, value: &impl Serialize) -> Result {
        let mut line = serde_json::to_string(value).map_err(io::Error::from)?;
        line.push('\n');
        let written = self.output.write_all(line.as_bytes()).and_then(|()| self.output.flush());
        written.map_err(|error| match &self.path {
            Some(path) => Error::File(path.clone(), error),
            None => Error::Output(error),
        })
    }
}

/// Fails if the file cannot be written; keeps its contents.
pub fn check_writable(path: &Path) -> Result {
    let existed = path.exists();
    OpenOptions::new().append(true).create(true).open(path).map_err(unwritable(path))?;
    if !existed {
        // This was only a test: if nothing is reported later, no file remains.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Writes a whole file.
pub fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> Result {
    std::fs::write(path, contents).map_err(unwritable(path))
}

fn unwritable(path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| Error::File(path.to_path_buf(), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_writer() {
        let path = std::env::temp_dir().join(format!("filch-writers-{}", std::process::id()));
        let mut first = Lines::create(&path).unwrap();
        first.write(&1).unwrap();
        for open in [Lines::create, Lines::append] {
            let said = open(&path).err().expect("somebody writes it").to_string();
            assert!(said.contains("another process is writing it"), "{said}");
        }
        drop(first);
        Lines::append(&path).unwrap().write(&2).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n");
        Lines::create(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
        #[cfg(unix)]
        let _two_writers = [(); 2].map(|()| Lines::append(Path::new("/dev/null")).unwrap());
        std::fs::remove_file(&path).unwrap();
        #[cfg(unix)]
        Lines::create(Path::new("/dev/null")).unwrap().write(&1).unwrap();
    }
}
