//! The location of the runners, and cargo, which builds missing and stale ones.
//!
//! Invariant: if the driver is in cargo's output folder, cargo decides whether a program is stale, so nothing old is
//! measured; elsewhere the programs are beside the driver.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use filch_catalogue::PEERS;
use filch_catalogue::protocol::PREFIX;

use crate::adapters;
use crate::error::{Result, usage};

/// A program that the driver starts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Executable {
    /// The runner of a scheduler: the sequential programs, a pool or queue, a peer.
    Runner(String),
    /// The runner of a peer in C or C++, which `filch peers add` has made.
    Added(String),
    /// The user's runner, which the user builds.
    At(PathBuf),
    /// The checker.
    Check,
    /// The probes, and the stress of queues.
    Probe,
    /// The simulator.
    Simulate,
}

impl Executable {
    pub(crate) fn runner(name: &str) -> Self {
        Self::Runner(name.to_owned())
    }

    /// The runner of a peer.
    pub(crate) fn of_peer(name: &str) -> Self {
        let is_added = PEERS.iter().any(|peer| peer.name == name && peer.adapter.is_some());
        if is_added { Self::Added(name.to_owned()) } else { Self::runner(name) }
    }

    fn peer(&self) -> Option<&str> {
        match self {
            // A queue of ours may have the name of a peer in C.
            Self::Runner(name) => {
                PEERS.iter().find(|peer| peer.name == name && peer.adapter.is_none()).map(|peer| peer.name)
            }
            Self::Added(_) | Self::At(_) | Self::Check | Self::Probe | Self::Simulate => None,
        }
    }

    /// Whether cargo builds it.
    fn is_cargos(&self) -> bool {
        !matches!(self, Self::Added(_) | Self::At(_))
    }

    fn package(&self) -> &'static str {
        match self {
            Self::Added(_) | Self::At(_) => unreachable!("only cargo's programs are in packages"),
            Self::Runner(_) if self.peer().is_some() => "filch-peers",
            Self::Runner(_) => "filch-runner",
            Self::Check => "filch-check",
            Self::Probe => "filch-probe",
            Self::Simulate => "filch-sim",
        }
    }

    fn file(&self) -> String {
        let name = match self {
            Self::Runner(name) => format!("{PREFIX}{name}"),
            Self::Added(_) | Self::At(_) => unreachable!("only cargo's programs are beside the driver"),
            Self::Check => "filch-check".to_owned(),
            Self::Probe => "filch-probe".to_owned(),
            Self::Simulate => "filch-simulate".to_owned(),
        };
        format!("{name}{}", std::env::consts::EXE_SUFFIX)
    }

    /// Returns the path, once the program is [ready](ready).
    pub(crate) fn path(&self) -> Result<PathBuf> {
        match self {
            Self::At(path) => Ok(path.clone()),
            Self::Added(name) => adapters::runner(name),
            ours => Ok(folder()?.join(ours.file())),
        }
    }
}

/// Returns the driver's folder.
fn folder() -> Result<PathBuf> {
    let own =
        std::env::current_exe().map_err(|error| usage(format!("cannot find the path of this program: {error}")))?;
    Ok(own.parent().map(Path::to_path_buf).unwrap_or_default())
}

/// The driver's sources and its cargo settings, if it is in cargo's output folder.
struct Workshop {
    sources: PathBuf,
    profile: String,
    target: Option<&'static str>,
    output: PathBuf,
}

impl Workshop {
    fn of(folder: &Path) -> Option<Self> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?.to_path_buf();
        let profile = match folder.file_name()?.to_str()? {
            "debug" => "dev",
            other => other,
        };
        let (mut output, mut target) = (folder.parent()?, None);
        if output.file_name().is_some_and(|name| name == env!("FILCH_TARGET")) {
            (output, target) = (output.parent()?, Some(env!("FILCH_TARGET")));
        }
        let is_cargos = output.join("CACHEDIR.TAG").is_file() && sources.join("Cargo.toml").is_file();
        is_cargos.then(|| Self { sources, profile: profile.to_owned(), target, output: output.to_path_buf() })
    }

    fn arguments(&self, programs: &BTreeSet<Executable>) -> Vec<String> {
        let mut arguments = vec!["build".to_owned(), "--profile".to_owned(), self.profile.clone()];
        arguments.extend(["--target-dir".to_owned(), self.output.display().to_string()]);
        if let Some(target) = self.target {
            arguments.extend(["--target".to_owned(), target.to_owned()]);
        }
        let packages: BTreeSet<&str> = programs.iter().map(Executable::package).collect();
        for package in &packages {
            arguments.extend(["--package".to_owned(), (*package).to_owned()]);
        }
        for program in programs {
            let file = program.file();
            let name = file.strip_suffix(std::env::consts::EXE_SUFFIX).unwrap_or(&file);
            arguments.extend(["--bin".to_owned(), name.to_owned()]);
        }
        // Peers are features.
        if packages.contains("filch-peers") {
            arguments.push("--no-default-features".to_owned());
            for peer in programs.iter().filter_map(Executable::peer) {
                arguments.extend(["--features".to_owned(), format!("filch-peers/{peer}")]);
            }
        }
        arguments
    }
}

/// Returns the sources that runners are built from, if they are.
pub(crate) fn sources() -> Option<PathBuf> {
    Some(Workshop::of(&folder().ok()?)?.sources)
}

/// Builds all programs at once if the sources are available; otherwise checks that they exist.
pub(crate) fn ready(programs: &BTreeSet<Executable>, talks: bool) -> Result {
    for program in programs {
        if let Executable::Added(name) = program {
            adapters::ready(name, talks)?;
        }
    }
    let folder = folder()?;
    let programs: &BTreeSet<Executable> = &programs.iter().filter(|program| program.is_cargos()).cloned().collect();
    if programs.is_empty() {
        return Ok(());
    }
    let missing = || programs.iter().find(|program| !folder.join(program.file()).is_file());
    let Some(workshop) = Workshop::of(&folder) else {
        return missing().map_or(Ok(()), |program| {
            let (file, package) = (program.file(), program.package());
            Err(usage(format!(
                "the program {file} is missing in {}: install it with `cargo install --path crates/{package} --bin {file}` \
                 in filch's sources",
                folder.display()
            )))
        });
    };
    let arguments = workshop.arguments(programs);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(&arguments).current_dir(&workshop.sources).stdin(Stdio::null()).stdout(Stdio::null());
    let shows = talks && std::io::stderr().is_terminal();
    command.stderr(if shows { Stdio::inherit() } else { Stdio::piped() });
    let output = match command.spawn().and_then(std::process::Child::wait_with_output) {
        Ok(output) => output,
        // Without cargo nothing can be built, and nothing shows whether the existing programs are stale.
        Err(error) => {
            return missing().map_or(Ok(()), |_| {
                let arguments = arguments.join(" ");
                Err(usage(format!(
                    "cargo cannot be started ({error}); `cargo {arguments}` builds the missing programs"
                )))
            });
        }
    };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().filter(|line| line.starts_with("error")).collect::<Vec<_>>().join("\n");
    Err(usage(format!("the runners could not be built: `cargo {}`\n{said}", arguments.join(" "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_with_the_name_of_a_peer_in_c_is_ours() {
        assert_eq!(Executable::runner("lace").package(), "filch-runner");
        assert_eq!(Executable::of_peer("lace"), Executable::Added("lace".to_owned()));
        assert_eq!(Executable::of_peer("rayon").package(), "filch-peers");
    }
}
