//! `filch reproduce` on the experiment that needs the fewest runners: its files, and what ends it too early.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::driver::driver;
use crate::{filch, folder, lines, refuses, stderr, stdout, well};

/// One round, which decides nothing.
const SESSION: &[&str] = &["reproduce", "placement", "--quick", "--repeat", "1", "--decide", "0", "--output"];

/// The folder of a complete session, which has been interrupted where that is possible, and continued. Tests copy it.
static COMPLETE: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = empty("reproduced");
    let kept = if cfg!(unix) { interrupted(&folder) } else { String::new() };
    let told = stdout(&well(&[SESSION, &["reproduced", "--resume"]].concat()));
    assert!(told.contains("placement, 1 of 1") && told.contains("All: reproduced/index.html"), "{told}");
    // Once for the experiment, and once for the folder.
    assert_eq!(told.matches("\nOf ours ").count(), 2, "{told}");
    assert!(text(&folder, "placement.jsonl").starts_with(&kept), "the old lines changed");
    folder
});

/// Interrupts a session after a few runs, and returns their lines.
fn interrupted(folder: &Path) -> String {
    let (output, kept) = measured_until(folder, &["--repeat", "1000"], |runs| runs.len() >= 3);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted") && said.contains("--resume continues"), "{said}");
    assert!(!folder.join("placement.json").exists(), "an outcome of an incomplete experiment");
    assert!(lines(&kept).len() >= 3);
    kept
}

/// Returns a copy of a complete session.
fn complete(name: &str) -> PathBuf {
    let folder = empty(name);
    for entry in fs::read_dir(&*COMPLETE).expect("a folder") {
        let file = entry.expect("an entry");
        fs::copy(file.path(), folder.join(file.file_name())).expect("the file can be copied");
    }
    folder
}

/// Returns an empty folder for a test.
fn empty(name: &str) -> PathBuf {
    let folder = folder().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

fn text(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn outcome(folder: &Path) -> Value {
    serde_json::from_str(&text(folder, "placement.json")).expect("an outcome")
}

#[test]
fn a_reproduction_leaves_pages_figures_tables_and_lines() {
    let folder = &*COMPLETE;
    let page = text(folder, "placement.html");
    let command = "<code>filch reproduce placement --size quick --repeat 1 --decide 0</code>";
    for part in [command, "placement-1.svg", "placement.csv"] {
        assert!(page.contains(part), "{part}");
    }
    let all = text(folder, "index.html");
    assert!(all.contains("href=\"placement.html\"") && all.contains("undecided"), "{all}");
    let figures = page.matches("<figure>").count();
    let pairs = (1..).take_while(|number| folder.join(format!("placement-{number}.svg")).exists()).count();
    // The parallel capacity is about the machine: it has no file.
    assert!(pairs > 0 && (pairs == figures || pairs + 1 == figures), "{pairs} files of {figures} figures");
    assert!(text(folder, "placement-1.svg").contains("</svg>"));
    let runs = lines(&text(folder, "placement.jsonl"));
    assert!(runs.iter().all(|run| run["size"] == "quick" && run["experiment"] == "placement"));
    let mut rows: Vec<String> = runs
        .iter()
        .filter(|run| run["copies"].is_null())
        .map(|run| ["workload", "scheduler", "pool", "placement", "workers"].map(|name| run[name].to_string()).concat())
        .collect();
    rows.sort();
    rows.dedup();
    assert_eq!(text(folder, "placement.csv").lines().count(), 1 + rows.len(), "a line for each row, and the heads");
    let outcome = outcome(folder);
    assert_eq!(
        (&outcome["id"], &outcome["size"], &outcome["rounds"]),
        (&"placement".into(), &"quick".into(), &1.into())
    );
    assert_eq!(outcome["claims"][0]["verdict"], "undecided", "one round decides nothing");
    assert!(all.contains("Of ours ") && !all.contains("documents' claims"), "{all}");
}

/// Measures the experiment with these arguments, until its lines are enough or it ends by itself. Returns its output
/// and its whole lines.
fn measured_until(folder: &Path, arguments: &[&str], is_enough: impl Fn(&[Value]) -> bool) -> (Output, String) {
    let mut command = driver();
    let output = folder.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    command.args([&["reproduce", "placement", "--quick", "--output", output], arguments].concat());
    let pipes = command.current_dir(folder.parent().expect("it is not the root")).stdin(Stdio::null());
    let mut process = pipes.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let whole = || {
        let mut text = fs::read_to_string(folder.join("placement.jsonl")).unwrap_or_default();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        text
    };
    let start = Instant::now();
    while process.try_wait().expect("it has started").is_none() {
        assert!(start.elapsed() < Duration::from_secs(1200), "too few lines in twenty minutes");
        if is_enough(&lines(&whole())) {
            let id = process.id().to_string();
            assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill starts").success());
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = process.wait_with_output().expect("the program ends");
    (output, whole())
}

/// However long a round takes here, there is time for a second one.
#[cfg(unix)]
#[test]
fn what_is_undecided_is_measured_further() {
    let is_further = |run: &Value| run["round"].as_u64() > Some(0);
    let folder = complete("patient");
    fs::remove_file(folder.join("placement.json")).expect("an outcome");
    let arguments = ["--repeat", "1", "--decide", "86400", "--resume"];
    let (output, runs) = measured_until(&folder, &arguments, |runs| runs.iter().any(is_further));
    // A second round may decide it.
    assert!(matches!(output.status.code(), Some(0 | 130)), "{}", stderr(&output));
    let runs = lines(&runs);
    let further: Vec<&Value> = runs.iter().filter(|run| is_further(run)).collect();
    assert!(!further.is_empty(), "{}", stderr(&output));
    assert!(further.iter().all(|run| run["scheduler"] == "filch"), "no claim is about the sequential program");
}

#[test]
fn what_is_complete_is_not_repeated_and_nothing_else_is_continued() {
    let folder = complete("continued");
    let again = [SESSION, &["continued", "--resume"]].concat();
    let kept = text(&folder, "placement.jsonl");
    let first = outcome(&folder);
    well(&again);
    assert_eq!((text(&folder, "placement.jsonl"), &outcome(&folder)), (kept.clone(), &first), "it ran again");
    // Other measurements are neither mixed with these nor lost.
    let others = ["reproduce", "placement", "--output", "continued", "--resume"];
    let command = "`filch reproduce placement --size quick --repeat 1 --decide 0`";
    let reasons = ["cannot continue in continued", command, "--output"];
    refuses(&[&others[..], &["--quick"]].concat(), &reasons);
    refuses(&[&others[..], &["--size", "small", "--repeat", "1"]].concat(), &reasons);
    // Half an outcome, as after a power failure.
    let file = folder.join("placement.json");
    let whole = text(&folder, "placement.json");
    fs::write(&file, &whole[..whole.len() / 2]).expect("the file is writable");
    let said = stderr(&well(&again));
    assert!(said.contains("placement.json is damaged"), "{said}");
    assert_eq!((text(&folder, "placement.jsonl"), &outcome(&folder)["claims"]), (kept.clone(), &first["claims"]));
    // The lines alone tell their size and commit, too.
    fs::remove_file(&file).expect("the file is ours");
    let sized = ["--size", "small", "--repeat", "1"];
    refuses(&[&others[..], &sized].concat(), &["holds runs in size quick", "size small cannot continue it"]);
    fs::write(&file, whole.replace("\"commit\": \"", "\"commit\": \"0")).expect("the file is writable");
    refuses(&again, &["cannot continue", "of commit 0"]);
    assert_eq!(text(&folder, "placement.jsonl"), kept);
}

#[test]
fn wrong_names_and_folders_are_refused_before_measuring() {
    refuses(&["reproduce", "placment"], &["there is no experiment `placment`", "did you mean `placement`"]);
    refuses(&["reproduce"], &["<ID|FILE>"]);
    let file = empty("refused").join("file");
    fs::write(&file, "").expect("the file is writable");
    refuses(&["reproduce", "all", "--output", file.to_str().unwrap()], &["cannot make the folder"]);
    #[cfg(target_os = "linux")]
    {
        refuses(&["reproduce", "all", "--output", "/proc/filch"], &["cannot make the folder /proc/filch"]);
        // It exists, but takes no files, whoever asks.
        refuses(&["reproduce", "all", "--output", "/proc/self"], &["cannot write /proc/self/index.html"]);
    }
}

const OWN: &str = r#"
question = "Does fib need a cut-off on Chase and Lev's deque?"
programs.every = ["fib:n=20:cutoff=*"]
pools = ["split", "chase-lev"]
workers = [2]
plots = ["swept median"]

[sweep]
parameter = "cutoff"
values = [0, 10]
meaning = "argument of fib up to which it does not fork"

[[claim]]
says = "Without a cut-off it takes at least twice as long."
of = "chase-lev"
at = 0
over-at = 10
above = 2.0
"#;

#[test]
fn a_users_experiment_is_measured_drawn_and_decided() {
    let folder = empty("own");
    let write = |text: &str| fs::write(folder.join("mine.toml"), text).expect("the folder is ours");
    write(OWN);
    let session = ["reproduce", "own/mine.toml", "--quick", "--repeat", "1", "--decide", "0", "--output", "own/out"];
    let told = stdout(&well(&session));
    assert!(told.contains("mine, 1 of 1") && told.contains("Without a cut-off"), "{told}");
    let out = folder.join("out");
    let page = text(&out, "mine.html");
    assert!(page.contains("filch reproduce own/mine.toml --size quick") && text(&out, "mine-1.svg").contains("</svg>"));
    let outcome: Value = serde_json::from_str(&text(&out, "mine.json")).expect("an outcome");
    assert_eq!(outcome["claims"][0]["verdict"], "undecided", "one round decides nothing");
    assert!(text(&out, "index.html").contains("href=\"mine.html\""));
    write(&OWN.replace("\"chase-lev\"]", "\"chase-le\"]"));
    refuses(&session, &["own/mine.toml, line 4, pools: ", "did you mean `chase-lev`"]);
    fs::rename(folder.join("mine.toml"), folder.join("forks.toml")).expect("the file is there");
    refuses(&["reproduce", "own/forks.toml"], &["forks is an experiment of filch's; give the file another name"]);
    refuses(&["experiment", "own/none.toml"], &["own/none.toml"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_it_at_once_and_names_the_file() {
    let folder = empty("full");
    std::os::unix::fs::symlink("/dev/full", folder.join("placement.jsonl")).expect("a link can be made");
    let output = filch(&[SESSION, &["full", "rivals"]].concat());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write full/placement.jsonl: No space left on device"), "{said}");
    assert!(!folder.join("placement.json").exists() && !stdout(&output).contains("2 of 2"), "{said}");
}

#[test]
fn an_experiment_that_fails_does_not_end_the_others() {
    let folder = empty("alone");
    // The driver with the runners of one experiment, as after an incomplete installation.
    let mut programs: Vec<PathBuf> =
        stdout(&well(&["build", "serial", "split", "chase-lev"])).lines().map(PathBuf::from).collect();
    programs.push(env!("CARGO_BIN_EXE_filch").into());
    for program in &programs {
        let copy = folder.join(program.file_name().expect("a file"));
        fs::hard_link(program, &copy).or_else(|_| fs::copy(program, &copy).map(drop)).expect("the file can be copied");
    }
    let mut command = Command::new(folder.join(Path::new(env!("CARGO_BIN_EXE_filch")).file_name().expect("a file")));
    complete("alone/out");
    let arguments = [SESSION, &["out", "forks", "--resume"]].concat();
    let output =
        command.args(arguments).current_dir(&folder).stdin(Stdio::null()).output().expect("the program starts");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.lines().last().is_some_and(|end| end.starts_with("filch: forks failed: the program ")), "{said}");
    let out = folder.join("out");
    assert_eq!(outcome(&out)["id"], "placement");
    assert!(!out.join("forks.json").exists());
    let all = text(&out, "index.html");
    assert!(all.contains("<b>forks</b>: the program ") && all.contains("href=\"placement.html\""), "{all}");
}
