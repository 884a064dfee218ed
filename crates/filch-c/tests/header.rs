//! The header has the library's table.

use std::fs;

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include/filch.h");

/// `FILCH_BLESS=1` writes it.
#[test]
fn the_header_agrees_with_the_library() {
    let text = fs::read_to_string(HEADER).expect("the header is there");
    let begin = text.find("/* What the header and the library agree on.").expect("the agreement begins");
    let begin = begin + text[begin..].find('\n').expect("a line ends") + 1;
    let end = text.find("/* End of the agreement. */").expect("the agreement ends");
    let table = filch_c::layout::header();
    if std::env::var_os("FILCH_BLESS").is_some() {
        fs::write(HEADER, [&text[..begin], &table, &text[end..]].concat()).expect("the header can be written");
        return;
    }
    assert_eq!(&text[begin..end], table, "FILCH_BLESS=1 cargo test -p filch-c --test header writes the library's");
}
