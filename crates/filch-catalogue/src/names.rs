//! Messages about unknown names.

/// Returns the names that resemble `name`, best first, or all names if none does.
///
/// ```
/// assert_eq!(filch_catalogue::suggest("mtmul", ["fib", "matmul"]), ["matmul"]);
/// ```
pub fn suggest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    const RESEMBLANCE: f64 = 0.75;
    let known: Vec<&str> = known.into_iter().collect();
    let name = name.to_lowercase();
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|&other| (strsim::jaro_winkler(&name, &other.to_lowercase()), other))
        .filter(|&(likeness, other)| likeness >= RESEMBLANCE || (!name.is_empty() && other.starts_with(&name)))
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    if near.is_empty() { known } else { near.into_iter().map(|(_, other)| other).collect() }
}

/// Returns a message about an unknown name, with the names that resemble it, or else all names.
///
/// ```
/// let known = ["split", "chase-lev", "locked"];
/// let near = filch_catalogue::unknown("pool", "chaselev", &known);
/// assert_eq!(near, "there is no pool `chaselev`; did you mean `chase-lev`?");
/// let far = filch_catalogue::unknown("pool", "zzzz", &known);
/// assert_eq!(far, "there is no pool `zzzz`; there are `split`, `chase-lev`, `locked`");
/// ```
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = suggest(name, known.iter().copied());
    let end = match near.len() {
        all if all == known.len() && all > 1 => format!("there are {}", quoted(&near).join(", ")),
        _ => propose(&near),
    };
    format!("there is no {what} `{name}`; {end}")
}

/// Returns the end of a message about an unknown name: "did you mean `a` or `b`?".
pub(crate) fn propose(names: &[&str]) -> String {
    match quoted(names).as_slice() {
        [] => "there are none".to_owned(),
        [only] => format!("did you mean {only}?"),
        [first @ .., last] => format!("did you mean {} or {last}?", first.join(", ")),
    }
}

fn quoted(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}
