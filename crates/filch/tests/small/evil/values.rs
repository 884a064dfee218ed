//! Values whose destructors panic, and descriptions of how programs with them end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

use crate::any::Thing;

/// Panics when dropped, the given number of times: the payload is another `Evil`, one less evil.
#[derive(Debug)]
pub(crate) struct Evil(Box<usize>);

impl Evil {
    pub(crate) fn new(depth: usize) -> Self {
        Self(Box::new(depth))
    }

    /// Makes it harmless and returns its depth.
    pub(crate) fn defuse(mut self) -> usize {
        std::mem::take(&mut *self.0)
    }
}

impl Drop for Evil {
    fn drop(&mut self) {
        if *self.0 > 0 {
            throw_evil(*self.0 - 1);
        }
    }
}

pub(crate) fn throw_evil(depth: usize) -> ! {
    panic_any(Evil::new(depth))
}

pub(crate) const PLAIN: &str = "plain";

/// Throws an ordinary payload.
pub(crate) fn throw_plain() -> ! {
    panic_any(PLAIN)
}

/// Describes the end of `f`.
pub(crate) fn outcome<R: Told>(f: impl FnOnce() -> R) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => format!("returns {}", result.told()),
        Err(payload) => format!("throws {}", payload_told(payload)),
    }
}

fn payload_told(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<Evil>() {
        Ok(evil) => format!("Evil({})", evil.defuse()),
        Err(payload) => match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(text), _) => (*text).to_owned(),
            (_, Some(text)) => text.clone(),
            _ => "something else".to_owned(),
        },
    }
}

/// A value that can be described without the panics of its drop.
pub(crate) trait Told {
    fn told(self) -> String;
}

impl Told for () {
    fn told(self) -> String {
        "nothing".to_owned()
    }
}

impl Told for usize {
    fn told(self) -> String {
        self.to_string()
    }
}

impl Told for Thing {
    fn told(self) -> String {
        self.told()
    }
}

impl Told for (Thing, Thing) {
    fn told(self) -> String {
        let a = self.0.told();
        format!("{a} and {}", self.1.told())
    }
}

impl Told for (Vec<Thing>, bool) {
    fn told(self) -> String {
        let things: Vec<String> = self.0.into_iter().map(Thing::told).collect();
        format!("{}, complete: {}", things.join(", "), self.1)
    }
}

impl Told for (Thing, bool) {
    fn told(self) -> String {
        format!("{}, complete: {}", self.0.told(), self.1)
    }
}
