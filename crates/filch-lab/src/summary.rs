//! The summary of a session, program by program: the numbers behind every table and plot.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::Base;
use crate::experiment::quantity::Quantity;
use crate::identity::{Placement, ProgramId, SchedulerId};
use crate::record::Run;
use crate::stats::{Estimate, Rounds, Sample};

/// All runs of one program with one set of parameters.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) id: ProgramId,
    /// The program's name in views.
    pub(crate) title: String,
    /// The times of the sequential program alone: Ts.
    pub(crate) serial: Option<Sample>,
    pub(crate) capacities: Vec<Capacity>,
    /// The name of what the others are compared with, if there is something.
    pub(crate) baseline: Option<String>,
    /// Sorted by number of workers, then by median time; the sequential program comes first.
    pub(crate) rows: Vec<Row>,
}

/// The throughput of several processors over that of one, which bounds a perfect scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Capacity {
    pub(crate) copies: usize,
    /// One value per round, with its time of measurement.
    pub(crate) samples: Vec<(f64, f64)>,
    pub(crate) sample: Sample,
    pub(crate) rounds: Rounds,
}

/// One scheduler with one number of workers.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) who: SchedulerId,
    /// The scheduler's name in views.
    pub(crate) label: String,
    pub(crate) version: String,
    pub(crate) workers: usize,
    pub(crate) seconds: Vec<f64>,
    /// Missing if every run failed.
    pub(crate) time: Option<Sample>,
    /// The median time of each round.
    pub(crate) rounds: Rounds,
    pub(crate) tasks: Option<u64>,
    pub(crate) compared: Compared,
    /// The counters, by name.
    pub(crate) counters: BTreeMap<String, Counted>,
    /// The quantities of columns, as far as it has them.
    pub(crate) quantities: Vec<(Quantity, Estimate)>,
    /// Processor time over time.
    pub(crate) processors: Option<f64>,
    pub(crate) peak_rss_bytes: u64,
    /// The largest memory of a process beyond what files back, if that is known.
    pub(crate) own_bytes: Option<u64>,
    pub(crate) wrong: Vec<String>,
    pub(crate) broken: Vec<String>,
    /// The median of the first runs of processes, over that of the later runs.
    pub(crate) first_slower: Option<f64>,
}

/// A counter over all runs.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// The median of all runs.
    pub(crate) median: f64,
    /// The median of each round.
    pub(crate) rounds: Rounds,
}

/// The comparison of a row with others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compared {
    /// T1/Ts, for rows with one worker.
    pub(crate) overhead: Option<Estimate>,
    /// (T1 − Ts) / tasks, for rows with one worker.
    pub(crate) fork_seconds: Option<Estimate>,
    /// Ts/TP.
    pub(crate) speedup: Option<Estimate>,
    /// T1/TP, for rows with several workers.
    pub(crate) relative_speedup: Option<Estimate>,
    /// (P × TP − Ts) / tasks: what all workers together do besides the program.
    pub(crate) task_overhead_seconds: Option<Estimate>,
    /// (T1/TP) / C: the share of the parallel capacity.
    pub(crate) of_capacity: Option<Estimate>,
    /// The time over the base's with the same number of workers.
    pub(crate) to_baseline: Option<Estimate>,
}

impl Row {
    pub(crate) fn median(&self) -> Option<f64> {
        self.time.map(|time| time.median)
    }

    pub(crate) fn is_serial(&self) -> bool {
        self.who.is_serial()
    }

    /// Returns the median of the counter of this name.
    pub(crate) fn counted(&self, name: &str) -> Option<f64> {
        self.counters.get(name).map(|counted| counted.median)
    }

    pub(crate) fn tasks_per_second(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
        Some(self.tasks.filter(|&tasks| tasks > 0)? as f64 / self.median()?)
    }
}

impl Program {
    /// Returns the capacity that bounds this many workers on this many processors.
    pub(crate) fn capacity(&self, workers: usize, cores: usize) -> Option<&Capacity> {
        let copies = workers.min(cores);
        self.capacities.iter().find(|capacity| capacity.copies == copies)
    }

    /// Returns the rows with this many workers and a time, fastest first, without the sequential program.
    pub(crate) fn ranking(&self, workers: usize) -> Vec<&Row> {
        let mut rows: Vec<&Row> =
            self.rows.iter().filter(|row| row.workers == workers && !row.is_serial() && row.time.is_some()).collect();
        rows.sort_by(|a, b| a.median().partial_cmp(&b.median()).expect("times are numbers"));
        rows
    }

    /// Returns the measured numbers of workers, without the sequential program's.
    pub(crate) fn worker_counts(&self) -> Vec<usize> {
        let mut counts: Vec<usize> = self.rows.iter().filter(|row| !row.is_serial()).map(|row| row.workers).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    pub(crate) fn row(&self, who: &SchedulerId, workers: usize) -> Option<&Row> {
        self.rows.iter().find(|row| row.who == *who && row.workers == workers)
    }

    /// Returns the default pool's row.
    pub(crate) fn ours(&self, workers: usize) -> Option<&Row> {
        self.rows.iter().find(|row| row.who.is_default() && row.workers == workers)
    }

    /// Returns the sequential program's row, with the same placement if possible.
    fn serial_row(&self, who: &SchedulerId) -> Option<&Row> {
        let mut found = self.rows.iter().filter(|row| row.is_serial());
        let is_alike = |row: &&Row| (row.who.placement, &row.who.build) == (who.placement, &who.build);
        found.clone().find(is_alike).or_else(|| found.next())
    }

    /// The tasks of one run, if any scheduler reported them.
    pub(crate) fn tasks(&self) -> Option<u64> {
        self.rows.iter().find_map(|row| row.tasks)
    }
}

/// Returns the schedulers of these rows in display order: filch's default pool, its others, the rest by name.
pub(crate) fn contenders<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<SchedulerId> {
    let mut rows: Vec<&Row> = rows.filter(|row| !row.is_serial()).collect();
    rows.sort_by_key(|row| (!row.who.is_filch(), !row.who.is_default(), row.label.as_str()));
    let mut found: Vec<SchedulerId> = rows.into_iter().map(|row| row.who.clone()).collect();
    found.dedup();
    found
}

/// Groups runs into programs, in the order of `asked`; others follow in the order of `filch list`.
pub(crate) fn summarize(runs: &[Run], asked: &[ProgramId]) -> Vec<Program> {
    summarize_against(runs, asked, &Base::Usual)
}

/// The same, compared with this base.
pub(crate) fn summarize_against(runs: &[Run], asked: &[ProgramId], base: &Base) -> Vec<Program> {
    let mut programs: Vec<Program> =
        grouped(runs, |run| &run.program).into_iter().map(|(id, runs)| program(id, &runs, base)).collect();
    let listed = |id: &ProgramId| filch_catalogue::specs().iter().position(|spec| spec.name == id.workload);
    let place = |id: &ProgramId| {
        let asked = asked.iter().position(|known| known == id);
        (asked.unwrap_or(usize::MAX), listed(id).unwrap_or(usize::MAX))
    };
    programs.sort_by(|a, b| place(&a.id).cmp(&place(&b.id)).then_with(|| a.id.compare(&b.id)));
    programs
}

/// Groups runs by key; the groups are in the order of their first runs.
fn grouped<'r, K: PartialEq>(
    runs: impl IntoIterator<Item = &'r Run>,
    key: impl Fn(&'r Run) -> K,
) -> Vec<(K, Vec<&'r Run>)> {
    let mut groups: Vec<(K, Vec<&Run>)> = Vec::new();
    for run in runs {
        let key = key(run);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(run),
            None => groups.push((key, vec![run])),
        }
    }
    groups
}

fn program(id: &ProgramId, runs: &[&Run], base: &Base) -> Program {
    let serial = Sample::of(alone(runs).iter().filter_map(|run| run.seconds));
    let single = runs.iter().copied().filter(|run| run.copies == 1);
    let groups = grouped(single, |run| (&run.who, run.workers));
    let mut rows: Vec<Row> = groups.into_iter().map(|((who, workers), group)| row(who, workers, &group)).collect();
    rows.sort_by(|a, b| {
        let key = |row: &Row| (!row.is_serial(), row.workers);
        let time = |row: &Row| row.median().unwrap_or(f64::INFINITY);
        key(a).cmp(&key(b)).then(time(a).total_cmp(&time(b)))
    });
    let (baseline, capacities) = (base.title(&rows), capacities(runs));
    let cores = runs.iter().map(|run| run.machine.cores).max().unwrap_or(1);
    let mut program = Program { id: id.clone(), title: id.to_string(), serial, capacities, baseline, rows };
    let compared: Vec<Compared> = program.rows.iter().map(|row| compare(row, &program, base, cores)).collect();
    program.rows.iter_mut().zip(compared).for_each(|(row, compared)| row.compared = compared);
    program
}

/// Returns the runs of the sequential program by itself, preferably without pinning.
fn alone<'r>(runs: &[&'r Run]) -> Vec<&'r Run> {
    let serial = || runs.iter().copied().filter(|run| run.who.is_serial() && run.copies == 1);
    let build = serial().next().map(|run| &run.who.build);
    let all = || serial().filter(|run| Some(&run.who.build) == build);
    let free: Vec<&Run> = all().filter(|run| run.who.placement == Placement::Free).collect();
    if free.is_empty() { all().collect() } else { free }
}

fn median_seconds(runs: &[&Run]) -> Option<f64> {
    Sample::of(runs.iter().filter_map(|run| run.seconds)).map(|sample| sample.median)
}

/// C = copies × (time alone) / (time side by side), round by round, since the machine drifts.
fn capacities(runs: &[&Run]) -> Vec<Capacity> {
    let alone = alone(runs);
    let mut together: BTreeMap<(usize, usize), Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.who.is_serial() && run.copies > 1 && run.seconds.is_some()) {
        together.entry((run.copies, run.round)).or_default().push(run);
    }
    let mut found: BTreeMap<usize, Vec<(usize, f64, f64)>> = BTreeMap::new();
    for ((copies, round), group) in together {
        let alone: Vec<&Run> = alone.iter().copied().filter(|run| run.round == round).collect();
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

fn row(who: &SchedulerId, workers: usize, runs: &[&Run]) -> Row {
    let seconds: Vec<f64> = runs.iter().filter_map(|run| run.seconds).collect();
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.counters.keys()).collect();
    let over_runs = |of: &dyn Fn(&Run) -> Option<f64>| {
        let median = Sample::of(runs.iter().filter_map(|run| of(run)))?.median;
        Some(Counted { median, rounds: rounds(runs, of) })
    };
    // A run without a steal has no time of one, and reports zero.
    let is_missing = |name: &str, count: f64| count == 0.0 && name.starts_with("steal_");
    let count = |run: &Run, name: &String| run.counters.get(name)?.as_f64().filter(|&count| !is_missing(name, count));
    let counted = |name: &String| Some((name.clone(), over_runs(&|run| count(run, name))?));
    let least_depth = over_runs(&least_depth).map(|least| (LEAST_DEPTH.to_owned(), least));
    let of_repeat =
        |later: bool| Sample::of(runs.iter().filter(|run| (run.repeat > 0) == later).filter_map(|run| run.seconds));
    let first_slower = match (of_repeat(false), of_repeat(true)) {
        (Some(first), Some(later)) if later.median > 0.0 => Some(first.median / later.median),
        _ => None,
    };
    let broke = |run: &&Run| run.seconds.is_none();
    let why = |run: &&Run| run.error.clone().unwrap_or_else(|| "no reason given".to_owned());
    let processors = Sample::of(runs.iter().filter_map(|run| Some(run.cpu_seconds / run.seconds?)));
    let mut row = Row {
        who: who.clone(),
        label: who.to_string(),
        version: runs.first().map(|run| run.version.clone()).unwrap_or_default(),
        workers,
        time: Sample::of(seconds.iter().copied()),
        seconds,
        rounds: rounds(runs, |run| run.seconds),
        tasks: runs.iter().find_map(|run| run.tasks),
        compared: Compared::default(),
        counters: names.into_iter().filter_map(counted).chain(least_depth).collect(),
        processors: processors.map(|sample| sample.median),
        peak_rss_bytes: runs.iter().map(|run| run.peak_rss_bytes).max().unwrap_or(0),
        own_bytes: runs.iter().filter_map(|run| own_bytes(run)).max(),
        wrong: runs.iter().copied().filter(|run| !run.correct && !broke(run)).map(|run| why(&run)).collect(),
        broken: runs.iter().copied().filter(broke).map(|run| why(&run)).collect(),
        first_slower,
        quantities: Vec::new(),
    };
    let of = |quantity: Quantity| Some((quantity, quantity.computed(&row)?));
    row.quantities = Quantity::OF_COLUMNS.into_iter().filter_map(of).collect();
    row
}

/// A counter of rows, and of no run: the least of the workers' greatest depths.
pub(crate) const LEAST_DEPTH: &str = "least_peak_depth";

/// Returns the peak memory beyond what files back, which only grows.
fn own_bytes(run: &Run) -> Option<u64> {
    (run.file_rss_bytes > 0).then(|| run.peak_rss_bytes.saturating_sub(run.file_rss_bytes))
}

/// Returns the least of the workers' greatest depths.
fn least_depth(run: &Run) -> Option<f64> {
    let each = run.counters_by_worker.iter().map(|worker| worker.get("peak_depth")?.as_f64());
    each.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::min)
}

/// Returns the median of each round.
fn rounds(runs: &[&Run], of: impl Fn(&Run) -> Option<f64>) -> Rounds {
    let mut found: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for run in runs {
        found.entry(run.round).or_default().extend(of(run));
    }
    found.into_iter().filter_map(|(round, values)| Some((round, Sample::of(values)?.median))).collect()
}

/// Compares a row with others of its program, round by round.
fn compare(row: &Row, program: &Program, base: &Base, cores: usize) -> Compared {
    let mut compared = Compared::default();
    // Of two sessions, the sequential program tells how the machines differ.
    let is_compared = !row.is_serial() || matches!(base, Base::Earlier(_));
    if let Some(base) = base.row(&program.rows, row).filter(|_| is_compared) {
        let ratio = Estimate::paired([&row.rounds, &base.rounds], |[time, base]| time / base);
        // The ratio to itself is certain.
        let interval = |ratio: Estimate| ratio.interval.filter(|_| row.who != base.who);
        compared.to_baseline = ratio.map(|ratio| Estimate { interval: interval(ratio), ..ratio });
    }
    if row.is_serial() {
        return compared;
    }
    if let Some(serial) = program.serial_row(&row.who) {
        let times = [&row.rounds, &serial.rounds];
        compared.speedup = Estimate::paired(times, |[time, serial]| serial / time);
        #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
        let each =
            |tasks: u64| Estimate::paired(times, |[time, serial]| (row.workers as f64 * time - serial) / tasks as f64);
        compared.task_overhead_seconds = row.tasks.filter(|&tasks| tasks > 0).and_then(each);
        if row.workers == 1 {
            compared.overhead = Estimate::paired(times, |[time, serial]| time / serial);
            compared.fork_seconds = compared.task_overhead_seconds;
        }
    }
    if let Some(one) = program.row(&row.who, 1).filter(|_| row.workers > 1) {
        compared.relative_speedup = Estimate::paired([&row.rounds, &one.rounds], |[time, one]| one / time);
        compared.of_capacity = program.capacity(row.workers, cores).and_then(|capacity| {
            let series = [&row.rounds, &one.rounds, &capacity.rounds];
            Estimate::paired(series, |[time, one, capacity]| one / time / capacity)
        });
    }
    compared
}

#[cfg(test)]
pub(crate) mod tests;
