//! The table on the terminal: one per program.

use std::fmt::Write;

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table, presets};

use crate::summary::{Program, Row, nanoseconds};
use crate::terminal::{count, duration, paint};

/// How to show tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) colour: bool,
    /// Columns of the terminal; without one, all fit.
    pub(crate) width: Option<usize>,
    pub(crate) cores: usize,
}

/// A column: its name, its text, and the number of which the best is highlighted.
struct Column {
    head: &'static str,
    text: fn(&Row) -> String,
    /// Smaller is better for the number given.
    rank: Option<fn(&Row) -> Option<f64>>,
}

const NONE: &str = "–";

fn optional(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

fn counter(row: &Row, name: &str) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    row.counters.get(name).map_or_else(|| NONE.to_owned(), |&value| count(value as f64))
}

/// What was measured.
const RESULTS: &[Column] = &[
    Column { head: "time", text: |row| optional(row.median(), duration), rank: Some(Row::median) },
    Column {
        head: "spread",
        text: |row| optional(row.time.map(|time| time.spread()), |spread| format!("{:.0} %", spread * 100.0)),
        rank: None,
    },
    Column {
        head: "T1/Ts",
        text: |row| optional(row.overhead, |ratio| format!("{ratio:.2}")),
        rank: Some(|row| row.overhead),
    },
    Column {
        head: "Ts/TP",
        text: |row| optional(row.speedup, |ratio| format!("{ratio:.2}")),
        rank: Some(|row| row.speedup.map(|speedup| -speedup)),
    },
    Column {
        head: "T1/TP/C",
        text: |row| optional(row.of_capacity, |share| format!("{:.0} %", share * 100.0)),
        rank: Some(|row| row.of_capacity.map(|share| -share)),
    },
    Column { head: "tasks/s", text: |row| optional(row.tasks_per_second(), count), rank: None },
    Column {
        head: "per fork",
        text: |row| optional(row.fork_seconds, nanoseconds),
        rank: Some(|row| row.fork_seconds),
    },
];

/// What the scheduler counted: medians of a run.
const COUNTERS: &[Column] = &[
    Column { head: "steals", text: |row| counter(row, "steals"), rank: None },
    Column { head: "leaps", text: |row| counter(row, "leaps"), rank: None },
    Column { head: "grows", text: |row| counter(row, "grows"), rank: None },
    Column { head: "shrinks", text: |row| counter(row, "shrinks"), rank: None },
    Column { head: "parks", text: |row| counter(row, "parks"), rank: None },
    Column { head: "depth", text: |row| counter(row, "peak_depth"), rank: None },
];

/// The heading and the table of a program.
pub(crate) fn program(program: &Program, look: Look) -> String {
    let mut text = paint(&program.title, "1", look.colour);
    if let Some(serial) = program.serial {
        let _ = write!(text, "   Ts {}", duration(serial.median));
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    if let Some(tasks) = program.tasks() {
        let _ = write!(text, "   {} tasks", count(tasks as f64));
    }
    for capacity in &program.capacities {
        let sample = capacity.sample;
        let _ = write!(text, "   C{} {:.2} ({:.2}–{:.2})", capacity.copies, sample.median, sample.min, sample.max);
    }
    let all: Vec<&Column> = RESULTS.iter().chain(COUNTERS).collect();
    let mut body = table(program, &all, look);
    if look.width.is_some_and(|width| visible(&body) > width) {
        body = table(program, &RESULTS.iter().collect::<Vec<_>>(), look);
    }
    text + "\n" + &body + "\n"
}

/// The columns that a text takes, escape codes left out.
fn visible(text: &str) -> usize {
    let width = |line: &str| {
        let mut inside = false;
        let shown = line.chars().filter(|&c| {
            let hidden = inside || c == '\u{1b}';
            inside = hidden && c != 'm';
            !hidden
        });
        shown.count()
    };
    text.lines().map(width).max().unwrap_or(0)
}

fn table(program: &Program, columns: &[&Column], look: Look) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if look.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let heads = ["  scheduler", "P"].into_iter().chain(columns.iter().map(|column| column.head));
    table.set_header(heads.map(|head| Cell::new(head).add_attribute(Attribute::Dim)));
    let mut group = None;
    for row in &program.rows {
        // The sequential program shares the first group.
        let workers = if row.is_serial() { 1 } else { row.workers };
        if group.is_some_and(|group| group != workers) {
            table.add_row([""]);
        }
        group = Some(workers);
        table.add_row(cells(program, row, columns, look.cores));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn cells(program: &Program, row: &Row, columns: &[&Column], cores: usize) -> Vec<Cell> {
    let bad = !row.wrong.is_empty() || !row.broken.is_empty();
    let mark = if bad { "✗ " } else { "  " };
    let mut label = Cell::new(format!("{mark}{}", row.label));
    let mut workers =
        Cell::new(if row.workers > cores { format!("{}!", row.workers) } else { row.workers.to_string() });
    if bad {
        label = label.fg(Color::Red).add_attribute(Attribute::Bold);
        workers = workers.fg(Color::Red);
    }
    let values = columns.iter().map(|column| {
        let cell = Cell::new((column.text)(row));
        if bad {
            cell.fg(Color::Red)
        } else if column.rank.is_some_and(|rank| is_best(program, row, rank)) {
            cell.fg(Color::Green).add_attribute(Attribute::Bold)
        } else {
            cell
        }
    });
    [label, workers].into_iter().chain(values).collect()
}

/// Best among the schedulers with as many workers; alone is no best.
fn is_best(program: &Program, row: &Row, rank: fn(&Row) -> Option<f64>) -> bool {
    let rivals = program.rows.iter().filter(|other| !other.is_serial() && other.workers == row.workers);
    let ranks: Vec<f64> = rivals.filter_map(rank).collect();
    let best = ranks.iter().copied().fold(f64::INFINITY, f64::min);
    !row.is_serial() && ranks.len() > 1 && rank(row).is_some_and(|mine| mine <= best)
}

/// What the columns mean.
pub(crate) fn legend(programs: &[Program]) -> String {
    let capacity = programs.iter().any(|program| !program.capacities.is_empty());
    let mut text = "P workers; time: median; spread: of the middle half; Ts: the sequential program; T1/Ts: overhead; \
                    Ts/TP: speed-up;\nper fork: (T1 − Ts) / tasks"
        .to_owned();
    if capacity {
        text += "; C: parallel capacity, what the processors do at once against one; T1/TP/C: the share of it used";
    }
    text + ".\n"
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
        let text = program(&summarize(&runs, &[])[0], look());
        assert!(!text.contains('\u{1b}'));
        assert!(text.starts_with("fib n=30   Ts 1.00 s   1.35 M tasks"), "{text}");
        for part in ["serial", "filch split", "rayon", "1.10", "4.00 s", "8!", "steals"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_narrow_terminal_loses_the_counters() {
        let runs = [run("fib", "filch split", 1, 1.1)];
        let narrow = program(&summarize(&runs, &[])[0], Look { width: Some(80), ..look() });
        assert!(!narrow.contains("steals") && narrow.contains("T1/Ts"), "{narrow}");
    }

    #[test]
    fn the_best_of_each_group_is_green() {
        let runs = [run("fib", "filch split", 1, 1.1), run("fib", "rayon", 1, 4.0)];
        let text = program(&summarize(&runs, &[])[0], Look { colour: true, ..look() });
        let line = text.lines().find(|line| line.contains("1.10 s")).unwrap();
        assert!(line.contains('\u{1b}'), "{text}");
        assert_eq!(visible("\u{1b}[1mab\u{1b}[0m"), 2);
    }

    #[test]
    fn wrong_answers_are_marked() {
        let mut wrong = run("fib", "rayon", 1, 4.0);
        (wrong.correct, wrong.error) = (false, Some("5 is wrong".to_owned()));
        assert!(program(&summarize(&[wrong], &[])[0], look()).contains("✗ rayon"));
    }
}
