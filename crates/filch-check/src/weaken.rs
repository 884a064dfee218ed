//! The weakening driver: which orderings are needed?
//!
//! The driver weakens every call site that a subject's scenarios reach, one site and one step at a time, and runs the
//! scenarios until one fails: the ordering is then *necessary*. If none fails, the source must give a
//! [reason](crate::kept) for the stronger ordering; otherwise the weakening is *unexplained*. A reason that matches no
//! passing weakening is *stale*. A line with an ordering that no scenario reaches is *unreached*.
//!
//! Invariant: a run counts only if it passes without the change. A run that a bound stopped counts as passed, and the
//! row says so.
//!
//! The memories limit what a pass means: [`c11`] lists what loom misses, and TSO distinguishes only operations that
//! drain a store buffer, so only those are run on it.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use filch_memory::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::kept::{Kept, reason_for, reasons};
use crate::sites::{CallSite, Kind, Weakening};
use crate::sources::orderings_in;
use crate::{Make, Scenario, Setting, c11, tso};

/// The bounds of each run.
#[derive(Clone, Debug)]
pub struct Effort {
    /// The scenarios' parameters.
    pub setting: Setting,
    /// The bounds on bounded TSO.
    pub tso: tso::Bounds,
    /// The bounds on C11.
    pub c11: c11::Bounds,
}

impl Default for Effort {
    /// Two entries in each store buffer; three preemptions and twenty seconds under loom.
    fn default() -> Self {
        Self {
            setting: Setting::default(),
            tso: tso::Bounds { executions: 2_000_000, ..tso::Bounds::buffer(2) },
            c11: c11::Bounds { preemptions: Some(3), time: Some(Duration::from_secs(20)), ..c11::Bounds::default() },
        }
    }
}

/// A memory that a scenario runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Bounded TSO.
    Tso,
    /// C11, as loom implements it.
    C11,
}

impl Display for On {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tso => "TSO",
            Self::C11 => "C11",
        })
    }
}

/// The result of a weakening.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A scenario fails with it.
    Necessary {
        /// The scenario.
        scenario: String,
        /// The memory.
        on: On,
        /// What was wrong.
        message: String,
    },
    /// Nothing fails, and the source gives this reason for the stronger ordering.
    Kept(&'static Kept),
    /// Nothing fails, and the source gives no reason.
    Unexplained,
}

/// A weakening of one call site, and its result.
#[derive(Clone, Debug)]
pub struct Row {
    /// The call site and the change.
    pub weakening: Weakening,
    /// The result.
    pub outcome: Outcome,
    /// The number of runs that a bound stopped.
    pub stopped: usize,
}

/// The results for a subject's call sites.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each weakening.
    pub rows: Vec<Row>,
    /// Call sites that are already relaxed.
    pub relaxed: Vec<CallSite>,
    /// Reasons that match no passing weakening, in files that some scenario reaches.
    pub stale: Vec<&'static Kept>,
    /// Lines with an ordering that no scenario reaches, in files that some scenario reaches.
    pub unreached: Vec<(&'static str, u32)>,
    /// Runs that fail without a change, and how: they were left out.
    pub left_out: Vec<(String, On, String)>,
    /// Runs that a bound stopped without a change: they may reach more call sites than were seen.
    pub cut: Vec<(String, On)>,
}

impl Report {
    /// Returns the number of weakenings that make a scenario fail.
    pub fn necessary(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Necessary { .. })).count()
    }

    /// Returns the number of weakenings that pass and have a reason.
    pub fn kept(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Kept(_))).count()
    }

    /// Returns the number of weakenings that pass and have none.
    pub fn unexplained(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Unexplained)).count()
    }

    /// Returns whether every ordering is accounted for.
    pub fn is_settled(&self) -> bool {
        self.unexplained() == 0 && self.stale.is_empty() && self.unreached.is_empty()
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (necessary, kept, unexplained) = (self.necessary(), self.kept(), self.unexplained());
        let (relaxed, stale) = (self.relaxed.len(), self.stale.len());
        let unreached = self.unreached.len();
        write!(
            f,
            "{necessary} necessary, {kept} kept, {unexplained} unexplained, {stale} stale, {unreached} unreached, \
             {relaxed} relaxed"
        )
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.weakening)?;
        match &self.outcome {
            Outcome::Necessary { scenario, on, message } => {
                write!(f, "necessary: {scenario} on {on}: {}", message.lines().next().unwrap_or_default())
            }
            Outcome::Kept(kept) => write!(f, "kept: {}", kept.reason),
            Outcome::Unexplained => f.write_str("unexplained: nothing fails without it"),
        }?;
        if self.stopped > 0 { write!(f, " ({} runs stopped by their bounds)", self.stopped) } else { Ok(()) }
    }
}

/// Returns the orderings one step below another at an operation; `None` removes it.
///
/// ```
/// use filch_check::sites::Kind;
/// use filch_check::weaken::below;
/// use filch_memory::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
///
/// assert_eq!(below(Kind::Store, SeqCst), [Some(Release)]);
/// assert_eq!(below(Kind::Update, AcqRel), [Some(Acquire), Some(Release)]);
/// assert_eq!(below(Kind::Fence, SeqCst), [Some(AcqRel), None]);
/// assert_eq!(below(Kind::Load, Relaxed), []);
/// ```
pub fn below(kind: Kind, order: Ordering) -> Vec<Option<Ordering>> {
    match (kind, order) {
        (Kind::Barrier, _) | (Kind::Fence, Acquire | Release) => vec![None],
        // Removal is tried too: an interleaving can need the one and not the other.
        (Kind::Fence, SeqCst) => vec![Some(AcqRel), None],
        (Kind::Load | Kind::Failure, SeqCst) => vec![Some(Acquire)],
        (Kind::Store, SeqCst) => vec![Some(Release)],
        (Kind::Update, SeqCst) => vec![Some(AcqRel)],
        (Kind::Update | Kind::Fence, AcqRel) => vec![Some(Acquire), Some(Release)],
        (_, Acquire | Release) => vec![Some(Relaxed)],
        _ => Vec::new(),
    }
}

/// Returns whether TSO distinguishes the weaker operation, which it does only if that drains less.
fn tso_can_tell(kind: Kind, order: Ordering) -> bool {
    match kind {
        Kind::Barrier => true,
        Kind::Fence | Kind::Store => order == SeqCst,
        _ => false,
    }
}

/// A scenario on a memory that passes without a change.
struct Run<'a> {
    scenario: &'a Scenario,
    on: On,
    make: &'a Make,
    sites: Vec<CallSite>,
    /// In executions on TSO. Counted, so that it does not depend on the clock which of two runs tells first.
    cost: u64,
}

impl Run<'_> {
    /// What an execution on C11 costs, about.
    const OF_C11: u64 = 10;

    fn passes(&self, site: &CallSite) -> bool {
        self.sites.contains(site)
    }

    /// Returns the failure that a weakening causes, or whether every execution was seen.
    fn try_out(&self, weakening: &Weakening, effort: &Effort) -> Result<bool, String> {
        let weakening = Some(weakening.clone());
        match self.on {
            On::Tso => {
                let bounds = tso::Bounds { weakening, ..effort.tso.clone() };
                let explored = tso::explore(&|| (self.make)(effort.setting), &bounds, &mut |_| ());
                told_by_tso(explored.verdict)
            }
            On::C11 => {
                let bounds = c11::Bounds { weakening, ..effort.c11.clone() };
                told_by_c11(c11::explore(self.make, effort.setting, &bounds, &mut |_| ()).verdict)
            }
        }
    }
}

fn told_by_tso(verdict: tso::Verdict) -> Result<bool, String> {
    match verdict {
        tso::Verdict::Passed => Ok(true),
        tso::Verdict::Stopped => Ok(false),
        tso::Verdict::Failed(failure) => Err(failure.wrong.message),
    }
}

fn told_by_c11(verdict: c11::Verdict) -> Result<bool, String> {
    match verdict {
        c11::Verdict::Passed => Ok(true),
        c11::Verdict::Stopped(_) => Ok(false),
        c11::Verdict::Failed(message) => Err(message),
    }
}

/// Returns the scenarios that reach the code of a subject: its own, and those of subjects that share its protocol.
pub fn of(subject: &str, all: &[Scenario]) -> Vec<Scenario> {
    let sharing: &[&str] = match subject {
        // These share job states and sleep; the first also has a queue's index protocol.
        "runtime" | "guest" | "seize" | "wool" | "direct-pdq-r2" | "beat" | "ticks" => {
            &["runtime", "guest", "seize", "wool", "direct-pdq-r2", "beat", "ticks", "lace"]
        }
        // Shares the same, and has a queue besides.
        "order" => {
            &["order", "runtime", "guest", "seize", "wool", "direct-pdq-r2", "beat", "ticks", "lace", "chase-lev"]
        }
        "ff-the" => &["ff-the", "the"],
        "thep" | "thep-apart" | "thep-impatient" => &["thep", "thep-apart", "thep-impatient"],
        // Shares its blocks, from which the other delegates.
        "bwos-l" => &["bwos-l", "padws"],
        // Two forms in one file.
        "wsq" | "wsq-packed" => &["wsq", "wsq-packed"],
        _ => &[subject],
    };
    all.iter().filter(|scenario| sharing.contains(&scenario.subject)).cloned().collect()
}

/// Returns the weakenings of the call sites that scenarios reach, without trying any, each with the source's reason if
/// it has one. It surveys all executions on TSO, and one on C11, which has other barriers.
pub fn weakenings(
    scenarios: &[Scenario],
    setting: Setting,
    bounds: &tso::Bounds,
) -> Vec<(Weakening, Option<&'static Kept>)> {
    let one = c11::Bounds { executions: 1, ..c11::Bounds::default() };
    let mut sites = BTreeMap::new();
    for scenario in scenarios {
        let on_tso = tso::survey(&|| (scenario.tso)(setting), bounds).1;
        let on_c11 = scenario.c11.as_ref().map_or_else(|_| Vec::new(), |make| c11::survey(make, setting, &one).1);
        for site in on_tso.into_iter().chain(on_c11).filter(is_in_question) {
            sites.insert((site.file, site.line, site.column, site.kind), site);
        }
    }
    let weaker = |site: CallSite| {
        let to = below(site.kind, site.order).into_iter();
        to.map(move |to| Weakening { site: site.clone(), to })
    };
    let all = sites.into_values().flat_map(weaker);
    all.map(|weakening| (reason_for(&weakening), weakening)).map(|(reason, weakening)| (weakening, reason)).collect()
}

/// Returns whether a site is in question: the scenario's own operations are not.
fn is_in_question(site: &CallSite) -> bool {
    !site.file.contains("filch-check")
}

/// Weakens every call site that the scenarios of one subject reach, and passes each row to `progress`. The report of a
/// stopped run has only the finished rows.
pub fn weaken(scenarios: &[Scenario], effort: &Effort, progress: &mut dyn FnMut(&Row)) -> Report {
    let mut report = Report::default();
    let mut runs = survey(scenarios, effort, &mut report);
    runs.sort_by_key(|run| run.cost);
    let mut sites: BTreeMap<_, &CallSite> = BTreeMap::new();
    for site in runs.iter().flat_map(|run| &run.sites) {
        sites.insert((site.file, site.line, site.column, site.kind), site);
    }
    let is_stopped = || (effort.tso.stop)() || (effort.c11.stop)();
    for site in sites.values().copied() {
        let weaker = below(site.kind, site.order);
        if weaker.is_empty() {
            report.relaxed.push(site.clone());
        }
        for to in weaker {
            let row = settle(Weakening { site: site.clone(), to }, &runs, effort);
            if is_stopped() {
                return report;
            }
            progress(&row);
            report.rows.push(row);
        }
    }
    let mut files: Vec<&str> = sites.values().map(|site| site.file).collect();
    files.dedup();
    for file in files {
        let passed = |begin, end| sites.values().any(|site| site.file == file && (begin..=end).contains(&site.line));
        let lines = orderings_in(file).into_iter().filter(|&(line, begin)| !passed(begin, line));
        report.unreached.extend(lines.map(|(line, _)| (file, line)));
    }
    let surveyed = |kept: &Kept| sites.values().any(|site| kept.is_in(site.file));
    let matched = |kept: &Kept| {
        report.rows.iter().any(|row| matches!(row.outcome, Outcome::Kept(other) if std::ptr::eq(other, kept)))
    };
    report.stale = reasons().iter().filter(|kept| surveyed(kept) && !matched(kept)).collect();
    report
}

fn survey<'a>(scenarios: &'a [Scenario], effort: &Effort, report: &mut Report) -> Vec<Run<'a>> {
    let mut runs = Vec::new();
    for scenario in scenarios {
        let makes = [(On::Tso, Some(&scenario.tso)), (On::C11, scenario.c11.as_ref().ok())];
        for (on, make) in makes.into_iter().filter_map(|(on, make)| Some((on, make?))) {
            let (told, executions, mut sites) = match on {
                On::Tso => {
                    let (explored, sites) = tso::survey(&|| make(effort.setting), &effort.tso);
                    (told_by_tso(explored.verdict), explored.executions, sites)
                }
                On::C11 => {
                    let (explored, sites) = c11::survey(make, effort.setting, &effort.c11);
                    (told_by_c11(explored.verdict), explored.executions, sites)
                }
            };
            match told {
                Ok(true) => {}
                Ok(false) => report.cut.push((scenario.name.clone(), on)),
                Err(message) => {
                    report.left_out.push((scenario.name.clone(), on, message));
                    continue;
                }
            }
            sites.retain(is_in_question);
            let cost = executions * if on == On::Tso { 1 } else { Run::OF_C11 };
            runs.push(Run { scenario, on, make, sites, cost });
        }
    }
    runs
}

fn settle(weakening: Weakening, runs: &[Run<'_>], effort: &Effort) -> Row {
    let site = &weakening.site;
    let mut stopped = 0;
    for run in runs.iter().filter(|run| run.passes(site)) {
        if run.on == On::Tso && !tso_can_tell(site.kind, site.order) {
            continue;
        }
        match run.try_out(&weakening, effort) {
            Ok(complete) => stopped += usize::from(!complete),
            Err(message) => {
                let outcome = Outcome::Necessary { scenario: run.scenario.name.clone(), on: run.on, message };
                return Row { weakening, outcome, stopped: 0 };
            }
        }
    }
    Row { outcome: reason_for(&weakening).map_or(Outcome::Unexplained, Outcome::Kept), weakening, stopped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weakening_ends_at_relaxed_or_nothing() {
        for kind in [Kind::Load, Kind::Store, Kind::Update, Kind::Failure, Kind::Fence, Kind::Barrier] {
            let mut steps = 0;
            let mut open = vec![SeqCst];
            while let Some(order) = open.pop() {
                steps += 1;
                assert!(steps < 20, "{kind:?} goes round in circles");
                open.extend(below(kind, order).into_iter().flatten());
            }
        }
    }
}
