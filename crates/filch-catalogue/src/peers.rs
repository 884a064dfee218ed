//! The list of all peers: a new peer is a row here, and a runner or an adapter.

/// The description of a peer.
///
/// ```
/// assert!(filch_catalogue::PEERS.iter().any(|peer| peer.name == "rayon" && peer.adapter.is_none()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PeerSpec {
    /// Its name in commands.
    pub name: &'static str,
    /// The version that is known to work.
    pub version: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// Where to get it.
    pub home: &'static str,
    /// How its runner is made, if cargo does not build it.
    pub adapter: Option<Adapter>,
    /// The programs that its model can express, if not all that fork and join.
    pub programs: Option<&'static [&'static str]>,
}

impl PeerSpec {
    /// Returns why it cannot run a fork–join program.
    ///
    /// ```
    /// let paralight = filch_catalogue::PEERS.iter().find(|peer| peer.name == "paralight").unwrap();
    /// assert_eq!(paralight.why_not("each"), None);
    /// assert_eq!(paralight.why_not("fib").unwrap(), "paralight: has loops and no forks, so it runs only each, jacobi, loops");
    /// ```
    pub fn why_not(&self, program: &str) -> Option<String> {
        let programs = self.programs.filter(|programs| !programs.contains(&program))?;
        Some(format!("{}: has loops and no forks, so it runs only {}", self.name, programs.join(", ")))
    }
}

/// How the runner of a scheduler in C or C++ is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Adapter {
    /// The file of `crates/filch-peers/cpp`.
    pub file: &'static str,
    /// The standard of the language, as compilers name it.
    pub standard: &'static str,
    /// The compilers to try, the best first.
    pub compilers: &'static [&'static str],
    /// The compilers that are known to work, and what else is needed, for people.
    pub needs: &'static str,
    /// A file that tells its sources from other folders; without one it is part of the system or of the compiler.
    pub mark: Option<&'static str>,
    /// The folders of its sources with headers.
    pub include: &'static [&'static str],
    /// The files of its sources to compile.
    pub sources: &'static [&'static str],
    /// The flags that its documentation or benchmarks use.
    pub flags: &'static [&'static str],
    /// The package of its sources, if they are a workspace of cargo's, whose static library is to be linked.
    pub package: Option<&'static str>,
    /// The libraries to link.
    pub libraries: &'static [&'static str],
    /// Flags for a library that it uses where there is one.
    pub optional: &'static [Optional],
}

/// A library that a scheduler gains from.
#[derive(Clone, Copy, Debug)]
pub struct Optional {
    /// Its name, for people.
    pub name: &'static str,
    /// What finds it.
    pub library: &'static str,
    /// The flags that then apply.
    pub flags: &'static [&'static str],
}

const CLANG: &[&str] = &["clang++-21", "clang++-20", "clang++-19", "clang++-18", "clang++", "g++-14", "g++-13", "g++"];
const C: &[&str] = &["clang-21", "clang-20", "clang-19", "clang-18", "clang", "gcc", "cc"];

/// Allocators that the comparison of runtimes recommends for all of them.
const TCMALLOC: Optional = Optional { name: "tcmalloc", library: "-l:libtcmalloc_minimal.so.4", flags: &[] };

const fn hwloc(flags: &'static [&'static str]) -> Optional {
    Optional { name: "hwloc", library: "-lhwloc", flags }
}

/// An adapter in C++ of a library that consists of headers.
const fn headers(file: &'static str, mark: &'static str, include: &'static [&'static str]) -> Adapter {
    Adapter {
        file,
        standard: "c++20",
        compilers: CLANG,
        needs: "clang 18 or gcc 13, C++20",
        mark: Some(mark),
        include,
        sources: &[],
        flags: &[],
        package: None,
        libraries: &[],
        optional: &[TCMALLOC],
    }
}

/// Under the names of Lace, which two libraries have.
const fn in_laces_names(mark: &'static str, include: &'static [&'static str]) -> Adapter {
    Adapter {
        standard: "gnu11",
        compilers: C,
        needs: "clang or gcc, C11",
        optional: &[],
        ..headers("lace.c", mark, include)
    }
}

const LACE: Adapter = Adapter {
    sources: &["src/lace.c"],
    // Its build enables this; the others are options that its build leaves off.
    flags: &[
        "-DLACE_USE_MMAP=1",
        "-DLACE_PIE_TIMES=0",
        "-DLACE_COUNT_TASKS=0",
        "-DLACE_COUNT_STEALS=0",
        "-DLACE_COUNT_SPLITS=0",
    ],
    ..in_laces_names("src/lace.h", &["src"])
};

const FILCH_C: Adapter = Adapter {
    needs: "clang or gcc, C11, and cargo",
    package: Some("filch-c"),
    // Rust's standard library needs it.
    libraries: &["-ldl"],
    ..in_laces_names("crates/filch-c/include/filch-lace.h", &["crates/filch-c/include/lace"])
};

const fn by_gcc(adapter: Adapter) -> Option<Adapter> {
    Some(Adapter { compilers: &["gcc"], ..adapter })
}

const fn rust(name: &'static str, version: &'static str, summary: &'static str, home: &'static str) -> PeerSpec {
    PeerSpec { name, version, summary, home, adapter: None, programs: None }
}

/// All peers.
pub const PEERS: &[PeerSpec] = &[
    rust("rayon", "1.12.0", "Rust, Chase-Lev deques, closures", "https://github.com/rayon-rs/rayon"),
    rust("chili", "0.2.1", "Rust, private queues, work shared at a heartbeat", "https://github.com/dragostis/chili"),
    rust(
        "lace-ws",
        "1.0.0",
        "Rust, Lace's split deque, spawn and sync, leapfrogging",
        "https://crates.io/crates/lace-ws",
    ),
    rust(
        "forte",
        "1.0.0-alpha.4",
        "Rust, private queues, work shared at a heartbeat",
        "https://github.com/NthTensor/Forte",
    ),
    rust(
        "threads",
        "of Rust 1.90",
        "Rust, the standard library's threads, shared out at the first forks",
        "https://doc.rust-lang.org/std/thread",
    ),
    rust("tokio", "1.54.1", "Rust, its threads for blocking calls, shared out at the first forks", "https://tokio.rs"),
    PeerSpec {
        programs: Some(&["each", "jacobi", "loops"]),
        ..rust(
            "paralight",
            "0.0.12",
            "Rust, flat loops over slices, ranges that threads steal",
            "https://github.com/gendx/paralight",
        )
    },
    PeerSpec {
        programs: Some(&["loops"]),
        ..rust(
            "orx-parallel",
            "4.1.1",
            "Rust, parallel iterators, chunks drawn by threads that sleep",
            "https://github.com/orxfun/orx-parallel",
        )
    },
    PeerSpec {
        programs: Some(&["loops"]),
        ..rust(
            "forkunion",
            "3.0.2",
            "C++ and Rust, flat loops, equal parts for threads that spin; a C++ compiler builds it",
            "https://github.com/ashvardanian/ForkUnion",
        )
    },
    PeerSpec {
        programs: Some(&["loops"]),
        ..rust(
            "forkunion-dynamic",
            "3.0.2",
            "as forkunion, but threads take one item at a time",
            "https://github.com/ashvardanian/ForkUnion",
        )
    },
    PeerSpec {
        name: "lace",
        version: "1.4.2",
        summary: "C, the split deque of its paper, spawn and sync, leapfrogging",
        home: "https://github.com/trolando/lace",
        adapter: Some(LACE),
        programs: None,
    },
    PeerSpec {
        name: "lace-gcc",
        version: "1.4.2",
        summary: "lace, compiled by gcc",
        home: "https://github.com/trolando/lace",
        adapter: by_gcc(LACE),
        programs: None,
    },
    PeerSpec {
        name: "filch-c",
        version: "of this driver",
        summary: "C, the programs of lace on filch.h",
        home: "filch's own sources",
        adapter: Some(FILCH_C),
        programs: None,
    },
    PeerSpec {
        name: "filch-c-gcc",
        version: "of this driver",
        summary: "filch-c, compiled by gcc",
        home: "filch's own sources",
        adapter: by_gcc(FILCH_C),
        programs: None,
    },
    PeerSpec {
        name: "citor",
        version: "0.6.0",
        summary: "C++, Chase-Lev deques, fork–join of functions",
        home: "https://github.com/Lallapallooza/citor",
        adapter: Some(Adapter {
            // As the comparison of runtimes sets it, for deep recursion.
            flags: &["-DCITOR_WORKER_STACK_KIB=65536"],
            needs: "clang 18 or gcc 14, C++20, x86-64",
            ..headers("citor.cpp", "include/citor/thread_pool.h", &["include"])
        }),
        programs: None,
    },
    PeerSpec {
        name: "libfork",
        version: "3.8.0",
        summary: "C++, coroutines, continuation stealing on segmented stacks",
        home: "https://github.com/ConorWilliams/libfork",
        adapter: Some(Adapter {
            standard: "c++23",
            needs: "clang 18 or gcc 13, C++23",
            optional: &[TCMALLOC, hwloc(&["-DLF_USE_HWLOC"])],
            ..headers("libfork.cpp", "include/libfork.hpp", &["include"])
        }),
        programs: None,
    },
    PeerSpec {
        name: "toomanycooks",
        version: "1.7.0",
        summary: "C++, coroutines, a runtime for work and waiting",
        home: "https://github.com/tzcnt/TooManyCooks",
        adapter: Some(Adapter {
            flags: &["-DTMC_PRIORITY_COUNT=1", "-DTMC_TRIVIAL_TASK"],
            optional: &[TCMALLOC, hwloc(&["-DTMC_USE_HWLOC"])],
            ..headers("toomanycooks.cpp", "include/tmc/ex_cpu.hpp", &["include"])
        }),
        programs: None,
    },
    PeerSpec {
        name: "taskflow",
        version: "4.1.0",
        summary: "C++, task graphs and task groups",
        home: "https://github.com/taskflow/taskflow",
        adapter: Some(Adapter {
            flags: &["-DTF_ENABLE_ATOMIC_NOTIFIER"],
            ..headers("taskflow.cpp", "taskflow/taskflow.hpp", &["."])
        }),
        programs: None,
    },
    PeerSpec {
        name: "parlaylib",
        version: "of 17 September 2025",
        summary: "C++, parallel algorithms on a small scheduler",
        home: "https://github.com/cmuparlay/parlaylib",
        adapter: Some(Adapter {
            standard: "c++17",
            needs: "clang or gcc, C++17",
            ..headers("parlaylib.cpp", "include/parlay/parallel.h", &["include"])
        }),
        programs: None,
    },
    PeerSpec {
        name: "onetbb",
        version: "2021.8",
        summary: "C++, parallel_invoke and task groups",
        home: "https://github.com/uxlfoundation/oneTBB (Debian: libtbb-dev)",
        adapter: Some(Adapter {
            standard: "c++17",
            needs: "clang or gcc, C++17, and oneTBB's headers and library",
            mark: None,
            libraries: &["-ltbb"],
            ..headers("onetbb.cpp", "", &["include"])
        }),
        programs: None,
    },
    PeerSpec {
        name: "openmp",
        version: "4.5",
        summary: "C++, tasks of the compiler's runtime",
        home: "https://www.openmp.org",
        adapter: Some(Adapter {
            standard: "c++17",
            compilers: &["g++", "clang++"],
            needs: "a compiler with OpenMP, C++17",
            mark: None,
            flags: &["-fopenmp"],
            libraries: &["-fopenmp"],
            ..headers("openmp.cpp", "", &[])
        }),
        programs: None,
    },
    PeerSpec {
        name: "opencilk",
        version: "3.0",
        summary: "C++ with cilk_spawn and cilk_sync, continuation stealing",
        home: "https://www.opencilk.org",
        adapter: Some(Adapter {
            compilers: &["/opt/opencilk/bin/clang++"],
            needs: "OpenCilk's compiler",
            mark: None,
            flags: &["-fopencilk"],
            libraries: &["-fopencilk"],
            ..headers("opencilk.cpp", "", &[])
        }),
        programs: None,
    },
];
