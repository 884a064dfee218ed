//! Values that are never dropped.
//!
//! Invariant: a leak checker finds kept values through a static, so it reports only real leaks.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use crate::machine::process::PerProcess;

static KEPT: PerProcess<Mutex<Vec<Box<dyn Any + Send>>>> = PerProcess::new();

/// Keeps a value for the life of the process, as [`std::mem::forget`] does, but reachable, so that a leak checker does
/// not report it.
///
/// ```
/// let kept: &'static String = Box::leak(Box::new("kept".to_owned()));
/// filch::inside::host::keep(kept);
/// ```
pub fn keep<T: Send + 'static>(value: T) {
    KEPT.get().lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(value));
}
