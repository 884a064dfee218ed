//! What the lines of a session say, program by program: the numbers behind every table and plot.

use std::collections::BTreeMap;

use crate::record::Run;
use crate::stats::{Estimate, Rounds, Sample, geometric_mean};

/// All runs of one program with one set of parameters.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) title: String,
    /// Times of the sequential program alone: Ts.
    pub(crate) serial: Option<Sample>,
    pub(crate) capacities: Vec<Capacity>,
    /// The scheduler that all are compared with, if there are several.
    pub(crate) baseline: Option<String>,
    /// By number of workers, then by median time; the sequential program comes first.
    pub(crate) rows: Vec<Row>,
}

/// How much several processors do at once, against one: what a perfect scheduler could reach.
#[derive(Clone, Debug)]
pub(crate) struct Capacity {
    pub(crate) copies: usize,
    /// One value per round, with the time it was measured.
    pub(crate) samples: Vec<(f64, f64)>,
    pub(crate) sample: Sample,
    pub(crate) rounds: Rounds,
}

/// One scheduler with one number of workers.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) scheduler: String,
    pub(crate) version: String,
    pub(crate) workers: usize,
    pub(crate) seconds: Vec<f64>,
    /// Missing if every run broke.
    pub(crate) time: Option<Sample>,
    /// The median time of each round.
    pub(crate) rounds: Rounds,
    pub(crate) tasks: Option<u64>,
    pub(crate) compared: Compared,
    /// Medians by name.
    pub(crate) counters: BTreeMap<String, u64>,
    /// Processor time over time.
    pub(crate) processors: Option<f64>,
    pub(crate) peak_rss_bytes: u64,
    pub(crate) wrong: Vec<String>,
    pub(crate) broken: Vec<String>,
    /// Median of first runs in their process, over that of later ones.
    pub(crate) first_slower: Option<f64>,
}

/// What compares a row with others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compared {
    /// T1/Ts, of rows with one worker.
    pub(crate) overhead: Option<Estimate>,
    /// (T1 − Ts) / tasks, of rows with one worker.
    pub(crate) fork_seconds: Option<Estimate>,
    /// Ts/TP.
    pub(crate) speedup: Option<Estimate>,
    /// T1/TP, of rows with several workers.
    pub(crate) relative_speedup: Option<Estimate>,
    /// (T1/TP) / C: the share of what the processors can do at once.
    pub(crate) of_capacity: Option<Estimate>,
    /// The time over the baseline's on as many workers.
    pub(crate) to_baseline: Option<Estimate>,
}

impl Row {
    pub(crate) fn median(&self) -> Option<f64> {
        self.time.map(|time| time.median)
    }

    pub(crate) fn is_serial(&self) -> bool {
        self.scheduler == "serial"
    }

    pub(crate) fn is_filch(&self) -> bool {
        self.scheduler == "filch"
    }

    pub(crate) fn tasks_per_second(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        Some(self.tasks.filter(|&tasks| tasks > 0)? as f64 / self.median()?)
    }
}

impl Program {
    /// The capacity that bounds this many workers on this many processors.
    pub(crate) fn capacity(&self, workers: usize, cores: usize) -> Option<&Capacity> {
        let copies = workers.min(cores);
        self.capacities.iter().find(|capacity| capacity.copies == copies)
    }

    /// The rows of this many workers that have a time, fastest first, without the sequential program.
    pub(crate) fn ranking(&self, workers: usize) -> Vec<&Row> {
        let mut rows: Vec<&Row> =
            self.rows.iter().filter(|row| row.workers == workers && !row.is_serial() && row.time.is_some()).collect();
        rows.sort_by(|a, b| a.median().partial_cmp(&b.median()).expect("times are numbers"));
        rows
    }

    /// The numbers of workers that were measured, without the sequential program's.
    pub(crate) fn worker_counts(&self) -> Vec<usize> {
        let mut counts: Vec<usize> = self.rows.iter().filter(|row| !row.is_serial()).map(|row| row.workers).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    pub(crate) fn row(&self, label: &str, workers: usize) -> Option<&Row> {
        self.rows.iter().find(|row| row.label == label && row.workers == workers)
    }

    /// Forks of one run, if any scheduler told.
    pub(crate) fn tasks(&self) -> Option<u64> {
        self.rows.iter().find_map(|row| row.tasks)
    }

    /// The answer of the program is right wherever it was computed.
    pub(crate) fn all_right(&self) -> bool {
        self.rows.iter().all(|row| row.wrong.is_empty() && row.broken.is_empty())
    }
}

/// The schedulers of these rows, in the order in which they are shown: filch's default pool, its others, the rest by name.
pub(crate) fn contenders<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<String> {
    let mut rows: Vec<&Row> = rows.filter(|row| !row.is_serial()).collect();
    rows.sort_by_key(|row| (!row.is_filch(), row.label != "filch split", row.label.as_str()));
    let mut labels: Vec<String> = rows.into_iter().map(|row| row.label.clone()).collect();
    labels.dedup();
    labels
}

/// What schedulers are compared with: the one that everybody knows, or else the first.
fn baseline(rows: &[Row]) -> Option<String> {
    let mut contenders = contenders(rows.iter().filter(|row| row.time.is_some()));
    if contenders.len() < 2 {
        return None;
    }
    let known = contenders.iter().position(|label| label == "rayon").unwrap_or(0);
    Some(contenders.swap_remove(known))
}

/// Groups runs into programs, in the order in which `titles` names them; others follow in the order of `filch list`.
pub(crate) fn summarize(runs: &[Run], titles: &[String]) -> Vec<Program> {
    let mut same: Vec<Vec<&Run>> = Vec::new();
    for run in runs {
        let is_same = |group: &&mut Vec<&Run>| group[0].workload == run.workload && group[0].params == run.params;
        match same.iter_mut().find(is_same) {
            Some(group) => group.push(run),
            None => same.push(vec![run]),
        }
    }
    let mut groups: Vec<(String, Vec<&Run>)> = same.into_iter().map(|group| (group[0].program(), group)).collect();
    groups.sort_by_cached_key(|(title, group)| {
        let asked = titles.iter().position(|known| known == title).unwrap_or(usize::MAX);
        let listed = filch_workloads::specs().iter().position(|spec| spec.name == group[0].workload);
        (asked, listed.unwrap_or(usize::MAX), title.clone())
    });
    let several_waits = |scheduler: &str| {
        let mut waits: Vec<&str> = runs.iter().filter(|run| run.scheduler == scheduler).map(Run::wait).collect();
        waits.sort_unstable();
        waits.dedup();
        waits.len() > 1
    };
    let show_waits = several_waits("filch");
    groups.into_iter().map(|(title, runs)| program(title, &runs, show_waits)).collect()
}

fn program(title: String, runs: &[&Run], show_waits: bool) -> Program {
    let serial = Sample::of(runs.iter().filter(|run| is_alone(run)).filter_map(|run| run.seconds));
    let capacities = capacities(runs);
    let mut groups: Vec<((String, usize), Vec<&Run>)> = Vec::new();
    for run in runs.iter().filter(|run| run.copies == 1) {
        let mut label = run.label();
        if show_waits && run.wait.is_some() {
            label = format!("{label} {}", run.wait());
        }
        let key = (label, run.workers);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(run),
            None => groups.push((key, vec![run])),
        }
    }
    let mut rows: Vec<Row> = groups.into_iter().map(|((label, workers), group)| row(label, workers, &group)).collect();
    rows.sort_by(|a, b| {
        let key = |row: &Row| (!row.is_serial(), row.workers);
        let time = |row: &Row| row.median().unwrap_or(f64::INFINITY);
        key(a).cmp(&key(b)).then(time(a).total_cmp(&time(b)))
    });
    let baseline = baseline(&rows);
    let cores = runs.iter().map(|run| run.machine.cores).max().unwrap_or(1);
    let mut program = Program { title, serial, capacities, baseline, rows };
    let compared: Vec<Compared> = program.rows.iter().map(|row| compare(row, &program, cores)).collect();
    program.rows.iter_mut().zip(compared).for_each(|(row, compared)| row.compared = compared);
    program
}

fn is_alone(run: &Run) -> bool {
    run.scheduler == "serial" && run.copies == 1
}

fn median_seconds(runs: &[&Run]) -> Option<f64> {
    Sample::of(runs.iter().filter_map(|run| run.seconds)).map(|sample| sample.median)
}

/// C = copies × (one alone) / (each of several side by side), round by round, since the machine drifts.
fn capacities(runs: &[&Run]) -> Vec<Capacity> {
    let mut together: BTreeMap<(usize, usize), Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.scheduler == "serial" && run.copies > 1 && run.seconds.is_some()) {
        together.entry((run.copies, run.round)).or_default().push(run);
    }
    let mut found: BTreeMap<usize, Vec<(usize, f64, f64)>> = BTreeMap::new();
    for ((copies, round), group) in together {
        let alone: Vec<&Run> = runs.iter().copied().filter(|run| is_alone(run) && run.round == round).collect();
        let (Some(alone), Some(each)) = (median_seconds(&alone), median_seconds(&group)) else { continue };
        let at = group.iter().map(|run| run.at).fold(f64::NEG_INFINITY, f64::max);
        #[expect(clippy::cast_precision_loss, reason = "few copies")]
        found.entry(copies).or_default().push((round, at, copies as f64 * alone / each));
    }
    let capacity = |(copies, found): (usize, Vec<(usize, f64, f64)>)| {
        let sample = Sample::of(found.iter().map(|&(.., capacity)| capacity))?;
        let samples = found.iter().map(|&(_, at, capacity)| (at, capacity)).collect();
        let rounds = found.into_iter().map(|(round, _, capacity)| (round, capacity)).collect();
        Some(Capacity { copies, samples, sample, rounds })
    };
    found.into_iter().filter_map(capacity).collect()
}

fn row(label: String, workers: usize, runs: &[&Run]) -> Row {
    let seconds: Vec<f64> = runs.iter().filter_map(|run| run.seconds).collect();
    let mut counters: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in runs {
        for (name, value) in &run.counters {
            counters.entry(name.clone()).or_default().extend(value.as_f64());
        }
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "medians of counts")]
    let median = |(name, values): (String, Vec<f64>)| Some((name, Sample::of(values)?.median.round() as u64));
    let of_repeat =
        |later: bool| Sample::of(runs.iter().filter(|run| (run.repeat > 0) == later).filter_map(|run| run.seconds));
    let first_slower = match (of_repeat(false), of_repeat(true)) {
        (Some(first), Some(later)) if later.median > 0.0 => Some(first.median / later.median),
        _ => None,
    };
    let broke = |run: &&Run| run.seconds.is_none();
    let why = |run: &&Run| run.error.clone().unwrap_or_else(|| "no reason given".to_owned());
    let processors = Sample::of(runs.iter().filter_map(|run| Some(run.cpu_seconds / run.seconds?)));
    Row {
        label,
        scheduler: runs.first().map(|run| run.scheduler.clone()).unwrap_or_default(),
        version: runs.first().map(|run| run.version.clone()).unwrap_or_default(),
        workers,
        time: Sample::of(seconds.iter().copied()),
        seconds,
        rounds: rounds(runs),
        tasks: runs.iter().find_map(|run| run.tasks),
        compared: Compared::default(),
        counters: counters.into_iter().filter_map(median).collect(),
        processors: processors.map(|sample| sample.median),
        peak_rss_bytes: runs.iter().map(|run| run.peak_rss_bytes).max().unwrap_or(0),
        wrong: runs.iter().copied().filter(|run| !run.correct && !broke(run)).map(|run| why(&run)).collect(),
        broken: runs.iter().copied().filter(broke).map(|run| why(&run)).collect(),
        first_slower,
    }
}

fn rounds(runs: &[&Run]) -> Rounds {
    let mut seconds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for run in runs {
        seconds.entry(run.round).or_default().extend(run.seconds);
    }
    seconds.into_iter().filter_map(|(round, seconds)| Some((round, Sample::of(seconds)?.median))).collect()
}

/// Sets a row against others of its program, round by round.
fn compare(row: &Row, program: &Program, cores: usize) -> Compared {
    let mut compared = Compared::default();
    if row.is_serial() {
        return compared;
    }
    if let Some(serial) = program.rows.iter().find(|row| row.is_serial()) {
        let times = [&row.rounds, &serial.rounds];
        compared.speedup = Estimate::paired(times, |[time, serial]| serial / time);
        if row.workers == 1 {
            compared.overhead = Estimate::paired(times, |[time, serial]| time / serial);
            #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
            let each = |tasks: u64| Estimate::paired(times, |[time, serial]| (time - serial) / tasks as f64);
            compared.fork_seconds = row.tasks.filter(|&tasks| tasks > 0).and_then(each);
        }
    }
    if let Some(one) = program.row(&row.label, 1).filter(|_| row.workers > 1) {
        compared.relative_speedup = Estimate::paired([&row.rounds, &one.rounds], |[time, one]| one / time);
        compared.of_capacity = program.capacity(row.workers, cores).and_then(|capacity| {
            let series = [&row.rounds, &one.rounds, &capacity.rounds];
            Estimate::paired(series, |[time, one, capacity]| one / time / capacity)
        });
    }
    if let Some(baseline) = program.baseline.as_ref().and_then(|label| program.row(label, row.workers)) {
        let ratio = Estimate::paired([&row.rounds, &baseline.rounds], |[time, baseline]| time / baseline);
        // Nobody doubts that it takes as long as itself.
        let interval = |ratio: Estimate| ratio.interval.filter(|_| row.label != baseline.label);
        compared.to_baseline = ratio.map(|ratio| Estimate { interval: interval(ratio), ..ratio });
    }
    compared
}

/// Ties: a difference smaller than this is not a victory.
const TIE: f64 = 1.02;

/// What a session shows, in sentences, the most important first.
pub(crate) fn facts(programs: &[Program], cores: usize) -> Vec<Fact> {
    let mut counts: Vec<usize> = programs.iter().flat_map(Program::worker_counts).collect();
    counts.sort_unstable();
    counts.dedup();
    let most = counts.iter().copied().filter(|&workers| workers <= cores).max();
    let shown = [most, counts.first().copied().filter(|&least| Some(least) != most)];
    let mut facts: Vec<Fact> = shown.into_iter().flatten().filter_map(|workers| fastest(programs, workers)).collect();
    facts.extend(most.and_then(|workers| rivals(programs, workers)));
    facts.extend(fork_price(programs));
    facts.extend(most.filter(|&workers| workers > 1).and_then(|workers| scaling(programs, workers)));
    facts
}

/// A number worth a large type, and the sentence that explains it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fact {
    pub(crate) figure: String,
    pub(crate) sentence: String,
}

fn workers_text(workers: usize) -> String {
    if workers == 1 { "one worker".to_owned() } else { format!("{workers} workers") }
}

/// Who is fastest on how many programs.
fn fastest(programs: &[Program], workers: usize) -> Option<Fact> {
    let mut wins: Vec<(String, Vec<&str>)> = Vec::new();
    let mut contests = 0;
    for program in programs {
        let ranking = program.ranking(workers);
        let [best, _, ..] = ranking.as_slice() else { continue };
        contests += 1;
        let limit = best.median()? * TIE;
        for row in ranking.iter().filter(|row| row.median().is_some_and(|median| median <= limit)) {
            match wins.iter_mut().find(|(label, _)| *label == row.label) {
                Some((_, titles)) => titles.push(&program.title),
                None => wins.push((row.label.clone(), vec![&program.title])),
            }
        }
    }
    wins.sort_by_key(|(_, titles)| std::cmp::Reverse(titles.len()));
    let (label, titles) = wins.first()?;
    let others: Vec<String> = wins[1..].iter().map(|(label, titles)| format!("{label} {}", titles.len())).collect();
    let others = if others.is_empty() { String::new() } else { format!(" (others: {})", others.join(", ")) };
    let workers = workers_text(workers);
    Some(Fact {
        figure: format!("{} of {contests}", titles.len()),
        sentence: format!("programs on which {label} is the fastest, or within 2 % of it, with {workers}{others}."),
    })
}

/// How much longer the peers take than filch's default pool.
fn rivals(programs: &[Program], workers: usize) -> Option<Fact> {
    let mut ratios: Vec<(String, Vec<(f64, &str)>)> = Vec::new();
    for program in programs {
        let Some(ours) = program.row("filch split", workers) else { continue };
        for row in program.ranking(workers).iter().filter(|row| !row.is_filch()) {
            let ratio = Estimate::paired([&row.rounds, &ours.rounds], |[theirs, ours]| theirs / ours);
            let Some(ratio) = ratio else { continue };
            let entry = (ratio.value, program.title.as_str());
            match ratios.iter_mut().find(|(label, _)| *label == row.label) {
                Some((_, list)) => list.push(entry),
                None => ratios.push((row.label.clone(), vec![entry])),
            }
        }
    }
    let mean = |list: &[(f64, &str)]| geometric_mean(&list.iter().map(|&(ratio, _)| ratio).collect::<Vec<_>>());
    let mut means: Vec<(f64, String, (f64, &str))> = ratios
        .iter()
        .filter_map(|(label, list)| {
            let worst = list.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some((mean(list)?, label.clone(), worst))
        })
        .collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (nearest, label, _) = means.first()?;
    let each =
        means.iter().map(|(mean, label, (worst, title))| format!("{label} {mean:.2}× (most on {title}: {worst:.2}×)"));
    Some(Fact {
        figure: format!("{nearest:.2}×"),
        sentence: format!(
            "the time of filch split is what the nearest peer, {label}, takes with {}, as a geometric mean: {}.",
            workers_text(workers),
            each.collect::<Vec<_>>().join("; ")
        ),
    })
}

/// What a fork costs where little else is done.
fn fork_price(programs: &[Program]) -> Option<Fact> {
    let program = programs.iter().filter(|program| program.ranking(1).len() > 1).max_by(|a, b| {
        let density =
            |program: &Program| program.ranking(1).first().and_then(|row| row.tasks_per_second()).unwrap_or(0.0);
        // First the one that most schedulers run, then the one with the finest tasks.
        a.ranking(1).len().cmp(&b.ranking(1).len()).then(density(a).total_cmp(&density(b)))
    })?;
    let mut rows: Vec<(&str, f64)> = program
        .ranking(1)
        .iter()
        .filter_map(|row| Some((row.label.as_str(), row.compared.fork_seconds?.value)))
        .collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ours = rows.iter().find(|(label, _)| *label == "filch split").or_else(|| rows.first())?;
    let all = rows.iter().map(|(label, seconds)| format!("{label} {}", nanoseconds(*seconds)));
    Some(Fact {
        figure: nanoseconds(ours.1),
        sentence: format!(
            "is what a fork and its join add to sequential {} in {}, with one worker: {}.",
            program.title,
            ours.0,
            all.collect::<Vec<_>>().join(", ")
        ),
    })
}

/// A price that may be below nothing.
pub(crate) fn nanoseconds(seconds: f64) -> String {
    format!("{} ns", crate::terminal::significant(seconds * 1e9).replace('-', "−"))
}

/// How much of the capacity the default pool turns into speed.
fn scaling(programs: &[Program], workers: usize) -> Option<Fact> {
    let rows: Vec<(&Program, f64)> = programs
        .iter()
        .filter_map(|program| Some((program, program.row("filch split", workers)?.compared.of_capacity?.value)))
        .collect();
    let mean = geometric_mean(&rows.iter().map(|&(_, share)| share).collect::<Vec<_>>())?;
    let (least, share) = rows.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let capacities: Vec<f64> =
        rows.iter().filter_map(|(program, _)| Some(program.capacity(workers, workers)?.sample.median)).collect();
    let capacity = geometric_mean(&capacities)?;
    Some(Fact {
        figure: format!("{:.0} %", mean * 100.0),
        sentence: format!(
            "of the machine's parallel capacity (C{workers} = {capacity:.2} on average) becomes speed-up T1/T{workers} in \
             filch split; least on {}: {:.0} %.",
            least.title,
            share * 100.0
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;

    fn session() -> Vec<Run> {
        let mut runs = Vec::new();
        for round in 0..3 {
            for (scheduler, workers, seconds) in [
                ("serial", 1, 1.0),
                ("filch split", 1, 1.1),
                ("filch split", 2, 0.6),
                ("rayon", 1, 4.0),
                ("rayon", 2, 2.2),
            ] {
                let mut run = run("fib", scheduler, workers, seconds);
                run.round = round;
                run.machine.cores = 2;
                runs.push(run);
            }
            for _ in 0..2 {
                let mut run = run("fib", "serial", 1, 1.0 / 0.95);
                run.round = round;
                run.copies = 2;
                runs.push(run);
            }
        }
        runs
    }

    #[test]
    fn ratios_are_taken_against_the_right_times() {
        let programs = summarize(&session(), &[]);
        let [program] = programs.as_slice() else { panic!("one program") };
        assert_eq!(program.title, "fib n=30");
        let labels: Vec<(&str, usize)> = program.rows.iter().map(|row| (row.label.as_str(), row.workers)).collect();
        let order = [("serial", 1), ("filch split", 1), ("rayon", 1), ("filch split", 2), ("rayon", 2)];
        assert_eq!(labels, order);
        let one = program.row("filch split", 1).unwrap();
        let value = |estimate: Option<Estimate>| estimate.unwrap().value;
        assert!((value(one.compared.overhead) - 1.1).abs() < 1e-9);
        assert!((value(one.compared.fork_seconds) - 0.1 / 1_346_268.0).abs() < 1e-15);
        assert_eq!(one.compared.relative_speedup, None);
        let two = program.row("filch split", 2).unwrap();
        assert_eq!(two.compared.overhead, None);
        assert!((value(two.compared.speedup) - 1.0 / 0.6).abs() < 1e-9);
        assert!((value(two.compared.relative_speedup) - 1.1 / 0.6).abs() < 1e-9);
        assert!((program.capacity(2, 2).unwrap().sample.median - 1.9).abs() < 1e-9);
        assert!((value(two.compared.of_capacity) - 1.1 / 0.6 / 1.9).abs() < 1e-9);
        assert_eq!(program.baseline.as_deref(), Some("rayon"));
        assert!((value(two.compared.to_baseline) - 0.6 / 2.2).abs() < 1e-9);
        assert_eq!(two.compared.to_baseline.unwrap().rounds, 3);
        assert_eq!(value(program.row("rayon", 2).unwrap().compared.to_baseline), 1.0);
        assert_eq!(program.rows[0].compared.speedup, None, "the sequential program is compared with nobody");
        assert_eq!(two.counters["steals"], 12);
    }

    #[test]
    fn more_workers_than_processors_are_measured_against_the_processors() {
        let mut runs = session();
        let mut oversubscribed = run("fib", "filch split", 8, 0.6);
        oversubscribed.machine.cores = 2;
        runs.push(oversubscribed);
        let programs = summarize(&runs, &[]);
        assert!(programs[0].row("filch split", 8).unwrap().compared.of_capacity.is_some());
    }

    #[test]
    fn times_of_one_round_are_compared_and_runs_of_one_round_are_one_time() {
        let mut runs = Vec::new();
        // The machine slows down by half and more: in each round rayon takes twice as long.
        for (round, slow) in [1.0, 1.5, 4.0].into_iter().enumerate() {
            for (scheduler, seconds) in [("filch split", slow), ("rayon", 2.0 * slow)] {
                for factor in [0.9, 1.0, 1.1] {
                    let mut run = run("fib", scheduler, 2, seconds * factor);
                    run.round = round;
                    runs.push(run);
                }
            }
        }
        // One more round of filch alone, on a fast day.
        let mut alone = run("fib", "filch split", 2, 0.1);
        alone.round = 3;
        runs.push(alone);
        let programs = summarize(&runs, &[]);
        let ratio = programs[0].row("filch split", 2).unwrap().compared.to_baseline.unwrap();
        assert_eq!(ratio, Estimate { value: 0.5, interval: Some((0.5, 0.5)), rounds: 3 });
    }

    #[test]
    fn the_baseline_is_rayon_or_else_the_first_that_ran() {
        let of = |names: &[&str]| {
            let runs: Vec<Run> = names.iter().map(|name| run("fib", name, 1, 1.0)).collect();
            summarize(&runs, &[])[0].baseline.clone()
        };
        assert_eq!(of(&["chili", "rayon", "filch split"]).as_deref(), Some("rayon"));
        assert_eq!(of(&["chili", "filch chase-lev", "filch split"]).as_deref(), Some("filch split"));
        assert_eq!(of(&["serial", "chili"]), None);
        let mut runs = [run("fib", "rayon", 1, 1.0), run("fib", "chili", 1, 1.0), run("fib", "filch split", 1, 1.0)];
        runs[0].seconds = None;
        assert_eq!(summarize(&runs, &[])[0].baseline.as_deref(), Some("filch split"));
    }

    #[test]
    fn programs_keep_the_order_asked_for() {
        let runs = [run("fib", "rayon", 1, 1.0), run("queens", "rayon", 1, 1.0)];
        let titles = ["uts n=1".to_owned(), "queens n=30".to_owned(), "fib n=30".to_owned()];
        let found: Vec<String> = summarize(&runs, &titles).into_iter().map(|program| program.title).collect();
        assert_eq!(found, ["queens n=30", "fib n=30"]);
    }

    #[test]
    fn broken_and_wrong_runs_stay_visible_and_out_of_the_times() {
        let mut broken = run("fib", "chili", 1, 1.0);
        (broken.seconds, broken.correct, broken.error) = (None, false, Some("killed".to_owned()));
        let mut wrong = run("fib", "rayon", 1, 1.0);
        (wrong.correct, wrong.error) = (false, Some("5 is wrong".to_owned()));
        let programs = summarize(&[broken, wrong], &[]);
        assert!(!programs[0].all_right());
        assert_eq!(programs[0].row("chili", 1).unwrap().broken, ["killed"]);
        assert_eq!(programs[0].row("chili", 1).unwrap().time, None);
        assert_eq!(programs[0].row("rayon", 1).unwrap().wrong, ["5 is wrong"]);
    }

    #[test]
    fn the_facts_name_the_fastest_and_the_nearest_peer() {
        let facts = facts(&summarize(&session(), &[]), 2);
        assert_eq!(facts[0].figure, "1 of 1");
        assert!(
            facts[0].sentence.contains("filch split is the fastest") && facts[0].sentence.contains("with 2 workers")
        );
        let rivals = facts.iter().find(|fact| fact.sentence.contains("nearest peer")).unwrap();
        assert_eq!(rivals.figure, "3.67×");
        assert!(facts.iter().any(|fact| fact.sentence.contains("parallel capacity (C2 = 1.90")));
    }

    #[test]
    fn no_runs_give_no_facts() {
        assert_eq!(facts(&[], 2), []);
        assert!(summarize(&[], &[]).is_empty());
    }
}
