//! What filch's programs on the command line have in common.
//!
//! The driver, the checkers and the probes are programs of their own; whoever uses them sees one.

pub mod error;
pub mod flags;
pub mod interrupt;
pub mod json;
pub mod progress;
pub mod stats;
pub mod table;
pub mod terminal;
