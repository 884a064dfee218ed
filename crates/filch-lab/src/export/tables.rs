//! The tables in the files that the flags name: for programs that read CSV, and for pages in Markdown.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use filch_catalogue::protocol::Machine;

use super::csv;
use super::json::write_file;
use super::markdown::plain;
use super::table::{NONE, summary};
use crate::base::Difference;
use crate::columns::{Choice, Column, heads};
use crate::error::{Error, Result};
use crate::experiment::Sweep;
use crate::flags::Tables;
use crate::summary::Program;

/// What the files show.
pub(crate) struct Sheet<'s> {
    pub(crate) programs: &'s [Program],
    pub(crate) choice: &'s Choice,
    pub(crate) differences: &'s [Difference],
    pub(crate) sweep: Option<&'s Sweep>,
}

impl Sheet<'_> {
    /// Writes the files.
    pub(crate) fn write(&self, flags: &Tables, machine: &Machine) -> Result {
        if let Some(path) = &flags.csv {
            put(path, &csv::programs(self.programs, self.choice, self.sweep))?;
        }
        if let Some(path) = &flags.markdown {
            put(path, &self.markdown(machine))?;
        }
        Ok(())
    }

    /// Returns the differences, and a table for each program.
    fn markdown(&self, machine: &Machine) -> String {
        let Self { programs, choice, differences, .. } = *self;
        let mut text = String::new();
        if let Some(Difference { base, .. }) = differences.first() {
            let _ = write!(text, "| | against {} | |\n| --- | --- | ---: |\n", plain(base));
            for difference in differences {
                let mark = if difference.is_failure() { "**" } else { "" };
                let (verdict, row) = (difference.verdict(), plain(&difference.row));
                let _ = writeln!(text, "| {mark}{verdict}{mark} | {row} | {difference} |");
            }
            text.push('\n');
        }
        for program in programs {
            let has_value = |column: &&Column| program.rows.iter().any(|row| column.value(row).is_some());
            let columns: Vec<&Column> = choice.explained().into_iter().filter(has_value).collect();
            let heads = heads().chain(columns.iter().map(|column| column.heading)).map(plain).collect::<Vec<_>>();
            let parts: String = summary(program).iter().map(|part| format!(" · {}", plain(part))).collect();
            let _ = write!(text, "**{}**{parts}\n\n| {} |\n| --- |", plain(&program.title), heads.join(" | "));
            text += &" ---: |".repeat(heads.len() - 1);
            text.push('\n');
            for row in &program.rows {
                let value = |column: &&Column| column.text(row, true).unwrap_or_else(|| NONE.to_owned());
                let cells = columns.iter().map(value).map(|cell| format!(" {} |", plain(&cell))).collect::<String>();
                let _ = writeln!(text, "| {} | {} |{cells}", plain(&row.label), row.workers);
            }
            text.push('\n');
        }
        text + &plain(&machine.summary()) + "\n"
    }
}

/// Writes a file, or to standard output.
fn put(path: &Path, text: &str) -> Result {
    if path == Path::new("-") {
        return std::io::stdout().write_all(text.as_bytes()).map_err(Error::Output);
    }
    write_file(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    #[test]
    fn markdown_has_the_columns_with_values() {
        let runs = [run("fib", "serial", 1, 1.0), run("fib", "filch a|b", 1, 1.1), run("fib", "rayon", 1, 4.0)];
        let text = Sheet { programs: &summarize(&runs, &[]), choice: &Choice::Usual, differences: &[], sweep: None }
            .markdown(&Machine::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "**fib:n=30** · Ts 1.00 s · 1.35 M tasks · base rayon");
        assert!(
            lines[2].starts_with("| scheduler | P | median | spread | rounds | T1/Ts | Ts/TP | T/base |"),
            "{text}"
        );
        assert!(!lines[2].contains("T1/TP"), "a column without a value: {text}");
        assert_eq!(lines[3].matches('|').count(), lines[2].matches('|').count());
        assert!(lines[5].starts_with("| filch a\\|b | 1 | 1.10 s | 0 % | 1 | 1.10 | 0.91 | 0.28 |"), "{text}");
    }
}
