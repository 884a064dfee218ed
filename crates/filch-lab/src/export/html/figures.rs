//! The figures of a page, in their order there, which is also that of their files.

use filch_catalogue::protocol::Machine;
use maud::{Markup, PreEscaped, html};

use super::{Origin, Setting};
use crate::experiment::{Experiment, Plot};
use crate::export::svg::{self, Figure, Over, Palette};
use crate::summary::Program;

/// The figures of a page.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Against the swept parameter.
    swept: Vec<Figure>,
    /// Of each program.
    each: Vec<Vec<Figure>>,
}

impl Figures {
    /// Draws the figures of an experiment, or the usual ones.
    pub(crate) fn of(programs: &[Program], experiment: Option<&Experiment>, cores: usize) -> Self {
        let plots = experiment.map_or(Plot::USUAL, |experiment| experiment.plots);
        let marks = experiment.map_or(&[][..], Experiment::marks);
        let palette = Palette::new(programs);
        let machine = Machine { cores, ..Machine::default() };
        let sweep = experiment.and_then(|experiment| experiment.sweep.as_ref());
        let columns = plots.iter().filter_map(|plot| if let Plot::Swept(of) = plot { Some(of) } else { None });
        let swept = sweep.map_or_else(Vec::new, |sweep| {
            columns.flat_map(|column| svg::sweeps(programs, sweep, column, marks, &machine)).collect()
        });
        let draw = |program: &Program, plot: &Plot| {
            let (what, svg) = match plot {
                Plot::Times => ("time: every run, the middle half, the median", svg::times(program, &palette)),
                Plot::Speedup => {
                    let plot = svg::speedup(program, Over::Serial, &palette, marks, cores);
                    ("speed-up Ts/TP by workers, with 95 % intervals", plot)
                }
                Plot::RelativeSpeedup => {
                    let plot = svg::speedup(program, Over::OneWorker, &palette, marks, cores);
                    ("speed-up T1/TP by workers, with 95 % intervals", plot)
                }
                Plot::Forks => {
                    let plot = svg::overheads(program, &palette);
                    ("a fork and its join, (T1 − Ts) / tasks, with 95 % intervals", plot)
                }
                // Not part of a single program.
                Plot::Swept(_) => return None,
            };
            let caption = format!("{}: {what}", program.title);
            (!svg.is_empty()).then_some(Figure { caption, svg })
        };
        let each = programs.iter().map(|program| plots.iter().filter_map(|plot| draw(program, plot)).collect());
        Self { swept, each: each.collect() }
    }

    /// Returns all figures.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Figure> {
        self.swept.iter().chain(self.each.iter().flatten())
    }

    /// Returns the figures of a program, with their numbers.
    pub(super) fn of_program(&self, index: usize) -> Vec<(usize, &Figure)> {
        let before: usize = self.swept.len() + self.each[..index].iter().map(Vec::len).sum::<usize>();
        self.each[index].iter().enumerate().map(|(nth, figure)| (before + nth + 1, figure)).collect()
    }
}

/// Shows a figure, with a link to its file.
pub(super) fn figure(figure: &Figure, number: usize, origin: &Origin) -> Markup {
    html! {
        figure {
            figcaption {
                (figure.caption)
                @if let Some(name) = &origin.files {
                    " " a href={ (name) "-" (number) ".svg" } { "svg" }
                }
            }
            div class="plot" { (PreEscaped(&figure.svg)) }
        }
    }
}

impl Setting<'_> {
    /// Shows the plots against the swept parameter.
    pub(super) fn swept(&self) -> Markup {
        let figures = &self.page.figures.swept;
        let sweep = self.page.experiment.and_then(|experiment| experiment.sweep.as_ref());
        let Some(sweep) = sweep.filter(|_| !figures.is_empty()) else { return html! {} };
        html! {
            section class="card" id="sweep" {
                h2 { (sweep.parameter) ": " (sweep.meaning) }
                p class="say" {
                    "Medians, with their 95 % intervals over the rounds. Schedulers without the parameter are horizontal lines; the "
                    "document's values have hollow symbols."
                }
                div class="sweeps" {
                    @for (index, one) in figures.iter().enumerate() { (figure(one, index + 1, self.page.origin)) }
                }
            }
        }
    }
}
