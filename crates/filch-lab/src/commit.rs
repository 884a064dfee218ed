// The commit of a folder of sources, according to git. The build script and the driver share this file.

use std::path::Path;
use std::process::Command;

/// Returns the commit, with `+changes` if the files differ from it; `None` if these sources have no history of their
/// own.
pub(crate) fn of(sources: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(sources).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // A copy within another repository does not have that repository's history.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}+changes") })
}
