//! One JSON object per line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result, usage};

/// A file, or standard output, that takes lines as they come.
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
    /// Opens the file, so that nobody measures for minutes and then cannot write.
    pub fn create(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { output: Box::new(io::stdout()), is_stdout: true });
        }
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self { output: Box::new(file), is_stdout: false })
    }

    /// As [`Lines::create`], after what is in the file already.
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

    /// Writes a line at once: an interrupt must find it in the file.
    pub fn write(&mut self, value: &impl Serialize) -> Result {
        let mut line = serde_json::to_string(value).map_err(io::Error::from)?;
        line.push('\n');
        self.output.write_all(line.as_bytes())?;
        self.output.flush()?;
        Ok(())
    }
}

/// An error now if the file could not be written later; what is in it stays.
pub fn check_writable(path: &Path) -> Result {
    let existed = path.exists();
    OpenOptions::new().append(true).create(true).open(path).map_err(|error| unwritable(path, &error))?;
    if !existed {
        // Only a trial: nothing is left behind when there will be nothing to report.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Writes a whole file.
pub fn write_file(path: &Path, text: &str) -> Result {
    std::fs::write(path, text).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    usage(format!("cannot write {}: {error}", path.display()))
}
