//! The part of the report with the numbers: the comparison with the fastest, and each program.

use maud::{Markup, html};

use super::Setting;
use super::figures::figure;
use crate::columns::{Column, heads};
use crate::export::svg::Figure;
use crate::identity::SchedulerId;
use crate::summary::{Program, Row};
use crate::terminal::{count, duration};

impl Setting<'_> {
    /// Shows a square per scheduler and program: the time over that of the fastest.
    pub(super) fn overview(&self) -> Markup {
        let programs = self.page.programs;
        let mut counts: Vec<usize> = programs.iter().flat_map(Program::worker_counts).collect();
        counts.sort_unstable();
        counts.dedup();
        html! {
            section class="card" {
                h2 { "Overview" }
                p class="say" { "Median time over the fastest scheduler's with as many workers. 1.00 is the fastest." }
                div class="glance" {
                    @for workers in counts { (self.matrix(workers)) }
                }
            }
        }
    }

    fn matrix(&self, workers: usize) -> Markup {
        let programs = self.page.programs;
        let ran = |who: &&SchedulerId| programs.iter().any(|program| program.row(who, workers).is_some());
        html! {
            table class="matrix" {
                caption {
                    (workers) " worker" @if workers != 1 { "s" } @if workers > self.machine.cores { ", more than processors" }
                }
                thead {
                    tr {
                        th {}
                        @for name in &self.short {
                            @let (name, parameters) = name.split_once(':').unwrap_or((name, ""));
                            th scope="col" { (name) br; (parameters) }
                        }
                    }
                }
                tbody {
                    @for who in self.palette.all().iter().filter(ran) {
                        tr class=(self.palette.class(who)) data-s=(self.palette.key(who)) {
                            th scope="row" { i class="swatch" {} (who) }
                            @for program in programs { (square(program, who, workers)) }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn program(&self, index: usize) -> Markup {
        let program = &self.page.programs[index];
        let figures = self.page.figures.of_program(index);
        // The first plot is the largest; the others are beside it.
        let (first, others) = figures.split_at(figures.len().min(1));
        let shown = |&(number, one): &(usize, &Figure)| figure(one, number, self.page.origin);
        let asked = self.asked();
        html! {
            section class="card" id={ "p" (index) } {
                h2 { (program.title) }
                (summary(program))
                @if !first.is_empty() {
                    div class="plots" {
                        @for plot in first { (shown(plot)) }
                        @if !others.is_empty() { div { @for plot in others { (shown(plot)) } } }
                    }
                }
                @if !asked.is_empty() { div class="scroll" { (self.numbers(program, &asked)) } }
                details {
                    summary { "All numbers and counters" }
                    div class="scroll" { (self.numbers(program, &self.columns)) }
                }
            }
        }
    }

    /// Returns the columns that answer the experiment's question.
    fn asked(&self) -> Vec<&'static Column> {
        let names = self.page.experiment.map_or(&[][..], |experiment| experiment.columns);
        let of = |name: &&str| self.columns.iter().copied().find(|column| column.name == *name);
        names.iter().filter_map(of).collect()
    }

    fn numbers(&self, program: &Program, columns: &[&Column]) -> Markup {
        html! {
            table class="numbers" {
                thead {
                    tr {
                        @for head in heads() { th { (head) } }
                        @for column in columns { th data-tip=(column.meaning) { (column.heading) } }
                    }
                }
                tbody {
                    @for row in &program.rows {
                        @let bad = (!row.wrong.is_empty() || row.time.is_none()).then_some("bad");
                        @let version = if row.version.is_empty() { String::new() } else { format!("{} {}", row.who.scheduler, row.version) };
                        tr class=(self.palette.class(&row.who)) data-s=(self.palette.key(&row.who)) {
                            th scope="row" class=[bad] data-tip=(version) { i class="swatch" {} (row.label) }
                            td { (row.workers) }
                            @for column in columns {
                                td data-tip=[rounds(column, row)] { (column.text(row, true).unwrap_or_default()) }
                            }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn meanings(&self) -> Markup {
        html! {
            section class="card" id="columns" {
                h2 { "Columns" }
                dl { @for column in &self.columns { dt { (column.heading) } dd { (column.meaning) } } }
            }
        }
    }
}

fn square(program: &Program, who: &SchedulerId, workers: usize) -> Markup {
    let best = program.ranking(workers).first().and_then(|row| row.median());
    let row = program.row(who, workers);
    let (Some(best), Some(row)) = (best, row) else { return html! { td class="none" {} } };
    let Some(time) = row.median() else { return html! { td class="broken" data-tip="failed" { "✗" } } };
    let ratio = time / best;
    // Four times the fastest time gets the darkest colour.
    let heat = (ratio.ln() / 4_f64.ln()).clamp(0.0, 1.0) * 100.0;
    let class = match ratio {
        _ if !row.wrong.is_empty() => "bad",
        _ if ratio <= 1.02 => "best",
        _ => "heat",
    };
    let tip = format!("{}\n{who} on {workers}\n{}", program.title, duration(time));
    html! { td class=(class) style={ "--heat:" (format!("{heat:.0}")) "%" } data-tip=(tip) { (format!("{ratio:.2}")) } }
}

/// Returns the line below a program's name.
fn summary(program: &Program) -> Markup {
    let mut say: Vec<Markup> = Vec::new();
    if let Some(serial) = program.serial {
        say.push(html! { "Sequential " b { (duration(serial.median)) } });
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
    if let Some(tasks) = program.tasks() {
        say.push(html! { b { (count(tasks as f64)) } " tasks" });
    }
    for capacity in &program.capacities {
        let (sample, value) = (capacity.sample, format!("{:.2}", capacity.sample.median));
        say.push(html! { "C" (capacity.copies) " " b { (value) } (format!(" ({:.2}–{:.2})", sample.min, sample.max)) });
    }
    if let Some(baseline) = &program.baseline {
        say.push(html! { "base " b { (baseline) } });
    }
    for workers in program.worker_counts() {
        if let [first, second, ..] = program.ranking(workers).as_slice()
            && let (Some(best), Some(next)) = (first.median(), second.median())
        {
            let ahead = format!(", {:.0} % ahead of {}", (next / best - 1.0) * 100.0, second.label);
            say.push(html! { "on " (workers) ": " b { (first.label) } (ahead) });
        }
    }
    html! { p class="say" { @for (index, part) in say.iter().enumerate() { @if index > 0 { " · " } (part) } } }
}

/// The number of rounds behind a value.
fn rounds(column: &Column, row: &Row) -> Option<String> {
    Some(match column.estimate(row)?.rounds {
        0 => "no common round: ratio of medians".to_owned(),
        1 => "one round: no interval".to_owned(),
        rounds => format!("median over {rounds} rounds"),
    })
}
