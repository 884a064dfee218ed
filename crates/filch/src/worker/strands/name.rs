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

const CLOSURE: &str = "{{closure}}";

/// Returns the user's outermost function that has a closure in the name of a type, or is one of its functions; or else
/// rayon's. For example, `rayon::iter::map::MapConsumer<…, app::search<u32>::{{closure}}>` gives `app::search`.
pub(super) fn short(name: &str) -> String {
    let mut paths = Vec::new();
    collect(name, &mut paths);
    let is_users = |path: &Path| !BETWEEN.contains(&path.name.split("::").next().unwrap_or_default());
    let is_rayons = |path: &Path| path.name.starts_with("rayon::") && path.is_function();
    let chosen = (find(&paths, &|path| is_users(path) && path.name.ends_with(CLOSURE)))
        .or_else(|| find(&paths, &|path| is_users(path) && path.is_function()))
        .or_else(|| find(&paths, &is_rayons))
        .unwrap_or(name);
    chosen.split("::").filter(|segment| *segment != CLOSURE).collect::<Vec<_>>().join("::")
}

/// Whether the type is that of a loop that draws its items from a place that all its branches share.
pub(super) fn draws(name: &str) -> bool {
    name.contains("rayon::iter::par_bridge::")
}

/// A path in the name of a type, without its generic arguments, and these.
#[derive(Default)]
struct Path {
    name: String,
    arguments: Vec<Path>,
}

impl Path {
    /// Types begin with a capital.
    fn is_function(&self) -> bool {
        let last = self.name.rsplit("::").next().unwrap_or_default();
        self.name.contains("::") && (last == CLOSURE || last.starts_with(|c: char| c.is_lowercase() || c == '_'))
    }
}

/// Returns the first path for which `is` holds: a path before its arguments, the last of which come first, since with
/// rayon they are what is done with the items, not the items.
fn find<'p>(paths: &'p [Path], is: &impl Fn(&Path) -> bool) -> Option<&'p str> {
    paths.iter().rev().find_map(|path| if is(path) { Some(&*path.name) } else { find(&path.arguments, is) })
}

/// Adds all paths in `text` to `paths`.
fn collect(text: &str, paths: &mut Vec<Path>) {
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic() || "_<{".contains(c)) {
        rest = path(&rest[start..], paths);
    }
}

/// Adds the path with which `text` begins, and returns what follows it.
fn path<'t>(text: &'t str, paths: &mut Vec<Path>) -> &'t str {
    let mut path = Path::default();
    let mut rest = text;
    loop {
        if rest.starts_with('<') {
            let inside = bracketed(rest);
            rest = rest.get(inside.len() + 2..).unwrap_or_default();
            let mut of = Vec::new();
            collect(inside, &mut of);
            if path.name.is_empty() {
                // `<Type as Trait>`: the type's path stands for both.
                path.name = of.first().map(|of| of.name.clone()).unwrap_or_default();
            } else {
                path.name.truncate(path.name.trim_end_matches("::").len());
            }
            path.arguments.append(&mut of);
        } else {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || "_{}#".contains(c))).unwrap_or(rest.len());
            path.name += &rest[..length];
            rest = &rest[length..];
        }
        match rest.strip_prefix("::") {
            Some(more) if !more.is_empty() => {
                path.name += "::";
                rest = more;
            }
            _ if rest.starts_with('<') => {}
            _ => break,
        }
    }
    paths.push(path);
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
    fn a_name_is_that_of_the_users_function() {
        for (name, expected) in [
            ("app::main::{{closure}}", "app::main"),
            (
                "rayon_core::join::join_context<rayon::iter::plumbing::bridge_producer_consumer::helper<rayon::iter::\
                 map::MapProducer<rayon::vec::DrainProducer<app::Item>, app::rows::{{closure}}>, rayon::iter::map::\
                 MapConsumer<rayon::iter::sum::SumConsumer<u64>, app::search::<impl app::Find for app::Index<u32>>::\
                 find<u8>::{{closure}}>>::{{closure}}>::{{closure}}",
                "app::search::find",
            ),
            ("<app::Index<i32> as app::Find>::run::{{closure}}::{{closure}}", "app::Index::run"),
            ("app::Index<i32>::run::{{closure}}", "app::Index::run"),
            (
                "rayon_core::join::join<rayon::slice::quicksort::recurse<u64, <u64 as core::cmp::PartialOrd>::lt>::{{\
                 closure}}>::{{closure}}",
                "rayon::slice::quicksort::recurse",
            ),
            (
                "rayon::slice::sort::recurse<app::Item, fn(&app::Item, &app::Item) -> bool>::{{closure}}",
                "rayon::slice::sort::recurse",
            ),
            ("filch::host::Call<rayon::iter::MapConsumer<(), app::half>>::{{closure}}", "app::half"),
            ("rayon::Call<rayon::ForEach<app::run::{{closure}}>, app::Bucket<u8>::key>", "app::run"),
            ("lib::each<app::main::{{closure}}>::{{closure}}", "lib::each"),
            ("(u8, &[u16])", "(u8, &[u16])"),
            ("a::b<c::{{closure}}", "c"),
        ] {
            assert_eq!(short(name), expected);
        }
    }
}
