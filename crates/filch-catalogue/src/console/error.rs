//! How a command ends when it does not succeed, and the exit status for that.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// A reason not to end with success.
#[derive(Debug)]
pub enum Error {
    /// The request cannot be met: status 2.
    Usage(String),
    /// A check failed, and its findings are printed already: status 1.
    Failed,
    /// A check failed for this reason: status 1.
    FailedBecause(String),
    /// The user pressed Ctrl-C, and the results so far are printed already: status 130.
    Interrupted,
    /// Standard output is closed or full.
    Output(io::Error),
    /// A file cannot be written, for want of room or permission: status 2.
    File(PathBuf, io::Error),
}

/// The result of a step that can end the program.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// Reports the error on standard error and returns the exit status.
    pub fn report(&self) -> ExitCode {
        // The reader of our output has seen enough: a normal end. And whoever printed its findings needs no more words.
        let is_quiet = match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            other => matches!(other, Self::Failed),
        };
        if !is_quiet {
            eprintln!("filch: {self}");
        }
        ExitCode::from(match self {
            Self::Usage(_) | Self::Output(_) | Self::File(..) => 2,
            Self::Failed | Self::FailedBecause(_) => 1,
            Self::Interrupted => 130,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) | Self::FailedBecause(why) => f.write_str(why),
            Self::Failed => f.write_str("a check failed"),
            Self::Interrupted => f.write_str("interrupted; the results so far are above"),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
            Self::File(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Returns an error for a request that cannot be met.
#[expect(clippy::needless_pass_by_value, reason = "so that `map_err` accepts it")]
pub fn usage(why: impl ToString) -> Error {
    Error::Usage(why.to_string())
}
