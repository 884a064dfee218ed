//! Passes the commit and the target to the program, for the record of every measurement, and the experiments' files.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[path = "src/commit.rs"]
mod commit;

fn main() {
    let sources = std::path::PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let commit = commit::of(&sources).unwrap_or_else(|| "unknown: no history of the sources".to_owned());
    set("COMMIT", &commit);
    set("TARGET", &variable("TARGET"));
    println!("cargo::rerun-if-env-changed=TARGET");
    // Other programs have only the rest of this script.
    if variable("CARGO_PKG_NAME") == "filch-lab" {
        list_experiments(&sources.join("../../experiments"));
    }
    // A commit moves the head of a branch without changing a source file.
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = text(Command::new("git").args(["rev-parse", "--git-path", path]))
            && std::path::Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// Writes `FILES`: the names and texts of all experiments.
fn list_experiments(folder: &Path) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let folder = folder.canonicalize().expect("the folder of the experiments is there");
    let entries = fs::read_dir(&folder).expect("it can be read");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let mut list = String::from("static FILES: &[(&str, &str)] = &[\n");
    for path in paths {
        let id = path.file_stem().unwrap_or_default();
        writeln!(list, "    ({id:?}, include_str!({path:?})),").expect("a text grows");
    }
    list += "];\n";
    fs::write(Path::new(&variable("OUT_DIR")).join("experiments.rs"), list).expect("cargo's folder can be written");
}

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env=FILCH_{name}={value}");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Returns the output of a command that succeeds, unless it is empty.
fn text(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
