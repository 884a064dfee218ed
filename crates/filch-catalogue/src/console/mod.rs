//! What filch's command-line programs share.
//!
//! The driver, the checkers and the probes are separate programs; a user sees one.

pub mod error;
pub mod flags;
pub mod interrupt;
pub mod json;
pub mod progress;
pub mod stats;
pub mod store_buffer;
pub mod table;
pub mod terminal;
