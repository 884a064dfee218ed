//! All names in `docs/internals.md` exist, and the library's files are short.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the steps of the page: the heading, the file, and a name in it.
fn steps(page: &str) -> Vec<(&str, &str, &str)> {
    let (mut heading, mut is_drawing, mut steps) = ("", false, Vec::new());
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            heading = name;
        }
        if line.starts_with("```") {
            is_drawing = line == "```text";
        } else if is_drawing {
            let mut words = line.split_whitespace().peekable();
            while let Some(word) = words.next() {
                if let Some(file) = word.strip_suffix(':').filter(|file| file.ends_with(".rs")) {
                    steps.push((heading, file, *words.peek().expect("a name follows its file")));
                }
            }
        }
    }
    steps
}

/// Returns whether the source defines a function or a type of that name.
fn defines(source: &str, name: &str) -> bool {
    ["fn ", "struct ", "enum ", "trait "].iter().any(|keyword| {
        source.match_indices(&format!("{keyword}{name}")).any(|(at, found)| {
            let next = source[at + found.len()..].chars().next();
            next.is_some_and(|next| !next.is_alphanumeric() && next != '_')
        })
    })
}

#[test]
fn all_names_on_the_page_exist() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(crate_folder.join("../../docs/internals.md")).expect("the page is there");
    let steps = steps(&page);
    for heading in ["A fork", "A steal", "A wait", "An entry from outside", "A wake-up"] {
        let its_own = steps.iter().filter(|(of, ..)| *of == heading).count();
        assert!(its_own >= 6, "the path of {heading:?} has only {its_own} steps");
    }
    for (heading, file, name) in steps {
        let source = fs::read_to_string(crate_folder.join("src").join(file));
        let source = source.unwrap_or_else(|error| panic!("{heading}: {file}: {error}"));
        assert!(defines(&source, name), "{heading}: there is no {name} in {file}");
    }
}

#[test]
fn part_of_a_name_does_not_match() {
    let source = "fn push_cold() {} struct Here<'w>(&'w ());";
    assert!(defines(source, "push_cold") && defines(source, "Here"));
    assert!(!defines(source, "push") && !defines(source, "cold") && !defines(source, "He"));
}

/// Returns all Rust files under a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

#[test]
fn every_file_of_the_library_is_short() {
    const MOST: usize = 500;
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is in the folder of all crates");
    for name in ["filch", "filch-queue", "filch-memory"] {
        let files = sources(&crates.join(name).join("src"));
        assert!(!files.is_empty(), "{name}");
        for file in files {
            let lines = fs::read_to_string(&file).expect("it can be read").lines().count();
            assert!(lines <= MOST, "{} has {lines} lines: which concept deserves a file of its own?", file.display());
        }
    }
}
