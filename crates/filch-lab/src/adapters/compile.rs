//! Compiling an adapter.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use filch_catalogue::protocol::Order;
use filch_catalogue::{Adapter, PeerSpec};

use super::{Added, FILES, RUNNER, command, find, fingerprint, folder, record};
use crate::error::{Error, Result, usage};
use crate::session::{Asked, Trouble, describe};

/// What every adapter is compiled with. Functions and loops begin at cache lines, as ours do: elsewhere a fork may cost
/// an eighth more, and the search for a queen's place a tenth.
const FLAGS: &[&str] = &["-O3", "-DNDEBUG", "-falign-functions=64", "-falign-loops=64"];

/// Compiles the runner of a peer for a processor, which compilers call `native` if it is this machine's; lets it answer
/// once, and keeps it.
///
/// # Errors
/// A sentence for people, if anything is missing or does not compile.
pub(crate) fn add(name: &str, source: Option<&Path>, compiler: Option<&str>, cpu: &str) -> Result<Added> {
    let (peer, adapter) = find(name)?;
    let source = source_of(peer, adapter, source)?;
    let (compiler, compiler_version) = compiler_of(peer, adapter, compiler)?;
    let folder = folder(name)?;
    let making = folder.with_extension("new");
    let trouble = |error: std::io::Error| usage(format!("cannot write {}: {error}", making.display()));
    if making.exists() {
        fs::remove_dir_all(&making).map_err(trouble)?;
    }
    fs::create_dir_all(&making).map_err(trouble)?;
    for (file, text) in FILES {
        fs::write(making.join(file), text).map_err(trouble)?;
    }
    let mut compiling = Compiling { peer, adapter, compiler: &compiler, folder: &making, log: String::new() };
    compiling.check_standard(&compiler_version)?;
    let optional = compiling.optional();
    let flags: Vec<String> = [format!("-std={}", adapter.standard), format!("-march={cpu}")]
        .into_iter()
        .chain(FLAGS.iter().chain(adapter.flags).copied().map(str::to_owned))
        .chain(optional.iter().flat_map(|found| found.flags.iter().copied().map(str::to_owned)))
        .collect();
    let added = Added {
        commit: source.as_deref().and_then(commit),
        compiler: compiler.clone(),
        compiler_version,
        cpu: cpu.to_owned(),
        flags,
        with: optional.iter().map(|found| found.name.to_owned()).collect(),
        version: String::new(),
        adapter: fingerprint(adapter),
        source,
    };
    compiling.run(&added, &optional)?;
    let version = first_answer(peer, &making.join(RUNNER))?;
    let added = Added { version, ..added };
    let text = serde_json::to_string_pretty(&added).expect("a record is plain data");
    fs::write(record(&making), text).map_err(trouble)?;
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(trouble)?;
    }
    fs::rename(&making, &folder).map_err(trouble)?;
    Ok(added)
}

/// Returns the folder of the sources, if the peer needs or has one.
fn source_of(peer: &PeerSpec, adapter: &Adapter, source: Option<&Path>) -> Result<Option<PathBuf>> {
    let name = peer.name;
    let Some(source) = source else {
        if adapter.mark.is_none() {
            return Ok(None);
        }
        let command = command(peer, adapter);
        return Err(usage(format!("{name} needs its sources: `{command}`, where DIR is a checkout of {}", peer.home)));
    };
    let there = source.canonicalize().map_err(|error| usage(format!("{}: {error}", source.display())))?;
    match adapter.mark {
        Some(mark) if !there.join(mark).is_file() => Err(usage(format!(
            "{} is no checkout of {name}: there is no {mark} in it; {name} is at {}",
            source.display(),
            peer.home
        ))),
        _ => Ok(Some(there)),
    }
}

/// Returns the compiler and what it says of itself: the user's, or the first of the list that starts.
fn compiler_of(peer: &PeerSpec, adapter: &Adapter, given: Option<&str>) -> Result<(String, String)> {
    let given = given.map(|one| vec![one]);
    let candidates = given.as_deref().unwrap_or(adapter.compilers);
    let says = |compiler: &&str| {
        let output = Command::new(compiler).arg("--version").output().ok().filter(|output| output.status.success())?;
        let first = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
        Some(((*compiler).to_owned(), first))
    };
    candidates.iter().find_map(says).ok_or_else(|| {
        let (name, tried) = (peer.name, candidates.join(", "));
        usage(format!(
            "no compiler for {name}, which needs {}: {tried} cannot be started; --compiler names one",
            adapter.needs
        ))
    })
}

/// The commit of sources, by git, with a name if there is one.
fn commit(source: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(source).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    // A folder inside another repository does not have that repository's history.
    git(&["ls-files", "--error-unmatch", "README.md"])?;
    git(&["describe", "--tags", "--always", "--long", "--abbrev=12", "--dirty"])
}

/// What cargo says of a crate that it has built.
#[derive(serde::Deserialize)]
struct Artifact {
    filenames: Vec<String>,
}

struct Compiling<'c> {
    peer: &'c PeerSpec,
    adapter: &'c Adapter,
    compiler: &'c str,
    folder: &'c Path,
    /// The commands so far, and what they said.
    log: String,
}

impl Compiling<'_> {
    /// Starts the compiler in the folder of the adapter; returns whether it succeeded.
    fn compile(&mut self, arguments: &[String]) -> Result<bool> {
        let mut command = Command::new(self.compiler);
        let output = command.args(arguments).current_dir(self.folder).output();
        let output = output.map_err(|error| usage(format!("{} cannot be started: {error}", self.compiler)))?;
        let _ = writeln!(self.log, "$ {} {}", self.compiler, arguments.join(" "));
        self.log.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(output.status.success())
    }

    /// Whether a program of nothing compiles with these arguments.
    fn tries(&mut self, file: &str, arguments: &[&str]) -> bool {
        let is_written = fs::write(self.folder.join(file), "int main(void) { return 0; }\n").is_ok();
        let arguments = arguments.iter().copied().chain([file]).map(str::to_owned).collect::<Vec<_>>();
        is_written && self.compile(&arguments).unwrap_or(false)
    }

    /// The language of the adapter, as its file's name says it.
    fn probe(&self) -> &'static str {
        if self.adapter.file.ends_with(".c") { "probe.c" } else { "probe.cpp" }
    }

    fn check_standard(&mut self, version: &str) -> Result {
        let standard = format!("-std={}", self.adapter.standard);
        if self.tries(self.probe(), &[&standard, "-fsyntax-only"]) {
            return Ok(());
        }
        Err(usage(format!(
            "{} ({version}) cannot compile {}: {} needs {}; --compiler names another",
            self.compiler, self.adapter.standard, self.peer.name, self.adapter.needs
        )))
    }

    /// Returns the optional libraries that there are.
    fn optional(&mut self) -> Vec<&'static filch_catalogue::Optional> {
        let (all, probe) = (self.adapter.optional, self.probe());
        all.iter()
            .filter(|optional| self.tries(probe, &["-o", "probe", "-Wl,--no-as-needed", optional.library]))
            .collect()
    }

    /// Compiles the two parts and the sources, and links them.
    fn run(&mut self, added: &Added, optional: &[&filch_catalogue::Optional]) -> Result {
        let adapter = self.adapter;
        let with = added.with.iter().map(|name| format!("with {name}"));
        let parts = added.commit.iter().cloned().chain([added.compiler_version.clone(), added.flags.join(" ")]);
        let built = parts.chain(with).collect::<Vec<_>>().join(", ");
        let quoted = |name: &str, text: &str| format!("-D{name}=\"{}\"", text.replace(['"', '\\'], "'"));
        let version = added.commit.as_deref().unwrap_or("of unknown version");
        let defines =
            ["-D_GNU_SOURCE".to_owned(), quoted("FILCH_BUILT", &built), quoted("FILCH_SOURCE_VERSION", version)];
        let flags = added.flags.iter().cloned();
        let source = |part: &&str| added.source.as_ref().map(|source| source.join(part).display().to_string());
        let include = adapter.include.iter().filter_map(source).map(|folder| format!("-I{folder}"));
        // Warnings are about the library, which is not ours to change.
        let common: Vec<String> =
            flags.chain(["-w".to_owned(), "-I.".to_owned()]).chain(include).chain(defines).collect();
        let files: Vec<String> =
            [adapter.file.to_owned()].into_iter().chain(adapter.sources.iter().filter_map(source)).collect();
        let mut objects = vec!["runner.o".to_owned()];
        let in_c = ["-x", "c", "-std=gnu99", "-DADAPTER", "-c", "runner.c", "-o", "runner.o"].map(str::to_owned);
        let in_c: Vec<String> = common.iter().filter(|flag| !flag.starts_with("-std=")).cloned().chain(in_c).collect();
        self.need(&in_c)?;
        for (nth, file) in files.iter().enumerate() {
            let object = format!("part{nth}.o");
            let rest = ["-c", file, "-o", &object].map(str::to_owned);
            self.need(&common.iter().cloned().chain(rest).collect::<Vec<_>>())?;
            objects.push(object);
        }
        let beside = added.source.iter().filter(|_| adapter.mark.is_none()).map(|source| source.join("lib"));
        let beside = beside.flat_map(|lib| [format!("-L{0}", lib.display()), format!("-Wl,-rpath,{0}", lib.display())]);
        let libraries = adapter.libraries.iter().copied().chain(optional.iter().map(|found| found.library));
        let libraries = libraries.chain(["-lm", "-pthread"]).map(str::to_owned);
        let package = adapter.package.zip(added.source.as_deref());
        objects.extend(package.map(|(package, source)| self.library(package, source)).transpose()?);
        let link = objects.into_iter().chain(beside).chain(libraries);
        self.need(&["-o".to_owned(), RUNNER.to_owned()].into_iter().chain(link).collect::<Vec<_>>())
    }

    /// Has cargo build a package of these sources; returns the path of its static library.
    fn library(&self, package: &str, source: &Path) -> Result<String> {
        let name = self.peer.name;
        let arguments = ["build", "--release", "--package", package, "--message-format", "json-render-diagnostics"];
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let output = command.args(arguments).current_dir(source).output();
        let output = output.map_err(|error| usage(format!("cargo, which {name} needs, cannot be started: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(usage(format!("cargo could not build {package} in {}:\n{said}", source.display())));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let artifacts = text.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
        let file = artifacts.flat_map(|artifact| artifact.filenames).rfind(|file| file.ends_with(".a"));
        file.ok_or_else(|| usage(format!("{package} in {} has no static library", source.display())))
    }

    /// Fails with the end of what the compiler said, and keeps all of it.
    fn need(&mut self, arguments: &[String]) -> Result {
        const SHOWN: usize = 12;
        if self.compile(arguments)? {
            return Ok(());
        }
        let log = self.folder.with_extension("log");
        let kept = match fs::write(&log, &self.log) {
            Ok(()) => format!("the whole of it: {}", log.display()),
            Err(error) => format!("{} cannot be written: {error}", log.display()),
        };
        let said: Vec<&str> = self.log.lines().filter(|line| !line.starts_with('$')).collect();
        // The first error is the one that explains the others.
        let first = said.iter().position(|line| line.contains("error")).unwrap_or(said.len().saturating_sub(SHOWN));
        let shown = said[first..].iter().take(SHOWN).copied().collect::<Vec<_>>().join("\n");
        Err(usage(format!(
            "{} could not compile the adapter of {}, which needs {}:\n{shown}\n{kept}",
            self.compiler, self.peer.name, self.adapter.needs
        )))
    }
}

/// Lets the runner compute once; returns the version that it reports.
fn first_answer(peer: &PeerSpec, runner: &Path) -> Result<String> {
    const LIMIT: Duration = Duration::from_secs(30);
    let broken = |trouble: Trouble| match trouble {
        Trouble::Broken(why) | Trouble::Refused(why) => {
            usage(format!("the runner of {} does not work: {why}", peer.name))
        }
        Trouble::Interrupted => Error::Interrupted,
        Trouble::Taker(error) => error,
    };
    let (hello, _) = describe(runner, LIMIT).map_err(broken)?;
    let parameters = [("n".to_owned(), "20".to_owned())].into();
    let order = Order { program: "fib".to_owned(), parameters, workers: 2, ..Order::default() };
    let asked = Asked { runner, order: &order, copies: 1, repeats: 1, limit: Some(LIMIT) };
    let mut answer = String::new();
    asked
        .run(&mut |_, ran| {
            answer = ran.answer;
            Ok(())
        })
        .map_err(broken)?;
    match answer.as_str() {
        "6765" => Ok(hello.version),
        other => Err(usage(format!("the runner of {} does not work: fib(20) is {other} there", peer.name))),
    }
}
