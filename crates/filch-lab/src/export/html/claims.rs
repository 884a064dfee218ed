//! What a document shows and claims, and our verdicts.

use maud::{Markup, html};

use super::listing;
use crate::experiment::Experiment;
use crate::experiment::claim::Decided;
use crate::experiment::origin::Totals;

/// Names the document and what it shows.
pub(super) fn source(experiment: &Experiment) -> Markup {
    let Some(paper) = experiment.paper else { return html! {} };
    let document = paper.document;
    html! {
        p class="source" {
            (document.authors) ", " i { (document.title) } ", " (document.venue) ", " b { (paper.place) } ", on "
            (document.machine) ". " (paper.shows)
        }
        @if !experiment.differs.is_empty() {
            p class="source" { b { "What differs here." } " " (experiment.differs.join(" ")) }
        }
    }
}

/// Shows the document's numbers.
pub(super) fn tables(experiment: &Experiment) -> Markup {
    let Some(paper) = experiment.paper.filter(|paper| !paper.tables.is_empty()) else { return html! {} };
    html! {
        section class="card" id="paper" {
            h2 { "The document's numbers" }
            @for table in paper.tables {
                p class="say" { (table.caption) }
                (listing(table.heads.iter().copied(), table.rows.iter().map(|row| row.iter().copied())))
            }
        }
    }
}

/// Shows the claims, each with its verdict, its rule and the evidence.
pub(super) fn claims(decided: &[Decided]) -> Markup {
    if decided.is_empty() {
        return html! {};
    }
    let totals: Totals = decided.iter().collect();
    html! {
        section class="card" id="claims" {
            h2 { "Claims" }
            p class="say" {
                (totals) ". "
                "Each claim is decided by its rule, with the whole 95 % interval of every number that it concerns. It stays undecided "
                "if an interval crosses the limit."
            }
            ul class="claims" {
                @for claim in decided {
                    li {
                        span class={ "verdict " (claim.standing().class()) } { (claim.name()) }
                        div {
                            b { (claim.text) }
                            p { "It holds if " (claim.rule) "." br; (claim.why()) " (" (claim.origin.label()) ")" }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::paper::{PADWS, Paper};

    #[test]
    fn what_differs_stands_below_what_the_document_shows() {
        static PAPER: Paper =
            Paper { document: &PADWS, place: "figure 9", shows: "It is flat.", tables: &[], marks: &[] };
        let plain = Experiment { paper: Some(&PAPER), ..Experiment::new("?") };
        let text = source(&plain).into_string();
        assert!(text.contains("figure 9") && text.contains("It is flat.") && !text.contains("differs"), "{text}");
        let own = Experiment { differs: &["Tasks work.", "Queues are long."], ..plain };
        let text = source(&own).into_string();
        assert!(text.find("It is flat.") < text.find("differs here.</b> Tasks work. Queues are long."), "{text}");
    }
}
