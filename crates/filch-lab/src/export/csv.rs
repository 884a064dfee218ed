//! Tables as comma-separated values, for spreadsheets and plotting programs.

use crate::columns::{Choice, Column, IDENTITIES};
use crate::experiment::Sweep;
use crate::experiment::probe::Listing;
use crate::summary::{Program, Row};

/// Returns the rows of all tables, one line each, with the headings of tables; an interval is in two more columns.
/// Columns without any value are left out, unless they were asked for.
///
/// The swept parameter is a column too.
pub(crate) fn programs(programs: &[Program], choice: &Choice, sweep: Option<&Sweep>) -> String {
    let rows: Vec<(&Program, &Row)> =
        programs.iter().flat_map(|program| program.rows.iter().map(move |row| (program, row))).collect();
    let mut heads: Vec<String> =
        IDENTITIES.map(|identity| identity.heading.unwrap_or(identity.name).to_owned()).to_vec();
    let who = |&(program, row): &(&Program, &Row)| {
        let [title, label, version] = [&program.title, &row.label, &row.version].map(Clone::clone);
        vec![title, label, version, row.workers.to_string(), program.baseline.clone().unwrap_or_default()]
    };
    let mut lines: Vec<Vec<String>> = rows.iter().map(who).collect();
    if let Some(swept) = sweep {
        heads.push(swept.parameter.to_owned());
        let values = rows.iter().map(|(program, row)| Sweep::apart(sweep, &program.id, &row.who).2.unwrap_or_default());
        lines.iter_mut().zip(values).for_each(|(line, value)| line.push(value));
    }
    for column in choice.all() {
        let has_interval = column.is_estimate() || column.name == "median";
        let ends: &[&str] = if has_interval { &["", " low", " high"] } else { &[""] };
        let cells: Vec<Vec<String>> = rows.iter().map(|(_, row)| cells(column, row, has_interval)).collect();
        if !matches!(choice, Choice::These(_)) && cells.iter().flatten().all(String::is_empty) {
            continue;
        }
        heads.extend(ends.iter().map(|end| format!("{}{end}", column.heading)));
        lines.iter_mut().zip(cells).for_each(|(line, cells)| line.extend(cells));
    }
    text(&heads, &lines)
}

fn cells(column: &Column, row: &Row, has_interval: bool) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, number);
    let value = column.value(row);
    if !has_interval {
        return vec![number(value)];
    }
    let (low, high) = column.interval(row).unzip();
    [value, low, high].map(number).to_vec()
}

/// Returns the rows of a probe's tables, one line each, with the table that it belongs to.
pub(crate) fn listings(tables: &[Listing]) -> String {
    let mut heads = vec!["table".to_owned()];
    for head in tables.iter().flat_map(|table| &table.heads) {
        if !heads.contains(head) {
            heads.push(head.clone());
        }
    }
    let line = |table: &Listing, row: &Vec<String>| {
        let cell = |head: &String| {
            let index = table.heads.iter().position(|known| known == head);
            index.and_then(|index| row.get(index)).cloned().unwrap_or_default()
        };
        std::iter::once(table.caption.clone()).chain(heads.iter().skip(1).map(cell)).collect()
    };
    let lines: Vec<Vec<String>> =
        tables.iter().flat_map(|table| table.rows.iter().map(|row| line(table, row)).collect::<Vec<_>>()).collect();
    text(&heads, &lines)
}

/// Formats a number with six significant digits and no exponent.
fn number(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let digits = if value == 0.0 { 0 } else { (5.0 - value.abs().log10().floor()).clamp(0.0, 20.0) as usize };
    let text = format!("{value:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

fn text(heads: &[String], lines: &[Vec<String>]) -> String {
    let line = |cells: &[String]| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
    std::iter::once(line(heads)).chain(lines.iter().map(|cells| line(cells))).collect()
}

/// Quotes a cell where the separators would be mistaken.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    #[test]
    fn rows_have_medians_intervals_and_counters() {
        let mut runs = Vec::new();
        for (round, seconds) in [0.5, 0.25, 0.75].into_iter().enumerate() {
            let mut run = run("fib", "filch a, \"b\"", 2, seconds);
            run.round = round;
            runs.push(run);
        }
        let csv = programs(&summarize(&runs, &[]), &Choice::Usual, None);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("program,scheduler,version,P,baseline,median,median low,median high,spread,"));
        assert!(lines[1].starts_with("fib:n=30,\"filch a, \"\"b\"\"\","), "{csv}");
        assert!(lines[1].contains(",2,,0.5,0.25,0.75,"), "{csv}");
        assert!(
            lines[0].contains(",steals,stolen,") && lines[1].contains(",12,") && !lines[0].contains("Ts/TP"),
            "{csv}"
        );
        let chosen = Choice::of(Some(&["Ts/TP", "max"].map(str::to_owned)), &[]).unwrap();
        let csv = programs(&summarize(&runs, &[]), &chosen, None);
        assert!(csv.starts_with("program,scheduler,version,P,baseline,Ts/TP,Ts/TP low,Ts/TP high,max\n"), "{csv}");
        assert!(csv.ends_with(",2,,,,,0.75\n"), "{csv}");
    }

    #[test]
    fn tables_of_a_probe_share_their_columns() {
        let table = |caption: &str, heads: [&str; 2], row: [&str; 2]| Listing {
            caption: caption.to_owned(),
            heads: heads.map(str::to_owned).to_vec(),
            rows: vec![row.map(str::to_owned).to_vec()],
        };
        let csv = listings(&[
            table("fences", ["operation", "ns"], ["mfence", "8,1"]),
            table("lines", ["ns", "way"], ["60", "x"]),
        ]);
        assert_eq!(csv, "table,operation,ns,way\nfences,mfence,\"8,1\",\nlines,,60,x\n");
    }

    #[test]
    fn numbers_keep_six_digits() {
        let found = [0.0, 1.0 / 3.0, 12.0, 1_234_567.0, -2.5e-9, 1e-12].map(number);
        assert_eq!(found, ["0", "0.333333", "12", "1234567", "-0.0000000025", "0.000000000001"]);
    }
}
