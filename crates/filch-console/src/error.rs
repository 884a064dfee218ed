//! Why the program ends other than well, and with which exit status.

use std::io;
use std::process::ExitCode;

/// An end other than success.
#[derive(Debug)]
pub enum Error {
    /// What was asked for cannot be done: status 2.
    Usage(String),
    /// A check failed, and what it found has been said already: status 1.
    Failed,
    /// A check failed for this reason: status 1.
    FailedBecause(String),
    /// Somebody pressed Ctrl-C, and what was done until then has been said already: status 130.
    Interrupted,
    /// Standard output went away or is full.
    Output(io::Error),
}

/// Of everything that can end the program.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// Says what happened on standard error and gives the exit status.
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
                eprintln!("filch: interrupted; what was done until then is above");
                ExitCode::from(130)
            }
            // Whoever read our output has seen enough: a normal end.
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

/// What was asked for cannot be done.
#[expect(clippy::needless_pass_by_value, reason = "so that it can be given to map_err")]
pub fn usage(why: impl ToString) -> Error {
    Error::Usage(why.to_string())
}
