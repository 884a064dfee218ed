//! The page of the repository about kept reproductions: every claim a row, with a column for each machine.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::html::date;
use crate::experiment::Experiment;
use crate::outcome::{Outcome, Told, by_document};

/// The outcomes of a folder.
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) outcomes: Vec<(Experiment, Outcome)>,
    pub(crate) reasons: Reasons,
}

/// Why claims do not hold on a machine, by experiment and claim, as somebody found out.
pub(crate) type Reasons = BTreeMap<String, BTreeMap<String, String>>;

impl Record {
    fn of(&self, id: &str) -> Option<&Outcome> {
        self.outcomes.iter().map(|(_, outcome)| outcome).find(|outcome| outcome.id == id)
    }

    /// Returns the reasons that explain nothing: there is no such claim, or it holds.
    pub(crate) fn idle_reasons(&self) -> Vec<String> {
        let fails = |id: &str, claim: &str| {
            let told = self.of(id).and_then(|outcome| outcome.claims.iter().find(|told| told.claim == claim));
            told.is_some_and(|told| matches!(told.class(), "fails" | "undecided"))
        };
        let each = self.reasons.iter().flat_map(|(id, claims)| claims.keys().map(move |claim| (id, claim)));
        each.filter(|(id, claim)| !fails(id, claim)).map(|(id, claim)| format!("{id}: {claim}")).collect()
    }

    fn reason(&self, id: &str, claim: &str) -> Option<&str> {
        Some(self.reasons.get(id)?.get(claim)?.as_str())
    }

    fn count(&self, class: &str) -> usize {
        self.outcomes.iter().flat_map(|(_, outcome)| &outcome.claims).filter(|told| told.class() == class).count()
    }
}

const HEAD: &str = "\
# What held, on which processor

<!-- `filch results` writes this page from the folders in `results`. -->

Each claim of a document is decided by its rule from our measurements, with the whole 95 % interval of every number that it concerns:
✓ it was reproduced, ✗ it was not, ? an interval crosses the limit, – this machine cannot test it, for the reason that follows. After the
verdict comes the strongest evidence against the claim, and **Why** what we found out about the difference. A verdict links to the measured lines, from which `filch report` makes the page with all plots;
`filch reproduce ID` measures an experiment again.

";

/// Returns the page; `results` leads from it to the folder of the records.
pub(crate) fn page(records: &[Record], results: &str) -> String {
    let mut text = HEAD.to_owned();
    if records.is_empty() {
        return text + "No reproduction is kept yet: `filch reproduce all`, then `filch results filch-reproduce`.\n";
    }
    text += "| measured on | machine | ✓ | ✗ | ? | – |\n| --- | --- | ---: | ---: | ---: | ---: |\n";
    for record in records {
        let machine = record.outcomes.first().map(|(_, outcome)| outcome.machine.summary()).unwrap_or_default();
        let counts = ["holds", "fails", "undecided", "untestable"].map(|class| record.count(class).to_string());
        let _ = writeln!(text, "| {} | {} | {} |", record.name, plain(&machine), counts.join(" | "));
    }
    let mut experiments: Vec<(Experiment, ())> = Vec::new();
    for (experiment, _) in records.iter().flat_map(|record| &record.outcomes) {
        if !experiments.iter().any(|(known, ())| known.name == experiment.name) {
            experiments.push((experiment.clone(), ()));
        }
    }
    for (document, group) in by_document(&experiments) {
        match document {
            Some(document) => {
                let _ = write!(text, "\n## {}\n\n{}, {}.\n", document.title, document.authors, document.venue);
            }
            None => text += "\n## Questions of our own\n",
        }
        for (experiment, ()) in group {
            text += &one(experiment, records, results);
        }
    }
    text
}

fn one(experiment: &Experiment, records: &[Record], results: &str) -> String {
    let id = experiment.name.unwrap_or_default();
    let place = experiment.paper.map(|paper| format!(", {}", paper.place)).unwrap_or_default();
    let mut text = format!("\n### {id}{place}: {}\n\n", plain(&experiment.question));
    if !experiment.differs.is_empty() {
        let _ = writeln!(text, "What differs here: {}\n", plain(&experiment.differs.join(" ")));
    }
    let here: Vec<(&Record, &Outcome)> = records.iter().filter_map(|record| Some((record, record.of(id)?))).collect();
    let mut claims: Vec<&str> = Vec::new();
    for (Record { name, .. }, outcome) in &here {
        let day = date(outcome.at);
        let again = outcome.decided_by.as_ref().map_or_else(String::new, |by| format!(", decided by commit {by}"));
        let _ = writeln!(
            text,
            "{name}: `{}`, commit {}, {}{again}; [lines]({results}/{name}/{id}.jsonl.gz), [table]({results}/{name}/{id}.csv), \
             [all evidence]({results}/{name}/{id}.json).{}\n",
            outcome.command,
            outcome.commit,
            day.split(' ').next().unwrap_or_default(),
            outcome.failures.iter().map(|failure| format!(" **{}**", plain(failure))).collect::<String>(),
        );
        for told in &outcome.claims {
            if !claims.contains(&told.claim.as_str()) {
                claims.push(&told.claim);
            }
        }
    }
    let names: Vec<&str> = here.iter().map(|(record, _)| record.name.as_str()).collect();
    let _ = writeln!(text, "| claim | {} |\n| --- |{}", names.join(" | "), " --- |".repeat(names.len()));
    for claim in claims {
        let cell = |(record, outcome): &(&Record, &Outcome)| {
            let Some(told) = outcome.claims.iter().find(|told| told.claim == claim) else { return String::new() };
            let verdict = verdict(told, &format!("{results}/{}/{id}.jsonl.gz", record.name));
            let reason = record.reason(id, claim).map(|why| format!("<br>**Why:** {}", plain(why)));
            verdict + &reason.unwrap_or_default()
        };
        let cells: Vec<String> = here.iter().map(cell).collect();
        let _ = writeln!(text, "| {} | {} |", plain(claim), cells.join(" | "));
    }
    text
}

fn verdict(told: &Told, lines: &str) -> String {
    let mark = match told.class() {
        "holds" => "✓",
        "fails" => "✗",
        "undecided" => "?",
        _ => "–",
    };
    format!("{mark} [{}]({lines}): {}", told.verdict, plain(&told.why))
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
    use crate::experiments::find;
    use crate::outcome::tests::outcome;

    fn record(name: &str, ids: &[(&str, &[&str])]) -> Record {
        let one = |(id, verdicts): &(&str, &[&str])| (find(id).expect("an experiment"), outcome(id, verdicts));
        Record { name: name.to_owned(), outcomes: ids.iter().map(one).collect(), reasons: Reasons::new() }
    }

    #[test]
    fn every_claim_has_a_row_with_a_verdict_of_each_machine() {
        let mut small = record("2-core-a", &[("forks", &["holds", "does not hold"]), ("lace-fig5", &["reproduced"])]);
        let mut large = record("64-core-b", &[("lace-fig5", &["not reproduced", "not testable here"])]);
        large.outcomes[0].1.decided_by = Some("def".to_owned());
        small.outcomes[0].1.claims[0].why = "a|b_c [1, 2] <".to_owned();
        let reasons = [("claim 0 of lace-fig5", "it has 64"), ("claim 3", "none")];
        let reasons = reasons.map(|(claim, why)| (claim.to_owned(), why.to_owned()));
        large.reasons.insert("lace-fig5".to_owned(), reasons.into());
        assert_eq!(large.idle_reasons(), ["lace-fig5: claim 3"]);
        small.reasons.clone_from(&large.reasons);
        assert_eq!(small.idle_reasons(), ["lace-fig5: claim 0 of lace-fig5", "lace-fig5: claim 3"], "it holds here");
        small.reasons.clear();
        let page = page(&[small, large], "../results");
        for line in [
            "| 2-core-a | a processor · 2 processors ·  ·  | 2 | 1 | 0 | 0 |",
            "| 64-core-b | a processor · 2 processors ·  ·  | 0 | 1 | 0 | 1 |",
            "## Questions of our own",
            "### forks: What does a fork cost, in each style and on each kind of pool?",
            "| claim 0 of forks | ✓ [holds](../results/2-core-a/forks.jsonl.gz): a\\|b\\_c \\[1, 2\\] &lt; |",
            "## Lace: Non-blocking Split Deque for Work-Stealing",
            "| claim | 2-core-a | 64-core-b |",
            "| claim 0 of lace-fig5 | ✓ [reproduced](../results/2-core-a/lace-fig5.jsonl.gz): evidence 0 of lace-fig5 | ✗ [not reproduced](../results/64-core-b/lace-fig5.jsonl.gz): evidence 0 of lace-fig5<br>**Why:** it has 64 |",
            "| claim 1 of lace-fig5 |  | – [not testable here](../results/64-core-b/lace-fig5.jsonl.gz): evidence 1 of lace-fig5 |",
            "64-core-b: `filch reproduce lace-fig5 --size quick`, commit abc, 2027-01-15, decided by commit def; [lines](../results/64-core-b/lace-fig5.jsonl.gz), [table](../results/64-core-b/lace-fig5.csv), [all evidence](../results/64-core-b/lace-fig5.json).",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\nin {page}");
        }
        assert!(page.contains("2-core-a: `filch reproduce lace-fig5 --size quick`, commit abc, 2027-01-15; "));
        // Rows of a table follow its head without a gap.
        for (head, _) in page.match_indices("| --- |") {
            let before = page[..head].trim_end_matches('\n').lines().last().expect("a head");
            assert!(before.starts_with("| "), "{before}");
        }
    }
}
