//! Kept verdicts beside the claims of today's experiments.
//!
//! Invariant: a verdict counts only for a claim that has the words, the rule and the rows that it was decided by; every
//! other one is stale.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::Result;
use crate::experiment::claim::{Claim, Decided};
use crate::experiment::origin::{Origin, Standing, Totals};
use crate::experiment::paper::Document;
use crate::experiment::plan::Plan;
use crate::experiment::quantity::{Measure, Pick};
use crate::experiment::{Experiment, Sweep, probe};
use crate::flags::Size;
use crate::identity::{ProgramId, SchedulerId};
use crate::outcome::{Outcome, Told};

/// An outcome, beside the experiment as it is today.
pub(crate) struct Kept {
    pub(crate) experiment: Experiment,
    pub(crate) outcome: Outcome,
    /// Today's claims on which there is a verdict, in their order.
    pub(crate) claims: Vec<KeptClaim>,
    /// The number of verdicts on claims that the experiment no longer makes.
    former: usize,
}

/// A claim of today with its kept verdict.
pub(crate) struct KeptClaim {
    pub(crate) text: &'static str,
    pub(crate) origin: Origin,
    pub(crate) told: Told,
    /// The contender that it is about, if it is about one.
    who: Option<&'static str>,
    /// What has changed since.
    pub(crate) changed: Option<&'static str>,
}

impl KeptClaim {
    pub(crate) fn standing(&self) -> Standing {
        if self.changed.is_some() { Standing::Stale } else { Standing::of_word(&self.told.verdict) }
    }

    /// The verdict in words.
    pub(crate) fn word(&self) -> &'static str {
        self.standing().word(self.origin)
    }

    /// Returns the strongest evidence against it, or what is missing; what has changed, if it is stale.
    pub(crate) fn why(&self) -> String {
        self.changed.map_or_else(|| self.told.why.clone(), |changed| format!("{changed} since"))
    }

    /// As [`KeptClaim::why`], without what the claim itself says: the contender, the quantity, and that an interval
    /// crosses the limit.
    pub(crate) fn brief(&self) -> String {
        let why = self.why();
        let Some(name) = self.told.evidence[0]["of"].as_str() else { return why };
        let Some((before, number)) = why.split_once(name) else { return why };
        let (before, number) = match self.standing() {
            Standing::Undecided => ("", number.strip_suffix(')').unwrap_or(number)),
            _ => (before, number),
        };
        let shown = self.who.and_then(|who| {
            let (program, rest) = name.split_once(&format!(", {who}"))?;
            Some(program.to_owned() + rest.split(", ").next()?)
        });
        format!("{before}{}{number}", shown.unwrap_or_else(|| name.to_owned()))
    }
}

impl Kept {
    /// Reads the outcome of an experiment, if the folder has one. `lines` is the ending of its lines there.
    pub(crate) fn read(folder: &Path, experiment: Experiment, lines: &str) -> Result<Option<Self>> {
        let id = experiment.name.unwrap_or_default();
        let Some(outcome) = Outcome::read(folder, id)? else { return Ok(None) };
        let today = match experiment.probe {
            Some(_) => Today::of_probe(&experiment, &probe::lines(&folder.join(format!("{id}.{lines}")))?),
            None => Today::of_programs(&experiment, &outcome.size)?,
        };
        Ok(Some(Self::new(experiment, outcome, &today)))
    }

    fn new(experiment: Experiment, outcome: Outcome, today: &[Today]) -> Self {
        let mut told: Vec<Option<&Told>> = outcome.claims.iter().map(Some).collect();
        let mut take = |is_it: &dyn Fn(&Told) -> bool| told.iter_mut().find(|told| told.is_some_and(is_it))?.take();
        let by_words: Vec<Option<&Told>> = today.iter().map(|claim| take(&|told| told.claim == claim.text)).collect();
        let pairs = today.iter().zip(by_words).filter_map(|(claim, by_words)| {
            let told = by_words.or_else(|| take(&|told| told.rule == claim.rule && claim.changed(told).is_none()))?;
            let changed = if by_words.is_none() { Some("its words have changed") } else { claim.changed(told) };
            Some(KeptClaim { text: claim.text, origin: claim.origin, told: told.clone(), who: claim.who, changed })
        });
        let claims = pairs.collect();
        let former = told.iter().flatten().count();
        Self { experiment, outcome, claims, former }
    }

    /// Says how many verdicts are on claims of another time.
    pub(crate) fn former(&self) -> Option<String> {
        match self.former {
            0 => None,
            1 => Some("1 verdict is on a claim that it no longer makes.".to_owned()),
            several => Some(format!("{several} verdicts are on claims that it no longer makes.")),
        }
    }

    pub(crate) fn claim(&self, text: &str) -> Option<&KeptClaim> {
        self.claims.iter().find(|claim| claim.text == text)
    }
}

/// Returns the totals of all claims.
pub(crate) fn totals<'k>(kept: impl IntoIterator<Item = &'k Kept>) -> Totals {
    kept.into_iter().flat_map(|kept| &kept.claims).map(|claim| (claim.origin, claim.standing())).collect()
}

/// Groups experiments by their documents, in the order of the first of each.
pub(crate) fn by_document<T>(
    each: &[T],
    experiment: impl Fn(&T) -> &Experiment,
) -> Vec<(Option<&'static Document>, Vec<&T>)> {
    let mut groups: Vec<(Option<&'static Document>, Vec<&T>)> = Vec::new();
    for one in each {
        let document = experiment(one).paper.map(|paper| paper.document);
        let name = |document: Option<&Document>| document.map(|document| document.name);
        match groups.iter_mut().find(|(known, _)| name(*known) == name(document)) {
            Some((_, group)) => group.push(one),
            None => groups.push((document, vec![one])),
        }
    }
    groups
}

/// A claim of today, as far as a kept verdict can be compared with it.
struct Today {
    text: &'static str,
    origin: Origin,
    /// The rule in words; of one whose rows the machine chooses, the limit alone.
    rule: String,
    /// The contender, if it has the same name on all machines.
    who: Option<&'static str>,
    rows: Rows,
}

enum Rows {
    /// Those that the machine chooses.
    OfMachine,
    /// Programs and swept values of which the claim speaks.
    Of(BTreeSet<Row>),
    /// The mean over so many programs.
    Mean(usize),
    /// What the same lines of a probe show today: the verdict, and the names of the numbers.
    Shown(Standing, Vec<String>),
}

/// A program, and the value of the swept parameter.
type Row = (String, Option<String>);

impl Today {
    fn of_probe(experiment: &Experiment, lines: &[serde_json::Value]) -> Vec<Self> {
        let decided = experiment.findings(lines).unwrap_or_default().decided.into_iter();
        let each = |decided: Decided| {
            let names = decided.evidence.iter().map(|evidence| evidence.of.clone()).collect();
            let rows = Rows::Shown(decided.standing(), names);
            Self { text: decided.text, origin: decided.origin, rule: decided.rule, who: None, rows }
        };
        decided.map(each).collect()
    }

    fn of_programs(experiment: &Experiment, size: &str) -> Result<Vec<Self>> {
        let size = [Size::Quick, Size::Small, Size::Paper].into_iter().find(|known| known.name() == size);
        let plan = Plan::new(experiment, size.unwrap_or(Size::Small))?;
        let points: Vec<Point> = (0..plan.cells.len())
            .map(|cell| plan.row(cell))
            .map(|row| Sweep::apart(experiment.sweep.as_ref(), &row.program, &row.who))
            .collect();
        let each = |claim: &Claim| {
            let (rule, rows) = match claim.by_machine {
                true => (format!(" is {}", claim.limit), Rows::OfMachine),
                false => (claim.rule(), rows(claim, &points)),
            };
            let origin = experiment.origin(claim.text, claim.origin);
            let who = (!claim.by_machine).then_some(claim.of.who);
            Self { text: claim.text, origin, rule, who, rows }
        };
        Ok(experiment.claims.iter().map(each).collect())
    }

    /// Says what has changed since this verdict.
    fn changed(&self, told: &Told) -> Option<&'static str> {
        let is_rule = match self.rows {
            Rows::OfMachine => told.rule.ends_with(&self.rule),
            _ => told.rule == self.rule,
        };
        if !is_rule {
            return Some("its rule has changed");
        }
        let names: Vec<&str> =
            told.evidence.as_array().into_iter().flatten().filter_map(|of| of["of"].as_str()).collect();
        let standing = Standing::of_word(&told.verdict);
        let is_same = match &self.rows {
            Rows::Shown(today, shown) => *today == standing && names.iter().eq(shown),
            _ if standing == Standing::Untestable && names.is_empty() => true,
            Rows::OfMachine => true,
            Rows::Mean(count) => names.iter().all(|name| name.starts_with(&format!("mean of {count} programs, "))),
            Rows::Of(rows) => names.iter().map(|name| row(name)).collect::<BTreeSet<_>>() == *rows,
        };
        (!is_same).then_some("its rows have changed")
    }
}

/// Returns the program and the swept value of a number's name, such as `fib:n=35, filch heartbeat at 100us on 1, time`.
fn row(name: &str) -> Row {
    let mut parts = name.split(", ");
    // Earlier names have a space before each parameter.
    let program = parts.next().unwrap_or_default().replace(' ', ":");
    let who = parts.next().unwrap_or_default();
    let who = who.rsplit_once(" on ").map_or(who, |(who, _)| who);
    (program, who.split_once(" at ").map(|(_, value)| value.to_owned()))
}

/// A program and a contender without the swept parameter, and its value.
type Point = (ProgramId, SchedulerId, Option<String>);

/// Returns the rows that a claim is about, as far as there are those that it compares them with.
fn rows(claim: &Claim, points: &[Point]) -> Rows {
    let is_beside = |over: &Pick, of: &Point, other: &Point| {
        let is_paired = claim.of.is_one() || over.is_one() || other.2.is_none() || other.2 == of.2;
        is_paired
            && over.names(&other.0, &other.1, other.2.as_deref())
            && (over.workers.is_some() || other != of)
            && (over.program.is_some() || other.0 == of.0)
    };
    let is_compared = |of: &&Point| match claim.measure {
        Measure::Over(_, over) | Measure::Beyond(_, over) | Measure::MeanOver(_, over) => {
            points.iter().any(|other| is_beside(&over, of, other))
        }
        Measure::OverWith(_, parameter, value) => {
            let ((rest, own), (who, swept)) = (of.0.without(parameter), (&of.1, &of.2));
            let is_it = |other: &Point| {
                (&other.1, &other.2) == (who, swept)
                    && other.0.without(parameter) == (rest.clone(), Some(value.to_owned()))
            };
            own.as_deref() != Some(value) && points.iter().any(is_it)
        }
        _ => true,
    };
    let of = points.iter().filter(|(program, who, value)| claim.is_about(program, who, value.as_deref()));
    let of = of.filter(is_compared).map(|(program, _, value)| (program.to_string(), value.clone()));
    match claim.measure {
        Measure::MeanOver(..) => Rows::Mean(of.map(|(program, _)| program).collect::<BTreeSet<_>>().len()),
        Measure::FlatUpTo(_) => Rows::Of(of.map(|(program, _)| (program, None)).collect()),
        _ => Rows::Of(of.collect()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::experiment::claim::Limit;
    use crate::experiment::quantity::{At, Quantity};
    use crate::experiment::{Contender, Program, each};
    use crate::outcome::tests::outcome;

    /// An outcome whose verdicts are all current, on claims of this origin.
    pub(crate) fn current(experiment: Experiment, outcome: Outcome, origin: Origin) -> Kept {
        let claim = |told: &Told| KeptClaim {
            text: Box::leak(told.claim.clone().into_boxed_str()),
            origin,
            told: told.clone(),
            who: None,
            changed: None,
        };
        Kept { experiment, claims: outcome.claims.iter().map(claim).collect(), outcome, former: 0 }
    }

    const SPLIT: Pick = Pick::new("filch split", At::Any);
    const LESS: Claim =
        Claim::new("Less.", SPLIT, Measure::Over(Quantity::Time, Pick::new("rayon", At::Any)), Limit::Below(0.5));

    /// fib and queens on two contenders, and a claim.
    fn experiment(claim: Claim) -> Experiment {
        let programs = ["fib:n=30", "queens:n=9"].map(Program::new);
        let entries = each(&programs, &[Contender::pool("split"), Contender::peer("rayon")]);
        Experiment { name: Some("mine"), entries, workers: vec![1, 2], claims: vec![claim], ..Experiment::new("?") }
    }

    /// A verdict on that claim, from these numbers.
    fn told(names: &[&str]) -> Told {
        let evidence: Vec<_> = names.iter().map(|name| json!({ "of": name, "value": 0.4 })).collect();
        Told {
            claim: LESS.text.to_owned(),
            verdict: "holds".to_owned(),
            rule: LESS.rule(),
            why: format!("{}: 0.40 [0.39, 0.41], the worst of 2", names.first().unwrap_or(&"")),
            evidence: evidence.into(),
        }
    }

    const ROWS: [&str; 4] = [
        "queens:n=9, filch split on 1, time over rayon",
        "queens:n=9, filch split on 2, time over rayon",
        "fib n=30, filch split on 1, time over rayon",
        "fib n=30, filch split on 2, time over rayon",
    ];

    fn kept(experiment: Experiment, told: Vec<Told>) -> Kept {
        let today = Today::of_programs(&experiment, "quick").expect("a plan");
        Kept::new(experiment, Outcome { claims: told, ..outcome("mine", &[]) }, &today)
    }

    fn changed(claim: Claim, told: Told) -> Option<&'static str> {
        kept(experiment(claim), vec![told]).claims[0].changed
    }

    #[test]
    fn a_verdict_is_stale_if_its_rule_or_its_rows_have_changed() {
        assert_eq!(changed(LESS, told(&ROWS)), None);
        let stricter = Claim { limit: Limit::Below(0.4), ..LESS };
        assert_eq!(changed(stricter.clone(), told(&ROWS)), Some("its rule has changed"));
        let of_another = Claim { of: Pick::new("filch split:share=half", At::Any), ..LESS };
        assert_eq!(changed(of_another, told(&ROWS)), Some("its rule has changed"));
        assert_eq!(changed(LESS, told(&ROWS[..2])), Some("its rows have changed"), "fib came later");
        assert_eq!(changed(Claim { programs: &["fib"], ..LESS }, told(&ROWS)), Some("its rows have changed"));
        let nothing = Told { verdict: "not testable here".to_owned(), ..told(&[]) };
        assert_eq!(changed(LESS, nothing.clone()), None, "it had no rows");
        assert_eq!(changed(stricter, nothing), Some("its rule has changed"));
        let means = |count| Told {
            rule: Claim { measure: Measure::MeanOver(Quantity::Time, Pick::new("rayon", At::Any)), ..LESS }.rule(),
            ..told(&[&format!("mean of {count} programs, filch split on 2, time over rayon")])
        };
        let mean = Claim { measure: Measure::MeanOver(Quantity::Time, Pick::new("rayon", At::Any)), ..LESS };
        assert_eq!((changed(mean.clone(), means(2)), changed(mean, means(3))), (None, Some("its rows have changed")));
    }

    #[test]
    fn swept_values_are_rows_and_a_row_is_not_compared_with_itself() {
        let over = Measure::Over(Quantity::Time, Pick::new("filch heartbeat", At::One("100us")));
        let claim = Claim { of: Pick::new("filch heartbeat", At::Any), measure: over, ..LESS };
        let sweep = |values: &[&str]| {
            let values = values.iter().map(ToString::to_string).collect();
            let sweep = Some(Sweep { parameter: "beat", values, meaning: "" });
            let entries = each(&[Program::new("fib:n=30")], &[Contender::pool("heartbeat:beat=*")]);
            Experiment { entries, sweep, ..experiment(claim.clone()) }
        };
        let row = "fib:n=30, filch heartbeat at 30us on 2, time over filch heartbeat at 100us";
        let verdict = || Told { rule: claim.rule(), ..told(&[row]) };
        assert_eq!(kept(sweep(&["30us", "100us"]), vec![verdict()]).claims[0].changed, None);
        let longer = kept(sweep(&["30us", "100us", "300us"]), vec![verdict()]);
        assert_eq!(longer.claims[0].changed, Some("its rows have changed"));
    }

    #[test]
    fn of_rows_that_the_machine_chooses_only_the_limit_is_compared() {
        let elsewhere = Told { rule: Claim { workers: Some(16), ..LESS }.rule(), ..told(&ROWS[..1]) };
        assert_eq!(changed(Claim { by_machine: true, ..LESS }, elsewhere.clone()), None);
        assert_eq!(changed(LESS, elsewhere.clone()), Some("its rule has changed"));
        let stricter = Claim { limit: Limit::Below(0.4), ..LESS };
        assert_eq!(changed(Claim { by_machine: true, ..stricter }, elsewhere), Some("its rule has changed"));
    }

    #[test]
    fn other_words_make_a_verdict_stale_and_without_a_claim_it_only_counts() {
        let other = Told { claim: "Fewer.".to_owned(), ..told(&ROWS) };
        let kept_as = |told| kept(experiment(LESS), told);
        let reworded = kept_as(vec![other.clone()]);
        assert_eq!((reworded.claims[0].changed, reworded.former()), (Some("its words have changed"), None));
        assert_eq!(
            (reworded.claims[0].word(), reworded.claims[0].why().as_str()),
            ("stale", "its words have changed since")
        );
        let both = kept_as(vec![other, told(&ROWS)]);
        assert_eq!(both.claims.iter().map(KeptClaim::word).collect::<Vec<_>>(), ["holds"]);
        assert_eq!(both.former().as_deref(), Some("1 verdict is on a claim that it no longer makes."));
        let newer = kept_as(Vec::new());
        assert!(newer.claims.is_empty(), "there is no verdict on it");
        assert_eq!(totals([&reworded, &both]).to_string(), "Of ours 1 holds, 1 stale");
    }

    #[test]
    fn a_probes_verdicts_are_those_of_its_lines_today() {
        let mutants = crate::experiments::find("mutants").expect("an experiment");
        let line = json!({
            "subject": "chase-lev", "mutant": "no fence", "client": "+|-", "found": true, "control_passes": true, "executions": 2,
            "control_executions": 3, "message": "lost",
        });
        let decided = mutants.findings(std::slice::from_ref(&line)).expect("a probe").decided;
        let kept = |change: &dyn Fn(&mut Told)| {
            let mut claims: Vec<Told> = decided.iter().map(Told::of).collect();
            change(&mut claims[0]);
            let today = Today::of_probe(&mutants, std::slice::from_ref(&line));
            let outcome = Outcome { claims, ..outcome("mutants", &[]) };
            Kept::new(mutants.clone(), outcome, &today).claims.iter().map(|claim| claim.changed).collect::<Vec<_>>()
        };
        assert_eq!(kept(&|_| {}), [None, None]);
        assert_eq!(kept(&|told| told.rule += "."), [Some("its rule has changed"), None]);
        assert_eq!(kept(&|told| told.verdict = "does not hold".to_owned()), [Some("its rows have changed"), None]);
    }

    #[test]
    fn in_brief_a_verdict_does_not_repeat_its_claim() {
        let all = kept(experiment(LESS), vec![told(&ROWS)]);
        assert_eq!(all.claims[0].brief(), "queens:n=9 on 1: 0.40 [0.39, 0.41], the worst of 2");
        let open = Told {
            verdict: "undecided".to_owned(),
            why: format!("An interval crosses the limit; more rounds may decide ({}: 0.50 [0.4, 0.6])", ROWS[0]),
            ..told(&ROWS)
        };
        assert_eq!(kept(experiment(LESS), vec![open]).claims[0].brief(), "queens:n=9 on 1: 0.50 [0.4, 0.6]");
    }
}
