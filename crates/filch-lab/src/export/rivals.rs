//! The page of the repository about other schedulers: a paragraph about each, and the figures of the kept runs of the
//! public comparison, and of the papers' programs.

use std::fmt::Write;

use filch_catalogue::PEERS;

use crate::stats::{Estimate, geometric_mean};
use crate::summary::{Program, Row};

/// What is kept of a machine.
pub(crate) struct Measured {
    /// The name that it is kept under.
    pub(crate) name: String,
    /// The machine, in words.
    pub(crate) machine: String,
    /// The public comparison.
    pub(crate) comparison: Kept,
    /// The same rivals on programs of the papers.
    pub(crate) papers: Option<Kept>,
}

/// The kept runs of an experiment.
pub(crate) struct Kept {
    /// The command that made them.
    pub(crate) command: String,
    pub(crate) programs: Vec<Program>,
}

impl Measured {
    fn programs(&self) -> impl Iterator<Item = &Program> {
        self.comparison.programs.iter().chain(self.papers.iter().flat_map(|kept| &kept.programs))
    }
}

/// How a rival works, and what it is better at; the figures follow from the records.
struct Portrait {
    name: &'static str,
    text: &'static str,
}

const HEAD: &str = "\
# Rivals

<!-- The example `records` of filch-lab writes this page. -->

The strongest other schedulers, each compiled as its own benchmarks compile it, on the programs of the public comparison
[runtime-benchmarks](https://github.com/tzcnt/runtime-benchmarks): skynet sums the numbers of its leaves, ten forks per node; nqueens
copies a board of a constant length for each task; fib forks all calls; matmul multiplies matrices of integers by quarters, and the run
makes the matrices. There, skynet has eight levels, nqueens 14 queens, fib is of 39, and the matrices are of order 2048 (`--size paper`); the
tables name the sizes that were measured. A process warms up, runs once, and ends. Rounds interleave all contenders; times are medians.

`filch peers` lists the rivals, what each needs and where to get it; `filch peers add lace --source DIR` compiles the runner of one;
`filch reproduce runtime-benchmarks --size paper` measures all that are there, and `filch reproduce rivals` has them run programs of the
papers. A rival in C or C++ runs the program as its documentation
writes it, with `-O3 -march=native -falign-functions=64 -falign-loops=64`, with the flags and allocator that its benchmarks use; one in Rust runs filch's
source. On filch the calling thread works, as it does by default. In records from before commit 4a854a2 ([own.md](own.md) has the
commits) it waited, and loops lay anywhere; in those from before 2026-11-27 functions did, which costs up to 12 % of fib on Zen 5; and in those from before 2026-11-30 loops in C and C++ did. All allocators keep freed memory. cargo compiles for every x86-64 processor; versions in Rust that say for which instructions they are compiled come from
`RUSTFLAGS='-C target-cpu=native -C llvm-args=-x86-branches-within-32B-boundaries -C
llvm-args=-x86-experimental-pref-innermost-loop-alignment=6 -C llvm-args=-align-all-functions=6'`. The last three, which cargo passes here
without it too, are about where branches, loops and functions lie in cache lines, which else differs between the executables of two
contenders and decides up to 8 % of a merge sort and 12 % of fib.

";

const PORTRAITS: &[Portrait] = &[
    Portrait {
        name: "lace",
        text: "Tasks are records of 64 bytes in an array of each worker; thieves take from its shared part, and ask the owner to enlarge it. \
               A macro makes two functions of a task, one that its owner calls directly. A worker that waits steals from the thief of its \
               task. filch's default pool has its stack, and shares by a policy of its own. It is better where the C compiler inlines a recursion through its spawns, \
               which Rust's compiler does only for levels and unrolled functions; and a program in C needs little memory: one that only starts a \
               thread has 1.4 MB, and 2.1 in Rust (Linux, x86-64, glibc). On top of that, a program of nothing but fib has 0.2 with Lace, and \
               0.3 with filch, of which 0.04 are not code. Its workers spin while they are idle, and a program whose tasks exceed the array ends.",
    },
    Portrait {
        name: "citor",
        text: "A pool of threads that are bound to processors. A fork pushes all branches but the last on a deque of Chase and Lev's and runs \
               that one; the join counts in the frame, so nothing is allocated, and everything is in headers, so a fork is inlined. The caller \
               is a worker. It aims at programs that start many short loops, for which it has seven more forms, and at processors with several \
               caches. A fence for each pop remains. A pool waits at its start for its threads, and filch's at its end, if they have not begun: so \
               citor's stop is shorter, and filch's start by more than that.",
    },
    Portrait {
        name: "libfork",
        text: "Tasks are coroutines. A fork runs the child and leaves the rest of the parent to thieves, so the last child to end continues the \
               parent, and no worker waits. Frames lie on segmented stacks, so memory is bounded by that of one worker times their number, \
               which filch does not promise. A coroutine keeps its variables in its frame: each call costs stores and loads that a function \
               avoids.",
    },
    Portrait {
        name: "toomanycooks",
        text: "A runtime of coroutines for work and for waiting: sockets, timers, channels, priorities. Its executor groups workers by shared \
               caches. Each task's frame is allocated, so the allocator counts. It is better at everything that waits: filch's workers block.",
    },
    Portrait {
        name: "taskflow",
        text: "A library for graphs of tasks with dependencies and conditions, with a profiler and work for graphics processors; filch has no \
               graphs. Its task groups make an object for each task and push it on the worker's queue.",
    },
    Portrait {
        name: "onetbb",
        text: "The oldest of these libraries: tasks as objects from pools of each thread, arenas that share threads, flow graphs, containers, \
               control over nodes of memory. It is better in breadth, and programs of several libraries share its threads.",
    },
    Portrait {
        name: "parlaylib",
        text: "Algorithms on sequences, on a scheduler of two functions: a fork of two branches, whose second is pushed on the worker's deque, \
               and a loop that halves. The job lies in the frame. It is better in its algorithms, which are proven in benchmarks, and its first \
               result comes some 50 µs sooner: about as much of filch's time is page faults, in the code of a runner with all programs. The deque \
               has a fixed size, beyond which a program ends, and its threads never end.",
    },
    Portrait {
        name: "openmp",
        text: "Part of the compiler, so nothing need be installed. Loops of equal iterations are its strength. The tasks of gcc's runtime lie \
               behind a lock that all threads share, so a program of small tasks becomes slower with each worker. It is too slow for the \
               table.",
    },
    Portrait {
        name: "opencilk",
        text: "A compiler that knows forks: a spawned call is a call, and its continuation can be stolen. Its adapter was tested without its \
               keywords, as a sequential program: nobody has compiled it with that compiler yet.",
    },
    Portrait {
        name: "rayon",
        text: "Rust's standard: deques of Chase and Lev's behind a queue for calls from outside, and iterators over everything. It is better in \
               the crates that use it; filch's drop-in runs them.",
    },
    Portrait {
        name: "chili",
        text: "Rust: a worker keeps its forks to itself, and shares one at each heartbeat, so most cost a few instructions. The price is that \
               idle workers wait for the next heartbeat.",
    },
    Portrait {
        name: "lace-ws",
        text: "Rust: Lace's split deque with spawn and sync, and with closures. Its workers spin while they are idle.",
    },
    Portrait {
        name: "forte",
        text: "Rust: a pool with rayon's interface on which futures run as well as forks, made for a game engine. A worker is passed along or found \
               in a thread-local variable, its forks stay its own, and at each heartbeat it shares the oldest; nobody steals. So a fork costs twice \
               chili's, and idle workers wait for heartbeats too. It is better for programs that mix futures with forks.",
    },
    Portrait {
        name: "threads",
        text: "Rust: the standard library's threads, with half of the threads for each branch of a fork until there are none left. Nothing \
               is scheduled, so a program whose branches are equal, large, and as many as the processors loses nothing, and any other one waits \
               for its largest branch.",
    },
    Portrait {
        name: "paralight",
        text: "Rust: loops over slices, ranges and tuples of them. Each thread begins with an equal part, and one that is done takes half of \
               another's. It has no forks and no loops within loops, so it needs no deques; of our programs it runs three. It is better where a \
               program is such a loop and wants the smallest dependency.",
    },
    Portrait {
        name: "orx-parallel",
        text: "Rust: parallel iterators over everything that iterates, with state for each thread and early ends. Threads draw chunks, whose length \
               adapts, from one shared iterator, and sleep in between. It has no forks. It is better for pipelines over sources that cannot be \
               divided.",
    },
    Portrait {
        name: "forkunion",
        text: "C++ with Rust, C and Zig on top: loops over numbers, for which the caller stores one word that all threads watch, and then each \
               runs its part. Nothing is allocated, and idle threads spin, or wait at a monitored address where the processor can. It has no \
               forks, no loops within loops and no panics. It is better where loops of microseconds follow each other and the processors \
               are the program's alone.",
    },
    Portrait {
        name: "forkunion-dynamic",
        text: "The same, for items of unequal length: each thread takes one at a time.",
    },
    Portrait {
        name: "tokio",
        text: "Rust: a runtime for programs that wait, which has threads for calls that block or compute. Each such call is an allocated task in a \
               queue behind a lock, so the peer forks only as often as there are workers and calls the rest; no thread helps another. It is \
               better at everything that waits.",
    },
];

/// filch's rows: the label in views, and the style.
const STYLES: &[(&str, &str)] =
    &[("filch closures", "closures"), ("filch split", "handles"), ("filch levels", "levels")];

/// Returns the page.
pub(crate) fn page(measured: &[Measured]) -> String {
    let mut text = HEAD.to_owned();
    if measured.is_empty() {
        text += "Nothing is kept yet.\n";
    }
    for one in measured {
        let Measured { name, machine, comparison, papers } = one;
        let version = version(one, STYLES[0].0).unwrap_or_default();
        let _ = write!(text, "## On {name}\n\n{machine}, by `{}`, filch {version}.\n\n", comparison.command);
        times(&mut text, &comparison.programs);
        memory(&mut text, &comparison.programs);
        if let Some(papers) = papers {
            let _ = write!(
                text,
                "Programs of the papers behind filch, by `{}`. Their leaves are each language's: trees are hashed by the processor's SHA \
                 instructions in Rust and by plain code in C and C++, and short runs are sorted by the standard library of Rust \
                 or C++, or by a quicksort in C.\n\n",
                papers.command
            );
            times(&mut text, &papers.programs);
        }
    }
    text += "## Each rival\n";
    for portrait in PORTRAITS {
        let Some(peer) = PEERS.iter().find(|peer| peer.name == portrait.name) else { continue };
        let _ = write!(text, "\n### {}\n\n{}\n\nFrom {}.\n", portrait.name, portrait.text, peer.home);
        for one in measured {
            ratios(&mut text, one, portrait.name);
        }
    }
    text
}

/// The numbers of workers, in order.
fn workers<'p>(programs: impl IntoIterator<Item = &'p Program>) -> Vec<usize> {
    let mut all: Vec<usize> = rows(programs).filter(|(_, row)| !row.is_serial()).map(|(_, row)| row.workers).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn rows<'p>(programs: impl IntoIterator<Item = &'p Program>) -> impl Iterator<Item = (&'p Program, &'p Row)> {
    programs.into_iter().flat_map(|program| program.rows.iter().map(move |row| (program, row)))
}

/// An unrolled program is a style of filch in the table.
fn is_plain(program: &&Program) -> bool {
    !program.id.workload.ends_with("-unrolled")
}

fn find<'p>(program: &'p Program, who: &str, workers: usize) -> Option<&'p Row> {
    program.rows.iter().find(|row| row.workers == workers && row.who.to_string() == who)
}

/// A table for each number of workers: contenders by the mean ratio of their times to the best, and times in
/// milliseconds.
fn times(text: &mut String, programs: &[Program]) {
    for workers in workers(programs) {
        times_on(text, programs, workers);
    }
}

fn times_on(text: &mut String, all: &[Program], workers: usize) {
    let programs: Vec<&Program> = all.iter().filter(is_plain).collect();
    let mut names: Vec<String> = Vec::new();
    for (_, row) in rows(programs.iter().copied()).filter(|(_, row)| row.workers == workers && !row.is_serial()) {
        if !names.contains(&row.who.to_string()) {
            names.push(row.who.to_string());
        }
    }
    let time = |program: &Program, who: &str| find(program, who, workers).and_then(Row::median);
    let best = |program: &Program| names.iter().filter_map(|who| time(program, who)).min_by(f64::total_cmp);
    let mean = |who: &String| {
        let ratios = programs.iter().map(|program| Some(time(program, who)? / best(program)?));
        geometric_mean(&ratios.collect::<Option<Vec<_>>>()?)
    };
    let mut ranked: Vec<(String, Option<f64>)> = names.iter().map(|who| (who.clone(), mean(who))).collect();
    ranked.sort_by(|(_, one), (_, other)| one.unwrap_or(f64::INFINITY).total_cmp(&other.unwrap_or(f64::INFINITY)));
    let s = if workers == 1 { "" } else { "s" };
    let _ =
        writeln!(text, "{workers} worker{s}, milliseconds; the mean is the geometric one of the ratios to the best:\n");
    let heads: Vec<&str> = programs.iter().map(|program| program.title.as_str()).collect();
    let _ = writeln!(text, "| | mean ratio | {} |\n| --- | ---: |{}", heads.join(" | "), " ---: |".repeat(heads.len()));
    for (who, mean) in ranked {
        let mean = mean.map_or_else(String::new, |mean| format!("{mean:.2}"));
        let cells = programs
            .iter()
            .map(|program| time(program, &who).map_or_else(String::new, |seconds| format!("{:.1}", 1e3 * seconds)));
        let _ = writeln!(text, "| {who} | {mean} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    for program in all.iter().filter(|program| !is_plain(program)) {
        if let Some(seconds) = time(program, "filch split") {
            let _ = write!(text, "\n{}: {:.1} ms with handles.\n", program.title, 1e3 * seconds);
        }
    }
    text.push('\n');
}

/// Peak memory, with that which files do not back, and the times to start and to stop, of the largest number of
/// workers.
fn memory(text: &mut String, programs: &[Program]) {
    let Some(&most) = workers(programs).last() else { return };
    let programs: Vec<&Program> = programs.iter().filter(is_plain).collect();
    let heads: Vec<&str> = programs.iter().map(|program| program.title.as_str()).collect();
    let _ = writeln!(
        text,
        "Peak memory of the process in megabytes, on {most}, and how much of it no file backs: the rest is the code of the program and of \
         libraries, and our runners have all programs in one. Milliseconds from the start of a pool to its first result, and of a stop that waits for the threads, except rayon's and parlaylib's:\n\n\
         | | {} | start | stop |\n| --- |{} ---: | ---: |",
        heads.join(" | "),
        " ---: |".repeat(heads.len())
    );
    let Some(first) = programs.first() else { return };
    let mut shown: Vec<&Row> = first.rows.iter().filter(|row| row.workers == most && !row.is_serial()).collect();
    shown.sort_by_key(|row| row.own_bytes.unwrap_or(row.peak_rss_bytes));
    for row in shown {
        let who = row.who.to_string();
        let cells = programs.iter().map(|program| {
            #[expect(clippy::cast_precision_loss, reason = "one or two digits are printed")]
            let megabytes = |bytes: u64| bytes as f64 * 1e-6;
            find(program, &who, most).map_or_else(String::new, |row| {
                let own = row.own_bytes.map_or_else(String::new, |own| format!(" · {:.2}", megabytes(own)));
                format!("{:.1}{own}", megabytes(row.peak_rss_bytes))
            })
        });
        let start = |name: &str| {
            let median = row.counted(name).filter(|&time| time > 0.0);
            median.map_or_else(String::new, |nanoseconds| format!("{:.2}", nanoseconds * 1e-6))
        };
        let _ = writeln!(
            text,
            "| {who} | {} | {} | {} |",
            cells.collect::<Vec<_>>().join(" | "),
            start("first_ns"),
            start("stop_ns")
        );
    }
    text.push('\n');
}

/// Returns the version of a contender, if it took part.
fn version(one: &Measured, who: &str) -> Option<String> {
    rows(one.programs()).find(|(_, row)| row.who.to_string() == who).map(|(_, row)| row.version.clone())
}

/// A rival's times over those of each style of filch, with intervals.
fn ratios(text: &mut String, one: &Measured, rival: &str) {
    let version =
        rows(one.programs()).find(|(_, row)| row.who.to_string() == rival).map(|(_, row)| row.version.clone());
    let Some(version) = version else { return };
    let _ = writeln!(text, "\nOn {}, version {version}. Its time over filch's, bold where it is ahead:\n", one.name);
    let heads: Vec<&str> = STYLES.iter().map(|(_, style)| *style).collect();
    let _ =
        writeln!(text, "| program | workers | {} |\n| --- | ---: |{}", heads.join(" | "), " --- |".repeat(heads.len()));
    for program in one.programs().filter(is_plain) {
        for workers in workers([program]) {
            let Some(theirs) = find(program, rival, workers) else { continue };
            let cell = |who: &str| {
                let ours = find(program, who, workers)?;
                let ratio = Estimate::paired([&theirs.rounds, &ours.rounds], |[theirs, ours]| theirs / ours)?;
                let is_ahead = ratio.interval.map_or(ratio.value, |(_, high)| high) < 1.0;
                let bold = if is_ahead { "**" } else { "" };
                let interval =
                    ratio.interval.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
                Some(format!("{bold}{:.2}{bold}{interval}", ratio.value))
            };
            let cells: Vec<String> = STYLES.iter().map(|(who, _)| cell(who).unwrap_or_default()).collect();
            let _ = writeln!(text, "| {} | {workers} | {} |", program.title, cells.join(" | "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Run;
    use crate::record::tests::run;
    use crate::summary::summarize;

    #[test]
    fn the_best_comes_first_and_a_rival_that_is_ahead_is_bold() {
        let mut runs = Vec::new();
        for round in 0..5 {
            for (program, scheduler, seconds) in [
                ("fib", "filch split", 1.0),
                ("fib", "filch closures", 2.0),
                ("fib", "citor", 4.0),
                ("fib-unrolled", "filch split", 0.5),
                ("skynet", "filch split", 2.0),
                ("skynet", "filch closures", 8.0),
                ("skynet", "citor", 4.0),
            ] {
                runs.push(Run { round, ..run(program, scheduler, 1, seconds) });
            }
        }
        let [name, machine, command] = ["2-core-a", "a processor", "filch"].map(str::to_owned);
        let comparison = Kept { command, programs: summarize(&runs, &[]) };
        let queens = [("filch split", 1.0), ("citor", 1.5)].map(|(who, seconds)| run("queens", who, 2, seconds));
        let papers = Some(Kept { command: "filch rivals".to_owned(), programs: summarize(&queens, &[]) });
        let page = page(&[Measured { name, machine, comparison, papers }]);
        let ranked: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| filch ") || line.starts_with("| citor ")).take(3).collect();
        assert!(ranked[0].starts_with("| filch split | 1.00 | 1000.0 | 2000.0 |"), "{ranked:?}");
        assert!(ranked[1].starts_with("| filch closures | 2.83 |") && ranked[2].starts_with("| citor | 2.83 |"));
        assert!(page.contains("500.0 ms with handles"), "{page}");
        assert!(page.contains("| 1 | 2.00 (2.00 to 2.00) | 4.00 (4.00 to 4.00) |"), "{page}");
        assert!(page.contains("| 1 | **0.50** (0.50 to 0.50) | 2.00 (2.00 to 2.00) |"), "{page}");
        assert!(page.contains("by `filch rivals`"), "{page}");
        assert!(
            page.contains("| citor | 1.50 | 1500.0 |") && page.contains("| queens:n=30 | 2 |  | 1.50 |  |"),
            "{page}"
        );
        for portrait in PORTRAITS {
            assert!(PEERS.iter().any(|peer| peer.name == portrait.name), "{}", portrait.name);
        }
        let rivals = PEERS.iter().filter(|peer| peer.adapter.is_some_and(|adapter| adapter.package.is_none()));
        for peer in rivals {
            let name = peer.name.trim_end_matches("-gcc");
            assert!(PORTRAITS.iter().any(|portrait| portrait.name == name), "{}", peer.name);
        }
    }
}
