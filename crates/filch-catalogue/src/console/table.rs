//! Lists, printed as tables.

use comfy_table::{Attribute, Cell, ColumnConstraint, ContentArrangement, Table, presets};

use crate::console::terminal::{self, HEADING, paint};

/// Formats a list as a plain table. If the terminal behind standard output is too narrow, cells wrap, or rows of many
/// texts become blocks.
///
/// ```
/// let rows = [vec!["fib".to_owned(), "28".to_owned()]];
/// let table = filch_catalogue::console::table::list(&["program", "bytes"], &rows, false);
/// assert!(table.contains("program") && table.contains("fib"));
/// ```
pub fn list(heads: &[&str], rows: &[Vec<String>], colour: bool) -> String {
    fit(heads, rows, colour, terminal::width())
}

fn fit(heads: &[&str], rows: &[Vec<String>], colour: bool, width: Option<usize>) -> String {
    /// Texts in tables of more columns, and longer ones, are hard to read once they wrap.
    const MOST: usize = 5;
    const LONG: usize = 30;
    let has_texts = || rows.iter().flatten().any(|text| text.chars().count() > LONG);
    let mut table = plain(heads, rows, colour);
    let fits = |width| plain(heads, rows, false).trim_fmt().lines().all(|line| line.chars().count() <= width);
    match width.filter(|&width| !fits(width)) {
        None => table.trim_fmt(),
        Some(width) if heads.len() > MOST && has_texts() => blocks(heads, rows, colour, width),
        Some(width) => wrap(&mut table, width),
    }
}

fn plain(heads: &[&str], rows: &[Vec<String>], colour: bool) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(heads.iter().map(|head| Cell::new(head).add_attribute(Attribute::Dim)));
    for row in rows {
        let cells = row.iter().enumerate().map(|(index, text)| {
            let cell = Cell::new(text);
            if index == 0 { cell.add_attribute(Attribute::Bold) } else { cell }
        });
        table.add_row(cells.collect::<Vec<_>>());
    }
    table
}

/// Formats each row as its name, and its other cells below with their heads.
fn blocks(heads: &[&str], rows: &[Vec<String>], colour: bool, width: usize) -> String {
    let block = |row: &Vec<String>| {
        let cells = heads.iter().zip(row).skip(1).filter(|(_, text)| !text.is_empty());
        let cells: Vec<[&str; 2]> = cells.map(|(head, text)| [*head, text]).collect();
        format!("{}\n{}", paint(&row[0], HEADING, colour), labelled(&cells, width))
    };
    rows.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

/// Formats a table whose first column does not wrap.
fn wrap(table: &mut Table, width: usize) -> String {
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::try_from(width).unwrap_or(u16::MAX));
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.trim_fmt()
}

/// Formats texts with a label before each, wrapped to this many columns.
///
/// ```
/// let rows = [["follows", "figure 2"], ["departs", "here and there"]];
/// assert_eq!(filch_catalogue::console::table::labelled(&rows, 20), " follows  figure 2\n departs  here and\n          there");
/// ```
pub fn labelled(rows: &[[&str; 2]], width: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().add_rows(rows);
    wrap(&mut table, width)
}

/// Keeps what has one of these words in its name, if there are any words.
///
/// ```
/// use filch_catalogue::console::table::keep_named;
///
/// let mut listed = vec!["pdq-r", "pdq-s", "wsq"];
/// keep_named(&mut listed, |name| name, &["pdq".to_owned()])?;
/// assert_eq!(listed, ["pdq-r", "pdq-s"]);
/// let none = keep_named(&mut listed, |name| name, &["wool".to_owned()]);
/// assert_eq!(none, Err("nothing listed here has `wool` in its name".to_owned()));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// A sentence, if one of the words is in no name.
pub fn keep_named<T>(listed: &mut Vec<T>, name: impl Fn(&T) -> &str, words: &[String]) -> Result<(), String> {
    if let Some(word) = words.iter().find(|&word| !listed.iter().any(|each| name(each).contains(word))) {
        return Err(format!("nothing listed here has `{word}` in its name"));
    }
    listed.retain(|each| words.is_empty() || words.iter().any(|word| name(each).contains(word)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_fits_the_terminal() {
        let text = "some words about it, more than fit";
        for columns in [3, 8] {
            let heads: Vec<String> = (0..columns).map(|column| format!("head {column}")).collect();
            let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
            let row = |name: &str| [vec![name.to_owned()], vec![text.to_owned(); columns - 1]].concat();
            let rows = [row("first"), row("second")];
            let widest = |width| {
                let list = fit(&heads, &rows, false, width);
                for word in text.split(' ').chain(["first", "second"]).chain(heads[1..].iter().copied()) {
                    assert!(list.contains(word), "{word} is missing in\n{list}");
                }
                list.lines().map(|line| line.chars().count()).max().expect("there are lines")
            };
            assert!(widest(None) > 60);
            assert!(widest(Some(60)) <= 60);
            assert_eq!(widest(Some(1000)), widest(None));
        }
    }
}
