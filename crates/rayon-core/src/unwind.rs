//! Panics at the edges of tasks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Runs `f`; its panic becomes an error. Whoever calls this passes the panic on, so nobody sees what it left behind.
pub(crate) fn halt_unwinding<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}
