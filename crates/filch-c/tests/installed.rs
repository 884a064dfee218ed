//! Programs in C find an installation by pkg-config and by CMake, where there are these.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "#include <filch.h>
FILCH_TASK(long, fib, int, n)
{
    if (n < 2) return n;
    FILCH_SPAWN(fib, n - 1);
    long a = FILCH_CALL(fib, n - 2);
    return a + FILCH_SYNC(fib);
}
int main(void) { return FILCH_RUN(NULL, fib, 20) == 6765 ? 0 : 1; }
";

const PROJECT: &str = "cmake_minimum_required(VERSION 3.10)
project(fib C)
set(CMAKE_C_STANDARD 11)
find_package(filch 0.1 REQUIRED)
add_executable(shared fib.c)
target_link_libraries(shared filch::filch)
add_executable(static fib.c)
target_link_libraries(static filch::static)
";

/// Runs a command; returns what it says.
fn well(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Whether all these can be started; says it if not.
fn are_there(tools: &[&str]) -> bool {
    let is_missing = |tool: &&&str| Command::new(tool).arg("--version").output().is_err();
    let missing = tools.iter().find(is_missing);
    if let Some(tool) = missing {
        // Not by a macro, whose output the harness would hide.
        let _ = writeln!(io::stderr(), "SKIPPED: there is no {tool}, so no installation is tested with it");
    }
    missing.is_none()
}

/// Installs the libraries that cargo has built for this test, in an empty folder.
fn installed(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder can be made");
    fs::write(folder.join("fib.c"), PROGRAM).expect("the folder is there");
    let own = std::env::current_exe().expect("the test has a path");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install");
    well(Command::new(script).arg(folder.join("prefix")).arg(own.parent().expect("it is in a folder")));
    folder
}

#[test]
fn pkg_config_finds_it() {
    if !are_there(&["cc", "pkg-config", "install"]) {
        return;
    }
    let folder = installed("pkg-config");
    let path = folder.join("prefix/lib/pkgconfig");
    let mut flags = Command::new("pkg-config");
    let flags = well(flags.env("PKG_CONFIG_PATH", path).args(["--cflags", "--libs", "filch >= 0.1"]));
    let program = folder.join("fib");
    well(Command::new("cc").arg(folder.join("fib.c")).args(flags.split_whitespace()).arg("-o").arg(&program));
    well(Command::new(program).env("LD_LIBRARY_PATH", folder.join("prefix/lib")));
}

#[test]
fn cmake_finds_it() {
    if !are_there(&["cc", "cmake", "make", "install"]) {
        return;
    }
    let folder = installed("cmake");
    fs::write(folder.join("CMakeLists.txt"), PROJECT).expect("the folder is there");
    let build = folder.join("build");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", folder.join("prefix").display());
    well(Command::new("cmake").arg("-S").arg(&folder).arg("-B").arg(&build).arg(prefix));
    well(Command::new("cmake").arg("--build").arg(&build));
    for program in ["shared", "static"] {
        well(&mut Command::new(build.join(program)));
    }
}
