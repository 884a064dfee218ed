//! Other fork–join schedulers, running the same programs as filch.
//!
//! A peer in Rust implements [`filch_workloads::ForkJoin`] and runs the same source as filch; a peer in C++ gets ports
//! of the programs, written as its users would write them. Every peer is a feature. Those in Rust are on by default;
//! `onetbb` and `openmp` need a C++ compiler and, for oneTBB, the Debian package `libtbb-dev`.
//!
//! `workers` always means the number of computing threads. The root task runs on one of them, on a stack of the
//! requested size if the peer lets us choose it.
//!
//! | peer | threads for w workers | their stacks | fork of several children |
//! |---|---|---|---|
//! | `rayon` | w of its own | as requested | halving of the list of children |
//! | `chili` | ours and w - 1 of its own, and a heartbeat thread | others: `RUST_MIN_STACK`, or else 2 MiB | halving |
//! | `lace-ws` | ours and w - 1 of its own, which spin when idle | others: 16 MiB | its spawn and sync |
//! | `forte` | ours and w - 1 of its own, and a heartbeat thread | others: `RUST_MIN_STACK`, or else 2 MiB | halving |
//! | `onetbb` | ours and w - 1 of its own | others: as the first peer of the process requested | `task_group` |
//! | `openmp` | ours and w - 1 of its own | others: `OMP_STACKSIZE`, or else the system's | `task` and `taskwait` |
//!
//! The version of forte is 1.0.0-alpha.4, the last that builds with rustc 1.95; later ones need rustc 1.96.

mod peer;
#[cfg(any(feature = "chili", feature = "lace-ws", feature = "forte", feature = "onetbb", feature = "openmp"))]
mod root;

#[cfg(feature = "chili")]
mod chili;
#[cfg(any(feature = "onetbb", feature = "openmp"))]
mod cpp;
#[cfg(feature = "forte")]
mod forte;
#[cfg(feature = "lace-ws")]
mod lace_ws;
#[cfg(feature = "rayon")]
mod rayon;

pub use peer::Peer;
#[cfg(feature = "rayon")]
pub use rayon::Handle as RayonHandle;

/// Defines a function per peer, which returns the peer whose scheduler `$start` starts.
macro_rules! peers {
    ($($feature:literal $function:ident: $start:path $(, $version:path)?;)+) => {
        $(
            #[doc = concat!("The peer `", $feature, "`.")]
            #[cfg(feature = $feature)]
            pub fn $function() -> Peer {
                let peer = Peer::in_rust($feature, |name, workers, stack_bytes| {
                    Ok(peer::contender(name, $start(workers, stack_bytes)?))
                });
                $(let peer = peer.ported($version, cpp::PORTED);)?
                peer
            }
        )+

        /// Returns the enabled peers.
        pub fn all() -> Vec<Peer> {
            vec![$(#[cfg(feature = $feature)] $function()),+]
        }
    };
}

peers! {
    "rayon" rayon: rayon::Rayon::start;
    "chili" chili: chili::Chili::start;
    "lace-ws" lace_ws: lace_ws::LaceWs::start;
    "forte" forte: forte::Forte::start;
    "onetbb" onetbb: cpp::Cpp::onetbb, cpp::onetbb_version;
    "openmp" openmp: cpp::Cpp::openmp, cpp::openmp_version;
}
