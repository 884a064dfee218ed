//! The files beside a page: each figure as SVG, and the tables as comma-separated values.

use std::fs;
use std::path::{Path, PathBuf};

use super::json::write_file;
use super::svg::{Figure, files};
use crate::error::Result;

/// Writes the files beside this page; they have its name.
pub(crate) fn write<'f>(page: &Path, table: &str, figures: impl IntoIterator<Item = &'f Figure>) -> Result {
    write_file(&page.with_extension("csv"), table)?;
    let mut count = 0;
    for figure in figures {
        count += 1;
        write_file(&path(page, count), files::svg(figure))?;
    }
    // An earlier run may have had more.
    (count + 1..).take_while(|&number| fs::remove_file(path(page, number)).is_ok()).for_each(drop);
    Ok(())
}

/// Returns the path of the figure with this number, from 1.
fn path(page: &Path, number: usize) -> PathBuf {
    let name = page.file_stem().unwrap_or_default().to_string_lossy();
    page.with_file_name(format!("{name}-{number}.svg"))
}
