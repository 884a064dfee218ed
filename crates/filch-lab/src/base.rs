//! What times are compared with, and how each row differs from it.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use crate::error::{Result, usage};
use crate::experiment::claim::{ENOUGH_ROUNDS, RowId};
use crate::export::json;
use crate::flags::Against;
use crate::identity::{Placement, ProgramId, SchedulerId};
use crate::record::Run;
use crate::stats::Estimate;
use crate::summary::{Program, Row, contenders, summarize, summarize_against};

/// What rows are compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Base {
    /// rayon, or else the first contender.
    Usual,
    /// The contender of this name, or the runner at this path.
    Named(String),
    /// Each row with its like in this file.
    Earlier(String),
}

impl Base {
    /// Whether this is a base, or how well: the least is best.
    fn rank(&self, who: &SchedulerId) -> Option<usize> {
        match self {
            Self::Usual => None,
            Self::Named(name) => {
                let label = SchedulerId { placement: Placement::Free, ..who.clone() }.to_string();
                let short = label.strip_prefix("filch ").map(str::to_owned);
                // As `--pools` names the default pool in other styles.
                let listed = label.replacen("filch ", "filch-", 1);
                [who.build.clone(), Some(label), short, Some(listed)]
                    .iter()
                    .position(|known| known.as_ref() == Some(name))
            }
            Self::Earlier(file) => {
                let from = who.build.as_deref().and_then(|build| build.strip_suffix(file.as_str()));
                from.filter(|own| own.is_empty() || own.ends_with(", ")).map(|_| 0)
            }
        }
    }

    /// Whether these rows are what others are compared with.
    fn is(&self, who: &SchedulerId) -> bool {
        self.rank(who).is_some()
    }

    /// Returns the name of the base of these rows, if they have one.
    pub(crate) fn title(&self, rows: &[Row]) -> Option<String> {
        match self {
            Self::Usual => usual(rows).map(|who| who.to_string()),
            Self::Named(_) => self.best(rows.iter()).map(|row| row.label.clone()),
            Self::Earlier(file) => rows.iter().any(|row| self.is(&row.who)).then(|| file.clone()),
        }
    }

    /// Returns the row that another one is compared with.
    pub(crate) fn row<'r>(&self, rows: &'r [Row], row: &Row) -> Option<&'r Row> {
        let mut alike = rows.iter().filter(|base| base.workers == row.workers || base.is_serial());
        match self {
            Self::Usual => {
                let who = usual(rows)?;
                alike.find(|base| base.who == who)
            }
            Self::Named(_) => {
                let placed = alike.clone().filter(|base| base.who.placement == row.who.placement);
                self.best(placed).or_else(|| self.best(alike))
            }
            Self::Earlier(file) => {
                let who = in_file(&row.who, file);
                alike.find(|base| base.who == who)
            }
        }
    }

    fn best<'r>(&self, rows: impl Iterator<Item = &'r Row>) -> Option<&'r Row> {
        rows.filter_map(|row| Some((self.rank(&row.who)?, row))).min_by_key(|(rank, _)| *rank).map(|(_, row)| row)
    }
}

/// rayon, or else the first contender; none if there is only one.
fn usual(rows: &[Row]) -> Option<SchedulerId> {
    let mut contenders = contenders(rows.iter().filter(|row| row.time.is_some()));
    if contenders.len() < 2 {
        return None;
    }
    let known = contenders.iter().position(|who| who.scheduler == "rayon").unwrap_or(0);
    Some(contenders.swap_remove(known))
}

/// The like of a scheduler in a file.
fn in_file(who: &SchedulerId, file: &str) -> SchedulerId {
    let build = who.build.iter().map(String::as_str).chain([file]).collect::<Vec<_>>().join(", ");
    SchedulerId { build: Some(build), ..who.clone() }
}

/// What the flags compare with.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) base: Base,
    /// The runs of an earlier session.
    earlier: Vec<Run>,
    /// The share by which a row may be slower.
    limit: Option<f64>,
}

impl Comparison {
    /// Reads what the flags name.
    pub(crate) fn of(flags: &Against) -> Result<Self> {
        let (mut earlier, limit) = (Vec::new(), flags.fail_above);
        if limit.is_some() && flags.base.is_none() && flags.baseline.is_none() {
            return Err(usage("--fail-above needs something to compare with: --base or --baseline"));
        }
        let base = match (&flags.base, &flags.baseline) {
            (Some(name), _) => Base::Named(name.clone()),
            (None, Some(path)) if is_runner(path)? => Base::Named(path.display().to_string()),
            (None, Some(path)) => {
                earlier = runs_of_one_build(path)?;
                Base::Earlier(path.display().to_string())
            }
            (None, None) => Base::Usual,
        };
        Ok(Self { base, earlier, limit })
    }

    /// Fails unless one of the rows to come has something to be compared with.
    pub(crate) fn check(&self, rows: &[RowId], left_out: &[String]) -> Result {
        match &self.base {
            Base::Usual => Ok(()),
            Base::Named(name) => {
                let mut names: Vec<String> =
                    rows.iter().filter(|row| !row.who.is_serial()).map(|row| row.who.to_string()).collect();
                names.dedup();
                let why: String = left_out.iter().map(|why| format!("\n{why}")).collect();
                if !rows.iter().any(|row| self.base.is(&row.who)) {
                    let known: Vec<&str> = names.iter().map(String::as_str).collect();
                    return Err(usage(filch_catalogue::unknown("contender to compare with", name, &known) + &why));
                }
                if rows.iter().all(|row| row.who.is_serial() || self.base.is(&row.who)) {
                    return Err(usage(format!(
                        "nothing is compared with {name}: name something by --runner, --pools or --peers{why}"
                    )));
                }
                Ok(())
            }
            Base::Earlier(file) => {
                let is_there = |row: &RowId| self.earlier.iter().any(|run| is_like(run, row));
                if rows.iter().any(|row| !row.who.is_serial() && is_there(row)) {
                    return Ok(());
                }
                let kinds = self.earlier.iter().filter(|run| !run.who.is_serial());
                let mut kinds: Vec<String> =
                    kinds.map(|run| format!("{}, {} on {}", run.program, run.who, run.workers)).collect();
                kinds.sort();
                kinds.dedup();
                Err(usage(format!("{file} has none of these rows; it has {}", kinds.join("; "))))
            }
        }
    }

    /// Summarizes these runs beside the earlier ones of the same rows.
    pub(crate) fn summarize(&self, runs: &[Run], asked: &[ProgramId]) -> Vec<Program> {
        let Base::Earlier(file) = &self.base else { return summarize_against(runs, asked, &self.base) };
        // Rounds of different sessions are not close in time.
        let first = runs.iter().map(|run| run.round + 1).max().unwrap_or(0);
        let rows = rows_of(runs);
        let mut all = runs.to_vec();
        for run in self.earlier.iter().filter(|run| rows.iter().any(|row| is_like(run, row))) {
            all.push(Run { round: first + run.round, who: in_file(&run.who, file), ..run.clone() });
        }
        summarize_against(&all, asked, &self.base)
    }

    /// Returns the same runs without earlier ones, compared as usual, for what is said of this session alone.
    pub(crate) fn alone<'p>(&self, all: &'p [Program], runs: &[Run], asked: &[ProgramId]) -> Cow<'p, [Program]> {
        if self.base == Base::Usual { Cow::Borrowed(all) } else { Cow::Owned(summarize(runs, asked)) }
    }

    /// Returns how each row differs from the base that the flags name.
    pub(crate) fn differences(&self, programs: &[Program]) -> Vec<Difference> {
        if self.base == Base::Usual {
            return Vec::new();
        }
        let each = programs.iter().flat_map(|program| program.rows.iter().map(move |row| (program, row)));
        let difference = |(program, row): (&Program, &Row)| {
            let base = self.base.row(&program.rows, row)?;
            (!row.is_serial() && base.who != row.who).then_some(())?;
            let ratio = row.compared.to_baseline?;
            // Of two sessions, each must have enough.
            let rounds = if ratio.rounds > 0 { ratio.rounds } else { row.rounds.len().min(base.rounds.len()) };
            Some(Difference {
                row: format!("{}, {} on {}", program.title, row.label, row.workers),
                base: program.baseline.clone()?,
                ratio,
                is_known: rounds >= ENOUGH_ROUNDS,
                limit: self.limit,
            })
        };
        each.filter_map(difference).collect()
    }
}

/// Returns the rows that these runs make.
pub(crate) fn rows_of(runs: &[Run]) -> Vec<RowId> {
    let mut rows: Vec<RowId> = Vec::new();
    for Run { program, who, workers, .. } in runs {
        let row = RowId { program: program.clone(), who: who.clone(), workers: *workers };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

/// Whether a run of another session belongs to a row.
fn is_like(run: &Run, row: &RowId) -> bool {
    (&run.program, &run.who, run.workers) == (&row.program, &row.who, row.workers)
}

/// Whether a file is a program rather than lines.
pub(crate) fn is_runner(path: &Path) -> Result<bool> {
    use std::io::Read;

    let mut start = [0; 2];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut start));
    let wrong = |error| usage(format!("--baseline {}: cannot be read: {error}", path.display()));
    Ok(!matches!(start[..read.map_err(wrong)?], [] | [b'{', ..] | [0x1f, 0x8b]))
}

/// Returns the runs of a file that gave right answers, each process alone.
fn runs_of_one_build(path: &Path) -> Result<Vec<Run>> {
    let mut runs = json::read(path)?;
    runs.retain(|run| run.correct && run.copies == 1);
    let Some(first) = runs.first() else {
        return Err(usage(format!("{} contains no runs to compare with", path.display())));
    };
    let build = |run: &Run| format!("commit {} on {} × {}", run.commit, run.machine.cores, run.machine.processor);
    if let Some(other) = runs.iter().find(|run| build(run) != build(first)) {
        let (path, one, other) = (path.display(), build(first), build(other));
        return Err(usage(format!("{path} holds several builds, {one} and {other}: compare with a file of one")));
    }
    Ok(runs)
}

/// How a row differs from what it is compared with.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// The row, with its program.
    pub(crate) row: String,
    pub(crate) base: String,
    /// Its time over the base's.
    pub(crate) ratio: Estimate,
    /// Whether enough rounds make the interval.
    is_known: bool,
    limit: Option<f64>,
}

impl Difference {
    /// The interval, if it decides anything.
    fn interval(&self) -> Option<(f64, f64)> {
        self.ratio.interval.filter(|_| self.is_known)
    }

    /// The difference in a word or two.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.interval() {
            Some((low, _)) if low > 1.0 => "slower",
            Some((_, high)) if high < 1.0 => "faster",
            Some(_) => "no difference",
            None => "unknown",
        }
    }

    /// Whether the whole interval is above the limit.
    pub(crate) fn is_failure(&self) -> bool {
        self.interval().zip(self.limit).is_some_and(|((low, _), limit)| low > 1.0 + limit)
    }

    /// Whether more rounds may tell on which side of the limit it is.
    pub(crate) fn is_open(&self) -> bool {
        let Some(limit) = self.limit else { return false };
        self.interval().is_none_or(|(low, high)| low <= 1.0 + limit && 1.0 + limit < high)
    }

    /// The failed check, as a sentence.
    pub(crate) fn failure(&self) -> Option<String> {
        let limit = self.limit.filter(|_| self.is_failure())? * 100.0;
        let by = self.to_string().replace('+', "");
        Some(format!("{} is slower than {} by {by}; the limit is {limit} %", self.row, self.base))
    }
}

/// `+3.1 % [+2.8, +3.4]`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0).replace("-0.0", "+0.0").replace('-', "−");
        write!(f, "{} %", percent(self.ratio.value))?;
        self.ratio.interval.map_or(Ok(()), |(low, high)| write!(f, " [{}, {}]", percent(low), percent(high)))
    }
}

#[cfg(test)]
mod tests;
