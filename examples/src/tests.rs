//! What the examples claim about their length, and the pages about the repository.

use std::fs;
use std::path::Path;

/// Returns the lines of code, without blank lines and comments.
fn lines(source: &str) -> usize {
    source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn no_program_is_longer_than_its_rayon_version() {
    macro_rules! pairs {
        ($($folder:literal: $($ours:literal),+);+ $(;)?) => {[$($(
            ($folder, $ours, include_str!(concat!($folder, "/", $ours)), include_str!(concat!($folder, "/with_rayon.rs"))),
        )+)+]};
    }
    let pairs = pairs! {
        "word_count": "closures.rs", "handles.rs";
        "image_filter": "with_filch.rs";
        "branch_and_bound": "with_filch.rs";
        "bursts": "with_filch.rs";
        "async_jobs": "with_filch.rs";
    };
    for (folder, name, ours, rayons) in pairs {
        let (ours, rayons) = (lines(ours), lines(rayons));
        assert!(rayons >= 5, "{folder} has a rayon version");
        assert!(ours <= rayons, "{folder}/{name} has {ours} lines, the rayon version {rayons}");
    }
}

/// The folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the examples are in the repository")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the Markdown files of a folder, without its subfolders, as paths in the repository.
fn pages(folder: &str) -> Vec<String> {
    let names = fs::read_dir(root().join(folder)).expect("the folder is there");
    let names = names.map(|entry| entry.expect("it can be read").file_name().into_string().expect("names are text"));
    names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")).collect()
}

/// Returns the targets of a page's links, which are outside its code.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let text = page.split("```").step_by(2);
    text.flat_map(|text| text.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
}

/// Returns the identifiers of a page's headings.
fn headings(page: &str) -> Vec<String> {
    let titles = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        _ => (letter.is_alphanumeric() || letter == '-').then(|| letter.to_ascii_lowercase()),
    };
    titles.map(|title| title.chars().filter_map(letter).collect()).collect()
}

#[test]
fn links_lead_to_pages_and_headings() {
    let mut all = vec!["README.md".to_owned(), "examples/README.md".to_owned()];
    all.extend(pages("docs"));
    all.extend(pages("docs/book"));
    all.extend(pages("results"));
    let mut checked = 0;
    for path in all {
        let page = read(&path);
        for link in links(&page).filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => root().join(&path),
                _ => root().join(&path).parent().expect("a page is in a folder").join(file),
            };
            assert!(target.exists(), "{path} links to {link}");
            let is_there = |page: String| headings(&page).iter().any(|known| known == heading);
            assert!(heading.is_empty() || fs::read_to_string(target).is_ok_and(is_there), "{path} links to {link}");
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn the_summary_has_every_page_and_every_example_is_run() {
    let summary = read("docs/SUMMARY.md");
    let listed: Vec<_> = links(&summary).map(|link| format!("docs/{link}")).collect();
    for page in pages("docs").into_iter().chain(pages("docs/book")).filter(|page| page != "docs/SUMMARY.md") {
        assert!(listed.contains(&page), "docs/SUMMARY.md lacks {page}");
        let is_run = include_str!("book.rs").contains(&format!("\"{page}\""));
        assert!(is_run || !read(&page).contains("```rust"), "examples/src/book.rs lacks {page}");
    }
}

#[test]
fn promises_name_tests_that_exist() {
    let page = read("docs/book/promises.md");
    let named: Vec<_> = page.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(".rs::")).collect();
    assert!(named.len() > 20, "{}", named.len());
    for (file, test) in named {
        let file = if file.contains('/') { format!("{file}.rs") } else { format!("crates/filch/tests/{file}.rs") };
        assert!(read(&file).contains(&format!("fn {test}()")), "{file} has no test {test}");
    }
}
