//! Writes the list of the checked sources: whatever lies in the folders below, path and text.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// From the workspace's `crates` folder: the queues, the protocols, and what this crate itself makes variables in.
const FOLDERS: &[&str] =
    &["filch-queue/src", "filch/src/protocol", "filch-check/src/scenarios", "filch-check/src/twins"];

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"));
    let crates = own.parent().expect("this crate lies in the folder of all");
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={}", crates.join(folder).display());
        find(&crates.join(folder), &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[");
    for file in files {
        let name = file.strip_prefix(crates).expect("it lies in a folder there").to_string_lossy().replace('\\', "/");
        write!(list, "\n    ({name:?}, include_str!({:?})),", file.to_string_lossy()).expect("strings take everything");
    }
    list.push_str("\n]\n");
    fs::write(PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where")).join("sources.rs"), list)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
