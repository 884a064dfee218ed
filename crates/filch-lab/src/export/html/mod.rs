//! The report: one self-contained page.
//!
//! All outside data is text for the templates, which escape it. Only the plots, which escape their own text, and the
//! page's own style and script are inserted verbatim.

mod about;
mod claims;
mod figures;
mod overview;
mod probe;
mod programs;
mod scale;

pub(crate) use figures::Figures;
pub(crate) use overview::overview;
pub(crate) use probe::probe_page;
pub(crate) use scale::scale_page;

use std::time::{Duration, SystemTime};

use filch_catalogue::protocol::Machine;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use claims::{claims, source, tables};

use crate::columns::{Choice, Column};
use crate::experiment::Experiment;
use crate::experiment::claim::Decided;
use crate::export::svg::{self, Palette};
use crate::facts::facts;
use crate::record::Run;
use crate::summary::Program;
use crate::warnings::Warning;

/// The data of a page.
pub(crate) struct Page<'p> {
    pub(crate) runs: &'p [Run],
    /// The summary of the runs.
    pub(crate) programs: &'p [Program],
    pub(crate) choice: &'p Choice,
    pub(crate) doubts: &'p [Warning],
    /// The experiment of the runs, if all belong to the same one.
    pub(crate) experiment: Option<&'p Experiment>,
    pub(crate) decided: &'p [Decided],
    pub(crate) figures: &'p Figures,
    pub(crate) origin: &'p Origin,
}

/// Where a page comes from, and what is beside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The command that measured it, if it is known.
    pub(crate) command: Option<String>,
    /// The name of the files beside the page, without their endings, if there are any.
    pub(crate) files: Option<String>,
}

/// The common data of all parts of a page.
struct Setting<'p> {
    page: &'p Page<'p>,
    palette: Palette,
    machine: Machine,
    columns: Vec<&'static Column>,
    /// The programs' names, as short as possible.
    short: Vec<String>,
}

impl Page<'_> {
    /// Returns the whole page.
    pub(crate) fn html(&self) -> String {
        let setting = Setting {
            page: self,
            palette: Palette::new(self.programs),
            machine: self.runs.first().map(|run| run.machine.clone()).unwrap_or_default(),
            columns: self.choice.all(),
            short: short(self.programs),
        };
        let title = match self.named() {
            Some((name, _)) => format!("filch: {name}"),
            None => "filch: schedulers compared".to_owned(),
        };
        let page = html! {
            (setting.header())
            main {
                (self.failures())
                (claims(self.decided))
                (setting.swept())
                @if let Some(experiment) = self.experiment { (tables(experiment)) }
                (setting.headline())
                (setting.overview())
                @for index in 0..self.programs.len() { (setting.program(index)) }
                (capacity(self.programs))
                (self.caution())
                div class="pair" { (setting.machine()) (about::method()) }
                (setting.meanings())
                (raw(self.runs))
            }
        };
        whole(&title, &page)
    }

    /// Returns the experiment, if it has a name.
    fn named(&self) -> Option<(&'static str, &Experiment)> {
        self.experiment.and_then(|experiment| Some((experiment.name?, experiment)))
    }

    fn failures(&self) -> Markup {
        html! {
            @for doubt in self.doubts.iter().filter(|doubt| doubt.is_failure()) {
                p class="failure" { b { (doubt) } " " (doubt.remedy()) }
            }
        }
    }

    fn caution(&self) -> Markup {
        if self.doubts.is_empty() {
            return html! {};
        }
        html! {
            section class="card" id="warnings" {
                h2 { "Warnings" }
                ul class="doubts" {
                    @for doubt in self.doubts {
                        li class=[doubt.is_failure().then_some("bad")] { b { (doubt) } " " (doubt.remedy()) }
                    }
                }
            }
        }
    }
}

/// Shows the command that measured.
fn command(origin: &Origin) -> Markup {
    html! { @if let Some(command) = &origin.command { p class="command" { code { (command) } } } }
}

/// Links the data beside the page.
fn files(origin: &Origin) -> Markup {
    html! {
        @if let Some(name) = &origin.files {
            " · " a href={ (name) ".csv" } { "table (CSV)" } " · " a href={ (name) ".jsonl" } { "lines (JSON)" }
        }
    }
}

/// Shows a table of texts.
fn listing<'t, R: Iterator<Item = &'t str>>(
    heads: impl Iterator<Item = &'t str>,
    rows: impl Iterator<Item = R>,
) -> Markup {
    html! {
        div class="scroll" {
            table class="numbers" {
                thead { tr { @for head in heads { th { (head) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (index, cell) in row.enumerate() {
                                @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a whole page with this body.
fn whole(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("report.css"))) }
            }
            body {
                (body)
                div id="tip" role="tooltip" {}
                script { (PreEscaped(include_str!("report.js"))) }
            }
        }
    };
    page.into_string()
}

/// Returns the bar at the top, with links to programs.
fn bar(names: &[String]) -> Markup {
    html! {
        div class="bar" {
            a class="mark" href="#top" { "filch" }
            nav { @for (index, name) in names.iter().enumerate() { a href={ "#p" (index) } { (name) } } }
            button id="theme" type="button" aria-label="Light or dark" { "◐" }
        }
    }
}

impl Setting<'_> {
    fn header(&self) -> Markup {
        let runs = self.page.runs;
        let measured = runs.iter().filter(|run| run.seconds.is_some()).count();
        let wrong = runs.iter().filter(|run| !run.correct).count();
        let at = runs.iter().map(|run| run.at).fold(f64::INFINITY, f64::min);
        html! {
            header {
                (bar(&self.short))
            }
            div class="title" id="top" {
                @match self.page.named() {
                    Some((_, experiment)) => { h1 { (experiment.question) } (source(experiment)) },
                    None => h1 { "Schedulers compared" },
                }
                (command(self.page.origin))
                p {
                    (self.machine.processor) " · " (self.machine.cores) " processors · " (date(at)) " · " (measured) " runs, "
                    @if wrong == 0 { "every answer right" } @else { b class="bad" { (wrong) " wrong" } }
                    (files(self.page.origin))
                }
            }
        }
    }

    fn headline(&self) -> Markup {
        html! {
            section class="facts" {
                @for fact in facts(self.page.programs, self.machine.cores) {
                    div class="fact" { b { (fact.figure) } p { (fact.sentence) } }
                }
            }
        }
    }
}

/// Returns the names, without the parameters that do not distinguish programs.
fn short(programs: &[Program]) -> Vec<String> {
    let cut = |program: &Program| program.title.split(':').take(2).collect::<Vec<_>>().join(":");
    let cuts: Vec<String> = programs.iter().map(cut).collect();
    let is_unique = |name: &String| cuts.iter().filter(|other| *other == name).count() == 1;
    programs
        .iter()
        .zip(&cuts)
        .map(|(program, cut)| if is_unique(cut) { cut.clone() } else { program.title.clone() })
        .collect()
}

fn capacity(programs: &[Program]) -> Markup {
    let plot = svg::capacities(programs);
    if plot.is_empty() {
        return html! {};
    }
    html! {
        section class="card" {
            h2 { "Parallel capacity" }
            p class="say" {
                "The throughput of several processors over that of one: copies × time of the sequential program alone / its time side by "
                "side, measured between the other runs. Processors that share a core, caches or memory do not reach their number, and "
                "no scheduler can exceed the capacity. Where the dots move, the machine changed."
            }
            figure { (PreEscaped(plot)) }
        }
    }
}

/// Embeds the runs, with each machine once.
fn raw(runs: &[Run]) -> Markup {
    let mut machines: Vec<Value> = Vec::new();
    let lines: Vec<Map<String, Value>> = runs
        .iter()
        .filter_map(|run| {
            let Ok(Value::Object(mut line)) = serde_json::to_value(run) else { return None };
            let machine = line.remove("machine").unwrap_or_default();
            let index = machines.iter().position(|known| *known == machine).unwrap_or_else(|| {
                machines.push(machine);
                machines.len() - 1
            });
            line.insert("machine".to_owned(), index.into());
            Some(line)
        })
        .collect();
    // A closing tag inside a text would end the element.
    let data = json!({ "machines": machines, "runs": lines }).to_string().replace("</", "<\\/");
    html! {
        p class="raw" { button id="save" type="button" { "Save the " (runs.len()) " runs as JSON lines" } }
        script type="application/json" id="data" { (PreEscaped(data)) }
    }
}

/// Formats seconds since 1970 as a date and time in UTC.
pub(crate) fn date(at: f64) -> String {
    let since = Duration::try_from_secs_f64(at.floor()).ok().filter(|since| !since.is_zero());
    let at = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    at.map_or_else(|| "undated".to_owned(), |at| humantime::format_rfc3339_seconds(at).to_string().replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::claim::{Claim, Limit, decide};
    use crate::experiment::quantity::{At, Measure, Pick, Quantity};
    use crate::experiment::{Experiment, Plot, Sweep};
    use crate::record::tests::run;
    use crate::summary::summarize;

    #[test]
    fn dates_are_right() {
        assert_eq!(date(951_782_400.0), "2000-02-29 00:00:00Z");
        assert_eq!(date(1_767_225_599.0), "2025-12-31 23:59:59Z");
        assert_eq!((date(f64::INFINITY), date(0.0)), ("undated".to_owned(), "undated".to_owned()));
    }

    fn page(runs: &[Run], experiment: Option<&Experiment>) -> String {
        let programs = summarize(runs, &[]);
        let decided = experiment.map_or_else(Vec::new, |of| decide(of, &programs, 2));
        let (doubts, figures) = ([Warning::Debug], Figures::of(&programs, experiment, 2));
        let origin = Origin { command: Some("filch test --size quick".to_owned()), files: Some("test".to_owned()) };
        Page {
            runs,
            programs: &programs,
            choice: &Choice::Usual,
            doubts: &doubts,
            experiment,
            decided: &decided,
            figures: &figures,
            origin: &origin,
        }
        .html()
    }

    #[test]
    fn a_page_is_self_contained_and_holds_its_data() {
        let mut sly = run("fib", "rayon", 1, 4.0);
        sly.answer = "</script><b>".to_owned();
        sly.who.scheduler = "<i>rayon</i>".to_owned();
        let runs = [run("fib", "serial", 1, 1.0), run("fib", "filch split", 1, 1.1), sly];
        let page = page(&runs, None);
        assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("@import"));
        for tag in ["section", "table", "tr", "td", "figure", "svg", "g", "text"] {
            let open = page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
            assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
        let end = start + page[start..].find("</script>").unwrap();
        assert!(page[..start].contains("&lt;i&gt;rayon") && !page[..start].contains("<i>rayon"));
        let data: Value = serde_json::from_str(&page[start..end]).unwrap();
        assert_eq!(data["runs"].as_array().unwrap().len(), 3);
        assert_eq!(data["machines"].as_array().unwrap().len(), 1);
        assert_eq!(data["runs"][2]["answer"], "</script><b>");
    }

    #[test]
    fn an_experiment_shows_its_question_sweep_and_verdicts() {
        let mut runs = Vec::new();
        for round in 0..5 {
            for (block, seconds) in [("2", 1.0), ("64", 2.0)] {
                let mut run = run("trees", "filch x", 2, seconds);
                (run.who.pool, run.round) = (Some(format!("bwos-l:block={block}")), round);
                runs.push(run);
            }
        }
        let experiment = Experiment {
            name: Some("blocks"),
            sweep: Some(Sweep {
                parameter: "block",
                values: vec!["2".into(), "64".into()],
                meaning: "tasks in a block",
            }),
            plots: &[Plot::Swept("median")],
            claims: vec![Claim::new(
                "Small blocks are faster.",
                Pick::new("filch bwos-l", At::One("2")),
                Measure::Over(Quantity::Time, Pick::new("filch bwos-l", At::One("64"))),
                Limit::Below(1.0),
            )],
            ..Experiment::new("How long may blocks be?")
        };
        let page = page(&runs, Some(&experiment));
        for part in [
            "<h1>How long may blocks be?</h1>",
            "<code>filch test --size quick</code>",
            "href=\"test.csv\"",
            "href=\"test-1.svg\"",
            "tasks in a block",
            "Small blocks are faster.",
            "class=\"verdict holds\"",
            "0.50 [0.50, 0.50]",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }
}
