//! `filch check`: explores every execution of small programs on abstract machines.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use filch_catalogue::{QUEUES, unknown};
use filch_check::check::{Check, Limits, Outcome, Room, Wanted, plan};
use filch_check::tso::{self, Schedule, Verdict};
use filch_check::twins::{Mutant, mutants};
use filch_check::weaken::{self, Effort, weaken};
use filch_check::{Scenario, Setting, scenarios};
use serde::Serialize;

use crate::error::{Error, Result, usage};
use crate::flags::{Check as Flags, CheckMemory};
use crate::interrupt::interrupted;
use crate::progress::Progress;
use crate::table;
use crate::terminal::{BAD, STRONG, colour, count, duration, paint};
use filch_catalogue::console::json::Lines;

/// The time to search for a shorter history than the first failing one.
const SHORTEN: Duration = Duration::from_secs(20);

pub(crate) fn check(flags: &Flags) -> Result {
    let all = scenarios::all();
    let mut subjects: Vec<&str> = all.iter().map(|scenario| scenario.subject).collect();
    if flags.mutants {
        subjects = mutants().iter().map(|mutant| mutant.subject).collect();
    }
    let mut seen = std::collections::HashSet::new();
    subjects.retain(|&subject| seen.insert(subject));
    if let Some(name) = flags.subjects.iter().find(|name| !subjects.contains(&name.as_str())) {
        return Err(usage(unknown("queue or protocol", name, &subjects)));
    }
    if let Some(name) = &flags.scenario {
        let mut names: Vec<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if !names.contains(&name.as_str()) {
            return Err(usage(unknown("scenario", name, &names)));
        }
    }
    crate::interrupt::watch()?;
    if flags.mutants {
        return check_mutants(flags);
    }
    if flags.weaken {
        return check_orderings(flags, &all, &subjects);
    }
    let wanted = Wanted {
        subjects: flags.subjects.clone(),
        scenario: flags.scenario.clone(),
        all: flags.all,
        tso: flags.memory != Some(CheckMemory::C11),
        // Only the bounded TSO machine has buffers.
        c11: flags.memory == Some(CheckMemory::C11) || flags.memory.is_none() && flags.buffer.is_empty(),
        buffers: flags.buffer.clone(),
        delta: flags.delta.map(|delta| delta as usize),
    };
    let checks = plan(&all, &wanted);
    if checks.is_empty() {
        return Err(usage("there is nothing of that kind to check; see `filch list scenarios`"));
    }
    match &flags.replay {
        Some(schedule) => replay(&checks, schedule),
        None => explore(flags, &checks),
    }
}

/// A line of the JSON output.
#[derive(Debug, Serialize)]
struct Line<'a> {
    subject: &'a str,
    scenario: &'a str,
    memory: &'a str,
    buffer: Option<usize>,
    delta: Option<usize>,
    executions: u64,
    verdict: &'a str,
    as_expected: bool,
    seconds: f64,
    message: Option<&'a str>,
    schedule: Option<String>,
}

/// Returns the limits of a check. The large checks of queues have more executions than anyone can wait for.
fn limits(flags: &Flags, check: &Check) -> Limits {
    let preemptions = Some(if flags.all { 3 } else { 2 });
    let mut limits = Limits { preemptions, stop: interrupted, ..Limits::default() };
    match flags.executions {
        Some(executions) => (limits.executions, limits.time) = (executions.into(), None),
        None if flags.all && QUEUES.iter().any(|queue| queue.name == check.scenario.subject) => {
            (limits.executions, limits.time) = (250_000, Some(Duration::from_secs(60)));
        }
        None => {}
    }
    limits
}

fn explore(flags: &Flags, checks: &[Check]) -> Result {
    let lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let is_for_people = flags.output.talks(lines.as_ref());
    let lines = Mutex::new((lines, Ok(())));
    let progress = Progress::new(!flags.output.quiet);
    let work = |check: &Check, report: &mut dyn FnMut(u64)| {
        let result = check.run(limits(flags, check), report);
        // Write each line at once: the rest may take an hour.
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(file), written @ Ok(())) = &mut *lines {
            *written = file.write(&line(check, &result));
        }
        result
    };
    let results = in_parallel(flags, checks, &progress, work, name);
    progress.end();
    lines.into_inner().unwrap_or_else(PoisonError::into_inner).1?;
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for (check, result) in checks.iter().zip(&results) {
        let Some(result) = result else { continue };
        if !result.as_expected {
            wrong.push((check, result));
        }
        rows.push(row(check, verdict(&result.outcome), result.as_expected, result.executions, result.seconds));
    }
    if is_for_people {
        let mut out = std::io::stdout().lock();
        let heads = ["of", "scenario", "memory", "S", "δ", "executions", "verdict", "time"];
        writeln!(out, "{}", table::list(&heads, &rows, colour()))?;
        let executions: u64 = results.iter().flatten().map(|result| result.executions).sum();
        let done = results.iter().flatten().count();
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        writeln!(out, "\n{done} checks, {} executions", count(executions as f64))?;
    }
    for (check, result) in &wrong {
        explain(check, &result.outcome);
    }
    if interrupted() {
        return Err(Error::Interrupted);
    }
    if wrong.is_empty() { Ok(()) } else { Err(Error::Failed) }
}

fn verdict(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::HoldsSoFar => "holds so far",
        Outcome::Interrupted => "interrupted",
        Outcome::Breaks(..) => "breaks",
    }
}

fn line<'a>(check: &'a Check, result: &'a filch_check::check::Result) -> Line<'a> {
    let (message, schedule) = match &result.outcome {
        Outcome::Breaks(message, schedule) => (Some(message.as_str()), schedule.as_ref()),
        _ => (None, None),
    };
    Line {
        subject: check.scenario.subject,
        scenario: &check.scenario.name,
        memory: check.memory(),
        buffer: match check.room {
            Room::Tso { buffer, .. } if buffer != usize::MAX => Some(buffer),
            _ => None,
        },
        delta: check.delta,
        executions: result.executions,
        verdict: verdict(&result.outcome),
        as_expected: result.as_expected,
        seconds: result.seconds,
        message,
        schedule: schedule.map(ToString::to_string),
    }
}

fn name(check: &Check) -> String {
    let delta = check.delta.map_or_else(String::new, |delta| format!(" δ={delta}"));
    format!("{}: {} on {} {}{delta}", check.scenario.subject, check.scenario.name, check.memory(), check.buffer())
}

fn row(check: &Check, verdict: &str, as_expected: bool, executions: u64, seconds: f64) -> Vec<String> {
    let verdict = match (as_expected, check.should_hold) {
        (true, true) => verdict.to_owned(),
        (true, false) => format!("{verdict}, as it must"),
        (false, _) => paint(&format!("{verdict} – WRONG"), BAD, colour()),
    };
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let executions = if executions < 100_000 { executions.to_string() } else { count(executions as f64) };
    vec![
        check.scenario.subject.to_owned(),
        check.scenario.name.clone(),
        check.memory().to_owned(),
        check.buffer(),
        check.delta.map_or_else(String::new, |delta| delta.to_string()),
        executions,
        verdict,
        duration(seconds),
    ]
}

/// Explains a failure on standard error: the history, and how to replay it.
fn explain(check: &Check, outcome: &Outcome) {
    eprintln!("\n{}", paint(&name(check), STRONG, colour()));
    let (message, schedule) = match outcome {
        Outcome::Holds | Outcome::HoldsSoFar | Outcome::Interrupted => {
            eprintln!("  should break, and does not");
            return;
        }
        Outcome::Breaks(message, schedule) => (message, schedule),
    };
    match schedule.as_ref().and_then(|schedule| check.history(schedule, SHORTEN)) {
        Some(Ok((schedule, history))) => {
            eprintln!("{history}");
            eprintln!("Again: {}", again(check, &schedule));
        }
        Some(Err(why)) => eprintln!("  {message}\n  (its history cannot be told: {why})"),
        None => eprintln!("  {message}"),
    }
}

fn again(check: &Check, schedule: &Schedule) -> String {
    let Room::Tso { buffer, .. } = check.room else { return String::new() };
    let buffer = if buffer == usize::MAX { "inf".to_owned() } else { buffer.to_string() };
    let delta = check.delta.map_or_else(String::new, |delta| format!(" --delta {delta}"));
    format!(
        "filch check {} --scenario '{}' --buffer {buffer}{delta} --replay '{schedule}'",
        check.scenario.subject, check.scenario.name
    )
}

fn replay(checks: &[Check], schedule: &str) -> Result {
    let schedule: Schedule = schedule.parse().map_err(usage)?;
    // A schedule that names the entry beyond the buffer belongs to a machine with that entry.
    let merges = schedule.to_string().contains('e');
    let fits = |check: &&Check| matches!(check.room, Room::Tso { coalesces, .. } if coalesces == merges);
    let fitting: Vec<&Check> = checks.iter().filter(fits).collect();
    let [check] = fitting[..] else {
        return Err(usage(format!(
            "--replay needs one subject, one scenario, one --buffer and, if it depends on it, --delta; this is {} checks",
            fitting.len()
        )));
    };
    let (_, history) = check.history(&schedule, Duration::ZERO).expect("on bounded TSO").map_err(usage)?;
    writeln!(std::io::stdout(), "{history}")?;
    if history.failure().is_some() { Err(Error::Failed) } else { Ok(()) }
}

/// Does `work` on all items, with the requested parallelism, and shows its progress. An interrupt skips the remaining
/// items.
fn in_parallel<T: Sync, R: Send>(
    flags: &Flags,
    items: &[T],
    progress: &Progress,
    work: impl Fn(&T, &mut dyn FnMut(u64)) -> R + Sync,
    name: impl Fn(&T) -> String + Sync,
) -> Vec<Option<R>> {
    struct State<R> {
        next: usize,
        done: usize,
        results: Vec<Option<R>>,
    }
    let threads = flags.jobs.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        |jobs| usize::try_from(jobs).expect("checked by the flag"),
    );
    let start = Instant::now();
    let state = Mutex::new(State { next: 0, done: 0, results: items.iter().map(|_| None).collect() });
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = {
                        let mut state = lock();
                        state.next += 1;
                        state.next - 1
                    };
                    let Some(item) = items.get(index) else { break };
                    if interrupted() {
                        break;
                    }
                    let show = |executions: Option<u64>| {
                        let done = lock().done;
                        #[expect(clippy::cast_precision_loss, reason = "a rough guess")]
                        let left = start.elapsed().as_secs_f64() / done as f64 * (items.len() - done) as f64;
                        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
                        let executions = executions.map_or_else(String::new, |n| format!(", {}", count(n as f64)));
                        progress.show(done, items.len(), left, format!("{}{executions}", name(item)));
                    };
                    show(None);
                    let result = work(item, &mut |executions| show(Some(executions)));
                    let mut state = lock();
                    state.results[index] = Some(result);
                    state.done += 1;
                }
            });
        }
    });
    state.into_inner().unwrap_or_else(PoisonError::into_inner).results
}

/// A line of the JSON output about a known mistake.
#[derive(Debug, Serialize)]
struct MutantLine<'a> {
    subject: &'a str,
    mutant: String,
    client: &'a str,
    /// Whether the checker sees the harm that the mistake does.
    found: bool,
    /// Whether the same program passes without the mistake.
    control_passes: bool,
    /// Executions until the harm, or all.
    executions: u64,
    control_executions: u64,
    message: Option<&'a str>,
}

fn check_mutants(flags: &Flags) -> Result {
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let all: Vec<Mutant> = mutants()
        .into_iter()
        .filter(|mutant| flags.subjects.is_empty() || flags.subjects.iter().any(|name| name == mutant.subject))
        .collect();
    let progress = Progress::new(!flags.output.quiet);
    let work = |mutant: &Mutant, _: &mut dyn FnMut(u64)| {
        let bounds = tso::Bounds { stop: interrupted, ..mutant.bounds() };
        let mistaken = tso::Bounds { slip: mutant.slip, ..bounds.clone() };
        let mutated = tso::explore(&|| mutant.program(), &mistaken, &mut |_| ());
        let control = tso::explore(&|| mutant.control(), &bounds, &mut |_| ());
        let is_stopped = [&mutated, &control].iter().any(|explored| matches!(explored.verdict, Verdict::Stopped));
        (!is_stopped).then_some((mutated, control))
    };
    let results = in_parallel(flags, &all, &progress, work, Mutant::name);
    progress.end();
    let (mut rows, mut survivors) = (Vec::new(), 0);
    for (mutant, result) in all.iter().zip(results) {
        let Some((mutated, control)) = result.flatten() else { continue };
        let killed = matches!(&mutated.verdict, Verdict::Failed(failure) if failure.wrong.harm == mutant.harm);
        let healthy = matches!(control.verdict, Verdict::Passed);
        survivors += usize::from(!killed || !healthy);
        if let Some(lines) = &mut lines {
            let message = match &mutated.verdict {
                Verdict::Failed(failure) => failure.wrong.message.lines().next(),
                _ => None,
            };
            lines.write(&MutantLine {
                subject: mutant.subject,
                mutant: mutant.name(),
                client: &mutant.client,
                found: killed,
                control_passes: healthy,
                executions: mutated.executions,
                control_executions: control.executions,
                message,
            })?;
        }
        let verdict = match (&mutated.verdict, killed, healthy) {
            (Verdict::Failed(failure), true, true) => {
                failure.wrong.message.lines().next().unwrap_or_default().to_owned()
            }
            (_, true, false) => paint("FAILS without the mistake", BAD, colour()),
            _ => paint("SURVIVES", BAD, colour()),
        };
        rows.push(vec![
            mutant.name(),
            mutant.client.clone(),
            mutated.executions.to_string(),
            control.executions.to_string(),
            verdict,
        ]);
    }
    if flags.output.talks(lines.as_ref()) {
        let mut out = std::io::stdout().lock();
        let heads = ["known mistake", "client", "executions until it fails", "without the mistake", "how it fails"];
        let (all, killed) = (rows.len(), rows.len() - survivors);
        writeln!(out, "{}", table::list(&heads, &rows, colour()))?;
        writeln!(out, "\n{killed} of {all} found")?;
    }
    if interrupted() {
        return Err(Error::Interrupted);
    }
    if survivors > 0 { Err(Error::Failed) } else { Ok(()) }
}

fn check_orderings(flags: &Flags, all: &[Scenario], subjects: &[&str]) -> Result {
    let chosen: Vec<&str> = subjects
        .iter()
        .copied()
        .filter(|&subject| flags.subjects.is_empty() || flags.subjects.iter().any(|name| name == subject))
        .collect();
    let of = |subject: &str| -> Vec<Scenario> {
        let mut scenarios = weaken::of(subject, all);
        scenarios.retain(|scenario| {
            flags.scenario.as_ref().is_none_or(|name| *name == scenario.name) && (flags.all || scenario.is_quick_on_tso)
        });
        scenarios
    };
    let progress = Progress::new(!flags.output.quiet);
    let work = |subject: &&str, report: &mut dyn FnMut(u64)| {
        let buffer = flags.buffer.first().copied().unwrap_or(2);
        let room = Room::Tso { buffer, coalesces: false };
        let mut effort = Effort { setting: Setting { delta: room.least_delta() }, ..Effort::default() };
        effort.tso.processor.buffer = buffer;
        (effort.tso.stop, effort.c11.stop) = (interrupted, interrupted);
        if !flags.all {
            (effort.c11.preemptions, effort.c11.time) = (Some(2), Some(Duration::from_secs(5)));
        }
        let mut sites = 0;
        weaken(&of(subject), &effort, &mut |row| {
            sites += 1;
            report(sites);
            if !flags.output.quiet {
                progress.say(&format!("{subject}: {row}"));
            }
        })
    };
    let results = in_parallel(flags, &chosen, &progress, work, |subject| format!("orderings of {subject}"));
    progress.end();
    let mut out = std::io::stdout().lock();
    let mut settled = true;
    for (subject, report) in chosen.iter().zip(results) {
        let Some(report) = report else { continue };
        settled &= report.is_settled();
        writeln!(out, "{}: {report}", paint(subject, STRONG, colour()))?;
        for row in report.rows.iter().filter(|row| matches!(row.outcome, weaken::Outcome::Unexplained)) {
            writeln!(out, "  {row}")?;
        }
        for kept in &report.stale {
            writeln!(out, "  stale: {kept}")?;
        }
        for (file, line) in &report.unreached {
            writeln!(out, "  unreached: {file}:{line}")?;
        }
        for (scenario, on, message) in &report.left_out {
            writeln!(out, "  left out: {scenario} on {on}: {}", message.lines().next().unwrap_or_default())?;
        }
        for (scenario, on) in &report.cut {
            writeln!(out, "  not seen to its end: {scenario} on {on}")?;
        }
    }
    if interrupted() {
        return Err(Error::Interrupted);
    }
    if settled { Ok(()) } else { Err(Error::Failed) }
}
