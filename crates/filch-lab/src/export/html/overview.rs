//! The page about all reproductions in a folder: every claim with its verdict.

use maud::{Markup, html};

use super::{bar, whole};
use crate::experiment::Experiment;
use crate::outcome::Outcome;

/// Returns the page.
pub(crate) fn overview(outcomes: &[(Experiment, Outcome)]) -> String {
    let claims = || outcomes.iter().flat_map(|(_, outcome)| &outcome.claims);
    let count = |verdict: &str| claims().filter(|told| told.verdict == verdict).count();
    let machine = outcomes.first().map(|(_, outcome)| outcome.machine.summary()).unwrap_or_default();
    let body = html! {
        header { (bar(&[])) }
        div class="title" id="top" {
            h1 { "Tables and figures, reproduced" }
            p {
                (machine) " · " (claims().count()) " claims: " (count("reproduced")) " reproduced, "
                (count("not reproduced")) " not, " (count("not testable here")) " not testable here"
            }
        }
        main {
            @for (experiment, outcome) in outcomes { (one(experiment, outcome)) }
        }
    };
    whole("filch: tables and figures, reproduced", &body)
}

fn one(experiment: &Experiment, outcome: &Outcome) -> Markup {
    html! {
        section class="card" id=(outcome.id) {
            h2 { a href={ (outcome.id) ".html" } { (outcome.id) } ": " (experiment.question) }
            ul class="claims" {
                @for told in &outcome.claims {
                    li {
                        span class={ "verdict " (class(&told.verdict)) } { (told.verdict) }
                        div { b { (told.claim) } p { (told.why) } }
                    }
                }
            }
        }
    }
}

fn class(verdict: &str) -> &'static str {
    match verdict {
        "reproduced" | "holds" => "holds",
        "not reproduced" | "does not hold" => "fails",
        _ => "open",
    }
}
