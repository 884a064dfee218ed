//! One JSON object per line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result, usage};

/// A file or standard output that receives one object per line.
///
/// ```
/// use filch_console::json::Lines;
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
    is_stdout: bool,
}

impl Lines {
    /// Opens the file at once, so that a measurement of minutes does not end with an error.
    pub fn create(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { output: Box::new(io::stdout()), is_stdout: true });
        }
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self { output: Box::new(file), is_stdout: false })
    }

    /// Like [`Lines::create`], but appends to the file.
    pub fn append(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Self::create(path);
        }
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self { output: Box::new(file), is_stdout: false })
    }

    /// Whether the lines go to standard output.
    pub fn is_stdout(&self) -> bool {
        self.is_stdout
    }

    /// Writes and flushes a line: an interrupt must not lose it.
    pub fn write(&mut self, value: &impl Serialize) -> Result {
        let mut line = serde_json::to_string(value).map_err(io::Error::from)?;
        line.push('\n');
        self.output.write_all(line.as_bytes())?;
        self.output.flush()?;
        Ok(())
    }
}

/// Fails if the file cannot be written; keeps its contents.
pub fn check_writable(path: &Path) -> Result {
    let existed = path.exists();
    OpenOptions::new().append(true).create(true).open(path).map_err(|error| unwritable(path, &error))?;
    if !existed {
        // This was only a test: if nothing is reported later, no file remains.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Writes a whole file.
pub fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> Result {
    std::fs::write(path, contents).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    usage(format!("cannot write {}: {error}", path.display()))
}
