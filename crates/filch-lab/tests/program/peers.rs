//! Peers in C and C++, as a user adds and removes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::driver::driver;
use crate::{folder, lines, stderr, stdout};

/// Runs the driver with a cache of its own.
fn filch(cache: &Path, arguments: &[&str]) -> Output {
    filch_by(driver(), cache, arguments)
}

fn filch_by(mut command: Command, cache: &Path, arguments: &[&str]) -> Output {
    command.args(arguments).current_dir(folder()).env("XDG_CACHE_HOME", cache).stdin(Stdio::null());
    command.output().expect("the program starts")
}

fn cache(name: &str) -> PathBuf {
    let cache = folder().join(format!("peers-{name}"));
    let _ = fs::remove_dir_all(&cache);
    fs::create_dir_all(&cache).expect("a writable folder");
    cache
}

fn refuses(cache: &Path, arguments: &[&str], words: &[&str]) {
    let output = filch(cache, arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: `{word}` in {said}");
    }
}

/// All programs of adapters, small, and right answers.
const PROGRAMS: &[(&[&str], &str)] = &[
    (&["fib:n=20"], "6765"),
    (&["fib:n=22:cutoff=10"], "17711"),
    (&["skynet:levels=4"], "49995000"),
    (&["nqueens:n=8"], "92"),
    (&["queens:n=8"], "92"),
    (&["uts:tree=T3S:b=200.9"], "45065 nodes, 39456 leaves, depth 252"),
    (&["matmul:n=100"], "100 × 100 product"),
    (&["matmul-quarters:n=128"], "128 × 128 product"),
    (&["cilksort:n=50000"], "50000 keys sorted"),
];

/// The driver with cargo, which builds the library that filch-c links with.
fn with_cargo() -> Command {
    let mut command = driver();
    command.env("CARGO", env!("CARGO"));
    command
}

/// Runs all programs that a peer has; returns their number.
fn answers(by: fn() -> Command, cache: &Path, peer: &str) -> usize {
    let mut count = 0;
    for (program, right) in PROGRAMS {
        for workers in ["1", "2"] {
            let more = ["--peers", peer, "--workers", workers, "--repeat", "2", "--json", "-", "--quiet"];
            let arguments: Vec<&str> = ["run"].iter().chain(*program).chain(&more).copied().collect();
            let output = filch_by(by(), cache, &arguments);
            let said = stderr(&output);
            if said.contains("there is no program") {
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{peer}: {arguments:?}: {said}");
            for run in lines(&stdout(&output)) {
                assert_eq!((&run["answer"], &run["correct"]), (&(*right).into(), &true.into()), "{peer}: {run}");
                assert!(run["version"].as_str().is_some_and(|version| version.contains("-O3")), "{run}");
                count += 1;
            }
        }
    }
    count
}

/// filch's own.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn what_is_missing_is_said() {
    let cache = cache("missing");
    let listed = filch(&cache, &["peers"]);
    let listed = stdout(&listed);
    for part in
        ["lace", "https://github.com/trolando/lace", "filch peers add lace --source DIR", "filch peers add onetbb"]
    {
        assert!(listed.contains(part), "{part} in {listed}");
    }
    refuses(
        &cache,
        &["run", "fib", "--peers", "lace"],
        &["lace is not added", "filch peers add lace --source DIR", "C11"],
    );
    refuses(&cache, &["build", "libfork"], &["libfork is not added"]);
    refuses(&cache, &["peers", "add", "lace"], &["needs its sources", "https://github.com/trolando/lace"]);
    refuses(&cache, &["peers", "add", "lace", "--source", "."], &["is no checkout of lace", "src/lace.h"]);
    refuses(&cache, &["peers", "add", "lace", "--source", "nowhere"], &["nowhere"]);
    refuses(
        &cache,
        &["peers", "add", "openmp", "--compiler", "no-such-c++"],
        &["no-such-c++ cannot be started", "C++17"],
    );
    refuses(&cache, &["peers", "add", "filch-c", "--source", "."], &["is no checkout of filch-c", "filch-lace.h"]);
    refuses(
        &cache,
        &["peers", "add", "filch-c", "--source", SOURCES, "--compiler", "no-such-cc"],
        &["no compiler for filch-c", "no-such-cc cannot be started"],
    );
    refuses(&cache, &["peers", "add", "rayon"], &["need not be added"]);
    refuses(&cache, &["peers", "add", "lase"], &["did you mean `lace`"]);
    refuses(&cache, &["peers", "remove", "lase"], &["did you mean `lace`"]);
    assert!(stdout(&filch(&cache, &["peers", "remove", "lace"])).contains("was not there"));
    assert!(!cache.join("filch/peers").exists());
}

#[test]
fn a_peer_that_does_not_compile_leaves_a_log() {
    if Command::new("cc").arg("--version").output().is_err() {
        return println!("not tested: no C compiler `cc`");
    }
    let cache = cache("broken");
    let source = cache.join("source");
    fs::create_dir_all(source.join("src")).expect("a writable folder");
    fs::write(source.join("src/lace.h"), "#error this is not Lace\n").expect("a writable file");
    fs::write(source.join("src/lace.c"), "").expect("a writable file");
    let source = source.to_str().expect("UTF-8");
    let add = ["peers", "add", "lace", "--compiler", "cc", "--source", source];
    refuses(&cache, &add, &["could not compile the adapter of lace", "this is not Lace", "lace.log"]);
    let log = fs::read_to_string(cache.join("filch/peers/lace.log")).expect("a log");
    assert!(log.starts_with("$ cc ") && log.contains("this is not Lace") && log.contains("-march=native"), "{log}");
    let for_another = [&add[..], &["--cpu", "no-such-cpu"]].concat();
    refuses(&cache, &for_another, &["could not compile the adapter of lace", "no-such-cpu"]);
    refuses(&cache, &["run", "fib", "--peers", "lace"], &["lace is not added"]);
}

#[test]
fn a_peer_of_the_compiler_comes_and_goes() {
    let cache = cache("openmp");
    let output = filch(&cache, &["peers", "add", "openmp"]);
    let said = stderr(&output);
    if said.contains("no compiler") || said.contains("could not compile") {
        return println!("not tested: {said}");
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    let listed = stdout(&filch(&cache, &["peers"]));
    assert!(listed.contains("-fopenmp") && listed.contains("filch peers remove openmp"), "{listed}");
    assert_eq!(answers(driver, &cache, "openmp"), 4 * PROGRAMS.len());
    // A record of another version of the adapter.
    let record = cache.join("filch/peers/openmp/peer.json");
    let text = fs::read_to_string(&record).expect("a record");
    let old = serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["adapter"].clone();
    fs::write(&record, text.replace(old.as_str().expect("text"), "0")).expect("a writable file");
    let again = filch(&cache, &["run", "fib:n=10", "--peers", "openmp"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(fs::read_to_string(&record).expect("a record").contains(old.as_str().expect("text")));
    assert!(stdout(&filch(&cache, &["peers", "remove", "openmp"])).contains("removed"));
    refuses(&cache, &["run", "fib", "--peers", "openmp"], &["openmp is not added"]);
}

/// `FILCH_RIVALS` names a folder with checkouts of the peers' sources, each under the peer's name.
#[test]
fn peers_whose_sources_are_there_are_right() {
    let Some(sources) = std::env::var_os("FILCH_RIVALS").map(PathBuf::from) else {
        return println!("not tested: FILCH_RIVALS is not set");
    };
    let cache = cache("sources");
    for entry in fs::read_dir(sources).expect("the folder FILCH_RIVALS") {
        let source = entry.expect("an entry").path();
        let name = source.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        let output = filch(&cache, &["peers", "add", &name, "--source", source.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        assert!(answers(driver, &cache, &name) >= 24, "{name}");
    }
    // The same source as for Lace, on filch's header, whose library cargo builds.
    let output = filch_by(with_cargo(), &cache, &["peers", "add", "filch-c", "--source", SOURCES]);
    assert_eq!(output.status.code(), Some(0), "filch-c: {}", stderr(&output));
    assert!(answers(with_cargo, &cache, "filch-c") >= 24);
}
