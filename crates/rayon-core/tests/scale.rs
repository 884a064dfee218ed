//! Recordings that `FILCH_SCALE` asks for, each of a process of its own: what they count, and what programs see.
#![cfg(unix)]
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;

use rayon_core::{
    FnContext, ThreadPoolBuilder, broadcast, current_num_threads, current_thread_index, in_place_scope, join,
    join_context, scope, spawn, spawn_broadcast,
};

/// The programs that are recorded.
const PROGRAMS: [(&str, fn()); 16] = [
    ("fib", || assert_eq!(fib(16), 987)),
    ("pieces", || assert_eq!(pieces(0..1_000_000, current_num_threads(), false), 1_000_000)),
    ("names", names),
    ("broadcasts", broadcasts),
    ("scopes", scopes),
    ("pools", pools),
    ("threads", || {
        let threads = [(); 3].map(|()| std::thread::spawn(|| fib(10)));
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 55));
    }),
    ("panics", panics),
    ("exits", || {
        join(|| fib(10), || join(|| std::process::exit(7), || fib(10)));
    }),
    ("idle", || assert_eq!(current_num_threads(), 64)),
    ("still runs", || {
        let (begun, has_begun) = channel();
        spawn(move || {
            fib(10);
            begun.send(()).unwrap();
            std::thread::park();
        });
        has_begun.recv().unwrap();
    }),
    ("forks on", || {
        let (begun, has_begun) = channel();
        spawn(move || {
            fib(10);
            begun.send(()).unwrap();
            while fib(10) == 55 {}
        });
        has_begun.recv().unwrap();
    }),
    ("ends", || {
        spawn(|| _ = fib(10));
        rayon_core::filch::wait_idle();
        assert!(!rayon_core::filch::end_global(), "the thread that records stays");
        assert_eq!(fib(10), 55, "unrecorded");
    }),
    ("forks", forks),
    ("waits for ever", || {
        let (send, receive) = channel();
        scope(move |s| {
            s.spawn(move |_| send.send(()).unwrap());
            receive.recv().unwrap();
        });
    }),
    ("builds", || {
        let error = ThreadPoolBuilder::new().build().unwrap_err().to_string();
        println!("child says: {error}");
    }),
];

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Divides a loop as rayon's adaptive splitter does, and returns the number of items.
fn pieces(items: std::ops::Range<u64>, splits: usize, is_stolen: bool) -> u64 {
    let length = items.end - items.start;
    let splits = match splits {
        _ if is_stolen => current_num_threads().max(splits / 2),
        splits if splits > 0 => splits / 2,
        _ => return length,
    };
    let middle = items.start + length / 2;
    let half = |context: FnContext, items| pieces(items, splits, context.migrated());
    let (a, b) = join_context(|a| half(a, items.start..middle), |b| half(b, middle..items.end));
    a + b
}

/// The number of pieces on a machine where so many workers share this part of such a loop, each of which steals once.
fn pieces_on(workers: usize, splits: usize, is_stolen: bool, threads: usize) -> u64 {
    let splits = match splits {
        _ if is_stolen => threads.max(splits / 2),
        splits if splits > 0 => splits / 2,
        _ => return 1,
    };
    let first = pieces_on(workers - workers / 2, splits, false, threads);
    first + pieces_on((workers / 2).max(1), splits, workers > 1, threads)
}

fn names() {
    /// Calls from outside, and forks inside.
    fn search(n: u64) -> u64 {
        join(|| fib(n), || fib(n)).0
    }
    assert_eq!(search(3), 2);
    let pool = ThreadPoolBuilder::new().build().unwrap();
    fn installed<T: Send>(pool: &rayon_core::ThreadPool, f: impl FnOnce() -> T + Send) -> T {
        pool.install(f)
    }
    installed(&pool, || assert_eq!(fib(5), 5));
}

fn broadcasts() {
    assert_eq!(current_thread_index(), None);
    let all: Vec<usize> = (0..current_num_threads()).collect();
    assert_eq!(all.len(), 64);
    let seen = broadcast(|context| {
        assert_eq!(context.num_threads(), 64);
        assert_eq!(join(|| 1, || 2), (1, 2));
        (context.index(), current_thread_index().unwrap())
    });
    assert!(seen.iter().copied().eq(all.iter().map(|&index| (index, index))), "{seen:?}");
    let slots: Vec<AtomicUsize> = all.iter().map(|_| AtomicUsize::new(0)).collect();
    let bump = || _ = slots[current_thread_index().unwrap()].fetch_add(1, SeqCst);
    scope(|s| s.spawn_broadcast(|_, _| bump()));
    let (told, said) = channel();
    spawn_broadcast(move |context| told.send(context.index()).unwrap());
    let mut said: Vec<usize> = said.iter().collect();
    said.sort_unstable();
    assert_eq!(said, all);
    let three = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(three.broadcast(|context| (context.index(), context.num_threads())), [(0, 3), (1, 3), (2, 3)]);
    assert!(slots.iter().all(|slot| slot.load(SeqCst) == 1));
    three.install(|| {
        assert_eq!((current_num_threads(), three.current_thread_index()), (3, Some(0)));
        let inner = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(inner.current_thread_index(), None);
        assert_eq!(inner.install(|| (current_num_threads(), three.current_thread_index())), (2, None));
        assert_eq!(inner.broadcast(|_| current_num_threads()), [2, 2]);
        assert_eq!((current_num_threads(), broadcast(|context| context.index()).len()), (3, 3));
    });
    assert_eq!(join(current_thread_index, current_num_threads), (Some(0), 64));
}

/// Eight tasks one after the other, by the ends of scopes, and eight beside each other.
fn scopes() {
    let count = AtomicUsize::new(0);
    for n in 0..8 {
        let one = |_: &rayon_core::Scope<'_>| assert_eq!(count.fetch_add(1, SeqCst), n);
        if n % 2 == 0 { scope(|s| s.spawn(one)) } else { in_place_scope(|s| s.spawn(one)) }
    }
    rayon_core::scope_fifo(|s| {
        for _ in 0..8 {
            s.spawn_fifo(|_| _ = count.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(count.load(SeqCst), 16);
}

fn pools() {
    let started = AtomicUsize::new(0);
    let all = ThreadPoolBuilder::new().num_threads(2).build_scoped(rayon_core::ThreadBuilder::run, |pool| {
        pool.install(|| started.fetch_add(1, SeqCst));
        pool.spawn(|| ());
        pool.current_num_threads()
    });
    assert_eq!(all.unwrap(), 2);
    let (left, leaves) = channel();
    let left = Mutex::new(left);
    let pool = ThreadPoolBuilder::new().num_threads(1).exit_handler(move |_| left.lock().unwrap().send(()).unwrap());
    let pool = pool.build().unwrap();
    assert_eq!(pool.install(|| fib(5)), 5);
    drop(pool);
    leaves.recv().unwrap();
    std::thread::spawn(|| {
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        assert_eq!((fib(5), pool.install(|| fib(5))), (5, 5));
        std::mem::forget(pool);
    })
    .join()
    .unwrap();
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let handler = |index| _ = STARTED.fetch_add(index + 1, SeqCst);
    ThreadPoolBuilder::new().start_handler(handler).build_global().unwrap();
    assert_eq!((fib(5), STARTED.load(SeqCst)), (5, 1));
}

fn panics() {
    let panicked = std::panic::catch_unwind(|| join(|| panic!("first"), || fib(5)));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "first");
    let panicked = std::panic::catch_unwind(|| scope(|s| s.spawn(|_| _ = join(|| fib(5), || panic!("task")))));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "task");
    assert_eq!(fib(5), 5);
}

fn forks() {
    assert_eq!(fib(5), 5);
    // SAFETY: the child does what a child of a process with threads may do with this library.
    let child = unsafe { libc::fork() };
    assert_eq!(fib(10), 55);
    if child == 0 {
        assert_ne!(broadcast(|_| ()).len(), 64, "the child runs as ever");
        std::process::exit(0);
    }
    let mut status = 1;
    // SAFETY: the pointer is to a value of the right type.
    assert_eq!((unsafe { libc::waitpid(child, &raw mut status, 0) }, status), (child, 0));
}

/// Not a test by itself.
#[test]
#[ignore = "run by the others"]
fn child() {
    let program = env::var("PROGRAM").unwrap();
    PROGRAMS.iter().find(|(name, _)| *name == program).unwrap().1();
}

/// Runs a program, with these variables.
fn run(program: &str, variables: &[(&str, &str)]) -> Output {
    command(program, variables).output().unwrap()
}

fn command(program: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    for name in ["POOL", "WAIT", "CALLER", "STATS", "TIMELINE", "SCALE", "SCALE_WORKERS"] {
        command.env_remove(format!("FILCH_{name}"));
    }
    command.env_remove("RAYON_NUM_THREADS").env_remove("RAYON_RS_NUM_CPUS").env("PROGRAM", program);
    command.envs(variables.iter().copied());
    command
}

/// A recording, as far as these tests look at it.
#[derive(Debug)]
struct Recording {
    json: String,
    said: String,
}

fn file(program: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("scale-{}.json", program.replace(' ', "-")))
}

/// Records a program on so many workers.
fn recorded_on(program: &str, workers: &str) -> Recording {
    let file = file(&(program.to_owned() + workers));
    let output = run(program, &[("FILCH_SCALE", file.to_str().unwrap()), ("FILCH_SCALE_WORKERS", workers)]);
    let code = if program == "exits" { 7 } else { 0 };
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let recording = Recording { json: fs::read_to_string(&file).unwrap(), said };
    recording.check();
    recording
}

fn recorded(program: &str) -> Recording {
    recorded_on(program, "")
}

impl Recording {
    fn number(&self, name: &str) -> u64 {
        let (_, rest) = self.json.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name}: {self:?}"));
        rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap()].parse().unwrap()
    }

    fn forks(&self) -> u64 {
        self.number("forks")
    }

    fn has_region(&self, name: &str) -> bool {
        self.json.contains(&format!("{{\"name\":\"{name}\""))
    }

    fn says(&self, text: &str) -> bool {
        self.said.contains(text)
    }

    /// Checks that the graph is whole, and has the work and the span that are said.
    fn check(&self) {
        let (_, graph) = self.json.split_once("\"graph\":\"").unwrap_or_else(|| panic!("no graph: {self:?}"));
        let graph = graph.strip_suffix("\"}\n").unwrap();
        let (mut begins, mut ends) = (HashMap::new(), HashMap::new());
        let (mut spawned, mut forks, mut jobs) = (HashSet::new(), Vec::new(), Vec::new());
        let (mut at, mut work, mut span, mut strands) = (0, 0, 0, 0);
        let mut rest = graph;
        while let Some(mark) = rest.chars().next() {
            let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let has_number = "st[r".contains(mark);
            let from = usize::from(!mark.is_ascii_digit());
            let to = from + if from == 0 || has_number { digits(&rest[from..]) } else { 0 };
            let number: u64 = rest[from..to].parse().unwrap_or(0);
            rest = &rest[to..];
            match mark {
                ' ' | '{' | '}' | 'r' => {}
                '(' => forks.push(at),
                '|' => at = std::mem::replace(forks.last_mut().unwrap(), at),
                ')' => at = at.max(forks.pop().unwrap()),
                's' => {
                    spawned.insert(number);
                    begins.insert(number, at);
                }
                't' => at = at.max(ends[&number]),
                '[' => {
                    jobs.push((at, number));
                    at = begins.get(&number).copied().unwrap_or(0);
                }
                ']' => {
                    let (before, job) = jobs.pop().unwrap();
                    ends.insert(job, at);
                    span = span.max(at);
                    at = before;
                }
                _ => {
                    assert!(mark.is_ascii_digit(), "{mark} in {graph}");
                    (at, work, strands) = (at + number, work + number, strands + 1);
                }
            }
        }
        assert!(forks.is_empty() && jobs.is_empty() && spawned.iter().all(|job| ends.contains_key(job)), "{graph}");
        // Each strand is rounded.
        let is_near = |a: u64, b: u64| a.abs_diff(b) <= strands + 2;
        assert!(is_near(work, self.number("work")), "{work}, {self:?}");
        // What is left out of the graph is sequential there.
        assert!(span.max(at) + strands + 2 >= self.number("span"), "{span}, {self:?}");
    }
}

#[test]
fn forks_are_counted_and_calls_are_none() {
    let fib = recorded("fib");
    assert_eq!(fib.forks(), 1596);
    assert!(fib.says("filch: More than ") && fib.says("the recording is in "), "{fib:?}");
    assert!(!fib.says("threads called") && !fib.says("unrecorded"), "{fib:?}");
}

#[test]
fn loops_split_as_on_a_machine_of_that_size() {
    for workers in [2, 7, 64] {
        // Both branches of a fork from outside have moved.
        let half = |part| pieces_on(part, workers / 2, true, workers);
        let expected = half(workers - workers / 2) + half(workers / 2);
        assert_eq!(recorded_on("pieces", &workers.to_string()).forks(), expected - 1, "{workers} workers");
    }
}

#[test]
fn regions_have_the_names_of_the_functions_that_call_or_fork() {
    let names = recorded("names");
    for name in ["outside the pool", "scale::names::search", "scale::fib", "scale::names"] {
        assert!(names.has_region(name), "{name}: {names:?}");
    }
    assert!(!names.has_region(""), "{names:?}");
}

#[test]
fn a_broadcast_runs_for_each_thread_that_the_pool_seems_to_have() {
    recorded("broadcasts");
}

#[test]
fn a_scope_ends_after_its_tasks() {
    assert_eq!(recorded("scopes").forks(), 16);
}

#[test]
fn pools_with_threads_of_their_own_run_as_ever() {
    let pools = recorded("pools");
    assert!(pools.says("filch: 3 calls went unrecorded"), "{pools:?}");
    assert_eq!(pools.forks(), 7, "the fib that is recorded");
}

#[test]
fn threads_outside_are_counted() {
    let threads = recorded("threads");
    assert!(threads.says("filch: 3 threads called into the pool"), "{threads:?}");
    assert_eq!(threads.forks(), 3 * 88);
}

#[test]
fn panics_and_exits_leave_what_there_was() {
    assert_eq!(recorded("panics").forks(), 1 + 7 + 1 + 1 + 7 + 7);
    assert_eq!(recorded("exits").forks(), 1 + 88 + 1);
    let still = recorded("still runs");
    assert_eq!(still.forks(), 1 + 88);
    // The thread that ends the process reads what the worker still writes.
    assert!(recorded("forks on").forks() > 88);
}

#[test]
fn a_recording_ends_with_its_pool() {
    assert_eq!(recorded("ends").forks(), 1 + 88);
}

#[test]
fn the_child_of_a_fork_is_not_recorded() {
    assert_eq!(recorded("forks").forks(), 7 + 88);
}

/// On Linux; elsewhere nobody says so.
#[cfg(target_os = "linux")]
#[test]
fn a_task_that_waits_for_another_is_told() {
    use std::io::{BufRead as _, BufReader};
    let file = file("waits");
    let mut command = command("waits for ever", &[("FILCH_SCALE", file.to_str().unwrap())]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.starts_with("filch: a task has waited for 5 s"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "", "a process that is killed writes nothing");
}

#[test]
fn a_program_that_calls_nothing_is_told_so() {
    let file = file("idle");
    let output = run("idle", &[("FILCH_SCALE", file.to_str().unwrap())]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("nothing was recorded"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_what_to_do() {
    let output = run("fib", &[("FILCH_SCALE", "/dev/full")]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("filch: More than "), "what it shows needs no file: {said}");
    let why = "cannot be written to /dev/full (No space left on device (os error 28)): make room there, or have";
    assert!(said.contains(why) && !said.contains("the recording is in"), "{said}");
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let output = run("pieces", &[("FILCH_SCALE", "no/such/folder/x.json"), ("RAYON_NUM_THREADS", "3")]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("no/such/folder/x.json cannot be made"), "{said}");
    let file = file("builds");
    for (name, value) in [("FILCH_POOL", "wool"), ("FILCH_SCALE_WORKERS", "0"), ("FILCH_SCALE_WORKERS", "many")] {
        let output = run("builds", &[("FILCH_SCALE", file.to_str().unwrap()), (name, value)]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && said.contains(&format!("{name}={value}")), "{said}");
    }
}
