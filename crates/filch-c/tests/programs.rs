//! Programs in C and C++, compiled with every compiler that is there, at both ends of optimization, and run on pools of
//! different sizes that wait in different ways.
//!
//! The compilers are those of `CC` and `CXX`, by default `cc` and `c++`, and `clang` and `clang++`, with the flags of
//! `CFLAGS`, such as a sanitizer's. Where there is no compiler, the tests say so on standard error, and pass.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

#[derive(Clone, Copy, Debug, PartialEq)]
enum Language {
    C,
    Cpp,
}

use Language::{C, Cpp};

/// A compiler, and how far it optimizes.
#[derive(Clone, Debug)]
struct Build {
    compiler: String,
    language: Language,
    flags: &'static [&'static str],
}

const DEBUG: &[&str] = &["-O0"];
const RELEASE: &[&str] = &["-O2", "-DNDEBUG"];

/// Returns the builds of a language; says it if there are none.
fn builds(language: Language) -> Vec<Build> {
    let named = |variable: &str, usual: &str| env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let compilers = match language {
        C => [named("CC", "cc"), "clang".to_owned()],
        Cpp => [named("CXX", "c++"), "clang++".to_owned()],
    };
    let is_there = |compiler: &String| {
        Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let mut there: Vec<String> = compilers.into_iter().filter(is_there).collect();
    there.dedup();
    if there.is_empty() {
        // Not by a macro, whose output the harness would hide.
        let _ = writeln!(io::stderr(), "SKIPPED: there is no compiler for {language:?}, so filch.h is not tested");
    }
    let both = |compiler: String| [DEBUG, RELEASE].map(|flags| Build { compiler: compiler.clone(), language, flags });
    there.into_iter().flat_map(both).collect()
}

/// The flags of whoever runs the tests, for compiling and linking.
fn wanted() -> Vec<String> {
    env::var("CFLAGS").unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

impl Build {
    /// Returns the compiler's command for a source, at an absolute path or of this crate.
    fn command(&self, source: &str) -> Command {
        let mut command = Command::new(&self.compiler);
        let (kind, standard) = if self.language == C { ("c", "-std=c11") } else { ("c++", "-std=c++17") };
        command.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]).args(self.flags).args(wanted());
        command.arg(format!("-I{CRATE}/include")).args(["-x", kind]).arg(Path::new(CRATE).join("tests/c").join(source));
        command
    }

    /// Returns where the current test puts what this build makes of a source.
    fn place(&self, name: &str) -> PathBuf {
        let test = thread::current().name().expect("the harness names its threads").to_owned();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        fs::create_dir_all(&folder).expect("the folder can be made");
        let compiler = self.compiler.replace(|c: char| !c.is_alphanumeric(), "-");
        folder.join(format!("{compiler}{}-{name}", self.flags[0]))
    }

    /// Compiles a source to an object.
    fn object(&self, source: &str) -> PathBuf {
        let name = Path::new(source).file_name().expect("it is a file").to_string_lossy();
        let object = self.place(&format!("{name}.o"));
        let output = self.command(source).arg("-c").arg("-o").arg(&object).output().expect("the compiler was there");
        assert!(output.status.success(), "{self:?} {source}: {}", String::from_utf8_lossy(&output.stderr));
        object
    }

    /// Links objects with a library that has filch in it.
    fn link(&self, name: &str, objects: &[PathBuf], library: &Path) -> PathBuf {
        let program = self.place(&format!("{name}.out"));
        let mut command = Command::new(&self.compiler);
        command.args(wanted()).args(objects).arg(library).args(["-lpthread", "-ldl", "-lm"]).arg("-o").arg(&program);
        let output = command.output().expect("the compiler was there");
        assert!(output.status.success(), "{self:?} {name}: {}", String::from_utf8_lossy(&output.stderr));
        program
    }

    fn program(&self, source: &str) -> PathBuf {
        self.link(source, &[self.object(source)], &library())
    }
}

/// The library, beside the tests that cargo has built with it.
fn library() -> PathBuf {
    let folder = env::current_exe().expect("the test has a path");
    folder.with_file_name("libfilch_c.a")
}

/// The library of `examples/mixed.rs`, which cargo builds together with all tests, but not with a single one.
fn mixed() -> &'static Path {
    static MIXED: OnceLock<PathBuf> = OnceLock::new();
    MIXED.get_or_init(|| {
        let profile = library().ancestors().nth(2).expect("it is in deps").to_owned();
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--quiet", "-p", "filch-c", "--example", "mixed", "--target-dir"]);
        command.arg(profile.parent().expect("a profile is in the target folder"));
        // Whoever builds for a named target builds the example, too.
        if env::var_os("CARGO_BUILD_TARGET").is_none() {
            let output = command.current_dir(CRATE).output().expect("cargo is there");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        profile.join("examples/libmixed.a")
    })
}

/// Ends a program that does not end.
fn ended(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().expect("it was started").is_none() {
        if start.elapsed() > Duration::from_secs(300) {
            child.kill().expect("it runs");
            panic!("a program hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("it has ended")
}

/// Runs a program in its own folder, where it may leave files.
fn run(program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.current_dir(program.parent().expect("a program is in a folder"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(command.spawn().expect("the program was linked"))
}

/// Runs a program on pools of each kind.
fn is_right(program: &Path) {
    for workers in ["1", "2", "8"] {
        for wait in filch::Wait::EVERY {
            let output = run(program, &[workers, wait.name()]);
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program:?} {workers} {wait:?}: {}: {message}", output.status);
        }
    }
}

#[test]
fn programs_are_right() {
    for build in [builds(C), builds(Cpp)].concat() {
        is_right(&build.program("programs.c"));
    }
}

#[test]
fn exceptions_travel() {
    for build in builds(Cpp) {
        is_right(&build.program("exceptions.cpp"));
    }
}

#[test]
fn jobs_are_right() {
    for build in builds(Cpp) {
        let program = build.program("jobs.cpp");
        for workers in ["1", "2", "8"] {
            let output = run(&program, &[workers]);
            assert!(output.status.success(), "{build:?} {workers}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn units_in_both_languages_share_tasks() {
    for (c, cpp) in builds(C).iter().zip(builds(Cpp)) {
        is_right(&cpp.link("units", &[c.object("units.c"), cpp.object("units.cpp")], &library()));
    }
}

#[test]
fn tasks_in_rust_and_c_fork_each_other() {
    for build in builds(C) {
        is_right(&build.link("mixed", &[build.object("mixed.c")], mixed()));
    }
}

#[test]
fn panics_travel_through_cpp() {
    for build in builds(Cpp) {
        is_right(&build.link("panics", &[build.object("panics.cpp")], mixed()));
    }
}

/// A source in the names of Lace, which are macros of GNU's dialect.
fn in_laces_names(build: &Build, source: &Path, flags: &[String]) -> PathBuf {
    let program = build.place(&format!("{}.out", source.file_name().expect("it is a file").to_string_lossy()));
    let (kind, standard) = if build.language == C { ("c", "-std=gnu11") } else { ("c++", "-std=gnu++17") };
    let mut command = Command::new(&build.compiler);
    command.args([standard, "-g"]).args(build.flags).args(wanted()).arg(format!("-I{CRATE}/include/lace")).args(flags);
    command.args(["-x", kind]).arg(source).args(["-x", "none"]).arg(library());
    let output =
        command.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program).output().expect("the compiler was there");
    assert!(output.status.success(), "{build:?} {source:?}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

#[test]
fn programs_in_laces_names_are_right() {
    let flags = ["-Wall", "-Wextra", "-Werror"].map(str::to_owned);
    for build in [builds(C), builds(Cpp)].concat() {
        let program = in_laces_names(&build, &Path::new(CRATE).join("tests/c/lace.c"), &flags);
        for workers in ["1", "2", "8"] {
            let output = run(&program, &[workers, ""]);
            assert!(output.status.success(), "{build:?} {workers}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Lace's own benchmarks and tests, if `FILCH_RIVALS` names a folder with Lace's sources in `lace`, as for the peers.
#[test]
fn laces_own_programs_are_right() {
    let Some(lace) = env::var_os("FILCH_RIVALS").map(|rivals| Path::new(&rivals).join("lace")) else {
        let _ = writeln!(io::stderr(), "SKIPPED: Lace's own programs are not tested without FILCH_RIVALS");
        return;
    };
    let programs: [(&str, &[&str], &str); 9] = [
        ("benchmarks/fib/fib-lace.c", &["25"], "fib(25) = 75025"),
        ("benchmarks/queens/queens-lace.c", &["8"], "Q(8) = 92"),
        ("benchmarks/pi/pi-lace.c", &["100000"], "pi(100000) = 3.1"),
        ("benchmarks/matmul/matmul-lace.c", &["64"], "Time: "),
        ("benchmarks/strassen/strassen-lace.c", &["-c", "256"], "Time: "),
        ("benchmarks/cilksort/cilksort-lace.c", &["10000"], "Time: "),
        ("benchmarks/dfs/dfs-lace.c", &["5", "4", "10", "2"], "Time: "),
        ("test/test_together.c", &["2"], "running from worker"),
        ("test/test_suspend.c", &["2"], "Time suspend"),
    ];
    let release = |build: &Build| build.flags == RELEASE;
    for build in builds(C).into_iter().filter(release) {
        for (source, arguments, answer) in programs {
            let program = in_laces_names(&build, &lace.join(source), &[]);
            for workers in ["1", "2", "8"] {
                let is_test = source.starts_with("test/");
                let arguments = if is_test { arguments.to_vec() } else { [&["-w", workers], arguments].concat() };
                let output = run(&program, &arguments);
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success() && said.contains(answer), "{build:?} {source} {arguments:?}: {said}");
                if is_test {
                    break;
                }
            }
        }
    }
}

#[test]
fn the_books_examples_are_right() {
    let page = fs::read_to_string(format!("{CRATE}/../../docs/book/from-c.md")).expect("the page is there");
    for (language, fence) in [(C, "```c\n"), (Cpp, "```cpp\n")] {
        let example = page.split(fence).nth(1).and_then(|rest| rest.split("```").next()).expect("the page has one");
        for build in builds(language) {
            let source = build.place(if language == C { "example.c" } else { "example.cpp" });
            fs::write(&source, example).expect("the folder is there");
            let object = build.object(source.to_str().expect("a readable path"));
            let output = run(&build.link("example", &[object], &library()), &[]);
            assert!(output.status.success(), "{build:?}: {}", output.status);
        }
    }
}

/// Frames that do not clean up would leave tasks behind.
#[test]
fn a_panic_leaves_tasks_in_c_or_ends_the_process() {
    for build in builds(C) {
        let program = build.link("panic", &[build.object("panic.c")], mixed());
        dies(&program, &[], "without -fexceptions");
        let flags: &'static [&'static str] = match build.flags {
            DEBUG => &["-O0", "-fexceptions"],
            _ => &["-O2", "-fexceptions", "-DNDEBUG"],
        };
        let build = Build { flags, ..build };
        let output = run(&build.link("panic", &[build.object("panic.c")], mixed()), &[]);
        assert!(output.status.success(), "{build:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
}

/// The program ends by an abort, with this message.
fn dies(program: &Path, arguments: &[&str], message: &str) {
    let output = run(program, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.status.code().is_none(), "{program:?} {arguments:?}: {}", output.status);
    assert!(said.contains(message), "{program:?} {arguments:?} should say {message:?}: {said}");
}

/// Returns the line of `misuse.c` that contains this.
fn line_with(text: &str) -> usize {
    let source = fs::read_to_string(format!("{CRATE}/tests/c/misuse.c")).expect("the source is there");
    source.lines().position(|line| line.contains(text)).expect("the source has the line") + 1
}

#[test]
fn debug_builds_say_where_a_rule_is_broken() {
    let rules = [
        ("leave", "/* left */", "two: this task is neither synchronized nor dropped"),
        ("order", "/* in the wrong order */", "one: the newest task is another one"),
        ("none", "/* none */", "one: no task of this function is left to synchronize"),
        ("drop", "/* nothing */", "no task of this function is left to synchronize"),
        ("leave many", "FILCH_TASK(int, leaves_many)", "leaves_many: it leaves a task that it has spawned"),
    ];
    for build in [builds(C), builds(Cpp)].concat().iter().filter(|build| build.flags == DEBUG) {
        let program = build.program("misuse.c");
        for (way, line, message) in rules {
            let place = format!("misuse.c:{}: ", line_with(line));
            dies(&program, &[way], &place);
            dies(&program, &[way], message);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_stack_overflow_ends_the_process_with_a_message() {
    for build in builds(C) {
        dies(&build.program("misuse.c"), &["overflow"], "the stack of a worker has overflowed");
    }
}

#[test]
fn what_cannot_be_a_task_does_not_compile() {
    let sources = [
        (C, "FILCH_TASK(int, f, int)\n{ return 1; }", "a_type_without_a_name"),
        (C, "typedef struct { _Alignas(32) int n; } wide; FILCH_TASK(int, f, wide, a)\n{ return a.n; }", "16 bytes"),
        (Cpp, "#include <string>\nFILCH_TASK(int, f, std::string, a)\n{ return a.size(); }", "copied as bytes"),
        (
            Cpp,
            "#include <string>\nFILCH_TASK(std::string, f, int, a)\n{ return std::to_string(a); }",
            "copied as bytes",
        ),
    ];
    for (number, (language, source, complaint)) in sources.into_iter().enumerate() {
        for build in builds(language) {
            let file = build.place(&format!("{number}.{}", if language == C { "c" } else { "cpp" }));
            fs::write(&file, format!("#include <filch.h>\n{source}\n")).expect("the folder is there");
            let mut command = Command::new(&build.compiler);
            let standard = if language == C { "-std=c11" } else { "-std=c++17" };
            command.args([standard, "-fsyntax-only"]).arg(format!("-I{CRATE}/include")).arg(&file);
            let output = command.output().expect("the compiler was there");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && said.contains(complaint), "{build:?} {source}: {said}");
        }
    }
}
