//! How many stores the processor hides from a thief.

use filch_catalogue::console::store_buffer::Model;
use serde::Deserialize;
use serde_json::Value;

use crate::experiment::claim::{Decided, Evidence, Verdict};
use crate::experiment::origin::Origin;
use crate::experiment::probe::{Findings, Listing, Probe};
use crate::export::svg::{Chart, Figure, Look, Series};
use crate::flags::Size;
use crate::runners::Executable;
use crate::stats::Estimate;

pub(super) static PROBE: Probe = Probe { program: Executable::Probe, arguments, findings };

/// The stores that can be pending according to the paper: those in the buffer, and the one that is leaving it.
fn of_paper(documented: usize) -> usize {
    documented + 1
}

/// The paper's runs of a pair in a placement.
const RUNS: usize = 10_000_000;

fn arguments(size: Size) -> Vec<String> {
    let (runs, grid) = match size {
        Size::Quick => (512, None),
        Size::Small => (32_768, None),
        Size::Paper => (RUNS, Some("--all".to_owned())),
    };
    let known = Model::here().and_then(|model| model.documented());
    let bound = known.map(|(documented, _)| vec!["--bound".to_owned(), of_paper(documented).to_string()]);
    let all = ["probe", "litmus", "--runs", &runs.to_string()].map(str::to_owned).to_vec();
    [all, bound.unwrap_or_default(), grid.into_iter().collect()].concat()
}

/// The runs of a pair in a placement.
#[derive(Debug, Deserialize)]
struct Line {
    pending: usize,
    documented: Option<usize>,
    placement: String,
    stores_between: usize,
    delta: usize,
    runs: usize,
    taken_twice: usize,
    lost: usize,
}

impl Line {
    fn errors(&self) -> usize {
        self.taken_twice + self.lost
    }

    /// The least δ that suffices for so many pending stores.
    fn enough(&self, pending: usize) -> usize {
        pending.div_ceil(self.stores_between + 1)
    }

    fn evidence(&self) -> Evidence {
        let Self { placement, stores_between, delta, runs, .. } = self;
        #[expect(clippy::cast_precision_loss, reason = "at most the number of runs")]
        let value = self.errors() as f64;
        let of = format!("processors {placement}, L = {stores_between}, δ = {delta}, wrong ones of {runs} runs");
        Evidence { of, estimate: Estimate { value, interval: None, rounds: 1 }, rows: Vec::new() }
    }
}

fn findings(lines: &[Value]) -> Findings {
    let lines: Vec<Line> = lines.iter().filter_map(|line| Line::deserialize(line).ok()).collect();
    let documented = lines.iter().find_map(|line| line.documented);
    let bound = documented.map(of_paper).or_else(|| lines.first().map(|line| line.pending)).unwrap_or(1);
    let decided = vec![
        refuted(&lines, documented),
        safe(
            "No run is wrong with L ≥ 1 and δ ≥ ⌈(S + 1)/(L + 1)⌉, where S is the documented capacity of the store buffer.",
            &lines,
            documented.map(of_paper),
        ),
        smaller(&lines, bound),
        merging(&lines, bound),
        safe(
            "None is wrong with δ ≥ ⌈(1.5·S + 1)/(L + 1)⌉, which bound=measured takes.",
            &lines,
            documented.map(|entries| entries + entries.div_ceil(2) + 1),
        ),
    ];
    let figures = documented.map(|documented| (documented, "the documented capacity")).into_iter();
    let figures = figures.chain([(bound, "one more than the documented capacity")]);
    let figures = figures.filter_map(|(bound, what)| map(&lines, bound, documented.map_or("assumed", |_| what)));
    Findings { decided, tables: vec![table(&lines, bound)], figures: figures.collect() }
}

fn wrong_first(mut lines: Vec<&Line>) -> Vec<Evidence> {
    lines.sort_by_key(|line| std::cmp::Reverse(line.errors()));
    lines.into_iter().map(Line::evidence).collect()
}

/// Claims that more stores than the documented ones can be pending.
///
/// Only where L + 1 divides S can a run show that: elsewhere ⌈S/(L + 1)⌉ is ⌈(S + 1)/(L + 1)⌉.
fn refuted(lines: &[Line], documented: Option<usize>) -> Decided {
    let is_concerned = |line: &&Line| {
        documented.is_some_and(|entries| line.stores_between > 0 && line.delta * (line.stores_between + 1) == entries)
    };
    let concerned: Vec<&Line> = lines.iter().filter(is_concerned).collect();
    let runs: usize = concerned.iter().map(|line| line.runs).sum();
    let verdict = match documented {
        None => Verdict::NotTestable(UNDOCUMENTED.to_owned()),
        Some(_) => Verdict::of([some_wrong(&concerned)]),
    };
    let entries = documented.map_or_else(String::new, |entries| format!(" = {entries}"));
    Decided {
        text: "The documented capacity S is no bound: some run is wrong with δ = S/(L + 1), where L + 1 divides S.",
        rule: format!("one of {runs} runs with δ·(L + 1) = S{entries} takes a task twice or loses one"),
        verdict,
        evidence: wrong_first(concerned),
        origin: Origin::Ours,
    }
}

/// Whether one of these runs is wrong; an error if none is, and there are fewer than the paper's.
fn some_wrong(concerned: &[&Line]) -> Result<bool, String> {
    let runs: usize = concerned.iter().map(|line| line.runs).sum();
    let has_wrong = concerned.iter().any(|line| line.errors() > 0);
    if !has_wrong && (concerned.is_empty() || concerned.iter().any(|line| line.runs < RUNS)) {
        return Err(format!("No run was wrong; {runs} runs are too few"));
    }
    Ok(has_wrong)
}

const UNDOCUMENTED: &str = "The makers of this processor do not document its store buffer";

/// Claims that no run with stores between the takes is wrong if so many stores can be pending.
fn safe(text: &'static str, lines: &[Line], pending: Option<usize>) -> Decided {
    let stored = || lines.iter().filter(|line| line.stores_between > 0);
    let is_enough = |line: &&Line| pending.is_some_and(|pending| line.delta >= line.enough(pending));
    let concerned: Vec<&Line> = stored().filter(is_enough).collect();
    let runs: usize = concerned.iter().map(|line| line.runs).sum();
    let verdict = if pending.is_none() {
        Verdict::NotTestable(UNDOCUMENTED.to_owned())
    } else if concerned.iter().any(|line| line.errors() > 0) {
        Verdict::DoesNotHold
    } else if stored().all(|line| line.errors() == 0) {
        // With smaller δ none was wrong either, so the test shows nothing.
        Verdict::NotTestable(format!("No run was wrong at any δ; {runs} runs are too few"))
    } else {
        Verdict::Holds
    };
    let bound = pending.map_or_else(String::new, |pending| format!(" {pending} pending stores"));
    let rule = format!("none of {runs} runs whose δ suffices for{bound} takes a task twice or loses one");
    Decided { text, rule, verdict, evidence: wrong_first(concerned), origin: Origin::Ours }
}

/// The stores between takes for which δ can be clearly too small.
const COARSE: usize = 8;

fn smaller(lines: &[Line], bound: usize) -> Decided {
    let is_concerned = |line: &&Line| {
        line.stores_between > 0 && line.enough(bound) >= COARSE && 4 * line.delta <= 3 * line.enough(bound)
    };
    let concerned: Vec<&Line> = lines.iter().filter(is_concerned).collect();
    let mut stores: Vec<usize> = concerned.iter().map(|line| line.stores_between).collect();
    stores.sort_unstable();
    stores.dedup();
    let each = |&between: &usize| {
        let here: Vec<&Line> = concerned.iter().copied().filter(|line| line.stores_between == between).collect();
        some_wrong(&here).map_err(|why| format!("With L = {between}: {why}"))
    };
    Decided {
        text: "Runs are wrong if δ is clearly smaller.",
        rule: format!(
            "some run is wrong with a δ of at most three quarters of ⌈{bound}/(L + 1)⌉, for each L ≥ 1 for which that is {COARSE} or more"
        ),
        verdict: Verdict::of(stores.iter().map(each)),
        evidence: wrong_first(concerned),
        origin: Origin::Ours,
    }
}

fn merging(lines: &[Line], bound: usize) -> Decided {
    let is_concerned = |line: &&Line| line.stores_between == 0 && line.delta >= bound;
    let concerned: Vec<&Line> = lines.iter().filter(is_concerned).collect();
    Decided {
        text: "Without a store between takes, no δ is safe: stores to one address merge.",
        rule: format!("some run with L = 0 and δ ≥ {bound} is wrong"),
        verdict: Verdict::of([some_wrong(&concerned)]),
        evidence: wrong_first(concerned),
        origin: Origin::Ours,
    }
}

fn table(lines: &[Line], bound: usize) -> Listing {
    let mut keys: Vec<(&str, usize)> =
        lines.iter().map(|line| (line.placement.as_str(), line.stores_between)).collect();
    keys.dedup();
    let row = |(placement, between): (&str, usize)| {
        let here =
            || lines.iter().filter(move |line| (line.placement.as_str(), line.stores_between) == (placement, between));
        let each = here().map(|line| format!("{}: {}", line.delta, line.errors())).collect::<Vec<_>>().join("  ");
        let most = here().filter(|line| line.taken_twice > 0).map(|line| line.delta * (between + 1) + 1).max();
        let enough = bound.div_ceil(between + 1);
        let runs = here().map(|line| line.runs).max().unwrap_or(0);
        let most = most.map_or_else(|| "none".to_owned(), |most| most.to_string());
        vec![placement.to_owned(), between.to_string(), enough.to_string(), runs.to_string(), most, each]
    };
    Listing {
        caption: format!(
            "Wrong runs by δ. A task that is taken twice shows that at least δ·(L + 1) + 1 stores were pending. S = {bound}."
        ),
        heads: ["processors", "L", "⌈S/(L + 1)⌉", "runs of each", "pending stores seen", "δ: wrong runs"]
            .map(str::to_owned)
            .to_vec(),
        rows: keys.into_iter().map(row).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred")]
fn place(line: &Line, bound: usize) -> (f64, f64) {
    (line.enough(bound) as f64, line.delta as f64)
}

/// Draws δ against the δ that suffices for this bound.
fn map(lines: &[Line], bound: usize, what: &str) -> Option<Figure> {
    let (wrong, right): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| line.errors() > 0);
    // A pair is wrong if it is wrong in one placement.
    let is_wrong = |at: &(f64, f64)| wrong.iter().any(|line| place(line, bound) == *at);
    let all = |lines: &[&Line]| lines.iter().map(|line| place(line, bound)).collect::<Vec<_>>();
    let mut right = all(&right);
    right.retain(|at| !is_wrong(at));
    let widest = lines.iter().map(|line| line.enough(bound)).max()?;
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let widest = widest as f64;
    let chart = Chart {
        title: format!("Wrong runs by δ and the stores between takes, for S = {bound}"),
        across: "⌈S/(L + 1)⌉, the δ that suffices if S stores can be pending",
        up: "δ",
        doubles: true,
        series: vec![
            Series { name: "no wrong run".to_owned(), points: right, look: Look::Dots },
            Series { name: "wrong runs".to_owned(), points: all(&wrong), look: Look::Crosses },
            Series { name: "the bound".to_owned(), points: vec![(1.0, 1.0), (widest, widest)], look: Look::Dashes },
        ],
        references: Vec::new(),
    };
    let caption = format!(
        "With S = {bound}, {what}: were it the bound, pairs on or above the line would have no wrong run, except at the right end, where L = 0"
    );
    Some(Figure { caption, svg: chart.draw()? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Runs with so many errors, on a buffer of 64 entries.
    fn line(stores_between: usize, delta: usize, taken_twice: usize) -> Value {
        json!({
            "probe": "litmus", "pending": 65, "documented": 64, "placement": "0 and 1", "stores_between": stores_between, "delta": delta,
            "runs": 1000, "taken_twice": taken_twice, "lost": 0, "is_safe": false,
        })
    }

    fn verdicts(lines: &[Value]) -> Vec<Verdict> {
        findings(lines).decided.into_iter().map(|decided| decided.verdict).collect()
    }

    #[test]
    fn a_map_with_errors_only_below_the_bound_is_as_in_the_paper() {
        // ⌈65/2⌉ = 33, ⌈97/2⌉ = 49.
        let lines = [line(1, 16, 9), line(1, 33, 0), line(1, 49, 0), line(0, 65, 1)];
        assert_eq!(verdicts(&lines)[1..], [Verdict::Holds, Verdict::Holds, Verdict::Holds, Verdict::Holds]);
    }

    #[test]
    fn an_error_above_the_bound_refutes_it() {
        let lines = [line(1, 16, 9), line(1, 36, 1), line(1, 49, 0), line(0, 65, 0)];
        let found = findings(&lines);
        assert_eq!(found.decided[1].verdict, Verdict::DoesNotHold);
        assert!(
            found.decided[1].why().contains("L = 1, δ = 36, wrong ones of 1000 runs: 1.00"),
            "{}",
            found.decided[1].why()
        );
        assert!(matches!(&found.decided[3].verdict, Verdict::NotTestable(why) if why.contains("too few")));
        assert_eq!(found.decided[4].verdict, Verdict::Holds, "73 stores are within the margin");
        assert!(
            found.tables[0].rows[0].contains(&"73".to_owned()),
            "36·2 + 1 stores were pending: {:?}",
            found.tables[0]
        );
    }

    #[test]
    fn the_documented_capacity_is_refuted_where_it_is_divided() {
        let refuted = |lines: &[Value]| verdicts(lines).remove(0);
        // 64 stores between two pairs of takes: the 65th was pending.
        assert_eq!(refuted(&[line(1, 32, 1), line(3, 16, 0)]), Verdict::Holds);
        // L = 0 merges, a smaller δ is no news, and 6 does not divide 64: ⌈64/6⌉ = ⌈65/6⌉.
        let others = [line(0, 64, 9), line(1, 31, 9), line(5, 11, 9), line(3, 16, 0)];
        assert!(matches!(refuted(&others), Verdict::NotTestable(why) if why.contains("1000 runs are too few")));
        let mut often = line(3, 16, 0);
        often["runs"] = RUNS.into();
        assert_eq!(refuted(&[often.clone()]), Verdict::DoesNotHold, "as often as in the paper");
        assert!(matches!(refuted(&[often, line(1, 32, 0)]), Verdict::NotTestable(_)));
        let mut unknown = line(1, 32, 1);
        unknown["documented"] = Value::Null;
        assert!(matches!(refuted(&[unknown]), Verdict::NotTestable(why) if why.contains("do not document")));
    }

    /// As often as in the paper, without an error, they refute what others may leave open.
    #[test]
    fn enough_right_runs_refute_that_some_are_wrong() {
        let often = [line(1, 16, 0), line(1, 33, 1), line(0, 65, 0)].map(|mut line| {
            line["runs"] = RUNS.into();
            line
        });
        assert_eq!(verdicts(&often)[2..4], [Verdict::DoesNotHold, Verdict::DoesNotHold]);
    }

    #[test]
    fn both_bounds_are_drawn() {
        let lines = [line(1, 16, 9), line(1, 32, 1), line(3, 17, 0), line(0, 65, 0)];
        let [a, b] = &findings(&lines).figures[..] else { panic!("two panels") };
        assert!(a.caption.contains("S = 64, the documented") && a.svg.contains("S = 64"), "{}", a.caption);
        assert!(b.caption.contains("S = 65, one more") && b.svg.contains("S = 65"), "{}", b.caption);
        assert_ne!(a.svg, b.svg.replace("65", "64"), "the places depend on S");
        let unknown = lines.map(|mut line| {
            line["documented"] = Value::Null;
            line
        });
        let figures = findings(&unknown).figures;
        assert!(figures.len() == 1 && figures[0].caption.contains("S = 65, assumed"));
    }

    #[test]
    fn without_any_error_nothing_is_shown() {
        let lines = [line(1, 16, 0), line(1, 33, 0), line(3, 4, 0), line(0, 65, 0)];
        assert!(
            verdicts(&lines).iter().all(|verdict| matches!(verdict, Verdict::NotTestable(_))),
            "{:?}",
            verdicts(&lines)
        );
    }

    #[test]
    fn a_pair_is_drawn_once_and_wrong_if_a_placement_is() {
        let mut free = line(1, 16, 0);
        free["placement"] = "free".into();
        let found = findings(&[free, line(1, 16, 9), line(1, 33, 0), line(3, 17, 0)]);
        let svg = &found.figures[1].svg;
        assert_eq!((svg.matches("<circle").count(), svg.matches("<path").count()), (2, 1), "{svg}");
    }
}
