//! The commit of the sources that are measured.
//!
//! What must always hold: where the driver has its runners built, they are built from the sources as they are at that moment,
//! so the commit is asked for then, and not remembered from when the driver itself was built.

use std::sync::OnceLock;

use crate::runners;

#[path = "commit.rs"]
mod commit;

/// For the record of every run: the commit, `+changes` if the sources differ from it; or in words why there is none.
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
    fn sources_without_history_have_no_commit_and_borrow_none() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Wherever these tests run from.
        let ours = commit::of(folder);
        let Some(history) = git(folder, &["rev-parse", "HEAD"]) else { return assert_eq!(ours, None) };
        let ours = ours.expect("there is a history");
        assert!(history.starts_with(ours.trim_end_matches("+changes")), "{ours} of {history}");
        // A copy below somebody's repository.
        let outer = std::env::temp_dir().join(format!("filch-commit-{}", std::process::id()));
        let copy = outer.join("copy");
        fs::create_dir_all(&copy).unwrap();
        fs::write(copy.join("Cargo.toml"), "").unwrap();
        assert_eq!(commit::of(&copy), None, "no history at all");
        let identity = ["-c", "user.name=n", "-c", "user.email=e@example.com"];
        git(&outer, &["init", "-q"]);
        git(&outer, &[&identity[..], &["commit", "-q", "--allow-empty", "-m", "theirs"]].concat());
        assert_eq!(commit::of(&copy), None, "theirs is not ours");
        git(&outer, &["add", "."]);
        git(&outer, &[&identity[..], &["commit", "-q", "-m", "ours"]].concat());
        let clean = commit::of(&copy).expect("it is theirs and ours now");
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
