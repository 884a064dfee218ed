//! The commit of the measured sources.
//!
//! Invariant: if the driver builds its runners, it builds them from the current sources. So it reads the commit at that
//! time, instead of using the commit of its own build.

use std::sync::OnceLock;

use crate::runners;

#[path = "commit.rs"]
mod commit;

/// Returns the commit for the record of every run, with `+changes` if the sources differ from it, or the reason why
/// there is none.
pub(crate) fn commit() -> String {
    static COMMIT: OnceLock<String> = OnceLock::new();
    let found = || runners::sources().and_then(|sources| commit::of(&sources));
    COMMIT.get_or_init(|| found().unwrap_or_else(|| env!("FILCH_COMMIT").to_owned())).clone()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn sources_without_history_have_no_commit() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        // These tests may run from any copy of the sources.
        let ours = commit::of(folder);
        let Some(history) = git(folder, &["rev-parse", "HEAD"]) else { return assert_eq!(ours, None) };
        let ours = ours.expect("a commit");
        assert!(history.starts_with(ours.trim_end_matches("+changes")), "{ours} of {history}");
        // A copy inside another repository.
        let outer = std::env::temp_dir().join(format!("filch-commit-{}", std::process::id()));
        let copy = outer.join("copy");
        fs::create_dir_all(&copy).unwrap();
        fs::write(copy.join("Cargo.toml"), "").unwrap();
        assert_eq!(commit::of(&copy), None, "no repository");
        let identity = ["-c", "user.name=n", "-c", "user.email=e@example.com"];
        git(&outer, &["init", "-q"]);
        git(&outer, &[&identity[..], &["commit", "-q", "--allow-empty", "-m", "theirs"]].concat());
        assert_eq!(commit::of(&copy), None, "the outer repository's commit");
        git(&outer, &["add", "."]);
        git(&outer, &[&identity[..], &["commit", "-q", "-m", "ours"]].concat());
        let clean = commit::of(&copy).expect("a commit of the copy");
        assert!(!clean.contains('+'), "{clean}");
        fs::write(copy.join("Cargo.toml"), "# changed").unwrap();
        assert_eq!(commit::of(&copy), Some(clean + "+changes"));
        fs::remove_dir_all(&outer).unwrap();
    }

    fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
        let output = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}
