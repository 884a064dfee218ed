//! All names in `docs/internals.md` exist, its folders are those of the library and import as it says, and files are
//! short.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

fn page() -> String {
    fs::read_to_string(Path::new(SOURCE).join("../../../docs/internals.md")).expect("the page is there")
}

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
    let page = page();
    let steps = steps(&page);
    for heading in ["A fork", "A steal", "A wait", "An entry from outside", "A wake-up"] {
        let its_own = steps.iter().filter(|(of, ..)| *of == heading).count();
        assert!(its_own >= 6, "the path of {heading:?} has only {its_own} steps");
    }
    for (heading, file, name) in steps {
        let source = fs::read_to_string(Path::new(SOURCE).join(file));
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

/// Returns the folders, or files, of the page's list: the lowest comes first.
fn order(page: &str) -> Vec<&str> {
    let list =
        page.split("## The folders").nth(1).and_then(|rest| rest.split("```").nth(1)).expect("the list is there");
    list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect()
}

/// Returns what a file compiles into programs: without comments, tests and what is there for links in documentation.
fn code(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default()).peekable();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        let attribute = line.trim_start();
        if !["#[cfg(test)]", "#[cfg(all(test", "#[cfg(doc)]", "#[cfg(doctest)]"]
            .iter()
            .any(|it| attribute.starts_with(it))
        {
            code.extend([line, "\n"]);
            continue;
        }
        for next in lines.by_ref() {
            if indent(next) == indent(line) && next.trim_end().ends_with([';', '}']) {
                break;
            }
        }
    }
    code
}

/// Returns the paths in a tree of imports.
fn expanded(tree: &str) -> Vec<String> {
    let Some((start, group)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in group[..group.rfind('}').expect("the group ends")].chars() {
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().expect("it has one").push(c),
        }
        depth += i32::from(c == '{') - i32::from(c == '}');
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| expanded(part)).map(|path| format!("{}{path}", start.trim())).collect()
}

/// Returns the paths that a file uses, in its imports or elsewhere, from the root of the crate.
fn used(file: &Path, text: &str) -> BTreeSet<Vec<String>> {
    let code = code(text);
    let module = file.with_extension("");
    let mut module: Vec<&str> = module.iter().map(|part| part.to_str().expect("it is text")).collect();
    let is_head = module.last() == Some(&"mod");
    module.truncate(module.len() - usize::from(is_head));
    let mut used = BTreeSet::new();
    for word in ["crate::", "super::", "self::", "use "] {
        for (at, _) in code.match_indices(word) {
            let line = code[..at].rfind('\n').map_or(0, |end| end + 1);
            let before = &code[line..at];
            if before.ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c)) || before.contains("pub(in ") {
                continue;
            }
            let rest = &code[at + if word == "use " { word.len() } else { 0 }..];
            let is_import = word == "use " || before.trim_end().ends_with("use");
            let end = if is_import {
                rest.find(';')
            } else {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
            };
            let tree = &rest[..end.unwrap_or(rest.len())];
            // A text may have the word "use", too.
            if !tree.chars().all(|c| c.is_alphanumeric() || "_:{},* \n".contains(c)) {
                continue;
            }
            for path in expanded(tree) {
                let mut path: Vec<&str> = path.split("::").collect();
                // A path in a module within the file begins there.
                let mut from = module.clone();
                if before.starts_with(' ') && path[0] == "super" {
                    path.remove(0);
                } else if path[0] == "self" || path[0] == "crate" {
                    from.truncate(if path.remove(0) == "crate" { 0 } else { from.len() });
                } else if path[0] != "super" && !is_head {
                    continue;
                }
                while path.first() == Some(&"super") {
                    path.remove(0);
                    from.pop();
                }
                from.extend(path);
                used.insert(from.iter().map(|part| (*part).to_owned()).collect());
            }
        }
    }
    used
}

/// Returns all files of the library but its root, by path from there, with what they use.
fn library() -> BTreeMap<PathBuf, BTreeSet<Vec<String>>> {
    let files = sources(Path::new(SOURCE)).into_iter().map(|file| {
        let text = fs::read_to_string(&file).expect("it can be read");
        let file = file.strip_prefix(SOURCE).expect("it is below").to_owned();
        let used = used(&file, &text);
        (file, used)
    });
    files.filter(|(file, _)| file != Path::new("lib.rs") && file != Path::new("inside.rs")).collect()
}

#[test]
fn the_folders_are_those_of_the_page() {
    let page = page();
    let mut listed: Vec<&str> = order(&page);
    listed.extend(["inside", "lib"]);
    listed.sort_unstable();
    let entries = fs::read_dir(SOURCE).expect("it is there").map(|entry| entry.expect("it can be read").path());
    let mut names: Vec<_> = entries.map(|path| path.file_stem().expect("it has a name").to_owned()).collect();
    names.sort_unstable();
    assert_eq!(listed, names);
    assert!(names.len() <= 20, "{} entries: which belong together?", names.len());
    for name in names {
        let head = Path::new(SOURCE).join(&name).join("mod.rs");
        let has_head = fs::read_to_string(&head).is_ok_and(|text| text.starts_with("//! "));
        assert!(has_head || Path::new(SOURCE).join(name).with_extension("rs").exists(), "{}", head.display());
    }
}

#[test]
fn folders_import_only_from_those_above_them() {
    let page = page();
    let order = order(&page);
    let rank = |name: &str| order.iter().position(|listed| *listed == name);
    let mut complaints = Vec::new();
    for (file, used) in library() {
        let own = file.iter().next().expect("it has a name").to_str().expect("it is text").trim_end_matches(".rs");
        for path in used.iter().filter(|path| path[0] != own) {
            match rank(&path[0]) {
                Some(at) if Some(at) < rank(own) => {}
                Some(_) => complaints.push(format!(
                    "{own} comes before {}: {} in {}",
                    path[0],
                    path.join("::"),
                    file.display()
                )),
                // Such as `BuildError`, which says nothing of the folder.
                None => complaints.push(format!("{}: import {} from its file", file.display(), path.join("::"))),
            }
        }
    }
    assert!(complaints.is_empty(), "against the order of docs/internals.md:\n{}", complaints.join("\n"));
}

/// Returns the file that a path leads to.
fn file_of(path: &[String], files: &BTreeMap<PathBuf, BTreeSet<Vec<String>>>) -> Option<PathBuf> {
    (1..=path.len()).rev().find_map(|length| {
        let module: PathBuf = path[..length].iter().collect();
        [module.with_extension("rs"), module.join("mod.rs")].into_iter().find(|file| files.contains_key(file))
    })
}

#[test]
fn four_pairs_of_files_at_most_import_each_other() {
    let files = library();
    let next: BTreeMap<&PathBuf, BTreeSet<PathBuf>> = files
        .iter()
        .map(|(file, used)| (file, used.iter().filter_map(|path| file_of(path, &files)).collect()))
        .collect();
    let reached = |from: &PathBuf| {
        let (mut reached, mut todo) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(file) = todo.pop() {
            todo.extend(next[&file].iter().filter(|file| reached.insert((*file).clone())).cloned());
        }
        reached
    };
    let reached: BTreeMap<&PathBuf, BTreeSet<PathBuf>> = files.keys().map(|file| (file, reached(file))).collect();
    let circle =
        |of: &PathBuf| reached[of].iter().filter(|file| reached[file].contains(of)).cloned().collect::<Vec<_>>();
    let circles: BTreeSet<Vec<PathBuf>> = files.keys().map(circle).filter(|circle| circle.len() > 1).collect();
    assert!(circles.iter().all(|circle| circle.len() == 2) && circles.len() <= 4, "{circles:#?}");
}

#[test]
fn imports_are_found() {
    let text = "//! [x](crate::host)\nuse super::{b, c::{self, D as E}};\n#[cfg(test)]\nmod tests {\n    use crate::host;\n}\n\
                fn f() { crate::g::h(super::i::J) }\nmod inner {\n    use super::K;\n}\nuse std::fmt;\n";
    let found = |file: &str| used(Path::new(file), text).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(found("a/x.rs"), ["a::b", "a::c::D", "a::c::self", "a::i::J", "a::x::K", "g::h"]);
    assert_eq!(found("a/mod.rs"), ["a::K", "a::std::fmt", "b", "c::D", "c::self", "g::h", "i::J"]);
}
