//! The page of an experiment that a probe measures.

use filch_catalogue::protocol::Machine;
use maud::html;

use super::claims::{claims, source, tables};
use super::figures::figure;
use super::{Origin, about, bar, command, files, listing, whole};
use crate::experiment::Experiment;
use crate::experiment::probe::Findings;

/// Returns the page.
pub(crate) fn probe_page(experiment: &Experiment, findings: &Findings, machine: &Machine, origin: &Origin) -> String {
    let body = html! {
        (claims(&findings.decided))
        @for (index, one) in findings.figures.iter().enumerate() {
            section class="card" { (figure(one, index + 1, origin)) }
        }
        @for table in &findings.tables {
            section class="card" {
                h2 { (table.caption) }
                (listing(table.heads.iter().map(String::as_str), table.rows.iter().map(|row| row.iter().map(String::as_str))))
            }
        }
        (tables(experiment))
        (about::built_by(machine, &[]))
    };
    let title = html! {
        div class="title" id="top" {
            h1 { (experiment.question) }
            (source(experiment))
            (command(origin))
            p { (machine.processor) " · " (machine.cores) " processors" (files(origin)) }
        }
    };
    let name = experiment.name.unwrap_or_default();
    whole(&format!("filch: {name}"), &html! { header { (bar(&[])) } (title) main { (body) } })
}
