//! Other fork–join schedulers, running the same programs as filch.
//!
//! A peer implements [`filch_workloads::ForkJoin`] and runs the same source as filch. Every peer is a feature.
//! Schedulers in C and C++ have no crate: `filch peers add` compiles the adapters in `cpp/`, which have the programs as
//! their users would write them.
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
//! | `threads` | the caller, and w - 1 that forks start | as requested | halving |
//! | `tokio` | the caller, and w - 1 that the first forks start | as requested | halving |
//! | `paralight` | w of its own | `RUST_MIN_STACK`, or else 2 MiB | none: it has loops alone |
//! | `orx-parallel` | ours and w - 1 of the process's pool | 2 MiB | none |
//! | `forkunion`, `forkunion-dynamic` | ours and w - 1 of its own, which spin when idle | the system's | none |
//!
//! The version of forte is 1.0.0-alpha.4, the last that builds with rustc 1.95; later ones need rustc 1.96.

#[cfg(any(feature = "chili", feature = "lace-ws", feature = "forte", feature = "tokio"))]
mod beside;
mod peer;
#[cfg(any(feature = "chili", feature = "lace-ws", feature = "forte"))]
mod root;

#[cfg(feature = "chili")]
mod chili;
#[cfg(any(feature = "forkunion", feature = "forkunion-dynamic", feature = "orx-parallel"))]
mod flat;
#[cfg(any(feature = "forkunion", feature = "forkunion-dynamic"))]
mod forkunion;
#[cfg(feature = "forte")]
mod forte;
#[cfg(feature = "lace-ws")]
mod lace_ws;
#[cfg(feature = "orx-parallel")]
mod orx_parallel;
#[cfg(feature = "paralight")]
mod paralight;
#[cfg(feature = "rayon")]
mod rayon;
#[cfg(feature = "threads")]
mod threads;
#[cfg(feature = "tokio")]
mod tokio;

pub use peer::Peer;
#[cfg(feature = "rayon")]
pub use rayon::Handle as RayonHandle;

/// Defines a function per peer, which returns the peer whose scheduler `$start` starts.
macro_rules! peers {
    ($($feature:literal $function:ident: $start:path;)+) => {
        $(
            #[doc = concat!("The peer `", $feature, "`.")]
            #[cfg(feature = $feature)]
            pub fn $function() -> Peer {
                Peer::new($feature, |name, workers, stack_bytes| {
                    Ok(peer::contender(name, $start(workers, stack_bytes)?))
                })
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
    "threads" threads: threads::Threads::start;
    "tokio" tokio: tokio::Tokio::start;
    "paralight" paralight: paralight::Paralight::start;
    "orx-parallel" orx_parallel: orx_parallel::OrxParallel::start;
    "forkunion" forkunion: forkunion::ForkUnion::<false>::start;
    "forkunion-dynamic" forkunion_dynamic: forkunion::ForkUnion::<true>::start;
}
