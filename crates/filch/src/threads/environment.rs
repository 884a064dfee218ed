//! Settings by environment variables.
//!
//! Invariant: a value that cannot be used is an error, not a default, since whoever sets a variable wants its effect.

use std::env;

use crate::threads::error::BuildError;

/// Returns the value of an environment variable; `None` if it is unset or empty.
///
/// ```
/// assert_eq!(filch::inside::host::variable("FILCH_NO_SUCH_VARIABLE")?, None);
/// # Ok::<(), filch::BuildError>(())
/// ```
///
/// # Errors
/// [`BuildError::Variable`] if the value is not Unicode.
pub fn variable(name: &'static str) -> Result<Option<String>, BuildError> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(value)) => {
            let value = value.to_string_lossy().into_owned();
            Err(BuildError::Variable { name, value, why: "it is not Unicode".to_owned() })
        }
    }
}
