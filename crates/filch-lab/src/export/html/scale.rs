//! The page of recorded computations: how far each would scale, and why not further.

use maud::{Markup, PreEscaped, html};

use super::{about, bar, listing, whole};
use crate::export::svg::{self, Chart, Look, Series};
use crate::scale::{Capacity, Forecast, Recording};
use crate::terminal::{count, significant};

/// Returns the page of these recordings with their forecasts.
pub(crate) fn scale_page(all: &[(Recording, Vec<Forecast>)]) -> String {
    // A command begins with a path.
    let short = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let names: Vec<String> = all.iter().map(|(recording, _)| short(&recording.program)).collect();
    let machine = all.iter().find_map(|(recording, _)| recording.costs.as_ref().map(|costs| &costs.machine));
    let body = html! {
        header { (bar(&names)) }
        div class="title" id="top" {
            h1 { "How far would it scale?" }
            @if let [(recording, _)] = all { p { b { (recording.sentence) } } }
            p {
                "Recorded on one thread" @if let Some(machine) = machine { " · " (machine.processor) }
                " · the rest is computed: what may run in parallel, and how long it would take"
            }
        }
        main {
            @for (index, (recording, forecast)) in all.iter().enumerate() { (program(index, recording, forecast)) }
            div class="pair" { (words()) (limits()) }
            @if let Some(machine) = machine { (about::built_by(machine, &[])) }
        }
    };
    whole("filch: how far would it scale?", &body)
}

fn program(index: usize, recording: &Recording, forecast: &[Forecast]) -> Markup {
    let long = |length: u64| recording.long(length as f64);
    let mut facts = vec![
        (significant(recording.parallelism()), "parallelism: no number of workers gives a greater speed-up"),
        (significant(recording.burdened_parallelism()), "of it is left if each fork costs a theft"),
        (long(recording.work), "work: what one worker takes"),
        (long(recording.span), "span: what must follow one another"),
    ];
    facts.extend(recording.capacity.map(|Capacity { processors, times }| {
        let figure = format!("C{processors} {}", significant(times));
        (figure, "capacity here: how many times as much of it all processors together do as one")
    }));
    let plot = curve(recording, forecast);
    html! {
        section class="card" id={ "p" (index) } {
            h2 { (recording.program) }
            p class="say" { b { (recording.sentence) } }
            section class="facts" {
                @for (figure, meaning) in facts { div class="fact" { b { (figure) } p { (meaning) } } }
            }
            div class="sweeps" {
                @if let Some(plot) = plot {
                    figure {
                        figcaption { "Speed-up over one worker: forecast, and what work and span allow" }
                        div class="plot" { (PreEscaped(plot)) }
                    }
                }
                @if recording.regions.iter().any(|region| region.name.is_some()) {
                    figure {
                        figcaption { "Where the work and the span are" }
                        div class="plot" { (PreEscaped(regions(recording))) }
                    }
                }
                @if let Some(plot) = path(recording) {
                    figure {
                        figcaption { "The critical path from left to right: its regions, and how many forks are open" }
                        div class="plot" { (PreEscaped(plot)) }
                    }
                }
                figure {
                    figcaption { "How long strands are: " (count(recording.forks as f64)) " forks" }
                    div class="plot" { (PreEscaped(grains(recording))) }
                }
            }
            @if !forecast.is_empty() { (table(recording, forecast)) }
        }
    }
}

/// Draws the forecasts of each pool, and the laws.
fn curve(recording: &Recording, forecast: &[Forecast]) -> Option<String> {
    let pools: Vec<&[Forecast]> = forecast.chunk_by(|a, b| a.pool == b.pool).collect();
    let each = |some: &&[Forecast]| Series {
        name: some[0].pool.clone(),
        points: some.iter().map(|one| (one.workers as f64, one.speedup)).collect(),
        look: Look::Line,
    };
    let mut series: Vec<Series> = pools.iter().map(each).collect();
    series.push(Series {
        name: "the laws".to_owned(),
        points: pools.first()?.iter().map(|one| (one.workers as f64, recording.law(one.workers))).collect(),
        look: Look::Dashes,
    });
    series.extend(recording.capacity.map(|Capacity { processors, times }| Series {
        name: "capacity here".to_owned(),
        points: vec![(processors as f64, times)],
        look: Look::Dots,
    }));
    let title = format!("Speed-up of {} by workers", recording.program);
    Chart { title, across: "workers", up: "speed-up", doubles: true, series, references: Vec::new() }.draw()
}

fn regions(recording: &Recording) -> String {
    let share = |part: u64, whole: u64| {
        let share = if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        (share, recording.long(part as f64))
    };
    let row = |region: &crate::scale::Region| {
        let name = region.name.clone().unwrap_or_else(|| "in no region".to_owned());
        (name, vec![share(region.work, recording.work), share(region.span, recording.span)])
    };
    svg::bars("Shares of regions", &["of the work", "of the span"], recording.regions.iter().map(row))
}

/// Draws the critical path, if there is more to it than a strand.
fn path(recording: &Recording) -> Option<String> {
    let parts = recording.critical_path();
    let name = |region: &Option<&str>| region.unwrap_or("in no region").to_owned();
    let parts: Vec<_> = parts.iter().map(|(region, part)| (name(region), part.length as f64, part.depth)).collect();
    (parts.len() > 1).then(|| svg::strip("Critical path", &parts, |length| recording.long(length)))
}

fn grains(recording: &Recording) -> String {
    let row = |&[from, strands, work]: &[u64; 3]| {
        let share = if recording.work == 0 { 0.0 } else { work as f64 / recording.work as f64 };
        let from = if from == 0 { "shorter".to_owned() } else { format!("from {}", recording.long(from as f64)) };
        (from, vec![(share, format!("{} strands", count(strands as f64)))])
    };
    svg::bars("Shares of strands by length", &["of the work"], recording.grains.iter().map(row))
}

fn table(recording: &Recording, forecast: &[Forecast]) -> Markup {
    let row = |one: &Forecast| {
        [
            one.workers.to_string(),
            one.pool.clone(),
            recording.long(one.time),
            format!("[{}, {}]", recording.long(one.low), recording.long(one.high)),
            significant(one.speedup),
            significant(recording.law(one.workers)),
            count(one.thefts as f64),
        ]
    };
    let rows: Vec<[String; 7]> = forecast.iter().map(row).collect();
    let heads = ["workers", "pool", "time", "over some seeds", "speed-up", "the laws allow", "thefts"];
    html! {
        details {
            summary { "The forecast in numbers" }
            (listing(heads.into_iter(), rows.iter().map(|row| row.iter().map(String::as_str))))
        }
    }
}

fn words() -> Markup {
    html! {
        section class="card" {
            h2 { "The words" }
            dl {
                dt { "strand" } dd { "what runs between two forks or joins" }
                dt { "work" } dd { "the time of all strands" }
                dt { "span" } dd { "the time of the longest chain of strands that must follow one another" }
                dt { "the laws" } dd { "on P workers the speed-up is at most P, and at most work / span" }
                dt { "forecast" } dd { "the recorded strands in simulated time, under the pool's rules, with the costs below" }
            }
        }
    }
}

fn limits() -> Markup {
    html! {
        section class="card" {
            h2 { "What this cannot know" }
            p {
                "Strands take as long as they did alone. On more processors they share caches, memory and power: a program that is bound "
                "by memory stops earlier. Its capacity here, where it was measured, says how much they take from each other: no "
                "scheduler exceeds it."
            }
            p { "A task that waits for another by a lock or a channel seems not to wait." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::tests::{costs, recording};

    #[test]
    fn a_page_shows_the_sentence_the_curve_and_the_shares() {
        let mut recording = recording("7((1000000|1000000)|1000000)", 3_000_007, 1_000_007);
        let pools = ["split", "pdq-r"].map(|pool| pool.parse().unwrap());
        let forecast = recording.forecast(&pools, &[1, 2, 4], &costs()).unwrap();
        recording.costs = Some(costs());
        recording.capacity = Some(Capacity { processors: 2, times: 1.87 });
        let page = scale_page(&[(recording, forecast)]);
        assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<p>&lt;p&gt;<"));
        for part in [
            "More than 3 workers will not help.",
            "&lt;p&gt;",
            "pdq-r",
            "merge",
            "the laws",
            "3 strands",
            "1.87",
            "capacity here",
        ] {
            assert!(page.contains(part), "{part}");
        }
        for tag in ["section", "figure", "svg", "g", "text", "td"] {
            let open = page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
            assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
