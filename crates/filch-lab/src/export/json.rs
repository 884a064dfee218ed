//! Records of runs in files of JSON lines.

use std::path::Path;

pub(crate) use filch_console::json::{Lines, check_writable, write_file};

use crate::error::{Result, usage};
use crate::record::Run;

/// The runs in a file of lines.
pub(crate) fn read(path: &Path) -> Result<Vec<Run>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| usage(format!("cannot read {}: {error}", path.display())))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line): (usize, &str)| {
        let wrong = |error| usage(format!("{}, line {}: not a measured run: {error}", path.display(), number + 1));
        serde_json::from_str(line).map_err(wrong)
    };
    lines.map(parse).collect()
}
