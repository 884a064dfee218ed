//! Records of runs in JSON Lines files.

use std::io::Read;
use std::path::Path;

pub(crate) use filch_catalogue::console::json::{Lines, check_writable, write_file};
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};

use crate::columns::{BASELINE, Column, PROGRAM, SCHEDULER, VERSION, WORKERS};
use crate::error::{Result, usage};
use crate::record::Run;
use crate::summary::{Program, Row};

/// Reads a file of lines, which may be compressed.
pub(crate) fn text(path: &Path) -> Result<String> {
    let wrong = |error| usage(format!("cannot read {}: {error}", path.display()));
    let bytes = std::fs::read(path).map_err(wrong)?;
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).map_err(wrong)?;
        return Ok(text);
    }
    String::from_utf8(bytes).map_err(|error| usage(format!("cannot read {}: {error}", path.display())))
}

/// Reads the runs in a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Run>> {
    let text = text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line): (usize, &str)| {
        let wrong = |error| usage(format!("{}, line {}: not a measured run: {error}", path.display(), number + 1));
        serde_json::from_str(line).map_err(wrong)
    };
    lines.map(parse).collect()
}

/// Returns the rows of tables, one object each: the identity, and the unformatted value of each column by name.
pub(crate) fn rows(programs: &[Program], columns: &[&Column]) -> Vec<Map<String, Value>> {
    programs.iter().flat_map(|program| program.rows.iter().map(move |of| row(program, of, columns))).collect()
}

fn row(program: &Program, row: &Row, columns: &[&Column]) -> Map<String, Value> {
    let who = [
        (PROGRAM, json!(program.title)),
        (SCHEDULER, json!(row.label)),
        (VERSION, json!(row.version)),
        (WORKERS, json!(row.workers)),
        (BASELINE, json!(program.baseline)),
    ]
    .map(|(identity, value)| (identity.name, value));
    let values = columns.iter().map(|column| (column.name, value(column, row)));
    who.into_iter().chain(values).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A number, or an object if the value has an interval.
fn value(column: &Column, row: &Row) -> Value {
    if !column.is_estimate() {
        return column.value(row).map_or(Value::Null, whole_or_real);
    }
    let Some(estimate) = column.estimate(row) else { return Value::Null };
    let (low, high) = estimate.interval.unzip();
    json!({ "value": estimate.value, "low": low, "high": high, "rounds": estimate.rounds })
}

/// Formats counts without a decimal point.
fn whole_or_real(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "used only if nothing is lost")]
    let whole = value as u64;
    #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "this tests whether anything is lost")]
    if whole as f64 == value { whole.into() } else { value.into() }
}
