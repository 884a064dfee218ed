//! What the compiler says to the usual mistakes. Other compilers say it in other layouts, so only sentences count.
#![cfg(not(miri))]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A name, a program, and what its error must say.
const MISTAKES: &[(&str, &str, &[&str])] = &[
    (
        "an_iterator_in_a_loop",
        "fn main() { filch::for_each(\"some words\".split(' '), |_| ()); }",
        &["cannot be cut in two for a parallel loop", "wrap any other iterator, as in `filch::iter::bridge(lines)`"],
    ),
    (
        "a_number",
        "fn main() { filch::for_each(7, |_| ()); }",
        &["cannot be cut in two for a parallel loop", "borrow a collection, as in `&v` or `&mut v`"],
    ),
    (
        "an_iterator",
        "fn main() { filch::par([1, 2].iter().map(|n| n + 1)).sum::<i32>(); }",
        &["cannot be looped over in parallel", "wrap any other iterator, as in `filch::iter::bridge(lines)`"],
    ),
    (
        "a_queue_is_no_pool",
        "fn main() { let _ = filch::Builder::<filch_queue::ChaseLev>::new(); }",
        &["`ChaseLev` is no kind of task pool", "as in `filch::pool::Queued<filch_queue::ChaseLev>`"],
    ),
    (
        "any_pool",
        "fn f<P>(mut w: filch::Worker<'_, P>) { w.poll(); } fn main() {}",
        &["is no kind of task pool", "`fn f<P: filch::pool::Pool>(w: Worker<'_, P>)`"],
    ),
    (
        "no_queue",
        "fn main() { let _ = filch::Builder::<filch::pool::Queued<Vec<u8>>>::new(); }",
        &["is no work-stealing queue", "as in `filch::pool::Queued<filch_queue::ChaseLev>`"],
    ),
    (
        "too_many_levels",
        "fn f(w: filch::Worker<'_>) { w.in_levels::<filch::levels::Levels<5>>(); } fn main() {}",
        &["`Levels<5>` is no level of a recursion", "`#[filch::inline_recursion(8)]`"],
    ),
    (
        "a_missing_use_of_a_trait",
        "use filch::par;\nfn main() { println!(\"{} {}\", (0..10).length(), par(0..10).count()); }",
        &["use filch::Divisible;"],
    ),
    (
        "an_outer_handle",
        "fn f(mut w: filch::Worker<'_>) { w.join(|_| w.index(), |_| 0); } fn main() {}",
        &["w.join(|_| w.index(), |_| 0)", "borrow"],
    ),
    (
        "an_outer_handle_in_the_other_branch",
        "fn f(mut w: filch::Worker<'_>) { w.join(|_| 0, |_| w.index()); } fn main() {}",
        &["a handle cannot leave its branch", "as in `w.join(|w| f(w), |w| g(w))`"],
    ),
];

/// Makes a package with a program for each mistake.
fn package() -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("messages");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::create_dir_all(root.join("src/bin")).unwrap();
    let write = |file: &str, text: &str| {
        // An unchanged file keeps its time, and cargo its work.
        if fs::read_to_string(root.join(file)).ok().as_deref() != Some(text) {
            fs::write(root.join(file), text).unwrap();
        }
    };
    let dependency = |name: &str| format!("{name} = {{ path = {:?} }}\n", workspace.join("crates").join(name));
    let dependencies = dependency("filch") + &dependency("filch-queue");
    write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"messages\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{dependencies}"
        ),
    );
    fs::copy(workspace.join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
    write("src/bin/right.rs", "fn main() { filch::for_each(0..3, |_| ()); }");
    for (name, program, _) in MISTAKES {
        write(&format!("src/bin/{name}.rs"), program);
    }
    root
}

#[test]
fn usual_mistakes_are_told_what_to_write() {
    let root = package();
    let check = |name: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["check", "--offline", "--quiet", "--bin", name]).current_dir(&root);
        // Flags for this test's build, as of a sanitizer, are not for these programs.
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WORKSPACE_WRAPPER"] {
            cargo.env_remove(variable);
        }
        cargo.env("CARGO_TARGET_DIR", root.join("target")).env("CARGO_TERM_COLOR", "never");
        let output = cargo.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (is_right, said) = check("right");
    assert!(is_right, "{said}");
    for (name, _, sentences) in MISTAKES {
        let (is_right, said) = check(name);
        assert!(!is_right, "{name} compiles");
        for sentence in *sentences {
            assert!(said.contains(sentence), "{name} is not told {sentence:?}:\n{said}");
        }
    }
}
