//! An experiment as a value: what is asked, who runs what, how often, what is drawn and what is claimed.
//!
//! Nothing here starts anything: [`plan`] makes the cells of it that are visited, [`claim`] decides from what was measured.

pub(crate) mod claim;
pub(crate) mod plan;
pub(crate) mod points;

use std::path::PathBuf;

use filch_catalogue::WAITS;

use crate::flags::Size;
use crate::identity::{Placement, ProgramId, SchedulerId};
use claim::Claim;

/// A question, and what is measured to answer it.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    /// What it is asked for by, and what the records of its runs say; a comparison that somebody puts together has none.
    pub(crate) name: Option<&'static str>,
    pub(crate) question: String,
    pub(crate) entries: Vec<Entry>,
    /// Numbers of workers, which each scheduler is run with.
    pub(crate) workers: Vec<usize>,
    pub(crate) placements: Vec<Placement>,
    pub(crate) sweep: Option<Sweep>,
    pub(crate) effort: Effort,
    /// The columns that answer the question, by name; all that fit if there are none.
    pub(crate) columns: &'static [&'static str],
    pub(crate) plots: &'static [Plot],
    pub(crate) claims: Vec<Claim>,
}

impl Experiment {
    /// A comparison of nobody yet, free to be placed by the system, as often as time allows.
    pub(crate) fn new(question: impl Into<String>) -> Self {
        Self {
            name: None,
            question: question.into(),
            entries: Vec::new(),
            workers: Vec::new(),
            placements: vec![Placement::Free],
            sweep: None,
            effort: Effort::default(),
            columns: &[],
            plots: Plot::USUAL,
            claims: Vec::new(),
        }
    }
}

/// A program, and who runs it beside the sequential program.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) program: Program,
    pub(crate) contenders: Vec<Contender>,
}

/// Each of these programs, run by all of these.
pub(crate) fn each(programs: &[Program], contenders: &[Contender]) -> Vec<Entry> {
    let entry = |program: &Program| Entry { program: program.clone(), contenders: contenders.to_vec() };
    programs.iter().map(entry).collect()
}

/// A program in each size, written as `uts:tree=T3S`: what is not set has the value that the program has in that size.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    quick: Option<String>,
    compare: Option<String>,
    paper: Option<String>,
}

impl Program {
    /// The same text in every size.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = Some(text.into());
        Self { quick: text.clone(), compare: text.clone(), paper: text }
    }

    /// A text of its own for each size, in which it may be left out.
    pub(crate) fn sized([quick, compare, paper]: [Option<&str>; 3]) -> Self {
        let [quick, compare, paper] = [quick, compare, paper].map(|text| text.map(str::to_owned));
        Self { quick, compare, paper }
    }

    pub(crate) fn of(&self, size: Size) -> Option<&str> {
        match size {
            Size::Quick => self.quick.as_deref(),
            Size::Compare => self.compare.as_deref(),
            Size::Paper => self.paper.as_deref(),
        }
    }
}

/// Who runs programs, with parameters.
#[derive(Clone, Debug)]
pub(crate) enum Contender {
    /// One of filch's pools or queues, as `--pools` has it: `lace`, `bwos-l:block=64`, `filch-levels`.
    Pool { name: String, wait: &'static str },
    /// Somebody else's scheduler.
    Peer(String),
    /// Somebody's runner.
    Runner(PathBuf),
}

impl Contender {
    /// A pool or queue, whose workers wait as is usual.
    pub(crate) fn pool(name: impl Into<String>) -> Self {
        Self::Pool { name: name.into(), wait: WAITS[0].name }
    }

    pub(crate) fn peer(name: impl Into<String>) -> Self {
        Self::Peer(name.into())
    }
}

/// What takes several values: wherever a program or a contender has `PARAMETER=*`, it stands for one of each value.
///
/// Who does not have the parameter is measured once, and drawn as a line to compare with.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    pub(crate) parameter: &'static str,
    pub(crate) values: Vec<String>,
    /// What it means, with its unit.
    pub(crate) meaning: &'static str,
}

impl Sweep {
    /// These texts where the parameter has each of its values, or the text alone.
    fn spread(sweep: Option<&Self>, text: &str) -> Vec<String> {
        let Some(sweep) = sweep else { return vec![text.to_owned()] };
        let open = format!("{}=*", sweep.parameter);
        if !text.contains(&open) {
            return vec![text.to_owned()];
        }
        let with = |value: &String| text.replace(&open, &format!("{}={value}", sweep.parameter));
        sweep.values.iter().map(with).collect()
    }

    /// A program and who runs it, both without what is swept, and its value, if either of them has one.
    pub(crate) fn apart(
        sweep: Option<&Self>,
        program: &ProgramId,
        who: &SchedulerId,
    ) -> (ProgramId, SchedulerId, Option<String>) {
        let Some(Self { parameter, .. }) = sweep else { return (program.clone(), who.clone(), None) };
        let ((program, of_program), (who, of_who)) = (program.without(parameter), who.without(parameter));
        (program, who, of_who.or(of_program))
    }

    /// Where a value stands on an axis: a number, or a time in seconds.
    pub(crate) fn place(value: &str) -> Option<f64> {
        let time = || humantime::parse_duration(value).ok().map(|time| time.as_secs_f64());
        value.parse().ok().or_else(time)
    }
}

/// How often everything is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds over everything, whatever time they take.
    pub(crate) at_least: usize,
    /// Rounds even if there is time for more.
    pub(crate) at_most: usize,
    /// Seconds to fill with rounds.
    pub(crate) budget: u32,
    /// A visit times as many runs as fill this many seconds.
    pub(crate) visit: f64,
}

impl Effort {
    /// For programs of this size: the quick ones take less, and paper's sizes take what they take.
    pub(crate) fn at(self, size: Size) -> Self {
        match size {
            Size::Quick => Self { budget: self.budget / 4, visit: self.visit / 3.0, ..self },
            Size::Compare | Size::Paper => self,
        }
    }
}

impl Default for Effort {
    /// As many rounds as an interval needs, and more in a minute.
    fn default() -> Self {
        Self { at_least: claim::ENOUGH_ROUNDS, at_most: 30, budget: 60, visit: 0.15 }
    }
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plot {
    /// Every run of every scheduler.
    Times,
    /// Ts/TP against the number of workers.
    Speedup,
    /// What a fork and its join add.
    Forks,
    /// This column against what is swept.
    Swept(&'static str),
}

impl Plot {
    /// What a comparison draws, as far as there is something to draw.
    pub(crate) const USUAL: &'static [Self] = &[Self::Times, Self::Speedup, Self::Forks];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_spreads_what_has_its_parameter() {
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
    fn values_have_places() {
        let place = |value| Sweep::place(value);
        assert_eq!(
            (place("64"), place("0.5"), place("30us"), place("sqrt")),
            (Some(64.0), Some(0.5), Some(30e-6), None)
        );
    }
}
