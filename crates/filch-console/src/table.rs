//! Lists, printed as tables.

use comfy_table::{Attribute, Cell, ColumnConstraint, ContentArrangement, Table, presets};

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

/// Formats texts with a label before each, wrapped to this many columns.
///
/// ```
/// let rows = [["follows", "figure 2"], ["departs", "here and there"]];
/// assert_eq!(filch_console::table::labelled(&rows, 20), " follows  figure 2\n departs  here and\n          there");
/// ```
pub fn labelled(rows: &[[&str; 2]], width: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().add_rows(rows);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::try_from(width).unwrap_or(u16::MAX));
    if let Some(labels) = table.column_mut(0) {
        labels.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.trim_fmt()
}
