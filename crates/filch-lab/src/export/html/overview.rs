//! The page about all reproductions in a folder: every claim with its verdict, by document.

use maud::{Markup, html};

use super::{bar, date, whole};
use crate::experiment::origin::Standing;
use crate::kept::{Kept, KeptClaim, by_document, totals};
use crate::outcome::Outcome;

/// What the page can show alone: a standing, in the words for all origins.
const SHOWN: [(Standing, &str); 5] = [
    (Standing::Holds, "reproduced, or holds"),
    (Standing::Fails, "not reproduced, or does not hold"),
    (Standing::Undecided, "undecided"),
    (Standing::Untestable, "not testable here"),
    (Standing::Stale, "stale"),
];

/// Returns the page; the troubles are experiments without a result, with the reason.
pub(crate) fn overview(outcomes: &[Kept], troubles: &[(&str, String)]) -> String {
    let totals = totals(outcomes);
    let common = Common::of(outcomes);
    let body = html! {
        header { (bar(&[])) }
        div class="title" id="top" {
            h1 { "Tables and figures, reproduced" }
            p {
                b { (outcomes.len()) " experiments" } ". "
                @if !totals.is_empty() { (totals) "." }
            }
            p { (common.told()) }
            fieldset class="filter" {
                legend { "Show" }
                input type="radio" name="show" id="show-all" checked;
                label for="show-all" { "all" }
                @for (standing, name) in SHOWN {
                    input type="radio" name="show" id={ "show-" (standing.class()) };
                    label for={ "show-" (standing.class()) } class={ "verdict " (standing.class()) } {
                        (name) " (" (totals.standing(standing)) ")"
                    }
                }
            }
        }
        main {
            @if !troubles.is_empty() {
                section class="failure" {
                    b { "Failed" }
                    ul { @for (id, why) in troubles { li { b { (id) } ": " (why) } } }
                }
            }
            @for (document, group) in by_document(outcomes, |kept| &kept.experiment) {
                section class="card" {
                    h2 { (document.map_or("Questions of our own", |document| document.title)) }
                    @if let Some(document) = document {
                        p class="say" { (document.authors) ", " (document.venue) ", on " (document.machine) }
                    }
                    @for kept in group { (one(kept, &common)) }
                }
            }
        }
    };
    whole("filch: tables and figures, reproduced", &body)
}

fn one(kept: &Kept, common: &Common) -> Markup {
    let Kept { experiment, outcome, claims, .. } = kept;
    let id = &outcome.id;
    let place = experiment.paper.map(|paper| format!(", {}", paper.place)).unwrap_or_default();
    html! {
        section class="one" id=(id) {
            h3 { a href={ (id) ".html" } { (id) } (place) ": " (experiment.question) }
            p class="links" {
                a href={ (id) ".csv" } { "table (CSV)" } " · " a href={ (id) ".jsonl" } { "lines (JSON)" }
                " · " (date(outcome.at)) (common.different(outcome))
            }
            @if !outcome.failures.is_empty() { p class="failure" { (outcome.failures.join(" ")) } }
            ul class="claims" { @for claim in claims { (row(claim)) } }
            @if let Some(former) = kept.former() { p class="say" { (former) } }
        }
    }
}

fn row(claim: &KeptClaim) -> Markup {
    let class = claim.standing().class();
    html! {
        li class=(class) {
            span class={ "verdict " (class) } { (claim.word()) }
            div { b { (claim.text) } p { (claim.why()) " (" (claim.origin.label()) ")" } }
        }
    }
}

/// What is the same in all outcomes.
struct Common {
    machine: Option<String>,
    commit: Option<String>,
    size: Option<String>,
}

impl Common {
    fn of(outcomes: &[Kept]) -> Self {
        let same = |of: fn(&Outcome) -> String| {
            let mut each = outcomes.iter().map(|kept| of(&kept.outcome));
            let first = each.next()?;
            each.all(|other| other == first).then_some(first)
        };
        Self {
            machine: same(|outcome| outcome.machine.summary()),
            commit: same(|outcome| outcome.commit.clone()),
            size: same(|outcome| outcome.size.clone()),
        }
    }

    fn told(&self) -> String {
        let commit = self.commit.as_ref().map(|commit| format!("commit {commit}"));
        let size = self.size.as_ref().map(|size| format!("size {size}"));
        [self.machine.clone(), commit, size].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Says what an outcome does not have in common with the others.
    fn different(&self, outcome: &Outcome) -> String {
        let machine = self.machine.is_none().then(|| outcome.machine.summary());
        let commit = self.commit.is_none().then(|| format!("commit {}", outcome.commit));
        let size = self.size.is_none().then(|| format!("size {}", outcome.size));
        [machine, commit, size].into_iter().flatten().map(|part| format!(" · {part}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::experiment::origin::Origin;
    use crate::experiment::paper::{Document, LACE, Paper, WSQ};
    use crate::kept::tests::current;
    use crate::outcome::tests::outcome;

    /// An experiment of a document, with an outcome of these verdicts.
    fn one(id: &'static str, document: Option<&'static Document>, verdicts: &[&str]) -> Kept {
        let paper = document.map(|document| {
            let paper = Paper { document, place: "figure 9", shows: "", tables: &[], marks: &[] };
            &*Box::leak(Box::new(paper))
        });
        let experiment = Experiment { name: Some(id), paper, ..Experiment::new(format!("What about {id}?")) };
        current(experiment, outcome(id, verdicts), document.map_or(Origin::Ours, |_| Origin::Document))
    }

    #[test]
    fn every_claim_has_a_row_with_its_verdict_evidence_and_data() {
        let mut outcomes = [
            one("a-fig1", Some(&LACE), &["reproduced", "not reproduced"]),
            one("b-fig2", Some(&WSQ), &["not testable here", "undecided"]),
            one("a-fig3", Some(&LACE), &["reproduced"]),
            one("own", None, &["holds"]),
        ];
        outcomes[2].claims[0].changed = Some("its rule has changed");
        let page = overview(&outcomes, &[("c-fig4", "the probe crashed".to_owned())]);
        assert!(
            page.contains(
                "4 experiments</b>. Of documents' claims 1 reproduced, 1 not reproduced, 1 undecided, 1 not testable here, 1 stale; \
                 of ours 1 holds."
            ),
            "{page}"
        );
        for part in [
            "<li class=\"holds\"><span class=\"verdict holds\">reproduced</span>",
            "<li class=\"fails\"><span class=\"verdict fails\">not reproduced</span>",
            "href=\"a-fig1.html\"",
            "href=\"b-fig2.csv\"",
            "href=\"b-fig2.jsonl\"",
            "claim 1 of a-fig1",
            "evidence 0 of b-fig2",
            "figure 9: What about a-fig3?",
            "Questions of our own",
            "<b>c-fig4</b>: the probe crashed",
            "not testable here (1)",
            "<li class=\"stale\"><span class=\"verdict stale\">stale</span>",
            "its rule has changed since (the document's)",
            "evidence 0 of own (ours)",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        // Documents have one section each, in the order of their first experiments.
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(place("id=\"a-fig1\"") < place("id=\"a-fig3\"") && place("id=\"a-fig3\"") < place("id=\"b-fig2\""));
        assert_eq!(page.matches(LACE.title).count(), 1);
        assert!(!page.contains("http://") && !page.contains("https://"), "it needs no network");
    }

    #[test]
    fn what_differs_is_said_beside_the_experiment() {
        let mut outcomes = [one("a", None, &["holds"]), one("b", None, &["holds"])];
        let page = overview(&outcomes, &[]);
        assert!(page.contains("commit abc") && page.matches("commit abc").count() == 1, "{page}");
        outcomes[1].outcome.commit = "def".to_owned();
        let page = overview(&outcomes, &[]);
        assert!(
            page.contains(" · commit abc") && page.contains(" · commit def") && page.matches("size quick").count() == 1
        );
    }
}
