//! cargo's metadata of the workspace.

use std::process::Command;

use serde_json::Value;

/// Returns the metadata of the workspace's packages alone, without a registry.
pub(crate) fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo should start");
    assert!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata should print JSON")
}
