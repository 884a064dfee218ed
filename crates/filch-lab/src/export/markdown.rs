//! The pages of the repository about kept reproductions: an index, each document's ledger with its verdicts, and
//! questions of our own.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::html::date;
use crate::experiment::Experiment;
use crate::experiment::origin::{Origin, Standing};
use crate::experiment::paper::{Document, Paper};
use crate::kept::{Kept, KeptClaim, totals};
use crate::ledger::{self, Ledger, Named, Statement};

/// The outcomes of a folder.
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) outcomes: Vec<Kept>,
    pub(crate) reasons: Reasons,
}

/// Why claims do not hold on a machine, by experiment and claim, as somebody found out.
pub(crate) type Reasons = BTreeMap<String, BTreeMap<String, String>>;

impl Record {
    fn of(&self, id: &str) -> Option<&Kept> {
        self.outcomes.iter().find(|kept| kept.outcome.id == id)
    }

    fn claim(&self, id: &str, text: &str) -> Option<&KeptClaim> {
        self.of(id)?.claim(text)
    }

    /// Returns the reasons that explain nothing: there is no verdict on such a claim, or it holds.
    pub(crate) fn idle_reasons(&self) -> Vec<String> {
        let fails = |id: &str, text: &str| {
            let told = self.of(id).and_then(|kept| kept.outcome.claims.iter().find(|told| told.claim == text));
            told.is_some_and(|told| matches!(Standing::of_word(&told.verdict), Standing::Fails | Standing::Undecided))
        };
        let each = self.reasons.iter().flat_map(|(id, claims)| claims.keys().map(move |claim| (id, claim)));
        each.filter(|(id, claim)| !fails(id, claim)).map(|(id, claim)| format!("{id}: {claim}")).collect()
    }

    fn reason(&self, id: &str, claim: &str) -> Option<&str> {
        Some(self.reasons.get(id)?.get(claim)?.as_str())
    }
}

const HEAD: &str = "\
# What held, on which processor

<!-- The example `records` of filch-lab writes the pages here from `crates/filch-lab/ledger` and the folders. -->

One page for each document has its statements, in its order, with what decides each. A claim is decided by its rule
from our measurements, with the whole 95 % interval of every number that it concerns: ✓ it was reproduced, ✗ it was
not, ? an interval crosses the limit, – this machine cannot test it, ≠ the claim has changed since, so the verdict is
stale. Then comes the strongest evidence against the claim, and **Why** what we found out about the difference.
`filch check NAME` explores the scenarios of a queue or protocol, and `filch reproduce ID` measures an experiment
again.

Each machine has a folder, and each experiment there has its verdicts with their evidence (`.json`) and its table
(`.csv`), and lines (`.jsonl.gz`) if a page is made from them: `filch report` makes one with all plots. `why.json` says
why claims do not hold there. A table without verdicts is quoted in `docs/measured.md`.

";

/// The index of the pages.
pub(crate) const INDEX: &str = "README.md";

/// The page of the experiments that belong to no document.
const OWN: &str = "own.md";

/// Returns the index and a page for each document and for questions of our own, by file name.
pub(crate) fn pages(records: &[Record]) -> Vec<(String, String)> {
    Pages { records }.texts(ledger::all())
}

struct Pages<'r> {
    records: &'r [Record],
}

impl Pages<'_> {
    fn texts(&self, ledgers: &[Ledger]) -> Vec<(String, String)> {
        let mut experiments: Vec<&Experiment> = Vec::new();
        for Kept { experiment, .. } in self.records.iter().flat_map(|record| &record.outcomes) {
            if !experiments.iter().any(|known| known.name == experiment.name) {
                experiments.push(experiment);
            }
        }
        let mut index = HEAD.to_owned() + &self.machines() + "\n";
        let mut pages = Vec::new();
        for ledger in ledgers {
            let name = format!("{}.md", ledger.document.name);
            let _ = writeln!(index, "- [{}]({name}): {}", ledger.document.title, counts(&ledger.statements));
            let is_its = |experiment: &mut &Experiment| {
                experiment.paper.is_some_and(|paper| std::ptr::eq(paper.document, ledger.document))
            };
            let its = experiments.extract_if(.., is_its).map(|experiment| self.experiment(experiment));
            let text = self.ledger(ledger) + &its.collect::<String>();
            pages.push((name, text));
        }
        let own = experiments.into_iter().map(|experiment| {
            let source = experiment.paper.map(|Paper { document, .. }| {
                format!("\nFrom {} ({}, {}):\n", document.title, document.authors, document.venue)
            });
            source.unwrap_or_default() + &self.experiment(experiment)
        });
        let own: String = own.collect();
        pages.push((OWN.to_owned(), format!("# Questions of our own\n\n{}{own}", self.legend())));
        let _ = writeln!(
            index,
            "- [Questions of our own]({OWN})\n\
             - [Rivals](rivals.md): other schedulers beside filch\n\
             - [Published libraries](libraries.md): programs that use rayon, on the drop-in beside rayon-core\n\
             - [Mutations](mutation.md): which small mistakes in the sources the tests find"
        );
        pages.insert(0, (INDEX.to_owned(), index));
        pages
    }

    /// The letters of machines, in a line.
    fn legend(&self) -> String {
        let letters = self.lettered().map(|(letter, record)| format!("{letter} is {}. ", record.name));
        format!("{}The [index]({INDEX}) says what the marks mean.\n", letters.collect::<String>())
    }

    /// The machines with their letters, and the totals of documents' claims; ours and checks beside them.
    fn machines(&self) -> String {
        if self.records.is_empty() {
            return "No reproduction is kept yet.\n".to_owned();
        }
        let marks = Standing::ALL.map(Standing::mark).join(" | ");
        let mut text = format!(
            "What became of the documents' claims; of ours and of checks, beside them:\n\n| | measured on | machine | {marks} | ours | checks |\n\
             | --- | --- | --- |{} --- | --- |\n",
            " ---: |".repeat(Standing::ALL.len()),
        );
        for (letter, record) in self.lettered() {
            let machine = record.outcomes.first().map(|kept| kept.outcome.machine.summary()).unwrap_or_default();
            let totals = totals(&record.outcomes);
            let counts = Standing::ALL.map(|standing| totals.of(Origin::Document, standing).to_string()).join(" | ");
            let [ours, checks] = [Origin::Ours, Origin::Check].map(|origin| totals.told(origin).unwrap_or_default());
            let _ =
                writeln!(text, "| {letter} | {} | {} | {counts} | {ours} | {checks} |", record.name, plain(&machine));
        }
        text
    }

    /// The records, each with the letter that stands for it.
    fn lettered(&self) -> impl Iterator<Item = (char, &Record)> {
        ('A'..).zip(self.records)
    }

    /// The statements of a document.
    fn ledger(&self, Ledger { document, statements }: &Ledger) -> String {
        let Document { title, authors, venue, machine, .. } = document;
        let mut text =
            format!("# {title}\n\n{authors}, {venue}, on {machine}. {}.\n\n{}", counts(statements), self.legend());
        let (mut place, mut shown) = ("", BTreeMap::new());
        for statement in statements {
            if statement.place != place {
                let _ = writeln!(text, "\n## {}", plain(&statement.place));
                place = &statement.place;
            }
            text += &self.statement(statement, &mut shown);
        }
        text
    }

    /// A statement and what decides it; a claim that stands above under another statement is only named.
    fn statement<'s>(&self, statement: &'s Statement, shown: &mut BTreeMap<(&'s str, &'s str), &'s str>) -> String {
        let Statement { id, says, figures, claims, scenarios, tests, cannot, departs, found, .. } = statement;
        let mut text = format!("\n**{}** `{id}`", plain(says));
        let figures = figures.iter().map(|figures| ("Figures", figures));
        let notes = figures
            .chain(departs.iter().map(|departs| ("Departs", departs)))
            .chain(found.iter().map(|found| ("Found", found)));
        notes.for_each(|(head, note)| _ = write!(text, " *{head}:* {}", plain(note)));
        text += "\n\n";
        for Named { experiment, text: claim } in claims {
            let verdicts = match shown.insert((experiment, claim), id) {
                Some(above) => {
                    shown.insert((experiment, claim), above);
                    format!("as above, `{above}`")
                }
                None => self.verdicts(experiment, claim),
            };
            let _ = writeln!(text, "- {experiment}, “{}” {verdicts}", plain(claim));
        }
        for (what, names) in [("scenarios of", scenarios), ("tests in", tests)] {
            if !names.is_empty() {
                let _ = writeln!(text, "- {what} {}", grouped(names));
            }
        }
        if let Some(cannot) = cannot {
            let _ = writeln!(text, "- not decided: {}", plain(cannot));
        }
        text
    }

    /// The verdicts on a claim, machines with the same one together.
    fn verdicts(&self, id: &str, claim: &str) -> String {
        let mut each: Vec<(String, String)> = Vec::new();
        for (letter, record) in self.lettered() {
            let Some(kept) = record.claim(id, claim) else { continue };
            let reason = record.reason(id, claim).map(|why| format!(" **Why:** {}", plain(why)));
            let cell = format!("{} {}{}", kept.standing().mark(), plain(&kept.brief()), reason.unwrap_or_default());
            match each.iter_mut().find(|(_, known)| *known == cell) {
                Some((letters, _)) => _ = write!(letters, ", {letter}"),
                None => each.push((letter.to_string(), cell)),
            }
        }
        if each.is_empty() {
            return "not measured".to_owned();
        }
        each.into_iter().map(|(letters, cell)| format!("{letters} {cell}")).collect::<Vec<_>>().join("; ")
    }

    /// An experiment: where it was measured, and the claims that no ledger names.
    fn experiment(&self, experiment: &Experiment) -> String {
        let id = experiment.name.unwrap_or_default();
        let place = experiment.paper.map(|paper| format!(", {}", paper.place)).unwrap_or_default();
        let mut text = format!("\n## {id}{place}: {}\n\n", plain(&experiment.question));
        if !experiment.differs.is_empty() {
            let _ = writeln!(text, "What differs here: {}\n", plain(&experiment.differs.join(" ")));
        }
        let mut claims: Vec<(&str, Origin)> = Vec::new();
        for (letter, record) in self.lettered() {
            let Some(kept) = record.of(id) else { continue };
            let outcome = &kept.outcome;
            let day = date(outcome.at);
            let arguments = outcome.command.split_once(id).map_or("", |(_, arguments)| arguments.trim());
            let again = outcome.decided_by.as_ref().map_or_else(String::new, |by| format!(", decided by commit {by}"));
            let failures = outcome.failures.iter().map(|failure| format!("**{}**", plain(failure)));
            let _ = writeln!(
                text,
                "- {letter}: [{}]({}/{id}.json), commit {}{again}, `{arguments}`.{}",
                day.split(' ').next().unwrap_or_default(),
                record.name,
                outcome.commit,
                failures.chain(kept.former()).map(|note| format!(" {note}")).collect::<String>(),
            );
            for claim in kept.claims.iter().filter(|claim| claim.origin != Origin::Document) {
                if !claims.contains(&(claim.text, claim.origin)) {
                    claims.push((claim.text, claim.origin));
                }
            }
        }
        for (claim, origin) in claims {
            let _ = writeln!(text, "- {}, “{}” {}", origin.label(), plain(claim), self.verdicts(id, claim));
        }
        text
    }
}

/// How many statements there are, and what decides them.
fn counts(statements: &[Statement]) -> String {
    let count = |is_so: fn(&Statement) -> bool| statements.iter().filter(|statement| is_so(statement)).count();
    format!(
        "{} statements: {} by claims, {} by scenarios and tests, {} not decided here in whole or in part",
        statements.len(),
        count(|statement| !statement.claims.is_empty()),
        count(|statement| !statement.scenarios.is_empty() || !statement.tests.is_empty()),
        count(|statement| statement.cannot.is_some()),
    )
}

/// Names of the form `group: name`, with each group once.
fn grouped(names: &[String]) -> String {
    let mut groups: Vec<(&str, String)> = Vec::new();
    for (group, name) in names.iter().filter_map(|name| name.split_once(": ")) {
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, names)) => _ = write!(names, ", `{name}`"),
            None => groups.push((group, format!("`{name}`"))),
        }
    }
    groups.into_iter().map(|(group, names)| format!("{group}: {names}")).collect::<Vec<_>>().join("; ")
}

/// Escapes what Markdown would take for more than text.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '<' => plain += "&lt;",
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => plain.extend(['\\', letter]),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::paper::LACE;
    use crate::experiments::find;
    use crate::kept::tests::current;
    use crate::outcome::tests::outcome;

    fn record(name: &str, ids: &[(&str, &[&str])]) -> Record {
        let one = |(id, verdicts): &(&str, &[&str])| {
            let origin = if id.starts_with("lace") { Origin::Document } else { Origin::Ours };
            current(find(id).expect("an experiment"), outcome(id, verdicts), origin)
        };
        Record { name: name.to_owned(), outcomes: ids.iter().map(one).collect(), reasons: Reasons::new() }
    }

    /// A statement that nothing decides.
    fn statement(id: &str, place: &str) -> Statement {
        Statement {
            id: id.to_owned(),
            place: place.to_owned(),
            says: format!("It is <{id}>."),
            figures: None,
            claims: Vec::new(),
            scenarios: Vec::new(),
            tests: Vec::new(),
            cannot: None,
            departs: None,
            found: None,
        }
    }

    fn ledger() -> Ledger {
        let claims = |indices: &[usize]| {
            let named =
                |index| Named { experiment: "lace-fig5".to_owned(), text: format!("claim {index} of lace-fig5") };
            indices.iter().map(named).collect()
        };
        let text = |text: &str| Some(text.to_owned());
        let statements = vec![
            Statement { claims: claims(&[0, 1]), figures: text("1.5"), ..statement("lace-first", "section 1") },
            Statement {
                scenarios: ["lace: ++|- s", "lace: +", "wool: -"].map(str::to_owned).to_vec(),
                tests: vec!["a.rs: b".to_owned()],
                departs: text("It sleeps."),
                found: text("It is *false*."),
                ..statement("lace-second", "section 1")
            },
            Statement {
                claims: claims(&[0, 7]),
                cannot: text("It wants a cluster."),
                ..statement("lace-third", "section 2")
            },
        ];
        Ledger { document: &LACE, statements }
    }

    #[test]
    fn statements_stand_in_order_with_what_decides_them() {
        let mut small = record(
            "2-core-a",
            &[
                ("forks", &["holds", "does not hold"]),
                ("lace-fig5", &["reproduced"]),
                ("runtime-benchmarks", &["holds"]),
            ],
        );
        let mut large = record("64-core-b", &[("lace-fig5", &["not reproduced", "not testable here"])]);
        large.outcomes[0].outcome.decided_by = Some("def".to_owned());
        small.outcomes[0].claims[0].told.why = "a|b_c [1, 2] <".to_owned();
        let reasons = [("claim 0 of lace-fig5", "it has 64"), ("claim 3", "none")];
        let reasons = reasons.map(|(claim, why)| (claim.to_owned(), why.to_owned()));
        large.reasons.insert("lace-fig5".to_owned(), reasons.into());
        assert_eq!(large.idle_reasons(), ["lace-fig5: claim 3"]);
        small.reasons.clone_from(&large.reasons);
        assert_eq!(small.idle_reasons(), ["lace-fig5: claim 0 of lace-fig5", "lace-fig5: claim 3"], "it holds here");
        small.reasons.clear();
        let mut third = record("64-core-c", &[("lace-fig5", &["reproduced", "not testable here"])]);
        third.outcomes[0].claims[0].changed = Some("its rule has changed");
        let pages = Pages { records: &[small, large, third] }.texts(&[ledger()]);
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["README.md", "lace.md", "own.md"]);
        assert!(pages[0].1.contains("- [Lace: Non-blocking Split Deque for Work-Stealing](lace.md): 3 statements"));
        let page = pages.into_iter().map(|(_, page)| page).collect::<String>();
        let lines = [
            "| A | 2-core-a | a processor · 2 processors ·  ·  | 1 | 0 | 0 | 0 | 0 | 2 hold, 1 does not hold |  |",
            "| B | 64-core-b | a processor · 2 processors ·  ·  | 0 | 1 | 0 | 1 | 0 |  |  |",
            "| C | 64-core-c | a processor · 2 processors ·  ·  | 0 | 0 | 0 | 1 | 1 |  |  |",
            "# Lace: Non-blocking Split Deque for Work-Stealing",
            "## section 1",
            "**It is &lt;lace-first>.** `lace-first` *Figures:* 1.5",
            "- lace-fig5, “claim 0 of lace-fig5” A ✓ evidence 0 of lace-fig5; B ✗ evidence 0 of lace-fig5 **Why:** it has 64; \
             C ≠ its rule has changed since",
            "- lace-fig5, “claim 1 of lace-fig5” B, C – evidence 1 of lace-fig5",
            "**It is &lt;lace-second>.** `lace-second` *Departs:* It sleeps. *Found:* It is \\*false\\*.",
            "- scenarios of lace: `++|- s`, `+`; wool: `-`",
            "- tests in a.rs: `b`",
            "## section 2",
            "- lace-fig5, “claim 0 of lace-fig5” as above, `lace-first`",
            "- lace-fig5, “claim 7 of lace-fig5” not measured",
            "- not decided: It wants a cluster.",
            "- B: [2027-01-15](64-core-b/lace-fig5.json), commit abc, decided by commit def, `--size quick`.",
            "# Questions of our own",
            "A is 2-core-a. B is 64-core-b. C is 64-core-c. The [index](README.md) says what the marks mean.",
            "## forks: What does a fork cost, in each style and on each kind of pool?",
            "- A: [2027-01-15](2-core-a/forks.json), commit abc, `--size quick`.",
            "- ours, “claim 0 of forks” A ✓ a\\|b\\_c \\[1, 2\\] &lt;",
            "- ours, “claim 1 of forks” A ✗ evidence 1 of forks",
            "From runtime-benchmarks (tzcnt, README of its source code, July 2026):",
            "- ours, “claim 0 of runtime-benchmarks” A ✓ evidence 0 of runtime-benchmarks",
        ];
        let mut rest = page.lines();
        for line in lines {
            assert!(rest.any(|found| found == line), "{line}\nin its place in {page}");
        }
        assert_eq!(page.matches("\n## section 1\n").count(), 1);
        assert!(page.contains(
            "on four Opteron 6168, 48 processors. 3 statements: 2 by claims, 1 by scenarios and tests, 1 not"
        ));
        assert!(!page.contains("ours, “claim 0 of lace-fig5”"), "it is the document's");
    }

    #[test]
    fn without_records_the_ledgers_remain() {
        let pages = Pages { records: &[] }.texts(&[ledger()]);
        assert!(pages[0].1.contains("No reproduction is kept yet"), "{pages:?}");
        assert!(pages[1].1.contains("“claim 0 of lace-fig5” not measured"), "{pages:?}");
    }
}
