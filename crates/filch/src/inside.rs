//! Unstable internals, for integrators and checkers: programs need none of this.
//!
//! * [`host`]: for libraries that give filch another interface, as the drop-in for `rayon-core` does.
//! * [`protocol`]: the protocols that workers follow, for checkers.
//!
//! This module may change in any release.

#[path = "host/mod.rs"]
pub mod host;
#[path = "protocol/mod.rs"]
pub mod protocol;
