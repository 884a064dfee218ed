//! The one list of all peers: a new one is a row here, and a runner.

/// What there is to know about somebody else's scheduler before it is built.
///
/// ```
/// assert!(filch_catalogue::PEERS.iter().any(|peer| peer.name == "rayon" && peer.package.is_none()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PeerSpec {
    /// The name it is asked for by.
    pub name: &'static str,
    /// Its version; `None` where that is whatever the system has.
    pub version: Option<&'static str>,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it lives.
    pub home: &'static str,
    /// What its runner needs of the system, as Debian's packages.
    pub package: Option<&'static str>,
}

/// All peers.
pub const PEERS: &[PeerSpec] = &[
    PeerSpec {
        name: "rayon",
        version: Some("1.12.0"),
        summary: "Rust, Chase-Lev deques, closures",
        home: "https://github.com/rayon-rs/rayon",
        package: None,
    },
    PeerSpec {
        name: "chili",
        version: Some("0.2.1"),
        summary: "Rust, private queues, work shared at a heartbeat",
        home: "https://github.com/dragostis/chili",
        package: None,
    },
    PeerSpec {
        name: "lace-ws",
        version: Some("1.0.0"),
        summary: "Rust, Lace's split deque, spawn and sync, leapfrogging",
        home: "https://crates.io/crates/lace-ws",
        package: None,
    },
    PeerSpec {
        name: "forte",
        version: Some("1.0.0-alpha.4"),
        summary: "Rust, private queues, work shared at a heartbeat",
        home: "https://github.com/NthTensor/Forte",
        package: None,
    },
    PeerSpec {
        name: "onetbb",
        version: None,
        summary: "C++, task groups",
        home: "https://github.com/uxlfoundation/oneTBB",
        package: Some("g++ libtbb-dev"),
    },
    PeerSpec {
        name: "openmp",
        version: None,
        summary: "C++, tasks of the compiler's own runtime",
        home: "https://www.openmp.org",
        package: Some("g++"),
    },
];
