//! The part of a closure's type that tells a user where it stands in the program.

/// Crates whose functions stand between the user's and the scheduler, and types that have functions of the standard
/// library's.
const BETWEEN: [&str; 23] = [
    "rayon",
    "rayon_core",
    "core",
    "alloc",
    "std",
    "filch",
    "bool",
    "char",
    "str",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "f32",
    "f64",
];

/// Returns the first function of the user's in the name of a type, or else the first one of rayon's. For example,
/// `rayon::iter::map::MapConsumer<…, app::search<u32>::{{closure}}>` gives `app::search`.
pub(super) fn short(name: &str) -> String {
    let mut paths = Vec::new();
    collect(name, &mut paths);
    let is_function = |path: &&String| {
        let last = path.rsplit("::").next().unwrap_or_default();
        path.contains("::") && (last == CLOSURE || last.starts_with(|first: char| first.is_lowercase() || first == '_'))
    };
    let is_users = |path: &&String| !BETWEEN.contains(&path.split("::").next().unwrap_or_default());
    let functions = || paths.iter().filter(is_function);
    let chosen = functions().find(is_users).or_else(|| functions().find(|path| path.starts_with("rayon::")));
    let chosen = chosen.map_or(name, |path| path);
    chosen.split("::").filter(|segment| *segment != CLOSURE).collect::<Vec<_>>().join("::")
}

const CLOSURE: &str = "{{closure}}";

/// Adds all paths in `text`, without their generic arguments, to `paths`; those in the arguments of a path follow it.
fn collect(text: &str, paths: &mut Vec<String>) {
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic() || c == '_' || c == '<' || c == '{') {
        rest = path(&rest[start..], paths);
    }
}

/// Adds the path with which `text` begins, and returns what follows it.
fn path<'t>(text: &'t str, paths: &mut Vec<String>) -> &'t str {
    let place = paths.len();
    paths.push(String::new());
    let mut whole = String::new();
    let mut rest = text;
    loop {
        if rest.starts_with('<') {
            let inside = bracketed(rest);
            rest = &rest[inside.len() + 2..];
            if whole.is_empty() {
                // `<Type as Trait>`: the type's path stands for both.
                let of = paths.len();
                collect(inside, paths);
                whole = paths.get(of).cloned().unwrap_or_default();
            } else {
                collect(inside, paths);
                whole.truncate(whole.trim_end_matches("::").len());
            }
        } else {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || "_{}#".contains(c))).unwrap_or(rest.len());
            whole += &rest[..length];
            rest = &rest[length..];
        }
        match rest.strip_prefix("::") {
            Some(more) if !more.is_empty() => {
                whole += "::";
                rest = more;
            }
            _ if rest.starts_with('<') => {}
            _ => break,
        }
    }
    paths[place] = whole;
    rest
}

/// Returns what is between the bracket with which `text` begins and its partner.
fn bracketed(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1..at];
        }
    }
    &text[1..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_the_users_first_function() {
        for (name, expected) in [
            ("app::main::{{closure}}", "app::main"),
            (
                "rayon_core::join::join_context<rayon::iter::plumbing::bridge_producer_consumer::helper<rayon::vec::\
              DrainProducer<app::Item>, rayon::iter::map::MapConsumer<rayon::iter::sum::SumConsumer<u64>, \
              app::search::<impl app::Find for app::Index<u32>>::find<u8>::{{closure}}>>::{{closure}}>::{{closure}}",
                "app::search::find",
            ),
            ("<app::Index<i32> as app::Find>::run::{{closure}}::{{closure}}", "app::Index::run"),
            ("app::Index<i32>::run::{{closure}}", "app::Index::run"),
            (
                "rayon::slice::sort::recurse<app::Item, fn(&app::Item, &app::Item) -> bool>::{{closure}}",
                "rayon::slice::sort::recurse",
            ),
            (
                "rayon_core::join::join<rayon::slice::quicksort::recurse<u64, <u64 as core::cmp::PartialOrd>::lt>::{{\
              closure}}>::{{closure}}",
                "rayon::slice::quicksort::recurse",
            ),
            ("filch::host::Call<rayon::iter::MapConsumer<(), app::half>>::{{closure}}", "app::half"),
            ("lib::each<app::main::{{closure}}>::{{closure}}", "lib::each"),
            ("(u8, &[u16])", "(u8, &[u16])"),
        ] {
            assert_eq!(short(name), expected);
        }
    }
}
