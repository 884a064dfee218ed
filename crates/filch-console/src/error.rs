//! How a command ends when it does not succeed, and the exit status for that.

use std::io;
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
}

/// The result of a step that can end the program.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// Reports the error on standard error and returns the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Usage(why) => {
                eprintln!("filch: {why}");
                ExitCode::from(2)
            }
            Self::Failed => ExitCode::from(1),
            Self::FailedBecause(why) => {
                eprintln!("filch: {why}");
                ExitCode::from(1)
            }
            Self::Interrupted => {
                eprintln!("filch: interrupted; the results so far are above");
                ExitCode::from(130)
            }
            // The reader of our output has seen enough: a normal end.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Output(error) => {
                eprintln!("filch: cannot write the output: {error}");
                ExitCode::from(2)
            }
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
