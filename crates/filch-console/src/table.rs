//! Lists, printed as tables.

use comfy_table::{Attribute, Cell, Table, presets};

/// Formats a list as a plain table.
///
/// ```
/// let rows = vec![vec!["fib".to_owned(), "28".to_owned()]];
/// let table = filch_console::table::list(&["program", "bytes"], rows, false);
/// assert!(table.contains("program") && table.contains("fib"));
/// ```
pub fn list(heads: &[&str], rows: Vec<Vec<String>>, colour: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(heads.iter().map(|head| Cell::new(head).add_attribute(Attribute::Dim)));
    for row in rows {
        let cells = row.into_iter().enumerate().map(|(index, text)| {
            let cell = Cell::new(text);
            if index == 0 { cell.add_attribute(Attribute::Bold) } else { cell }
        });
        table.add_row(cells.collect::<Vec<_>>());
    }
    table.trim_fmt()
}
