//! Passes the commit and the target to the program, for the record of every measurement.

use std::process::Command;

#[path = "src/commit.rs"]
mod commit;

fn main() {
    let sources = std::path::PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let commit = commit::of(&sources).unwrap_or_else(|| "unknown: no history of the sources".to_owned());
    set("COMMIT", &commit);
    set("TARGET", &variable("TARGET"));
    println!("cargo::rerun-if-env-changed=TARGET");
    // A commit moves the head of a branch without changing a source file.
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = text(Command::new("git").args(["rev-parse", "--git-path", path]))
            && std::path::Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env=FILCH_{name}={value}");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Returns the output of a command that succeeds, unless it is empty.
fn text(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
