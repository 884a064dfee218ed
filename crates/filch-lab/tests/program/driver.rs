//! The driver, as these tests start it.
//!
//! Invariant: no test runs a program that is older than its sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::SystemTime;

use serde_json::Value;

use crate::common;

/// The packages of the programs that the tests start.
const PACKAGES: [&str; 5] = ["filch-runner", "filch-check", "filch-probe", "filch-sim", "filch-peers"];

/// cargo builds a package's programs for its integration tests, and only then. What is missing would be built in the
/// middle of these tests, which may take very long.
#[test]
fn the_tests_of_the_workspace_build_all_programs() {
    let workspace = Workspace(common::metadata());
    for package in PACKAGES {
        let mut targets = list(&workspace.package(package)["targets"]).iter();
        assert!(targets.any(|target| target["kind"][0] == "test"), "{package} has no integration test");
    }
}

/// Returns the driver. The tests of the whole workspace build the programs that it starts. It would rebuild them by
/// itself, with other features of shared crates. So if all programs are up to date, it gets a cargo that does not
/// exist.
pub(crate) fn driver() -> Command {
    static IS_BUILT: LazyLock<bool> = LazyLock::new(|| Workspace(common::metadata()).is_built());
    let driver = Path::new(env!("CARGO_BIN_EXE_filch"));
    let mut command = Command::new(driver);
    if *IS_BUILT {
        command.env("CARGO", driver.with_file_name("no cargo"));
    }
    command
}

/// cargo's metadata of the workspace.
struct Workspace(Value);

impl Workspace {
    /// Whether all programs that the tests start are beside the driver, and newer than their sources.
    fn is_built(&self) -> bool {
        self.programs().iter().all(|(package, program)| {
            let mut sources = BTreeSet::new();
            self.add_sources(package, &mut sources);
            let built = changed(&Path::new(env!("CARGO_BIN_EXE_filch")).with_file_name(program));
            built.is_some() && sources.iter().all(|folder| newest(folder) <= built)
        })
    }

    fn package(&self, name: &str) -> &Value {
        list(&self.0["packages"]).iter().find(|package| package["name"] == name).unwrap_or(&Value::Null)
    }

    /// Returns the programs that the tests start, with their packages.
    fn programs(&self) -> BTreeSet<(&'static str, String)> {
        let mut programs = BTreeSet::new();
        for package in PACKAGES {
            let default = list(&self.package(package)["features"]["default"]);
            for target in list(&self.package(package)["targets"]) {
                // Other programs need a system library.
                let is_built = list(&target["required-features"]).iter().all(|feature| default.contains(feature));
                if target["kind"][0] == "bin" && is_built {
                    let name = target["name"].as_str().unwrap_or_default();
                    programs.insert((package, format!("{name}{}", std::env::consts::EXE_SUFFIX)));
                }
            }
        }
        programs
    }

    /// Adds the folders of a package and of the workspace's packages that it uses.
    fn add_sources(&self, name: &str, sources: &mut BTreeSet<PathBuf>) {
        let package = self.package(name);
        let Some(folder) = package["manifest_path"].as_str().and_then(|path| Path::new(path).parent()) else { return };
        if sources.insert(folder.to_path_buf()) {
            for used in list(&package["dependencies"]) {
                if used["path"].is_string() && used["kind"] != "dev" {
                    self.add_sources(used["name"].as_str().unwrap_or_default(), sources);
                }
            }
        }
    }
}

/// Returns the items of a list, or nothing if there is no list.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The time of a file's last change.
fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|data| data.modified()).ok()
}

/// The time of the last change of a package's sources.
fn newest(package: &Path) -> Option<SystemTime> {
    fn below(folder: &Path) -> Option<SystemTime> {
        let entries = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        entries.filter_map(|path| if path.is_dir() { below(&path) } else { changed(&path) }).max()
    }
    ["src", "cpp"]
        .iter()
        .filter_map(|folder| below(&package.join(folder)))
        .chain(changed(&package.join("Cargo.toml")))
        .max()
}
