//! Passes the build's settings to the program, for the machine record of every measurement.

use std::process::Command;

fn main() {
    let compiler = Command::new(variable("RUSTC")).arg("--version").output().ok();
    let compiler = compiler.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    set("COMPILER", compiler.trim());
    set("TARGET", &variable("TARGET"));
    set("PROFILE", &variable("PROFILE"));
    set("RUSTFLAGS", &variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " "));
    println!("cargo::rerun-if-changed=build.rs");
}

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env=FILCH_{name}={}", if value.is_empty() { "unknown" } else { value });
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
