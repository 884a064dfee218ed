//! An experiment as a value: the question, the contenders, the number of runs, the plots and the claims.
//!
//! [`plan`] makes the cells to visit, and asks users' runners which programs they can run; [`probe`] starts a program
//! that measures by itself; everything else here, such as [`claim`], starts no process.

pub(crate) mod claim;
pub(crate) mod file;
pub(crate) mod mean;
pub(crate) mod origin;
pub(crate) mod paper;
pub(crate) mod plan;
pub(crate) mod points;
pub(crate) mod probe;
pub(crate) mod quantity;
mod related;

use std::path::PathBuf;

use filch_catalogue::WAITS;
use serde_json::Value;

use crate::experiments::usual;
use crate::flags::Size;
use crate::identity::{Placement, ProgramId, SchedulerId};
use crate::ledger;
use claim::{Claim, Decided};
use origin::Origin;
use paper::{Mark, Paper};
use probe::{Findings, Probe};

/// A question, and the measurements that answer it.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    /// Its name in commands and in the records of its runs; a comparison that the user assembles has none.
    pub(crate) name: Option<&'static str>,
    /// The user's file that it was read from.
    pub(crate) file: Option<&'static str>,
    pub(crate) question: String,
    pub(crate) entries: Vec<Entry>,
    /// The numbers of workers to run each scheduler with.
    pub(crate) workers: Vec<usize>,
    pub(crate) placements: Vec<Placement>,
    pub(crate) sweep: Option<Sweep>,
    pub(crate) effort: Effort,
    /// The columns that answer the question, by name; all that fit if empty.
    pub(crate) columns: &'static [&'static str],
    pub(crate) plots: &'static [Plot],
    pub(crate) claims: Vec<Claim>,
    /// The figure or table that it reproduces, if it reproduces one.
    pub(crate) paper: Option<&'static Paper>,
    /// Where it differs from that figure or table, besides sizes and processors, and why: sentences.
    pub(crate) differs: &'static [&'static str],
    /// The runner that all contenders are compared with, on every program.
    pub(crate) baseline: Option<PathBuf>,
    /// The program that measures, if programs on schedulers do not.
    pub(crate) probe: Option<&'static Probe>,
}

impl Experiment {
    /// Returns an experiment without contenders, in which the system places the threads, with as many runs as time
    /// allows.
    pub(crate) fn new(question: impl Into<String>) -> Self {
        Self {
            name: None,
            file: None,
            question: question.into(),
            entries: Vec::new(),
            workers: Vec::new(),
            placements: vec![Placement::Free],
            sweep: None,
            effort: Effort::default(),
            columns: &[],
            plots: Plot::USUAL,
            claims: Vec::new(),
            paper: None,
            differs: &[],
            baseline: None,
            probe: None,
        }
    }

    /// What its document marks in our plots.
    pub(crate) fn marks(&self) -> &'static [Mark] {
        self.paper.map_or(&[], |paper| paper.marks)
    }

    /// Whether it shows the times to start and to stop a pool.
    pub(crate) fn is_about_starts(&self) -> bool {
        self.columns.iter().any(|column| matches!(*column, "first" | "stop"))
    }

    /// Whether `reproduce` measures it: all but the default of `compare`.
    pub(crate) fn is_reproduction(&self) -> bool {
        self.name != Some(usual::NAME)
    }

    /// Returns whose claim it is: the document's if its ledger names it, and else what the claim says of itself.
    pub(crate) fn origin(&self, text: &str, otherwise: Origin) -> Origin {
        let is_named = self.name.is_some_and(|id| ledger::names(id, text));
        if is_named { Origin::Document } else { otherwise }
    }

    /// Says of verdicts whose claims they are on.
    pub(crate) fn of_whom(&self, decided: Vec<Decided>) -> Vec<Decided> {
        let each = |decided: Decided| Decided { origin: self.origin(decided.text, decided.origin), ..decided };
        decided.into_iter().map(each).collect()
    }

    /// Returns what these lines of its probe say; `None` if it has none.
    pub(crate) fn findings(&self, lines: &[Value]) -> Option<Findings> {
        let findings = (self.probe?.findings)(lines);
        Some(Findings { decided: self.of_whom(findings.decided), ..findings })
    }
}

/// A program, and its contenders besides the sequential program.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) program: Program,
    pub(crate) contenders: Vec<Contender>,
}

/// Combines each program with all contenders.
pub(crate) fn each(programs: &[Program], contenders: &[Contender]) -> Vec<Entry> {
    let entry = |program: &Program| Entry { program: program.clone(), contenders: contenders.to_vec() };
    programs.iter().map(entry).collect()
}

/// A program in each size, such as `uts:tree=T3S`; unset parameters have the program's values for that size.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    quick: Option<String>,
    small: Option<String>,
    paper: Option<String>,
}

impl Program {
    /// Uses the same text in every size.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = Some(text.into());
        Self { quick: text.clone(), small: text.clone(), paper: text }
    }

    /// Uses a separate text for each size, or none.
    pub(crate) fn sized([quick, small, paper]: [Option<&str>; 3]) -> Self {
        let [quick, small, paper] = [quick, small, paper].map(|text| text.map(str::to_owned));
        Self { quick, small, paper }
    }

    /// Uses it in one size only.
    pub(crate) fn only(size: Size, text: &str) -> Self {
        let at = |this: Size| (this == size).then_some(text);
        Self::sized([Size::Quick, Size::Small, Size::Paper].map(at))
    }

    pub(crate) fn of(&self, size: Size) -> Option<&str> {
        match size {
            Size::Quick => self.quick.as_deref(),
            Size::Small => self.small.as_deref(),
            Size::Paper => self.paper.as_deref(),
        }
    }
}

/// A scheduler with parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Contender {
    /// One of filch's pools or queues, as in `--pools`: `lace`, `bwos-l:block=64`, `filch-levels`.
    Pool { name: String, wait: &'static str },
    /// A peer.
    Peer(String),
    /// The user's runner.
    Runner(PathBuf),
}

impl Contender {
    /// Returns a pool or queue with the default waiting strategy.
    pub(crate) fn pool(name: impl Into<String>) -> Self {
        Self::Pool { name: name.into(), wait: WAITS[0].name }
    }

    pub(crate) fn peer(name: impl Into<String>) -> Self {
        Self::Peer(name.into())
    }

    /// Returns the path, if this is a user's runner.
    pub(crate) fn as_runner(&self) -> Option<&PathBuf> {
        match self {
            Self::Runner(path) => Some(path),
            Self::Pool { .. } | Self::Peer(_) => None,
        }
    }
}

/// A swept parameter: a program or contender with `PARAMETER=*` stands for one of each value.
///
/// A contender without the parameter is measured once, and drawn as a reference line.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    pub(crate) parameter: &'static str,
    pub(crate) values: Vec<String>,
    /// Its meaning, with its unit.
    pub(crate) meaning: &'static str,
}

impl Sweep {
    /// Returns the text with each value of the parameter, or the text alone if it does not have the parameter.
    pub(crate) fn spread(sweep: Option<&Self>, text: &str) -> Vec<String> {
        let Some(sweep) = sweep else { return vec![text.to_owned()] };
        let open = format!("{}=*", sweep.parameter);
        if !text.contains(&open) {
            return vec![text.to_owned()];
        }
        let with = |value: &String| text.replace(&open, &format!("{}={value}", sweep.parameter));
        sweep.values.iter().map(with).collect()
    }

    /// Returns a program and a scheduler without the swept parameter, and its value, if either has one.
    pub(crate) fn apart(
        sweep: Option<&Self>,
        program: &ProgramId,
        who: &SchedulerId,
    ) -> (ProgramId, SchedulerId, Option<String>) {
        let Some(Self { parameter, .. }) = sweep else { return (program.clone(), who.clone(), None) };
        let ((program, of_program), (who, of_who)) = (program.without(parameter), who.without(parameter));
        (program, who, of_who.or(of_program))
    }

    /// Returns the position of a value on an axis: a number, or a time in seconds.
    pub(crate) fn place(value: &str) -> Option<f64> {
        let time = || humantime::parse_duration(value).ok().map(|time| time.as_secs_f64());
        value.parse().ok().or_else(time)
    }
}

/// How often everything runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The minimum number of rounds, however long they take.
    pub(crate) at_least: usize,
    /// The maximum number of rounds, even if there is time for more.
    pub(crate) at_most: usize,
    /// The seconds to fill with rounds.
    pub(crate) budget: u32,
    /// The seconds that a visit fills with timed runs.
    pub(crate) visit: f64,
}

impl Effort {
    /// Adjusts the effort to a size: quick sizes get less time.
    pub(crate) fn at(self, size: Size) -> Self {
        match size {
            Size::Quick => Self { budget: self.budget / 4, visit: self.visit / 3.0, ..self },
            Size::Small | Size::Paper => self,
        }
    }
}

impl Default for Effort {
    /// As many rounds as an interval needs, and more if a minute permits.
    fn default() -> Self {
        Self { at_least: claim::ENOUGH_ROUNDS, at_most: 30, budget: 60, visit: 0.15 }
    }
}

/// A plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plot {
    /// Every run of every scheduler.
    Times,
    /// Ts/TP against the number of workers.
    Speedup,
    /// T1/TP against the number of workers.
    RelativeSpeedup,
    /// The cost of a fork and its join.
    Forks,
    /// This column against the swept parameter.
    Swept(&'static str),
}

impl Plot {
    /// The plots of a comparison, as far as there are data.
    pub(crate) const USUAL: &'static [Self] = &[Self::Times, Self::Speedup, Self::Forks];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_replaces_its_parameter() {
        let sweep = Sweep { parameter: "block", values: vec!["2".to_owned(), "sqrt".to_owned()], meaning: "tasks" };
        let spread = |text| Sweep::spread(Some(&sweep), text);
        assert_eq!(
            spread("bwos-l:block=*:capacity=64"),
            ["bwos-l:block=2:capacity=64", "bwos-l:block=sqrt:capacity=64"]
        );
        assert_eq!(spread("chase-lev"), ["chase-lev"]);
        assert_eq!(Sweep::spread(None, "fib:n=*"), ["fib:n=*"]);
    }

    #[test]
    fn values_have_positions() {
        let place = |value| Sweep::place(value);
        assert_eq!(
            (place("64"), place("0.5"), place("30us"), place("sqrt")),
            (Some(64.0), Some(0.5), Some(30e-6), None)
        );
    }
}
