//! What nobody will ever drop.
//!
//! What must always hold: what is kept stays where a search for leaks finds it, from a static, so that it takes the rest for leaks alone.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// Keeps a value as long as the process, as [`std::mem::forget`] does, but does not lose it: a tool that looks for leaks sees that it is
/// kept on purpose.
///
/// ```
/// let kept: &'static String = Box::leak(Box::new("kept".to_owned()));
/// filch::host::keep(kept);
/// ```
pub fn keep<T: Send + 'static>(value: T) {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(value));
}
