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

/// Names a variable after the field that its creation initialises.
pub(crate) fn name_of(file: &str, line: u32, column: u32) -> String {
    let named = line_of(file, line).and_then(|text| {
        let before = text.get(..column as usize - 1)?;
        let (start, _) = before.rsplit_once(": ")?;
        let name: String = start.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let name: String = name.chars().rev().collect();
        (!name.is_empty()).then_some(name)
    });
    named.unwrap_or_else(|| format!("{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file)))
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
