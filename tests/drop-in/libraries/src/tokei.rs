//! tokei: counts lines of code. Threads of its own walk the directory; a `par_bridge` over the channel of files parses
//! each, and `join` and another `par_bridge` split the plain beginning of a file from the rest.

use std::fs::{create_dir, write};

use tempfile::TempDir;
use tokei::{Config, LanguageType, Languages};

use crate::numbers::numbers;

/// Returns a run: the statistics of 200 files in four languages.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    // For each language its extension, a line of code, a line of comment, and one with a comment of several lines.
    const LANGUAGES: [(&str, [&str; 3]); 4] = [
        ("rs", ["let x = f(\"// text\");", "// Why.", "/* One\ntwo /* and */\nthree */"]),
        ("c", ["x += f(\"/* text */\");", "// Why.", "/* One\ntwo\nthree */"]),
        ("py", ["x = f('# text')", "# Why.", "# One\n# two\n# three"]),
        ("js", ["const x = f(`// text`);", "// Why.", "/* One\ntwo\nthree */"]),
    ];
    let root = TempDir::new().unwrap();
    let (mut code, mut comments, mut blanks) = (0, 0, 0);
    for (i, numbers) in numbers(200 * 600).chunks(600).enumerate() {
        let directory = root.path().join(format!("d{}", i / 20));
        if i % 20 == 0 {
            create_dir(&directory).unwrap();
        }
        let (extension, [statement, comment, long_comment]) = LANGUAGES[i % LANGUAGES.len()];
        let mut text = String::new();
        for n in numbers {
            let (line, count) = match n % 16 {
                0 => ("", &mut blanks),
                1 | 2 => (comment, &mut comments),
                3 => (long_comment, &mut comments),
                _ => (statement, &mut code),
            };
            *count += line.split('\n').count();
            text += &format!("{line}\n");
        }
        write(directory.join(format!("f{i}.{extension}")), text).unwrap();
    }
    Box::new(move || {
        let mut languages = Languages::new();
        languages.get_statistics(&[root.path()], &[], &Config::default());
        assert_eq!(languages[&LanguageType::Rust].reports.len(), 50);
        let total = languages.total();
        assert_eq!((total.code, total.comments, total.blanks), (code, comments, blanks));
        (total.code * 1_000_000 + total.comments * 1000 + total.blanks) as u64
    })
}
