//! The files beside a page: each figure as SVG and PNG, and the tables as comma-separated values.

use std::fs;
use std::path::{Path, PathBuf};

use super::json::write_file;
use super::svg::{Figure, files};
use crate::error::{Error, Result};

/// Writes the files beside this page; they have its name.
pub(crate) fn write<'f>(page: &Path, table: &str, figures: impl IntoIterator<Item = &'f Figure>) -> Result {
    write_file(&page.with_extension("csv"), table)?;
    let mut count = 0;
    for figure in figures {
        count += 1;
        let [svg, png] = paths(page, count);
        write_file(&svg, files::svg(figure))?;
        let picture = files::png(figure)
            .map_err(|why| Error::FailedBecause(format!("{} cannot be drawn: {why}", png.display())))?;
        write_file(&png, picture)?;
    }
    // An earlier run may have had more.
    for number in count + 1.. {
        let removed = paths(page, number).map(|path| fs::remove_file(path).is_ok());
        if removed == [false; 2] {
            break;
        }
    }
    Ok(())
}

/// Returns the paths of the figure with this number, from 1.
fn paths(page: &Path, number: usize) -> [PathBuf; 2] {
    let name = page.file_stem().unwrap_or_default().to_string_lossy();
    ["svg", "png"].map(|kind| page.with_file_name(format!("{name}-{number}.{kind}")))
}
