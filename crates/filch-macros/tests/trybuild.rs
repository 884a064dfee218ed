//! Which uses are rejected, and where the errors point.
#![cfg(filch_long)]

#[test]
fn errors_point_at_the_users_code() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
