//! The table on the terminal: one per program.

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table, presets};

use crate::columns::{Choice, Column, WORKERS, heads};
use crate::summary::{Capacity, Program, Row};
use crate::terminal::{STRONG, count, duration, paint};

/// The format of tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) colour: bool,
    /// The width of the terminal in columns; without one, everything fits.
    pub(crate) width: Option<usize>,
    pub(crate) cores: usize,
}

/// Stands for a missing value.
pub(super) const NONE: &str = "–";

/// Formats the heading and the table of a program.
pub(crate) fn program(program: &Program, choice: &Choice, look: Look) -> String {
    let summary: String = summary(program).iter().map(|part| format!("   {part}")).collect();
    let text = paint(&program.title, STRONG, look.colour) + &summary;
    let selections = choice.on_terminals();
    let selections = [true, false].into_iter().flat_map(|with| selections.iter().map(move |columns| (columns, with)));
    let mut bodies = selections.map(|(columns, with_intervals)| table(program, columns, with_intervals, look));
    let mut body = bodies.next().unwrap_or_default();
    while look.width.is_some_and(|width| visible(&body) > width)
        && let Some(narrower) = bodies.next()
    {
        body = narrower;
    }
    text + "\n" + &body + "\n"
}

/// What a heading says of a program besides its name.
pub(super) fn summary(program: &Program) -> Vec<String> {
    let mut parts = Vec::from_iter(program.serial.map(|serial| format!("Ts {}", duration(serial.median))));
    #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
    parts.extend(program.tasks().map(|tasks| format!("{} tasks", count(tasks as f64))));
    parts.extend(program.capacities.iter().map(|Capacity { copies, sample, .. }| {
        format!("C{copies} {:.2} ({:.2}–{:.2})", sample.median, sample.min, sample.max)
    }));
    parts.extend(program.baseline.as_ref().map(|baseline| format!("base {baseline}")));
    parts
}

/// The visible width of a text, without escape codes.
fn visible(text: &str) -> usize {
    text.lines().map(console::measure_text_width).max().unwrap_or(0)
}

/// The prefix of a row without a failure.
const NO_MARK: &str = "  ";

fn table(program: &Program, columns: &[&Column], with_intervals: bool, look: Look) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if look.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let heads = heads().chain(columns.iter().map(|column| column.heading)).enumerate();
    // The heading is aligned with the names after the marks.
    let head = |(index, head): (usize, &str)| if index == 0 { format!("{NO_MARK}{head}") } else { head.to_owned() };
    table.set_header(heads.map(head).map(|head| Cell::new(head).add_attribute(Attribute::Dim)));
    let mut group = None;
    for row in &program.rows {
        // The sequential program belongs to the first group.
        let workers = if row.is_serial() { 1 } else { row.workers };
        if group.is_some_and(|group| group != workers) {
            table.add_row([""]);
        }
        group = Some(workers);
        table.add_row(cells(program, row, columns, with_intervals, look.cores));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn cells(program: &Program, row: &Row, columns: &[&Column], with_intervals: bool, cores: usize) -> Vec<Cell> {
    let bad = !row.wrong.is_empty() || !row.broken.is_empty();
    let mark = if bad { "✗ " } else { NO_MARK };
    let mut label = Cell::new(format!("{mark}{}", row.label));
    let mut workers =
        Cell::new(if row.workers > cores { format!("{}!", row.workers) } else { row.workers.to_string() });
    if bad {
        label = label.fg(Color::Red).add_attribute(Attribute::Bold);
        workers = workers.fg(Color::Red);
    }
    let values = columns.iter().map(|column| {
        let cell = Cell::new(column.text(row, with_intervals).unwrap_or_else(|| NONE.to_owned()));
        if bad {
            cell.fg(Color::Red)
        } else if is_best(program, row, column) {
            cell.fg(Color::Green).add_attribute(Attribute::Bold)
        } else {
            cell
        }
    });
    [label, workers].into_iter().chain(values).collect()
}

/// Whether the row is best among several schedulers with the same number of workers.
fn is_best(program: &Program, row: &Row, column: &Column) -> bool {
    let rivals = program.rows.iter().filter(|other| !other.is_serial() && other.workers == row.workers);
    let ranks: Vec<f64> = rivals.filter_map(|row| column.rank(row)).collect();
    let best = ranks.iter().copied().fold(f64::INFINITY, f64::min);
    !row.is_serial() && ranks.len() > 1 && column.rank(row).is_some_and(|mine| mine <= best)
}

/// The longest line of a legend.
const LEGEND_WIDTH: usize = 120;

/// Explains the columns, except the scheduler's counters, which `filch list columns` explains.
pub(crate) fn legend(programs: &[Program], choice: &Choice, look: Look) -> String {
    let columns = choice.explained();
    let mut parts = Vec::from_iter(WORKERS.heading.map(|heading| format!("{heading}: {}", WORKERS.meaning)));
    parts.extend(columns.iter().map(|column| format!("{}: {}", column.heading, column.meaning)));
    parts.push("Ts, T1, TP: time of the sequential program, with one worker, with P workers".to_owned());
    if programs.iter().any(|program| !program.capacities.is_empty()) {
        parts.push("C: parallel capacity, the throughput of the processors over that of one".to_owned());
    }
    if columns.iter().any(|column| column.is_estimate()) {
        parts.push(INTERVALS.to_owned());
    }
    wrapped(&(parts.join("; ") + "."), look.width.unwrap_or(LEGEND_WIDTH).min(LEGEND_WIDTH))
}

/// Explains the numbers with intervals.
const INTERVALS: &str = "comparisons are medians over the rounds, with the 95 % bootstrap interval in [brackets]";

/// Wraps text between words; ends with a newline.
fn wrapped(text: &str, width: usize) -> String {
    textwrap::fill(text, textwrap::Options::new(width).break_words(false)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    fn look() -> Look {
        Look { colour: false, width: None, cores: 2 }
    }

    #[test]
    fn a_table_shows_every_row_without_colour() {
        let runs = [
            run("fib", "serial", 1, 1.0),
            run("fib", "filch split", 1, 1.1),
            run("fib", "rayon", 1, 4.0),
            run("fib", "filch split", 8, 0.6),
        ];
        let text = program(&summarize(&runs, &[])[0], &Choice::Usual, look());
        assert!(!text.contains('\u{1b}'));
        assert!(text.starts_with("fib:n=30   Ts 1.00 s   1.35 M tasks"), "{text}");
        for part in ["serial", "filch split", "rayon", "1.10", "4.00 s", "8!", "steals"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    /// Two rounds of two schedulers, one of which drifts.
    fn rounds() -> Vec<Program> {
        let mut runs = [
            run("fib", "filch split", 1, 1.0),
            run("fib", "rayon", 1, 4.0),
            run("fib", "filch split", 1, 1.0),
            run("fib", "rayon", 1, 5.0),
        ];
        runs[2..].iter_mut().for_each(|run| run.round = 1);
        summarize(&runs, &[])
    }

    #[test]
    fn narrow_terminals_drop_counters_then_intervals() {
        let at = |width| program(&rounds()[0], &Choice::Usual, Look { width, ..look() });
        let (wide, middle, narrow) = (at(None), at(Some(130)), at(Some(80)));
        assert!(visible(&narrow) <= 80, "{narrow}");
        assert!(wide.contains("steals") && wide.contains(" [0.20, 0.25]"), "{wide}");
        assert!(!middle.contains("steals") && middle.contains(" [0.20, 0.25]"), "{middle}");
        assert!(!narrow.contains("steals") && !narrow.contains('['), "{narrow}");
    }

    #[test]
    fn columns_appear_as_chosen() {
        let names = ["max", "to-baseline", "min"].map(str::to_owned);
        let choice = Choice::of(Some(&names), &[]).unwrap();
        let text = program(&rounds()[0], &choice, look());
        let heads: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(heads, ["scheduler", "P", "max", "T/base", "min"]);
        let legend = legend(&rounds(), &choice, look());
        assert!(legend.contains("max: longest") && !legend.contains("median:"), "{legend}");
    }

    #[test]
    fn a_legend_wraps_between_words() {
        assert_eq!(wrapped("one two three", 8), "one two\nthree\n");
        assert_eq!(wrapped("unbreakable", 8), "unbreakable\n");
        let narrow = Look { width: Some(60), ..look() };
        assert!(legend(&rounds(), &Choice::Usual, narrow).lines().all(|line| line.chars().count() <= 60));
    }

    #[test]
    fn the_best_of_each_group_is_green() {
        let runs = [run("fib", "filch split", 1, 1.1), run("fib", "rayon", 1, 4.0)];
        let text = program(&summarize(&runs, &[])[0], &Choice::Usual, Look { colour: true, ..look() });
        let line = text.lines().find(|line| line.contains("1.10 s")).unwrap();
        assert!(line.contains('\u{1b}'), "{text}");
        assert_eq!(visible("\u{1b}[1mab\u{1b}[0m"), 2);
    }

    #[test]
    fn wrong_answers_are_marked() {
        let mut wrong = run("fib", "rayon", 1, 4.0);
        (wrong.correct, wrong.error) = (false, Some("5 is wrong".to_owned()));
        assert!(program(&summarize(&[wrong], &[])[0], &Choice::Usual, look()).contains("✗ rayon"));
    }
}
