//! The list of all peers: a new peer is a row here, and a runner.

/// The description of a peer.
///
/// ```
/// assert!(filch_catalogue::PEERS.iter().any(|peer| peer.name == "rayon" && peer.package.is_none()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PeerSpec {
    /// Its name in commands.
    pub name: &'static str,
    /// Its version; `None` for the system's.
    pub version: Option<&'static str>,
    /// A one-line description.
    pub summary: &'static str,
    /// Its home page.
    pub home: &'static str,
    /// The system packages that its runner needs, by Debian's names.
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
        summary: "C++, tasks of the compiler's runtime",
        home: "https://www.openmp.org",
        package: Some("g++"),
    },
];
