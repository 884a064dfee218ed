//! The text of the checked sources: it names variables, finds call sites, and holds the [reasons](crate::kept).

/// Each source's path from the workspace's `crates` folder, and its text. `build.rs` writes the list.
pub(crate) const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Returns whether the compiler's name of a file is that of the file at this path.
pub(crate) fn is_of(path: &str, file: &str) -> bool {
    file.ends_with(path) || file.replace('\\', "/").ends_with(path)
}

fn text_of(file: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(path, _)| is_of(path, file)).map(|&(_, text)| text)
}

/// Returns a line without its comment and surrounding space.
pub(crate) fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

/// Returns a line of a checked source.
pub(crate) fn line_of(file: &str, line: u32) -> Option<&'static str> {
    text_of(file)?.lines().nth(line as usize - 1)
}

/// Returns the only line of a function that contains a text.
///
/// # Panics
/// If the file has no such function, or the function does not have exactly one such line.
pub(crate) fn line_in(file: &str, function: &str, text: &str) -> u32 {
    let source = text_of(file).unwrap_or_else(|| panic!("{file} is no checked source"));
    let is_head = |line: &str| {
        let code = code_of(line);
        let name = code.split_once("fn ").and_then(|(_, rest)| rest.split(['(', '<']).next());
        name == Some(function) && !code.ends_with(';')
    };
    let mut lines = (1..).zip(source.lines()).skip_while(|(_, line)| !is_head(line));
    let (_, first) = lines.next().unwrap_or_else(|| panic!("{file} has no function {function}"));
    let end = format!("{}}}", &first[..first.len() - first.trim_start().len()]);
    let body = lines.take_while(|(_, line)| *line != end);
    let found: Vec<u32> = body.filter(|(_, line)| code_of(line).contains(text)).map(|(number, _)| number).collect();
    let [line] = found[..] else { panic!("{file}: {} lines of {function} have `{text}`", found.len()) };
    line
}

/// Names a variable after the field or binding that its creation initialises, else after the type whose constructor
/// makes it.
///
/// Not after the line: stored histories have these names, and must outlive a change elsewhere in the file.
pub(crate) fn name_of(file: &str, line: u32, column: u32) -> String {
    let named = || {
        let before = line_of(file, line)?.get(..column as usize - 1)?;
        let (start, _) = before.rsplit_once(": ").or_else(|| before.rsplit_once(" = "))?;
        last_word(start)
    };
    let file_name = || file.rsplit(['/', '\\']).next().unwrap_or(file).trim_end_matches(".rs").to_owned();
    named().or_else(|| type_around(file, line)).unwrap_or_else(file_name)
}

fn last_word(text: &str) -> Option<String> {
    let start = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |before| before + 1);
    (start < text.len()).then(|| text[start..].to_owned())
}

/// Returns the type of the implementation that a line is in.
fn type_around(file: &str, line: u32) -> Option<String> {
    let above = text_of(file)?.lines().take(line as usize).collect::<Vec<_>>();
    let head = above.into_iter().rev().find(|text| !text.is_empty() && !text.starts_with([' ', '}', ')']))?;
    let implementation = head.strip_prefix("impl")?;
    let of = implementation.split_once(" for ").map_or(implementation, |(_, of)| of);
    // Parameters stand before the name in `impl<M> Type<M>` and after it in both forms.
    let of = if of.starts_with('<') { of.split_once("> ")?.1 } else { of };
    last_word(of.trim_start().split(['<', ' ']).next()?)
}

/// Returns the lines of a file that name an ordering, outside comments: the line's number, and that of the statement's
/// first line.
pub(crate) fn orderings_in(file: &str) -> Vec<(u32, u32)> {
    let Some(text) = text_of(file) else { return Vec::new() };
    let mut begin = 1;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = code_of(line);
        if ["Acquire", "Release", "AcqRel", "SeqCst"].iter().any(|order| line.contains(&format!("Ordering::{order}"))) {
            found.push((number, begin));
        }
        if line.is_empty() || line.ends_with([';', '{', '}']) {
            begin = number + 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the name that a variable has which is created by this text, the only one of its file.
    fn name_at(file: &str, text: &str) -> String {
        let source = text_of(file).expect("a checked source");
        let (line, found) =
            (1..).zip(source.lines()).find(|(_, line)| line.contains(text)).expect("a line with the text");
        name_of(file, line, found.find("Atomic::new").expect("an atomic") as u32 + 1)
    }

    #[test]
    fn a_variable_is_named_without_its_line() {
        assert_eq!(name_at("filch-queue/src/chase_lev.rs", "let top = Padded(Atomic::new(0))"), "top");
        assert_eq!(name_at("filch-queue/src/fence_free.rs", "Self(Padded(Atomic::new(0)))"), "Pad");
        assert_eq!(name_at("filch/src/protocol/sleep/sleepers.rs", "Self(Atomic::new(0))"), "Sleepers");
    }

    #[test]
    fn a_variable_of_an_unknown_file_is_named_after_it() {
        assert_eq!(name_of("elsewhere/other.rs", 7, 9), "other");
    }
}
